/* linear.c: BatchNorm, Scale, Bias and Power with exponent 1 as factors and offsets of each channel, in double. */
#include "optimise/linear.h"
#include <math.h>
#include <stdlib.h>

/* A factor of Scale is constant and varies along the channels' axis alone, or not at all. */
static bool follows_channels(const pz_graph *g, const pz_node *scale, pz_tensor_id t) {
  if (t == PZ_NONE) return true;
  const pz_tensor *factor = &g->tensors[t];
  if (!factor->data) return false;
  for (int i = 0; i < factor->shape.rank; i++)
    if (factor->shape.dim[i] != 1 && scale->attr.scale.axis + i != 1) return false;
  return true;
}

bool pz_linear_is(const pz_graph *g, const pz_node *node) {
  if (node->op != PZ_OP_BATCH_NORM && node->op != PZ_OP_SCALE && node->op != PZ_OP_POWER) return false;
  if (g->tensors[node->in[0]].shape.rank < 2) return false;
  if (node->op == PZ_OP_BATCH_NORM) return g->tensors[node->in[1]].data && g->tensors[node->in[2]].data;
  if (node->op == PZ_OP_SCALE)
    return follows_channels(g, node, pz_node_input(node, 1)) &&
           follows_channels(g, node, pz_node_input(node, 2));
  return node->attr.power.power == 1;
}

pz_status pz_linear_new(pz_linear *l, int64_t channels, pz_error *err) {
  *l = (pz_linear){channels, malloc((size_t)channels * sizeof(double)),
                   calloc((size_t)channels, sizeof(double))};
  if (!l->multiply || !l->add) {
    pz_linear_free(l);
    return pz_fail_memory(err, "a linear layer", (unsigned long long)channels * 2 * sizeof(double));
  }
  for (int64_t c = 0; c < channels; c++) l->multiply[c] = 1;
  return PZ_OK;
}

void pz_linear_free(pz_linear *l) {
  free(l->multiply);
  free(l->add);
  *l = (pz_linear){0};
}

static void compose(pz_linear *l, int64_t c, double multiply, double add) {
  l->multiply[c] *= multiply;
  l->add[c] = l->add[c] * multiply + add;
}

static double factor_at(const pz_graph *g, pz_tensor_id t, int64_t c, double absent) {
  if (t == PZ_NONE) return absent;
  return g->tensors[t].data[pz_shape_elements(&g->tensors[t].shape) == 1 ? 0 : c];
}

static void then_batch_norm(pz_linear *l, const pz_graph *g, const pz_node *node, int64_t c) {
  double variance = g->tensors[node->in[2]].data[c], mean = g->tensors[node->in[1]].data[c];
  double multiply = 1 / sqrt(variance + (double)node->attr.batch_norm.eps);
  compose(l, c, multiply, -mean * multiply);
}

void pz_linear_then(pz_linear *l, const pz_graph *g, const pz_node *node) {
  for (int64_t c = 0; c < l->channels; c++) {
    if (node->op == PZ_OP_BATCH_NORM) then_batch_norm(l, g, node, c);
    else if (node->op == PZ_OP_POWER) compose(l, c, node->attr.power.scale, node->attr.power.shift);
    else
      compose(l, c, factor_at(g, pz_node_input(node, 1), c, 1), factor_at(g, pz_node_input(node, 2), c, 0));
  }
}

bool pz_linear_fits(const pz_linear *l) {
  for (int64_t c = 0; c < l->channels; c++)
    if (!isfinite((float)l->multiply[c]) || !isfinite((float)l->add[c])) return false;
  return true;
}

bool pz_linear_scales(const pz_linear *l) {
  for (int64_t c = 0; c < l->channels; c++)
    if (l->multiply[c] != 1) return true;
  return false;
}

bool pz_linear_shifts(const pz_linear *l) {
  for (int64_t c = 0; c < l->channels; c++)
    if (l->add[c] != 0) return true;
  return false;
}
