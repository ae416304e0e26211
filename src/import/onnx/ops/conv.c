/* conv.c: Conv and ConvTranspose. */
#include "import/onnx/ops.h"

static pz_status emit(pz_onnx *c, pz_op op, const pz_onnx_window *w, const int32_t output_pad[PZ_SPATIAL]) {
  pz_node node = pz_node_new(op);
  pz_attr_conv *a = &node.attr.conv;
  int64_t group;
  PZ_TRY(pz_onnx_attr_int(c, "group", 1, &group));
  if (group < 1 || group > INT32_MAX) return pz_onnx_fail(c, "a group of %lld", (long long)group);
  a->group = (int32_t)group;
  memcpy(a->kernel, w->kernel, sizeof a->kernel);
  memcpy(a->stride, w->stride, sizeof a->stride);
  memcpy(a->dilation, w->dilation, sizeof a->dilation);
  memcpy(a->pad_lo, w->lo, sizeof a->pad_lo);
  memcpy(a->pad_hi, w->hi, sizeof a->pad_hi);
  memcpy(a->output_pad, output_pad, sizeof a->output_pad);
  pz_tensor_id in[3], out;
  const int32_t n_in = pz_onnx_has(c, 2) ? 3 : 2;
  for (int32_t i = 0; i < n_in; i++) PZ_TRY(pz_onnx_tensor_in(c, i, &in[i]));
  PZ_TRY(pz_onnx_add(c, &node, "conv", n_in, in, &out));
  return pz_onnx_give(c, 0, out, pz_onnx_type_in(c));
}

pz_status pz_onnx_op_conv(pz_onnx *c) {
  static const int32_t none[PZ_SPATIAL] = {0};
  pz_onnx_window w;
  PZ_TRY(pz_onnx_read_window(c, pz_onnx_in_shape(c, 1), &w));
  pz_onnx_pad_same(pz_onnx_in_shape(c, 0), &w);
  return emit(c, PZ_OP_CONV, &w, none);
}

/* The size that was asked for takes from, or adds to, what stride and kernel give: the specification's total_padding. More
 * than that is padding on the result's high side. */
static pz_status pad_to(pz_onnx *c, int64_t in, int64_t size, int32_t i, pz_onnx_window *w, int32_t *more) {
  const int64_t full = w->stride[i] * (in - 1) + *more + (int64_t)w->dilation[i] * (w->kernel[i] - 1) + 1;
  const int64_t total = size < 1 ? 0 : full - size;
  if (size < 1 || total > INT32_MAX || *more - total > INT32_MAX)
    return pz_onnx_fail(c, "an output_shape of %lld along a size of %lld", (long long)size, (long long)in);
  w->lo[i] = w->hi[i] = 0;
  if (total < 0) {
    *more -= (int32_t)total;
    return PZ_OK;
  }
  const int32_t less = (int32_t)(total / 2), rest = (int32_t)(total - less);
  w->lo[i] = w->automatic == PZ_ONNX_SAME_UPPER ? less : rest;
  w->hi[i] = w->automatic == PZ_ONNX_SAME_UPPER ? rest : less;
  return PZ_OK;
}

/* output_shape has the spatial sizes; some exporters put N and C in front. */
static pz_status read_sizes(pz_onnx *c, pz_onnx_window *w, int32_t output_pad[PZ_SPATIAL]) {
  const pz_shape *x = pz_onnx_in_shape(c, 0);
  const int64_t *sizes;
  int32_t count;
  PZ_TRY(pz_onnx_attr_ints(c, "output_shape", &sizes, &count));
  const bool same = w->automatic == PZ_ONNX_SAME_UPPER || w->automatic == PZ_ONNX_SAME_LOWER;
  if (sizes && count == w->spatial + 2) sizes += 2;
  else if (sizes && count != w->spatial)
    return pz_onnx_fail(c, "its attribute 'output_shape' has %d entries, expected %d", (int)count,
                        (int)w->spatial);
  for (int32_t d = 0; d < w->spatial && (sizes || same); d++) {
    const int32_t i = PZ_SPATIAL - w->spatial + d;
    const int64_t in = x->dim[2 + d];
    PZ_TRY(pad_to(c, in, sizes ? sizes[d] : in * w->stride[i], i, w, &output_pad[i]));
  }
  return PZ_OK;
}

pz_status pz_onnx_op_conv_transpose(pz_onnx *c) {
  pz_onnx_window w;
  int32_t output_pad[PZ_SPATIAL] = {0};
  PZ_TRY(pz_onnx_read_window(c, pz_onnx_in_shape(c, 1), &w));
  PZ_TRY(pz_onnx_attr_spatial(c, "output_padding", w.spatial, 0, 0, output_pad));
  PZ_TRY(read_sizes(c, &w, output_pad));
  return emit(c, PZ_OP_DECONV, &w, output_pad);
}
