#include "optimise/exact_tile.h"

#include "graph/locality.h"
#include "graph/positions.h"

#include <math.h>
#include <string.h>

/* ---- what is known of each tensor along each axis ---- */

/* What a run makes are elements lo .. hi, counted from where its place is; what it keeps begins at `from`. */
typedef struct span {
  int64_t num, den; /* voxels from an element to the next */
  int64_t lo, hi, from;
  pz_border_axis size; /* rules for the size of the whole volume's tensor */
} span;

/* What lies outside is to be. */
typedef struct outside {
  bool wanted;
  float value;
} outside;

typedef struct maker {
  const pz_graph *g;
  pz_graph *to;
  const pz_exact_options *o;
  pz_locality l;
  pz_arena *arena;
  span (*of)[PZ_SPATIAL]; /* by tensor */
  bool *map;
  outside *outside;
  pz_tensor_id *now; /* of the new graph, from `from` on */
  pz_tensor_id place;
  int32_t first_axis;
} maker;

static bool is_map(const maker *m, pz_tensor_id id) {
  return id != PZ_NONE && !m->g->tensors[id].data && m->map[id];
}
static bool is_cut(const maker *m, int i) { return m->o->way[i] != PZ_TILE_WHOLE; }

static pz_status refuse(const pz_node *node, const char *why, pz_error *err) {
  return pz_fail_node(err, node, "no exact tiles are made of what it does: it %s", why);
}

/* ---- sizes ---- */

/* One rule behind the others; they are joined where that is the same. False: there are too many. */
static bool add_rule(pz_border_axis *a, int64_t mul, int64_t add, int64_t div) {
  if (mul == div && add >= 0 && add < div) return true;
  if (a->rules) {
    const int32_t k = a->rules - 1;
    if (a->rule[k].div == 1) {
      a->rule[k].mul *= mul, a->rule[k].add = a->rule[k].add * mul + add, a->rule[k].div = div;
      return true;
    }
    if (mul == 1) {
      a->rule[k].add += add * a->rule[k].div, a->rule[k].div *= div;
      return true;
    }
  }
  if (a->rules == PZ_BORDER_RULES) return false;
  a->rule[a->rules].mul = mul, a->rule[a->rules].add = add, a->rule[a->rules++].div = div;
  return true;
}

/* ---- forwards ---- */

/* Along a stream results follow from what has been given: the last one is that of which the last element is there. */
static void follow(const maker *m, const pz_position_rule *r, int64_t there, span *out) {
  const int64_t planes = m->o->out[0] * out->den / out->num;
  out->hi = pz_floor_of((there + 1) * r->div - 1 - r->hi, r->mul);
  out->lo = out->from = out->hi - planes + 1;
}

static pz_status forward_axis(maker *m, const pz_node *node, int i, pz_error *err) {
  span out = {0};
  bool any = false;
  int64_t hi = 0;
  for (int32_t k = 0; k < node->n_in; k++) {
    pz_position_rule r = {.mul = 1, .div = 1, .grow = 1, .more = -1, .shrink = 1};
    if (!pz_joins(node, k) || !is_map(m, node->in[k])) continue;
    span one = m->of[node->in[k]][i];
    const int64_t there = one.hi;
    if (k == 0) {
      if (!pz_position_rule_of(m->g, node, i, &r)) return refuse(node, "has no rule for positions", err);
      one.num *= r.shrink, one.den *= r.grow;
      const int64_t both = pz_gcd(one.num, one.den);
      one.num /= both, one.den /= both;
      if (!add_rule(&one.size, r.grow, r.more + r.shrink, r.shrink))
        return refuse(node, "is behind too many changes of resolution", err);
    }
    if (m->o->way[i] == PZ_TILE_STREAM) follow(m, &r, there, &one);
    if (!any) out = one, hi = one.hi;
    if (one.hi < hi) hi = one.hi;
    any = true;
  }
  if (m->o->way[i] == PZ_TILE_STREAM) {
    const int64_t planes = out.hi - out.lo;
    out.hi = hi, out.lo = out.from = hi - planes;
  } else {
    out.lo = out.from = 0, out.hi = -1;
  }
  for (int32_t k = 0; k < node->n_out; k++) m->of[node->out[k]][i] = out;
  return PZ_OK;
}

