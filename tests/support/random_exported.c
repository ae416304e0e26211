/* random_exported.c: networks as exporters of PyTorch write them: functions and normalisations taken apart, padding as a
 * layer, arithmetic with constants; and the operators that such networks have beside Caffe's. */
#include "support/random.h"
#include <math.h>

static int64_t channels_of(const maker *m, pz_tensor_id x) { return shape_of(m, x).dim[1]; }

static pz_tensor_id affine(maker *m, pz_tensor_id x, float scale, float shift) {
  pz_node node = pz_node_new(PZ_OP_POWER);
  node.attr.power = (pz_attr_power){1, scale, shift};
  return add(m, &node, "affine", 1, &x);
}

static pz_tensor_id raised(maker *m, pz_tensor_id x, float power, float shift) {
  pz_node node = pz_node_new(PZ_OP_POWER);
  node.attr.power = (pz_attr_power){power, 1, shift};
  return add(m, &node, "raised", 1, &x);
}

static pz_tensor_id function(maker *m, pz_tensor_id x, pz_activation act) {
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  node.attr.activation.act = act;
  return add(m, &node, pz_activation_name(act.kind), 1, &x);
}

static pz_tensor_id pair(maker *m, pz_eltwise_kind kind, pz_tensor_id a, pz_tensor_id b, const float *coeff) {
  pz_node node = pz_node_new(PZ_OP_ELTWISE);
  node.attr.eltwise = (pz_attr_eltwise){kind, coeff};
  return add(m, &node, "pair", 2, (pz_tensor_id[]){a, b});
}

static pz_tensor_id product(maker *m, pz_tensor_id a, pz_tensor_id b) {
  return chance(m, 50) ? pair(m, PZ_ELT_PROD, a, b, NULL) : pair(m, PZ_ELT_PROD, b, a, NULL);
}

/* ---- functions ---- */

/* x * gate * factor, the factor at one of three places. */
static pz_tensor_id gated(maker *m, pz_tensor_id x, pz_tensor_id gate, float factor) {
  int32_t place = factor == 1 ? 3 : pick(m, 0, 2);
  pz_tensor_id a = place == 0 ? affine(m, x, factor, 0) : x;
  pz_tensor_id y = product(m, a, place == 1 ? affine(m, gate, factor, 0) : gate);
  return place == 2 ? affine(m, y, factor, 0) : y;
}

static pz_tensor_id gelu(maker *m, pz_tensor_id x) {
  pz_tensor_id erf = function(m, affine(m, x, (float)M_SQRT1_2, 0), (pz_activation){.kind = PZ_ACT_ERF});
  return gated(m, x, affine(m, erf, 1, 1), 0.5f);
}

static pz_tensor_id gelu_tanh(maker *m, pz_tensor_id x) {
  pz_tensor_id cube = chance(m, 50) ? raised(m, x, 3, 0) : product(m, x, product(m, x, x));
  pz_tensor_id sum = pair(m, PZ_ELT_SUM, x, affine(m, cube, 0.044715f, 0), NULL);
  pz_tensor_id gate = function(m, affine(m, sum, 0.7978846f, 0), (pz_activation){.kind = PZ_ACT_TANH});
  return gated(m, x, affine(m, gate, 1, 1), 0.5f);
}

static pz_tensor_id mish(maker *m, pz_tensor_id x) {
  pz_tensor_id soft = function(m, affine(m, function(m, x, (pz_activation){.kind = PZ_ACT_EXP}), 1, 1),
                               (pz_activation){.kind = PZ_ACT_LOG});
  return gated(m, x, function(m, soft, (pz_activation){.kind = PZ_ACT_TANH}), 1);
}

static pz_tensor_id hard_swish(maker *m, pz_tensor_id x) {
  pz_activation clip = {PZ_ACT_CLIP, 0, 6};
  return gated(m, x, function(m, affine(m, x, 1, 3), clip), 1.0f / 6);
}

