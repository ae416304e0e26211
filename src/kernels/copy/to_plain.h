/* to_plain.h: the blocked layout to a plain tensor; how a result leaves a network.
 *
 * Layouts: `in` blocked, any strides; `out` plain (block 1) with stride_w 1, at any address. Reads the inside of `in`,
 * writes the inside of `out`. S points of S maps are transposed in registers; rows that are not a multiple of S end
 * with S points that overlap those before, rows shorter than S are written in parts of a vector. Unit of work: a row
 * (n, block, d, h). Exact. */
#ifndef PZ_KERNELS_COPY_TO_PLAIN_H
#define PZ_KERNELS_COPY_TO_PLAIN_H

#include "kernels/copy/copy.h"
#include "kernels/copy/transpose.h"
#include "kernels/rows.h"

typedef pz_copy_shape pz_to_plain_shape;

/* `points` (at most S) points of `maps` maps; `whole`: points is S. */
PZ_INLINE void pz_to_plain_tile(const pz_to_plain_shape *s, const float *in, float *out, int32_t maps,
                                int32_t points, int whole) {
  pz_v tile[PZ_S];
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) tile[i] = i < points ? pz_v_load(in + i * s->in.stride_w) : pz_v_zero();
  pz_transpose(tile);
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) {
    if (i >= maps) break;
    if (whole) pz_v_storeu(out + i * s->out.stride_c, tile[i]);
    else pz_store_some(out + i * s->out.stride_c, tile[i], points);
  }
}

PZ_INLINE void pz_to_plain_row(const pz_to_plain_shape *s, const float *in, float *out, int32_t maps) {
  int32_t width = s->in.w, w = 0;
  if (width < PZ_S) {
    pz_to_plain_tile(s, in, out, maps, width, 0);
    return;
  }
  for (; w < width; w += PZ_S) {
    int32_t at = w + PZ_S <= width ? w : width - PZ_S;
    pz_to_plain_tile(s, in + at * s->in.stride_w, out + at, maps, PZ_S, 1);
  }
}

PZ_INLINE void pz_to_plain(const pz_to_plain_shape s, const float *in, float *out, int32_t worker,
                           int32_t workers) {
  PZ_EACH_ROW(&s.in, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, row);
    float *to = out + row.n * s.out.stride_n + (int64_t)row.b * PZ_S * s.out.stride_c +
                row.d * s.out.stride_d + row.h * s.out.stride_h;
    int32_t maps = pz_block_maps(&s.in, row.b);
    if (maps == PZ_S) pz_to_plain_row(&s, from, to, PZ_S);
    else pz_to_plain_row(&s, from, to, s.in.c % PZ_S);
  }
}

#endif
