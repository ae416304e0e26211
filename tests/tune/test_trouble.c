/* Several processes, damaged files, other people's files, folders that may not be written. */
#include "fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- several processes ---- */

enum { PROCESSES = 4, STORES = 40 };

/* Stores and finds, in a process of its own; gives the exit status. */
static int worker(int number) {
  pz_tuning *t;
  pz_error err = {0};
  pz_status status = pz_tuning_open("d", PZ_TUNING_WRITE, &t, &err);
  for (int i = 0; i < STORES && status == PZ_OK; i++) {
    char own[32];
    double seconds = 0;
    bool found = false;
    snprintf(own, sizeof own, "process %d", number);
    pz_tuning_key k = key;
    k.threads = i + 1;
    status = pz_tuning_store(t, &k, own, 1 + i, false, &err);
    if (status == PZ_OK) status = pz_tuning_store(t, &k, "all", 1 + i, false, &err);
    if (status == PZ_OK) status = pz_tuning_find(t, &k, own, &seconds, &found, &err);
    if (status == PZ_OK && (!found || seconds != 1 + i)) status = pz_fail(&err, PZ_ERROR_RUN, "not found");
  }
  if (status != PZ_OK) fprintf(stderr, "process %d: %s\n", number, err.message);
  pz_tuning_close(t);
  return (int)status;
}

/* The database is not there yet: it is made by all of them at once. */
static void processes_write_at_once(void **state) {
  (void)state;
  pid_t children[PROCESSES];
  for (int i = 0; i < PROCESSES; i++)
    if (!(children[i] = fork())) _exit(worker(i));
  for (int i = 0; i < PROCESSES; i++) {
    int code;
    assert_int_equal(waitpid(children[i], &code, 0), children[i]);
    assert_int_equal(code, 0);
  }
  pz_tuning *t = open_new("d");
  assert_int_equal(count_rows(t, NULL), STORES * (PROCESSES + 1));
  pz_tuning_close(t);
}

/* A writer waits for another process's transaction. */
static void writers_wait(void **state) {
  (void)state;
  int ready[2], code;
  char byte;
  pz_tuning *t = open_new("d");
  assert_int_equal(pipe(ready), 0);
  const pid_t child = fork();
  if (!child) {
    sqlite3 *db;
    const bool locked = sqlite3_open("d", &db) == SQLITE_OK &&
                        sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK;
    if (write(ready[1], "x", 1) != 1 || !locked) _exit(1);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    _exit(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL));
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  store(t, "direct", 1);
  assert_int_equal(waitpid(child, &code, 0), child);
  assert_int_equal(code, 0);
  assert_true(seconds_of(t, &key, "direct") == 1);
  close(ready[0]), close(ready[1]);
  pz_tuning_close(t);
}

/* A process that ended in the middle of a transaction leaves a journal: reading undoes it. */
static void a_killed_writer(void **state) {
  (void)state;
  pz_tuning *t = open_new("d");
  for (int i = 1; i <= 500; i++) {
    char candidate[32];
    snprintf(candidate, sizeof candidate, "candidate %d", i);
    store(t, candidate, i);
  }
  pz_tuning_close(t);
  const pid_t child = fork();
  if (!child) {
    sqlite3 *db;
    sqlite3_open("d", &db);
    sqlite3_exec(db, "PRAGMA cache_size = 1; BEGIN; UPDATE measurement SET seconds = 7", NULL, NULL, NULL);
    _exit(access("d-journal", F_OK) != 0);
  }
  int code;
  assert_int_equal(waitpid(child, &code, 0), child);
  assert_int_equal(code, 0);
  assert_int_equal(pz_tuning_open("d", PZ_TUNING_READ, &t, NULL), PZ_OK);
  assert_true(seconds_of(t, &key, "candidate 1") == 1);
  assert_true(seconds_of(t, &key, "candidate 500") == 500);
  pz_tuning_close(t);
}

/* ---- damage ---- */

#define HOW_TO_CLEAR "run `pznet tune --clear"

static void fill(const char *path, int n) {
  pz_tuning *t = open_new(path);
  for (int i = 1; i <= n; i++) {
    char candidate[64];
    snprintf(candidate, sizeof candidate, "candidate %d of the measurements that fill some pages", i);
    store(t, candidate, i);
  }
  pz_tuning_close(t);
}

