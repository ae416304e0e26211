/* fuse_add.c: element-wise addition fusion (PZnet 3.1).
 *
 * The sum E of L1, a convolution or deconvolution, and L2 becomes part of L1, which receives L2's result as its
 * argument Base, when
 *  1. E is the only consumer of L1's output, and
 *  2. a topological order exists in which L1 comes after L2, that is, L2's result does not depend on L1;
 * and L1 has no activation and no Base yet. In a graph without cycles 2 follows from 1: a path from L1 to L2 would
 * begin with E, and E reads L2. Sorting the graph behind the pass finds that order, and would find a cycle. Coefficients go into L1's weights and into residual_scale. Where both are
 * candidates, the later one is L1: the earlier result is ready when it begins. A sum of more than two is
 * taken apart pair by pair. */
#include "optimise/rewrite.h"
#include <stdlib.h>

static float coefficient(const pz_node *sum, int32_t k) {
  return sum->attr.eltwise.coeff ? sum->attr.eltwise.coeff[k] : 1;
}

/* It is not repeated along any dimension. */
static bool whole(const pz_graph *g, const pz_node *sum, int32_t k) {
  return pz_shape_equal(&g->tensors[sum->in[k]].shape, &g->tensors[sum->out[0]].shape);
}

static pz_node_id candidate(const pz_rewriter *rw, const pz_node *sum, int32_t k) {
  const pz_graph *g = rw->g;
  pz_node_id id = pz_rewrite_sole_producer(rw, sum->in[k]);
  if (id == PZ_NONE || !pz_rewrite_is_conv(&g->nodes[id]) || !whole(g, sum, k)) return PZ_NONE;
  const pz_node *conv = &g->nodes[id];
  if (conv->attr.conv.act.kind != PZ_ACT_NONE || pz_node_input(conv, PZ_CONV_RESIDUAL) != PZ_NONE)
    return PZ_NONE;
  bool fixed = pz_rewrite_fixed_or_absent(g, conv->in[PZ_CONV_WEIGHT]) &&
               pz_rewrite_fixed_or_absent(g, pz_node_input(conv, PZ_CONV_BIAS));
  return fixed || coefficient(sum, k) == 1 ? id : PZ_NONE;
}

/* Another operand that can be the Base, or PZ_NONE; one that is no candidate itself is preferred, so that as many
 * operands as possible disappear. */
static int32_t find_residual(const pz_rewriter *rw, const pz_node *sum, int32_t operand) {
  int32_t residual = PZ_NONE;
  for (int32_t k = 0; k < sum->n_in; k++) {
    if (k == operand || rw->g->tensors[sum->in[k]].data || !whole(rw->g, sum, k)) continue;
    if (candidate(rw, sum, k) == PZ_NONE) return k;
    if (residual == PZ_NONE) residual = k;
  }
  return residual;
}

static pz_status scale_conv(pz_rewriter *rw, pz_node_id conv, int64_t channels, float factor) {
  double *scale = malloc((size_t)channels * sizeof *scale);
  if (!scale) return pz_fail_memory(rw->err, "a layer's coefficients", (size_t)channels * sizeof *scale);
  for (int64_t k = 0; k < channels; k++) scale[k] = factor;
  pz_status status = pz_rewrite_scale_weights(rw, conv, scale);
  free(scale);
  PZ_TRY(status);
  float *bias;
  if (pz_node_input(&rw->g->nodes[conv], PZ_CONV_BIAS) == PZ_NONE) return PZ_OK;
  PZ_TRY(pz_rewrite_own_constant(rw, conv, PZ_CONV_BIAS, &bias));
  for (int64_t k = 0; k < channels; k++) bias[k] *= factor;
  return PZ_OK;
}

static pz_status give_residual(pz_rewriter *rw, pz_node_id conv, pz_tensor_id residual, int64_t channels,
                               float factor) {
  float *scale;
  PZ_TRY(pz_rewrite_set_in(rw, conv, PZ_CONV_RESIDUAL, residual));
  if (factor == 1) return PZ_OK;
  return pz_rewrite_own_vector(rw, conv, PZ_CONV_RESIDUAL_SCALE, "residual_scale", channels, factor, &scale);
}

/* Takes `residual` out of a sum of more than two; `operand` now holds both. */
static pz_status shorten(pz_rewriter *rw, pz_node_id id, int32_t operand, int32_t residual) {
  pz_node *sum = &rw->g->nodes[id];
  float *coeff = PZ_NEW(rw->g->arena, float, (size_t)sum->n_in);
  if (!coeff) return pz_fail_memory(rw->err, "a sum's coefficients", (size_t)sum->n_in * sizeof *coeff);
  int32_t n = 0;
  bool plain = true;
  for (int32_t k = 0; k < sum->n_in; k++) {
    if (k == residual) continue;
    coeff[n] = k == operand ? 1 : coefficient(sum, k);
    plain &= coeff[n] == 1;
    sum->in[n++] = sum->in[k];
  }
  sum->n_in = n;
  sum->attr.eltwise.coeff = plain ? NULL : coeff;
  return PZ_OK;
}

static pz_status fuse(pz_rewriter *rw, pz_node_id id, int32_t operand, pz_node_id conv, int32_t residual) {
  const pz_node *sum = &rw->g->nodes[id];
  pz_tensor_id from = sum->in[operand], to = sum->out[0];
  int64_t channels = rw->g->tensors[from].shape.dim[1];
  float factor = coefficient(sum, operand), residual_factor = coefficient(sum, residual);
  bool last = sum->n_in == 2;
  if (factor != 1) PZ_TRY(scale_conv(rw, conv, channels, factor));
  PZ_TRY(give_residual(rw, conv, sum->in[residual], channels, residual_factor));
  if (last) {
    pz_rewrite_redirect(rw, from, to);
    pz_graph_kill_node(rw->g, id);
  } else {
    PZ_TRY(pz_rewrite_rename(rw, from));
    PZ_TRY(shorten(rw, id, operand, residual));
  }
  rw->changes++;
  return PZ_OK;
}

/* One pair, with the latest convolution. */
static pz_status fuse_pair(pz_rewriter *rw, pz_node_id id) {
  const pz_node *sum = &rw->g->nodes[id];
  pz_node_id latest = PZ_NONE;
  int32_t operand = PZ_NONE;
  for (int32_t k = 0; k < sum->n_in; k++) {
    pz_node_id conv = candidate(rw, sum, k);
    if (conv > latest) latest = conv, operand = k;
  }
  int32_t residual = latest == PZ_NONE ? PZ_NONE : find_residual(rw, sum, operand);
  return residual == PZ_NONE ? PZ_OK : fuse(rw, id, operand, latest, residual);
}

static bool is_sum(const pz_node *node) {
  return node->op == PZ_OP_ELTWISE && node->attr.eltwise.kind == PZ_ELT_SUM;
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  int before = PZ_NONE;
  while (is_sum(&rw->g->nodes[id]) && before != rw->changes) {
    if (before != PZ_NONE) PZ_TRY(pz_rewriter_reindex(rw));
    before = rw->changes;
    PZ_TRY(fuse_pair(rw, id));
  }
  return PZ_OK;
}

pz_status pz_pass_fuse_add(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
