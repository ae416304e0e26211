/* make.c: constants out of nothing, or out of shapes: Constant, ConstantOfShape, Shape, Size, Range. */
#include "import/onnx/ops.h"

/* ---- Constant ---- */

/* A tensor in an attribute becomes a value like an initialiser. */
static pz_status give_tensor(pz_onnx *c, const pz_onnx_tensor *t) {
  if (!pz_onnx_wants(c, 0)) return PZ_OK;
  if (!pz_onnx_type_get(t->type))
    return pz_onnx_refuse(c, "a tensor of ONNX's data type %lld", (long long)t->type);
  pz_onnx_value *v = &c->values[pz_onnx_find_value(c, c->node->out[0])];
  v->state = PZ_ONNX_READY;
  v->known = true;
  v->stored = t;
  v->type = (pz_onnx_type)t->type;
  return PZ_OK;
}

static pz_status give_floats(pz_onnx *c, const pz_shape *shape, const float *floats) {
  pz_onnx_space space;
  PZ_TRY(pz_onnx_new_constant(c, PZ_ONNX_FLOAT, shape, &space));
  if (space.constant->elements)
    memcpy(space.floats, floats, (size_t)space.constant->elements * sizeof *floats);
  return pz_onnx_give_constant(c, 0, space.constant);
}

pz_status pz_onnx_op_constant(pz_onnx *c) {
  static const pz_shape scalar = {0};
  const pz_onnx_attribute *a;
  if ((a = pz_onnx_attr(c, "value")) && a->tensor) return give_tensor(c, a->tensor);
  if ((a = pz_onnx_attr(c, "value_float"))) return give_floats(c, &scalar, &a->f);
  if ((a = pz_onnx_attr(c, "value_int"))) return pz_onnx_give_ints(c, &scalar, &a->i);
  if ((a = pz_onnx_attr(c, "value_floats"))) return give_floats(c, &(pz_shape){1, {a->n_floats}}, a->floats);
  if ((a = pz_onnx_attr(c, "value_ints"))) return pz_onnx_give_ints(c, &(pz_shape){1, {a->n_ints}}, a->ints);
  return pz_onnx_refuse(c, "a value that is no dense tensor of numbers");
}

/* ---- shapes ---- */

static int64_t clamp(int64_t v, int32_t rank) {
  if (v < 0) v += rank;
  return v < 0 ? 0 : v > rank ? rank : v;
}

pz_status pz_onnx_op_shape(pz_onnx *c) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  int64_t start, end;
  PZ_TRY(pz_onnx_attr_int(c, "start", 0, &start));
  PZ_TRY(pz_onnx_attr_int(c, "end", x.rank, &end));
  start = clamp(start, x.rank);
  end = clamp(end, x.rank);
  const pz_shape list = {1, {end > start ? end - start : 0}};
  return pz_onnx_give_ints(c, &list, x.dim + start);
}

pz_status pz_onnx_op_size(pz_onnx *c) {
  static const pz_shape scalar = {0};
  const int64_t elements = pz_onnx_elements(pz_onnx_in_shape(c, 0));
  return pz_onnx_give_ints(c, &scalar, &elements);
}

static const pz_onnx_tensor *zero(pz_onnx *c) {
  static const uint8_t bytes[sizeof(float)];
  pz_onnx_tensor *t = PZ_NEW(c->arena, pz_onnx_tensor, 1);
  if (t) *t = (pz_onnx_tensor){.name = "", .location = "", .type = PZ_ONNX_FLOAT, .elements = 1};
  if (t) t->raw = bytes;
  if (t) t->raw_size = sizeof bytes;
  return t;
}

/* Like an initialiser it takes no room before its values are asked for. */
pz_status pz_onnx_op_constant_of_shape(pz_onnx *c) {
  const pz_onnx_attribute *a = pz_onnx_attr(c, "value");
  const int64_t *sizes;
  int32_t count;
  PZ_TRY(pz_onnx_ints_in(c, 0, &sizes, &count));
  if (a &&
      (!a->tensor || a->tensor->elements != 1 || a->tensor->external || !pz_onnx_type_get(a->tensor->type)))
    return pz_onnx_fail(c, "its attribute 'value' must be one number");
  if (count > PZ_MAX_RANK) return pz_onnx_refuse(c, "%d dimensions", (int)count);
  pz_onnx_tensor *t = PZ_NEW(c->arena, pz_onnx_tensor, 1);
  if (!t) return pz_onnx_no_memory(c);
  *t = (pz_onnx_tensor){.name = "", .location = "", .fill = a ? a->tensor : zero(c)};
  if (!t->fill) return pz_onnx_no_memory(c);
  t->type = t->fill->type;
  for (int32_t d = 0; d < count; d++) {
    if (sizes[d] < 0 || sizes[d] > PZ_MAX_DIM) return pz_onnx_fail(c, "a size of %lld", (long long)sizes[d]);
    t->shape.dim[t->shape.rank++] = sizes[d];
  }
  PZ_TRY(pz_onnx_check_shape(c, c->node_name, &t->shape));
  t->elements = pz_onnx_elements(&t->shape);
  return give_tensor(c, t);
}

#define EXACT 0x1p53 /* integers up to here are exact in doubles */

pz_status pz_onnx_op_range(pz_onnx *c) {
  double start, limit, delta;
  pz_onnx_space space;
  PZ_TRY(pz_onnx_number_in(c, 0, &start));
  PZ_TRY(pz_onnx_number_in(c, 1, &limit));
  PZ_TRY(pz_onnx_number_in(c, 2, &delta));
  const double count = delta != 0 ? ceil((limit - start) / delta) : -1;
  const double most = fmax(fabs(start), fabs(limit));
  if (most > EXACT && !pz_onnx_is_floating(pz_onnx_type_in(c)))
    return pz_onnx_refuse(c, "constant integers beyond 2^53");
  if (!(fabs(count) <= (double)PZ_MAX_DIM) || delta == 0)
    return pz_onnx_fail(c, "from %g to %g in steps of %g", start, limit, delta);
  const pz_shape shape = {1, {count > 0 ? (int64_t)count : 0}};
  PZ_TRY(pz_onnx_new_constant(c, pz_onnx_type_in(c), &shape, &space));
  for (int64_t i = 0; i < space.constant->elements; i++) {
    const double value = start + (double)i * delta;
    pz_onnx_put(&space, i, value);
  }
  return pz_onnx_give_constant(c, 0, space.constant);
}

/* ---- NonZero ---- */

/* The positions of what is not zero, a column for each. */
pz_status pz_onnx_op_non_zero(pz_onnx *c) {
  const pz_onnx_constant *k = NULL;
  pz_onnx_space space;
  int64_t count = 0, column = 0;
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  for (int64_t i = 0; i < k->elements; i++) count += pz_onnx_number(k, i) != 0;
  const int32_t rank = k->shape.rank ? k->shape.rank : 1;
  const pz_shape shape = {2, {rank, count}};
  PZ_TRY(pz_onnx_new_constant(c, PZ_ONNX_INT64, &shape, &space));
  for (int64_t i = 0; i < k->elements; i++) {
    if (pz_onnx_number(k, i) == 0) continue;
    int64_t rest = i;
    for (int32_t d = k->shape.rank - 1; d >= 0; d--) {
      space.ints[d * count + column] = rest % k->shape.dim[d];
      rest /= k->shape.dim[d];
    }
    column++;
  }
  return pz_onnx_give_constant(c, 0, space.constant);
}
