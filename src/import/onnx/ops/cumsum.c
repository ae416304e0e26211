/* cumsum.c: CumSum. Of constant integers it is computed here, modulo 2^bits as the type has it. */
#include "import/onnx/ops.h"

/* The axis is an input. */
static pz_status read_axis(pz_onnx *c, int32_t *axis) {
  const int64_t *ints = NULL;
  int32_t count = 0;
  PZ_TRY(pz_onnx_ints_in(c, 1, &ints, &count));
  if (count != 1) return pz_onnx_fail(c, "its input 1 must be a single axis");
  return pz_onnx_axis(c, ints[0], pz_onnx_in_shape(c, 0)->rank, axis);
}

static void sum_line(const pz_attr_cumsum *a, const int64_t *x, pz_onnx_space *y, int64_t at, int64_t n,
                     int64_t step) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t k = at + (a->reverse ? n - 1 - i : i) * step;
    const uint64_t with = sum + (uint64_t)x[k];
    y->ints[k] = pz_onnx_wrap(y->constant->type, (int64_t)(a->exclusive ? sum : with));
    sum = with;
  }
}

static pz_status sum_integers(pz_onnx *c, const pz_attr_cumsum *a) {
  const pz_onnx_constant *k = NULL;
  pz_onnx_space space;
  int64_t inner = 1;
  PZ_TRY(pz_onnx_constant_in(c, 0, &k));
  PZ_TRY(pz_onnx_new_constant(c, k->type, &k->shape, &space));
  for (int32_t d = a->axis + 1; d < k->shape.rank; d++) inner *= k->shape.dim[d];
  const int64_t n = k->shape.dim[a->axis], lines = n ? k->elements / n : 0;
  for (int64_t i = 0; i < lines; i++)
    sum_line(a, k->ints, &space, i / inner * n * inner + i % inner, n, inner);
  return pz_onnx_give_constant(c, 0, space.constant);
}

pz_status pz_onnx_op_cum_sum(pz_onnx *c) {
  pz_node node = pz_node_new(PZ_OP_CUMSUM);
  pz_attr_cumsum *a = &node.attr.cumsum;
  pz_tensor_id id;
  PZ_TRY(pz_onnx_attr_flag(c, "exclusive", false, &a->exclusive));
  PZ_TRY(pz_onnx_attr_flag(c, "reverse", false, &a->reverse));
  PZ_TRY(read_axis(c, &a->axis));
  const pz_onnx_type type = pz_onnx_type_in(c);
  if (pz_onnx_is_known(c, 0) && !pz_onnx_is_floating(type)) return sum_integers(c, a);
  PZ_TRY(pz_onnx_tensor_in(c, 0, &id));
  PZ_TRY(pz_onnx_apply(c, &node, "cumsum", &id));
  if (pz_onnx_is_floating(type)) return pz_onnx_give(c, 0, id, type);
  const double n = (double)pz_onnx_in_shape(c, 0)->dim[a->axis];
  const pz_onnx_range each = pz_onnx_range_in(c, 0);
  return pz_onnx_give_whole(c, id, (pz_onnx_range){n * fmin(each.low, 0), n * fmax(each.high, 0)}, type);
}
