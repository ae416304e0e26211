/* gather_rows.c: rows by computed numbers. */
#include "reference/ops.h"

void pz_reference_GATHER_ROWS(const pz_reference_call *call) {
  const pz_shape *x = reference_in_shape(call, 0);
  const int64_t rows = x->dim[0], each = reference_product(x, 1, x->rank),
                n = pz_shape_elements(reference_in_shape(call, 1));
  for (int64_t i = 0; i < n; i++) {
    const double at = call->in[1][i];
    const bool there = at >= 0 && at < (double)rows;
    for (int64_t k = 0; k < each; k++)
      call->out[0][i * each + k] =
          there ? call->in[0][(int64_t)at * each + k] : (double)call->node->attr.gather_rows.fill;
  }
}
