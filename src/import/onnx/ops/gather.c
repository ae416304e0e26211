/* gather.c: entries by indices: Gather, GatherND. Both are entries of one axis: GatherND's indices, of several axes,
 * are those of the axis that these are joined to. Each works on constants too. */
#include "import/onnx/ops.h"

static pz_status gather_constant(pz_onnx *c, const pz_shape *x, int32_t axis, const int64_t *index, int64_t n,
                                 const pz_shape *to) {
  const pz_onnx_constant *k = NULL;
  pz_onnx_space space;
  int64_t inner = 1, at = 0;
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  PZ_TRY(pz_onnx_new_constant(c, k->type, to, &space));
  for (int32_t d = axis + 1; d < x->rank; d++) inner *= x->dim[d];
  const int64_t row = inner * x->dim[axis], outer = row ? k->elements / row : 0;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < n; i++, at += inner)
      pz_onnx_move(&space, at, k, (o * x->dim[axis] + index[i]) * inner, inner);
  return pz_onnx_give_constant(c, 0, space.constant);
}

/* Indices at equal distances are a crop, which may be a view. */
static bool is_window(const int64_t *index, int64_t n) {
  const int64_t step = n > 1 ? index[1] - index[0] : 1;
  for (int64_t i = 1; i < n; i++)
    if (step == 0 || index[i] - index[i - 1] != step) return false;
  return true;
}

static pz_node window_of(const pz_shape *x, int32_t axis, const int64_t *index, int64_t n) {
  pz_node crop = pz_node_new(PZ_OP_CROP);
  pz_attr_crop *w = &crop.attr.crop;
  for (int32_t d = 0; d < x->rank; d++) w->size[d] = x->dim[d];
  w->offset[axis] = index[0];
  w->size[axis] = n;
  w->step[axis] = n > 1 ? index[1] - index[0] : 1;
  return crop;
}

/* Entries of `axis` of input 0, seen as x, in the shape `to`; all of them are there. */
static pz_status give_entries(pz_onnx *c, const pz_shape *x, int32_t axis, const int64_t *index, int64_t n,
                              const pz_shape *to) {
  if (pz_onnx_is_known(c, 0)) return gather_constant(c, x, axis, index, n, to);
  if (n < 1 || n > INT32_MAX) return pz_onnx_refuse(c, "%lld indices", (long long)n);
  pz_tensor_id id;
  pz_node gather = pz_node_new(PZ_OP_GATHER);
  gather.attr.gather = (pz_attr_gather){axis, {(int32_t)n, index}};
  const bool window = is_window(index, n);
  if (window) gather = window_of(x, axis, index, n);
  PZ_TRY(pz_onnx_tensor_in(c, 0, &id));
  PZ_TRY(pz_onnx_reshape_to(c, x, &id));
  PZ_TRY(pz_onnx_apply(c, &gather, window ? "crop" : "gather", &id));
  PZ_TRY(pz_onnx_reshape_to(c, to, &id));
  return pz_onnx_give(c, 0, id, pz_onnx_type_in(c));
}

/* An index as a position: negative ones count from the end. */
static pz_status position(pz_onnx *c, int64_t index, int64_t size, int64_t *at) {
  if (index < -size || index >= size)
    return pz_onnx_fail(c, "its index %lld is not one of %lld entries", (long long)index, (long long)size);
  *at = index < 0 ? index + size : index;
  return PZ_OK;
}

static pz_status read_index(pz_onnx *c, const pz_onnx_constant **index, int64_t **positions) {
  PZ_TRY(pz_onnx_constant_in(c, 1, index));
  if (!(*index)->ints) return pz_onnx_fail(c, "its indices must be integers");
  *positions = PZ_NEW(c->arena, int64_t, (*index)->elements);
  return *positions ? PZ_OK : pz_onnx_no_memory(c);
}

static void append(pz_shape *to, const pz_shape *from, int32_t begin, int32_t end) {
  for (int32_t d = begin; d < end; d++) to->dim[to->rank++] = from->dim[d];
}

/* ---- computed indices ---- */

/* Whether indices are what a node computes. Of those of a node that is refused nothing is known. */
static bool is_computed(pz_onnx *c) {
  c->guessed |= pz_onnx_in(c, 1)->state == PZ_ONNX_REFUSED;
  return !pz_onnx_is_known(c, 1) && pz_onnx_in(c, 1)->state == PZ_ONNX_READY;
}

/* Input 1, whole numbers that count rows: those that are left of NonMaxSuppression's become -1, which is no row. */
static pz_status computed_index(pz_onnx *c, pz_tensor_id *id) {
  PZ_TRY(pz_onnx_tensor_in(c, 1, id));
  return pz_onnx_fill_rows(c, pz_onnx_in(c, 1), id);
}

