/* broadcast.c: NumPy's broadcasting. Shapes are aligned at their ends, sizes of 1 are repeated. */
#include "import/onnx/ops.h"

pz_shape pz_onnx_widen(const pz_shape *shape, int32_t rank) {
  pz_shape wide = {.rank = rank};
  const int32_t more = rank - shape->rank;
  for (int32_t i = 0; i < rank; i++) wide.dim[i] = i < more ? 1 : shape->dim[i - more];
  return wide;
}

pz_status pz_onnx_broadcast(pz_onnx *c, const pz_shape *const *shapes, int32_t n, pz_shape *out) {
  *out = (pz_shape){0};
  for (int32_t k = 0; k < n; k++)
    if (shapes[k]->rank > out->rank) out->rank = shapes[k]->rank;
  for (int32_t i = 0; i < out->rank; i++) out->dim[i] = 1;
  for (int32_t k = 0; k < n; k++) {
    const pz_shape wide = pz_onnx_widen(shapes[k], out->rank);
    for (int32_t i = 0; i < out->rank; i++) {
      char a[PZ_SHAPE_TEXT], b[PZ_SHAPE_TEXT];
      if (wide.dim[i] == 1 || wide.dim[i] == out->dim[i]) continue;
      if (out->dim[i] != 1)
        return pz_onnx_fail(c, "its inputs of %s and %s do not broadcast", pz_shape_text(shapes[0], a),
                            pz_shape_text(shapes[k], b));
      out->dim[i] = wide.dim[i];
    }
  }
  return PZ_OK;
}

int64_t pz_onnx_source(const pz_shape *out, const pz_shape *in, int64_t i) {
  int64_t at = 0, stride = 1;
  if (pz_shape_equal(out, in)) return i;
  for (int32_t d = out->rank - 1, k = in->rank - 1; k >= 0; d--, k--) {
    if (in->dim[k] != 1) at += i % out->dim[d] * stride;
    stride *= in->dim[k];
    i /= out->dim[d];
  }
  return at;
}

pz_status pz_onnx_eltwise(pz_onnx *c, pz_eltwise_kind kind, const float *coeff, int32_t n, pz_tensor_id *in,
                          pz_tensor_id *out) {
  int32_t rank = 0;
  for (int32_t i = 0; i < n; i++)
    if (pz_onnx_shape(c, in[i])->rank > rank) rank = pz_onnx_shape(c, in[i])->rank;
  for (int32_t i = 0; i < n; i++) {
    const pz_shape wide = pz_onnx_widen(pz_onnx_shape(c, in[i]), rank);
    PZ_TRY(pz_onnx_reshape_to(c, &wide, &in[i]));
  }
  pz_node node = pz_node_new(PZ_OP_ELTWISE);
  node.attr.eltwise.kind = kind;
  node.attr.eltwise.coeff = coeff;
  return pz_onnx_add(c, &node, "eltwise", n, in, out);
}

bool pz_onnx_is_per_map(const pz_shape *x, const pz_shape *constant) {
  if (x->rank < 2 || constant->rank > x->rank) return false;
  const pz_shape wide = pz_onnx_widen(constant, x->rank);
  for (int32_t i = 0; i < x->rank; i++)
    if (wide.dim[i] != (i == 1 ? x->dim[1] : 1)) return false;
  return true;
}
