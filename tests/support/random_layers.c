/* random_layers.c: single layers with random attributes. The order of arguments and initialisers is not that of their
 * evaluation: at most one of them draws a number, so that all compilers make the same networks. */
#include "support/random.h"
#include <math.h>
#include <string.h>

#define MOST_ELEMENTS 30000 /* of a tensor */

static int32_t first_axis(const maker *m) { return PZ_SPATIAL - m->spatial; }

/* ---- convolutions ---- */

static int64_t conv_size(const pz_attr_conv *a, int32_t i, int64_t in) {
  int64_t room = in + a->pad_lo[i] + a->pad_hi[i] - ((int64_t)a->dilation[i] * (a->kernel[i] - 1) + 1);
  return room < 0 ? 0 : room / a->stride[i] + 1;
}

static int64_t deconv_size(const pz_attr_conv *a, int32_t i, int64_t in) {
  return a->stride[i] * (in - 1) + (int64_t)a->dilation[i] * (a->kernel[i] - 1) + 1 - a->pad_lo[i] -
         a->pad_hi[i] + a->output_pad[i];
}

static double kernel_points(const pz_attr_conv *a) {
  return (double)a->kernel[0] * a->kernel[1] * a->kernel[2];
}

/* Whether the result has points, is small enough, and costs at most a third of what is left. */
static bool affordable(const maker *m, const pz_node *node, const pz_shape *x, int64_t channels) {
  const pz_attr_conv *a = &node->attr.conv;
  pz_shape5 in = pz_shape_as5(x);
  double points = 1, in_points = 1;
  for (int32_t i = 0; i < PZ_SPATIAL; i++) {
    int64_t size = node->op == PZ_OP_CONV ? conv_size(a, i, in.s[i]) : deconv_size(a, i, in.s[i]);
    if (size < 1) return false;
    points *= (double)size;
    in_points *= (double)in.s[i];
  }
  double each = (double)in.n * (double)in.c * (double)channels / a->group * kernel_points(a);
  double multiply_adds = each * (node->op == PZ_OP_CONV ? points : in_points);
  return multiply_adds <= m->budget / 3 && (double)in.n * (double)channels * points <= MOST_ELEMENTS;
}

/* As msra's filler does it: the result's variance is about that of x. */
static pz_tensor_id weights(maker *m, const pz_node *node, const pz_shape *x, int64_t channels) {
  const pz_attr_conv *a = &node->attr.conv;
  bool deconv = node->op == PZ_OP_DECONV;
  pz_shape w = {x->rank, {deconv ? x->dim[1] : channels, (deconv ? channels : x->dim[1]) / a->group}};
  for (int32_t i = 2; i < w.rank; i++) w.dim[i] = a->kernel[PZ_SPATIAL - w.rank + i];
  double fan_in = (double)(x->dim[1] / a->group) * kernel_points(a);
  if (deconv) fan_in /= (double)a->stride[0] * a->stride[1] * a->stride[2];
  return constant(m, "weight", &w, (float)sqrt(4.5 / (fan_in < 1 ? 1 : fan_in)), 0);
}

/* The kinds up to here are in random networks. */
#define LAST_KIND PZ_ACT_TANH

static pz_activation activation_of(maker *m, pz_activation_kind kind) {
  static const float alphas[] = {0, 0.1f, 0.5f, 1};
  pz_activation act = {.kind = kind};
  if (pz_activation_uses_alpha(kind)) act.alpha = kind == PZ_ACT_ELU ? 1 : ONE_OF(m, alphas);
  return act;
}

/* The importers make convolutions without activation; passes meet fused ones when they run again. */
static pz_tensor_id add_conv(maker *m, pz_node *node, pz_tensor_id x, int64_t channels,
                             pz_tensor_id residual) {
  pz_shape shape = shape_of(m, x);
  pz_tensor_id in[PZ_CONV_INPUTS] = {x,      weights(m, node, &shape, channels), PZ_NONE, residual, PZ_NONE,
                                     PZ_NONE};
  if (chance(m, 70)) in[PZ_CONV_BIAS] = vector(m, "bias", channels, 0.5f, 0);
  if (residual != PZ_NONE && chance(m, 30))
    in[PZ_CONV_RESIDUAL_SCALE] = vector(m, "residual_scale", channels, 1, 0);
  if (chance(m, 10)) node->attr.conv.act = activation_of(m, (pz_activation_kind)pick(m, 1, LAST_KIND));
  if (pz_activation_uses_slope(node->attr.conv.act.kind))
    in[PZ_CONV_SLOPE] = vector(m, "slope", channels, 0.3f, 0);
  return add(m, node, node->op == PZ_OP_CONV ? "conv" : "deconv", PZ_CONV_INPUTS, in);
}

