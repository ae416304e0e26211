/* Tolerance: sums of at most 60 values within 1, whose partial sums are within 60: each addition rounds to 2^-24 of its result, so that
 * 60 * 60 * 2^-24 = 2.1e-4 is the bound, and of random signs and roundings far less comes: 2e-6 of (1 + |want|). Whole numbers are exact. */
#include "kernels/cumsum/cumsum.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 300 };

/* The definition, entry by entry. */
static double sum_of(const pz_cumsum_shape *s, const float *x, int64_t j) {
  double sum = 0;
  for (int64_t i = 0; i < s->axis; ++i) {
    const bool before = s->reverse ? i > j : i < j;
    if (before || (i == j && !s->exclusive)) sum += (double)x[i * s->inner];
  }
  return sum;
}

static double *expected(const pz_cumsum_shape *s, const float *x) {
  double *want = calloc((size_t)(s->outer * s->axis * s->inner), sizeof *want);
  for (int64_t o = 0; o < s->outer; ++o)
    for (int64_t j = 0; j < s->axis; ++j)
      for (int64_t i = 0; i < s->inner; ++i) {
        const int64_t line = o * s->axis * s->inner + i;
        want[line + j * s->inner] = sum_of(s, x + line, j);
      }
  return want;
}

static void fill(pz_test_random *r, pz_test_memory *in, int64_t count, bool whole) {
  for (int64_t i = 0; i < count; ++i)
    in->data[i] = whole ? (float)pz_test_int(r, -100000, 100000) : pz_test_float(r, -1, 1);
  if (pz_test_int(r, 0, 3) == 0) in->data[pz_test_int(r, 0, (int32_t)count - 1)] = NAN;
  if (pz_test_int(r, 0, 3) == 0) in->data[pz_test_int(r, 0, (int32_t)count - 1)] = -INFINITY;
}

static void check(pz_test_random *r, const pz_cumsum_shape *s, int round) {
  const bool in_place = round % 2, whole = round % 3 == 0;
  const int64_t count = s->outer * s->axis * s->inner;
  pz_test_memory in = pz_test_alloc(count, round % 3 == 0), out = pz_test_alloc(count, round % 5 == 0);
  pz_test_memory *target = in_place ? &in : &out;
  bool same;
  fill(r, &in, count, whole);
  double *want = expected(s, in.data);
  if (s->inner == 1 && round % 4)
    PZ_TEST_WORKERS(same, *target, pz_cumsum_line(*s, in.data, target->data, worker, workers));
  else PZ_TEST_WORKERS(same, *target, pz_cumsum(*s, in.data, target->data, worker, workers));
  assert_true(same);
  for (int64_t i = 0; i < count; ++i) assert_true(pz_test_near(target->data[i], want[i], whole ? 0 : 2e-6));
  free(want);
  pz_test_free(&in), pz_test_free(&out);
}

static void test_cumsum(void **state) {
  (void)state;
  pz_test_random r = {47};
  for (int round = 0; round < ROUNDS; ++round) {
    const int32_t inner = pz_test_int(&r, 0, 2) ? pz_test_int(&r, 2, 150) : 1;
    check(&r,
          &(pz_cumsum_shape){.outer = pz_test_int(&r, 1, 4),
                             .axis = pz_test_int(&r, 1, 60),
                             .inner = inner,
                             .exclusive = pz_test_int(&r, 0, 1),
                             .reverse = pz_test_int(&r, 0, 1)},
          round);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cumsum)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
