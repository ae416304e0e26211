/* normed.c: which normalisation is done by the convolution that reads its result: what it normalises stays as it lies, and a step makes the factors
 * alone. That spares a pass over the tensor. Nothing else may read either tensor, so that none is overwritten before it is read. */
#include "place/place.h"

/* The only reader of a tensor, at that slot; PZ_NONE: there are others, or it leaves the network. */
static pz_node_id only_reader(const pz_plan *plan, pz_tensor_id id, int32_t slot) {
  const pz_graph *g = plan->graph;
  pz_node_id reader = PZ_NONE;
  if (pz_graph_is_output(g, id) || pz_graph_count_uses(g, id) != 1) return PZ_NONE;
  for (pz_node_id n = 0; n < g->n_nodes && reader == PZ_NONE; n++)
    if (slot < g->nodes[n].n_in && g->nodes[n].in[slot] == id) reader = n;
  return reader;
}

/* Written whole, where it is made, in blocks. */
static bool lies_alone(const pz_plan *plan, pz_tensor_id id) {
  const pz_node_id maker = pz_graph_producer(plan->graph, id);
  return maker != PZ_NONE && pz_chosen(plan, maker)->out == PZ_NCHWC && plan->alias_parent[id] == PZ_NONE;
}

pz_node_id pz_normed_by(const pz_plan *plan, pz_node_id n) {
  const pz_node *node = &plan->graph->nodes[n];
  if (node->op != PZ_OP_GROUP_NORM || !pz_chosen(plan, n)->factors ||
      node->in[PZ_GROUP_NORM_SLOPE] != PZ_NONE || plan->search != PZ_SEARCH_GLOBAL ||
      plan->fuse_rows == PZ_FUSE_ROWS_ALWAYS)
    return PZ_NONE;
  if (only_reader(plan, node->in[PZ_GROUP_NORM_X], PZ_GROUP_NORM_X) != n ||
      !lies_alone(plan, node->in[PZ_GROUP_NORM_X]) || plan->alias_parent[node->out[0]] != PZ_NONE)
    return PZ_NONE;
  const pz_node_id reader = only_reader(plan, node->out[0], PZ_CONV_X);
  if (reader == PZ_NONE || plan->graph->nodes[reader].op != PZ_OP_CONV) return PZ_NONE;
  const pz_query q = pz_query_of(plan, reader);
  const pz_solver *solver = pz_chosen(plan, reader);
  return solver->normalises && solver->normalises(&q, &node->attr.group_norm.act) ? reader : PZ_NONE;
}

pz_node_id pz_norm_of(const pz_plan *plan, pz_node_id n) {
  const pz_node *node = &plan->graph->nodes[n];
  if (node->op != PZ_OP_CONV) return PZ_NONE;
  const pz_node_id norm = pz_graph_producer(plan->graph, node->in[PZ_CONV_X]);
  return norm != PZ_NONE && pz_normed_by(plan, norm) == n ? norm : PZ_NONE;
}

pz_status pz_add_norm_factors(pz_plan *plan, pz_node_id n, pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  const pz_query q = pz_query_of(plan, n);
  const pz_tensor_id x = node->in[PZ_GROUP_NORM_X], y = node->out[0];
  pz_step *step = NULL;
  PZ_TRY(pz_ensure_layout(plan, x, PZ_NCHWC, err));
  const pz_storage in = *pz_input_storage(plan, x, PZ_NCHWC);
  PZ_TRY(pz_new_step(plan, node->name, pz_op_name(node->op), n, &step, err));
  const pz_placed placed = {.in = &in, .norm_stats = plan->norm_stats[x], .pooled = {.tensor = PZ_NONE}};
  pz_builder b = pz_builder_of(plan, step);
  PZ_TRY(pz_chosen(plan, n)->factors(&q, &placed, &b, &plan->pending[y], err));
  return pz_make_view(plan, y, PZ_NCHWC, &in, err);
}
