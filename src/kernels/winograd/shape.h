/* shape.h: a convolution by Winograd's minimal filtering, F(2,3) along each axis of kernel 3 (Winograd 1980; Lavin and
 * Gray 2015; in 3D Jia, Zlateski, Durand, Li 2018). Plain C: the compiler half includes it too.
 *
 * Along an axis two outputs come from four inputs d and three weights g with four products instead of six:
 *   A^T [(G g) * (B^T d)],   B^T d = (d0 - d2, d1 + d2, d2 - d1, d1 - d3),
 *   G g = (g0, (g0 + g1 + g2)/2, (g0 - g1 + g2)/2, g2),   A^T m = (m0 + m1 + m2, m1 - m2 - m3).
 * In three dimensions 64 products stand for 216, in two 16 for 36. Axes of kernel 1 are left alone. For each of the
 * `points` transformed positions the sum over maps is a matrix product, made by the direct convolution's micro-kernel.
 *
 * Error: transforms add at most four values an axis, so the error stays of the size of the direct sum's
 * (doc/kernels-winograd.md). */
#ifndef PZ_KERNELS_WINOGRAD_SHAPE_H
#define PZ_KERNELS_WINOGRAD_SHAPE_H

#include "kernels/conv/shape.h"

typedef struct pz_winograd_shape {
  pz_conv_direct_shape
      conv; /* the convolution: kernels 1 or 3, stride, dilation, groups, phases 1; in and out blocked */
  pz_conv_direct_shape
      product; /* of one transformed position: 1x1x1, in.c -> out.c maps, w = tiles of a batch */
} pz_winograd_shape;

/* Outputs of a tile along an axis, and inputs. */
PZ_INLINE int32_t pz_winograd_m(const pz_winograd_shape *s, int32_t axis) {
  return s->conv.kernel[axis] == 3 ? 2 : 1;
}
PZ_INLINE int32_t pz_winograd_a(const pz_winograd_shape *s, int32_t axis) {
  return s->conv.kernel[axis] == 3 ? 4 : 1;
}
PZ_INLINE int32_t pz_winograd_points(const pz_winograd_shape *s) {
  return pz_winograd_a(s, 0) * pz_winograd_a(s, 1) * pz_winograd_a(s, 2);
}
PZ_INLINE int32_t pz_winograd_size(const pz_winograd_shape *s, int32_t axis) {
  return axis == 0 ? s->conv.out.d : axis == 1 ? s->conv.out.h : s->conv.out.w;
}
PZ_INLINE int32_t pz_winograd_tiles(const pz_winograd_shape *s, int32_t axis) {
  return (pz_winograd_size(s, axis) + pz_winograd_m(s, axis) - 1) / pz_winograd_m(s, axis);
}
PZ_INLINE int64_t pz_winograd_all_tiles(const pz_winograd_shape *s) {
  return (int64_t)s->conv.out.n * pz_winograd_tiles(s, 0) * pz_winograd_tiles(s, 1) * pz_winograd_tiles(s, 2);
}
PZ_INLINE int32_t pz_winograd_blocks(int32_t maps, int32_t block) { return (maps + block - 1) / block; }

/* From a transformed position to the next one, in floats. A vector more than what lies there: an odd number of cache lines,
 * so that the 64 lines of one tile do not fall on a few sets of the cache (doc/kernels-winograd.md). */
PZ_INLINE int64_t pz_winograd_in_point(const pz_winograd_shape *s) {
  return pz_winograd_blocks(s->conv.in.c, s->conv.in.block) * s->product.in.stride_c + s->conv.in.block;
}
PZ_INLINE int64_t pz_winograd_out_point(const pz_winograd_shape *s) {
  return pz_winograd_blocks(s->conv.out.c, s->conv.out.block) * s->product.out.stride_c + s->conv.out.block;
}

/* Floats of scratch that a worker needs: the batch's transformed inputs, then its products. */
PZ_INLINE int64_t pz_winograd_inputs(const pz_winograd_shape *s) {
  return pz_winograd_points(s) * pz_winograd_in_point(s);
}
PZ_INLINE int64_t pz_winograd_scratch(const pz_winograd_shape *s) {
  return pz_winograd_inputs(s) + pz_winograd_points(s) * pz_winograd_out_point(s);
}

#endif
