/* shape.h: products of channels, in inner pairs (winograd/inner_pairs.h): a convolution of 1x1x1, or a deconvolution whose kernel is its stride, as one
 * convolution of all its phases (deconv/deconv.h). Plain C: the compiler half includes it too.
 *
 * Points are numbered (n, d, h, w); `rw` of them are a tile, PZ_WINOGRAD_STRIP tiles a strip, whose inputs are scaled and kept until all
 * channels out have met them. Each point has a scale of its own. Weights as conv_direct/pack.h has them, times a power of two.
 *
 * Scratch of a worker: the scaled inputs of a strip, [block][point][lane]; minus the sums of their products, [point]; what undoes the scale
 * and the weights' factor, [point]. */
#ifndef PZ_KERNELS_CONV_INNER_PAIRS_SHAPE_H
#define PZ_KERNELS_CONV_INNER_PAIRS_SHAPE_H

#include "kernels/conv/shape.h"

/* Kernel and stride 1, no padding, groups 1; in, out and residual NCHWc, stride_w of in is the block; kb, rw: blocks out and points of a tile. */
#define PZ_CONV_INNER_PAIRS_FIELDS(ONE, MANY)                                                                \
  ONE(conv, conv)                                                                                            \
  ONE(int, held) /* 1: an input waits in a register for all blocks out; 0: each operation loads it anew */
typedef struct pz_conv_inner_pairs_shape {
  PZ_CONV_INNER_PAIRS_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_conv_inner_pairs_shape;

#define PZ_WINOGRAD_STRIP       9
#define PZ_WINOGRAD_MOST_POINTS 128 /* of a strip */

PZ_INLINE int64_t pz_conv_inner_pairs_points(const pz_conv_inner_pairs_shape *s) {
  return (int64_t)s->conv.in.n * s->conv.in.d * s->conv.in.h * s->conv.in.w;
}
/* Points that a strip has room for: whole vectors. */
PZ_INLINE int32_t pz_conv_inner_pairs_extent(const pz_conv_inner_pairs_shape *s) {
  const int32_t block = s->conv.out.block;
  return (PZ_WINOGRAD_STRIP * s->conv.rw + block - 1) / block * block;
}
/* Floats of scratch that a worker needs. */
PZ_INLINE int64_t pz_conv_inner_pairs_scratch(const pz_conv_inner_pairs_shape *s) {
  return (int64_t)pz_conv_inner_pairs_extent(s) * (pz_conv_in_blocks(&s->conv) * s->conv.out.block + 2);
}
/* Floats of what is packed beside the weights: what undoes their factor, in a vector; minus the sums of their products, [block out][lane]. */
PZ_INLINE int64_t pz_conv_inner_pairs_taken_floats(const pz_conv_inner_pairs_shape *s) {
  return (int64_t)(1 + pz_conv_outer_blocks(&s->conv)) * s->conv.out.block;
}

#endif
