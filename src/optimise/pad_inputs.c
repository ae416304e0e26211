/* pad_inputs.c: explicit padding (PZnet 3.5): convolutions read a zero border around their input and no position
 * outside of storage. Where the input's storage has no such border, they read a padded copy, which all that
 * read the same tensor share; its border is as wide as the widest need. */
#include "optimise/rewrite.h"

static pz_node_id find_pad(const pz_rewriter *rw, pz_tensor_id x) {
  if (rw->producer[x] != PZ_NONE && rw->g->nodes[rw->producer[x]].op == PZ_OP_BORDER_COPY)
    return rw->producer[x];
  for (pz_node_id i = 0; i < rw->g->n_nodes; i++)
    if (rw->g->nodes[i].op == PZ_OP_BORDER_COPY && rw->g->nodes[i].in[0] == x) return i;
  return PZ_NONE;
}

/* In front of node `reader`, which is the next one then: the order of the layers decides what lives at a time. */
static pz_status make_pad(pz_rewriter *rw, pz_node_id reader, pz_tensor_id *padded) {
  const pz_tensor_id x = rw->g->nodes[reader].in[0];
  const char *name = pz_rewrite_name(rw, rw->g->tensors[x].name, "pad");
  if (!name) return pz_fail_memory(rw->err, "a layer's name", 0);
  const pz_node pad = {.name = name,
                       .op = PZ_OP_BORDER_COPY,
                       .n_in = 1,
                       .in = (pz_tensor_id[]){x},
                       .place = rw->g->nodes[reader].place};
  PZ_TRY(pz_graph_add_node(rw->g, &pad, 1, &name, padded, rw->err));
  pz_graph_move_node(rw->g, rw->g->n_nodes - 1, reader);
  return PZ_OK;
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  pz_border_need need = pz_border_of(rw->g, node);
  if (node->n_in == 0 || pz_border_has(rw->g, node->in[0], &need)) return PZ_OK;
  pz_node_id pad = find_pad(rw, node->in[0]);
  pz_tensor_id padded;
  if (pad != PZ_NONE) padded = rw->g->nodes[pad].out[0];
  else PZ_TRY(make_pad(rw, id++, &padded));
  pz_border_widen(&rw->g->tensors[padded], &need);
  rw->g->nodes[id].in[0] = padded;
  rw->changes++;
  return PZ_OK;
}

pz_status pz_pass_pad_inputs(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
