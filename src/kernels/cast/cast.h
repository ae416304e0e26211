/* cast.h: the same values in another type of elements, and in another layout where wanted; how inputs and outputs that are not of
 * float enter and leave a network.
 *
 * Layouts: NCHW to NCHW, NCHW to NCHWc (of floats) and NCHWc (of floats) to NCHW; strides of elements. NCHW views
 * lie at any address and have stride_w 1. They do not overlap. Reads the inside of `in` and nothing behind it, writes the inside of
 * `out`, zero in the lanes behind the last channel. Between layouts S points of S channels are transposed in registers, as floats. Rows
 * that are not a multiple of S end with S points that overlap those before; rows shorter than S are read and written in parts.
 * Unit of work: a row of the NCHWc side, or of `out`. What is read and written: element.h. */
#ifndef PZ_KERNELS_CAST_CAST_H
#define PZ_KERNELS_CAST_CAST_H

#include "kernels/cast/element.h"
#include "kernels/copy/transpose.h"
#include "kernels/rows.h"

PZ_INLINE pz_v pz_cast_read(const pz_cast_shape *s, const char *in, int32_t points, int whole) {
  return pz_cast_load(in, s->from, s->in_scale, s->in_zero, points, whole);
}
PZ_INLINE void pz_cast_write(const pz_cast_shape *s, char *out, pz_v x, int32_t points, int whole) {
  pz_cast_store(out, x, s->to, s->out_scale, s->out_zero, points, whole);
}

/* `points` (at most S) points of `channels` channels; `whole`: points is S. */
PZ_INLINE void pz_cast_tile_to_blocked(const pz_cast_shape *s, const char *in, char *out, int32_t channels,
                                       int32_t points, int whole) {
  pz_v tile[PZ_S];
  PZ_UNROLL for (int i = 0; i < PZ_S; ++i) tile[i] =
      i >= channels ? pz_v_zero()
                    : pz_cast_read(s, in + i * s->in.stride_c * pz_cast_bytes(s->from), points, whole);
  pz_transpose(tile);
  PZ_UNROLL for (int i = 0; i < PZ_S; ++i) if (whole || i < points)
      pz_v_store((float *)out + i * s->out.stride_w, tile[i]);
}

PZ_INLINE void pz_cast_tile_to_nchw(const pz_cast_shape *s, const char *in, char *out, int32_t channels,
                                    int32_t points, int whole) {
  pz_v tile[PZ_S];
  PZ_UNROLL for (int i = 0; i < PZ_S; ++i) tile[i] =
      whole || i < points ? pz_v_load((const float *)in + i * s->in.stride_w) : pz_v_zero();
  pz_transpose(tile);
  PZ_UNROLL for (int i = 0; i < PZ_S; ++i) if (i < channels)
      pz_cast_write(s, out + i * s->out.stride_c * pz_cast_bytes(s->to), tile[i], points, whole);
}

/* Points on from `in` and `out`. */
PZ_INLINE void pz_cast_points(const pz_cast_shape *s, const char *in, char *out, int32_t channels,
                              int32_t points, int whole) {
  if (s->out.block > 1) pz_cast_tile_to_blocked(s, in, out, channels, points, whole);
  else if (s->in.block > 1) pz_cast_tile_to_nchw(s, in, out, channels, points, whole);
  else pz_cast_write(s, out, pz_cast_read(s, in, points, whole), points, whole);
}

PZ_INLINE void pz_cast_row(const pz_cast_shape *s, const char *in, char *out, int32_t channels) {
  const int64_t in_step = s->in.stride_w * pz_cast_bytes(s->from),
                out_step = s->out.stride_w * pz_cast_bytes(s->to);
  const int32_t width = s->out.w;
  if (width < PZ_S) {
    pz_cast_points(s, in, out, channels, width, 0);
    return;
  }
  for (int32_t w = 0; w < width; w += PZ_S) {
    const int32_t at = w + PZ_S <= width ? w : width - PZ_S;
    pz_cast_points(s, in + at * in_step, out + at * out_step, channels, PZ_S, 1);
  }
}

/* Where the row's first channel is, in bytes. A row of the other side may be of a block of its channels. */
PZ_INLINE int64_t pz_cast_offset(const pz_view *v, pz_row row, int32_t block, int32_t bytes) {
  const int64_t of_channels = row.b * (block / v->block) * v->stride_c;
  return (row.n * v->stride_n + of_channels + row.d * v->stride_d + row.h * v->stride_h) * bytes;
}

PZ_INLINE void pz_cast(const pz_cast_shape s, const void *in, void *out, int32_t worker, int32_t workers) {
  const pz_view rows = s.in.block > 1 ? s.in : s.out;
  PZ_EACH_ROW(&rows, row, worker, workers) {
    const char *from = (const char *)in + pz_cast_offset(&s.in, row, rows.block, pz_cast_bytes(s.from));
    char *to = (char *)out + pz_cast_offset(&s.out, row, rows.block, pz_cast_bytes(s.to));
    const int32_t channels = pz_block_channels(&rows, row.b);
    if (channels == rows.block) pz_cast_row(&s, from, to, rows.block);
    else pz_cast_row(&s, from, to, rows.c % rows.block);
  }
}

#endif
