/* emit.c: nodes and constants of the graph. */
#include "import/onnx/onnx.h"
#include "import/least_memory.h"
#include <string.h>

static bool taken(const pz_onnx *c, const char *name) {
  return pz_graph_find_node(c->graph, name) != PZ_NONE || pz_graph_find_tensor(c->graph, name) != PZ_NONE ||
         pz_onnx_find_value(c, name) >= 0;
}

/* Hostile names could make this search long: after a while names have random digits. */
const char *pz_onnx_fresh_name(pz_onnx *c, const char *stem) {
  const char *name = stem;
  uint32_t suffix = 1;
  for (int32_t tries = 0; name && taken(c, name); tries++) {
    suffix = tries < 64 ? suffix + 1 : suffix * 1664525u + 1013904223u;
    name = pz_arena_printf(c->arena, "%s_%u", stem, (unsigned)suffix);
  }
  return name;
}

/* A node's name is one that no node has; values may have it. */
static const char *fresh_node(pz_onnx *c, const char *stem) {
  return stem && pz_graph_find_node(c->graph, stem) == PZ_NONE ? stem : pz_onnx_fresh_name(c, stem);
}

/* A tensor's name, until it becomes a value's. */
static const char *tensor_name(pz_onnx *c, const char *part, int32_t i) {
  const char *stem = i ? pz_arena_printf(c->arena, "%s.%s.%d", c->node_name, part, (int)i)
                       : pz_arena_printf(c->arena, "%s.%s", c->node_name, part);
  return stem ? pz_onnx_fresh_name(c, stem) : NULL;
}

static pz_status add(pz_onnx *c, pz_node *node, const char *part, int32_t n_out, pz_tensor_id *out) {
  const char **names = PZ_NEW(c->arena, const char *, n_out);
  const bool first = strcmp(part, "reshape") && pz_graph_find_node(c->graph, c->node_name) == PZ_NONE;
  const char *stem = first ? c->node_name : pz_arena_printf(c->arena, "%s.%s", c->node_name, part);
  node->name = stem ? fresh_node(c, stem) : NULL;
  if (!names || !node->name) return pz_onnx_no_memory(c);
  for (int32_t i = 0; i < n_out; i++)
    if (!(names[i] = tensor_name(c, part, i))) return pz_onnx_no_memory(c);
  node->place = (pz_place){.file = c->file};
  PZ_TRY(pz_graph_add_node(c->graph, node, n_out, names, out, c->err));
  if (c->folding.on) return PZ_OK; /* a graph of its own, of constants */
  return pz_import_ask(c->graph, &c->graph->nodes[c->graph->n_nodes - 1], pz_onnx_constants(c),
                       pz_onnx_memory(c), c->err);
}

pz_status pz_onnx_add(pz_onnx *c, pz_node *node, const char *part, int32_t n_in, const pz_tensor_id *in,
                      pz_tensor_id *out) {
  node->n_in = n_in;
  node->in = (pz_tensor_id *)(uintptr_t)in; /* copied by the graph */
  return add(c, node, part, 1, out);
}

pz_status pz_onnx_add_many(pz_onnx *c, pz_node *node, const char *part, pz_tensor_id in, int32_t n_out,
                           pz_tensor_id *out) {
  node->n_in = 1;
  node->in = &in;
  return add(c, node, part, n_out, out);
}

pz_status pz_onnx_apply(pz_onnx *c, pz_node *node, const char *part, pz_tensor_id *x) {
  const pz_tensor_id in = *x;
  return pz_onnx_add(c, node, part, 1, &in, x);
}

pz_status pz_onnx_add_constant(pz_onnx *c, const char *part, const pz_shape *shape, const float *data,
                               pz_tensor_id *id) {
  const char *name = tensor_name(c, part, 0);
  if (!name) return pz_onnx_no_memory(c);
  PZ_TRY(pz_onnx_take_elements(c, name, pz_onnx_elements(shape)));
  return pz_graph_add_constant(c->graph, name, shape, data, id, c->err);
}

pz_status pz_onnx_simple(pz_onnx *c, pz_node *node) {
  pz_tensor_id x;
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  PZ_TRY(pz_onnx_apply(c, node, "result", &x));
  return pz_onnx_give(c, 0, x, pz_onnx_type_in(c));
}

pz_status pz_onnx_reshape_to(pz_onnx *c, const pz_shape *shape, pz_tensor_id *x) {
  const float *data = c->graph->tensors[*x].data;
  if (pz_shape_equal(pz_onnx_shape(c, *x), shape)) return PZ_OK;
  if (data) return pz_onnx_add_constant(c, "constant", shape, data, x);
  pz_node node = pz_node_new(PZ_OP_RESHAPE);
  node.attr.reshape.shape = *shape;
  return pz_onnx_apply(c, &node, "reshape", x);
}

pz_status pz_onnx_power(pz_onnx *c, double scale, double shift, pz_tensor_id *x) {
  if (scale == 1 && shift == 0) return PZ_OK;
  pz_node node = pz_node_new(PZ_OP_POWER);
  node.attr.power = (pz_attr_power){.power = 1, .scale = (float)scale, .shift = (float)shift};
  return pz_onnx_apply(c, &node, "linear", x);
}

pz_status pz_onnx_activate(pz_onnx *c, pz_activation act, const char *part, pz_tensor_id *x) {
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  node.attr.activation.act = act;
  return pz_onnx_apply(c, &node, part, x);
}
