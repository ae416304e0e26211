/* resize.c: Resize and Upsample. */
#include <math.h>

#include "import/onnx/ops.h"

typedef struct target {
  pz_shape size;
  double scale[PZ_MAX_RANK]; /* 0: size / in */
} target;

/* ---- modes ---- */

static int find_name(const char *const *names, const char *text) {
  for (int i = 0; names[i]; i++)
    if (!strcmp(names[i], text)) return i;
  return -1;
}

/* Upsample and Resize of opset 10 look at o/scale, rounded down. */
static pz_status read_modes(pz_onnx *c, bool later, pz_attr_resize *a) {
  static const char *const coordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                                            NULL};
  static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
  const char *mode, *coordinate, *rounding;
  PZ_TRY(pz_onnx_attr_text(c, "mode", "nearest", &mode));
  PZ_TRY(pz_onnx_attr_text(c, "coordinate_transformation_mode", later ? "half_pixel" : "asymmetric",
                           &coordinate));
  PZ_TRY(pz_onnx_attr_text(c, "nearest_mode", later ? "round_prefer_floor" : "floor", &rounding));
  if (!strcmp(coordinate, "half_pixel_symmetric")) coordinate = "half_pixel";
  const int k = find_name(coordinates, coordinate), r = find_name(roundings, rounding);
  const bool linear = !strcmp(mode, "linear") || !strcmp(mode, "bilinear") || !strcmp(mode, "trilinear");
  if (!linear && strcmp(mode, "nearest")) return pz_onnx_refuse(c, "mode = %.40s", mode);
  if (k < 0) return pz_onnx_refuse(c, "coordinate_transformation_mode = %.40s", coordinate);
  if (r < 0) return pz_onnx_refuse(c, "nearest_mode = %.40s", rounding);
  a->kind = linear ? PZ_RESIZE_LINEAR : PZ_RESIZE_NEAREST;
  a->coordinate = (pz_coordinate)k;
  a->rounding = linear ? PZ_ROUND_PREFER_FLOOR : (pz_rounding)r;
  pz_onnx_attr(c, "extrapolation_value");
  pz_onnx_attr(c, "exclude_outside"); /* changes nothing for nearest and linear */
  return PZ_OK;
}

/* ---- sizes ---- */

static pz_status with_scale(pz_onnx *c, double scale, int32_t d, target *t) {
  const double size = floor((double)t->size.dim[d] * scale);
  if (!(scale > 0) || !(size >= 1) || size > (double)INT32_MAX)
    return pz_onnx_fail(c, "a scale of %g along a size of %lld", scale, (long long)t->size.dim[d]);
  t->size.dim[d] = (int64_t)size;
  t->scale[d] = scale;
  return PZ_OK;
}

static pz_status with_size(pz_onnx *c, int64_t size, int32_t d, target *t) {
  if (size < 1 || size > INT32_MAX) return pz_onnx_fail(c, "a size of %lld", (long long)size);
  t->size.dim[d] = size;
  t->scale[d] = 0;
  return PZ_OK;
}

/* All axes are scaled alike, so that no size (not_larger) or no more than one (not_smaller) is exceeded. */
static pz_status keep_aspect(pz_onnx *c, const pz_onnx_constant *sizes, const int32_t *axes, bool larger,
                             target *t) {
  double scale = 0;
  for (int64_t i = 0; i < sizes->elements; i++) {
    const double s = (double)sizes->ints[i] / (double)t->size.dim[axes[i]];
    if (!i || (larger ? s > scale : s < scale)) scale = s;
  }
  for (int64_t i = 0; i < sizes->elements; i++) {
    PZ_TRY(with_size(c, (int64_t)floor(scale * (double)t->size.dim[axes[i]] + 0.5), axes[i], t));
    t->scale[axes[i]] = (double)(float)scale;
  }
  return PZ_OK;
}

static pz_status read_sizes(pz_onnx *c, const pz_onnx_constant *sizes, const int32_t *axes, target *t) {
  const char *policy;
  PZ_TRY(pz_onnx_attr_text(c, "keep_aspect_ratio_policy", "stretch", &policy));
  if (strcmp(policy, "stretch")) return keep_aspect(c, sizes, axes, !strcmp(policy, "not_smaller"), t);
  for (int64_t i = 0; i < sizes->elements; i++) PZ_TRY(with_size(c, sizes->ints[i], axes[i], t));
  return PZ_OK;
}

/* The axes that scales and sizes are for. */
static pz_status read_axes(pz_onnx *c, int32_t rank, int32_t axes[PZ_MAX_RANK], int32_t *n) {
  const int64_t *list;
  bool marks[PZ_MAX_RANK];
  PZ_TRY(pz_onnx_attr_ints(c, "axes", &list, n));
  PZ_TRY(pz_onnx_mark_axes(c, list, *n, rank, marks));
  if (!list) *n = rank;
  for (int32_t i = 0; i < *n; i++) PZ_TRY(pz_onnx_axis(c, list ? list[i] : i, rank, &axes[i]));
  return PZ_OK;
}

