/* copy.c: a graph that shares nothing, or only its constants, with the one it was copied from; indices stay. */
#include "graph/internal.h"
#include <string.h>

static void *duplicate(pz_arena *arena, const void *from, size_t count, size_t room, size_t size) {
  void *to = pz_arena_alloc(arena, room, size);
  if (to && count) memcpy(to, from, count * size);
  return to;
}

/* The least power of two that is not below n: what append_id of graph.c expects of inputs and outputs. */
static size_t list_room(int32_t n) {
  size_t room = 1;
  while (room < (size_t)n) room *= 2;
  return room;
}

static bool copy_tensor(pz_arena *arena, pz_tensor *t, bool share) {
  t->name = pz_arena_strdup(arena, t->name);
  size_t elements = (size_t)pz_shape_elements(&t->shape);
  t->shared = share && t->data;
  if (t->data && !share) {
    t->data = duplicate(arena, t->data, elements, elements, sizeof(float));
    if (!t->data) return false;
  }
  return t->name != NULL;
}

static bool copy_node(pz_arena *arena, pz_node *node) {
  size_t n_in = (size_t)node->n_in, n_out = (size_t)node->n_out;
  node->name = pz_arena_strdup(arena, node->name);
  node->in = duplicate(arena, node->in, n_in, n_in, sizeof *node->in);
  node->out = duplicate(arena, node->out, n_out, n_out, sizeof *node->out);
  if (node->place.file) {
    node->place.file = pz_arena_strdup(arena, node->place.file);
    if (!node->place.file) return false;
  }
  return node->name && node->in && node->out && pz_attr_own(arena, node);
}

static bool copy_names(pz_arena *arena, pz_name_index *names) {
  names->slot =
      duplicate(arena, names->slot, (size_t)names->capacity, (size_t)names->capacity, sizeof(int32_t));
  return names->slot != NULL;
}

static bool copy_into(const pz_graph *from, bool share, pz_graph *to) {
  pz_arena *arena = to->arena;
  const char *name = to->name;
  *to = *from;
  to->arena = arena;
  to->name = name;
  to->tensors =
      duplicate(arena, from->tensors, (size_t)from->n_tensors, (size_t)from->cap_tensors, sizeof(pz_tensor));
  to->nodes = duplicate(arena, from->nodes, (size_t)from->n_nodes, (size_t)from->cap_nodes, sizeof(pz_node));
  to->inputs =
      duplicate(arena, from->inputs, (size_t)from->n_inputs, list_room(from->n_inputs), sizeof(pz_tensor_id));
  to->outputs = duplicate(arena, from->outputs, (size_t)from->n_outputs, list_room(from->n_outputs),
                          sizeof(pz_tensor_id));
  if (!to->tensors || !to->nodes || !to->inputs || !to->outputs) return false;
  for (int32_t i = 0; i < to->n_tensors; i++)
    if (!copy_tensor(arena, &to->tensors[i], share)) return false;
  for (int32_t i = 0; i < to->n_nodes; i++)
    if (!copy_node(arena, &to->nodes[i])) return false;
  return copy_names(arena, &to->tensor_names) && copy_names(arena, &to->node_names);
}

static pz_status copy(const pz_graph *from, bool share, pz_graph **to, pz_error *err) {
  pz_graph *g;
  *to = NULL;
  PZ_TRY(pz_graph_new(from->name, &g, err));
  pz_arena_watch(g->arena, pz_arena_watched(from->arena));
  if (!copy_into(from, share, g)) {
    pz_graph_free(g);
    return pz_fail_memory(err, "a copy of a graph", sizeof *g);
  }
  *to = g;
  return PZ_OK;
}

pz_status pz_graph_copy(const pz_graph *from, pz_graph **to, pz_error *err) {
  return copy(from, false, to, err);
}

pz_status pz_graph_copy_sharing(const pz_graph *from, pz_graph **to, pz_error *err) {
  return copy(from, true, to, err);
}
