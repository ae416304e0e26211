#include "api/autotune.h"
#include "base/clock.h"
#include "api/rounds.h"
#include "api/watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 5, LEAST_ROUNDS = PZ_ROUNDS_LEAST, MOST_ROUNDS = 15, MOST_BUSY_ROUNDS = 45, RUNS = 3 };
#define NEAR    1.15 /* others that took up to so many times as long are tried */
#define LEAST   2e-4 /* seconds: what takes less is not told from noise */
#define SHARE   0.02 /* of all convolutions' time: the same */
#define SECONDS 16.0 /* of rounds, if there are LEAST_ROUNDS */
#define BUSY    40.0 /* the same, where other work on the machine disturbs them */
#define LONG    2.0  /* seconds of a run, of which there is then one a round */
#define PACKING                                                                                              \
  1.0 /* seconds that a network's weights and its linking take beside the kernels, as is guessed */

/* A network file: the plan as it is (0), or with the next best candidates. */
typedef struct file {
  const char *path;
  const char **label; /* by node: the candidate whose time is wanted; NULL: none */
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
  pz_rounds *layers; /* by node; behind the last one, of all steps. Of the files as candidates */
  int32_t n_files;
  double end;  /* of the budget (pz_now) */
  bool unsure; /* the comparison was too noisy to tell */
};

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

