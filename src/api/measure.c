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

#define NO_SECONDS 1e-9 /* of what is a view, and has no step */
enum { MOST_NODES = 40, LEAST_RUNS = 5, MOST_RUNS = 25 };
#define MOST_BYTES   (INT64_C(1) << 30) /* of a graph with several problems */
#define SMALL_SHARE  0.02               /* of all nodes' cost: what takes less is not worth timing */
#define SECONDS      2.0 /* of timed runs, if there are LEAST_RUNS: other work on the machine comes and goes */
#define LONG_SECONDS 20.0 /* after which two of them do */

typedef struct problem {
  pz_tuner_problem name;
  char run[PZ_DIGEST_TEXT]; /* the key of what is timed of it */
  pz_node_id node;          /* one of the network's that has it */
  bool complete;            /* all that are wanted have times */
  double cost;              /* of all nodes that have it, with their cheapest candidates */
  struct problem *like;     /* the next one that is timed with this one; or NULL */
  bool led, kept;           /* it is timed with one before it; it has its times now */
} problem;

typedef struct timed {
  problem *problem;
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
  bool fits;         /* in memory */
  bool convolutions; /* all problems are, or none is */
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
  snprintf(what, sizeof what, "measuring %d of %d problems", s->done + 1, s->n);
  s->tuner->tell(s->tuner->tell_host, what);
}

static pz_status check_interrupt(const session *s, pz_error *err) {
  const volatile int *interrupt = s->tuner->options->interrupt;
  return interrupt && *interrupt ? pz_fail(err, PZ_INTERRUPTED, "interrupted while measuring") : PZ_OK;
}

/* ---- which problems ---- */

static problem *find(const session *s, const char *hash) {
  for (int32_t i = 0; i < s->n; i++)
    if (!strcmp(s->problems[i].name.hash, hash)) return &s->problems[i];
  return NULL;
}

/* What is timed of a problem: without an epilogue, since nothing reads the result here, and without signs and what lies NCHW, which change
 * which candidates there are and their errors, but no candidate's time. */
static pz_problem stripped(const pz_problem *p, pz_operand *operands) {
  pz_problem bare = *p;
  bare.epilogue = (pz_epilogue){.pools = false};
  if (p->op == PZ_OP_CONV || p->op == PZ_OP_DECONV) {
    bare.attr.conv.norm_groups = 0;
    memset(bare.attr.conv.pooled, 0, sizeof bare.attr.conv.pooled);
  }
  memcpy(operands, p->in, (size_t)p->n_in * sizeof *operands);
  memcpy(operands + p->n_in, p->out, (size_t)p->n_out * sizeof *operands);
  for (int32_t i = 0; i < p->n_in + p->n_out; i++) operands[i].one_sign = operands[i].nchw = false;
  bare.in = operands, bare.out = operands + p->n_in;
  return bare;
}

static pz_operand *room_for_operands(pz_arena *arena, const pz_problem *p) {
  return PZ_NEW(arena, pz_operand, (size_t)(p->n_in + p->n_out) + 1);
}

static pz_status name_run(session *s, problem *p, pz_error *err) {
  const pz_problem *whole = &s->plan->problems[p->node];
  pz_operand *room = room_for_operands(s->arena, whole);
  pz_text text = {0};
  if (!room) return pz_fail_memory(err, "problems to measure", sizeof *room);
  const pz_problem bare = stripped(whole, room);
  const pz_status status = pz_problem_key(&bare, &s->tuner->target, "", &text, p->run, err);
  pz_text_free(&text);
  return status;
}

static pz_status add_problem(session *s, pz_node_id n, pz_error *err) {
  const pz_choice *choice = &s->plan->choices[n];
  problem new = {.node = n};
  if (pz_tuner_count(s->tuner->effort, choice->candidates, choice->n, &new.complete) < 2) return PZ_OK;
  PZ_TRY(pz_tuner_name(s->tuner, s->plan, n, "", &new.name, err));
  problem *p = find(s, new.name.hash);
  if (!p) {
    PZ_TRY(name_run(s, &new, err));
    *(p = &s->problems[s->n++]) = new;
  }
  p->cost += choice->candidates[0].cost;
  return PZ_OK;
}

/* Those that are worth timing; of them those without times are left, the tuner counts all. */
static void sift(session *s, double all) {
  const double most = s->tuner->effort == PZ_EFFORT_MEASURE ? SMALL_SHARE * all : -1;
  int32_t left = 0;
  for (int32_t i = 0; i < s->n; i++) {
    if (s->problems[i].cost <= most) continue;
    s->tuner->problems++;
    if (!s->problems[i].complete) s->problems[left++] = s->problems[i];
  }
  s->n = left;
}

