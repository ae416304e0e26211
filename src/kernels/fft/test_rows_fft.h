/* test_rows_fft.h: a row of conv/test_layers.c: Fourier transforms. */
#ifndef PZ_KERNELS_FFT_TEST_ROWS_FFT_H
#define PZ_KERNELS_FFT_TEST_ROWS_FFT_H

#include "kernels/conv/test_frame.h"
#include "kernels/fft/fft.h"
#include "kernels/fft/pack.h"

/* Rounding errors are spread over the tile: up to 4e-7 of the norm of its sums of products of values in [-1, 1], of which the largest
 * of some thousand may have 6 times as much. */
static double fft_tolerance(const test_layer *l) {
  return 6 * 4e-7 * (1 + sqrt((double)l->whole.in.c * pz_conv_taps(&l->whole)) / 3);
}

/* Of the inputs lanes behind the last channel are not looked at. */
static void fft_choose(test_layer *l, pz_test_random *r) {
  static const int32_t kernels[][3] = {{5, 5, 5}, {1, 7, 7},  {3, 5, 7}, {1, 5, 2},
                                       {4, 3, 6}, {1, 11, 4}, {2, 7, 2}, {1, 9, 9}};
  const int32_t *kernel = kernels[pz_test_int(r, 0, 7)];
  test_choose(l,
              &(test_problem){.kernel = {kernel[0], kernel[1], kernel[2]},
                              .channels_in = pz_test_int(r, 1, 36),
                              .channels_out = pz_test_int(r, 1, 36),
                              .size = {pz_test_int(r, 1, 2), pz_test_int(r, 5, 7), pz_test_int(r, 11, 15),
                                       pz_test_int(r, 9, 19)}},
              r);
  pz_test_poison_padding(&l->o.in);
}

/* A random size of tile above the kernel. */
static int32_t fft_tile(pz_test_random *r, int32_t kernel, bool deep) {
  static const int32_t sizes[6] = {8, 12, 16, 24, 32, 64};
  int32_t n = 0;
  while (kernel > 1 && n <= kernel) n = sizes[pz_test_int(r, 0, deep ? 3 : 5)];
  return kernel > 1 ? n : 1;
}
static void fft_schedule(test_layer *l, pz_test_random *r) {
  pz_fft_shape *s = l->shape;
  const int32_t *kernel = s->conv.kernel;
  for (int i = 0; i < 3; ++i) s->size[i] = fft_tile(r, kernel[i], kernel[0] > 1);
  pz_fft_schedule(s, PZ_V_REGISTERS, pz_test_int(r, 1, 16));
  if (test_wants_stats(l, r)) s->conv.stats_units = (int32_t)pz_fft_batches(s);
  test_stats(l);
  l->packed = pz_test_alloc(pz_fft_weight_floats(s), false);
  memset(l->packed.data, 0, (size_t)pz_fft_weight_floats(s) * sizeof(float));
  double *work = malloc((size_t)pz_fft_pack_doubles(s) * sizeof *work);
  assert_non_null(work);
  pz_fft_pack(s, l->o.weights, work, l->packed.data);
  free(work);
  l->scratch = pz_test_alloc(pz_fft_scratch(s), false);
}
static void fft_run(const test_layer *l, int32_t worker, int32_t workers) {
  pz_fft(*(const pz_fft_shape *)l->shape, l->o.in.at, l->packed.data, test_bias(l), test_residual(l),
         test_scale(l), test_slope(l), l->o.out.at, l->norm_stats.data, l->scratch.data, worker, workers);
}
static const test_row fft_row = {.name = "fft",
                                 .shape = sizeof(pz_fft_shape),
                                 .layers = 24,
                                 .seed = 1812,
                                 .choose = fft_choose,
                                 .schedule = fft_schedule,
                                 .run = fft_run,
                                 .tolerance = fft_tolerance};

/* Each size of transform against the sum, in double precision: within the rounding errors of its rounds. */
static void test_fft_lines(void **state) {
  (void)state;
  static const int32_t sizes[6] = {8, 12, 16, 24, 32, 64};
  pz_test_random r = {.state = 7};
  for (int i = 0; i < 6; ++i) {
    const int32_t n = sizes[i];
    pz_v x[2 * PZ_FFT_MOST], y[2 * PZ_FFT_MOST];
    float twiddles[2 * PZ_FFT_MOST];
    pz_fft_pack_twiddles(n, twiddles);
    for (int32_t j = 0; j < 2 * n; ++j) x[j] = y[j] = pz_v_set1(pz_test_float(&r, -1, 1));
    pz_fft_line(n, twiddles, (pz_fft_from){(const float *)x, 2 * PZ_S, PZ_S},
                (pz_fft_to){(float *)y, 2 * PZ_S, PZ_S, n - 3});
    for (int32_t k = 0; k < n; ++k) {
      double re = 0, im = 0;
      for (int32_t j = 0; j < n; ++j) {
        const double c = cos(PZ_FFT_TURN * j * k / n), s = -sin(PZ_FFT_TURN * j * k / n);
        re += (double)x[2 * j][0] * c - (double)x[2 * j + 1][0] * s;
        im += (double)x[2 * j][0] * s + (double)x[2 * j + 1][0] * c;
      }
      if (k >= n - 3) re = (double)x[2 * k][0], im = (double)x[2 * k + 1][0]; /* not written */
      assert_true(fabs((double)y[2 * k][PZ_S - 1] - re) < 2e-6 && fabs((double)y[2 * k + 1][0] - im) < 2e-6);
    }
  }
}

#define TEST_FFT_ROWS   &fft_row
#define TEST_FFT_OTHERS cmocka_unit_test(test_fft_lines)

#endif
