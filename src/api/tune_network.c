/* tune_network.c: pz_tune_network: the problems of a network file, measured whenever there is time. */
#include "api/need.h"
#include "base/clock.h"
#include "api/tuner.h"
#include "api/tuning_section.h"
#include "base/forecast.h"

#include <math.h>
#include <string.h>

typedef struct work {
  const char *path;
  const pz_tune_options *options;
  pz_tuning_section section;
  pz_compile_options compile; /* the section's, with ours */
  pz_plan_options wanted;
  pz_tuner tuner;
  pz_objects kernels;
  pz_plan *plan;
  pz_json json;
  pz_forecast forecast;
  bool ended; /* measuring was, not by the user */
  int32_t layers, faster;
  double seconds, saved; /* of layers with known times: as the file has them, less now */
} work;

/* ---- beginning ---- */

/* The file's options, but for those that do not change what the network is. Of the compiler the file has no say: that is a command. */
static void merge_options(work *w) {
  const pz_tune_options *o = w->options;
  w->compile = w->section.options;
  w->compile.effort = o->effort ? o->effort : "measure";
  w->compile.tuning = o->database;
  w->compile.cc = o->cc;
  w->compile.cache = o->cache;
  w->compile.interrupt = o->interrupt;
  w->compile.progress = o->progress;
  w->compile.budget = o->budget;
  w->compile.bounded = o->budget > 0;
  if (o->threads) w->compile.threads = o->threads;
}

/* Without measuring or keeping there is nothing to do here. */
static pz_status check_use(const work *w, pz_error *err) {
  if (w->tuner.asked == PZ_EFFORT_ESTIMATE)
    return pz_fail(err, PZ_ERROR_USAGE, "--effort estimate: tuning measures: expected measure or exhaustive");
  if (w->tuner.effort == PZ_EFFORT_ESTIMATE)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: %s", w->path, w->tuner.note);
  if (w->tuner.database) return PZ_OK;
  return pz_fail(err, PZ_ERROR_RUN, "%s",
                 w->tuner.note[0] ? w->tuner.note : "--database none: measurements would be lost");
}

static pz_status make_plan(work *w, pz_error *err) {
  pz_plan_free(w->plan);
  w->plan = NULL;
  return pz_plan_new(w->section.graph, &w->wanted, &w->plan, err);
}

/* Usage that is wrong is the file's. */
static pz_status plan_options(work *w, pz_error *err) {
  pz_error why = {0};
  if (pz_plan_wanted(&w->compile, &w->wanted, &why) == PZ_OK) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: what it carries for tuning is damaged: %s", w->path, why.message);
}

static pz_status begin(work *w, pz_error *err) {
  if (!(w->options->budget >= 0) || isinf(w->options->budget))
    return pz_fail(err, PZ_ERROR_USAGE, "--budget %g: expected a number of seconds", w->options->budget);
  const pz_mask mask =
      w->options->target ? (pz_mask){w->options->target, "--target"} : pz_mask_of_environment();
  PZ_TRY(pz_tuning_section_read(w->path, &mask, w->options->interrupt, &w->section, err));
  merge_options(w);
  PZ_TRY(plan_options(w, err));
  PZ_TRY(pz_tuner_open(&w->tuner, &w->compile, &w->wanted, true, err));
  PZ_TRY(check_use(w, err));
  PZ_TRY(pz_objects_open(&w->kernels, w->section.arena, &w->compile, w->tuner.compiler, err));
  w->tuner.objects = &w->kernels;
  w->wanted.choose = pz_tuner_choose;
  w->wanted.choose_host = &w->tuner;
  w->wanted.admit = pz_admit_plan;
  w->wanted.admit_host = (void *)(uintptr_t)w->path;
  w->wanted.sized = true;
  w->wanted.error_propagation = w->section.error_propagation;
  return make_plan(w, err);
}

/* ---- measuring ---- */

