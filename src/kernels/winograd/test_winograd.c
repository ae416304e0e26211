/* The factors of minimal filtering multiply out to the convolution, and the code of transforms.h does what they say; what schedules
 * promise. The algorithms are rows of conv/test_layers.c (test_rows_winograd.h). */
#include "kernels/testing.h"
#include "kernels/winograd/pack.h"
#include "kernels/winograd/transforms.h"
#include "kernels/winograd/winograd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A^T, G and B^T multiply out to the convolution, exactly: sum over i of A^T[o][i] G[i][k] B^T[i][j] is 1 where j = o + k. */
static void test_factors(void **state) {
  (void)state;
  for (int32_t m = 1; m <= 6; m += m == 1 ? 1 : 2)
    for (int32_t r = 1; r <= 5; r += 2) {
      if (m == 6 && r == 1) continue;
      for (int32_t o = 0; o < m; ++o)
        for (int32_t k = 0; k < r; ++k)
          for (int32_t j = 0; j < m + r - 1; ++j) {
            pz_rational sum = {0, 1}, a[PZ_WINOGRAD_MOST_A], g[PZ_WINOGRAD_MOST_R], b[PZ_WINOGRAD_MOST_A];
            pz_winograd_output_row(m, r, o, a);
            for (int32_t i = 0; i < m + r - 1; ++i) {
              pz_winograd_weight_row(m, r, i, g);
              pz_winograd_input_row(m, r, i, b);
              sum = pz_rational_add(sum, pz_rational_mul(a[i], pz_rational_mul(g[k], b[j])));
            }
            assert_true(sum.num == (j == o + k) && sum.den == 1);
          }
    }
}

/* B^T of one axis does what its matrix says: column j, by values that lie two vectors apart. */
static void check_forward(int32_t m, int32_t r, int32_t j, int keep, int apart) {
  const int32_t a = m + r - 1;
  /* Zeros: gcc 12 does not see that the same sizes have constants and use them. */
  pz_v x[2 * PZ_WINOGRAD_MOST_A], k[PZ_WINOGRAD_CONSTANTS] = {{0}};
  pz_rational row[PZ_WINOGRAD_MOST_A];
  pz_winograd_forward_constants(keep, m, r, k);
  for (int32_t i = 0; i < a; ++i) x[2 * i] = pz_v_set1(i == j);
  pz_winograd_forward(apart, m, r, k, x, 2);
  for (int32_t i = 0; i < a; ++i) {
    pz_winograd_input_row(m, r, i, row);
    assert_true((double)x[2 * i][0] == pz_rational_value(row[j]));
  }
}

/* The code of transforms.h does what the matrices say. */
static void test_transforms(void **state) {
  (void)state;
  for (int32_t m = 1; m <= 6; m += m == 1 ? 1 : 2)
    for (int32_t r = 3; r <= 5; r += 2) {
      const int32_t a = m + r - 1;
      for (int32_t j = 0; j < a; ++j) {
        pz_v x[2 * PZ_WINOGRAD_MOST_A];
        pz_rational row[PZ_WINOGRAD_MOST_A];
        for (int how = 0; how < 4; ++how) check_forward(m, r, j, how & 1, how >> 1);
        for (int32_t i = 0; i < a; ++i) x[2 * i] = pz_v_set1(i == j);
        pz_winograd_back(m, r, x, 2);
        for (int32_t o = 0; o < m; ++o) {
          pz_winograd_output_row(m, r, o, row);
          assert_true((double)x[2 * o][0] == pz_rational_value(row[j]));
        }
      }
    }
}

/* And G's rows but the first and the last, in floats, of weights whose first has the first row's factor already. */
static void test_spread(void **state) {
  (void)state;
  for (int32_t m = 2; m <= 6; m += 2)
    for (int32_t r = 3; r <= 5; r += 2)
      for (int32_t k = 0; k < r; ++k) {
        pz_v g[PZ_WINOGRAD_MOST_R], x[PZ_WINOGRAD_MOST_A];
        pz_rational row[PZ_WINOGRAD_MOST_R];
        pz_winograd_weight_row(m, r, 0, row);
        for (int32_t i = 0; i < r; ++i)
          g[i] = pz_v_set1(i != k ? 0 : k ? 1 : (float)pz_rational_value(row[0]));
        pz_winograd_spread(m, r, g, x);
        for (int32_t i = 1; i < m + r - 2; ++i) {
          pz_winograd_weight_row(m, r, i, row);
          const double want = pz_rational_value(row[k]);
          assert_true(fabs((double)x[i][0] - want) <= 1.3e-7 * fabs(want));
        }
      }
}

/* Of F(m,m,m) with `channels` channels on 64^3, in batches of `tiles`. */
static pz_winograd_shape scheduled(int32_t m, int32_t channels, int32_t tiles, int64_t l2) {
  pz_winograd_shape s = {.m = {m, m, m}};
  s.conv.in = (pz_view){.n = 1, .c = channels, .d = 66, .h = 66, .w = 66, .block = PZ_S};
  s.conv.out = (pz_view){.n = 1, .c = channels, .d = 64, .h = 64, .w = 64, .block = PZ_S};
  for (int i = 0; i < 3; ++i) s.conv.kernel[i] = 3;
  pz_winograd_schedule(
      &s, &(pz_conv_machine){.registers = PZ_V_REGISTERS, .lanes = PZ_V_HAS_LANES, .l1 = 48 << 10, .l2 = l2},
      tiles);
  return s;
}

static int32_t far_of(int32_t m, int32_t channels, int32_t tiles, int64_t l2) {
  return scheduled(m, channels, tiles, l2).far;
}

/* Weights of 864 KiB beside slots of 350 KB; few weights; all tiles at once. */
static void test_far(void **state) {
  (void)state;
  assert_int_equal(far_of(4, 32, 12, 2 << 20), 0);
  assert_int_equal(far_of(4, 32, 12, 1 << 20), 1);
  assert_int_equal(far_of(4, 32, 48, 2 << 20), 1);
  assert_int_equal(far_of(2, 16, 12, 64 << 10), 0);
  assert_int_equal(far_of(4, 32, 4096, (int64_t)1 << 40), 1);
}

/* Slots of 350 KB and of 700; slices and rows of 43,008 bytes, of level 1's 49,152. */
static void test_near(void **state) {
  (void)state;
  assert_int_equal(scheduled(4, 32, 12, 512 << 10).near, 1);
  assert_int_equal(scheduled(4, 32, 24, 512 << 10).near, 0);
  pz_winograd_shape s = scheduled(4, 32, 12, 512 << 10);
  s.m[0] = 6;
  pz_winograd_schedule(
      &s,
      &(pz_conv_machine){.registers = PZ_V_REGISTERS, .lanes = PZ_V_HAS_LANES, .l1 = 48 << 10, .l2 = 1 << 20},
      12);
  assert_int_equal(s.near, PZ_S < 16);
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_factors), cmocka_unit_test(test_transforms),
                                     cmocka_unit_test(test_spread), cmocka_unit_test(test_far),
                                     cmocka_unit_test(test_near)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
