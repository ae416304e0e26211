/* tuning.c: the database. A rollback journal, not WAL: caches lie in home folders, those on a file server, and WAL wants
 * memory that all processes share. */
#include "base/cache_folder.h"
#include "base/owned.h"
#include "tune/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { BUSY_MILLISECONDS = 10000 };
#define APPLICATION_ID 1887071860 /* "pznt" */
/* 1 had texts of convolutions in place of hashes of problems; 2 did not know which times are noisy. */
#define VERSION  3
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

#define TABLE                                                                                                \
  "measurement (hash TEXT NOT NULL, problem TEXT NOT NULL, candidate TEXT NOT NULL, cpu TEXT NOT NULL, "     \
  "threads INTEGER NOT "                                                                                     \
  "NULL, compiler TEXT NOT NULL, solvers TEXT NOT NULL, seconds REAL NOT NULL, measured INTEGER NOT NULL, "  \
  "noisy INTEGER NOT NULL, "                                                                                 \
  "PRIMARY KEY (hash, candidate, cpu, threads, compiler, solvers)) WITHOUT ROWID"

static const char schema[] =
    "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS " TABLE ";"
    "PRAGMA application_id = " TEXT(APPLICATION_ID) "; PRAGMA user_version = " TEXT(VERSION) "; COMMIT;";

/* ---- SQLite ---- */

static pz_status damaged(pz_tuning *t, const char *how, pz_error *err) {
  t->condition = PZ_TUNING_DAMAGED;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: the tuning database is damaged (%s); run `pznet tune --clear%s%s`",
                 t->path, how, t->named ? " --database " : "", t->named ? t->path : "");
}

pz_status pz_tuning_sql_fail(pz_tuning *t, pz_error *err) {
  switch (sqlite3_errcode(t->db)) {
  case SQLITE_NOMEM: return pz_fail_memory(err, "the tuning database", 1 << 20);
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return pz_fail(err, PZ_ERROR_RUN,
                   "%s: other processes have been writing this tuning database for %d seconds; try again",
                   t->path, BUSY_MILLISECONDS / 1000);
  case SQLITE_NOTADB:
  case SQLITE_CORRUPT:
  case SQLITE_ERROR: /* a table that has other columns */ return damaged(t, sqlite3_errmsg(t->db), err);
  case SQLITE_READONLY:
    return pz_fail(err, PZ_ERROR_RUN, "%s: this tuning database may only be read", t->path);
  case SQLITE_FULL:
    return pz_fail(err, PZ_ERROR_RUN, "%s: no space is left for the tuning database", t->path);
  case SQLITE_CANTOPEN:
    return pz_fail(err, PZ_ERROR_RUN, "%s: this tuning database cannot be opened or written: %s", t->path,
                   strerror(sqlite3_system_errno(t->db)));
  default: return pz_fail(err, PZ_ERROR_RUN, "%s: the tuning database: %s", t->path, sqlite3_errmsg(t->db));
  }
}

pz_status pz_tuning_sql(pz_tuning *t, const char *text, pz_error *err) {
  return sqlite3_exec(t->db, text, NULL, NULL, NULL) == SQLITE_OK ? PZ_OK : pz_tuning_sql_fail(t, err);
}

