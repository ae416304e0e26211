/* batch_norm.c: (x - mean) / sqrt(variance + eps), with the stored statistics. */
#include "reference/ops.h"
#include <math.h>

void pz_reference_BATCH_NORM(const pz_reference_call *call) {
  pz_axis_view x = reference_axis(reference_in_shape(call, 0), 1);
  for (int64_t row = 0; row < x.outer * x.size; row++) {
    double mean = call->in[1][row % x.size];
    double deviation = sqrt(call->in[2][row % x.size] + (double)call->node->attr.batch_norm.eps);
    for (int64_t i = row * x.inner; i < (row + 1) * x.inner; i++)
      call->out[0][i] = (call->in[0][i] - mean) / deviation;
  }
}
