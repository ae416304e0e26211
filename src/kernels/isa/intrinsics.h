/* intrinsics.h: of <immintrin.h> what kernels use.
 *
 * gcc's <immintrin.h> declares the intrinsics of all instruction sets, whatever is compiled for: reading them takes 0.4 to 0.6 s for each
 * C file of a network, as long as all else that the compiler does with a small one (doc/notes/2026-11-30-headers.md). Its parts refuse to be
 * included one by one unless <immintrin.h> says that it has begun. That is said here for the version with which it was tried; any other gcc, and
 * clang, which reads only what the target has, read all. */
#ifndef PZ_KERNELS_ISA_INTRINSICS_H
#define PZ_KERNELS_ISA_INTRINSICS_H

#if defined(__GNUC__) && !defined(__clang__) && !defined(__INTEL_COMPILER)
#if __GNUC__ == 12 && !defined(_IMMINTRIN_H_INCLUDED)
#define PZ_SOME_INTRINSICS
#endif
#endif

#ifndef PZ_SOME_INTRINSICS
#include <immintrin.h>
#else
#define _IMMINTRIN_H_INCLUDED
/* In the order of <immintrin.h>. */
#include <xmmintrin.h>

#include <emmintrin.h>

#include <pmmintrin.h>

#include <tmmintrin.h>

#include <smmintrin.h>
#ifdef __AVX__
#include <avxintrin.h>
#endif
#ifdef __AVX2__
#include <avx2intrin.h>
#endif
#ifdef __AVX512F__
#include <avx512fintrin.h>

#include <avx512vlintrin.h>

#include <avx512bwintrin.h>

#include <avx512dqintrin.h>

#include <avx512vlbwintrin.h>
#endif
#ifdef __FMA__
#include <fmaintrin.h>
#endif
#ifdef __AVX512BF16__
#include <avx512bf16vlintrin.h>

#include <avx512bf16intrin.h>
#endif
#ifdef __AMX_TILE__
#include <amxtileintrin.h>
#endif
#ifdef __AMX_BF16__
#include <amxbf16intrin.h>
#endif
#endif

#endif
