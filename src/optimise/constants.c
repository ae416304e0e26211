/* constants.c: constants that a pass makes or changes. What others use is copied first. */
#include "optimise/rewrite.h"
#include <string.h>

pz_status pz_rewrite_new_constant(pz_rewriter *rw, const char *base, const char *suffix,
                                  const pz_shape *shape, pz_tensor_id *id) {
  const char *name = pz_rewrite_name(rw, base, suffix);
  if (!name) return pz_fail_memory(rw->err, "a constant's name", strlen(base) + strlen(suffix));
  return pz_graph_add_constant(rw->g, name, shape, NULL, id, rw->err);
}

/* The model as it was imported keeps its values. */
static pz_status stop_sharing(pz_rewriter *rw, pz_tensor *t) {
  const size_t n = (size_t)pz_shape_elements(&t->shape);
  float *own = t->shared ? PZ_NEW(rw->g->arena, float, n) : NULL;
  if (!t->shared) return PZ_OK;
  if (!own) return pz_fail_memory(rw->err, "a constant", n * sizeof *own);
  memcpy(own, t->data, n * sizeof *own);
  t->data = own;
  t->shared = false;
  return PZ_OK;
}

pz_status pz_rewrite_own_constant(pz_rewriter *rw, pz_node_id id, int slot, float **data) {
  pz_tensor_id t = rw->g->nodes[id].in[slot];
  if (pz_graph_count_uses(rw->g, t) > 1) {
    pz_shape shape = rw->g->tensors[t].shape;
    pz_tensor_id copy;
    PZ_TRY(pz_rewrite_new_constant(rw, rw->g->tensors[t].name, rw->g->nodes[id].name, &shape, &copy));
    memcpy(pz_graph_constant_data(rw->g, copy), rw->g->tensors[t].data,
           (size_t)pz_shape_elements(&shape) * sizeof(float));
    rw->g->nodes[id].in[slot] = t = copy;
  }
  PZ_TRY(stop_sharing(rw, &rw->g->tensors[t]));
  *data = pz_graph_constant_data(rw->g, t);
  return PZ_OK;
}

pz_status pz_rewrite_own_vector(pz_rewriter *rw, pz_node_id id, int slot, const char *suffix, int64_t n,
                                float fill, float **data) {
  if (pz_node_input(&rw->g->nodes[id], slot) != PZ_NONE) return pz_rewrite_own_constant(rw, id, slot, data);
  pz_tensor_id t;
  PZ_TRY(pz_rewrite_new_constant(rw, rw->g->nodes[id].name, suffix, &(pz_shape){1, {n}}, &t));
  PZ_TRY(pz_rewrite_set_in(rw, id, slot, t));
  *data = pz_graph_constant_data(rw->g, t);
  for (int64_t i = 0; i < n; i++) (*data)[i] = fill;
  return PZ_OK;
}

/* The output channel that row r of the weights belongs to, a row being all kernel positions of one pair of channels:
 * conv [K, C/group, ...], deconv [C, K/group, ...]. */
static int64_t channel_of_row(const pz_node *conv, const pz_shape *weight, int64_t r) {
  if (conv->op == PZ_OP_CONV) return r / weight->dim[1];
  int64_t channels = weight->dim[0] / conv->attr.conv.group;
  return r / weight->dim[1] / channels * weight->dim[1] + r % weight->dim[1];
}

pz_status pz_rewrite_scale_weights(pz_rewriter *rw, pz_node_id conv, const double *scale) {
  float *data;
  PZ_TRY(pz_rewrite_own_constant(rw, conv, PZ_CONV_WEIGHT, &data));
  const pz_node *node = &rw->g->nodes[conv];
  const pz_shape *shape = &rw->g->tensors[node->in[PZ_CONV_WEIGHT]].shape;
  int64_t rows = shape->dim[0] * shape->dim[1], size = pz_shape_elements(shape) / rows;
  for (int64_t r = 0; r < rows; r++) {
    double factor = scale[channel_of_row(node, shape, r)];
    for (int64_t i = 0; i < size; i++) data[r * size + i] = (float)(data[r * size + i] * factor);
  }
  return PZ_OK;
}
