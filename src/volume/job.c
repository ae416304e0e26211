#include "volume/job.h"

#include "base/owned.h"
#include "formats/io.h"

#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pz_job {
  pz_arena *arena;
  const char *output, *folder;
  sqlite3 *db;
  bool resumed, made; /* made: the folder was not there before */
};

#define HOW_TO_BEGIN_ANEW "run without --resume to begin anew"

const char *pz_job_path(pz_job *job, const char *name) {
  return pz_arena_printf(job->arena, "%s/%s", job->folder, name);
}
bool pz_job_layer_path(const pz_job *job, int64_t layer, char *out, size_t size) {
  return (size_t)snprintf(out, size, "%s/row-%lld.raw", job->folder, (long long)layer) < size;
}
bool pz_job_resumed(const pz_job *job) { return job->resumed; }

/* ------------------------------------------------------------------ SQLite */

static pz_status sql_fail(pz_job *job, pz_error *err) {
  const int code = sqlite3_errcode(job->db);
  if (code == SQLITE_NOMEM) return pz_fail_memory(err, "the job's database", 1 << 20);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    return pz_fail(err, PZ_ERROR_RUN,
                   "%s: another process is writing this output; wait for it or give another name",
                   job->output);
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_ERROR)
    return pz_fail(err, PZ_ERROR_RUN, "%s/job.db: damaged (%s); " HOW_TO_BEGIN_ANEW, job->folder,
                   sqlite3_errmsg(job->db));
  const int reason = code == SQLITE_IOERR ? sqlite3_system_errno(job->db) : 0;
  if (reason) return pz_io_fail(err, job->folder, "recording progress", reason);
  if (code == SQLITE_FULL) return pz_io_fail(err, job->folder, "recording progress", ENOSPC);
  const bool unwritable =
      code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_READONLY || code == SQLITE_PERM;
  return pz_fail(err, unwritable ? PZ_ERROR_OUTPUT : PZ_ERROR_RUN, "%s/job.db: %s", job->folder,
                 sqlite3_errmsg(job->db));
}

static pz_status sql(pz_job *job, const char *text, pz_error *err) {
  return sqlite3_exec(job->db, text, NULL, NULL, NULL) == SQLITE_OK ? PZ_OK : sql_fail(job, err);
}

/* Runs a statement with up to two parameters, texts or numbers; numbers where the text is NULL. */
typedef struct value {
  const char *text;
  int64_t number;
} value;

static sqlite3_stmt *prepare(pz_job *job, const char *text, const value *values, int n) {
  sqlite3_stmt *s = NULL;
  bool good = sqlite3_prepare_v2(job->db, text, -1, &s, NULL) == SQLITE_OK;
  for (int i = 0; i < n && good; i++)
    good = (values[i].text ? sqlite3_bind_text(s, i + 1, values[i].text, -1, SQLITE_TRANSIENT)
                           : sqlite3_bind_int64(s, i + 1, values[i].number)) == SQLITE_OK;
  if (good) return s;
  sqlite3_finalize(s); /* a parameter without its value would be NULL */
  return NULL;
}

static pz_status change(pz_job *job, const char *text, const value *values, int n, pz_error *err) {
  sqlite3_stmt *s = prepare(job, text, values, n);
  const bool good = s && sqlite3_step(s) == SQLITE_DONE;
  const pz_status status = good ? PZ_OK : sql_fail(job, err);
  sqlite3_finalize(s);
  return status;
}

static bool look_up(pz_job *job, const char *text, value key, char *out, int size) {
  sqlite3_stmt *s = prepare(job, text, &key, 1);
  const bool found = s && sqlite3_step(s) == SQLITE_ROW;
  const char *answer = found ? (const char *)sqlite3_column_text(s, 0) : NULL;
  if (answer) snprintf(out, (size_t)size, "%s", answer);
  sqlite3_finalize(s);
  return answer != NULL;
}

/* Leaves a transaction open, since each one ends in several syncs. */
static pz_status open_database(pz_job *job, pz_error *err) {
  const char *path = pz_job_path(job, "job.db");
  if (!path) return pz_fail_memory(err, "a path", 0);
  /* Not SQLITE_OPEN_NOFOLLOW, which refuses links to folders in the path too; the file itself has been looked at. */
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(path, &job->db, flags, NULL) != SQLITE_OK) {
    if (!job->db) return pz_fail_memory(err, "the job's database", 1 << 20);
    return sql_fail(job, err);
  }
  /* The lock is taken by the first write and held until the database is closed. */
  return sql(job,
             "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; BEGIN "
             "EXCLUSIVE;"
             "CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);"
             "CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL);"
             "CREATE TABLE IF NOT EXISTS journal (row INTEGER PRIMARY KEY, patches INTEGER NOT NULL);",
             err);
}

