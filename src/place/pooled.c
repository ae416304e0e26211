/* pooled.c: which pooling is done by the convolution whose result it reads. */
#include "place/place.h"

pz_node_id pz_pooling_of(const pz_plan *plan, pz_node_id n) {
  const pz_query q = pz_query_of(plan, n);
  const pz_solver *solver = pz_chosen(plan, n);
  if (!q.problem->epilogue.pools || !solver->pools || !solver->pools(&q)) return PZ_NONE;
  return pz_told_pooling(plan->graph, q.problem, n);
}

pz_node_id pz_pooled_by(const pz_plan *plan, pz_node_id n) {
  const pz_node *node = &plan->graph->nodes[n];
  const pz_node_id maker = node->op == PZ_OP_POOL ? pz_graph_producer(plan->graph, node->in[0]) : PZ_NONE;
  return maker != PZ_NONE && pz_pooling_of(plan, maker) == n ? maker : PZ_NONE;
}

pz_status pz_add_pooled_border(pz_plan *plan, pz_step *step, pz_node_id n, pz_error *err) {
  const pz_node_id pool = pz_pooling_of(plan, n);
  if (pool == PZ_NONE) return PZ_OK;
  pz_builder b = pz_builder_of(plan, step);
  return pz_add_border_call(&b, pz_input_storage(plan, plan->graph->nodes[pool].out[0], PZ_NCHWC), err);
}
