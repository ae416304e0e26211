/* storage.c: where each tensor lies: a buffer of its own, a slice of a concatenation, a view, in place, or the
 * caller's memory. */
#include "place/place.h"

#include <string.h>

/* Rows a multiple of 4 KiB apart would compete for the same few sets of the first-level cache. */
static int64_t apart(int64_t stride, int32_t rows, int64_t more, int64_t size) {
  return more > 1 && rows > 1 && stride * size % 4096 == 0 ? stride + more : stride;
}

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

/* Points between neighbours along an axis: what lies behind one is in front of the next. */
static int64_t gap(const pz_extent *extent, int axis) { return larger(extent->lo[axis], extent->hi[axis]); }

static int64_t first_element(const pz_view *v, const int32_t *lo) {
  return lo[0] * v->stride_d + lo[1] * v->stride_h + lo[2] * v->stride_w;
}

/* Elements of a sample, with the room around it. */
static int64_t span(const pz_view *v, const pz_extent *extent) {
  const int32_t last[PZ_SPATIAL] = {v->d - 1 + extent->hi[0], v->h - 1 + extent->hi[1],
                                    v->w - 1 + extent->hi[2]};
  const int64_t point = extent->lanes ? extent->lanes : (extent->blocks - 1) * v->stride_c + v->block;
  return first_element(v, extent->lo) + first_element(v, last) + point;
}

/* As dense as the room is wide: the zeros behind a row, a plane or a block are those in front of the next one. Elements are `size` bytes. */
static void set_strides(pz_view *v, const pz_extent *extent, int64_t size) {
  const int64_t align = PZ_ALIGN / size;
  const int64_t depth = v->d + gap(extent, 0), height = v->h + gap(extent, 1);
  v->channels_last = extent->lanes > 0;
  v->stride_w = v->channels_last ? extent->lanes : v->block;
  const int64_t row = v->stride_w * (v->w + gap(extent, 2));
  if (extent->h_major) {
    v->stride_d = apart(row, v->d, v->block, size);
    v->stride_c = v->stride_d * depth;
    const int64_t whole = v->stride_c * (v->channels_last ? 1 : extent->blocks) + align - 1;
    v->stride_h = apart(whole / align * align, v->h, align, size);
  } else {
    v->stride_h = apart(row, v->h, v->block, size);
    v->stride_d = v->stride_h * height;
    v->stride_c = v->stride_d * depth;
  }
  if (v->channels_last) v->stride_c = v->block;
  v->stride_n = span(v, extent);
}

/* The border and nothing else. */
static pz_extent extent_of(const pz_view *v) {
  pz_extent extent = {.blocks = pz_block_count(v->c, v->block)};
  memcpy(extent.lo, v->border_lo, sizeof extent.lo);
  memcpy(extent.hi, v->border_hi, sizeof extent.hi);
  return extent;
}

static int64_t size_of(const pz_plan *plan, pz_tensor_id id) {
  return pz_dtype_bytes(plan->graph->tensors[id].type);
}

static pz_view dense_view(const pz_plan *plan, pz_tensor_id id, pz_layout layout, bool bordered) {
  const pz_shape5 s = pz_shape_as5(&plan->graph->tensors[id].shape);
  pz_view v = {
      .n = (int32_t)s.n, .c = (int32_t)s.c, .d = (int32_t)s.s[0], .h = (int32_t)s.s[1], .w = (int32_t)s.s[2]};
  v.block = layout == PZ_NCHWC ? plan->target.block : 1;
  for (int i = 0; i < PZ_SPATIAL && bordered; i++) {
    v.border_lo[i] = plan->border_lo[id][i];
    v.border_hi[i] = plan->border_hi[id][i];
  }
  const pz_extent extent = extent_of(&v);
  set_strides(&v, &extent, size_of(plan, id));
  return v;
}

/* Plain tensors keep a border only where a convolution reads them so: inputs of the network, padded copies and
 * casts. */
