/* measure.c: candidates, timed: local search (NeoCPU 3.3.1).
 *
 * The problems that have no times yet go into a graph of their own: for each an input of the real shape and the node once for
 * every candidate, each forced by the chooser. The graph is planned, generated, compiled and run like a network, so what
 * is timed is the code that the network will have. What is large is done in several such graphs. */
#include "api/tuner.h"
#include "base/memory.h"
#include "emit/emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_NODES = 40, LEAST_RUNS = 5, MOST_RUNS = 25 };
#define MOST_BYTES   (INT64_C(1) << 30) /* of a graph with several problems */
#define SMALL_SHARE  0.02               /* of the convolutions' cost: what takes less is not worth timing */
#define SECONDS      2.0 /* of timed runs, if there are LEAST_RUNS: other work on the machine comes and goes */
#define LONG_SECONDS 20.0 /* after which two of them do */

typedef struct problem {
  const char *text;
  pz_node_id node; /* one of the network's that has it */
  int32_t wanted;  /* candidates to time; 0: all have times */
  double cost;     /* of all nodes that have it, with their cheapest candidates */
} problem;

typedef struct timed {
  const problem *problem;
  const pz_candidate *candidate; /* of the network's plan */
  double seconds;
} timed;

/* One graph. */
typedef struct batch {
  pz_graph *graph;
  pz_plan *plan;
  pz_arena *arena;
  timed *timed; /* by node; problem NULL: none of the candidates */
  pz_net *net;
  pz_patch patch;
  pz_folder folder;
  int32_t problems, threads;
  bool fits; /* in memory */
} batch;

typedef struct session {
  pz_tuner *tuner;
  const pz_plan *plan; /* the network's */
  pz_arena *arena;
  problem *problems;
  int32_t n, done;
} session;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void tick(void *host) {
  const session *s = host;
  char what[64];
  if (!s->tuner->tell) return;
  snprintf(what, sizeof what, "measuring %d of %d convolutions", s->done + 1, s->n);
  s->tuner->tell(s->tuner->tell_host, what);
}

static pz_status check_interrupt(const session *s, pz_error *err) {
  const volatile int *interrupt = s->tuner->options->interrupt;
  return interrupt && *interrupt ? pz_fail(err, PZ_INTERRUPTED, "interrupted while measuring") : PZ_OK;
}

/* ---- which problems ---- */

static problem *find(const session *s, const char *text) {
  for (int32_t i = 0; i < s->n; i++)
    if (!strcmp(s->problems[i].text, text)) return &s->problems[i];
  return NULL;
}

static pz_status add_problem(session *s, pz_node_id n, pz_error *err) {
  const pz_choice *choice = &s->plan->choices[n];
  bool complete;
  const int32_t wanted = pz_tuner_count(s->tuner->effort, choice->candidates, choice->n, &complete);
  const pz_solver_layouts l = pz_candidate_layouts(&choice->candidates[0]);
  if (wanted < 2 || l.in != PZ_BLOCKED || l.out != PZ_BLOCKED) return PZ_OK;
  pz_text text = {0};
  pz_status status = pz_plan_problem_text(s->plan, n, &choice->candidates[0], &text, err);
  problem *p = status == PZ_OK ? find(s, text.data) : NULL;
  if (status == PZ_OK && !p) {
    const char *kept = pz_arena_strdup(s->arena, text.data);
    if (!kept) status = pz_fail_memory(err, "a problem's text", text.size);
    else *(p = &s->problems[s->n++]) = (problem){.text = kept, .node = n, .wanted = complete ? 0 : wanted};
  }
  if (p) p->cost += choice->candidates[0].cost;
  pz_text_free(&text);
  return status;
}

/* Those that are worth timing; of them those without times are left, the tuner counts all. */
static void sift(session *s, double all) {
  const double least = s->tuner->effort == PZ_EFFORT_MEASURE ? SMALL_SHARE * all : 0;
  int32_t left = 0;
  for (int32_t i = 0; i < s->n; i++) {
    if (s->problems[i].cost < least) continue;
    s->tuner->problems++;
    if (s->problems[i].wanted) s->problems[left++] = s->problems[i];
  }
  s->n = left;
}

static pz_status find_problems(session *s, pz_error *err) {
  const pz_graph *g = s->plan->graph;
  double all = 0;
  s->problems = PZ_NEW(s->arena, problem, (size_t)g->n_nodes + 1);
  if (!s->problems) return pz_fail_memory(err, "problems to measure", (size_t)g->n_nodes * sizeof(problem));
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    if (!pz_is_convolution(&g->nodes[n])) continue;
    all += s->plan->choices[n].candidates[0].cost;
    PZ_TRY(add_problem(s, n, err));
  }
  sift(s, all);
  return PZ_OK;
}

