/* What is stored is found, under its very key. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void stored_is_found(void **state) {
  (void)state;
  pz_tuning *t = open_new("d");
  assert_string_equal(pz_tuning_path(t), "d");
  assert_true(seconds_of(t, &key, "direct") == 0);
  store(t, "direct", 0.25);
  store(t, "Winograd F(4,4,4)", 1e-9);
  store(t, "direct", 0.5); /* the later one */
  assert_true(seconds_of(t, &key, "direct") == 0.5);
  pz_tuning_close(t);
  t = open_new("d");
  assert_true(seconds_of(t, &key, "direct") == 0.5);
  assert_true(seconds_of(t, &key, "Winograd F(4,4,4)") == 1e-9);
  assert_true(seconds_of(t, &key, "Winograd F(2,2,2)") == 0);
  assert_int_equal(count_rows(t, NULL), 2);
  pz_tuning_close(t);
}

static void every_part_of_the_key_counts(void **state) {
  (void)state;
  pz_tuning_key others[] = {key, key, key, key, key};
  others[0].hash = OTHER_HASH;
  others[1].cpu = "Some CPU (25.17.1), avx2";
  others[2].compiler = "gcc (Debian) 12.2.1";
  others[3].solvers = "0123456789abcdee";
  others[4].threads = 1;
  pz_tuning *t = open_new("d");
  store(t, "direct", 1);
  for (int i = 0; i < 5; i++) {
    assert_true(seconds_of(t, &others[i], "direct") == 0);
    assert_int_equal(pz_tuning_store(t, &others[i], "direct", i + 2, false, NULL), PZ_OK);
  }
  for (int i = 0; i < 5; i++) assert_true(seconds_of(t, &others[i], "direct") == i + 2);
  assert_true(seconds_of(t, &key, "direct") == 1);
  pz_tuning_close(t);
}

static pz_status is_noisy(void *host, const pz_tuning_entry *e, pz_error *err) {
  (void)err;
  *(bool *)host = e->noisy;
  return PZ_OK;
}
static void expect(pz_tuning *t, double seconds, bool noisy) {
  bool is = !noisy;
  assert_true(seconds_of(t, &key, "direct") == seconds);
  assert_int_equal(pz_tuning_list(t, &key, is_noisy, &is, NULL), PZ_OK);
  assert_int_equal(is, noisy);
}

static void noisy_times_take_no_quiet_ones_place(void **state) {
  (void)state;
  pz_tuning *t = open_new("d");
  assert_int_equal(pz_tuning_store(t, &key, "direct", 3, true, NULL), PZ_OK);
  expect(t, 3, true);
  assert_int_equal(pz_tuning_store(t, &key, "direct", 4, true, NULL), PZ_OK);
  expect(t, 4, true);
  store(t, "direct", 2);
  expect(t, 2, false);
  assert_int_equal(pz_tuning_store(t, &key, "direct", 1, true, NULL), PZ_OK);
  expect(t, 2, false);
  pz_tuning_close(t);
}

typedef struct seen {
  int n, last;
  double seconds[8];
} seen;
static pz_status note(void *host, const pz_tuning_entry *e, pz_error *err) {
  seen *s = host;
  assert_string_equal(e->key.problem, key.problem);
  assert_true(e->measured <= (int64_t)time(NULL) && e->measured > (int64_t)time(NULL) - 100);
  s->seconds[s->n++] = e->seconds;
  return s->n == s->last ? pz_fail(err, PZ_INTERRUPTED, "enough") : PZ_OK;
}

