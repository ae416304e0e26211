/* to_nchw.h: the NCHWc layout to a NCHW tensor; how a result leaves a network.
 *
 * Layouts: `in` NCHWc, any strides; `out` NCHW (block 1) with stride_w 1, at any address. Reads the inside of `in`,
 * writes the inside of `out`. S points of S channels are transposed in registers; rows that are not a multiple of S end
 * with S points that overlap those before, rows shorter than S are written in parts of a vector. Unit of work: a row
 * (n, block, d, h). Exact. */
#ifndef PZ_KERNELS_COPY_TO_NCHW_H
#define PZ_KERNELS_COPY_TO_NCHW_H

#include "kernels/copy/copy.h"
#include "kernels/copy/transpose.h"
#include "kernels/rows.h"

typedef pz_copy_shape pz_to_nchw_shape;

/* `points` (at most S) points of `channels` channels; `whole`: points is S. */
PZ_INLINE void pz_to_nchw_tile(const pz_to_nchw_shape *s, const float *in, float *out, int32_t channels,
                               int32_t points, int whole) {
  pz_v tile[PZ_S];
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) tile[i] = i < points ? pz_v_load(in + i * s->in.stride_w) : pz_v_zero();
  pz_transpose(tile);
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) {
    if (i >= channels) break;
    if (whole) pz_v_storeu(out + i * s->out.stride_c, tile[i]);
    else pz_store_some(out + i * s->out.stride_c, tile[i], points);
  }
}

PZ_INLINE void pz_to_nchw_row(const pz_to_nchw_shape *s, const float *in, float *out, int32_t channels) {
  int32_t width = s->in.w, w = 0;
  if (width < PZ_S) {
    pz_to_nchw_tile(s, in, out, channels, width, 0);
    return;
  }
  for (; w < width; w += PZ_S) {
    int32_t at = w + PZ_S <= width ? w : width - PZ_S;
    pz_to_nchw_tile(s, in + at * s->in.stride_w, out + at, channels, PZ_S, 1);
  }
}

PZ_INLINE void pz_to_nchw(const pz_to_nchw_shape s, const float *in, float *out, int32_t worker,
                          int32_t workers) {
  PZ_EACH_ROW(&s.in, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, row);
    float *to = out + row.n * s.out.stride_n + (int64_t)row.b * PZ_S * s.out.stride_c +
                row.d * s.out.stride_d + row.h * s.out.stride_h;
    int32_t channels = pz_block_channels(&s.in, row.b);
    if (channels == PZ_S) pz_to_nchw_row(&s, from, to, PZ_S);
    else pz_to_nchw_row(&s, from, to, s.in.c % PZ_S);
  }
}

#endif
