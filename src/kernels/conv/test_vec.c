/* vec.h and activation.h against double precision, over the whole range; rows as in graph/activations.inc. */
#include "kernels/activation.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum {
  GRAPH_NONE,
#define ACTIVATION(id, name, uses_alpha, uses_slope, zero_at_zero) GRAPH_##id,
#include "graph/activations.inc"
#undef ACTIVATION
  GRAPH_COUNT
};

static void test_rows(void **state) {
  (void)state;
  assert_int_equal(PZ_K_ACT_COUNT, GRAPH_COUNT);
#define ACTIVATION(id, name, uses_alpha, uses_slope, zero_at_zero)                                           \
  assert_int_equal(PZ_K_ACT_##id, GRAPH_##id);                                                               \
  assert_int_equal(pz_k_act_zero_at_zero(PZ_K_ACT_##id), zero_at_zero);
#include "graph/activations.inc"
#undef ACTIVATION
}

static double want(int kind, double x) {
  switch (kind) {
  case PZ_K_ACT_RELU: return x > 0 ? x : 0.25 * x;
  case PZ_K_ACT_PRELU: return x > 0 ? x : -1.5 * x;
  case PZ_K_ACT_ELU: return x > 0 ? x : 0.25 * expm1(x);
  case PZ_K_ACT_SIGMOID: return 1 / (1 + exp(-x));
  case PZ_K_ACT_TANH: return tanh(x);
  default: return x;
  }
}
static float got(int kind, float x) {
  return pz_activate(kind, 0.25f, pz_v_set1(-1.5f), pz_v_set1(x))[PZ_S - 1];
}

/* Relative error 3e-7: exp has 1e-7, and each of two or three operations after it half a unit (6e-8). */
static void test_activations(void **state) {
  (void)state;
  for (int kind = 0; kind < PZ_K_ACT_COUNT; ++kind)
    for (double l = -60; l < 4.46; l += 1e-3)
      for (int sign = -1; sign <= 1; sign += 2) {
        float x = (float)(sign * exp(l));
        double w = want(kind, (double)x);
        if (fabs((double)got(kind, x) - w) > 3e-7 * fabs(w))
          fail_msg("activation %d of %.9g", kind, (double)x);
      }
}

static void test_not_finite(void **state) {
  (void)state;
  for (int kind = 0; kind < PZ_K_ACT_COUNT; ++kind) {
    assert_true(isnan(got(kind, NAN)));
    assert_true(pz_test_near(got(kind, INFINITY), want(kind, INFINITY), 0));
    assert_true(pz_test_near(got(kind, -INFINITY), want(kind, -INFINITY), 0));
  }
  assert_true(isnan(pz_v_max_nan(pz_v_set1(NAN), pz_v_set1(1))[0]));
  assert_true(isnan(pz_v_max_nan(pz_v_set1(1), pz_v_set1(NAN))[0]));
}

static void test_exp(void **state) {
  (void)state;
  for (double x = -87; x < 88.7; x += 1e-3)
    assert_true(fabs((double)pz_v_exp(pz_v_set1((float)x))[0] / exp((double)(float)x) - 1) <= 2e-7);
  assert_true(pz_v_exp(pz_v_set1(-INFINITY))[0] == 0);
  assert_true(isinf(pz_v_exp(pz_v_set1(88.8f))[0]));
  assert_true(isnan(pz_v_exp(pz_v_set1(NAN))[0]));
}

static void test_lanes(void **state) {
  (void)state;
  pz_v x;
  for (int i = 0; i < PZ_S; ++i) x[i] = (float)(1 << i);
  assert_true(pz_v_sum(x) == (float)((1 << PZ_S) - 1));
  for (int n = 0; n <= PZ_S; ++n) assert_true(pz_v_sum(pz_v_first(x, n)) == (float)((1 << n) - 1));
}

static void test_sums(void **state) {
  (void)state;
  pz_v x[PZ_S], sums;
  for (int i = 0; i < PZ_S; ++i)
    for (int j = 0; j < PZ_S; ++j) x[i][j] = (float)(i * (j + 1));
  sums = pz_v_sums(x);
  for (int i = 0; i < PZ_S; ++i) assert_true(sums[i] == (float)(i * PZ_S * (PZ_S + 1) / 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),       cmocka_unit_test(test_activations),
                                     cmocka_unit_test(test_not_finite), cmocka_unit_test(test_exp),
                                     cmocka_unit_test(test_lanes),      cmocka_unit_test(test_sums)};
  if (!pz_test_cpu()) return 77;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
