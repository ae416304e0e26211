/* type_ports.c: inputs and outputs come to have the element types that the caller wants (pz_graph_want_type). Layers take and give floats:
 * a cast behind the input reads what the caller gives, and a cast in front of the output makes what he wants. An argmax over channels gives bytes
 * itself where they suffice.
 *
 * Names of inputs and outputs stay with them: an output that is cast is another tensor than the one that its layer makes, which
 * gets a new name. */
#include "optimise/rewrite.h"

static void retype(pz_tensor *t) {
  t->type = t->wanted;
  t->scale = 1;
  t->zero_point = 0;
}

/* A cast of x, behind all nodes. */
static pz_status add_cast(pz_rewriter *rw, pz_tensor_id x, pz_dtype to, const char *name, pz_tensor_id *y) {
  pz_node cast = pz_node_new(PZ_OP_CAST);
  cast.name = name;
  cast.n_in = 1;
  cast.in = &x;
  cast.attr.cast.to = to;
  if (rw->producer[x] != PZ_NONE) cast.place = rw->g->nodes[rw->producer[x]].place;
  if (!name) return pz_fail_memory(rw->err, "a layer's name", 0);
  rw->changes++;
  return pz_graph_add_node(rw->g, &cast, 1, &name, y, rw->err);
}

/* What reads an input of another type than floats are casts, which take any. */
static pz_status type_input(pz_rewriter *rw, pz_tensor_id x) {
  pz_graph *g = rw->g;
  const bool read = pz_graph_count_uses(g, x) > pz_graph_is_output(g, x);
  pz_tensor_id floats;
  if (g->tensors[x].type != PZ_F32 || !read) {
    retype(&g->tensors[x]);
    rw->changes++;
    return PZ_OK;
  }
  const pz_node_id before = g->n_nodes;
  PZ_TRY(add_cast(rw, x, PZ_F32, pz_rewrite_name(rw, g->tensors[x].name, "f32"), &floats));
  for (pz_node_id n = 0; n < before; n++)
    for (int32_t i = 0; g->nodes[n].op != PZ_OP_NONE && i < g->nodes[n].n_in; i++)
      if (g->nodes[n].in[i] == x) g->nodes[n].in[i] = floats;
  retype(&g->tensors[x]);
  return PZ_OK;
}

/* Whoever makes the output makes it of the wanted type, and nothing else reads it. */
static bool made_so(pz_rewriter *rw, pz_tensor_id y) {
  const pz_tensor *t = &rw->g->tensors[y];
  if (rw->producer[y] == PZ_NONE || pz_graph_count_uses(rw->g, y) > 1) return false;
  pz_node *node = &rw->g->nodes[rw->producer[y]];
  if (node->op == PZ_OP_CAST) {
    node->attr.cast = (pz_attr_cast){t->wanted, 1, 0};
    return true;
  }
  if (node->op != PZ_OP_ARGMAX || node->attr.argmax.axis != 1 || t->wanted != PZ_U8) return false;
  if (rw->g->tensors[node->in[0]].shape.dim[1] > 256) return false;
  node->attr.argmax.to = PZ_U8;
  return true;
}

static pz_status type_output(pz_rewriter *rw, int32_t port) {
  pz_graph *g = rw->g;
  const pz_tensor_id y = g->outputs[port];
  const char *name = g->tensors[y].name, *inner;
  const pz_dtype wanted = g->tensors[y].wanted;
  pz_tensor_id cast;
  if (made_so(rw, y)) {
    retype(&g->tensors[y]);
    rw->changes++;
    return PZ_OK;
  }
  inner = pz_rewrite_name(rw, name, pz_dtype_name(g->tensors[y].type));
  if (!inner) return pz_fail_memory(rw->err, "a tensor's name", 0);
  PZ_TRY(add_cast(rw, y, wanted, pz_rewrite_name(rw, name, "cast"), &cast));
  PZ_TRY(pz_graph_rename_tensor(g, y, inner, rw->err));
  PZ_TRY(pz_graph_rename_tensor(g, cast, name, rw->err));
  g->tensors[y].wanted = g->tensors[y].type;
  g->outputs[port] = cast;
  return PZ_OK;
}

static bool is_as_wanted(const pz_graph *g, pz_tensor_id t) {
  return g->tensors[t].type == g->tensors[t].wanted;
}

static pz_status type_ports(pz_rewriter *rw) {
  const pz_graph *g = rw->g;
  for (int32_t i = 0; i < g->n_inputs; i++)
    if (!is_as_wanted(g, g->inputs[i])) PZ_TRY(type_input(rw, g->inputs[i]));
  PZ_TRY(pz_rewriter_reindex(rw));
  for (int32_t i = 0; i < g->n_outputs; i++) {
    if (is_as_wanted(g, g->outputs[i])) continue;
    PZ_TRY(type_output(rw, i));
    PZ_TRY(pz_rewriter_reindex(rw));
  }
  return PZ_OK;
}

pz_status pz_pass_type_ports(pz_graph *g, int *changes, pz_error *err) {
  pz_rewriter rw;
  pz_status status = pz_rewriter_begin(&rw, g, err);
  if (status == PZ_OK) status = type_ports(&rw);
  return pz_rewriter_end(&rw, status, changes);
}