static bool keeps_border(const pz_plan *plan, pz_tensor_id id, pz_layout layout) {
  const pz_node_id maker = pz_graph_producer(plan->graph, id);
  return layout == PZ_NCHWC || maker == PZ_NONE || plan->graph->nodes[maker].op == PZ_OP_BORDER_COPY ||
         plan->graph->nodes[maker].op == PZ_OP_CAST;
}

bool pz_border_suffices(const pz_plan *plan, pz_tensor_id id, pz_layout layout, const pz_view *v) {
  if (!keeps_border(plan, id, layout)) return true;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (v->border_lo[i] < plan->border_lo[id][i] || v->border_hi[i] < plan->border_hi[id][i]) return false;
  return true;
}

static int32_t *slot(pz_plan *plan, pz_tensor_id id, pz_layout layout) {
  return layout == PZ_NCHWC ? &plan->nchwc[id] : &plan->nchw[id];
}

static pz_status keep(pz_plan *plan, pz_layout layout, const pz_storage *storage, pz_error *err) {
  PZ_TRY(pz_plan_grow(plan, (void **)&plan->storages, &plan->cap_storages, plan->n_storages,
                      sizeof(pz_storage), err));
  plan->storages[plan->n_storages] = *storage;
  plan->storages[plan->n_storages].element = pz_tensor_element(&plan->graph->tensors[storage->tensor]);
  *slot(plan, storage->tensor, layout) = plan->n_storages++;
  return PZ_OK;
}

pz_status pz_fresh_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_storage *storage,
                           pz_error *err) {
  pz_storage s = {
      .tensor = id, .view = dense_view(plan, id, layout, keeps_border(plan, id, layout)), .owner = true};
  s.extent = layout == PZ_NCHWC ? plan->extents[id] : extent_of(&s.view);
  set_strides(&s.view, &s.extent, size_of(plan, id));
  s.at = (pz_pointer){PZ_SPACE_ARENA, 0, first_element(&s.view, s.extent.lo) * size_of(plan, id)};
  PZ_TRY(pz_new_buffer(plan, s.view.stride_n * s.view.n * size_of(plan, id), &s.at.index, err));
  PZ_TRY(keep(plan, layout, &s, err));
  *storage = plan->storages[plan->n_storages - 1];
  return PZ_OK;
}

pz_status pz_line_buffer_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, int64_t rows,
                                 pz_error *err) {
  pz_storage s = {.tensor = id, .view = dense_view(plan, id, layout, true), .owner = true};
  s.view.border_lo[1] = s.view.border_hi[1] = 0;
  s.view.h = (int32_t)rows;
  s.extent = extent_of(&s.view);
  set_strides(&s.view, &s.extent, size_of(plan, id));
  s.at = (pz_pointer){PZ_SPACE_ARENA, 0, first_element(&s.view, s.extent.lo) * size_of(plan, id)};
  PZ_TRY(pz_new_buffer(plan, s.view.stride_n * s.view.n * size_of(plan, id), &s.at.index, err));
  return keep(plan, layout, &s, err);
}

static bool has_border(const pz_plan *plan, pz_tensor_id id) {
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (plan->border_lo[id][i] || plan->border_hi[id][i]) return true;
  return false;
}

/* The caller's buffer, where the tensor is an output of the graph that can be written there as it is. */
static int32_t output_port(const pz_plan *plan, pz_tensor_id id) {
  for (int32_t i = 0; i < plan->graph->n_outputs; i++)
    if (plan->graph->outputs[i] == id) return i;
  return -1;
}

pz_storage pz_port_storage(const pz_plan *plan, pz_tensor_id id, pz_space space, int32_t port) {
  return (pz_storage){.tensor = id,
                      .at = {space, port, 0},
                      .view = dense_view(plan, id, PZ_NCHW, false),
                      .element = pz_tensor_element(&plan->graph->tensors[id]),
                      .owner = false};
}

