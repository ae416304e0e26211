/* names.c: from names to indices, so that building a graph of many layers stays linear. */
#include "graph/internal.h"
#include <string.h>

const char *pz_tensor_name_of(const pz_graph *g, int32_t id) { return g->tensors[id].name; }

const char *pz_node_name_of(const pz_graph *g, int32_t id) {
  return g->nodes[id].op == PZ_OP_NONE ? NULL : g->nodes[id].name;
}

/* FNV-1a, 32 bits. */
static uint32_t hash(const char *name) {
  uint32_t h = 2166136261u;
  for (; *name; name++) h = (h ^ (uint8_t)*name) * 16777619u;
  return h;
}

int32_t pz_names_find(const pz_graph *g, const pz_name_index *names, pz_name_of name_of, const char *name) {
  if (!names->capacity) return PZ_NONE;
  uint32_t mask = (uint32_t)names->capacity - 1;
  for (uint32_t i = hash(name) & mask; names->slot[i] != PZ_NONE; i = (i + 1) & mask) {
    const char *other = name_of(g, names->slot[i]);
    if (other && !strcmp(other, name)) return names->slot[i];
  }
  return PZ_NONE;
}

void pz_names_add(const pz_graph *g, pz_name_index *names, pz_name_of name_of, int32_t id) {
  uint32_t mask = (uint32_t)names->capacity - 1;
  uint32_t i = hash(name_of(g, id)) & mask;
  while (names->slot[i] != PZ_NONE) i = (i + 1) & mask;
  names->slot[i] = id;
  names->used++;
}

void pz_names_rebuild(const pz_graph *g, pz_name_index *names, pz_name_of name_of, int32_t count) {
  for (int32_t i = 0; i < names->capacity; i++) names->slot[i] = PZ_NONE;
  names->used = 0;
  for (int32_t id = 0; id < count; id++)
    if (name_of(g, id)) pz_names_add(g, names, name_of, id);
}

bool pz_names_reserve(pz_graph *g, pz_name_index *names, pz_name_of name_of, int32_t count, int32_t more) {
  int64_t need = 2 * ((int64_t)names->used + more), capacity = names->capacity ? names->capacity : 32;
  while (capacity < need) capacity *= 2;
  if (capacity == names->capacity) return true;
  int32_t *slot = PZ_NEW(g->arena, int32_t, capacity);
  if (!slot) return false;
  names->slot = slot;
  names->capacity = (int32_t)capacity;
  pz_names_rebuild(g, names, name_of, count);
  return true;
}
