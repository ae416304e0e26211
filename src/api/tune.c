/* tune.c: pz_tune_list, _export, _import, _clear: the tuning database, from outside. */
#include "tune/tuning.h"
#include "api/api.h"
#include "choose/cost_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* "measurements" of the list. */
typedef struct listing {
  json_t *rows;
  pz_json json;
} listing;

static pz_status add_row(void *host, const pz_tuning_entry *e, pz_error *err) {
  listing *all = host;
  pz_json *j = &all->json;
  json_t *row = pz_json_pack(j, "{s:s, s:s, s:f, s:i, s:s, s:s, s:s, s:I, s:s, s:b, s:b}", "problem",
                             e->key.problem, "candidate", e->candidate, "seconds", e->seconds, "threads",
                             e->key.threads, "cpu", e->key.cpu, "compiler", e->key.compiler, "solvers",
                             e->key.solvers, "measured", (json_int_t)e->measured, "hash", e->key.hash,
                             "stale", strcmp(e->key.solvers, pz_tuning_solvers()) != 0, "noisy", e->noisy);
  pz_json_append(j, all->rows, row);
  return pz_json_end(j, "a list of measurements", err);
}

static pz_status path_of(const pz_tuning *t, pz_arena *arena, const char **path, pz_error *err) {
  if (!arena) return pz_fail_memory(err, "a path", 64);
  if (!t) return pz_tuning_default_path(arena, path, err);
  *path = pz_tuning_path(t);
  return PZ_OK;
}

static pz_status print(listing *all, const char *path, char **json, pz_error *err) {
  json_t *o = pz_json_pack(&all->json, "{s:o, s:s, s:O}", "database", pz_json_name(path), "solvers",
                           pz_tuning_solvers(), "measurements", all->rows);
  return pz_json_out(&all->json, o, json, err);
}

static pz_status list(pz_tuning *t, char **json, pz_error *err) {
  const char *path = NULL;
  pz_arena *arena = pz_arena_new();
  listing all = {.rows = json_array()};
  pz_status status = path_of(t, arena, &path, err);
  if (status == PZ_OK) status = pz_tuning_list(t, NULL, add_row, &all, err);
  if (status == PZ_OK) status = print(&all, path, json, err);
  json_decref(all.rows);
  pz_arena_free(arena);
  return status;
}

pz_status pz_tune_list(const char *database, char **json) {
  pz_error err = {0};
  pz_tuning *t;
  *json = NULL;
  pz_status status = pz_tuning_open(database, PZ_TUNING_READ, &t, &err);
  if (status == PZ_OK) status = list(t, json, &err);
  pz_tuning_close(t);
  return pz_public_end(status, &err);
}

pz_status pz_tune_export(const char *database, const char *file, int64_t *count) {
  pz_error err = {0};
  pz_tuning *t;
  *count = 0;
  pz_status status = pz_tuning_open(database, PZ_TUNING_READ, &t, &err);
  if (status == PZ_OK) status = pz_tuning_export(t, file, count, &err);
  pz_tuning_close(t);
  return pz_public_end(status, &err);
}

pz_status pz_tune_import(const char *database, const char *file, pz_tune_counts *counts) {
  pz_error err = {0};
  pz_tuning *t;
  *counts = (pz_tune_counts){0};
  pz_status status = pz_tuning_open(database, PZ_TUNING_WRITE, &t, &err);
  if (status == PZ_OK) status = pz_tuning_import(t, file, counts, &err);
  pz_tuning_close(t);
  return pz_public_end(status, &err);
}

/* What was fitted to the measurements goes with them. */
static pz_status remove_fits(const char *database, pz_error *err) {
  pz_arena *arena = pz_arena_new();
  const char *path = database;
  pz_status status = arena ? PZ_OK : pz_fail_memory(err, "a path", 64);
  if (status == PZ_OK && !path) status = pz_tuning_default_path(arena, &path, err);
  const char *costs = status == PZ_OK ? pz_arena_printf(arena, "%s%s", path, PZ_COST_FILE) : NULL;
  if (status == PZ_OK && !costs) status = pz_fail_memory(err, "a path", 64);
  if (status == PZ_OK && unlink(costs) && errno != ENOENT && errno != ENOTDIR)
    status = pz_fail(err, PZ_ERROR_RUN, "%s: cannot be removed: %s", costs, strerror(errno));
  pz_arena_free(arena);
  return status;
}

pz_status pz_tune_clear(const char *database, bool stale, int64_t *removed) {
  pz_error err = {0};
  pz_status status = pz_tuning_clear(database, stale ? pz_tuning_solvers() : NULL, removed, &err);
  if (status == PZ_OK && !stale) status = remove_fits(database, &err);
  return pz_public_end(status, &err);
}