static int64_t random_channels(maker *m) {
  static const int32_t channels[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24, 28, 36};
  return ONE_OF(m, channels);
}

/* Depthwise, or in groups, or neither; changes *channels so that the group divides it. */
static int32_t random_group(maker *m, int64_t in_channels, int64_t *channels) {
  int32_t group = 1;
  if (chance(m, 15)) group = (int32_t)in_channels;
  else if (chance(m, 20))
    for (int32_t g = 2; g <= 4; g++)
      if (in_channels % g == 0) group = g;
  if (group == in_channels && group > 1) *channels = in_channels * pick(m, 1, in_channels > 8 ? 1 : 3);
  else *channels = (*channels + group - 1) / group * group;
  return group;
}

static void random_window(maker *m, pz_attr_conv *a, int32_t i, int64_t in) {
  static const int32_t kernels[] = {1, 1, 2, 3, 3, 3, 3, 4, 5};
  a->kernel[i] = ONE_OF(m, kernels);
  if (chance(m, 12)) a->dilation[i] = 2;
  if (chance(m, 25)) a->stride[i] = pick(m, 2, 3);
  int32_t reach = a->dilation[i] * (a->kernel[i] - 1);
  if (chance(m, 60)) a->pad_lo[i] = reach / 2, a->pad_hi[i] = reach - reach / 2;
  else if (chance(m, 40)) a->pad_lo[i] = pick(m, 0, reach), a->pad_hi[i] = pick(m, 0, reach);
  if (conv_size(a, i, in) < 1) a->kernel[i] = 1, a->dilation[i] = 1;
}

/* flat: all strides are 1. */
static pz_tensor_id with_windows(maker *m, pz_tensor_id x, pz_op op, bool flat) {
  pz_shape shape = shape_of(m, x);
  pz_shape5 in = pz_shape_as5(&shape);
  pz_node node = pz_node_new(op);
  int64_t channels = random_channels(m);
  node.attr.conv.group = random_group(m, in.c, &channels);
  for (int32_t i = first_axis(m); i < PZ_SPATIAL; i++) {
    random_window(m, &node.attr.conv, i, in.s[i]);
    if (flat) node.attr.conv.stride[i] = 1;
  }
  return affordable(m, &node, &shape, channels) ? add_conv(m, &node, x, channels, PZ_NONE) : x;
}
pz_tensor_id random_conv(maker *m, pz_tensor_id x) { return with_windows(m, x, PZ_OP_CONV, false); }
pz_tensor_id flat_deconv(maker *m, pz_tensor_id x) { return with_windows(m, x, PZ_OP_DECONV, true); }

pz_tensor_id point_conv(maker *m, pz_tensor_id x, int64_t channels, const int32_t stride[PZ_SPATIAL]) {
  pz_shape shape = shape_of(m, x);
  pz_node node = pz_node_new(PZ_OP_CONV);
  for (int32_t i = first_axis(m); i < PZ_SPATIAL; i++) node.attr.conv.stride[i] = stride[i];
  return affordable(m, &node, &shape, channels) ? add_conv(m, &node, x, channels, PZ_NONE) : x;
}

pz_tensor_id same_conv(maker *m, pz_tensor_id x, int64_t channels, pz_tensor_id residual) {
  pz_shape shape = shape_of(m, x);
  pz_node node = pz_node_new(PZ_OP_CONV);
  for (int32_t i = first_axis(m); i < PZ_SPATIAL; i++) {
    int32_t half = pick(m, 0, 2) > 0;
    node.attr.conv.kernel[i] = 2 * half + 1;
    node.attr.conv.pad_lo[i] = node.attr.conv.pad_hi[i] = half;
  }
  if (!affordable(m, &node, &shape, channels))
    for (int32_t i = 0; i < PZ_SPATIAL; i++)
      node.attr.conv.kernel[i] = 1, node.attr.conv.pad_lo[i] = node.attr.conv.pad_hi[i] = 0;
  return affordable(m, &node, &shape, channels) ? add_conv(m, &node, x, channels, residual) : x;
}

/* Kernel, stride, padding, output padding along an axis that doubles: kernel = stride; the usual interpolation's; 3 by 2;
 * 3 by 2 as large as twice; 2 by 2 with output padding. */
