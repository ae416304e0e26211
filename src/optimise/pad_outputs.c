/* pad_outputs.c: padding transformation (PZnet 3.5): producers write padded outputs, and the explicit padding goes.
 * The border is as wide as the widest need of all consumers; those that need less read from further inside. */
#include "optimise/rewrite.h"
#include <string.h>

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  if (node->op != PZ_OP_BORDER_COPY || !pz_border_writable(rw, node->in[0])) return PZ_OK;
  pz_rewrite_bypass(rw, id); /* which hands the border over */
  return PZ_OK;
}

/* A part lies in the storage of the whole, so the whole needs the part's border. Nodes are in topological order:
 * parts of parts come first. */
static int widen_concats(pz_graph *g) {
  int changes = 0;
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const pz_node *node = &g->nodes[i];
    if (node->op != PZ_OP_CONCAT || !node->attr.concat.in_place) continue;
    for (int32_t k = 0; k < node->n_in; k++) {
      const pz_tensor *part = &g->tensors[node->in[k]];
      pz_border_need need;
      memcpy(need.lo, part->border_lo, sizeof need.lo);
      memcpy(need.hi, part->border_hi, sizeof need.hi);
      changes += pz_border_widen(&g->tensors[node->out[0]], &need);
    }
  }
  return changes;
}

pz_status pz_pass_pad_outputs(pz_graph *g, int *changes, pz_error *err) {
  PZ_TRY(pz_rewrite_each(g, visit, changes, err));
  *changes += widen_concats(g);
  return PZ_OK;
}
