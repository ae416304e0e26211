/* features.h: extensions of an instruction set, as a set. What code needs is a set, what a machine has is a set, and the one runs on the
 * other where it is a subset: there is no line from weak to strong. In base, since the loader of network files asks too. */
#ifndef PZ_BASE_FEATURES_H
#define PZ_BASE_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

/* Rows of features.inc. */
typedef enum pz_feature {
#define FEATURE(id, name, flag, here) PZ_FEATURE_##id,
#include "base/features.inc"
#undef FEATURE
  PZ_FEATURE_COUNT
} pz_feature;

typedef uint64_t pz_features; /* a bit for each pz_feature */
#define PZ_HAS(id) (UINT64_C(1) << PZ_FEATURE_##id)

/* What families of kernels need (isa.inc). NEON: armv8.2-a, whose atomic operations compilers use too. TILES: products of bfloat16 on tiles, by kernels whose other vectors are of AVX-512. */
#define PZ_NEEDS_SSE4 PZ_HAS(SSE4_2)
#define PZ_NEEDS_AVX2 (PZ_NEEDS_SSE4 | PZ_HAS(AVX2) | PZ_HAS(FMA) | PZ_HAS(F16C))
#define PZ_NEEDS_AVX512                                                                                      \
  (PZ_NEEDS_AVX2 | PZ_HAS(AVX512F) | PZ_HAS(AVX512VL) | PZ_HAS(AVX512BW) | PZ_HAS(AVX512DQ))
#define PZ_NEEDS_TILES (PZ_NEEDS_AVX512 | PZ_HAS(AVX512_BF16) | PZ_HAS(AMX_TILE) | PZ_HAS(AMX_BF16))

#define PZ_NEEDS_NEON (PZ_HAS(ASIMD) | PZ_HAS(ATOMICS) | PZ_HAS(ASIMDRDM))

static inline bool pz_features_have(pz_features all, pz_features needed) { return !(needed & ~all); }

const char *pz_feature_name(pz_feature feature); /* "avx512_bf16", as Linux spells it */
const char *pz_feature_flag(pz_feature feature); /* "-mavx512bf16", for gcc and clang; "": none of its own */

#endif
