/* move.c: operators that move values: crop and permute by index, reshape, identity and pad as they are. */
#include "reference/ops.h"
#include <string.h>

static void strides_of(const pz_shape *s, int64_t stride[PZ_MAX_RANK]) {
  int64_t product = 1;
  for (int i = s->rank - 1; i >= 0; i--) {
    stride[i] = product;
    product *= s->dim[i];
  }
}

/* y[index] = x[sum of index[i]*stride[i]] for every index of y's shape. */
static void gather(const pz_shape *y, const double *x, const int64_t stride[PZ_MAX_RANK], double *out) {
  int64_t n = pz_shape_elements(y), index[PZ_MAX_RANK] = {0};
  for (int64_t i = 0; i < n; i++) {
    int64_t at = 0;
    for (int k = 0; k < y->rank; k++) at += index[k] * stride[k];
    out[i] = x[at];
    for (int k = y->rank - 1; k >= 0 && ++index[k] == y->dim[k]; k--) index[k] = 0;
  }
}

void pz_reference_CROP(const pz_reference_call *call) {
  const pz_shape *x = reference_in_shape(call, 0);
  int64_t stride[PZ_MAX_RANK], begin = 0;
  strides_of(x, stride);
  for (int i = 0; i < x->rank; i++) begin += call->node->attr.crop.offset[i] * stride[i];
  gather(reference_out_shape(call, 0), call->in[0] + begin, stride, call->out[0]);
}

void pz_reference_PERMUTE(const pz_reference_call *call) {
  const pz_shape *x = reference_in_shape(call, 0);
  int64_t stride[PZ_MAX_RANK], permuted[PZ_MAX_RANK];
  strides_of(x, stride);
  for (int i = 0; i < x->rank; i++) permuted[i] = stride[call->node->attr.permute.order[i]];
  gather(reference_out_shape(call, 0), call->in[0], permuted, call->out[0]);
}

static void copy(const pz_reference_call *call) {
  memcpy(call->out[0], call->in[0], (size_t)pz_shape_elements(reference_out_shape(call, 0)) * sizeof(double));
}
void pz_reference_RESHAPE(const pz_reference_call *call) { copy(call); }
void pz_reference_IDENTITY(const pz_reference_call *call) { copy(call); }
void pz_reference_PAD(const pz_reference_call *call) { copy(call); } /* the border is storage, not values */