static void works_after_clearing(const char *path) {
  int64_t removed;
  pz_error err = {0};
  if (pz_tuning_clear(path, NULL, &removed, &err) != PZ_OK) fail_msg("%s", err.message);
  pz_tuning *t = open_new(path);
  assert_int_equal(count_rows(t, NULL), 0);
  store(t, "direct", 1);
  assert_true(seconds_of(t, &key, "direct") == 1);
  pz_tuning_close(t);
}

static void a_damaged_database(void **state) {
  (void)state;
  pz_tuning *t;
  pz_error err = {0};
  int64_t removed;
  setenv("PZNET_CACHE_DIR", "cache", 1);
  fill(NULL, 3);
  write_words("cache/tuning.sqlite",
              "this is no database, and longer than the header of one would be; it goes on"
              " for a hundred bytes and more");
  write_words("cache/tuning.sqlite-journal", "an old one");
  for (int mode = 0; mode < 2; mode++) {
    err = (pz_error){0};
    assert_refused(
        pz_tuning_open(NULL, (pz_tuning_mode)mode, &t, &err), &err, PZ_ERROR_INPUT,
        "cache/tuning.sqlite: the tuning database is damaged (file is not a database); " HOW_TO_CLEAR "`");
    assert_null(t);
  }
  err = (pz_error){0};
  assert_refused(pz_tuning_open("cache/tuning.sqlite", PZ_TUNING_READ, &t, &err), &err, PZ_ERROR_INPUT,
                 HOW_TO_CLEAR " --database cache/tuning.sqlite`");
  err = (pz_error){0}; /* what is stale cannot be told */
  assert_refused(pz_tuning_clear(NULL, "solvers", &removed, &err), &err, PZ_ERROR_INPUT, HOW_TO_CLEAR);
  assert_int_equal(pz_tuning_clear(NULL, NULL, &removed, NULL), PZ_OK);
  assert_int_equal(removed, -1);
  assert_int_equal(access("cache/tuning.sqlite", F_OK), -1);
  assert_int_equal(access("cache/tuning.sqlite-journal", F_OK), -1);
  works_after_clearing(NULL);
}

/* Uses a damaged database in every way: no crash, and nothing but a message. */
static void use_damaged(const char *path, int expected_rows) {
  pz_tuning *t;
  pz_error err = {0};
  pz_status status = pz_tuning_open(path, PZ_TUNING_WRITE, &t, &err);
  if (status == PZ_OK) {
    double seconds = 0;
    bool found;
    int64_t count = 0;
    status = pz_tuning_find(t, &key, "candidate 1 of the measurements that fill some pages", &seconds, &found,
                            &err);
    if (status == PZ_OK) status = pz_tuning_store(t, &key, "new", 1, false, &err);
    if (status == PZ_OK) status = pz_tuning_export(t, "export", &count, &err);
    if (status == PZ_OK) assert_in_range(count, 0, expected_rows + 1);
  }
  if (status != PZ_OK && status != PZ_ERROR_INPUT && status != PZ_ERROR_RUN)
    fail_msg("%d %s", status, err.message);
  if (status == PZ_ERROR_INPUT && !strstr(err.message, HOW_TO_CLEAR) &&
      !strstr(err.message, "another program's"))
    fail_msg("%s", err.message);
  if (status != PZ_OK) assert_non_null(strstr(err.message, path));
  pz_tuning_close(t);
}

static void every_page_damaged(void **state) {
  (void)state;
  enum { ROWS = 100, SIZE = 1 << 17 };
  static char good[SIZE], bad[SIZE];
  fill("tuning.sqlite", ROWS);
  FILE *file = fopen("tuning.sqlite", "rb");
  const size_t n = fread(good, 1, SIZE, file);
  fclose(file);
  assert_in_range(n, 3 * 4096, SIZE - 1);
  uint32_t random = 1;
  for (int round = 0; round < 150; round++) {
    memcpy(bad, good, n);
    size_t length = n;
    if (round % 3 == 0) length = n * (size_t)round / 150;
    else /* a few bytes; more of them in the header and where pages begin */
      for (int i = 0; i < 4; i++) {
        random = random * 1664525 + 1013904223;
        const size_t at = random >> 8;
        bad[round % 3 == 1 ? at % n : at % (n / 4096) * 4096 + at / 4096 % 120] ^= (char)(random >> 24 | 1);
      }
    unlink("tuning.sqlite-journal");
    write_bytes("tuning.sqlite", bad, length);
    use_damaged("tuning.sqlite", ROWS);
    pz_tuning *t;
    pz_error err = {0};
    int64_t removed;
    const pz_status status = pz_tuning_clear("tuning.sqlite", NULL, &removed, &err);
    if (status !=
        PZ_OK) { /* the damage made it another program's, or that of a newer SQLite, which may only be read */
      if (!strstr(err.message, "another program's") && !strstr(err.message, "only be read"))
        fail_msg("%s", err.message);
      unlink("tuning.sqlite");
      continue;
    }
    t = open_new("tuning.sqlite");
    assert_int_equal(count_rows(t, NULL), 0);
    pz_tuning_close(t);
  }
}

