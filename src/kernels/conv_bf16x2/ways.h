/* ways.h: which ways (kernels/ways.h) a shape of bf16x2.h takes. Plain C: the compiler half includes it too. */
#ifndef PZ_KERNELS_CONV_BF16X2_WAYS_H
#define PZ_KERNELS_CONV_BF16X2_WAYS_H

#include "kernels/conv_bf16x2/shape.h"
#include "kernels/winograd/ways.h"

#ifndef PZ_BF16X2_WAYS
#define PZ_BF16X2_WAYS PZ_ALL_WAYS
#endif

enum {
  PZ_BF16X2_WAY_PAIRS_OUT,  /* two blocks out at a time */
  PZ_BF16X2_WAY_SINGLE_OUT, /* the last block alone */
  PZ_BF16X2_WAY_PAIRS_IN,
  PZ_BF16X2_WAY_SINGLE_IN,
  PZ_BF16X2_WAY_SUMS,      /* m = 1 */
  PZ_BF16X2_WAY_FILTERING, /* m > 1 */
  PZ_BF16X2_WAY_POOLED,
  PZ_BF16X2_WAY_NARROW,
  PZ_BF16X2_WAY_NORMED
};

PZ_INLINE uint32_t pz_bf16x2_ways(const pz_conv_bf16x2_shape *s) {
  return PZ_WAY(BF16X2, PAIRS_OUT, pz_bf16x2_out_blocks(s) > 1) |
         PZ_WAY(BF16X2, SINGLE_OUT, pz_bf16x2_out_blocks(s) % 2) |
         PZ_WAY(BF16X2, PAIRS_IN, pz_bf16x2_pairs(s)) | PZ_WAY(BF16X2, SINGLE_IN, pz_bf16x2_single(s)) |
         PZ_WAY(BF16X2, SUMS, s->m == 1) | PZ_WAY(BF16X2, FILTERING, s->m > 1) |
         PZ_WAY(BF16X2, POOLED, s->pooled.c) | PZ_WAY(BF16X2, NARROW, s->narrow_in || s->narrow_out) |
         PZ_WAY(BF16X2, NORMED, s->normed);
}
PZ_INLINE uint32_t pz_bf16x2_transform_ways(const pz_conv_bf16x2_shape *s) {
  return pz_transform_ways(s->m, 3);
}

#endif
