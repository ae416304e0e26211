/* tune_fit.c: pz_tune_fit: a cost model of this CPU from what the tuning database has of it, how good it is, and its file. */
#include "api/api.h"
#include "api/tune_rows.h"
#include "base/file.h"
#include "base/owned.h"
#include "choose/cost_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Expected costs of a group's rows: by the model that there was, by models that have not seen the row's fold, by the model that is kept. */
typedef struct expectations {
  double *before, *unseen, *after;
} expectations;

typedef struct session {
  pz_arena *arena;
  const char *path, *costs; /* of the database, of the file of fits */
  pz_fit_rows rows;
  pz_cost_fits fits, made;
  json_t *report; /* a fit each */
  pz_json json;
  pz_text printed; /* for `export` */
} session;

/* ---- how good it is ---- */

static json_t *quality_json(pz_json *j, const pz_fit_quality *q) {
  return pz_json_pack(j, "{s:f, s:f, s:f, s:f, s:f}", "rank", q->rank, "regret", q->regret, "regret_mean",
                      q->regret_mean, "regret_worst", q->regret_worst, "error", q->error);
}

/* Of a family beside itself, or of all (family PZ_COST_FAMILIES). NULL: there is no problem with two. */
static json_t *compared_json(pz_json *j, const pz_fit_group *g, const expectations *e,
                             pz_cost_family family) {
  pz_fit_quality before, unseen, after;
  pz_fit_quality_of(g->rows, e->before, g->n, family, &before);
  pz_fit_quality_of(g->rows, e->unseen, g->n, family, &unseen);
  pz_fit_quality_of(g->rows, e->after, g->n, family, &after);
  if (!before.problems) return NULL;
  return pz_json_pack(j, "{s:s, s:i, s:i, s:i, s:o, s:o, s:o}", "name",
                      family == PZ_COST_FAMILIES ? "all" : pz_cost_family_name(family), "problems",
                      before.problems, "candidates", before.candidates, "ranked", before.ranked, "before",
                      quality_json(j, &before), "unseen", quality_json(j, &unseen), "seen",
                      quality_json(j, &after));
}

static json_t *families_json(pz_json *j, const pz_fit_group *g, const expectations *e) {
  json_t *list = json_array();
  for (int i = 0; i < PZ_COST_FAMILIES; i++) {
    json_t *row = compared_json(j, g, e, (pz_cost_family)i);
    if (row) pz_json_append(j, list, row);
  }
  return list;
}

static json_t *factors_json(pz_json *j, const pz_cost_model *before, const pz_cost_model *after) {
  json_t *all = json_object();
  for (int i = 0; i < PZ_COST_TERMS; i++)
    pz_json_set(j, all, pz_cost_term_name((pz_cost_term)i),
                pz_json_pack(j, "[f, f]", before->factor[i], after->factor[i]));
  return all;
}

static void add_report(session *s, const pz_fit_group *g, const expectations *e, const pz_cost_fit *fit,
                       const pz_cost_model *before) {
  pz_json *j = &s->json;
  pz_json_append(j, s->report,
                 pz_json_pack(j, "{s:s, s:i, s:i, s:i, s:i, s:f, s:o, s:o, s:o}", "cpu", g->cpu, "threads",
                              g->threads, "block", fit->model.block, "problems", fit->problems, "candidates",
                              fit->candidates, "unit_seconds", fit->model.seconds, "all",
                              compared_json(j, g, e, PZ_COST_FAMILIES), "families", families_json(j, g, e),
                              "factors", factors_json(j, before, &fit->model)));
}

/* ---- a group ---- */

static void expect(const pz_fit_group *g, const pz_cost_model *model, double *expected) {
  for (int32_t i = 0; i < g->n; i++) expected[i] = pz_cost_of_work(model, &g->rows[i].work);
}

static pz_status make_room(session *s, const pz_fit_group *g, expectations *e, pz_error *err) {
  const size_t n = (size_t)g->n + 1;
  double *room = PZ_NEW(s->arena, double, 3 * n);
  *e = (expectations){room, room + n, room + 2 * n};
  return room ? PZ_OK : pz_fail_memory(err, "a fit", 3 * n * sizeof *room);
}

static pz_status fit_group(session *s, const pz_fit_group *g, pz_error *err) {
  const pz_cost_model *before = pz_target_cost_model(&g->target);
  pz_cost_fit fit = {.cpu = g->cpu, .threads = g->threads, .candidates = g->n};
  expectations e;
  PZ_TRY(pz_fit_costs(g->rows, g->n, before, &fit.model, err));
  PZ_TRY(make_room(s, g, &e, err));
  PZ_TRY(pz_fit_unseen(g->rows, g->n, before, e.unseen, err));
  expect(g, before, e.before);
  expect(g, &fit.model, e.after);
  fit.problems = g->rows[g->n - 1].problem + 1;
  fit.model.block = g->target.block;
  pz_fit_errors_of(g->rows, e.unseen, g->n, before->error, fit.model.error);
  add_report(s, g, &e, &fit, before);
  pz_cost_fits_put(&s->fits, &fit);
  pz_cost_fits_put(&s->made, &fit);
  return PZ_OK;
}

/* Groups with too few measurements are told of; that there is none with enough is a failure. */
static pz_status fit_groups(session *s, json_t *notes, pz_error *err) {
  pz_error why = {0};
  for (int32_t i = 0; i < s->rows.n; i++) {
    const pz_fit_group *g = &s->rows.groups[i];
    why = (pz_error){0};
    const pz_status status = fit_group(s, g, &why);
    if (status == PZ_OK) continue;
    if (status != PZ_ERROR_INPUT) return pz_fail(err, status, "%s", why.message);
    const char *line = pz_arena_printf(s->arena, "%s, %d thread%s: %s", g->cpu, (int)g->threads,
                                       g->threads == 1 ? "" : "s", why.message);
    if (!line) return pz_fail_memory(err, "a fit", 512);
    pz_json_append(&s->json, notes, json_string(line));
    why = (pz_error){0};
    pz_fail(&why, PZ_ERROR_INPUT, "%s: %s", s->path, line);
  }
  return s->made.n ? PZ_OK : pz_fail(err, PZ_ERROR_INPUT, "%s", why.message);
}

