/* border.h: the zero border around the spatial dimensions ("padding transformation", PZnet 3.5).
 *
 * pz_border_zero writes zeros to the border_lo/border_hi points around d, h, w of every block of the view, and nothing
 * else; it reads nothing. Layouts: NCHWc, channels-last (all lanes of a point are zeroed) or NCHW; a border along w needs stride_w == block,
 * or channels-last. The unit of work is a plane (n, block, d), border planes included. Exact. */
#ifndef PZ_KERNELS_COPY_BORDER_H
#define PZ_KERNELS_COPY_BORDER_H

#include "kernels/rows.h"

#include <string.h>

/* `count` runs of `length` floats, `stride` apart; one run where they touch. */
PZ_INLINE void pz_border_runs(float *p, int64_t count, int64_t stride, int64_t length) {
  if (length == 0 || count <= 0) return;
  if (stride == length) {
    memset(p, 0, (size_t)(count * length) * sizeof *p);
    return;
  }
  for (int64_t i = 0; i < count; ++i) memset(p + i * stride, 0, (size_t)length * sizeof *p);
}

/* Left and right border of the plane's inner rows. Where nothing else lies between two rows, the right border of one and the
 * left one of the next are one run. */
PZ_INLINE void pz_border_sides(const pz_view *v, float *plane) {
  const int64_t left = (int64_t)v->border_lo[2] * v->block, right = (int64_t)v->border_hi[2] * v->block,
                width = v->w * v->stride_w, between = v->stride_h - width;
  if (between <= left + right) {
    pz_border_runs(plane - left, 1, v->stride_h, left);
    pz_border_runs(plane + width, v->h - 1, v->stride_h, between);
    pz_border_runs(plane + (v->h - 1) * v->stride_h + width, 1, v->stride_h, right);
  } else {
    pz_border_runs(plane - left, v->h, v->stride_h, left);
    pz_border_runs(plane + width, v->h, v->stride_h, right);
  }
}

typedef pz_view pz_border_zero_shape;

/* A channels-last view as one block of all its lanes. */
PZ_INLINE pz_view pz_border_lanes(pz_view v) {
  if (v.channels_last) v.c = v.block = (int32_t)v.stride_w;
  return v;
}

PZ_INLINE void pz_border_zero(const pz_border_zero_shape shape, float *out, int32_t worker, int32_t workers) {
  const pz_view v = pz_border_lanes(shape);
  int64_t begin, end, planes = (int64_t)v.border_lo[0] + v.d + v.border_hi[0];
  int64_t left = (int64_t)v.border_lo[2] * v.block, right = (int64_t)v.border_hi[2] * v.block;
  int64_t whole = left + v.w * v.stride_w + right; /* floats of a row with its border */
  if (!(v.border_lo[0] | v.border_hi[0] | v.border_lo[1] | v.border_hi[1] | v.border_lo[2] | v.border_hi[2]))
    return;
  pz_share((int64_t)v.n * pz_blocks(&v) * planes, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    int64_t block = i / planes, d = i % planes - v.border_lo[0];
    float *plane =
        out + block / pz_blocks(&v) * v.stride_n + block % pz_blocks(&v) * v.stride_c + d * v.stride_d;
    float *corner = plane - v.border_lo[1] * v.stride_h - left;
    if (d < 0 || d >= v.d) {
      pz_border_runs(corner, (int64_t)v.border_lo[1] + v.h + v.border_hi[1], v.stride_h, whole);
      continue;
    }
    pz_border_runs(corner, v.border_lo[1], v.stride_h, whole);
    pz_border_sides(&v, plane);
    pz_border_runs(plane + v.h * v.stride_h - left, v.border_hi[1], v.stride_h, whole);
  }
}

#endif
