/* norm.c: normalisations. */
#include "import/onnx/ops.h"

/* Adds a group_norm over channels (or what was reshaped to be channels) to *x; gamma and beta may be PZ_NONE. */
static pz_status group_norm(pz_onnx *c, int64_t groups, pz_tensor_id gamma, pz_tensor_id beta,
                            pz_tensor_id *x) {
  pz_node node = pz_node_new(PZ_OP_GROUP_NORM);
  const pz_tensor_id in[3] = {*x, gamma, beta};
  if (groups < 1 || groups > INT32_MAX) return pz_onnx_fail(c, "%lld groups", (long long)groups);
  node.attr.group_norm.groups = (int32_t)groups;
  PZ_TRY(pz_onnx_attr_float(c, "epsilon", 1e-5, &node.attr.group_norm.eps));
  return pz_onnx_add(c, &node, "norm", 3, in, x);
}

/* ---- BatchNormalization ---- */

static pz_status no_statistics(pz_onnx *c) {
  for (int32_t i = 1; i < c->node->n_out; i++)
    if (pz_onnx_wants(c, i)) return pz_onnx_refuse(c, "statistics as outputs (training)");
  return PZ_OK;
}

/* With the statistics that the model holds. */
static pz_status normalise_by_stored(pz_onnx *c) {
  pz_tensor_id x, in[5], scaled[3];
  pz_node norm = pz_node_new(PZ_OP_BATCH_NORM), scale = pz_node_new(PZ_OP_SCALE);
  PZ_TRY(pz_onnx_attr_float(c, "epsilon", 1e-5, &norm.attr.batch_norm.eps));
  PZ_TRY(no_statistics(c));
  for (int32_t i = 0; i < 5; i++) PZ_TRY(pz_onnx_tensor_in(c, i, &in[i]));
  PZ_TRY(pz_onnx_add(c, &norm, "norm", 3, (pz_tensor_id[]){in[0], in[3], in[4]}, &x));
  memcpy(scaled, (pz_tensor_id[]){x, in[1], in[2]}, sizeof scaled);
  PZ_TRY(pz_onnx_add(c, &scale, "scale", 3, scaled, &x));
  return pz_onnx_give(c, 0, x, pz_onnx_type_in(c));
}

/* The statistics of a channel over the whole batch are those of one channel that holds the batch: [N, C, ...] becomes
 * [1, C, N*...]. */
static pz_status join_batch(pz_onnx *c, const pz_shape *shape, pz_tensor_id *x) {
  const pz_shape channels = {3, {1, shape->dim[1], pz_onnx_elements(shape) / shape->dim[1]}};
  pz_node turn = pz_node_new(PZ_OP_PERMUTE);
  const pz_shape rows = {3, {shape->dim[0], shape->dim[1], channels.dim[2] / shape->dim[0]}};
  memcpy(turn.attr.permute.order, (int32_t[]){1, 0, 2}, 3 * sizeof(int32_t));
  if (shape->dim[0] > 1) {
    PZ_TRY(pz_onnx_reshape_to(c, &rows, x));
    PZ_TRY(pz_onnx_apply(c, &turn, "join", x));
  }
  return pz_onnx_reshape_to(c, &channels, x);
}

static pz_status split_batch(pz_onnx *c, const pz_shape *shape, pz_tensor_id *x) {
  const int64_t n = shape->dim[0], channels = shape->dim[1];
  const pz_shape columns = {3, {channels, n, pz_onnx_elements(shape) / channels / n}};
  pz_node turn = pz_node_new(PZ_OP_PERMUTE);
  memcpy(turn.attr.permute.order, (int32_t[]){1, 0, 2}, 3 * sizeof(int32_t));
  if (n > 1) {
    PZ_TRY(pz_onnx_reshape_to(c, &columns, x));
    PZ_TRY(pz_onnx_apply(c, &turn, "split", x));
  }
  return pz_onnx_reshape_to(c, shape, x);
}

/* Output i: momentum * what the model holds + (1 - momentum) * a statistic of [1, C, n], reduced to [1, C, 1]. */
static pz_status give_running(pz_onnx *c, int32_t i, float momentum, pz_tensor_id now) {
  pz_tensor_id both[2] = {PZ_NONE, now}, out;
  const float coeff[2] = {momentum, 1 - momentum};
  const pz_shape line = {1, {pz_onnx_shape(c, now)->dim[1]}};
  PZ_TRY(pz_onnx_reshape_to(c, &line, &both[1]));
  PZ_TRY(pz_onnx_tensor_in(c, 2 + i, &both[0]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_SUM, coeff, 2, both, &out));
  return pz_onnx_give(c, i, out, pz_onnx_in(c, 2 + i)->type);
}