static pz_tensor_id silu(maker *m, pz_tensor_id x) {
  return gated(m, x, function(m, x, (pz_activation){.kind = PZ_ACT_SIGMOID}), 1);
}

/* Those whose value hardly changes where x hardly changes. */
static pz_tensor_id whole_function(maker *m, pz_tensor_id x) {
  static const pz_activation acts[] = {{PZ_ACT_SELU, 1.6732632f, 1.050701f},
                                       {PZ_ACT_HARD_SIGMOID, 0.2f, 0.5f},
                                       {PZ_ACT_HARD_SWISH, 0, 0},
                                       {PZ_ACT_SILU, 0, 0},
                                       {PZ_ACT_MISH, 0, 0},
                                       {PZ_ACT_SOFTPLUS, 0, 0},
                                       {PZ_ACT_GELU, 0, 0},
                                       {PZ_ACT_GELU_TANH, 0, 0},
                                       {PZ_ACT_CLIP, -0.5f, INFINITY},
                                       {PZ_ACT_CLIP, -0.25f, 0.75f},
                                       {PZ_ACT_ABS, 0, 0},
                                       {PZ_ACT_ERF, 0, 0},
                                       {PZ_ACT_THRESHOLDED_RELU, 0, 0},
                                       {PZ_ACT_SOFTSIGN, 0, 0}};
  return function(m, x, ONE_OF(m, acts));
}

static pz_tensor_id exported_function(maker *m, pz_tensor_id x) {
  static pz_tensor_id (*const functions[])(maker * m, pz_tensor_id x) = {
      gelu, gelu_tanh, mish, hard_swish, silu, whole_function, whole_function};
  return ONE_OF(m, functions)(m, x);
}

/* ---- normalisation; eps is large, so that channels of almost one value do not amplify rounding ---- */

static pz_tensor_id factors(maker *m, pz_tensor_id x) {
  pz_shape shape = shape_of(m, x), c = shape;
  for (int32_t i = 0; i < c.rank; i++)
    if (i != 1) c.dim[i] = 1;
  x = product(m, x, constant(m, "gamma", &c, 0.5f, 1));
  return pair(m, PZ_ELT_SUM, x, constant(m, "beta", &c, 0.5f, 0), NULL);
}

static pz_tensor_id mean(maker *m, pz_tensor_id x, int32_t first, bool rest) {
  pz_node node = pz_node_new(PZ_OP_REDUCE);
  for (int32_t i = first; i < (rest ? shape_of(m, x).rank : first + 1); i++) node.attr.reduce.axis[i] = true;
  return add(m, &node, "mean", 1, &x);
}

static pz_tensor_id norm_in_parts(maker *m, pz_tensor_id x) {
  int32_t first = chance(m, 60) ? 2 : 1;
  bool rest = first == 2 || chance(m, 50); /* or over the channels alone */
  pz_tensor_id d = pair(m, PZ_ELT_SUM, x, mean(m, x, first, rest), (float[]){1, -1});
  pz_tensor_id square = chance(m, 50) ? raised(m, d, 2, 0) : product(m, d, d);
  pz_tensor_id variance = mean(m, square, first, rest);
  if (chance(m, 50)) return factors(m, product(m, d, raised(m, variance, -0.5f, 0.1f)));
  pz_tensor_id root = function(m, affine(m, variance, 1, 0.1f), (pz_activation){.kind = PZ_ACT_SQRT});
  return factors(m, pair(m, PZ_ELT_DIV, d, root, NULL));
}

static pz_tensor_id reshaped(maker *m, pz_tensor_id x, const pz_shape *shape) {
  pz_node node = pz_node_new(PZ_OP_RESHAPE);
  node.attr.reshape.shape = *shape;
  return add(m, &node, "reshaped", 1, &x);
}

