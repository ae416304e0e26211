#include "import/room.h"
#include "base/memory.h"

#include <string.h>

#define FEW (INT64_C(16) << 20) /* floats: what takes a moment to read and to pack */
enum { COPIES = 3 };

static int64_t bytes_of(const pz_graph *g, pz_tensor_id id) {
  return pz_times(4, pz_shape_elements(&g->tensors[id].shape));
}

static int64_t bytes_of_inputs(const pz_graph *g) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < g->n_inputs; i++) bytes = pz_plus(bytes, bytes_of(g, g->inputs[i]));
  return bytes;
}

static bool is_input(const pz_graph *g, pz_tensor_id id) {
  for (int32_t i = 0; i < g->n_inputs; i++)
    if (g->inputs[i] == id) return true;
  return false;
}

/* What is no constant and no input of the graph, which are counted already; each once. */
static int64_t bytes_of_node(const pz_graph *g, const pz_node *node) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < node->n_in; i++) {
    bool counts = node->in[i] != PZ_NONE && !g->tensors[node->in[i]].data && !is_input(g, node->in[i]);
    for (int32_t k = 0; k < i && counts; k++) counts = node->in[k] != node->in[i];
    if (counts) bytes = pz_plus(bytes, bytes_of(g, node->in[i]));
  }
  for (int32_t i = 0; i < node->n_out; i++) bytes = pz_plus(bytes, bytes_of(g, node->out[i]));
  return bytes;
}

pz_status pz_import_ask(const pz_graph *g, const pz_node *node, int64_t constants, int64_t there,
                        pz_error *err) {
  if (constants < FEW) return PZ_OK;
  const int64_t weights = pz_times(COPIES * 4, constants), inputs = bytes_of_inputs(g),
                layer = bytes_of_node(g, node), all = pz_plus(pz_plus(weights, inputs), layer);
  if (all <= there) return PZ_OK;
  return pz_fail_node(
      err, node,
      "the network needs at least %lld bytes of memory (weights %lld, inputs %lld, this layer %lld), "
      "%lld are there (%s): make its input smaller with --input",
      (long long)all, (long long)weights, (long long)inputs, (long long)layer, (long long)there,
      pz_memory_there(0).limit);
}
