/* tuner.c: times of candidates, from the tuning database and from measuring, and the choice by them. */
#include "api/tuner.h"
#include "base/clock.h"
#include "base/inert.h"
#include "api/worth.h"
#include "base/owned.h"
#include "choose/cost_file.h"
#include "emit/emit.h"
#include "plan/solver.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET 10 /* seconds, where no effort is named */

static const char *const efforts[] = {[PZ_EFFORT_ESTIMATE] = "estimate", "", "measure", "exhaustive"};
const char *pz_effort_name(pz_effort effort) { return efforts[effort]; }

/* The first note is the cause. */
void pz_tuner_note(pz_tuner *tuner, const char *format, ...) {
  va_list list;
  if (tuner->note[0]) return;
  va_start(list, format);
  char text[sizeof tuner->note];
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  pz_inert(text, tuner->note, sizeof tuner->note);
}

static pz_status parse_effort(const char *text, pz_effort *effort, pz_error *err) {
  *effort = PZ_EFFORT_MEASURE;
  if (!text) return PZ_OK;
  for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++)
    if (*text && !strcmp(text, efforts[i])) return *effort = (pz_effort)i, PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE, "--effort %s: expected estimate, measure or exhaustive", text);
}

static pz_status parse_budget(pz_tuner *t, const pz_compile_options *o, pz_error *err) {
  t->budget = o->bounded ? o->budget : o->effort ? INFINITY : BUDGET;
  if (o->bounded && !(isfinite(o->budget) && o->budget >= 0))
    return pz_fail(err, PZ_ERROR_USAGE, "--budget %g: expected a number of seconds, 0 or more", o->budget);
  if (o->bounded && o->budget > 0 && t->asked == PZ_EFFORT_ESTIMATE)
    return pz_fail(err, PZ_ERROR_USAGE,
                   "--budget %g goes with measuring, not with --effort estimate, which measures nothing",
                   o->budget);
  return PZ_OK;
}

/* ---- the budget ---- */

double pz_tuner_left(const pz_tuner *t) { return t->budget > t->spent ? t->budget - t->spent : 0; }
void pz_tuner_spend(pz_tuner *t, double start) { t->spent += pz_now() - start; }

enum { LEAST_KERNELS = 2 }; /* fewer tell nothing of others */
static double quiet_compiling(double kernels) { return pz_compile_cost_of_some(kernels, pz_cpu_usable()); }

double pz_tuner_compiling(const pz_tuner *t, int32_t kernels) {
  return (t->slowness > 0 ? t->slowness : 1) * quiet_compiling(kernels);
}

void pz_tuner_compiled(pz_tuner *t, int64_t kernels, double seconds) {
  if (kernels < LEAST_KERNELS) return;
  t->slowness = seconds / quiet_compiling((double)kernels);
  t->paced = true;
}

static void look_at_clock(void *host) {
  pz_deadline *d = host;
  if (d->tick) d->tick(d->host);
  if ((d->interrupt && *d->interrupt) || pz_now() > d->end) d->stop = 1;
}
void pz_deadline_use(pz_deadline *d, double end, pz_emit_options *emit) {
  *d = (pz_deadline){.end = end, .interrupt = emit->interrupt, .tick = emit->tick, .host = emit->tick_host};
  emit->interrupt = &d->stop, emit->tick = look_at_clock, emit->tick_host = d;
}
bool pz_deadline_passed(const pz_deadline *d) { return d->stop && !(d->interrupt && *d->interrupt); }

/* ---- opening ---- */

/* A cache is no reason to fail. */
static void without_database(pz_tuner *t, const pz_error *why) {
  pz_tuner_note(t, "times of candidates are not kept: %s", why->message);
  pz_tuning_close(t->database);
  t->database = NULL;
}

