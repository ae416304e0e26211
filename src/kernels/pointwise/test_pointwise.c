/* Tolerances, of (1 + |want|), against double: sums of at most 8 terms below 2 in magnitude: 8 roundings of at most
 * 16*2^-24, 1e-5 relative to small results, so 8e-6 absolute; products, quotients and powers: 1e-6; activations as vec.h says,
 * with margin: 1e-6; powers: 3e-7, the rounding of the base included for bases of at least 0.25 and powers to 3. */
#include "kernels/pointwise/activation_layer.h"
#include "kernels/pointwise/eltwise.h"
#include "kernels/pointwise/power.h"
#include "kernels/pointwise/scale.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 120 };

static pz_view random_sizes(pz_test_random *r) {
  return pz_test_dense(PZ_S, pz_test_int(r, 1, 2), pz_test_int(r, 1, 2 * PZ_S + 3), pz_test_int(r, 1, 3),
                       pz_test_int(r, 1, 4), pz_test_int(r, 1, 9));
}
static pz_test_tensor make(pz_test_random *r, pz_view z) {
  return pz_test_tensor_random(r, PZ_S, z.n, z.c, z.d, z.h, z.w);
}
/* Packed constants of the channels, with NaN behind the last channel: padding lanes may not let it through. */
static pz_test_memory packed(pz_test_random *r, int32_t c) {
  pz_test_memory m = pz_test_alloc((c + PZ_S - 1) / PZ_S * PZ_S, false);
  for (int32_t i = 0; i < c; ++i) m.data[i] = pz_test_float(r, -2, 2);
  return m;
}
static void check(const pz_test_tensor *out, double *want, bool same, double tolerance) {
  assert_true(same);
  assert_true(pz_test_equal(out, want, tolerance));
  assert_true(pz_test_untouched(out, false));
  free(want);
}
/* In place: the surroundings are poison, the border is zero as filled; so compare the border too. */
static void check_in_place(const pz_test_tensor *out, double *want, bool same, double tolerance) {
  assert_true(same);
  assert_true(pz_test_equal(out, want, tolerance));
  assert_true(pz_test_untouched(out, true));
  int32_t lanes = pz_test_blocks(&out->view) * PZ_S;
  PZ_TEST_EACH(out->view, 1, lanes) {
    bool inside = d >= 0 && d < out->view.d && h >= 0 && h < out->view.h && w >= 0 && w < out->view.w;
    if (!inside) assert_true(*pz_test_at(out, n, c, d, h, w) == 0.0f);
  }
  free(want);
}

static double joined(const pz_eltwise_shape *s, const double *x) {
  double a = s->kind == PZ_ELTWISE_SUM ? x[0] * s->coeff[0] : x[0];
  for (int i = 1; i < s->inputs; ++i) {
    if (s->kind == PZ_ELTWISE_SUM) a += x[i] * s->coeff[i];
    if (s->kind == PZ_ELTWISE_PROD) a *= x[i];
    if (s->kind == PZ_ELTWISE_MAX) a = isnan(a) || isnan(x[i]) ? (double)NAN : x[i] > a ? x[i] : a;
    if (s->kind == PZ_ELTWISE_MIN) a = isnan(a) || isnan(x[i]) ? (double)NAN : x[i] < a ? x[i] : a;
    if (s->kind == PZ_ELTWISE_DIV) a /= x[i];
    if (s->kind == PZ_ELTWISE_POW) a = pow(a, x[i]);
    if (s->kind == PZ_ELTWISE_LESS) a = a < x[i];
    if (s->kind == PZ_ELTWISE_LESS_EQUAL) a = a <= x[i];
    if (s->kind == PZ_ELTWISE_EQUAL) a = a == x[i];
  }
  return s->kind == PZ_ELTWISE_SELECT ? x[x[0] != 0 ? 1 : 2] : a;
}

/* An input of the sizes of z, some of them 1 where `broadcast`. */
static pz_test_tensor eltwise_input(pz_test_random *r, pz_view z, bool broadcast) {
  int32_t *sizes[] = {&z.n, &z.c, &z.d, &z.h, &z.w};
  for (int i = 0; i < 5 && broadcast; ++i)
    if (pz_test_int(r, 0, 1)) *sizes[i] = 1;
  return make(r, z);
}
static double eltwise_value(const pz_test_tensor *t, int32_t n, int32_t c, int32_t d, int32_t h, int32_t w) {
  const pz_view *v = &t->view;
  return *pz_test_at(t, n % v->n, c % v->c, d % v->d, h % v->h, w % v->w);
}