static const int32_t upsamplings[][4] = {
    {2, 2, 0, 0}, {4, 2, 1, 0}, {3, 2, 0, 0}, {3, 2, 1, 1}, {2, 2, 0, 1}};

pz_tensor_id upsample(maker *m, pz_tensor_id x, int64_t channels, const bool twice[PZ_SPATIAL]) {
  pz_shape shape = shape_of(m, x);
  pz_node node = pz_node_new(PZ_OP_DECONV);
  pz_attr_conv *a = &node.attr.conv;
  const int32_t *way = ONE_OF(m, upsamplings);
  if (channels == shape.dim[1] && chance(m, 40)) a->group = (int32_t)channels;
  for (int32_t i = 0; i < PZ_SPATIAL; i++)
    if (twice[i])
      a->kernel[i] = way[0], a->stride[i] = way[1], a->pad_lo[i] = a->pad_hi[i] = way[2],
      a->output_pad[i] = way[3];
    else if (i >= first_axis(m) && chance(m, 15)) a->kernel[i] = 3, a->pad_lo[i] = a->pad_hi[i] = 1;
  return affordable(m, &node, &shape, channels) ? add_conv(m, &node, x, channels, PZ_NONE) : x;
}

/* ---- pooling ---- */

static pz_tensor_id add_pool(maker *m, pz_node *node, pz_tensor_id x) {
  static const pz_pool_divisor divisors[] = {PZ_DIVISOR_CAFFE, PZ_DIVISOR_CAFFE, PZ_DIVISOR_VALID,
                                             PZ_DIVISOR_KERNEL};
  if (chance(m, 40)) node->attr.pool.kind = PZ_POOL_AVE;
  if (node->attr.pool.kind == PZ_POOL_AVE) node->attr.pool.divisor = ONE_OF(m, divisors);
  node->attr.pool.ceil = chance(m, 60);
  return add(m, node, "pool", 1, &x);
}

pz_tensor_id halve(maker *m, pz_tensor_id x, const bool twice[PZ_SPATIAL]) {
  pz_shape shape = shape_of(m, x);
  pz_shape5 in = pz_shape_as5(&shape);
  pz_node node = pz_node_new(PZ_OP_POOL);
  for (int32_t i = 0; i < PZ_SPATIAL; i++)
    if (twice[i] && in.s[i] >= 2) node.attr.pool.kernel[i] = node.attr.pool.stride[i] = 2;
  return add_pool(m, &node, x);
}

pz_tensor_id random_pool(maker *m, pz_tensor_id x) {
  pz_shape shape = shape_of(m, x);
  pz_shape5 in = pz_shape_as5(&shape);
  pz_node node = pz_node_new(PZ_OP_POOL);
  pz_attr_pool *a = &node.attr.pool;
  bool global = chance(m, 8);
  for (int32_t i = first_axis(m); i < PZ_SPATIAL; i++) {
    int32_t most = in.s[i] < 4 ? (int32_t)in.s[i] : 4;
    a->kernel[i] = global ? (int32_t)in.s[i] : pick(m, 1, most);
    a->stride[i] = global ? 1 : pick(m, 1, 3);
    if (!global && chance(m, 40))
      a->pad_lo[i] = pick(m, 0, a->kernel[i] - 1), a->pad_hi[i] = pick(m, 0, a->kernel[i] - 1);
  }
  return add_pool(m, &node, x);
}

/* ---- one value at a time ---- */

pz_tensor_id activation(maker *m, pz_tensor_id x, pz_activation_kind kind) {
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  pz_shape shape = shape_of(m, x);
  node.attr.activation.act = activation_of(m, kind);
  pz_tensor_id in[2] = {x, PZ_NONE};
  if (pz_activation_uses_slope(kind))
    in[1] = vector(m, "slope", chance(m, 30) || shape.rank < 2 ? 1 : shape.dim[1], 0.3f, 0);
  return add(m, &node, pz_activation_name(kind), 2, in);
}

pz_tensor_id random_activation(maker *m, pz_tensor_id x) {
  return activation(m, x, (pz_activation_kind)pick(m, 1, LAST_KIND));
}

pz_tensor_id batch_norm(maker *m, pz_tensor_id x) {
  int64_t channels = shape_of(m, x).dim[1];
  pz_node node = pz_node_new(PZ_OP_BATCH_NORM);
  if (chance(m, 30)) node.attr.batch_norm.eps = 1e-3f;
  pz_tensor_id mean = vector(m, "mean", channels, 0.3f, 0),
               variance = vector(m, "variance", channels, 0.5f, 1);
  return add(m, &node, "bn", 3, (pz_tensor_id[]){x, mean, variance});
}

