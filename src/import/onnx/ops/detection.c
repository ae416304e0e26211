/* detection.c: NonMaxSuppression. A network file's tensors have sizes that are known when it is compiled: the result has as many rows as there can be
 * (rows.c). */
#include "import/onnx/ops.h"
#include <float.h>

static pz_status read_most(pz_onnx *c, int32_t *most) {
  const int64_t *ints = NULL;
  int32_t count = 0;
  if (!pz_onnx_has(c, 2)) return pz_onnx_fail(c, "without max_output_boxes_per_class it gives no boxes");
  PZ_TRY(pz_onnx_ints_in(c, 2, &ints, &count));
  if (count != 1) return pz_onnx_fail(c, "its input 2 must be a single number");
  if (ints[0] < 1)
    return pz_onnx_fail(c, "max_output_boxes_per_class %lld: expected at least 1, or it gives no boxes",
                        (long long)ints[0]);
  *most = ints[0] < INT32_MAX ? (int32_t)ints[0] : INT32_MAX;
  return PZ_OK;
}

static pz_status read_thresholds(pz_onnx *c, pz_attr_non_max_suppression *a) {
  double overlap = 0, score = -(double)INFINITY;
  if (pz_onnx_has(c, 3)) PZ_TRY(pz_onnx_number_in(c, 3, &overlap));
  if (pz_onnx_has(c, 4)) PZ_TRY(pz_onnx_number_in(c, 4, &score));
  if (!(overlap >= 0 && overlap <= 1)) return pz_onnx_fail(c, "iou_threshold %g: expected 0 to 1", overlap);
  if (isnan(score)) return pz_onnx_fail(c, "score_threshold is not a number");
  if (pz_onnx_has(c, 4) && fabs(score) > (double)FLT_MAX)
    return pz_onnx_refuse(c, "an infinite score_threshold: leave it out to take all boxes");
  a->overlap = (float)overlap;
  a->score = (float)score;
  return PZ_OK;
}

pz_status pz_onnx_op_non_max_suppression(pz_onnx *c) {
  pz_node node = pz_node_new(PZ_OP_NON_MAX_SUPPRESSION);
  pz_attr_non_max_suppression *a = &node.attr.non_max_suppression;
  pz_tensor_id in[2], out;
  PZ_TRY(pz_onnx_attr_flag(c, "center_point_box", false, &a->centre));
  PZ_TRY(read_most(c, &a->most));
  PZ_TRY(read_thresholds(c, a));
  if (pz_onnx_is_known(c, 0) && pz_onnx_is_known(c, 1)) return pz_onnx_refuse(c, "constant boxes and scores");
  for (int32_t i = 0; i < 2; i++) PZ_TRY(pz_onnx_tensor_in(c, i, &in[i]));
  PZ_TRY(pz_onnx_add(c, &node, "boxes", 2, in, &out));
  double most = 0;
  for (int32_t d = 0; d < 3; d++) most = fmax(most, (double)pz_onnx_in_shape(c, 1)->dim[d]);
  return pz_onnx_give_rows(c, out, (pz_onnx_range){0, most - 1});
}
