/* vec.h, elementary.h and activation.h against double precision, over the whole range; rows as in graph/activations.inc. */
#include "kernels/activation.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum {
  GRAPH_NONE,
#define ACTIVATION(id, name, uses_alpha, uses_beta, uses_slope, zero_at_zero) GRAPH_##id,
#include "graph/activations.inc"
#undef ACTIVATION
  GRAPH_COUNT
};

static void test_rows(void **state) {
  (void)state;
  assert_int_equal(PZ_K_ACT_COUNT, GRAPH_COUNT);
#define ACTIVATION(id, name, uses_alpha, uses_beta, uses_slope, zero_at_zero)                                \
  assert_int_equal(PZ_K_ACT_##id, GRAPH_##id);                                                               \
  assert_int_equal(pz_k_act_zero_at_zero(PZ_K_ACT_##id), zero_at_zero);
#include "graph/activations.inc"
#undef ACTIVATION
}

enum { PARAMETERS = 5 };
static const float alphas[PARAMETERS] = {0.25f, -0.5f, 0.0f, 1.0f, -INFINITY},
                   betas[PARAMETERS] = {0.75f, 3.0f, 1.0f, 2.0f, 0.5f};

static float got(int kind, int i, float x) {
  return pz_activate(kind, alphas[i], betas[i], pz_v_set1(-1.5f), pz_v_set1(x))[PZ_S - 1];
}

static double want(int kind, int i, float x) {
  return pz_test_activate(kind, (double)alphas[i], (double)betas[i], -1.5, (double)x);
}

/* Relative error 5e-7, and results below 1e-36 may be 0: exp has 1e-7, and each of the operations after it half a unit (6e-8); erf has most. Formulas that
 * cancel add units of what they start from. */
static double allowed(int kind, int i, double x, double w) {
  switch (kind) {
  case PZ_K_ACT_HARD_SIGMOID: return 1e-7 * (fabs((double)alphas[i] * x) + (double)betas[i]);
  case PZ_K_ACT_HARD_SWISH:
  case PZ_K_ACT_GELU:
  case PZ_K_ACT_GELU_TANH: return 3e-7 * (fabs(x) + fabs(w));
  case PZ_K_ACT_ELU: return 3e-7 * fabs(w);
  default: return 5e-7 * fabs(w);
  }
}
static bool near(int kind, int i, float x) {
  const double w = want(kind, i, x);
  const float g = got(kind, i, x);
  if (isnan(w)) return isnan(g);
  if (isinf(w) || fabs(w) > 3.4028236e38) return isinf(g) && (g > 0) == (w > 0);
  return fabs((double)g - w) <= allowed(kind, i, (double)x, w) + 1e-36;
}

static void test_activations(void **state) {
  (void)state;
  for (int kind = 0; kind < PZ_K_ACT_COUNT; ++kind)
    for (double l = -60; l < 4.46; l += 1e-3)
      for (int sign = -1; sign <= 1; sign += 2) {
        float x = (float)(sign * exp(l));
        int i = (int)((l + 60) * 1e3) % PARAMETERS;
        if (alphas[i] == -INFINITY && kind != PZ_K_ACT_CLIP) continue;
        if (!near(kind, i, x))
          fail_msg("activation %d of %.9g (%g, %g): %.9g, want %.9g", kind, (double)x, (double)alphas[i],
                   (double)betas[i], (double)got(kind, i, x), want(kind, i, x));
      }
}

/* Whole, half and huge numbers; zeros, subnormals, infinities and NaN. */
static void test_special(void **state) {
  (void)state;
  static const float values[] = {0.0f,       1.0f,   0.5f,      1.5f,      2.5f,   0.49999997f, 8388607.5f,
                                 8388609.0f, 1e30f,  0x1p-126f, 0x1p-149f, 3e-42f, 88.8f,       100.0f,
                                 3.95f,      3.951f, 20.0f,     INFINITY,  NAN};
  for (int kind = 0; kind < PZ_K_ACT_COUNT; ++kind)
    for (size_t v = 0; v < sizeof values / sizeof *values; ++v)
      for (int sign = -1; sign <= 1; sign += 2)
        for (int i = 0; i + 1 < PARAMETERS; ++i) {
          const float x = (float)sign * values[v];
          if (kind == PZ_K_ACT_RECIPROCAL && fabsf(x) < 0x1p-127f && x != 0) continue;
          if (!near(kind, i, x))
            fail_msg("activation %d of %.9g: %.9g, want %.9g", kind, (double)x, (double)got(kind, i, x),
                     want(kind, i, x));
        }
  assert_true(isnan(pz_v_max_nan(pz_v_set1(NAN), pz_v_set1(1))[0]));
  assert_true(isnan(pz_v_max_nan(pz_v_set1(1), pz_v_set1(NAN))[0]));
}

static double log_here(double x) { return log(x); }
static double erf_here(double x) { return erf(x); }
static pz_v log_v(pz_v x) { return pz_v_log(x); }
static pz_v erf_v(pz_v x) { return pz_v_erf(x); }
static pz_v softplus_v(pz_v x) { return pz_v_softplus(x); }

/* The errors that elementary.h states, at random floats of all exponents and densely near 1. */
static void test_stated_errors(void **state) {
  (void)state;
  static const struct {
    pz_v (*got)(pz_v);
    double (*want)(double);
    double error;
  } functions[] = {{log_v, log_here, 2e-7}, {erf_v, erf_here, 5e-7}, {softplus_v, pz_test_softplus, 4e-7}};
  pz_test_random r = {7};
  for (size_t f = 0; f < sizeof functions / sizeof *functions; ++f)
    for (int i = 0; i < 200000; ++i) {
      float x =
          i % 2 ? ldexpf(pz_test_float(&r, 1, 2), pz_test_int(&r, -60, 60)) : pz_test_float(&r, 0.4f, 2.5f);
      double w = functions[f].want((double)x);
      if (fabs((double)functions[f].got(pz_v_set1(x))[0] - w) > functions[f].error * fabs(w))
        fail_msg("function %d of %a", (int)f, (double)x);
    }
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

/* A lane's product is the broadcast's, bit by bit; *p is read, and nothing beside it. */
static void test_factors(void **state) {
  (void)state;
  pz_test_random r = {9};
  pz_test_memory m = pz_test_alloc(1, false);
  for (int i = 0; i < 1000; ++i) {
    pz_v a, b, c;
    for (int k = 0; k < PZ_S; ++k)
      a[k] = pz_test_float(&r, -1, 1), b[k] = pz_test_float(&r, -1, 1), c[k] = pz_test_float(&r, -1, 1);
    for (int lane = 0; lane < PZ_S; ++lane) {
      *m.data = b[lane];
      const pz_v want = pz_v_fma(a, pz_v_set1(b[lane]), c), by_lane = pz_v_fma_lane(a, b, lane, c),
                 by_factor = pz_v_fma_factor(a, pz_v_factor(m.data), c),
                 by_broadcast = pz_v_fma_broadcast(m.data, a, c);
      assert_memory_equal(&by_lane, &want, sizeof want);
      assert_memory_equal(&by_factor, &want, sizeof want);
      assert_memory_equal(&by_broadcast, &want, sizeof want);
    }
  }
  pz_test_free(&m);
}

/* What vec.h says of NaN, and of zeros: b where neither is larger. */
static void test_larger_and_smaller(void **state) {
  (void)state;
  const pz_v nan = pz_v_set1(NAN), one = pz_v_set1(1), zero = pz_v_zero(), minus = pz_v_set1(-0.0f);
  assert_true(isnan(pz_v_max(one, nan)[0]) && isnan(pz_v_min(one, nan)[0]));
  assert_true(pz_v_max(nan, one)[0] == 1 && pz_v_min(nan, one)[0] == 1);
  assert_true(isnan(pz_v_min_nan(nan, one)[0]) && isnan(pz_v_min_nan(one, nan)[0]));
  assert_true(pz_v_max_nan(one, zero)[0] == 1 && pz_v_min_nan(one, zero)[0] == 0);
  assert_true(signbit(pz_v_max(zero, minus)[0]) && !signbit(pz_v_max(minus, zero)[0]));
  assert_true(pz_v_select_gt(nan, zero, one, zero)[0] == 0 && pz_v_select_gt(one, zero, one, zero)[0] == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
                                     cmocka_unit_test(test_activations),
                                     cmocka_unit_test(test_special),
                                     cmocka_unit_test(test_stated_errors),
                                     cmocka_unit_test(test_exp),
                                     cmocka_unit_test(test_lanes),
                                     cmocka_unit_test(test_sums),
                                     cmocka_unit_test(test_factors),
                                     cmocka_unit_test(test_larger_and_smaller)};
  if (!pz_test_cpu()) return 77;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
