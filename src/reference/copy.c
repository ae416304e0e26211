/* copy.c: operators that move values: crop, gather, permute, extend and depth_to_space by index, reshape, identity and pad as
 * they are. */
#include "reference/ops.h"
#include <string.h>

void pz_reference_strides(const pz_shape *s, int64_t stride[PZ_MAX_RANK]) {
  int64_t product = 1;
  for (int i = s->rank - 1; i >= 0; i--) {
    stride[i] = product;
    product *= s->dim[i];
  }
}

pz_reference_cursor pz_reference_repeated(const pz_shape *x, const pz_shape *y) {
  pz_reference_cursor c = {.shape = y};
  pz_reference_strides(x, c.stride);
  for (int i = 0; i < x->rank; i++)
    if (x->dim[i] == 1) c.stride[i] = 0;
  return c;
}

/* y[i] = x[the cursor's i-th place] */
static void gather(const pz_reference_call *call, pz_reference_cursor c) {
  int64_t n = pz_shape_elements(c.shape);
  for (int64_t i = 0; i < n; i++) call->out[0][i] = call->in[0][pz_reference_next(&c)];
}

void pz_reference_CROP(const pz_reference_call *call) {
  const pz_attr_crop *a = &call->node->attr.crop;
  const pz_shape *x = reference_in_shape(call, 0);
  pz_reference_cursor c = {.shape = reference_out_shape(call, 0)};
  pz_reference_strides(x, c.stride);
  for (int i = 0; i < x->rank; i++) {
    c.at += a->offset[i] * c.stride[i];
    c.stride[i] *= a->step[i];
  }
  gather(call, c);
}

void pz_reference_GATHER(const pz_reference_call *call) {
  const pz_index_list *index = &call->node->attr.gather.index;
  pz_axis_view x = reference_axis(reference_in_shape(call, 0), call->node->attr.gather.axis);
  double *to = call->out[0];
  for (int64_t o = 0; o < x.outer; o++)
    for (int32_t i = 0; i < index->n; i++, to += x.inner)
      memcpy(to, call->in[0] + (o * x.size + index->entries[i]) * x.inner, (size_t)x.inner * sizeof *to);
}

void pz_reference_PERMUTE(const pz_reference_call *call) {
  const pz_shape *x = reference_in_shape(call, 0);
  int64_t stride[PZ_MAX_RANK];
  pz_reference_cursor c = {.shape = reference_out_shape(call, 0)};
  pz_reference_strides(x, stride);
  for (int i = 0; i < x->rank; i++) c.stride[i] = stride[call->node->attr.permute.order[i]];
  gather(call, c);
}

/* The entry of an axis of n that position i, counted from its first entry, shows; -1: none. */
static int64_t source(pz_pad_kind kind, int64_t i, int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (kind) {
  case PZ_PAD_CONSTANT: return -1;
  case PZ_PAD_EDGE: return i < 0 ? 0 : n - 1;
  case PZ_PAD_REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
  case PZ_PAD_WRAP: return (i % n + n) % n;
  }
  return -1;
}

void pz_reference_PAD(const pz_reference_call *call) {
  const pz_attr_pad *a = &call->node->attr.pad;
  const pz_shape *x = reference_in_shape(call, 0), *y = reference_out_shape(call, 0);
  int64_t n = pz_shape_elements(y), stride[PZ_MAX_RANK], out[PZ_MAX_RANK];
  pz_reference_strides(x, stride);
  pz_reference_strides(y, out);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = 0;
    bool outside = false;
    for (int k = 0; k < y->rank; k++) {
      int64_t from = source(a->kind, i / out[k] % y->dim[k] - a->lo[k], x->dim[k]);
      outside |= from < 0;
      at += from * stride[k];
    }
    call->out[0][i] = outside ? (double)a->value : call->in[0][at];
  }
}

/* With `deep` the tensor of more channels and `wide` that of more positions: deep as [n, c, i, j, k, z, y, x], or
 * [n, i, j, k, c, z, y, x], is wide as [n, c, z, i, y, j, x, k]. */
void pz_reference_DEPTH_TO_SPACE(const pz_reference_call *call) {
  const pz_attr_depth_to_space *a = &call->node->attr.depth_to_space;
  pz_shape5 in = pz_shape_as5(reference_in_shape(call, 0)), out = pz_shape_as5(reference_out_shape(call, 0));
  pz_shape5 deep = a->inverse ? out : in, wide = a->inverse ? in : out;
  const int64_t b0 = a->block[0], b1 = a->block[1], b2 = a->block[2];
  pz_shape split = {8, {deep.n, wide.c, deep.s[0], b0, deep.s[1], b1, deep.s[2], b2}};
  int64_t plane = deep.s[1] * deep.s[2], channel = deep.s[0] * plane;
  int64_t points = b0 * b1 * b2, k = (a->columns_first ? 1 : wide.c) * channel;
  pz_reference_cursor to_deep = {.shape = &split,
                                 .stride = {deep.c * channel, (a->columns_first ? points : 1) * channel,
                                            plane, b1 * b2 * k, deep.s[2], b2 * k, 1, k}};
  int64_t n = pz_shape_elements(&split);
  for (int64_t i = 0; i < n; i++) {
    int64_t at = pz_reference_next(&to_deep);
    if (a->inverse) call->out[0][at] = call->in[0][i];
    else call->out[0][i] = call->in[0][at];
  }
}

static void copy(const pz_reference_call *call) {
  memcpy(call->out[0], call->in[0], (size_t)pz_shape_elements(reference_out_shape(call, 0)) * sizeof(double));
}
void pz_reference_RESHAPE(const pz_reference_call *call) { copy(call); }
void pz_reference_IDENTITY(const pz_reference_call *call) { copy(call); }
void pz_reference_BORDER_COPY(const pz_reference_call *call) {
  copy(call);
} /* the border is storage, not values */