static pz_status open_database(pz_tuner *t, bool measures, pz_error *err) {
  const pz_compile_options *o = t->options;
  const char *cc = pz_emit_compiler(&(pz_emit_options){.cc = o->cc});
  pz_error why = {0};
  if (o->tuning && !strcmp(o->tuning, "none")) return PZ_OK;
  pz_status status = pz_compiler_identity(cc, o->interrupt, t->compiler, &why);
  if (status == PZ_INTERRUPTED) return pz_fail(err, status, "%s", why.message);
  if (status == PZ_OK)
    status = pz_tuning_open(o->tuning, measures ? PZ_TUNING_WRITE : PZ_TUNING_READ, &t->database, &why);
  if (status != PZ_OK) without_database(t, &why);
  return PZ_OK;
}

/* ---- the cost model ---- */

static pz_status read_fit(pz_tuner *t, const char *cpu, int32_t threads, pz_arena *arena, bool *found,
                          pz_error *err) {
  const char *path = t->options->tuning;
  pz_cost_fits fits;
  if (!path) PZ_TRY(pz_tuning_default_path(arena, &path, err));
  const char *costs = pz_arena_printf(arena, "%s%s", path, PZ_COST_FILE);
  if (!costs) return pz_fail_memory(err, "a path", 64);
  if (!t->options->tuning) PZ_TRY(pz_single_file(costs, err));
  PZ_TRY(pz_cost_file_read(costs, arena, &fits, err));
  const pz_cost_fit *fit = pz_cost_fits_find(&fits, cpu, threads);
  *found = fit != NULL;
  if (fit) t->fitted = fit->model;
  return PZ_OK;
}

/* A fit of this CPU is not one of another core. */
static void use_fit(pz_tuner *t, pz_plan_options *wanted) {
  const pz_compile_options *o = t->options;
  const pz_target *target = &wanted->target;
  char cpu[PZ_TUNING_CPU_TEXT];
  pz_error why = {0};
  bool found = false;
  const bool named = o->tuning && strcmp(o->tuning, "none") != 0 && *o->tuning,
             here = (named || !o->tuning) && pz_target_times_here(target);
  pz_arena *arena = here ? pz_arena_new() : NULL;
  if (arena) {
    pz_tuning_cpu(pz_target_isa(target), NULL, cpu);
    if (read_fit(t, cpu, o->threads ? o->threads : pz_cpu_usable(), arena, &found, &why) != PZ_OK)
      pz_tuner_note(t, "%s: it is not used; `pznet tune --fit` makes it anew", why.message);
    if (found) wanted->target.fitted = &t->fitted;
  }
  const pz_target planned = pz_plan_target(wanted);
  const pz_cost_model *model = pz_target_cost_model(&planned);
  t->costs = model == &t->fitted ? "fitted" : model == pz_cost_model_default() ? "default" : "core";
  pz_arena_free(arena);
}

pz_status pz_tuner_open(pz_tuner *t, const pz_compile_options *options, pz_plan_options *wanted,
                        bool measures, pz_error *err) {
  const char *quiet = getenv("PZNET_ASSUME_QUIET");
  *t = (pz_tuner){.options = options, .times = json_object(), .trusting = quiet && *quiet};
  if (!t->times) return pz_fail_memory(err, "times of candidates", 64);
  PZ_TRY(parse_effort(options->effort, &t->asked, err));
  PZ_TRY(parse_budget(t, options, err));
  if (options->threads < 0 || options->threads > PZ_TUNING_MOST_THREADS)
    return pz_fail(err, PZ_ERROR_USAGE, "--threads %d: expected a number from 0 to %d", options->threads,
                   PZ_TUNING_MOST_THREADS);
  t->effort = t->asked;
  use_fit(t, wanted);
  if (t->effort == PZ_EFFORT_ESTIMATE) return PZ_OK;
  const pz_target *target = &wanted->target;
  t->target = pz_plan_target(wanted);
  const pz_isa isa = pz_target_isa(target);
  if (!pz_target_times_here(target)) {
    t->effort = PZ_EFFORT_ESTIMATE;
    if (pz_target_runs_here(target))
      pz_tuner_note(t, "this machine is no %s, so nothing is measured: the cost model chooses", target->name);
    else
      pz_tuner_note(t, "this machine cannot run %s, so nothing is measured: the cost model chooses",
                    pz_isa_get(isa)->title);
    return PZ_OK;
  }
  pz_tuning_cpu(isa, pz_target_is_row(target) ? target->name : NULL, t->cpu);
  t->key = (pz_tuning_key){.cpu = t->cpu,
                           .compiler = t->compiler,
                           .solvers = pz_tuning_solvers(),
                           .threads = options->threads ? options->threads : pz_cpu_usable()};
  return open_database(t, measures && t->budget > 0, err);
}

