/* A long row of planes, given some at a time, comes out with those before in front. */
#include "kernels/history/history.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { RUNS = 5 };

static void test_runs(void **state) {
  (void)state;
  pz_test_random r = {9};
  for (int round = 0; round < 150; ++round) {
    const int32_t n = pz_test_int(&r, 1, 2), c = pz_test_int(&r, 1, 2 * PZ_S + 1),
                  planes = pz_test_int(&r, 1, 5), each = pz_test_int(&r, 1, 5), h = pz_test_int(&r, 1, 5),
                  w = pz_test_int(&r, 1, 9);
    pz_test_tensor in = pz_test_tensor_random(&r, PZ_S, n, c, each, h, w),
                   out = pz_test_tensor_random(&r, PZ_S, n, c, planes + each, h, w);
    const pz_history_shape s = {in.view, out.view, planes};
    pz_test_memory kept = pz_test_alloc(pz_history_floats(&s), false);
    memset(kept.data, 0, (size_t)kept.floats * 4);
    const int64_t point = (int64_t)n * c * h * w;
    double *all = calloc((size_t)(point * (planes + RUNS * each)), sizeof *all); /* [plane][n][c][h][w] */
    assert_non_null(all);
    for (int run = 0; run < RUNS; ++run) {
      pz_test_fill(&in, &r, -1, 1);
      PZ_TEST_EACH(in.view, 0, in.view.c) {
        const int64_t at = (((int64_t)n * in.view.c + c) * in.view.h + h) * in.view.w + w;
        all[(planes + run * each + d) * point + at] = *pz_test_at(&in, n, c, d, h, w);
      }
      const int32_t workers = pz_test_int(&r, 1, 3);
      for (int32_t worker = workers - 1; worker >= 0; --worker)
        pz_history(s, in.at, kept.data, out.at, worker, workers);
      double *want = pz_test_doubles(&out.view);
      PZ_TEST_EACH(out.view, 0, out.view.c) {
        const int64_t at = (((int64_t)n * out.view.c + c) * out.view.h + h) * out.view.w + w;
        want[((((int64_t)n * out.view.c + c) * out.view.d + d) * out.view.h + h) * out.view.w + w] =
            all[(run * each + d) * point + at];
      }
      assert_true(pz_test_equal(&out, want, 0.0) && pz_test_untouched(&out, false));
      free(want);
    }
    free(all);
    pz_test_free(&kept);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
