/* cumsum.h: sums of the entries up to each one of an axis, with it or (exclusive) without it, from the first entry on or (reverse) from the
 * last one back.
 *
 * Layouts: `in` and `out` dense NCHW, seen as outer x axis x inner; any address; out may be in.
 * pz_cumsum: lanes are inner positions. Unit of work: 64 inner positions of one outer.
 * pz_cumsum_line: inner is 1, and the axis a line in memory, which is a scalar loop. Unit of work: a line.
 *
 * Entries are added one after the other, in the order of the axis or, reverse, against it: the error of a result is at most axis * 6e-8 of
 * the sum of the entries' magnitudes, and none where they are whole numbers with sums up to 2^24. A NaN, or an infinity, stays in all
 * sums behind it. */
#ifndef PZ_KERNELS_CUMSUM_CUMSUM_H
#define PZ_KERNELS_CUMSUM_CUMSUM_H

#include "kernels/fields.h"
#include "kernels/vec.h"
#include "kernels/view.h"

enum { PZ_CUMSUM_COLUMNS = 64 };

#define PZ_CUMSUM_FIELDS(ONE, MANY)                                                                          \
  ONE(long, outer)                                                                                           \
  ONE(long, axis)                                                                                            \
  ONE(long, inner)                                                                                           \
  ONE(int, exclusive)                                                                                        \
  ONE(int, reverse)
typedef struct pz_cumsum_shape {
  PZ_CUMSUM_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_cumsum_shape;
typedef pz_cumsum_shape pz_cumsum_line_shape;

/* The entry of the axis that is added i-th. */
PZ_INLINE int64_t pz_cumsum_entry(const pz_cumsum_shape *s, int64_t i) {
  return s->reverse ? s->axis - 1 - i : i;
}

PZ_INLINE void pz_cumsum_vector(const pz_cumsum_shape *s, const float *in, float *out) {
  pz_v sum = pz_v_zero();
  for (int64_t i = 0; i < s->axis; ++i) {
    const int64_t at = pz_cumsum_entry(s, i) * s->inner;
    const pz_v with = sum + pz_v_loadu(in + at);
    pz_v_storeu(out + at, s->exclusive ? sum : with);
    sum = with;
  }
}

PZ_INLINE void pz_cumsum_scalar(const pz_cumsum_shape *s, const float *in, float *out) {
  float sum = 0;
  for (int64_t i = 0; i < s->axis; ++i) {
    const int64_t at = pz_cumsum_entry(s, i) * s->inner;
    const float with = sum + in[at];
    out[at] = s->exclusive ? sum : with;
    sum = with;
  }
}

PZ_INLINE void pz_cumsum(const pz_cumsum_shape s, const float *in, float *out, int32_t worker,
                         int32_t workers) {
  int64_t begin, end, groups = (s.inner + PZ_CUMSUM_COLUMNS - 1) / PZ_CUMSUM_COLUMNS;
  pz_share(s.outer * groups, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = i % groups * PZ_CUMSUM_COLUMNS, at = i / groups * s.axis * s.inner;
    const int64_t last = first + PZ_CUMSUM_COLUMNS < s.inner ? first + PZ_CUMSUM_COLUMNS : s.inner;
    int64_t k = first;
    for (; k + PZ_S <= last; k += PZ_S) pz_cumsum_vector(&s, in + at + k, out + at + k);
    for (; k < last; ++k) pz_cumsum_scalar(&s, in + at + k, out + at + k);
  }
}

PZ_INLINE void pz_cumsum_line(const pz_cumsum_line_shape s, const float *in, float *out, int32_t worker,
                              int32_t workers) {
  int64_t begin, end;
  pz_share(s.outer, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) pz_cumsum_scalar(&s, in + i * s.axis, out + i * s.axis);
}

#endif
