/* emulated.h: what amx.h and avx512.h have, in C, for tests of kernels on a CPU that lacks AVX-512 or AMX (cmake -DPZ_EMULATED=ON). Slow: never in a
 * network file.
 *
 * Contract: that of the two headers. Tiles are those of a thread. */
#ifndef PZ_KERNELS_ISA_EMULATED_H
#define PZ_KERNELS_ISA_EMULATED_H

#include "kernels/vec.h"

/* ---- avx512.h ---- */

typedef uint32_t pz_bf16s __attribute__((vector_size(64), may_alias));

PZ_INLINE pz_bf16s pz_bf16s_zero(void) { return (pz_bf16s){0}; }
PZ_INLINE pz_bf16s pz_bf16s_load(const void *p) { return *(const pz_bf16s *)p; }
PZ_INLINE pz_bf16s pz_bf16s_loadu(const void *p) {
  pz_bf16s x;
  memcpy(&x, p, sizeof x);
  return x;
}
PZ_INLINE void pz_bf16s_store(void *p, pz_bf16s x) { *(pz_bf16s *)p = x; }

/* The bits of the nearest bfloat16 number, ties to even; denormals are zero, NaN stays NaN. */
PZ_INLINE uint32_t pz_emulated_nearest(uint32_t bits) {
  const uint32_t size = bits & 0x7fffffff;
  if (size > 0x7f800000) return bits >> 16 | 0x40;
  if (size < 0x00800000) return bits >> 16 & 0x8000;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
PZ_INLINE pz_bf16s pz_bf16s_nearest(pz_v low, pz_v high) {
  uint32_t from[32];
  uint16_t to[32];
  memcpy(from, &low, 64), memcpy(from + 16, &high, 64);
  for (int i = 0; i < 32; ++i) to[i] = (uint16_t)pz_emulated_nearest(from[i]);
  return pz_bf16s_loadu(to);
}
PZ_INLINE pz_v pz_emulated_half(pz_bf16s x, int32_t first) {
  uint16_t from[32];
  uint32_t to[16];
  pz_v y;
  memcpy(from, &x, 64);
  for (int i = 0; i < 16; ++i) to[i] = (uint32_t)from[first + i] << 16;
  memcpy(&y, to, 64);
  return y;
}
PZ_INLINE pz_v pz_bf16s_low(pz_bf16s x) { return pz_emulated_half(x, 0); }
PZ_INLINE pz_v pz_bf16s_high(pz_bf16s x) { return pz_emulated_half(x, 16); }
PZ_INLINE pz_v pz_v_to_bf16(pz_v x) { return pz_bf16s_low(pz_bf16s_nearest(x, x)); }
PZ_INLINE pz_bf16s pz_bf16s_beside(pz_v a, pz_v b) {
  pz_bf16s x = (pz_bf16s)b;
  for (int i = 0; i < 16; ++i) x[i] = pz_emulated_nearest(x[i]);
  return (pz_bf16s)a | x;
}
PZ_INLINE pz_bf16s pz_bf16s_pick(pz_bf16s z, uint32_t mask, pz_bf16s from, pz_bf16s x) {
  uint16_t to[32], at[32], some[32];
  memcpy(to, &z, 64), memcpy(at, &from, 64), memcpy(some, &x, 64);
  for (int i = 0; i < 32; ++i)
    if (mask >> i & 1) to[i] = some[at[i] & 31];
  return pz_bf16s_loadu(to);
}
#define PZ_V_LANES(first, n) ((uint16_t)(((1u << (n)) - 1) << (first)))
PZ_INLINE pz_v pz_v_load_over(pz_v x, uint16_t mask, const float *p) {
  for (int i = 0; i < 16; ++i)
    if (mask >> i & 1) x[i] = p[i];
  return x;
}
PZ_INLINE pz_v pz_v_load_masked(uint16_t mask, const float *p) { return pz_v_load_over((pz_v){0}, mask, p); }

/* ---- amx.h ---- */

static _Thread_local struct {
  uint8_t of[8][16][64], rows[8];
  uint16_t bytes[8]; /* of a row */
} pz_emulated_tiles;

PZ_INLINE void pz_emulated_config(const void *config) {
  memcpy(pz_emulated_tiles.bytes, (const char *)config + 16, sizeof pz_emulated_tiles.bytes);
  memcpy(pz_emulated_tiles.rows, (const char *)config + 48, sizeof pz_emulated_tiles.rows);
  memset(pz_emulated_tiles.of, 0, sizeof pz_emulated_tiles.of);
}
PZ_INLINE void pz_emulated_load(int t, const void *from, int64_t apart) {
  memset(pz_emulated_tiles.of[t], 0, sizeof pz_emulated_tiles.of[t]);
  for (int i = 0; i < pz_emulated_tiles.rows[t]; ++i)
    memcpy(pz_emulated_tiles.of[t][i], (const char *)from + i * apart, pz_emulated_tiles.bytes[t]);
}
PZ_INLINE void pz_emulated_store(int t, void *to, int64_t apart) {
  for (int i = 0; i < pz_emulated_tiles.rows[t]; ++i)
    memcpy((char *)to + i * apart, pz_emulated_tiles.of[t][i], pz_emulated_tiles.bytes[t]);
}
/* Denormals count as zero. */
PZ_INLINE float pz_emulated_float(uint32_t bits) {
  float x;
  if ((bits & 0x7f800000) == 0) bits &= 0x80000000;
  memcpy(&x, &bits, 4);
  return x;
}
/* As the manual of amx.h says: first and second numbers of pairs are summed apart, from zero, then both are added to the sum. */
PZ_INLINE void pz_emulated_multiply(int sums, int a, int b) {
  for (int m = 0; m < pz_emulated_tiles.rows[sums]; ++m)
    for (int n = 0; n < pz_emulated_tiles.bytes[sums] / 4; ++n) {
      float first = 0, second = 0, sum;
      for (int k = 0; k < pz_emulated_tiles.bytes[a] / 4; ++k) {
        uint32_t x, y;
        memcpy(&x, pz_emulated_tiles.of[a][m] + 4 * k, 4);
        memcpy(&y, pz_emulated_tiles.of[b][k] + 4 * n, 4);
        first = __builtin_fmaf(pz_emulated_float(x << 16), pz_emulated_float(y << 16), first);
        second = __builtin_fmaf(pz_emulated_float(x & 0xffff0000), pz_emulated_float(y & 0xffff0000), second);
      }
      memcpy(&sum, pz_emulated_tiles.of[sums][m] + 4 * n, 4);
      sum += first + second;
      memcpy(pz_emulated_tiles.of[sums][m] + 4 * n, &sum, 4);
    }
}

#define _tile_loadconfig(config)    pz_emulated_config(config)
#define _tile_release()             ((void)0)
#define _tile_zero(t)               memset(pz_emulated_tiles.of[t], 0, sizeof pz_emulated_tiles.of[t])
#define _tile_loadd(t, from, apart) pz_emulated_load(t, from, apart)
#define _tile_stored(t, to, apart)  pz_emulated_store(t, to, apart)
#define _tile_dpbf16ps(sums, a, b)  pz_emulated_multiply(sums, a, b)

#endif