/* ---- the graph ---- */

static const char *name_of(batch *b, const char *stem, int32_t a, int32_t c) {
  const char *name = pz_arena_printf(b->arena, "%s%d_%d", stem, a, c);
  return name ? name : "";
}

/* An input of the batch's graph; problems with equal shapes share it. */
static pz_status input_of(batch *b, const pz_shape *shape, pz_tensor_id *id, pz_error *err) {
  pz_graph *g = b->graph;
  for (int32_t i = 1; i < g->n_inputs; i++)
    if (pz_shape_equal(&g->tensors[g->inputs[i]].shape, shape)) return *id = g->inputs[i], PZ_OK;
  return pz_graph_add_input(g, name_of(b, "input", g->n_inputs, 0), shape, id, err);
}

/* A view of an input, so that the planner takes the tensor for one inside a network, and does not overwrite it. */
static pz_status inner_tensor(batch *b, const pz_shape *shape, pz_tensor_id *id, pz_error *err) {
  pz_tensor_id input;
  pz_node crop = pz_node_new(PZ_OP_CROP);
  PZ_TRY(input_of(b, shape, &input, err));
  const char *name = name_of(b, "view", b->graph->n_nodes, 0);
  crop.name = name;
  crop.n_in = 1;
  crop.in = &input;
  memcpy(crop.attr.crop.size, shape->dim, sizeof shape->dim);
  return pz_graph_add_node(b->graph, &crop, 1, &name, id, err);
}

static pz_status copy_constant(batch *b, const pz_tensor *t, pz_tensor_id *id, pz_error *err) {
  return pz_graph_add_constant(b->graph, name_of(b, "constant", b->graph->n_tensors, 0), &t->shape, t->data,
                               id, err);
}

static pz_status inputs_of(session *s, batch *b, const pz_node *node, pz_tensor_id *in, pz_error *err) {
  const pz_graph *g = s->plan->graph;
  for (int32_t i = 0; i < node->n_in; i++) {
    in[i] = PZ_NONE;
    if (node->in[i] == PZ_NONE) continue;
    const pz_tensor *t = &g->tensors[node->in[i]];
    if (i == PZ_CONV_BASE && node->in[i] == node->in[PZ_CONV_X]) in[i] = in[PZ_CONV_X];
    else if (i == PZ_CONV_X || i == PZ_CONV_BASE) PZ_TRY(inner_tensor(b, &t->shape, &in[i], err));
    else PZ_TRY(copy_constant(b, t, &in[i], err));
  }
  if (!pz_problem_is_padded(g, node)) return PZ_OK;
  pz_tensor *x = &b->graph->tensors[in[PZ_CONV_X]];
  pz_node_input_border(g, node, x->border_lo, x->border_hi);
  return PZ_OK;
}

static pz_status add_candidates(session *s, batch *b, const problem *p, pz_error *err) {
  const pz_choice *choice = &s->plan->choices[p->node];
  pz_node node = s->plan->graph->nodes[p->node];
  pz_tensor_id in[PZ_CONV_INPUTS], out;
  PZ_TRY(inputs_of(s, b, &node, in, err));
  node.in = in;
  node.attr.conv.norm_groups = 0; /* nothing reads the result */
  for (int i = 0; i < PZ_SPATIAL; i++) node.attr.conv.pooled[i] = 0;
  for (int32_t i = 0; i < choice->n; i++) {
    if (!pz_tuner_wants(s->tuner->effort, choice->candidates, i)) continue;
    const pz_node_id id = b->graph->n_nodes;
    const char *name = name_of(b, "node", id, 0);
    node.name = name;
    PZ_TRY(pz_graph_add_node(b->graph, &node, 1, &name, &out, err));
    b->timed[id] = (timed){p, &choice->candidates[i], INFINITY};
  }
  return PZ_OK;
}

static pz_status make_graph(session *s, batch *b, int32_t first, int32_t end, pz_error *err) {
  size_t nodes = 1;
  for (int32_t i = first; i < end; i++) nodes += 2 + (size_t)s->problems[i].wanted;
  b->timed = PZ_NEW(b->arena, timed, nodes);
  if (!b->timed) return pz_fail_memory(err, "candidates to time", nodes * sizeof(timed));
  PZ_TRY(pz_graph_new("tuning", &b->graph, err));
  pz_arena_watch(b->graph->arena, s->tuner->options->interrupt);
  /* Every network has an output: this one is its own input. */
  const pz_shape one = {.rank = 2, .dim = {1, 1}};
  pz_tensor_id id;
  PZ_TRY(pz_graph_add_input(b->graph, "one", &one, &id, err));
  PZ_TRY(pz_graph_add_output(b->graph, id, err));
  for (int32_t i = first; i < end; i++) PZ_TRY(add_candidates(s, b, &s->problems[i], err));
  return pz_graph_verify(b->graph, err);
}

