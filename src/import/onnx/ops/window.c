/* window.c: parts of values, and values from parts: Concat, Split, Slice, Pad, Gather. */
#include "import/onnx/ops.h"

/* Empty inputs, which exporters leave in, add nothing. */
pz_status pz_onnx_op_concat(pz_onnx *c) {
  pz_tensor_id *in = PZ_NEW(c->arena, pz_tensor_id, c->node->n_in), out;
  pz_node node = pz_node_new(PZ_OP_CONCAT);
  int32_t n = 0;
  if (!in) return pz_onnx_no_memory(c);
  if (!pz_onnx_has_attr(c, "axis")) return pz_onnx_fail(c, "its attribute 'axis' is missing");
  for (int32_t i = 0; i < c->node->n_in; i++) {
    if (!pz_onnx_has(c, i)) return pz_onnx_fail(c, "its input %d is missing", (int)i);
    if (pz_onnx_elements(pz_onnx_in_shape(c, i)) > 0) PZ_TRY(pz_onnx_tensor_in(c, i, &in[n++]));
  }
  if (!n) return pz_onnx_fail(c, "all its inputs are empty");
  PZ_TRY(pz_onnx_attr_axis(c, 0, pz_onnx_shape(c, in[0])->rank, &node.attr.concat.axis));
  PZ_TRY(pz_onnx_add(c, &node, "concat", n, in, &out));
  return pz_onnx_give(c, 0, out, pz_onnx_type_in(c));
}
