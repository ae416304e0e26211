/* random_blocks.c: the shapes that networks are made of. */
#include "support/random.h"

static int64_t channels_of(const maker *m, pz_tensor_id x) { return shape_of(m, x).dim[1]; }

static bool same_shape(const maker *m, pz_tensor_id a, pz_tensor_id b) {
  pz_shape s = shape_of(m, a), t = shape_of(m, b);
  return pz_shape_equal(&s, &t);
}

/* BatchNorm, Scale, activation: some of them, mostly in this order. */
static pz_tensor_id tail(maker *m, pz_tensor_id x) {
  bool early = chance(m, 15);
  if (early) x = random_activation(m, x);
  if (chance(m, 50)) x = batch_norm(m, x);
  if (chance(m, 45)) x = scale(m, x);
  return early || chance(m, 25) ? x : random_activation(m, x);
}

static pz_tensor_id plain(maker *m, pz_tensor_id x) { return tail(m, random_conv(m, x)); }

static pz_tensor_id upsampling(maker *m, pz_tensor_id x) {
  bool twice[PZ_SPATIAL] = {false, false, false};
  for (int32_t i = PZ_SPATIAL - m->spatial; i < PZ_SPATIAL; i++) twice[i] = chance(m, 60);
  return tail(m, upsample(m, x, chance(m, 50) ? channels_of(m, x) : pick(m, 1, 9), twice));
}

/* DIV: the second operand is in (0.5, 1.5). PROD: both are in (-1, 1). */
pz_tensor_id random_join(maker *m, pz_tensor_id a, pz_tensor_id b) {
  pz_node away = pz_node_new(PZ_OP_POWER);
  pz_eltwise_kind kind = chance(m, 40) ? PZ_ELT_SUM : (pz_eltwise_kind)pick(m, PZ_ELT_SUM, PZ_ELT_DIV);
  if (kind == PZ_ELT_DIV) {
    away.attr.power.shift = 0.5f;
    b = activation(m, b, PZ_ACT_SIGMOID);
    b = add(m, &away, "away_from_zero", 1, &b);
  }
  if (kind == PZ_ELT_PROD) {
    a = activation(m, a, PZ_ACT_TANH);
    b = activation(m, b, PZ_ACT_SIGMOID);
  }
  return eltwise(m, kind, 2, (pz_tensor_id[]){a, b});
}

/* Two or three convolutions around a sum; seldom one that is fused already. */
static pz_tensor_id residual(maker *m, pz_tensor_id x) {
  pz_tensor_id y = tail(m, same_conv(m, x, channels_of(m, x), PZ_NONE));
  if (chance(m, 10)) return same_conv(m, y, channels_of(m, x), x);
  y = same_conv(m, y, channels_of(m, x), PZ_NONE);
  if (chance(m, 40)) y = batch_norm(m, y);
  pz_tensor_id in[3] = {x, y, x};
  if (chance(m, 50)) in[0] = y, in[1] = x;
  if (chance(m, 20)) in[2] = same_conv(m, x, channels_of(m, x), PZ_NONE);
  pz_tensor_id sum = eltwise(m, PZ_ELT_SUM, chance(m, 20) ? 3 : 2, in);
  return tail(m, sum);
}

void crop_both(maker *m, pz_tensor_id *a, pz_tensor_id *b) {
  pz_shape s = shape_of(m, *a), t = shape_of(m, *b);
  for (int32_t i = 2; i < s.rank; i++) {
    if (s.dim[i] < t.dim[i]) t.dim[i] = s.dim[i];
    s.dim[i] = t.dim[i];
  }
  *a = crop_to(m, *a, &s);
  *b = crop_to(m, *b, &t);
}

/* Down, something, up, and the skip connection: cropped, then stacked or added. */
static pz_tensor_id u_net(maker *m, pz_tensor_id x, int32_t depth) {
  bool twice[PZ_SPATIAL] = {false, false, false};
  for (int32_t i = PZ_SPATIAL - m->spatial; i < PZ_SPATIAL; i++) twice[i] = i > 0 || chance(m, 40);
  pz_tensor_id skip = tail(m, same_conv(m, x, pick(m, 2, 9), PZ_NONE));
  pz_tensor_id y = halve(m, skip, twice);
  y = depth > 0 ? u_net(m, y, depth - 1) : tail(m, same_conv(m, y, pick(m, 2, 12), PZ_NONE));
  y = upsample(m, y, channels_of(m, skip), twice);
  crop_both(m, &skip, &y);
  if (chance(m, 40)) y = random_activation(m, y);
  bool add = chance(m, 50) && same_shape(m, skip, y);
  y = add ? eltwise(m, PZ_ELT_SUM, 2, (pz_tensor_id[]){y, skip}) : concat(m, 2, (pz_tensor_id[]){skip, y}, 1);
  return tail(m, same_conv(m, y, pick(m, 2, 8), PZ_NONE));
}

