/* rewrite.c: looking around in the graph and small changes that passes are made of. */
#include "optimise/rewrite.h"
#include <string.h>

bool pz_rewrite_is_conv(const pz_node *node) { return node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV; }

bool pz_rewrite_is_view(pz_op op) {
  static const bool view[PZ_OP_COUNT] = {
      [PZ_OP_SLICE] = true, [PZ_OP_CROP] = true, [PZ_OP_RESHAPE] = true, [PZ_OP_IDENTITY] = true};
  return view[op];
}

bool pz_rewrite_fixed_or_absent(const pz_graph *g, pz_tensor_id t) {
  return t == PZ_NONE || g->tensors[t].data;
}

pz_node_id pz_rewrite_sole_producer(const pz_rewriter *rw, pz_tensor_id t) {
  return rw->uses[t] == 1 && !pz_graph_is_output(rw->g, t) ? rw->producer[t] : PZ_NONE;
}

static bool keeps_channels(const pz_graph *g, const pz_node *reshape) {
  const pz_shape *x = &g->tensors[reshape->in[0]].shape, *y = &g->tensors[reshape->out[0]].shape;
  return x->rank >= 2 && y->rank >= 2 && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1];
}

bool pz_rewrite_is_norm(const pz_node *node) {
  return node->op == PZ_OP_GROUP_NORM || node->op == PZ_OP_CHANNEL_NORM;
}

static bool is_open(const pz_node *node) {
  if (node->op == PZ_OP_GROUP_NORM) return node->attr.group_norm.act.kind == PZ_ACT_NONE;
  if (node->op == PZ_OP_CHANNEL_NORM) return node->attr.channel_norm.act.kind == PZ_ACT_NONE;
  return pz_rewrite_is_conv(node) && node->attr.conv.act.kind == PZ_ACT_NONE;
}

pz_node_id pz_rewrite_open_before(const pz_rewriter *rw, pz_tensor_id t) {
  const pz_graph *g = rw->g;
  pz_node_id id = pz_rewrite_sole_producer(rw, t);
  while (id != PZ_NONE && g->nodes[id].op == PZ_OP_RESHAPE && keeps_channels(g, &g->nodes[id]))
    id = pz_rewrite_sole_producer(rw, g->nodes[id].in[0]);
  return id != PZ_NONE && is_open(&g->nodes[id]) ? id : PZ_NONE;
}

const char *pz_rewrite_name(const pz_rewriter *rw, const char *base, const char *suffix) {
  const char *stem = pz_arena_printf(rw->g->arena, "%s/%s", base, suffix);
  return stem ? pz_graph_fresh_name(rw->g, stem) : NULL;
}

pz_status pz_rewrite_rename(pz_rewriter *rw, pz_tensor_id t) {
  const char *name = pz_rewrite_name(rw, rw->g->tensors[t].name, "fused");
  if (!name) return pz_fail_memory(rw->err, "a tensor's name", strlen(rw->g->tensors[t].name));
  return pz_graph_rename_tensor(rw->g, t, name, rw->err);
}

pz_status pz_rewrite_become(pz_rewriter *rw, pz_node_id id, const pz_node *as) {
  int32_t most = pz_op_get(as->op)->max_in, n_in = most < 0 ? as->n_in : most;
  pz_tensor_id *in = PZ_NEW(rw->g->arena, pz_tensor_id, n_in);
  if (!in) return pz_fail_memory(rw->err, "a layer's inputs", (size_t)n_in * sizeof *in);
  for (int32_t k = 0; k < n_in; k++) in[k] = pz_node_input(as, k);
  pz_node *node = &rw->g->nodes[id];
  node->op = as->op;
  node->attr = as->attr;
  node->in = in;
  node->n_in = n_in;
  rw->changes++;
  return PZ_OK;
}

pz_status pz_rewrite_set_in(pz_rewriter *rw, pz_node_id id, int slot, pz_tensor_id t) {
  pz_node *node = &rw->g->nodes[id];
  if (slot >= node->n_in) {
    pz_tensor_id *in = PZ_NEW(rw->g->arena, pz_tensor_id, (size_t)slot + 1);
    if (!in) return pz_fail_memory(rw->err, "a layer's inputs", ((size_t)slot + 1) * sizeof *in);
    for (int i = 0; i <= slot; i++) in[i] = pz_node_input(node, i);
    node->in = in;
    node->n_in = slot + 1;
  }
  node->in[slot] = t;
  return PZ_OK;
}

void pz_rewrite_redirect(pz_rewriter *rw, pz_tensor_id from, pz_tensor_id to) {
  pz_node *node = &rw->g->nodes[rw->producer[from]];
  for (int32_t k = 0; k < node->n_out; k++)
    if (node->out[k] == from) node->out[k] = to;
}

pz_status pz_rewrite_take_name(pz_rewriter *rw, pz_tensor_id t, pz_tensor_id of) {
  if (pz_graph_is_output(rw->g, of)) return PZ_OK;
  const char *name = rw->g->tensors[of].name, *other = pz_rewrite_name(rw, name, "reshape");
  if (!other) return pz_fail_memory(rw->err, "a tensor's name", strlen(name));
  PZ_TRY(pz_graph_rename_tensor(rw->g, of, other, rw->err));
  return pz_graph_rename_tensor(rw->g, t, name, rw->err);
}

pz_status pz_rewrite_absorb(pz_rewriter *rw, pz_node_id conv, pz_tensor_id from, pz_tensor_id to) {
  pz_tensor_id made = PZ_NONE;
  for (pz_node_id id = rw->producer[from]; id != conv; id = rw->producer[made])
    PZ_TRY(pz_rewrite_rename(rw, made = rw->g->nodes[id].in[0]));
  pz_rewrite_redirect(rw, from, to);
  return made == PZ_NONE ? PZ_OK : pz_rewrite_take_name(rw, made, to);
}

static void merge_borders(pz_tensor *into, const pz_tensor *from) {
  pz_border_need need;
  memcpy(need.lo, from->border_lo, sizeof need.lo);
  memcpy(need.hi, from->border_hi, sizeof need.hi);
  pz_border_widen(into, &need);
}

bool pz_rewrite_bypass(pz_rewriter *rw, pz_node_id id) {
  pz_graph *g = rw->g;
  pz_tensor_id x = g->nodes[id].in[0], y = g->nodes[id].out[0];
  if (!pz_graph_is_output(g, y)) {
    merge_borders(&g->tensors[x], &g->tensors[y]);
    pz_graph_replace_uses(g, y, x);
  } else if (rw->producer[x] != PZ_NONE && !pz_graph_is_output(g, x)) {
    merge_borders(&g->tensors[y], &g->tensors[x]);
    pz_rewrite_redirect(rw, x, y);
    pz_graph_replace_uses(g, x, y);
  } else {
    return false;
  }
  pz_graph_kill_node(g, id);
  rw->changes++;
  return true;
}
