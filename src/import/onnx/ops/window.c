/* window.c: parts of values, and values from parts: Concat, Split, Slice. Each works on constants too. */
#include "import/onnx/ops.h"

/* ---- Concat ---- */

static pz_status concat_constants(pz_onnx *c, int32_t axis, const pz_shape *to) {
  pz_onnx_space space;
  const pz_onnx_constant *k = NULL;
  int64_t outer = 1, row = 1, begin = 0;
  PZ_TRY(pz_onnx_new_constant(c, pz_onnx_type_in(c), to, &space));
  for (int32_t d = 0; d < to->rank; d++) *(d < axis ? &outer : &row) *= to->dim[d];
  for (int32_t i = 0; i < c->node->n_in; i++) {
    PZ_TRY(pz_onnx_constant_in(c, i, &k));
    const int64_t part = outer ? k->elements / outer : 0;
    if (!pz_onnx_alike(k, space.constant)) return pz_onnx_fail(c, "its inputs differ in type");
    for (int64_t o = 0; o < outer; o++) pz_onnx_move(&space, o * row + begin, k, o * part, part);
    begin += part;
  }
  return pz_onnx_give_constant(c, 0, space.constant);
}

/* The shape of the result; empty inputs, which exporters leave in, add nothing whatever their shape. */
static pz_status concat_shape(pz_onnx *c, int32_t *axis, pz_shape *to) {
  bool first = true;
  if (!pz_onnx_has_attr(c, "axis")) return pz_onnx_fail(c, "its attribute 'axis' is missing");
  for (int32_t i = 0; i < c->node->n_in; i++) {
    if (!pz_onnx_has(c, i)) return pz_onnx_fail(c, "its input %d is missing", (int)i);
    const pz_shape *x = pz_onnx_in_shape(c, i);
    if (!pz_onnx_elements(x) && !(first && i == c->node->n_in - 1)) continue;
    if (first) {
      PZ_TRY(pz_onnx_attr_axis(c, 0, x->rank, axis));
      *to = *x;
    }
    bool fits = x->rank == to->rank;
    for (int32_t d = 0; d < x->rank && fits; d++) fits = d == *axis || x->dim[d] == to->dim[d];
    if (!fits) return pz_onnx_fail(c, "the shapes of its inputs differ outside of axis %d", (int)*axis);
    if (!first && !pz_add_i64(to->dim[*axis], x->dim[*axis], &to->dim[*axis]))
      return pz_onnx_fail(c, "its result is too large");
    first = false;
  }
  return PZ_OK;
}

pz_status pz_onnx_op_concat(pz_onnx *c) {
  pz_node node = pz_node_new(PZ_OP_CONCAT);
  pz_shape to;
  bool known = true;
  int32_t n = 0;
  PZ_TRY(concat_shape(c, &node.attr.concat.axis, &to));
  for (int32_t i = 0; i < c->node->n_in; i++) known &= pz_onnx_is_known(c, i);
  if (known) return concat_constants(c, node.attr.concat.axis, &to);
  pz_tensor_id *in = PZ_NEW(c->arena, pz_tensor_id, c->node->n_in), out;
  if (!in) return pz_onnx_no_memory(c);
  for (int32_t i = 0; i < c->node->n_in; i++)
    if (pz_onnx_elements(pz_onnx_in_shape(c, i)) > 0) PZ_TRY(pz_onnx_tensor_in(c, i, &in[n++]));
  PZ_TRY(pz_onnx_add(c, &node, "concat", n, in, &out));
  return pz_onnx_give(c, 0, out, pz_onnx_type_in(c));
}

/* ---- Split ---- */

/* Equal parts, of which the last may be smaller. */
static pz_status split_evenly(pz_onnx *c, int64_t size, int64_t *begin) {
  int64_t parts;
  PZ_TRY(pz_onnx_attr_int(c, "num_outputs", c->node->n_out, &parts));
  if (parts != c->node->n_out || (c->model.opset < 18 && size % parts))
    return pz_onnx_fail(c, "%lld parts for %d outputs of %lld entries", (long long)parts, (int)c->node->n_out,
                        (long long)size);
  const int64_t step = (size + parts - 1) / parts;
  for (int32_t i = 1; i <= parts; i++) begin[i] = begin[i - 1] + step < size ? begin[i - 1] + step : size;
  return PZ_OK;
}

static pz_status read_split(pz_onnx *c, int64_t size, int64_t *begin) {
  const int64_t *parts;
  int32_t count;
  PZ_TRY(pz_onnx_list(c, "split", 1, 13, &parts, &count));
  if (count < 0) return split_evenly(c, size, begin);
  if (count != c->node->n_out)
    return pz_onnx_fail(c, "has %d parts for %d outputs", (int)count, (int)c->node->n_out);
  for (int32_t i = 0; i < count; i++)
    if (parts[i] < 0 || !pz_add_i64(begin[i], parts[i], &begin[i + 1]))
      return pz_onnx_fail(c, "a part of %lld", (long long)parts[i]);
  if (begin[count] == size) return PZ_OK;
  return pz_onnx_fail(c, "its parts have %lld entries together, its input has %lld", (long long)begin[count],
                      (long long)size);
}

