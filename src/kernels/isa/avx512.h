/* avx512.h: what AVX-512 has for bfloat16 numbers and for 16-bit values (AVX512-BF16, AVX512-BW), beside vec.h.
 *
 * Contract. PZ_S is 16. A bfloat16 number is the upper half of a float. Rounding is to the nearest, ties to even; what is denormal
 * becomes zero, infinities and NaN stay what they are. Memory is aligned to 64 bytes where a name does not say otherwise. */
#ifndef PZ_KERNELS_ISA_AVX512_H
#define PZ_KERNELS_ISA_AVX512_H

#include "kernels/vec.h"

#ifdef PZ_EMULATED
#include "kernels/isa/emulated.h"
#else
/* 32 bfloat16 numbers, or other values of 16 bits. */
typedef __m512i pz_bf16s;

PZ_INLINE pz_bf16s pz_bf16s_zero(void) { return _mm512_setzero_si512(); }
PZ_INLINE pz_bf16s pz_bf16s_load(const void *p) { return _mm512_load_si512(p); }
PZ_INLINE pz_bf16s pz_bf16s_loadu(const void *p) { return _mm512_loadu_si512(p); }
PZ_INLINE void pz_bf16s_store(void *p, pz_bf16s x) { _mm512_store_si512(p, x); }

/* The nearest to each lane of two vectors, `low` first; and the floats that they are. */
PZ_INLINE pz_bf16s pz_bf16s_nearest(pz_v low, pz_v high) {
  return (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
}
PZ_INLINE pz_v pz_bf16s_low(pz_bf16s x) {
  return (pz_v)_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(x)), 16));
}
PZ_INLINE pz_v pz_bf16s_high(pz_bf16s x) {
  return (pz_v)_mm512_castsi512_ps(
      _mm512_and_si512(_mm512_permutexvar_epi16(_mm512_set_epi16(31, 31, 30, 30, 29, 29, 28, 28, 27, 27, 26,
                                                                 26, 25, 25, 24, 24, 23, 23, 22, 22, 21, 21,
                                                                 20, 20, 19, 19, 18, 18, 17, 17, 16, 16),
                                                x),
                       _mm512_set1_epi32((int)0xffff0000)));
}

/* The nearest bfloat16 number to each lane, as a float. */
PZ_INLINE pz_v pz_v_to_bf16(pz_v x) {
  return pz_bf16s_low(_mm512_castsi256_si512((__m256i)_mm512_cvtneps_pbh((__m512)x)));
}
/* Of each lane: the nearest to b, and behind it a, which is one. */
PZ_INLINE pz_bf16s pz_bf16s_beside(pz_v a, pz_v b) {
  return _mm512_or_si512(_mm512_castps_si512((__m512)a),
                         _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)b)));
}

/* Value from[i] of x where bit i of the mask is set, else that of z. */
PZ_INLINE pz_bf16s pz_bf16s_pick(pz_bf16s z, uint32_t mask, pz_bf16s from, pz_bf16s x) {
  return _mm512_mask_permutexvar_epi16(z, mask, from, x);
}

/* Lanes whose bit of the mask is set from anywhere; nothing else is read. The others: zero, or those of x. */
PZ_INLINE pz_v pz_v_load_masked(uint16_t mask, const float *p) {
  return (pz_v)_mm512_maskz_loadu_ps((__mmask16)mask, p);
}
PZ_INLINE pz_v pz_v_load_over(pz_v x, uint16_t mask, const float *p) {
  return (pz_v)_mm512_mask_loadu_ps((__m512)x, (__mmask16)mask, p);
}
#endif

#endif
