/* flip_deconv.c: a deconvolution of stride 1 is a convolution with the flipped kernel (PZnet 2.2): y[i] is the sum over j of w[j] * x[i + pad - d*j], so
 * that with k-1-j for j the window begins d*(k-1) - pad before i. All algorithms of convolutions are open to it then. */
#include "optimise/rewrite.h"

/* False: it has another stride, or is cropped by more than its kernel reaches. */
static bool flip_pads(pz_attr_conv *a) {
  for (int i = 0; i < PZ_SPATIAL; i++) {
    const int64_t reach = (int64_t)a->dilation[i] * (a->kernel[i] - 1);
    const int64_t lo = reach - a->pad_lo[i], hi = reach - a->pad_hi[i] + a->output_pad[i];
    if (a->stride[i] != 1 || lo < 0 || hi < 0 || lo > INT32_MAX || hi > INT32_MAX) return false;
    a->pad_lo[i] = (int32_t)lo, a->pad_hi[i] = (int32_t)hi, a->output_pad[i] = 0;
  }
  return true;
}

/* [C, K/group, ...] to [K, C/group, ...]. */
static void flip_weights(const float *w, const pz_shape *shape, int32_t group, float *to) {
  const int64_t all = shape->dim[0], c = all / group, k = shape->dim[1];
  const int64_t size = pz_shape_elements(shape) / (all * k);
  for (int64_t i = 0; i < all; i++)
    for (int64_t j = 0; j < k; j++, w += size) {
      float *row = to + ((i / c * k + j) * c + i % c) * size;
      for (int64_t n = 0; n < size; n++) row[n] = w[size - 1 - n];
    }
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  pz_attr_conv a = node->attr.conv;
  if (node->op != PZ_OP_DECONV || !rw->g->tensors[node->in[PZ_CONV_WEIGHT]].data || !flip_pads(&a))
    return PZ_OK;
  const pz_tensor_id from = node->in[PZ_CONV_WEIGHT];
  const pz_shape shape = rw->g->tensors[from].shape;
  pz_shape flipped = shape;
  flipped.dim[0] = shape.dim[1] * a.group, flipped.dim[1] = shape.dim[0] / a.group;
  pz_tensor_id weight;
  PZ_TRY(pz_rewrite_new_constant(rw, rw->g->tensors[from].name, "flipped", &flipped, &weight));
  flip_weights(rw->g->tensors[from].data, &shape, a.group, pz_graph_constant_data(rw->g, weight));
  pz_node *now = &rw->g->nodes[id];
  now->op = PZ_OP_CONV, now->attr.conv = a, now->in[PZ_CONV_WEIGHT] = weight;
  rw->changes++;
  return PZ_OK;
}

pz_status pz_pass_flip_deconv(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
