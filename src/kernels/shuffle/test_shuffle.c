/* Moves bits: exact. */
#include "kernels/shuffle/depth_to_space.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 200 };

/* B is a power of two, at most 16, where `columns_first`. */
static void random_block(pz_test_random *r, pz_depth_to_space_shape *s) {
  for (;;) {
    for (int i = 0; i < 3; ++i)
      s->block[i] = s->columns_first ? 1 << pz_test_int(r, 0, 2) : pz_test_int(r, 1, 3);
    if (s->block[0] * s->block[1] * s->block[2] <= PZ_DEPTH_TO_SPACE_MOST) return;
  }
}

static void test_random(void **state) {
  (void)state;
  pz_test_random r = {91};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    pz_depth_to_space_shape s = {.columns_first = pz_test_int(&r, 0, 1), .inverse = pz_test_int(&r, 0, 1)};
    random_block(&r, &s);
    const int32_t *b = s.block, points = b[0] * b[1] * b[2], batch = pz_test_int(&r, 1, 2);
    const int32_t channels =
        s.columns_first ? pz_test_int(&r, 1, 2 * PZ_S + 1) : pz_test_int(&r, 1, 2) * PZ_S;
    const int32_t size[3] = {pz_test_int(&r, 1, 2), pz_test_int(&r, 1, 3), pz_test_int(&r, 1, 5)};
    pz_test_tensor deep =
        pz_test_tensor_random(&r, PZ_S, batch, channels * points, size[0], size[1], size[2]);
    pz_test_tensor wide =
        pz_test_tensor_random(&r, PZ_S, batch, channels, b[0] * size[0], b[1] * size[1], b[2] * size[2]);
    pz_test_tensor *in = s.inverse ? &wide : &deep, *out = s.inverse ? &deep : &wide;
    pz_test_fill(in, &r, -1, 1);
    pz_test_poison_padding(in);
    s.in = in->view, s.out = out->view;
    double *want = pz_test_doubles(&out->view), *next = want;
    PZ_TEST_EACH(out->view, 0, out->view.c) {
      if (s.inverse) {
        const int32_t p = s.columns_first ? c % points : c / channels,
                      channel = s.columns_first ? c / points : c % channels;
        *next++ = *pz_test_at(in, n, channel, d * b[0] + p / b[2] / b[1], h * b[1] + p / b[2] % b[1],
                              w * b[2] + p % b[2]);
      } else {
        const int32_t p = (d % b[0] * b[1] + h % b[1]) * b[2] + w % b[2];
        const int32_t channel = s.columns_first ? c * points + p : p * channels + c;
        *next++ = *pz_test_at(in, n, channel, d / b[0], h / b[1], w / b[2]);
      }
    }
    PZ_TEST_WORKERS(same, out->memory, pz_depth_to_space(s, in->at, out->at, worker, workers));
    assert_true(same);
    assert_true(pz_test_equal(out, want, 0.0));
    assert_true(pz_test_untouched(out, false));
    free(want);
    pz_test_tensor_free(&deep), pz_test_tensor_free(&wide);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