static pz_tensor_id group_norm(maker *m, pz_tensor_id x, int32_t groups) {
  pz_node node = pz_node_new(PZ_OP_GROUP_NORM);
  node.attr.group_norm.groups = groups;
  node.attr.group_norm.eps = 0.1f;
  return add(m, &node, "group_norm", 1, &x);
}

static pz_tensor_id channel_norm(maker *m, pz_tensor_id x) {
  pz_node node = pz_node_new(PZ_OP_CHANNEL_NORM);
  node.attr.channel_norm.eps = 0.1f;
  return add(m, &node, "channel_norm", 1, &x);
}

/* Dimension `from` becomes dimension `to`. */
static pz_tensor_id turned(maker *m, pz_tensor_id x, int32_t from, int32_t to) {
  pz_node node = pz_node_new(PZ_OP_PERMUTE);
  int32_t step = from < to ? 1 : -1;
  for (int32_t i = from; i != to; i += step) node.attr.permute.order[i] = i + step;
  node.attr.permute.order[to] = from;
  return add(m, &node, "turned", 1, &x);
}

/* Channels as the last dimension, normalised row by row. */
static pz_tensor_id layer_norm(maker *m, pz_tensor_id x) {
  pz_shape shape = shape_of(m, x), rows = {2, {pz_shape_elements(&shape) / shape.dim[1], shape.dim[1]}};
  x = turned(m, x, 1, shape.rank - 1);
  shape = shape_of(m, x);
  x = reshaped(m, group_norm(m, reshaped(m, x, &rows), 1), &shape);
  return turned(m, x, shape.rank - 1, 1);
}

static pz_tensor_id group_norm_exported(maker *m, pz_tensor_id x) {
  pz_shape shape = shape_of(m, x);
  int32_t groups = shape.dim[1] % 3 == 0 ? 3 : shape.dim[1] % 2 == 0 ? 2 : 1;
  if (chance(m, 15)) return whole_function(m, channel_norm(m, x));
  if (chance(m, 30))
    return whole_function(m, group_norm(m, x, chance(m, 50) ? groups : (int32_t)shape.dim[1]));
  pz_shape split = {3, {shape.dim[0], groups, pz_shape_elements(&shape) / shape.dim[0] / groups}};
  x = reshaped(m, group_norm(m, reshaped(m, x, &split), groups), &shape);
  return exported_function(m, factors(m, x));
}

/* ---- moving ---- */

static pz_tensor_id extended(maker *m, pz_tensor_id x, pz_pad_kind kind) {
  pz_node node = pz_node_new(PZ_OP_PAD);
  pz_shape shape = shape_of(m, x);
  node.attr.pad.kind = kind;
  for (int32_t i = 2; i < shape.rank; i++) {
    int32_t most = kind == PZ_PAD_REFLECT && shape.dim[i] < 3 ? (int32_t)shape.dim[i] - 1 : 2;
    node.attr.pad.lo[i] = pick(m, 0, most);
    node.attr.pad.hi[i] = pick(m, 0, most);
  }
  return add(m, &node, "pad", 1, &x);
}

static pz_tensor_id padded(maker *m, pz_tensor_id x) {
  if (chance(m, 40)) return extended(m, x, (pz_pad_kind)pick(m, PZ_PAD_CONSTANT, PZ_PAD_WRAP));
  x = extended(m, x, PZ_PAD_CONSTANT);
  return chance(m, 80) ? same_conv(m, x, pick(m, 1, 6), PZ_NONE) : random_pool(m, x);
}