/* Outputs 1 and 2: running mean and variance. x is [1, C, n]. */
static pz_status give_all_running(pz_onnx *c, pz_tensor_id x) {
  static const float minus[2] = {1, -1};
  pz_node mean = pz_node_new(PZ_OP_REDUCE), square = pz_node_new(PZ_OP_POWER);
  pz_tensor_id both[2] = {x, x}, spread;
  float momentum;
  mean.attr.reduce.axis[2] = true;
  square.attr.power = (pz_attr_power){.power = 2, .scale = 1};
  PZ_TRY(pz_onnx_attr_float(c, "momentum", 0.9, &momentum));
  if (!pz_onnx_wants(c, 1) && !pz_onnx_wants(c, 2)) return PZ_OK;
  PZ_TRY(pz_onnx_apply(c, &mean, "mean", &both[1]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_SUM, minus, 2, both, &spread));
  PZ_TRY(pz_onnx_apply(c, &square, "square", &spread));
  PZ_TRY(pz_onnx_apply(c, &mean, "variance", &spread));
  PZ_TRY(give_running(c, 1, momentum, both[1]));
  return give_running(c, 2, momentum, spread);
}

/* With the statistics of x itself. */
static pz_status normalise_by_own(pz_onnx *c) {
  const pz_shape shape = *pz_onnx_in_shape(c, 0);
  pz_tensor_id x, in[3];
  if (shape.rank < 2)
    return pz_onnx_fail(c, "its input has %d dimensions, expected N, C, ...", (int)shape.rank);
  for (int32_t i = 0; i < 3; i++) PZ_TRY(pz_onnx_tensor_in(c, i, &in[i]));
  x = in[0];
  PZ_TRY(join_batch(c, &shape, &x));
  const pz_tensor_id joined = x;
  PZ_TRY(group_norm(c, shape.dim[1], in[1], in[2], &x));
  PZ_TRY(split_batch(c, &shape, &x));
  PZ_TRY(pz_onnx_give(c, 0, x, pz_onnx_type_in(c)));
  return give_all_running(c, joined);
}

/* From opset 7 to 13 outputs of statistics stand for the training mode. */
pz_status pz_onnx_op_batch_normalization(pz_onnx *c) {
  bool training, spatial;
  PZ_TRY(pz_onnx_attr_flag(c, "training_mode", false, &training));
  PZ_TRY(pz_onnx_attr_flag(c, "spatial", true, &spatial));
  if (!spatial) return pz_onnx_refuse(c, "spatial = 0");
  return training ? normalise_by_own(c) : normalise_by_stored(c);
}

pz_status pz_onnx_op_instance_normalization(pz_onnx *c) {
  pz_tensor_id in[3];
  const pz_shape *x = pz_onnx_in_shape(c, 0);
  if (x->rank < 3) return pz_onnx_fail(c, "its input has %d dimensions, expected N, C, ...", (int)x->rank);
  const int64_t channels = x->dim[1];
  for (int32_t i = 0; i < 3; i++) PZ_TRY(pz_onnx_tensor_in(c, i, &in[i]));
  PZ_TRY(group_norm(c, channels, in[1], in[2], &in[0]));
  return pz_onnx_give(c, 0, in[0], pz_onnx_type_in(c));
}

/* Input i, broadcast from what it has to `n` values in a row; `repeat`: each value that often instead. */
static pz_status spread(pz_onnx *c, int32_t i, const pz_shape *over, int64_t repeat, pz_tensor_id *id) {
  const pz_onnx_constant *k = NULL;
  PZ_TRY(pz_onnx_floats_in(c, i, &k));
  const pz_shape line = {1, {pz_onnx_elements(over)}};
  pz_onnx_space space;
  PZ_TRY(pz_onnx_new_constant(c, PZ_ONNX_FLOAT, &line, &space));
  for (int64_t n = 0; n < line.dim[0]; n++)
    space.floats[n] = k->floats[repeat ? n / repeat : pz_onnx_source(over, &k->shape, n)];
  return pz_onnx_add_constant(c, i == 1 ? "gamma" : "beta", &line, space.floats, id);
}

/* Before opset 21 scale and bias have a value for each group. */
pz_status pz_onnx_op_group_normalization(pz_onnx *c) {
  int64_t groups;
  pz_tensor_id in[3];
  const pz_shape x = *pz_onnx_in_shape(c, 0);
  PZ_TRY(pz_onnx_attr_int(c, "num_groups", 0, &groups));
  if (x.rank < 2 || groups < 1 || x.dim[1] % groups)
    return pz_onnx_fail(c, "its %lld groups do not divide its channels", (long long)groups);
  const pz_shape channels = {1, {x.dim[1]}};
  for (int32_t i = 0; i < 3; i++) {
    const pz_shape *s = pz_onnx_in_shape(c, i);
    if (i && c->model.opset < 21 && pz_onnx_elements(s) != x.dim[1]) {
      if (s->rank != 1 || s->dim[0] != groups)
        return pz_onnx_fail(c, "its input %d must have a value for each of %lld groups", (int)i,
                            (long long)groups);
      PZ_TRY(spread(c, i, &channels, x.dim[1] / groups, &in[i]));
    } else PZ_TRY(pz_onnx_tensor_in(c, i, &in[i]));
  }
  PZ_TRY(group_norm(c, groups, in[1], in[2], &in[0]));
  return pz_onnx_give(c, 0, in[0], pz_onnx_type_in(c));
}

