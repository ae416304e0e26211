/* Measurements as JSON lines: out, in, and files that nobody should have written. */
#include "fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void out_and_in(void **state) {
  (void)state;
  pz_tuning *t = open_new("d"), *other = open_new("e");
  pz_tuning_key ours = key;
  ours.solvers = pz_tuning_solvers();
  ours.hash = OTHER_HASH;
  ours.problem = "a \"quoted\" \\ problem";
  store(t, "direct", 0.00123456789), store(t, "Winograd F(4,4,4)", 2e-7);
  assert_int_equal(pz_tuning_store(t, &ours, "direct", 3, false, NULL), PZ_OK);
  int64_t count;
  assert_int_equal(pz_tuning_export(t, "lines", &count, NULL), PZ_OK);
  assert_int_equal(count, 3);
  char *text = read_words("lines");
  assert_memory_equal(
      text, "{\"problem\": \"a \\\"quoted\\\" \\\\ problem\", \"candidate\": \"direct\", \"seconds\": 3.0, ",
      60);
  assert_non_null(
      strstr(text, "\"threads\": 2, \"cpu\": \"Some CPU (25.17.1), avx512\", \"compiler\": \"gcc (Debian) "
                   "12.2.0\", \"solvers\": \"0123456789abcdef\", \"measured\": "));
  free(text);
  pz_tune_counts counts;
  assert_int_equal(pz_tuning_import(other, "lines", &counts, NULL), PZ_OK);
  assert_int_equal(counts.read, 3);
  assert_int_equal(counts.stored, 3);
  assert_int_equal(counts.stale, 2);
  assert_true(fabs(seconds_of(other, &key, "direct") / 0.00123456789 - 1) < 1e-8);
  assert_true(fabs(seconds_of(other, &key, "Winograd F(4,4,4)") / 2e-7 - 1) < 1e-8);
  assert_true(seconds_of(other, &ours, "direct") == 3);
  assert_int_equal(pz_tuning_import(other, "lines", &counts, NULL), PZ_OK); /* nothing new */
  assert_int_equal(counts.read, 3);
  assert_int_equal(counts.stored, 0);
  pz_tuning_close(t), pz_tuning_close(other);
}

static void an_empty_one(void **state) {
  (void)state;
  pz_tuning *t = open_new("d");
  int64_t count = -1;
  pz_tune_counts counts;
  assert_int_equal(pz_tuning_export(t, "lines", &count, NULL), PZ_OK);
  assert_int_equal(count, 0);
  assert_int_equal(pz_tuning_import(t, "lines", &counts, NULL), PZ_OK);
  assert_int_equal(counts.read, 0);
  assert_int_equal(pz_tuning_export(NULL, "lines", &count, NULL), PZ_OK);
  pz_error err = {0};
  assert_refused(pz_tuning_import(NULL, "lines", &counts, &err), &err, PZ_ERROR_RUN, "no tuning database");
  err = (pz_error){0};
  assert_refused(pz_tuning_import(t, "none", &counts, &err), &err, PZ_ERROR_INPUT, "none: cannot be opened");
  err = (pz_error){0};
  assert_refused(pz_tuning_export(t, "none/lines", &count, &err), &err, PZ_ERROR_OUTPUT, "none/lines: ");
  pz_tuning_close(t);
}

#define LINE(seconds, measured)                                                                              \
  "{\"problem\": \"p\", \"candidate\": \"c\", \"seconds\": " seconds                                         \
  ", \"threads\": 1, \"cpu\": \"u\", \"compiler\": "                                                         \
  "\"g\", \"solvers\": \"s\", \"measured\": " measured ", \"hash\": \"" HASH "\"}\n"
static const pz_tuning_key short_key = {
    .hash = HASH, .problem = "p", .cpu = "u", .compiler = "g", .solvers = "s", .threads = 1};

