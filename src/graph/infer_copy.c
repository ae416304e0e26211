/* infer_copy.c: operators that only move values: slice, crop, gather, pad, reshape, permute,
 * depth_to_space. */
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

/* The first and the last entry are inside, and so are all between them. |step*(size-1)| is below 2^62. */
static bool window_fits(const pz_attr_crop *a, int32_t i, int64_t n) {
  if (a->size[i] < 1 || a->size[i] > n || a->offset[i] < 0 || a->offset[i] >= n) return false;
  if (a->step[i] == 0 || a->step[i] > PZ_MAX_DIM || a->step[i] < -PZ_MAX_DIM) return false;
  int64_t last = a->offset[i] + (a->size[i] - 1) * a->step[i];
  return last >= 0 && last < n;
}

pz_status pz_infer_CROP(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_crop *a = &node->attr.crop;
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  *out = *x;
  for (int32_t i = 0; i < x->rank; i++) {
    if (!window_fits(a, i, x->dim[i]))
      return pz_fail_node(
          err, node, "its window of %lld from %lld along dimension %d, step %lld, is not inside its input %s",
          (long long)a->size[i], (long long)a->offset[i], (int)i, (long long)a->step[i], PZ_SHAPE(x));
    out->dim[i] = a->size[i];
  }
  for (int32_t i = x->rank; i < PZ_MAX_RANK; i++)
    if (a->offset[i] || a->size[i] || a->step[i] != 1)
      return pz_fail_node(err, node, "its window has more dimensions than its input %s", PZ_SHAPE(x));
  return PZ_OK;
}

pz_status pz_infer_GATHER(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_gather *a = &node->attr.gather;
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  PZ_TRY(pz_infer_axis(node, a->axis, x->rank, err));
  if (a->index.n < 1 || !a->index.entries) return pz_fail_node(err, node, "its list of entries is empty");
  for (int32_t i = 0; i < a->index.n; i++)
    if (a->index.entries[i] < 0 || a->index.entries[i] >= x->dim[a->axis])
      return pz_fail_node(err, node, "its entry %lld is not one of the %lld along axis %d of its input %s",
                          (long long)a->index.entries[i], (long long)x->dim[a->axis], (int)a->axis,
                          PZ_SHAPE(x));
  *out = *x;
  out->dim[a->axis] = a->index.n;
  return PZ_OK;
}

static pz_status check_pad(const pz_node *node, pz_error *err) {
  const pz_attr_pad *a = &node->attr.pad;
  if ((unsigned)a->kind > PZ_PAD_WRAP) return pz_fail_node(err, node, "unknown kind %d", (int)a->kind);
  if (a->value != a->value) return pz_fail_node(err, node, "its value is not a number");
  if (a->value != 0 && a->kind != PZ_PAD_CONSTANT)
    return pz_fail_node(err, node, "a value is for the kind constant only");
  return PZ_OK;
}

pz_status pz_infer_PAD(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_pad *a = &node->attr.pad;
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  PZ_TRY(check_pad(node, err));
  *out = *x;
  for (int32_t i = 0; i < PZ_MAX_RANK; i++) {
    int64_t limit = i >= x->rank ? 0 : a->kind == PZ_PAD_REFLECT ? x->dim[i] - 1 : PZ_MAX_DIM;
    if (a->lo[i] < 0 || a->hi[i] < 0 || a->lo[i] > limit || a->hi[i] > limit)
      return pz_fail_node(err, node, "it adds %lld:%lld to dimension %d of its input %s: from 0 to %lld",
                          (long long)a->lo[i], (long long)a->hi[i], (int)i, PZ_SHAPE(x), (long long)limit);
    if (i < x->rank) out->dim[i] += a->lo[i] + a->hi[i];
  }
  return PZ_OK;
}

/* The block's points; the product of three int32_t may overflow. */
static pz_status block_points(const pz_node *node, const pz_shape *x, int64_t *points, pz_error *err) {
  const pz_attr_depth_to_space *a = &node->attr.depth_to_space;
  int32_t first = 0;
  PZ_TRY(pz_infer_spatial(node, x, &first, err));
  PZ_TRY(pz_infer_entries(node, "block", a->block, first, 1, 1, err));
  if (pz_mul_i64(a->block[0], a->block[1], points) && pz_mul_i64(*points, a->block[2], points) &&
      *points <= PZ_MAX_DIM)
    return PZ_OK;
  return pz_fail_node(err, node, "block %d,%d,%d is too large", (int)a->block[0], (int)a->block[1],
                      (int)a->block[2]);
}

pz_status pz_infer_DEPTH_TO_SPACE(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_depth_to_space *a = &node->attr.depth_to_space;
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  int64_t points = 1;
  PZ_TRY(block_points(node, x, &points, err));
  *out = *x;
  out->dim[1] = a->inverse ? x->dim[1] * points : x->dim[1] / points;
  bool fits = a->inverse || x->dim[1] % points == 0;
  for (int32_t i = 2; i < x->rank; i++) {
    int64_t block = a->block[PZ_SPATIAL - x->rank + i];
    fits &= !a->inverse || x->dim[i] % block == 0;
    out->dim[i] = a->inverse ? x->dim[i] / block : x->dim[i] * block;
  }
  if (fits) return PZ_OK;
  return pz_fail_node(err, node, "block %d,%d,%d does not divide the %s of its input %s", (int)a->block[0],
                      (int)a->block[1], (int)a->block[2], a->inverse ? "sizes" : "channels", PZ_SHAPE(x));
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
