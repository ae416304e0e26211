/* find_bands.c: chains of layers run band by band along the height, so that what lies between them is never whole.
 *
 * A band chain is a run of convolutions, deconvolutions with stride = kernel and pooling without padding along the height, and the
 * crops of their results; not those that collect moments of their results: over all rows at once; nor those that
 * normalise what they read, for they must know where it ends. A tensor
 * that only the chain reads keeps a line buffer: the rows that its readers still need, and those made now. Before each band the rows
 * of the one before that are needed again move to the start of the buffer. Rows come in whole tiles of a layer's algorithm, so that
 * each value is summed as it would be without bands: the same bits.
 *
 *   end[v][k]    rows of layer v that are made when band k is done: what its readers need for theirs, up to whole tiles
 *   start[t][k]  the first row that the line buffer of t holds during band k: the first one that a reader of band k or later needs
 *
 * Rows are counted in the output of each layer; row -1 and such are the zero border. */
#include "place/bands.h"

#include <math.h>

typedef pz_band_chain chain;
typedef pz_band_member member;

#define NEVER  INT64_MAX
#define FEWEST 3 /* bands that are worth their barriers */
/* Where products are of AMX tiles, a band has so much of a result: less makes short calls, more does not stay in cache. But so many
 * rows, for some move from band to band and some are transformed twice, up to as much as does not matter any more, which is what a band
 * has elsewhere (doc/notes/2026-11-28-memory.md). */
#define BAND_BYTES (19 << 18)
#define BAND_ROWS  8
#define MANY_BYTES (24 << 20)
/* In low-memory plans; few, for then a band is one row of tiles, which workers share by depth, as they do the next one (doc/notes/2026-11-28-memory.md). */
#define LOW_MEMORY_BYTES (3 << 20)
#define LOW_MEMORY_TILES (6 << 20) /* where products are of AMX tiles */

static const pz_node *node_of(const chain *c, int32_t i) { return pz_band_node(c, i); }
static int64_t height(const pz_plan *plan, pz_tensor_id id) { return pz_band_height(plan, id); }
static int64_t height_of(const chain *c, int32_t i) { return height(c->plan, node_of(c, i)->out[0]); }

/* ---- which layers can ---- */

/* A window in space, of all channels. */
static bool is_spatial_crop(const pz_plan *plan, pz_node_id n) {
  const pz_node *node = &plan->graph->nodes[n];
  if (node->op != PZ_OP_CROP || pz_chosen(plan, n)->out != PZ_NCHWC) return false;
  const pz_attr_crop *a = &node->attr.crop;
  const pz_shape *x = &plan->graph->tensors[node->in[0]].shape;
  for (int i = 0; i < x->rank; i++)
    if (a->step[i] != 1) return false;
  return x->rank > 3 && a->size[0] == x->dim[0] && a->size[1] == x->dim[1];
}

/* Rows that the first `rows` windows along the height reach over. */
static int64_t pooled_rows(const pz_attr_pool *a, int64_t rows) {
  return (rows - 1) * a->stride[1] + (int64_t)(a->kernel[1] - 1) * a->dilation[1] + 1;
}

static bool is_eligible(const pz_plan *plan, pz_node_id n) {
  const pz_node *node = &plan->graph->nodes[n];
  const pz_shape *x = node->n_in ? &plan->graph->tensors[node->in[0]].shape : NULL;
  if (!x || x->rank < 4 || pz_collects(plan, n) || pz_norm_of(plan, n) != PZ_NONE) return false;
  switch (node->op) {
  case PZ_OP_CONV: return !(pz_chosen(plan, n)->caps & PZ_CAP_WHOLE);
  case PZ_OP_DECONV:
    return node->attr.conv.kernel[1] == node->attr.conv.stride[1] && node->attr.conv.dilation[1] == 1 &&
           !node->attr.conv.pad_lo[1] && !node->attr.conv.pad_hi[1] && !node->attr.conv.output_pad[1];
  case PZ_OP_POOL: {
    const pz_attr_pool *a = &node->attr.pool;
    return !a->pad_lo[1] && pooled_rows(a, height(plan, node->out[0])) <= height(plan, node->in[0]);
  }
  default: return false;
  }
}

