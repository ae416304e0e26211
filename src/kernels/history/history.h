/* history.h: planes of the runs before in front of those of this one.
 *
 * Layouts: in and out NCHWc, of the same sizes but for the planes, of which out has `planes` more; state: [n][block][h][planes][w][lane], zero before
 * the first run. out may not overlap in. Padding lanes are copied as they are. Exact. The unit of work is a line: all planes of a row. */
#ifndef PZ_KERNELS_HISTORY_HISTORY_H
#define PZ_KERNELS_HISTORY_HISTORY_H

#include "kernels/copy/copy.h"
#include "kernels/vec.h"

#define PZ_HISTORY_FIELDS(ONE, MANY)                                                                         \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, planes)
typedef struct pz_history_shape {
  PZ_HISTORY_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_history_shape;

/* Floats of a row, and of the whole state. */
PZ_INLINE int64_t pz_history_row(const pz_history_shape *s) { return (int64_t)s->in.w * s->in.block; }
PZ_INLINE int64_t pz_history_floats(const pz_history_shape *s) {
  return (int64_t)s->in.n * pz_blocks(&s->in) * s->in.h * s->planes * pz_history_row(s);
}

PZ_INLINE void pz_history(const pz_history_shape s, const float *in, float *state, float *out, int32_t worker,
                          int32_t workers) {
  const pz_view *v = &s.in;
  const int64_t row = pz_history_row(&s), blocks = pz_blocks(v);
  const size_t bytes = (size_t)row * sizeof *in;
  int64_t begin, end;
  pz_share(v->n * blocks * v->h, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t h = i % v->h, b = i / v->h % blocks, n = i / v->h / blocks;
    const float *from = in + n * v->stride_n + b * v->stride_c + h * v->stride_h;
    float *to = out + n * s.out.stride_n + b * s.out.stride_c + h * s.out.stride_h,
          *kept = state + i * s.planes * row;
    for (int32_t d = 0; d < s.planes; ++d) memcpy(to + d * s.out.stride_d, kept + d * row, bytes);
    for (int32_t d = 0; d < v->d; ++d)
      memcpy(to + (s.planes + d) * s.out.stride_d, from + d * v->stride_d, bytes);
    for (int32_t d = 0; d < s.planes; ++d) memcpy(kept + d * row, to + (v->d + d) * s.out.stride_d, bytes);
  }
}

#endif
