/* rows.h: walking over the rows (n, block, d, h) of a view, and sharing them between workers. A row is w points of one
 * block; it is the unit of work of all kernels that are bound by memory, so the bits do not depend on the workers. */
#ifndef PZ_KERNELS_ROWS_H
#define PZ_KERNELS_ROWS_H

#include "kernels/view.h"

typedef struct pz_row {
  int32_t n, b, d, h;
} pz_row;

PZ_INLINE int32_t pz_blocks(const pz_view *v) { return (v->c + v->block - 1) / v->block; }

/* Channels that block b of the view really holds: view.block but for the last. */
PZ_INLINE int32_t pz_block_channels(const pz_view *v, int32_t b) {
  int32_t rest = v->c % v->block;
  return rest && b == v->c / v->block ? rest : v->block;
}

PZ_INLINE int64_t pz_rows(const pz_view *v) { return (int64_t)v->n * pz_blocks(v) * v->d * v->h; }

PZ_INLINE pz_row pz_row_at(const pz_view *v, int64_t index) {
  int64_t d = index / v->h, b = d / v->d, n = b / pz_blocks(v);
  return (pz_row){(int32_t)n, (int32_t)(b % pz_blocks(v)), (int32_t)(d % v->d), (int32_t)(index % v->h)};
}

PZ_INLINE void pz_row_next(const pz_view *v, pz_row *r) {
  if (++r->h < v->h) return;
  r->h = 0;
  if (++r->d < v->d) return;
  r->d = 0;
  if (++r->b < pz_blocks(v)) return;
  r->b = 0;
  ++r->n;
}

PZ_INLINE int64_t pz_row_offset(const pz_view *v, pz_row r) {
  return r.n * v->stride_n + r.b * v->stride_c + r.d * v->stride_d + r.h * v->stride_h;
}

/* for (pz_row row of view `v`, this worker's share) */
#define PZ_EACH_ROW(v, row, worker, workers)                                                                 \
  int64_t row##_i, row##_end;                                                                                \
  pz_share(pz_rows(v), worker, workers, &row##_i, &row##_end);                                               \
  for (pz_row row = pz_row_at(v, row##_i); row##_i < row##_end; ++row##_i, pz_row_next(v, &row))

#endif