/* Outputs 1 and 2: the mean over the dimensions from `axis` on, and 1 / sqrt(variance + epsilon). */
static pz_status give_statistics(pz_onnx *c, int32_t axis, pz_tensor_id x) {
  static const float minus[2] = {1, -1};
  pz_node mean = pz_node_new(PZ_OP_REDUCE), square = pz_node_new(PZ_OP_POWER), root = square;
  pz_tensor_id both[2] = {x, x}, difference;
  if (!pz_onnx_wants(c, 1) && !pz_onnx_wants(c, 2)) return PZ_OK;
  for (int32_t d = axis; d < pz_onnx_shape(c, x)->rank; d++) mean.attr.reduce.axis[d] = true;
  square.attr.power = (pz_attr_power){.power = 2, .scale = 1};
  root.attr.power = (pz_attr_power){.power = -0.5F, .scale = 1};
  PZ_TRY(pz_onnx_attr_float(c, "epsilon", 1e-5, &root.attr.power.shift));
  PZ_TRY(pz_onnx_apply(c, &mean, "mean", &both[1]));
  PZ_TRY(pz_onnx_eltwise(c, PZ_ELT_SUM, minus, 2, both, &difference));
  PZ_TRY(pz_onnx_apply(c, &square, "square", &difference));
  PZ_TRY(pz_onnx_apply(c, &mean, "variance", &difference));
  PZ_TRY(pz_onnx_apply(c, &root, "root", &difference));
  PZ_TRY(pz_onnx_give(c, 1, both[1], PZ_ONNX_FLOAT));
  return pz_onnx_give(c, 2, difference, PZ_ONNX_FLOAT);
}

/* The dimensions from `axis` on become channels of one group. */
pz_status pz_onnx_op_layer_normalization(pz_onnx *c) {
  const pz_shape shape = *pz_onnx_in_shape(c, 0);
  pz_shape inner = {0}, rows = {2, {1, 1}};
  pz_tensor_id x, in[3] = {PZ_NONE, PZ_NONE, PZ_NONE};
  int32_t axis;
  PZ_TRY(pz_onnx_attr_axis(c, -1, shape.rank, &axis));
  for (int32_t d = 0; d < shape.rank; d++) rows.dim[d >= axis] *= shape.dim[d];
  for (int32_t d = axis; d < shape.rank; d++) inner.dim[inner.rank++] = shape.dim[d];
  for (int32_t i = 1; i < 3; i++) {
    if (!pz_onnx_has(c, i)) continue;
    const pz_shape *both[2] = {&inner, pz_onnx_in_shape(c, i)};
    pz_shape out;
    PZ_TRY(pz_onnx_broadcast(c, both, 2, &out));
    if (!pz_shape_equal(&out, &inner))
      return pz_onnx_fail(c, "its input %d does not fit the dimensions that are normalised", (int)i);
    PZ_TRY(spread(c, i, &inner, 0, &in[i]));
  }
  PZ_TRY(pz_onnx_tensor_in(c, 0, &x));
  const pz_tensor_id source = x;
  PZ_TRY(pz_onnx_reshape_to(c, &rows, &x));
  PZ_TRY(group_norm(c, 1, in[1], in[2], &x));
  PZ_TRY(pz_onnx_reshape_to(c, &shape, &x));
  PZ_TRY(pz_onnx_give(c, 0, x, pz_onnx_type_in(c)));
  return give_statistics(c, axis, source);
}

pz_status pz_onnx_op_lrn(pz_onnx *c) {
  pz_node node = pz_node_new(PZ_OP_LRN);
  pz_attr_lrn *a = &node.attr.lrn;
  int64_t size;
  PZ_TRY(pz_onnx_attr_int(c, "size", 0, &size));
  PZ_TRY(pz_onnx_attr_float(c, "alpha", 1e-4, &a->alpha));
  PZ_TRY(pz_onnx_attr_float(c, "beta", 0.75, &a->beta));
  PZ_TRY(pz_onnx_attr_float(c, "bias", 1, &a->k));
  if (size < 1 || size > INT32_MAX) return pz_onnx_fail(c, "a size of %lld", (long long)size);
  if (size % 2 == 0) return pz_onnx_refuse(c, "an even size");
  a->size = (int32_t)size;
  return pz_onnx_simple(c, &node);
}
