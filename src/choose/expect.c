/* expect.c: moments forward through the graph, then, for each result, errors backward. */
#include "choose/expect.h"

#include <math.h>

/* What is counted for values that are not independent of each other, and for other inputs. With bytes errors were measured up to 2.5 times of what
 * is calculated (of Residual, doc/notes/2026-11-29-accuracy.md), those of most layers as much or less. With floats as of the self-test up to 1.7
 * times, in the mean over a network's layers 0.9 to 1.1 (doc/notes/2026-11-29-compiling.md). */
#define MARGIN_INTEGERS 2.5
#define MARGIN_FLOATS   1.5

typedef struct tensor {
  int32_t channels;
  pz_moments *is; /* by channel */
  double *gain; /* by channel: what a result's relative error, squared, has of the channel's squared error */
} tensor;

typedef struct layer {
  double *slope; /* by channel out: what becomes of a squared error; NULL: it stays */
  double *
      products; /* convolutions: by channel out: the sum of products' squares, which errors are relative to */
} layer;

typedef struct expectation {
  const pz_graph *g;
  pz_arena *arena;
  tensor *tensors; /* by tensor */
  layer *layers;   /* by node */
} expectation;

/* Of more channels, as of volumes that are read as a vector, there is one for all. */
enum { MOST_CHANNELS = 65536 };
static int32_t channels_of(const pz_shape *s) {
  const int64_t n = s->rank > 1 ? s->dim[1] : s->rank == 1 ? s->dim[0] : 1;
  return n <= MOST_CHANNELS ? (int32_t)n : 1;
}

/* The place of channel c in a tensor that is repeated along channels, or has no channels of its own. */
static int32_t place_of(const tensor *t, int32_t c) { return c % t->channels; }
static pz_moments moments_at(const expectation *e, pz_tensor_id id, int32_t c) {
  return e->tensors[id].is[place_of(&e->tensors[id], c)];
}
static tensor *out_of(const expectation *e, const pz_node *node) { return &e->tensors[node->out[0]]; }

static void add_gain(const expectation *e, pz_tensor_id id, int32_t c, double gain) {
  e->tensors[id].gain[place_of(&e->tensors[id], c)] += gain;
}

/* ---- what is given ---- */

static bool is_integer(pz_dtype type) { return pz_dtype_kind(type) == 'u' || pz_dtype_kind(type) == 'i'; }

/* All of a type's integers are as likely; floats are from -1 to 1, as those of the self-test. */
static pz_moments of_input(const pz_tensor *t) {
  if (!is_integer(t->type)) return (pz_moments){0, 1 / 3.0};
  const double greatest = pz_dtype_greatest(t->type), least = pz_dtype_least(t->type),
               range = (double)t->scale * (greatest - least);
  return (pz_moments){(double)t->scale * ((greatest + least) / 2 - t->zero_point), range * range / 12};
}

/* The moments of its values, by channel. */
static void of_constant(const expectation *e, pz_tensor_id id) {
  const pz_tensor *t = &e->g->tensors[id];
  tensor *to = &e->tensors[id];
  const int64_t n = pz_shape_elements(&t->shape), first = t->shape.rank > 1 ? t->shape.dim[0] : 1,
                inner = n / first / to->channels;
  const double many = (double)(n / to->channels);
  for (int32_t c = 0; c < to->channels; c++) to->is[c] = (pz_moments){0, 0};
  for (int64_t i = 0; i < n; i++) {
    pz_moments *m = &to->is[i / inner % to->channels];
    m->mean += (double)t->data[i] / many, m->variance += (double)t->data[i] * (double)t->data[i] / many;
  }
  for (int32_t c = 0; c < to->channels; c++)
    to->is[c].variance = fmax(0, to->is[c].variance - to->is[c].mean * to->is[c].mean);
}

static void expect_constants(const expectation *e, const pz_node *node) {
  for (int32_t i = 0; i < node->n_in; i++)
    if (node->in[i] != PZ_NONE && e->g->tensors[node->in[i]].data) of_constant(e, node->in[i]);
}

/* ---- convolutions ---- */

static bool is_convolution(const pz_node *node) { return node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV; }

/* Sums of a pair of channels' taps: of weights, of their squares. */
typedef struct taps {
  double sum, squares;
} taps;

