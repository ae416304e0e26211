/* eltwise.h: sum, product, maximum, minimum of two to eight inputs, quotient, power and comparison of two, selection by a
 * third, with broadcasting.
 *
 *   SUM   out = coeff[0]*x0 + coeff[1]*x1 + ..., in this order, fused multiply-adds where the set has them
 *   PROD  out = x0*x1*...
 *   MAX   out = the largest; NaN where one is NaN; MIN the smallest
 *   DIV   out = x0/x1
 *   POW   out = x0^x1 (kernels/pointwise/pow.h)
 *   LESS, LESS_EQUAL, EQUAL   out = 1 where x0 < x1, ..., else 0: also where one is NaN
 *   SELECT out = x1 where x0 is not 0, else x2; what is not selected has no effect
 * Layouts: all NCHWc, each with its own strides. Each size of an input is that of out, or 1: its values then serve for all
 * positions of that dimension; where the channels are 1, lane 0 for all lanes. out may be one or several of the inputs of its own
 * sizes (same pointer and strides), and may overlap inputs in no other way. Reads and writes the inside; padding lanes of `out`
 * become zero. More than eight inputs: chain, the first input of a following call being the output of the one before. Error:
 * inputs times 2^-24 of the sum of magnitudes; MAX, MIN, comparisons and SELECT exact; DIV correctly rounded; POW 1e-7. Unit of work: a row. The
 * enumerators' values are those of pz_eltwise_kind in graph/graph.h. */
#ifndef PZ_KERNELS_POINTWISE_ELTWISE_H
#define PZ_KERNELS_POINTWISE_ELTWISE_H

#include "kernels/pointwise/pow.h"
#include "kernels/rows.h"

enum { PZ_ELTWISE_INPUTS = 8 };
enum {
  PZ_ELTWISE_SUM,
  PZ_ELTWISE_PROD,
  PZ_ELTWISE_MAX,
  PZ_ELTWISE_DIV,
  PZ_ELTWISE_MIN,
  PZ_ELTWISE_POW,
  PZ_ELTWISE_LESS,
  PZ_ELTWISE_LESS_EQUAL,
  PZ_ELTWISE_EQUAL,
  PZ_ELTWISE_SELECT
};

#define PZ_ELTWISE_FIELDS(ONE, MANY)                                                                         \
  MANY(view, in, PZ_ELTWISE_INPUTS)                                                                          \
  ONE(view, out)                                                                                             \
  MANY(float, coeff, PZ_ELTWISE_INPUTS) /* SUM alone */                                                      \
  ONE(int, inputs)                                                                                           \
  ONE(int, kind)
typedef struct pz_eltwise_shape {
  PZ_ELTWISE_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_eltwise_shape;

PZ_INLINE pz_v pz_eltwise_truth(pz_vi mask) { return pz_v_select(mask, pz_v_set1(1), pz_v_zero()); }

PZ_INLINE pz_v pz_eltwise_join(int32_t kind, float coeff, pz_v a, pz_v x) {
  switch (kind) {
  case PZ_ELTWISE_SUM: return coeff == 1.0f ? a + x : pz_v_fma(x, pz_v_set1(coeff), a);
  case PZ_ELTWISE_PROD: return a * x;
  case PZ_ELTWISE_MAX: return pz_v_max_nan(a, x);
  case PZ_ELTWISE_MIN: return pz_v_min_nan(a, x);
  case PZ_ELTWISE_POW: return pz_v_pow_by(a, x);
  case PZ_ELTWISE_LESS: return pz_eltwise_truth((pz_vi)(a < x));
  case PZ_ELTWISE_LESS_EQUAL: return pz_eltwise_truth((pz_vi)(a <= x));
  case PZ_ELTWISE_EQUAL: return pz_eltwise_truth((pz_vi)(a == x));
  default: return a / x;
  }
}

/* Where input i begins in a row of out. */
PZ_INLINE const float *pz_eltwise_begin(const pz_view *v, const float *in, pz_row row) {
  const pz_row at = {v->n > 1 ? row.n : 0, v->c > 1 ? row.b : 0, v->d > 1 ? row.d : 0, v->h > 1 ? row.h : 0};
  return in + pz_row_offset(v, at);
}

PZ_INLINE pz_v pz_eltwise_load(const pz_eltwise_shape *s, int32_t i, const float *p) {
  return s->in[i].c == 1 && s->out.c > 1 ? pz_v_set1(*p) : pz_v_load(p);
}

PZ_INLINE pz_v pz_eltwise_at(const pz_eltwise_shape *s, const float *const *in, const pz_v *same, int32_t i,
                             int32_t w) {
  return s->in[i].w == 1 ? same[i] : pz_eltwise_load(s, i, in[i] + w * s->in[i].stride_w);
}

PZ_INLINE pz_v pz_eltwise_chosen(pz_v by, pz_v x, pz_v y) { return pz_v_select((pz_vi)(by != 0), x, y); }

PZ_INLINE void pz_eltwise_row(const pz_eltwise_shape *s, const float *const *in, float *out,
                              int32_t channels) {
  /* of inputs of width 1: the compiler cannot know that writing out does not change them */
  pz_v same[PZ_ELTWISE_INPUTS] = {{0}};
#pragma GCC unroll 8
  for (int32_t i = 0; i < s->inputs; ++i)
    if (s->in[i].w == 1) same[i] = pz_eltwise_load(s, i, in[i]);
  for (int32_t w = 0; w < s->out.w; ++w) {
    pz_v a = pz_eltwise_at(s, in, same, 0, w);
    if (s->kind == PZ_ELTWISE_SUM && s->coeff[0] != 1.0f) a *= pz_v_set1(s->coeff[0]);
    if (s->kind == PZ_ELTWISE_SELECT)
      a = pz_eltwise_chosen(a, pz_eltwise_at(s, in, same, 1, w), pz_eltwise_at(s, in, same, 2, w));
    else {
#pragma GCC unroll 8
      for (int32_t i = 1; i < s->inputs; ++i)
        a = pz_eltwise_join(s->kind, s->coeff[i], a, pz_eltwise_at(s, in, same, i, w));
    }
    pz_v_store(out + w * s->out.stride_w, pz_v_first(a, channels));
  }
}

PZ_INLINE void pz_eltwise(const pz_eltwise_shape s, const float *const *in, float *out, int32_t worker,
                          int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from[PZ_ELTWISE_INPUTS] = {0};
#pragma GCC unroll 8
    for (int32_t i = 0; i < s.inputs; ++i) from[i] = pz_eltwise_begin(&s.in[i], in[i], row);
    pz_eltwise_row(&s, from, out + pz_row_offset(&s.out, row), pz_block_channels(&s.out, row.b));
  }
}

#endif
