/* vec.h: vectors of PZ_S floats by the compiler's vector extensions: 4 (SSE4, NEON), 8 (AVX2), 16 (AVX-512).
 *
 * Contract. Everything is exact IEEE single precision without reassociation: the same source gives the same bits for
 * one instruction set, whatever the flags (-O level, -ffp-contract), as long as -ffast-math is off. Products and sums
 * that are to be fused are written pz_v_fma, those that are not with operators on separate values.
 * Intrinsics stand only where vector extensions have no word for it (fused multiply-add, min, max, blend). What one instruction set
 * alone has is in kernels/isa/, under names; no other header of the kernels has intrinsics (tests/modules).
 *
 * NaN: arithmetic propagates it. pz_v_max(a, b) and pz_v_min(a, b) are b where the two are unordered, so a NaN in b
 * propagates and one in a does not: write max(constant, x). pz_v_max_nan propagates both. Comparisons in
 * pz_v_select_gt are false for NaN. */
#ifndef PZ_KERNELS_VEC_H
#define PZ_KERNELS_VEC_H

/* gcc's passes that move what is computed, or loaded, out of loops or to other paths find much to move in kernels of constant shapes,
 * and have no registers for it: vectors then go through the stack (doc/notes/2026-11-28-convolutions.md). */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-gcse", "no-tree-loop-im", "no-move-loop-invariants", "no-tree-pre")
#endif

#include "kernels/view.h"

#include <string.h>

#if defined(__SSE4_1__)
#include "kernels/isa/intrinsics.h"
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#ifndef PZ_S
#if defined(__AVX512F__)
#define PZ_S 16
#elif defined(__AVX__)
#define PZ_S 8
#else
#define PZ_S 4
#endif
#endif
#if PZ_S != 4 && PZ_S != 8 && PZ_S != 16
#error "PZ_S, the vector width in floats, must be 4, 8 or 16"
#endif

typedef float pz_v __attribute__((vector_size(4 * PZ_S)));
typedef int32_t pz_vi __attribute__((vector_size(4 * PZ_S)));
typedef uint32_t pz_vbits __attribute__((vector_size(4 * PZ_S)));
/* Half of a vector's lanes, and the same as doubles: a register wide. */
typedef float pz_vh __attribute__((vector_size(2 * PZ_S)));
typedef int32_t pz_vhi __attribute__((vector_size(2 * PZ_S)));
typedef double pz_vd __attribute__((vector_size(4 * PZ_S)));
/* The same in memory among floats: aligned to the vector, or to a float. */
typedef float pz_v_aligned __attribute__((vector_size(4 * PZ_S), may_alias));
typedef float pz_v_anywhere __attribute__((vector_size(4 * PZ_S), aligned(4), may_alias));

/* ---- loops, and what keeps compilers from moving things ---- */

/* In front of a loop with constant bounds: unroll it wholly; never unroll it. A build with sanitizers says that the first is
 * the second. */
#if defined(__clang__)
#define PZ_ROLL _Pragma("clang loop unroll(disable)")
#ifndef PZ_UNROLL
#define PZ_UNROLL _Pragma("clang loop unroll(full)")
#endif
#else
#define PZ_ROLL _Pragma("GCC unroll 1")
#ifndef PZ_UNROLL
/* More than any loop here has. Where gcc does not see that the bounds are constant (at -O1), it copies the body as often
 * as this says; 65534 took it minutes. */
#define PZ_UNROLL _Pragma("GCC unroll 128")
#endif
#endif

/* Emits nothing: x has to be in a register here; no load or store may move across. */
#if defined(__AVX512VL__) || (PZ_S == 16 && defined(__AVX512F__))
#define PZ_V_PIN(x) __asm__ volatile("" : "+v"(x))
#elif PZ_S == 16
#define PZ_V_PIN(x) __asm__ volatile("" : "+m"(x))
#elif defined(__SSE__)
#define PZ_V_PIN(x) __asm__ volatile("" : "+x"(x))
#elif defined(__aarch64__)
#define PZ_V_PIN(x) __asm__ volatile("" : "+w"(x))
#else
#define PZ_V_PIN(x) ((void)(x))
#endif
#define PZ_MEMORY_PIN() __asm__ volatile("" ::: "memory")
/* What a pointer was made from is forgotten: addresses near it are it plus a displacement, not pointers of their own. */
#define PZ_POINTER_PIN(p) __asm__ volatile("" : "+r"(p))