/* k: channel out, j: channel in of its group. A position of a deconvolution has the taps of its phase: so many on an average. */
static taps taps_of(const pz_graph *g, const pz_node *node, int64_t k, int64_t j) {
  const pz_tensor *w = &g->tensors[node->in[PZ_CONV_WEIGHT]];
  const pz_attr_conv *a = &node->attr.conv;
  const int64_t pairs = w->shape.dim[0] * w->shape.dim[1], n = pz_shape_elements(&w->shape) / pairs;
  const bool forward = node->op == PZ_OP_CONV;
  const int64_t of_group = forward ? w->shape.dim[0] / a->group : w->shape.dim[1], group = k / of_group,
                pair = forward ? k * w->shape.dim[1] + j
                               : (group * (w->shape.dim[0] / a->group) + j) * of_group + k % of_group;
  const double phases = forward ? 1 : (double)a->stride[0] * a->stride[1] * a->stride[2];
  taps t = {0, 0};
  for (int64_t i = 0; i < n && w->data; i++) {
    const double v = (double)w->data[pair * n + i];
    t.sum += v / phases, t.squares += v * v / phases;
  }
  return t;
}
static int32_t in_of_group(const expectation *e, const pz_node *node) {
  const int64_t *w = e->g->tensors[node->in[PZ_CONV_WEIGHT]].shape.dim;
  return (int32_t)(node->op == PZ_OP_CONV ? w[1] : w[0] / node->attr.conv.group);
}
static int32_t first_in(const expectation *e, const pz_node *node, int32_t k) {
  const int64_t *w = e->g->tensors[node->in[PZ_CONV_WEIGHT]].shape.dim,
                of_group = node->op == PZ_OP_CONV ? w[0] / node->attr.conv.group : w[1];
  return (int32_t)(k / of_group) * in_of_group(e, node);
}

static double at(const pz_graph *g, pz_tensor_id id, int64_t c, double absent) {
  if (id == PZ_NONE || !g->tensors[id].data) return absent;
  return (double)g->tensors[id].data[c % pz_shape_elements(&g->tensors[id].shape)];
}

/* Behind the activation of channel c. */
static pz_moments activated(const expectation *e, const pz_activation *act, pz_tensor_id slopes, int32_t c,
                            pz_moments x, double *slope) {
  *slope = 1;
  return act->kind == PZ_ACT_NONE ? x : pz_expect_activation(act, at(e->g, slopes, c, 0), x, slope);
}

static void expect_convolution(const expectation *e, const pz_node *node, layer *l) {
  tensor *y = out_of(e, node);
  const int32_t n_in = in_of_group(e, node);
  const pz_tensor_id residual = node->in[PZ_CONV_RESIDUAL];
  for (int32_t k = 0; k < y->channels; k++) {
    pz_moments m = {at(e->g, node->in[PZ_CONV_BIAS], k, 0), 0};
    for (int32_t j = 0; j < n_in; j++) {
      const pz_moments x = moments_at(e, node->in[PZ_CONV_X], first_in(e, node, k) + j);
      const taps t = taps_of(e->g, node, k, j);
      m.mean += t.sum * x.mean, m.variance += t.squares * x.variance;
      l->products[k] += t.squares * pz_mean_square(x);
    }
    if (residual != PZ_NONE) {
      const double scale = at(e->g, node->in[PZ_CONV_RESIDUAL_SCALE], k, 1);
      const pz_moments r = moments_at(e, residual, k);
      m.mean += scale * r.mean, m.variance += scale * scale * r.variance;
    }
    y->is[k] = activated(e, &node->attr.conv.act, node->in[PZ_CONV_SLOPE], k, m, &l->slope[k]);
  }
}

/* What the result has of this layer's own error, squared. */
static double back_through_convolution(const expectation *e, const pz_node *node, const layer *l) {
  const tensor *y = out_of(e, node);
  const int32_t n_in = in_of_group(e, node);
  double own = 0;
  for (int32_t k = 0; k < y->channels; k++) {
    const double gain = y->gain[k] * l->slope[k], scale = at(e->g, node->in[PZ_CONV_RESIDUAL_SCALE], k, 1);
    own += gain * l->products[k];
    for (int32_t j = 0; j < n_in; j++)
      add_gain(e, node->in[PZ_CONV_X], first_in(e, node, k) + j, gain * taps_of(e->g, node, k, j).squares);
    if (node->in[PZ_CONV_RESIDUAL] != PZ_NONE)
      add_gain(e, node->in[PZ_CONV_RESIDUAL], k, gain * scale * scale);
  }
  return own;
}

/* ---- a factor and a term for each channel, and an activation ---- */

