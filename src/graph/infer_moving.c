/* infer_moving.c: operators that only move values: slice, crop, reshape, permute. */
#include "graph/internal.h"

pz_status pz_infer_SLICE(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_slice *a = &node->attr.slice;
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  PZ_TRY(pz_infer_axis(node, a->axis, x->rank, err));
  int64_t size = x->dim[a->axis];
  if (!a->begin || a->begin[0] != 0 || a->begin[node->n_out] != size)
    return pz_fail_node(err, node, "its slices must cover axis %d of its input %s", (int)a->axis,
                        PZ_SHAPE(x));
  for (int32_t i = 0; i < node->n_out; i++) {
    if (a->begin[i] < 0 || a->begin[i] >= a->begin[i + 1] || a->begin[i + 1] > size)
      return pz_fail_node(err, node,
                          "its slice points must rise from 0 to %lld along axis %d of its input %s",
                          (long long)size, (int)a->axis, PZ_SHAPE(x));
    out[i] = *x;
    out[i].dim[a->axis] = a->begin[i + 1] - a->begin[i];
  }
  return PZ_OK;
}

pz_status pz_infer_CROP(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_crop *a = &node->attr.crop;
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  *out = *x;
  for (int32_t i = 0; i < x->rank; i++) {
    if (a->offset[i] < 0 || a->size[i] < 1 || a->size[i] > x->dim[i] || a->offset[i] > x->dim[i] - a->size[i])
      return pz_fail_node(err, node,
                          "its window of %lld from %lld along dimension %d is not inside its input %s",
                          (long long)a->size[i], (long long)a->offset[i], (int)i, PZ_SHAPE(x));
    out->dim[i] = a->size[i];
  }
  for (int32_t i = x->rank; i < PZ_MAX_RANK; i++)
    if (a->offset[i] || a->size[i])
      return pz_fail_node(err, node, "its window has more dimensions than its input %s", PZ_SHAPE(x));
  return PZ_OK;
}

pz_status pz_infer_RESHAPE(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = &pz_in(g, node, 0)->shape, *to = &node->attr.reshape.shape;
  int64_t elements;
  if (!pz_shape_valid(to, &elements) || elements != pz_shape_elements(x))
    return pz_fail_node(err, node,
                        "its input %s cannot be reshaped to %s: the number of elements must be the same",
                        PZ_SHAPE(x), PZ_SHAPE(to));
  *out = *to;
  return PZ_OK;
}

pz_status pz_infer_PERMUTE(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  const int32_t *order = node->attr.permute.order;
  unsigned seen = 0;
  *out = *x;
  for (int32_t i = 0; i < x->rank; i++) {
    if (order[i] < 0 || order[i] >= x->rank || (seen & (1u << order[i])))
      return pz_fail_node(err, node, "its order must name each of the %d dimensions of its input %s once",
                          (int)x->rank, PZ_SHAPE(x));
    seen |= 1u << order[i];
    out->dim[i] = x->dim[order[i]];
  }
  return PZ_OK;
}
