/* Convolution by Fourier transforms against a plain sum in double precision: random odd sizes, kernels of 2 to 11 an axis, tiles of
 * all sizes, borders no wider than needed and right in front of a guard page, poisoned output and padding, bias, Base (also in
 * place) with and without a scale, activations, partial tiles and batches; 1, 2 and 3 workers give the same bits. Shapes are not
 * constant here, so nothing is unrolled; tests/plan runs the kernel as generated code has it. */
#include "kernels/vec.h"
#undef PZ_UNROLL
#define PZ_UNROLL
#include "kernels/conv/pack.h"
#include "kernels/conv/test_expected.h"
#include "kernels/fft/fft.h"
#include "kernels/fft/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct layer {
  pz_fft_shape s;
  pz_test_conv o;
  pz_test_memory packed, scratch;
  bool in_place;
} layer;

/* Rounding errors are spread over the tile: up to 4e-7 of the norm of its sums of products of values in [-1, 1], of which the largest
 * of some thousand may have 6 times as much. */
static double tolerance(const pz_conv_direct_shape *s) {
  return 6 * 4e-7 * (1 + sqrt((double)s->in.c * pz_conv_taps(s)) / 3);
}

/* Storage that ends with the border that a convolution needs, in front of a guard page. */
static pz_test_tensor bordered(pz_test_random *r, int32_t c, const int32_t size[4], const int32_t pad[3]) {
  const int32_t none[4] = {0};
  pz_view v = pz_test_dense(PZ_S, size[0], c, size[1], size[2], size[3]);
  for (int i = 0; i < 3; ++i) v.border_lo[i] = v.border_hi[i] = pad[i];
  pz_test_tensor t = pz_test_store(v, none, none, pz_test_int(r, 0, 1));
  pz_test_fill(&t, r, -1, 1);
  pz_test_poison_padding(&t);
  return t;
}

/* A random size of tile above the kernel. */
static int32_t tile_size(pz_test_random *r, int32_t kernel, bool deep) {
  static const int32_t sizes[6] = {8, 12, 16, 24, 32, 64};
  int32_t n = 0;
  while (kernel > 1 && n <= kernel) n = sizes[pz_test_int(r, 0, deep ? 3 : 5)];
  return kernel > 1 ? n : 1;
}

static layer random_layer(pz_test_random *r) {
  static const int32_t kernels[][3] = {{5, 5, 5}, {1, 7, 7},  {3, 5, 7}, {1, 5, 2},
                                       {4, 3, 6}, {1, 11, 4}, {2, 7, 2}, {1, 9, 9}};
  static const int32_t acts[5] = {PZ_K_ACT_NONE, PZ_K_ACT_ELU, PZ_K_ACT_SIGMOID, PZ_K_ACT_PRELU,
                                  PZ_K_ACT_HARD_SIGMOID};
  layer l = {.in_place = pz_test_int(r, 0, 1)};
  pz_conv_direct_shape *c = &l.s.conv;
  const int32_t *kernel = kernels[pz_test_int(r, 0, 7)], maps_in = pz_test_int(r, 1, 36),
                maps_out = pz_test_int(r, 1, 36);
  const int32_t size[4] = {pz_test_int(r, 1, 2), pz_test_int(r, 5, 7), pz_test_int(r, 11, 15),
                           pz_test_int(r, 9, 19)};
  *c = (pz_conv_direct_shape){.groups = 1,
                              .phases = 1,
                              .act = acts[pz_test_int(r, 0, 4)],
                              .alpha = 0.7f,
                              .beta = 0.3f,
                              .has_bias = pz_test_int(r, 0, 1),
                              .stream = pz_test_int(r, 0, 1)};
  int32_t out[4] = {size[0]};
  for (int i = 0; i < 3; ++i) {
    c->kernel[i] = kernel[i], c->stride[i] = c->dilation[i] = 1;
    c->pad[i] = pz_test_int(r, 0, kernel[i] / 2);
    l.s.size[i] = tile_size(r, kernel[i], kernel[0] > 1);
    out[i + 1] = size[i + 1] + 2 * c->pad[i] - kernel[i] + 1;
  }
  l.o.in = bordered(r, maps_in, size, c->pad);
  l.o.out = pz_test_tensor_random(r, PZ_S, out[0], maps_out, out[1], out[2], out[3]);
  pz_test_conv_random(&l.o, c, l.in_place, r);
  return l;
}

static void pack_layer(layer *l, pz_test_random *r) {
  pz_fft_schedule(&l->s, PZ_V_REGISTERS, pz_test_int(r, 1, 16));
  l->packed = pz_test_alloc(pz_fft_weight_floats(&l->s), false);
  memset(l->packed.data, 0, (size_t)pz_fft_weight_floats(&l->s) * sizeof(float));
  double *work = malloc((size_t)pz_fft_pack_doubles(&l->s) * sizeof *work);
  assert_non_null(work);
  pz_fft_pack(&l->s, l->o.weights, work, l->packed.data);
  free(work);
  pz_test_conv_pack(&l->o);
  l->scratch = pz_test_alloc(pz_fft_scratch(&l->s), false);
}

static void free_layer(layer *l) {
  pz_test_conv_free(&l->o, l->s.conv.base.c && !l->in_place);
  pz_test_free(&l->packed), pz_test_free(&l->scratch);
}

static void test_random_layers(void **state) {
  (void)state;
  pz_test_random r = {.state = 1812};
  for (int i = 0; i < 24; ++i) {
    layer l = random_layer(&r);
    const bool from_base = l.s.conv.base.c > 0;
    pack_layer(&l, &r);
    if (from_base) pz_test_fill(&l.o.base, &r, -1, 1);
    double *want = pz_test_conv_expected(&l.s.conv, &l.o);
    bool same;
    PZ_TEST_WORKERS(same, l.o.out.memory,
                    pz_fft(l.s, l.o.in.at, l.packed.data, l.o.packed_bias.data,
                           from_base ? l.o.base.at : NULL, l.o.packed_scale.data, l.o.packed_slope.data,
                           l.o.out.at, l.scratch.data, worker, workers));
    assert_true(same);
    if (!pz_test_equal(&l.o.out, want, tolerance(&l.s.conv)))
      fail_msg("tiles of %dx%dx%d, kernel %dx%dx%d", l.s.size[0], l.s.size[1], l.s.size[2],
               l.s.conv.kernel[0], l.s.conv.kernel[1], l.s.conv.kernel[2]);
    if (!(from_base && l.in_place)) assert_true(pz_test_untouched(&l.o.out, false));
    free(want);
    free_layer(&l);
  }
}

/* Each size of transform against the sum, in double precision: within the rounding errors of its rounds. */
static void test_lines(void **state) {
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

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines), cmocka_unit_test(test_random_layers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
