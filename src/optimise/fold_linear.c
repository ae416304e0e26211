/* fold_linear.c: linear transformation fusion (PZnet 3.3).
 *
 * A run of linear layers is one linear layer y = x*M + A, composed in double. Behind a convolution it goes into the
 * weights: K' = K*M, B' = B*M + A, and with a Base (3.1) into residual_scale; each number is rounded once. Behind a group_norm
 * it goes into gamma and beta.
 * Elsewhere two or more, or a BatchNorm, become one scale layer. */
#include "optimise/linear.h"

/* The run of linear layers that ends with `last`: each but the last is read by the next one only. */
typedef struct run {
  pz_node_id first, last;
  int32_t length;
} run;

static pz_node_id linear_before(const pz_rewriter *rw, pz_node_id id) {
  pz_node_id before = pz_rewrite_sole_producer(rw, rw->g->nodes[id].in[0]);
  return before != PZ_NONE && pz_linear_is(rw->g, &rw->g->nodes[before]) ? before : PZ_NONE;
}

static bool goes_on(const pz_rewriter *rw, pz_node_id id) {
  pz_tensor_id y = rw->g->nodes[id].out[0];
  pz_node_id next = rw->consumer[y];
  return next != PZ_NONE && rw->g->nodes[next].in[0] == y && linear_before(rw, next) == id &&
         pz_linear_is(rw->g, &rw->g->nodes[next]);
}

static run find_run(const pz_rewriter *rw, pz_node_id last) {
  run r = {last, last, 1};
  for (pz_node_id id = last; (id = linear_before(rw, id)) != PZ_NONE; r.length++) r.first = id;
  return r;
}

static pz_node_id next_of(const pz_rewriter *rw, const run *r, pz_node_id id) {
  return id == r->last ? PZ_NONE : rw->consumer[rw->g->nodes[id].out[0]];
}

static void compose_run(const pz_rewriter *rw, const run *r, pz_linear *l) {
  for (pz_node_id id = r->first; id != PZ_NONE; id = next_of(rw, r, id))
    pz_linear_then(l, rw->g, &rw->g->nodes[id]);
}

static void kill_run(pz_rewriter *rw, const run *r) {
  for (pz_node_id id = r->first; id != PZ_NONE; id = next_of(rw, r, id)) pz_graph_kill_node(rw->g, id);
}

static pz_node_id layer_that_folds(const pz_rewriter *rw, pz_tensor_id x) {
  pz_node_id id = pz_rewrite_open_before(rw, x);
  if (id == PZ_NONE) return PZ_NONE;
  const pz_node *conv = &rw->g->nodes[id];
  if (pz_rewrite_is_norm(conv))
    return pz_rewrite_fixed_or_absent(rw->g, pz_node_input(conv, PZ_GROUP_NORM_GAMMA)) &&
                   pz_rewrite_fixed_or_absent(rw->g, pz_node_input(conv, PZ_GROUP_NORM_BETA))
               ? id
               : PZ_NONE;
  bool fixed = pz_rewrite_fixed_or_absent(rw->g, conv->in[PZ_CONV_WEIGHT]) &&
               pz_rewrite_fixed_or_absent(rw->g, pz_node_input(conv, PZ_CONV_BIAS)) &&
               pz_rewrite_fixed_or_absent(rw->g, pz_node_input(conv, PZ_CONV_RESIDUAL_SCALE));
  return fixed ? id : PZ_NONE;
}

static pz_status fold_bias(pz_rewriter *rw, pz_node_id conv, const pz_linear *l) {
  float *bias;
  if (pz_node_input(&rw->g->nodes[conv], PZ_CONV_BIAS) == PZ_NONE && !pz_linear_shifts(l)) return PZ_OK;
  PZ_TRY(pz_rewrite_own_vector(rw, conv, PZ_CONV_BIAS, "bias", l->channels, 0, &bias));
  for (int64_t c = 0; c < l->channels; c++) bias[c] = (float)(bias[c] * l->multiply[c] + l->add[c]);
  return PZ_OK;
}

