/* A permutation moves bits: exact. All 120 orders, several sizes each. */
#include "kernels/permute/permute.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

/* The order of that number in 0..119, by Lehmer's code. */
static void order_of(int32_t number, int32_t order[5]) {
  int32_t left[5] = {0, 1, 2, 3, 4};
  for (int i = 0; i < 5; ++i) {
    int32_t pick = number % (5 - i);
    number /= 5 - i, order[i] = left[pick];
    memmove(left + pick, left + pick + 1, (size_t)(4 - pick) * sizeof *left);
  }
}

static void test_orders(void **state) {
  (void)state;
  pz_test_random r = {61};
  for (int round = 0; round < 360; ++round) {
    bool same;
    int32_t z[5], o[5];
    pz_permute_shape s;
    order_of(round, s.order);
    for (int i = 0; i < 5; ++i) z[i] = pz_test_int(&r, 1, 4);
    z[4] = pz_test_int(&r, 1, 2 * PZ_S + 3), z[s.order[4]] = pz_test_int(&r, 1, 2 * PZ_S + 3);
    for (int i = 0; i < 5; ++i) o[i] = z[s.order[i]];
    pz_test_tensor in = pz_test_tensor_random(&r, 1, z[0], z[1], z[2], z[3], z[4]);
    pz_test_tensor out = pz_test_tensor_random(&r, 1, o[0], o[1], o[2], o[3], o[4]);
    pz_test_fill(&in, &r, -1, 1);
    s.in = in.view, s.out = out.view;
    double *want = pz_test_doubles(&out.view), *next = want;
    PZ_TEST_EACH(out.view, 0, out.view.c) {
      const int32_t at[5] = {n, c, d, h, w};
      int32_t from[5];
      for (int i = 0; i < 5; ++i) from[s.order[i]] = at[i];
      *next++ = *pz_test_at(&in, from[0], from[1], from[2], from[3], from[4]);
    }
    PZ_TEST_WORKERS(same, out.memory, pz_permute(s, in.at, out.at, worker, workers));
    assert_true(same);
    assert_true(pz_test_equal(&out, want, 0.0));
    assert_true(pz_test_untouched(&out, false));
    free(want);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