/* [n, c, b, b, d, h, w] <-> [n, c, d, h, b, w, b] on the last two axes. */
static pz_tensor_id shuffle(maker *m, pz_tensor_id x, bool inverse) {
  pz_shape s = shape_of(m, x), to = s;
  pz_node node = pz_node_new(PZ_OP_PERMUTE);
  int32_t d = s.rank - 4, h = s.rank - 2, w = s.rank - 1, rank = 0;
  int32_t *order = node.attr.permute.order;
  if (s.rank < 4 || (inverse ? s.dim[h] % 2 || s.dim[w] % 2 : s.dim[1] % 4)) return x;
  pz_shape split = {s.rank + 2, {s.dim[0]}};
  split.dim[1] = inverse ? s.dim[1] : s.dim[1] / 4;
  to.dim[1] = inverse ? s.dim[1] * 4 : s.dim[1] / 4;
  to.dim[h] = inverse ? s.dim[h] / 2 : s.dim[h] * 2, to.dim[w] = inverse ? s.dim[w] / 2 : s.dim[w] * 2;
  const pz_shape *deep = inverse ? &to : &s;
  const int32_t wide_axes[4] = {2 + d, 3 + d, 4 + d, 5 + d}; /* h, b, w, b */
  if (inverse) {
    if (d) split.dim[2] = deep->dim[2];
    split.dim[wide_axes[0]] = deep->dim[h], split.dim[wide_axes[1]] = 2;
    split.dim[wide_axes[2]] = deep->dim[w], split.dim[wide_axes[3]] = 2;
    const int32_t from[7] = {0, 1, wide_axes[1], wide_axes[3], 2, wide_axes[0], wide_axes[2]};
    for (int32_t i = 0; i < 7; i++)
      if (d || i != 4) order[rank++] = from[i];
  } else {
    split.dim[2] = split.dim[3] = 2;
    for (int32_t i = 2; i < s.rank; i++) split.dim[i + 2] = deep->dim[i];
    const int32_t from[7] = {0, 1, 4, 4 + d, 2, 5 + d, 3};
    for (int32_t i = 0; i < 7; i++)
      if (d || i != 2) order[rank++] = from[i];
  }
  x = reshaped(m, x, &split);
  return reshaped(m, add(m, &node, "permuted", 1, &x), &to);
}

static pz_tensor_id whole_shuffle(maker *m, pz_tensor_id x, bool inverse) {
  pz_node node = pz_node_new(PZ_OP_DEPTH_TO_SPACE);
  node.attr.depth_to_space.block[2] = 2;
  node.attr.depth_to_space.columns_first = chance(m, 50);
  node.attr.depth_to_space.inverse = inverse;
  if (inverse ? shape_of(m, x).dim[shape_of(m, x).rank - 1] % 2 : channels_of(m, x) % 2) return x;
  return add(m, &node, "shuffle", 1, &x);
}

static pz_tensor_id shuffled(maker *m, pz_tensor_id x) {
  if (chance(m, 50)) x = same_conv(m, x, 4 * pick(m, 1, 3), PZ_NONE);
  bool inverse = chance(m, 50);
  x = chance(m, 70) ? shuffle(m, x, inverse) : whole_shuffle(m, x, inverse);
  return exported_function(m, same_conv(m, x, pick(m, 1, 6), PZ_NONE));
}

/* Entries of an axis, not that of the samples, in any order. */
static pz_tensor_id gathered(maker *m, pz_tensor_id x) {
  pz_node node = pz_node_new(PZ_OP_GATHER);
  pz_shape shape = shape_of(m, x);
  int64_t entries[12];
  pz_attr_gather *a = &node.attr.gather;
  a->axis = pick(m, 1, shape.rank - 1);
  a->index.n = pick(m, 1, shape.dim[a->axis] < 6 ? 6 : 12);
  a->index.entries = entries;
  for (int32_t i = 0; i < a->index.n; i++) entries[i] = pick(m, 0, (int32_t)shape.dim[a->axis] - 1);
  return add(m, &node, "gathered", 1, &x);
}