void pz_tuner_close(pz_tuner *t) {
  pz_tuning_close(t->database);
  json_decref(t->times);
  t->database = NULL;
  t->times = NULL;
}

/* ---- problems ---- */

pz_status pz_tuner_name(const pz_tuner *t, const pz_plan *plan, pz_node_id n, const char *where,
                        pz_tuner_problem *problem, pz_error *err) {
  pz_text text = {0};
  const pz_status status = pz_problem_key(&plan->problems[n], &t->target, where, &text, problem->hash, err);
  if (status == PZ_OK) pz_tuning_text(text.data, problem->text);
  pz_text_free(&text);
  return status;
}

static void ask_for(pz_tuner *t, const pz_tuner_problem *problem) {
  t->key.hash = problem->hash;
  t->key.problem = problem->text;
}

/* ---- times ---- */

typedef struct times {
  pz_json *json;
  json_t *row;
} times;
static pz_status add_time(void *host, const pz_tuning_entry *e, pz_error *err) {
  const times *t = host;
  pz_json_set(t->json, t->row, e->candidate, json_real(e->noisy ? -e->seconds : e->seconds));
  return pz_json_end(t->json, "times of candidates", err);
}

/* {candidate: seconds}, or NULL when out of memory. */
static json_t *times_of(pz_tuner *t, const pz_tuner_problem *problem) {
  json_t *row = json_object_get(t->times, problem->hash);
  pz_error why = {0};
  if (row) return row;
  pz_json_set(&t->json, t->times, problem->hash, row = json_object());
  if (t->json.failed) return NULL;
  times into = {&t->json, row};
  ask_for(t, problem);
  if (t->database && pz_tuning_list(t->database, &t->key, add_time, &into, &why) != PZ_OK)
    without_database(t, &why);
  return row;
}

static double seconds_in(const json_t *times, const char *candidate, bool *noisy) {
  const double seconds = json_number_value(json_object_get(times, candidate));
  *noisy = seconds < 0;
  return fabs(seconds);
}

double pz_tuner_seconds(pz_tuner *t, const pz_tuner_problem *problem, const char *candidate, bool *noisy) {
  return seconds_in(times_of(t, problem), candidate, noisy);
}

static void remember(pz_tuner *t, const pz_tuner_problem *problem, const char *candidate, double seconds,
                     bool noisy) {
  json_t *row = times_of(t, problem);
  bool was_noisy;
  if (noisy && seconds_in(row, candidate, &was_noisy) > 0 && !was_noisy) return;
  if (row) pz_json_set(&t->json, row, candidate, json_real(noisy ? -seconds : seconds));
}

void pz_tuner_keep(pz_tuner *t, const pz_tuner_problem *problem, const char *candidate, double seconds,
                   bool noisy) {
  pz_error why = {0};
  remember(t, problem, candidate, seconds, noisy);
  ask_for(t, problem);
  if (t->database && pz_tuning_store(t->database, &t->key, candidate, seconds, noisy, &why) != PZ_OK)
    without_database(t, &why);
}

/* ---- times in the network itself ---- */

