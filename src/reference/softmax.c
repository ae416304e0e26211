/* softmax.c: exp(x - max) / sum of them, or its logarithm, along an axis. */
#include "reference/ops.h"
#include <math.h>

static void softmax_line(const double *x, double *y, int64_t n, int64_t step, bool logarithm) {
  double most = x[0], sum = 0;
  for (int64_t i = 1; i < n; i++) most = x[i * step] > most ? x[i * step] : most;
  for (int64_t i = 0; i < n; i++) sum += y[i * step] = exp(x[i * step] - most);
  for (int64_t i = 0; i < n; i++) y[i * step] = logarithm ? x[i * step] - most - log(sum) : y[i * step] / sum;
}

void pz_reference_SOFTMAX(const pz_reference_call *call) {
  pz_axis_view x = reference_axis(reference_in_shape(call, 0), call->node->attr.softmax.axis);
  for (int64_t o = 0; o < x.outer; o++)
    for (int64_t i = 0; i < x.inner; i++) {
      int64_t at = o * x.size * x.inner + i;
      softmax_line(call->in[0] + at, call->out[0] + at, x.size, x.inner, call->node->attr.softmax.log);
    }
}
