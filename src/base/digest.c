/* None of the libraries that pznet already needs offers a digest without collisions (zlib has checksums only), and one
 * function is no reason to add a library of cryptography. Section numbers are those of FIPS 180-4. */
#include "base/digest.h"

#include "base/digest_blocks.h"

#include <string.h>

/* 5.3.3: of the square roots of the first eight primes. */
static const uint32_t initial[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static void store_be(uint8_t *p, uint32_t x) {
  for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void compress(uint32_t state[8], const uint8_t *blocks, size_t n) {
  if (pz_digest_has_sha()) pz_digest_blocks_sha(state, blocks, n);
  else pz_digest_blocks_plain(state, blocks, n);
}

void pz_digest_begin(pz_digest *digest) {
  memcpy(digest->state, initial, sizeof initial);
  digest->size = 0;
}

void pz_digest_add(pz_digest *digest, const void *bytes, size_t n) {
  const uint8_t *p = bytes;
  size_t held = digest->size % 64;
  digest->size += n;
  if (held > 0) {
    size_t take = n < 64 - held ? n : 64 - held;
    memcpy(digest->block + held, p, take);
    p += take, n -= take;
    if (held + take < 64) return;
    compress(digest->state, digest->block, 1);
  }
  compress(digest->state, p, n / 64);
  if (n % 64 > 0) memcpy(digest->block, p + n / 64 * 64, n % 64);
}

/* 5.1.1: a one bit, zeros, the length in bits as 64-bit big-endian number. */
void pz_digest_end(pz_digest *digest, uint8_t out[PZ_DIGEST_BYTES]) {
  static const uint8_t padding[64] = {0x80};
  uint8_t length[8];
  uint64_t bits = digest->size * 8;
  store_be(length, (uint32_t)(bits >> 32));
  store_be(length + 4, (uint32_t)bits);
  pz_digest_add(digest, padding, 1 + (119 - digest->size % 64) % 64);
  pz_digest_add(digest, length, 8);
  for (int i = 0; i < 8; i++) store_be(out + 4 * i, digest->state[i]);
}

void pz_digest_end_text(pz_digest *digest, char out[PZ_DIGEST_TEXT]) {
  static const char digits[] = "0123456789abcdef";
  uint8_t raw[PZ_DIGEST_BYTES];
  pz_digest_end(digest, raw);
  for (int i = 0; i < PZ_DIGEST_BYTES; i++) {
    out[2 * i] = digits[raw[i] >> 4];
    out[2 * i + 1] = digits[raw[i] & 15];
  }
  out[2 * PZ_DIGEST_BYTES] = 0;
}

void pz_digest_text(const void *bytes, size_t n, char out[PZ_DIGEST_TEXT]) {
  pz_digest digest;
  pz_digest_begin(&digest);
  pz_digest_add(&digest, bytes, n);
  pz_digest_end_text(&digest, out);
}
