/* scale.c: x*gamma + beta, where gamma and beta go along the axes from `axis` on and repeat over the others. */
#include "reference/ops.h"

/* How a factor of fewer dimensions goes over x: outer x size x inner, size being all of the factor's. */
static pz_axis_view spread(const pz_reference_call *call, int slot) {
  const pz_shape *x = reference_in_shape(call, 0);
  int axis = call->node->attr.scale.axis, rank = reference_in_shape(call, slot)->rank;
  return (pz_axis_view){reference_product(x, 0, axis), reference_product(x, axis, axis + rank),
                        reference_product(x, axis + rank, x->rank)};
}

void pz_reference_SCALE(const pz_reference_call *call) {
  const double *gamma = reference_in(call, 1), *beta = reference_in(call, 2);
  pz_axis_view g = {1, 1, 1}, b = {1, 1, 1};
  if (gamma) g = spread(call, 1);
  if (beta) b = spread(call, 2);
  int64_t n = pz_shape_elements(reference_in_shape(call, 0));
  for (int64_t i = 0; i < n; i++) {
    double factor = gamma ? gamma[i / g.inner % g.size] : 1;
    call->out[0][i] = call->in[0][i] * factor + (beta ? beta[i / b.inner % b.size] : 0);
  }
}
