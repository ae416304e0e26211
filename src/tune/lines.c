/* lines.c: measurements as JSON lines, out and in. What comes in is hostile. */
#include "base/file.h"
#include "base/json.h"
#include "tune/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_LINE = 16384, MOST_FILE = 64 << 20 };

/* ---- out ---- */

typedef struct writer {
  pz_text text;
  int64_t count;
} writer;

static pz_status write_line(void *host, const pz_tuning_entry *e, pz_error *err) {
  writer *w = host;
  pz_json j = {0};
  json_t *o = pz_json_pack(&j, "{s:s, s:s, s:f, s:i, s:s, s:s, s:s, s:I, s:s}", "problem", e->key.problem,
                           "candidate", e->candidate, "seconds", e->seconds, "threads", e->key.threads, "cpu",
                           e->key.cpu, "compiler", e->key.compiler, "solvers", e->key.solvers, "measured",
                           (json_int_t)e->measured, "hash", e->key.hash);
  if (e->noisy) pz_json_set(&j, o, "noisy", json_true());
  char *line = pz_json_print(&j, o, JSON_REAL_PRECISION(9));
  json_decref(o);
  if (line) pz_text_append(&w->text, line);
  if (line) pz_text_append(&w->text, "\n");
  free(line);
  w->count++;
  return line && !w->text.failed ? PZ_OK : pz_fail_memory(err, "measurements", w->text.size);
}

pz_status pz_tuning_export(pz_tuning *tuning, const char *file, int64_t *count, pz_error *err) {
  writer w = {.count = 0};
  pz_status status = pz_tuning_list(tuning, NULL, write_line, &w, err);
  if (status == PZ_OK) status = pz_file_write(file, w.text.data ? w.text.data : "", w.text.size, err);
  pz_text_free(&w.text);
  *count = status == PZ_OK ? w.count : 0;
  return status;
}

/* ---- in ---- */

typedef struct reader {
  pz_tuning *tuning;
  const char *file;
  int64_t number; /* of the line, from 1 */
  const char *line;
  size_t length;
  int64_t now;
  sqlite3_stmt *store;
  pz_tune_counts *counts;
} reader;

