/* volume_border.h: what lies outside of a volume, in a tensor of a patch of it, becomes a value, or, `edge`, the nearest element inside; where there is none
 * everything stays as it is then.
 *
 * Layouts: in and out NCHWc, of the same sizes; in may be out, and mostly is: then nothing is written but what is outside. place: z, y and x of the patch's
 * first voxel, and the volume's size: whole numbers. Padding lanes stay zero. Exact. The unit of work is a row. */
#ifndef PZ_KERNELS_VOLUME_BORDER_VOLUME_BORDER_H
#define PZ_KERNELS_VOLUME_BORDER_VOLUME_BORDER_H

#include "kernels/copy/copy.h"
#include "kernels/rows.h"
#include "kernels/vec.h"

enum { PZ_VOLUME_BORDER_RULES = 4 };

/* Along each axis; bounded 0: nothing is outside. Element e is element place * den / num + first + e of the tensor of the whole volume, which has as many
 * as come of the volume's size by `rules` rules, n -> floor((n * mul + add) / div). */
#define PZ_VOLUME_BORDER_FIELDS(ONE, MANY)                                                                   \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(float, value)                                                                                          \
  ONE(int, edge)                                                                                             \
  MANY(int, bounded, 3)                                                                                      \
  MANY(long, num, 3)                                                                                         \
  MANY(long, den, 3)                                                                                         \
  MANY(long, first, 3)                                                                                       \
  MANY(int, rules, 3)                                                                                        \
  MANY(long, mul, 12)                                                                                        \
  MANY(long, add, 12)                                                                                        \
  MANY(long, div, 12)
typedef struct pz_volume_border_shape {
  PZ_VOLUME_BORDER_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_volume_border_shape;

PZ_INLINE int64_t pz_border_floor(int64_t a, int64_t b) { return a / b - (a % b < 0); }
PZ_INLINE int32_t pz_border_within(int64_t i, int32_t size) {
  return i < 0 ? 0 : i < size ? (int32_t)i : size;
}

/* Elements begin .. end - 1 of `size` are in the volume. */
PZ_INLINE void pz_border_part(const pz_volume_border_shape *s, int32_t axis, const float *place, int32_t size,
                              int32_t *begin, int32_t *end) {
  *begin = 0, *end = size;
  if (!s->bounded[axis]) return;
  const int64_t first = pz_border_floor((int64_t)place[axis] * s->den[axis], s->num[axis]) + s->first[axis];
  int64_t n = (int64_t)place[3 + axis];
  for (int32_t i = axis * PZ_VOLUME_BORDER_RULES; i < axis * PZ_VOLUME_BORDER_RULES + s->rules[axis]; ++i)
    n = pz_border_floor(n * s->mul[i] + s->add[i], s->div[i]);
  *begin = pz_border_within(-first, size), *end = pz_border_within(n - first, size);
}

/* Points begin .. end - 1 of a row that has `lanes` channels. */
PZ_INLINE void pz_border_fill(const pz_volume_border_shape *s, int32_t lanes, int32_t begin, int32_t end,
                              float *row) {
  for (int32_t w = begin; w < end; ++w)
    for (int32_t i = 0; i < s->out.block; ++i) row[w * s->out.stride_w + i] = i < lanes ? s->value : 0;
}

PZ_INLINE void pz_border_point(const pz_volume_border_shape *s, const float *from, float *to) {
  for (int32_t i = 0; i < s->out.block; ++i) to[i] = from[i];
}

/* Rows outside are copies of those inside, of which no more is read than what is inside: in place that is written by nobody. */
PZ_INLINE void pz_border_edges(const pz_volume_border_shape *s, const float *in, float *out,
                               const int32_t d[2], const int32_t h[2], const int32_t w[2], int32_t worker,
                               int32_t workers) {
  PZ_EACH_ROW(&s->out, row, worker, workers) {
    pz_row near = row;
    near.d = row.d < d[0] ? d[0] : row.d < d[1] ? row.d : d[1] - 1;
    near.h = row.h < h[0] ? h[0] : row.h < h[1] ? row.h : h[1] - 1;
    const float *from = in + pz_row_offset(&s->in, near);
    float *to = out + pz_row_offset(&s->out, row);
    for (int32_t i = w[0]; i < w[1] && from != to; ++i)
      pz_border_point(s, from + i * s->in.stride_w, to + i * s->out.stride_w);
    for (int32_t i = 0; i < w[0]; ++i)
      pz_border_point(s, from + w[0] * s->in.stride_w, to + i * s->out.stride_w);
    for (int32_t i = w[1]; i < s->out.w; ++i)
      pz_border_point(s, from + (w[1] - 1) * s->in.stride_w, to + i * s->out.stride_w);
  }
}

PZ_INLINE void pz_volume_border(const pz_volume_border_shape s, const float *in, const float *place,
                                float *out, int32_t worker, int32_t workers) {
  const pz_copy_shape copy = {s.in, s.out};
  int32_t d[2], h[2], w[2];
  pz_border_part(&s, 0, place, s.out.d, &d[0], &d[1]);
  pz_border_part(&s, 1, place, s.out.h, &h[0], &h[1]);
  pz_border_part(&s, 2, place, s.out.w, &w[0], &w[1]);
  const int whole =
      d[0] == 0 && d[1] == s.out.d && h[0] == 0 && h[1] == s.out.h && w[0] == 0 && w[1] == s.out.w;
  const int none = d[0] >= d[1] || h[0] >= h[1] || w[0] >= w[1];
  if ((whole || (none && s.edge)) && in == out) return;
  if (s.edge && !whole && !none) {
    pz_border_edges(&s, in, out, d, h, w, worker, workers);
    return;
  }
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    float *to = out + pz_row_offset(&s.out, row);
    const int32_t lanes = pz_block_channels(&s.out, row.b);
    if (in != out) pz_copy_row(&copy, in + pz_row_offset(&s.in, row), to);
    if (none && s.edge) continue;
    if (row.d < d[0] || row.d >= d[1] || row.h < h[0] || row.h >= h[1]) {
      pz_border_fill(&s, lanes, 0, s.out.w, to);
      continue;
    }
    pz_border_fill(&s, lanes, 0, w[0], to);
    pz_border_fill(&s, lanes, w[1], s.out.w, to);
  }
}

#endif
