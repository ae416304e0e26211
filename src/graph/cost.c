/* cost.c: what a node costs and what it needs around its input. */
#include "graph/internal.h"

static double kernel_points(const pz_attr_conv *a) {
  return (double)a->kernel[0] * a->kernel[1] * a->kernel[2];
}

/* conv: each output point takes C/group channels; deconv: each input point gives to K/group channels, also where its padding
 * drops the result. Both is dim[1] of the weights. */
double pz_node_multiply_adds(const pz_graph *g, const pz_node *node) {
  if (node->op == PZ_OP_NONE) return 0;
  const pz_tensor *x = pz_in(g, node, 0), *w = pz_in(g, node, 1), *out = &g->tensors[node->out[0]];
  switch (node->op) {
  case PZ_OP_CONV:
    return (double)pz_shape_elements(&out->shape) * (double)w->shape.dim[1] * kernel_points(&node->attr.conv);
  case PZ_OP_DECONV:
    return (double)pz_shape_elements(&x->shape) * (double)w->shape.dim[1] * kernel_points(&node->attr.conv);
  case PZ_OP_INNER_PRODUCT:
    return (double)pz_shape_elements(&out->shape) * (double)w->shape.dim[!node->attr.inner_product.transpose];
  default: return 0;
  }
}

static double tensor_bytes(const pz_graph *g, pz_tensor_id id) {
  return id == PZ_NONE
             ? 0
             : (double)(pz_shape_elements(&g->tensors[id].shape) * pz_dtype_bytes(g->tensors[id].type));
}

double pz_node_bytes(const pz_graph *g, const pz_node *node) {
  double bytes = 0;
  if (node->op == PZ_OP_NONE) return 0;
  for (int32_t i = 0; i < node->n_in; i++) {
    bool seen = false;
    for (int32_t k = 0; k < i; k++) seen |= node->in[k] == node->in[i];
    if (!seen) bytes += tensor_bytes(g, node->in[i]);
  }
  for (int32_t i = 0; i < node->n_out; i++) bytes += tensor_bytes(g, node->out[i]);
  return bytes;
}

static int32_t positive(int64_t value) {
  return value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

static void conv_border(const pz_attr_conv *a, int32_t i, int64_t in, int64_t out, int32_t *lo, int32_t *hi) {
  int64_t last =
      (out - 1) * a->stride[i] + (int64_t)a->dilation[i] * (a->kernel[i] - 1); /* in padded coordinates */
  *lo = a->pad_lo[i];
  *hi = positive(last - a->pad_lo[i] - (in - 1));
}

/* Tap k of a deconv joins output o to input (o + pad_lo - dilation*k)/stride where that is whole. For a given k the
 * input rises with o, so the least one comes from the first such o and the greatest from the last. */
static void deconv_border(const pz_attr_conv *a, int32_t i, int64_t in, int64_t out, int32_t *lo,
                          int32_t *hi) {
  int64_t stride = a->stride[i], least = 0, greatest = in - 1;
  for (int64_t k = 0; k < a->kernel[i]; k++) {
    int64_t shift = a->pad_lo[i] - a->dilation[i] * k;
    int64_t first = ((-shift) % stride + stride) % stride;
    if (first >= out) continue;
    int64_t last = first + (out - 1 - first) / stride * stride;
    if ((first + shift) / stride < least) least = (first + shift) / stride;
    if ((last + shift) / stride > greatest) greatest = (last + shift) / stride;
  }
  *lo = positive(-least);
  *hi = positive(greatest - (in - 1));
}

void pz_node_input_border(const pz_graph *g, const pz_node *node, int32_t lo[PZ_SPATIAL],
                          int32_t hi[PZ_SPATIAL]) {
  for (int32_t i = 0; i < PZ_SPATIAL; i++) lo[i] = hi[i] = 0;
  if (node->op != PZ_OP_CONV && node->op != PZ_OP_DECONV) return;
  pz_shape5 in = pz_shape_as5(&pz_in(g, node, PZ_CONV_X)->shape),
            out = pz_shape_as5(&g->tensors[node->out[0]].shape);
  for (int32_t i = 0; i < PZ_SPATIAL; i++)
    (node->op == PZ_OP_CONV ? conv_border : deconv_border)(&node->attr.conv, i, in.s[i], out.s[i], &lo[i],
                                                           &hi[i]);
}

bool pz_node_pools_simply(const pz_graph *g, const pz_node *node) {
  const pz_attr_pool *a = &node->attr.pool;
  const pz_shape5 x = pz_shape_as5(&g->tensors[node->in[0]].shape),
                  y = pz_shape_as5(&g->tensors[node->out[0]].shape);
  bool many = false;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    if (a->kernel[i] > 2 || a->stride[i] != a->kernel[i] || (a->kernel[i] > 1 && a->dilation[i] > 1) ||
        a->pad_lo[i] || a->pad_hi[i] || y.s[i] * a->kernel[i] != x.s[i])
      return false;
    many |= y.s[i] > 1;
  }
  return a->kind == PZ_POOL_MAX && many;
}