/* gcc takes a loop of two passes apart in spite of PZ_ROLL, but for one whose first number it does not know: this one. For loops whose body is much
 * code. */
PZ_INLINE int32_t pz_rolled(int32_t first) {
#ifndef __clang__
  __asm__("" : "+r"(first));
#endif
  return first;
}

/* Where a loop of `passes` passes, a constant, begins: where it is known to be the only one, it is no loop. */
PZ_INLINE int32_t pz_first_of(int32_t passes) { return passes == 2 ? pz_rolled(0) : 0; }

/* Vector registers of the instruction set. */
#if defined(__AVX512VL__) || defined(__aarch64__) || PZ_S == 16
#define PZ_V_REGISTERS 32
#else
#define PZ_V_REGISTERS 16
#endif

/* ---- memory ---- */

PZ_INLINE pz_v pz_v_load(const float *p) { return *(const pz_v_aligned *)p; }
PZ_INLINE pz_v pz_v_loadu(const float *p) { return *(const pz_v_anywhere *)p; }
PZ_INLINE void pz_v_store(float *p, pz_v x) { *(pz_v_aligned *)p = x; }
PZ_INLINE void pz_v_storeu(float *p, pz_v x) { *(pz_v_anywhere *)p = x; }

/* A store past the caches, and what must follow before another thread may read. */
#if PZ_S == 16 && defined(__AVX512F__)
PZ_INLINE void pz_v_stream(float *p, pz_v x) { _mm512_stream_ps(p, (__m512)x); }
PZ_INLINE void pz_v_stream_end(void) { _mm_sfence(); }
#elif PZ_S == 8 && defined(__AVX__)
PZ_INLINE void pz_v_stream(float *p, pz_v x) { _mm256_stream_ps(p, (__m256)x); }
PZ_INLINE void pz_v_stream_end(void) { _mm_sfence(); }
#elif PZ_S == 4 && defined(__SSE4_1__)
PZ_INLINE void pz_v_stream(float *p, pz_v x) { _mm_stream_ps(p, (__m128)x); }
PZ_INLINE void pz_v_stream_end(void) { _mm_sfence(); }
#else
PZ_INLINE void pz_v_stream(float *p, pz_v x) { pz_v_store(p, x); }
PZ_INLINE void pz_v_stream_end(void) {}
#endif

/* ---- making ---- */

PZ_INLINE pz_v pz_v_zero(void) { return (pz_v){0}; }
PZ_INLINE pz_v pz_v_set1(float x) {
#if PZ_S == 16
  return (pz_v){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
#elif PZ_S == 8
  return (pz_v){x, x, x, x, x, x, x, x};
#else
  return (pz_v){x, x, x, x};
#endif
}
/* In a register from here on, where there are many: a constant that is read from memory takes a load each time. */
PZ_INLINE pz_v pz_v_constant(float x) {
  pz_v y = pz_v_set1(x);
#if PZ_V_REGISTERS >= 32
  PZ_V_PIN(y);
#endif
  return y;
}
/* Read once, whatever it is used for. */
PZ_INLINE pz_v pz_v_load_once(const float *p) {
  pz_v x = pz_v_load(p);
#if PZ_V_REGISTERS >= 32
  PZ_V_PIN(x);
#endif
  return x;
}
PZ_INLINE pz_v pz_v_broadcast(const float *p) { return pz_v_set1(*p); }
/* p[0] .. p[n-1] again and again; n: 4 or S/4. */
PZ_INLINE pz_v pz_v_repeat(const float *p, int32_t n) {
#if PZ_S == 16 && defined(__AVX512F__)
  (void)n;
  return (pz_v)_mm512_broadcast_f32x4(_mm_loadu_ps(p));
#else
  pz_v x;
  PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) x[i] = p[i % n];
  return x;
#endif
}
/* Four floats from each of S/4 places. */
PZ_INLINE pz_v pz_v_fours_at(const float *const *p) {
#if PZ_S == 16 && defined(__AVX512F__)
  const __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p[0])), _mm_loadu_ps(p[1]), 1),
               high = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p[2])), _mm_loadu_ps(p[3]), 1);
  return (pz_v)_mm512_castpd_ps(
      _mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512(low)), _mm256_castps_pd(high), 1));
