/* shape.c: the same values in another shape or order. Each works on constants too. */
#include "import/onnx/ops.h"

/* Input 0 in another shape. */
static pz_status give_shaped(pz_onnx *c, const pz_shape *shape) {
  char from[PZ_SHAPE_TEXT], to[PZ_SHAPE_TEXT];
  const pz_shape *x = pz_onnx_in_shape(c, 0);
  if (pz_onnx_elements(x) != pz_onnx_elements(shape))
    return pz_onnx_fail(c, "%s cannot become %s: the number of elements must be the same",
                        pz_shape_text(x, from), pz_shape_text(shape, to));
  if (pz_onnx_is_known(c, 0)) {
    const pz_onnx_constant *k = NULL;
    PZ_TRY(pz_onnx_constant_in(c, 0, &k));
    return pz_onnx_give_shaped(c, 0, k, shape);
  }
  pz_node node = pz_node_new(PZ_OP_RESHAPE);
  node.attr.reshape.shape = *shape;
  return pz_onnx_simple(c, &node);
}

pz_status pz_onnx_op_identity(pz_onnx *c) {
  pz_node node = pz_node_new(PZ_OP_IDENTITY);
  return pz_onnx_is_known(c, 0) ? give_shaped(c, pz_onnx_in_shape(c, 0)) : pz_onnx_simple(c, &node);
}

/* A mask of what was kept: all. */
static pz_status give_mask(pz_onnx *c) {
  pz_onnx_space space;
  if (!pz_onnx_wants(c, 1)) return PZ_OK;
  PZ_TRY(pz_onnx_new_constant(c, PZ_ONNX_BOOL, pz_onnx_in_shape(c, 0), &space));
  for (int64_t i = 0; i < space.constant->elements; i++) space.ints[i] = 1;
  return pz_onnx_give_constant(c, 1, space.constant);
}

pz_status pz_onnx_op_dropout(pz_onnx *c) {
  double training = 0, ratio = 0.5;
  if (pz_onnx_has(c, 2)) PZ_TRY(pz_onnx_number_in(c, 2, &training));
  if (training != 0 && pz_onnx_has(c, 1)) PZ_TRY(pz_onnx_number_in(c, 1, &ratio));
  if (training != 0 && ratio != 0) return pz_onnx_refuse(c, "training_mode");
  pz_onnx_attr(c, "ratio");
  PZ_TRY(give_mask(c));
  return pz_onnx_op_identity(c);
}

pz_status pz_onnx_op_reshape(pz_onnx *c) {
  const int64_t *sizes;
  int32_t count, open = -1;
  bool allow_zero;
  pz_shape to = {0};
  PZ_TRY(pz_onnx_ints_in(c, 1, &sizes, &count));
  PZ_TRY(pz_onnx_attr_flag(c, "allowzero", false, &allow_zero));
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  if (count > PZ_MAX_RANK) return pz_onnx_refuse(c, "%d dimensions", (int)count);
  for (int32_t i = 0; i < count; i++) {
    const bool copy = sizes[i] == 0 && !allow_zero;
    if (sizes[i] < -1 || sizes[i] > PZ_MAX_DIM || (copy && i >= x.rank) || (sizes[i] == -1 && open >= 0))
      return pz_onnx_fail(c, "its shape has a bad size %lld", (long long)sizes[i]);
    if (sizes[i] == -1) open = i;
    to.dim[to.rank++] = sizes[i] == -1 ? 1 : copy ? x.dim[i] : sizes[i];
  }
  const int64_t rest = pz_onnx_elements(&to);
  if (open >= 0) to.dim[open] = rest ? pz_onnx_elements(&x) / rest : 0;
  return give_shaped(c, &to);
}

pz_status pz_onnx_op_flatten(pz_onnx *c) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  pz_shape to = {2, {1, 1}};
  int64_t axis;
  PZ_TRY(pz_onnx_attr_int(c, "axis", 1, &axis));
  if (axis < -x.rank || axis > x.rank) return pz_onnx_fail(c, "a bad axis %lld", (long long)axis);
  if (axis < 0) axis += x.rank;
  for (int32_t i = 0; i < x.rank; i++)
    if (!pz_mul_i64(to.dim[i >= axis], x.dim[i], &to.dim[i >= axis]))
      return pz_onnx_fail(c, "its input is too large");
  return give_shaped(c, &to);
}

