/* reduce.c: mean, sum, maximum and minimum over dimensions, and the index of the maximum along one. */
#include "reference/ops.h"

static double combine(pz_reduce_kind kind, double so_far, double v) {
  switch (kind) {
  case PZ_REDUCE_MEAN:
  case PZ_REDUCE_SUM: return so_far + v;
  case PZ_REDUCE_MAX: return v > so_far || v != v ? v : so_far; /* a NaN stays */
  case PZ_REDUCE_MIN: return v < so_far || v != v ? v : so_far;
  }
  return so_far;
}

static double start(pz_reduce_kind kind) {
  return kind == PZ_REDUCE_MAX ? -__builtin_inf() : kind == PZ_REDUCE_MIN ? __builtin_inf() : 0;
}

void pz_reference_REDUCE(const pz_reference_call *call) {
  const pz_attr_reduce *a = &call->node->attr.reduce;
  const pz_shape *x = reference_in_shape(call, 0), *y = reference_out_shape(call, 0);
  int64_t n = pz_shape_elements(x), results = pz_shape_elements(y);
  pz_reference_cursor at = pz_reference_repeated(y, x);
  for (int64_t i = 0; i < results; i++) call->out[0][i] = start(a->kind);
  for (int64_t i = 0; i < n; i++) {
    double *to = &call->out[0][pz_reference_next(&at)];
    *to = combine(a->kind, *to, call->in[0][i]);
  }
  for (int64_t i = 0; a->kind == PZ_REDUCE_MEAN && i < results; i++)
    call->out[0][i] /= (double)n / (double)results;
}

static int64_t greatest(const double *x, int64_t n, int64_t step, bool last) {
  int64_t best = 0;
  for (int64_t i = 1; i < n; i++) {
    double v = x[i * step], most = x[best * step];
    bool equal = v == most || (v != v && most != most);
    if (v > most || (v != v && most == most) || (last && equal)) best = i;
  }
  return best;
}

void pz_reference_ARGMAX(const pz_reference_call *call) {
  const pz_attr_argmax *a = &call->node->attr.argmax;
  pz_axis_view x = reference_axis(reference_in_shape(call, 0), a->axis);
  for (int64_t o = 0; o < x.outer; o++)
    for (int64_t i = 0; i < x.inner; i++)
      call->out[0][o * x.inner + i] =
          (double)greatest(call->in[0] + o * x.size * x.inner + i, x.size, x.inner, a->last);
}