/* ---- the database ---- */

static pz_status check_rows(const session *s, pz_error *err) {
  const pz_fit_rows *r = &s->rows;
  char own[PZ_TUNING_CPU_TEXT];
  const pz_target host = pz_target_host();
  if (r->n) return PZ_OK;
  pz_tuning_cpu(pz_target_isa(&host), NULL, own);
  if (r->noisy)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: all %lld measurements of this CPU were taken beside other work and are noisy; compile "
        "again, or `pznet tune` a network file, on a quiet machine",
        s->path, (long long)r->noisy);
  if (r->stale && !r->other_cpus)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: all %lld measurements of this CPU are of other solvers than this pznet's; --stale takes "
        "them too",
        s->path, (long long)r->stale);
  if (r->other_cpus)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: has no measurements of this CPU (%s), but some of %s", s->path,
                   own, r->other_cpu);
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: has no measurements of convolutions of this CPU (%s); compile networks with --effort "
                 "measure or exhaustive first",
                 s->path, own);
}

/* What is damaged is made anew; the fits of other CPUs in it are lost. */
static pz_status read_fits(session *s, bool named, json_t *notes, pz_error *err) {
  pz_error why = {0};
  pz_cost_fits old;
  if (!named) PZ_TRY(pz_single_file(s->costs, err));
  const pz_status status = pz_cost_file_read(s->costs, s->arena, &old, &why);
  if (status != PZ_OK && status != PZ_ERROR_INPUT) return pz_fail(err, status, "%s", why.message);
  if (status != PZ_OK) pz_json_append(&s->json, notes, pz_json_name(why.message));
  const size_t most = (size_t)(old.n + s->rows.n) + 1;
  s->fits.list = PZ_NEW(s->arena, pz_cost_fit, most);
  s->made.list = PZ_NEW(s->arena, pz_cost_fit, most);
  if (!s->fits.list || !s->made.list) return pz_fail_memory(err, "fits", most * sizeof(pz_cost_fit));
  for (int32_t i = 0; i < old.n; i++) pz_cost_fits_put(&s->fits, &old.list[i]);
  return PZ_OK;
}

static pz_status write_export(session *s, const char *file, pz_error *err) {
  for (int32_t i = 0; i < s->made.n; i++) {
    char name[48];
    const pz_cost_fit *f = &s->made.list[i];
    snprintf(name, sizeof name, "fit_%s_%d", pz_isa_get(s->rows.groups[i].isa)->name, (int)f->threads);
    PZ_TRY(pz_cost_model_print(f, name, &s->printed, err));
  }
  return pz_file_write(file, s->printed.data, s->printed.size, err);
}

static pz_status print(session *s, json_t *notes, char **out, pz_error *err) {
  pz_json *j = &s->json;
  const pz_fit_rows *r = &s->rows;
  json_t *o =
      pz_json_pack(j, "{s:o, s:o, s:I, s:{s:I, s:I, s:I, s:I}, s:O, s:O}", "database", pz_json_name(s->path),
                   "costs", pz_json_name(s->costs), "measurements", (json_int_t)r->read, "left_out",
                   "other_cpus", (json_int_t)r->other_cpus, "stale", (json_int_t)r->stale, "noisy",
                   (json_int_t)r->noisy, "others", (json_int_t)r->others, "fits", s->report, "notes", notes);
  return pz_json_out(j, o, out, err);
}

static pz_status run(session *s, const char *database, const pz_tune_fit_options *o, pz_tuning *t,
                     json_t *notes, char **json, pz_error *err) {
  if (!t) PZ_TRY(pz_tuning_default_path(s->arena, &s->path, err));
  else s->path = pz_tuning_path(t);
  s->costs = pz_arena_printf(s->arena, "%s%s", s->path, PZ_COST_FILE);
  if (!s->costs) return pz_fail_memory(err, "a path", 64);
  if (t) PZ_TRY(pz_fit_rows_of(t, o->stale, s->arena, &s->rows, err));
  PZ_TRY(check_rows(s, err));
  PZ_TRY(read_fits(s, database != NULL, notes, err));
  PZ_TRY(fit_groups(s, notes, err));
  PZ_TRY(pz_json_end(&s->json, "a report", err));
  if (o->to) PZ_TRY(write_export(s, o->to, err));
  PZ_TRY(pz_cost_file_write(s->costs, &s->fits, err));
  return json ? print(s, notes, json, err) : PZ_OK;
}

pz_status pz_tune_fit(const char *database, const pz_tune_fit_options *options, char **json) {
  static const pz_tune_fit_options defaults = PZ_TUNE_FIT_OPTIONS;
  pz_error err = {0};
  pz_tuning *t = NULL;
  session s = {.arena = pz_arena_new(), .report = json_array()};
  json_t *notes = json_array();
  if (json) *json = NULL;
  pz_status status = s.arena && s.report && notes ? pz_tuning_open(database, PZ_TUNING_READ, &t, &err)
                                                  : pz_fail_memory(&err, "a fit", 64);
  if (status == PZ_OK) status = run(&s, database, options ? options : &defaults, t, notes, json, &err);
  pz_tuning_close(t);
  pz_text_free(&s.printed);
  json_decref(s.report);
  json_decref(notes);
  pz_arena_free(s.arena);
  return pz_public_end(status, &err);
}
