/* power.c: (shift + scale*x)^power. */
#include "reference/ops.h"
#include <math.h>

void pz_reference_POWER(const pz_reference_call *call) {
  const pz_attr_power *a = &call->node->attr.power;
  int64_t n = pz_shape_elements(reference_in_shape(call, 0));
  for (int64_t i = 0; i < n; i++) {
    double v = (double)a->shift + (double)a->scale * call->in[0][i];
    call->out[0][i] = a->power == 1 ? v : pow(v, a->power);
  }
}
