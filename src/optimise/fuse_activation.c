/* fuse_activation.c: activation fusion (PZnet 3.4): an activation that is alone in reading a convolution's result is
 * computed when the convolution stores it; likewise a group_norm's. */
#include "optimise/rewrite.h"

/* PReLU's slopes, one for each channel; a shared one is repeated. */
static pz_status set_slope(pz_rewriter *rw, pz_node_id conv, pz_tensor_id slope, int64_t channels) {
  int slot = pz_rewrite_is_conv(&rw->g->nodes[conv]) ? PZ_CONV_SLOPE : PZ_GROUP_NORM_SLOPE;
  if (pz_shape_elements(&rw->g->tensors[slope].shape) == channels && rw->g->tensors[slope].shape.rank == 1)
    return pz_rewrite_set_in(rw, conv, slot, slope);
  pz_tensor_id copy;
  PZ_TRY(pz_rewrite_new_constant(rw, rw->g->nodes[conv].name, "slope", &(pz_shape){1, {channels}}, &copy));
  float *to = pz_graph_constant_data(rw->g, copy);
  for (int64_t k = 0; k < channels; k++) to[k] = rw->g->tensors[slope].data[0];
  return pz_rewrite_set_in(rw, conv, slot, copy);
}

static void set_activation(pz_node *node, pz_activation act) {
  if (pz_rewrite_is_conv(node)) node->attr.conv.act = act;
  else if (node->op == PZ_OP_CHANNEL_NORM) node->attr.channel_norm.act = act;
  else node->attr.group_norm.act = act;
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  if (node->op != PZ_OP_ACTIVATION) return PZ_OK;
  pz_tensor_id x = node->in[0], y = node->out[0], slope = pz_node_input(node, 1);
  pz_activation act = node->attr.activation.act;
  pz_node_id conv = pz_rewrite_open_before(rw, x);
  if (conv == PZ_NONE || !pz_rewrite_fixed_or_absent(rw->g, slope)) return PZ_OK;
  if (slope != PZ_NONE) PZ_TRY(set_slope(rw, conv, slope, rw->g->tensors[x].shape.dim[1]));
  set_activation(&rw->g->nodes[conv], act);
  PZ_TRY(pz_rewrite_absorb(rw, conv, x, y));
  pz_graph_kill_node(rw->g, id);
  rw->changes++;
  return PZ_OK;
}

pz_status pz_pass_fuse_activation(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
