/* inner_product.c: y[o][k] = activation(sum over i of x[o][i]*weight[k][i] + bias[k]). */
#include "reference/ops.h"

enum { X, WEIGHT, BIAS, SLOPE };

void pz_reference_INNER_PRODUCT(const pz_reference_call *call) {
  const pz_attr_inner_product *a = &call->node->attr.inner_product;
  const pz_shape *x = reference_in_shape(call, X), *weight = reference_in_shape(call, WEIGHT);
  int64_t outer = reference_product(x, 0, a->axis), inner = reference_product(x, a->axis, x->rank);
  int64_t channels = weight->dim[a->transpose ? 1 : 0];
  int64_t step_k = a->transpose ? 1 : inner, step_i = a->transpose ? channels : 1;
  const double *bias = reference_in(call, BIAS);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t k = 0; k < channels && !pz_reference_stops(call); k++) {
      double sum = bias ? bias[k] : 0;
      for (int64_t i = 0; i < inner; i++)
        sum += call->in[X][o * inner + i] * call->in[WEIGHT][k * step_k + i * step_i];
      call->out[0][o * channels + k] = sum;
    }
  pz_reference_activate(&a->act, reference_in(call, SLOPE), channels, (pz_axis_view){outer, channels, 1},
                        call->out[0]);
}