/* Factor and bias: one of them or both, constant; of shape x.dim[axis] or, seldom, of more dimensions or of none. */
pz_tensor_id scale(maker *m, pz_tensor_id x) {
  pz_shape shape = shape_of(m, x), part = {1, {shape.dim[1]}};
  pz_node node = pz_node_new(PZ_OP_SCALE);
  pz_tensor_id in[3] = {x, PZ_NONE, PZ_NONE};
  if (chance(m, 10)) part.rank = 0;
  else if (chance(m, 10)) {
    node.attr.scale.axis = pick(m, 0, shape.rank - 1);
    part.rank = pick(m, 1, shape.rank - node.attr.scale.axis);
    for (int32_t i = 0; i < part.rank; i++) part.dim[i] = shape.dim[node.attr.scale.axis + i];
  }
  int32_t what = pick(m, 1, 3);
  if (what & 1) in[1] = constant(m, "gamma", &part, 0.8f, chance(m, 70) ? 0.9f : 0);
  if (what & 2) in[2] = constant(m, "beta", &part, 0.4f, 0);
  return add(m, &node, what == 2 ? "bias_layer" : "scale", 3, in);
}

pz_tensor_id power(maker *m, pz_tensor_id x) {
  static const float powers[] = {0.5f, 1.5f, -1, 2, 3};
  pz_node node = pz_node_new(PZ_OP_POWER);
  node.attr.power = (pz_attr_power){1, 0.75f, 0.25f};
  if (chance(m, 60)) return add(m, &node, "power", 1, &x);
  x = activation(m, x, chance(m, 50) ? PZ_ACT_SIGMOID : PZ_ACT_TANH);
  if (m->g->nodes[m->g->n_nodes - 1].attr.activation.act.kind == PZ_ACT_TANH) node.attr.power.power = 2;
  else node.attr.power.power = ONE_OF(m, powers); /* of a base in (0.25, 1) */
  return add(m, &node, "power", 1, &x);
}

pz_tensor_id softmax(maker *m, pz_tensor_id x) {
  pz_node node = pz_node_new(PZ_OP_SOFTMAX);
  if (chance(m, 25)) node.attr.softmax.axis = pick(m, 0, shape_of(m, x).rank - 1);
  return add(m, &node, "softmax", 1, &x);
}

pz_tensor_id cumsum(maker *m, pz_tensor_id x) {
  const pz_shape shape = shape_of(m, x);
  pz_node node = pz_node_new(PZ_OP_CUMSUM), mean = pz_node_new(PZ_OP_POWER);
  node.attr.cumsum = (pz_attr_cumsum){pick(m, 0, shape.rank - 1), chance(m, 40), chance(m, 40)};
  mean.attr.power.scale = 1 / (float)shape.dim[node.attr.cumsum.axis];
  x = add(m, &node, "cumsum", 1, &x);
  return add(m, &mean, "mean", 1, &x);
}

pz_tensor_id lrn(maker *m, pz_tensor_id x) {
  pz_node node = pz_node_new(PZ_OP_LRN);
  pz_attr_lrn *a = &node.attr.lrn;
  a->size = 2 * pick(m, 0, 2) + 1;
  a->alpha = 0.5f;
  a->k = chance(m, 50) ? 1 : 2;
  a->within_channel = chance(m, 40);
  return add(m, &node, "lrn", 1, &x);
}

/* ---- moving ---- */

pz_tensor_id crop_to(maker *m, pz_tensor_id x, const pz_shape *size) {
  pz_shape shape = shape_of(m, x);
  pz_node node = pz_node_new(PZ_OP_CROP);
  bool centre = chance(m, 60);
  if (pz_shape_equal(&shape, size)) return x;
  for (int32_t i = 0; i < shape.rank; i++) {
    int32_t spare = (int32_t)(shape.dim[i] - size->dim[i]);
    node.attr.crop.size[i] = size->dim[i];
    node.attr.crop.offset[i] = centre ? spare / 2 : pick(m, 0, spare);
  }
  return add(m, &node, "crop", 1, &x);
}

pz_tensor_id random_crop(maker *m, pz_tensor_id x) {
  pz_shape size = shape_of(m, x);
  for (int32_t i = chance(m, 80) ? 2 : 0; i < size.rank; i++)
    if (size.dim[i] > 3) size.dim[i] -= pick(m, 0, 2);
  return crop_to(m, x, &size);
}