static pz_status forward(maker *m, pz_error *err) {
  const pz_graph *g = m->g;
  const pz_tensor_id x = g->inputs[0];
  m->map[x] = true;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    m->of[x][i] = (span){.num = 1, .den = 1, .hi = -1};
    if (m->o->way[i] == PZ_TILE_STREAM) m->of[x][i].hi = m->o->out[i] - 1;
  }
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    bool any = false;
    if (node->op == PZ_OP_NONE) continue;
    for (int32_t k = 0; k < node->n_in; k++) any = any || is_map(m, node->in[k]);
    for (int32_t k = 0; k < node->n_out && any; k++) m->map[node->out[k]] = true;
    for (int i = m->first_axis; i < PZ_SPATIAL && any; i++) PZ_TRY(forward_axis(m, node, i, err));
  }
  return PZ_OK;
}

/* ---- backwards ---- */

/* Elements of input k that elements lo .. hi of the result read. */
static void needs(const maker *m, const pz_node *node, int32_t k, int i, int64_t lo, int64_t hi,
                  int64_t need[2]) {
  pz_position_rule r;
  need[0] = lo, need[1] = hi;
  if (k || !pz_position_rule_of(m->g, node, i, &r)) return;
  need[0] = r.first_up ? pz_ceil_of(lo * r.mul + r.lo, r.div) : pz_floor_of(lo * r.mul + r.lo, r.div);
  need[1] = pz_floor_of(hi * r.mul + r.hi, r.div);
  if (r.first_up) { /* a result that no tap reaches lies behind one that there is */
    const int64_t own = pz_floor_of(lo + r.hi, r.div);
    if (own < need[0]) need[0] = own;
  }
}

static void want(const maker *m, span *x, int i, const int64_t need[2]) {
  if (m->o->way[i] == PZ_TILE_STREAM) {
    if (need[0] < x->from) x->from = need[0];
    return;
  }
  if (x->lo > x->hi) x->lo = need[0], x->hi = need[1];
  if (need[0] < x->lo) x->lo = need[0];
  if (need[1] > x->hi) x->hi = need[1];
  x->from = x->lo;
}

static void backward_axis(maker *m, const pz_node *node, int i) {
  span all = m->of[node->out[0]][i];
  for (int32_t k = 1; k < node->n_out; k++) {
    const span *o = &m->of[node->out[k]][i];
    if (o->lo <= o->hi) want(m, &all, i, (const int64_t[2]){o->lo, o->hi});
  }
  if (m->o->way[i] == PZ_TILE_TILE)
    for (int32_t k = 0; k < node->n_out; k++) m->of[node->out[k]][i] = all;
  if (all.lo > all.hi) return;
  for (int32_t k = 0; k < node->n_in; k++) {
    int64_t need[2];
    if (!pz_joins(node, k) || !is_map(m, node->in[k])) continue;
    needs(m, node, k, i, all.lo, all.hi, need);
    want(m, &m->of[node->in[k]][i], i, need);
  }
}

static void backward(maker *m) {
  const pz_graph *g = m->g;
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    if (!is_cut(m, i)) continue;
    if (m->o->way[i] == PZ_TILE_TILE)
      want(m, &m->of[g->outputs[0]][i], i, (const int64_t[2]){0, m->o->out[i] - 1});
    for (pz_node_id n = g->n_nodes - 1; n >= 0; n--)
      if (g->nodes[n].op != PZ_OP_NONE && m->map[g->nodes[n].out[0]]) backward_axis(m, &g->nodes[n], i);
  }
}

/* ---- what lies outside of the volume ---- */

static pz_status want_outside(maker *m, pz_node_id n, float value, pz_error *err) {
  outside *o = &m->outside[m->g->nodes[n].in[0]];
  const bool differs = o->wanted && (o->value < value || o->value > value);
  if (differs)
    return refuse(&m->g->nodes[n],
                  "wants another value around its input than a layer before that reads it too", err);
  *o = (outside){true, value};
  return PZ_OK;
}

/* Whether results inside of the volume are made of elements outside of it. Windows reach beyond the end only where sizes are no multiples. */
static bool reads_outside(const maker *m, const pz_node *node, int i) {
  const pz_attr_conv *c = &node->attr.conv;
  const pz_attr_pool *p = &node->attr.pool;
  if (node->op == PZ_OP_CONV) return c->pad_lo[i] || c->pad_hi[i];
  if (node->op == PZ_OP_POOL)
    return p->pad_lo[i] || p->pad_hi[i] || (p->ceil && p->stride[i] > 1 && m->l.any_size[i]);
  if (node->op != PZ_OP_DECONV) return false;
  const int64_t reach = (int64_t)c->dilation[i] * (c->kernel[i] - 1);
  return reach - c->pad_lo[i] >= c->stride[i] || reach - c->pad_hi[i] + c->output_pad[i] >= c->stride[i];
}