static pz_status fold_residual_scale(pz_rewriter *rw, pz_node_id conv, const pz_linear *l) {
  float *scale;
  if (pz_node_input(&rw->g->nodes[conv], PZ_CONV_RESIDUAL) == PZ_NONE) return PZ_OK;
  PZ_TRY(pz_rewrite_own_vector(rw, conv, PZ_CONV_RESIDUAL_SCALE, "residual_scale", l->channels, 1, &scale));
  for (int64_t c = 0; c < l->channels; c++) scale[c] = (float)(scale[c] * l->multiply[c]);
  return PZ_OK;
}

static pz_status fold_into_norm(pz_rewriter *rw, pz_node_id norm, const pz_linear *l) {
  float *gamma, *beta;
  if (pz_linear_scales(l)) {
    PZ_TRY(pz_rewrite_own_vector(rw, norm, PZ_GROUP_NORM_GAMMA, "gamma", l->channels, 1, &gamma));
    for (int64_t c = 0; c < l->channels; c++) gamma[c] = (float)(gamma[c] * l->multiply[c]);
  }
  if (pz_node_input(&rw->g->nodes[norm], PZ_GROUP_NORM_BETA) == PZ_NONE && !pz_linear_shifts(l)) return PZ_OK;
  PZ_TRY(pz_rewrite_own_vector(rw, norm, PZ_GROUP_NORM_BETA, "beta", l->channels, 0, &beta));
  for (int64_t c = 0; c < l->channels; c++) beta[c] = (float)(beta[c] * l->multiply[c] + l->add[c]);
  return PZ_OK;
}

static pz_status fold_into_layer(pz_rewriter *rw, pz_node_id conv, const pz_linear *l) {
  if (pz_rewrite_is_norm(&rw->g->nodes[conv])) return fold_into_norm(rw, conv, l);
  PZ_TRY(fold_bias(rw, conv, l));
  if (!pz_linear_scales(l)) return PZ_OK;
  PZ_TRY(fold_residual_scale(rw, conv, l));
  return pz_rewrite_scale_weights(rw, conv, l->multiply);
}

/* The last layer of the run becomes the scale. */
static pz_status make_scale(pz_rewriter *rw, const run *r, pz_tensor_id x, const pz_linear *l) {
  pz_tensor_id gamma, beta;
  const char *name = rw->g->nodes[r->last].name;
  PZ_TRY(pz_rewrite_new_constant(rw, name, "gamma", &(pz_shape){1, {l->channels}}, &gamma));
  PZ_TRY(pz_rewrite_new_constant(rw, name, "beta", &(pz_shape){1, {l->channels}}, &beta));
  float *multiply = pz_graph_constant_data(rw->g, gamma), *add = pz_graph_constant_data(rw->g, beta);
  for (int64_t c = 0; c < l->channels; c++) {
    multiply[c] = (float)l->multiply[c];
    add[c] = (float)l->add[c];
  }
  PZ_TRY(pz_rewrite_set_in(rw, r->last, 2, beta));
  pz_node *node = &rw->g->nodes[r->last];
  kill_run(rw, r);
  node->op = PZ_OP_SCALE;
  node->attr.scale = (pz_attr_scale){.axis = 1};
  node->in[0] = x;
  node->in[1] = gamma;
  return PZ_OK;
}

static pz_status replace_run(pz_rewriter *rw, const run *r, pz_node_id conv, const pz_linear *l) {
  pz_tensor_id x = rw->g->nodes[r->first].in[0], y = rw->g->nodes[r->last].out[0];
  rw->changes++;
  if (conv == PZ_NONE) return make_scale(rw, r, x, l);
  PZ_TRY(fold_into_layer(rw, conv, l));
  kill_run(rw, r);
  return pz_rewrite_absorb(rw, conv, x, y);
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_graph *g = rw->g;
  if (!pz_linear_is(g, &g->nodes[id]) || goes_on(rw, id)) return PZ_OK;
  run r = find_run(rw, id);
  pz_tensor_id x = g->nodes[r.first].in[0];
  pz_node_id conv = layer_that_folds(rw, x);
  if (conv == PZ_NONE && r.length == 1 && g->nodes[id].op != PZ_OP_BATCH_NORM) return PZ_OK;
  pz_linear l;
  PZ_TRY(pz_linear_new(&l, g->tensors[x].shape.dim[1], rw->err));
  compose_run(rw, &r, &l);
  pz_status status = pz_linear_fits(&l) ? replace_run(rw, &r, conv, &l) : PZ_OK;
  pz_linear_free(&l);
  return status;
}

pz_status pz_pass_fold_linear(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
