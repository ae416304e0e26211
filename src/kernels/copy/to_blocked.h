/* to_blocked.h: a plain tensor to the blocked layout; how the user's input enters a network.
 *
 * Layouts: `in` plain (block 1) with stride_w 1, at any address; `out` blocked, any strides. Reads the inside of `in`
 * and nothing behind it, writes the inside of `out`, zero in the lanes behind the last map. S maps are read together,
 * S points at a time, and transposed in registers. Rows that are not a multiple of S end with S points that overlap
 * those before; rows shorter than S are read into a cleared vector. Unit of work: a row of `out`. Exact. */
#ifndef PZ_KERNELS_COPY_TO_BLOCKED_H
#define PZ_KERNELS_COPY_TO_BLOCKED_H

#include "kernels/copy/copy.h"
#include "kernels/copy/transpose.h"
#include "kernels/rows.h"

typedef pz_copy_shape pz_to_blocked_shape;

/* `points` (at most S) points of `maps` maps; `whole`: points is S. */
PZ_INLINE void pz_to_blocked_tile(const pz_to_blocked_shape *s, const float *in, float *out, int32_t maps,
                                  int32_t points, int whole) {
  pz_v tile[PZ_S];
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) {
    const float *p = in + i * s->in.stride_c;
    tile[i] = i >= maps ? pz_v_zero() : whole ? pz_v_loadu(p) : pz_load_some(p, points);
  }
  pz_transpose(tile);
  if (whole) PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) pz_v_store(out + i * s->out.stride_w, tile[i]);
  else for (int i = 0; i < points; ++i) pz_v_store(out + i * s->out.stride_w, tile[i]); }

PZ_INLINE void pz_to_blocked_row(const pz_to_blocked_shape *s, const float *in, float *out, int32_t maps) {
  int32_t width = s->in.w, w = 0;
  if (width < PZ_S) {
    pz_to_blocked_tile(s, in, out, maps, width, 0);
    return;
  }
  for (; w < width; w += PZ_S) {
    int32_t at = w + PZ_S <= width ? w : width - PZ_S;
    pz_to_blocked_tile(s, in + at, out + at * s->out.stride_w, maps, PZ_S, 1);
  }
}

PZ_INLINE void pz_to_blocked(const pz_to_blocked_shape s, const float *in, float *out, int32_t worker,
                             int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + row.n * s.in.stride_n + (int64_t)row.b * PZ_S * s.in.stride_c +
                        row.d * s.in.stride_d + row.h * s.in.stride_h;
    float *to = out + pz_row_offset(&s.out, row);
    int32_t maps = pz_block_maps(&s.out, row.b);
    if (maps == PZ_S) pz_to_blocked_row(&s, from, to, PZ_S);
    else pz_to_blocked_row(&s, from, to, s.out.c % PZ_S);
  }
}

#endif
