/* test_rows_winograd_1d.h: rows of conv/test_layers.c: minimal filtering along one axis. */
#ifndef PZ_KERNELS_WINOGRAD_1D_TEST_ROWS_WINOGRAD_1D_H
#define PZ_KERNELS_WINOGRAD_1D_TEST_ROWS_WINOGRAD_1D_H

#include "kernels/winograd/test_rows_winograd.h"
#include "kernels/winograd_1d/pack_h.h"
#include "kernels/winograd_1d/pack_w.h"
#include "kernels/winograd_1d/winograd_1d_h.h"
#include "kernels/winograd_1d/winograd_1d_w.h"

/* ---- along the width ---- */

/* Sums of up to 8*75 products of values in [-1, 1], below 20 in size, times the error of an axis. */
static double along_w_tolerance(const test_layer *l) {
  return 1e-5 * axis_error(l->whole.kernel[2], ((const pz_winograd_1d_w_shape *)l->shape)->m);
}
static void along_w_choose(test_layer *l, pz_test_random *r) {
  static const int32_t kernels[][3] = {{3, 3, 3}, {3, 3, 3}, {1, 3, 3}, {1, 5, 5}, {1, 1, 3}, {5, 3, 5}};
  const int32_t *kernel = kernels[pz_test_int(r, 0, 5)];
  test_choose(l,
              &(test_problem){.kernel = {kernel[0], kernel[1], kernel[2]},
                              .channels_in = pz_test_int(r, 1, 8),
                              .channels_out = pz_test_int(r, 1, 70),
                              .size = {pz_test_int(r, 1, 2), pz_test_int(r, 5, 8), pz_test_int(r, 5, 12),
                                       pz_test_int(r, 10, 60)},
                              .layout = TEST_PLAIN_IN | TEST_CHANNELS_LAST_OUT},
              r);
}
static void along_w_schedule(test_layer *l, pz_test_random *r) {
  pz_winograd_1d_w_shape *s = l->shape;
  s->m = 2 * pz_test_int(r, 1, 3);
  pz_winograd_1d_w_schedule(s, PZ_V_REGISTERS);
  l->packed = zeros(pz_winograd_1d_w_weight_floats(s));
  pz_winograd_1d_w_pack(s, l->o.weights, l->packed.data);
  l->scratch = pz_test_alloc(pz_winograd_1d_w_scratch(s), false);
  if (test_wants_stats(l, r)) s->conv.stats_units = pz_winograd_1d_w_units(s);
  test_stats(l);
}
static void rows_run(const test_layer *l, int32_t worker, int32_t workers) {
  pz_winograd_1d_w(*(const pz_winograd_1d_w_shape *)l->shape, l->o.in.at, l->packed.data, test_bias(l),
                   test_residual(l), test_scale(l), test_slope(l), l->o.out.at, l->norm_stats.data,
                   l->scratch.data, worker, workers);
}
static const test_row along_w_row = {.name = "winograd along w",
                                     .shape = sizeof(pz_winograd_1d_w_shape),
                                     .layers = 60,
                                     .seed = 2411,
                                     .choose = along_w_choose,
                                     .schedule = along_w_schedule,
                                     .run = rows_run,
                                     .tolerance = along_w_tolerance};

/* As many sums as registers hold, and blocks in equal groups. */
static void test_1d_w_schedule(void **state) {
  (void)state;
  for (int32_t m = 2; m <= 6; m += 2)
    for (int32_t channels = 1; channels <= 80; channels += 13)
      for (int32_t registers = 16; registers <= 32; registers += 16) {
        pz_winograd_1d_w_shape s = {.m = m};
        s.conv.out = (pz_view){.n = 1, .c = channels, .d = 1, .h = 1, .w = 31, .block = PZ_S};
        s.conv.kernel[2] = 5, s.conv.phases = 1;
        pz_winograd_1d_w_schedule(&s, registers);
        assert_true(s.kb >= 1 && s.rw >= 1 && pz_test_blocks(&s.conv.out) % s.kb == 0);
        assert_true(s.kb * s.rw * pz_winograd_1d_w_a(&s) < registers);
      }
}

/* ---- along the height, to few channels ---- */

/* Sums of up to 40*25 products of values in [-1, 1], below 20 in size, times the error of an axis. */
static double along_h_tolerance(const test_layer *l) {
  return 1e-5 * axis_error(l->whole.kernel[1], ((const pz_winograd_1d_h_shape *)l->shape)->m);
}
static void along_h_choose(test_layer *l, pz_test_random *r) {
  test_choose_narrow(l, pz_test_int(r, 1, 40), 3 + 2 * pz_test_int(r, 0, 1), r);
}
static void along_h_schedule(test_layer *l, pz_test_random *r) {
  pz_winograd_1d_h_shape *s = l->shape;
  s->m = 2 * pz_test_int(r, 1, 3);
  pz_winograd_1d_h_schedule(s);
  l->packed = zeros(pz_winograd_1d_h_weight_floats(s));
  pz_winograd_1d_h_pack(s, l->o.weights, l->packed.data);
  l->scratch = pz_test_alloc(pz_winograd_1d_h_scratch(s), false);
}
static void along_h_run(const test_layer *l, int32_t worker, int32_t workers) {
  pz_winograd_1d_h(*(const pz_winograd_1d_h_shape *)l->shape, l->o.in.at, l->packed.data, test_bias(l),
                   test_slope(l), l->o.out.at, l->scratch.data, worker, workers);
}
static const test_row along_h_row = {.name = "winograd along h",
                                     .shape = sizeof(pz_winograd_1d_h_shape),
                                     .layers = 120,
                                     .seed = 1125,
                                     .choose = along_h_choose,
                                     .schedule = along_h_schedule,
                                     .run = along_h_run,
                                     .tolerance = along_h_tolerance};

/* Strips of one size, no more of them than it takes, whose sums leave registers for weights and what is broadcast. */
static void test_1d_h_schedule(void **state) {
  (void)state;
  for (int32_t w = 1; w < 200; ++w) {
    pz_winograd_1d_h_shape s = {.m = 6};
    s.conv.out.w = w, s.conv.kernel[2] = 5;
    pz_winograd_1d_h_schedule(&s);
    const int32_t strips = pz_winograd_1d_h_strips(&s);
    assert_true(s.rw >= 1 && s.rw <= 16 - 3 && s.rw * strips - (w + 4) < strips);
  }
}

#define TEST_WINOGRAD_1D_ROWS   &along_w_row, &along_h_row
#define TEST_WINOGRAD_1D_OTHERS cmocka_unit_test(test_1d_w_schedule), cmocka_unit_test(test_1d_h_schedule)

#endif
