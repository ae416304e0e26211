/* to_nchwc.h: a NCHW tensor to the NCHWc layout; how the user's input enters a network.
 *
 * Layouts: `in` NCHW (block 1) with stride_w 1, at any address; `out` NCHWc, any strides. Reads the inside of `in`
 * and nothing behind it, writes the inside of `out`, zero in the lanes behind the last channel. S channels are read together,
 * S points at a time, and transposed in registers. Rows that are not a multiple of S end with S points that overlap
 * those before; rows shorter than S are read into a cleared vector. Unit of work: a row of `out`. Exact. */
#ifndef PZ_KERNELS_COPY_TO_NCHWC_H
#define PZ_KERNELS_COPY_TO_NCHWC_H

#include "kernels/copy/copy.h"
#include "kernels/copy/transpose.h"
#include "kernels/rows.h"

typedef pz_copy_shape pz_to_nchwc_shape;

/* `points` (at most S) points of `channels` channels; `whole`: points is S. */
PZ_INLINE void pz_to_nchwc_tile(const pz_to_nchwc_shape *s, const float *in, float *out, int32_t channels,
                                int32_t points, int whole) {
  pz_v tile[PZ_S];
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) {
    const float *p = in + i * s->in.stride_c;
    tile[i] = i >= channels ? pz_v_zero() : whole ? pz_v_loadu(p) : pz_load_some(p, points);
  }
  pz_transpose(tile);
  if (whole) PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) pz_v_store(out + i * s->out.stride_w, tile[i]);
  else for (int i = 0; i < points; ++i) pz_v_store(out + i * s->out.stride_w, tile[i]); }

PZ_INLINE void pz_to_nchwc_row(const pz_to_nchwc_shape *s, const float *in, float *out, int32_t channels) {
  int32_t width = s->in.w, w = 0;
  if (width < PZ_S) {
    pz_to_nchwc_tile(s, in, out, channels, width, 0);
    return;
  }
  for (; w < width; w += PZ_S) {
    int32_t at = w + PZ_S <= width ? w : width - PZ_S;
    pz_to_nchwc_tile(s, in + at, out + at * s->out.stride_w, channels, PZ_S, 1);
  }
}

PZ_INLINE void pz_to_nchwc(const pz_to_nchwc_shape s, const float *in, float *out, int32_t worker,
                           int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + row.n * s.in.stride_n + (int64_t)row.b * PZ_S * s.in.stride_c +
                        row.d * s.in.stride_d + row.h * s.in.stride_h;
    float *to = out + pz_row_offset(&s.out, row);
    int32_t channels = pz_block_channels(&s.out, row.b);
    if (channels == PZ_S) pz_to_nchwc_row(&s, from, to, PZ_S);
    else pz_to_nchwc_row(&s, from, to, s.out.c % PZ_S);
  }
}

#endif
