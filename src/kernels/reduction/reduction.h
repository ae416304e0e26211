/* reduction.h: sum, mean, maximum or minimum over any dimensions, which become 1.
 *
 * pz_reduction: where pz_reduction_slices is 1, the results; else partial results for pz_reduction_join, behind a barrier: what is
 * reduced is cut into slices of some rows (n, block, d, h), so that many workers can share few results. `partial` then holds
 * pz_reduction_floats floats, aligned to the vector; else it is not used.
 *
 * Layouts: `in` and `out` NCHWc, any strides; out's sizes are 1 where `over` is set (n, c, d, h, w) and in's elsewhere; they do
 * not overlap. Padding lanes of `in` are not looked at; those of `out` become zero, and where channels are reduced so do all lanes
 * but the first. Units of work: a slice of a row of results. Slices and order follow from the shape: the bits do not depend on
 * the workers.
 *
 * Error: sums are taken in float over at most PZ_REDUCTION_PIECE values for each of four partial sums, and those in double: at most
 * 1e-5 of the sum of magnitudes, for random values 1e-7. Maximum and minimum are exact; NaN where a value is NaN. The
 * enumerators' values are those of pz_reduce_kind in graph/graph.h. */
#ifndef PZ_KERNELS_REDUCTION_REDUCTION_H
#define PZ_KERNELS_REDUCTION_REDUCTION_H

#include "kernels/reduction/shape.h"
#include "kernels/copy/shift.h"
#include "kernels/vec.h"

/* ---- a total ---- */

typedef struct pz_reduction_total {
  pz_v most;      /* maximum, minimum */
  pz_vd total[2]; /* sum, mean */
} pz_reduction_total;

PZ_INLINE int pz_reduction_sums(int32_t kind) {
  return kind == PZ_REDUCTION_MEAN || kind == PZ_REDUCTION_SUM;
}

PZ_INLINE pz_v pz_reduction_neutral(int32_t kind) {
  if (pz_reduction_sums(kind)) return pz_v_zero();
  return pz_v_set1(kind == PZ_REDUCTION_MAX ? -__builtin_inff() : __builtin_inff());
}
PZ_INLINE pz_v pz_reduction_combine(int32_t kind, pz_v a, pz_v x) {
  if (pz_reduction_sums(kind)) return a + x;
  return kind == PZ_REDUCTION_MAX ? pz_v_max_nan(a, x) : pz_v_min_nan(a, x);
}

PZ_INLINE pz_reduction_total pz_reduction_none(int32_t kind) {
  return (pz_reduction_total){.most = pz_reduction_neutral(kind), .total = {{0}}};
}
PZ_INLINE void pz_reduction_add(int32_t kind, pz_reduction_total *t, pz_v x) {
  if (!pz_reduction_sums(kind)) t->most = pz_reduction_combine(kind, t->most, x);
  else
    for (int i = 0; i < 2; ++i) t->total[i] += pz_v_double(x, i);
}
/* Sums times `factor`. */
PZ_INLINE pz_v pz_reduction_value(int32_t kind, const pz_reduction_total *t, double factor) {
  union {
    pz_vh half[2];
    pz_v whole;
  } u;
  if (!pz_reduction_sums(kind)) return t->most;
  for (int i = 0; i < 2; ++i) u.half[i] = __builtin_convertvector(t->total[i] * factor, pz_vh);
  return u.whole;
}

/* All lanes in lane 0, zero in the others. */
PZ_INLINE pz_v pz_reduction_over_lanes(int32_t kind, pz_v x) {
  if (pz_reduction_sums(kind)) return pz_v_first(pz_v_set1(pz_v_sum(x)), 1);
#if PZ_S >= 16
  x = pz_reduction_combine(kind, x, PZ_SHIFT(x, x, 8));
#endif
#if PZ_S >= 8
  x = pz_reduction_combine(kind, x, PZ_SHIFT(x, x, 4));
#endif
  x = pz_reduction_combine(kind, x, PZ_SHIFT(x, x, 2));
  return pz_v_first(pz_reduction_combine(kind, x, PZ_SHIFT(x, x, 1)), 1);
}

/* ---- a slice ---- */

/* Lanes from `channels` on do not count. */
PZ_INLINE pz_v pz_reduction_load(const pz_reduction_shape *s, const float *p, int32_t channels) {
  pz_v x = pz_v_load(p);
  if (!s->over[1] || channels >= PZ_S) return x;
  return pz_v_select((pz_vi)(pz_vi_lanes() < pz_vi_set1(channels)), x, pz_reduction_neutral(s->kind));
}

/* `points` points of a row, in four partial results, at most PZ_REDUCTION_PIECE each before they are added up. */
PZ_INLINE void pz_reduction_add_row(const pz_reduction_shape *s, const float *p, int32_t channels,
                                    pz_reduction_total *t) {
  const int64_t step = s->in.stride_w;
  for (int32_t begin = 0; begin < s->in.w; begin += 4 * PZ_REDUCTION_PIECE) {
    const int32_t end = s->in.w - begin < 4 * PZ_REDUCTION_PIECE ? s->in.w : begin + 4 * PZ_REDUCTION_PIECE;
    pz_v acc[4];
    PZ_UNROLL for (int i = 0; i < 4; ++i) acc[i] = pz_reduction_neutral(s->kind);
    int32_t w = begin;
    for (; w + 4 <= end; w += 4)
      PZ_UNROLL for (int i = 0; i < 4; ++i) acc[i] =
          pz_reduction_combine(s->kind, acc[i], pz_reduction_load(s, p + (w + i) * step, channels));
    for (; w < end; ++w)
      acc[0] = pz_reduction_combine(s->kind, acc[0], pz_reduction_load(s, p + w * step, channels));
    acc[0] = pz_reduction_combine(s->kind, acc[0], acc[1]),
    acc[2] = pz_reduction_combine(s->kind, acc[2], acc[3]);
    pz_reduction_add(s->kind, t, pz_reduction_combine(s->kind, acc[0], acc[2]));
  }
}

