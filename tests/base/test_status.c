#include "unit.h"
#include "base/status.h"
#include <string.h>

static void first_failure_wins(void **state) {
  (void)state;
  pz_error err = {0};
  assert_int_equal(pz_fail(&err, PZ_ERROR_INPUT, "line %d", 7), PZ_ERROR_INPUT);
  assert_int_equal(pz_fail(&err, PZ_ERROR_RUN, "later"), PZ_ERROR_RUN);
  assert_int_equal(err.status, PZ_ERROR_INPUT);
  assert_string_equal(err.message, "line 7");
}

static void no_error_to_fill(void **state) {
  (void)state;
  assert_int_equal(pz_fail(NULL, PZ_ERROR_USAGE, "nobody reads this"), PZ_ERROR_USAGE);
}

static void message_is_one_line(void **state) {
  (void)state;
  pz_error err = {0};
  pz_fail(&err, PZ_ERROR_INPUT, "layer '%s'", "a\nb\tc\x1b[31m\x7f\xc3\xa9");
  assert_string_equal(err.message, "layer 'a b c [31m \xc3\xa9'");
}

static void long_message_is_cut_between_characters(void **state) {
  (void)state;
  char text[sizeof((pz_error *)0)->message + 200];
  pz_error err = {0};
  memset(text, 'x', sizeof text);
  memcpy(text + sizeof err.message - 3, "\xe2\x82\xac", 3); /* two of its three bytes would fit */
  text[sizeof text - 1] = 0;
  pz_fail(&err, PZ_ERROR_INPUT, "%s", text);
  assert_int_equal(strlen(err.message), sizeof err.message - 3);
}

static void memory_message(void **state) {
  (void)state;
  pz_error err = {0};
  assert_int_equal(pz_fail_memory(&err, "weights", 12), PZ_ERROR_MEMORY);
  assert_string_equal(err.message, "out of memory: 12 bytes for weights");
}

static pz_status tried(pz_status status, int *reached) {
  PZ_TRY(status);
  *reached = 1;
  return PZ_OK;
}

static void try_returns_failures_only(void **state) {
  (void)state;
  int reached = 0;
  assert_int_equal(tried(PZ_ERROR_RUN, &reached), PZ_ERROR_RUN);
  assert_int_equal(reached, 0);
  assert_int_equal(tried(PZ_OK, &reached), PZ_OK);
  assert_int_equal(reached, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_failure_wins),  cmocka_unit_test(no_error_to_fill),
      cmocka_unit_test(message_is_one_line), cmocka_unit_test(long_message_is_cut_between_characters),
      cmocka_unit_test(memory_message),      cmocka_unit_test(try_returns_failures_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
