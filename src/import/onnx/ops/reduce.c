/* reduce.c: reductions, ArgMax, Softmax. */
#include "import/onnx/ops.h"

/* axes: an attribute before opset `since`, then input 1. None: all, or nothing where noop_with_empty_axes. */
static pz_status read_axes(pz_onnx *c, int64_t since, int32_t rank, bool marks[PZ_MAX_RANK], bool *none) {
  const int64_t *axes;
  int32_t count;
  bool noop;
  PZ_TRY(pz_onnx_list(c, "axes", 1, since, &axes, &count));
  PZ_TRY(pz_onnx_attr_flag(c, "noop_with_empty_axes", false, &noop));
  PZ_TRY(pz_onnx_mark_axes(c, axes, count, rank, marks));
  *none = count <= 0 && noop;
  for (int32_t d = 0; d < rank && count <= 0 && !noop; d++) marks[d] = true;
  return PZ_OK;
}

/* Without the dimensions that are marked. */
static pz_shape without(const pz_shape *x, const bool marks[PZ_MAX_RANK]) {
  pz_shape out = {0};
  for (int32_t d = 0; d < x->rank; d++)
    if (!marks[d]) out.dim[out.rank++] = x->dim[d];
  return out;
}

/* Neighbours that are reduced, or are not, are one dimension, those of one entry none: most tensors of more than five
 * dimensions have five at most then. */
static pz_status apply_reduce(pz_onnx *c, pz_node *node, pz_tensor_id *x) {
  const pz_shape shape = *pz_onnx_shape(c, *x);
  const pz_attr_reduce *all = &node->attr.reduce;
  pz_node joined = pz_node_new(PZ_OP_REDUCE);
  pz_shape as = {0}, kept = shape;
  bool last = false, any = false;
  if (shape.rank <= 5) return pz_onnx_apply(c, node, "reduce", x);
  joined.attr.reduce.kind = all->kind;
  for (int32_t d = 0; d < shape.rank; d++) {
    if (all->axis[d]) kept.dim[d] = 1;
    if (shape.dim[d] == 1) continue;
    if (as.rank && last == all->axis[d]) as.dim[as.rank - 1] *= shape.dim[d];
    else as.dim[as.rank++] = shape.dim[d];
    last = joined.attr.reduce.axis[as.rank - 1] = all->axis[d];
    any |= last;
  }
  PZ_TRY(pz_onnx_reshape_to(c, &as, x));
  if (any) PZ_TRY(pz_onnx_apply(c, &joined, "reduce", x));
  return pz_onnx_reshape_to(c, &kept, x);
}

static pz_status reduce(pz_onnx *c, pz_reduce_kind kind, int64_t since, const pz_activation *before,
                        double power, const pz_activation *after) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  pz_node node = pz_node_new(PZ_OP_REDUCE), square = pz_node_new(PZ_OP_POWER);
  bool keep, none;
  pz_tensor_id id;
  PZ_TRY(read_axes(c, since, x.rank, node.attr.reduce.axis, &none));
  PZ_TRY(pz_onnx_attr_flag(c, "keepdims", true, &keep));
  PZ_TRY(pz_onnx_tensor_in(c, 0, &id));
  square.attr.power = (pz_attr_power){.power = (float)power, .scale = 1};
  if (before) PZ_TRY(pz_onnx_activate(c, *before, "each", &id));
  if (power != 1) PZ_TRY(pz_onnx_apply(c, &square, "square", &id));
  node.attr.reduce.kind = kind;
  if (!none && x.rank) PZ_TRY(apply_reduce(c, &node, &id));
  if (after) PZ_TRY(pz_onnx_activate(c, *after, "root", &id));
  const pz_shape less = without(&x, node.attr.reduce.axis);
  if (!keep) PZ_TRY(pz_onnx_reshape_to(c, &less, &id));
  const pz_onnx_type type = pz_onnx_type_in(c);
  if (kind != PZ_REDUCE_SUM || pz_onnx_is_floating(type)) return pz_onnx_give(c, 0, id, type);
  const double n = (double)pz_onnx_elements(&x) / (double)pz_onnx_elements(&less);
  const pz_onnx_range each = pz_onnx_range_in(c, 0);
  return pz_onnx_give_whole(c, id, (pz_onnx_range){n * fmin(each.low, 0), n * fmax(each.high, 0)}, type);
}

