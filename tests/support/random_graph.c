#include "support/random.h"
#include <stdio.h>

static pz_shape input_shape(maker *m) {
  static const int32_t channels[] = {1, 1, 2, 3, 3, 4, 5, 8, 17};
  static const int32_t most[PZ_SPATIAL + 1] = {0, 40, 20, 11};
  pz_shape shape = {m->spatial + 2, {chance(m, 25) ? 2 : 1, ONE_OF(m, channels)}};
  for (int32_t i = 2; i < shape.rank; i++) shape.dim[i] = pick(m, 5, most[m->spatial]);
  if (m->spatial == 3) shape.dim[2] = pick(m, 2, 7);
  return shape;
}

static pz_tensor_id add_input(maker *m, const char *name, const pz_shape *shape) {
  pz_tensor_id id;
  if (pz_graph_add_input(m->g, name, shape, &id, m->err) != PZ_OK) longjmp(m->failed, 1);
  return id;
}

static void add_output(maker *m, pz_tensor_id id) {
  if (pz_graph_is_output(m->g, id)) return;
  if (pz_graph_add_output(m->g, id, m->err) != PZ_OK) longjmp(m->failed, 1);
}

/* One input, or two that are joined at once. */
static pz_tensor_id begin(maker *m) {
  pz_shape shape = input_shape(m);
  pz_tensor_id x = add_input(m, "data", &shape);
  if (!chance(m, 20)) return x;
  if (chance(m, 50)) return random_join(m, x, add_input(m, "more", &shape));
  shape.dim[1] = pick(m, 1, 4);
  return concat(m, 2, (pz_tensor_id[]){x, add_input(m, "more", &shape)}, 1);
}

static pz_tensor_id end(maker *m, pz_tensor_id x) {
  static pz_tensor_id (*const ends[])(maker * m, pz_tensor_id x) = {inner_product, reshape, permute, softmax,
                                                                    nothing};
  if (chance(m, 35)) x = ONE_OF(m, ends)(m, x);
  if (chance(m, 10)) x = ONE_OF(m, ends)(m, x);
  return x;
}

static void make(maker *m) {
  m->spatial = chance(m, 6) ? 1 : pick(m, 2, 3);
  pz_tensor_id x = begin(m), extra = PZ_NONE;
  for (int32_t blocks = pick(m, 1, 6); blocks > 0; blocks--) {
    x = m->exported ? random_exported_block(m, x) : random_block(m, x);
    if (chance(m, 8)) extra = x;
  }
  x = end(m, x);
  if (m->g->n_nodes == 0) x = nothing(m, x);
  add_output(m, x);
  if (extra != PZ_NONE) add_output(m, extra);
}

static pz_status random_graph(uint64_t seed, bool exported, pz_graph **g, pz_error *err) {
  maker m = {.err = err,
             .state = seed * UINT64_C(0xd1342543de82ef95) + 1,
             .budget = PZ_RANDOM_GRAPH_MULTIPLY_ADDS,
             .exported = exported};
  char name[40];
  *g = NULL;
  snprintf(name, sizeof name, "random %llu", (unsigned long long)seed);
  PZ_TRY(pz_graph_new(name, &m.g, err));
  pz_status status = PZ_OK;
  if (setjmp(m.failed) == 0) {
    make(&m);
    status = pz_graph_verify(m.g, err);
  } else {
    status = err && err->status ? err->status : PZ_ERROR_MEMORY;
  }
  if (status == PZ_OK) *g = m.g;
  else pz_graph_free(m.g);
  return status;
}

pz_status pz_random_graph(uint64_t seed, pz_graph **g, pz_error *err) {
  return random_graph(seed, false, g, err);
}

pz_status pz_random_exported_graph(uint64_t seed, pz_graph **g, pz_error *err) {
  return random_graph(seed, true, g, err);
}