pz_status pz_onnx_op_squeeze(pz_onnx *c) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  const int64_t *axes;
  int32_t count;
  bool marks[PZ_MAX_RANK];
  pz_shape to = {0};
  PZ_TRY(pz_onnx_list(c, "axes", 1, 13, &axes, &count));
  PZ_TRY(pz_onnx_mark_axes(c, axes, count, x.rank, marks));
  for (int32_t i = 0; i < x.rank; i++) {
    if (count < 0) marks[i] = x.dim[i] == 1;
    if (marks[i] && x.dim[i] != 1)
      return pz_onnx_fail(c, "dimension %d has %lld entries, not one", (int)i, (long long)x.dim[i]);
    if (!marks[i]) to.dim[to.rank++] = x.dim[i];
  }
  return give_shaped(c, &to);
}

pz_status pz_onnx_op_unsqueeze(pz_onnx *c) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  const int64_t *axes;
  int32_t count, next = 0;
  bool marks[PZ_MAX_RANK];
  PZ_TRY(pz_onnx_list(c, "axes", 1, 13, &axes, &count));
  if (count < 0) return pz_onnx_fail(c, "its axes are missing");
  if (count > PZ_MAX_RANK - x.rank) return pz_onnx_refuse(c, "%d dimensions", (int)(count + x.rank));
  pz_shape to = {.rank = x.rank + count};
  PZ_TRY(pz_onnx_mark_axes(c, axes, count, to.rank, marks));
  for (int32_t i = 0; i < to.rank; i++) to.dim[i] = marks[i] ? 1 : x.dim[next++];
  return give_shaped(c, &to);
}

/* ---- order ---- */

static pz_status read_order(pz_onnx *c, int32_t rank, int32_t order[PZ_MAX_RANK]) {
  const int64_t *perm;
  int32_t count;
  bool seen[PZ_MAX_RANK] = {0};
  PZ_TRY(pz_onnx_attr_ints(c, "perm", &perm, &count));
  if (perm && count != rank) return pz_onnx_fail(c, "its attribute 'perm' has %d entries", (int)count);
  for (int32_t i = 0; i < rank; i++) {
    PZ_TRY(pz_onnx_axis(c, perm ? perm[i] : rank - 1 - i, rank, &order[i]));
    if (seen[order[i]]) return pz_onnx_fail(c, "its attribute 'perm' is no permutation");
    seen[order[i]] = true;
  }
  return PZ_OK;
}

pz_status pz_onnx_op_transpose(pz_onnx *c) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  pz_node node = pz_node_new(PZ_OP_PERMUTE);
  int32_t *order = node.attr.permute.order;
  PZ_TRY(read_order(c, x.rank, order));
  if (!pz_onnx_is_known(c, 0)) return pz_onnx_simple(c, &node);
  const pz_onnx_view whole = pz_onnx_whole(&x);
  pz_onnx_view view = whole;
  const pz_onnx_constant *k = NULL;
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  for (int32_t i = 0; i < x.rank; i++) {
    view.shape.dim[i] = x.dim[order[i]];
    view.stride[i] = whole.stride[order[i]];
  }
  return pz_onnx_give_view(c, 0, k, &view);
}

static pz_status rearrange(pz_onnx *c, bool inverse) {
  const pz_shape *x = pz_onnx_in_shape(c, 0);
  pz_node node = pz_node_new(PZ_OP_DEPTH_TO_SPACE);
  const char *mode;
  int64_t block;
  PZ_TRY(pz_onnx_attr_int(c, "blocksize", 0, &block));
  PZ_TRY(pz_onnx_attr_text(c, "mode", "DCR", &mode));
  if (strcmp(mode, "DCR") && strcmp(mode, "CRD")) return pz_onnx_fail(c, "its mode '%.40s' is none", mode);
  if (block < 1 || block > INT32_MAX) return pz_onnx_fail(c, "a blocksize of %lld", (long long)block);
  for (int32_t i = 2; i < x->rank && x->rank <= 5; i++)
    node.attr.depth_to_space.block[PZ_SPATIAL - x->rank + i] = (int32_t)block;
  node.attr.depth_to_space.columns_first = !strcmp(mode, "CRD");
  node.attr.depth_to_space.inverse = inverse;
  return pz_onnx_simple(c, &node);
}

