/* cumsum.c: sums of the entries up to each one of an axis, from either end. */
#include "reference/ops.h"

static void cumsum_line(const pz_attr_cumsum *a, const double *x, double *y, int64_t n, int64_t step) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = (a->reverse ? n - 1 - i : i) * step;
    const double with = sum + x[at];
    y[at] = a->exclusive ? sum : with;
    sum = with;
  }
}

void pz_reference_CUMSUM(const pz_reference_call *call) {
  const pz_attr_cumsum *a = &call->node->attr.cumsum;
  const pz_axis_view x = reference_axis(reference_in_shape(call, 0), a->axis);
  for (int64_t o = 0; o < x.outer; o++)
    for (int64_t i = 0; i < x.inner; i++) {
      const int64_t at = o * x.size * x.inner + i;
      cumsum_line(a, call->in[0] + at, call->out[0] + at, x.size, x.inner);
    }
}