bool pz_job_get(pz_job *job, const char *name, char *out, int size) {
  return look_up(job, "SELECT value FROM state WHERE name = ?", (value){.text = name}, out, size);
}

pz_status pz_job_set(pz_job *job, const char *name, const char *text, pz_error *err) {
  const value values[] = {{.text = name}, {.text = text}};
  return change(job, "INSERT OR REPLACE INTO state VALUES (?, ?)", values, 2, err);
}

/* ------------------------------------------------------------------ the folder */

static bool is_ours(const char *name) {
  static const char *const names[] = {"job.db", "job.db-journal", "result.raw", "result.out"};
  long long layer;
  char extra;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return sscanf(name, "row-%lld.ra%c", &layer, &extra) == 2 && extra == 'w';
}

static void remove_files(pz_job *job) {
  DIR *folder = opendir(job->folder);
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder));)
    if (is_ours(entry->d_name)) unlinkat(dirfd(folder), entry->d_name, 0);
  closedir(folder);
  rmdir(job->folder);
}

static void close_database(pz_job *job) {
  sqlite3_close(job->db);
  job->db = NULL;
}

/* A folder that was there may have been prepared by somebody: nothing is opened in it, or removed, before all is seen to be ours. */
static pz_status look_at_folder(pz_job *job, pz_error *err) {
  pz_status status = pz_owned_folder(job->folder, err);
  DIR *folder = status == PZ_OK ? opendir(job->folder) : NULL;
  if (status == PZ_OK && !folder) return pz_io_fail(err, job->folder, "opening", errno);
  for (struct dirent *entry; errno = 0, status == PZ_OK && (entry = readdir(folder));) {
    const char *path = is_ours(entry->d_name) ? pz_job_path(job, entry->d_name) : NULL;
    if (path) status = pz_owned_file(path, err);
    else if (is_ours(entry->d_name)) status = pz_fail_memory(err, "a path", 0);
  }
  if (status == PZ_OK && errno) status = pz_io_fail(err, job->folder, "opening", errno);
  if (folder) closedir(folder);
  return status;
}

static pz_status make_folder(pz_job *job, pz_error *err) {
  job->made = mkdir(job->folder, 0700) == 0;
  if (!job->made && errno != EEXIST) return pz_io_fail(err, job->folder, "creating", errno);
  PZ_TRY(look_at_folder(job, err));
  return pz_io_sync_folder(job->folder, err);
}

/* Throws an old job away, unless a process is at work on it. A database that is damaged is thrown away too. */
static pz_status clear_folder(pz_job *job, pz_error *err) {
  struct stat info;
  if (lstat(job->folder, &info) != 0) return PZ_OK;
  PZ_TRY(look_at_folder(job, err));
  const char *path = pz_job_path(job, "job.db");
  if (!path) return pz_fail_memory(err, "a path", 0);
  if (access(path, F_OK) == 0) {
    pz_error ignored = {0};
    open_database(job, &ignored);
    const int code = sqlite3_errcode(job->db);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return sql_fail(job, err);
    close_database(job);
  }
  remove_files(job);
  if (lstat(job->folder, &info) != 0) return PZ_OK;
  return pz_fail(err, PZ_ERROR_OUTPUT,
                 "%s: cannot be removed; it holds files that are not pznet's: move them away", job->folder);
}

static pz_status write_facts(pz_job *job, const pz_job_fact *facts, int n, pz_error *err) {
  for (int i = 0; i < n; i++) {
    const value values[] = {{.text = facts[i].name}, {.text = facts[i].value}};
    PZ_TRY(change(job, "INSERT INTO fact VALUES (?, ?)", values, 2, err));
  }
  return PZ_OK;
}

static pz_status check_facts(pz_job *job, const pz_job_fact *facts, int n, pz_error *err) {
  char old[4096];
  for (int i = 0; i < n; i++) {
    if (!look_up(job, "SELECT value FROM fact WHERE name = ?", (value){.text = facts[i].name}, old,
                 sizeof old))
      return pz_fail(err, PZ_ERROR_RUN, "%s: was begun by another version of pznet; " HOW_TO_BEGIN_ANEW,
                     job->folder);
    if (strcmp(old, facts[i].value) != 0)
      return pz_fail(err, facts[i].input ? PZ_ERROR_INPUT : PZ_ERROR_USAGE,
                     "%s: cannot go on: the %s was %s when the work began and is %s now; " HOW_TO_BEGIN_ANEW,
                     job->output, facts[i].name, old, facts[i].value);
  }
  return PZ_OK;
}

static bool has_facts(pz_job *job) {
  char count[32];
  return look_up(job, "SELECT count(*) FROM fact WHERE 0 = ?", (value){.number = 0}, count, sizeof count) &&
         strcmp(count, "0") != 0;
}