static int32_t force(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  const batch *b = host;
  const pz_candidate *wanted = b->timed[node - plan->graph->nodes].candidate;
  for (int32_t i = 0; wanted && i < n; i++)
    if (!strcmp(c[i].label, wanted->label)) return i;
  return 0;
}

static double most_bytes(int32_t problems) {
  const double memory = (double)pz_memory_there(0).bytes;
  return problems > 1 && MOST_BYTES < memory / 2 ? MOST_BYTES : memory / 2;
}

static double bytes_of(const batch *b, const pz_plan *plan) {
  double bytes =
      (double)plan->arena_bytes + 2 * (double)plan->weight_bytes + (double)plan->worker_bytes * b->threads;
  for (int32_t i = 0; i < b->graph->n_inputs; i++)
    bytes += 4.0 * (double)pz_shape_elements(&b->graph->tensors[b->graph->inputs[i]].shape);
  return bytes;
}

/* The problems need too much memory together, or the only one does. */
static pz_status admit(void *host, const pz_plan *plan, pz_error *err) {
  batch *b = host;
  b->fits = bytes_of(b, plan) <= most_bytes(b->problems);
  return b->fits ? PZ_OK : pz_fail(err, PZ_ERROR_MEMORY, "candidates take too much memory together");
}

static pz_status make_plan(session *s, batch *b, pz_error *err) {
  /* max_error: which candidates there are was decided by the network's plan. */
  const pz_plan_options options = {.target = s->plan->target,
                                   .block = s->plan->block,
                                   .max_error = 1,
                                   .threads = s->plan->threads,
                                   .unpacked = true,
                                   .choose = force,
                                   .choose_host = b,
                                   .admit = admit,
                                   .admit_host = b};
  PZ_TRY(pz_plan_new(b->graph, &options, &b->plan, err));
  for (pz_node_id n = 0; n < b->graph->n_nodes; n++)
    if (b->timed[n].problem && strcmp(pz_plan_candidate(b->plan, n)->label, b->timed[n].candidate->label))
      return pz_fail(err, PZ_ERROR_RUN, "%s cannot be timed for %s", b->timed[n].candidate->label,
                     b->timed[n].problem->text);
  return PZ_OK;
}

/* ---- running ---- */

/* Values do not change how long a run takes, as long as they are ordinary numbers. */
static void fill_weights(pz_plan *plan) {
  float *weights = (float *)(void *)plan->weights;
  for (int64_t i = 0; i < plan->weight_bytes / 4; i++) weights[i] = (float)(i % 61 - 30) * 1e-3f;
}

/* For packed weights of candidates: tiles of 6 points for kernels of 3 have eight times as many. */
static int64_t weights_of(const session *s, const problem *p) {
  const pz_node *node = &s->plan->graph->nodes[p->node];
  return 8 * p->wanted * pz_shape_elements(&s->plan->graph->tensors[node->in[PZ_CONV_WEIGHT]].shape);
}

static pz_status compile(session *s, batch *b, pz_error *err) {
  const pz_compile_options *o = s->tuner->options;
  PZ_TRY(pz_folder_new(b->arena, &b->folder, err));
  const pz_emit_options emit = {.cc = o->cc,
                                .model = "tuning",
                                .model_digest = "",
                                .interrupt = o->interrupt,
                                .tick = o->progress ? tick : NULL,
                                .tick_host = s,
                                .objects = b->folder.path};
  fill_weights(b->plan);
  PZ_TRY(pz_emit_source(b->plan, &emit, b->folder.path, err));
  PZ_TRY(pz_emit_manifest(b->plan, &emit, NULL, b->folder.path, NULL, err));
  PZ_TRY(pz_emit_compile(b->plan, &emit, b->folder.path, err));
  PZ_TRY(pz_emit_link(b->plan, &emit, b->folder.path, "network.so", err));
  const char *network = pz_arena_printf(b->arena, "%s/network.so", b->folder.path);
  if (!network) return pz_fail_memory(err, "a path", 64);
  PZ_TRY(pz_open_compiled(network, s->tuner->key.threads, &b->net, err));
  return pz_patch_new(b->net, PZ_GOLDEN_SEED, &b->patch, err);
}

/* After `runs`, the first of which warmed up. */
static bool enough(int32_t runs, double seconds) {
  return runs > MOST_RUNS || (runs > LEAST_RUNS && seconds > SECONDS) || (runs > 2 && seconds > LONG_SECONDS);
}