#else
  pz_v x;
  PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) x[i] = p[i / 4][i % 4];
  return x;
#endif
}
/* p[i] in lanes 4i .. 4i+3. */
PZ_INLINE pz_v pz_v_four_times(const float *p) {
  pz_v x;
#if PZ_S == 16 && defined(__AVX512F__)
  x = (pz_v)_mm512_broadcast_f32x4(_mm_loadu_ps(p));
  return __builtin_shufflevector(x, x, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
#else
  PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) x[i] = p[i / 4];
  return x;
#endif
}
PZ_INLINE pz_vi pz_vi_set1(int32_t x) { return (pz_vi){0} + x; }
/* 0, 1, 2, ... */
PZ_INLINE pz_vi pz_vi_lanes(void) {
#if PZ_S == 16
  return (pz_vi){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif PZ_S == 8
  return (pz_vi){0, 1, 2, 3, 4, 5, 6, 7};
#else
  return (pz_vi){0, 1, 2, 3};
#endif
}

/* ---- bits ---- */

PZ_INLINE pz_v pz_v_from_bits(pz_vi x) { return (pz_v)x; }
PZ_INLINE pz_vi pz_v_bits(pz_v x) { return (pz_vi)x; }
/* Lanes whose mask is all ones from a, those whose mask is zero from b. */
PZ_INLINE pz_v pz_v_select(pz_vi mask, pz_v a, pz_v b) {
#if PZ_S == 4 && defined(__ARM_NEON)
  return (pz_v)vbslq_f32((uint32x4_t)mask, (float32x4_t)a, (float32x4_t)b);
#else
  return (pz_v)((mask & (pz_vi)a) | (~mask & (pz_vi)b));
#endif
}
/* The last lane of x in all lanes. */
PZ_INLINE pz_v pz_v_last(pz_v x) {
#if PZ_S == 16 && defined(__AVX512F__)
  return (pz_v)_mm512_permutexvar_ps(_mm512_set1_epi32(PZ_S - 1), (__m512)x);
#else
  return pz_v_set1(x[PZ_S - 1]);
#endif
}
/* The first n lanes of x, zero in the others. */
PZ_INLINE pz_v pz_v_first(pz_v x, int32_t n) {
  return n >= PZ_S ? x : (pz_v)((pz_vi)x & (pz_vi)(pz_vi_lanes() < pz_vi_set1(n)));
}
PZ_INLINE pz_v pz_v_abs(pz_v x) { return (pz_v)((pz_vi)x & 0x7fffffff); }
/* |x| with the sign of s. */
PZ_INLINE pz_v pz_v_copysign(pz_v x, pz_v s) {
  return (pz_v)(((pz_vi)x & 0x7fffffff) | ((pz_vi)s & INT32_MIN));
}

/* Lanes 0 .. S/2-1 (half 0) or S/2 .. S-1 (half 1) as doubles. */
PZ_INLINE pz_vd pz_v_double(pz_v x, int half) {
  union {
    pz_v whole;
    pz_vh half[2];
  } u = {x};
  return __builtin_convertvector(u.half[half], pz_vd);
}

/* Lanes first .. first+n-1, constants, from and to p[first] ..: nothing else is read or written. The other lanes loaded are 0. */
#if PZ_S == 16 && defined(__AVX512F__)
#define PZ_V_LANES(first, n) ((__mmask16)(((1u << (n)) - 1) << (first)))
PZ_INLINE pz_v pz_v_load_lanes(const float *p, int32_t first, int32_t n) {
  return (pz_v)_mm512_maskz_loadu_ps(PZ_V_LANES(first, n), p);
}
PZ_INLINE void pz_v_store_lanes(float *p, pz_v x, int32_t first, int32_t n) {
  _mm512_mask_storeu_ps(p, PZ_V_LANES(first, n), (__m512)x);
}
#elif PZ_S == 8 && defined(__AVX__)
#define PZ_V_LANES(first, n)                                                                                 \
  ((__m256i)((pz_vi_lanes() >= pz_vi_set1(first)) & (pz_vi_lanes() < pz_vi_set1((first) + (n)))))
PZ_INLINE pz_v pz_v_load_lanes(const float *p, int32_t first, int32_t n) {
  return (pz_v)_mm256_maskload_ps(p, PZ_V_LANES(first, n));
}
PZ_INLINE void pz_v_store_lanes(float *p, pz_v x, int32_t first, int32_t n) {
  _mm256_maskstore_ps(p, PZ_V_LANES(first, n), (__m256)x);
}
#else
PZ_INLINE pz_v pz_v_load_lanes(const float *p, int32_t first, int32_t n) {
  pz_v x = {0};
  PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) if (i >= first && i < first + n) x[i] = p[i];
  return x;
}
PZ_INLINE void pz_v_store_lanes(float *p, pz_v x, int32_t first, int32_t n) {
  PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) if (i >= first && i < first + n) p[i] = x[i];
}
#endif

