/* alias_concat.c: a concatenation of channels whose inputs are written in place costs nothing.
 *
 * In place when it is along the channels' axis and every input is written by a kernel of its own (no graph input,
 * constant or view, which would be copied after all), is no graph output (those have the caller's storage), occurs
 * once, and lies in no other concatenation. The first concatenation in topological order wins. Whether the
 * offset of each input is a multiple of the vector width is the planner's question. */
#include "optimise/rewrite.h"

static int32_t count_in(const pz_node *concat, pz_tensor_id t) {
  int32_t count = 0;
  for (int32_t k = 0; k < concat->n_in; k++) count += concat->in[k] == t;
  return count;
}

/* Concatenations before `limit` have their answer already. */
static bool lies_in_earlier(const pz_graph *g, pz_tensor_id t, pz_node_id limit) {
  for (pz_node_id i = 0; i < limit; i++) {
    const pz_node *node = &g->nodes[i];
    if (node->op == PZ_OP_CONCAT && node->attr.concat.in_place && count_in(node, t) > 0) return true;
  }
  return false;
}

static bool can_alias(const pz_rewriter *rw, pz_node_id concat, pz_tensor_id t) {
  const pz_graph *g = rw->g;
  if (rw->producer[t] == PZ_NONE || pz_rewrite_is_view(g->nodes[rw->producer[t]].op)) return false;
  return !pz_graph_is_output(g, t) && count_in(&g->nodes[concat], t) == 1 && !lies_in_earlier(g, t, concat);
}

static bool can_be_in_place(const pz_rewriter *rw, pz_node_id id) {
  const pz_node *concat = &rw->g->nodes[id];
  if (concat->attr.concat.axis != 1 || concat->n_in < 2) return false;
  for (int32_t k = 0; k < concat->n_in; k++)
    if (!can_alias(rw, id, concat->in[k])) return false;
  return true;
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  pz_node *node = &rw->g->nodes[id];
  if (node->op != PZ_OP_CONCAT) return PZ_OK;
  bool in_place = can_be_in_place(rw, id);
  rw->changes += in_place != node->attr.concat.in_place;
  node->attr.concat.in_place = in_place;
  return PZ_OK;
}

pz_status pz_pass_alias_concat(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
