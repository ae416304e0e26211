/* restore_channel_norm.c: layer normalisation over channels as exporters write it: a permutation that puts the channels last, a
 * reshape to rows of channels, a group_norm of one group. It is a channel_norm of what is permuted, then the permutation and the
 * reshape; the permutation then often meets its inverse. */
#include "optimise/match.h"
#include <string.h>

/* Dimensions keep their order, but the channels, dimension 1, come last. */
static bool puts_channels_last(const pz_shape *x, const int32_t *order) {
  for (int32_t i = 0; i < x->rank; i++)
    if (order[i] != (i == 0 ? 0 : i == x->rank - 1 ? 1 : i + 1)) return false;
  return x->rank > 2;
}

/* The permutation whose channels the node normalises row by row; NULL for none. */
static const pz_node *permutation_before(const pz_rewriter *rw, const pz_node *norm) {
  const pz_graph *g = rw->g;
  const pz_shape *rows = &g->tensors[norm->in[0]].shape;
  const pz_node *reshape = pz_match_producer(rw, norm->in[0], PZ_OP_RESHAPE);
  const pz_node *permute = reshape ? pz_match_producer(rw, reshape->in[0], PZ_OP_PERMUTE) : NULL;
  if (!permute || rows->rank != 2 || norm->attr.group_norm.groups != 1) return NULL;
  const pz_shape *x = &g->tensors[permute->in[0]].shape;
  return rows->dim[1] == x->dim[1] && puts_channels_last(x, permute->attr.permute.order) ? permute : NULL;
}

static pz_status add(pz_rewriter *rw, pz_node *node, pz_node_id behind, const char *suffix,
                     pz_tensor_id *out) {
  const char *names[1] = {pz_rewrite_name(rw, rw->g->tensors[rw->g->nodes[behind].out[0]].name, suffix)};
  node->name = pz_rewrite_name(rw, rw->g->nodes[behind].name, suffix);
  node->place = rw->g->nodes[behind].place;
  if (!names[0] || !node->name) return pz_fail_memory(rw->err, "a layer's name", strlen(suffix));
  return pz_graph_add_node(rw->g, node, 1, names, out, rw->err);
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_node *norm = &rw->g->nodes[id];
  const pz_node *permute = norm->op == PZ_OP_GROUP_NORM ? permutation_before(rw, norm) : NULL;
  if (!permute) return PZ_OK;
  const pz_attr_group_norm *a = &norm->attr.group_norm;
  pz_tensor_id in[PZ_GROUP_NORM_INPUTS], x;
  pz_node now = pz_node_new(PZ_OP_CHANNEL_NORM), turned = pz_node_new(PZ_OP_PERMUTE),
          rows = pz_node_new(PZ_OP_RESHAPE);
  memcpy(in, norm->in, sizeof in);
  in[PZ_GROUP_NORM_X] = permute->in[0];
  now.n_in = PZ_GROUP_NORM_INPUTS, now.in = in;
  now.attr.channel_norm = (pz_attr_channel_norm){a->eps, a->act};
  turned.attr.permute = permute->attr.permute;
  turned.n_in = rows.n_in = 1, turned.in = rows.in = &x;
  PZ_TRY(add(rw, &now, id, "channels", &x));
  PZ_TRY(add(rw, &turned, id, "permute", &x));
  rows.attr.reshape.shape = rw->g->tensors[rw->g->nodes[id].out[0]].shape;
  return pz_rewrite_become(rw, id, &rows);
}

pz_status pz_pass_restore_channel_norm(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
