/* moments.h: mean and sum of squared deviations of NCHWc tensors, lane by lane, for the normalisations.
 *
 * A region is rows first .. end of one sample from some block on, counted over (block, d, h): the same lane of all its points.
 * It is cut into pieces of at most PZ_NORM_PIECE points, which stay in level 1 while they are read twice: the mean in float,
 * then the sums of deviations from it and of their squares, in four partial sums each. The sum of deviations, which would be
 * zero without rounding, corrects both ("corrected two-pass algorithm"; Chan, Golub, LeVeque 1983, eq. 1.7), and pieces are
 * joined in double by their pairwise formula (eq. 2.1). So the error does not grow with mean/deviation nor with the number of
 * points: relative to the deviation that of the mean and of the deviation is below 5e-7 (test_norm.c, with means up to 1e5
 * deviations). Order and pieces depend on the view alone. */
#ifndef PZ_KERNELS_NORM_MOMENTS_H
#define PZ_KERNELS_NORM_MOMENTS_H

#include "kernels/norm/shape.h"
#include "kernels/vec.h"

enum { PZ_NORM_SUMS = 4 };

/* Of each lane: how many points, the same for all; their mean, and the sum of the squares of their deviations from it. Whole
 * vectors: a scalar count would be followed by a gap, and copies of both would wait for its store. */
typedef struct pz_norm_lanes {
  pz_vd count, mean[2], squares[2];
} pz_norm_lanes;

/* The same of a group of channels. */
typedef struct pz_norm_moments {
  double count, mean, squares;
} pz_norm_moments;

/* ---- a piece ---- */

/* Where a row of a region begins. */
typedef struct pz_norm_place {
  const float *row;
  int32_t d, h;
} pz_norm_place;

PZ_INLINE void pz_norm_next_row(const pz_view *v, pz_norm_place *at) {
  at->row += v->stride_h;
  if (++at->h < v->h) return;
  at->h = 0, at->row += v->stride_d - v->h * v->stride_h;
  if (++at->d < v->d) return;
  at->d = 0, at->row += v->stride_c - v->d * v->stride_d;
}

PZ_INLINE void pz_norm_add_row(const float *p, int64_t stride, int32_t points, pz_v *sum) {
  int32_t i = 0;
  for (; i + PZ_NORM_SUMS <= points; i += PZ_NORM_SUMS)
    PZ_UNROLL for (int32_t k = 0; k < PZ_NORM_SUMS; ++k) sum[k] += pz_v_load(p + (i + k) * stride);
  for (; i < points; ++i) sum[0] += pz_v_load(p + i * stride);
}

PZ_INLINE void pz_norm_deviation(pz_v x, pz_v mean, pz_v *sum, pz_v *squares) {
  pz_v difference = x - mean;
  *sum += difference;
  *squares = pz_v_fma(difference, difference, *squares);
}

PZ_INLINE void pz_norm_deviate_row(const float *p, int64_t stride, int32_t points, int32_t fetch, pz_v mean,
                                   pz_v *sum, pz_v *squares) {
  int32_t i = 0;
  for (; i + PZ_NORM_SUMS <= points; i += PZ_NORM_SUMS) {
    /* about where the next piece is: memory would rest while this one is read again */
    PZ_UNROLL for (int32_t k = 0; k < fetch * PZ_NORM_SUMS * PZ_S; k += 16)
        __builtin_prefetch(p + (i + PZ_NORM_PIECE) * stride + k);
    PZ_UNROLL for (int32_t k = 0; k < PZ_NORM_SUMS; ++k)
        pz_norm_deviation(pz_v_load(p + (i + k) * stride), mean, &sum[k], &squares[k]);
  }
  for (; i < points; ++i) pz_norm_deviation(pz_v_load(p + i * stride), mean, &sum[0], &squares[0]);
}

PZ_INLINE pz_v pz_norm_total(const pz_v *sum) { return (sum[0] + sum[1]) + (sum[2] + sum[3]); }

/* `points` points from w on of `rows` rows; fetch: 1 where more of them follow, and memory is far. */
PZ_INLINE pz_norm_lanes pz_norm_piece(const pz_view *v, pz_norm_place at, int32_t rows, int32_t w,
                                      int32_t points, int32_t fetch) {
  pz_v sum[PZ_NORM_SUMS] = {{0}}, rest[PZ_NORM_SUMS] = {{0}}, squares[PZ_NORM_SUMS] = {{0}};
  pz_norm_place again = at;
  for (int32_t r = 0; r < rows; ++r, pz_norm_next_row(v, &at))
    pz_norm_add_row(at.row + w * v->stride_w, v->stride_w, points, sum);
  pz_v mean = pz_norm_total(sum) * (1.0f / ((float)rows * (float)points));
  for (int32_t r = 0; r < rows; ++r, pz_norm_next_row(v, &again))
    pz_norm_deviate_row(again.row + w * v->stride_w, v->stride_w, points, fetch, mean, rest, squares);
  const double count = (double)rows * points;
  pz_norm_lanes lanes = {.count = (pz_vd){0} + count};
  for (int i = 0; i < 2; ++i) {
    pz_vd off = pz_v_double(pz_norm_total(rest), i) * (1 / count);
    lanes.mean[i] = pz_v_double(mean, i) + off;
    lanes.squares[i] = pz_v_double(pz_norm_total(squares), i) - off * off * count;
  }
  return lanes;
}

