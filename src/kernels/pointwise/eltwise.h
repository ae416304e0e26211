/* eltwise.h: sum, product, maximum of two to eight inputs, and the quotient of two (PZnet's `operation: DIV`).
 *
 *   SUM   out = coeff[0]*x0 + coeff[1]*x1 + ..., in this order, fused multiply-adds where the set has them
 *   PROD  out = x0*x1*...
 *   MAX   out = the largest; NaN where one is NaN
 *   DIV   out = x0/x1
 * Layouts: all blocked, same sizes, each with its own strides; out may be one or several of the inputs (same pointer
 * and strides), and may overlap them in no other way. Reads and writes the inside; padding lanes of `out` become zero.
 * More than eight inputs: chain, the first input of a following call being the output of the one before. Error: inputs
 * times 2^-24 of the sum of magnitudes; MAX exact; DIV correctly rounded. Unit of work: a row. The enumerators' values
 * are those of pz_eltwise_kind in graph/graph.h. */
#ifndef PZ_KERNELS_POINTWISE_ELTWISE_H
#define PZ_KERNELS_POINTWISE_ELTWISE_H

#include "kernels/rows.h"
#include "kernels/vec.h"

enum { PZ_ELTWISE_INPUTS = 8 };
enum { PZ_ELTWISE_SUM, PZ_ELTWISE_PROD, PZ_ELTWISE_MAX, PZ_ELTWISE_DIV };

typedef struct pz_eltwise_shape {
  pz_view in[PZ_ELTWISE_INPUTS], out;
  float coeff[PZ_ELTWISE_INPUTS]; /* SUM alone */
  int32_t inputs, kind;
} pz_eltwise_shape;

PZ_INLINE pz_v pz_eltwise_join(int32_t kind, float coeff, pz_v a, pz_v x) {
  switch (kind) {
  case PZ_ELTWISE_SUM: return coeff == 1.0f ? a + x : pz_v_fma(x, pz_v_set1(coeff), a);
  case PZ_ELTWISE_PROD: return a * x;
  case PZ_ELTWISE_MAX: return pz_v_max_nan(a, x);
  default: return a / x;
  }
}

PZ_INLINE void pz_eltwise_row(const pz_eltwise_shape *s, const float *const *in, float *out, int32_t maps) {
  for (int32_t w = 0; w < s->out.w; ++w) {
    pz_v a = pz_v_load(in[0] + w * s->in[0].stride_w);
    if (s->kind == PZ_ELTWISE_SUM && s->coeff[0] != 1.0f) a *= pz_v_set1(s->coeff[0]);
#pragma GCC unroll 8
    for (int32_t i = 1; i < s->inputs; ++i)
      a = pz_eltwise_join(s->kind, s->coeff[i], a, pz_v_load(in[i] + w * s->in[i].stride_w));
    pz_v_store(out + w * s->out.stride_w, pz_v_first(a, maps));
  }
}

PZ_INLINE void pz_eltwise(const pz_eltwise_shape s, const float *const *in, float *out, int32_t worker,
                          int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from[PZ_ELTWISE_INPUTS] = {0};
#pragma GCC unroll 8
    for (int32_t i = 0; i < s.inputs; ++i) from[i] = in[i] + pz_row_offset(&s.in[i], row);
    pz_eltwise_row(&s, from, out + pz_row_offset(&s.out, row), pz_block_maps(&s.out, row.b));
  }
}

#endif
