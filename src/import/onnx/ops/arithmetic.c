/* arithmetic.c: arithmetic of two or more values. A constant of one value becomes a power node, one with a value for each
 * channel a scale node: forms that are folded into convolutions. */
#include "import/onnx/ops.h"

/* x and the constant k, in this order or, where `swapped`, the other. *done: it has a fast form. */
static pz_status with_number(pz_onnx *c, pz_onnx_operation op, double k, bool swapped, pz_tensor_id *x,
                             bool *done) {
  *done = isfinite(k) && !(op == PZ_ONNX_DIV && (swapped || k == 0 || !isfinite((double)(float)(1 / k))));
  if (!*done) return PZ_OK;
  switch (op) {
  case PZ_ONNX_ADD: return pz_onnx_power(c, 1, k, x);
  case PZ_ONNX_SUB: return swapped ? pz_onnx_power(c, -1, k, x) : pz_onnx_power(c, 1, -k, x);
  case PZ_ONNX_MUL: return pz_onnx_power(c, k, 0, x);
  default: return pz_onnx_power(c, 1 / k, 0, x);
  }
}

static pz_status with_channels(pz_onnx *c, pz_onnx_operation op, const pz_onnx_constant *k, bool swapped,
                               pz_tensor_id *x, bool *done) {
  const pz_shape line = {1, {k->elements}};
  pz_tensor_id constant, in[3] = {*x, PZ_NONE, PZ_NONE};
  pz_onnx_space space;
  *done = !(op == PZ_ONNX_DIV && swapped);
  if (!*done) return PZ_OK;
  PZ_TRY(pz_onnx_new_constant(c, PZ_ONNX_FLOAT, &line, &space));
  for (int64_t i = 0; i < k->elements; i++) {
    const float v = (float)pz_onnx_number(k, i);
    space.floats[i] = op == PZ_ONNX_DIV ? 1 / v : op == PZ_ONNX_SUB && !swapped ? -v : v;
  }
  if (op == PZ_ONNX_SUB && swapped) PZ_TRY(pz_onnx_power(c, -1, 0, &in[0]));
  const bool factor = op == PZ_ONNX_MUL || op == PZ_ONNX_DIV;
  PZ_TRY(pz_onnx_add_constant(c, factor ? "gamma" : "beta", &line, space.floats, &constant));
  in[factor ? 1 : 2] = constant;
  pz_node node = pz_node_new(PZ_OP_SCALE);
  return pz_onnx_add(c, &node, "scale", 3, in, x);
}

/* Where one input is a constant that has a fast form. */
static pz_status try_constant(pz_onnx *c, pz_onnx_operation op, bool *done) {
  const bool swapped = pz_onnx_is_known(c, 0);
  const int32_t k_in = swapped ? 0 : 1;
  const pz_onnx_constant *k = NULL;
  const pz_shape x_shape = *pz_onnx_in_shape(c, 1 - k_in), k_shape = *pz_onnx_in_shape(c, k_in);
  const bool one = pz_onnx_elements(&k_shape) == 1 && k_shape.rank <= x_shape.rank;
  *done = false;
  if (pz_onnx_is_known(c, 1 - k_in) || !pz_onnx_is_known(c, k_in)) return PZ_OK;
  if (!one && !pz_onnx_is_per_map(&x_shape, &k_shape)) return PZ_OK;
  pz_tensor_id x;
  PZ_TRY(pz_onnx_tensor_in(c, 1 - k_in, &x));
  PZ_TRY(pz_onnx_constant_in(c, k_in, &k));
  const pz_onnx_type type = pz_onnx_in(c, 1 - k_in)->type;
  if (one) PZ_TRY(with_number(c, op, pz_onnx_number(k, 0), swapped, &x, done));
  else PZ_TRY(with_channels(c, op, k, swapped, &x, done));
  return *done ? pz_onnx_give(c, 0, x, type) : PZ_OK;
}

static pz_status give_eltwise(pz_onnx *c, pz_eltwise_kind kind, const float *coeff, int32_t n) {
  pz_tensor_id *in = PZ_NEW(c->arena, pz_tensor_id, n), out;
  if (!in) return pz_onnx_no_memory(c);
  for (int32_t i = 0; i < n; i++) PZ_TRY(pz_onnx_tensor_in(c, i, &in[i]));
  PZ_TRY(pz_onnx_eltwise(c, kind, coeff, n, in, &out));
  return pz_onnx_give(c, 0, out, pz_onnx_type_in(c));
}

/* Opset 6 says where the second input's dimensions begin; only at the end is that NumPy's broadcasting. */
static pz_status check_axis(pz_onnx *c) {
  int64_t axis;
  const int32_t rank = pz_onnx_in_shape(c, 0)->rank, begin = rank - pz_onnx_in_shape(c, 1)->rank;
  if (c->model.opset > 6 || !pz_onnx_has_attr(c, "axis")) return PZ_OK;
  PZ_TRY(pz_onnx_attr_int(c, "axis", begin, &axis));
  if (axis == begin || axis + rank == begin) return PZ_OK;
  return pz_onnx_refuse(c, "broadcasting along axis %lld, not the last ones", (long long)axis);
}

