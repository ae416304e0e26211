/* activation.c: functions of one value. */
#include "import/onnx/ops.h"

static pz_status activate(pz_onnx *c, pz_activation act) {
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  node.attr.activation.act = act;
  return pz_onnx_simple(c, &node);
}

#define PLAIN(op, kind)                                                                                      \
  pz_status pz_onnx_op_##op(pz_onnx *c) { return activate(c, (pz_activation){PZ_ACT_##kind, 0, 0}); }
PLAIN(relu, RELU)
PLAIN(sigmoid, SIGMOID)
PLAIN(tanh, TANH)
PLAIN(hard_swish, HARD_SWISH)
PLAIN(mish, MISH)
PLAIN(softplus, SOFTPLUS)
PLAIN(softsign, SOFTSIGN)
PLAIN(exp, EXP)
PLAIN(log, LOG)
PLAIN(sqrt, SQRT)
PLAIN(erf, ERF)
PLAIN(round, ROUND)
PLAIN(floor, FLOOR)
PLAIN(ceil, CEIL)
PLAIN(reciprocal, RECIPROCAL)

/* Of whole numbers too. */
static pz_status give_number(pz_onnx *c, pz_node *node, pz_onnx_range range) {
  const pz_onnx_type type = pz_onnx_type_in(c);
  pz_tensor_id x;
  if (pz_onnx_is_floating(type) || pz_onnx_all_known(c)) return pz_onnx_simple(c, node);
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  PZ_TRY(pz_onnx_apply(c, node, "result", &x));
  return pz_onnx_give_whole(c, x, range, type);
}

pz_status pz_onnx_op_abs(pz_onnx *c) {
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  const pz_onnx_range x = pz_onnx_range_in(c, 0);
  node.attr.activation.act.kind = PZ_ACT_ABS;
  return give_number(c, &node, (pz_onnx_range){0, fmax(fabs(x.low), fabs(x.high))});
}

pz_status pz_onnx_op_sign(pz_onnx *c) {
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  node.attr.activation.act.kind = PZ_ACT_SIGN;
  return give_number(c, &node, (pz_onnx_range){-1, 1});
}

pz_status pz_onnx_op_neg(pz_onnx *c) {
  pz_node node = pz_node_new(PZ_OP_POWER);
  const pz_onnx_range x = pz_onnx_range_in(c, 0);
  node.attr.power = (pz_attr_power){.power = 1, .scale = -1};
  return give_number(c, &node, (pz_onnx_range){-x.high, -x.low});
}

static pz_status with_alpha(pz_onnx *c, pz_activation_kind kind, double preset) {
  pz_activation act = {kind, 0, 0};
  PZ_TRY(pz_onnx_attr_float(c, "alpha", preset, &act.alpha));
  return activate(c, act);
}

pz_status pz_onnx_op_leaky_relu(pz_onnx *c) { return with_alpha(c, PZ_ACT_RELU, 0.01); }
pz_status pz_onnx_op_elu(pz_onnx *c) { return with_alpha(c, PZ_ACT_ELU, 1); }
pz_status pz_onnx_op_thresholded_relu(pz_onnx *c) { return with_alpha(c, PZ_ACT_THRESHOLDED_RELU, 1); }

static pz_status with_both(pz_onnx *c, pz_activation_kind kind, double alpha, const char *name, double beta) {
  pz_activation act = {kind, 0, 0};
  PZ_TRY(pz_onnx_attr_float(c, "alpha", alpha, &act.alpha));
  PZ_TRY(pz_onnx_attr_float(c, name, beta, &act.beta));
  return activate(c, act);
}

pz_status pz_onnx_op_selu(pz_onnx *c) {
  return with_both(c, PZ_ACT_SELU, 1.67326319217681884765625, "gamma", 1.05070102214813232421875);
}
pz_status pz_onnx_op_hard_sigmoid(pz_onnx *c) { return with_both(c, PZ_ACT_HARD_SIGMOID, 0.2, "beta", 0.5); }

pz_status pz_onnx_op_gelu(pz_onnx *c) {
  const char *how;
  PZ_TRY(pz_onnx_attr_text(c, "approximate", "none", &how));
  if (strcmp(how, "none") && strcmp(how, "tanh")) return pz_onnx_refuse(c, "approximate = %.40s", how);
  return activate(c, (pz_activation){strcmp(how, "none") ? PZ_ACT_GELU_TANH : PZ_ACT_GELU, 0, 0});
}

/* max(0, x) + min(0, alpha*(exp(x/alpha) - 1)) = alpha * elu(x/alpha), for alpha > 0 */
pz_status pz_onnx_op_celu(pz_onnx *c) {
  float alpha;
  pz_tensor_id x;
  PZ_TRY(pz_onnx_attr_float(c, "alpha", 1, &alpha));
  if (!(alpha > 0)) return pz_onnx_refuse(c, "alpha = %g", (double)alpha);
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  PZ_TRY(pz_onnx_power(c, 1.0 / (double)alpha, 0, &x));
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_ELU, 1, 0}, "elu", &x));
  PZ_TRY(pz_onnx_power(c, (double)alpha, 0, &x));
  return pz_onnx_give(c, 0, x, pz_onnx_type_in(c));
}

/* x * sigmoid(alpha*x) */
pz_status pz_onnx_op_swish(pz_onnx *c) {
  float alpha;
  pz_tensor_id both[2], y;
  PZ_TRY(pz_onnx_attr_float(c, "alpha", 1, &alpha));
  if (alpha == 1) return activate(c, (pz_activation){PZ_ACT_SILU, 0, 0});
  PZ_TRY(pz_onnx_tensor_in(c, 0, &both[0]));
  both[1] = both[0];
  PZ_TRY(pz_onnx_power(c, (double)alpha, 0, &both[1]));
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_SIGMOID, 0, 0}, "sigmoid", &both[1]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_PROD, NULL, 2, both, &y));
  return pz_onnx_give(c, 0, y, pz_onnx_type_in(c));
}

