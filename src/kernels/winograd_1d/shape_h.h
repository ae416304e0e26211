/* shape_h.h: a convolution to few NCHW channels by minimal filtering along the height alone, F(m, r) (winograd/points.h), its taps along the width
 * side by side in the lanes of a vector. Plain C: the compiler half includes it too.
 *
 * The last layer of a network has next to no channels out, so that transforms of its inputs, which minimal filtering along all axes needs, cost
 * more than its products, and most lanes of these are empty. Here a product has kw times as many channels out, those of each tap: 3 channels of
 * 1x5x5 fill 15 of 16 lanes, and F(6, 5) takes 10/6 multiply-adds of vectors for a channel in and a result. What the taps of a result have summed
 * up lies in kw columns; they are added on the way along the width.
 *
 * Scratch of a worker: transformed inputs of a strip, [position][block][column][lane]; its products, [position][column][lane]; the results
 * of a tile, [row][column][PZ_CONV_NARROW channels]. */
#ifndef PZ_KERNELS_WINOGRAD_1D_SHAPE_H_H
#define PZ_KERNELS_WINOGRAD_1D_SHAPE_H_H

#include "kernels/conv/shape.h"

/* conv: kernel 1 along the depth, 3 or 5 along the height; kernel along the width times channels out not above
 *   the lanes; stride, dilation, groups, phases 1; in NCHWc, out NCHW, no Base. */
#define PZ_WINOGRAD_1D_H_FIELDS(ONE, MANY)                                                                   \
  ONE(conv, conv)                                                                                            \
  ONE(int, m)  /* rows of results of a tile */                                                               \
  ONE(int, rw) /* columns that are summed at a time: a strip */
typedef struct pz_winograd_1d_h_shape {
  PZ_WINOGRAD_1D_H_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_winograd_1d_h_shape;

PZ_INLINE int32_t pz_winograd_1d_h_a(const pz_winograd_1d_h_shape *s) { return s->m + s->conv.kernel[1] - 1; }
/* Tiles along the height. */
PZ_INLINE int32_t pz_winograd_1d_h_tiles(const pz_winograd_1d_h_shape *s) {
  return (s->conv.out.h + s->m - 1) / s->m;
}
/* Columns of inputs that results are made of. */
PZ_INLINE int32_t pz_winograd_1d_h_count(const pz_winograd_1d_h_shape *s) {
  return s->conv.out.w + s->conv.kernel[2] - 1;
}
PZ_INLINE int32_t pz_winograd_1d_h_strips(const pz_winograd_1d_h_shape *s) {
  return (pz_winograd_1d_h_count(s) + s->rw - 1) / s->rw;
}

/* Floats of a strip's transformed inputs; of its products. */
PZ_INLINE int64_t pz_winograd_1d_h_slots(const pz_winograd_1d_h_shape *s) {
  return (int64_t)pz_winograd_1d_h_a(s) * pz_conv_in_blocks(&s->conv) * s->rw * s->conv.in.block;
}
PZ_INLINE int64_t pz_winograd_1d_h_products(const pz_winograd_1d_h_shape *s) {
  return (int64_t)pz_winograd_1d_h_a(s) * s->rw * s->conv.in.block;
}

/* Floats of scratch that a worker needs. */
PZ_INLINE int64_t pz_winograd_1d_h_scratch(const pz_winograd_1d_h_shape *s) {
  return pz_winograd_1d_h_slots(s) + pz_winograd_1d_h_products(s) + s->m * pz_conv_narrow_row(&s->conv);
}

/* Floats of packed weights, [position][channel in][lane]; lane: (kernel[2] - 1 - tap) * channels out + channel out. */
PZ_INLINE int64_t pz_winograd_1d_h_weight_floats(const pz_winograd_1d_h_shape *s) {
  return (int64_t)pz_winograd_1d_h_a(s) * s->conv.in.c * s->conv.in.block;
}

#endif
