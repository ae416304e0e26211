/* one_hot.c: OneHot. Seen as [A, 1, B], the indices are compared with 0, 1, ..., depth - 1 along the dimension of 1. */
#include "import/onnx/ops.h"

/* The shape of the result, and the three dimensions that it is seen as: before, at, and behind the new axis. */
static pz_status read_shapes(pz_onnx *c, int64_t depth, pz_shape *to, pz_shape *seen) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  int64_t axis;
  PZ_TRY(pz_onnx_attr_int(c, "axis", -1, &axis));
  if (x.rank + 1 > PZ_MAX_RANK) return pz_onnx_refuse(c, "%d dimensions", (int)x.rank + 1);
  int32_t at = 0;
  PZ_TRY(pz_onnx_axis(c, axis, x.rank + 1, &at));
  *to = (pz_shape){.rank = x.rank + 1};
  *seen = (pz_shape){3, {1, depth, 1}};
  for (int32_t d = 0; d <= x.rank; d++) {
    to->dim[d] = d == at ? depth : x.dim[d > at ? d - 1 : d];
    if (d != at) seen->dim[d < at ? 0 : 2] *= to->dim[d];
  }
  return PZ_OK;
}

/* first, first + 1, ...: what the indices are compared with. */
static pz_status count(pz_onnx *c, const char *part, double first, int64_t depth, pz_tensor_id *id) {
  const pz_shape line = {3, {1, depth, 1}};
  PZ_TRY(pz_onnx_add_constant(c, part, &line, NULL, id));
  float *data = pz_graph_constant_data(c->graph, *id);
  for (int64_t i = 0; i < depth; i++) data[i] = (float)(first + (double)i);
  return PZ_OK;
}

/* 1 where x is the number of the entry, counted from the end where it is negative. */
static pz_status match(pz_onnx *c, pz_tensor_id x, int64_t depth, pz_tensor_id *hot) {
  pz_tensor_id both[2] = {x, PZ_NONE}, more[2] = {x, PZ_NONE};
  PZ_TRY(count(c, "entries", 0, depth, &both[1]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_EQUAL, NULL, 2, both, hot));
  if (pz_onnx_range_in(c, 0).low >= 0) return PZ_OK;
  PZ_TRY(count(c, "from_end", -(double)depth, depth, &more[1]));
  both[0] = *hot;
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_EQUAL, NULL, 2, more, &both[1]));
  return pz_onnx_eltwise(c, PZ_ELT_MAX, NULL, 2, both, hot);
}

static pz_status value(pz_onnx *c, const char *part, double number, pz_tensor_id *id) {
  static const pz_shape one = {3, {1, 1, 1}};
  const float data = (float)number;
  return pz_onnx_add_constant(c, part, &one, &data, id);
}

pz_status pz_onnx_op_one_hot(pz_onnx *c) {
  const pz_onnx_constant *values = NULL;
  double number;
  pz_shape to, seen;
  pz_tensor_id x, in[3], out;
  PZ_TRY(pz_onnx_number_in(c, 1, &number));
  PZ_TRY(pz_onnx_constant_in(c, 2, &values));
  const int64_t depth = pz_onnx_to_int(number);
  if (depth < 1 || depth > (int64_t)PZ_ONNX_EXACT)
    return pz_onnx_fail(c, "a depth of %lld", (long long)depth);
  if (values->elements != 2) return pz_onnx_fail(c, "its input 2 must be two values");
  if (!pz_onnx_is_known(c, 0) && pz_onnx_is_floating(pz_onnx_type_in(c)))
    return pz_onnx_refuse(c, "computed indices of type %s", pz_onnx_type_name(pz_onnx_type_in(c)));
  PZ_TRY(read_shapes(c, depth, &to, &seen));
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  PZ_TRY(pz_onnx_reshape_to(c, &(pz_shape){3, {seen.dim[0], 1, seen.dim[2]}}, &x));
  PZ_TRY(match(c, x, depth, &in[0]));
  PZ_TRY(value(c, "on", pz_onnx_number(values, 1), &in[1]));
  PZ_TRY(value(c, "off", pz_onnx_number(values, 0), &in[2]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_SELECT, NULL, 3, in, &out));
  PZ_TRY(pz_onnx_reshape_to(c, &to, &out));
  const double off = pz_onnx_number(values, 0), on = pz_onnx_number(values, 1);
  return pz_onnx_give_in(c, 0, out, values->type, (pz_onnx_range){fmin(off, on), fmax(off, on)});
}
