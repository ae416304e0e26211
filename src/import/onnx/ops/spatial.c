/* spatial.c: windows that slide over the spatial dimensions: convolutions and pooling. */
#include "import/onnx/ops.h"

pz_status pz_onnx_spatial(pz_onnx *c, int32_t *spatial) {
  const pz_shape *x = pz_onnx_in_shape(c, 0);
  *spatial = x->rank - 2;
  if (*spatial < 1) return pz_onnx_fail(c, "its input has %d dimensions, expected 3 to 5", (int)x->rank);
  if (*spatial > PZ_SPATIAL) return pz_onnx_refuse(c, "%d spatial dimensions", (int)*spatial);
  return PZ_OK;
}

static pz_status read_auto_pad(pz_onnx *c, pz_onnx_window *w) {
  static const char *const names[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  const char *text;
  PZ_TRY(pz_onnx_attr_text(c, "auto_pad", "NOTSET", &text));
  for (int i = 0; i < 4; i++)
    if (!strcmp(text, names[i])) {
      w->automatic = i;
      return PZ_OK;
    }
  return pz_onnx_fail(c, "its auto_pad '%.40s' is none", text);
}

static pz_status read_pads(pz_onnx *c, pz_onnx_window *w) {
  const int64_t *pads;
  int32_t count;
  PZ_TRY(pz_onnx_attr_ints(c, "pads", &pads, &count));
  if (!pads || w->automatic) return PZ_OK;
  if (count != 2 * w->spatial)
    return pz_onnx_fail(c, "its attribute 'pads' has %d entries, expected %d", (int)count,
                        (int)(2 * w->spatial));
  for (int32_t i = 0; i < count; i++) {
    if (pads[i] < 0) return pz_onnx_refuse(c, "negative pads");
    if (pads[i] > INT32_MAX / 4) return pz_onnx_fail(c, "a pad of %lld", (long long)pads[i]);
    int32_t *side = i < w->spatial ? w->lo : w->hi;
    side[PZ_SPATIAL - w->spatial + i % w->spatial] = (int32_t)pads[i];
  }
  return PZ_OK;
}

static pz_status read_kernel(pz_onnx *c, const pz_shape *weight, pz_onnx_window *w) {
  if (weight && weight->rank != w->spatial + 2)
    return pz_onnx_fail(c, "its weights have %d dimensions, its input has %d", (int)weight->rank,
                        (int)w->spatial + 2);
  if (!weight && !pz_onnx_has_attr(c, "kernel_shape"))
    return pz_onnx_fail(c, "its attribute 'kernel_shape' is missing");
  PZ_TRY(pz_onnx_attr_spatial(c, "kernel_shape", w->spatial, 1, 1, w->kernel));
  for (int32_t i = 0; weight && i < w->spatial; i++) {
    int32_t *k = &w->kernel[PZ_SPATIAL - w->spatial + i];
    if (pz_onnx_has_attr(c, "kernel_shape") && *k != weight->dim[2 + i])
      return pz_onnx_fail(c, "its attribute 'kernel_shape' is not that of its weights");
    *k = (int32_t)weight->dim[2 + i];
  }
  return PZ_OK;
}

pz_status pz_onnx_read_window(pz_onnx *c, const pz_shape *weight, pz_onnx_window *w) {
  *w = (pz_onnx_window){.kernel = {1, 1, 1}, .stride = {1, 1, 1}, .dilation = {1, 1, 1}};
  PZ_TRY(pz_onnx_spatial(c, &w->spatial));
  PZ_TRY(read_kernel(c, weight, w));
  PZ_TRY(pz_onnx_attr_spatial(c, "strides", w->spatial, 1, 1, w->stride));
  PZ_TRY(pz_onnx_attr_spatial(c, "dilations", w->spatial, 1, 1, w->dilation));
  PZ_TRY(read_auto_pad(c, w));
  return read_pads(c, w);
}

void pz_onnx_pad_same(const pz_shape *x, pz_onnx_window *w) {
  if (w->automatic != PZ_ONNX_SAME_UPPER && w->automatic != PZ_ONNX_SAME_LOWER) return;
  for (int32_t i = PZ_SPATIAL - w->spatial; i < PZ_SPATIAL; i++) {
    const int64_t in = x->dim[x->rank - PZ_SPATIAL + i], out = (in + w->stride[i] - 1) / w->stride[i];
    int64_t total = (out - 1) * w->stride[i] + (int64_t)w->dilation[i] * (w->kernel[i] - 1) + 1 - in;
    if (total < 0) total = 0;
    const int64_t less = total / 2, more = total - less;
    w->lo[i] = (int32_t)(w->automatic == PZ_ONNX_SAME_UPPER ? less : more);
    w->hi[i] = (int32_t)(w->automatic == PZ_ONNX_SAME_UPPER ? more : less);
  }
}
