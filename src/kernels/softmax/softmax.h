/* softmax.h: out = exp(x - max) / sum of exp(x - max) along one axis, or where `log` its logarithm, x - max - log(sum).
 *
 * pz_softmax: over the channels. Layouts: `in` and `out` NCHWc, same sizes, any strides; out may be in (same pointer and
 * strides). Padding lanes of `in` are not looked at; those of `out` become zero. S points of a row are worked on
 * together: up to S channels are transposed in registers, so that lanes are points and only the channels there are cost an
 * exp; more channels are summed up block by block. Unit of work: a row (n, d, h) of all channels.
 *
 * pz_softmax_nd: over any axis of a dense NCHW tensor, seen as outer x axis x inner; any address; out may be in.
 * Lanes are inner positions; where inner is 1, positions of the axis. Unit of work: 64 inner positions of one outer.
 *
 * Subtracting the maximum keeps exp in range; a row with a NaN is NaN, one with +inf too. Relative error at most
 * (length/S + log2(S) + 4) * 6e-8 + 1e-7 (exp, the sum, the reciprocal, the product); that is the absolute error of the
 * logarithm, beside 1e-7 of max - x. The sum's order depends on the shape alone. */
#ifndef PZ_KERNELS_SOFTMAX_SOFTMAX_H
#define PZ_KERNELS_SOFTMAX_SOFTMAX_H

#include "kernels/copy/shift.h"
#include "kernels/copy/transpose.h"
#include "kernels/elementary.h"
#include "kernels/rows.h"

enum { PZ_SOFTMAX_COLUMNS = 64 };

#define PZ_SOFTMAX_FIELDS(ONE, MANY)                                                                         \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, log)
typedef struct pz_softmax_shape {
  PZ_SOFTMAX_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_softmax_shape;

#define PZ_SOFTMAX_ND_FIELDS(ONE, MANY)                                                                      \
  ONE(long, outer)                                                                                           \
  ONE(long, axis)                                                                                            \
  ONE(long, inner)                                                                                           \
  ONE(int, log)
typedef struct pz_softmax_nd_shape {
  PZ_SOFTMAX_ND_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_softmax_nd_shape;

/* Lanes from `channels` on become the smallest: they are never the maximum, and nothing needs their value. */
PZ_INLINE pz_v pz_softmax_hide(pz_v x, int32_t channels) {
  if (channels >= PZ_S) return x;
  return pz_v_select((pz_vi)(pz_vi_lanes() < pz_vi_set1(channels)), x, pz_v_set1(-__builtin_inff()));
}

/* ---- up to S channels ---- */

/* The last step. `x`: exp(in - most), or in - most where `log`; `scale`: what pz_softmax_scale makes of the sum. */
PZ_INLINE pz_v pz_softmax_scale(int32_t log, pz_v sum) { return log ? pz_v_log(sum) : 1.0f / sum; }
PZ_INLINE pz_v pz_softmax_end(int32_t log, pz_v x, pz_v scale) { return log ? x - scale : x * scale; }

PZ_INLINE void pz_softmax_tile(int32_t log, pz_v tile[PZ_S], int32_t channels) {
  pz_transpose(tile);
  pz_v most = tile[0], sum = pz_v_zero();
  for (int i = 1; i < channels; ++i) most = pz_v_max_nan(most, tile[i]);
  for (int i = 0; i < channels; ++i) {
    const pz_v x = tile[i] - most, e = pz_v_exp(x);
    tile[i] = log ? x : e, sum += e;
  }
  pz_v scale = pz_softmax_scale(log, sum);
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) tile[i] = i < channels ? pz_softmax_end(log, tile[i], scale) : pz_v_zero();
  pz_transpose(tile);
}

PZ_INLINE void pz_softmax_few(const pz_softmax_shape *s, const float *in, float *out, int32_t points) {
  pz_v tile[PZ_S];
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) tile[i] = i < points ? pz_v_load(in + i * s->in.stride_w) : pz_v_zero();
  pz_softmax_tile(s->log, tile, s->in.c);
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i)
    if (i < points) pz_v_store(out + i * s->out.stride_w, tile[i]);
}

/* ---- more channels ---- */

