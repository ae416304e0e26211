/* Reductions over any dimensions and argmax, against double. Tolerance of sums and means: 1e-6 of (1 + |want|) for means of
 * values within 2, times the root of their count for sums (their rounding errors add up like a random walk); maximum, minimum
 * and argmax are exact. */
#include "kernels/reduction/argmax.h"
#include "kernels/reduction/reduction.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { ROUNDS = 400 };

static pz_test_tensor random_input(pz_test_random *r, int32_t largest) {
  return pz_test_tensor_random(r, PZ_S, pz_test_int(r, 1, 3), pz_test_int(r, 1, 2 * PZ_S + 3),
                               pz_test_int(r, 1, 4), pz_test_int(r, 1, 5), pz_test_int(r, 1, largest));
}

/* The results' index that belongs to a value's. */
static int64_t result_of(const pz_view *out, int32_t n, int32_t c, int32_t d, int32_t h, int32_t w) {
  return ((((int64_t)(n % out->n) * out->c + c % out->c) * out->d + d % out->d) * out->h + h % out->h) *
             out->w +
         w % out->w;
}

static double *expected(const pz_reduction_shape *s, const pz_test_tensor *in) {
  double *want = pz_test_doubles(&s->out);
  const int64_t results = (int64_t)s->out.n * s->out.c * s->out.d * s->out.h * s->out.w;
  const bool sums = s->kind == PZ_REDUCTION_SUM || s->kind == PZ_REDUCTION_MEAN;
  for (int64_t i = 0; i < results && !sums; ++i) want[i] = s->kind == PZ_REDUCTION_MAX ? -INFINITY : INFINITY;
  PZ_TEST_EACH(s->in, 0, s->in.c) {
    const double x = *pz_test_at(in, n, c, d, h, w);
    double *to = &want[result_of(&s->out, n, c, d, h, w)];
    if (sums) *to += x;
    else if (isnan(x) || isnan(*to)) *to = NAN;
    else *to = s->kind == PZ_REDUCTION_MAX ? fmax(*to, x) : fmin(*to, x);
  }
  for (int64_t i = 0; i < results && s->kind == PZ_REDUCTION_MEAN; ++i) want[i] /= pz_reduction_count(s);
  return want;
}

static void check(pz_test_random *r, pz_test_tensor *in, float mean) {
  const pz_view *v = &in->view;
  pz_reduction_shape s = {.in = *v, .kind = pz_test_int(r, 0, 3)};
  for (int i = 0; i < 5; ++i) s.over[i] = pz_test_int(r, 0, 1);
  pz_test_tensor out =
      pz_test_tensor_random(r, PZ_S, s.over[0] ? 1 : v->n, s.over[1] ? 1 : v->c, s.over[2] ? 1 : v->d,
                            s.over[3] ? 1 : v->h, s.over[4] ? 1 : v->w);
  s.out = out.view;
  pz_test_fill(in, r, mean - 1, mean + 1);
  if (pz_test_int(r, 0, 3) == 0) *pz_test_at(in, v->n - 1, v->c - 1, 0, 0, v->w - 1) = NAN;
  double *want = expected(&s, in);
  pz_test_poison_padding(in);
  const int64_t slices = pz_reduction_slices(&s);
  pz_test_memory partial = pz_test_alloc(slices > 1 ? pz_reduction_floats(&s) : 1, false);
  bool same;
  if (slices > 1) {
    PZ_TEST_WORKERS(same, partial, pz_reduction(s, in->at, partial.data, NULL, worker, workers));
    assert_true(same);
    PZ_TEST_WORKERS(same, out.memory, pz_reduction_join(s, partial.data, out.at, worker, workers));
  } else PZ_TEST_WORKERS(same, out.memory, pz_reduction(s, in->at, NULL, out.at, worker, workers));
  assert_true(same);
  const bool exact = s.kind == PZ_REDUCTION_MAX || s.kind == PZ_REDUCTION_MIN;
  assert_true(pz_test_equal(&out, want,
                            exact                         ? 0
                            : s.kind == PZ_REDUCTION_MEAN ? 1e-6
                                                          : 1e-6 * sqrt(pz_reduction_count(&s))));
  assert_true(pz_test_untouched(&out, false));
  free(want);
  pz_test_free(&partial), pz_test_tensor_free(&out);
}

static void test_random(void **state) {
  (void)state;
  pz_test_random r = {61};
  for (int round = 0; round < ROUNDS; ++round) {
    pz_test_tensor in = random_input(&r, 9);
    check(&r, &in, 0.3f);
    pz_test_tensor_free(&in);
  }
}
/* Several slices, rows and columns longer than a piece. */
static void test_large(void **state) {
  (void)state;
  pz_test_random r = {62};
  for (int round = 0; round < 60; ++round) {
    const int32_t rows = pz_test_int(&r, 1, 300), width = pz_test_int(&r, 1, 40000 / rows);
    pz_test_tensor in = pz_test_tensor_random(&r, PZ_S, 1, pz_test_int(&r, 1, PZ_S + 3), 1, rows, width);
    check(&r, &in, 100);
    pz_test_tensor_free(&in);
  }
}

