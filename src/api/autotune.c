#include "api/autotune.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_FILES = 5, LEAST_ROUNDS = 3, MOST_ROUNDS = 15, RUNS = 3 };
#define NEAR    1.15 /* others that took up to so many times as long are tried */
#define LEAST   2e-4 /* seconds: what takes less is not told from noise */
#define SHARE   0.02 /* of all convolutions' time: the same */
#define SECONDS 16.0 /* of rounds, if there are LEAST_ROUNDS */
#define ALIKE   1.02 /* no slower: times, errors and weights decide within that (tuner.c, budget.c) */
#define LONG    2.0  /* seconds of a run, of which there is then one a round */

/* A network file: the plan as it is (0), or with the next best candidates. */
typedef struct file {
  const char *path;
  const char **label;             /* by node: the candidate whose time is wanted; NULL: none */
  double (*seconds)[MOST_ROUNDS]; /* by node; behind the last one, of all steps */
} file;

struct pz_autotune {
  pz_tuner *tuner;
  const pz_plan *plan;
  const pz_plan_options *wanted;
  const pz_emit_options *emit;
  pz_autotune_tick tick;
  void *host;
  pz_arena *arena;
  pz_folder folder;
  pz_patch patch;
  file files[MOST_FILES];
  int32_t n_files, rounds;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- which candidates ---- */

static double all_seconds(const pz_plan *plan) {
  double sum = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (plan->choices[n].n) sum += pz_plan_candidate(plan, n)->seconds;
  return sum;
}

/* The files before have it. */
static bool is_taken(const pz_autotune *t, pz_node_id n, const char *label) {
  for (int32_t k = 0; k < t->n_files; k++)
    if (t->files[k].label[n] && !strcmp(t->files[k].label[n], label)) return true;
  return false;
}

/* The fastest one that is not taken, or NULL. */
static const char *next_of(const pz_autotune *t, pz_node_id n) {
  const pz_choice *choice = &t->plan->choices[n];
  const pz_candidate *best = NULL;
  for (int32_t i = 0; i < choice->n; i++) {
    const pz_candidate *c = &choice->candidates[i];
    if (c->seconds <= 0 || c->seconds > NEAR * choice->candidates[choice->chosen].seconds) continue;
    if ((!best || c->seconds < best->seconds) && !is_taken(t, n, c->label)) best = c;
  }
  return best ? best->label : NULL;
}

static pz_status begin_file(const pz_autotune *t, const char *path, file *f, pz_error *err) {
  const size_t nodes = (size_t)t->plan->graph->n_nodes;
  f->path = path;
  f->label = PZ_NEW(t->arena, const char *, nodes + 1);
  f->seconds = pz_arena_alloc(t->arena, nodes + 1, sizeof *f->seconds);
  return f->label && f->seconds && path ? PZ_OK : pz_fail_memory(err, "autotuning", nodes * 64);
}

static pz_status add_file(pz_autotune *t, pz_error *err) {
  const char *path = pz_arena_printf(t->arena, "%s/%d.so", t->folder.path, t->n_files);
  return begin_file(t, path, &t->files[t->n_files], err);
}

/* Layers that are worth it, with the candidates that they have. False: there are none. */
static bool begin_with(pz_autotune *t) {
  const double all = all_seconds(t->plan);
  bool any = false;
  for (pz_node_id n = 0; n < t->plan->graph->n_nodes; n++) {
    if (!t->plan->choices[n].n) continue;
    const pz_candidate *c = pz_plan_candidate(t->plan, n);
    if (c->seconds < LEAST || c->seconds < SHARE * all || pz_tuner_tried(t->tuner, t->plan, n)) continue;
    t->files[0].label[n] = c->label;
    if (next_of(t, n)) any = true, t->tuner->tried++;
  }
  return any;
}

/* The next best of each layer. False: there are none. */
static bool go_on_with(const pz_autotune *t, const file *f) {
  bool any = false;
  for (pz_node_id n = 0; n < t->plan->graph->n_nodes; n++)
    if (t->files[0].label[n]) any |= (f->label[n] = next_of(t, n)) != NULL;
  return any;
}

/* ---- their network ---- */

typedef struct forced {
  const pz_plan *plan;
  const char *const *label;
} forced;

static int32_t force(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  const forced *f = host;
  const pz_node_id id = (pz_node_id)(node - plan->graph->nodes);
  const char *label = f->label[id] ? f->label[id] : pz_plan_candidate(f->plan, id)->label;
  for (int32_t i = 0; i < n; i++)
    if (!strcmp(c[i].label, label)) return i;
  return 0;
}

static pz_status compile(const pz_autotune *t, const pz_plan *plan, const char *folder, const char *path,
                         pz_error *err) {
  PZ_TRY(pz_emit_source(plan, t->emit, folder, err));
  PZ_TRY(pz_emit_manifest(plan, t->emit, NULL, folder, NULL, err));
  PZ_TRY(pz_emit_compile(plan, t->emit, folder, err));
  return pz_emit_link(plan, t->emit, folder, path, err);
}

/* Errors and weights are not looked at: the plan that comes of it will be within bounds again. */
static pz_status make(const pz_autotune *t, const file *f, pz_error *err) {
  forced host = {t->plan, f->label};
  pz_plan_options options = *t->wanted;
  options.max_error = 1, options.error_propagation = NULL, options.slack = 0;
  options.choose = force, options.choose_host = &host;
  const char *folder = pz_arena_printf(t->arena, "%s/source", t->folder.path);
  pz_plan *plan;
  if (!folder) return pz_fail_memory(err, "a path", 64);
  PZ_TRY(pz_plan_new(t->plan->graph, &options, &plan, err));
  pz_plan_settle(t->tuner->options, plan);
  const pz_status status = compile(t, plan, folder, f->path, err);
  pz_plan_free(plan);
  return status;
}

/* ---- runs ---- */

static pz_status failed(pz_status status, pz_error *err) {
  return pz_fail(err, status, "%s", pz_last_message());
}

static pz_status profile(const pz_autotune *t, pz_net *net, int32_t runs, pz_step_profile *steps,
                         pz_error *err) {
  PZ_TRY(t->tick(t->host, err));
  const pz_status status =
      pz_net_profile(net, (const void *const *)t->patch.inputs, (void *const *)t->patch.outputs, runs, steps);
  return status == PZ_OK ? PZ_OK : failed(status, err);
}

static double sum_of(const pz_step_profile *steps, int32_t n) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += steps[i].seconds;
  return sum;
}