/* The tensors that a layer reads row by row. */
static int32_t rows_read(const pz_node *node, pz_tensor_id read[2]) {
  int32_t n = 0;
  read[n++] = node->in[0];
  if ((node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV) && node->in[PZ_CONV_RESIDUAL] != PZ_NONE)
    read[n++] = node->in[PZ_CONV_RESIDUAL];
  return n;
}

/* ---- which rows of slot `slot` (0: x, 1: Base) a layer needs ---- */

/* Rows of x behind the last one that is needed for its first `rows` rows. */
static int64_t need_end(const chain *c, int32_t i, int32_t slot, int64_t rows) {
  const pz_node *node = node_of(c, i);
  const pz_attr_conv *a = &node->attr.conv;
  int64_t end = rows;
  if (rows == 0) return 0;
  if (slot == 0 && node->op == PZ_OP_CONV)
    end = (rows - 1) * a->stride[1] + (a->kernel[1] - 1) * a->dilation[1] + 1 - a->pad_lo[1];
  if (slot == 0 && node->op == PZ_OP_DECONV) end = (rows + a->stride[1] - 1) / a->stride[1];
  if (slot == 0 && node->op == PZ_OP_POOL) end = pooled_rows(&node->attr.pool, rows);
  const int64_t all = height(c->plan, slot ? node->in[PZ_CONV_RESIDUAL] : node->in[0]);
  return end < 0 ? 0 : end < all ? end : all;
}

/* The first row that is needed for row `row` and those behind it. */
static int64_t need_start(const chain *c, int32_t i, int32_t slot, int64_t row) {
  const pz_node *node = node_of(c, i);
  const pz_attr_conv *a = &node->attr.conv;
  if (row == height_of(c, i)) return NEVER;
  if (slot) return row;
  if (node->op == PZ_OP_CONV) return row * a->stride[1] - a->pad_lo[1];
  if (node->op == PZ_OP_DECONV) return row / a->stride[1];
  if (node->op == PZ_OP_POOL) return row * node->attr.pool.stride[1];
  return row + node->attr.crop.offset[c->plan->graph->tensors[node->in[0]].shape.rank - 2];
}

/* ---- the schedule ---- */

/* The reader `i` of tensor `id` and its slot, from *i on; false: there is none left. */
static bool next_reader(const chain *c, pz_tensor_id id, int32_t *i, int32_t *slot) {
  for (; *i < c->n; ++*i, *slot = 0)
    for (; *slot < 2; ++*slot) {
      pz_tensor_id read[2];
      if (*slot < rows_read(node_of(c, *i), read) && read[*slot] == id) return true;
    }
  return false;
}

