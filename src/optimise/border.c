/* border.c: zero borders of stored tensors (PZnet 3.5, padding transformation).
 *
 * A tensor's border is a property of its storage; the values of the graph never depend on it. Who stores:
 *  - an input of a concatenation in place lies in the concatenation's storage and has its border. The pass
 *    pad-outputs hands such needs up, so that the border is at least as wide in the whole as in the part. Where the
 *    planner cannot alias (a channel offset that is no multiple of the vector width), the part's own border holds;
 *  - a view (slice, crop, reshape, identity) lies in its input's storage, where real values or another tensor's
 *    border may be around it: its border counts as none, whatever its tensor says, and consumers that
 *    need one get a padded copy;
 *  - constants have none;
 *  - graph inputs are converted to the inner layout at entry, and everything else is written by a kernel: both
 *    write a border for nothing. */
#include "optimise/rewrite.h"

pz_border_need pz_border_of(const pz_graph *g, const pz_node *node) {
  pz_border_need need = {{0}, {0}};
  if (pz_rewrite_is_conv(node)) pz_node_input_border(g, node, need.lo, need.hi);
  return need;
}

static bool is_empty(const pz_border_need *need) {
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (need->lo[i] > 0 || need->hi[i] > 0) return false;
  return true;
}

static bool stored_with(const pz_tensor *t, const pz_border_need *need) {
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (t->border_lo[i] < need->lo[i] || t->border_hi[i] < need->hi[i]) return false;
  return true;
}

/* The concatenation in place that t lies in, or PZ_NONE. */
static pz_tensor_id whole_of(const pz_graph *g, pz_tensor_id t) {
  for (int32_t i = 0; i < g->n_nodes; i++) {
    const pz_node *node = &g->nodes[i];
    if (node->op != PZ_OP_CONCAT || !node->attr.concat.in_place) continue;
    for (int32_t k = 0; k < node->n_in; k++)
      if (node->in[k] == t) return node->out[0];
  }
  return PZ_NONE;
}

bool pz_border_has(const pz_graph *g, pz_tensor_id t, const pz_border_need *need) {
  if (is_empty(need)) return true;
  pz_node_id producer = pz_graph_producer(g, t);
  if (g->tensors[t].data || (producer != PZ_NONE && pz_rewrite_is_view(g->nodes[producer].op))) return false;
  for (; t != PZ_NONE; t = whole_of(g, t))
    if (!stored_with(&g->tensors[t], need)) return false;
  return true;
}

static bool widen(int32_t *border, int32_t need) {
  if (*border >= need) return false;
  *border = need;
  return true;
}

bool pz_border_widen(pz_tensor *t, const pz_border_need *need) {
  bool changed = false;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    changed |= widen(&t->border_lo[i], need->lo[i]);
    changed |= widen(&t->border_hi[i], need->hi[i]);
  }
  return changed;
}

bool pz_border_writable(const pz_rewriter *rw, pz_tensor_id t) {
  if (rw->g->tensors[t].data) return false;
  return rw->producer[t] == PZ_NONE || !pz_rewrite_is_view(rw->g->nodes[rw->producer[t]].op);
}

bool pz_borders_sufficient(const pz_graph *g) {
  for (int32_t i = 0; i < g->n_nodes; i++) {
    pz_border_need need = pz_border_of(g, &g->nodes[i]);
    if (!pz_border_has(g, g->nodes[i].in ? g->nodes[i].in[0] : PZ_NONE, &need)) return false;
  }
  return true;
}
