/* transpose.h: an S x S transpose in registers, between planes of channels and blocks of channels.
 *
 * Two stages interleave 32-bit and 64-bit elements inside 128-bit lanes (one instruction for each vector on every x86
 * instruction set), and log2(S/4) stages exchange 128-bit lanes between vectors that are m rows apart. S*log2(S)
 * shuffles; exact. */
#ifndef PZ_KERNELS_COPY_TRANSPOSE_H
#define PZ_KERNELS_COPY_TRANSPOSE_H

#include "kernels/vec.h"
#include "kernels/view.h"

#include <string.h>

/* The constant lane indices f(0), ..., f(S-1) of a __builtin_shufflevector. */
#define PZ_LANES_4(f, o) f((o)), f((o) + 1), f((o) + 2), f((o) + 3)
#if PZ_S == 4
#define PZ_LANES(f) PZ_LANES_4(f, 0)
#elif PZ_S == 8
#define PZ_LANES(f) PZ_LANES_4(f, 0), PZ_LANES_4(f, 4)
#else
#define PZ_LANES(f) PZ_LANES_4(f, 0), PZ_LANES_4(f, 4), PZ_LANES_4(f, 8), PZ_LANES_4(f, 12)
#endif

/* Lane l of the result: q is the first lane of its 128-bit group; indices from S on name the second vector. */
#define PZ_LOW32(l)       ((l) / 4 * 4 + (l) % 4 / 2 + (l) % 2 * PZ_S)
#define PZ_HIGH32(l)      (PZ_LOW32(l) + 2)
#define PZ_LOW64(l)       ((l) / 4 * 4 + (l) % 2 + (l) % 4 / 2 * PZ_S)
#define PZ_HIGH64(l)      (PZ_LOW64(l) + 2)
#define PZ_FIRST_OF_4(l)  ((l)&4 ? PZ_S + (l)-4 : (l))
#define PZ_SECOND_OF_4(l) ((l)&4 ? PZ_S + (l) : (l) + 4)
#define PZ_FIRST_OF_8(l)  ((l)&8 ? PZ_S + (l)-8 : (l))
#define PZ_SECOND_OF_8(l) ((l)&8 ? PZ_S + (l) : (l) + 8)

/* (a, b) = (first(a, b), second(a, b)) */
#define PZ_EXCHANGE(a, b, first, second)                                                                     \
  do {                                                                                                       \
    pz_v a_ = (a), b_ = (b);                                                                                 \
    (a) = __builtin_shufflevector(a_, b_, PZ_LANES(first));                                                  \
    (b) = __builtin_shufflevector(a_, b_, PZ_LANES(second));                                                 \
  } while (0)

/* r[i][j] <-> r[j][i] */
PZ_INLINE void pz_transpose(pz_v r[PZ_S]) {
  PZ_UNROLL
  for (int i = 0; i < PZ_S; i += 4) {
    PZ_EXCHANGE(r[i], r[i + 1], PZ_LOW32, PZ_HIGH32);
    PZ_EXCHANGE(r[i + 2], r[i + 3], PZ_LOW32, PZ_HIGH32);
    PZ_EXCHANGE(r[i], r[i + 2], PZ_LOW64, PZ_HIGH64);
    PZ_EXCHANGE(r[i + 1], r[i + 3], PZ_LOW64, PZ_HIGH64);
    pz_v swap = r[i + 1];
    r[i + 1] = r[i + 2], r[i + 2] = swap;
  }
#if PZ_S >= 8
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i)
    if (!(i & 4)) PZ_EXCHANGE(r[i], r[i + 4], PZ_FIRST_OF_4, PZ_SECOND_OF_4);
#endif
#if PZ_S >= 16
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i)
    if (!(i & 8)) PZ_EXCHANGE(r[i], r[i + 8], PZ_FIRST_OF_8, PZ_SECOND_OF_8);
#endif
}

/* The first `count` of S floats; the others zero and not touched. */
PZ_INLINE pz_v pz_load_some(const float *p, int32_t count) {
  pz_v v = pz_v_set1(0.0f);
  memcpy(&v, p, (size_t)count * sizeof *p);
  return v;
}
PZ_INLINE void pz_store_some(float *p, pz_v v, int32_t count) { memcpy(p, &v, (size_t)count * sizeof *p); }

#endif