/* ---- arithmetic (sum, difference, product, quotient: the operators) ---- */

/* One row an instruction set: a*b + c (fused where the set has it), larger, smaller, a > b ? x : y. */
#if PZ_S == 16 && defined(__AVX512F__)
PZ_INLINE pz_v pz_v_fma(pz_v a, pz_v b, pz_v c) {
  return (pz_v)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
PZ_INLINE pz_v pz_v_max(pz_v a, pz_v b) { return (pz_v)_mm512_max_ps((__m512)a, (__m512)b); }
PZ_INLINE pz_v pz_v_min(pz_v a, pz_v b) { return (pz_v)_mm512_min_ps((__m512)a, (__m512)b); }
PZ_INLINE pz_v pz_v_select_gt(pz_v a, pz_v b, pz_v x, pz_v y) {
  return (pz_v)_mm512_mask_blend_ps(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ), (__m512)y,
                                    (__m512)x);
}
#elif PZ_S == 8 && defined(__AVX__)
#ifdef __FMA__
PZ_INLINE pz_v pz_v_fma(pz_v a, pz_v b, pz_v c) {
  return (pz_v)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
#endif
PZ_INLINE pz_v pz_v_max(pz_v a, pz_v b) { return (pz_v)_mm256_max_ps((__m256)a, (__m256)b); }
PZ_INLINE pz_v pz_v_min(pz_v a, pz_v b) { return (pz_v)_mm256_min_ps((__m256)a, (__m256)b); }
PZ_INLINE pz_v pz_v_select_gt(pz_v a, pz_v b, pz_v x, pz_v y) {
  return (pz_v)_mm256_blendv_ps((__m256)y, (__m256)x, _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ));
}
#elif PZ_S == 4 && defined(__SSE4_1__)
#ifdef __FMA__
PZ_INLINE pz_v pz_v_fma(pz_v a, pz_v b, pz_v c) {
  return (pz_v)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
}
#endif
PZ_INLINE pz_v pz_v_max(pz_v a, pz_v b) { return (pz_v)_mm_max_ps((__m128)a, (__m128)b); }
PZ_INLINE pz_v pz_v_min(pz_v a, pz_v b) { return (pz_v)_mm_min_ps((__m128)a, (__m128)b); }
PZ_INLINE pz_v pz_v_select_gt(pz_v a, pz_v b, pz_v x, pz_v y) {
  return (pz_v)_mm_blendv_ps((__m128)y, (__m128)x, _mm_cmpgt_ps((__m128)a, (__m128)b));
}
#else
PZ_INLINE pz_v pz_v_select_gt(pz_v a, pz_v b, pz_v x, pz_v y) { return pz_v_select((pz_vi)(a > b), x, y); }
PZ_INLINE pz_v pz_v_max(pz_v a, pz_v b) { return pz_v_select_gt(a, b, a, b); }
PZ_INLINE pz_v pz_v_min(pz_v a, pz_v b) { return pz_v_select_gt(b, a, a, b); }
#endif