/* Rows first .. end of what is reduced, over the width too, into one result of block b, whose position is `at` in in. */
PZ_INLINE pz_reduction_total pz_reduction_points(const pz_reduction_shape *s, const float *at, int32_t b,
                                                 int64_t first, int64_t end) {
  pz_reduction_total total = pz_reduction_none(s->kind);
  for (int64_t k = first; k < end; ++k) {
    const pz_row row = pz_reduction_row(s, k);
    const int32_t channels = pz_block_channels(&s->in, s->over[1] ? row.b : b);
    pz_reduction_add_row(s, at + pz_row_offset(&s->in, row), channels, &total);
  }
  return total;
}

/* The same, not over the width, into `count` results beside each other. */
PZ_INLINE void pz_reduction_columns(const pz_reduction_shape *s, const float *at, int32_t b, int64_t first,
                                    int64_t end, int32_t count,
                                    pz_reduction_total total[PZ_REDUCTION_COLUMNS]) {
  for (int i = 0; i < PZ_REDUCTION_COLUMNS; ++i) total[i] = pz_reduction_none(s->kind);
  for (int64_t begin = first, stop; begin < end; begin = stop) {
    pz_v acc[PZ_REDUCTION_COLUMNS];
    stop = begin + PZ_REDUCTION_PIECE < end ? begin + PZ_REDUCTION_PIECE : end;
    PZ_UNROLL for (int i = 0; i < PZ_REDUCTION_COLUMNS; ++i) acc[i] = pz_reduction_neutral(s->kind);
    for (int64_t k = begin; k < stop; ++k) {
      const pz_row row = pz_reduction_row(s, k);
      const float *p = at + pz_row_offset(&s->in, row);
      const int32_t channels = pz_block_channels(&s->in, s->over[1] ? row.b : b);
      PZ_UNROLL for (int i = 0; i < PZ_REDUCTION_COLUMNS;
                     ++i) { /* those behind the last are the first again */
        const pz_v x = pz_reduction_load(s, p + (i < count ? i : 0) * s->in.stride_w, channels);
        acc[i] = pz_reduction_combine(s->kind, acc[i], x);
      }
    }
    PZ_UNROLL for (int i = 0; i < PZ_REDUCTION_COLUMNS; ++i) pz_reduction_add(s->kind, &total[i], acc[i]);
  }
}

PZ_INLINE void pz_reduction_store(const pz_reduction_shape *s, float *out, int32_t channels,
                                  const pz_reduction_total *t) {
  pz_v x = pz_reduction_value(s->kind, t, s->kind == PZ_REDUCTION_MEAN ? 1 / pz_reduction_count(s) : 1);
  pz_v_store(out, s->over[1] ? pz_reduction_over_lanes(s->kind, x) : pz_v_first(x, channels));
}

PZ_INLINE void pz_reduction(const pz_reduction_shape s, const float *in, float *partial, float *out,
                            int32_t worker, int32_t workers) {
  const int64_t slices = pz_reduction_slices(&s), rows = pz_reduction_slice_rows(&s),
                all = pz_reduction_rows(&s);
  int64_t begin, end;
  pz_share(pz_rows(&s.out) * slices, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    const pz_row result = pz_row_at(&s.out, i / slices);
    const float *at = in + pz_row_offset(&s.in, result); /* reduced dimensions are 0 there */
    const int64_t first = i % slices * rows, stop = first + rows < all ? first + rows : all;
    for (int32_t w = 0; w < s.out.w; w += PZ_REDUCTION_COLUMNS) {
      const int32_t count = s.out.w - w < PZ_REDUCTION_COLUMNS ? s.out.w - w : PZ_REDUCTION_COLUMNS;
      pz_reduction_total total[PZ_REDUCTION_COLUMNS];
      if (s.over[4]) total[0] = pz_reduction_points(&s, at, result.b, first, stop);
      else pz_reduction_columns(&s, at + w * s.in.stride_w, result.b, first, stop, count, total);
      for (int32_t k = 0; k < count; ++k)
        if (slices == 1)
          pz_reduction_store(&s, out + pz_row_offset(&s.out, result) + (w + k) * s.out.stride_w,
                             pz_block_channels(&s.out, result.b), &total[k]);
        else pz_v_store(partial + (i * s.out.w + w + k) * PZ_S, pz_reduction_value(s.kind, &total[k], 1));
    }
  }
}

PZ_INLINE void pz_reduction_join(const pz_reduction_join_shape s, const float *partial, float *out,
                                 int32_t worker, int32_t workers) {
  const int64_t slices = pz_reduction_slices(&s);
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    float *to = out + pz_row_offset(&s.out, row);
    for (int32_t w = 0; w < s.out.w; ++w) {
      pz_reduction_total total = pz_reduction_none(s.kind);
      for (int64_t k = 0; k < slices; ++k)
        pz_reduction_add(s.kind, &total, pz_v_load(partial + ((row_i * slices + k) * s.out.w + w) * PZ_S));
      pz_reduction_store(&s, to + w * s.out.stride_w, pz_block_channels(&s.out, row.b), &total);
    }
  }
}

#endif
