/* cost_file.c: fits as JSON. */
#include "choose/cost_file.h"
#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { VERSION = 1, MOST_FILE = 4 << 20, MOST_FITS = 4096, MOST_THREADS = 4096, MOST_CPU = 128 };
#define MOST_FACTOR 1e12

/* ---- out ---- */

static json_t *factors_of(pz_json *j, const pz_cost_model *m) {
  json_t *all = json_object();
  for (int i = 0; i < PZ_COST_TERMS; i++)
    pz_json_set(j, all, pz_cost_term_name((pz_cost_term)i), json_real(m->factor[i]));
  return all;
}
static json_t *errors_of(pz_json *j, const pz_cost_model *m) {
  json_t *all = json_object();
  for (int i = 0; i < PZ_COST_FAMILIES; i++)
    pz_json_set(j, all, pz_cost_family_name((pz_cost_family)i), json_real(m->error[i]));
  return all;
}

pz_status pz_cost_file_write(const char *path, const pz_cost_fits *fits, pz_error *err) {
  pz_json j = {0};
  json_t *list = json_array();
  for (int32_t i = 0; i < fits->n; i++) {
    const pz_cost_fit *f = &fits->list[i];
    pz_json_append(&j, list,
                   pz_json_pack(&j, "{s:s, s:i, s:i, s:i, s:i, s:f, s:o, s:o}", "cpu", f->cpu, "threads",
                                f->threads, "block", f->model.block, "problems", f->problems, "candidates",
                                f->candidates, "seconds", f->model.seconds, "factors",
                                factors_of(&j, &f->model), "errors", errors_of(&j, &f->model)));
  }
  json_t *all = pz_json_pack(&j, "{s:i, s:o}", "pznet_costs", VERSION, "fits", list);
  char *text = pz_json_print(&j, all, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  json_decref(all);
  const pz_status status =
      text ? pz_file_write(path, text, strlen(text), err) : pz_fail_memory(err, "fits", 4096);
  free(text);
  return status;
}

pz_status pz_cost_model_print(const pz_cost_fit *fit, const char *name, pz_text *out, pz_error *err) {
  const pz_cost_model *m = &fit->model;
  pz_text_printf(out, "/* %s, %d thread%s: a fit of %d candidates of %d problems. */\n", fit->cpu,
                 (int)fit->threads, fit->threads == 1 ? "" : "s", (int)fit->candidates, (int)fit->problems);
  pz_text_printf(out, "static const pz_cost_model %s = {\n    .block = %d,\n    .seconds = %.4g,\n", name,
                 (int)m->block, m->seconds);
  pz_text_append(out, "    .factor = {");
  for (int i = 0; i < PZ_COST_TERMS; i++) {
    char term[64];
    snprintf(term, sizeof term, "%s", pz_cost_term_name((pz_cost_term)i));
    *strchr(term, '.') = '_';
    pz_text_printf(out, "%s[PZ_TERM_%s] = %.4g", i ? ",\n               " : "", term, m->factor[i]);
  }
  pz_text_append(out, "},\n    .error = {");
  for (int i = 0; i < PZ_COST_FAMILIES; i++)
    pz_text_printf(out, "%s[PZ_FAMILY_%s] = %.3g", i ? ",\n              " : "",
                   pz_cost_family_id((pz_cost_family)i), m->error[i]);
  pz_text_append(out, "}};\n");
  return out->failed ? pz_fail_memory(err, "a fit", out->size) : PZ_OK;
}

/* ---- in ---- */

static pz_status refuse(const char *path, const char *what, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: this fit of the cost model is damaged (%s)", path, what);
}

static bool is_amount(const json_t *value, double most) {
  const double x = json_number_value(value);
  return json_is_number(value) && isfinite(x) && x >= 0 && x <= most;
}
static bool is_count(const json_t *value, int64_t least, int64_t most) {
  return json_is_integer(value) && json_integer_value(value) >= least && json_integer_value(value) <= most;
}
static bool is_text(const json_t *value) {
  const char *text = json_string_value(value);
  if (!text || !*text || strlen(text) > MOST_CPU || strlen(text) != json_string_length(value)) return false;
  for (; *text; text++)
    if (*text < 0x20 || *text > 0x7e) return false;
  return true;
}

static bool read_factors(json_t *from, pz_cost_model *m) {
  const char *name;
  json_t *value;
  if (!json_is_object(from)) return false;
  json_object_foreach(from, name, value) {
    pz_cost_term term;
    if (!is_amount(value, MOST_FACTOR)) return false;
    if (pz_cost_find_term(name, &term)) m->factor[term] = json_number_value(value);
  }
  return true;
}
static bool read_errors(json_t *from, pz_cost_model *m) {
  const char *name;
  json_t *value;
  if (!json_is_object(from)) return false;
  json_object_foreach(from, name, value) {
    pz_cost_family family;
    if (!is_amount(value, 100)) return false;
    if (pz_cost_find_family(name, &family)) m->error[family] = json_number_value(value);
  }
  return true;
}

/* NULL, or the field that is none. */
static const char *read_fit(const json_t *from, pz_arena *arena, pz_cost_fit *fit) {
  const json_t *cpu = json_object_get(from, "cpu"), *threads = json_object_get(from, "threads"),
               *block = json_object_get(from, "block"), *problems = json_object_get(from, "problems"),
               *candidates = json_object_get(from, "candidates"), *seconds = json_object_get(from, "seconds");
  if (!is_text(cpu)) return "cpu";
  if (!is_count(threads, 1, MOST_THREADS)) return "threads";
  if (!is_count(block, 4, 16)) return "block";
  if (!is_count(problems, 0, INT32_MAX)) return "problems";
  if (!is_count(candidates, 0, INT32_MAX)) return "candidates";
  if (!is_amount(seconds, 1) || !(json_number_value(seconds) > 0)) return "seconds";
  *fit = (pz_cost_fit){.cpu = pz_arena_strdup(arena, json_string_value(cpu)),
                       .threads = (int32_t)json_integer_value(threads),
                       .problems = (int32_t)json_integer_value(problems),
                       .candidates = (int32_t)json_integer_value(candidates),
                       .model = *pz_cost_model_default()};
  fit->model.block = (int32_t)json_integer_value(block);
  fit->model.seconds = json_number_value(seconds);
  if (!fit->cpu) return "cpu";
  if (!read_factors(json_object_get(from, "factors"), &fit->model)) return "factors";
  return read_errors(json_object_get(from, "errors"), &fit->model) ? NULL : "errors";
}

static pz_status read_fits(const char *path, const json_t *all, pz_arena *arena, pz_cost_fits *fits,
                           pz_error *err) {
  const json_t *list = json_object_get(all, "fits");
  if (!is_count(json_object_get(all, "pznet_costs"), VERSION, VERSION))
    return refuse(path, "it is none, or of another version", err);
  if (!json_is_array(list) || json_array_size(list) > MOST_FITS) return refuse(path, "fits", err);
  const int32_t n = (int32_t)json_array_size(list);
  fits->list = PZ_NEW(arena, pz_cost_fit, (size_t)n + 1);
  if (!fits->list) return pz_fail_memory(err, "fits", sizeof *fits->list * (size_t)n);
  for (int32_t i = 0; i < n; i++) {
    const char *bad = read_fit(json_array_get(list, (size_t)i), arena, &fits->list[i]);
    if (bad) return refuse(path, bad, err);
  }
  fits->n = n;
  return PZ_OK;
}

pz_status pz_cost_file_read(const char *path, pz_arena *arena, pz_cost_fits *fits, pz_error *err) {
  char *text = NULL;
  size_t size = 0;
  struct stat info;
  pz_json j = {0};
  *fits = (pz_cost_fits){.n = 0};
  if (stat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) return PZ_OK;
  PZ_TRY(pz_file_read(arena, path, MOST_FILE, &text, &size, err));
  json_t *all = pz_json_read(&j, text, size, JSON_REJECT_DUPLICATES, NULL);
  pz_status status = pz_json_end(&j, "fits", err);
  if (status == PZ_OK)
    status = all ? read_fits(path, all, arena, fits, err) : refuse(path, "it is no JSON", err);
  json_decref(all);
  if (status != PZ_OK) *fits = (pz_cost_fits){.n = 0};
  return status;
}

/* ---- among them ---- */

void pz_cost_fits_put(pz_cost_fits *fits, const pz_cost_fit *fit) {
  int32_t at = 0;
  while (at < fits->n &&
         (strcmp(fits->list[at].cpu, fit->cpu) != 0 || fits->list[at].threads != fit->threads))
    at++;
  fits->list[at] = *fit;
  if (at == fits->n) fits->n++;
}

const pz_cost_fit *pz_cost_fits_find(const pz_cost_fits *fits, const char *cpu, int32_t threads) {
  const pz_cost_fit *best = NULL;
  for (int32_t i = 0; i < fits->n; i++) {
    const pz_cost_fit *f = &fits->list[i];
    if (strcmp(f->cpu, cpu) != 0) continue;
    if (!best || abs(f->threads - threads) < abs(best->threads - threads)) best = f;
  }
  return best;
}
