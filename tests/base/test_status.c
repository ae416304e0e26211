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
  assert_string_equal(err.message, "layer 'a\\x0ab\\x09c\\x1b[31m\\x7f\xc3\xa9'");
}

/* Between characters; the end says what to do. */
static void long_message_keeps_its_ends(void **state) {
  (void)state;
  char text[sizeof((pz_error *)0)->message + 200], name[3 * sizeof text + 1] = "";
  pz_error err = {0};
  for (size_t i = 0; i < sizeof text; i++) memcpy(name + 3 * i, "\xe2\x82\xac", 4); /* a euro sign */
  pz_fail(&err, PZ_ERROR_INPUT, "net.onnx: layer '%s': rename it", name);
  assert_in_range(strlen(err.message), sizeof err.message - 6, sizeof err.message - 1);
  assert_memory_equal(err.message, "net.onnx: layer '\xe2\x82\xac", 20);
  assert_non_null(strstr(err.message, "\xe2\x82\xac...\xe2\x82\xac"));
  assert_string_equal(err.message + strlen(err.message) - 13, "\xac': rename it");
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
      cmocka_unit_test(message_is_one_line), cmocka_unit_test(long_message_keeps_its_ends),
      cmocka_unit_test(memory_message),      cmocka_unit_test(try_returns_failures_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