/* A layer that runs band by band has several steps. */
static pz_status run(const pz_autotune *t, const file *f, pz_net *net, pz_error *err) {
  const pz_graph *g = t->plan->graph;
  const int32_t n = pz_net_steps(net);
  pz_step_profile *steps = PZ_NEW(t->arena, pz_step_profile, (size_t)n + 1);
  if (!steps) return pz_fail_memory(err, "times of layers", (size_t)n * sizeof *steps);
  PZ_TRY(profile(t, net, 1, steps, err));
  PZ_TRY(profile(t, net, sum_of(steps, n) > LONG ? 1 : RUNS, steps, err));
  for (pz_node_id i = 0; i <= g->n_nodes; i++) f->seconds[i][t->rounds] = 0;
  for (int32_t i = 0; i < n; i++) {
    const pz_node_id node = pz_graph_find_node(g, steps[i].name);
    if (node != PZ_NONE && !strcmp(steps[i].op, pz_op_name(g->nodes[node].op)))
      f->seconds[node][t->rounds] += steps[i].seconds;
    f->seconds[g->n_nodes][t->rounds] += steps[i].seconds;
  }
  return PZ_OK;
}

/* Opened anew each time: where its pages lie is worth some per cent. */
static pz_status open_and_run(pz_autotune *t, const file *f, pz_error *err) {
  pz_net *net;
  pz_status status = pz_open_compiled(f->path, t->tuner->key.threads, &net, err);
  if (status != PZ_OK) return status;
  if (!t->patch.inputs) status = pz_patch_new(net, PZ_SELF_TEST_SEED, &t->patch, err);
  if (status == PZ_OK) status = run(t, f, net, err);
  pz_net_close(net);
  return status;
}

static pz_status run_in_turn(pz_autotune *t, file *const *files, int32_t n, pz_error *err) {
  const double start = now();
  for (t->rounds = 0; t->rounds < LEAST_ROUNDS || (t->rounds < MOST_ROUNDS && now() - start < SECONDS);
       t->rounds++)
    for (int32_t i = 0; i < n; i++) PZ_TRY(open_and_run(t, files[(t->rounds + i) % n], err));
  return PZ_OK;
}

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The lower quartile of the rounds (the least of three): what else runs on a machine only adds to times. */
static double quiet(const pz_autotune *t, const double *rounds) {
  double sorted[MOST_ROUNDS];
  memcpy(sorted, rounds, (size_t)t->rounds * sizeof *sorted);
  qsort(sorted, (size_t)t->rounds, sizeof *sorted, compare_doubles);
  return sorted[t->rounds / 4];
}