static void tell(void *host, const char *what) {
  work *w = host;
  const double now = pz_now();
  pz_forecast_enter(&w->forecast, 0, now);
  pz_forecast_say(&w->forecast, pz_tuner_ahead_left(&w->tuner, now), now);
  pz_forecast_bound(&w->forecast, w->tuner.ahead.begun + pz_tuner_left(&w->tuner));
  pz_forecast_tell(&w->forecast, what, w->tuner.candidates, w->tuner.ahead.wanted, now);
}

static pz_status measure(work *w, pz_error *err) {
  w->tuner.tell = tell;
  w->tuner.tell_host = w;
  PZ_TRY(pz_tuner_measure(&w->tuner, w->plan, INFINITY, err));
  w->ended = true;
  return w->tuner.database ? PZ_OK : pz_fail(err, PZ_ERROR_RUN, "%s", w->tuner.note);
}

/* ---- what came of it ---- */

static double seconds_of(const pz_choice *choice, const char *label) {
  for (int32_t i = 0; i < choice->n; i++)
    if (!strcmp(choice->candidates[i].label, label)) return choice->candidates[i].seconds;
  return 0;
}

static void compare_layer(work *w, pz_node_id n) {
  const pz_choice *choice = &w->plan->choices[n];
  const char *label = w->section.candidates[n];
  const pz_candidate *best = pz_plan_candidate(w->plan, n);
  if (choice->n < 2) return;
  w->layers++;
  const double before = label ? seconds_of(choice, label) : 0;
  if (before <= 0 || best->seconds <= 0) return;
  w->seconds += before;
  if (!strcmp(best->label, label) || best->seconds >= before) return;
  w->faster++;
  w->saved += before - best->seconds;
}

/* What the next compile will choose, beside what the file has. */
static pz_status compare(work *w, pz_error *err) {
  PZ_TRY(make_plan(w, err));
  for (pz_node_id n = 0; n < w->plan->graph->n_nodes; n++) compare_layer(w, n);
  return pz_json_end(&w->tuner.json, "times of candidates", err);
}

static pz_status report(work *w, char **json, pz_error *err) {
  const pz_tuner *t = &w->tuner;
  pz_json *j = &w->json;
  if (!json) return PZ_OK;
  json_t *o =
      pz_json_pack(j, "{s:o, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:f, s:i, s:i, s:f, s:s, s:o, s:o}",
                   "network", pz_json_name(w->path), "cpu", t->cpu, "effort", pz_effort_name(t->effort),
                   "threads", t->key.threads, "problems", t->problems, "measured", t->measured, "candidates",
                   t->candidates, "noisy", t->noisy, "seconds", t->seconds, "layers", w->layers, "faster",
                   w->faster, "saved", w->seconds > 0 ? w->saved / w->seconds : 0.0, "note", t->note,
                   "database", pz_json_name(t->database ? pz_tuning_path(t->database) : ""), "left",
                   w->ended ? json_integer(t->left) : json_null());
  return pz_json_out(j, o, json, err);
}

/* What was measured is told, and of an interrupt too. */
static pz_status tune(work *w, char **json, pz_error *err) {
  pz_error why = {0};
  PZ_TRY(begin(w, err));
  pz_status status = measure(w, err);
  const pz_status told = compare(w, &why) == PZ_OK ? report(w, json, &why) : why.status;
  if (status == PZ_OK && told != PZ_OK) status = pz_fail(err, told, "%s", why.message);
  return status;
}

pz_status pz_tune_network(const char *network, const pz_tune_options *options, char **json) {
  static const pz_tune_options defaults = PZ_TUNE_OPTIONS;
  pz_error err = {0};
  work w = {.path = network, .options = options ? options : &defaults, .ended = false};
  pz_forecast_begin(&w.forecast, w.options->progress, w.options->progress_host, pz_now());
  pz_forecast_add(&w.forecast, 0);
  if (json) *json = NULL;
  pz_status status =
      network ? tune(&w, json, &err) : pz_fail(&err, PZ_ERROR_USAGE, "pz_tune_network: name a network file");
  status = pz_interrupted_end(w.options->interrupt, "tuning", status, &err);
  pz_plan_free(w.plan);
  pz_tuner_close(&w.tuner);
  pz_objects_close(&w.kernels);
  pz_tuning_section_free(&w.section);
  return pz_public_end(status, &err);
}