PZ_INLINE pz_v pz_softmax_lanes_max(pz_v tile[PZ_S]) {
  pz_transpose(tile);
  PZ_UNROLL
  for (int i = 1; i < PZ_S; ++i) tile[0] = pz_v_max_nan(tile[0], tile[i]);
  return tile[0];
}
PZ_INLINE pz_v pz_softmax_lanes_sum(pz_v tile[PZ_S]) {
  pz_transpose(tile);
  PZ_UNROLL
  for (int i = 1; i < PZ_S; ++i) tile[0] += tile[i];
  return tile[0];
}

/* Lane i: the largest of point i. */
PZ_INLINE pz_v pz_softmax_most(const pz_softmax_shape *s, const float *in, int32_t points) {
  pz_v tile[PZ_S];
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) tile[i] = pz_v_set1(-__builtin_inff());
  for (int32_t b = 0; b < pz_blocks(&s->in); ++b)
    for (int i = 0; i < points; ++i) {
      pz_v x = pz_v_load(in + b * s->in.stride_c + i * s->in.stride_w);
      tile[i] = pz_v_max_nan(tile[i], pz_softmax_hide(x, pz_block_channels(&s->in, b)));
    }
  return pz_softmax_lanes_max(tile);
}

/* out = exp(in - most), or in - most where `log`; lane i: the sum of exp of point i. */
PZ_INLINE pz_v pz_softmax_exps(const pz_softmax_shape *s, const float *in, float *out, int32_t points,
                               const float most[PZ_S]) {
  pz_v tile[PZ_S];
  PZ_UNROLL
  for (int i = 0; i < PZ_S; ++i) tile[i] = pz_v_zero();
  for (int32_t b = 0; b < pz_blocks(&s->in); ++b)
    for (int i = 0; i < points; ++i) {
      pz_v x = pz_v_load(in + b * s->in.stride_c + i * s->in.stride_w);
      x -= pz_v_set1(most[i]);
      const pz_v e = pz_v_first(pz_v_exp(x), pz_block_channels(&s->in, b));
      pz_v_store(out + b * s->out.stride_c + i * s->out.stride_w, s->log ? x : e);
      tile[i] += e;
    }
  return pz_softmax_lanes_sum(tile);
}

PZ_INLINE void pz_softmax_many(const pz_softmax_shape *s, const float *in, float *out, int32_t points) {
  float most[PZ_S], scale[PZ_S];
  pz_v_storeu(most, pz_softmax_most(s, in, points));
  pz_v_storeu(scale, pz_softmax_scale(s->log, pz_softmax_exps(s, in, out, points, most)));
  for (int32_t b = 0; b < pz_blocks(&s->out); ++b)
    for (int i = 0; i < points; ++i) {
      float *p = out + b * s->out.stride_c + i * s->out.stride_w;
      /* masked again: a NaN or an infinity times a cleared lane would not be zero */
      const pz_v y = pz_softmax_end(s->log, pz_v_load(p), pz_v_set1(scale[i]));
      pz_v_store(p, pz_v_first(y, pz_block_channels(&s->out, b)));
    }
}

PZ_INLINE void pz_softmax(const pz_softmax_shape s, const float *in, float *out, int32_t worker,
                          int32_t workers) {
  int64_t begin, end;
  pz_share((int64_t)s.in.n * s.in.d * s.in.h, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    int32_t h = (int32_t)(i % s.in.h), d = (int32_t)(i / s.in.h % s.in.d), n = (int32_t)(i / s.in.h / s.in.d);
    const float *from = in + pz_row_offset(&s.in, (pz_row){n, 0, d, h});
    float *to = out + pz_row_offset(&s.out, (pz_row){n, 0, d, h});
    for (int32_t w = 0; w < s.in.w; w += PZ_S) {
      int32_t points = s.in.w - w < PZ_S ? s.in.w - w : PZ_S;
      if (s.in.c <= PZ_S) pz_softmax_few(&s, from + w * s.in.stride_w, to + w * s.out.stride_w, points);
      else pz_softmax_many(&s, from + w * s.in.stride_w, to + w * s.out.stride_w, points);
    }
  }
}

/* ---- plain ---- */

/* The first min(rest, S) floats. */
PZ_INLINE pz_v pz_softmax_load(const float *p, int64_t rest) {
  return rest >= PZ_S ? pz_v_loadu(p) : pz_load_some(p, (int32_t)rest);
}
PZ_INLINE void pz_softmax_store(float *p, pz_v x, int64_t rest) {
  if (rest >= PZ_S) pz_v_storeu(p, x);
  else pz_store_some(p, x, (int32_t)rest);
}

/* `count` (at most PZ_SOFTMAX_COLUMNS) inner positions, lane by lane; several vectors, so that whole cache lines are
 * used where the planes lie a multiple of the page apart. */