static pz_tensor_id stepped(maker *m, pz_tensor_id x) {
  pz_node node = pz_node_new(PZ_OP_CROP);
  pz_shape shape = shape_of(m, x);
  if (chance(m, 30)) return gathered(m, x);
  for (int32_t i = 0; i < shape.rank; i++) {
    int32_t step = i > 1 ? pick(m, 1, 2) : 1, n = (int32_t)shape.dim[i];
    bool back = i > 0 && chance(m, 30);
    node.attr.crop.step[i] = back ? -step : step;
    node.attr.crop.offset[i] = back ? n - 1 : 0;
    node.attr.crop.size[i] = (n + step - 1) / step;
  }
  return add(m, &node, "stepped", 1, &x);
}

static pz_tensor_id resized(maker *m, pz_tensor_id x) {
  pz_node node = pz_node_new(PZ_OP_RESIZE);
  pz_attr_resize *a = &node.attr.resize;
  pz_shape shape = shape_of(m, x);
  if (pz_shape_elements(&shape) > 4000) return x;
  a->kind = (pz_resize_kind)pick(m, 0, 1);
  a->coordinate = (pz_coordinate)pick(m, 0, 3);
  if (a->kind == PZ_RESIZE_NEAREST) a->rounding = (pz_rounding)pick(m, 0, 3);
  for (int32_t i = 2; i < shape.rank; i++) {
    int64_t n = shape.dim[i];
    a->size[PZ_SPATIAL - shape.rank + i] = (int32_t)(chance(m, 60)   ? 2 * n
                                                     : chance(m, 50) ? n + 1
                                                                     : (n + 1) / 2);
  }
  return add(m, &node, "resize", 1, &x);
}

/* ---- arithmetic ---- */

/* A constant that is an expression of constants. */
static pz_tensor_id expression(maker *m, const pz_shape *shape, float scale, float shift) {
  pz_tensor_id c = constant(m, "c", shape, scale, shift);
  return chance(m, 50) ? c : function(m, c, (pz_activation){.kind = PZ_ACT_ABS});
}

static pz_tensor_id with_constant(maker *m, pz_tensor_id x) {
  pz_shape shape = shape_of(m, x), c = shape;
  int32_t form = pick(m, 0, 3); /* one number, channels, positions, all */
  for (int32_t i = 0; i < c.rank; i++)
    if (form == 0 || (form == 1 && i != 1) || (form == 2 && i < 2)) c.dim[i] = 1;
  switch (pick(m, 0, 4)) {
  case 0: return pair(m, PZ_ELT_SUM, x, expression(m, &c, 0.5f, 0), NULL);
  case 1: return pair(m, PZ_ELT_SUM, expression(m, &c, 0.5f, 0), x, (float[]){1, -0.5f});
  case 2: return pair(m, PZ_ELT_DIV, x, expression(m, &c, 0.25f, 1), NULL);
  case 3: return pair(m, chance(m, 50) ? PZ_ELT_MAX : PZ_ELT_MIN, x, expression(m, &c, 0.5f, 0), NULL);
  default: return product(m, x, expression(m, &c, 0.5f, 0.75f));
  }
}

/* x and what is left of it along some axes; a power has a base in (0, 1) and an exponent in (0, 1). */
static pz_tensor_id with_reduced(maker *m, pz_tensor_id x) {
  pz_node node = pz_node_new(PZ_OP_REDUCE);
  int32_t rank = shape_of(m, x).rank;
  node.attr.reduce.kind =
      chance(m, 50) ? PZ_REDUCE_MEAN : (pz_reduce_kind)pick(m, PZ_REDUCE_MAX, PZ_REDUCE_MIN);
  for (int32_t i = 1; i < rank; i++) node.attr.reduce.axis[i] = chance(m, 50);
  node.attr.reduce.axis[rank - 1] = true;
  pz_tensor_id y = add(m, &node, "reduce", 1, &x);
  if (!chance(m, 25))
    return pair(m, (pz_eltwise_kind[]){PZ_ELT_SUM, PZ_ELT_MAX, PZ_ELT_MIN}[pick(m, 0, 2)], y, x, NULL);
  x = activation(m, x, PZ_ACT_SIGMOID);
  return pair(m, PZ_ELT_POW, x, activation(m, y, PZ_ACT_SIGMOID), NULL);
}