/* Each candidate's least time. */
static pz_status run(session *s, batch *b, pz_error *err) {
  const int32_t n = pz_net_steps(b->net);
  pz_step_profile *steps = PZ_NEW(b->arena, pz_step_profile, (size_t)n + 1);
  if (!steps) return pz_fail_memory(err, "times of candidates", (size_t)n * sizeof *steps);
  const double start = now();
  for (int32_t r = 0; !enough(r, now() - start); r++) {
    tick(s);
    PZ_TRY(check_interrupt(s, err));
    const pz_status status = pz_net_profile(b->net, (const void *const *)b->patch.inputs,
                                            (void *const *)b->patch.outputs, 1, steps);
    if (status != PZ_OK) return pz_fail(err, status, "%s", pz_last_message());
    for (int32_t i = 0; r && i < n; i++) {
      const pz_node_id node = pz_graph_find_node(b->graph, steps[i].name);
      if (node != PZ_NONE && b->timed[node].problem && steps[i].seconds < b->timed[node].seconds)
        b->timed[node].seconds = steps[i].seconds;
    }
  }
  return PZ_OK;
}

static void keep(session *s, const batch *b) {
  for (pz_node_id n = 0; n < b->graph->n_nodes; n++) {
    const timed *t = &b->timed[n];
    if (!t->problem || !isfinite(t->seconds)) continue;
    pz_tuner_keep(s->tuner, t->problem->text, t->candidate->label, t->seconds > 0 ? t->seconds : 1e-9);
    s->tuner->candidates++;
  }
}

static void close_batch(batch *b) {
  pz_net_close(b->net);
  pz_patch_free(&b->patch);
  pz_folder_remove(&b->folder);
  pz_plan_free(b->plan);
  pz_graph_free(b->graph);
  pz_arena_free(b->arena);
}

/* *fits false: nothing was run, the problems need too much memory together. */
static pz_status measure_batch(session *s, int32_t first, int32_t end, bool *fits, pz_error *err) {
  batch b = {
      .arena = pz_arena_new(), .problems = end - first, .threads = s->tuner->key.threads, .fits = true};
  pz_error own = {0};
  pz_status status =
      b.arena ? make_graph(s, &b, first, end, err) : pz_fail_memory(err, "candidates to time", 64);
  if (status == PZ_OK) {
    status = make_plan(s, &b, &own);
    if (!b.fits) status = PZ_OK;
    else if (status != PZ_OK) pz_fail(err, status, "%s", own.message);
  }
  *fits = b.fits;
  if (status == PZ_OK && *fits) {
    status = compile(s, &b, err);
    if (status == PZ_OK) status = run(s, &b, err);
    if (status == PZ_OK) keep(s, &b);
  }
  close_batch(&b);
  return status;
}

static int32_t end_of_batch(const session *s, int32_t first) {
  int32_t nodes = 0, end = first;
  int64_t floats = 0;
  for (; end < s->n; end++) {
    nodes += s->problems[end].wanted;
    floats += weights_of(s, &s->problems[end]);
    if (end > first && (nodes > MOST_NODES || 8 * floats > MOST_BYTES)) break;
  }
  return end;
}

static pz_status measure_all(session *s, pz_error *err) {
  for (int32_t first = 0, end; first < s->n; first = end) {
    bool fits = false;
    end = end_of_batch(s, first);
    s->done = first;
    for (;;) {
      tick(s);
      PZ_TRY(check_interrupt(s, err));
      PZ_TRY(measure_batch(s, first, end, &fits, err));
      if (fits || end == first + 1) break;
      end = first + (end - first) / 2;
    }
    if (fits) s->tuner->measured += end - first;
    else
      pz_tuner_note(s->tuner, "too large to be timed: %s; the cost model chooses", s->problems[first].text);
  }
  return PZ_OK;
}

pz_status pz_tuner_measure(pz_tuner *tuner, const pz_plan *plan, pz_error *err) {
  session s = {.tuner = tuner, .plan = plan, .arena = pz_arena_new()};
  pz_error why = {0};
  const double start = now();
  pz_status status = PZ_OK;
  if (tuner->effort != PZ_EFFORT_ESTIMATE) {
    status = s.arena ? find_problems(&s, &why) : pz_fail_memory(&why, "problems to measure", 64);
    if (status == PZ_OK) status = measure_all(&s, &why);
  }
  if (status != PZ_OK && status != PZ_INTERRUPTED)
    pz_tuner_note(tuner, "not all could be measured: %s; the cost model chooses", why.message);
  pz_arena_free(s.arena);
  tuner->seconds = now() - start;
  return status == PZ_INTERRUPTED ? pz_fail(err, status, "%s", why.message) : PZ_OK;
}