static void import(pz_tuning *t, const char *text, int stored) {
  pz_tune_counts counts;
  pz_error err = {0};
  write_words("lines", text);
  if (pz_tuning_import(t, "lines", &counts, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_int_equal(counts.stored, stored);
}

static void the_newer_one_stays(void **state) {
  (void)state;
  pz_tuning *t = open_new("d");
  import(t, LINE("1", "100"), 1);
  import(t, LINE("2", "99"), 0);
  import(t, LINE("2", "100"), 0);
  assert_true(seconds_of(t, &short_key, "c") == 1);
  import(t, "\n \t\r\n" LINE("3", "101") "\r\n" LINE("4", "50"), 1);
  assert_true(seconds_of(t, &short_key, "c") == 3);
  /* a clock that is ahead by a century */
  char text[512];
  snprintf(text, sizeof text, LINE("5", "%lld"), (long long)time(NULL) + 3155760000);
  import(t, text, 1);
  pz_tuning_close(t);
  run_sql(
      "d",
      "UPDATE measurement SET measured = measured / (measured <= CAST(strftime('%s', 'now') AS INTEGER))");
  t = open_new("d"); /* the division by zero gives NULL, which the column refuses */
  assert_int_equal(pz_tuning_store(t, &short_key, "c", 6, false, NULL), PZ_OK);
  assert_true(seconds_of(t, &short_key, "c") == 6);
  pz_tuning_close(t);
}

/* Whichever of two is newer, the one that is not noisy stays. */
static void quiet_ones_stay(void **state) {
  (void)state;
#define NOISY(seconds, measured, noisy)                                                                      \
  "{\"problem\": \"p\", \"candidate\": \"c\", \"seconds\": " seconds                                         \
  ", \"threads\": 1, \"cpu\": \"u\", \"compiler\": "                                                         \
  "\"g\", \"solvers\": \"s\", \"measured\": " measured ", \"noisy\": " noisy ", \"hash\": \"" HASH "\"}\n"
  pz_tuning *t = open_new("d"), *other = open_new("e");
  int64_t count;
  import(t, NOISY("1", "100", "true"), 1);
  import(t, NOISY("2", "99", "true"), 0);
  assert_int_equal(pz_tuning_export(t, "out", &count, NULL), PZ_OK);
  char *text = read_words("out");
  assert_non_null(strstr(text, "\"noisy\": true}"));
  import(other, text, 1);
  free(text);
  import(other, NOISY("4", "50", "false"), 1);
  assert_true(seconds_of(other, &short_key, "c") == 4);
  import(t, LINE("3", "50"), 1);
  import(t, NOISY("2", "101", "true"), 0);
  assert_true(seconds_of(t, &short_key, "c") == 3);
  pz_tuning_close(t), pz_tuning_close(other);
}

/* The second line is bad; of the first one nothing stays. */
static void bad_lines(void **state) {
  (void)state;
#define WITH(field)                                                                                          \
  "{\"problem\": \"p\", \"candidate\": \"c\", " field                                                        \
  "\"cpu\": \"u\", \"compiler\": \"g\", \"solvers\": \"s\", \"hash\": \"" HASH "\"}"
  static const struct {
    const char *line, *words;
  } rows[] = {
      {"nonsense", "lines:2:8: invalid token near 'nonsense'"},
      {"{", "lines:2:1: "},
      {"[]", "lines:2:1: expected an object with problem, candidate"},
      {"7", "lines:2:1: expected an object"},
      {"null", "lines:2:1: expected an object"},
      {"{} {}", "lines:2:4: end of file expected"},
      {"{}", "lines:2:2: the field problem is missing"},
      {WITH("\"threads\": 1, \"measured\": 1, "), "the field seconds is missing"},
      {WITH("\"seconds\": -1, \"threads\": 1, \"measured\": 1, "),
       "lines:2:36: seconds: expected a number greater"},
      {WITH("\"seconds\": 0, \"threads\": 1, \"measured\": 1, "), "lines:2:36: seconds"},
      {WITH("\"seconds\": 1e7, \"threads\": 1, \"measured\": 1, "), "lines:2:36: seconds"},
      {WITH("\"seconds\": \"1\", \"threads\": 1, \"measured\": 1, "), "lines:2:36: seconds"},
      {WITH("\"seconds\": null, \"threads\": 1, \"measured\": 1, "), "lines:2:36: seconds"},
      {WITH("\"seconds\": 1e999, \"threads\": 1, \"measured\": 1, "), "real number overflow"},
      {WITH("\"seconds\": NaN, \"threads\": 1, \"measured\": 1, "), "lines:2:49: invalid token"},
      {WITH("\"seconds\": 1, \"seconds\": 2, \"threads\": 1, \"measured\": 1, "), "duplicate object key"},
      {WITH("\"seconds\": 1, \"threads\": 0, \"measured\": 1, "),
       "lines:2:50: threads: expected a whole number"},
      {WITH("\"seconds\": 1, \"threads\": 1.5, \"measured\": 1, "), "lines:2:50: threads"},
      {WITH("\"seconds\": 1, \"threads\": 4097, \"measured\": 1, "), "lines:2:50: threads"},
      {WITH("\"seconds\": 1, \"threads\": 4294967297, \"measured\": 1, "), "lines:2:50: threads"},
      {WITH("\"seconds\": 1, \"threads\": 99999999999999999999, \"measured\": 1, "), "too big integer"},
      {WITH("\"seconds\": 1, \"threads\": 1, \"measured\" : -1, "), "lines:2:64: measured"},
      {WITH("\"seconds\": 1, \"threads\": 1, \"measured\": 1e3, "), "lines:2:64: measured"},
      {WITH("\"seconds\": 1, \"threads\": 1, \"measured\": 1, \"noisy\": 1, "),
       "lines:2:79: noisy: expected true or false"},
      {WITH("\"seconds\": 1, \"threads\": 1, \"measured\": 1, \"more\": 1, "),
       "lines:2:79: unknown field 'more'"},
      {WITH("\"seconds\": 1, \"threads\": 1, \"measured\": 1, \"\\u0000\": 1, "), "lines:2:"},
      {"{\"problem\": \"\", \"candidate\": \"problem\", \"seconds\": 1, \"threads\": 1, \"cpu\": \"u\", "
       "\"compiler\": "
       "\"g\", \"solvers\": \"s\", \"measured\": 1, \"hash\": \"" HASH "\"}",
       "lines:2:2: problem: expected 1 to"},
      {"{\"candidate\": \"problem\", \"problem\": 5, \"seconds\": 1, \"threads\": 1, \"cpu\": \"u\", "
       "\"compiler\": "
       "\"g\", \"solvers\": \"s\", \"measured\": 1, \"hash\": \"" HASH "\"}",
       "lines:2:26: problem: expected 1 to"},
      {"{\"problem\": \"p\\u001b[2J\", \"candidate\": \"c\", \"seconds\": 1, \"threads\": 1, \"cpu\": \"u\", "
       "\"compiler\": \"g\", \"solvers\": \"s\", \"measured\": 1, \"hash\": \"" HASH "\"}",
       "lines:2:2: problem: expected"},
      {"{\"problem\": \"p\", \"candidate\": \"c\", \"seconds\": 1, \"threads\": 1, \"cpu\": \"u\", "
       "\"compiler\": \"g\", \"solvers\": \"s\", \"measured\": 1}",
       "the field hash is missing"},
      {"{\"problem\": \"p\", \"candidate\": \"c\", \"seconds\": 1, \"threads\": 1, \"cpu\": \"u\", "
       "\"compiler\": \"g\", \"solvers\": \"s\", \"measured\": 1, \"hash\": \"F" HASH "\"}",
       "hash: expected 64 lower-case"},
      {"{\"problem\": \"p\\u0000q\", \"candidate\": \"c\"}", "lines:2:"},
      {"{\"problem\": \"\xff\"}", "unable to decode byte 0xff"},
      {"{\"problem\": {\"problem\": 1}, \"candidate\": \"c\", \"seconds\": 1, \"threads\": 1, \"cpu\": "
       "\"u\", "
       "\"compiler\": \"g\", \"solvers\": \"s\", \"measured\": 1, \"hash\": \"" HASH "\"}",
       "lines:2:2: problem: expected"},
  };
  pz_tuning *t = open_new("d");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[1024];
    pz_tune_counts counts;
    pz_error err = {0};
    snprintf(text, sizeof text, LINE("1", "100") "%s\n" LINE("2", "200"), rows[i].line);
    write_words("lines", text);
    assert_refused(pz_tuning_import(t, "lines", &counts, &err), &err, PZ_ERROR_INPUT, rows[i].words);
    assert_non_null(strstr(err.message, "lines:2:"));
    assert_true(counts.read == 0 && counts.stored == 0 && counts.stale == 0);
    assert_int_equal(count_rows(t, NULL), 0);
  }
  store(t, "c", 1); /* the transaction is over */
  pz_tuning_close(t);
}

static void too_large(void **state) {
  (void)state;
  enum { SIZE = 70 << 20 };
  char *text = malloc(SIZE);
  assert_non_null(text);
  pz_tuning *t = open_new("d");
  pz_tune_counts counts;
  pz_error err = {0};
  memset(text, '[', SIZE);
  write_bytes("lines", text, 1 << 20);
  assert_refused(pz_tuning_import(t, "lines", &counts, &err), &err, PZ_ERROR_INPUT,
                 "lines:1:16384: a line of");
  write_bytes("lines", text, 16000);
  err = (pz_error){0};
  assert_refused(pz_tuning_import(t, "lines", &counts, &err), &err, PZ_ERROR_INPUT, "lines:1:");
  write_bytes("lines", text, SIZE);
  err = (pz_error){0};
  assert_refused(pz_tuning_import(t, "lines", &counts, &err), &err, PZ_ERROR_INPUT, "are accepted");
  free(text);
  write_bytes("lines", "\0\0\0\n\0", 5);
  err = (pz_error){0};
  assert_refused(pz_tuning_import(t, "lines", &counts, &err), &err, PZ_ERROR_INPUT, "lines:1:1: ");
  assert_int_equal(count_rows(t, NULL), 0);
  pz_tuning_close(t);
}

/* Random damage to good lines: taken or refused with a place, and never half. */
static void damaged_lines(void **state) {
  (void)state;
  static const char good[] = LINE("1", "100") LINE("0.25", "200") LINE("3e-3", "300");
  pz_tuning *t = open_new("d");
  uint32_t random = 7;
  for (int round = 0; round < 2000; round++) {
    char text[sizeof good];
    memcpy(text, good, sizeof good);
    for (int i = 0; i <= round % 3; i++) {
      random = random * 1664525 + 1013904223;
      text[(random >> 8) % (sizeof good - 1)] ^= (char)(1 << (random >> 29));
    }
    write_bytes("lines", text, sizeof good - 1);
    pz_tune_counts counts;
    pz_error err = {0};
    const pz_status status = pz_tuning_import(t, "lines", &counts, &err);
    if (status != PZ_OK) assert_refused(status, &err, PZ_ERROR_INPUT, "lines:");
  }
  pz_tuning_close(t);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
  const struct CMUnitTest tests[] = {
      TEST(out_and_in), TEST(an_empty_one), TEST(the_newer_one_stays), TEST(quiet_ones_stay),
      TEST(bad_lines),  TEST(too_large),    TEST(damaged_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