static pz_status check_integers(pz_onnx *c) {
  return pz_onnx_is_floating(pz_onnx_in(c, 1)->type) ? pz_onnx_fail(c, "its indices must be integers")
                                                     : PZ_OK;
}

/* Rows of input 0, seen as x [R, ...], by whole numbers that all are rows. */
static pz_status give_rows(pz_onnx *c, const pz_shape *x, pz_tensor_id index, const pz_shape *to) {
  const pz_onnx_type type = pz_onnx_type_in(c);
  pz_node node = pz_node_new(PZ_OP_GATHER_ROWS);
  pz_tensor_id in[2] = {PZ_NONE, index}, out;
  if (pz_onnx_in(c, 1)->rows && pz_onnx_range_of(type).low > -1)
    return pz_onnx_refuse(c, "computed indices into values of type %s", pz_onnx_type_name(type));
  node.attr.gather_rows.fill = -1;
  PZ_TRY(pz_onnx_tensor_in(c, 0, &in[0]));
  PZ_TRY(pz_onnx_reshape_to(c, x, &in[0]));
  PZ_TRY(pz_onnx_add(c, &node, "rows", 2, in, &out));
  PZ_TRY(pz_onnx_reshape_to(c, to, &out));
  return pz_onnx_give_in(c, 0, out, type, pz_onnx_range_in(c, 0));
}

/* Nothing but the entries of dimension d can be asked for. */
static pz_status check_range(pz_onnx *c, pz_onnx_range r, int64_t size) {
  if (r.low >= 0 && r.high <= (double)size - 1) return PZ_OK;
  return pz_onnx_refuse(c, "computed indices that may be %g to %g, of %lld entries", r.low, r.high,
                        (long long)size);
}

/* Dimensions before the axis have one entry. */
static pz_status gather_computed(pz_onnx *c) {
  const pz_shape x = *pz_onnx_in_shape(c, 0), index = *pz_onnx_in_shape(c, 1);
  pz_shape seen = {0}, to = {0};
  pz_tensor_id id;
  int32_t axis;
  PZ_TRY(check_integers(c));
  PZ_TRY(pz_onnx_attr_axis(c, 0, x.rank, &axis));
  for (int32_t d = 0; d < axis; d++)
    if (x.dim[d] != 1) return pz_onnx_refuse(c, "computed indices along axis %d", (int)axis);
  if (x.rank - 1 + index.rank > PZ_MAX_RANK)
    return pz_onnx_refuse(c, "%d dimensions", (int)(x.rank - 1 + index.rank));
  PZ_TRY(check_range(c, pz_onnx_range_in(c, 1), x.dim[axis]));
  PZ_TRY(computed_index(c, &id));
  append(&seen, &x, axis, x.rank);
  append(&to, &x, 0, axis);
  append(&to, &index, 0, index.rank);
  append(&to, &x, axis + 1, x.rank);
  return give_rows(c, &seen, id, &to);
}

pz_status pz_onnx_op_gather(pz_onnx *c) {
  if (is_computed(c)) return gather_computed(c);
  const pz_onnx_constant *index = NULL;
  pz_shape to = {0};
  int32_t axis;
  int64_t *positions;
  PZ_TRY(read_index(c, &index, &positions));
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  PZ_TRY(pz_onnx_attr_axis(c, 0, x.rank, &axis));
  if (x.rank - 1 + index->shape.rank > PZ_MAX_RANK)
    return pz_onnx_refuse(c, "%d dimensions", (int)(x.rank - 1 + index->shape.rank));
  for (int64_t i = 0; i < index->elements; i++)
    PZ_TRY(position(c, index->ints[i], x.dim[axis], &positions[i]));
  append(&to, &x, 0, axis);
  append(&to, &index->shape, 0, index->shape.rank);
  append(&to, &x, axis + 1, x.rank);
  return give_entries(c, &x, axis, positions, index->elements, &to);
}

/* ---- GatherND ---- */

