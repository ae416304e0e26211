/* eltwise.c: sum with coefficients, product, maximum and quotient of tensors of equal shape. */
#include "reference/ops.h"

static double combine(pz_eltwise_kind kind, double so_far, double v) {
  switch (kind) {
  case PZ_ELT_SUM: return so_far + v;
  case PZ_ELT_PROD: return so_far * v;
  case PZ_ELT_MAX: return v > so_far || v != v ? v : so_far; /* a NaN stays */
  case PZ_ELT_DIV: return so_far / v;
  }
  return so_far;
}

void pz_reference_ELTWISE(const pz_reference_call *call) {
  const pz_attr_eltwise *a = &call->node->attr.eltwise;
  int64_t n = pz_shape_elements(reference_in_shape(call, 0));
  for (int32_t k = 0; k < call->node->n_in; k++) {
    double coeff = a->kind == PZ_ELT_SUM && a->coeff ? a->coeff[k] : 1;
    for (int64_t i = 0; i < n; i++) {
      double v = coeff * call->in[k][i];
      call->out[0][i] = k == 0 ? v : combine(a->kind, call->out[0][i], v);
    }
  }
}
