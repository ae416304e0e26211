#include "graph/locality.h"

#include "graph/internal.h"
#include "graph/positions.h"

#include <stdlib.h>
#include <string.h>

/* Of a total stride; what is larger is not one that patches could begin at multiples of. */
enum { MOST_STRIDE = 4096 };

/* What is known of a tensor along an axis. */
typedef struct extent {
  bool
      map; /* its elements lie beside those of the input; else it is one value for all of them, or not known */
  int64_t num, den; /* voxels from an element to the next: num / den */
  int64_t size;     /* of a volume that is tried */
  int64_t lo, hi;   /* elements that are needed; none where lo > hi */
} extent;

typedef struct state {
  const pz_graph *g;
  pz_locality *l;
  extent *of; /* by tensor, along the axis */
  int32_t axis;
} state;

/* ---- layers that look at all of space ---- */

static void blame(const state *s, pz_node_id n, const char *why) {
  if (s->l->node == PZ_NONE || n < s->l->node) s->l->node = n, s->l->why = why;
}

/* All of a row becomes one value. */
static bool is_global(const state *s, const pz_node *node) {
  const pz_attr_pool *p = &node->attr.pool;
  const int64_t in = pz_size_along(s->g, node->in[0], s->axis);
  if (node->op != PZ_OP_POOL || in == 1) return false;
  return pz_size_along(s->g, node->out[0], s->axis) == 1 && p->kernel[s->axis] >= in;
}

static const char *reason_of(const pz_node *node) {
  switch (node->op) {
  case PZ_OP_POOL:
  case PZ_OP_REDUCE: return "takes one value of all of space";
  case PZ_OP_INNER_PRODUCT: return "is a product with all of space";
  case PZ_OP_RESIZE: return "aligns the corners of what it resizes, so that its scale depends on the size";
  case PZ_OP_CUMSUM: return "sums up all that is in front";
  default: return "depends on where things lie";
  }
}

/* A constant that differs from place to place. */
static bool is_painted(const state *s, pz_tensor_id id, const pz_node *node, int32_t i) {
  const pz_tensor *t = &s->g->tensors[id];
  if (!t->data) return false;
  if (node->op == PZ_OP_SCALE) {
    const int32_t at = pz_dim_of(s->g, node->in[0], s->axis) - node->attr.scale.axis;
    return i > 0 && at >= 0 && at < t->shape.rank && t->shape.dim[at] > 1;
  }
  return node->op == PZ_OP_ELTWISE && pz_size_along(s->g, id, s->axis) > 1;
}

/* ---- forwards: scales ---- */

static bool spatial_rank(const state *s, pz_tensor_id id) {
  return s->g->tensors[id].shape.rank == s->g->tensors[s->g->inputs[0]].shape.rank;
}
static bool is_map(const state *s, pz_tensor_id id) {
  return id != PZ_NONE && !s->g->tensors[id].data && s->of[id].map;
}

/* Where a rule sends a scale. False: there is none as large. */
static bool rescale(const pz_position_rule *r, const extent *x, extent *out) {
  out->num = x->num * r->shrink, out->den = x->den * r->grow;
  const int64_t both = pz_gcd(out->num, out->den);
  out->num /= both, out->den /= both;
  return out->num <= MOST_STRIDE && out->den <= MOST_STRIDE;
}

