/* infer_conv.c: convolution, deconvolution and pooling. Sizes are at most 2^31-1 and attributes are int32_t, so all
 * sums and products of two of them fit into int64_t. */
#include "graph/internal.h"
#include <string.h>

static int64_t extent(const pz_attr_conv *a, int32_t i) {
  return (int64_t)a->dilation[i] * (a->kernel[i] - 1) + 1;
}

static pz_status check_attributes(const pz_node *node, int32_t first, pz_error *err) {
  const pz_attr_conv *a = &node->attr.conv;
  PZ_TRY(pz_infer_entries(node, "kernel", a->kernel, first, 1, 1, err));
  PZ_TRY(pz_infer_entries(node, "stride", a->stride, first, 1, 1, err));
  PZ_TRY(pz_infer_entries(node, "dilation", a->dilation, first, 1, 1, err));
  PZ_TRY(pz_infer_entries(node, "padding", a->pad_lo, first, 0, 0, err));
  PZ_TRY(pz_infer_entries(node, "high padding", a->pad_hi, first, 0, 0, err));
  PZ_TRY(pz_infer_entries(node, "output padding", a->output_pad, first, 0, 0, err));
  if (a->pooled[0] || a->pooled[1] || a->pooled[2])
    PZ_TRY(pz_infer_entries(node, "window of pooling", a->pooled, first, 1, 1, err));
  if (a->norm_groups < 0)
    return pz_fail_node(err, node, "norm_groups %d: must not be negative", (int)a->norm_groups);
  if (a->group < 1) return pz_fail_node(err, node, "group %d: must be at least 1", (int)a->group);
  return pz_infer_activation(node, &a->act, PZ_CONV_SLOPE, err);
}

/* Weight [K, C/group, ...] or, transposed, [C, K/group, ...]; *channels is K. */
static pz_status check_weight(const pz_graph *g, const pz_node *node, const pz_shape *x, int64_t *channels,
                              pz_error *err) {
  const pz_attr_conv *a = &node->attr.conv;
  const pz_shape *w = &pz_in(g, node, PZ_CONV_WEIGHT)->shape;
  bool transposed = node->op == PZ_OP_DECONV;
  if (w->rank != x->rank)
    return pz_fail_node(err, node,
                        "its weights are %s, its input %s: they must have the same number of dimensions",
                        PZ_SHAPE(w), PZ_SHAPE(x));
  int64_t in_channels = transposed ? w->dim[0] : w->dim[1] * a->group;
  *channels = transposed ? w->dim[1] * a->group : w->dim[0];
  if (in_channels != x->dim[1])
    return pz_fail_node(err, node, "its weights %s with group %d take %lld channels, but its input is %s",
                        PZ_SHAPE(w), (int)a->group, (long long)in_channels, PZ_SHAPE(x));
  if (x->dim[1] % a->group || *channels % a->group)
    return pz_fail_node(err, node,
                        "group %d does not divide its %lld input channels and %lld output channels",
                        (int)a->group, (long long)x->dim[1], (long long)*channels);
  for (int32_t i = 2; i < w->rank; i++)
    if (w->dim[i] != a->kernel[PZ_SPATIAL - w->rank + i])
      return pz_fail_node(err, node, "its weights are %s, but its kernel is %d,%d,%d", PZ_SHAPE(w),
                          (int)a->kernel[0], (int)a->kernel[1], (int)a->kernel[2]);
  return PZ_OK;
}

static pz_status check_operands(const pz_graph *g, const pz_node *node, const pz_shape *out, pz_error *err) {
  int64_t channels = out->dim[1];
  PZ_TRY(pz_infer_vector(g, node, PZ_CONV_BIAS, channels, "bias", err));
  PZ_TRY(pz_infer_vector(g, node, PZ_CONV_RESIDUAL_SCALE, channels, "scale of the base", err));
  PZ_TRY(pz_infer_vector(g, node, PZ_CONV_SLOPE, channels, "slope", err));
  const pz_tensor *residual = pz_in(g, node, PZ_CONV_RESIDUAL);
  if (!residual && pz_in(g, node, PZ_CONV_RESIDUAL_SCALE))
    return pz_fail_node(err, node, "it scales a residual that it does not have");
  if (residual && !pz_shape_equal(&residual->shape, out))
    return pz_fail_node(err, node, "its residual '%s' is %s, but its result is %s", residual->name,
                        PZ_SHAPE(&residual->shape), PZ_SHAPE(out));
  return PZ_OK;
}

