/* infer_reducing.c: operators that change sizes by values: reduce, argmax, resize. */
#include "graph/internal.h"
#include <math.h>

pz_status pz_infer_REDUCE(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_reduce *a = &node->attr.reduce;
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  int32_t reduced = 0;
  if ((unsigned)a->kind > PZ_REDUCE_MIN) return pz_fail_node(err, node, "unknown kind %d", (int)a->kind);
  *out = *x;
  for (int32_t i = 0; i < PZ_MAX_RANK; i++) {
    if (!a->axis[i]) continue;
    PZ_TRY(pz_infer_axis(node, i, x->rank, err));
    out->dim[i] = 1;
    reduced++;
  }
  return reduced ? PZ_OK : pz_fail_node(err, node, "it names no dimension to reduce");
}

#define MAX_INDEX (INT64_C(1) << 24) /* whole numbers up to here are floats */

pz_status pz_infer_ARGMAX(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  int32_t axis = node->attr.argmax.axis;
  PZ_TRY(pz_infer_axis(node, axis, x->rank, err));
  if (x->dim[axis] > MAX_INDEX)
    return pz_fail_node(err, node, "axis %d of its input %s has more than 2^24 entries", (int)axis,
                        PZ_SHAPE(x));
  *out = *x;
  out->dim[axis] = 1;
  return PZ_OK;
}

static pz_status check_resize(const pz_node *node, int32_t first, pz_error *err) {
  const pz_attr_resize *a = &node->attr.resize;
  if ((unsigned)a->kind > PZ_RESIZE_LINEAR) return pz_fail_node(err, node, "unknown kind %d", (int)a->kind);
  if ((unsigned)a->coordinate > PZ_COORDINATE_ASYMMETRIC)
    return pz_fail_node(err, node, "unknown coordinate %d", (int)a->coordinate);
  if ((unsigned)a->rounding > PZ_ROUND_CEIL)
    return pz_fail_node(err, node, "unknown rounding %d", (int)a->rounding);
  if (a->rounding != PZ_ROUND_PREFER_FLOOR && a->kind != PZ_RESIZE_NEAREST)
    return pz_fail_node(err, node, "a rounding is for the kind nearest only");
  for (int32_t i = 0; i < PZ_SPATIAL; i++)
    if (!isfinite(a->scale[i]) || a->scale[i] < 0 || (i < first && a->scale[i] != 0))
      return pz_fail_node(err, node, "scale %g along %c: a positive number, or 0 for the ratio of the sizes",
                          (double)a->scale[i], "zyx"[i]);
  return pz_infer_entries(node, "size", a->size, first, 1, 1, err);
}

pz_status pz_infer_RESIZE(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  int32_t first = 0;
  PZ_TRY(pz_infer_spatial(node, x, &first, err));
  PZ_TRY(check_resize(node, first, err));
  *out = *x;
  for (int32_t i = first; i < PZ_SPATIAL; i++) out->dim[x->rank - PZ_SPATIAL + i] = node->attr.resize.size[i];
  return PZ_OK;
}
