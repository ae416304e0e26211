/* quantize.c: QuantizeLinear and DequantizeLinear. The graph computes with floats: quantised values are whole numbers
 * in floats, within the range of their type. */
#include "import/onnx/ops.h"

typedef struct quantisation {
  const pz_onnx_constant *scale, *zero; /* zero may be NULL: 0 */
  pz_onnx_blocks blocks;
} quantisation;

static pz_status read_parameters(pz_onnx *c, quantisation *q) {
  q->zero = NULL;
  PZ_TRY(pz_onnx_constant_in(c, 1, &q->scale));
  if (pz_onnx_has(c, 2)) PZ_TRY(pz_onnx_constant_in(c, 2, &q->zero));
  return pz_onnx_find_blocks(c, pz_onnx_in_shape(c, 0), q->scale, q->zero, &q->blocks);
}

/* Scales or zero points as a constant that broadcasts with x. */
static pz_status operand(pz_onnx *c, const quantisation *q, const pz_onnx_constant *k, const char *part,
                         pz_tensor_id *id) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  pz_shape shape = {.rank = x.rank};
  for (int32_t d = 0; d < x.rank; d++) shape.dim[d] = q->blocks.view.stride[d] ? x.dim[d] : 1;
  PZ_TRY(pz_onnx_add_constant(c, part, &shape, NULL, id));
  float *data = pz_graph_constant_data(c->graph, *id);
  const int64_t n = pz_onnx_elements(&shape);
  for (int64_t i = 0; i < n; i++) data[i] = (float)pz_onnx_number(k, pz_onnx_block_of(&q->blocks, &shape, i));
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
  if (pz_onnx_all_known(c)) return pz_onnx_dequantize_constant(c);
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