/* x with its first `depth` dimensions joined, and the result's shape. */
static pz_status nd_shapes(pz_onnx *c, const pz_shape *index, int64_t batch, pz_shape *joined, pz_shape *to) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  const int64_t tuple = index->rank ? index->dim[index->rank - 1] : 0, depth = batch + tuple;
  if (x.rank < 1 || tuple < 1 || batch < 0 || batch >= index->rank || depth > x.rank)
    return pz_onnx_fail(c, "its indices do not fit its input");
  for (int32_t d = 0; d < batch; d++)
    if (x.dim[d] != index->dim[d]) return pz_onnx_fail(c, "its batch dimensions differ");
  if (index->rank - 1 + x.rank - depth > PZ_MAX_RANK)
    return pz_onnx_refuse(c, "%d dimensions", (int)(index->rank - 1 + x.rank - depth));
  *joined = (pz_shape){1, {1}};
  *to = (pz_shape){0};
  for (int32_t d = 0; d < depth; d++)
    if (!pz_mul_i64(joined->dim[0], x.dim[d], &joined->dim[0]) || joined->dim[0] > PZ_MAX_DIM)
      return pz_onnx_refuse(c, "indices over more than 2^31 entries");
  append(joined, &x, (int32_t)depth, x.rank);
  append(to, index, 0, index->rank - 1);
  append(to, &x, (int32_t)depth, x.rank);
  return PZ_OK;
}

/* Of tuple i: its place in the batch, then its numbers, one digit for each dimension of x. */
static pz_status join(pz_onnx *c, const pz_onnx_constant *index, int32_t batch, int64_t i, int64_t *at) {
  const pz_shape *x = pz_onnx_in_shape(c, 0), *s = &index->shape;
  const int32_t tuple = (int32_t)s->dim[s->rank - 1];
  int64_t each = 1, digit = 0;
  for (int32_t d = batch; d < s->rank - 1; d++) each *= s->dim[d];
  *at = i / each;
  for (int32_t d = 0; d < tuple; d++) {
    PZ_TRY(position(c, index->ints[i * tuple + d], x->dim[batch + d], &digit));
    *at = *at * x->dim[batch + d] + digit;
  }
  return PZ_OK;
}

/* Tuples as one number each, the sum of each entry times the entries that it steps over; input 0 joined as they say. */
static pz_status join_computed(pz_onnx *c, const pz_shape *index, pz_tensor_id *id) {
  const pz_shape *x = pz_onnx_in_shape(c, 0);
  const int32_t tuple = (int32_t)index->dim[index->rank - 1];
  pz_shape line = {.rank = index->rank}, less = *index;
  float step[PZ_MAX_RANK];
  pz_node sum = pz_node_new(PZ_OP_REDUCE);
  pz_tensor_id both[2];
  int64_t each = 1;
  for (int32_t d = tuple - 1; d >= 0; each *= x->dim[d--]) step[d] = (float)each;
  if ((double)each > PZ_ONNX_EXACT) return pz_onnx_refuse(c, "computed indices over more than 2^24 entries");
  for (int32_t d = 0; d < index->rank; d++) line.dim[d] = d == index->rank - 1 ? tuple : 1;
  PZ_TRY(computed_index(c, &both[0]));
  PZ_TRY(pz_onnx_add_constant(c, "steps", &line, step, &both[1]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_PROD, NULL, 2, both, id));
  sum.attr.reduce.kind = PZ_REDUCE_SUM;
  sum.attr.reduce.axis[index->rank - 1] = true;
  PZ_TRY(pz_onnx_apply(c, &sum, "joined", id));
  less.rank--;
  return pz_onnx_reshape_to(c, &less, id);
}

static pz_status gather_nd_computed(pz_onnx *c, int64_t batch) {
  const pz_shape index = *pz_onnx_in_shape(c, 1);
  pz_shape joined, to;
  pz_tensor_id id;
  PZ_TRY(check_integers(c));
  if (batch) return pz_onnx_refuse(c, "batch_dims and computed indices");
  PZ_TRY(nd_shapes(c, &index, 0, &joined, &to));
  for (int32_t d = 0; d < index.dim[index.rank - 1]; d++) {
    pz_onnx_range range = pz_onnx_range_in(c, 1);
    if (index.rank == 2) pz_onnx_range_of_entry(c, pz_onnx_in(c, 1)->tensor, d, &range);
    PZ_TRY(check_range(c, range, pz_onnx_in_shape(c, 0)->dim[d]));
  }
  PZ_TRY(join_computed(c, &index, &id));
  return give_rows(c, &joined, id, &to);
}

pz_status pz_onnx_op_gather_nd(pz_onnx *c) {
  const pz_onnx_constant *index = NULL;
  pz_shape joined, to;
  int64_t batch, *positions;
  PZ_TRY(pz_onnx_attr_int(c, "batch_dims", 0, &batch));
  if (is_computed(c)) return gather_nd_computed(c, batch);
  PZ_TRY(read_index(c, &index, &positions));
  PZ_TRY(nd_shapes(c, &index->shape, batch, &joined, &to));
  const int64_t n = index->elements / index->shape.dim[index->shape.rank - 1];
  for (int64_t i = 0; i < n; i++) PZ_TRY(join(c, index, (int32_t)batch, i, &positions[i]));
  return give_entries(c, &joined, 0, positions, n, &to);
}
