/* test_rows_bf16x3.h: rows of conv/test_layers.c: products of three bfloat16 numbers for each float, or of two, on AMX tiles. */
#ifndef PZ_KERNELS_CONV_BF16X3_TEST_ROWS_BF16X3_H
#define PZ_KERNELS_CONV_BF16X3_TEST_ROWS_BF16X3_H

#include "kernels/conv_bf16x2/test_rows_bf16x2.h"
#include "kernels/conv_bf16x3/bf16x3.h"
#include "kernels/conv_bf16x3/pack.h"

/* ---- bf16x3 ---- */

/* Sums of up to 600 products of values in [-1, 1], below 30 in size: with three terms as exact as sums in single precision. */
static double bf16x3_tolerance(const test_layer *l) {
  const pz_conv_bf16x3_shape *s = l->shape;
  return s->terms == 3 ? 4e-6 : two_terms(pz_bf16x3_window(s));
}
static void bf16x3_choose(test_layer *l, pz_test_random *r) {
  test_choose(l,
              &(test_problem){.kernel = {pz_test_int(r, 1, 3), pz_test_int(r, 1, 5), pz_test_int(r, 1, 5)},
                              .channels_in = pz_test_int(r, 1, 4),
                              .channels_out = pz_test_int(r, 1, 100),
                              .size = {pz_test_int(r, 1, 2), pz_test_int(r, 5, 8), pz_test_int(r, 5, 12),
                                       pz_test_int(r, 5, 70)},
                              .layout = TEST_PLAIN_IN | TEST_CHANNELS_LAST_OUT},
              r);
}
static void bf16x3_schedule(test_layer *l, pz_test_random *r) {
  pz_conv_bf16x3_shape *s = l->shape;
  s->terms = pz_test_int(r, 2, 3);
  pz_bf16x3_schedule(s);
  l->packed = pz_test_alloc(pz_bf16x3_weight_pairs(s), false);
  pz_bf16x3_pack(s, l->o.weights, (pz_bf16_pair *)l->packed.data);
  l->scratch = pz_test_alloc(pz_bf16x3_scratch(s), false);
}
static void bf16x3_again(test_layer *l, pz_test_random *r) {
  ((pz_conv_bf16x3_shape *)l->shape)->rows = pz_test_int(r, 1, l->whole.out.h);
}
static void bf16x3_run(const test_layer *l, int32_t worker, int32_t workers) {
  pz_test_poison(l->scratch.data, l->scratch.floats);
  pz_conv_bf16x3(*(const pz_conv_bf16x3_shape *)l->shape, l->o.in.at, (const uint16_t *)l->packed.data,
                 test_bias(l), test_residual(l), test_scale(l), test_slope(l), l->o.out.at, l->scratch.data,
                 worker, workers);
}
static const test_row bf16x3_row = {.name = "bf16x3",
                                    .shape = sizeof(pz_conv_bf16x3_shape),
                                    .layers = 120,
                                    .seed = 2811,
                                    .choose = bf16x3_choose,
                                    .schedule = bf16x3_schedule,
                                    .run = bf16x3_run,
                                    .tolerance = bf16x3_tolerance,
                                    .again = bf16x3_again};

#define TEST_BF16X3_ROWS &bf16x3_row

#endif
