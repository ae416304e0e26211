/* Maximum: exact. Average: a window's sum in float has an error of at most (points - 1) * 2^-24 of the sum of
 * magnitudes, and one rounding more for the reciprocal; 125 points of at most 1: 1e-6 of (1 + |want|) is enough. */
#include "kernels/pool/pool.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 300 };

static int32_t positions(int32_t in, int32_t reach, int32_t stride, int32_t lo, int32_t hi, bool ceil) {
  int32_t out = (in + lo + hi - reach + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (out - 1) * stride >= in + lo) --out;
  return out;
}

/* One window, from the definition in graph.h. */
static double window(const pz_pooling_shape *s, const pz_test_tensor *in, int32_t n, int32_t c,
                     const int32_t at[3]) {
  const int32_t size[3] = {s->in.d, s->in.h, s->in.w};
  double sum = 0, most = -INFINITY, inside = 0, padded = 0,
         kernel = s->kernel[0] * s->kernel[1] * s->kernel[2];
  bool nan = false;
  for (int32_t k = 0; k < (int32_t)kernel; ++k) {
    const int32_t tap[3] = {k / s->kernel[2] / s->kernel[1], k / s->kernel[2] % s->kernel[1],
                            k % s->kernel[2]};
    int32_t p[3];
    bool is_inside = true, is_padded = true;
    for (int i = 0; i < 3; ++i) {
      p[i] = at[i] * s->stride[i] - s->pad_lo[i] + tap[i] * s->dilation[i];
      is_inside = is_inside && p[i] >= 0 && p[i] < size[i];
      is_padded = is_padded && p[i] < size[i] + s->pad_hi[i];
    }
    inside += is_inside, padded += is_padded;
    if (!is_inside) continue;
    double x = *pz_test_at(in, n, c, p[0], p[1], p[2]);
    sum += x, nan = nan || isnan(x), most = x > most ? x : most;
  }
  assert_true(inside > 0);
  if (s->kind == PZ_POOLING_MAX) return nan ? (double)NAN : most;
  const double divisor[] = {
      [PZ_POOLING_CAFFE] = padded, [PZ_POOLING_VALID] = inside, [PZ_POOLING_KERNEL] = kernel};
  return sum / divisor[s->divisor];
}

static void compare(const pz_pooling_shape *s, const pz_test_tensor *in, pz_test_tensor *out, bool same) {
  double *want = pz_test_doubles(&s->out), *next = want;
  PZ_TEST_EACH(s->out, 0, s->out.c) { *next++ = window(s, in, n, c, (int32_t[]){d, h, w}); }
  assert_true(same);
  assert_true(pz_test_equal(out, want, s->kind == PZ_POOLING_MAX ? 0.0 : 1e-6));
  assert_true(pz_test_untouched(out, false));
  free(want);
}

/* No window is empty: less padding than the reach, and dilated windows have a position in each half of it. */
static void random_windows(pz_test_random *r, pz_pooling_shape *s, const int32_t in[3], int32_t out[3]) {
  bool ceil = pz_test_int(r, 0, 1), global = pz_test_int(r, 0, 7) == 0;
  s->kind = pz_test_int(r, 0, 1), s->divisor = pz_test_int(r, 0, 2), s->separable = pz_test_int(r, 0, 1);
  for (int i = 0; i < 3; ++i) {
    s->kernel[i] = global ? in[i] : pz_test_int(r, 1, in[i] < 5 ? in[i] : 5);
    s->stride[i] = pz_test_int(r, 1, 3);
    s->dilation[i] = global || s->kernel[i] == 1 ? 1 : pz_test_int(r, 1, (in[i] - 1) / (s->kernel[i] - 1));
    const int32_t reach = (s->kernel[i] - 1) * s->dilation[i] + 1,
                  most = s->dilation[i] > 1 ? reach / 2 : reach - 1;
    s->pad_lo[i] = global ? 0 : pz_test_int(r, 0, most), s->pad_hi[i] = global ? 0 : pz_test_int(r, 0, most);
    out[i] = positions(in[i], reach, s->stride[i], s->pad_lo[i], s->pad_hi[i], ceil && s->dilation[i] == 1);
    if (pz_test_int(r, 0, 7) == 0) out[i] = pz_test_int(r, 1, out[i]); /* not all windows are asked for */
  }
}