static int64_t multiple(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/* Of a crop: whatever is there. */
static int64_t cropped_end(const chain *c, int32_t i, int32_t k) {
  const pz_tensor_id x = node_of(c, i)->in[0];
  for (int32_t v = 0; v < i; v++)
    if (node_of(c, v)->out[0] == x) {
      const int64_t there = c->members[v].end[k] - need_start(c, i, 0, 0), all = height_of(c, i);
      return there < 0 ? 0 : there < all ? there : all;
    }
  return height_of(c, i);
}

static void schedule_end(const chain *c, int32_t i, int32_t k) {
  member *m = &c->members[i];
  const int64_t all = height_of(c, i);
  const pz_tensor_id made = node_of(c, i)->out[0];
  int64_t end = 0;
  bool read = false;
  for (int32_t r = 0, slot = 0; next_reader(c, made, &r, &slot); slot++) {
    if (node_of(c, r)->op == PZ_OP_CROP) continue;
    const int64_t need = need_end(c, r, slot, c->members[r].end[k]);
    if (need > end) end = need;
    read = true;
  }
  if (!read) end = all * c->rows * (k + 1) / height_of(c, c->layers - 1); /* in step with the last layer */
  end = multiple(end, m->unit);
  m->end[k] = k + 1 == c->bands || end > all ? all : end;
}

/* Line buffers: what is needed by band k and those behind it; rows move only where they do not overlap. */
static void schedule_start(const chain *c, int32_t i, int32_t k) {
  member *m = &c->members[i];
  const pz_tensor_id made = node_of(c, i)->out[0];
  const int64_t all = height_of(c, i), hi = c->plan->border_hi[made][1], lo = c->plan->border_lo[made][1];
  if (k == 0) m->start[0] = -lo;
  else {
    const int64_t before = m->start[k - 1], there = m->end[k - 1];
    int64_t first = there;
    for (int32_t r = 0, slot = 0; next_reader(c, made, &r, &slot); slot++) {
      const int64_t need = need_start(c, r, slot, c->members[r].end[k - 1]);
      if (need < first) first = need;
    }
    m->start[k] = there < all && there - first <= first - before ? first : before;
  }
  const int64_t extent = m->end[k] + (m->end[k] == all ? hi : 0) - m->start[k];
  if (extent > m->extent) m->extent = extent;
}

static void schedule(const chain *c) {
  for (int32_t k = 0; k < c->bands; k++) {
    for (int32_t i = c->n - 1; i >= 0; i--)
      if (node_of(c, i)->op != PZ_OP_CROP) schedule_end(c, i, k);
    for (int32_t i = 0; i < c->n; i++)
      if (node_of(c, i)->op == PZ_OP_CROP) c->members[i].end[k] = cropped_end(c, i, k);
    for (int32_t i = 0; i < c->n; i++)
      if (c->members[i].line_buffered) schedule_start(c, i, k);
  }
}

/* ---- results that overwrite the sum they start from ---- */

/* That sum is not the chain's, and ends here. */
static bool may_replace(const chain *c, int32_t i) {
  const pz_node *node = node_of(c, i);
  const bool sums = node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV;
  const pz_tensor_id residual = sums ? node->in[PZ_CONV_RESIDUAL] : PZ_NONE;
  return residual != PZ_NONE && residual != node->in[PZ_CONV_X] && pz_band_maker(c, residual) < 0 &&
         pz_may_replace(c->plan, residual, node->out[0]);
}

/* Whatever else the chain reads of the sum, it reads before it is overwritten. */
static bool replaces_late(const chain *c, int32_t i) {
  const pz_tensor_id residual = node_of(c, i)->in[PZ_CONV_RESIDUAL];
  for (int32_t k = 0; k + 1 < c->bands; k++)
    for (int32_t r = 0, slot = 0; next_reader(c, residual, &r, &slot); slot++)
      if (r != i && need_start(c, r, slot, c->members[r].end[k]) < c->members[i].end[k]) return false;
  return true;
}

/* ---- finding chains ---- */

static bool shrinks(const pz_node *node) {
  return node->op == PZ_OP_POOL || (node->op == PZ_OP_CONV && node->attr.conv.stride[1] > 1);
}

/* Reads something from the chain, all of it in the layout that it is written in. */
static bool continues(const chain *c, pz_node_id n) {
  const pz_node *node = &c->plan->graph->nodes[n];
  pz_tensor_id read[2];
  bool any = false;
  for (int32_t i = rows_read(node, read) - 1; i >= 0; i--) {
    const int32_t maker = pz_band_maker(c, read[i]);
    if (maker < 0) continue;
    if (pz_wanted_layout(c->plan, n, i ? PZ_CONV_RESIDUAL : 0) != c->members[maker].layout) return false;
    any = true;
  }
  return any;
}

static void add_member(chain *c, pz_node_id n) {
  const pz_solver *solver = pz_chosen(c->plan, n);
  const pz_query q = pz_query_of(c->plan, n);
  const pz_node *node = &c->plan->graph->nodes[n];
  int32_t unit = solver->tile_rows ? solver->tile_rows(&q) : 1;
  if (node->op == PZ_OP_DECONV) unit = node->attr.conv.stride[1];
  c->members[c->n++] = (member){.node = n, .unit = unit, .layout = solver->out};
}

/* Nothing outside of the chain reads it. */
static bool stays_inside(const chain *c, pz_tensor_id id) {
  int32_t readers = 0;
  for (int32_t i = 0, slot = 0; next_reader(c, id, &i, &slot); slot++) readers++;
  return readers > 0 && readers == pz_graph_count_uses(c->plan->graph, id) &&
         c->plan->alias_parent[id] == PZ_NONE;
}

static double bytes_of(const pz_plan *plan, pz_tensor_id id) {
  const pz_tensor *t = &plan->graph->tensors[id];
  return (double)(pz_dtype_bytes(t->type) * pz_shape_elements(&t->shape));
}

/* Rows of a result for each row of the last layer's. */
static int64_t scale_of(const chain *c, int32_t i) {
  int64_t scale = 1;
  for (int32_t v = i; v + 1 != c->layers;) {
    int32_t r = v + 1, slot = 0; /* readers come behind */
    while (next_reader(c, node_of(c, v)->out[0], &r, &slot) && (slot || node_of(c, r)->op == PZ_OP_CROP))
      slot++;
    if (r >= c->n) return scale;
    const pz_node *reader = node_of(c, r);
    if (reader->op == PZ_OP_CONV) scale *= reader->attr.conv.stride[1];
    if (reader->op == PZ_OP_POOL) scale *= reader->attr.pool.stride[1];
    v = r;
  }
  return scale;
}

/* Bytes of a band of a result of so many. */
static double band_bytes(const pz_plan *plan, double all) {
  const bool tiles = pz_target_has(&plan->target, PZ_NEEDS_TILES);
  const double growth = pz_band_growth(plan);
  if (!plan->low_memory) return growth * (tiles ? BAND_BYTES : MANY_BYTES);
  return growth * fmin(all / PZ_LOW_MEMORY_BANDS, tiles ? LOW_MEMORY_TILES : LOW_MEMORY_BYTES);
}

/* As many as fit into a band, where each stands for `rows` of a result's rows; the result has `of` rows, of `all` bytes. */
static int64_t fitting(const pz_plan *plan, int64_t rows, int64_t of, double all) {
  const double bytes = all / (double)of;
  const int64_t most = (int64_t)(pz_band_growth(plan) * MANY_BYTES / bytes / (double)rows),
                few = (BAND_ROWS + rows - 1) / rows, least = few < most ? few : most;
  int64_t fit = (int64_t)(band_bytes(plan, all) / bytes / (double)rows);
  if (!plan->low_memory && fit < least) fit = least;
  return fit < 1 || plan->fuse_rows == PZ_FUSE_ROWS_ALWAYS ? 1 : fit;
}

/* The fewest rows of the last layer that are whole tiles of all layers, times what keeps bands large and alike. */
static void choose_rows(chain *c) {
  const int32_t last = c->layers - 1;
  int64_t rows = 0, most = 0;
  for (bool whole = false; !whole && rows < 64;) {
    whole = true, rows++;
    for (int32_t i = 0; i <= last; i++) whole &= rows * scale_of(c, i) % c->members[i].unit == 0;
  }
  for (int32_t i = 0; i <= last; i++) {
    if (!c->members[i].line_buffered) continue;
    const pz_tensor_id id = node_of(c, i)->out[0];
    const int64_t fit = fitting(c->plan, rows * scale_of(c, i), height(c->plan, id), bytes_of(c->plan, id));
    if (most == 0 || fit < most) most = fit;
  }
  const int64_t runs = (height_of(c, last) + rows - 1) / rows;
  c->bands = (int32_t)((runs + most - 1) / most);
  c->rows = (int32_t)(rows * ((runs + c->bands - 1) / c->bands));
  c->bands = (int32_t)((height_of(c, last) + c->rows - 1) / c->rows);
  for (int32_t i = 0; i < c->n; i++)
    c->members[i].run = c->rows * (i <= last ? scale_of(c, i) : height_of(c, i));
}

static pz_status allocate(chain *c, pz_error *err) {
  for (int32_t i = 0; i < c->n; i++) {
    member *m = &c->members[i];
    m->end = PZ_NEW(c->plan->arena, int64_t, (size_t)c->bands);
    m->start = PZ_NEW(c->plan->arena, int64_t, (size_t)c->bands);
    if (!m->end || !m->start) return pz_fail_memory(err, "bands", (unsigned long long)c->bands * 16);
  }
  return PZ_OK;
}

/* The layers from c->first on, as far as they follow each other at about one size, and the crops of their results. */
static void find_members(chain *c) {
  const pz_plan *plan = c->plan;
  const pz_graph *g = plan->graph;
  pz_node_id next = c->first;
  if (!is_eligible(plan, next)) return;
  add_member(c, next++);
  while (next < g->n_nodes && g->nodes[next].op != PZ_OP_DECONV && is_eligible(plan, next) &&
         !(plan->low_memory && pz_may_be_inplace(plan, next)) && !shrinks(node_of(c, c->n - 1)) &&
         continues(c, next))
    add_member(c, next++);
  c->layers = c->n;
  for (; next < g->n_nodes; next++) {
    const int32_t maker = is_spatial_crop(plan, next) ? pz_band_maker(c, g->nodes[next].in[0]) : -1;
    if (maker >= 0 && c->members[maker].layout == PZ_NCHWC) add_member(c, next);
  }
}

/* Which results overwrite the sums they start from, and which are line buffers. */
static void choose_windows(chain *c, bool replacing) {
  for (int32_t i = 0; i < c->n; i++) {
    member *m = &c->members[i];
    m->replaces = replacing && may_replace(c, i);
    m->line_buffered = i + 1 < c->layers && !m->replaces && stays_inside(c, node_of(c, i)->out[0]);
    m->extent = 0;
  }
}

static bool has_line_buffers(const chain *c) {
  for (int32_t i = 0; i < c->n; i++)
    if (c->members[i].line_buffered) return true;
  return false;
}

/* In low-memory plans. */
static bool is_large(const chain *c) {
  double most = 0;
  for (int32_t i = 0; i < c->n; i++)
    if (c->members[i].line_buffered) most = fmax(most, bytes_of(c->plan, node_of(c, i)->out[0]));
  return !c->plan->low_memory || c->plan->fuse_rows == PZ_FUSE_ROWS_ALWAYS || most >= PZ_INPLACE_LEAST;
}

static pz_status find_bands(chain *c, bool replacing, pz_error *err) {
  choose_windows(c, replacing);
  c->bands = 0;
  if (has_line_buffers(c) && is_large(c)) choose_rows(c);
  if (c->bands < FEWEST) {
    c->n = c->layers = 0;
    return PZ_OK;
  }
  PZ_TRY(allocate(c, err));
  schedule(c);
  return PZ_OK;
}

pz_status pz_bands_find(pz_plan *plan, pz_node_id first, pz_band_chain *c, pz_error *err) {
  const size_t nodes = (size_t)plan->graph->n_nodes;
  *c = (chain){.plan = plan, .first = first, .members = PZ_NEW(plan->arena, member, nodes)};
  if (!c->members) return pz_fail_memory(err, "bands", nodes * sizeof(member));
  if (plan->low_memory && pz_may_be_inplace(plan, first)) {
    add_member(c, first);
    pz_inplace_conv_find(c);
    return PZ_OK;
  }
  find_members(c);
  PZ_TRY(find_bands(c, true, err));
  for (int32_t i = 0; i < c->n; i++)
    if (c->members[i].replaces && !replaces_late(c, i)) return find_bands(c, false, err);
  return PZ_OK;
}

#define NEAR_WEIGHTS (8 << 20) /* bytes that are still in level 3 when the next band comes */
#define NEARER       3         /* times as fast is that read as memory (doc/notes/2026-11-28-winograd.md) */

/* Where memory comes first: a pass takes the moments that member i does not collect, another normalises what its reader does not. */
static double bytes_of_passes(const pz_band_chain *c, int32_t i) {
  const bool wished = c->plan->problems[c->members[i].node].epilogue.norm_stats;
  return wished ? 3 * bytes_of(c->plan, node_of(c, i)->out[0]) : 0;
}

double pz_bands_again(const pz_band_chain *c) {
  double weights = 0, between = 0, passes = 0;
  for (int32_t i = 0; i < c->n; i++) {
    passes += bytes_of_passes(c, i);
    weights += (double)c->members[i].weight_bytes[0];
    if (c->members[i].line_buffered) between += bytes_of(c->plan, node_of(c, i)->out[0]);
  }
  if (c->shift) return passes;
  return passes + weights * c->bands / (weights <= NEAR_WEIGHTS ? NEARER : 1) - between;
}
bool pz_bands_cost(const pz_band_chain *c) { return pz_bands_again(c) > 0; }