/* ---- in-network autotuning ---- */

/* The tuner's times in the network are those of the first `files`. */
static void tell_times(const pz_autotune *t, int32_t files, bool stored) {
  for (pz_node_id n = 0; n < t->plan->graph->n_nodes; n++) {
    if (t->files[0].label[n]) pz_tuner_forget_tried(t->tuner, t->plan, n);
    for (int32_t k = 0; k < files; k++) {
      const double seconds = quiet(t, t->files[k].seconds[n]);
      if (t->files[k].label[n] && seconds > 0)
        pz_tuner_keep_tried(t->tuner, t->plan, n, t->files[k].label[n], seconds, stored);
    }
  }
}

static pz_status try_all(pz_autotune *t, const char *network, pz_error *err) {
  const int32_t most = t->tuner->effort == PZ_EFFORT_EXHAUSTIVE ? MOST_FILES : 3;
  file *files[MOST_FILES];
  PZ_TRY(pz_folder_new(t->arena, &t->folder, err));
  PZ_TRY(add_file(t, err));
  t->n_files = 1;
  if (!begin_with(t)) return t->n_files = 0, PZ_OK;
  PZ_TRY(pz_copy_file(network, t->files[0].path, err));
  for (; t->n_files < most; t->n_files++) {
    PZ_TRY(add_file(t, err));
    if (!go_on_with(t, &t->files[t->n_files])) break;
    PZ_TRY(make(t, &t->files[t->n_files], err));
  }
  for (int32_t i = 0; i < t->n_files; i++) files[i] = &t->files[i];
  PZ_TRY(run_in_turn(t, files, t->n_files, err));
  tell_times(t, t->n_files, false);
  return PZ_OK;
}

static void free_autotune(pz_autotune *t) {
  pz_folder_remove(&t->folder);
  pz_patch_free(&t->patch);
  pz_arena_free(t->arena);
  free(t);
}

pz_status pz_autotune_run(pz_tuner *tuner, const pz_plan *plan, const pz_plan_options *wanted,
                          const pz_emit_options *emit, const char *network, pz_autotune_tick tick, void *host,
                          pz_autotune **autotune, pz_error *err) {
  pz_autotune *t = calloc(1, sizeof *t);
  pz_error why = {0};
  *autotune = NULL;
  if (!t) return pz_fail_memory(err, "autotuning", sizeof *t);
  *t = (pz_autotune){tuner, plan, wanted, emit, tick, host, .arena = pz_arena_new()};
  const pz_status status = t->arena ? try_all(t, network, &why) : pz_fail_memory(&why, "autotuning", 64);
  if (status == PZ_OK && t->n_files > 1) return *autotune = t, PZ_OK;
  free_autotune(t);
  tuner->tried = 0;
  if (status == PZ_INTERRUPTED) return pz_fail(err, status, "%s", why.message);
  if (status != PZ_OK) pz_tuner_note(tuner, "candidates were not tried in the network: %s", why.message);
  return PZ_OK;
}

pz_status pz_autotune_compare(pz_autotune *t, const char *network, bool *better, pz_error *err) {
  const pz_node_id all = t->plan->graph->n_nodes;
  const int32_t rounds = t->rounds;
  file before, after;
  PZ_TRY(begin_file(t, t->files[0].path, &before, err));
  PZ_TRY(begin_file(t, network, &after, err));
  const pz_status status = run_in_turn(t, (file *[]){&before, &after}, 2, err);
  *better = status == PZ_OK && quiet(t, after.seconds[all]) <= ALIKE * quiet(t, before.seconds[all]);
  t->rounds = rounds;
  return status;
}

void pz_autotune_end(pz_autotune *t, pz_autotune_keep keep) {
  if (!t) return;
  tell_times(t, keep == PZ_AUTOTUNE_ALL ? t->n_files : keep == PZ_AUTOTUNE_BEFORE ? 1 : 0, true);
  free_autotune(t);
}