pz_status pz_tuning_sql_number(pz_tuning *t, const char *text, int64_t *number, pz_error *err) {
  sqlite3_stmt *s = NULL;
  const bool good =
      sqlite3_prepare_v2(t->db, text, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW;
  *number = good ? sqlite3_column_int64(s, 0) : 0;
  const pz_status status = good ? PZ_OK : pz_tuning_sql_fail(t, err);
  sqlite3_finalize(s);
  return status;
}

/* ---- opening ---- */

/* One statement, so that a database that another process is making is seen before or after, never between. A table that
 * is not quite ours, or a trigger beside it, is damage. */
enum { OURS, EMPTY, OTHER_VERSION, OTHER_TABLES, OTHER_PROGRAM, OLDER_VERSION };
static const char identity[] =
    "SELECT CASE WHEN application_id = 0 AND user_version = 0 AND NOT EXISTS (SELECT * FROM sqlite_master) "
    "THEN 1 WHEN application_id <> " TEXT(
        APPLICATION_ID) " THEN 4 WHEN user_version IN (1, 2) THEN 5 "
                        "WHEN user_version <> " TEXT(
                            VERSION) " THEN 2 WHEN (SELECT count(*) = 1 AND min(sql) = 'CREATE TABLE " TABLE
                                     "' FROM sqlite_master) THEN 0 ELSE 3 END FROM pragma_application_id, "
                                     "pragma_user_version";

static pz_status identify(pz_tuning *t, pz_tuning_mode mode, pz_error *err) {
  int64_t what;
  PZ_TRY(pz_tuning_sql_number(t, identity, &what, err));
  if (what == OTHER_VERSION) return damaged(t, "another version of pznet wrote it", err);
  if (what == OTHER_TABLES) return damaged(t, "its table is not as pznet makes it", err);
  /* What an older version measured is stale whatever it says. */
  if (what == OLDER_VERSION && mode == PZ_TUNING_WRITE)
    PZ_TRY(pz_tuning_sql(t, "DROP TABLE IF EXISTS measurement", err));
  if (what == OLDER_VERSION) what = EMPTY;
  if (what == EMPTY && mode == PZ_TUNING_READ) t->condition = PZ_TUNING_MISSING;
  else if (what == EMPTY) PZ_TRY(pz_tuning_sql(t, schema, err));
  if (what != OTHER_PROGRAM) return PZ_OK;
  t->condition = PZ_TUNING_FOREIGN;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: is another program's database, no tuning database of pznet",
                 t->path);
}

/* The cache's own files, where the user has not named a database. SQLite makes and follows the journal by its name. */
static pz_status look_at_files(pz_tuning *t, pz_error *err) {
  static const char *const names[] = {"", "-journal", "-wal", "-shm"};
  for (size_t i = 0; i < sizeof names / sizeof *names && !t->named; i++) {
    const char *path = pz_arena_printf(t->arena, "%s%s", t->path, names[i]);
    if (!path) return pz_fail_memory(err, "a path", strlen(t->path));
    PZ_TRY(pz_single_file(path, err));
  }
  return PZ_OK;
}