/* a*x + b */
typedef struct line {
  double a, b;
} line;

static line line_of_norm(const expectation *e, const pz_node *node, int32_t c) {
  const tensor *x = &e->tensors[node->in[0]];
  const bool groups = node->op == PZ_OP_GROUP_NORM;
  const int32_t of_group = groups ? x->channels / node->attr.group_norm.groups : x->channels,
                n = of_group ? of_group : 1, first = c / n * n;
  const double eps = (double)(groups ? node->attr.group_norm.eps : node->attr.channel_norm.eps);
  double mean = 0, squares = 0;
  for (int32_t i = first; i < first + n; i++)
    mean += x->is[i].mean / n, squares += pz_mean_square(x->is[i]) / n;
  const double a = at(e->g, node->in[PZ_GROUP_NORM_GAMMA], c, 1) / sqrt(fmax(0, squares - mean * mean) + eps);
  return (line){a, at(e->g, node->in[PZ_GROUP_NORM_BETA], c, 0) - a * mean};
}

static line line_of(const expectation *e, const pz_node *node, int32_t c) {
  switch (node->op) {
  case PZ_OP_POWER: return (line){(double)node->attr.power.scale, (double)node->attr.power.shift};
  case PZ_OP_GROUP_NORM:
  case PZ_OP_CHANNEL_NORM: return line_of_norm(e, node, c);
  case PZ_OP_BATCH_NORM: {
    const double a = 1 / sqrt(at(e->g, node->in[2], c, 1) + (double)node->attr.batch_norm.eps);
    return (line){a, -a * at(e->g, node->in[1], c, 0)};
  }
  default: return (line){1, 0};
  }
}

static const pz_activation *activation_of(const pz_node *node, pz_tensor_id *slopes) {
  switch (node->op) {
  case PZ_OP_ACTIVATION: return *slopes = node->in[1], &node->attr.activation.act;
  case PZ_OP_GROUP_NORM: return *slopes = node->in[PZ_GROUP_NORM_SLOPE], &node->attr.group_norm.act;
  case PZ_OP_CHANNEL_NORM: return *slopes = node->in[PZ_GROUP_NORM_SLOPE], &node->attr.channel_norm.act;
  default: return NULL;
  }
}

static bool is_line(const pz_node *node) {
  return node->op == PZ_OP_ACTIVATION || node->op == PZ_OP_GROUP_NORM || node->op == PZ_OP_CHANNEL_NORM ||
         node->op == PZ_OP_BATCH_NORM || (node->op == PZ_OP_POWER && node->attr.power.power == 1);
}

static void expect_line(const expectation *e, const pz_node *node, layer *l) {
  pz_tensor_id slopes = PZ_NONE;
  const pz_activation none = {.kind = PZ_ACT_NONE}, *act = activation_of(node, &slopes);
  for (int32_t c = 0; c < out_of(e, node)->channels; c++) {
    const line to = line_of(e, node, c);
    const pz_moments x = moments_at(e, node->in[0], c), m = {to.a * x.mean + to.b, to.a * to.a * x.variance};
    out_of(e, node)->is[c] = activated(e, act ? act : &none, slopes, c, m, &l->slope[c]);
    l->slope[c] *= to.a * to.a;
  }
}

static void back_through_line(const expectation *e, const pz_node *node, const layer *l) {
  for (int32_t c = 0; c < out_of(e, node)->channels; c++)
    add_gain(e, node->in[0], c, out_of(e, node)->gain[c] * l->slope[c]);
}

/* ---- sums and products of tensors ---- */

static double coefficient(const pz_node *node, int32_t i) {
  return node->op == PZ_OP_ELTWISE && node->attr.eltwise.coeff ? (double)node->attr.eltwise.coeff[i] : 1;
}

static bool is_sum(const pz_node *node) {
  return node->op == PZ_OP_ELTWISE && node->attr.eltwise.kind == PZ_ELT_SUM;
}
static void expect_sum(const expectation *e, const pz_node *node) {
  for (int32_t c = 0; c < out_of(e, node)->channels; c++)
    for (int32_t i = 0; i < node->n_in; i++) {
      const pz_moments x = moments_at(e, node->in[i], c);
      const double a = coefficient(node, i);
      out_of(e, node)->is[c].mean += a * x.mean, out_of(e, node)->is[c].variance += a * a * x.variance;
    }
}
static void back_through_sum(const expectation *e, const pz_node *node) {
  for (int32_t c = 0; c < out_of(e, node)->channels; c++)
    for (int32_t i = 0; i < node->n_in; i++)
      add_gain(e, node->in[i], c, out_of(e, node)->gain[c] * pow(coefficient(node, i), 2));
}