/* Flattens, or joins two neighbouring dimensions, or splits off the last one of a single point. */
pz_tensor_id reshape(maker *m, pz_tensor_id x) {
  pz_shape from = shape_of(m, x);
  pz_node node = pz_node_new(PZ_OP_RESHAPE);
  pz_shape *to = &node.attr.reshape.shape;
  int32_t joined = pick(m, 0, from.rank - 2);
  *to = from;
  if (chance(m, 50)) *to = (pz_shape){2, {from.dim[0], pz_shape_elements(&from) / from.dim[0]}};
  else {
    to->dim[joined] *= to->dim[joined + 1];
    to->rank--;
    for (int32_t i = joined + 1; i < to->rank; i++) to->dim[i] = from.dim[i + 1];
  }
  return add(m, &node, "reshape", 1, &x);
}

pz_tensor_id permute(maker *m, pz_tensor_id x) {
  pz_node node = pz_node_new(PZ_OP_PERMUTE);
  int32_t *order = node.attr.permute.order;
  for (int32_t i = shape_of(m, x).rank - 1; i > 0; i--) {
    int32_t k = pick(m, 0, i), moved = order[i];
    order[i] = order[k];
    order[k] = moved;
  }
  return add(m, &node, "permute", 1, &x);
}

pz_tensor_id inner_product(maker *m, pz_tensor_id x) {
  pz_shape shape = shape_of(m, x);
  pz_node node = pz_node_new(PZ_OP_INNER_PRODUCT);
  pz_attr_inner_product *a = &node.attr.inner_product;
  a->axis = chance(m, 75) ? 1 : pick(m, 1, shape.rank - 1);
  a->transpose = chance(m, 30);
  int64_t length = 1, channels = random_channels(m);
  for (int32_t i = a->axis; i < shape.rank; i++) length *= shape.dim[i];
  if ((double)pz_shape_elements(&shape) * (double)channels > m->budget / 3) return x;
  pz_shape w = a->transpose ? (pz_shape){2, {length, channels}} : (pz_shape){2, {channels, length}};
  pz_tensor_id in[4] = {x, constant(m, "weight", &w, sqrtf(3.0f / (float)length), 0), PZ_NONE, PZ_NONE};
  if (chance(m, 70)) in[2] = vector(m, "bias", channels, 0.5f, 0);
  return add(m, &node, "fc", 4, in);
}

/* ---- nothing ---- */

pz_tensor_id nothing(maker *m, pz_tensor_id x) {
  static const pz_op ops[] = {PZ_OP_IDENTITY, PZ_OP_IDENTITY, PZ_OP_POWER,   PZ_OP_SCALE,      PZ_OP_POOL,
                              PZ_OP_CROP,     PZ_OP_RESHAPE,  PZ_OP_PERMUTE, PZ_OP_ACTIVATION, PZ_OP_CONCAT};
  pz_shape shape = shape_of(m, x);
  pz_node node = pz_node_new(ONE_OF(m, ops));
  if (node.op == PZ_OP_POOL && shape.rank < 3) node = pz_node_new(PZ_OP_IDENTITY);
  if (node.op == PZ_OP_CROP)
    for (int32_t i = 0; i < shape.rank; i++) node.attr.crop.size[i] = shape.dim[i];
  if (node.op == PZ_OP_RESHAPE) node.attr.reshape.shape = shape;
  return add(m, &node, "nothing", 1, &x);
}

/* ---- joining ---- */

pz_tensor_id concat(maker *m, int32_t n, const pz_tensor_id *in, int32_t axis) {
  pz_node node = pz_node_new(PZ_OP_CONCAT);
  node.attr.concat.axis = axis;
  return add(m, &node, "concat", n, in);
}

pz_tensor_id eltwise(maker *m, pz_eltwise_kind kind, int32_t n, const pz_tensor_id *in) {
  static const char *const stems[] = {"sum", "prod", "max", "div"};
  pz_node node = pz_node_new(PZ_OP_ELTWISE);
  float coeff[8];
  pz_graph_random((uint64_t)pick(m, 0, INT32_MAX - 1), 1, n, coeff);
  node.attr.eltwise.kind = kind;
  if (kind == PZ_ELT_SUM && chance(m, 25)) node.attr.eltwise.coeff = coeff;
  return add(m, &node, stems[kind], n, in);
}
