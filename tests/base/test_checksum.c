/* Damage that a weak sum would pass: every single bit, pairs of the highest bits, exchanged words, zeros at the end. */
#include "unit.h"
#include "base/checksum.h"
#include <stdlib.h>
#include <string.h>

enum { SIZE = 400 };
static unsigned char bytes[SIZE];

static int fill(void **state) {
  (void)state;
  srand(3);
  for (size_t i = 0; i < SIZE; i++) bytes[i] = (unsigned char)rand();
  return 0;
}

/* Files carry sums: they stay the same. tests/tool/case.py computes them a second way. */
static void fixed_values(void **state) {
  (void)state;
  const char text[] = "a network file";
  assert_int_equal(pz_checksum("", 0, 0), UINT64_C(0x52a3d8867b35a9d2));
  assert_int_equal(pz_checksum(text, sizeof text - 1, 0), UINT64_C(0xb3445630bdd91b7d));
  assert_int_not_equal(pz_checksum(text, sizeof text - 1, 1), UINT64_C(0xb3445630bdd91b7d));
}

static void every_bit_counts(void **state) {
  (void)state;
  for (size_t n = 0; n <= SIZE; n += n < 140 ? 1 : 37) {
    const uint64_t sum = pz_checksum(bytes, n, 7);
    for (size_t bit = 0; bit < 8 * n; bit++) {
      bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
      assert_int_not_equal(pz_checksum(bytes, n, 7), sum);
      bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
  }
}

static void pairs_do_not_cancel(void **state) {
  (void)state;
  const uint64_t sum = pz_checksum(bytes, SIZE, 0);
  for (size_t bit = 0; bit < 64; bit++)
    for (size_t i = 0; i < SIZE / 8; i++)
      for (size_t k = 0; k < i; k++) {
        const unsigned char mask = (unsigned char)(1 << bit % 8);
        bytes[8 * i + bit / 8] ^= mask, bytes[8 * k + bit / 8] ^= mask;
        assert_int_not_equal(pz_checksum(bytes, SIZE, 0), sum);
        bytes[8 * i + bit / 8] ^= mask, bytes[8 * k + bit / 8] ^= mask;
      }
}

static void order_and_length_count(void **state) {
  (void)state;
  const uint64_t sum = pz_checksum(bytes, SIZE, 0);
  unsigned char other[SIZE], zeros[SIZE] = {0};
  for (size_t i = 0; i < SIZE / 8; i++)
    for (size_t k = 0; k < i; k++) {
      memcpy(other, bytes, SIZE);
      memcpy(other + 8 * i, bytes + 8 * k, 8);
      memcpy(other + 8 * k, bytes + 8 * i, 8);
      assert_int_not_equal(pz_checksum(other, SIZE, 0), sum);
    }
  for (size_t n = 1; n <= SIZE; n++)
    for (size_t m = 0; m < n; m++) assert_int_not_equal(pz_checksum(zeros, n, 0), pz_checksum(zeros, m, 0));
}

/* In pieces of any sizes the same sum comes out. */
static void pieces_do_not_count(void **state) {
  (void)state;
  for (size_t n = 0; n <= SIZE; n++) {
    pz_checksum_state s;
    pz_checksum_begin(&s, n, 11);
    for (size_t at = 0, take; at < n; at += take) {
      take = (size_t)rand() % 150;
      if (take > n - at) take = n - at;
      pz_checksum_add(&s, bytes + at, take);
    }
    assert_int_equal(pz_checksum_end(&s), pz_checksum(bytes, n, 11));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fixed_values),        cmocka_unit_test(every_bit_counts),
      cmocka_unit_test(pairs_do_not_cancel), cmocka_unit_test(order_and_length_count),
      cmocka_unit_test(pieces_do_not_count),
  };
  return cmocka_run_group_tests(tests, fill, NULL);
}