/* The result of a node that sends its first input by the rule; others have its scale, or are values for all of it. */
static void forward(state *s, pz_node_id n) {
  const pz_node *node = &s->g->nodes[n];
  extent out = {0};
  pz_position_rule r = {.mul = 1, .div = 1, .grow = 1, .more = -1, .shrink = 1};
  bool any = false, ruled = true;
  for (int32_t i = 0; i < node->n_in; i++) {
    const pz_tensor_id id = node->in[i];
    if (id == PZ_NONE) continue;
    if (is_painted(s, id, node, i)) blame(s, n, "has constants that differ from place to place");
    if (!pz_joins(node, i)) {
      if (is_map(s, id) || (node->op == PZ_OP_SCALE && !s->g->tensors[id].data))
        blame(s, n, "takes factors that are computed of all of space");
      continue;
    }
    if (!is_map(s, id)) continue;
    extent one = {.map = true};
    if (i == PZ_CONV_X || (!any && node->op != PZ_OP_CONV && node->op != PZ_OP_DECONV)) {
      ruled = pz_position_rule_of(s->g, node, s->axis, &r) && !is_global(s, node);
      if (!ruled || !rescale(&r, &s->of[id], &one)) {
        blame(s, n, reason_of(node));
        continue;
      }
    } else {
      one.num = s->of[id].num, one.den = s->of[id].den;
    }
    if (any && (one.num != out.num || one.den != out.den))
      blame(s, n, "joins tensors of different resolutions");
    if (!any) out = one;
    any = true;
  }
  for (int32_t i = 0; i < node->n_in && any; i++)
    if (pz_joins(node, i) && node->in[i] != PZ_NONE && !s->g->tensors[node->in[i]].data &&
        !is_map(s, node->in[i]))
      blame(s, n, "spreads one value over all of space");
  if (node->op == PZ_OP_GROUP_NORM && any) blame(s, n, "takes statistics over all of space");
  for (int32_t i = 0; i < node->n_out; i++) s->of[node->out[i]] = out;
}

/* ---- forwards: sizes ---- */

/* Whether the network can be applied to so many voxels along the axis: no rest is left where there must be none, and what is joined is of one size. */
static bool takes(state *s, int64_t size) {
  const pz_graph *g = s->g;
  s->of[g->inputs[0]].size = size;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    pz_position_rule r;
    int64_t out = 0;
    if (node->op == PZ_OP_NONE || !s->of[node->out[0]].map) continue;
    for (int32_t i = 0; i < node->n_in; i++) {
      if (!pz_joins(node, i) || !is_map(s, node->in[i])) continue;
      int64_t n_out = s->of[node->in[i]].size;
      if ((i == 0 || node->op == PZ_OP_CONCAT || node->op == PZ_OP_ELTWISE) &&
          pz_position_rule_of(s->g, node, s->axis, &r)) {
        const int64_t all = n_out * r.grow + r.more;
        const bool whole = node->op == PZ_OP_DEPTH_TO_SPACE || node->op == PZ_OP_RESIZE;
        if (all < 0 || (whole && (all + r.shrink) % r.shrink)) return false;
        n_out = all / r.shrink + 1;
      }
      if (out && n_out != out) return false;
      out = n_out;
    }
    if (out < 1) return false;
    for (int32_t i = 0; i < node->n_out; i++) s->of[node->out[i]].size = out;
  }
  return true;
}

/* ---- backwards: what is needed ---- */

static void need(extent *x, int64_t lo, int64_t hi) {
  if (x->lo > x->hi) x->lo = lo, x->hi = hi;
  if (lo < x->lo) x->lo = lo;
  if (hi > x->hi) x->hi = hi;
}

static void need_of_node(state *s, const pz_node *node) {
  extent out = {.lo = 0, .hi = -1};
  for (int32_t i = 0; i < node->n_out; i++) {
    const extent *o = &s->of[node->out[i]];
    if (o->map && o->lo <= o->hi) need(&out, o->lo, o->hi);
  }
  if (out.lo > out.hi) return;
  for (int32_t i = 0; i < node->n_in; i++) {
    pz_position_rule r = {.mul = 1, .div = 1, .grow = 1, .more = -1, .shrink = 1};
    if (!pz_joins(node, i) || !is_map(s, node->in[i])) continue;
    if (i == 0) pz_position_rule_of(s->g, node, s->axis, &r);
    const int64_t lo = out.lo * r.mul + r.lo, hi = out.hi * r.mul + r.hi;
    need(&s->of[node->in[i]], r.first_up ? pz_ceil_of(lo, r.div) : pz_floor_of(lo, r.div),
         pz_floor_of(hi, r.div));
  }
}

/* The input's elements that elements lo .. hi of the result depend on. */
static extent needed(state *s, int64_t lo, int64_t hi) {
  const pz_graph *g = s->g;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) s->of[t].lo = 0, s->of[t].hi = -1;
  need(&s->of[g->outputs[0]], lo, hi);
  for (pz_node_id n = g->n_nodes - 1; n >= 0; n--)
    if (g->nodes[n].op != PZ_OP_NONE) need_of_node(s, &g->nodes[n]);
  return s->of[g->inputs[0]];
}

