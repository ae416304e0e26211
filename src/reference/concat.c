/* concat.c, and slice, its inverse: tensors one after the other along an axis. */
#include "reference/ops.h"
#include <string.h>

/* Copies a part that begins at `begin` of the axis of the whole, in the one direction or the other. */
static void copy_part(double *to, pz_axis_view to_view, const double *from, pz_axis_view from_view) {
  int64_t size = (to_view.size < from_view.size ? to_view.size : from_view.size) * to_view.inner;
  for (int64_t o = 0; o < to_view.outer; o++)
    memcpy(to + o * to_view.size * to_view.inner, from + o * from_view.size * from_view.inner,
           (size_t)size * sizeof *to);
}

void pz_reference_CONCAT(const pz_reference_call *call) {
  int axis = call->node->attr.concat.axis;
  pz_axis_view whole = reference_axis(reference_out_shape(call, 0), axis);
  double *to = call->out[0];
  for (int32_t k = 0; k < call->node->n_in; k++) {
    pz_axis_view part = reference_axis(reference_in_shape(call, k), axis);
    copy_part(to, whole, call->in[k], part);
    to += part.size * part.inner;
  }
}

void pz_reference_SLICE(const pz_reference_call *call) {
  const pz_attr_slice *a = &call->node->attr.slice;
  pz_axis_view whole = reference_axis(reference_in_shape(call, 0), a->axis);
  for (int32_t k = 0; k < call->node->n_out; k++)
    copy_part(call->out[k], reference_axis(reference_out_shape(call, k), a->axis),
              call->in[0] + a->begin[k] * whole.inner, whole);
}
