/* measure.c: candidates, timed: local search (NeoCPU 3.3.1).
 *
 * The problems that have no times yet go into a graph of their own: for each an input of the real shape and the node once for
 * every candidate, each forced by the chooser. The graph is planned, generated, compiled and run like a network, so what
 * is timed is the code that the network will have. What is large, or too much for the budget, is done in several such graphs.
 *
 * A run of the graph is a round: all candidates of a problem in turn. The first of them is there once more, last, and its time in that place is what the
 * others are compared with (rounds.h): so each of them runs behind another one that has read the same input. */
#include "api/rounds.h"
#include "base/clock.h"
#include "api/tuner.h"
#include "api/watch.h"
#include "api/worth.h"
#include "base/memory.h"
#include "emit/emit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_SECONDS 1e-9 /* of what is a view, and has no step */
enum { MOST_NODES = 40, LEAST_RUNS = 5, MOST_RUNS = 25, MOST_BUSY_RUNS = 120 };
#define MOST_BYTES   (INT64_C(1) << 30) /* of a graph with several problems */
#define SMALL_SHARE  0.02               /* of all nodes' cost: what takes less is not worth timing */
#define SECONDS      2.0                /* of timed runs, if there are LEAST_RUNS */
#define BUSY_SECONDS 8.0                /* where other work on the machine disturbs them */
#define LONG_SECONDS 20.0               /* after which PZ_ROUNDS_LEAST of them do */
/* Of what is left of the budget: what compiling one graph should take at most; and the first one, of one problem, which shows how long that takes. What is
 * not compiled when the budget ends is lost. */
#define FULL  0.75
#define FIRST 0.9

typedef struct problem {
  pz_tuner_problem name;
  char run[PZ_DIGEST_TEXT]; /* the key of what is timed of it */
  pz_node_id node;          /* one of the network's that has it */
  bool complete;            /* all that are wanted have times */
  double cost;              /* of all nodes that have it, with their cheapest candidates */
  double worth;             /* what of it is expected to be won for each second of measuring */
  int32_t fresh;            /* candidates that have no time at all */
  struct problem *like;     /* the next one that is timed with this one; or NULL */
  bool led, kept;           /* it is timed with one before it; it has its times now */
  pz_rounds rounds;
} problem;

typedef struct timed {
  problem *problem;
  const pz_candidate *candidate; /* of the network's plan */
  int32_t at;                    /* in the problem's rounds; -1: the one that only begins the round */
  double seconds;                /* of the round that is under way */
  bool disturbed;
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
  bool enough;       /* was measured of all problems */
  bool fits;         /* in memory */
  bool convolutions; /* all problems are, or none is */
} batch;

typedef struct session {
  pz_tuner *tuner;
  const pz_plan *plan; /* the network's */
  pz_arena *arena;
  problem *problems;
  int32_t n, done;
  pz_effort effort; /* what is wanted now: first the candidates that lead */
  double end;       /* of the budget (pz_now); INFINITY: there is none */
  bool out;         /* it is used up */
  bool passed;      /* all have been gone through before: who had times then is counted already */
} session;

static double left(const session *s) { return s->end - pz_now(); }

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

static bool wants(const session *s, const problem *p, int32_t i) {
  const pz_choice *choice = &s->plan->choices[p->node];
  return pz_tuner_wants(s->effort, &s->plan->target, choice->candidates, choice->n, i);
}

static pz_status add_problem(session *s, pz_node_id n, pz_error *err) {
  const pz_choice *choice = &s->plan->choices[n];
  problem new = {.node = n};
  bool complete;
  if (pz_tuner_count(s->effort, &s->plan->target, choice->candidates, choice->n, &complete) < 2) return PZ_OK;
  PZ_TRY(pz_tuner_name(s->tuner, s->plan, n, "", &new.name, err));
  problem *p = find(s, new.name.hash);
  if (!p) {
    PZ_TRY(name_run(s, &new, err));
    *(p = &s->problems[s->n++]) = new;
  }
  p->cost += choice->candidates[0].cost;
  return PZ_OK;
}

/* What is known of it, and what the rest is worth. */
static void look_up(const session *s, problem *p) {
  const pz_choice *choice = &s->plan->choices[p->node];
  double worth = 0;
  p->complete = true;
  for (int32_t i = 0; i < choice->n; i++) {
    bool noisy;
    if (!wants(s, p, i)) continue;
    const bool known = pz_tuner_seconds(s->tuner, &p->name, choice->candidates[i].label, &noisy) > 0;
    p->fresh += !known;
    if (known && !noisy) continue;
    p->complete = false;
    worth += pz_worth_of(&s->plan->target, choice->candidates, i);
  }
  p->worth = p->cost * worth / (1 + p->fresh);
}