static bool have_equal_candidates(const session *s, const problem *a, const problem *b) {
  const pz_choice *x = &s->plan->choices[a->node], *y = &s->plan->choices[b->node];
  if (x->n != y->n || strcmp(a->run, b->run) != 0) return false;
  for (int32_t i = 0; i < x->n; i++)
    if (strcmp(x->candidates[i].label, y->candidates[i].label) != 0) return false;
  return true;
}

/* What is timed is the same for several problems: it is timed once. */
static void join(session *s) {
  for (int32_t i = 0; i < s->n; i++)
    for (int32_t k = i + 1; k < s->n && !s->problems[i].led; k++) {
      problem *a = &s->problems[i], *b = &s->problems[k];
      if (b->led || !have_equal_candidates(s, a, b)) continue;
      b->led = true, b->like = a->like, a->like = b;
    }
}

/* Some of the problems that are timed together wants candidate i. */
static bool is_wanted(const session *s, const problem *p, int32_t i) {
  for (; p; p = p->like)
    if (pz_tuner_wants(s->tuner->effort, s->plan->choices[p->node].candidates, i)) return true;
  return false;
}
static int32_t count_wanted(const session *s, const problem *p) {
  int32_t wanted = 0;
  for (int32_t i = 0; i < s->plan->choices[p->node].n; i++) wanted += is_wanted(s, p, i);
  return p->led ? 0 : wanted;
}

static pz_status find_problems(session *s, pz_error *err) {
  const pz_graph *g = s->plan->graph;
  double all = 0;
  s->problems = PZ_NEW(s->arena, problem, (size_t)g->n_nodes + 1);
  if (!s->problems) return pz_fail_memory(err, "problems to measure", (size_t)g->n_nodes * sizeof(problem));
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    all += s->plan->choices[n].candidates[0].cost;
    PZ_TRY(add_problem(s, n, err));
  }
  sift(s, all);
  join(s);
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

static pz_status add_between(batch *b, pz_node *node, pz_tensor_id input, pz_tensor_id *id, pz_error *err) {
  const char *name = name_of(b, "view", b->graph->n_nodes, 0);
  node->name = name;
  node->n_in = 1;
  node->in = &input;
  return pz_graph_add_node(b->graph, node, 1, &name, id, err);
}

/* What the node reads there. Where its problem says so an input of the network, with the border in a copy; else a view of one, so that the
 * planner takes the tensor for one inside a network, and does not overwrite it. */
static pz_status computed_input(batch *b, const pz_operand *x, bool bordered, pz_tensor_id *id,
                                pz_error *err) {
  pz_tensor_id input;
  pz_node crop = pz_node_new(PZ_OP_CROP), pad = pz_node_new(PZ_OP_BORDER_COPY);
  PZ_TRY(input_of(b, &x->shape, &input, err));
  if (!x->nchw) {
    memcpy(crop.attr.crop.size, x->shape.dim, sizeof x->shape.dim);
    return add_between(b, &crop, input, id, err);
  }
  if (bordered) return add_between(b, &pad, input, id, err);
  *id = input;
  return PZ_OK;
}

static pz_status copy_constant(batch *b, const pz_operand *o, pz_tensor_id *id, pz_error *err) {
  return pz_graph_add_constant(b->graph, name_of(b, "constant", b->graph->n_tensors, 0), &o->shape, o->data,
                               id, err);
}

static pz_status inputs_of(session *s, batch *b, const problem *p, pz_tensor_id *in, pz_error *err) {
  const pz_problem *whole = &s->plan->problems[p->node];
  for (int32_t i = 0; i < whole->n_in; i++) {
    const pz_operand *o = &whole->in[i];
    in[i] = PZ_NONE;
    if (!o->present) continue;
    if (o->same < i) in[i] = in[o->same];
    else if (o->data) PZ_TRY(copy_constant(b, o, &in[i], err));
    else PZ_TRY(computed_input(b, o, whole->padded && i == PZ_CONV_X, &in[i], err));
  }
  if (!whole->padded) return PZ_OK;
  pz_tensor *x = &b->graph->tensors[in[PZ_CONV_X]];
  pz_node_input_border(s->plan->graph, &s->plan->graph->nodes[p->node], x->border_lo, x->border_hi);
  return PZ_OK;
}

