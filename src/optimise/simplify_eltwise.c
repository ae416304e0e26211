/* simplify_eltwise.c: an eltwise of a tensor and a constant is a layer of one input: with a constant that is one number
 *
 *   a*x + b*c, x*c, x/c   power of exponent 1         x^c        power
 *   max(x, c), min(x, c)  clip; max(x, 0): relu       c/x        power of exponent -1, where c is 1 or the power exact
 *
 * with one number for each channel, a*x + b*c, x*c and x/c: scale. So other passes see a linear layer. */
#include "optimise/match.h"
#include <math.h>

/* The operand that is computed, where the other one is constant and is repeated along x: x has the result's shape. */
static int32_t computed_operand(const pz_graph *g, const pz_node *node) {
  if (node->n_in != 2) return PZ_NONE;
  for (int32_t k = 0; k < 2; k++) {
    const pz_tensor *x = &g->tensors[node->in[k]], *c = &g->tensors[node->in[1 - k]];
    if (!x->data && c->data && pz_shape_equal(&x->shape, &g->tensors[node->out[0]].shape)) return k;
  }
  return PZ_NONE;
}

static float coefficient(const pz_node *node, int32_t k) {
  return node->attr.eltwise.coeff ? node->attr.eltwise.coeff[k] : 1;
}

static pz_attr_power linear(double scale, double shift) {
  return (pz_attr_power){.power = 1, .scale = (float)scale, .shift = (float)shift};
}

/* The layer that the eltwise is; op PZ_OP_NONE for none. */
static pz_node with_number(const pz_node *node, int32_t x, float c) {
  pz_node power = pz_node_new(PZ_OP_POWER), clip = pz_node_new(PZ_OP_ACTIVATION);
  const pz_node none = pz_node_new(PZ_OP_NONE);
  clip.attr.activation.act = (pz_activation){.kind = PZ_ACT_CLIP, .alpha = -INFINITY, .beta = INFINITY};
  switch (node->attr.eltwise.kind) {
  case PZ_ELT_SUM:
    power.attr.power = linear(coefficient(node, x), (double)coefficient(node, 1 - x) * (double)c);
    return power;
  case PZ_ELT_PROD: power.attr.power = linear(c, 0); return power;
  case PZ_ELT_DIV:
    power.attr.power = linear(1 / (double)c, 0);
    if (x == 1) power.attr.power.power = -1; /* (x/c)^-1 */
    return power;
  case PZ_ELT_POW: power.attr.power.power = c; return x == 0 ? power : none;
  case PZ_ELT_MAX:
    clip.attr.activation.act.alpha = c;
    if (c == 0) clip.attr.activation.act = (pz_activation){.kind = PZ_ACT_RELU};
    return clip;
  case PZ_ELT_MIN: clip.attr.activation.act.beta = c; return clip;
  default: return none;
  }
}

static bool finite_power(const pz_attr_power *a) {
  return isfinite(a->power) && isfinite(a->scale) && isfinite(a->shift);
}

static pz_status become_power(pz_rewriter *rw, pz_node_id id, int32_t x, float c) {
  const pz_node *node = &rw->g->nodes[id];
  pz_node now = with_number(node, x, c);
  pz_tensor_id in = node->in[x];
  bool clip = now.op == PZ_OP_ACTIVATION;
  if (now.op == PZ_OP_NONE || (clip ? !isfinite(c) : !finite_power(&now.attr.power))) return PZ_OK;
  now.n_in = 1;
  now.in = &in;
  return pz_rewrite_become(rw, id, &now);
}

/* The constant's dimensions are 1 but for the channels'. */
static bool follows_channels(const pz_shape *c) {
  for (int32_t i = 0; i < c->rank; i++)
    if (i != 1 && c->dim[i] != 1) return false;
  return c->rank >= 2;
}

static pz_status new_vector(pz_rewriter *rw, pz_node_id id, const char *suffix, int64_t n, pz_tensor_id *t) {
  return pz_rewrite_new_constant(rw, rw->g->nodes[id].name, suffix, &(pz_shape){1, {n}}, t);
}

/* x*gamma + beta: the two, of each channel c. */
static void factors(const pz_node *node, int32_t x, double c, float *gamma, float *beta) {
  switch (node->attr.eltwise.kind) {
  case PZ_ELT_SUM:
    *gamma = coefficient(node, x);
    *beta = (float)((double)coefficient(node, 1 - x) * c);
    break;
  case PZ_ELT_DIV: *gamma = (float)(1 / c), *beta = 0; break;
  default: *gamma = (float)c, *beta = 0; break;
  }
}

static bool all_finite(const pz_graph *g, const pz_node *node, int32_t x) {
  const pz_tensor *c = &g->tensors[node->in[1 - x]];
  for (int64_t k = 0; k < pz_shape_elements(&c->shape); k++) {
    float gamma, beta;
    factors(node, x, c->data[k], &gamma, &beta);
    if (!isfinite(gamma) || !isfinite(beta)) return false;
  }
  return true;
}

/* One of the two is left out where it says nothing. */
static pz_status become_scale(pz_rewriter *rw, pz_node_id id, int32_t x) {
  pz_tensor_id in[3] = {rw->g->nodes[id].in[x], PZ_NONE, PZ_NONE}, constant = rw->g->nodes[id].in[1 - x];
  int64_t channels = rw->g->tensors[in[0]].shape.dim[1];
  bool sum = rw->g->nodes[id].attr.eltwise.kind == PZ_ELT_SUM;
  if (!all_finite(rw->g, &rw->g->nodes[id], x)) return PZ_OK;
  if (!sum || coefficient(&rw->g->nodes[id], x) != 1) PZ_TRY(new_vector(rw, id, "gamma", channels, &in[1]));
  if (sum) PZ_TRY(new_vector(rw, id, "beta", channels, &in[2]));
  for (int64_t k = 0; k < channels; k++) {
    float gamma, beta;
    factors(&rw->g->nodes[id], x, rw->g->tensors[constant].data[k], &gamma, &beta);
    if (in[1] != PZ_NONE) pz_graph_constant_data(rw->g, in[1])[k] = gamma;
    if (in[2] != PZ_NONE) pz_graph_constant_data(rw->g, in[2])[k] = beta;
  }
  pz_node scale = pz_node_new(PZ_OP_SCALE);
  scale.n_in = 3;
  scale.in = in;
  return pz_rewrite_become(rw, id, &scale);
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  float c;
  int32_t x = node->op == PZ_OP_ELTWISE ? computed_operand(rw->g, node) : PZ_NONE;
  if (x == PZ_NONE) return PZ_OK;
  if (pz_match_uniform(rw->g, node->in[1 - x], &c)) return become_power(rw, id, x, c);
  pz_eltwise_kind kind = node->attr.eltwise.kind;
  bool linear_in_x = kind == PZ_ELT_SUM || kind == PZ_ELT_PROD || (kind == PZ_ELT_DIV && x == 0);
  return linear_in_x && follows_channels(&rw->g->tensors[node->in[1 - x]].shape) ? become_scale(rw, id, x)
                                                                                 : PZ_OK;
}

pz_status pz_pass_simplify_eltwise(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
