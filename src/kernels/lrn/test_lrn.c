/* Tolerance: sums of at most 75 positive squares in float, a root or a power, three roundings: 5e-6 of (1 + |want|). */
#include "kernels/lrn/lrn.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 150 };
static const float betas[] = {0.5f, 0.75f, 1.0f, 0.6f, 2.0f};

static double square(const pz_test_tensor *t, int32_t n, int32_t c, int32_t d, int32_t h, int32_t w) {
  const pz_view *v = &t->view;
  if (c < 0 || c >= v->c || d < 0 || d >= v->d || h < 0 || h >= v->h || w < 0 || w >= v->w) return 0;
  double x = *pz_test_at(t, n, c, d, h, w);
  return x * x;
}

static void check(pz_test_tensor *in, pz_test_tensor *out, double *want, bool same) {
  assert_true(same);
  assert_true(pz_test_equal(out, want, 5e-6));
  assert_true(pz_test_untouched(out, false));
  free(want);
  pz_test_tensor_free(in), pz_test_tensor_free(out);
}

static void test_across(void **state) {
  (void)state;
  pz_test_random r = {51};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    int32_t c = pz_test_int(&r, 1, 3 * PZ_S + 1), w = pz_test_int(&r, 1, 20), h = pz_test_int(&r, 1, 3);
    pz_test_tensor in = pz_test_tensor_random(&r, PZ_S, 2, c, 1, h, w),
                   out = pz_test_tensor_random(&r, PZ_S, 2, c, 1, h, w);
    pz_test_fill(&in, &r, -10, 10), pz_test_poison_padding(&in);
    pz_lrn_shape s = {in.view,
                      out.view,
                      2 * pz_test_int(&r, 0, round % 8 ? 3 : 20) + 1,
                      pz_test_float(&r, 0.1f, 2),
                      betas[pz_test_int(&r, 0, 4)],
                      pz_test_float(&r, 0.5f, 2)};
    double *want = pz_test_doubles(&out.view), *next = want;
    PZ_TEST_EACH(out.view, 0, out.view.c) {
      double sum = 0;
      for (int32_t i = c - s.size / 2; i <= c + s.size / 2; ++i) sum += square(&in, n, i, d, h, w);
      *next++ = *pz_test_at(&in, n, c, d, h, w) *
                pow((double)s.k + (double)s.alpha / s.size * sum, -(double)s.beta);
    }
    PZ_TEST_WORKERS(same, out.memory, pz_lrn(s, in.at, out.at, worker, workers));
    check(&in, &out, want, same);
  }
}

static void test_within(void **state) {
  (void)state;
  pz_test_random r = {52};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    int32_t c = pz_test_int(&r, 1, 2 * PZ_S + 1),
            z[3] = {pz_test_int(&r, 1, 4), pz_test_int(&r, 1, 5), pz_test_int(&r, 1, 9)};
    pz_test_tensor in = pz_test_tensor_random(&r, PZ_S, 1, c, z[0], z[1], z[2]);
    pz_test_tensor out = pz_test_tensor_random(&r, PZ_S, 1, c, z[0], z[1], z[2]);
    pz_test_fill(&in, &r, -10, 10), pz_test_poison_padding(&in);
    pz_lrn_within_shape s = {.in = in.view,
                             .out = out.view,
                             .alpha = pz_test_float(&r, 0.1f, 2),
                             .beta = betas[pz_test_int(&r, 0, 4)],
                             .k = 1};
    for (int i = 0; i < 3; ++i) s.window[i] = 2 * pz_test_int(&r, 0, 2) + 1;
    double count = (double)s.window[0] * s.window[1] * s.window[2];
    double *want = pz_test_doubles(&out.view), *next = want;
    PZ_TEST_EACH(out.view, 0, out.view.c) {
      double sum = 0;
      for (int32_t i = -(s.window[0] / 2); i <= s.window[0] / 2; ++i)
        for (int32_t j = -(s.window[1] / 2); j <= s.window[1] / 2; ++j)
          for (int32_t k = -(s.window[2] / 2); k <= s.window[2] / 2; ++k)
            sum += square(&in, n, c, d + i, h + j, w + k);
      *next++ =
          *pz_test_at(&in, n, c, d, h, w) * pow((double)s.k + (double)s.alpha / count * sum, -(double)s.beta);
    }
    PZ_TEST_WORKERS(same, out.memory, pz_lrn_within(s, in.at, out.at, worker, workers));
    check(&in, &out, want, same);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_across), cmocka_unit_test(test_within)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