/* Once for a candidate. Results that leave the network do so here. */
static pz_status add_candidate(batch *b, problem *p, const pz_problem *whole, pz_node *node,
                               const pz_candidate *c, pz_error *err) {
  const pz_node_id id = b->graph->n_nodes;
  const char **names = PZ_NEW(b->arena, const char *, (size_t)node->n_out);
  pz_tensor_id *out = PZ_NEW(b->arena, pz_tensor_id, (size_t)node->n_out);
  if (!names || !out) return pz_fail_memory(err, "candidates to time", (size_t)node->n_out * 16);
  for (int32_t i = 0; i < node->n_out; i++) names[i] = name_of(b, "node", id, i);
  node->name = names[0];
  PZ_TRY(pz_graph_add_node(b->graph, node, node->n_out, names, out, err));
  for (int32_t i = 0; i < node->n_out; i++)
    if (whole->out[i].nchw) PZ_TRY(pz_graph_add_output(b->graph, out[i], err));
  b->timed[id] = (timed){p, c, INFINITY};
  return PZ_OK;
}

static pz_status add_candidates(session *s, batch *b, problem *p, pz_error *err) {
  const pz_choice *choice = &s->plan->choices[p->node];
  const pz_problem *whole = &s->plan->problems[p->node];
  pz_node node = s->plan->graph->nodes[p->node];
  pz_operand *room = room_for_operands(b->arena, whole);
  pz_tensor_id *in = PZ_NEW(b->arena, pz_tensor_id, (size_t)node.n_in + 1);
  if (!in || !room) return pz_fail_memory(err, "candidates to time", (size_t)node.n_in * sizeof *in);
  PZ_TRY(inputs_of(s, b, p, in, err));
  node.in = in;
  node.attr = stripped(whole, room).attr;
  for (int32_t i = 0; i < choice->n; i++)
    if (is_wanted(s, p, i)) PZ_TRY(add_candidate(b, p, whole, &node, &choice->candidates[i], err));
  return PZ_OK;
}

static pz_status make_graph(session *s, batch *b, int32_t first, int32_t end, pz_error *err) {
  size_t nodes = 1;
  for (int32_t i = first; i < end; i++)
    nodes += (size_t)s->plan->problems[s->problems[i].node].n_in + (size_t)count_wanted(s, &s->problems[i]);
  b->timed = PZ_NEW(b->arena, timed, nodes);
  if (!b->timed) return pz_fail_memory(err, "candidates to time", nodes * sizeof(timed));
  PZ_TRY(pz_graph_new("tuning", &b->graph, err));
  pz_arena_watch(b->graph->arena, s->tuner->options->interrupt);
  /* Every network has an output: this one is its own input. */
  const pz_shape one = {.rank = 2, .dim = {1, 1}};
  pz_tensor_id id;
  PZ_TRY(pz_graph_add_input(b->graph, "one", &one, &id, err));
  PZ_TRY(pz_graph_add_output(b->graph, id, err));
  for (int32_t i = first; i < end; i++)
    if (!s->problems[i].led) PZ_TRY(add_candidates(s, b, &s->problems[i], err));
  return pz_graph_verify(b->graph, err);
}

static int32_t force(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  const batch *b = host;
  const pz_candidate *wanted = b->timed[node - plan->graph->nodes].candidate;
  for (int32_t i = 0; wanted && i < n; i++)
    if (!strcmp(c[i].label, wanted->label)) return i;
  return PZ_BY_COST;
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
  for (int32_t i = 0; i < b->graph->n_outputs; i++)
    bytes += 4.0 * (double)pz_shape_elements(&b->graph->tensors[b->graph->outputs[i]].shape);
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
                                   .block = s->plan->target.block,
                                   .max_error = 1,
                                   .threads = s->plan->target.workers,
                                   .unpacked = b->convolutions,
                                   .choose = force,
                                   .choose_host = b,
                                   .admit = admit,
                                   .admit_host = b};
  PZ_TRY(pz_plan_new(b->graph, &options, &b->plan, err));
  for (pz_node_id n = 0; n < b->graph->n_nodes; n++)
    if (b->timed[n].problem && strcmp(pz_plan_candidate(b->plan, n)->label, b->timed[n].candidate->label))
      return pz_fail(err, PZ_ERROR_RUN, "%s cannot be timed for %s", b->timed[n].candidate->label,
                     b->timed[n].problem->name.text);
  return PZ_OK;
}

/* ---- running ---- */

/* Values do not change how long a run takes, as long as they are ordinary numbers: convolutions are not packed. Of other operators the solvers
 * may keep tables among the weights. */