/* Those that are worth timing; of them those without times are left. */
static void sift(session *s, double all) {
  const double most = s->tuner->effort == PZ_EFFORT_MEASURE ? SMALL_SHARE * all : -1;
  int32_t left = 0, counted = 0;
  for (int32_t i = 0; i < s->n; i++) {
    if (s->problems[i].cost <= most) continue;
    counted++;
    look_up(s, &s->problems[i]);
    if (!s->problems[i].complete) s->problems[left++] = s->problems[i];
  }
  s->n = left;
  if (counted > s->tuner->problems) s->tuner->problems = counted;
}

/* Convolutions first, for they are in graphs of their own; then what is worth most. */
static void sort(session *s) {
  for (int32_t i = 1; i < s->n; i++) {
    const problem p = s->problems[i];
    const bool convolution = pz_is_convolution(&s->plan->graph->nodes[p.node]);
    int32_t at = i;
    for (; at > 0; at--) {
      const problem *before = &s->problems[at - 1];
      const bool other = pz_is_convolution(&s->plan->graph->nodes[before->node]);
      if (other == convolution ? before->worth >= p.worth : other) break;
      s->problems[at] = *before;
    }
    s->problems[at] = p;
  }
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
    if (wants(s, p, i)) return true;
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
  s->n = 0;
  s->problems = PZ_NEW(s->arena, problem, (size_t)g->n_nodes + 1);
  if (!s->problems) return pz_fail_memory(err, "problems to measure", (size_t)g->n_nodes * sizeof(problem));
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    all += s->plan->choices[n].candidates[0].cost;
    PZ_TRY(add_problem(s, n, err));
  }
  sift(s, all);
  sort(s);
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
                               const pz_candidate *c, int32_t at, pz_error *err) {
  const pz_node_id id = b->graph->n_nodes;
  const char **names = PZ_NEW(b->arena, const char *, (size_t)node->n_out);
  pz_tensor_id *out = PZ_NEW(b->arena, pz_tensor_id, (size_t)node->n_out);
  if (!names || !out) return pz_fail_memory(err, "candidates to time", (size_t)node->n_out * 16);
  for (int32_t i = 0; i < node->n_out; i++) names[i] = name_of(b, "node", id, i);
  node->name = names[0];
  PZ_TRY(pz_graph_add_node(b->graph, node, node->n_out, names, out, err));
  for (int32_t i = 0; i < node->n_out; i++)
    if (whole->out[i].nchw) PZ_TRY(pz_graph_add_output(b->graph, out[i], err));
  b->timed[id] = (timed){.problem = p, .candidate = c, .at = at};
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
  const pz_candidate *first = NULL;
  int32_t at = -1;
  for (int32_t i = 0; i < choice->n; i++) {
    if (!is_wanted(s, p, i)) continue;
    if (!first) first = &choice->candidates[i];
    PZ_TRY(add_candidate(b, p, whole, &node, &choice->candidates[i], at < 0 ? -1 : at, err));
    at = at < 0 ? 1 : at + 1;
  }
  PZ_TRY(add_candidate(b, p, whole, &node, first, 0, err));
  return pz_rounds_new(b->arena, at, MOST_BUSY_RUNS, s->tuner->trusting, &p->rounds)
             ? PZ_OK
             : pz_fail_memory(err, "times of candidates", MOST_BUSY_RUNS * sizeof(double));
}

