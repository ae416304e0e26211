/* shape.h: what a reduction over dimensions is, and what follows from it. Plain C: the compiler half includes it too. */
#ifndef PZ_KERNELS_REDUCTION_SHAPE_H
#define PZ_KERNELS_REDUCTION_SHAPE_H

#include "kernels/rows.h"

enum { PZ_REDUCTION_MEAN, PZ_REDUCTION_SUM, PZ_REDUCTION_MAX, PZ_REDUCTION_MIN };
enum {
  PZ_REDUCTION_COLUMNS = 8,   /* results beside each other that are made together */
  PZ_REDUCTION_PIECE = 64,    /* values that are summed up in float */
  PZ_REDUCTION_POINTS = 4096, /* of a slice, about */
  PZ_REDUCTION_MANY = 64      /* rows of results that keep all workers busy without slices */
};

#define PZ_REDUCTION_FIELDS(ONE, MANY)                                                                       \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, kind)                                                                                             \
  MANY(int, over, 5) /* n, c, d, h, w */
typedef struct pz_reduction_shape {
  PZ_REDUCTION_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_reduction_shape;
typedef pz_reduction_shape pz_reduction_join_shape;

/* Rows (n, block, d, h) of in that make one result, and the k-th of them; what is not reduced is 0. */
PZ_INLINE int64_t pz_reduction_rows(const pz_reduction_shape *s) {
  return (int64_t)(s->over[0] ? s->in.n : 1) * (s->over[1] ? pz_blocks(&s->in) : 1) *
         (s->over[2] ? s->in.d : 1) * (s->over[3] ? s->in.h : 1);
}
PZ_INLINE pz_row pz_reduction_row(const pz_reduction_shape *s, int64_t k) {
  const int32_t h = s->over[3] ? s->in.h : 1, d = s->over[2] ? s->in.d : 1,
                b = s->over[1] ? pz_blocks(&s->in) : 1;
  return (pz_row){(int32_t)(k / h / d / b), (int32_t)(k / h / d % b), (int32_t)(k / h % d), (int32_t)(k % h)};
}
/* Values that make one result. */
PZ_INLINE double pz_reduction_count(const pz_reduction_shape *s) {
  return (double)(s->over[0] ? s->in.n : 1) * (s->over[1] ? s->in.c : 1) * (s->over[2] ? s->in.d : 1) *
         (s->over[3] ? s->in.h : 1) * (s->over[4] ? s->in.w : 1);
}

PZ_INLINE int64_t pz_reduction_slice_rows(const pz_reduction_shape *s) {
  const int64_t all = pz_reduction_rows(s), rows = PZ_REDUCTION_POINTS / s->in.w;
  if (pz_rows(&s->out) >= PZ_REDUCTION_MANY) return all;
  return rows < 1 ? 1 : rows < all ? rows : all;
}
PZ_INLINE int64_t pz_reduction_slices(const pz_reduction_shape *s) {
  return (pz_reduction_rows(s) + pz_reduction_slice_rows(s) - 1) / pz_reduction_slice_rows(s);
}
PZ_INLINE int64_t pz_reduction_floats(const pz_reduction_shape *s) {
  return pz_reduction_slices(s) * pz_rows(&s->out) * s->out.w * s->out.block;
}

#endif
