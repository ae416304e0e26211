/* verify.c: the invariants of a graph. */
#include "graph/internal.h"
#include <string.h>

/* What is known of each tensor while the nodes are walked in their order. */
enum { MISSING, READY, LATER };

static pz_status check_border(const pz_tensor *t, pz_error *err) {
  pz_shape stored = t->shape;
  for (int32_t i = 0; i < PZ_SPATIAL; i++) {
    int32_t axis = t->shape.rank - PZ_SPATIAL + i;
    int64_t border = (int64_t)t->border_lo[i] + t->border_hi[i];
    if (t->border_lo[i] < 0 || t->border_hi[i] < 0 || (axis < 2 && border > 0))
      return pz_fail(err, PZ_ERROR_INPUT, "tensor '%s' %s: bad border %d:%d along %c", t->name,
                     PZ_SHAPE(&t->shape), (int)t->border_lo[i], (int)t->border_hi[i], "zyx"[i]);
    if (axis >= 2) stored.dim[axis] += border;
  }
  if (!pz_shape_valid(&stored, NULL))
    return pz_fail(err, PZ_ERROR_INPUT, "tensor '%s' %s: with its border it is %s, too large", t->name,
                   PZ_SHAPE(&t->shape), PZ_SHAPE(&stored));
  return PZ_OK;
}

static pz_status check_element(const pz_tensor *t, pz_error *err) {
  char text[PZ_ELEMENT_TEXT];
  if (!pz_element_valid(pz_tensor_element(t)))
    return pz_fail(err, PZ_ERROR_INPUT, "tensor '%s': elements are not %s: " PZ_ELEMENTS_IN_WORDS, t->name,
                   pz_element_text(pz_tensor_element(t), text));
  if (!pz_type_of_tensors(t->wanted))
    return pz_fail(err, PZ_ERROR_INPUT, "tensor '%s' is wanted as %s: " PZ_TYPES_IN_WORDS, t->name,
                   (unsigned)t->wanted < PZ_DTYPES ? pz_dtype_name(t->wanted) : "an unknown type");
  if (t->data && t->type != PZ_F32)
    return pz_fail(err, PZ_ERROR_INPUT, "tensor '%s': a constant is f32, not %s", t->name,
                   pz_dtype_name(t->type));
  return PZ_OK;
}

static pz_status check_tensor(const pz_graph *g, pz_tensor_id id, pz_error *err) {
  const pz_tensor *t = &g->tensors[id];
  if (!t->name || !*t->name)
    return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': tensor %d has no name", g->name, (int)id);
  if (pz_graph_find_tensor(g, t->name) != id)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "graph '%s': there are two tensors named '%s', or it was renamed behind the graph",
                   g->name, t->name);
  if (!pz_shape_valid(&t->shape, NULL))
    return pz_fail(err, PZ_ERROR_INPUT, "tensor '%s': bad shape %s", t->name, PZ_SHAPE(&t->shape));
  PZ_TRY(check_element(t, err));
  return check_border(t, err);
}

static pz_status check_input(const pz_graph *g, pz_tensor_id id, uint8_t *state, pz_error *err) {
  if (id < 0 || id >= g->n_tensors)
    return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': input %d is no tensor", g->name, (int)id);
  if (state[id] != MISSING)
    return pz_fail(err, PZ_ERROR_INPUT, "input '%s' is given twice, or a constant too", g->tensors[id].name);
  state[id] = READY;
  return PZ_OK;
}

static pz_status mark_outputs(const pz_graph *g, const pz_node *node, uint8_t *state, pz_error *err) {
  if (pz_graph_find_node(g, node->name) != (pz_node_id)(node - g->nodes))
    return pz_fail_node(err, node, "there are two layers of this name");
  for (int32_t i = 0; i < node->n_out; i++) {
    if (node->out[i] < 0 || node->out[i] >= g->n_tensors)
      return pz_fail_node(err, node, "its output %d is no tensor of the graph", (int)i);
    if (state[node->out[i]] != MISSING)
      return pz_fail_node(err, node, "its output '%s' is made by another layer, too",
                          g->tensors[node->out[i]].name);
    state[node->out[i]] = LATER;
  }
  return PZ_OK;
}

