/* avx512.h and amx.h against scalar code: bfloat16 numbers of random bits, of all kinds; products of tiles with all numbers of rows, as
 * exact as sums of small whole numbers are. */
#include "kernels/conv_bf16x2/pack.h"
#include "kernels/isa/amx.h"
#include "kernels/isa/avx512.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
static bool same(float a, float b) { return isnan(b) ? isnan(a) : a == b && signbit(a) == signbit(b); }

/* As the instructions round: denormals are zero. */
static float nearest(float x) {
  if (fpclassify(x) == FP_SUBNORMAL) return copysignf(0.0f, x);
  return pz_bf16x2_nearest(x);
}

static void random_vector(pz_test_random *r, float to[16]) {
  static const uint32_t some[8] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                   0x7fc00000, 1,          0x7f7fffff, 0x3f808000};
  for (int i = 0; i < 16; ++i)
    to[i] = from_bits(pz_test_int(r, 0, 3) ? pz_test_next(r) : some[pz_test_int(r, 0, 7)]);
}

static void test_bf16s(void **state) {
  (void)state;
  pz_test_random r = {.state = 16};
  for (int i = 0; i < 20000; ++i) {
    _Alignas(64) float low[16], high[16], got[16];
    random_vector(&r, low), random_vector(&r, high);
    const pz_bf16s both = pz_bf16s_nearest(pz_v_load(low), pz_v_load(high));
    for (int half = 0; half < 2; ++half) {
      pz_v_store(got, half ? pz_bf16s_high(both) : pz_bf16s_low(both));
      for (int k = 0; k < 16; ++k) assert_true(same(got[k], nearest(half ? high[k] : low[k])));
    }
    const pz_v first = pz_v_to_bf16(pz_v_load(low));
    _Alignas(64) uint16_t beside[32];
    pz_bf16s_store(beside, pz_bf16s_beside(first, pz_v_load(high)));
    for (int k = 0; k < 16; ++k) {
      assert_true(same(from_bits((uint32_t)beside[2 * k + 1] << 16), nearest(low[k])));
      assert_true(same(from_bits((uint32_t)beside[2 * k] << 16), nearest(high[k])));
    }
  }
}

static void test_pick(void **state) {
  (void)state;
  pz_test_random r = {.state = 32};
  _Alignas(64) uint16_t z[32], from[32], x[32], got[32];
  for (int i = 0; i < 2000; ++i) {
    const uint32_t mask = pz_test_next(&r);
    for (int k = 0; k < 32; ++k)
      z[k] = (uint16_t)pz_test_next(&r), from[k] = (uint16_t)pz_test_int(&r, 0, 31),
      x[k] = (uint16_t)pz_test_next(&r);
    pz_bf16s_store(got, pz_bf16s_pick(pz_bf16s_loadu(z), mask, pz_bf16s_load(from), pz_bf16s_load(x)));
    for (int k = 0; k < 32; ++k) assert_int_equal(got[k], mask >> k & 1 ? x[from[k]] : z[k]);
  }
}

/* Lanes that are left out lie behind a guard page. */
static void test_masked(void **state) {
  (void)state;
  pz_test_random r = {.state = 5};
  pz_test_memory m = pz_test_alloc(16, false);
  for (int32_t n = 0; n <= 16; ++n) {
    const float *from = m.data + 16 - n;
    const uint16_t mask = (uint16_t)((1u << n) - 1);
    for (int i = 0; i < 16; ++i) m.data[i] = pz_test_float(&r, -1, 1);
    const pz_v zeros = pz_v_load_masked(mask, from), over = pz_v_load_over(pz_v_set1(7), mask, from);
    for (int k = 0; k < 16; ++k) {
      assert_true(zeros[k] == (k < n ? from[k] : 0.0f));
      assert_true(over[k] == (k < n ? from[k] : 7.0f));
    }
  }
  pz_test_free(&m);
}

static uint16_t bf16_of(float x) { return pz_bf16x2_of(x, 0); }

/* Whole numbers up to 64, of which sums of 32 products are exact. Rows of inputs lie `apart` values apart. */
static void test_tiles(void **state) {
  (void)state;
  pz_test_random r = {.state = 8};
  for (int32_t rows = 1; rows <= 16; ++rows)
    for (int32_t apart = 32; apart <= 40; apart += 8) {
      _Alignas(64) uint16_t in[16 * 40], weights[16 * 32];
      _Alignas(64) float sums[PZ_TILE_SUMS * PZ_TILE_FLOATS];
      for (int i = 0; i < 16 * 40; ++i) in[i] = bf16_of((float)pz_test_int(&r, -64, 64));
      for (int i = 0; i < 16 * 32; ++i) weights[i] = bf16_of((float)pz_test_int(&r, -64, 64));
      pz_tiles_begin(rows);
      pz_tiles_zero_sums();
      PZ_MEMORY_PIN();
      if (apart == 32) PZ_TILE_LOAD(4, in);
      else PZ_TILE_LOAD_ROWS(4, in, 80);
      PZ_TILE_LOAD(7, weights);
      PZ_TILE_MULTIPLY(0, 4, 7);
      PZ_TILE_MULTIPLY(2, 4, 7);
      PZ_TILE_MULTIPLY(2, 4, 7);
      pz_tiles_store_sums(sums);
      PZ_MEMORY_PIN();
      pz_tiles_end();
      for (int32_t i = 0; i < 16; ++i)
        for (int32_t j = 0; j < 16; ++j) {
          double want = 0;
          for (int32_t k = 0; k < 2 * rows; ++k)
            want += (double)from_bits((uint32_t)in[i * apart + k] << 16) *
                    (double)from_bits((uint32_t)weights[k / 2 * 32 + 2 * j + k % 2] << 16);
          const float *got = sums + i * 16 + j;
          assert_true((double)got[0] == want && got[PZ_TILE_FLOATS] == 0.0f);
          assert_true((double)got[2 * PZ_TILE_FLOATS] == 2 * want && got[3 * PZ_TILE_FLOATS] == 0.0f);
        }
    }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bf16s), cmocka_unit_test(test_pick),
                                     cmocka_unit_test(test_masked), cmocka_unit_test(test_tiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