static pz_status add_file(pz_autotune *t, pz_error *err) {
  const size_t nodes = (size_t)t->plan->graph->n_nodes;
  file *f = &t->files[t->n_files];
  f->path = pz_arena_printf(t->arena, "%s/%d.so", t->folder.path, t->n_files);
  f->label = PZ_NEW(t->arena, const char *, nodes + 1);
  return f->label && f->path ? PZ_OK : pz_fail_memory(err, "autotuning", nodes * 64);
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

/* PZ_INTERRUPTED at the end of the budget too. */
static pz_status compile(const pz_autotune *t, const pz_plan *plan, const char *folder, const char *path,
                         pz_error *err) {
  pz_emit_options emit = *t->emit;
  pz_deadline deadline;
  pz_emit_counts counts = {0};
  const double start = pz_now();
  emit.counts = &counts;
  pz_deadline_use(&deadline, t->end, &emit);
  PZ_TRY(pz_emit_source(plan, &emit, folder, err));
  PZ_TRY(pz_emit_manifest(plan, &emit, NULL, folder, NULL, err));
  const pz_status status = pz_emit_compile(plan, &emit, folder, err);
  if (t->emit->counts) t->emit->counts->compiled += counts.compiled, t->emit->counts->cached += counts.cached;
  PZ_TRY(status);
  pz_tuner_compiled(t->tuner, counts.compiled, pz_now() - start);
  return pz_emit_link(plan, &emit, folder, path, err);
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

/* What a layer took in the runs of a file of this round: the least of those that nothing disturbed, if there are any. */
typedef struct sample {
  double seconds;
  bool disturbed;
} sample;

static void take(sample *s, double seconds, bool disturbed) {
  const bool better = s->disturbed == disturbed ? seconds < s->seconds : s->disturbed;
  if (s->seconds <= 0 || better) *s = (sample){seconds, disturbed};
}

/* A layer that runs band by band has several steps. `run`: room for a sample of each layer, and of all steps. */
static void add_run(const pz_autotune *t, const pz_watch *w, sample *run, sample *of_round) {
  const pz_graph *g = t->plan->graph;
  memset(run, 0, ((size_t)g->n_nodes + 1) * sizeof *run);
  for (int32_t i = 0; i < w->n; i++) {
    const pz_abi_step *s = &w->net->abi->steps[i];
    const pz_node_id node = pz_graph_find_node(g, s->name);
    sample *const both[] = {&run[g->n_nodes], node != PZ_NONE && !strcmp(s->op, pz_op_name(g->nodes[node].op))
                                                  ? &run[node]
                                                  : NULL};
    for (int k = 0; k < 2; k++)
      if (both[k]) both[k]->seconds += w->seconds[i], both[k]->disturbed |= w->disturbed[i];
  }
  for (pz_node_id n = 0; n <= g->n_nodes; n++) take(&of_round[n], run[n].seconds, run[n].disturbed);
}

static double sum_of(const pz_watch *w) {
  double sum = 0;
  for (int32_t i = 0; i < w->n; i++) sum += w->seconds[i];
  return sum;
}

static pz_status run(const pz_autotune *t, pz_rounds *layers, int32_t file, pz_net *net, pz_error *err) {
  const pz_node_id all = t->plan->graph->n_nodes;
  pz_watch watch;
  sample *samples = PZ_NEW(t->arena, sample, 2 * ((size_t)all + 1));
  if (!samples) return pz_fail_memory(err, "times of layers", (size_t)all * sizeof *samples);
  PZ_TRY(pz_watch_new(t->arena, net, t->tuner->trusting, &watch, err));
  pz_status status = pz_watch_run(&watch, &t->patch, err); /* warms up */
  const int32_t runs = sum_of(&watch) > LONG ? 1 : RUNS;
  for (int32_t r = 0; status == PZ_OK && r < runs; r++) {
    status = t->tick(t->host, err);
    if (status == PZ_OK) status = pz_watch_run(&watch, &t->patch, err);
    if (status == PZ_OK) add_run(t, &watch, samples, samples + all + 1);
  }
  pz_watch_close(&watch);
  PZ_TRY(status);
  for (pz_node_id n = 0; n <= all; n++)
    pz_rounds_set(&layers[n], file, samples[all + 1 + n].seconds, samples[all + 1 + n].disturbed);
  return PZ_OK;
}

/* Opened anew each time: where its pages lie is worth some per cent. */
static pz_status open_and_run(pz_autotune *t, pz_rounds *layers, const char *path, int32_t file,
                              pz_error *err) {
  pz_net *net;
  pz_status status = pz_open_compiled(path, t->tuner->key.threads, &net, err);
  if (status != PZ_OK) return status;
  if (!t->patch.inputs) status = pz_patch_new(net, PZ_SELF_TEST_SEED, &t->patch, err);
  if (status == PZ_OK) status = run(t, layers, file, net, err);
  pz_net_close(net);
  return status;
}

/* After so many rounds, which took so long. A busy machine costs more of them. */
static bool is_enough(const pz_autotune *t, pz_rounds *all, double seconds) {
  if (all->rounds < LEAST_ROUNDS) return false;
  if (pz_now() > t->end) return true;
  pz_rounds_judge(all);
  return all->noisy ? all->rounds >= MOST_BUSY_ROUNDS || seconds > BUSY
                    : all->rounds >= MOST_ROUNDS || seconds > SECONDS;
}

/* *layers: of n files. */
static pz_status run_in_turn(pz_autotune *t, const char *const *paths, int32_t n, pz_rounds **layers,
                             pz_error *err) {
  const pz_node_id all = t->plan->graph->n_nodes;
  const double start = pz_now();
  *layers = PZ_NEW(t->arena, pz_rounds, (size_t)all + 1);
  bool room = *layers != NULL;
  for (pz_node_id i = 0; room && i <= all; i++)
    room = pz_rounds_new(t->arena, n, MOST_BUSY_ROUNDS, t->tuner->trusting, &(*layers)[i]);
  if (!room) return pz_fail_memory(err, "times of layers", (size_t)all * sizeof **layers);
  for (int32_t r = 0; !is_enough(t, &(*layers)[all], pz_now() - start); r++) {
    for (int32_t i = 0; i < n; i++) PZ_TRY(open_and_run(t, *layers, paths[(r + i) % n], (r + i) % n, err));
    for (pz_node_id i = 0; i <= all; i++) (*layers)[i].rounds++;
  }
  return PZ_OK;
}

/* ---- in-network autotuning ---- */

/* The tuner's times in the network are those of the first `files`. */
static void tell_times(const pz_autotune *t, int32_t files, bool stored) {
  for (pz_node_id n = 0; n < t->plan->graph->n_nodes; n++) {
    if (!t->files[0].label[n]) continue;
    pz_tuner_forget_tried(t->tuner, t->plan, n);
    pz_rounds_judge(&t->layers[n]);
    for (int32_t k = 0; k < files; k++) {
      const pz_rounds_time is = t->layers[n].times[k];
      if (!t->files[k].label[n] || is.seconds <= 0) continue;
      pz_tuner_keep_tried(t->tuner, t->plan, n, t->files[k].label[n], is.seconds, is.noisy, stored);
      t->tuner->noisy += stored && is.noisy;
    }
  }
}

static int32_t labels_of(const pz_autotune *t, const file *f) {
  int32_t n = 0;
  for (pz_node_id i = 0; i < t->plan->graph->n_nodes; i++) n += f->label[i] != NULL;
  return n;
}

/* What one more file takes, with its rounds and those of the comparison behind it, fits into the budget. A round was tried, and took so long. */
static bool is_affordable(const pz_autotune *t, const file *f, double round) {
  return pz_now() + pz_tuner_compiling(t->tuner, labels_of(t, f)) + 2 * PACKING + 4 * LEAST_ROUNDS * round <
         t->end;
}

/* What a round of one file takes; 0 where it does not matter. */
static pz_status time_round(pz_autotune *t, double *round, pz_error *err) {
  pz_rounds *none;
  const double start = pz_now(), end = t->end;
  *round = 0;
  if (isinf(end)) return PZ_OK;
  t->end = start; /* as few rounds as there may be */
  const pz_status status = run_in_turn(t, &t->files[0].path, 1, &none, err);
  t->end = end, *round = (pz_now() - start) / LEAST_ROUNDS;
  return status;
}

static pz_status add_files(pz_autotune *t, int32_t most, pz_error *err) {
  double round;
  PZ_TRY(time_round(t, &round, err));
  for (; t->n_files < most; t->n_files++) {
    file *f = &t->files[t->n_files];
    PZ_TRY(add_file(t, err));
    if (!go_on_with(t, f) || (t->n_files == 1 && !is_affordable(t, f, round))) break;
    PZ_TRY(make(t, f, err));
    if (isfinite(t->end)) most = 2;
  }
  return PZ_OK;
}

static pz_status try_all(pz_autotune *t, const char *network, pz_error *err) {
  const int32_t most = t->tuner->effort == PZ_EFFORT_EXHAUSTIVE ? MOST_FILES : 3;
  const char *paths[MOST_FILES];
  PZ_TRY(pz_folder_new(t->arena, &t->folder, err));
  PZ_TRY(add_file(t, err));
  t->n_files = 1;
  if (!begin_with(t)) return t->n_files = 0, PZ_OK;
  PZ_TRY(pz_copy_file(network, t->files[0].path, err));
  PZ_TRY(add_files(t, most, err));
  if (t->n_files < 2) return PZ_OK;
  for (int32_t i = 0; i < t->n_files; i++) paths[i] = t->files[i].path;
  PZ_TRY(run_in_turn(t, paths, t->n_files, &t->layers, err));
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
  t->end = pz_now() + pz_tuner_left(tuner);
  const pz_status status = t->arena ? try_all(t, network, &why) : pz_fail_memory(&why, "autotuning", 64);
  if (status == PZ_OK && t->n_files > 1) return *autotune = t, PZ_OK;
  free_autotune(t);
  tuner->tried = 0;
  const volatile int *interrupt = tuner->options->interrupt;
  if (status == PZ_INTERRUPTED && !(interrupt && *interrupt)) return PZ_OK; /* the budget has ended it */
  if (status == PZ_INTERRUPTED) return pz_fail(err, status, "%s", why.message);
  if (status != PZ_OK) pz_tuner_note(tuner, "candidates were not tried in the network: %s", why.message);
  return PZ_OK;
}

/* In doubt the one before. */
pz_status pz_autotune_compare(pz_autotune *t, const char *network, bool *better, pz_error *err) {
  const pz_node_id all = t->plan->graph->n_nodes;
  pz_rounds *layers;
  *better = false;
  PZ_TRY(run_in_turn(t, (const char *const[]){t->files[0].path, network}, 2, &layers, err));
  pz_rounds_judge(&layers[all]);
  const pz_rounds_time before = layers[all].times[0], after = layers[all].times[1];
  t->unsure = after.noisy;
  *better = !after.noisy && after.seconds <= PZ_ROUNDS_ALIKE * before.seconds;
  return PZ_OK;
}

void pz_autotune_end(pz_autotune *t, pz_autotune_keep keep) {
  if (!t) return;
  tell_times(t,
             keep == PZ_AUTOTUNE_ALL                    ? t->n_files
             : keep == PZ_AUTOTUNE_BEFORE && !t->unsure ? 1
                                                        : 0,
             true);
  free_autotune(t);
}