static pz_status slice_of_parent(pz_plan *plan, pz_tensor_id id, pz_storage *storage, pz_error *err) {
  pz_storage parent;
  PZ_TRY(pz_output_storage(plan, plan->alias_parent[id], PZ_NCHWC, &parent, err));
  *storage = parent;
  storage->tensor = id;
  storage->owner = false;
  pz_storage_move(storage, plan->alias_channel[id] / plan->target.block * parent.view.stride_c);
  storage->view.c = (int32_t)pz_shape_as5(&plan->graph->tensors[id].shape).c;
  return keep(plan, PZ_NCHWC, storage, err);
}

pz_status pz_output_storage(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_storage *storage,
                            pz_error *err) {
  const int32_t known = *slot(plan, id, layout);
  if (known >= 0) {
    *storage = plan->storages[known];
    return PZ_OK;
  }
  if (layout == PZ_NCHWC && plan->alias_parent[id] != PZ_NONE) return slice_of_parent(plan, id, storage, err);
  const int32_t port = output_port(plan, id);
  if (layout == PZ_NCHW && port >= 0 && (!keeps_border(plan, id, layout) || !has_border(plan, id))) {
    *storage = pz_port_storage(plan, id, PZ_SPACE_OUTPUT, port);
    return keep(plan, PZ_NCHW, storage, err);
  }
  return pz_fresh_storage(plan, id, layout, storage, err);
}

const pz_storage *pz_input_storage(const pz_plan *plan, pz_tensor_id id, pz_layout layout) {
  return &plan->storages[layout == PZ_NCHWC ? plan->nchwc[id] : plan->nchw[id]];
}

pz_status pz_make_view(pz_plan *plan, pz_tensor_id to, pz_layout layout, const pz_storage *view,
                       pz_error *err) {
  pz_storage s = *view;
  s.tensor = to;
  s.owner = false;
  memset(s.view.border_lo, 0, sizeof s.view.border_lo);
  memset(s.view.border_hi, 0, sizeof s.view.border_hi);
  return keep(plan, layout, &s, err);
}

static bool is_view_op(pz_op op) {
  return op == PZ_OP_CROP || op == PZ_OP_SLICE || op == PZ_OP_RESHAPE || op == PZ_OP_VOLUME_BORDER;
}

/* A concatenation's buffer holds its parts too, which others may still read. */
static bool holds_parts(const pz_plan *plan, pz_tensor_id id) {
  for (int32_t i = 0; i < plan->graph->n_tensors; i++)
    if (plan->alias_parent[i] == id) return true;
  return false;
}

bool pz_ends_at(const pz_plan *plan, pz_tensor_id id, pz_node_id last) {
  const pz_graph *g = plan->graph;
  if (pz_graph_is_output(g, id)) return false;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; i < g->nodes[n].n_in; i++)
      if (g->nodes[n].in[i] == id && (n > last || is_view_op(g->nodes[n].op))) return false;
  return true;
}

bool pz_may_replace(const pz_plan *plan, pz_tensor_id from, pz_tensor_id to) {
  return pz_graph_producer(plan->graph, from) != PZ_NONE && !holds_parts(plan, from) &&
         plan->alias_parent[from] == PZ_NONE && plan->alias_parent[to] == PZ_NONE &&
         pz_ends_at(plan, from, pz_graph_producer(plan->graph, to));
}

pz_status pz_make_in_place(pz_plan *plan, pz_tensor_id from, pz_tensor_id to, pz_layout layout, bool *done,
                           pz_error *err) {
  const pz_storage *s = pz_input_storage(plan, from, layout);
  *done = s->owner && !holds_parts(plan, from) && plan->alias_parent[to] == PZ_NONE &&
          *slot(plan, to, layout) < 0 && pz_ends_at(plan, from, pz_graph_producer(plan->graph, to)) &&
          pz_shape_equal(&plan->graph->tensors[from].shape, &plan->graph->tensors[to].shape) &&
          pz_border_suffices(plan, to, layout, &s->view) &&
          (!s->view.channels_last || plan->extents[to].lanes);
  if (!*done) return PZ_OK;
  pz_storage same = *s;
  same.tensor = to;
  return keep(plan, layout, &same, err);
}