/* A scale is a product and a sum: x, factor, term. */
static bool is_product(const pz_node *node) {
  return node->op == PZ_OP_SCALE || (node->op == PZ_OP_ELTWISE && node->attr.eltwise.kind == PZ_ELT_PROD);
}
static int32_t factors_of(const pz_node *node) { return node->op == PZ_OP_SCALE ? 2 : node->n_in; }
static pz_moments product(const expectation *e, const pz_node *node, int32_t c, int32_t without) {
  double mean = 1, square = 1;
  for (int32_t i = 0; i < factors_of(node); i++) {
    if (i == without || node->in[i] == PZ_NONE) continue;
    const pz_moments x = moments_at(e, node->in[i], c);
    mean *= x.mean, square *= pz_mean_square(x);
  }
  return (pz_moments){mean, fmax(0, square - mean * mean)};
}
static void expect_product(const expectation *e, const pz_node *node) {
  const pz_tensor_id term = node->op == PZ_OP_SCALE ? node->in[2] : PZ_NONE;
  for (int32_t c = 0; c < out_of(e, node)->channels; c++) {
    pz_moments y = product(e, node, c, -1);
    const pz_moments t = term == PZ_NONE ? (pz_moments){0, 0} : moments_at(e, term, c);
    y.mean += t.mean, y.variance += t.variance;
    out_of(e, node)->is[c] = y;
  }
}
static void back_through_product(const expectation *e, const pz_node *node) {
  const pz_tensor_id term = node->op == PZ_OP_SCALE ? node->in[2] : PZ_NONE;
  for (int32_t c = 0; c < out_of(e, node)->channels; c++) {
    const double gain = out_of(e, node)->gain[c];
    for (int32_t i = 0; i < factors_of(node); i++)
      if (node->in[i] != PZ_NONE) add_gain(e, node->in[i], c, gain * pz_mean_square(product(e, node, c, i)));
    if (term != PZ_NONE) add_gain(e, term, c, gain);
  }
}

/* ---- values that go on as they are, or the mean or the greatest of some ---- */

/* n channels of x become those of y; or, where x has not as many, all of x's mean becomes each of them. */
typedef struct link {
  pz_tensor_id x, y;
  int64_t x0, y0;
  int32_t n_x, n_y;
  double part;     /* of what y is */
  int64_t mean_of, /* positions */
      greatest_of;
} link;

static int32_t links_of(const pz_node *node) {
  if (node->op == PZ_OP_CONCAT || node->op == PZ_OP_ELTWISE) return node->n_in;
  return node->op == PZ_OP_SLICE ? node->n_out : 1;
}

static int64_t positions_of(const expectation *e, const pz_node *node) {
  if (node->op == PZ_OP_POOL) {
    const int32_t *k = node->attr.pool.kernel;
    return (int64_t)k[0] * k[1] * k[2];
  }
  int64_t n = 1;
  const pz_shape *s = &e->g->tensors[node->in[0]].shape;
  for (int32_t i = 0; node->op == PZ_OP_REDUCE && i < s->rank; i++)
    if (i != 1 && node->attr.reduce.axis[i]) n *= s->dim[i];
  return n;
}
static bool is_mean(const pz_node *node) {
  return (node->op == PZ_OP_POOL && node->attr.pool.kind == PZ_POOL_AVE) ||
         (node->op == PZ_OP_REDUCE && node->attr.reduce.kind == PZ_REDUCE_MEAN);
}
static bool is_greatest(const pz_node *node) {
  return (node->op == PZ_OP_POOL && node->attr.pool.kind == PZ_POOL_MAX) ||
         (node->op == PZ_OP_REDUCE && node->attr.reduce.kind == PZ_REDUCE_MAX);
}

/* All of x to all of y. */
static void link_all(const expectation *e, link *l) {
  l->x0 = l->y0 = 0, l->n_x = e->tensors[l->x].channels, l->n_y = e->tensors[l->y].channels;
}