static pz_status outside_of_pool(maker *m, pz_node_id n, pz_error *err) {
  const pz_node *node = &m->g->nodes[n];
  const pz_attr_pool *p = &node->attr.pool;
  if (p->kind == PZ_POOL_MAX) return want_outside(m, n, -INFINITY, err);
  if (p->divisor == PZ_DIVISOR_VALID || !p->ceil) return want_outside(m, n, 0, err);
  return refuse(node, "averages fewer values where windows end beyond the volume", err);
}

static pz_status outside_of_pad(maker *m, pz_node_id n, pz_error *err) {
  const pz_node *node = &m->g->nodes[n];
  const pz_attr_pad *p = &node->attr.pad;
  bool cut = false;
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    const int32_t dim = pz_dim_of(m->g, node->in[0], i);
    cut = cut || (is_cut(m, i) && (p->lo[dim] || p->hi[dim]));
  }
  if (cut && p->kind != PZ_PAD_CONSTANT) return refuse(node, "pads with values of the volume", err);
  return cut ? want_outside(m, n, p->value, err) : PZ_OK;
}

static pz_status find_outside(maker *m, pz_error *err) {
  for (pz_node_id n = 0; n < m->g->n_nodes; n++) {
    const pz_node *node = &m->g->nodes[n];
    bool reads = false;
    if (node->op == PZ_OP_NONE || !m->map[node->out[0]]) continue;
    for (int i = m->first_axis; i < PZ_SPATIAL; i++)
      reads = reads || (is_cut(m, i) && reads_outside(m, node, i));
    for (int i = m->first_axis; i < PZ_SPATIAL && reads; i++)
      if (m->l.before[i] && !m->l.any_size[i])
        return refuse(
            node, "pads, in a network whose result is smaller than its input and that takes some sizes alone",
            err);
    if (reads) PZ_TRY(node->op == PZ_OP_POOL ? outside_of_pool(m, n, err) : want_outside(m, n, 0, err));
    if (node->op == PZ_OP_PAD) PZ_TRY(outside_of_pad(m, n, err));
    if (node->op == PZ_OP_LRN && node->attr.lrn.within_channel)
      return refuse(node, "normalises within maps", err);
  }
  return PZ_OK;
}

/* ---- the new graph ---- */

static pz_status add(maker *m, const pz_node *node, const char *stem, pz_tensor_id *out, pz_error *err) {
  pz_node named = *node;
  named.name = pz_graph_fresh_name(m->to, stem);
  if (!named.name) return pz_fail_memory(err, "a name", 0);
  const char *name = named.name;
  return pz_graph_add_node(m->to, &named, 1, &name, out, err);
}

/* Along which axes what lies outside of a tensor of the whole volume, and where a part of it begins there. */
typedef struct part_place {
  bool cut[PZ_SPATIAL];
  int64_t first[PZ_SPATIAL];
} part_place;

/* *id: of old's elements from there on. What is outside becomes the value, or that of the nearest element. */
static pz_status add_border(maker *m, pz_tensor_id old, const part_place *at, float value, bool edge,
                            pz_tensor_id *id, pz_error *err) {
  int64_t entries[PZ_SPATIAL * (5 + 3 * PZ_BORDER_RULES)];
  int32_t n = 0;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    const span *s = &m->of[old][i];
    entries[n++] = at->cut[i];
    if (!entries[n - 1]) continue;
    entries[n++] = s->num, entries[n++] = s->den, entries[n++] = at->first[i], entries[n++] = s->size.rules;
    for (int32_t k = 0; k < s->size.rules; k++)
      entries[n++] = s->size.rule[k].mul, entries[n++] = s->size.rule[k].add,
      entries[n++] = s->size.rule[k].div;
  }
  pz_node node = pz_node_new(PZ_OP_VOLUME_BORDER);
  pz_tensor_id in[2] = {*id, m->place};
  node.in = in, node.n_in = 2;
  node.attr.volume_border = (pz_attr_volume_border){{n, entries}, value, edge};
  return add(m, &node, "volume_border", id, err);
}