/* Rows that no pznet wrote. */
static void hostile_rows(void **state) {
  (void)state;
  static const char *const changes[] = {"seconds = -1",
                                        "seconds = 0",
                                        "seconds = 1e999",
                                        "seconds = 'x'",
                                        "seconds = x'00'",
                                        "threads = 0",
                                        "cpu = char(27) || 'c'",
                                        "compiler = char(233)",
                                        "problem = ''",
                                        "hash = upper(hash)",
                                        "candidate = 'a' || char(0) || 'b'",
                                        "measured = -1",
                                        "solvers = x''",
                                        "problem = hex(zeroblob(9999))"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    char command[128];
    pz_error err = {0};
    int64_t count, removed;
    pz_tuning *t = open_new("d");
    store(t, "direct", 1);
    snprintf(command, sizeof command, "UPDATE measurement SET %s", changes[i]);
    run_sql("d", command);
    assert_refused(pz_tuning_export(t, "export", &count, &err), &err, PZ_ERROR_INPUT,
                   HOW_TO_CLEAR " --database d`");
    assert_int_equal(access("export", F_OK), -1);
    if (!strncmp(changes[i], "seconds", 7)) {
      double seconds;
      bool found;
      err = (pz_error){0};
      assert_refused(pz_tuning_find(t, &key, "direct", &seconds, &found, &err), &err, PZ_ERROR_INPUT,
                     HOW_TO_CLEAR);
      assert_false(found);
    }
    pz_tuning_close(t);
    assert_int_equal(pz_tuning_clear("d", NULL, &removed, NULL), PZ_OK);
    assert_int_equal(removed, 1);
  }
}

/* Tables and triggers that pznet did not make, and databases of other versions of it. */
static void other_tables(void **state) {
  (void)state;
  static const struct {
    const char *change, *words;
  } rows[] = {
      {"DROP TABLE measurement", "table is not as"},
      {"DROP TABLE measurement; CREATE TABLE measurement (problem TEXT)", "table is not as"},
      {"DROP TABLE measurement; CREATE VIEW measurement AS SELECT 1", "table is not as"},
      {"CREATE TRIGGER x AFTER INSERT ON measurement BEGIN DELETE FROM measurement; END", "table is not as"},
      {"CREATE TABLE more (x)", "table is not as"},
      {"PRAGMA user_version = 9", "another version of pznet wrote it"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pz_tuning *t = open_new("d");
    store(t, "direct", 1);
    pz_tuning_close(t);
    run_sql("d", rows[i].change);
    pz_error err = {0};
    assert_refused(pz_tuning_open("d", PZ_TUNING_WRITE, &t, &err), &err, PZ_ERROR_INPUT, rows[i].words);
    assert_non_null(strstr(err.message, HOW_TO_CLEAR " --database d`"));
    works_after_clearing("d");
  }
  pz_tuning *t = open_new("d"); /* and what happens while it is open */
  run_sql("d", "DROP TABLE measurement");
  pz_error err = {0};
  assert_refused(pz_tuning_store(t, &key, "direct", 1, false, &err), &err, PZ_ERROR_INPUT, HOW_TO_CLEAR);
  pz_tuning_close(t);
}

/* What an older version measured is not used: whoever reads finds nothing, and whoever writes begins anew. */
static void older_versions(void **state) {
  (void)state;
  static const char *const made[] = {"PRAGMA user_version = 2",
                                     "DROP TABLE measurement; CREATE TABLE measurement (problem TEXT); "
                                     "PRAGMA user_version = 1"};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    pz_tuning *t = open_new("d");
    store(t, "direct", 1);
    pz_tuning_close(t);
    run_sql("d", made[i]);
    assert_int_equal(pz_tuning_open("d", PZ_TUNING_READ, &t, NULL), PZ_OK);
    assert_null(t);
    t = open_new("d");
    assert_int_equal(count_rows(t, NULL), 0);
    store(t, "direct", 2);
    pz_tuning_close(t);
    t = open_new("d");
    assert_true(seconds_of(t, &key, "direct") == 2);
    pz_tuning_close(t);
    assert_int_equal(unlink("d"), 0);
  }
}

