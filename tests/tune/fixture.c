#include "fixture.h"

#include <ftw.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], before[PATH_MAX];

int enter_folder(void **state) {
  (void)state;
  /* In memory where there is such a place: databases sync often. */
  snprintf(folder, sizeof folder, "%s/pznet-tune-XXXXXX",
           access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  return getcwd(before, sizeof before) && mkdtemp(folder) ? chdir(folder) : -1;
}

static int drop(const char *path, const struct stat *info, int type, struct FTW *walk) {
  (void)info, (void)type, (void)walk;
  return remove(path);
}
int leave_folder(void **state) {
  (void)state;
  return chdir(before) || nftw(folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

const pz_tuning_key key = {.hash = HASH,
                           .problem = "conv 28x18x192x192 k3x3x3 c28 relu",
                           .cpu = "Some CPU (25.17.1), avx512",
                           .compiler = "gcc (Debian) 12.2.0",
                           .solvers = "0123456789abcdef",
                           .threads = 2};

pz_tuning *open_new(const char *path) {
  pz_tuning *t;
  pz_error err = {0};
  if (pz_tuning_open(path, PZ_TUNING_WRITE, &t, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_non_null(t);
  return t;
}

void store(pz_tuning *t, const char *candidate, double seconds) {
  pz_error err = {0};
  if (pz_tuning_store(t, &key, candidate, seconds, false, &err) != PZ_OK) fail_msg("%s", err.message);
}

double seconds_of(pz_tuning *t, const pz_tuning_key *k, const char *candidate) {
  double seconds = -1;
  bool found;
  pz_error err = {0};
  if (pz_tuning_find(t, k, candidate, &seconds, &found, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_int_equal(found, seconds > 0);
  return found ? seconds : 0;
}

static pz_status count_one(void *host, const pz_tuning_entry *entry, pz_error *err) {
  (void)entry, (void)err;
  ++*(int *)host;
  return PZ_OK;
}
int count_rows(pz_tuning *t, const pz_tuning_key *filter) {
  int n = 0;
  pz_error err = {0};
  if (pz_tuning_list(t, filter, count_one, &n, &err) != PZ_OK) fail_msg("%s", err.message);
  return n;
}

void write_bytes(const char *path, const void *bytes, size_t n) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  assert_int_equal(fclose(file), 0);
}
void write_words(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

char *read_words(const char *path) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
  fclose(file);
  return text;
}

void run_sql(const char *path, const char *text) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s", sqlite3_errmsg(db));
  sqlite3_close(db);
}

void assert_refused(pz_status status, const pz_error *err, pz_status expected, const char *words) {
  if (status != expected || err->status != expected || !strstr(err->message, words))
    fail_msg("expected %d with '%s', got %d: %s", expected, words, status, err->message);
}