static pz_status plain(pz_onnx *c, pz_reduce_kind kind, int64_t since) {
  return pz_onnx_all_known(c) ? pz_onnx_fold_reduce(c) : reduce(c, kind, since, NULL, 1, NULL);
}

pz_status pz_onnx_op_reduce_mean(pz_onnx *c) { return plain(c, PZ_REDUCE_MEAN, 18); }
pz_status pz_onnx_op_reduce_sum(pz_onnx *c) { return plain(c, PZ_REDUCE_SUM, 13); }
pz_status pz_onnx_op_reduce_max(pz_onnx *c) { return plain(c, PZ_REDUCE_MAX, 18); }
pz_status pz_onnx_op_reduce_min(pz_onnx *c) { return plain(c, PZ_REDUCE_MIN, 18); }
pz_status pz_onnx_op_reduce_prod(pz_onnx *c) {
  const pz_onnx_constant *k = NULL;
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  return pz_onnx_fold_reduce(c);
}
pz_status pz_onnx_op_reduce_l1(pz_onnx *c) {
  static const pz_activation each = {PZ_ACT_ABS, 0, 0};
  return reduce(c, PZ_REDUCE_SUM, 18, &each, 1, NULL);
}
pz_status pz_onnx_op_reduce_l2(pz_onnx *c) {
  static const pz_activation root = {PZ_ACT_SQRT, 0, 0};
  return reduce(c, PZ_REDUCE_SUM, 18, NULL, 2, &root);
}
pz_status pz_onnx_op_reduce_sum_square(pz_onnx *c) { return reduce(c, PZ_REDUCE_SUM, 18, NULL, 2, NULL); }

/* ---- ArgMax, ArgMin ---- */

static pz_status arg(pz_onnx *c, bool least) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  pz_node node = pz_node_new(PZ_OP_ARGMAX);
  bool keep, marks[PZ_MAX_RANK] = {0};
  pz_tensor_id id;
  PZ_TRY(pz_onnx_attr_axis(c, 0, x.rank, &node.attr.argmax.axis));
  PZ_TRY(pz_onnx_attr_flag(c, "keepdims", true, &keep));
  PZ_TRY(pz_onnx_attr_flag(c, "select_last_index", false, &node.attr.argmax.last));
  PZ_TRY(pz_onnx_tensor_in(c, 0, &id));
  if (least) PZ_TRY(pz_onnx_power(c, -1, 0, &id));
  PZ_TRY(pz_onnx_apply(c, &node, "argmax", &id));
  marks[node.attr.argmax.axis] = true;
  const pz_shape less = without(&x, marks);
  if (!keep) PZ_TRY(pz_onnx_reshape_to(c, &less, &id));
  const pz_onnx_range range = {0, (double)x.dim[node.attr.argmax.axis] - 1};
  return pz_onnx_give_in(c, 0, id, PZ_ONNX_INT64, range);
}

pz_status pz_onnx_op_arg_max(pz_onnx *c) { return arg(c, false); }
pz_status pz_onnx_op_arg_min(pz_onnx *c) { return arg(c, true); }

/* ---- Softmax ---- */

/* Before opset 13 all dimensions from the axis on are one. */
static pz_status softmax(pz_onnx *c, bool log) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  const bool flat = c->model.opset < 13;
  pz_node node = pz_node_new(PZ_OP_SOFTMAX);
  pz_shape as = x;
  pz_tensor_id id;
  int32_t axis;
  PZ_TRY(pz_onnx_attr_axis(c, flat ? 1 : -1, x.rank, &axis));
  if (flat && axis < x.rank - 1) {
    as = (pz_shape){2, {1, 1}};
    for (int32_t d = 0; d < x.rank; d++) as.dim[d >= axis] *= x.dim[d];
    if (as.dim[1] == x.dim[axis]) as = x;
    else axis = 1;
  }
  node.attr.softmax.axis = axis;
  node.attr.softmax.log = log;
  PZ_TRY(pz_onnx_tensor_in(c, 0, &id));
  PZ_TRY(pz_onnx_reshape_to(c, &as, &id));
  PZ_TRY(pz_onnx_apply(c, &node, "softmax", &id));
  PZ_TRY(pz_onnx_reshape_to(c, &x, &id));
  return pz_onnx_give(c, 0, id, pz_onnx_type_in(c));
}

pz_status pz_onnx_op_softmax(pz_onnx *c) { return softmax(c, false); }
pz_status pz_onnx_op_log_softmax(pz_onnx *c) { return softmax(c, true); }
