/* Maximum: exact. Average: a window's sum in float has an error of at most (points - 1) * 2^-24 of the sum of
 * magnitudes, and one rounding more for the reciprocal; 125 points of at most 1: 1e-6 of (1 + |want|) is enough. */
#include "kernels/pool/pool.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 300 };

static int32_t positions(int32_t in, int32_t kernel, int32_t stride, int32_t lo, int32_t hi, bool ceil) {
  int32_t out = (in + lo + hi - kernel + (ceil ? stride - 1 : 0)) / stride + 1;
  if (ceil && (out - 1) * stride >= in + lo) --out;
  return out;
}

/* One window, from the definition in graph.h. */
static double window(const pz_pooling_shape *s, const pz_test_tensor *in, int32_t n, int32_t c,
                     const int32_t at[3]) {
  int32_t size[3] = {s->in.d, s->in.h, s->in.w}, from[3], to[3];
  double sum = 0, most = -INFINITY, inside = 1, padded = 1, kernel = 1;
  bool nan = false;
  for (int i = 0; i < 3; ++i) {
    from[i] = at[i] * s->stride[i] - s->pad_lo[i], to[i] = from[i] + s->kernel[i];
    kernel *= s->kernel[i];
    if (to[i] > size[i] + s->pad_hi[i]) to[i] = size[i] + s->pad_hi[i];
    padded *= to[i] - from[i];
    if (from[i] < 0) from[i] = 0;
    if (to[i] > size[i]) to[i] = size[i];
    inside *= to[i] - from[i];
  }
  for (int32_t d = from[0]; d < to[0]; ++d)
    for (int32_t h = from[1]; h < to[1]; ++h)
      for (int32_t w = from[2]; w < to[2]; ++w) {
        double x = *pz_test_at(in, n, c, d, h, w);
        sum += x, nan = nan || isnan(x), most = x > most ? x : most;
      }
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

static void random_windows(pz_test_random *r, pz_pooling_shape *s, const int32_t in[3], int32_t out[3]) {
  bool ceil = pz_test_int(r, 0, 1), global = pz_test_int(r, 0, 7) == 0;
  s->kind = pz_test_int(r, 0, 1), s->divisor = pz_test_int(r, 0, 2);
  for (int i = 0; i < 3; ++i) {
    s->kernel[i] = global ? in[i] : pz_test_int(r, 1, in[i] < 5 ? in[i] : 5);
    s->stride[i] = pz_test_int(r, 1, 3);
    s->pad_lo[i] = global ? 0 : pz_test_int(r, 0, s->kernel[i] - 1);
    s->pad_hi[i] = global ? 0 : pz_test_int(r, 0, s->kernel[i] - 1);
    out[i] = positions(in[i], s->kernel[i], s->stride[i], s->pad_lo[i], s->pad_hi[i], ceil);
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
    pz_test_tensor in = pz_test_tensor_random(&r, PZ_S, n, c, size[0], size[1], size[2]);
    pz_test_tensor out = pz_test_tensor_random(&r, PZ_S, n, c, o[0], o[1], o[2]);
    pz_test_fill(&in, &r, -1, 1);
    if (pz_test_int(&r, 0, 3) == 0) *pz_test_at(&in, 0, c - 1, size[0] - 1, size[1] - 1, size[2] / 2) = NAN;
    if (pz_test_int(&r, 0, 3) == 0) *pz_test_at(&in, n - 1, 0, 0, size[1] / 2, 0) = NAN;
    s.in = in.view, s.out = out.view;
    PZ_TEST_WORKERS(same, out.memory, pz_pooling(s, in.at, out.at, worker, workers));
    compare(&s, &in, &out, same);
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
        .in = {2, PZ_S + 3, D, H, W, PZ_S, {0}, {0}, 2 * i4, i4, i3, i2, i1},                                \
        .out = {2, PZ_S + 3, (D) / (kd), (H) / 2, (W) / 2, PZ_S, {0}, {0}, 2 * o4, o4, o3, o2, o1},          \
        .kind = pool_kind,                                                                                   \
        .divisor = PZ_POOLING_CAFFE,                                                                         \
        .kernel = {kd, 2, 2},                                                                                \
        .stride = {kd, 2, 2}};                                                                               \
    PZ_TEST_WORKERS(same, out.memory, pz_pooling(s, in.at, out.at, worker, workers));                        \
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
