/* copy.c: layers that move values or give them another shape: Crop, Slice, Split, Flatten, Reshape, Permute. */
#include "import/caffe/net.h"

/* ---- Crop ---- */

static pz_status crop_window(pz_caffe *c, const Caffe__CropParameter *p, pz_attr_crop *window) {
  const pz_shape *x = pz_caffe_in_shape(c, 0), *to = pz_caffe_in_shape(c, 1);
  int32_t axis;
  PZ_TRY(pz_caffe_axis(c, "axis", p->axis, x->rank, &axis));
  if (to->rank != x->rank)
    return pz_caffe_fail(c, "its bottoms have %d and %d dimensions, expected the same number", (int)x->rank,
                         (int)to->rank);
  size_t cropped = (size_t)(x->rank - axis);
  if (p->n_offset > 1 && p->n_offset != cropped)
    return pz_caffe_fail(
        c, "has %zu offset, expected one for all or %zu, one for each dimension from axis %d on", p->n_offset,
        cropped, (int)axis);
  for (int32_t i = 0; i < x->rank; i++) {
    window->size[i] = i < axis ? x->dim[i] : to->dim[i];
    bool shifted = i >= axis && p->n_offset;
    window->offset[i] = shifted ? p->offset[p->n_offset == 1 ? 0 : i - axis] : 0;
  }
  return PZ_OK;
}

pz_status pz_caffe_layer_crop(pz_caffe *c) {
  static const Caffe__CropParameter none = CAFFE__CROP_PARAMETER__INIT;
  pz_node node = pz_node_new(PZ_OP_CROP);
  PZ_TRY(crop_window(c, c->p->crop_param ? c->p->crop_param : &none, &node.attr.crop));
  return pz_caffe_emit(c, &node, 1, c->in, 1);
}

/* ---- Slice and Split ---- */

/* Where the slices begin: at the points, or at equal parts. */
static pz_status slice_points(pz_caffe *c, const Caffe__SliceParameter *p, int64_t size, int64_t *begin) {
  int64_t tops = (int64_t)c->p->n_top;
  if (p->n_slice_point && (int64_t)p->n_slice_point != tops - 1)
    return pz_caffe_fail(c, "has %zu slice_point, expected one less than its %lld tops", p->n_slice_point,
                         (long long)tops);
  if (!p->n_slice_point && size % tops)
    return pz_caffe_fail(c, "its %lld tops cannot be equal parts of %lld", (long long)tops, (long long)size);
  for (int64_t i = 1; i < tops; i++) begin[i] = p->n_slice_point ? p->slice_point[i - 1] : size / tops * i;
  begin[tops] = size;
  return PZ_OK;
}

pz_status pz_caffe_layer_slice(pz_caffe *c) {
  static const Caffe__SliceParameter none = CAFFE__SLICE_PARAMETER__INIT;
  const Caffe__SliceParameter *p = c->p->slice_param ? c->p->slice_param : &none;
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  pz_node node = pz_node_new(PZ_OP_SLICE);
  int32_t *axis = &node.attr.slice.axis;
  if (p->has_axis && p->has_slice_dim) return pz_caffe_fail(c, "axis and slice_dim: give one of them");
  PZ_TRY(pz_caffe_axis(c, "axis", p->has_slice_dim ? (int64_t)p->slice_dim : p->axis, x->rank, axis));
  int64_t *begin = PZ_NEW(c->arena, int64_t, c->p->n_top + 1);
  if (!begin) return pz_fail_memory(c->err, "slices", (c->p->n_top + 1) * sizeof *begin);
  PZ_TRY(slice_points(c, p, x->dim[*axis], begin));
  node.attr.slice.begin = begin;
  return pz_caffe_emit(c, &node, 1, c->in, (int32_t)c->p->n_top);
}

pz_status pz_caffe_layer_split(pz_caffe *c) {
  pz_node node = pz_node_new(PZ_OP_IDENTITY);
  for (size_t i = 0; i < c->p->n_top; i++) PZ_TRY(pz_caffe_emit_simple(c, &node));
  return PZ_OK;
}

/* ---- Flatten, Reshape, Permute ---- */

pz_status pz_caffe_layer_flatten(pz_caffe *c) {
  static const Caffe__FlattenParameter none = CAFFE__FLATTEN_PARAMETER__INIT;
  const Caffe__FlattenParameter *p = c->p->flatten_param ? c->p->flatten_param : &none;
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  pz_node node = pz_node_new(PZ_OP_RESHAPE);
  pz_shape *to = &node.attr.reshape.shape;
  int32_t first, last;
  PZ_TRY(pz_caffe_axis(c, "axis", p->axis, x->rank, &first));
  PZ_TRY(pz_caffe_axis(c, "end_axis", p->end_axis, x->rank, &last));
  if (last < first) return pz_caffe_fail(c, "end_axis %d is before axis %d", (int)last, (int)first);
  *to = (pz_shape){0};
  for (int32_t i = 0; i < x->rank; i++) {
    if (i > first && i <= last) to->dim[to->rank - 1] *= x->dim[i];
    else to->dim[to->rank++] = x->dim[i];
  }
  return pz_caffe_emit_simple(c, &node);
}