static void make_whole(pz_test_tensor *t) {
  PZ_TEST_EACH(t->view, 0, t->view.c) * pz_test_at(t, n, c, d, h, w) = roundf(*pz_test_at(t, n, c, d, h, w));
}

static void eltwise_round(pz_test_random *r, bool in_place) {
  bool same;
  pz_view z = random_sizes(r);
  pz_eltwise_shape s = {.kind = pz_test_int(r, 0, PZ_ELTWISE_SELECT)};
  const bool positive = s.kind == PZ_ELTWISE_DIV || s.kind == PZ_ELTWISE_POW, plain = pz_test_int(r, 0, 1),
             compares = s.kind >= PZ_ELTWISE_LESS, two = positive || compares,
             nan = s.kind == PZ_ELTWISE_MAX || s.kind == PZ_ELTWISE_MIN || compares;
  s.inputs = s.kind == PZ_ELTWISE_SELECT ? 3 : two ? 2 : pz_test_int(r, 2, PZ_ELTWISE_INPUTS);
  const int32_t whole = pz_test_int(r, 0, s.inputs - 1);
  pz_test_tensor in[PZ_ELTWISE_INPUTS], out = make(r, z);
  const float *at[PZ_ELTWISE_INPUTS];
  for (int i = 0; i < s.inputs; ++i) {
    in[i] = eltwise_input(r, z, i != whole && pz_test_int(r, 0, 1)),
    s.coeff[i] = plain ? 1.0f : pz_test_float(r, -2, 2);
    pz_test_fill(&in[i], r, positive ? 0.5f : -1.5f, 1.5f);
    if (compares) make_whole(&in[i]);
    s.in[i] = in[i].view, at[i] = in[i].at;
  }
  if (nan)
    *pz_test_at(&in[s.inputs - 1], 0, 0, 0, 0, 0) = NAN,
                                               *pz_test_at(&in[0], 0, in[0].view.c - 1, 0, 0, 0) = NAN;
  double *want = pz_test_doubles(&z), *next = want;
  PZ_TEST_EACH(z, 0, z.c) {
    double x[PZ_ELTWISE_INPUTS];
    for (int i = 0; i < s.inputs; ++i) x[i] = eltwise_value(&in[i], n, c, d, h, w);
    *next++ = joined(&s, x);
  }
  for (int i = 0; i < s.inputs; ++i) pz_test_poison_padding(&in[i]);
  pz_test_tensor *target = in_place ? &in[whole] : &out;
  s.out = target->view;
  PZ_TEST_WORKERS(same, target->memory, pz_eltwise(s, at, target->at, worker, workers));
  (in_place ? check_in_place : check)(target, want, same, s.kind == PZ_ELTWISE_SUM ? 8e-6 : nan ? 0 : 1e-6);
  for (int i = 0; i < s.inputs; ++i) pz_test_tensor_free(&in[i]);
  pz_test_tensor_free(&out);
}
static void test_eltwise(void **state) {
  (void)state;
  pz_test_random r = {31};
  for (int round = 0; round < 4 * ROUNDS; ++round) eltwise_round(&r, round % 2);
}