static int64_t greatest(const pz_argmax_shape *s, const pz_test_tensor *in, int32_t at[5], int32_t size) {
  int32_t best = 0;
  double most = 0;
  for (int32_t i = 0; i < size; ++i) {
    at[s->axis] = i;
    const double x = *pz_test_at(in, at[0], at[1], at[2], at[3], at[4]);
    const bool equal = x == most || (isnan(x) && isnan(most));
    if (i == 0 || x > most || (isnan(x) && !isnan(most)) || (s->last && equal)) best = i, most = x;
  }
  return best;
}
static void test_argmax(void **state) {
  (void)state;
  pz_test_random r = {63};
  for (int round = 0; round < ROUNDS; ++round) {
    pz_test_tensor in = random_input(&r, 2 * PZ_S + 1);
    const pz_view *v = &in.view;
    int32_t size[5] = {v->n, v->c, v->d, v->h, v->w};
    pz_argmax_shape s = {
        .in = *v, .axis = round % 2 ? 1 : pz_test_int(&r, 0, 4), .last = pz_test_int(&r, 0, 1)};
    const int32_t along = size[s.axis];
    size[s.axis] = 1;
    pz_test_tensor out = pz_test_tensor_random(&r, PZ_S, size[0], size[1], size[2], size[3], size[4]);
    s.out = out.view;
    PZ_TEST_EACH(*v, 0, v->c) * pz_test_at(&in, n, c, d, h, w) = (float)pz_test_int(&r, -2, 2);
    for (int i = 0; i < 3; ++i)
      *pz_test_at(&in, 0, pz_test_int(&r, 0, v->c - 1), 0, 0, pz_test_int(&r, 0, v->w - 1)) = NAN;
    *pz_test_at(&in, v->n - 1, v->c - 1, v->d - 1, v->h - 1, v->w - 1) = -INFINITY;
    double *want = pz_test_doubles(&out.view), *next = want;
    PZ_TEST_EACH(out.view, 0, out.view.c) {
      int32_t at[5] = {n, c, d, h, w};
      *next++ = (double)greatest(&s, &in, at, along);
    }
    pz_test_poison_padding(&in);
    bool same;
    PZ_TEST_WORKERS(same, out.memory, pz_argmax(s, in.at, out.at, worker, workers));
    assert_true(same);
    assert_true(pz_test_equal(&out, want, 0));
    assert_true(pz_test_untouched(&out, false));
    free(want);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

/* The bytes are the floats of pz_argmax, and no others are written: they end in front of a guard page, or begin behind one. */
static void test_argmax_u8(void **state) {
  (void)state;
  pz_test_random r = {64};
  for (int round = 0; round < ROUNDS; ++round) {
    pz_test_tensor in = random_input(&r, 2 * PZ_S + 1);
    const pz_view *v = &in.view;
    const bool low = round % 2;
    pz_argmax_u8_shape s = {.in = *v, .axis = 1, .last = pz_test_int(&r, 0, 1)};
    s.out = pz_test_dense(1, v->n, 1, v->d, v->h, v->w);
    const int64_t bytes = s.out.stride_n * s.out.n, floats = (bytes + 3) / 4;
    pz_test_memory out = pz_test_alloc(floats, low);
    uint8_t *at = (uint8_t *)out.data + (low ? 0 : floats * 4 - bytes), *begin = (uint8_t *)out.data;
    memset(out.data, 0xee, (size_t)floats * 4);
    PZ_TEST_EACH(*v, 0, v->c) * pz_test_at(&in, n, c, d, h, w) = (float)pz_test_int(&r, -2, 2);
    pz_test_poison_padding(&in);
    bool same;
    PZ_TEST_WORKERS(same, out, pz_argmax_u8(s, in.at, at, worker, workers));
    assert_true(same);
    const uint8_t *next = at;
    PZ_TEST_EACH(s.out, 0, 1) {
      int32_t point[5] = {n, c, d, h, w};
      assert_int_equal(*next++, greatest(&s, &in, point, v->c));
    }
    for (int64_t i = 0; i < floats * 4; ++i)
      if (begin + i < at || begin + i >= at + bytes) assert_int_equal(begin[i], 0xee);
    pz_test_tensor_free(&in), pz_test_free(&out);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_large),
                                     cmocka_unit_test(test_argmax), cmocka_unit_test(test_argmax_u8)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
