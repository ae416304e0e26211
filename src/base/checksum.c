#include "base/checksum.h"
#include <string.h>

/* Words of 8 bytes go to eight lanes in turn. A step is a bijection of the lane for each word, and of the word for each
 * lane, so that a change of one word changes the lane, and no later word undoes that; nor does the sum of all. The multiplication carries a
 * change upward, the rotation brings it down again: without it the highest bits of two words would cancel. Eight lanes,
 * because a step takes five cycles (xor 1, multiply 3, rotate 1) and one can begin in every cycle. */
#define LANES  PZ_CHECKSUM_LANES
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

void pz_checksum_begin(pz_checksum_state *state, uint64_t n, uint64_t seed) {
  state->sum = step(seed, n);
  state->held = 0;
  for (int i = 0; i < LANES; i++) state->lane[i] = (uint64_t)(i + 1) * FACTOR;
}

/* Lanes in variables of their own, so that they stay in registers. */
static void add_blocks(pz_checksum_state *state, const uint8_t *p, size_t blocks) {
  uint64_t lane[LANES];
  memcpy(lane, state->lane, sizeof lane);
  for (; blocks > 0; blocks--, p += sizeof state->bytes) {
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++) lane[i] = step(lane[i], load_le(p + 8 * i));
  }
  memcpy(state->lane, lane, sizeof lane);
}

void pz_checksum_add(pz_checksum_state *state, const void *bytes, size_t n) {
  const size_t block = sizeof state->bytes;
  const uint8_t *p = bytes;
  if (state->held > 0) {
    const size_t take = n < block - state->held ? n : block - state->held;
    memcpy(state->bytes + state->held, p, take);
    state->held += take, p += take, n -= take;
    if (state->held < block) return;
    add_blocks(state, state->bytes, 1);
  }
  add_blocks(state, p, n / block);
  state->held = n % block;
  memcpy(state->bytes, p + n / block * block, state->held);
}

uint64_t pz_checksum_end(pz_checksum_state *state) {
  uint64_t sum = state->sum;
  memset(state->bytes + state->held, 0, sizeof state->bytes - state->held);
  add_blocks(state, state->bytes, 1);
  for (int i = 0; i < LANES; i++) sum = step(sum, state->lane[i]);
  return step(sum, sum >> 32);
}

uint64_t pz_checksum(const void *bytes, size_t n, uint64_t seed) {
  pz_checksum_state state;
  pz_checksum_begin(&state, n, seed);
  pz_checksum_add(&state, bytes, n);
  return pz_checksum_end(&state);
}