static pz_status split_constant(pz_onnx *c, int32_t axis, const int64_t *begin) {
  const pz_onnx_constant *k = NULL;
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  for (int32_t i = 0; i < c->node->n_out; i++) {
    pz_onnx_view view = pz_onnx_whole(&k->shape);
    view.shape.dim[axis] = begin[i + 1] - begin[i];
    view.offset = begin[i] * view.stride[axis];
    PZ_TRY(pz_onnx_give_view(c, i, k, &view));
  }
  return PZ_OK;
}

pz_status pz_onnx_op_split(pz_onnx *c) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  const int32_t n = c->node->n_out;
  int64_t *begin = PZ_NEW(c->arena, int64_t, n + 1);
  pz_tensor_id *out = PZ_NEW(c->arena, pz_tensor_id, n), in;
  pz_node node = pz_node_new(PZ_OP_SLICE);
  int32_t axis;
  if (!begin || !out) return pz_onnx_no_memory(c);
  if (n < 1) return pz_onnx_fail(c, "has no outputs");
  PZ_TRY(pz_onnx_attr_axis(c, 0, x.rank, &axis));
  PZ_TRY(read_split(c, x.dim[axis], begin));
  if (pz_onnx_is_known(c, 0)) return split_constant(c, axis, begin);
  PZ_TRY(pz_onnx_tensor_in(c, 0, &in));
  node.attr.slice.axis = axis;
  node.attr.slice.begin = begin;
  PZ_TRY(pz_onnx_add_many(c, &node, "split", in, n, out));
  for (int32_t i = 0; i < n; i++) PZ_TRY(pz_onnx_give(c, i, out[i], pz_onnx_type_in(c)));
  return PZ_OK;
}

/* ---- windows ---- */

/* Entries of each dimension: offset, offset + step, ..., `size` of them. */
static pz_status give_window(pz_onnx *c, const pz_attr_crop *w) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  pz_node crop = pz_node_new(PZ_OP_CROP), identity = pz_node_new(PZ_OP_IDENTITY);
  bool all = true;
  if (pz_onnx_is_known(c, 0)) {
    const pz_onnx_constant *k = NULL;
    pz_onnx_view view = pz_onnx_whole(&x);
    PZ_TRY(pz_onnx_constant_in(c, 0, &k));
    for (int32_t d = 0; d < x.rank; d++) {
      view.offset += w->offset[d] * view.stride[d];
      view.stride[d] *= w->step[d];
      view.shape.dim[d] = w->size[d];
    }
    return pz_onnx_give_view(c, 0, k, &view);
  }
  for (int32_t d = 0; d < x.rank; d++) {
    if (w->size[d] < 1) return pz_onnx_fail(c, "nothing of dimension %d is left", (int)d);
    all &= w->size[d] == x.dim[d] && w->step[d] == 1;
  }
  crop.attr.crop = *w;
  return pz_onnx_simple(c, all ? &identity : &crop);
}

static void whole_window(const pz_shape *x, pz_attr_crop *w) {
  *w = pz_node_new(PZ_OP_CROP).attr.crop;
  for (int32_t d = 0; d < x->rank; d++) w->size[d] = x->dim[d];
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }

/* The specification's rule: negative positions count from the end, then all are clamped to the dimension. */
static void cut(int64_t size, int64_t start, int64_t end, int64_t step, int32_t d, pz_attr_crop *w) {
  if (!size) return; /* of constants; the window is empty already */
  if (start < 0) start += size;
  if (end < 0) end += size;
  step = clamp(step, -PZ_MAX_DIM - 1, PZ_MAX_DIM + 1);
  start = step > 0 ? clamp(start, 0, size) : clamp(start, 0, size - 1);
  end = step > 0 ? clamp(end, 0, size) : clamp(end, -1, size - 1);
  const int64_t span = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
  w->offset[d] = start;
  w->size[d] = span > 0 ? (span + stride - 1) / stride : 0;
  w->step[d] = w->size[d] > 1 ? step : 1;
}

pz_status pz_onnx_op_slice(pz_onnx *c) {
  const int64_t *starts, *ends, *axes, *steps;
  int32_t n, n_ends, n_axes, n_steps;
  bool seen[PZ_MAX_RANK] = {0};
  pz_attr_crop w;
  PZ_TRY(pz_onnx_list(c, "starts", 1, 10, &starts, &n));
  PZ_TRY(pz_onnx_list(c, "ends", 2, 10, &ends, &n_ends));
  PZ_TRY(pz_onnx_list(c, "axes", 3, 10, &axes, &n_axes));
  PZ_TRY(pz_onnx_list(c, "steps", 4, 10, &steps, &n_steps));
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  if (n < 0 || n != n_ends || (n_axes >= 0 ? n != n_axes : n > x.rank) || (n_steps >= 0 && n != n_steps))
    return pz_onnx_fail(c, "its starts, ends, axes and steps do not fit each other");
  whole_window(&x, &w);
  for (int32_t i = 0; i < n; i++) {
    int32_t d;
    const int64_t step = n_steps >= 0 ? steps[i] : 1;
    PZ_TRY(pz_onnx_axis(c, n_axes >= 0 ? axes[i] : i, x.rank, &d));
    if (seen[d] || step == 0) return pz_onnx_fail(c, seen[d] ? "an axis is named twice" : "a step of 0");
    seen[d] = true;
    cut(x.dim[d], starts[i], ends[i], step, d, &w);
  }
  return give_window(c, &w);
}
