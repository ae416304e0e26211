/* shape.h: a direct convolution that reads and writes NCHW: vectors run along the width. Plain C: the compiler half includes it too.
 *
 * Lanes hold points, so that channels fill no block: layers of very few channels lose nothing to rests. Everything else is better
 * done in NCHWc, where a vector of results needs no row of inputs around it; this is what NeoCPU's Table 3 counts from.
 *
 * Inputs of a row of results are copied to lines, once for all channels out: a line for each channel in and each tap along depth and height, and for
 * each phase of the stride along the width, [channel][kd][kh][phase][point], with zeros where the input ends. What a tap along the
 * width reads of them are vectors that lie beside each other, whatever stride, dilation and padding are, and no border is
 * read of the input. */
#ifndef PZ_KERNELS_CONV_NCHW_SHAPE_H
#define PZ_KERNELS_CONV_NCHW_SHAPE_H

#include "kernels/conv/shape.h"

/* conv: one group, one phase; in, out and residual NCHW, rows of out and residual without gaps between points; does not stream.
 *   kb: channels out, rw: vectors of points that are summed at a time, each or one less; c_chunk: channels in whose lines are
 *   there at a time: a pass. Sums wait in out between passes. */
#define PZ_CONV_NCHW_FIELDS(ONE, MANY)                                                                       \
  ONE(conv, conv)                                                                                            \
  ONE(int, lanes) /* of a vector */
typedef struct pz_conv_nchw_shape {
  PZ_CONV_NCHW_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_conv_nchw_shape;

PZ_INLINE int32_t pz_conv_nchw_vectors(const pz_conv_nchw_shape *s) {
  return (s->conv.out.w + s->lanes - 1) / s->lanes;
}
/* From the first tap along the width to the last one, in points of the input. */
PZ_INLINE int32_t pz_conv_nchw_reach(const pz_conv_direct_shape *s) {
  return (s->kernel[2] - 1) * s->dilation[2];
}
/* Phases of the stride that taps read. */
PZ_INLINE int32_t pz_conv_nchw_phases(const pz_conv_direct_shape *s) {
  const int32_t reach = pz_conv_nchw_reach(s) + 1;
  return reach < s->stride[2] ? reach : s->stride[2];
}
/* Points of a line: of whole vectors, and what the last tap reads behind them. */
PZ_INLINE int32_t pz_conv_nchw_line(const pz_conv_nchw_shape *s) {
  const int32_t points =
      pz_conv_nchw_vectors(s) * s->lanes + pz_conv_nchw_reach(&s->conv) / s->conv.stride[2];
  return (points + s->lanes - 1) / s->lanes * s->lanes;
}
/* Floats of the lines of a channel. */
PZ_INLINE int64_t pz_conv_nchw_lines(const pz_conv_nchw_shape *s) {
  return (int64_t)s->conv.kernel[0] * s->conv.kernel[1] * pz_conv_nchw_phases(&s->conv) *
         pz_conv_nchw_line(s);
}
/* Floats of scratch that a worker needs. */
PZ_INLINE int64_t pz_conv_nchw_scratch(const pz_conv_nchw_shape *s) {
  return s->conv.c_chunk * pz_conv_nchw_lines(s);
}
PZ_INLINE pz_conv_split pz_conv_nchw_groups(const pz_conv_nchw_shape *s) {
  return pz_conv_split_of(s->conv.out.c, s->conv.kb);
}
PZ_INLINE pz_conv_split pz_conv_nchw_tiles(const pz_conv_nchw_shape *s) {
  return pz_conv_split_of(pz_conv_nchw_vectors(s), s->conv.rw);
}

#endif