static link link_of(const expectation *e, const pz_node *node, int32_t i) {
  link l = {.x = node->in[0], .y = node->out[0], .part = 1, .mean_of = 1, .greatest_of = 1};
  if (node->op == PZ_OP_CONCAT || node->op == PZ_OP_ELTWISE) l.x = node->in[i];
  if (node->op == PZ_OP_SLICE) l.y = node->out[i];
  link_all(e, &l);
  if (node->op == PZ_OP_ELTWISE || (node->op == PZ_OP_CONCAT && node->attr.concat.axis != 1))
    l.part = 1.0 / node->n_in;
  if (node->op == PZ_OP_CONCAT && node->attr.concat.axis == 1) {
    for (int32_t k = 0; k < i; k++) l.y0 += e->tensors[node->in[k]].channels;
    l.n_y = l.n_x;
  }
  if (node->op == PZ_OP_SLICE && node->attr.slice.axis == 1) l.x0 = node->attr.slice.begin[i], l.n_x = l.n_y;
  if (node->op == PZ_OP_CROP && node->attr.crop.step[1] == 1 && e->g->tensors[l.x].shape.rank > 1)
    l.x0 = node->attr.crop.offset[1], l.n_x = l.n_y;
  if (l.x0 + l.n_x > e->tensors[l.x].channels || l.y0 + l.n_y > e->tensors[l.y].channels) link_all(e, &l);
  if (is_mean(node)) l.mean_of = positions_of(e, node);
  if (is_greatest(node)) l.greatest_of = positions_of(e, node);
  return l;
}

static pz_moments mean_of(const pz_moments *x, int32_t n) {
  double mean = 0, square = 0;
  for (int32_t c = 0; c < n; c++) mean += x[c].mean / n, square += pz_mean_square(x[c]) / n;
  return (pz_moments){mean, fmax(0, square - mean * mean)};
}

static void expect_link(const expectation *e, const link *l) {
  const pz_moments *x = e->tensors[l->x].is + l->x0, all = mean_of(x, l->n_x);
  pz_moments *y = e->tensors[l->y].is + l->y0;
  for (int32_t c = 0; c < l->n_y; c++) {
    pz_moments m = l->n_x == l->n_y ? x[c] : all;
    m.variance /= (double)l->mean_of;
    if (l->greatest_of > 1) m = pz_expect_greatest(l->greatest_of, m);
    y[c].mean += l->part * m.mean, y[c].variance += l->part * m.variance;
  }
}

static void back_through_link(const expectation *e, const link *l) {
  double *x = e->tensors[l->x].gain + l->x0;
  const double *y = e->tensors[l->y].gain + l->y0, part = l->part / sqrt((double)l->mean_of);
  double all = 0;
  for (int32_t c = 0; c < l->n_y; c++) {
    if (l->n_x == l->n_y) x[c] += part * y[c];
    else all += part * y[c];
  }
  for (int32_t c = 0; c < l->n_x && l->n_x != l->n_y; c++) x[c] += all / l->n_x;
}

/* ---- forward and backward ---- */

static bool is_softmax(const pz_node *node) {
  return node->op == PZ_OP_SOFTMAX && node->attr.softmax.axis == 1;
}

static pz_status allocate_layer(const expectation *e, const pz_node *node, layer *l, pz_error *err) {
  const size_t out = (size_t)out_of(e, node)->channels;
  l->slope = PZ_NEW(e->arena, double, out);
  l->products = PZ_NEW(e->arena, double, out);
  return l->slope && l->products ? PZ_OK : pz_fail_memory(err, "what is expected", 16 * out);
}

static pz_status forward(const expectation *e, pz_node_id n, pz_error *err) {
  const pz_node *node = &e->g->nodes[n];
  layer *l = &e->layers[n];
  if (is_convolution(node) || is_line(node)) PZ_TRY(allocate_layer(e, node, l, err));
  else expect_constants(e, node);
  if (is_convolution(node)) expect_convolution(e, node, l);
  else if (is_line(node)) expect_line(e, node, l);
  else if (is_sum(node)) expect_sum(e, node);
  else if (is_product(node)) expect_product(e, node);
  else if (is_softmax(node))
    return pz_expect_softmax(node->attr.softmax.log, out_of(e, node)->channels, e->tensors[node->in[0]].is,
                             out_of(e, node)->is, NULL, NULL, err);
  else
    for (int32_t i = 0; i < links_of(node); i++) {
      const link to = link_of(e, node, i);
      expect_link(e, &to);
    }
  return PZ_OK;
}