/* 16 hexadecimal digits: the problems with the tensors that they read and make, and which layers may run band by band; no weights. */
static const char *network_of(pz_tuner *t, const pz_plan *plan) {
  const pz_graph *g = plan->graph;
  pz_tuner_problem problem;
  pz_digest digest;
  if (t->graph == g) return t->network;
  pz_digest_begin(&digest);
  pz_digest_add(&digest, &plan->fuse_rows, sizeof plan->fuse_rows);
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    if (pz_tuner_name(t, plan, n, "", &problem, NULL) != PZ_OK) return NULL;
    pz_digest_add(&digest, problem.hash, sizeof problem.hash);
    pz_digest_add(&digest, node->in, (size_t)node->n_in * sizeof *node->in);
    pz_digest_add(&digest, node->out, (size_t)node->n_out * sizeof *node->out);
  }
  pz_digest_end_text(&digest, t->network);
  t->network[16] = 0;
  t->graph = g;
  return t->network;
}

/* The problem of a node in its network. False when out of memory. */
static bool tried_problem(pz_tuner *t, const pz_plan *plan, pz_node_id n, pz_tuner_problem *problem) {
  char where[64];
  const char *network = network_of(t, plan);
  if (!network) return false;
  snprintf(where, sizeof where, ", layer %d of network %s", (int)n, network);
  return pz_tuner_name(t, plan, n, where, problem, NULL) == PZ_OK;
}

bool pz_tuner_tried(pz_tuner *t, const pz_plan *plan, pz_node_id n) {
  pz_tuner_problem problem;
  const char *candidate;
  json_t *seconds;
  if (!tried_problem(t, plan, n, &problem)) return false;
  json_object_foreach(times_of(t, &problem), candidate,
                      seconds) if (json_number_value(seconds) > 0) return true;
  return false;
}

void pz_tuner_keep_tried(pz_tuner *t, const pz_plan *plan, pz_node_id n, const char *candidate,
                         double seconds, bool noisy, bool stored) {
  pz_tuner_problem problem;
  if (!tried_problem(t, plan, n, &problem)) return;
  if (stored) pz_tuner_keep(t, &problem, candidate, seconds, noisy);
  else remember(t, &problem, candidate, seconds, noisy);
}

void pz_tuner_forget_tried(pz_tuner *t, const pz_plan *plan, pz_node_id n) {
  pz_tuner_problem problem;
  if (!tried_problem(t, plan, n, &problem)) return;
  json_object_del(t->times, problem.hash);
}

/* Where some have times in the network these count, if they are not noisy, and those of the others are scaled as theirs were. */
static void prefer_tried(pz_tuner *t, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  pz_tuner_problem problem;
  const bool known = tried_problem(t, plan, (pz_node_id)(node - plan->graph->nodes), &problem);
  const json_t *tried = known ? times_of(t, &problem) : NULL;
  double alone = 0, inside = 0;
  for (int32_t i = 0; i < n; i++) {
    const double seconds = json_number_value(json_object_get(tried, c[i].label));
    if (seconds > 0 && c[i].seconds > 0) alone += c[i].seconds, inside += seconds;
  }
  for (int32_t i = 0; i < n && alone > 0; i++) {
    const double seconds = json_number_value(json_object_get(tried, c[i].label));
    c[i].seconds = seconds > 0 ? seconds : c[i].seconds * inside / alone;
  }
}

/* ---- which candidates ---- */

static const struct {
  double cost, near;   /* times the cheapest one's: of those that lead, of the others */
  int32_t most, alike; /* in all; with one error: tiles with their axes in another order, other batches */
} bounds[] = {[PZ_EFFORT_ESTIMATE] = {0, 0, 0, 0},
              [PZ_EFFORT_LEADING] = {0, 0, 0, 0},
              [PZ_EFFORT_MEASURE] = {1.7, 1.3, 6, 3},
              [PZ_EFFORT_EXHAUSTIVE] = {4, 4, INT32_MAX, INT32_MAX}};

/* Few enough of those before it have its error. */
static bool is_unlike(pz_effort effort, const pz_candidate *c, int32_t i) {
  int32_t alike = 0;
  for (int32_t k = 0; k < i; k++) alike += c[k].error == c[i].error;
  return alike < bounds[effort].alike;
}

