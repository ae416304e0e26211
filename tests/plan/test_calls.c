/* Constants of kernels as C. */
#include "kernels/conv_bf16x3/shape.h"
#include "kernels/conv_inner_pairs/shape.h"
#include "kernels/copy/copy.h"
#include "kernels/copy/lanes.h"
#include "kernels/gather/gather.h"
#include "kernels/pointwise/nd.h"
#include "plan/solver.h"

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
  expect(1.5f, "0x1.8p+0f");
  expect(-0.0f, "-0x0p+0f");
  expect(0x1p-149f, "0x1p-149f");
  expect(INFINITY, "__builtin_inff()");
  expect(-INFINITY, "-__builtin_inff()");
  expect(NAN, "__builtin_nanf(\"\")");
}

static void numbers_have_a_point(void **state) {
  (void)state;
  static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"};
  bool set = false;
  for (size_t i = 0; i < sizeof commas / sizeof *commas && !set; i++) set = setlocale(LC_NUMERIC, commas[i]);
  if (!set) skip();
  expect(1.5f, "0x1.8p+0f");
  setlocale(LC_NUMERIC, "C");
}

static const pz_view view = {1, 2, 3, 4, 5, 6, {7, 8, 9}, {10, 11, 12}, 13, 14, 15, 16, 17, 18};
#define VIEW "{1, 2, 3, 4, 5, 6, {7, 8, 9}, {10, 11, 12}, 13, 14, 15, 16, 17, 18}"

#define EXPECT(name, wanted, ...)                                                                            \
  do {                                                                                                       \
    pz_text text = {0};                                                                                      \
    pz_text_##name(&text, &(pz_##name##_shape){__VA_ARGS__});                                                \
    assert_string_equal(text.data, wanted);                                                                  \
    pz_text_free(&text);                                                                                     \
  } while (0)

/* All fields are there, in a shape within another too; but for tensors that are not. */
#define SIZED "{<1>, 2, <3>, <4>, 5, 6, {<7>, <8>, <9>}, {<10>, <11>, <12>}, <13>, <14>, <15>, 16, 17, 18}"
#define CONV                                                                                                 \
  ".kernel = {1, 2, 3}, .stride = {4, 5, 6}, .dilation = {7, 8, 9}, .pad = {0, 0, 0}, .groups = 10, "        \
  ".phases = 11, .phases_h = 12, .phases_d = 13, .act = 14, .alpha = 0x1p-1f, .beta = -0x0p+0f, "            \
  ".has_bias = 15, .has_residual_scale = 16, .stream = 17, .stats_units = 18, .kb = 19, .rw = 20, "          \
  ".rh = 21, .c_chunk = 22, .ahead = 23}"
#define CONV_VALUES                                                                                          \
  {                                                                                                          \
    .in = view, .out = view, .kernel = {1, 2, 3}, .stride = {4, 5, 6}, .dilation = {7, 8, 9}, .groups = 10,  \
    .phases = 11, .phases_h = 12, .phases_d = 13, .act = 14, .alpha = 0.5f, .beta = -0.0f, .has_bias = 15,   \
    .has_residual_scale = 16, .stream = 17, .stats_units = 18, .kb = 19, .rw = 20, .rh = 21, .c_chunk = 22,  \
    .ahead = 23                                                                                              \
  }

static void shapes_are_whole(void **state) {
  (void)state;
  EXPECT(conv_inner_pairs, ".conv = {.in = " VIEW ", .out = " VIEW ", " CONV ", .held = 24",
         .conv = CONV_VALUES, .held = 24);
}

/* What is handed to a kernel stands in brackets: pz_add_call takes it out. */
static void sizes_stand_in_brackets(void **state) {
  (void)state;
  EXPECT(conv_bf16x3, ".conv = {.in = " SIZED ", .out = " SIZED ", " CONV ", .terms = 24, .rows = <25>",
         .conv = CONV_VALUES, .terms = 24, .rows = 25);
}

/* A tensor without channels that has sizes is there: a strip of products of Winograd's is as long where its channels are in a short block. */
static void views_without_channels(void **state) {
  (void)state;
#define NO_CHANNELS "{0, 0, 0, 0, 4, 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0}"
  EXPECT(copy, ".in = " NO_CHANNELS, .in = {.w = 4});
  EXPECT(copy, ".in = {0, 0, 0, 0, 0, 0, {0, 0, 0}, {0, 0, 1}, 0, 0, 0, 0, 0, 0}", .in = {.border_hi[2] = 1});
  EXPECT(copy, ".out = {0, 0, 0, 0, 0, 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 1}",
         .out = {.channels_last = 1});
}

/* Zeros at the end of long lists alone are left out. */
static void lists_end(void **state) {
  (void)state;
  EXPECT(concat, ".in = {" VIEW ", " VIEW "}, .out = " VIEW ", .inputs = 2", .in = {view, view}, .out = view,
         .inputs = 2);
  EXPECT(gather, ".axes = 3, .size = {4, 0, 5}, .in = {-1}, .out = {0}, .runs = 6, .value = 0x1p+0f",
         .axes = 3, .size = {4, 0, 5}, .in = {-1}, .runs = 6, .value = 1);
  EXPECT(
      eltwise_nd,
      ".n = 2, .size = {3, 4}, .stride = {{4, 1}, {0}, {0, 1}}, .coeff = {0x1p+0f, -0x0p+0f}, .inputs = 3, "
      ".kind = 1",
      .n = 2, .size = {3, 4}, .stride = {{4, 1}, {0}, {0, 1}}, .coeff = {1, -0.0f}, .inputs = 3, .kind = 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_are_c),          cmocka_unit_test(numbers_have_a_point),
      cmocka_unit_test(shapes_are_whole),       cmocka_unit_test(sizes_stand_in_brackets),
      cmocka_unit_test(views_without_channels), cmocka_unit_test(lists_end)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
