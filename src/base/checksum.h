/* checksum.h: a fast 64-bit checksum against damage (a flipped bit, a lost block), not against intent: for that there
 * is digest.h. Several times faster than memory can be read from disk, so that opening a network file stays cheap. */
#ifndef PZ_BASE_CHECKSUM_H
#define PZ_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of n bytes. The checksum of one part is the seed of the next; how bytes are cut into parts matters. Damage within
 * one word of 8 bytes (counted from the part's begin) is found for certain, other damage with probability 1 - 2^-64. */
uint64_t pz_checksum(const void *bytes, size_t n, uint64_t seed);

/* The same of a part whose bytes come piece by piece, of any sizes, n in all. */
#define PZ_CHECKSUM_LANES 8
typedef struct pz_checksum_state {
  uint64_t lane[PZ_CHECKSUM_LANES], sum;
  size_t held;
  uint8_t bytes[8 * PZ_CHECKSUM_LANES]; /* `held` of them wait for more */
} pz_checksum_state;
void pz_checksum_begin(pz_checksum_state *state, uint64_t n, uint64_t seed);
void pz_checksum_add(pz_checksum_state *state, const void *bytes, size_t n);
uint64_t pz_checksum_end(pz_checksum_state *state);

#endif