/* ---- joining ---- */

PZ_INLINE void pz_norm_join_lanes(pz_norm_lanes *a, const pz_norm_lanes *b) {
  const pz_vd count = a->count + b->count, part = b->count / count, weight = a->count * part;
  for (int i = 0; i < 2; ++i) {
    pz_vd apart = b->mean[i] - a->mean[i];
    a->mean[i] += apart * part;
    a->squares[i] += b->squares[i] + apart * apart * weight;
  }
  a->count = count;
}

PZ_INLINE void pz_norm_join(pz_norm_moments *a, const pz_norm_moments *b) {
  const double count = a->count + b->count, part = b->count / count, apart = b->mean - a->mean;
  a->mean += apart * part;
  a->squares += b->squares + apart * apart * part * a->count;
  a->count = count;
}

/* Lanes begin .. end as one group; begin < end. */
PZ_INLINE pz_norm_moments pz_norm_of_lanes(const pz_norm_lanes *lanes, int32_t begin, int32_t end) {
  double mean[PZ_S], squares[PZ_S], sum = 0, square = 0;
  memcpy(mean, lanes->mean, sizeof mean), memcpy(squares, lanes->squares, sizeof squares);
  for (int32_t i = begin; i < end; ++i) sum += mean[i];
  sum /= end - begin;
  for (int32_t i = begin; i < end; ++i)
    square += squares[i] + (mean[i] - sum) * (mean[i] - sum) * lanes->count[0];
  return (pz_norm_moments){lanes->count[0] * (end - begin), sum, square};
}

/* ---- records: moments in memory, 5*S floats, aligned to the vector ---- */

enum { PZ_NORM_RECORD = 5 * PZ_S };

PZ_INLINE void pz_norm_store(float *record, const pz_norm_lanes *lanes) {
  memcpy(record, lanes, sizeof *lanes);
}
PZ_INLINE pz_norm_lanes pz_norm_load(const float *record) {
  pz_norm_lanes lanes;
  memcpy(&lanes, record, sizeof lanes);
  return lanes;
}

/* For a kernel that collects the moments of what it makes: a record of nothing, and more points in it. */
PZ_INLINE void pz_norm_clear(float *record) { memset(record, 0, sizeof(pz_vd)); }
PZ_INLINE void pz_norm_collect(float *record, const pz_norm_lanes *more) {
  pz_norm_lanes lanes = pz_norm_load(record);
  if (lanes.count[0] > 0) pz_norm_join_lanes(&lanes, more);
  else lanes = *more;
  pz_norm_store(record, &lanes);
}

/* ---- a region ---- */

/* `in`: the first point of the block that rows count from; first < end. */
PZ_INLINE pz_norm_lanes pz_norm_region(const pz_view *v, const float *in, int64_t first, int64_t end) {
  const int32_t rows = pz_norm_piece_rows(v);
  const int64_t plane = first / v->h;
  pz_norm_place at = {.d = (int32_t)(plane % v->d), .h = (int32_t)(first % v->h)};
  at.row = in + plane / v->d * v->stride_c + at.d * v->stride_d + at.h * v->stride_h;
  pz_norm_lanes all = {.count = {0}};
  for (int64_t r = first; r < end; r += rows) {
    const int32_t now = end - r < rows ? (int32_t)(end - r) : rows;
    for (int32_t w = 0; w < v->w; w += PZ_NORM_PIECE) {
      const int32_t points = v->w - w < PZ_NORM_PIECE ? v->w - w : PZ_NORM_PIECE;
      const pz_norm_lanes piece = pz_norm_piece(v, at, now, w, points, 1);
      if (all.count[0] > 0) pz_norm_join_lanes(&all, &piece);
      else all = piece;
    }
    for (int32_t i = 0; i < now; ++i) pz_norm_next_row(v, &at);
  }
  return all;
}

/* For a kernel that has just stored some d x h x w points of a block, the first one at `at`: their moments are added to a record. They
 * should still be near, so such a kernel does not stream. */
PZ_INLINE void pz_norm_collect_box(const pz_view *v, const float *at, int32_t d, int32_t h, int32_t w,
                                   float *record) {
  pz_view box = *v;
  box.d = d, box.h = h, box.w = w;
  const pz_norm_lanes lanes = pz_norm_region(&box, at, 0, (int64_t)d * h);
  pz_norm_collect(record, &lanes);
}

/* Record `unit` of block b of sample n, where each block has `units`. */
PZ_INLINE float *pz_norm_record_at(float *norm_stats, const pz_view *v, int64_t units, int64_t n, int64_t b,
                                   int64_t unit) {
  return norm_stats + ((n * pz_blocks(v) + b) * units + unit) * PZ_NORM_RECORD;
}

/* Makes that record of all blocks empty; returns that of block 0. */
PZ_INLINE float *pz_norm_begin_records(float *norm_stats, const pz_view *v, int64_t units, int64_t n,
                                       int64_t unit) {
  PZ_ROLL for (int32_t b = 0; b < pz_blocks(v); ++b)
      pz_norm_clear(pz_norm_record_at(norm_stats, v, units, n, b, unit));
  return pz_norm_record_at(norm_stats, v, units, n, 0, unit);
}

#endif