static void fill_weights(pz_plan *plan) {
  float *weights = (float *)(void *)plan->weights;
  for (int64_t i = 0; i < plan->weight_bytes / 4; i++) weights[i] = (float)(i % 61 - 30) * 1e-3f;
}

/* For packed weights of candidates: tiles of 6 points for kernels of 3 have eight times as many. */
static int64_t weights_of(const session *s, const problem *p) {
  const pz_problem *whole = &s->plan->problems[p->node];
  int64_t floats = 0;
  for (int32_t i = 0; i < whole->n_in; i++)
    if (whole->in[i].present && whole->in[i].data) floats += pz_shape_elements(&whole->in[i].shape);
  return 8 * count_wanted(s, p) * floats;
}

static pz_status compile(session *s, batch *b, pz_error *err) {
  const pz_compile_options *o = s->tuner->options;
  PZ_TRY(pz_folder_new(b->arena, &b->folder, err));
  pz_emit_options emit = {.cc = o->cc,
                          .model = "tuning",
                          .model_digest = "",
                          .interrupt = o->interrupt,
                          .tick = o->progress ? tick : NULL,
                          .tick_host = s,
                          .objects = b->folder.path};
  if (s->tuner->objects) pz_objects_use(s->tuner->objects, &emit);
  if (b->convolutions) fill_weights(b->plan);
  PZ_TRY(pz_emit_source(b->plan, &emit, b->folder.path, err));
  PZ_TRY(pz_emit_manifest(b->plan, &emit, NULL, b->folder.path, NULL, err));
  PZ_TRY(pz_emit_compile(b->plan, &emit, b->folder.path, err));
  PZ_TRY(pz_emit_link(b->plan, &emit, b->folder.path, "network.so", err));
  const char *network = pz_arena_printf(b->arena, "%s/network.so", b->folder.path);
  if (!network) return pz_fail_memory(err, "a path", 64);
  PZ_TRY(pz_open_compiled(network, s->tuner->key.threads, &b->net, err));
  return pz_patch_new(b->net, PZ_SELF_TEST_SEED, &b->patch, err);
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

static void keep_time(session *s, const timed *t) {
  const double seconds = isfinite(t->seconds) && t->seconds > 0 ? t->seconds : NO_SECONDS;
  for (problem *p = t->problem; p; p = p->like) {
    pz_tuner_keep(s->tuner, &p->name, t->candidate->label, seconds);
    s->tuner->measured += !p->kept;
    p->kept = true;
  }
  s->tuner->candidates++;
}

static void keep(session *s, const batch *b) {
  for (pz_node_id n = 0; n < b->graph->n_nodes; n++)
    if (b->timed[n].problem) keep_time(s, &b->timed[n]);
}

static void close_batch(batch *b) {
  pz_net_close(b->net);
  pz_patch_free(&b->patch);
  pz_folder_remove(&b->folder);
  pz_plan_free(b->plan);
  pz_graph_free(b->graph);
  pz_arena_free(b->arena);
}

static bool is_convolution(const session *s, int32_t i) {
  return pz_is_convolution(&s->plan->graph->nodes[s->problems[i].node]);
}

/* *fits false: nothing was run, the problems need too much memory together. */
static pz_status measure_batch(session *s, int32_t first, int32_t end, bool *fits, pz_error *err) {
  batch b = {.arena = pz_arena_new(),
             .problems = end - first,
             .threads = s->tuner->key.threads,
             .fits = true,
             .convolutions = is_convolution(s, first)};
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
    nodes += count_wanted(s, &s->problems[end]);
    floats += weights_of(s, &s->problems[end]);
    if (end > first &&
        (nodes > MOST_NODES || 8 * floats > MOST_BYTES || is_convolution(s, end) != is_convolution(s, first)))
      break;
  }
  return end;
}

static pz_status measure_all(session *s, pz_error *err) {
  for (int32_t first = 0, end; first < s->n; first = end) {
    bool fits = false;
    end = end_of_batch(s, first);
    if (s->problems[first].led) continue;
    s->done = first;
    for (;;) {
      tick(s);
      PZ_TRY(check_interrupt(s, err));
      PZ_TRY(measure_batch(s, first, end, &fits, err));
      if (fits || end == first + 1) break;
      end = first + (end - first) / 2;
    }
    if (!fits)
      pz_tuner_note(s->tuner, "too large to be timed: %s; the cost model chooses",
                    s->problems[first].name.text);
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