static pz_status open_in(pz_job *job, bool resume, const pz_job_fact *facts, int n, pz_error *err) {
  if (!resume) PZ_TRY(clear_folder(job, err));
  PZ_TRY(make_folder(job, err));
  PZ_TRY(open_database(job, err));
  /* A job that has no facts yet ended before its work began. */
  job->resumed = resume && has_facts(job);
  PZ_TRY(job->resumed ? check_facts(job, facts, n, err) : write_facts(job, facts, n, err));
  return sql(job, "COMMIT", err);
}

pz_status pz_job_open(const char *output, bool resume, const pz_job_fact *facts, int n, pz_job **job,
                      pz_error *err) {
  *job = NULL;
  pz_arena *arena = pz_arena_new();
  pz_job *j = arena ? PZ_NEW(arena, pz_job, 1) : NULL;
  if (j) {
    j->arena = arena;
    j->output = pz_arena_strdup(arena, output);
    j->folder = pz_arena_printf(arena, "%s.pznet-job", output);
  }
  if (!j || !j->output || !j->folder) {
    pz_arena_free(arena);
    return pz_fail_memory(err, "a job", sizeof *j);
  }
  const pz_status status = open_in(j, resume, facts, n, err);
  if (status == PZ_OK) *job = j;
  else if (j->made && sqlite3_errcode(j->db) != SQLITE_BUSY) pz_job_remove(j); /* nothing is in it yet */
  else pz_job_close(j);
  return status;
}

void pz_job_close(pz_job *job) {
  if (!job) return;
  close_database(job);
  pz_arena_free(job->arena);
}

void pz_job_remove(pz_job *job) {
  if (!job) return;
  close_database(job);
  remove_files(job);
  pz_arena_free(job->arena);
}

/* ------------------------------------------------------------------ progress */

int64_t pz_job_layer(pz_job *job) {
  char text[32];
  return pz_job_get(job, "row", text, sizeof text) ? strtoll(text, NULL, 10) : 0;
}

int64_t pz_job_patches(pz_job *job, int64_t layer) {
  char text[32];
  const bool found =
      look_up(job, "SELECT patches FROM journal WHERE row = ?", (value){.number = layer}, text, sizeof text);
  return found ? strtoll(text, NULL, 10) : 0;
}

static pz_status set_number(pz_job *job, const char *name, int64_t number, pz_error *err) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)number);
  return pz_job_set(job, name, text, err);
}

static int64_t get_number(pz_job *job, const char *name) {
  char text[32];
  return pz_job_get(job, name, text, sizeof text) ? strtoll(text, NULL, 10) : 0;
}

pz_job_tally pz_job_tallied(pz_job *job) {
  return (pz_job_tally){.clipped = get_number(job, "clipped"), .not_finite = get_number(job, "not finite")};
}

static pz_status record(pz_job *job, const pz_job_progress *p, pz_error *err) {
  PZ_TRY(set_number(job, "row", p->layer, err));
  PZ_TRY(set_number(job, "clipped", p->tally.clipped, err));
  PZ_TRY(set_number(job, "not finite", p->tally.not_finite, err));
  for (int64_t i = 0; i < p->layers; i++) {
    const value values[] = {{.number = p->first + i}, {.number = p->patches[i]}};
    PZ_TRY(change(job, "INSERT OR REPLACE INTO journal VALUES (?, ?)", values, 2, err));
  }
  const value first = {.number = p->first};
  return change(job, "DELETE FROM journal WHERE row < ?", &first, 1, err);
}

static pz_status end_transaction(pz_job *job, pz_status status, pz_error *err) {
  if (status == PZ_OK) status = sql(job, "COMMIT", err);
  if (status != PZ_OK) sqlite3_exec(job->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

pz_status pz_job_record(pz_job *job, const pz_job_progress *progress, pz_error *err) {
  PZ_TRY(sql(job, "BEGIN", err));
  return end_transaction(job, record(job, progress, err), err);
}

static pz_status record_planes(pz_job *job, int64_t block, int64_t planes, pz_job_tally tally,
                               pz_error *err) {
  PZ_TRY(set_number(job, "block", block, err));
  PZ_TRY(set_number(job, "planes", planes, err));
  PZ_TRY(set_number(job, "clipped", tally.clipped, err));
  return set_number(job, "not finite", tally.not_finite, err);
}

pz_status pz_job_record_planes(pz_job *job, int64_t block, int64_t planes, pz_job_tally tally,
                               pz_error *err) {
  PZ_TRY(sql(job, "BEGIN", err));
  return end_transaction(job, record_planes(job, block, planes, tally, err), err);
}

void pz_job_planes(pz_job *job, int64_t *block, int64_t *planes) {
  *block = get_number(job, "block"), *planes = get_number(job, "planes");
}