/* Inputs `scales` and `sizes` (-1: none); an empty one is as none. */
static pz_status read_target(pz_onnx *c, int32_t scales, int32_t sizes, target *t) {
  const bool has_sizes = sizes >= 0 && pz_onnx_has(c, sizes) && pz_onnx_elements(pz_onnx_in_shape(c, sizes));
  const pz_onnx_constant *k = NULL;
  int32_t axes[PZ_MAX_RANK], n;
  PZ_TRY(read_axes(c, t->size.rank, axes, &n));
  PZ_TRY(pz_onnx_constant_in(c, has_sizes ? sizes : scales, &k));
  if (k->elements != n || has_sizes != (k->ints != NULL))
    return pz_onnx_fail(c, "has %lld scales or sizes, expected %d", (long long)k->elements, (int)n);
  if (has_sizes) return read_sizes(c, k, axes, t);
  pz_onnx_attr(c, "keep_aspect_ratio_policy");
  for (int32_t i = 0; i < n; i++) PZ_TRY(with_scale(c, pz_onnx_number(k, i), axes[i], t));
  return PZ_OK;
}

/* What is refused where it would change the result. */
static pz_status check_target(pz_onnx *c, const pz_shape *x, const target *t) {
  bool smaller = false, exact = true, antialias;
  const pz_onnx_attribute *mode = pz_onnx_attr(c, "coordinate_transformation_mode");
  for (int32_t d = 0; d < x->rank; d++) {
    smaller |= t->size.dim[d] < x->dim[d];
    /* scales are float32: 5 x 1.6 is 8.0000001 */
    exact &= t->scale[d] == 0 ||
             fabs((double)x->dim[d] * t->scale[d] - (double)t->size.dim[d]) <= 1e-6 * (double)t->size.dim[d];
  }
  PZ_TRY(pz_onnx_attr_flag(c, "antialias", false, &antialias));
  if (antialias && smaller) return pz_onnx_refuse(c, "antialias");
  if (mode && !strcmp(mode->s, "half_pixel_symmetric") && !exact)
    return pz_onnx_refuse(c, "half_pixel_symmetric and sizes that are not whole");
  /* The definition speaks of the length of the result, as PyTorch; the test data take the one that is not rounded. */
  if (mode && !strcmp(mode->s, "align_corners") && !exact)
    return pz_onnx_refuse(c, "align_corners and scales whose sizes are not whole; give sizes instead");
  return PZ_OK;
}

/* ---- the node ---- */

static bool is_resized(const pz_shape *x, const target *t, int32_t d) {
  return t->size.dim[d] != x->dim[d] || (t->scale[d] != 0 && t->scale[d] != 1);
}

/* The axes that are resized become spatial ones: what is in front of them is put into N and C where need be. */
static pz_status shape_for(pz_onnx *c, const pz_shape *x, int32_t first, pz_shape *as, int32_t *shift) {
  *as = *x;
  *shift = 0;
  if (first >= 2 && x->rank >= 3 && x->rank <= 5) return PZ_OK;
  if (x->rank - first > PZ_SPATIAL)
    return pz_onnx_refuse(c, "resized dimensions that are not among the last three");
  *as = (pz_shape){2 + x->rank - first, {1, 1}};
  for (int32_t d = 0; d < first; d++) as->dim[1] *= x->dim[d];
  for (int32_t d = first; d < x->rank; d++) as->dim[2 + d - first] = x->dim[d];
  *shift = 2 - first;
  return PZ_OK;
}

static pz_status emit(pz_onnx *c, pz_node *node, const target *t) {
  pz_tensor_id id;
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  pz_shape as;
  int32_t first = 0, shift;
  PZ_TRY(pz_onnx_tensor_in(c, 0, &id));
  while (first < x.rank && !is_resized(&x, t, first)) first++;
  if (first == x.rank) return pz_onnx_give(c, 0, id, pz_onnx_type_in(c));
  PZ_TRY(shape_for(c, &x, first, &as, &shift));
  for (int32_t d = 2; d < as.rank; d++) {
    const int32_t i = PZ_SPATIAL - as.rank + d;
    node->attr.resize.size[i] = (int32_t)t->size.dim[d - shift];
    node->attr.resize.scale[i] = (float)t->scale[d - shift];
  }
  PZ_TRY(pz_onnx_reshape_to(c, &as, &id));
  PZ_TRY(pz_onnx_apply(c, node, "resize", &id));
  PZ_TRY(pz_onnx_reshape_to(c, &t->size, &id));
  return pz_onnx_give(c, 0, id, pz_onnx_type_in(c));
}

static pz_status resize(pz_onnx *c, bool later, int32_t scales, int32_t sizes) {
  pz_node node = pz_node_new(PZ_OP_RESIZE);
  PZ_TRY(read_modes(c, later, &node.attr.resize));
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  target t = {.size = x};
  PZ_TRY(read_target(c, scales, sizes, &t));
  PZ_TRY(check_target(c, &x, &t));
  return emit(c, &node, &t);
}

pz_status pz_onnx_op_resize(pz_onnx *c) {
  return c->model.opset < 11 ? resize(c, false, 1, -1) : resize(c, true, 2, 3);
}

/* Opset 7 has the scales as an attribute. */
pz_status pz_onnx_op_upsample(pz_onnx *c) {
  const pz_onnx_attribute *scales = c->model.opset < 9 ? pz_onnx_attr(c, "scales") : NULL;
  if (c->model.opset >= 9) return resize(c, false, 1, -1);
  pz_node node = pz_node_new(PZ_OP_RESIZE);
  target t = {.size = *pz_onnx_in_shape(c, 0)};
  PZ_TRY(read_modes(c, false, &node.attr.resize));
  if (!scales || scales->n_floats != t.size.rank) return pz_onnx_fail(c, "its scales do not fit its input");
  for (int32_t d = 0; d < t.size.rank; d++) PZ_TRY(with_scale(c, (double)scales->floats[d], d, &t));
  return emit(c, &node, &t);
}