#if defined(__ARM_NEON) && PZ_S == 4
PZ_INLINE pz_v pz_v_fma(pz_v a, pz_v b, pz_v c) {
  return (pz_v)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
#elif !defined(__FMA__) && !(PZ_S == 16 && defined(__AVX512F__))
PZ_INLINE pz_v pz_v_fma(pz_v a, pz_v b, pz_v c) {
  pz_v product = a * b;
  return product + c;
}
#elif defined(PZ_EMULATED) /* kernels/isa/emulated.h */
PZ_INLINE pz_v pz_v_fma(pz_v a, pz_v b, pz_v c) {
  PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
}
#elif defined(__FMA__) && ((PZ_S == 16 && !defined(__AVX512F__)))
#error "PZ_S is wider than this instruction set's vectors"
#endif

/* a * b[lane] + c, lane a constant. Where the set multiplies by a lane (NEON's fmla by element), a vector of inputs is loaded once for S
 * products of each vector of weights; elsewhere a broadcast from memory is cheaper than this. In assembler, so that the sum stays in its register: gcc 12
 * copies it about otherwise, one move for each six products (doc/notes/2026-11-29-neon.md). */
#if defined(__aarch64__) && PZ_S == 4
#define PZ_V_HAS_LANES  1
#define PZ_V_FMLA(lane) __asm__("fmla %0.4s, %1.4s, %2.s[" lane "]" : "+w"(c) : "w"(a), "w"(b))
PZ_INLINE pz_v pz_v_fma_lane(pz_v a, pz_v b, int32_t lane, pz_v c) {
  switch (lane) {
  case 0: PZ_V_FMLA("0"); break;
  case 1: PZ_V_FMLA("1"); break;
  case 2: PZ_V_FMLA("2"); break;
  default: PZ_V_FMLA("3");
  }
  return c;
}
#else
#define PZ_V_HAS_LANES 0
PZ_INLINE pz_v pz_v_fma_lane(pz_v a, pz_v b, int32_t lane, pz_v c) {
  return pz_v_fma(a, pz_v_set1(b[lane]), c);
}
#endif

/* *p as a factor of vectors: in all lanes, or in the first where that is enough; a * x + c of such a one. NEON's load of all lanes takes the turn of a
 * multiply-add, and its address an instruction; gcc 12 would clear the other lanes. */
PZ_INLINE pz_v pz_v_factor(const float *p) {
#if PZ_V_HAS_LANES
  pz_v x;
  __asm__("ldr %s0, %1" : "=w"(x) : "m"(*p));
  return x;
#else
  return pz_v_broadcast(p);
#endif
}
PZ_INLINE pz_v pz_v_fma_factor(pz_v a, pz_v x, pz_v c) {
  return PZ_V_HAS_LANES ? pz_v_fma_lane(a, x, 0, c) : pz_v_fma(a, x, c);
}

/* All ones in the lanes in which a or b is NaN. */
PZ_INLINE pz_vi pz_v_unordered(pz_v a, pz_v b) {
#if PZ_S == 16 && defined(__AVX512DQ__)
  return (pz_vi)_mm512_movm_epi32(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q));
#elif PZ_S == 8 && defined(__AVX__)
  return (pz_vi)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q);
#elif PZ_S == 4 && defined(__SSE4_1__)
  return (pz_vi)_mm_cmpunord_ps((__m128)a, (__m128)b);
#else
  return (pz_vi)(a != a) | (pz_vi)(b != b);
#endif
}

