/* clear.c: forgetting measurements, and databases that are damaged. */
#include "tune/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* By its header (SQLite's, with our application id at byte 68), or by its name where the header is damaged: a file that
 * was named by mistake is not removed. */
static bool is_ours(const char *path) {
  static const char magic[16] = "SQLite format 3", id[4] = {'p', 'z', 'n', 't'};
  const char *slash = strrchr(path, '/');
  if (!strcmp(slash ? slash + 1 : path, PZ_TUNING_FILE)) return true;
  char header[72];
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const bool whole = read(fd, header, sizeof header) == (ssize_t)sizeof header;
  close(fd);
  return whole && !memcmp(header, magic, sizeof magic) && !memcmp(header + 68, id, sizeof id);
}

/* The journal goes first: a new database beside an old journal would be "repaired" with it. */
static pz_status remove_files(const pz_tuning *t, pz_error *err) {
  static const char *const endings[] = {"-journal", "-wal", "-shm", ""};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const char *path = pz_arena_printf(t->arena, "%s%s", t->path, endings[i]);
    if (!path) return pz_fail_memory(err, "a path", strlen(t->path));
    if (unlink(path) && errno != ENOENT)
      return pz_fail(err, PZ_ERROR_RUN, "%s: cannot be removed: %s", path, strerror(errno));
  }
  return PZ_OK;
}

static pz_status remove_damaged(pz_tuning *t, pz_error *err) {
  sqlite3_close(t->db);
  t->db = NULL;
  if (is_ours(t->path)) return remove_files(t, err);
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: is no tuning database of pznet and is left as it is; remove it yourself, or name another",
      t->path);
}

/* Damage that opening does not see. */
static pz_status check_pages(pz_tuning *t, pz_error *err) {
  int64_t good;
  PZ_TRY(pz_tuning_sql_number(t, "SELECT count(*) = 1 AND min(quick_check) = 'ok' FROM pragma_quick_check(1)",
                              &good, err));
  if (good) return PZ_OK;
  t->condition = PZ_TUNING_DAMAGED;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: the tuning database is damaged", t->path);
}

static pz_status remove_rows(pz_tuning *t, const char *keep, int64_t *removed, pz_error *err) {
  sqlite3_stmt *s = NULL;
  const char *command = keep ? "DELETE FROM measurement WHERE solvers <> ?1" : "DELETE FROM measurement";
  int code = sqlite3_prepare_v2(t->db, command, -1, &s, NULL);
  if (code == SQLITE_OK && keep) sqlite3_bind_text(s, 1, keep, -1, SQLITE_STATIC);
  if (code == SQLITE_OK) code = sqlite3_step(s);
  const pz_status status = code == SQLITE_DONE ? PZ_OK : pz_tuning_sql_fail(t, err);
  if (status == PZ_OK) *removed = sqlite3_changes(t->db);
  sqlite3_finalize(s);
  /* The file may stay as large as it was where others are at work on it. */
  if (status == PZ_OK) sqlite3_exec(t->db, "VACUUM", NULL, NULL, NULL);
  return status;
}

pz_status pz_tuning_clear(const char *path, const char *keep, int64_t *removed, pz_error *err) {
  pz_tuning *t;
  pz_error problem = {0};
  *removed = 0;
  pz_status status = pz_tuning_examine(path, PZ_TUNING_READ, &t, &problem);
  if (status == PZ_OK && t->condition == PZ_TUNING_GOOD && !keep) status = check_pages(t, &problem);
  if (status == PZ_OK && t->condition == PZ_TUNING_GOOD) status = remove_rows(t, keep, removed, &problem);
  if (t && t->condition == PZ_TUNING_DAMAGED && !keep) {
    problem = (pz_error){0};
    status = remove_damaged(t, &problem);
    if (status == PZ_OK) *removed = -1;
  }
  pz_tuning_close(t);
  return status == PZ_OK ? PZ_OK : pz_fail(err, status, "%s", problem.message);
}
