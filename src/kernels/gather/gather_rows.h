/* gather_rows.h: rows of a matrix by computed numbers.
 *
 * Layouts: in [rows][each], index [n], out [n][each], dense; any address; out overlaps neither. Row i of out is row index[i] of in, cut off to a whole
 * number, or `fill` where that is none of the rows. Unit of work: a row of out. Exact. */
#ifndef PZ_KERNELS_GATHER_GATHER_ROWS_H
#define PZ_KERNELS_GATHER_GATHER_ROWS_H

#include "kernels/gather/gather.h"

#define PZ_GATHER_ROWS_FIELDS(ONE, MANY)                                                                     \
  ONE(int, rows) /* at most 2^24 */                                                                          \
  ONE(long, each)                                                                                            \
  ONE(long, n)                                                                                               \
  ONE(float, fill)
typedef struct pz_gather_rows_shape {
  PZ_GATHER_ROWS_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_gather_rows_shape;

PZ_INLINE void pz_gather_rows(const pz_gather_rows_shape s, const float *in, const float *index, float *out,
                              int32_t worker, int32_t workers) {
  int64_t begin, end;
  pz_share(s.n, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    float *to = out + i * s.each;
    if (index[i] >= 0 && index[i] < (float)s.rows)
      memcpy(to, in + (int32_t)index[i] * s.each, (size_t)s.each * sizeof *to);
    else pz_gather_fill(to, s.each, s.fill);
  }
}

#endif
