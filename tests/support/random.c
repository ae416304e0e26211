#include "support/random.h"
#include <string.h>

void pz_random_values(uint64_t seed, int64_t n, float *out) { pz_graph_random(seed, 1, n, out); }

/* splitmix64 */
static uint64_t next(maker *m) {
  uint64_t z = (m->state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

int32_t pick(maker *m, int32_t least, int32_t most) {
  return least + (int32_t)(next(m) % (uint64_t)((int64_t)most - least + 1));
}

bool chance(maker *m, int32_t percent) { return pick(m, 0, 99) < percent; }

pz_shape shape_of(const maker *m, pz_tensor_id id) { return m->g->tensors[id].shape; }

static void must(maker *m, pz_status status) {
  if (status != PZ_OK) longjmp(m->failed, (int)status);
}

static const char *fresh(maker *m, const char *stem) {
  const char *name = pz_graph_fresh_name(m->g, stem);
  if (!name) must(m, pz_fail_memory(m->err, "a name", strlen(stem)));
  return name;
}

pz_tensor_id constant(maker *m, const char *stem, const pz_shape *shape, float scale, float shift) {
  pz_tensor_id id;
  must(m, pz_graph_add_constant(m->g, fresh(m, stem), shape, NULL, &id, m->err));
  float *data = pz_graph_constant_data(m->g, id);
  int64_t n = pz_shape_elements(shape);
  pz_graph_random(next(m), scale, n, data);
  for (int64_t i = 0; i < n; i++) data[i] += shift;
  return id;
}

pz_tensor_id vector(maker *m, const char *stem, int64_t n, float scale, float shift) {
  return constant(m, stem, &(pz_shape){1, {n}}, scale, shift);
}

pz_tensor_id add(maker *m, pz_node *node, const char *stem, int32_t n_in, const pz_tensor_id *in) {
  pz_tensor_id id;
  const char *name = fresh(m, stem);
  node->name = name;
  node->n_in = n_in;
  node->in = (pz_tensor_id *)in;
  must(m, pz_graph_add_node(m->g, node, 1, &name, &id, m->err));
  m->budget -= pz_node_multiply_adds(m->g, &m->g->nodes[m->g->n_nodes - 1]);
  return id;
}

void add_many(maker *m, pz_node *node, const char *stem, pz_tensor_id x, int32_t n_out, pz_tensor_id *out) {
  const char *names[8];
  node->name = fresh(m, stem);
  node->n_in = 1;
  node->in = &x;
  for (int32_t i = 0; i < n_out; i++) {
    char tail[64];
    strcpy(tail, "part_a_of_");
    tail[5] = (char)('a' + i);
    strncat(tail, node->name, sizeof tail - strlen(tail) - 1);
    names[i] = fresh(m, tail);
  }
  must(m, pz_graph_add_node(m->g, node, n_out, names, out, m->err));
}