/* The tensor has been made: what later layers read of it. Zeros around the input are the host's. */
static pz_status keep(maker *m, pz_tensor_id old, pz_tensor_id made, pz_error *err) {
  const span *z = &m->of[old][0];
  const bool is_input = old == m->g->inputs[0];
  part_place at = {.cut = {false}};
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) at.cut[i] = is_cut(m, i), at.first[i] = m->of[old][i].lo;
  if (m->outside[old].wanted && !(is_input && m->outside[old].value == 0))
    PZ_TRY(add_border(m, old, &at, m->outside[old].value, false, &made, err));
  if (m->first_axis == 0 && m->o->way[0] == PZ_TILE_STREAM && z->from < z->lo) {
    pz_node node = pz_node_new(PZ_OP_HISTORY);
    node.in = &made, node.n_in = 1;
    node.attr.history.planes = (int32_t)(z->lo - z->from);
    PZ_TRY(add(m, &node, "history", &made, err));
  }
  m->now[old] = made;
  return PZ_OK;
}

/* Of a tensor the part from offset on, of that size, along axes that are cut; along whole ones all of it. */
static pz_status take_part(maker *m, const int64_t offset[PZ_SPATIAL], const int64_t size[PZ_SPATIAL],
                           pz_tensor_id *id, pz_error *err) {
  const pz_shape shape = m->to->tensors[*id].shape;
  pz_tensor_id from = *id;
  pz_node crop = pz_node_new(PZ_OP_CROP);
  bool whole = true;
  for (int d = 0; d < shape.rank; d++) crop.attr.crop.size[d] = shape.dim[d];
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    const int32_t dim = pz_dim_of(m->to, *id, i);
    if (!is_cut(m, i)) continue;
    crop.attr.crop.offset[dim] = offset[i], crop.attr.crop.size[dim] = size[i];
    whole = whole && size[i] == shape.dim[dim];
  }
  if (whole) return PZ_OK;
  crop.in = &from, crop.n_in = 1;
  return add(m, &crop, "part", id, err);
}

/* What a node reads of its input k. */
static pz_status take(maker *m, const pz_node *node, int32_t k, int64_t need[PZ_SPATIAL][2], pz_tensor_id *id,
                      pz_error *err) {
  int64_t offset[PZ_SPATIAL], size[PZ_SPATIAL];
  for (int i = m->first_axis; i < PZ_SPATIAL; i++)
    offset[i] = need[i][0] - m->of[node->in[k]][i].from, size[i] = need[i][1] - need[i][0] + 1;
  *id = m->now[node->in[k]];
  return take_part(m, offset, size, id, err);
}

/* Padding gives way to what is there. */
static void set_conv(maker *m, const pz_node *old, pz_node *node, int64_t need[PZ_SPATIAL][2]) {
  pz_attr_conv *c = &node->attr.conv;
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    const span *y = &m->of[old->out[0]][i];
    if (!is_cut(m, i)) continue;
    if (node->op == PZ_OP_CONV) {
      c->pad_lo[i] = c->pad_hi[i] = 0;
      continue;
    }
    const int64_t pad = c->pad_lo[i], reach = (int64_t)c->dilation[i] * (c->kernel[i] - 1);
    const int64_t last = need[i][1] * c->stride[i] - pad + reach;
    c->pad_lo[i] = (int32_t)(y->lo - (need[i][0] * c->stride[i] - pad));
    c->pad_hi[i] = last > y->hi ? (int32_t)(last - y->hi) : 0;
    c->output_pad[i] = y->hi > last ? (int32_t)(y->hi - last) : 0;
  }
}

static void set_pool(maker *m, pz_node *node) {
  for (int i = m->first_axis; i < PZ_SPATIAL; i++)
    if (is_cut(m, i)) node->attr.pool.pad_lo[i] = node->attr.pool.pad_hi[i] = 0;
}

/* Elements of a result that all of the elements read make: more than are wanted. */
static pz_status crop_behind(maker *m, const pz_node *old, int64_t need[PZ_SPATIAL][2],
                             const int64_t times[PZ_SPATIAL], pz_tensor_id *id, pz_error *err) {
  int64_t offset[PZ_SPATIAL], size[PZ_SPATIAL];
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    const span *y = &m->of[old->out[0]][i];
    offset[i] = y->lo - need[i][0] * times[i], size[i] = y->hi - y->lo + 1;
  }
  return take_part(m, offset, size, id, err);
}

