/* digest_blocks.h: the rounds of SHA-256 (FIPS 180-4, 6.2.2), the same bits by two ways. */
#ifndef PZ_BASE_DIGEST_BLOCKS_H
#define PZ_BASE_DIGEST_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of blocks of 64 bytes, n of them. */
void pz_digest_blocks_plain(uint32_t state[8], const uint8_t *blocks, size_t n);

/* By x86-64's instructions for it (SHA extensions), where pz_digest_has_sha; fifteen times as fast. */
void pz_digest_blocks_sha(uint32_t state[8], const uint8_t *blocks, size_t n);
bool pz_digest_has_sha(void);

#endif
