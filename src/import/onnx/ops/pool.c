/* pool.c: MaxPool, AveragePool and the global ones. */
#include "import/onnx/ops.h"

static void fill(const pz_onnx_window *w, pz_attr_pool *a) {
  memcpy(a->kernel, w->kernel, sizeof a->kernel);
  memcpy(a->stride, w->stride, sizeof a->stride);
  memcpy(a->dilation, w->dilation, sizeof a->dilation);
  memcpy(a->pad_lo, w->lo, sizeof a->pad_lo);
  memcpy(a->pad_hi, w->hi, sizeof a->pad_hi);
}

/* An average counts the positions inside the padded input where the padding counts, else those inside the input. */
static pz_status pool(pz_onnx *c, pz_pool_kind kind) {
  pz_onnx_window w;
  bool count_pad = false, ceil;
  if (pz_onnx_wants(c, 1)) return pz_onnx_refuse(c, "indices as a second output");
  PZ_TRY(pz_onnx_read_window(c, NULL, &w));
  pz_onnx_pad_same(pz_onnx_in_shape(c, 0), &w);
  PZ_TRY(pz_onnx_attr_flag(c, "ceil_mode", false, &ceil));
  if (kind == PZ_POOL_AVE) PZ_TRY(pz_onnx_attr_flag(c, "count_include_pad", false, &count_pad));
  pz_node node = pz_node_new(PZ_OP_POOL);
  fill(&w, &node.attr.pool);
  node.attr.pool.kind = kind;
  node.attr.pool.divisor = count_pad || kind == PZ_POOL_MAX ? PZ_DIVISOR_CAFFE : PZ_DIVISOR_VALID;
  node.attr.pool.ceil = ceil && w.automatic == PZ_ONNX_NOTSET;
  return pz_onnx_simple(c, &node);
}

pz_status pz_onnx_op_max_pool(pz_onnx *c) { return pool(c, PZ_POOL_MAX); }
pz_status pz_onnx_op_average_pool(pz_onnx *c) { return pool(c, PZ_POOL_AVE); }

static pz_status pool_all(pz_onnx *c, pz_pool_kind kind) {
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  pz_node node = pz_node_new(PZ_OP_POOL);
  int32_t spatial;
  PZ_TRY(pz_onnx_spatial(c, &spatial));
  node.attr.pool.kind = kind;
  for (int32_t i = 2; i < x.rank; i++) {
    node.attr.pool.kernel[PZ_SPATIAL - x.rank + i] = (int32_t)x.dim[i];
    node.attr.pool.stride[PZ_SPATIAL - x.rank + i] = (int32_t)x.dim[i];
  }
  return pz_onnx_simple(c, &node);
}

pz_status pz_onnx_op_global_max_pool(pz_onnx *c) { return pool_all(c, PZ_POOL_MAX); }
pz_status pz_onnx_op_global_average_pool(pz_onnx *c) { return pool_all(c, PZ_POOL_AVE); }