static pz_status set_resize(maker *m, const pz_node *old, pz_node *node, int64_t need[PZ_SPATIAL][2],
                            int64_t times[PZ_SPATIAL], pz_error *err) {
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    const int64_t in = pz_size_along(m->g, old->in[0], i), out = pz_size_along(m->g, old->out[0], i);
    const double scale = (double)old->attr.resize.scale[i];
    times[i] = out / in;
    if (!is_cut(m, i)) continue;
    if (out % in || (scale > 0 && fabs(scale * (double)in - (double)out) > 1e-6 * (double)out))
      return refuse(old, "makes a volume smaller, or larger by a part of itself", err);
    node->attr.resize.size[i] = (int32_t)((need[i][1] - need[i][0] + 1) * times[i]);
  }
  return PZ_OK;
}

static void set_crop(maker *m, const pz_node *old, pz_node *node) {
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    const int32_t dim = pz_dim_of(m->g, old->in[0], i);
    const span *y = &m->of[old->out[0]][i];
    if (!is_cut(m, i)) continue;
    node->attr.crop.offset[dim] = 0, node->attr.crop.size[dim] = y->hi - y->lo + 1;
  }
}

/* What pads along axes that are left whole alone remains. */
static bool set_pad(maker *m, const pz_node *old, pz_node *node) {
  pz_attr_pad *p = &node->attr.pad;
  bool any = false;
  for (int i = m->first_axis; i < PZ_SPATIAL; i++)
    if (is_cut(m, i)) p->lo[pz_dim_of(m->g, old->in[0], i)] = p->hi[pz_dim_of(m->g, old->in[0], i)] = 0;
  for (int dim = 0; dim < PZ_MAX_RANK; dim++) any = any || p->lo[dim] || p->hi[dim];
  return any;
}

static pz_node identity_of(const pz_node *node) {
  return (pz_node){.op = PZ_OP_IDENTITY, .n_in = 1, .in = node->in, .name = node->name, .place = node->place};
}

/* Interpolation repeats the last value where the volume ends. Whatever inside of it reads beyond reads the last value, too: it is in the part. */
static pz_status repeat_last(maker *m, const pz_node *old, int64_t need[PZ_SPATIAL][2], pz_tensor_id *id,
                             pz_error *err) {
  part_place at = {.cut = {false}};
  bool any = false;
  if (old->op != PZ_OP_RESIZE || old->attr.resize.kind != PZ_RESIZE_LINEAR) return PZ_OK;
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    at.cut[i] = is_cut(m, i) && pz_size_along(m->g, old->in[0], i) != pz_size_along(m->g, old->out[0], i);
    any = any || at.cut[i];
    at.first[i] = need[i][0];
  }
  return any ? add_border(m, old->in[0], &at, 0, true, id, err) : PZ_OK;
}

/* ---- averages that count what is inside ---- */

static pz_status add_constant(maker *m, const pz_shape *shape, float value, pz_tensor_id *id, pz_error *err) {
  const int64_t n = pz_shape_elements(shape);
  const char *name = pz_graph_fresh_name(m->to, "inside");
  float *values = name ? PZ_NEW(m->arena, float, (size_t)n) : NULL;
  if (!values) return pz_fail_memory(err, "a count", (size_t)n * sizeof *values);
  for (int64_t i = 0; i < n; i++) values[i] = value;
  return pz_graph_add_constant(m->to, name, shape, values, id, err);
}

static pz_status add_pair(maker *m, pz_eltwise_kind kind, pz_tensor_id a, pz_tensor_id b, pz_tensor_id *id,
                          pz_error *err) {
  pz_node node = pz_node_new(PZ_OP_ELTWISE);
  pz_tensor_id in[2] = {a, b};
  node.in = in, node.n_in = 2, node.attr.eltwise.kind = kind;
  return add(m, &node, "counted", id, err);
}

