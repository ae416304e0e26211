/* Functions of one value, powers and element-wise functions in the NCHW layout. Tolerances: test_pointwise.c. */
#include "kernels/pointwise/nd.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { ROUNDS = 200 };

static pz_test_memory random_values(pz_test_random *r, int64_t count, float lo, float hi) {
  pz_test_memory m = pz_test_alloc(count, pz_test_int(r, 0, 1));
  for (int64_t i = 0; i < count; ++i) m.data[i] = pz_test_float(r, lo, hi);
  return m;
}

static void test_one_value(void **state) {
  (void)state;
  pz_test_random r = {71};
  for (int round = 0; round < ROUNDS; ++round) {
    const int64_t count = pz_test_int(&r, 1, round % 2 ? 50 : 4 * PZ_PLAIN_UNIT);
    pz_test_memory in = random_values(&r, count, 0.25f, 3), out = random_values(&r, count, 0, 0);
    pz_test_memory *target = round % 3 ? &out : &in;
    const pz_activation_nd_shape a = {count, round % 4 ? PZ_K_ACT_GELU : PZ_K_ACT_LOG, 0, 0};
    const pz_power_nd_shape p = {count, 1.7f, 0.5f, 2.0f};
    const bool power = pz_test_int(&r, 0, 1);
    double *want = calloc((size_t)count, sizeof *want);
    for (int64_t i = 0; i < count; ++i) {
      const double x = (double)in.data[i];
      want[i] = power ? pow(2 + 0.5 * x, (double)p.power) : pz_test_activate(a.kind, 0, 0, 0, x);
    }
    bool same;
    if (power) PZ_TEST_WORKERS(same, *target, pz_power_nd(p, in.data, target->data, worker, workers));
    else PZ_TEST_WORKERS(same, *target, pz_activation_nd(a, in.data, target->data, worker, workers));
    assert_true(same);
    for (int64_t i = 0; i < count; ++i) assert_true(pz_test_near(target->data[i], want[i], 1e-6));
    free(want);
    pz_test_free(&in), pz_test_free(&out);
  }
}

/* Dense inputs that have random dimensions of out; of 0 and 1 where `truth`. */
static pz_test_memory random_input(pz_test_random *r, const pz_eltwise_nd_shape *s, bool whole, bool truth,
                                   int64_t stride[PZ_ND_RANK]) {
  int64_t count = 1;
  for (int32_t k = s->n - 1; k >= 0; --k) {
    const bool has = whole || pz_test_int(r, 0, 1);
    stride[k] = has ? count : 0;
    if (has) count *= s->size[k];
  }
  pz_test_memory values = random_values(r, count, 0.5f, 1.5f);
  for (int64_t i = 0; truth && i < count; ++i) values.data[i] = values.data[i] < 1;
  return values;
}

static double joined(const pz_eltwise_nd_shape *s, const double *x) {
  double a = s->kind == PZ_ELTWISE_SUM ? x[0] * (double)s->coeff[0] : x[0];
  for (int i = 1; i < s->inputs; ++i) {
    if (s->kind == PZ_ELTWISE_SUM) a += x[i] * (double)s->coeff[i];
    if (s->kind == PZ_ELTWISE_PROD) a *= x[i];
    if (s->kind == PZ_ELTWISE_MAX) a = fmax(a, x[i]);
    if (s->kind == PZ_ELTWISE_MIN) a = fmin(a, x[i]);
    if (s->kind == PZ_ELTWISE_DIV) a /= x[i];
    if (s->kind == PZ_ELTWISE_POW) a = pow(a, x[i]);
    if (s->kind == PZ_ELTWISE_LESS) a = a < x[i];
    if (s->kind == PZ_ELTWISE_LESS_EQUAL) a = a <= x[i];
    if (s->kind == PZ_ELTWISE_EQUAL) a = a == x[i];
  }
  return s->kind == PZ_ELTWISE_SELECT ? x[x[0] != 0 ? 1 : 2] : a;
}

static void test_eltwise(void **state) {
  (void)state;
  pz_test_random r = {72};
  for (int round = 0; round < 2 * ROUNDS; ++round) {
    pz_eltwise_nd_shape s = {.n = pz_test_int(&r, 1, 6), .kind = pz_test_int(&r, 0, PZ_ELTWISE_SELECT)};
    const bool compares = s.kind >= PZ_ELTWISE_LESS,
               two = s.kind == PZ_ELTWISE_DIV || s.kind == PZ_ELTWISE_POW || compares;
    s.inputs = s.kind == PZ_ELTWISE_SELECT ? 3 : two ? 2 : pz_test_int(&r, 2, 4);
    int64_t count = 1;
    for (int32_t k = 0; k < s.n; ++k) {
      s.size[k] = k == s.n - 1 ? pz_test_int(&r, 1, 2 * PZ_S + 3) : pz_test_int(&r, 1, 3);
      count *= s.size[k];
    }
    const int32_t whole = pz_test_int(&r, 0, s.inputs - 1);
    pz_test_memory in[PZ_ELTWISE_INPUTS], out = random_values(&r, count, 0, 0);
    const float *at[PZ_ELTWISE_INPUTS];
    for (int32_t i = 0; i < s.inputs; ++i) {
      in[i] = random_input(&r, &s, i == whole, compares, s.stride[i]);
      at[i] = in[i].data, s.coeff[i] = pz_test_float(&r, -2, 2);
    }
    double *want = calloc((size_t)count, sizeof *want);
    for (int64_t e = 0; e < count; ++e) {
      double x[PZ_ELTWISE_INPUTS];
      for (int32_t i = 0; i < s.inputs; ++i) {
        int64_t offset = 0, rest = e;
        for (int32_t k = s.n - 1; k >= 0; rest /= s.size[k--]) offset += rest % s.size[k] * s.stride[i][k];
        x[i] = (double)in[i].data[offset];
      }
      want[e] = joined(&s, x);
    }
    pz_test_memory *target = round % 2 ? &in[whole] : &out;
    bool same;
    PZ_TEST_WORKERS(same, *target, pz_eltwise_nd(s, at, target->data, worker, workers));
    assert_true(same);
    for (int64_t e = 0; e < count; ++e) assert_true(pz_test_near(target->data[e], want[e], 2e-6));
    free(want);
    for (int32_t i = 0; i < s.inputs; ++i) pz_test_free(&in[i]);
    pz_test_free(&out);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_value), cmocka_unit_test(test_eltwise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
