/* shape.h: what a group normalisation is, and what follows from it. Plain C: the compiler half includes it too. */
#ifndef PZ_KERNELS_NORM_SHAPE_H
#define PZ_KERNELS_NORM_SHAPE_H

#include "kernels/rows.h"

enum { PZ_NORM_PIECE = 256 /* points at most */, PZ_NORM_UNIT = 4096 /* points, about */ };

#define PZ_NORM_STATS_OF_UNITS_FIELDS(ONE, MANY) ONE(view, in)
typedef struct pz_norm_stats_of_units_shape {
  PZ_NORM_STATS_OF_UNITS_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_norm_stats_of_units_shape;

#define PZ_GROUP_NORM_FIELDS(ONE, MANY)                                                                      \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, units) /* of each block's statistics; pz_group_norm_whole has none */                             \
  ONE(int, groups)                                                                                           \
  ONE(int, has_gamma)                                                                                        \
  ONE(int, has_beta)                                                                                         \
  ONE(float, eps)                                                                                            \
  ONE(int, act) /* pz_k_act; PReLU reads slope */                                                            \
  ONE(float, act_alpha)                                                                                      \
  ONE(float, act_beta)
typedef struct pz_group_norm_shape {
  PZ_GROUP_NORM_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_group_norm_shape;
typedef pz_group_norm_shape pz_group_norm_whole_shape, pz_group_norm_factors_shape;

/* What a reader that normalises needs of each block of a sample: vectors of centers, factors and terms (group_norm.h). */
enum { PZ_NORM_CENTER, PZ_NORM_FACTOR, PZ_NORM_TERM, PZ_NORM_VECTORS };
PZ_INLINE int64_t pz_norm_factor_floats(const pz_view *v) {
  return (int64_t)v->n * pz_blocks(v) * PZ_NORM_VECTORS * v->block;
}

/* Rows of a piece. */
PZ_INLINE int32_t pz_norm_piece_rows(const pz_view *v) {
  return v->w < PZ_NORM_PIECE ? PZ_NORM_PIECE / v->w : 1;
}

PZ_INLINE int64_t pz_norm_block_rows(const pz_view *v) { return (int64_t)v->d * v->h; }
/* Rows of a unit, whole pieces; units of a block. */
PZ_INLINE int64_t pz_norm_unit_rows(const pz_view *v) {
  const int32_t rows = pz_norm_piece_rows(v),
                pieces = PZ_NORM_UNIT / (rows * (v->w < PZ_NORM_UNIT ? v->w : PZ_NORM_UNIT));
  return (int64_t)rows * (pieces > 1 ? pieces : 1);
}
PZ_INLINE int64_t pz_norm_units(const pz_view *v) {
  return (pz_norm_block_rows(v) + pz_norm_unit_rows(v) - 1) / pz_norm_unit_rows(v);
}
/* Blocks of a span; 0 where groups lie across blocks in such a way that none but all of them would do. */
PZ_INLINE int32_t pz_norm_span(const pz_view *v, int32_t groups) {
  const int32_t channels = v->c / groups;
  if (v->block % channels == 0) return 1;
  if (groups == 1) return pz_blocks(v);
  return channels % v->block == 0 ? channels / v->block : 0;
}

/* Floats of a unit's moments (moments.h): two doubles for each lane, and the count. */
PZ_INLINE int64_t pz_norm_record(const pz_view *v) { return 5 * v->block; }
/* Floats of the statistics: records, counted over n, block, unit. */
PZ_INLINE int64_t pz_norm_floats(const pz_view *v, int64_t units) {
  return v->n * pz_blocks(v) * units * pz_norm_record(v);
}

#endif