/* Which part of each window along an axis is inside: of a row of ones, and zeros outside, the average. Where nothing is, some number. */
static pz_status inside_of_windows(maker *m, const pz_node *old, int i, const int64_t need[2],
                                   pz_tensor_id *id, pz_error *err) {
  const pz_attr_pool *p = &old->attr.pool;
  pz_shape shape = {.rank = m->g->tensors[old->in[0]].shape.rank, .dim = {1, 1, 1, 1, 1}}, one = shape;
  pz_node pool = pz_node_new(PZ_OP_POOL);
  part_place at = {.cut = {false}};
  pz_tensor_id least;
  at.cut[i] = true, at.first[i] = need[0];
  shape.dim[pz_dim_of(m->g, old->in[0], i)] = need[1] - need[0] + 1;
  PZ_TRY(add_constant(m, &shape, 1, id, err));
  PZ_TRY(add_border(m, old->in[0], &at, 0, false, id, err));
  pz_tensor_id in = *id;
  pool.in = &in, pool.n_in = 1, pool.attr.pool.kind = PZ_POOL_AVE, pool.attr.pool.divisor = PZ_DIVISOR_KERNEL;
  pool.attr.pool.kernel[i] = p->kernel[i], pool.attr.pool.stride[i] = p->stride[i];
  pool.attr.pool.dilation[i] = p->dilation[i];
  PZ_TRY(add(m, &pool, "windows", id, err));
  PZ_TRY(add_constant(m, &one, 0.5f / (float)p->kernel[i], &least, err));
  return add_pair(m, PZ_ELT_MAX, *id, least, id, err);
}

/* The result of a pool, which counts all of each window, becomes the average of what is inside. */
static pz_status count_inside(maker *m, const pz_node *old, int64_t need[PZ_SPATIAL][2], pz_tensor_id *id,
                              pz_error *err) {
  if (old->op != PZ_OP_POOL || old->attr.pool.kind != PZ_POOL_AVE ||
      old->attr.pool.divisor != PZ_DIVISOR_VALID)
    return PZ_OK;
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    pz_tensor_id part;
    if (!is_cut(m, i) || !reads_outside(m, old, i)) continue;
    PZ_TRY(inside_of_windows(m, old, i, need[i], &part, err));
    PZ_TRY(add_pair(m, PZ_ELT_DIV, *id, part, id, err));
  }
  return PZ_OK;
}

/* The node on what its inputs are now. */
static pz_status add_node(maker *m, const pz_node *old, pz_error *err) {
  int64_t need[PZ_SPATIAL][2], times[PZ_SPATIAL] = {1, 1, 1};
  pz_node node = *old;
  pz_tensor_id *in = PZ_NEW(m->arena, pz_tensor_id, (size_t)old->n_in + 1),
               *out = PZ_NEW(m->arena, pz_tensor_id, (size_t)old->n_out + 1);
  const char **names = PZ_NEW(m->arena, const char *, (size_t)old->n_out + 1);
  if (!in || !out || !names) return pz_fail_memory(err, "a layer", 0);
  for (int32_t k = old->n_in - 1; k >= 0; k--) { /* the first is last: what `need` says is of it */
    in[k] = old->in[k] == PZ_NONE ? PZ_NONE : m->now[old->in[k]];
    if (!pz_joins(old, k) || !is_map(m, old->in[k])) continue;
    for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
      const span *y = &m->of[old->out[0]][i];
      needs(m, old, k, i, y->lo, y->hi, need[i]);
    }
    PZ_TRY(take(m, old, k, need, &in[k], err));
    PZ_TRY(repeat_last(m, old, need, &in[k], err));
  }
  node.in = in;
  node.name = pz_graph_fresh_name(m->to, old->name);
  if (!node.name) return pz_fail_memory(err, "a name", 0);
  if (old->op == PZ_OP_CONV || old->op == PZ_OP_DECONV) set_conv(m, old, &node, need);
  if (old->op == PZ_OP_POOL) set_pool(m, &node);
  if (old->op == PZ_OP_CROP) set_crop(m, old, &node);
  if (old->op == PZ_OP_RESHAPE || (old->op == PZ_OP_PAD && !set_pad(m, old, &node)))
    node = identity_of(&node);
  if (old->op == PZ_OP_RESIZE) PZ_TRY(set_resize(m, old, &node, need, times, err));
  if (old->op == PZ_OP_DEPTH_TO_SPACE && !old->attr.depth_to_space.inverse)
    for (int i = 0; i < PZ_SPATIAL; i++) times[i] = old->attr.depth_to_space.block[i];
  const bool behind =
      old->op == PZ_OP_RESIZE || (old->op == PZ_OP_DEPTH_TO_SPACE && !old->attr.depth_to_space.inverse);
  for (int32_t k = 0; k < old->n_out; k++) {
    names[k] = pz_graph_fresh_name(m->to, m->g->tensors[old->out[k]].name);
    if (!names[k]) return pz_fail_memory(err, "a name", 0);
  }
  PZ_TRY(pz_graph_add_node(m->to, &node, old->n_out, names, out, err));
  for (int32_t k = 0; k < old->n_out; k++) {
    if (behind) PZ_TRY(crop_behind(m, old, need, times, &out[k], err));
    PZ_TRY(count_inside(m, old, need, &out[k], err));
    PZ_TRY(keep(m, old->out[k], out[k], err));
  }
  return PZ_OK;
}