static void lists_and_filters(void **state) {
  (void)state;
  pz_tuning *t = open_new("d");
  store(t, "b", 3), store(t, "a", 2), store(t, "c", 1);
  pz_tuning_key other = key;
  other.threads = 3;
  assert_int_equal(pz_tuning_store(t, &other, "a", 7, false, NULL), PZ_OK);
  seen s = {.n = 0};
  assert_int_equal(pz_tuning_list(t, &key, note, &s, NULL), PZ_OK);
  assert_int_equal(s.n, 3);
  assert_true(s.seconds[0] == 1 && s.seconds[1] == 2 && s.seconds[2] == 3);
  assert_int_equal(count_rows(t, NULL), 4);
  assert_int_equal(count_rows(t, &(pz_tuning_key){.hash = key.hash}), 4);
  assert_int_equal(count_rows(t, &(pz_tuning_key){.threads = 3}), 1);
  assert_int_equal(count_rows(t, &(pz_tuning_key){.hash = "none"}), 0);
  assert_int_equal(count_rows(t, &(pz_tuning_key){.cpu = "none"}), 0);
  assert_int_equal(count_rows(t, &(pz_tuning_key){.compiler = "none"}), 0);
  assert_int_equal(count_rows(t, &(pz_tuning_key){.solvers = "none"}), 0);
  s = (seen){.last = 2};
  pz_error err = {0};
  assert_refused(pz_tuning_list(t, NULL, note, &s, &err), &err, PZ_INTERRUPTED, "enough");
  assert_int_equal(s.n, 2);
  pz_tuning_close(t);
}