static pz_tensor_id log_softmax(maker *m, pz_tensor_id x) {
  pz_node node = pz_node_new(PZ_OP_SOFTMAX);
  node.attr.softmax.log = true;
  return affine(m, add(m, &node, "log_softmax", 1, &x), 0.25f, 0.5f);
}

static pz_tensor_id conv_norm(maker *m, pz_tensor_id x) {
  x = same_conv(m, x, pick(m, 1, 9), PZ_NONE);
  if (chance(m, 25)) return layer_norm(m, x);
  return chance(m, 50) ? norm_in_parts(m, x) : group_norm_exported(m, x);
}

/* The end of a residual block, and what reads every other point of it (IntelCaffe, figure 4). */
static pz_tensor_id thinned(maker *m, pz_tensor_id x) {
  const int32_t stride[PZ_SPATIAL] = {pick(m, 1, 2), 2, pick(m, 2, 3)};
  const int64_t channels = shape_of(m, x).dim[1];
  pz_tensor_id y = same_conv(m, x, channels, PZ_NONE);
  if (chance(m, 30)) y = batch_norm(m, y);
  if (chance(m, 60)) y = activation(m, y, PZ_ACT_RELU);
  if (chance(m, 60)) y = pair(m, PZ_ELT_SUM, y, x, NULL);
  if (chance(m, 60)) y = activation(m, y, PZ_ACT_RELU);
  const pz_tensor_id a = point_conv(m, y, 4, stride);
  if (a == y || chance(m, 50)) return a;
  const pz_tensor_id b = point_conv(m, y, 4, stride);
  return b == y ? a : pair(m, PZ_ELT_SUM, a, b, NULL);
}

/* A level of a U-Net with normalisations: the skip connection, what is upsampled, seldom the input too, joined in any order. */
static pz_tensor_id normed_level(maker *m, pz_tensor_id x) {
  bool twice[PZ_SPATIAL] = {false, false, false};
  for (int32_t i = PZ_SPATIAL - m->spatial; i < PZ_SPATIAL; i++) twice[i] = i > 0;
  pz_tensor_id part[3] = {exported_function(m, group_norm(m, same_conv(m, x, pick(m, 4, 9), PZ_NONE), 1))};
  part[1] = upsample(m, halve(m, part[0], twice), pick(m, 2, 9), twice);
  if (chance(m, 50)) part[1] = chance(m, 50) ? channel_norm(m, part[1]) : group_norm(m, part[1], 1);
  crop_both(m, &part[0], &part[1]);
  pz_shape shape = shape_of(m, part[1]);
  shape.dim[1] = channels_of(m, x);
  const int32_t n = chance(m, 20) ? 3 : 2;
  if (n == 3) part[2] = crop_to(m, x, &shape);
  const int32_t other = pick(m, 0, n - 1);
  const pz_tensor_id up = part[1];
  part[1] = part[other], part[other] = up;
  return group_norm(m, same_conv(m, concat(m, n, part, 1), pick(m, 2, 9), PZ_NONE), 1);
}

pz_tensor_id random_exported_block(maker *m, pz_tensor_id x) {
  static const struct {
    int32_t weight;
    pz_tensor_id (*make)(maker *m, pz_tensor_id x);
  } blocks[] = {{12, conv_norm},  {6, exported_function}, {8, padded},         {10, shuffled},
                {3, stepped},     {4, resized},           {10, with_constant}, {4, with_reduced},
                {2, log_softmax}, {5, flat_deconv},       {6, thinned},        {24, random_block},
                {7, normed_level}};
  int32_t total = 0, i = 0;
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) total += blocks[k].weight;
  for (int32_t ball = pick(m, 0, total - 1); ball >= blocks[i].weight; i++) ball -= blocks[i].weight;
  return blocks[i].make(m, x);
}