static pz_status add_input(maker *m, pz_error *err) {
  const pz_tensor_id old = m->g->inputs[0];
  const pz_tensor *x = &m->g->tensors[old];
  pz_shape shape = x->shape;
  pz_tensor_id id;
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    const span *s = &m->of[old][i];
    if (is_cut(m, i)) shape.dim[pz_dim_of(m->g, old, i)] = s->hi - s->lo + 1;
  }
  PZ_TRY(pz_graph_add_input(m->to, x->name, &shape, &id, err));
  PZ_TRY(pz_graph_set_element(m->to, id, pz_tensor_element(x), err));
  m->to->tensors[id].wanted = x->wanted;
  const char *name = pz_graph_fresh_name(m->to, "place");
  if (!name) return pz_fail_memory(err, "a name", 0);
  PZ_TRY(pz_graph_add_input(m->to, name, &(pz_shape){.rank = 1, .dim = {6}}, &m->place, err));
  return keep(m, old, id, err);
}

static pz_status add_constants(maker *m, pz_error *err) {
  for (pz_tensor_id t = 0; t < m->g->n_tensors; t++) {
    const pz_tensor *c = &m->g->tensors[t];
    m->now[t] = PZ_NONE;
    if (c->data) PZ_TRY(pz_graph_add_constant(m->to, c->name, &c->shape, c->data, &m->now[t], err));
  }
  return PZ_OK;
}

static pz_status build(maker *m, pz_error *err) {
  const pz_graph *g = m->g;
  PZ_TRY(add_constants(m, err));
  PZ_TRY(add_input(m, err));
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (g->nodes[n].op != PZ_OP_NONE) PZ_TRY(add_node(m, &g->nodes[n], err));
  const pz_tensor_id y = m->now[g->outputs[0]];
  m->to->tensors[y].wanted = g->tensors[g->outputs[0]].wanted;
  PZ_TRY(pz_graph_add_output(m->to, y, err));
  return pz_graph_verify(m->to, err);
}

static void tell(const maker *m, pz_exact_tile *facts) {
  const pz_tensor_id x = m->g->inputs[0], y = m->g->outputs[0];
  *facts = (pz_exact_tile){0};
  for (int i = 0; i < PZ_SPATIAL; i++) {
    facts->way[i] = i < m->first_axis ? PZ_TILE_TILE : m->o->way[i];
    facts->in[i] = facts->out[i] = 1;
    if (i < m->first_axis) continue;
    facts->before[i] = m->l.before[i], facts->first[i] = -m->l.before[i];
    facts->in[i] = pz_size_along(m->g, x, i), facts->out[i] = pz_size_along(m->g, y, i);
    if (!is_cut(m, i)) continue;
    const span *in = &m->of[x][i], *out = &m->of[y][i];
    facts->in[i] = in->hi - in->lo + 1, facts->first[i] = in->lo - m->l.before[i];
    facts->out[i] = out->hi - out->lo + 1, facts->result[i] = out->lo;
  }
}

/* ---- whether it can be ---- */

