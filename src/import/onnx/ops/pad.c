/* pad.c: Pad. What negative pads take away is cut off first. */
#include "import/onnx/ops.h"

static pz_status read_mode(pz_onnx *c, pz_pad_kind *kind) {
  static const char *const names[] = {[PZ_PAD_CONSTANT] = "constant",
                                      [PZ_PAD_EDGE] = "edge",
                                      [PZ_PAD_REFLECT] = "reflect",
                                      [PZ_PAD_WRAP] = "wrap"};
  const char *mode;
  PZ_TRY(pz_onnx_attr_text(c, "mode", "constant", &mode));
  for (int k = 0; k < 4; k++)
    if (!strcmp(mode, names[k])) {
      *kind = (pz_pad_kind)k;
      return PZ_OK;
    }
  return pz_onnx_fail(c, "its mode '%.40s' is none", mode);
}

static pz_status read_value(pz_onnx *c, float *value) {
  double number = 0;
  if (c->model.opset < 11) return pz_onnx_attr_float(c, "value", 0, value);
  if (pz_onnx_has(c, 2)) PZ_TRY(pz_onnx_number_in(c, 2, &number));
  *value = (float)number;
  return PZ_OK;
}

/* low and high of each of x's dimensions; `pads` has all low ones of `axes` (default: all), then all high ones. */
static pz_status read_pads(pz_onnx *c, int32_t rank, int64_t lo[PZ_MAX_RANK], int64_t hi[PZ_MAX_RANK]) {
  const int64_t *pads, *axes = NULL;
  int32_t count, n_axes = -1;
  bool marks[PZ_MAX_RANK];
  PZ_TRY(pz_onnx_list(c, "pads", 1, 11, &pads, &count));
  if (c->model.opset >= 18) PZ_TRY(pz_onnx_list(c, "axes", 3, 18, &axes, &n_axes));
  PZ_TRY(pz_onnx_mark_axes(c, axes, n_axes, rank, marks));
  const int32_t n = n_axes >= 0 ? n_axes : rank;
  if (count != 2 * n) return pz_onnx_fail(c, "has %d pads, expected %d", (int)count, (int)(2 * n));
  for (int32_t i = 0; i < n; i++) {
    int32_t d = i;
    if (axes) PZ_TRY(pz_onnx_axis(c, axes[i], rank, &d));
    if (pads[i] < -PZ_MAX_DIM || pads[i] > PZ_MAX_DIM || pads[n + i] < -PZ_MAX_DIM ||
        pads[n + i] > PZ_MAX_DIM)
      return pz_onnx_fail(c, "a pad of more than 2^31");
    lo[d] = pads[i];
    hi[d] = pads[n + i];
  }
  return PZ_OK;
}

static pz_status cut_negative(pz_onnx *c, int64_t lo[PZ_MAX_RANK], int64_t hi[PZ_MAX_RANK], pz_tensor_id *x) {
  const pz_shape shape = *pz_onnx_shape(c, *x);
  pz_node crop = pz_node_new(PZ_OP_CROP);
  bool needed = false;
  for (int32_t d = 0; d < shape.rank; d++) {
    const int64_t low = lo[d] < 0 ? -lo[d] : 0, high = hi[d] < 0 ? -hi[d] : 0;
    if (low + high >= shape.dim[d]) return pz_onnx_fail(c, "nothing of dimension %d is left", (int)d);
    crop.attr.crop.offset[d] = low;
    crop.attr.crop.size[d] = shape.dim[d] - low - high;
    needed |= low + high > 0;
    if (low) lo[d] = 0;
    if (high) hi[d] = 0;
  }
  return needed ? pz_onnx_apply(c, &crop, "crop", x) : PZ_OK;
}

pz_status pz_onnx_op_pad(pz_onnx *c) {
  pz_node node = pz_node_new(PZ_OP_PAD);
  pz_attr_pad *a = &node.attr.pad;
  const pz_onnx_constant *pads;
  pz_tensor_id x;
  bool needed = false;
  PZ_TRY(read_mode(c, &a->kind));
  PZ_TRY(read_value(c, &a->value));
  if (c->model.opset >= 11) PZ_TRY(pz_onnx_constant_in(c, 1, &pads));
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  const int32_t rank = pz_onnx_shape(c, x)->rank;
  PZ_TRY(read_pads(c, rank, a->lo, a->hi));
  PZ_TRY(cut_negative(c, a->lo, a->hi, &x));
  if (a->kind != PZ_PAD_CONSTANT) a->value = 0;
  for (int32_t d = 0; d < rank; d++) needed |= a->lo[d] || a->hi[d];
  if (needed) PZ_TRY(pz_onnx_apply(c, &node, "pad", &x));
  const pz_onnx_range inside = pz_onnx_range_in(c, 0);
  const double value = (double)a->value;
  const bool adds = a->kind == PZ_PAD_CONSTANT;
  const pz_onnx_range all = {adds ? fmin(inside.low, value) : inside.low,
                             adds ? fmax(inside.high, value) : inside.high};
  return pz_onnx_give_in(c, 0, x, pz_onnx_type_in(c), all);
}
