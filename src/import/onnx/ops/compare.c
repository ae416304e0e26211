/* compare.c: comparisons, logic and Where. Truth values are 1 and 0 in floats; a value that is not 0 is true. */
#include "import/onnx/ops.h"

static pz_status give_truth(pz_onnx *c, pz_eltwise_kind kind, bool swapped, bool negated) {
  pz_tensor_id in[2], out;
  if (pz_onnx_all_known(c)) return pz_onnx_fold_binary(c);
  for (int32_t i = 0; i < 2; i++) PZ_TRY(pz_onnx_tensor_in(c, i, &in[swapped ? 1 - i : i]));
  PZ_TRY(pz_onnx_eltwise(c, kind, NULL, 2, in, &out));
  if (negated) PZ_TRY(pz_onnx_power(c, -1, 1, &out));
  return pz_onnx_give(c, 0, out, PZ_ONNX_BOOL);
}

pz_status pz_onnx_op_less(pz_onnx *c) { return give_truth(c, PZ_ELT_LESS, false, false); }
pz_status pz_onnx_op_less_equal(pz_onnx *c) { return give_truth(c, PZ_ELT_LESS_EQUAL, false, false); }
pz_status pz_onnx_op_greater(pz_onnx *c) { return give_truth(c, PZ_ELT_LESS, true, false); }
pz_status pz_onnx_op_greater_equal(pz_onnx *c) { return give_truth(c, PZ_ELT_LESS_EQUAL, true, false); }
pz_status pz_onnx_op_equal(pz_onnx *c) { return give_truth(c, PZ_ELT_EQUAL, false, false); }
pz_status pz_onnx_op_and(pz_onnx *c) { return give_truth(c, PZ_ELT_PROD, false, false); }
pz_status pz_onnx_op_or(pz_onnx *c) { return give_truth(c, PZ_ELT_MAX, false, false); }
pz_status pz_onnx_op_xor(pz_onnx *c) { return give_truth(c, PZ_ELT_EQUAL, false, true); }

pz_status pz_onnx_op_not(pz_onnx *c) {
  pz_tensor_id x;
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  PZ_TRY(pz_onnx_power(c, -1, 1, &x));
  return pz_onnx_give(c, 0, x, PZ_ONNX_BOOL);
}

pz_status pz_onnx_op_where(pz_onnx *c) {
  pz_tensor_id in[3], out;
  if (pz_onnx_all_known(c)) return pz_onnx_fold_where(c);
  if (pz_onnx_is_floating(pz_onnx_in(c, 1)->type) != pz_onnx_is_floating(pz_onnx_in(c, 2)->type))
    return pz_onnx_fail(c, "its inputs 1 and 2 differ in type");
  for (int32_t i = 0; i < 3; i++) PZ_TRY(pz_onnx_tensor_in(c, i, &in[i]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_SELECT, NULL, 3, in, &out));
  return pz_onnx_give(c, 0, out, pz_onnx_in(c, 1)->type);
}
