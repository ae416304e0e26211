#include "graph/positions.h"

/* ---- small numbers ---- */

int64_t pz_gcd(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}
int64_t pz_floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0); }
int64_t pz_ceil_of(int64_t a, int64_t b) { return -pz_floor_of(-a, b); }

static const pz_position_rule same = {.mul = 1, .div = 1, .grow = 1, .more = -1, .shrink = 1};

static pz_position_rule window(int64_t kernel, int64_t stride, int64_t dilation, int64_t pad_lo,
                               int64_t pad_hi, bool up) {
  const int64_t reach = dilation * (kernel - 1);
  return (pz_position_rule){.mul = stride,
                            .lo = -pad_lo,
                            .hi = reach - pad_lo,
                            .div = 1,
                            .grow = 1,
                            .more = pad_lo + pad_hi - reach - 1 + (up ? stride - 1 : 0),
                            .shrink = stride};
}

static pz_position_rule transposed(const pz_attr_conv *c, int32_t i) {
  const int64_t reach = (int64_t)c->dilation[i] * (c->kernel[i] - 1);
  return (pz_position_rule){.mul = 1,
                            .lo = c->pad_lo[i] - reach,
                            .hi = c->pad_lo[i],
                            .div = c->stride[i],
                            .first_up = true,
                            .grow = c->stride[i],
                            .more = reach - c->stride[i] - c->pad_lo[i] - c->pad_hi[i] + c->output_pad[i],
                            .shrink = 1};
}

/* By p elements for q, in lowest terms; the position looked at is (o + 0.5) * q/p - 0.5, or o * q/p, and is rounded or lies between two. */
static pz_position_rule resized(const pz_attr_resize *r, int64_t p, int64_t q) {
  const bool linear = r->kind == PZ_RESIZE_LINEAR;
  const int64_t at = r->coordinate != PZ_COORDINATE_ASYMMETRIC ? q - p : 0; /* of 2p */
  int64_t up = 0;
  switch (r->rounding) {
  case PZ_ROUND_PREFER_FLOOR: up = p - 1; break;
  case PZ_ROUND_PREFER_CEIL: up = p; break;
  case PZ_ROUND_FLOOR: up = 0; break;
  case PZ_ROUND_CEIL: up = 2 * p - 1; break;
  }
  return (pz_position_rule){.mul = 2 * q,
                            .lo = at + (linear ? 0 : up),
                            .hi = at + (linear ? 2 * p : up),
                            .div = 2 * p,
                            .grow = p,
                            .more = -q,
                            .shrink = q};
}

int32_t pz_dim_of(const pz_graph *g, pz_tensor_id id, int32_t axis) {
  return g->tensors[id].shape.rank - PZ_SPATIAL + axis;
}
int64_t pz_size_along(const pz_graph *g, pz_tensor_id id, int32_t axis) {
  return g->tensors[id].shape.dim[pz_dim_of(g, id, axis)];
}

/* The rule of a node from its first input to its results. False: it has none. */
bool pz_position_rule_of(const pz_graph *g, const pz_node *node, int32_t i, pz_position_rule *r) {
  const pz_attributes *a = &node->attr;
  const int32_t dim = pz_dim_of(g, node->in[0], i);
  *r = same;
  switch (node->op) {
  case PZ_OP_CONV: {
    const pz_attr_conv *c = &a->conv;
    *r = window(c->kernel[i], c->stride[i], c->dilation[i], c->pad_lo[i], c->pad_hi[i], false);
    return true;
  }
  case PZ_OP_DECONV: *r = transposed(&a->conv, i); return true;
  case PZ_OP_POOL: {
    const pz_attr_pool *p = &a->pool;
    *r = window(p->kernel[i], p->stride[i], p->dilation[i], p->pad_lo[i], p->pad_hi[i], p->ceil);
    return true;
  }
  case PZ_OP_LRN:
    if (a->lrn.within_channel) *r = window(a->lrn.size, 1, 1, a->lrn.size / 2, a->lrn.size / 2, false);
    return true;
  case PZ_OP_CROP: {
    if (a->crop.step[dim] != 1) return false;
    const int64_t offset = a->crop.offset[dim], less = pz_size_along(g, node->in[0], i) - a->crop.size[dim];
    *r = (pz_position_rule){
        .mul = 1, .lo = offset, .hi = offset, .div = 1, .grow = 1, .more = -less - 1, .shrink = 1};
    return true;
  }
  case PZ_OP_PAD: {
    const int64_t lo = a->pad.lo[dim], hi = a->pad.hi[dim];
    if (a->pad.kind == PZ_PAD_WRAP && (lo || hi)) return false;
    *r = (pz_position_rule){
        .mul = 1, .lo = -lo, .hi = -lo, .div = 1, .grow = 1, .more = lo + hi - 1, .shrink = 1};
    return true;
  }
  case PZ_OP_RESIZE: {
    const int64_t in = pz_size_along(g, node->in[0], i), out = pz_size_along(g, node->out[0], i),
                  both = pz_gcd(in, out);
    if (in != out) *r = resized(&a->resize, out / both, in / both);
    return in == out || a->resize.coordinate != PZ_COORDINATE_ALIGN_CORNERS;
  }
  case PZ_OP_DEPTH_TO_SPACE: {
    const int64_t b = a->depth_to_space.block[i];
    *r = a->depth_to_space.inverse
             ? (pz_position_rule){.mul = b, .hi = b - 1, .div = 1, .grow = 1, .more = -b, .shrink = b}
             : (pz_position_rule){.mul = 1, .div = b, .grow = b, .more = -1, .shrink = 1};
    return true;
  }
  case PZ_OP_BATCH_NORM:
  case PZ_OP_SCALE:
  case PZ_OP_ACTIVATION:
  case PZ_OP_POWER:
  case PZ_OP_ELTWISE:
  case PZ_OP_IDENTITY:
  case PZ_OP_BORDER_COPY:
  case PZ_OP_CAST:
  case PZ_OP_GROUP_NORM:
  case PZ_OP_CHANNEL_NORM: return true;
  case PZ_OP_CONCAT: return a->concat.axis != dim;
  case PZ_OP_SLICE: return a->slice.axis != dim;
  case PZ_OP_SOFTMAX: return a->softmax.axis != dim;
  case PZ_OP_ARGMAX: return a->argmax.axis != dim;
  case PZ_OP_GATHER: return a->gather.axis != dim;
  case PZ_OP_CUMSUM: return a->cumsum.axis != dim;
  case PZ_OP_REDUCE: return !a->reduce.axis[dim];
  case PZ_OP_RESHAPE: return pz_shape_equal(&a->reshape.shape, &g->tensors[node->in[0]].shape);
  case PZ_OP_PERMUTE: return a->permute.order[dim] == dim;
  case PZ_OP_NONE:
  case PZ_OP_VOLUME_BORDER:
  case PZ_OP_HISTORY:
  case PZ_OP_INNER_PRODUCT:
  case PZ_OP_DETECTION_OUTPUT:
  case PZ_OP_NON_MAX_SUPPRESSION:
  case PZ_OP_GATHER_ROWS:
  case PZ_OP_COUNT: return false;
  }
  return false;
}

bool pz_joins(const pz_node *node, int32_t i) {
  if (node->op == PZ_OP_ELTWISE || node->op == PZ_OP_CONCAT) return true;
  if (node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV) return i == PZ_CONV_X || i == PZ_CONV_RESIDUAL;
  return i == 0;
}
