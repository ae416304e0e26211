/* channels_last.c: which tensors lie channels-last (kernels/view.h): where a fifth of their blocks at least would be empty, and all that make and read them
 * know it. Tensors that may get each other's storage are a family, of one kind. */
#include "place/bands.h"

#define IMPOSSIBLE (-1)
#define ALIGN      4 /* lanes */

static bool reads_channels_last(const pz_plan *plan, pz_node_id n, pz_tensor_id id) {
  const pz_node *node = &plan->graph->nodes[n];
  for (int32_t i = 0; i < node->n_in; i++)
    if (node->in[i] == id &&
        (!(pz_chosen(plan, n)->caps & PZ_CAP_CHANNELS_LAST) || pz_wanted_layout(plan, n, i) != PZ_NCHWC))
      return false;
  return true;
}

/* Lanes of a point of the tensor by itself, or IMPOSSIBLE. */
static int32_t lanes_of(const pz_plan *plan, pz_tensor_id id) {
  const pz_graph *g = plan->graph;
  const pz_node_id maker = pz_graph_producer(g, id);
  if (maker == PZ_NONE || pz_graph_is_output(g, id) || plan->alias_parent[id] != PZ_NONE) return IMPOSSIBLE;
  if (!(pz_chosen(plan, maker)->caps & PZ_CAP_CHANNELS_LAST) || pz_chosen(plan, maker)->out != PZ_NCHWC)
    return IMPOSSIBLE;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (!reads_channels_last(plan, n, id)) return IMPOSSIBLE;
  return (int32_t)((pz_shape_as5(&g->tensors[id].shape).c + ALIGN - 1) / ALIGN * ALIGN);
}

/* The input whose storage node n's result may get (pz_make_in_place, pz_shifted_storage); PZ_NONE: there is none. */
static pz_tensor_id replaced_by(const pz_plan *plan, pz_node_id n) {
  const pz_node *node = &plan->graph->nodes[n];
  const bool conv = node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV;
  const pz_tensor_id x = conv         ? node->in[PZ_CONV_RESIDUAL]
                         : node->n_in ? node->in[0]
                                      : PZ_NONE,
                     y = node->out[0];
  if (pz_may_be_inplace(plan, n)) return node->in[PZ_CONV_X];
  if (x == PZ_NONE || !pz_may_replace(plan, x, y)) return PZ_NONE;
  return pz_shape_equal(&plan->graph->tensors[x].shape, &plan->graph->tensors[y].shape) ? x : PZ_NONE;
}

/* To the first of a family, then to all of it. */
void pz_choose_channels_last(pz_plan *plan) {
  const pz_graph *g = plan->graph;
  pz_extent *extents = plan->extents;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) extents[t].lanes = IMPOSSIBLE;
  for (pz_tensor_id t = 0; t < g->n_tensors && plan->target.block == 16; t++)
    extents[t].lanes = lanes_of(plan, t);
  for (pz_node_id n = g->n_nodes - 1; n >= 0; n--) {
    const pz_tensor_id x = replaced_by(plan, n), y = g->nodes[n].out[0];
    if (x == PZ_NONE || extents[x].lanes == IMPOSSIBLE) continue;
    if (extents[y].lanes == IMPOSSIBLE || extents[y].lanes > extents[x].lanes)
      extents[x].lanes = extents[y].lanes;
  }
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_tensor_id x = replaced_by(plan, n);
    if (x != PZ_NONE) extents[g->nodes[n].out[0]].lanes = extents[x].lanes;
  }
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) {
    const int64_t blocks = pz_block_count(extents[t].lanes, plan->target.block);
    if (extents[t].lanes == IMPOSSIBLE || 5 * extents[t].lanes > 4 * plan->target.block * blocks)
      extents[t].lanes = 0;
  }
}