/* Correctly rounded. */
PZ_INLINE pz_v pz_v_sqrt(pz_v x) {
#if PZ_S == 16 && defined(__AVX512F__)
  return (pz_v)_mm512_sqrt_ps((__m512)x);
#elif PZ_S == 8 && defined(__AVX__)
  return (pz_v)_mm256_sqrt_ps((__m256)x);
#elif PZ_S == 4 && defined(__SSE4_1__)
  return (pz_v)_mm_sqrt_ps((__m128)x);
#elif PZ_S == 4 && defined(__ARM_NEON) && defined(__aarch64__)
  return (pz_v)vsqrtq_f32((float32x4_t)x);
#else
  for (int i = 0; i < PZ_S; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

/* -min(|x|, most); of NaN anything. */
PZ_INLINE pz_v pz_v_below_zero(pz_v x, float most) {
#if PZ_S == 16 && defined(__AVX512DQ__)
  return (pz_v)_mm512_range_ps((__m512)x, (__m512)pz_v_set1(most),
                               14 /* the smaller of the sizes, with a minus */);
#else
  return pz_v_max(pz_v_set1(-most), (pz_v)((pz_vbits)x | 0x80000000u));
#endif
}

/* *p + b, *p * b + c, *p in all lanes: the broadcast is part of the operation where the set has that (a compiler makes one load of it for
 * several, which is slower on some cores: doc/notes/2026-11-28-winograd.md). */
#if PZ_S == 16 && defined(__AVX512F__)
PZ_INLINE pz_v pz_v_add_broadcast(const float *p, pz_v b) {
  pz_v sum;
  __asm__("vaddps %1%{1to16%}, %2, %0" : "=v"(sum) : "m"(*p), "v"(b));
  return sum;
}
PZ_INLINE pz_v pz_v_fma_broadcast(const float *p, pz_v b, pz_v c) {
  __asm__("vfmadd231ps %1%{1to16%}, %2, %0" : "+v"(c) : "m"(*p), "v"(b));
  return c;
}
#else
PZ_INLINE pz_v pz_v_add_broadcast(const float *p, pz_v b) { return pz_v_broadcast(p) + b; }
PZ_INLINE pz_v pz_v_fma_broadcast(const float *p, pz_v b, pz_v c) {
  return PZ_V_HAS_LANES ? pz_v_fma_lane(b, pz_v_factor(p), 0, c) : pz_v_fma(pz_v_broadcast(p), b, c);
}
#endif

/* The larger, the smaller; NaN where one of the two is. */
#if PZ_S == 4 && defined(__aarch64__)
PZ_INLINE pz_v pz_v_max_nan(pz_v a, pz_v b) { return (pz_v)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
PZ_INLINE pz_v pz_v_min_nan(pz_v a, pz_v b) { return (pz_v)vminq_f32((float32x4_t)a, (float32x4_t)b); }
#else
PZ_INLINE pz_v pz_v_max_nan(pz_v a, pz_v b) { return pz_v_select((pz_vi)(a == a), pz_v_max(a, b), a); }
PZ_INLINE pz_v pz_v_min_nan(pz_v a, pz_v b) { return pz_v_select((pz_vi)(a == a), pz_v_min(a, b), a); }
#endif

/* Of each four lanes: those of a added up in pairs, then those of b. */
PZ_INLINE pz_v pz_v_pairs(pz_v a, pz_v b) {
#if PZ_S == 16
  return __builtin_shufflevector(a, b, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30) +
         __builtin_shufflevector(a, b, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
#elif PZ_S == 8
  return __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14) +
         __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15);
#else
  return __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
#endif
}

/* Fours of lanes 2i and 2i+1 of a and b added up: those of a in the lower half. */
PZ_INLINE pz_v pz_v_fours(pz_v a, pz_v b) {
#if PZ_S == 16
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
         __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
#elif PZ_S == 8
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
#else
  return a + b; /* never needed */
#endif
}

/* Lane i: the sum of all lanes of x[i]; S vectors, which are overwritten. */
PZ_INLINE pz_v pz_v_sums(pz_v *x) {
  PZ_UNROLL for (int32_t i = 0; i < PZ_S / 2; ++i) x[i] = pz_v_pairs(x[2 * i], x[2 * i + 1]);
  PZ_UNROLL for (int32_t i = 0; i < PZ_S / 4; ++i) x[i] = pz_v_pairs(x[2 * i], x[2 * i + 1]);
#if PZ_S == 16
  return pz_v_fours(pz_v_fours(x[0], x[1]), pz_v_fours(x[2], x[3]));
#elif PZ_S == 8
  return pz_v_fours(x[0], x[1]);
#else
  return x[0];
#endif
}

/* Half vectors, from anywhere; the first n lanes, zero in the others. */
PZ_INLINE pz_vh pz_vh_zero(void) { return (pz_vh){0}; }
PZ_INLINE pz_vh pz_vh_load(const float *p) {
  pz_vh x;
  memcpy(&x, p, sizeof x);
  return x;
}
PZ_INLINE pz_vh pz_vh_load_first(const float *p, int32_t n) {
#if PZ_S == 16 && defined(__AVX512VL__)
  return (pz_vh)_mm256_maskz_loadu_ps((__mmask8)((1 << n) - 1), p);
#else
  pz_vhi mask = {0};
  PZ_UNROLL for (int32_t i = 0; i < PZ_S / 2; ++i) mask[i] = -(i < n);
  return (pz_vh)((pz_vhi)pz_vh_load(p) & mask);
#endif
}
/* c - a*b, fused where pz_v_fma is. */
PZ_INLINE pz_vh pz_vh_less(pz_vh a, pz_vh b, pz_vh c) {
#if PZ_S == 16 && defined(__FMA__)
  return (pz_vh)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  const pz_vh product = a * b;
  return c - product;
#endif
}
PZ_INLINE pz_v pz_vh_join(pz_vh low, pz_vh high) {
#if PZ_S == 16 && defined(__AVX512F__)
  return (pz_v)_mm512_castpd_ps(_mm512_insertf64x4(_mm512_castps_pd(_mm512_castps256_ps512((__m256)low)),
                                                   _mm256_castps_pd((__m256)high), 1));
#else
  union {
    pz_vh half[2];
    pz_v whole;
  } u = {{low, high}};
  return u.whole;
#endif
}
/* Lane i: the sum of all lanes of x[i]; S half vectors. */
PZ_INLINE pz_v pz_vh_sums(const pz_vh *x) {
  pz_v y[PZ_S / 2];
  PZ_UNROLL for (int32_t i = 0; i < PZ_S / 2; ++i) {
#if PZ_S == 4
    y[i] = pz_vh_join(x[2 * i], x[2 * i + 1]);
#else
    y[i] = pz_vh_join(x[i / 4 * 8 + i % 4], x[i / 4 * 8 + i % 4 + 4]);
#endif
  }
  PZ_UNROLL for (int32_t n = PZ_S / 4; n >= (PZ_S + 7) / 8; n /= 2) PZ_UNROLL for (int32_t i = 0; i < n; ++i)
      y[i] = pz_v_pairs(y[2 * i], y[2 * i + 1]);
#if PZ_S == 16
  return pz_v_fours(y[0], y[1]);
#else
  return y[0];
#endif
}

/* Lane 4i + k: the sum of lanes k*S/4 .. of x[i]; S/4 vectors, which are overwritten. */
PZ_INLINE pz_v pz_v_quarter_sums(pz_v *x) {
#if PZ_S == 16
  x[0] = pz_v_pairs(pz_v_pairs(x[0], x[1]), pz_v_pairs(x[2], x[3]));
  return __builtin_shufflevector(x[0], x[0], 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
#elif PZ_S == 8
  x[0] = pz_v_pairs(x[0], x[1]);
  return __builtin_shufflevector(x[0], x[0], 0, 1, 4, 5, 2, 3, 6, 7);
#else
  return x[0];
#endif
}

/* Lanes 4i .. 4i+3 of x, i constant, then zeros. */
PZ_INLINE pz_v pz_v_four(pz_v x, int32_t i) {
#if PZ_S == 16 && defined(__AVX512F__)
  const __m512 y = (__m512)x;
  switch (i) {
  case 0: return (pz_v)_mm512_maskz_mov_ps(15, y);
  case 1: return (pz_v)_mm512_maskz_shuffle_f32x4(15, y, y, 1);
  case 2: return (pz_v)_mm512_maskz_shuffle_f32x4(15, y, y, 2);
  default: return (pz_v)_mm512_maskz_shuffle_f32x4(15, y, y, 3);
  }
#else
  pz_v y = {0};
  PZ_UNROLL for (int32_t k = 0; k < 4; ++k) y[k] = x[4 * i + k];
  return y;
#endif
}

/* The first four lanes of x, to where 16 bytes are aligned. */
PZ_INLINE void pz_v_store_four(float *p, pz_v x) {
#if PZ_S == 16 && defined(__AVX512F__)
  _mm_store_ps(p, _mm512_castps512_ps128((__m512)x));
#elif PZ_S == 8 && defined(__AVX__)
  _mm_store_ps(p, _mm256_castps256_ps128((__m256)x));
#else
  PZ_UNROLL for (int32_t i = 0; i < 4; ++i) p[i] = x[i];
#endif
}

/* Every second lane of a, then of b: the first, or the second ones. */
#if PZ_S == 16
#define PZ_V_SECONDS(r)                                                                                      \
  r, (r) + 2, (r) + 4, (r) + 6, (r) + 8, (r) + 10, (r) + 12, (r) + 14, (r) + 16, (r) + 18, (r) + 20,         \
      (r) + 22, (r) + 24, (r) + 26, (r) + 28, (r) + 30
#elif PZ_S == 8
#define PZ_V_SECONDS(r) r, (r) + 2, (r) + 4, (r) + 6, (r) + 8, (r) + 10, (r) + 12, (r) + 14
#else
#define PZ_V_SECONDS(r) r, (r) + 2, (r) + 4, (r) + 6
#endif
PZ_INLINE pz_v pz_v_even(pz_v a, pz_v b) { return __builtin_shufflevector(a, b, PZ_V_SECONDS(0)); }
PZ_INLINE pz_v pz_v_odd(pz_v a, pz_v b) { return __builtin_shufflevector(a, b, PZ_V_SECONDS(1)); }
/* Lane i of y[k]: p[4i + k]. */
PZ_INLINE void pz_v_deal_fours(const float *p, pz_v y[4]) {
  const pz_v a = pz_v_load(p), b = pz_v_load(p + PZ_S), c = pz_v_load(p + 2 * PZ_S),
             d = pz_v_load(p + 3 * PZ_S);
  const pz_v even[2] = {pz_v_even(a, b), pz_v_even(c, d)}, odd[2] = {pz_v_odd(a, b), pz_v_odd(c, d)};
  y[0] = pz_v_even(even[0], even[1]), y[1] = pz_v_even(odd[0], odd[1]);
  y[2] = pz_v_odd(even[0], even[1]), y[3] = pz_v_odd(odd[0], odd[1]);
}

/* Sum of all lanes, in a fixed order: the upper half onto the lower, until one is left. */
PZ_INLINE float pz_v_sum(pz_v x) {
#if defined(__SSE4_1__) && (PZ_S < 16 || defined(__AVX512F__))
#if PZ_S == 16
  __m512d wide = _mm512_castps_pd((__m512)x);
  __m256 y = _mm256_add_ps(_mm256_castpd_ps(_mm512_castpd512_pd256(wide)),
                           _mm256_castpd_ps(_mm512_extractf64x4_pd(wide, 1)));
#elif PZ_S == 8
  __m256 y = (__m256)x;
#endif
#if PZ_S >= 8
  __m128 z = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
#else
  __m128 z = (__m128)x;
#endif
  z = _mm_add_ps(z, _mm_movehl_ps(z, z));
  return _mm_cvtss_f32(_mm_add_ss(z, _mm_movehdup_ps(z)));
#else
  for (int n = PZ_S / 2; n; n /= 2)
    for (int i = 0; i < n; ++i) x[i] += x[i + n];
  return x[0];
#endif
}

#endif