/* ---- along an axis ---- */

static void find_reach(state *s) {
  pz_locality *l = s->l;
  const int32_t i = s->axis;
  const extent *out = &s->of[s->g->outputs[0]];
  const int64_t num = out->num, den = out->den, phases = l->stride[i] * den / num;
  for (int64_t p = 0; p < phases; p++) {
    const extent in = needed(s, p, p);
    const int64_t own = p * num / den + l->before[i];
    if (in.lo > in.hi) continue;
    if (own - in.lo > l->reach_lo[i]) l->reach_lo[i] = own - in.lo;
    if (in.hi - own > l->reach_hi[i]) l->reach_hi[i] = in.hi - own;
  }
}

static bool find_stride(state *s) {
  int64_t stride = 1;
  for (pz_tensor_id t = 0; t < s->g->n_tensors; t++)
    if (s->of[t].map) {
      stride = stride / pz_gcd(stride, s->of[t].num) * s->of[t].num;
      if (stride > MOST_STRIDE) return false;
    }
  s->l->stride[s->axis] = stride;
  return true;
}

static void find_sizes(state *s) {
  const int64_t size = pz_size_along(s->g, s->g->inputs[0], s->axis), stride = s->l->stride[s->axis];
  bool any = stride > 1;
  for (int64_t n = 1; n < stride && any; n++) any = takes(s, size + n);
  s->l->any_size[s->axis] = any || stride == 1;
}

/* parts: of each node, the voxels of the result's size that one of its own elements counts for, multiplied over the axes. */
static void count_parts(const state *s, double *parts) {
  const extent *of_out = &s->of[s->g->outputs[0]];
  for (pz_node_id n = 0; n < s->g->n_nodes; n++) {
    const pz_node *node = &s->g->nodes[n];
    if (node->op == PZ_OP_NONE) continue;
    const pz_tensor_id id = node->op == PZ_OP_DECONV ? node->in[0] : node->out[0];
    const extent *x = &s->of[id];
    if (!x->map) parts[n] = 0;
    else
      parts[n] *= (double)x->den / (double)x->num * (double)of_out->num / (double)of_out->den /
                  (double)pz_size_along(s->g, id, s->axis);
  }
}

static void all_forward(state *s) {
  const pz_graph *g = s->g;
  memset(s->of, 0, (size_t)g->n_tensors * sizeof *s->of);
  s->of[g->inputs[0]] = (extent){.map = true, .num = 1, .den = 1};
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (g->nodes[n].op != PZ_OP_NONE) forward(s, n);
}

static bool along_axis(state *s, double *parts) {
  const pz_graph *g = s->g;
  pz_locality *l = s->l;
  all_forward(s);
  const extent out = s->of[g->outputs[0]];
  if (!out.map || !find_stride(s)) return false;
  l->coarser[s->axis] = out.num, l->finer[s->axis] = out.den;
  const int64_t in = pz_size_along(s->g, g->inputs[0], s->axis),
                made = pz_size_along(s->g, g->outputs[0], s->axis);
  l->before[s->axis] = in > made && out.num == out.den ? (in - made) / 2 : 0;
  find_sizes(s);
  find_reach(s);
  count_parts(s, parts);
  return true;
}

/* Tensors that have not the input's rank are no maps: a rank of more than the input's comes from reshaping. */
static bool one_rank(const pz_graph *g, pz_locality *l) {
  const state s = {.g = g, .l = l};
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    if (node->op == PZ_OP_NONE) continue;
    bool kept = node->n_in > 0;
    for (int32_t i = 0; i < node->n_out; i++) kept = kept && spatial_rank(&s, node->out[i]);
    if (kept) continue;
    blame(&s, n, node->op == PZ_OP_INNER_PRODUCT ? reason_of(node) : "is no map over space");
    return false;
  }
  return true;
}