static pz_status arithmetic(pz_onnx *c, pz_onnx_operation op) {
  static const pz_eltwise_kind kinds[] = {[PZ_ONNX_ADD] = PZ_ELT_SUM,
                                          [PZ_ONNX_SUB] = PZ_ELT_SUM,
                                          [PZ_ONNX_MUL] = PZ_ELT_PROD,
                                          [PZ_ONNX_DIV] = PZ_ELT_DIV};
  static const float minus[2] = {1, -1};
  bool done;
  PZ_TRY(check_axis(c));
  if (pz_onnx_all_known(c)) return pz_onnx_fold_binary(c);
  if (!pz_onnx_is_floating(pz_onnx_type_in(c))) return pz_onnx_whole_arithmetic(c, op);
  PZ_TRY(try_constant(c, op, &done));
  return done ? PZ_OK : give_eltwise(c, kinds[op], op == PZ_ONNX_SUB ? minus : NULL, 2);
}

pz_status pz_onnx_op_add(pz_onnx *c) { return arithmetic(c, PZ_ONNX_ADD); }
pz_status pz_onnx_op_sub(pz_onnx *c) { return arithmetic(c, PZ_ONNX_SUB); }
pz_status pz_onnx_op_mul(pz_onnx *c) { return arithmetic(c, PZ_ONNX_MUL); }
pz_status pz_onnx_op_div(pz_onnx *c) { return arithmetic(c, PZ_ONNX_DIV); }

/* Of floats it is exact only where the quotient is: refused. */
pz_status pz_onnx_op_mod(pz_onnx *c) {
  const pz_onnx_type type = pz_onnx_type_in(c);
  if (pz_onnx_all_known(c)) return pz_onnx_fold_binary(c);
  if (pz_onnx_is_floating(type))
    return pz_onnx_refuse(c, "computed values of type %s", pz_onnx_type_name(type));
  return pz_onnx_whole_arithmetic(c, PZ_ONNX_MOD);
}

/* ---- any number of inputs ---- */

static pz_status of_all(pz_onnx *c, pz_eltwise_kind kind, const float *coeff) {
  pz_node identity = pz_node_new(PZ_OP_IDENTITY);
  if (!coeff && pz_onnx_all_known(c)) return pz_onnx_fold_binary(c);
  return c->node->n_in == 1 ? pz_onnx_simple(c, &identity) : give_eltwise(c, kind, coeff, c->node->n_in);
}

/* max(x, k) and min(x, k) of a number k are clips. */
static pz_status bound(pz_onnx *c, pz_eltwise_kind kind) {
  const int32_t k_in = c->node->n_in == 2 && pz_onnx_is_known(c, 0) ? 0 : 1;
  if (c->node->n_in != 2 || !pz_onnx_is_known(c, k_in) || pz_onnx_is_known(c, 1 - k_in) ||
      pz_onnx_elements(pz_onnx_in_shape(c, k_in)) != 1 ||
      pz_onnx_in_shape(c, k_in)->rank > pz_onnx_in_shape(c, 1 - k_in)->rank)
    return of_all(c, kind, NULL);
  double k;
  pz_tensor_id x;
  pz_activation act = {PZ_ACT_CLIP, -INFINITY, INFINITY};
  PZ_TRY(pz_onnx_number_in(c, k_in, &k));
  if (!isfinite(k) || (double)(float)k != k) return of_all(c, kind, NULL);
  *(kind == PZ_ELT_MAX ? &act.alpha : &act.beta) = (float)k;
  if (kind == PZ_ELT_MAX && k == 0) act = (pz_activation){PZ_ACT_RELU, 0, 0};
  PZ_TRY(pz_onnx_tensor_in(c, 1 - k_in, &x));
  PZ_TRY(pz_onnx_activate(c, act, "clip", &x));
  return pz_onnx_give(c, 0, x, pz_onnx_in(c, 1 - k_in)->type);
}

pz_status pz_onnx_op_max(pz_onnx *c) { return bound(c, PZ_ELT_MAX); }
pz_status pz_onnx_op_min(pz_onnx *c) { return bound(c, PZ_ELT_MIN); }
pz_status pz_onnx_op_sum(pz_onnx *c) { return of_all(c, PZ_ELT_SUM, NULL); }

pz_status pz_onnx_op_mean(pz_onnx *c) {
  float *coeff = PZ_NEW(c->arena, float, c->node->n_in);
  if (!coeff) return pz_onnx_no_memory(c);
  for (int32_t i = 0; i < c->node->n_in; i++) coeff[i] = 1 / (float)c->node->n_in;
  return of_all(c, PZ_ELT_SUM, coeff);
}

pz_status pz_onnx_op_pow(pz_onnx *c) {
  double exponent = 0;
  if (pz_onnx_all_known(c)) return pz_onnx_fold_binary(c);
  const bool number = pz_onnx_is_known(c, 1) && !pz_onnx_is_known(c, 0) &&
                      pz_onnx_elements(pz_onnx_in_shape(c, 1)) == 1 &&
                      pz_onnx_in_shape(c, 1)->rank <= pz_onnx_in_shape(c, 0)->rank;
  if (number) PZ_TRY(pz_onnx_number_in(c, 1, &exponent));
  if (!number || !isfinite(exponent)) return give_eltwise(c, PZ_ELT_POW, NULL, 2);
  pz_node node = pz_node_new(PZ_OP_POWER);
  node.attr.power = (pz_attr_power){.power = (float)exponent, .scale = 1};
  return pz_onnx_simple(c, &node);
}
