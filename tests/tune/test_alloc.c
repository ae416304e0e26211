/* Every allocation fails in turn, SQLite's and jansson's too: a status with a message, no crash, and (under the sanitizers)
 * no leak; the database is whole afterwards. */
#include "fail_alloc.h"
#include "fixture.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* SQLite can do without some of its allocations, and reports some failures as an error of its own. */
static void judge(pz_status status, const pz_error *err, bool failed) {
  if (status == PZ_OK) return;
  if (!failed) fail_msg("%s", err->message);
  if (status != PZ_ERROR_MEMORY && status != PZ_ERROR_RUN && status != PZ_ERROR_INPUT) fail_msg("%d", status);
  assert_true(err->status == status && err->message[0]);
}

static pz_status use(pz_error *err) {
  pz_tuning *t;
  double seconds;
  bool found;
  int64_t count;
  pz_status status = pz_tuning_open(NULL, PZ_TUNING_WRITE, &t, err);
  if (status == PZ_OK) status = pz_tuning_store(t, &key, "direct", 1, false, err);
  if (status == PZ_OK) status = pz_tuning_find(t, &key, "direct", &seconds, &found, err);
  if (status == PZ_OK && !(found && seconds == 1)) status = pz_fail(err, PZ_INTERRUPTED, "not found");
  if (status == PZ_OK) status = pz_tuning_export(t, "lines", &count, err);
  if (status == PZ_OK && count != 1) status = pz_fail(err, PZ_INTERRUPTED, "not listed");
  pz_tuning_close(t);
  return status;
}

static void using(void **state) {
  (void)state;
  setenv("PZNET_CACHE_DIR", "cache", 1);
  PZ_FAIL_EACH_ALLOC() {
    pz_error err = {0};
    const pz_status status = use(&err);
    judge(status, &err, pz_fail_alloc_end());
    unlink("lines");
    if (pz_loop_.n % 2) unlink("cache/tuning.sqlite"); /* made anew, or there already */
    pz_tuning_close(open_new(NULL));
  }
}

static void importing(void **state) {
  (void)state;
  int64_t count;
  pz_tuning *t = open_new("d");
  store(t, "direct", 1), store(t, "other", 2), store(t, "third", 3);
  assert_int_equal(pz_tuning_export(t, "lines", &count, NULL), PZ_OK);
  pz_tuning_close(t);
  PZ_FAIL_EACH_ALLOC() {
    pz_error err = {0};
    pz_tune_counts counts = {0};
    pz_status status = pz_tuning_open("e", PZ_TUNING_WRITE, &t, &err);
    if (status == PZ_OK) status = pz_tuning_import(t, "lines", &counts, &err);
    pz_tuning_close(t);
    judge(status, &err, pz_fail_alloc_end());
    assert_int_equal(counts.read, status == PZ_OK ? 3 : 0);
    t = open_new("e");
    const int there = count_rows(t, NULL);
    if (status == PZ_OK) assert_int_equal(there, 3);
    else assert_true(there == 0 || there == 3);
    pz_tuning_close(t);
    unlink("e");
  }
}

/* A failed allocation is no damage: what is there is cleared and not removed. */
static void clearing(void **state) {
  (void)state;
  bool failed = true;
  for (long n = 1; failed; n++) {
    pz_tuning *t = open_new("d");
    store(t, "direct", 1);
    pz_tuning_close(t);
    pz_error err = {0};
    int64_t removed = 0;
    pz_fail_alloc_at(n);
    const pz_status status = pz_tuning_clear("d", NULL, &removed, &err);
    failed = pz_fail_alloc_end();
    judge(status, &err, failed);
    assert_int_equal(access("d", F_OK), 0);
    if (status == PZ_OK) assert_int_equal(removed, 1);
  }
}

static int same(int n) { return n; }
static int nothing(void *p) { return (void)p, SQLITE_OK; }
static void nothing_more(void *p) { (void)p; }
/* SQLite wants to know sizes: they are kept in front. */
static void *counted_alloc(int n) {
  int64_t *p = malloc((size_t)n + 16);
  if (p) p[0] = n;
  return p ? p + 2 : NULL;
}
static void counted_free(void *p) { free(p ? (int64_t *)p - 2 : NULL); }
static void *counted_realloc(void *old, int n) {
  int64_t *p = realloc(old ? (int64_t *)old - 2 : NULL, (size_t)n + 16);
  if (p) p[0] = n;
  return p ? p + 2 : NULL;
}
static int counted_size(void *p) { return p ? (int)((int64_t *)p)[-2] : 0; }

int main(void) {
  const sqlite3_mem_methods methods = {counted_alloc, counted_free, counted_realloc, counted_size,
                                       same,          nothing,      nothing_more,    NULL};
  sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
  json_set_alloc_funcs(malloc, free);
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
  const struct CMUnitTest tests[] = {TEST(using), TEST(importing), TEST(clearing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