static pz_status check(const maker *m, pz_error *err) {
  const pz_graph *g = m->g;
  const pz_locality *l = &m->l;
  if (l->node != PZ_NONE)
    return pz_fail_node(err, &g->nodes[l->node], "%s, so that no tile can be exact; use overlapping patches",
                        l->why);
  if (!l->known)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "exact tiles are of networks with one input and one output over space");
  for (int i = m->first_axis; i < PZ_SPATIAL; i++) {
    if (l->coarser[i] != l->finer[i])
      return pz_fail(
          err, PZ_ERROR_INPUT,
          "the result has %lld voxels along %c for %lld of the volume; exact tiles need one for each",
          (long long)l->finer[i], "zyx"[i], (long long)l -> coarser[i]);
    if (m->o->way[i] == PZ_TILE_STREAM && i)
      return pz_fail(err, PZ_ERROR_USAGE, "a stream goes along z, not %c", "zyx"[i]);
    if (is_cut(m, i) && (m->o->out[i] < 1 || m->o->out[i] % l->stride[i] || m->o->out[i] > 1 << 20))
      return pz_fail(err, PZ_ERROR_USAGE,
                     "an exact tile of %lld along %c; expected a multiple of the total stride %lld",
                     (long long)m->o->out[i], "zyx"[i], (long long)l -> stride[i]);
  }
  return PZ_OK;
}

/* All that is known of each tensor before anything is built. */
static pz_status find_spans(maker *m, pz_error *err) {
  PZ_TRY(pz_graph_locality(m->g, &m->l, err));
  PZ_TRY(check(m, err));
  const size_t n = (size_t)m->g->n_tensors;
  m->of = pz_arena_alloc(m->arena, n * sizeof *m->of, 16);
  m->map = PZ_NEW(m->arena, bool, n), m->outside = PZ_NEW(m->arena, outside, n);
  m->now = PZ_NEW(m->arena, pz_tensor_id, n);
  if (!m->of || !m->map || !m->outside || !m->now) return pz_fail_memory(err, "a tile", n * sizeof *m->of);
  memset(m->of, 0, n * sizeof *m->of);
  PZ_TRY(forward(m, err));
  backward(m);
  return find_outside(m, err);
}

static pz_status make(maker *m, pz_error *err) {
  PZ_TRY(find_spans(m, err));
  PZ_TRY(pz_graph_new(m->g->name ? m->g->name : "", &m->to, err));
  return build(m, err);
}

static pz_status begin(const pz_graph *g, const pz_exact_options *options, maker *m, pz_error *err) {
  *m = (maker){.g = g, .o = options, .arena = pz_arena_new()};
  if (!m->arena) return pz_fail_memory(err, "a tile", 0);
  m->first_axis = g->n_inputs == 1 ? PZ_SPATIAL + 2 - g->tensors[g->inputs[0]].shape.rank : PZ_SPATIAL;
  if (m->first_axis < 0) m->first_axis = 0;
  return PZ_OK;
}

pz_status pz_exact_tile_make(const pz_graph *g, const pz_exact_options *options, pz_graph **tile,
                             pz_exact_tile *facts, pz_error *err) {
  maker m;
  *tile = NULL;
  PZ_TRY(begin(g, options, &m, err));
  const pz_status status = make(&m, err);
  if (status == PZ_OK) tell(&m, facts), *tile = m.to;
  else pz_graph_free(m.to);
  pz_arena_free(m.arena);
  return status;
}

/* A transposed convolution's arithmetic is by what it reads. */
static double part_of(const maker *m, const pz_node *node, int i) {
  const span *y = &m->of[node->out[0]][i];
  int64_t made[2] = {y->lo, y->hi};
  if (y->lo > y->hi) return 0;
  if (node->op == PZ_OP_DECONV) needs(m, node, 0, i, y->lo, y->hi, made);
  const pz_tensor_id by = node->op == PZ_OP_DECONV ? node->in[0] : node->out[0];
  return (double)(made[1] - made[0] + 1) / (double)pz_size_along(m->g, by, i);
}

pz_status pz_exact_tile_parts(const pz_graph *g, const pz_exact_options *options,
                              double *const parts[PZ_SPATIAL], pz_exact_tile *facts, pz_error *err) {
  maker m;
  PZ_TRY(begin(g, options, &m, err));
  const pz_status status = find_spans(&m, err);
  for (pz_node_id n = 0; n < g->n_nodes && status == PZ_OK; n++) {
    const pz_node *node = &g->nodes[n];
    const bool map = node->op != PZ_OP_NONE && m.map[node->out[0]];
    for (int i = 0; i < PZ_SPATIAL; i++) {
      const bool cut = i >= m.first_axis && is_cut(&m, i);
      parts[i][n] = !map ? 0 : cut ? part_of(&m, node, i) : 1;
    }
  }
  if (status == PZ_OK) tell(&m, facts);
  pz_arena_free(m.arena);
  return status;
}