static pz_status backward(const expectation *e, pz_node_id n, double *own, pz_error *err) {
  const pz_node *node = &e->g->nodes[n];
  const layer *l = &e->layers[n];
  *own = 0;
  if (is_convolution(node)) *own = back_through_convolution(e, node, l);
  else if (is_line(node)) back_through_line(e, node, l);
  else if (is_sum(node)) back_through_sum(e, node);
  else if (is_product(node)) back_through_product(e, node);
  else if (is_softmax(node)) {
    const tensor *x = &e->tensors[node->in[0]];
    double *gain = PZ_NEW(e->arena, double, (size_t)x->channels);
    if (!gain) return pz_fail_memory(err, "what is expected", 8 * (unsigned long long)x->channels);
    PZ_TRY(pz_expect_softmax(node->attr.softmax.log, x->channels, x->is, NULL, out_of(e, node)->gain, gain,
                             err));
    for (int32_t c = 0; c < x->channels; c++) x->gain[c] += gain[c];
  } else
    for (int32_t i = 0; i < links_of(node); i++) {
      const link to = link_of(e, node, i);
      back_through_link(e, &to);
    }
  return PZ_OK;
}

/* Errors as they are in one result, relative to its L2 norm. */
static void begin_at(const expectation *e, pz_tensor_id result) {
  for (pz_tensor_id t = 0; t < e->g->n_tensors; t++)
    for (int32_t c = 0; c < e->tensors[t].channels; c++) e->tensors[t].gain[c] = 0;
  tensor *y = &e->tensors[result];
  double square = 0;
  for (int32_t c = 0; c < y->channels; c++) square += pz_mean_square(y->is[c]);
  for (int32_t c = 0; c < y->channels; c++) y->gain[c] = 1 / square;
}

static pz_status allocate(expectation *e, pz_error *err) {
  e->tensors = PZ_NEW(e->arena, tensor, (size_t)e->g->n_tensors + 1);
  e->layers = PZ_NEW(e->arena, layer, (size_t)e->g->n_nodes + 1);
  bool there = e->tensors && e->layers;
  for (pz_tensor_id t = 0; there && t < e->g->n_tensors; t++) {
    tensor *to = &e->tensors[t];
    to->channels = channels_of(&e->g->tensors[t].shape);
    to->is = PZ_NEW(e->arena, pz_moments, (size_t)to->channels);
    to->gain = PZ_NEW(e->arena, double, (size_t)to->channels);
    there = to->is && to->gain;
  }
  return there ? PZ_OK : pz_fail_memory(err, "what is expected", 64);
}

static pz_status expect(expectation *e, double *by_node, pz_error *err) {
  const pz_graph *g = e->g;
  PZ_TRY(allocate(e, err));
  for (int32_t i = 0; i < g->n_inputs; i++)
    for (int32_t c = 0; c < e->tensors[g->inputs[i]].channels; c++)
      e->tensors[g->inputs[i]].is[c] = of_input(&g->tensors[g->inputs[i]]);
  for (pz_node_id n = 0; n < g->n_nodes; n++) PZ_TRY(forward(e, n, err));
  for (int32_t i = 0; i < g->n_outputs; i++) {
    begin_at(e, g->outputs[i]);
    for (pz_node_id n = g->n_nodes - 1; n >= 0; n--) {
      double own;
      PZ_TRY(backward(e, n, &own, err));
      by_node[n] = fmax(by_node[n], isfinite(own) ? sqrt(own) : 1);
    }
  }
  return PZ_OK;
}

pz_status pz_expect_error_propagation(const pz_graph *graph, pz_arena *arena, const double **by_node,
                                      pz_error *err) {
  bool any = false;
  for (int32_t i = 0; i < graph->n_inputs; i++) any |= is_integer(graph->tensors[graph->inputs[i]].type);
  *by_node = NULL;
  double *to = PZ_NEW(arena, double, (size_t)graph->n_nodes + 1);
  expectation e = {.g = graph, .arena = pz_arena_new()};
  if (e.arena) pz_arena_watch(e.arena, pz_arena_watched(graph->arena));
  pz_status status = to && e.arena ? PZ_OK : pz_fail_memory(err, "what is expected", 64);
  if (status == PZ_OK) status = expect(&e, to, err);
  for (pz_node_id n = 0; status == PZ_OK && n < graph->n_nodes; n++) {
    const bool known = is_convolution(&graph->nodes[n]) && to[n] > 0;
    to[n] = !known ? 1 : any ? fmax(1, MARGIN_INTEGERS * to[n]) : MARGIN_FLOATS * to[n];
  }
  pz_arena_free(e.arena);
  *by_node = to;
  return status;
}
