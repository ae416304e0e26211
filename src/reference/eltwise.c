/* eltwise.c: sum with coefficients, product, maximum, minimum, quotient and power of tensors, comparisons, selection. */
#include "reference/ops.h"
#include <math.h>

static double combine(pz_eltwise_kind kind, double so_far, double v) {
  switch (kind) {
  case PZ_ELT_SUM: return so_far + v;
  case PZ_ELT_PROD: return so_far * v;
  case PZ_ELT_MAX: return v > so_far || v != v ? v : so_far; /* a NaN stays */
  case PZ_ELT_MIN: return v < so_far || v != v ? v : so_far;
  case PZ_ELT_DIV: return so_far / v;
  case PZ_ELT_POW: return pow(so_far, v);
  case PZ_ELT_LESS: return so_far < v;
  case PZ_ELT_LESS_EQUAL: return so_far <= v;
  case PZ_ELT_EQUAL: return so_far == v;
  case PZ_ELT_SELECT: break;
  }
  return so_far;
}

static void select(const pz_reference_call *call, const pz_shape *y, int64_t n) {
  pz_reference_cursor at[3];
  for (int k = 0; k < 3; k++) at[k] = pz_reference_repeated(reference_in_shape(call, k), y);
  for (int64_t i = 0; i < n; i++) {
    double of[3];
    for (int k = 0; k < 3; k++) of[k] = call->in[k][pz_reference_next(&at[k])];
    call->out[0][i] = of[0] != 0 ? of[1] : of[2];
  }
}

void pz_reference_ELTWISE(const pz_reference_call *call) {
  const pz_attr_eltwise *a = &call->node->attr.eltwise;
  const pz_shape *y = reference_out_shape(call, 0);
  int64_t n = pz_shape_elements(y);
  if (a->kind == PZ_ELT_SELECT) {
    select(call, y, n);
    return;
  }
  for (int32_t k = 0; k < call->node->n_in; k++) {
    double coeff = a->kind == PZ_ELT_SUM && a->coeff ? a->coeff[k] : 1;
    pz_reference_cursor at = pz_reference_repeated(reference_in_shape(call, k), y);
    for (int64_t i = 0; i < n; i++) {
      double v = coeff * call->in[k][pz_reference_next(&at)];
      call->out[0][i] = k == 0 ? v : combine(a->kind, call->out[0][i], v);
    }
  }
}