static void test_random(void **state) {
  (void)state;
  pz_test_random r = {21};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    pz_pooling_shape s = {0};
    int32_t size[3] = {pz_test_int(&r, 1, 6), pz_test_int(&r, 1, 7), pz_test_int(&r, 1, 20)}, o[3];
    int32_t n = pz_test_int(&r, 1, 2), c = pz_test_int(&r, 1, 2 * PZ_S + 1);
    random_windows(&r, &s, size, o);
    pz_test_tensor in = pz_test_tensor_channels_last(&r, PZ_S, n, c, size[0], size[1], size[2]);
    pz_test_tensor out = pz_test_tensor_channels_last(&r, PZ_S, n, c, o[0], o[1], o[2]);
    pz_test_fill(&in, &r, -1, 1);
    if (pz_test_int(&r, 0, 3) == 0) *pz_test_at(&in, 0, c - 1, size[0] - 1, size[1] - 1, size[2] / 2) = NAN;
    if (pz_test_int(&r, 0, 3) == 0) *pz_test_at(&in, n - 1, 0, 0, size[1] / 2, 0) = NAN;
    s.in = in.view, s.out = out.view;
    pz_test_memory scratch = pz_test_alloc(pz_pooling_scratch(&s.in), false);
    PZ_TEST_WORKERS(same, out.memory, pz_pooling(s, in.at, scratch.data, out.at, worker, workers));
    compare(&s, &in, &out, same);
    pz_test_free(&scratch);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

/* The windows of U-Nets, as generated code calls them: with constants. */
#define CONSTANT_TEST(name, pool_kind, kd, D, H, W)                                                          \
  static void name(void **state) {                                                                           \
    (void)state;                                                                                             \
    pz_test_random r = {22};                                                                                 \
    bool same;                                                                                               \
    pz_test_tensor in = pz_test_tensor_dense(PZ_S, 2, PZ_S + 3, D, H, W);                                    \
    pz_test_tensor out = pz_test_tensor_dense(PZ_S, 2, PZ_S + 3, (D) / (kd), (H) / 2, (W) / 2);              \
    pz_test_fill(&in, &r, -1, 1);                                                                            \
    const int64_t i1 = PZ_S, i2 = i1 * (W), i3 = i2 * (H), i4 = i3 * (D);                                    \
    const int64_t o1 = PZ_S, o2 = o1 * ((W) / 2), o3 = o2 * ((H) / 2), o4 = o3 * ((D) / (kd));               \
    const pz_pooling_shape s = {                                                                             \
        .in = {2, PZ_S + 3, D, H, W, PZ_S, {0}, {0}, 2 * i4, i4, i3, i2, i1, 0},                             \
        .out = {2, PZ_S + 3, (D) / (kd), (H) / 2, (W) / 2, PZ_S, {0}, {0}, 2 * o4, o4, o3, o2, o1, 0},       \
        .kind = pool_kind,                                                                                   \
        .divisor = PZ_POOLING_CAFFE,                                                                         \
        .kernel = {kd, 2, 2},                                                                                \
        .stride = {kd, 2, 2},                                                                                \
        .dilation = {1, 1, 1}};                                                                              \
    PZ_TEST_WORKERS(same, out.memory, pz_pooling(s, in.at, NULL, out.at, worker, workers));                  \
    compare(&s, &in, &out, same);                                                                            \
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);                                                     \
  }
CONSTANT_TEST(test_max_2x2x2, PZ_POOLING_MAX, 2, 6, 8, 10)
CONSTANT_TEST(test_max_1x2x2, PZ_POOLING_MAX, 1, 3, 7, 9)
CONSTANT_TEST(test_average_2x2x2, PZ_POOLING_AVE, 2, 5, 4, 34)

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_max_2x2x2),
                                     cmocka_unit_test(test_max_1x2x2), cmocka_unit_test(test_average_2x2x2)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