static void keys_that_are_none(void **state) {
  (void)state;
  char large[PZ_TUNING_MOST_PROBLEM + 2];
  memset(large, 'x', sizeof large);
  large[sizeof large - 1] = 0;
  const struct {
    pz_tuning_key key;
    const char *candidate;
    double seconds;
    const char *words;
  } rows[] = {
      {{.hash = NULL, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       1,
       "hash"},
      {{.hash = "", .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       1,
       "hash"},
      {{.hash = HASH "0", .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       1,
       "hash"},
      {{.hash = "g" HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       1,
       "hash"},
      {{.hash = HASH, .problem = "", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       1,
       "problem: expected 1 to"},
      {{.hash = HASH, .problem = NULL, .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       1,
       "problem"},
      {{.hash = HASH, .problem = large, .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       1,
       "problem"},
      {{.hash = HASH, .problem = "p", .cpu = "\033[2J", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       1,
       "cpu"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "gcc\xc3\xa9", .solvers = "s", .threads = 1},
       "d",
       1,
       "compiler"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "a\nb", .threads = 1},
       "d",
       1,
       "solvers"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 0},
       "d",
       1,
       "threads"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 4097},
       "d",
       1,
       "threads"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "",
       1,
       "candidate"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       0,
       "seconds"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       -1,
       "seconds"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       2e6,
       "seconds"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       __builtin_nan(""),
       "seconds"},
      {{.hash = HASH, .problem = "p", .cpu = "c", .compiler = "g", .solvers = "s", .threads = 1},
       "d",
       __builtin_inf(),
       "seconds"},
  };
  pz_tuning *t = open_new("d");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pz_error err = {0};
    assert_refused(pz_tuning_store(t, &rows[i].key, rows[i].candidate, rows[i].seconds, false, &err), &err,
                   PZ_ERROR_USAGE, rows[i].words);
    double seconds;
    bool found = true;
    if (strcmp(rows[i].words, "seconds"))
      assert_int_equal(pz_tuning_find(t, &rows[i].key, rows[i].candidate, &seconds, &found, NULL),
                       PZ_ERROR_USAGE);
    else found = false;
    assert_false(found);
  }
  assert_int_equal(count_rows(t, NULL), 0);
  large[PZ_TUNING_MOST_PROBLEM] = 0; /* as long as may be */
  pz_tuning_key longest = key;
  longest.problem = large;
  assert_int_equal(pz_tuning_store(t, &longest, "d", PZ_TUNING_MOST_SECONDS, false, NULL), PZ_OK);
  assert_true(seconds_of(t, &longest, "d") == PZ_TUNING_MOST_SECONDS);
  pz_tuning_close(t);
}

/* A caller whose database does not open goes on with NULL. */
static void none_is_an_empty_one(void **state) {
  (void)state;
  assert_true(seconds_of(NULL, &key, "direct") == 0);
  assert_int_equal(pz_tuning_store(NULL, &key, "direct", 1, false, NULL), PZ_OK);
  assert_int_equal(count_rows(NULL, NULL), 0);
  pz_tuning_close(NULL);
}

/* ---- where it lies ---- */

static void expect_path(const char *words) {
  pz_arena *arena = pz_arena_new();
  const char *path = NULL;
  pz_error err = {0};
  if (pz_tuning_default_path(arena, &path, &err) != PZ_OK) fail_msg("%s", err.message);
  if (strcmp(path, words)) fail_msg("%s, expected %s", path, words);
  pz_arena_free(arena);
}

static void default_paths(void **state) {
  (void)state;
  setenv("PZNET_CACHE_DIR", "a/b", 1), setenv("XDG_CACHE_HOME", "/x", 1), setenv("HOME", "/h", 1);
  expect_path("a/b/tuning.sqlite");
  setenv("PZNET_CACHE_DIR", "", 1);
  expect_path("/x/pznet/tuning.sqlite");
  setenv("XDG_CACHE_HOME", "relative", 1); /* to be ignored, says XDG */
  unsetenv("PZNET_CACHE_DIR");
  expect_path("/h/.cache/pznet/tuning.sqlite");
  unsetenv("XDG_CACHE_HOME");
  expect_path("/h/.cache/pznet/tuning.sqlite");
}

static void the_default_is_made(void **state) {
  (void)state;
  pz_tuning *t;
  int64_t removed;
  struct stat info;
  setenv("PZNET_CACHE_DIR", "a/b", 1);
  assert_int_equal(pz_tuning_open(NULL, PZ_TUNING_READ, &t, NULL), PZ_OK);
  assert_null(t);
  assert_int_equal(pz_tuning_clear(NULL, NULL, &removed, NULL), PZ_OK);
  assert_int_equal(removed, 0);
  assert_int_equal(stat("a", &info), -1); /* reading and clearing make nothing */
  t = open_new(NULL);
  assert_string_equal(pz_tuning_path(t), "a/b/tuning.sqlite");
  store(t, "direct", 1);
  pz_tuning_close(t);
  assert_int_equal(stat("a", &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
  assert_int_equal(stat("a/b", &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
  assert_int_equal(pz_tuning_open(NULL, PZ_TUNING_READ, &t, NULL), PZ_OK);
  assert_int_equal(count_rows(t, NULL), 1);
  pz_tuning_close(t);
}

/* A database that was named must be there, to be read; its folder must be there, to be written. */
static void named_ones(void **state) {
  (void)state;
  pz_tuning *t;
  pz_error err = {0};
  int64_t removed;
  assert_refused(pz_tuning_open("d", PZ_TUNING_READ, &t, &err), &err, PZ_ERROR_INPUT, "d: there is no such");
  assert_null(t);
  err = (pz_error){0};
  assert_refused(pz_tuning_clear("d", NULL, &removed, &err), &err, PZ_ERROR_INPUT, "d: there is no such");
  err = (pz_error){0};
  assert_refused(pz_tuning_open("none/d", PZ_TUNING_WRITE, &t, &err), &err, PZ_ERROR_RUN, "none/d: ");
  err = (pz_error){0};
  assert_refused(pz_tuning_open("", PZ_TUNING_WRITE, &t, &err), &err, PZ_ERROR_USAGE, "empty");
  static const char *const names[] = {":memory:", "file:x?mode=memory"};
  for (int i = 0; i < 2; i++) {
    pz_tuning_close(open_new(names[i]));
    assert_int_equal(access(names[i], F_OK), 0);
  }
}

static void clearing(void **state) {
  (void)state;
  int64_t removed;
  pz_tuning *t = open_new("d");
  pz_tuning_key stale = key;
  stale.solvers = "old";
  store(t, "direct", 1), store(t, "other", 2);
  assert_int_equal(pz_tuning_store(t, &stale, "direct", 3, false, NULL), PZ_OK);
  assert_int_equal(pz_tuning_clear("d", key.solvers, &removed, NULL), PZ_OK); /* while it is open */
  assert_int_equal(removed, 1);
  assert_true(seconds_of(t, &stale, "direct") == 0);
  assert_true(seconds_of(t, &key, "direct") == 1);
  assert_int_equal(pz_tuning_clear("d", NULL, &removed, NULL), PZ_OK);
  assert_int_equal(removed, 2);
  assert_int_equal(count_rows(t, NULL), 0);
  store(t, "direct", 4);
  pz_tuning_close(t);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
  const struct CMUnitTest tests[] = {
      TEST(stored_is_found),   TEST(every_part_of_the_key_counts), TEST(noisy_times_take_no_quiet_ones_place),
      TEST(lists_and_filters), TEST(keys_that_are_none),           TEST(none_is_an_empty_one),
      TEST(default_paths),     TEST(the_default_is_made),          TEST(named_ones),
      TEST(clearing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
