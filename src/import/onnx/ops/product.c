/* product.c: matrix products with a constant right side: Gemm and MatMul. */
#include "import/onnx/ops.h"

/* x [..., K] times a constant matrix, [K, N] or, `rows`, [N, K]; bias may be PZ_NONE. */
static pz_status multiply(pz_onnx *c, pz_tensor_id weight, bool rows, pz_tensor_id bias, pz_tensor_id *x) {
  pz_node node = pz_node_new(PZ_OP_INNER_PRODUCT);
  node.attr.inner_product.axis = pz_onnx_shape(c, *x)->rank - 1;
  node.attr.inner_product.transpose = !rows;
  return pz_onnx_add(c, &node, "product", 3, (pz_tensor_id[]){*x, weight, bias}, x);
}

/* Input i times a factor, in a shape of as many elements; NULL: its own. */
static pz_status scaled(pz_onnx *c, int32_t i, double factor, const pz_shape *shape, const char *part,
                        pz_tensor_id *id) {
  const pz_onnx_constant *k = NULL;
  if (factor == 1 && (!shape || pz_shape_equal(shape, pz_onnx_in_shape(c, i))))
    return pz_onnx_tensor_in(c, i, id);
  PZ_TRY(pz_onnx_floats_in(c, i, &k));
  if (!k->elements) return pz_onnx_fail(c, "its input %d is empty", (int)i);
  PZ_TRY(pz_onnx_add_constant(c, part, shape ? shape : &k->shape, k->floats, id));
  float *data = pz_graph_constant_data(c->graph, *id);
  for (int64_t n = 0; n < k->elements && factor != 1; n++) data[n] *= (float)factor;
  return PZ_OK;
}

/* A bias for each column: constant, one value or N of them. */
static pz_status column_bias(pz_onnx *c, double beta, int64_t columns, pz_tensor_id *id) {
  const pz_onnx_constant *k = NULL;
  const pz_shape line = {1, {columns}};
  PZ_TRY(pz_onnx_floats_in(c, 2, &k));
  PZ_TRY(pz_onnx_add_constant(c, "bias", &line, NULL, id));
  float *data = pz_graph_constant_data(c->graph, *id);
  for (int64_t i = 0; i < columns; i++) data[i] = (float)(beta * (double)k->floats[k->elements == 1 ? 0 : i]);
  return PZ_OK;
}

static pz_status add_bias(pz_onnx *c, double beta, pz_tensor_id *x) {
  pz_tensor_id both[2] = {*x, PZ_NONE};
  const float coeff[2] = {1, (float)beta};
  PZ_TRY(pz_onnx_tensor_in(c, 2, &both[1]));
  return pz_onnx_eltwise(c, PZ_ELT_SUM, beta == 1 ? NULL : coeff, 2, both, x);
}

pz_status pz_onnx_op_gemm(pz_onnx *c) {
  float alpha, beta;
  bool turn_a, turn_b;
  pz_tensor_id x, weight, bias = PZ_NONE;
  PZ_TRY(pz_onnx_attr_float(c, "alpha", 1, &alpha));
  PZ_TRY(pz_onnx_attr_float(c, "beta", 1, &beta));
  PZ_TRY(pz_onnx_attr_flag(c, "transA", false, &turn_a));
  PZ_TRY(pz_onnx_attr_flag(c, "transB", false, &turn_b));
  if (!pz_onnx_is_known(c, 1)) return pz_onnx_refuse(c, "a computed right side");
  const pz_shape a = *pz_onnx_in_shape(c, 0), b = *pz_onnx_in_shape(c, 1);
  if (a.rank != 2 || b.rank != 2) return pz_onnx_fail(c, "its inputs must be matrices");
  const int64_t columns = b.dim[turn_b ? 0 : 1];
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  PZ_TRY(scaled(c, 1, (double)alpha, NULL, "weight", &weight));
  if (turn_a) {
    pz_node node = pz_node_new(PZ_OP_PERMUTE);
    node.attr.permute.order[0] = 1;
    node.attr.permute.order[1] = 0;
    PZ_TRY(pz_onnx_apply(c, &node, "transpose", &x));
  }
  const pz_shape *s = pz_onnx_has(c, 2) && beta != 0 ? pz_onnx_in_shape(c, 2) : NULL;
  const int64_t n = s ? pz_onnx_elements(s) : 0;
  const bool column = s && pz_onnx_is_known(c, 2) && s->rank <= 2 &&
                      (n == 1 || (n == columns && s->dim[s->rank - 1] == columns));
  if (column) PZ_TRY(column_bias(c, (double)beta, columns, &bias));
  PZ_TRY(multiply(c, weight, turn_b, bias, &x));
  if (s && !column) PZ_TRY(add_bias(c, (double)beta, &x));
  return pz_onnx_give(c, 0, x, pz_onnx_type_in(c));
}

/* ---- several matrices ---- */

#define MOST_MATRICES 256