static pz_status check_ready(const pz_graph *g, const pz_node *node, const uint8_t *state, pz_error *err) {
  for (int32_t i = 0; i < node->n_in; i++) {
    pz_tensor_id id = node->in[i];
    if (id < 0 || id >= g->n_tensors || state[id] == READY)
      continue; /* pz_node_infer has a word on bad ids */
    const char *what =
        state[id] == LATER ? "is made later: there is a cycle, or the order is wrong" : "is made by no layer";
    return pz_fail_node(err, node, "its input '%s' %s", g->tensors[id].name, what);
  }
  return PZ_OK;
}

static pz_status check_node(const pz_graph *g, const pz_node *node, pz_shape *shapes, uint8_t *state,
                            pz_error *err) {
  PZ_TRY(check_ready(g, node, state, err));
  pz_element element;
  PZ_TRY(pz_node_infer(g, node, shapes, err));
  PZ_TRY(pz_infer_element(g, node, &element, err));
  for (int32_t i = 0; i < node->n_out; i++) {
    const pz_tensor *t = &g->tensors[node->out[i]];
    if (!pz_shape_equal(&shapes[i], &t->shape))
      return pz_fail_node(err, node, "its output '%s' is %s, but its inputs make it %s", t->name,
                          PZ_SHAPE(&t->shape), PZ_SHAPE(&shapes[i]));
    char is[PZ_ELEMENT_TEXT], made[PZ_ELEMENT_TEXT];
    if (!pz_element_equal(element, pz_tensor_element(t)))
      return pz_fail_node(err, node, "its output '%s' is %s, but the layer makes it %s", t->name,
                          pz_element_text(pz_tensor_element(t), is), pz_element_text(element, made));
    state[node->out[i]] = READY;
  }
  return PZ_OK;
}

static pz_status check_outputs(const pz_graph *g, const uint8_t *state, pz_error *err) {
  if (!g->n_outputs) return pz_fail(err, PZ_ERROR_INPUT, "graph '%s' has no output", g->name);
  for (int32_t i = 0; i < g->n_outputs; i++) {
    pz_tensor_id id = g->outputs[i];
    if (id < 0 || id >= g->n_tensors)
      return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': output %d is no tensor", g->name, (int)id);
    if (state[id] != READY)
      return pz_fail(err, PZ_ERROR_INPUT, "output '%s' of graph '%s' is made by no layer",
                     g->tensors[id].name, g->name);
  }
  return PZ_OK;
}

static int32_t most_outputs(const pz_graph *g) {
  int32_t most = 1;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (g->nodes[n].n_out > most) most = g->nodes[n].n_out;
  return most;
}

static pz_status check_graph(const pz_graph *g, pz_arena *scratch, pz_error *err) {
  uint8_t *state = scratch ? PZ_NEW(scratch, uint8_t, g->n_tensors) : NULL;
  pz_shape *shapes = scratch ? PZ_NEW(scratch, pz_shape, most_outputs(g)) : NULL;
  if (!state || !shapes) return pz_fail_memory(err, "checking a graph", (unsigned long long)g->n_tensors);
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) {
    PZ_TRY(check_tensor(g, t, err));
    if (g->tensors[t].data) state[t] = READY;
  }
  for (int32_t i = 0; i < g->n_inputs; i++) PZ_TRY(check_input(g, g->inputs[i], state, err));
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (g->nodes[n].op != PZ_OP_NONE) PZ_TRY(mark_outputs(g, &g->nodes[n], state, err));
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (g->nodes[n].op != PZ_OP_NONE) PZ_TRY(check_node(g, &g->nodes[n], shapes, state, err));
  return check_outputs(g, state, err);
}

pz_status pz_graph_verify(const pz_graph *g, pz_error *err) {
  pz_arena *scratch = pz_arena_new();
  pz_status status = check_graph(g, scratch, err);
  pz_arena_free(scratch);
  return status;
}