pz_status pz_shifted_storage(pz_plan *plan, pz_tensor_id from, pz_tensor_id to, int64_t rows, bool *done,
                             pz_error *err) {
  const pz_storage x = *pz_input_storage(plan, from, PZ_NCHWC);
  pz_storage y = {
      .tensor = to, .view = dense_view(plan, to, PZ_NCHWC, true), .owner = true, .extent = x.extent};
  const int32_t less[PZ_SPATIAL] = {x.view.d - y.view.d, 0, x.view.w - y.view.w};
  *done = x.owner && x.extent.h_major && plan->nchwc[to] < 0 && x.view.n == 1 &&
          (x.view.channels_last ? x.extent.lanes >= y.view.c && plan->extents[to].lanes
                                : x.extent.blocks >= pz_block_count(y.view.c, y.view.block));
  for (int i = 0; i < PZ_SPATIAL; i += 2) {
    y.extent.hi[i] += less[i];
    *done &= y.extent.lo[i] >= y.view.border_lo[i] && y.extent.hi[i] >= y.view.border_hi[i];
  }
  if (!*done) return PZ_OK;
  y.extent.lo[1] = y.view.border_lo[1], y.extent.hi[1] = y.view.border_hi[1];
  y.view.stride_c = x.view.stride_c, y.view.stride_d = x.view.stride_d, y.view.stride_h = x.view.stride_h;
  y.view.stride_w = x.view.stride_w, y.view.channels_last = x.view.channels_last;
  y.view.stride_n = span(&y.view, &y.extent);
  const int64_t size = size_of(plan, to);
  y.at = (pz_pointer){PZ_SPACE_ARENA, 0, first_element(&y.view, y.extent.lo) * size};
  PZ_TRY(pz_new_buffer(plan, y.view.stride_n * size, &y.at.index, err));
  pz_buffer *buffer = &plan->buffers[y.at.index];
  buffer->anchor = x.at.index;
  buffer->from_anchor = (x.extent.lo[1] - y.extent.lo[1] + rows) * x.view.stride_h * size;
  return keep(plan, PZ_NCHWC, &y, err);
}

pz_status pz_keep_storage(pz_plan *plan, pz_layout layout, const pz_storage *storage, pz_error *err) {
  return keep(plan, layout, storage, err);
}

/* ---- concatenation without copying ---- */

static bool can_alias(const pz_plan *plan, const pz_node *concat, int32_t part, int64_t channel) {
  const pz_tensor_id id = concat->in[part];
  const pz_node_id maker = pz_graph_producer(plan->graph, id);
  if (maker == PZ_NONE || channel % plan->target.block || plan->alias_parent[id] != PZ_NONE) return false;
  if (pz_chosen(plan, maker)->out != PZ_NCHWC || is_view_op(plan->graph->nodes[maker].op)) return false;
  /* a part whose last block has padding lanes must be the last: its lanes are the next part's channels */
  if (part + 1 < concat->n_in && plan->graph->tensors[id].shape.dim[1] % plan->target.block) return false;
  for (int32_t i = 0; i < concat->n_in; i++)
    if (i != part && concat->in[i] == id) return false;
  return true;
}

static void widen(int32_t *to, const int32_t *from) {
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (from[i] > to[i]) to[i] = from[i];
}

static void alias_parts(pz_plan *plan, const pz_node *concat) {
  const pz_tensor_id parent = concat->out[0];
  int64_t channel = 0;
  for (int32_t i = 0; i < concat->n_in; i++) {
    const pz_tensor_id id = concat->in[i];
    if (can_alias(plan, concat, i, channel)) {
      plan->alias_parent[id] = parent;
      plan->alias_channel[id] = channel;
      widen(plan->border_lo[parent], plan->border_lo[id]);
      widen(plan->border_hi[parent], plan->border_hi[id]);
    }
    channel += plan->graph->tensors[id].shape.dim[1];
  }
}

