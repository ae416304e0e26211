/* restore_norm.c: normalisations that exporters take apart are put together again. Two forms:
 *
 *  1. (x - m) / sqrt(mean((x - m)^2) + eps), m the mean of x, both means over all spatial axes: instance
 *     normalisation; over the channels too: layer normalisation; over the channels alone: channel_norm.
 *  2. a reshape to other groups, a group_norm without factors, a reshape back: the group_norm of as many groups of what
 *     the first reshape reads. In C order a group is an n-th of each image's elements, whatever the shape, so that n
 *     alone decides. The reshape behind it then changes nothing, or another shape than it did.
 *
 * The factor and the bias that follow are scale layers; fold-linear takes them into group_norm. */
#include "optimise/match.h"

/* ---- form 1 ---- */

typedef struct centred {
  pz_tensor_id x;
  const bool *axis; /* of the mean, PZ_MAX_RANK */
} centred;

/* t is x - mean(x). */
static bool match_centred(const pz_rewriter *rw, pz_tensor_id t, centred *c) {
  const pz_node *sum = pz_match_producer(rw, t, PZ_OP_ELTWISE);
  if (!sum || sum->attr.eltwise.kind != PZ_ELT_SUM || sum->n_in != 2 || !sum->attr.eltwise.coeff)
    return false;
  for (int k = 0; k < 2; k++) {
    const pz_node *mean = pz_match_producer(rw, sum->in[1 - k], PZ_OP_REDUCE);
    if (!mean || mean->attr.reduce.kind != PZ_REDUCE_MEAN || mean->in[0] != sum->in[k]) continue;
    *c = (centred){sum->in[k], mean->attr.reduce.axis};
    if (sum->attr.eltwise.coeff[k] == 1 && sum->attr.eltwise.coeff[1 - k] == -1) return true;
  }
  return false;
}

static bool same_axes(const bool *a, const bool *b) {
  for (int i = 0; i < PZ_MAX_RANK; i++)
    if (a[i] != b[i]) return false;
  return true;
}

/* t is the mean of (x - mean(x))^2, over the same axes. */
static bool match_variance(const pz_rewriter *rw, pz_tensor_id t, const centred *c) {
  const pz_node *mean = pz_match_producer(rw, t, PZ_OP_REDUCE);
  if (!mean || mean->attr.reduce.kind != PZ_REDUCE_MEAN || !same_axes(mean->attr.reduce.axis, c->axis))
    return false;
  const pz_node *square = pz_match_producer(rw, mean->in[0], PZ_OP_POWER);
  if (!square) square = pz_match_pair(rw, mean->in[0], PZ_ELT_PROD);
  centred other;
  return square && pz_match_monomial(rw, mean->in[0], square->in[0], 2) &&
         match_centred(rw, square->in[0], &other) && other.x == c->x && same_axes(other.axis, c->axis);
}

/* t is (v + eps)^exponent: roots, reciprocals and powers in any order above a sum. */
static pz_affine match_root(const pz_rewriter *rw, pz_tensor_id t, double *exponent) {
  pz_affine a = {t, 1, 0};
  for (*exponent = 1; a.scale == 1 && a.shift == 0;) {
    const pz_node *power = pz_match_producer(rw, a.x, PZ_OP_POWER);
    const pz_node *root = pz_match_activation(rw, a.x, PZ_ACT_SQRT);
    const pz_node *reciprocal = pz_match_activation(rw, a.x, PZ_ACT_RECIPROCAL);
    if (!power && !root && !reciprocal) break;
    *exponent *= power ? (double)power->attr.power.power : root ? 0.5 : -1;
    if (power) a.scale = power->attr.power.scale, a.shift = power->attr.power.shift;
    a.x = (power ? power : root ? root : reciprocal)->in[0];
  }
  while (pz_match_affine_step(rw, &a)) continue;
  return a;
}

/* Groups that the mean over these axes has; 0 for none that group_norm knows. */
static int64_t groups_of(const pz_shape *x, const bool *axis) {
  if (x->rank < 2 || (axis[0] && x->dim[0] > 1)) return 0;
  for (int i = 2; i < x->rank; i++)
    if (!axis[i] && x->dim[i] > 1) return 0;
  return axis[1] ? 1 : x->dim[1];
}

static bool over_channels_alone(const pz_shape *x, const bool *axis) {
  for (int i = 0; i < x->rank; i++)
    if (i != 1 && axis[i] && x->dim[i] > 1) return false;
  return x->rank >= 2 && axis[1];
}

