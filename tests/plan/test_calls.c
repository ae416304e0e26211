/* Constants of kernels as C. */
#include "plan/builder.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void expect(float value, const char *wanted) {
  pz_text text = {0};
  pz_text_number(&text, value);
  assert_string_equal(text.data, wanted);
  pz_text_free(&text);
}

/* Coefficients of a model may be any floats. */
static void numbers_are_c(void **state) {
  (void)state;
  expect(1.5f, "0x1.8p+0f, ");
  expect(-0.0f, "-0x0p+0f, ");
  expect(0x1p-149f, "0x1p-149f, ");
  expect(INFINITY, "__builtin_inff(), ");
  expect(-INFINITY, "-__builtin_inff(), ");
  expect(NAN, "__builtin_nanf(\"\"), ");
}

static void numbers_have_a_point(void **state) {
  (void)state;
  static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
  bool set = false;
  for (size_t i = 0; i < sizeof commas / sizeof *commas && !set; i++) set = setlocale(LC_NUMERIC, commas[i]);
  if (!set) skip();
  expect(1.5f, "0x1.8p+0f, ");
  setlocale(LC_NUMERIC, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_c), cmocka_unit_test(numbers_have_a_point)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