PZ_INLINE void pz_softmax_columns(const pz_softmax_nd_shape *s, const float *in, float *out, int32_t count) {
  pz_v most[PZ_SOFTMAX_COLUMNS / PZ_S], sum[PZ_SOFTMAX_COLUMNS / PZ_S];
  for (int i = 0; i < PZ_SOFTMAX_COLUMNS / PZ_S; ++i)
    most[i] = pz_v_set1(-__builtin_inff()), sum[i] = pz_v_zero();
  for (int64_t a = 0; a < s->axis; ++a)
    for (int32_t i = 0; i < count; i += PZ_S)
      most[i / PZ_S] = pz_v_max_nan(most[i / PZ_S], pz_softmax_load(in + a * s->inner + i, count - i));
  for (int64_t a = 0; a < s->axis; ++a)
    for (int32_t i = 0; i < count; i += PZ_S) {
      const pz_v x = pz_softmax_load(in + a * s->inner + i, count - i) - most[i / PZ_S], e = pz_v_exp(x);
      pz_softmax_store(out + a * s->inner + i, s->log ? x : e, count - i);
      sum[i / PZ_S] += e;
    }
  for (int32_t i = 0; i < count; i += PZ_S) sum[i / PZ_S] = pz_softmax_scale(s->log, sum[i / PZ_S]);
  for (int64_t a = 0; a < s->axis; ++a)
    for (int32_t i = 0; i < count; i += PZ_S) {
      float *p = out + a * s->inner + i;
      pz_softmax_store(p, pz_softmax_end(s->log, pz_softmax_load(p, count - i), sum[i / PZ_S]), count - i);
    }
}

/* All lanes: the largest lane; NaN where one is. */
PZ_INLINE pz_v pz_softmax_spread_max(pz_v x) {
#if PZ_S >= 16
  x = pz_v_max_nan(x, PZ_SHIFT(x, x, 8));
#endif
#if PZ_S >= 8
  x = pz_v_max_nan(x, PZ_SHIFT(x, x, 4));
#endif
  x = pz_v_max_nan(x, PZ_SHIFT(x, x, 2));
  return pz_v_max_nan(x, PZ_SHIFT(x, x, 1));
}

/* inner = 1: the axis is contiguous. */
PZ_INLINE void pz_softmax_line(const pz_softmax_nd_shape *s, const float *in, float *out) {
  pz_v most = pz_v_set1(-__builtin_inff()), sum = pz_v_zero();
  for (int64_t a = 0; a < s->axis; a += PZ_S) {
    int64_t rest = s->axis - a;
    most = pz_v_max_nan(most,
                        pz_softmax_hide(pz_softmax_load(in + a, rest), rest < PZ_S ? (int32_t)rest : PZ_S));
  }
  most = pz_softmax_spread_max(most);
  for (int64_t a = 0; a < s->axis; a += PZ_S) {
    int64_t rest = s->axis - a;
    const pz_v x = pz_softmax_load(in + a, rest) - most, e = pz_v_exp(x);
    pz_softmax_store(out + a, s->log ? x : e, rest);
    sum += pz_v_first(e, rest < PZ_S ? (int32_t)rest : PZ_S);
  }
  pz_v scale = pz_softmax_scale(s->log, pz_v_set1(pz_v_sum(sum)));
  for (int64_t a = 0; a < s->axis; a += PZ_S)
    pz_softmax_store(out + a, pz_softmax_end(s->log, pz_softmax_load(out + a, s->axis - a), scale),
                     s->axis - a);
}

PZ_INLINE void pz_softmax_nd(const pz_softmax_nd_shape s, const float *in, float *out, int32_t worker,
                             int32_t workers) {
  int64_t begin, end, groups = (s.inner + PZ_SOFTMAX_COLUMNS - 1) / PZ_SOFTMAX_COLUMNS;
  pz_share(s.outer * groups, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    int64_t first = i % groups * PZ_SOFTMAX_COLUMNS, at = i / groups * s.axis * s.inner + first;
    if (s.inner == 1) pz_softmax_line(&s, in + at, out + at);
    else if (first + PZ_SOFTMAX_COLUMNS <= s.inner)
      pz_softmax_columns(&s, in + at, out + at, PZ_SOFTMAX_COLUMNS);
    else pz_softmax_columns(&s, in + at, out + at, (int32_t)(s.inner - first));
  }
}

#endif
