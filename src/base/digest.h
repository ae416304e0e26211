/* digest.h: SHA-256 (FIPS 180-4), the identity of models, weights and inputs. */
#ifndef PZ_BASE_DIGEST_H
#define PZ_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define PZ_DIGEST_BYTES 32
#define PZ_DIGEST_TEXT  (2 * PZ_DIGEST_BYTES + 1)

typedef struct pz_digest {
  uint32_t state[8];
  uint64_t size; /* bytes so far */
  uint8_t block[64];
} pz_digest;

void pz_digest_begin(pz_digest *digest);
void pz_digest_add(pz_digest *digest, const void *bytes, size_t n);
void pz_digest_end(pz_digest *digest, uint8_t out[PZ_DIGEST_BYTES]);

/* In lower-case hexadecimal. */
void pz_digest_end_text(pz_digest *digest, char out[PZ_DIGEST_TEXT]);
void pz_digest_text(const void *bytes, size_t n, char out[PZ_DIGEST_TEXT]);

#endif