static pz_status conv_size(const pz_node *node, const pz_shape *x, int32_t i, int64_t *out, pz_error *err) {
  const pz_attr_conv *a = &node->attr.conv;
  int64_t in = x->dim[x->rank - PZ_SPATIAL + i], padded = in + a->pad_lo[i] + a->pad_hi[i];
  if (a->output_pad[i]) return pz_fail_node(err, node, "output padding is for deconv only");
  if (extent(a, i) > padded)
    return pz_fail_node(err, node,
                        "its kernel spans %lld along %c, larger than its input %s with padding: %lld",
                        (long long)extent(a, i), "zyx"[i], PZ_SHAPE(x), (long long)padded);
  *out = (padded - extent(a, i)) / a->stride[i] + 1;
  return PZ_OK;
}

static pz_status deconv_size(const pz_node *node, const pz_shape *x, int32_t i, int64_t *out, pz_error *err) {
  const pz_attr_conv *a = &node->attr.conv;
  int64_t in = x->dim[x->rank - PZ_SPATIAL + i];
  int32_t limit = a->stride[i] > a->dilation[i] ? a->stride[i] : a->dilation[i];
  if (a->output_pad[i] >= limit)
    return pz_fail_node(err, node, "output padding %d must be less than its stride or its dilation",
                        (int)a->output_pad[i]);
  int64_t full;
  if (!pz_mul_i64(a->stride[i], in - 1, &full) || !pz_add_i64(full, extent(a, i), &full))
    return pz_fail_node(err, node, "the size of its result along %c is too large", "zyx"[i]);
  int64_t pad = (int64_t)a->pad_lo[i] + a->pad_hi[i];
  *out = full - pad + a->output_pad[i];
  if (*out < 1)
    return pz_fail_node(err, node, "its padding takes %lld of %lld points along %c, nothing is left",
                        (long long)pad, (long long)full, "zyx"[i]);
  return PZ_OK;
}

typedef pz_status (*size_rule)(const pz_node *node, const pz_shape *x, int32_t i, int64_t *out,
                               pz_error *err);

static pz_status infer_any(const pz_graph *g, const pz_node *node, size_rule size, pz_shape *out,
                           pz_error *err) {
  const pz_shape *x = &pz_in(g, node, PZ_CONV_X)->shape;
  int32_t first = 0;
  int64_t channels = 0;
  PZ_TRY(pz_infer_spatial(node, x, &first, err));
  PZ_TRY(check_attributes(node, first, err));
  PZ_TRY(check_weight(g, node, x, &channels, err));
  *out = (pz_shape){x->rank, {x->dim[0], channels}};
  for (int32_t i = first; i < PZ_SPATIAL; i++)
    PZ_TRY(size(node, x, i, &out->dim[x->rank - PZ_SPATIAL + i], err));
  return check_operands(g, node, out, err);
}

/* A deconvolution is planned as a convolution for each point of its stride's block: as many kernel calls. Networks have a few thousand at most. */
#define MOST_PHASES 16384
static pz_status check_phases(const pz_node *node, pz_error *err) {
  const int32_t *s = node->attr.conv.stride;
  int64_t phases;
  if (!pz_mul_i64((int64_t)s[0] * s[1], s[2], &phases)) phases = INT64_MAX;
  if (phases <= MOST_PHASES) return PZ_OK;
  return pz_fail_node(err, node, "its stride %d,%d,%d makes %lld phases, at most %d are supported", (int)s[0],
                      (int)s[1], (int)s[2], (long long)phases, MOST_PHASES);
}