/* No candidate of its solver is cheaper and as exact: costs of one are known to each other better than to another's, and the plan may
 * have no room for larger errors. */
static bool leads(const pz_candidate *c, int32_t i) {
  for (int32_t k = 0; k < i; k++)
    if (c[k].solver == c[i].solver && c[k].error <= c[i].error) return false;
  return true;
}

/* One that reads or writes another layout is alone as it never is in a network, which converts for it: it is worth a time where it is near. */
static bool has_layouts_of(const pz_candidate *c, const pz_candidate *other) {
  return c->solver->in == other->solver->in && c->solver->out == other->solver->out;
}

bool pz_tuner_wants(pz_effort effort, const pz_target *target, const pz_candidate *c, int32_t n, int32_t i) {
  if (effort != PZ_EFFORT_ESTIMATE && pz_worth_leads(target, c, n, i)) return true;
  if (c[i].cost > bounds[effort].cost * c[0].cost) return false;
  const bool near = c[i].cost <= bounds[effort].near * c[0].cost;
  if (leads(c, i)) return near || has_layouts_of(&c[i], &c[0]);
  if (!near || !is_unlike(effort, c, i)) return false;
  int32_t before = 0;
  for (int32_t k = 0; k < i && before < bounds[effort].most; k++) before += is_unlike(effort, c, k);
  return before < bounds[effort].most;
}

int32_t pz_tuner_count(pz_effort effort, const pz_target *target, const pz_candidate *c, int32_t n,
                       bool *complete) {
  int32_t wanted = 0;
  *complete = true;
  for (int32_t i = 0; i < n; i++) {
    if (!pz_tuner_wants(effort, target, c, n, i)) continue;
    wanted++;
    *complete &= c[i].seconds > 0;
  }
  return wanted;
}

/* Times that were taken beside other work do not choose, unless they are far from the cost model's choice. */
#define CLEARLY 1.1
static bool times_choose(const pz_candidate *c, int32_t n) {
  double least = INFINITY;
  bool noisy = false;
  for (int32_t i = 0; i < n; i++) {
    noisy |= c[i].noisy;
    if (c[i].seconds > 0) least = fmin(least, c[i].seconds);
  }
  return !noisy || (c[0].seconds > 0 && CLEARLY * least < c[0].seconds);
}

/* All that lead must have times; of an exhaustive search all that it asks for. */
int32_t pz_tuner_choose(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  pz_tuner *t = host;
  pz_tuner_problem problem;
  bool complete = false;
  if (t->effort == PZ_EFFORT_ESTIMATE) return PZ_BY_COST;
  if (pz_tuner_name(t, plan, (pz_node_id)(node - plan->graph->nodes), "", &problem, NULL) != PZ_OK)
    return PZ_BY_COST;
  const json_t *times = times_of(t, &problem);
  for (int32_t i = 0; i < n; i++) c[i].seconds = seconds_in(times, c[i].label, &c[i].noisy);
  const pz_effort needed = t->effort == PZ_EFFORT_EXHAUSTIVE ? t->effort : PZ_EFFORT_LEADING;
  const int32_t wanted = pz_tuner_count(needed, &plan->target, c, n, &complete);
  if (!wanted || !complete || !times_choose(c, n)) return PZ_BY_COST;
  prefer_tried(t, plan, node, c, n);
  return PZ_BY_TIME;
}

/* ---- what is told ---- */

json_t *pz_tuner_json(pz_json *j, const pz_tuner *t) {
  json_t *o =
      pz_json_pack(j, "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:s, s:s}", "effort",
                   pz_effort_name(t->effort), "threads", t->key.threads, "problems", t->problems, "measured",
                   t->measured, "candidates", t->candidates, "left", t->left, "noisy", t->noisy, "tried",
                   t->tried, "seconds", t->seconds, "spent", t->spent, "costs", t->costs, "note", t->note);
  if (o && isfinite(t->budget)) pz_json_set(j, o, "budget", json_real(t->budget));
  return o;
}