/* The product of matrix `left` of x [A, M, K] and matrix `right` of the constant. */
static pz_status multiply_one(pz_onnx *c, const pz_onnx_constant *k, const pz_shape *matrix, int64_t left,
                              int64_t right, pz_tensor_id *x) {
  const pz_shape shape = *pz_onnx_shape(c, *x);
  pz_node crop = pz_node_new(PZ_OP_CROP);
  pz_tensor_id weight;
  crop.attr.crop.offset[0] = left;
  for (int32_t d = 0; d < 3; d++) crop.attr.crop.size[d] = d ? shape.dim[d] : 1;
  if (shape.dim[0] > 1) PZ_TRY(pz_onnx_apply(c, &crop, "matrix", x));
  PZ_TRY(pz_onnx_add_constant(c, "weight", matrix, k->floats + right * matrix->dim[0] * matrix->dim[1],
                              &weight));
  return multiply(c, weight, false, PZ_NONE, x);
}

/* All but the last two dimensions. */
static pz_shape batch_of(const pz_shape *s) {
  pz_shape batch = *s;
  batch.rank = s->rank > 2 ? s->rank - 2 : 0;
  return batch;
}

/* Each product by itself, one behind the other. */
static pz_status multiply_many(pz_onnx *c, const pz_shape *matrix) {
  const pz_shape a = *pz_onnx_in_shape(c, 0), b = *pz_onnx_in_shape(c, 1), of_a = batch_of(&a),
                 of_b = batch_of(&b);
  const pz_onnx_constant *k = NULL;
  pz_shape batch, out,
      stacked = {3, {pz_onnx_elements(&of_a), a.rank > 1 ? a.dim[a.rank - 2] : 1, a.dim[a.rank - 1]}};
  pz_tensor_id x, parts[MOST_MATRICES];
  pz_node concat = pz_node_new(PZ_OP_CONCAT);
  PZ_TRY(pz_onnx_broadcast(c, (const pz_shape *[]){&of_a, &of_b}, 2, &batch));
  const int64_t n = pz_onnx_elements(&batch);
  if (n > MOST_MATRICES) return pz_onnx_refuse(c, "%lld products of matrices", (long long)n);
  PZ_TRY(pz_onnx_floats_in(c, 1, &k));
  if (!k->elements) return pz_onnx_fail(c, "its input 1 is empty");
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  PZ_TRY(pz_onnx_reshape_to(c, &stacked, &x));
  for (int64_t i = 0; i < n; i++) {
    parts[i] = x;
    PZ_TRY(multiply_one(c, k, matrix, pz_onnx_source(&batch, &of_a, i), pz_onnx_source(&batch, &of_b, i),
                        &parts[i]));
  }
  concat.attr.concat.axis = 0;
  PZ_TRY(pz_onnx_add(c, &concat, "concat", (int32_t)n, parts, &x));
  out = batch;
  if (a.rank > 1) out.dim[out.rank++] = stacked.dim[1];
  out.dim[out.rank++] = matrix->dim[1];
  PZ_TRY(pz_onnx_reshape_to(c, &out, &x));
  return pz_onnx_give(c, 0, x, pz_onnx_type_in(c));
}

/* A right side of more than two dimensions has 1s in front; those may raise the result's rank. Vectors get a dimension of
 * 1, which the result has not. */
pz_status pz_onnx_op_mat_mul(pz_onnx *c) {
  if (!pz_onnx_is_known(c, 1)) return pz_onnx_refuse(c, "a computed right side");
  const pz_shape a = *pz_onnx_in_shape(c, 0), b = *pz_onnx_in_shape(c, 1);
  pz_tensor_id x, weight;
  pz_shape matrix = {2, {1, 1}}, left = a, out = {0};
  if (a.rank < 1 || b.rank < 1) return pz_onnx_fail(c, "its inputs must have a dimension");
  matrix.dim[0] = b.dim[b.rank > 1 ? b.rank - 2 : 0];
  if (b.rank > 1) matrix.dim[1] = b.dim[b.rank - 1];
  for (int32_t d = 0; d < b.rank - 2; d++)
    if (b.dim[d] != 1) return multiply_many(c, &matrix);
  if (a.rank == 1) left = pz_onnx_widen(&a, 2);
  for (int32_t d = a.rank; d < b.rank && a.rank > 1; d++) out.dim[out.rank++] = 1;
  for (int32_t d = 0; d < a.rank - 1; d++) out.dim[out.rank++] = a.dim[d];
  if (b.rank > 1) out.dim[out.rank++] = matrix.dim[1];
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  PZ_TRY(pz_onnx_reshape_to(c, &left, &x));
  PZ_TRY(scaled(c, 1, 1, &matrix, "weight", &weight));
  PZ_TRY(multiply(c, weight, false, PZ_NONE, &x));
  PZ_TRY(pz_onnx_reshape_to(c, &out, &x));
  return pz_onnx_give(c, 0, x, pz_onnx_type_in(c));
}