static pz_status make_graph(session *s, batch *b, int32_t first, int32_t end, pz_error *err) {
  size_t nodes = 1;
  for (int32_t i = first; i < end; i++)
    nodes +=
        (size_t)s->plan->problems[s->problems[i].node].n_in + (size_t)count_wanted(s, &s->problems[i]) + 1;
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

static int32_t count_fresh(const session *s, int32_t first, int32_t end) {
  int32_t fresh = 0;
  for (int32_t i = first; i < end; i++)
    if (!s->problems[i].led) fresh += s->problems[i].fresh;
  return fresh;
}

/* `fresh`: candidates that no graph had before; with them come smaller kernels. s->out: the budget did not suffice. */
static pz_status compile(session *s, batch *b, int32_t fresh, pz_error *err) {
  const pz_compile_options *o = s->tuner->options;
  const double start = pz_now();
  pz_deadline deadline;
  pz_emit_counts counts = {0};
  PZ_TRY(pz_folder_new(b->arena, &b->folder, err));
  pz_emit_options emit = {.cc = o->cc,
                          .model = "tuning",
                          .model_digest = "",
                          .interrupt = o->interrupt,
                          .tick = o->progress ? tick : NULL,
                          .tick_host = s,
                          .objects = b->folder.path,
                          .work = &s->tuner->ahead.work};
  if (s->tuner->objects) pz_objects_use(s->tuner->objects, &emit);
  pz_emit_counts *all = emit.counts;
  emit.counts = &counts;
  if (b->convolutions) fill_weights(b->plan);
  PZ_TRY(pz_emit_source(b->plan, &emit, b->folder.path, err));
  PZ_TRY(pz_emit_manifest(b->plan, &emit, NULL, b->folder.path, NULL, err));
  pz_deadline_use(&deadline, s->end, &emit);
  pz_status status = pz_emit_compile(b->plan, &emit, b->folder.path, err);
  if (status == PZ_OK) status = pz_emit_link(b->plan, &emit, b->folder.path, "network.so", err);
  if (all) all->compiled += counts.compiled, all->cached += counts.cached;
  if (status == PZ_INTERRUPTED) s->out = pz_deadline_passed(&deadline);
  if (status != PZ_OK) return status;
  pz_tuner_compiled(s->tuner, counts.compiled < fresh ? counts.compiled : fresh, pz_now() - start);
  const char *network = pz_arena_printf(b->arena, "%s/network.so", b->folder.path);
  if (!network) return pz_fail_memory(err, "a path", 64);
  PZ_TRY(pz_open_compiled(network, s->tuner->key.threads, &b->net, err));
  return pz_patch_new(b->net, PZ_SELF_TEST_SEED, &b->patch, err);
}

/* Of the problems of a graph. */
typedef struct stand {
  bool decided, noisy; /* all; any */
} stand;
static stand stand_of(const batch *b) {
  stand all = {.decided = true};
  for (pz_node_id n = 0; n < b->graph->n_nodes; n++) {
    if (!b->timed[n].problem || b->timed[n].at != 0) continue;
    pz_rounds *rounds = &b->timed[n].problem->rounds;
    pz_rounds_judge(rounds);
    all.decided &= rounds->decided, all.noisy |= rounds->noisy;
  }
  return all;
}

/* After so many rounds, which took so long. A busy machine costs more of them. */
static bool is_enough(const session *s, const batch *b, int32_t rounds, double seconds) {
  if (rounds < PZ_ROUNDS_LEAST) return false;
  if (left(s) < 0 || seconds > LONG_SECONDS) return true;
  if (rounds < LEAST_RUNS) return false;
  const stand all = stand_of(b);
  if (all.noisy) return rounds >= MOST_BUSY_RUNS || seconds > BUSY_SECONDS;
  return all.decided || rounds >= MOST_RUNS || seconds > SECONDS;
}

/* A view has no step, and a layer may have several, of which those that are its operator's count. */
static void add_step(const batch *b, const pz_watch *w, int32_t step) {
  const pz_abi_step *s = &w->net->abi->steps[step];
  const pz_node_id node = pz_graph_find_node(b->graph, s->name);
  if (node == PZ_NONE || strcmp(s->op, pz_op_name(b->graph->nodes[node].op)) != 0) return;
  b->timed[node].seconds += w->seconds[step];
  b->timed[node].disturbed |= w->disturbed[step];
}

static void end_round(const batch *b, const pz_watch *w) {
  for (pz_node_id n = 0; n < b->graph->n_nodes; n++) b->timed[n].seconds = 0, b->timed[n].disturbed = false;
  for (int32_t i = 0; i < w->n; i++) add_step(b, w, i);
  for (pz_node_id n = 0; n < b->graph->n_nodes; n++) {
    const timed *t = &b->timed[n];
    if (t->problem && t->at >= 0)
      pz_rounds_set(&t->problem->rounds, t->at, t->seconds > 0 ? t->seconds : NO_SECONDS, t->disturbed);
  }
  for (pz_node_id n = 0; n < b->graph->n_nodes; n++)
    if (b->timed[n].problem && b->timed[n].at == 0) b->timed[n].problem->rounds.rounds++;
}

/* The first run warms up. */
static pz_status run(session *s, batch *b, pz_error *err) {
  pz_watch watch;
  PZ_TRY(pz_watch_new(b->arena, b->net, s->tuner->trusting, &watch, err));
  const double start = pz_now();
  s->tuner->ahead.rounds = start + SECONDS;
  pz_status status = PZ_OK;
  for (int32_t r = 0; status == PZ_OK && !is_enough(s, b, r - 1, pz_now() - start); r++) {
    tick(s);
    status = check_interrupt(s, err);
    if (status == PZ_OK) status = pz_watch_run(&watch, &b->patch, err);
    if (status == PZ_OK && r) end_round(b, &watch);
  }
  pz_watch_close(&watch);
  return status;
}

/* Rounds beside other work give ratios; with a time from a quieter hour they give times. */
static double scale_of(session *s, problem *p, const char *reference) {
  const pz_rounds_time now = p->rounds.times[0];
  bool noisy;
  const double known = pz_tuner_seconds(s->tuner, &p->name, reference, &noisy);
  return now.noisy && known > 0 && !noisy && now.seconds > 0 ? known / now.seconds : 1;
}

static void keep_time(session *s, const timed *t, double scale) {
  const pz_rounds_time is = t->problem->rounds.times[t->at];
  const double seconds = is.seconds > 0 ? is.seconds : NO_SECONDS;
  for (problem *p = t->problem; p; p = p->like) {
    pz_tuner_keep(s->tuner, &p->name, t->candidate->label, scale * seconds, is.noisy);
    s->tuner->measured += !p->kept && (!s->passed || p->fresh == p->rounds.n);
    p->kept = true;
  }
  s->tuner->candidates++;
  s->tuner->noisy += is.noisy;
}

/* The one that the others are compared with is the last of its problem. */
static void keep(session *s, const batch *b) {
  for (pz_node_id last = 0; last < b->graph->n_nodes; last++) {
    problem *p = b->timed[last].problem;
    if (!p || b->timed[last].at != 0) continue;
    pz_rounds_judge(&p->rounds);
    const double scale = scale_of(s, p, b->timed[last].candidate->label);
    for (pz_node_id n = 0; n <= last; n++)
      if (b->timed[n].problem == p && b->timed[n].at >= 0) keep_time(s, &b->timed[n], scale);
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

static bool is_convolution(const session *s, int32_t i) {
  return pz_is_convolution(&s->plan->graph->nodes[s->problems[i].node]);
}

/* ---- what is told of the time that it will take ---- */

static void begin_ahead(session *s, int32_t first, int32_t end) {
  pz_tuner_ahead *a = &s->tuner->ahead;
  a->batch = 0, a->rounds = 0, a->work.n = 0, a->batch_begun = pz_now();
  for (int32_t i = first; i < end; i++) a->batch += count_wanted(s, &s->problems[i]);
}

static void end_ahead(session *s) { s->tuner->ahead.batch = 0; }

double pz_tuner_ahead_left(const pz_tuner *t, double now) {
  const pz_tuner_ahead *a = &t->ahead;
  const double done = t->candidates - a->before, rest = a->wanted - t->candidates - a->batch,
               until = a->batch ? a->batch_begun : now, all = a->wanted - a->before,
               each = done > 0  ? (until - a->begun) / done
                      : all > 0 ? a->foreseen / all
                                : 0;
  double left = fmax(rest, 0) * each;
  if (!a->batch) return left;
  if (a->rounds > 0) return left + fmax(a->rounds - now, 0);
  return left + SECONDS + (a->work.n ? pz_compile_work_left(&a->work, now) : each * a->batch);
}

/* ---- all of it ---- */

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
  begin_ahead(s, first, end);
  if (status == PZ_OK && *fits) {
    status = compile(s, &b, count_fresh(s, first, end), err);
    if (status == PZ_OK) status = run(s, &b, err);
    if (status == PZ_OK) keep(s, &b);
  }
  close_batch(&b);
  end_ahead(s);
  return status == PZ_INTERRUPTED && s->out ? PZ_OK : status;
}

static bool is_first(const session *s) { return isfinite(s->end) && !s->tuner->paced; }

/* Compiling them leaves some of the budget for running them. */
static bool is_affordable(const session *s, int32_t first, int32_t end) {
  const double part = is_first(s) ? FIRST : FULL;
  return pz_tuner_compiling(s->tuner, count_fresh(s, first, end)) < part * left(s);
}

/* One problem at least. */
static int32_t end_of_batch(const session *s, int32_t first) {
  int32_t nodes = 0, end = first;
  int64_t floats = 0;
  for (; end < s->n; end++) {
    nodes += count_wanted(s, &s->problems[end]);
    floats += weights_of(s, &s->problems[end]);
    if (end > first &&
        (is_first(s) || nodes > MOST_NODES || 8 * floats > MOST_BYTES ||
         is_convolution(s, end) != is_convolution(s, first) || !is_affordable(s, first, end + 1)))
      break;
  }
  return end;
}

static pz_status measure_all(session *s, pz_error *err) {
  for (int32_t first = 0, end; first < s->n && !s->out; first = end) {
    bool fits = false;
    end = end_of_batch(s, first);
    if (s->problems[first].led) continue;
    if (!is_affordable(s, first, first + 1)) return s->out = true, PZ_OK;
    s->done = first;
    for (;;) {
      tick(s);
      PZ_TRY(check_interrupt(s, err));
      PZ_TRY(measure_batch(s, first, end, &fits, err));
      if (fits || s->out || end == first + 1) break;
      end = first + (end - first) / 2;
    }
    if (!fits && !s->out)
      pz_tuner_note(s->tuner, "too large to be timed: %s; the cost model chooses",
                    s->problems[first].name.text);
  }
  return PZ_OK;
}

static pz_status count_left(session *s, pz_error *err) {
  s->effort = s->tuner->effort;
  PZ_TRY(find_problems(s, err));
  s->tuner->left = s->n;
  return PZ_OK;
}

/* Compilers, and rounds of each graph. */
static pz_status foresee(session *s, pz_error *err) {
  int32_t wanted = 0, fresh = 0;
  s->effort = s->tuner->effort;
  PZ_TRY(find_problems(s, err));
  for (int32_t i = 0; i < s->n; i++) {
    wanted += count_wanted(s, &s->problems[i]);
    if (!s->problems[i].led) fresh += s->problems[i].fresh;
  }
  s->tuner->ahead = (pz_tuner_ahead){
      .wanted = s->tuner->candidates + wanted,
      .before = s->tuner->candidates,
      .begun = pz_now(),
      .foreseen = wanted ? pz_tuner_compiling(s->tuner, fresh) + SECONDS * (1 + wanted / MOST_NODES) : 0,
      .work = {.pace = s->tuner->ahead.work.pace}};
  tick(s);
  return PZ_OK;
}

/* Within a budget those that lead come first, so that each problem that is worth it has them. */
static pz_status measure(session *s, pz_error *err) {
  const bool bounded = isfinite(s->end);
  PZ_TRY(foresee(s, err));
  s->effort = bounded ? PZ_EFFORT_LEADING : s->tuner->effort;
  for (;; s->effort = s->tuner->effort) {
    PZ_TRY(find_problems(s, err));
    PZ_TRY(measure_all(s, err));
    if (s->out || s->effort == s->tuner->effort) break;
    s->passed = true;
  }
  return count_left(s, err);
}

pz_status pz_tuner_measure(pz_tuner *tuner, const pz_plan *plan, double left, pz_error *err) {
  session s = {.tuner = tuner, .plan = plan, .arena = pz_arena_new()};
  pz_error why = {0};
  const double start = pz_now(), budget = pz_tuner_left(tuner);
  pz_status status = PZ_OK;
  if (tuner->effort == PZ_EFFORT_ESTIMATE) return pz_arena_free(s.arena), PZ_OK;
  s.end = start + (left < budget ? left : budget);
  if (budget > 0 && isfinite(s.end) && tuner->slowness <= 0 && !tuner->trusting)
    tuner->slowness = pz_watch_load();
  if (!s.arena) status = pz_fail_memory(&why, "problems to measure", 64);
  else status = budget > 0 ? measure(&s, &why) : count_left(&s, &why);
  if (status != PZ_OK && status != PZ_INTERRUPTED)
    pz_tuner_note(tuner, "not all could be measured: %s; the cost model chooses", why.message);
  pz_arena_free(s.arena);
  tuner->seconds += pz_now() - start;
  if (budget > 0) pz_tuner_spend(tuner, start);
  return status == PZ_INTERRUPTED ? pz_fail(err, status, "%s", why.message) : PZ_OK;
}
