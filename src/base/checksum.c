#include "base/checksum.h"
#include <string.h>

/* Words of 8 bytes go to eight lanes in turn. A step is a bijection of the lane for each word, and of the word for each
 * lane, so that a change of one word changes the lane, and no later word undoes that; nor does the sum of all. The multiplication carries a
 * change upward, the rotation brings it down again: without it the highest bits of two words would cancel. Eight lanes,
 * because a step takes five cycles (xor 1, multiply 3, rotate 1) and one can begin in every cycle. */
#define LANES  8
#define FACTOR UINT64_C(0x9e3779b97f4a7c15) /* 2^64 divided by the golden ratio, odd */

static uint64_t load_le(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

static inline uint64_t step(uint64_t lane, uint64_t word) {
  const uint64_t product = (lane ^ word) * FACTOR;
  return product << 32 | product >> 32;
}

uint64_t pz_checksum(const void *bytes, size_t n, uint64_t seed) {
  const uint8_t *p = bytes;
  uint64_t lane[LANES], sum = step(seed, n);
  uint8_t last[8 * LANES] = {0};
  size_t left = n;
  for (int i = 0; i < LANES; i++) lane[i] = (uint64_t)(i + 1) * FACTOR;
  for (; left >= sizeof last; p += sizeof last, left -= sizeof last) {
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++) lane[i] = step(lane[i], load_le(p + 8 * i));
  }
  memcpy(last, p, left);
  for (int i = 0; i < LANES; i++) lane[i] = step(lane[i], load_le(last + 8 * i));
  for (int i = 0; i < LANES; i++) sum = step(sum, lane[i]);
  return step(sum, sum >> 32);
}