pz_status pz_infer_CONV(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  return infer_any(g, node, conv_size, out, err);
}

pz_status pz_infer_DECONV(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  PZ_TRY(infer_any(g, node, deconv_size, out, err));
  return pz_shape_valid(out, NULL) ? check_phases(node, err) : PZ_OK; /* the caller tells of the other */
}

/* ---- pool ---- */

static int64_t pool_extent(const pz_attr_pool *a, int32_t i) {
  return (int64_t)a->dilation[i] * (a->kernel[i] - 1) + 1;
}

static pz_status check_pool(const pz_node *node, int32_t first, pz_error *err) {
  const pz_attr_pool *a = &node->attr.pool;
  if ((unsigned)a->kind > PZ_POOL_AVE) return pz_fail_node(err, node, "unknown kind %d", (int)a->kind);
  if ((unsigned)a->divisor > PZ_DIVISOR_KERNEL)
    return pz_fail_node(err, node, "unknown divisor %d", (int)a->divisor);
  PZ_TRY(pz_infer_entries(node, "kernel", a->kernel, first, 1, 1, err));
  PZ_TRY(pz_infer_entries(node, "stride", a->stride, first, 1, 1, err));
  PZ_TRY(pz_infer_entries(node, "dilation", a->dilation, first, 1, 1, err));
  PZ_TRY(pz_infer_entries(node, "padding", a->pad_lo, first, 0, 0, err));
  PZ_TRY(pz_infer_entries(node, "high padding", a->pad_hi, first, 0, 0, err));
  for (int32_t i = 0; i < PZ_SPATIAL; i++)
    if (a->pad_lo[i] >= pool_extent(a, i) || a->pad_hi[i] >= pool_extent(a, i))
      return pz_fail_node(err, node, "its padding %d:%d along %c must be less than its kernel spans, %lld",
                          (int)a->pad_lo[i], (int)a->pad_hi[i], "zyx"[i], (long long)pool_extent(a, i));
  return PZ_OK;
}

/* Rounding up, a last window may begin in the high padding or beyond it: it is dropped. One is enough: the window
 * before it begins below in + pad_lo + pad_hi - extent, which is below in + pad_lo. So every window begins at or before
 * the last input and ends at or behind the first; steps of at most the input's size cannot pass over it. */
static pz_status pool_size(const pz_node *node, const pz_shape *x, int32_t i, int64_t *out, pz_error *err) {
  const pz_attr_pool *a = &node->attr.pool;
  int64_t in = x->dim[x->rank - PZ_SPATIAL + i], padded = in + a->pad_lo[i] + a->pad_hi[i];
  if (pool_extent(a, i) > padded)
    return pz_fail_node(err, node,
                        "its kernel spans %lld along %c, larger than its input %s with padding: %lld",
                        (long long)pool_extent(a, i), "zyx"[i], PZ_SHAPE(x), (long long)padded);
  if (a->kernel[i] > 1 && a->dilation[i] > in)
    return pz_fail_node(err, node, "its dilation %d along %c is larger than its input %s",
                        (int)a->dilation[i], "zyx"[i], PZ_SHAPE(x));
  int64_t rounding = a->ceil ? a->stride[i] - 1 : 0;
  *out = (padded - pool_extent(a, i) + rounding) / a->stride[i] + 1;
  if (a->ceil && (*out - 1) * a->stride[i] >= in + a->pad_lo[i]) --*out;
  return PZ_OK;
}

pz_status pz_infer_POOL(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = &pz_in(g, node, 0)->shape;
  int32_t first = 0;
  PZ_TRY(pz_infer_spatial(node, x, &first, err));
  PZ_TRY(check_pool(node, first, err));
  *out = *x;
  for (int32_t i = first; i < PZ_SPATIAL; i++)
    PZ_TRY(pool_size(node, x, i, &out->dim[x->rank - PZ_SPATIAL + i], err));
  return PZ_OK;
}
