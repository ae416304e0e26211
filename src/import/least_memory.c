#include "import/least_memory.h"
#include "base/memory.h"

#include <string.h>

#define FEW (INT64_C(16) << 20) /* floats: what takes a moment to read and to pack */
enum { COPIES = 3 };

static int64_t bytes_of(const pz_graph *g, pz_tensor_id id) {
  return pz_times(4, pz_shape_elements(&g->tensors[id].shape));
}

static int64_t bytes_of_all(const pz_graph *g, const pz_tensor_id *ids, int32_t n) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < n; i++) bytes = pz_plus(bytes, bytes_of(g, ids[i]));
  return bytes;
}

static bool is_among(const pz_tensor_id *ids, int32_t n, pz_tensor_id id) {
  for (int32_t i = 0; i < n; i++)
    if (ids[i] == id) return true;
  return false;
}

/* Of a tensor that is no constant, input or output of the graph: those are counted as a whole. */
static int64_t bytes_of_row(const pz_graph *g, pz_tensor_id id) {
  if (id == PZ_NONE || g->tensors[id].data || is_among(g->inputs, g->n_inputs, id) ||
      is_among(g->outputs, g->n_outputs, id))
    return 0;
  const pz_shape *s = &g->tensors[id].shape;
  return bytes_of(g, id) / (s->rank >= 4 ? s->dim[s->rank - 2] : 1);
}

static int64_t bytes_of_node(const pz_graph *g, const pz_node *node) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < node->n_in; i++)
    if (!is_among(node->in, i, node->in[i])) bytes = pz_plus(bytes, bytes_of_row(g, node->in[i]));
  for (int32_t i = 0; i < node->n_out; i++) bytes = pz_plus(bytes, bytes_of_row(g, node->out[i]));
  return bytes;
}

pz_status pz_import_ask(const pz_graph *g, const pz_node *node, int64_t constants, int64_t there,
                        pz_error *err) {
  if (constants < FEW) return PZ_OK;
  const int64_t weights = pz_times(COPIES * 4, constants), layer = bytes_of_node(g, node),
                ports = pz_plus(bytes_of_all(g, g->inputs, g->n_inputs),
                                bytes_of_all(g, g->outputs, g->n_outputs)),
                all = pz_plus(pz_plus(weights, ports), layer);
  if (all <= there) return PZ_OK;
  return pz_fail_node(err, node,
                      "the network needs at least %lld bytes of memory (weights %lld, inputs and outputs "
                      "%lld, this layer %lld), "
                      "%lld are there (%s): make its input smaller with --input",
                      (long long)all, (long long)weights, (long long)ports, (long long)layer,
                      (long long)there, pz_memory_there(0).limit);
}

pz_status pz_import_ask_all(const pz_graph *g, int64_t constants, int64_t there, pz_error *err) {
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (g->nodes[n].op != PZ_OP_NONE) PZ_TRY(pz_import_ask(g, &g->nodes[n], constants, there, err));
  return PZ_OK;
}