/* What was named by mistake stays. */
static void files_of_others(void **state) {
  (void)state;
  pz_tuning *t;
  int64_t removed;
  pz_error err = {0};
  run_sql("tuning.sqlite", "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)");
  assert_refused(pz_tuning_open("tuning.sqlite", PZ_TUNING_WRITE, &t, &err), &err, PZ_ERROR_INPUT,
                 "another program's");
  err = (pz_error){0};
  assert_refused(pz_tuning_clear("tuning.sqlite", NULL, &removed, &err), &err, PZ_ERROR_INPUT,
                 "another program's");
  run_sql("tuning.sqlite", "INSERT INTO mine VALUES (2)");
  write_words("thesis.txt", "years of work");
  err = (pz_error){0};
  assert_refused(pz_tuning_clear("thesis.txt", NULL, &removed, &err), &err, PZ_ERROR_INPUT,
                 "is left as it is");
  char *text = read_words("thesis.txt");
  assert_string_equal(text, "years of work");
  free(text);
  assert_int_equal(mkdir("folder", 0777), 0);
  for (int mode = 0; mode < 2; mode++) {
    err = (pz_error){0};
    assert_refused(pz_tuning_open("folder", (pz_tuning_mode)mode, &t, &err), &err, PZ_ERROR_RUN, "folder: ");
  }
}

/* ---- places that may not be written ---- */

static void in_another_mans_shoes(void (*test)(void)) {
  const bool root = geteuid() == 0;
  if (root && seteuid(65534)) skip();
  test();
  if (root) assert_int_equal(seteuid(0), 0);
}

static void try_read_only(void) {
  pz_tuning *t = NULL, *missing = NULL;
  pz_error store_error = {0}, open_error = {0}, folder_error = {0};
  double seconds = 0;
  bool found = false;
  setenv("PZNET_CACHE_DIR", "closed", 1);
  const pz_status opened = pz_tuning_open(NULL, PZ_TUNING_WRITE, &t, NULL);
  pz_tuning_find(t, &key, "direct", &seconds, &found, NULL);
  const pz_status stored = pz_tuning_store(t, &key, "other", 1, false, &store_error);
  pz_tuning_close(t);
  setenv("PZNET_CACHE_DIR", "empty", 1);
  const pz_status made = pz_tuning_open(NULL, PZ_TUNING_WRITE, &missing, &open_error);
  setenv("PZNET_CACHE_DIR", "empty/below", 1);
  const pz_status folder = pz_tuning_open(NULL, PZ_TUNING_WRITE, &missing, &folder_error);
  assert_int_equal(opened, PZ_OK);
  assert_true(found && seconds == 1);
  assert_refused(stored, &store_error, PZ_ERROR_RUN,
                 "closed/tuning.sqlite: this tuning database may only be read");
  assert_null(missing);
  assert_refused(made, &open_error, PZ_ERROR_RUN, "empty/tuning.sqlite: ");
  assert_refused(folder, &folder_error, PZ_ERROR_RUN, "empty/below: this cache folder cannot be made");
}

static void read_only(void **state) {
  (void)state;
  setenv("PZNET_CACHE_DIR", "closed", 1);
  pz_tuning *t = open_new(NULL);
  store(t, "direct", 1);
  pz_tuning_close(t);
  assert_int_equal(chmod("closed/tuning.sqlite", 0444), 0);
  assert_int_equal(chmod("closed", 0555), 0);
  assert_int_equal(chmod(".", 0755), 0);
  assert_int_equal(mkdir("empty", 0555), 0);
  in_another_mans_shoes(try_read_only);
  assert_int_equal(chmod("closed", 0755), 0); /* so that it can be removed */
}

static void no_home(void **state) {
  (void)state;
  pz_tuning *t;
  pz_error err = {0};
  write_words("file", "");
  setenv("PZNET_CACHE_DIR", "file/below", 1);
  assert_refused(pz_tuning_open(NULL, PZ_TUNING_WRITE, &t, &err), &err, PZ_ERROR_RUN,
                 "file/below: this cache folder");
  assert_null(t);
  assert_int_equal(pz_tuning_open(NULL, PZ_TUNING_READ, &t, NULL), PZ_OK);
  assert_null(t);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
  const struct CMUnitTest tests[] = {
      TEST(processes_write_at_once), TEST(writers_wait), TEST(a_killed_writer), TEST(a_damaged_database),
      TEST(every_page_damaged),      TEST(hostile_rows), TEST(other_tables),    TEST(older_versions),
      TEST(files_of_others),         TEST(read_only),    TEST(no_home),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
