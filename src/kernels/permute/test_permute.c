/* A permutation moves bits: exact. Random orders of one to eight axes. */
#include "kernels/permute/permute.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void shuffle(pz_test_random *r, int32_t *order, int32_t n) {
  for (int32_t i = 0; i < n; ++i) order[i] = i;
  for (int32_t i = n - 1; i > 0; --i) {
    const int32_t j = pz_test_int(r, 0, i), swap = order[i];
    order[i] = order[j], order[j] = swap;
  }
}

/* Sizes and strides; gaps: axes that do not touch, the innermost of the input too. */
static void random_shape(pz_test_random *r, pz_permute_shape *s, int64_t *inputs, int64_t *outputs) {
  const bool gaps = pz_test_int(r, 0, 3) == 0;
  int32_t order[PZ_PERMUTE_AXES];
  s->axes = pz_test_int(r, 1, PZ_PERMUTE_AXES);
  const int32_t last = s->axes - 1;
  shuffle(r, order, s->axes);
  for (int32_t i = 0; i < s->axes; ++i) s->size[i] = pz_test_int(r, 1, s->axes > 5 ? 2 : 4);
  s->size[last] = pz_test_int(r, 1, 10 * PZ_S), s->size[order[last]] = pz_test_int(r, 1, 2 * PZ_S + 3);
  if (s->axes > 1 && last == order[last]) s->size[last] = pz_test_int(r, 1, 2 * PZ_S);
  *inputs = gaps && s->axes > 1 && order[last] != last ? 2 : 1, *outputs = 1;
  for (int32_t i = last; i >= 0; --i) {
    s->in[order[i]] = *inputs, *inputs *= s->size[order[i]] + (gaps ? pz_test_int(r, 0, 1) : 0);
    s->out[i] = *outputs, *outputs *= s->size[i] + (gaps ? pz_test_int(r, 0, 1) : 0);
  }
  s->across = order[last];
}

static void test_orders(void **state) {
  (void)state;
  pz_test_random r = {61};
  for (int round = 0; round < 400; ++round) {
    bool same;
    int64_t inputs, outputs, elements = 1;
    pz_permute_shape s = {0};
    random_shape(&r, &s, &inputs, &outputs);
    pz_test_memory in = pz_test_alloc(inputs, false), out = pz_test_alloc(outputs, pz_test_int(&r, 0, 1));
    for (int64_t i = 0; i < inputs; ++i) in.data[i] = pz_test_float(&r, -1, 1);
    float *want = pz_test_snapshot(&out);
    for (int32_t i = 0; i < s.axes; ++i) elements *= s.size[i];
    for (int64_t e = 0; e < elements; ++e) {
      int64_t rest = e, from = 0, to = 0;
      for (int32_t i = s.axes - 1; i >= 0; rest /= s.size[i], --i)
        from += rest % s.size[i] * s.in[i], to += rest % s.size[i] * s.out[i];
      want[to] = in.data[from];
    }
    PZ_TEST_WORKERS(same, out, pz_permute(s, in.data, out.data, worker, workers));
    assert_true(same);
    assert_memory_equal(want, out.data, (size_t)outputs * 4);
    free(want), pz_test_free(&in), pz_test_free(&out);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