static pz_status open_file(pz_tuning *t, pz_tuning_mode mode, pz_error *err) {
  struct stat info;
  if (mode == PZ_TUNING_READ && stat(t->path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    t->condition = PZ_TUNING_MISSING;
    return t->named ? pz_fail(err, PZ_ERROR_INPUT, "%s: there is no such tuning database", t->path) : PZ_OK;
  }
  if (mode == PZ_TUNING_WRITE && !t->named) PZ_TRY(pz_cache_make_folder(t->path, err));
  PZ_TRY(look_at_files(t, err));
  /* Reading opens for writing too where that is allowed: what a process that was killed left half done is undone then. */
  const int flags = SQLITE_OPEN_READWRITE | (mode == PZ_TUNING_WRITE ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(t->path, &t->db, flags, NULL);
  if (!t->db) return pz_fail_memory(err, "the tuning database", 1 << 20);
  if (code != SQLITE_OK) return pz_tuning_sql_fail(t, err);
  sqlite3_busy_timeout(t->db, BUSY_MILLISECONDS);
  sqlite3_db_config(t->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  PZ_TRY(pz_tuning_sql(t, "PRAGMA trusted_schema = OFF; PRAGMA synchronous = NORMAL", err));
  t->condition = PZ_TUNING_GOOD;
  return identify(t, mode, err);
}

pz_status pz_tuning_default_path(pz_arena *arena, const char **path, pz_error *err) {
  return pz_cache_path(arena, PZ_TUNING_FILE, path, err);
}

static pz_status find_path(pz_tuning *t, const char *path, pz_error *err) {
  t->named = path != NULL;
  if (!path) return pz_tuning_default_path(t->arena, &t->path, err);
  if (!*path) return pz_fail(err, PZ_ERROR_USAGE, "the tuning database's path is empty");
  /* "./" keeps SQLite from taking ":memory:" and "file:..." for more than names */
  t->path = pz_arena_printf(t->arena, "%s%s", path[0] != '/' && strchr(path, ':') ? "./" : "", path);
  return t->path ? PZ_OK : pz_fail_memory(err, "a path", strlen(path));
}

pz_status pz_tuning_examine(const char *path, pz_tuning_mode mode, pz_tuning **tuning, pz_error *err) {
  *tuning = NULL;
  pz_arena *arena = pz_arena_new();
  pz_tuning *t = arena ? PZ_NEW(arena, pz_tuning, 1) : NULL;
  if (!t) {
    pz_arena_free(arena);
    return pz_fail_memory(err, "the tuning database", sizeof *t);
  }
  *t = (pz_tuning){.arena = arena, .condition = PZ_TUNING_UNUSABLE};
  *tuning = t;
  PZ_TRY(find_path(t, path, err));
  const pz_status status = open_file(t, mode, err);
  if (status != PZ_OK && t->condition == PZ_TUNING_GOOD) t->condition = PZ_TUNING_UNUSABLE;
  return status;
}

pz_status pz_tuning_open(const char *path, pz_tuning_mode mode, pz_tuning **tuning, pz_error *err) {
  const pz_status status = pz_tuning_examine(path, mode, tuning, err);
  if (status == PZ_OK && (*tuning)->condition == PZ_TUNING_GOOD) return PZ_OK;
  pz_tuning_close(*tuning);
  *tuning = NULL;
  return status;
}

void pz_tuning_close(pz_tuning *tuning) {
  if (!tuning) return;
  sqlite3_close(tuning->db);
  pz_arena_free(tuning->arena);
}

const char *pz_tuning_path(const pz_tuning *tuning) { return tuning->path; }

/* ---- measurements ---- */

static void bind_text(sqlite3_stmt *s, int at, const char *text) {
  if (text) sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

static void bind_key(sqlite3_stmt *s, const pz_tuning_key *key, const char *candidate) {
  bind_text(s, 1, key->hash);
  bind_text(s, 2, key->cpu);
  bind_text(s, 3, key->compiler);
  bind_text(s, 4, key->solvers);
  if (key->threads) sqlite3_bind_int(s, 5, key->threads);
  bind_text(s, 6, candidate);
}

/* A text with a NUL inside is none. */
static const char *text_at(sqlite3_stmt *s, int column) {
  const char *text = (const char *)sqlite3_column_text(s, column);
  return text && strlen(text) == (size_t)sqlite3_column_bytes(s, column) ? text : NULL;
}

static pz_status bad_row(pz_tuning *t, const pz_tuning_fault *fault, pz_error *err) {
  char how[160];
  snprintf(how, sizeof how, "a measurement's %s, expected %s", fault->field, fault->expected);
  return damaged(t, how, err);
}

static pz_status read_row(pz_tuning *t, sqlite3_stmt *s, pz_tuning_entry *e, pz_error *err) {
  pz_tuning_fault fault;
  *e = (pz_tuning_entry){.key = {.hash = text_at(s, 8),
                                 .problem = text_at(s, 0),
                                 .cpu = text_at(s, 2),
                                 .compiler = text_at(s, 4),
                                 .solvers = text_at(s, 5),
                                 .threads = sqlite3_column_int(s, 3)},
                         .candidate = text_at(s, 1),
                         .seconds = sqlite3_column_double(s, 6),
                         .measured = sqlite3_column_int64(s, 7),
                         .noisy = sqlite3_column_int(s, 9) != 0};
  if (sqlite3_errcode(t->db) == SQLITE_NOMEM) return pz_tuning_sql_fail(t, err);
  return pz_tuning_check(e, &fault) ? PZ_OK : bad_row(t, &fault, err);
}

static pz_status check_key(const pz_tuning_key *key, const char *candidate, double seconds, pz_error *err) {
  pz_tuning_fault fault;
  const pz_tuning_entry e = {.key = *key, .candidate = candidate, .seconds = seconds};
  if (pz_tuning_check(&e, &fault)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE, "a measurement for the tuning database: %s: expected %s", fault.field,
                 fault.expected);
}

pz_status pz_tuning_find(pz_tuning *tuning, const pz_tuning_key *key, const char *candidate, double *seconds,
                         bool *found, pz_error *err) {
  static const char query[] =
      "SELECT seconds FROM measurement WHERE hash = ?1 AND cpu = ?2 AND compiler = ?3 AND solvers = ?4 "
      "AND threads = ?5 AND candidate = ?6";
  *found = false;
  if (!tuning) return PZ_OK;
  PZ_TRY(check_key(key, candidate, 1, err));
  sqlite3_stmt *s = NULL;
  int code = sqlite3_prepare_v2(tuning->db, query, -1, &s, NULL);
  if (code == SQLITE_OK) bind_key(s, key, candidate), code = sqlite3_step(s);
  pz_status status = PZ_OK;
  if (code == SQLITE_ROW) {
    const pz_tuning_entry e = {.key = *key, .candidate = candidate, .seconds = sqlite3_column_double(s, 0)};
    pz_tuning_fault fault;
    *found = pz_tuning_check(&e, &fault);
    if (*found) *seconds = e.seconds;
    else status = bad_row(tuning, &fault, err);
  } else if (code != SQLITE_DONE) status = pz_tuning_sql_fail(tuning, err);
  sqlite3_finalize(s);
  return status;
}

sqlite3_stmt *pz_tuning_prepare_store(pz_tuning *t, bool always) {
  static const char command[] =
      "INSERT INTO measurement (hash, cpu, compiler, solvers, threads, candidate, seconds, measured, "
      "problem, noisy) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?10, ?11) ON CONFLICT DO UPDATE SET seconds = "
      "excluded.seconds, measured = excluded.measured, noisy = excluded.noisy "
      "WHERE excluded.noisy < measurement.noisy OR (excluded.noisy = measurement.noisy AND "
      "(?9 OR excluded.measured > measurement.measured))";
  sqlite3_stmt *s = NULL;
  if (sqlite3_prepare_v2(t->db, command, -1, &s, NULL) != SQLITE_OK) return NULL;
  sqlite3_bind_int(s, 9, always);
  return s;
}

bool pz_tuning_step_store(sqlite3_stmt *statement, const pz_tuning_entry *entry) {
  bind_key(statement, &entry->key, entry->candidate);
  sqlite3_bind_double(statement, 7, entry->seconds);
  sqlite3_bind_int64(statement, 8, entry->measured);
  bind_text(statement, 10, entry->key.problem);
  sqlite3_bind_int(statement, 11, entry->noisy);
  const bool good = sqlite3_step(statement) == SQLITE_DONE;
  return sqlite3_reset(statement) == SQLITE_OK && good;
}

pz_status pz_tuning_store(pz_tuning *tuning, const pz_tuning_key *key, const char *candidate, double seconds,
                          bool noisy, pz_error *err) {
  if (!tuning) return PZ_OK;
  PZ_TRY(check_key(key, candidate, seconds, err));
  const pz_tuning_entry entry = {.key = *key,
                                 .candidate = candidate,
                                 .seconds = seconds,
                                 .measured = (int64_t)time(NULL),
                                 .noisy = noisy};
  sqlite3_stmt *s = pz_tuning_prepare_store(tuning, true);
  const bool good = s && pz_tuning_step_store(s, &entry);
  const pz_status status = good ? PZ_OK : pz_tuning_sql_fail(tuning, err);
  sqlite3_finalize(s);
  return status;
}

pz_status pz_tuning_list(pz_tuning *tuning, const pz_tuning_key *filter, pz_tuning_visit visit, void *host,
                         pz_error *err) {
  static const char query[] =
      "SELECT problem, candidate, cpu, threads, compiler, solvers, seconds, measured, hash, noisy FROM "
      "measurement "
      "WHERE (?1 IS NULL OR hash = ?1) AND (?2 IS NULL OR cpu = ?2) AND (?3 IS NULL OR compiler = ?3) AND "
      "(?4 IS NULL OR solvers = ?4) AND (?5 IS NULL OR threads = ?5) "
      "ORDER BY problem, hash, cpu, threads, compiler, solvers, seconds, candidate";
  static const pz_tuning_key any = {0};
  if (!tuning) return PZ_OK;
  sqlite3_stmt *s = NULL;
  int code = sqlite3_prepare_v2(tuning->db, query, -1, &s, NULL);
  if (code == SQLITE_OK) bind_key(s, filter ? filter : &any, NULL);
  pz_status status = PZ_OK;
  while (code == SQLITE_OK && status == PZ_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
    pz_tuning_entry entry;
    status = read_row(tuning, s, &entry, err);
    if (status == PZ_OK) status = visit(host, &entry, err);
    code = SQLITE_OK;
  }
  if (status == PZ_OK && code != SQLITE_DONE) status = pz_tuning_sql_fail(tuning, err);
  sqlite3_finalize(s);
  return status;
}