/* groups 0: a channel_norm */
static pz_status become_norm(pz_rewriter *rw, pz_node_id id, pz_tensor_id x, int64_t groups, float eps) {
  pz_node node = pz_node_new(groups ? PZ_OP_GROUP_NORM : PZ_OP_CHANNEL_NORM);
  node.n_in = 1;
  node.in = &x;
  if (groups) node.attr.group_norm.groups = (int32_t)groups;
  *(groups ? &node.attr.group_norm.eps : &node.attr.channel_norm.eps) = eps;
  return pz_rewrite_become(rw, id, &node);
}

/* above / root, or above * 1/root */
static pz_status try_quotient(pz_rewriter *rw, pz_node_id id, pz_tensor_id above, pz_tensor_id root,
                              double exponent) {
  centred c;
  double found;
  if (!match_centred(rw, above, &c)) return PZ_OK;
  const pz_shape *shape = &rw->g->tensors[c.x].shape;
  int64_t groups = groups_of(shape, c.axis);
  pz_affine a = match_root(rw, root, &found);
  if ((groups == 0 && !over_channels_alone(shape, c.axis)) || found != exponent || a.scale != 1 ||
      !(a.shift >= 0))
    return PZ_OK;
  if (!match_variance(rw, a.x, &c)) return PZ_OK;
  return become_norm(rw, id, c.x, groups, (float)a.shift);
}

static pz_status visit_quotient(pz_rewriter *rw, pz_node_id id) {
  const pz_node *node = &rw->g->nodes[id];
  pz_tensor_id a = node->in[0], b = node->in[1];
  int before = rw->changes;
  if (node->n_in != 2) return PZ_OK;
  if (node->attr.eltwise.kind == PZ_ELT_DIV) return try_quotient(rw, id, a, b, 0.5);
  if (node->attr.eltwise.kind != PZ_ELT_PROD) return PZ_OK;
  PZ_TRY(try_quotient(rw, id, a, b, -0.5));
  return rw->changes == before ? try_quotient(rw, id, b, a, -0.5) : PZ_OK;
}

/* ---- form 2 ---- */

static bool is_bare(const pz_graph *g, const pz_node *norm) {
  float gamma = 1, beta = 0;
  pz_tensor_id factor = pz_node_input(norm, PZ_GROUP_NORM_GAMMA),
               bias = pz_node_input(norm, PZ_GROUP_NORM_BETA);
  if (factor != PZ_NONE && !pz_match_uniform(g, factor, &gamma)) return false;
  if (bias != PZ_NONE && !pz_match_uniform(g, bias, &beta)) return false;
  return gamma == 1 && beta == 0 && norm->attr.group_norm.act.kind == PZ_ACT_NONE;
}

/* Whoever reads the norm reads elements in C order: a reshape alone. */
static bool is_reshaped(const pz_rewriter *rw, pz_tensor_id t) {
  return rw->uses[t] == 1 && rw->consumer[t] != PZ_NONE && rw->g->nodes[rw->consumer[t]].op == PZ_OP_RESHAPE;
}

static pz_status visit_norm(pz_rewriter *rw, pz_node_id id) {
  pz_graph *g = rw->g;
  pz_node *norm = &g->nodes[id];
  if (!is_reshaped(rw, norm->out[0]) || !is_bare(g, norm)) return PZ_OK;
  for (const pz_node *reshape; (reshape = pz_match_producer(rw, norm->in[0], PZ_OP_RESHAPE));) {
    pz_tensor_id x = reshape->in[0];
    const pz_shape *shape = &g->tensors[x].shape;
    int64_t all = g->tensors[norm->in[0]].shape.dim[0] * norm->attr.group_norm.groups; /* below 2^62 */
    if (shape->rank < 2 || all % shape->dim[0] || shape->dim[1] % (all / shape->dim[0])) break;
    norm->in[PZ_GROUP_NORM_X] = x;
    norm->in[PZ_GROUP_NORM_GAMMA] = norm->in[PZ_GROUP_NORM_BETA] = PZ_NONE;
    norm->attr.group_norm.groups = (int32_t)(all / shape->dim[0]);
    g->tensors[norm->out[0]].shape = *shape;
    rw->changes++;
  }
  return PZ_OK;
}

static pz_status visit(pz_rewriter *rw, pz_node_id id) {
  switch (rw->g->nodes[id].op) {
  case PZ_OP_ELTWISE: return visit_quotient(rw, id);
  case PZ_OP_GROUP_NORM: return visit_norm(rw, id);
  default: return PZ_OK;
  }
}

pz_status pz_pass_restore_norm(pz_graph *g, int *changes, pz_error *err) {
  return pz_rewrite_each(g, visit, changes, err);
}