static void test_scale(void **state) {
  (void)state;
  pz_test_random r = {32};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same, in_place = round % 2;
    pz_view z = random_sizes(&r);
    pz_test_tensor in = make(&r, z), out = make(&r, z), *target = in_place ? &in : &out;
    pz_test_memory gamma = packed(&r, z.c), beta = packed(&r, z.c);
    pz_test_fill(&in, &r, -1, 1);
    pz_scale_shape s = {in.view, target->view, pz_test_int(&r, 0, 1), pz_test_int(&r, 0, 1)};
    double *want = pz_test_doubles(&z), *next = want;
    PZ_TEST_EACH(z, 0, z.c)
    *next++ = *pz_test_at(&in, n, c, d, h, w) * (s.has_gamma ? gamma.data[c] : 1.0) +
              (s.has_beta ? beta.data[c] : 0.0);
    PZ_TEST_WORKERS(same, target->memory,
                    pz_scale(s, in.at, s.has_gamma ? gamma.data : NULL, s.has_beta ? beta.data : NULL,
                             target->at, worker, workers));
    (in_place ? check_in_place : check)(target, want, same, 1e-6);
    pz_test_free(&gamma), pz_test_free(&beta), pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

/* A factor of random layout whose dimensions are each broadcast or not. */
static pz_test_tensor random_factor(pz_test_random *r, const pz_view *z) {
  if (pz_test_int(r, 0, 4) == 0) return (pz_test_tensor){.memory = pz_test_alloc(1, false)};
  int32_t block = pz_test_int(r, 0, 1) ? PZ_S : 1, keep = pz_test_int(r, 0, 31);
  if (block == PZ_S) keep |= 2;
  pz_test_tensor t = pz_test_tensor_random(r, block, keep & 1 ? z->n : 1, keep & 2 ? z->c : 1,
                                           keep & 4 ? z->d : 1, keep & 8 ? z->h : 1, keep & 16 ? z->w : 1);
  pz_test_fill(&t, r, -2, 2);
  int64_t *strides[] = {&t.view.stride_n, &t.view.stride_c, &t.view.stride_d, &t.view.stride_h,
                        &t.view.stride_w};
  for (int i = 0; i < 5; ++i)
    if (!(keep >> i & 1)) *strides[i] = 0;
  return t;
}
static void test_scale_by(void **state) {
  (void)state;
  pz_test_random r = {33};
  for (int round = 0; round < 2 * ROUNDS; ++round) {
    bool same, in_place = round % 2;
    pz_view z = random_sizes(&r);
    pz_test_tensor in = make(&r, z), out = make(&r, z), *target = in_place ? &in : &out;
    pz_test_tensor gamma = random_factor(&r, &z), beta = random_factor(&r, &z);
    pz_test_fill(&in, &r, -1, 1);
    pz_scale_by_shape s = {in.view, target->view, gamma.view, beta.view};
    double *want = pz_test_doubles(&z), *next = want;
    PZ_TEST_EACH(z, 0, z.c) {
      double factor = s.gamma.c ? *pz_test_at(&gamma, n, c, d, h, w) : 1.0,
             term = s.beta.c ? *pz_test_at(&beta, n, c, d, h, w) : 0.0;
      *next++ = *pz_test_at(&in, n, c, d, h, w) * factor + term;
    }
    PZ_TEST_WORKERS(same, target->memory,
                    pz_scale_by(s, in.at, gamma.at, beta.at, target->at, worker, workers));
    (in_place ? check_in_place : check)(target, want, same, 1e-6);
    pz_test_tensor_free(&gamma), pz_test_tensor_free(&beta), pz_test_tensor_free(&in),
        pz_test_tensor_free(&out);
  }
}

static void test_activation_layer(void **state) {
  (void)state;
  pz_test_random r = {34};
  for (int round = 0; round < 2 * ROUNDS; ++round) {
    bool same, in_place = round % 2;
    pz_view z = random_sizes(&r);
    pz_test_tensor in = make(&r, z), out = make(&r, z), *target = in_place ? &in : &out;
    pz_test_memory slope = packed(&r, z.c);
    pz_activation_layer_shape s = {in.view, target->view, pz_test_int(&r, 0, PZ_K_ACT_COUNT - 1),
                                   pz_test_int(&r, 0, 1) ? 0.0f : pz_test_float(&r, 0, 1), 1.5f};
    const bool positive = s.kind == PZ_K_ACT_LOG || s.kind == PZ_K_ACT_SQRT;
    pz_test_fill(&in, &r, positive ? 0.1f : -9, 9);
    *pz_test_at(&in, 0, z.c - 1, 0, 0, 0) = NAN;
    double *want = pz_test_doubles(&z), *next = want;
    PZ_TEST_EACH(z, 0, z.c)
    *next++ = pz_test_activate(s.kind, s.alpha, s.beta, slope.data[c], *pz_test_at(&in, n, c, d, h, w));
    PZ_TEST_WORKERS(same, target->memory,
                    pz_activation_layer(s, in.at, s.kind == PZ_K_ACT_PRELU ? slope.data : NULL, target->at,
                                        worker, workers));
    (in_place ? check_in_place : check)(target, want, same, 1e-6);
    pz_test_free(&slope), pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

static void test_power(void **state) {
  (void)state;
  pz_test_random r = {35};
  const float powers[] = {0, 1, 2, 3, 0.5f, -1, -2, 0.75f, -0.75f, 1.7f};
  for (int round = 0; round < 2 * ROUNDS; ++round) {
    bool same, in_place = round % 2;
    pz_view z = random_sizes(&r);
    pz_test_tensor in = make(&r, z), out = make(&r, z), *target = in_place ? &in : &out;
    pz_power_shape s = {in.view, target->view, powers[pz_test_int(&r, 0, 9)], 1.0f, 0.0f};
    if (pz_test_int(&r, 0, 1)) s.scale = 0.5f, s.shift = 2.0f;
    pz_test_fill(&in, &r, 0.25f, 3);
    double *want = pz_test_doubles(&z), *next = want;
    PZ_TEST_EACH(z, 0, z.c)
    *next++ = pow((double)s.shift + (double)s.scale * *pz_test_at(&in, n, c, d, h, w), s.power);
    PZ_TEST_WORKERS(same, target->memory, pz_power(s, in.at, target->at, worker, workers));
    (in_place ? check_in_place : check)(target, want, same, 3e-7);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

/* Relative error of pz_v_pow over many magnitudes, and the special values of C's pow. */
static void test_pow(void **state) {
  (void)state;
  pz_test_random r = {36};
  const float special[] = {0.0f,  -0.0f, INFINITY, -INFINITY, NAN,    1.0f,
                           -1.0f, -2.0f, 1e-42f,   3e38f,     -3e38f, 0x1p-149f};
  const float powers[] = {0, 1, 2, 3, -1, -2, -3, 0.5f, -0.5f, 0.75f, -0.75f, 2.5f, 7, -7, 30.5f, 1e-3f};
  for (size_t p = 0; p < sizeof powers / sizeof *powers; ++p) {
    for (size_t i = 0; i < sizeof special / sizeof *special; ++i) {
      float want = (float)pow(special[i], powers[p]),
            got = pz_v_pow(pz_v_set1(special[i]), powers[p])[PZ_S - 1];
      bool fine = isnan(want)                ? isnan(got)
                  : isinf(want) || want == 0 ? got == want && signbit(got) == signbit(want)
                                             : fabsf(got - want) <= 1e-7f * fabsf(want) + 0x1p-149f;
      if (!fine)
        fail_msg("pow(%g, %g) = %g, want %g", (double)special[i], (double)powers[p], (double)got,
                 (double)want);
    }
    for (int i = 0; i < 20000; ++i) {
      float x = ldexpf(pz_test_float(&r, 1, 2), pz_test_int(&r, -40, 40));
      double want = pow(x, powers[p]), got = pz_v_pow(pz_v_set1(x), powers[p])[i % PZ_S];
      if (want > 3e38 || want < 1.2e-38) continue;
      if (fabs(got - want) > 1e-7 * want)
        fail_msg("pow(%a, %g) = %.9g, want %.9g", (double)x, (double)powers[p], got, want);
    }
  }
}

/* The same with an exponent of each lane, infinite and NaN ones too. */
static void test_pow_by(void **state) {
  (void)state;
  pz_test_random r = {37};
  const float special[] = {0.0f,  -0.0f, INFINITY, -INFINITY, NAN,   1.0f, -1.0f,  2.0f,
                           -2.0f, 0.5f,  -3.0f,    1e-42f,    3e38f, 2.5f, 0x1p25f};
  const int count = sizeof special / sizeof *special;
  for (int i = 0; i < count * count; ++i) {
    const float x = special[i / count], p = special[i % count], want = (float)pow(x, p),
                got = pz_v_pow_by(pz_v_set1(x), pz_v_set1(p))[PZ_S - 1];
    bool fine = isnan(want)                ? isnan(got)
                : isinf(want) || want == 0 ? got == want && signbit(got) == signbit(want)
                                           : fabsf(got - want) <= 1e-7f * fabsf(want) + 0x1p-149f;
    if (!fine) fail_msg("pow(%g, %g) = %g, want %g", (double)x, (double)p, (double)got, (double)want);
  }
  for (int i = 0; i < 50000; ++i) {
    const float x = ldexpf(pz_test_float(&r, 1, 2), pz_test_int(&r, -40, 40)), p = pz_test_float(&r, -3, 3);
    const double want = pow(x, p), got = pz_v_pow_by(pz_v_set1(x), pz_v_set1(p))[i % PZ_S];
    if (want > 3e38 || want < 1.2e-38) continue;
    if (fabs(got - want) > 1e-7 * want)
      fail_msg("pow(%a, %a) = %.9g, want %.9g", (double)x, (double)p, got, want);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_eltwise),  cmocka_unit_test(test_scale),
                                     cmocka_unit_test(test_scale_by), cmocka_unit_test(test_activation_layer),
                                     cmocka_unit_test(test_power),    cmocka_unit_test(test_pow),
                                     cmocka_unit_test(test_pow_by)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
