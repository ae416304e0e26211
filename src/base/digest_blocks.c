/* Section numbers are those of FIPS 180-4. */
#include "base/digest_blocks.h"

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

/* 6.2.2: v[0..7] are a..h. */
static void one_block(uint32_t state[8], const uint8_t *block) {
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

void pz_digest_blocks_plain(uint32_t state[8], const uint8_t *blocks, size_t n) {
  for (size_t i = 0; i < n; i++) one_block(state, blocks + 64 * i);
}

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>

static bool sha;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void look(void) {
  unsigned a, b, c, d;
  sha = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3") &&
        __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}
bool pz_digest_has_sha(void) {
  pthread_once(&once, look);
  return sha;
}

#define SHA __attribute__((target("sha,sse4.1,ssse3")))

/* Four rounds. Registers hold a, b, e, f and c, d, g, h, a and c highest; after two rounds the old a, b, e, f are the new c, d, g, h. */
SHA static inline void four_rounds(__m128i *abef, __m128i *cdgh, __m128i w, int t) {
  const __m128i sums = _mm_add_epi32(w, _mm_loadu_si128((const __m128i *)(const void *)(constants + t)));
  *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sums);
  *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sums, 0x0e));
}

/* Words t..t+3 of the schedule from the sixteen before, four in each vector. */
SHA static inline __m128i schedule(const __m128i w[4]) {
  const __m128i seven_back = _mm_alignr_epi8(w[3], w[2], 4);
  return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), seven_back), w[3]);
}

SHA static inline __m128i load_four(const uint8_t *p) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), big_endian);
}

SHA void pz_digest_blocks_sha(uint32_t state[8], const uint8_t *blocks, size_t n) {
  __m128i *at = (__m128i *)(void *)state;
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(at), 0xb1), /* named from the highest word */
      efgh = _mm_shuffle_epi32(_mm_loadu_si128(at + 1), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (size_t i = 0; i < n; i++, blocks += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int t = 0; t < 4; t++) four_rounds(&abef, &cdgh, w[t] = load_four(blocks + 16 * t), 4 * t);
    for (int t = 16; t < 64; t += 4) {
      const __m128i next = schedule(w);
      w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
      four_rounds(&abef, &cdgh, next, t);
    }
    abef = _mm_add_epi32(abef, abef_before), cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(at, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(at + 1, _mm_alignr_epi8(dchg, feba, 8));
}
#else
bool pz_digest_has_sha(void) { return false; }
void pz_digest_blocks_sha(uint32_t state[8], const uint8_t *blocks, size_t n) {
  pz_digest_blocks_plain(state, blocks, n);
}
#endif