static pz_status refuse(const reader *r, size_t column, pz_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static pz_status refuse(const reader *r, size_t column, pz_error *err, const char *format, ...) {
  char words[256];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  return pz_fail(err, PZ_ERROR_INPUT, "%s:%lld:%zu: %s", r->file, (long long)r->number, column, words);
}

/* Where a field of the parsed line begins. Its name in quotes with a colon behind is no value, and inside a text its
 * quotes would have backslashes; a name that is spelled with escapes is not found: column 1. */
static size_t column_of(const reader *r, const char *field) {
  const size_t n = strlen(field);
  for (size_t i = 0; i + n + 2 < r->length; i++) {
    if (r->line[i] != '"' || memcmp(r->line + i + 1, field, n) != 0 || r->line[i + n + 1] != '"') continue;
    size_t behind = i + n + 2;
    while (behind < r->length && strchr(" \t\r", r->line[behind])) behind++;
    if (behind < r->length && r->line[behind] == ':') return i + 1;
  }
  return 1;
}

static const char *const fields[] = {"problem",  "candidate", "seconds",  "threads", "cpu",
                                     "compiler", "solvers",   "measured", "hash",    "noisy"};
enum { FIELDS = sizeof fields / sizeof *fields, NEEDED = FIELDS - 1 };
#define FIELDS_TEXT                                                                                          \
  "problem, candidate, seconds, threads, cpu, compiler, solvers, measured, hash and perhaps noisy"

static pz_status check_fields(const reader *r, json_t *o, pz_error *err) {
  const char *name;
  json_t *value;
  if (!json_is_object(o)) return refuse(r, 1, err, "expected an object with " FIELDS_TEXT);
  json_object_foreach(o, name, value) {
    int i = 0;
    while (i < FIELDS && strcmp(fields[i], name) != 0) i++;
    if (i == FIELDS)
      return refuse(r, column_of(r, name), err, "unknown field '%.64s'; expected " FIELDS_TEXT, name);
  }
  for (int i = 0; i < NEEDED; i++)
    if (!json_object_get(o, fields[i]))
      return refuse(r, r->length, err, "the field %s is missing", fields[i]);
  return PZ_OK;
}

/* A text as it is, also one with a NUL inside: NULL, which no field may be. */
static const char *text_of(const json_t *o, const char *field) {
  const json_t *value = json_object_get(o, field);
  const char *text = json_string_value(value);
  return text && strlen(text) == json_string_length(value) ? text : NULL;
}

/* A whole number, or -1, which no field may be. */
static int64_t whole_of(const json_t *o, const char *field) {
  const json_t *value = json_object_get(o, field);
  return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

static pz_status read_object(const reader *r, json_t *o, pz_tuning_entry *e, pz_error *err) {
  pz_tuning_fault fault;
  PZ_TRY(check_fields(r, o, err));
  const int64_t threads = whole_of(o, "threads");
  *e = (pz_tuning_entry){.key = {.hash = text_of(o, "hash"),
                                 .problem = text_of(o, "problem"),
                                 .cpu = text_of(o, "cpu"),
                                 .compiler = text_of(o, "compiler"),
                                 .solvers = text_of(o, "solvers"),
                                 .threads = threads > PZ_TUNING_MOST_THREADS ? 0 : (int)threads},
                         .candidate = text_of(o, "candidate"),
                         .seconds = json_number_value(json_object_get(o, "seconds")),
                         .measured = whole_of(o, "measured"),
                         .noisy = json_is_true(json_object_get(o, "noisy"))};
  const json_t *noisy = json_object_get(o, "noisy");
  if (noisy && !json_is_boolean(noisy))
    return refuse(r, column_of(r, "noisy"), err, "noisy: expected true or false");
  if (!pz_tuning_check(e, &fault))
    return refuse(r, column_of(r, fault.field), err, "%s: expected %s", fault.field, fault.expected);
  /* A clock that is ahead must not make a measurement the newest for ever. */
  if (e->measured > r->now) e->measured = r->now;
  return PZ_OK;
}

static pz_status parse(const reader *r, json_t **object, pz_error *err) {
  json_error_t error = {.column = 1};
  if (r->length > MOST_LINE)
    return refuse(r, MOST_LINE, err, "a line of %zu bytes, at most %d are accepted", r->length, MOST_LINE);
  pz_json j = {0};
  *object = pz_json_read(&j, r->line, r->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (*object) return PZ_OK;
  PZ_TRY(pz_json_end(&j, r->file, err));
  return refuse(r, error.column > 0 ? (size_t)error.column : 1, err, "%s", error.text);
}

static pz_status read_line(reader *r, pz_error *err) {
  pz_tuning_entry e;
  json_t *object = NULL;
  if (strspn(r->line, " \t\r") >= r->length) return PZ_OK;
  PZ_TRY(parse(r, &object, err));
  pz_status status = read_object(r, object, &e, err);
  if (status == PZ_OK && !pz_tuning_step_store(r->store, &e)) status = pz_tuning_sql_fail(r->tuning, err);
  if (status == PZ_OK) {
    r->counts->read++;
    r->counts->stored += sqlite3_changes(r->tuning->db);
    r->counts->stale += strcmp(e.key.solvers, pz_tuning_solvers()) != 0;
  }
  json_decref(object);
  return status;
}

/* The text has a NUL behind it. */
static pz_status read_lines(reader *r, const char *text, size_t size, pz_error *err) {
  for (const char *end = text + size; text < end; text += r->length + 1) {
    r->line = text;
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    r->length = (size_t)((newline ? newline : end) - text);
    r->number++;
    PZ_TRY(read_line(r, err));
  }
  return PZ_OK;
}

pz_status pz_tuning_import(pz_tuning *tuning, const char *file, pz_tune_counts *counts, pz_error *err) {
  *counts = (pz_tune_counts){0};
  if (!tuning) return pz_fail(err, PZ_ERROR_RUN, "%s: there is no tuning database to import it into", file);
  char *text = NULL;
  size_t size = 0;
  pz_arena *arena = pz_arena_new();
  if (!arena) return pz_fail_memory(err, file, 64);
  pz_tune_counts read = {0};
  reader r = {.tuning = tuning, .file = file, .now = (int64_t)time(NULL), .counts = &read};
  pz_status status = pz_file_read(arena, file, MOST_FILE, &text, &size, err);
  if (status == PZ_OK) status = pz_tuning_sql(tuning, "BEGIN IMMEDIATE", err);
  const bool begun = status == PZ_OK;
  if (begun && !(r.store = pz_tuning_prepare_store(tuning, false))) status = pz_tuning_sql_fail(tuning, err);
  if (status == PZ_OK) status = read_lines(&r, text, size, err);
  sqlite3_finalize(r.store);
  if (status == PZ_OK) status = pz_tuning_sql(tuning, "COMMIT", err);
  if (status == PZ_OK) *counts = read;
  else if (begun) sqlite3_exec(tuning->db, "ROLLBACK", NULL, NULL, NULL);
  pz_arena_free(arena);
  return status;
}