/* The border that the graph has, but along the depth only as far as it is read there. */
static void set_borders(pz_plan *plan) {
  const pz_graph *g = plan->graph;
  int32_t(*lo)[PZ_SPATIAL] = plan->border_lo, (*hi)[PZ_SPATIAL] = plan->border_hi;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) lo[t][0] = hi[t][0] = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    int32_t front[PZ_SPATIAL], behind[PZ_SPATIAL];
    if ((node->op != PZ_OP_CONV && node->op != PZ_OP_DECONV) ||
        (pz_chosen(plan, n)->caps & PZ_CAP_DEPTH_BORDER))
      continue;
    pz_node_input_border(g, node, front, behind);
    const pz_tensor_id x = node->in[PZ_CONV_X];
    lo[x][0] = larger(lo[x][0], front[0]), hi[x][0] = larger(hi[x][0], behind[0]);
  }
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) {
    const int32_t front = lo[t][0], behind = hi[t][0];
    memcpy(lo[t], g->tensors[t].border_lo, sizeof lo[t]);
    memcpy(hi[t], g->tensors[t].border_hi, sizeof hi[t]);
    if (front < lo[t][0]) lo[t][0] = front;
    if (behind < hi[t][0]) hi[t][0] = behind;
  }
}

/* A result that may take over the storage of an input, as of the sum that it starts from, needs its border there already. */
static void widen_overwritten(pz_plan *plan) {
  const pz_graph *g = plan->graph;
  for (pz_node_id n = g->n_nodes - 1; n >= 0; n--) {
    const pz_node *node = &g->nodes[n];
    const pz_query q = pz_query_of(plan, n);
    const pz_solver *solver = pz_chosen(plan, n);
    const uint32_t slots =
        solver->overwrites && pz_normed_by(plan, n) == PZ_NONE ? solver->overwrites(&q) : 0;
    for (int32_t slot = 0; slots >> slot && slot < node->n_in; slot++) {
      const pz_tensor_id id = slots >> slot & 1 ? node->in[slot] : PZ_NONE;
      if (id == PZ_NONE || pz_graph_producer(g, id) == PZ_NONE || !pz_ends_at(plan, id, n)) continue;
      widen(plan->border_lo[id], plan->border_lo[node->out[0]]);
      widen(plan->border_hi[id], plan->border_hi[node->out[0]]);
    }
  }
}

/* Borders go up to the parents first (consumers come later in the order, so parents are final when all of
 * the nodes were seen once), and then down to all parts. */
pz_status pz_decide_aliases(pz_plan *plan, pz_error *err) {
  (void)err;
  const pz_graph *g = plan->graph;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) plan->alias_parent[t] = PZ_NONE;
  set_borders(plan);
  widen_overwritten(plan);
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const pz_node *node = &g->nodes[n];
    if (node->op == PZ_OP_CONCAT && node->attr.concat.axis == 1 && node->attr.concat.in_place &&
        pz_chosen(plan, n)->out == PZ_NCHWC)
      alias_parts(plan, node);
  }
  for (pz_node_id n = g->n_nodes - 1; n >= 0; n--)
    for (int32_t i = 0; g->nodes[n].op == PZ_OP_CONCAT && i < g->nodes[n].n_in; i++) {
      const pz_tensor_id id = g->nodes[n].in[i];
      if (plan->alias_parent[id] != g->nodes[n].out[0]) continue;
      memcpy(plan->border_lo[id], plan->border_lo[g->nodes[n].out[0]], sizeof plan->border_lo[id]);
      memcpy(plan->border_hi[id], plan->border_hi[g->nodes[n].out[0]], sizeof plan->border_hi[id]);
    }
  return PZ_OK;
}