pz_status pz_onnx_op_depth_to_space(pz_onnx *c) { return rearrange(c, false); }
pz_status pz_onnx_op_space_to_depth(pz_onnx *c) { return rearrange(c, true); }

/* ---- repetition ---- */

/* x, to which dimensions of 1 were added in front, repeated along each dimension up to `to`. */
static pz_status repeat(pz_onnx *c, const pz_shape *to) {
  pz_node node = pz_node_new(PZ_OP_PAD);
  pz_tensor_id x;
  bool changes = false;
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  const pz_shape wide = pz_onnx_widen(pz_onnx_shape(c, x), to->rank);
  PZ_TRY(pz_onnx_reshape_to(c, &wide, &x));
  node.attr.pad.kind = PZ_PAD_WRAP;
  for (int32_t i = 0; i < to->rank; i++) {
    node.attr.pad.hi[i] = to->dim[i] - wide.dim[i];
    if (to->dim[i] < 1 || to->dim[i] > PZ_MAX_DIM) return pz_onnx_fail(c, "an empty or too large result");
    changes |= to->dim[i] != wide.dim[i];
  }
  if (changes) PZ_TRY(pz_onnx_apply(c, &node, "repeat", &x));
  return pz_onnx_give(c, 0, x, pz_onnx_type_in(c));
}

pz_status pz_onnx_op_expand(pz_onnx *c) {
  const int64_t *sizes;
  int32_t count;
  pz_shape wanted = {0}, to;
  PZ_TRY(pz_onnx_ints_in(c, 1, &sizes, &count));
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  if (count > PZ_MAX_RANK) return pz_onnx_refuse(c, "%d dimensions", (int)count);
  for (int32_t i = 0; i < count; i++) {
    if (sizes[i] < 0 || sizes[i] > PZ_MAX_DIM) return pz_onnx_fail(c, "a size of %lld", (long long)sizes[i]);
    wanted.dim[wanted.rank++] = sizes[i];
  }
  PZ_TRY(pz_onnx_broadcast(c, (const pz_shape *[]){&x, &wanted}, 2, &to));
  if (!pz_onnx_is_known(c, 0)) return repeat(c, &to);
  const pz_shape wide = pz_onnx_widen(&x, to.rank);
  pz_onnx_view view = pz_onnx_whole(&wide);
  const pz_onnx_constant *k = NULL;
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  for (int32_t i = 0; i < to.rank; i++)
    if (wide.dim[i] == 1) view.stride[i] = 0;
  view.shape = to;
  return pz_onnx_give_view(c, 0, k, &view);
}

static pz_status tile_constant(pz_onnx *c, const pz_shape *x, const pz_shape *to) {
  const pz_onnx_constant *k = NULL;
  pz_onnx_space space;
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  PZ_TRY(pz_onnx_new_constant(c, k->type, to, &space));
  for (int64_t i = 0; i < space.constant->elements; i++) {
    int64_t rest = i, at = 0, stride = 1;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
      at += rest % to->dim[d] % x->dim[d] * stride;
      stride *= x->dim[d];
      rest /= to->dim[d];
    }
    pz_onnx_move(&space, i, k, at, 1);
  }
  return pz_onnx_give_constant(c, 0, space.constant);
}

pz_status pz_onnx_op_tile(pz_onnx *c) {
  const int64_t *repeats;
  int32_t count;
  PZ_TRY(pz_onnx_ints_in(c, 1, &repeats, &count));
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  pz_shape to = x;
  if (count != x.rank) return pz_onnx_fail(c, "has %d repeats, expected %d", (int)count, (int)x.rank);
  for (int32_t i = 0; i < count; i++)
    if (repeats[i] < 0 || !pz_mul_i64(x.dim[i], repeats[i], &to.dim[i]))
      return pz_onnx_fail(c, "a repeat of %lld", (long long)repeats[i]);
  return pz_onnx_is_known(c, 0) ? tile_constant(c, &x, &to) : repeat(c, &to);
}