static pz_tensor_id u_net_block(maker *m, pz_tensor_id x) { return u_net(m, x, pick(m, 0, 2)); }

/* Inception: branches of the same size, joined along the channels or, if they allow it, along another axis. */
static pz_tensor_id branches(maker *m, pz_tensor_id x) {
  pz_tensor_id in[4];
  int32_t n = pick(m, 2, 4), rank = shape_of(m, x).rank, axis = chance(m, 85) ? 1 : pick(m, 2, rank - 1);
  int64_t channels = pick(m, 1, 9);
  for (int32_t i = 0; i < n; i++) {
    in[i] = same_conv(m, x, axis == 1 ? pick(m, 1, 9) : channels, PZ_NONE);
    if (axis != 1 && channels_of(m, in[i]) != channels) axis = 1;
    if (chance(m, 60)) in[i] = tail(m, in[i]);
  }
  if (chance(m, 25)) in[n - 1] = in[0]; /* one tensor in two slices */
  if (chance(m, 15)) in[0] = x;
  for (int32_t i = 0; i < n; i++)
    if (channels_of(m, in[i]) != channels_of(m, in[0])) axis = 1;
  return concat(m, n, in, axis);
}

/* Cut into two or three along the channels (or another axis); one part is worked on; joined again, or one part goes on. */
static pz_tensor_id slices(maker *m, pz_tensor_id x) {
  pz_shape shape = shape_of(m, x);
  pz_node node = pz_node_new(PZ_OP_SLICE);
  int32_t axis = chance(m, 75) ? 1 : pick(m, 2, shape.rank - 1), n = pick(m, 2, 3);
  int64_t size = shape.dim[axis], begin[4] = {0, size / n, 2 * size / n, size};
  pz_tensor_id part[4];
  if (size < n) return x;
  if (chance(m, 30)) begin[1] = 1;
  begin[n] = size;
  node.attr.slice.axis = axis;
  node.attr.slice.begin = begin;
  add_many(m, &node, "slice", x, n, part);
  if (chance(m, 30)) return part[pick(m, 0, n - 1)];
  part[0] = random_activation(m, part[0]);
  if (chance(m, 50)) part[n - 1] = scale(m, part[n - 1]);
  if (n == 2 && same_shape(m, part[0], part[1]) && chance(m, 50)) return random_join(m, part[0], part[1]);
  return concat(m, n, part, axis);
}

/* Squeeze and excitation: the factor of each channel is computed. */
static pz_tensor_id excitation(maker *m, pz_tensor_id x) {
  pz_shape shape = shape_of(m, x), flat = {2, {shape.dim[0], shape.dim[1]}};
  pz_shape5 five = pz_shape_as5(&shape);
  pz_node pool = pz_node_new(PZ_OP_POOL), node = pz_node_new(PZ_OP_RESHAPE),
          factor = pz_node_new(PZ_OP_SCALE);
  pool.attr.pool.kind = PZ_POOL_AVE;
  for (int32_t i = 0; i < PZ_SPATIAL; i++) pool.attr.pool.kernel[i] = (int32_t)five.s[i];
  node.attr.reshape.shape = flat;
  factor.attr.scale.axis = 0;
  pz_tensor_id y = add(m, &pool, "squeeze", 1, &x);
  y = same_conv(m, y, shape.dim[1], PZ_NONE);
  y = activation(m, y, PZ_ACT_SIGMOID);
  y = add(m, &node, "flat", 1, &y);
  return add(m, &factor, "excite", 3, (pz_tensor_id[]){x, y, PZ_NONE});
}

/* A result that nobody uses. */
static pz_tensor_id dead(maker *m, pz_tensor_id x) {
  pz_tensor_id y = chance(m, 50) ? random_conv(m, x) : random_pool(m, x);
  random_activation(m, y);
  return x;
}

static pz_tensor_id joined(maker *m, pz_tensor_id x) {
  pz_tensor_id y = tail(m, same_conv(m, x, channels_of(m, x), PZ_NONE));
  return random_join(m, x, y);
}

pz_tensor_id random_block(maker *m, pz_tensor_id x) {
  static const struct {
    int32_t weight;
    pz_tensor_id (*make)(maker *m, pz_tensor_id x);
  } blocks[] = {{24, plain},     {10, residual},   {9, u_net_block},
                {8, branches},   {7, random_pool}, {6, upsampling},
                {5, slices},     {5, joined},      {4, batch_norm},
                {4, scale},      {4, tail},        {3, power},
                {3, lrn},        {3, random_crop}, {2, softmax},
                {3, cumsum},     {3, dead},        {5, nothing},
                {2, excitation}, {3, random_conv}, {2, random_activation}};
  int32_t total = 0, i = 0;
  for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) total += blocks[k].weight;
  for (int32_t ball = pick(m, 0, total - 1); ball >= blocks[i].weight; i++) ball -= blocks[i].weight;
  return blocks[i].make(m, x);
}