/* The part of the bottom's shape that is replaced: dimensions first .. end-1. */
static pz_status reshaped_part(pz_caffe *c, const Caffe__ReshapeParameter *p, int32_t *first, int32_t *end) {
  int32_t rank = pz_caffe_in_shape(c, 0)->rank;
  int64_t begin = p->axis >= 0 ? p->axis : (int64_t)rank + p->axis + 1;
  if (begin < 0 || begin > rank)
    return pz_caffe_fail(c, "axis: %d is not one of the %d dimensions of its bottom", (int)p->axis,
                         (int)rank);
  if (p->num_axes < -1 || (p->num_axes >= 0 && begin + p->num_axes > rank))
    return pz_caffe_fail(c, "num_axes: %d from axis %d on, its bottom has %d dimensions", (int)p->num_axes,
                         (int)begin, (int)rank);
  *first = (int32_t)begin;
  *end = p->num_axes < 0 ? rank : *first + p->num_axes;
  return PZ_OK;
}

/* One dimension of the new shape; 0 copies the bottom's. */
static pz_status reshaped_dim(pz_caffe *c, int64_t dim, int32_t from, int64_t *out) {
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  if (dim < -1 || dim > PZ_MAX_DIM) return pz_caffe_fail(c, "dim: %lld is not possible", (long long)dim);
  if (dim == 0 && from >= x->rank)
    return pz_caffe_fail(c, "dim: 0 copies a dimension that its bottom does not have");
  *out = dim ? dim : x->dim[from];
  return PZ_OK;
}

/* The one -1 becomes what the others leave. */
static pz_status infer_dim(pz_caffe *c, pz_shape *to) {
  int64_t known = 1, total = pz_shape_elements(pz_caffe_in_shape(c, 0));
  int32_t open = PZ_NONE;
  bool fits = true;
  for (int32_t i = 0; i < to->rank; i++) {
    if (to->dim[i] == -1 && open != PZ_NONE) return pz_caffe_fail(c, "only one dim may be -1");
    if (to->dim[i] == -1) open = i;
    else fits = fits && pz_mul_i64(known, to->dim[i], &known);
  }
  if (open == PZ_NONE) return PZ_OK;
  if (!fits || known < 1 || total % known)
    return pz_caffe_fail(c,
                         "dim: -1 cannot be found: its bottom has %lld elements, the other sizes make %lld",
                         (long long)total, (long long)known);
  to->dim[open] = total / known;
  return PZ_OK;
}

static pz_status reshape(pz_caffe *c, const Caffe__ReshapeParameter *p, pz_shape *to) {
  static const Caffe__BlobShape none = CAFFE__BLOB_SHAPE__INIT;
  const Caffe__BlobShape *dims = p->shape ? p->shape : &none;
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  int32_t first = 0, end = 0;
  PZ_TRY(reshaped_part(c, p, &first, &end));
  if (dims->n_dim > (size_t)(PZ_MAX_RANK - first - (x->rank - end)))
    return pz_caffe_fail(c, "its result would have more than %d dimensions", PZ_MAX_RANK);
  *to = (pz_shape){0};
  for (int32_t i = 0; i < first; i++) to->dim[to->rank++] = x->dim[i];
  for (size_t i = 0; i < dims->n_dim; i++)
    PZ_TRY(reshaped_dim(c, dims->dim[i], first + (int32_t)i, &to->dim[to->rank++]));
  for (int32_t i = end; i < x->rank; i++) to->dim[to->rank++] = x->dim[i];
  return infer_dim(c, to);
}

pz_status pz_caffe_layer_reshape(pz_caffe *c) {
  static const Caffe__ReshapeParameter none = CAFFE__RESHAPE_PARAMETER__INIT;
  pz_node node = pz_node_new(PZ_OP_RESHAPE);
  PZ_TRY(reshape(c, c->p->reshape_param ? c->p->reshape_param : &none, &node.attr.reshape.shape));
  return pz_caffe_emit_simple(c, &node);
}

/* Dimensions that `order` does not name follow in their order. */
pz_status pz_caffe_layer_permute(pz_caffe *c) {
  static const Caffe__PermuteParameter none = CAFFE__PERMUTE_PARAMETER__INIT;
  const Caffe__PermuteParameter *p = c->p->permute_param ? c->p->permute_param : &none;
  int32_t rank = pz_caffe_in_shape(c, 0)->rank, count = 0;
  pz_node node = pz_node_new(PZ_OP_PERMUTE);
  unsigned seen = 0;
  for (size_t i = 0; i < p->n_order; i++) {
    if (p->order[i] >= (uint32_t)rank || seen >> p->order[i] & 1)
      return pz_caffe_fail(c, "order: %u, expected each of the %d dimensions at most once",
                           (unsigned)p->order[i], (int)rank);
    seen |= 1u << p->order[i];
    node.attr.permute.order[count++] = (int32_t)p->order[i];
  }
  for (int32_t i = 0; i < rank; i++)
    if (!(seen >> i & 1)) node.attr.permute.order[count++] = i;
  return pz_caffe_emit_simple(c, &node);
}
