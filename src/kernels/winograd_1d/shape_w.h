/* shape_w.h: a convolution of few NCHW channels by minimal filtering along the width alone, F(m, r) (winograd/points.h). Plain C: the compiler
 * half includes it too.
 *
 * The first layer of a network has next to no channels in, so that transforms of its results, which minimal filtering along all axes
 * needs, would cost more than its products. Along the width alone they are short, and stay in registers with the sums: a tile is m
 * results of a row, from a = m + r - 1 positions at each of which channels in and the kernel's other axes are summed. F(4, 3) takes 13.5
 * multiply-adds a result of 3x3x3 instead of 27, F(4, 5) of 1x5x5 10 instead of 25.
 *
 * Scratch of a worker: a band of rows of the transformed inputs, [channel][plane % kd][row][position][tile], and a row of them before that,
 * [input of a tile % m][tile]. */
#ifndef PZ_KERNELS_WINOGRAD_1D_SHAPE_W_H
#define PZ_KERNELS_WINOGRAD_1D_SHAPE_W_H

#include "kernels/conv/shape.h"

/* conv: kernel 3 or 5 along the width; stride, dilation, groups, phases 1; in NCHW, out and residual NCHWc.
 * kb, rw: blocks of channels out, which divide all of them, and tiles that are summed at a time. */
#define PZ_WINOGRAD_1D_W_FIELDS(ONE, MANY)                                                                   \
  ONE(conv, conv)                                                                                            \
  ONE(int, m) /* results of a tile */                                                                        \
  ONE(int, kb)                                                                                               \
  ONE(int, rw)
typedef struct pz_winograd_1d_w_shape {
  PZ_WINOGRAD_1D_W_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_winograd_1d_w_shape;

/* Rows of results that are made of a band. */
#define PZ_WINOGRAD_BAND 4

PZ_INLINE int32_t pz_winograd_1d_w_a(const pz_winograd_1d_w_shape *s) { return s->m + s->conv.kernel[2] - 1; }
PZ_INLINE int32_t pz_winograd_1d_w_tiles(const pz_winograd_1d_w_shape *s) {
  return (s->conv.out.w + s->m - 1) / s->m;
}
/* Tiles that there is room for: whole vectors, and all that are summed. */
PZ_INLINE int32_t pz_winograd_1d_w_extent(const pz_winograd_1d_w_shape *s) {
  const int32_t block = s->conv.out.block, summed = (pz_winograd_1d_w_tiles(s) + s->rw - 1) / s->rw * s->rw;
  return (summed + block - 1) / block * block;
}
PZ_INLINE int32_t pz_winograd_1d_w_bands(const pz_winograd_1d_w_shape *s) {
  return (s->conv.out.h + PZ_WINOGRAD_BAND - 1) / PZ_WINOGRAD_BAND;
}

/* Units of moments of each block: bands of all planes. */
PZ_INLINE int32_t pz_winograd_1d_w_units(const pz_winograd_1d_w_shape *s) {
  return s->conv.out.d * pz_winograd_1d_w_bands(s);
}

/* Floats of a row of transformed inputs; of those of a band, one plane. */
PZ_INLINE int64_t pz_winograd_1d_w_row(const pz_winograd_1d_w_shape *s) {
  return (int64_t)pz_winograd_1d_w_a(s) * pz_winograd_1d_w_extent(s);
}
PZ_INLINE int64_t pz_winograd_1d_w_plane(const pz_winograd_1d_w_shape *s) {
  return (PZ_WINOGRAD_BAND + s->conv.kernel[1] - 1) * pz_winograd_1d_w_row(s);
}
/* Floats of one input of all tiles: transforms begin up to (a - 1) / m tiles further on. */
PZ_INLINE int64_t pz_winograd_1d_w_phase(const pz_winograd_1d_w_shape *s) {
  return pz_winograd_1d_w_extent(s) + s->conv.out.block;
}

/* Floats of scratch that a worker needs. */
PZ_INLINE int64_t pz_winograd_1d_w_scratch(const pz_winograd_1d_w_shape *s) {
  return s->conv.in.c * s->conv.kernel[0] * pz_winograd_1d_w_plane(s) + s->m * pz_winograd_1d_w_phase(s);
}

/* Floats of packed weights, [group of kb blocks][channel in][kd][kh][position][block][lane]. */
PZ_INLINE int64_t pz_winograd_1d_w_weight_floats(const pz_winograd_1d_w_shape *s) {
  return (int64_t)pz_conv_outer_blocks(&s->conv) * s->conv.out.block * s->conv.in.c * s->conv.kernel[0] *
         s->conv.kernel[1] * pz_winograd_1d_w_a(s);
}

#endif
