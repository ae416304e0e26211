/* checksum.h: a fast 64-bit checksum against damage (a flipped bit, a lost block), not against intent: for that there
 * is digest.h. Several times faster than memory can be read from disk, so that opening a network file stays cheap. */
#ifndef PZ_BASE_CHECKSUM_H
#define PZ_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of n bytes. The checksum of one part is the seed of the next; how bytes are cut into parts matters. Damage within
 * one word of 8 bytes (counted from the part's begin) is found for certain, other damage with probability 1 - 2^-64. */
uint64_t pz_checksum(const void *bytes, size_t n, uint64_t seed);

#endif
