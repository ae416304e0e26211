/* quantize.c: Cast, QuantizeLinear and DequantizeLinear. The graph computes with floats: quantised values are whole numbers
 * in floats, within the range of their type. */
#include "import/onnx/ops.h"

/* ---- Cast ---- */

/* Floats stay what they are, and whole numbers become floats; what would have to cut off a fraction is refused. */
static pz_status cast(pz_onnx *c, int64_t to) {
  const pz_onnx_type from = pz_onnx_type_in(c);
  pz_node node = pz_node_new(PZ_OP_IDENTITY);
  pz_tensor_id x;
  if (!pz_onnx_type_get(to) || (!pz_onnx_is_floating((pz_onnx_type)to) && to != (int64_t)from))
    return pz_onnx_refuse(c, "computed values cast from %s to %s", pz_onnx_type_name(from),
                          pz_onnx_type_name((pz_onnx_type)to));
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  PZ_TRY(pz_onnx_apply(c, &node, "cast", &x));
  return pz_onnx_give(c, 0, x, (pz_onnx_type)to);
}

pz_status pz_onnx_op_cast(pz_onnx *c) {
  int64_t to;
  PZ_TRY(pz_onnx_attr_int(c, "to", 0, &to));
  pz_onnx_attr(c, "saturate");
  pz_onnx_attr(c, "round_mode");
  return cast(c, to);
}

pz_status pz_onnx_op_cast_like(pz_onnx *c) {
  pz_onnx_attr(c, "saturate");
  pz_onnx_attr(c, "round_mode");
  return cast(c, pz_onnx_in(c, 1)->type);
}

/* ---- quantisation ---- */

typedef struct quantisation {
  const pz_onnx_constant *scale, *zero; /* zero may be NULL: 0 */
  int32_t axis;                         /* of x; scale has one value, or one for each entry of it */
} quantisation;

static pz_status read_parameters(pz_onnx *c, quantisation *q) {
  const pz_shape *x = pz_onnx_in_shape(c, 0);
  int64_t block;
  q->axis = 0;
  q->zero = NULL;
  PZ_TRY(pz_onnx_constant_in(c, 1, &q->scale));
  if (pz_onnx_has(c, 2)) PZ_TRY(pz_onnx_constant_in(c, 2, &q->zero));
  PZ_TRY(pz_onnx_attr_int(c, "block_size", 0, &block));
  const bool one = q->scale->elements == 1;
  if (block && !one) return pz_onnx_refuse(c, "block_size");
  if (!one) PZ_TRY(pz_onnx_attr_axis(c, 1, x->rank, &q->axis));
  else pz_onnx_attr(c, "axis");
  if (!q->scale->floats) return pz_onnx_refuse(c, "scales of type %s", pz_onnx_type_name(q->scale->type));
  if (!one && (q->scale->shape.rank != 1 || q->scale->elements != x->dim[q->axis]))
    return pz_onnx_fail(c, "its scales do not fit its input");
  if (!q->zero || q->zero->elements == q->scale->elements) return PZ_OK;
  return pz_onnx_fail(c, "has %lld scales, but %lld zero points", (long long)q->scale->elements,
                      (long long)q->zero->elements);
}

/* Scales or zero points (times a factor) as a constant that broadcasts with x. */
static pz_status operand(pz_onnx *c, const quantisation *q, const pz_onnx_constant *k, const char *part,
                         pz_tensor_id *id) {
  const pz_shape *x = pz_onnx_in_shape(c, 0);
  pz_shape shape = {.rank = x->rank};
  for (int32_t d = 0; d < x->rank; d++) shape.dim[d] = d == q->axis ? k->elements : 1;
  PZ_TRY(pz_onnx_add_constant(c, part, &shape, NULL, id));
  for (int64_t i = 0; i < k->elements; i++)
    pz_graph_constant_data(c->graph, *id)[i] = (float)pz_onnx_number(k, i);
  return PZ_OK;
}

/* *x + factor * zero */
static pz_status shift(pz_onnx *c, const quantisation *q, float factor, pz_tensor_id *x) {
  const float coeff[2] = {1, factor};
  double zero = 0;
  if (!q->zero) return PZ_OK;
  if (pz_onnx_is_uniform(q->zero, &zero)) return pz_onnx_power(c, 1, (double)factor * zero, x);
  pz_tensor_id both[2] = {*x, PZ_NONE};
  PZ_TRY(operand(c, q, q->zero, "zero", &both[1]));
  return pz_onnx_eltwise(c, PZ_ELT_SUM, factor == 1 ? NULL : coeff, 2, both, x);
}

/* The range of the quantised type. */
static pz_status find_type(pz_onnx *c, const quantisation *q, pz_onnx_type *type, pz_activation *clip) {
  int64_t wanted, precision;
  PZ_TRY(pz_onnx_attr_int(c, "output_dtype", 0, &wanted));
  PZ_TRY(pz_onnx_attr_int(c, "precision", 0, &precision));
  pz_onnx_attr(c, "saturate");
  if (!wanted) wanted = q->zero ? q->zero->type : PZ_ONNX_UINT8;
  const pz_onnx_type_traits *traits = pz_onnx_type_get(wanted);
  if (!traits || traits->class == PZ_ONNX_FLOATING || traits->bits > 16)
    return pz_onnx_refuse(c, "a result of ONNX's data type %lld", (long long)wanted);
  const bool sign = traits->class == PZ_ONNX_SIGNED;
  const int64_t range = INT64_C(1) << traits->bits;
  *type = traits->type;
  *clip = (pz_activation){PZ_ACT_CLIP, sign ? -(float)(range / 2) : 0,
                          sign ? (float)(range / 2 - 1) : (float)(range - 1)};
  return PZ_OK;
}

/* round(x / scale) + zero, within the type's range. Divided, not multiplied by 1 / scale, which could round otherwise. */
pz_status pz_onnx_op_quantize_linear(pz_onnx *c) {
  quantisation q;
  pz_onnx_type type = PZ_ONNX_UNDEFINED;
  pz_activation clip;
  pz_tensor_id both[2], x;
  PZ_TRY(read_parameters(c, &q));
  PZ_TRY(find_type(c, &q, &type, &clip));
  PZ_TRY(pz_onnx_tensor_in(c, 0, &both[0]));
  PZ_TRY(operand(c, &q, q.scale, "scale", &both[1]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_DIV, NULL, 2, both, &x));
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_ROUND, 0, 0}, "round", &x));
  PZ_TRY(shift(c, &q, 1, &x));
  PZ_TRY(pz_onnx_activate(c, clip, "saturate", &x));
  return pz_onnx_give(c, 0, x, type);
}

/* (x - zero) * scale */
pz_status pz_onnx_op_dequantize_linear(pz_onnx *c) {
  quantisation q;
  double scale;
  pz_tensor_id both[2];
  PZ_TRY(read_parameters(c, &q));
  pz_onnx_attr(c, "output_dtype");
  PZ_TRY(pz_onnx_tensor_in(c, 0, &both[0]));
  PZ_TRY(shift(c, &q, -1, &both[0]));
  if (pz_onnx_is_uniform(q.scale, &scale)) PZ_TRY(pz_onnx_power(c, scale, 0, &both[0]));
  else {
    PZ_TRY(operand(c, &q, q.scale, "scale", &both[1]));
    PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_PROD, NULL, 2, both, &both[0]));
  }
  return pz_onnx_give(c, 0, both[0], q.scale->type);
}