/* Slopes that are not one for each channel: max(x, 0) - slope*max(-x, 0). */
static pz_status general_prelu(pz_onnx *c, pz_tensor_id x, pz_tensor_id slope) {
  static const float minus[2] = {1, -1};
  pz_tensor_id sum[2] = {x, x}, product[2], y;
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_RELU, 0, 0}, "positive", &sum[0]));
  PZ_TRY(pz_onnx_power(c, -1, 0, &sum[1]));
  PZ_TRY(pz_onnx_activate(c, (pz_activation){PZ_ACT_RELU, 0, 0}, "negative", &sum[1]));
  product[0] = sum[1];
  product[1] = slope;
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_PROD, NULL, 2, product, &sum[1]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_SUM, minus, 2, sum, &y));
  return pz_onnx_give(c, 0, y, pz_onnx_type_in(c));
}

pz_status pz_onnx_op_prelu(pz_onnx *c) {
  const pz_shape *x = pz_onnx_in_shape(c, 0), *s = pz_onnx_in_shape(c, 1);
  const int64_t n = pz_onnx_elements(s);
  const bool line =
      c->model.opset < 7 && x->rank > 1 && s->rank == 1 && n == x->dim[1]; /* one a channel, there */
  const bool fast =
      pz_onnx_is_known(c, 1) && s->rank <= x->rank && (n == 1 || line || pz_onnx_is_per_map(x, s));
  pz_tensor_id in[2], y;
  PZ_TRY(pz_onnx_tensor_in(c, 0, &in[0]));
  if (!fast) {
    PZ_TRY(pz_onnx_tensor_in(c, 1, &in[1]));
    return general_prelu(c, in[0], in[1]);
  }
  const pz_onnx_constant *k = NULL;
  const pz_shape channels = {1, {n}};
  PZ_TRY(pz_onnx_floats_in(c, 1, &k));
  PZ_TRY(pz_onnx_add_constant(c, "slope", &channels, k->floats, &in[1]));
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  node.attr.activation.act.kind = PZ_ACT_PRELU;
  PZ_TRY(pz_onnx_add(c, &node, "prelu", 2, in, &y));
  return pz_onnx_give(c, 0, y, pz_onnx_type_in(c));
}

static pz_status clip_by_values(pz_onnx *c) {
  pz_tensor_id both[2];
  PZ_TRY(pz_onnx_tensor_in(c, 0, &both[0]));
  for (int32_t i = 1; i < 3; i++) {
    if (!pz_onnx_has(c, i)) continue;
    if (pz_onnx_elements(pz_onnx_in_shape(c, i)) != 1)
      return pz_onnx_fail(c, "its input %d must be a single number", (int)i);
    PZ_TRY(pz_onnx_tensor_in(c, i, &both[1]));
    PZ_TRY(pz_onnx_eltwise(c, i == 1 ? PZ_ELT_MAX : PZ_ELT_MIN, NULL, 2, both, &both[0]));
  }
  return pz_onnx_give(c, 0, both[0], pz_onnx_type_in(c));
}

/* Below opset 11 the bounds are attributes. Where they cross, everything becomes the upper one. */
pz_status pz_onnx_op_clip(pz_onnx *c) {
  pz_activation act = {PZ_ACT_CLIP, -INFINITY, INFINITY};
  double low = -(double)INFINITY, high = (double)INFINITY;
  if (c->model.opset >= 11 && pz_onnx_all_known(c)) return pz_onnx_fold_clip(c);
  if (c->model.opset < 11) {
    PZ_TRY(pz_onnx_attr_float(c, "min", low, &act.alpha));
    PZ_TRY(pz_onnx_attr_float(c, "max", high, &act.beta));
  } else {
    if ((pz_onnx_has(c, 1) && !pz_onnx_is_known(c, 1)) || (pz_onnx_has(c, 2) && !pz_onnx_is_known(c, 2)))
      return clip_by_values(c);
    if (pz_onnx_has(c, 1)) PZ_TRY(pz_onnx_number_in(c, 1, &low));
    if (pz_onnx_has(c, 2)) PZ_TRY(pz_onnx_number_in(c, 2, &high));
    if (!pz_onnx_is_floating(pz_onnx_type_in(c)) && (low > PZ_ONNX_EXACT || high < -PZ_ONNX_EXACT))
      return pz_onnx_refuse(c, "bounds of whole numbers beyond 2^24");
    act.alpha = (float)low;
    act.beta = (float)high;
  }
  if (act.alpha > act.beta) act.alpha = act.beta;
  if (isinf(act.alpha) && isinf(act.beta)) {
    pz_node node = pz_node_new(PZ_OP_IDENTITY);
    return pz_onnx_simple(c, &node);
  }
  const pz_onnx_range x = pz_onnx_range_in(c, 0),
                      all = {fmax(x.low, (double)act.alpha), fmin(x.high, (double)act.beta)};
  if (act.alpha == 0 && isinf(act.beta)) act = (pz_activation){PZ_ACT_RELU, 0, 0};
  pz_tensor_id id;
  PZ_TRY(pz_onnx_tensor_in(c, 0, &id));
  PZ_TRY(pz_onnx_activate(c, act, "result", &id));
  return pz_onnx_give_in(c, 0, id, pz_onnx_type_in(c), all);
}
