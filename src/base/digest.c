/* None of the libraries that pznet already needs offers a digest without collisions (zlib has checksums only), and one
 * function is no reason to add a library of cryptography. Section numbers are those of FIPS 180-4. */
#include "base/digest.h"
#include <string.h>

/* 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* 5.3.3: of the square roots of the first eight primes. */
static const uint32_t initial[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

/* 4.1.2 */
static uint32_t ch(uint32_t x, uint32_t y, uint32_t z) { return (x & y) ^ (~x & z); }
static uint32_t maj(uint32_t x, uint32_t y, uint32_t z) { return (x & y) ^ (x & z) ^ (y & z); }
static uint32_t sum0(uint32_t x) { return rotr(x, 2) ^ rotr(x, 13) ^ rotr(x, 22); }
static uint32_t sum1(uint32_t x) { return rotr(x, 6) ^ rotr(x, 11) ^ rotr(x, 25); }
static uint32_t sigma0(uint32_t x) { return rotr(x, 7) ^ rotr(x, 18) ^ x >> 3; }
static uint32_t sigma1(uint32_t x) { return rotr(x, 17) ^ rotr(x, 19) ^ x >> 10; }

static uint32_t load_be(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
static void store_be(uint8_t *p, uint32_t x) {
  for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> (24 - 8 * i));
}

/* 6.2.2: v[0..7] are a..h. */
static void compress(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64], v[8];
  for (int t = 0; t < 16; t++) w[t] = load_be(block + 4 * t);
  for (int t = 16; t < 64; t++) w[t] = sigma1(w[t - 2]) + w[t - 7] + sigma0(w[t - 15]) + w[t - 16];
  memcpy(v, state, sizeof v);
  for (int t = 0; t < 64; t++) {
    uint32_t t1 = v[7] + sum1(v[4]) + ch(v[4], v[5], v[6]) + constants[t] + w[t];
    uint32_t t2 = sum0(v[0]) + maj(v[0], v[1], v[2]);
    memmove(v + 1, v, 7 * sizeof v[0]);
    v[4] += t1;
    v[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
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
    compress(digest->state, digest->block);
  }
  for (; n >= 64; p += 64, n -= 64) compress(digest->state, p);
  if (n > 0) memcpy(digest->block, p, n);
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
