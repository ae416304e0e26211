/* Tolerance: exp to 1e-7 of arguments that are rounded once (at most 20 * 2^-24 = 1.2e-6 of the result), a sum of at
 * most 60 positive terms, two more roundings: 2e-6 of (1 + |want|) with results of at most 1; each sum is 1 to 4e-6. */
#include "kernels/softmax/softmax.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 150 };

static void softmax_of(const double *x, double *y, int32_t count, int64_t stride, bool logarithm) {
  double most = x[0], sum = 0;
  for (int32_t i = 0; i < count; ++i)
    most = isnan(x[i * stride]) || x[i * stride] > most ? x[i * stride] : most;
  for (int32_t i = 0; i < count; ++i) sum += exp(x[i * stride] - most);
  for (int32_t i = 0; i < count; ++i)
    y[i * stride] = isnan(sum)  ? (double)NAN
                    : logarithm ? x[i * stride] - most - log(sum)
                                : exp(x[i * stride] - most) / sum;
}

static void test_channels(void **state) {
  (void)state;
  pz_test_random r = {41};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same, in_place = round % 2;
    pz_view z = pz_test_dense(PZ_S, pz_test_int(&r, 1, 2), pz_test_int(&r, 1, 3 * PZ_S + 1),
                              pz_test_int(&r, 1, 3), pz_test_int(&r, 1, 3), pz_test_int(&r, 1, 2 * PZ_S + 3));
    pz_test_tensor in = pz_test_tensor_random(&r, PZ_S, z.n, z.c, z.d, z.h, z.w), *target = &in;
    pz_test_tensor out = pz_test_tensor_random(&r, PZ_S, z.n, z.c, z.d, z.h, z.w);
    if (!in_place) target = &out;
    pz_test_fill(&in, &r, -200, -180); /* padding lanes, zero or NaN, may not count: exp(-180) is zero */
    if (round % 8 < 4) pz_test_poison_padding(&in);
    if (round % 4 == 0) *pz_test_at(&in, 0, z.c - 1, 0, 0, z.w - 1) = NAN;
    double *x = pz_test_doubles(&z), *want = pz_test_doubles(&z), *next = x;
    int64_t points = (int64_t)z.d * z.h * z.w;
    PZ_TEST_EACH(z, 0, z.c) *next++ = *pz_test_at(&in, n, c, d, h, w);
    for (int64_t i = 0; i < z.n * points; ++i) {
      int64_t at = i / points * z.c * points + i % points;
      softmax_of(x + at, want + at, z.c, points, round % 3 == 1);
    }
    pz_softmax_shape s = {in.view, target->view, round % 3 == 1};
    PZ_TEST_WORKERS(same, target->memory, pz_softmax(s, in.at, target->at, worker, workers));
    assert_true(same);
    assert_true(pz_test_equal(target, want, 2e-6));
    assert_true(pz_test_untouched(target, in_place));
    free(x), free(want);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

static void test_nd(void **state) {
  (void)state;
  pz_test_random r = {42};
  for (int round = 0; round < 2 * ROUNDS; ++round) {
    bool same, in_place = round % 2;
    pz_softmax_nd_shape s = {pz_test_int(&r, 1, 4), pz_test_int(&r, 1, 60),
                             pz_test_int(&r, 0, 2) ? pz_test_int(&r, 1, 150) : 1, round % 3 == 1};
    int64_t count = s.outer * s.axis * s.inner;
    pz_test_memory in = pz_test_alloc(count, round % 3 == 0), out = pz_test_alloc(count, round % 5 == 0);
    double *x = calloc((size_t)count, sizeof *x), *want = calloc((size_t)count, sizeof *x);
    for (int64_t i = 0; i < count; ++i) in.data[i] = pz_test_float(&r, 70, 90);
    if (round % 4 == 0) in.data[pz_test_int(&r, 0, (int32_t)count - 1)] = NAN;
    for (int64_t i = 0; i < count; ++i) x[i] = in.data[i];
    for (int64_t i = 0; i < s.outer * s.inner; ++i) {
      int64_t at = i / s.inner * s.axis * s.inner + i % s.inner;
      softmax_of(x + at, want + at, (int32_t)s.axis, s.inner, s.log);
    }
    pz_test_memory *target = in_place ? &in : &out;
    PZ_TEST_WORKERS(same, *target, pz_softmax_nd(s, in.data, target->data, worker, workers));
    assert_true(same);
    for (int64_t i = 0; i < count; ++i) assert_true(pz_test_near(target->data[i], want[i], 2e-6));
    free(x), free(want);
    pz_test_free(&in), pz_test_free(&out);
  }
}

/* Large values of either sign neither overflow nor vanish. */
static void test_range(void **state) {
  (void)state;
  const pz_softmax_nd_shape s = {1, 3, 1, 0};
  const float in[3] = {3e38f, 3e38f, -3e38f};
  float out[3];
  pz_softmax_nd(s, in, out, 0, 1);
  assert_true(out[0] == 0.5f && out[1] == 0.5f && out[2] == 0.0f);
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_channels), cmocka_unit_test(test_nd),
                                     cmocka_unit_test(test_range)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
