/* lrn.h: local response normalisation (Caffe's lrn_layer.cpp): out = x * (k + alpha/count * sum of x^2)^-beta.
 *
 * pz_lrn: the sum runs over the `size` channels around x's own (size odd; channels that do not exist count as zero), count =
 * size. pz_lrn_within: it runs over a window[0] x window[1] x window[2] neighbourhood of x in its own channel (odd, 1 where
 * the tensor has no such dimension; clipped at the edge), count = the window's points.
 *
 * Layouts: `in` and `out` NCHWc, same sizes, any strides; they may not overlap. Reads and writes the inside; lanes of
 * `in` behind the last channel count as zero, those of `out` become zero. Unit of work: a row. Relative error at most
 * (window + 8) * 6e-8 for beta = 1/2, 3/4 (square roots) and 1; for others 1e-7 more (pointwise/pow.h). */
#ifndef PZ_KERNELS_LRN_LRN_H
#define PZ_KERNELS_LRN_LRN_H

#include "kernels/copy/shift.h"
#include "kernels/pointwise/pow.h"
#include "kernels/rows.h"

enum { PZ_LRN_POINTS = 8 }; /* points of a row that are worked on together: independent sums, in registers */

#define PZ_LRN_FIELDS(ONE, MANY)                                                                             \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, size)                                                                                             \
  ONE(float, alpha)                                                                                          \
  ONE(float, beta)                                                                                           \
  ONE(float, k)
typedef struct pz_lrn_shape {
  PZ_LRN_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_lrn_shape;

#define PZ_LRN_WITHIN_FIELDS(ONE, MANY)                                                                      \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  MANY(int, window, 3) /* d, h, w */                                                                         \
  ONE(float, alpha)                                                                                          \
  ONE(float, beta)                                                                                           \
  ONE(float, k)
typedef struct pz_lrn_within_shape {
  PZ_LRN_WITHIN_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_lrn_within_shape;

/* base^-beta for positive bases */
PZ_INLINE pz_v pz_lrn_power(pz_v base, float beta) {
  if (beta == 1.0f) return 1.0f / base;
  pz_v root = pz_v_sqrt(base);
  if (beta == 0.5f) return 1.0f / root;
  if (beta == 0.75f) return 1.0f / (root * pz_v_sqrt(root));
  return pz_v_pow(base, -beta);
}

PZ_INLINE pz_v pz_lrn_scale(pz_v x, pz_v sum, float factor, float beta, float k) {
  return x * pz_lrn_power(pz_v_fma(sum, pz_v_set1(factor), pz_v_set1(k)), beta);
}

/* ---- across channels ---- */

/* Squares of a point's channels in block b; zero outside of the tensor. `in`: the point in block 0. */
PZ_INLINE pz_v pz_lrn_squares(const pz_view *v, const float *in, int32_t b) {
  if (b < 0 || b >= pz_blocks(v)) return pz_v_zero();
  pz_v x = pz_v_first(pz_v_load(in + b * v->stride_c), pz_block_channels(v, b));
  return x * x;
}

/* sum[i] += the squares of the channels that lie `offset` behind those of block b. */
PZ_INLINE void pz_lrn_add(const pz_view *v, const float *in, int32_t b, int32_t offset, int32_t points,
                          pz_v sum[PZ_LRN_POINTS]) {
  int32_t low = b + (offset >= 0 ? offset / PZ_S : -((PZ_S - 1 - offset) / PZ_S)),
          shift = offset - (low - b) * PZ_S;
#define PZ_LRN_CASE(r)                                                                                       \
  case r:                                                                                                    \
    for (int32_t i = 0; i < points; ++i) {                                                                   \
      const float *p = in + i * v->stride_w;                                                                 \
      pz_v first = pz_lrn_squares(v, p, low), second = r ? pz_lrn_squares(v, p, low + 1) : first;            \
      sum[i] += PZ_SHIFT(first, second, r);                                                                  \
    }                                                                                                        \
    break;
  switch (shift) { PZ_SHIFTS(PZ_LRN_CASE) }
#undef PZ_LRN_CASE
}

PZ_INLINE void pz_lrn_points(const pz_lrn_shape *s, const float *in, float *out, int32_t b, int32_t points) {
  pz_v sum[PZ_LRN_POINTS];
  for (int32_t i = 0; i < PZ_LRN_POINTS; ++i) sum[i] = pz_v_zero();
  for (int32_t offset = -(s->size / 2); offset <= s->size / 2; ++offset)
    pz_lrn_add(&s->in, in, b, offset, points, sum);
  for (int32_t i = 0; i < points; ++i) {
    pz_v x = pz_v_load(in + b * s->in.stride_c + i * s->in.stride_w);
    x = pz_lrn_scale(x, sum[i], s->alpha / (float)s->size, s->beta, s->k);
    pz_v_store(out + i * s->out.stride_w, pz_v_first(x, pz_block_channels(&s->out, b)));
  }
}

PZ_INLINE void pz_lrn(const pz_lrn_shape s, const float *in, float *out, int32_t worker, int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, (pz_row){row.n, 0, row.d, row.h});
    float *to = out + pz_row_offset(&s.out, row);
    for (int32_t w = 0; w < s.out.w; w += PZ_LRN_POINTS) {
      int32_t points = s.out.w - w < PZ_LRN_POINTS ? s.out.w - w : PZ_LRN_POINTS;
      pz_lrn_points(&s, from + w * s.in.stride_w, to + w * s.out.stride_w, row.b, points);
    }
  }
}

/* ---- within a channel ---- */

typedef struct pz_lrn_range {
  int32_t from, to; /* relative to the point; both included */
} pz_lrn_range;

PZ_INLINE pz_lrn_range pz_lrn_clip(int32_t window, int32_t at, int32_t size) {
  int32_t half = window / 2;
  return (pz_lrn_range){at < half ? -at : -half, size - 1 - at < half ? size - 1 - at : half};
}

PZ_INLINE pz_v pz_lrn_window(const pz_view *v, const float *in, pz_lrn_range d, pz_lrn_range h,
                             pz_lrn_range w) {
  pz_v sum = pz_v_zero();
  for (int32_t i = d.from; i <= d.to; ++i)
    for (int32_t j = h.from; j <= h.to; ++j)
      for (int32_t k = w.from; k <= w.to; ++k) {
        pz_v x = pz_v_load(in + i * v->stride_d + j * v->stride_h + k * v->stride_w);
        sum = pz_v_fma(x, x, sum);
      }
  return sum;
}

PZ_INLINE void pz_lrn_within(const pz_lrn_within_shape s, const float *in, float *out, int32_t worker,
                             int32_t workers) {
  float factor = s.alpha / (float)(s.window[0] * s.window[1] * s.window[2]);
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, row);
    float *to = out + pz_row_offset(&s.out, row);
    pz_lrn_range d = pz_lrn_clip(s.window[0], row.d, s.in.d), h = pz_lrn_clip(s.window[1], row.h, s.in.h);
    for (int32_t w = 0; w < s.out.w; ++w) {
      const float *p = from + w * s.in.stride_w;
      pz_v sum = pz_lrn_window(&s.in, p, d, h, pz_lrn_clip(s.window[2], w, s.in.w));
      pz_v x = pz_lrn_scale(pz_v_load(p), sum, factor, s.beta, s.k);
      pz_v_store(to + w * s.out.stride_w, pz_v_first(x, pz_block_channels(&s.out, row.b)));
    }
  }
}

#endif
