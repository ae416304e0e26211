/* copy.h: a view to another view of the same sizes and the same block (both NCHWc or both NCHW).
 *
 * Crops, concatenation and slices along d, h, w, n, and along channels at multiples of the block are copies between views
 * of parts of tensors. Reads the inside of `in`, writes the inside of `out`; they may not overlap. Any strides; runs
 * are copied whole as far as both views are contiguous. Padding lanes are copied as they are (so the last block of
 * `in` must keep the invariant; a slice that ends inside a block is pz_slice_channels's, kernels/copy/lanes.h). The unit
 * of work is a row. Exact. */
#ifndef PZ_KERNELS_COPY_COPY_H
#define PZ_KERNELS_COPY_COPY_H

#include "kernels/rows.h"

#include <string.h>

#define PZ_COPY_FIELDS(ONE, MANY)                                                                            \
  ONE(view, in)                                                                                              \
  ONE(view, out)
typedef struct pz_copy_shape {
  PZ_COPY_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_copy_shape;

PZ_INLINE void pz_copy_row(const pz_copy_shape *s, const float *restrict in, float *restrict out) {
  size_t point = (size_t)s->in.block * sizeof *in;
  if (s->in.stride_w == s->in.block && s->out.stride_w == s->in.block) {
    memcpy(out, in, (size_t)s->in.w * point);
    return;
  }
  for (int32_t w = 0; w < s->in.w; ++w) memcpy(out + w * s->out.stride_w, in + w * s->in.stride_w, point);
}

PZ_INLINE int pz_copy_rows_touch(const pz_view *v) {
  return v->stride_w == v->block && v->stride_h == v->w * v->stride_w;
}

PZ_INLINE void pz_copy(const pz_copy_shape s, const float *in, float *out, int32_t worker, int32_t workers) {
  if (pz_copy_rows_touch(&s.in) && pz_copy_rows_touch(&s.out)) { /* runs of rows of one plane */
    int64_t i, end;
    pz_share(pz_rows(&s.in), worker, workers, &i, &end);
    while (i < end) {
      pz_row row = pz_row_at(&s.in, i);
      int64_t run = end - i < s.in.h - row.h ? end - i : s.in.h - row.h;
      memcpy(out + pz_row_offset(&s.out, row), in + pz_row_offset(&s.in, row),
             (size_t)(run * s.in.stride_h) * sizeof *in);
      i += run;
    }
    return;
  }
  PZ_EACH_ROW(&s.in, row, worker, workers) {
    pz_copy_row(&s, in + pz_row_offset(&s.in, row), out + pz_row_offset(&s.out, row));
  }
}

#endif
