/* change.c: what passes do to a graph. */
#include "graph/internal.h"
#include <string.h>

const char *pz_graph_fresh_name(pz_graph *g, const char *stem) {
  const char *name = pz_arena_strdup(g->arena, stem);
  for (int32_t i = 2; name; i++) {
    if (pz_graph_find_tensor(g, name) == PZ_NONE && pz_graph_find_node(g, name) == PZ_NONE) return name;
    name = pz_arena_printf(g->arena, "%s_%d", stem, (int)i);
  }
  return NULL;
}

pz_status pz_graph_rename_tensor(pz_graph *g, pz_tensor_id id, const char *name, pz_error *err) {
  if (!name || !*name) return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': a tensor has no name", g->name);
  pz_tensor_id other = pz_graph_find_tensor(g, name);
  if (other == id) return PZ_OK;
  if (other != PZ_NONE)
    return pz_fail(err, PZ_ERROR_INPUT, "graph '%s': there are two tensors named '%s'", g->name, name);
  const char *own = pz_arena_strdup(g->arena, name);
  if (!own || !pz_names_reserve(g, &g->tensor_names, pz_tensor_name_of, g->n_tensors, 1))
    return pz_fail_memory(err, "a tensor's name", strlen(name));
  g->tensors[id].name = own;
  pz_names_add(g, &g->tensor_names, pz_tensor_name_of, id);
  return PZ_OK;
}

void pz_graph_replace_uses(pz_graph *g, pz_tensor_id from, pz_tensor_id to) {
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; g->nodes[n].op != PZ_OP_NONE && i < g->nodes[n].n_in; i++)
      if (g->nodes[n].in[i] == from) g->nodes[n].in[i] = to;
  for (int32_t i = 0; i < g->n_outputs; i++)
    if (g->outputs[i] == from) g->outputs[i] = to;
}

void pz_graph_kill_node(pz_graph *g, pz_node_id id) { g->nodes[id].op = PZ_OP_NONE; }

void pz_graph_move_node(pz_graph *g, pz_node_id id, pz_node_id before) {
  const pz_node node = g->nodes[id];
  memmove(&g->nodes[before + 1], &g->nodes[before], (size_t)(id - before) * sizeof node);
  g->nodes[before] = node;
  pz_names_rebuild(g, &g->node_names, pz_node_name_of, g->n_nodes);
}