pz_status pz_graph_locality(const pz_graph *g, pz_locality *l, pz_error *err) {
  *l = (pz_locality){.node = PZ_NONE};
  for (int i = 0; i < PZ_SPATIAL; i++) l->stride[i] = l->coarser[i] = l->finer[i] = 1, l->any_size[i] = true;
  if (g->n_inputs != 1 || g->n_outputs != 1) return PZ_OK;
  const int32_t axes = g->tensors[g->inputs[0]].shape.rank - 2;
  if (axes < 1 || axes > PZ_SPATIAL || !one_rank(g, l)) return PZ_OK;
  state s = {.g = g, .l = l, .of = calloc((size_t)g->n_tensors, sizeof *s.of)};
  double *parts = calloc((size_t)g->n_nodes + 1, sizeof *parts);
  bool known = s.of && parts;
  if (!known) {
    free(s.of), free(parts);
    return pz_fail_memory(err, "what results depend on", (size_t)g->n_tensors * sizeof *s.of);
  }
  for (pz_node_id n = 0; n < g->n_nodes; n++) parts[n] = 1;
  for (s.axis = PZ_SPATIAL - axes; s.axis < PZ_SPATIAL && known; s.axis++) known = along_axis(&s, parts);
  for (pz_node_id n = 0; n < g->n_nodes && known; n++)
    if (parts[n] > 0) l->multiply_adds += parts[n] * pz_node_multiply_adds(g, &g->nodes[n]);
  l->known = known;
  free(s.of), free(parts);
  return PZ_OK;
}

/* Of each node's multiply-adds, along the axis, as many times as its own elements are there in a patch of so many voxels. */
static bool scale_nodes(state *s, int64_t in, int64_t *out, double *parts) {
  all_forward(s);
  if (!takes(s, in)) return false;
  *out = s->of[s->g->outputs[0]].size;
  for (pz_node_id n = 0; n < s->g->n_nodes; n++) {
    const pz_node *node = &s->g->nodes[n];
    if (node->op == PZ_OP_NONE) continue;
    const pz_tensor_id id = node->op == PZ_OP_DECONV ? node->in[0] : node->out[0];
    if (s->of[id].map) parts[n] *= (double)s->of[id].size / (double)pz_size_along(s->g, id, s->axis);
  }
  return true;
}

pz_status pz_graph_scale(const pz_graph *g, int32_t axis, int64_t in, int64_t *out, double *parts, bool *fits,
                         pz_error *err) {
  pz_locality ignored = {.node = PZ_NONE};
  state s = {.g = g, .l = &ignored, .axis = axis, .of = calloc((size_t)g->n_tensors, sizeof *s.of)};
  if (!s.of) return pz_fail_memory(err, "what results depend on", (size_t)g->n_tensors * sizeof *s.of);
  *fits = scale_nodes(&s, in, out, parts);
  free(s.of);
  return PZ_OK;
}

static pz_status scale_all(const pz_graph *g, const int64_t in[PZ_SPATIAL], int64_t out[PZ_SPATIAL],
                           double *parts, bool *fits, pz_error *err) {
  const int32_t axes = g->tensors[g->inputs[0]].shape.rank - 2;
  *fits = true;
  for (int i = 0; i < PZ_SPATIAL; i++) out[i] = 1;
  for (pz_node_id n = 0; n < g->n_nodes; n++) parts[n] = 1;
  for (int32_t i = PZ_SPATIAL - axes; i < PZ_SPATIAL && *fits; i++)
    PZ_TRY(pz_graph_scale(g, i, in[i], &out[i], parts, fits, err));
  return PZ_OK;
}

pz_status pz_graph_arithmetic(const pz_graph *g, const int64_t in[PZ_SPATIAL], int64_t out[PZ_SPATIAL],
                              double *multiply_adds, bool *fits, pz_error *err) {
  double *parts = calloc((size_t)g->n_nodes + 1, sizeof *parts);
  *fits = false, *multiply_adds = 0;
  if (!parts) return pz_fail_memory(err, "what results depend on", (size_t)g->n_nodes * sizeof *parts);
  const pz_status status = scale_all(g, in, out, parts, fits, err);
  for (pz_node_id n = 0; n < g->n_nodes && *fits && status == PZ_OK; n++)
    *multiply_adds += parts[n] * pz_node_multiply_adds(g, &g->nodes[n]);
  free(parts);
  return status;
}
