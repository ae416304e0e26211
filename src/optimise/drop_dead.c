/* drop_dead.c: removes layers none of whose results is used. */
#include "optimise/rewrite.h"

static bool is_dead(const pz_rewriter *rw, const pz_node *node) {
  for (int32_t k = 0; k < node->n_out; k++)
    if (rw->uses[node->out[k]] > 0) return false;
  return true;
}

/* Backwards, so that what only a dead layer used is dead when it is reached. */
pz_status pz_pass_drop_dead(pz_graph *g, int *changes, pz_error *err) {
  pz_rewriter rw;
  pz_status status = pz_rewriter_begin(&rw, g, err);
  for (pz_node_id id = g->n_nodes - 1; status == PZ_OK && id >= 0; id--) {
    const pz_node *node = &g->nodes[id];
    if (node->op == PZ_OP_NONE || !is_dead(&rw, node)) continue;
    for (int32_t k = 0; k < node->n_in; k++)
      if (node->in[k] != PZ_NONE) rw.uses[node->in[k]]--;
    pz_graph_kill_node(g, id);
    rw.changes++;
  }
  return pz_rewriter_end(&rw, status, changes);
}
