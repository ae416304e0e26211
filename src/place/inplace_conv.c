/* inplace_conv.c: a convolution in place: its result lies over its input.
 *
 * Where an input ends with the convolution that reads it, two whole tensors need not live at a time. The convolution runs band by band
 * along the height, and row r of the result lies where a row of the input lay that no later band reads: `shift` rows in front of
 * the input's row r when bands come in rising order, so many behind it in falling order. Both lie h-major, so that only
 * these rows are added to what one of them takes. Convolutions in place that follow each other go up and down alternately. All workers have
 * finished a band before the next one begins; rows come in whole tiles: the bits are those of the plain execution.
 *
 *   result, rising order    | . . . . . . . . . . . . |
 *   input                       | . . . . . . . . . . . . |      addresses rise to the right
 *   result, falling order           | . . . . . . . . . . . . |
 */
#include "place/bands.h"

#include <math.h>
#include <string.h>

#define MANY_BYTES (5 << 20) /* of its rows in a band (doc/notes/2026-11-28-memory.md) */

static pz_shape5 shape_of(const pz_plan *plan, pz_tensor_id id) {
  return pz_shape_as5(&plan->graph->tensors[id].shape);
}

bool pz_may_be_inplace(const pz_plan *plan, pz_node_id n) {
  const pz_node *node = &plan->graph->nodes[n];
  if (node->op != PZ_OP_CONV || pz_chosen(plan, n)->in != PZ_NCHWC || pz_chosen(plan, n)->out != PZ_NCHWC ||
      pz_norm_of(plan, n) != PZ_NONE)
    return false;
  const pz_tensor_id x = node->in[PZ_CONV_X], y = node->out[0];
  const pz_shape5 in = shape_of(plan, x), out = shape_of(plan, y);
  if (node->in[PZ_CONV_RESIDUAL] != PZ_NONE || pz_collects(plan, n) || !pz_may_replace(plan, x, y) ||
      in.n > 1)
    return false;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (node->attr.conv.stride[i] != 1 || out.s[i] > in.s[i]) return false;
  return true;
}

/* Rows of a band and those between what it reads and what it writes, with the border. */
static int64_t shift_of(const pz_plan *plan, const pz_node *node, int64_t rows) {
  const pz_attr_conv *a = &node->attr.conv;
  const pz_tensor_id y = node->out[0];
  const int64_t front = a->pad_lo[1], behind = (int64_t)(a->kernel[1] - 1) * a->dilation[1] - front;
  const int32_t lo = plan->border_lo[y][1], hi = plan->border_hi[y][1];
  return rows + (front > behind ? front : behind) + (lo > hi ? lo : hi);
}

void pz_inplace_conv_find(pz_band_chain *c) {
  const pz_plan *plan = c->plan;
  const pz_node *node = pz_band_node(c, 0);
  const int64_t height = pz_band_height(plan, node->out[0]), unit = c->members[0].unit;
  const double bytes = 4.0 * (double)pz_shape_elements(&plan->graph->tensors[node->out[0]].shape);
  const bool always = plan->fuse_rows == PZ_FUSE_ROWS_ALWAYS;
  const double growth = pz_band_growth(plan), part = fmin(MANY_BYTES / bytes, 1.0 / PZ_LOW_MEMORY_BANDS);
  int64_t rows = (int64_t)fmin(growth * part * (double)height, (double)height);
  rows = always || rows < unit ? unit : rows / unit * unit;
  c->bands = (int32_t)((height + rows - 1) / rows);
  c->rows = (int32_t)rows;
  c->layers = c->n;
  c->shift = shift_of(plan, node, rows);
  if (2 * c->shift > height || (bytes < PZ_INPLACE_LEAST && !always)) c->n = c->layers = 0, c->shift = 0;
}

/* ---- extents ---- */

static const pz_band_chain *inplace_of(const pz_plan *plan, pz_node_id n) {
  for (int32_t i = 0; i < plan->n_chains; i++)
    if (plan->chains[i].first == n && plan->chains[i].wanted && plan->chains[i].shift)
      return &plan->chains[i];
  return NULL;
}

/* y will lie over x, or in x's storage. */
static void widen(pz_plan *plan, pz_tensor_id x, pz_tensor_id y) {
  const pz_shape5 in = shape_of(plan, x), out = shape_of(plan, y);
  pz_extent *a = &plan->extents[x];
  const pz_extent *b = &plan->extents[y];
  for (int i = 0; i < PZ_SPATIAL; i += 2) {
    const int32_t hi = b->hi[i] + (int32_t)(out.s[i] - in.s[i]);
    if (b->lo[i] > a->lo[i]) a->lo[i] = b->lo[i];
    if (hi > a->hi[i]) a->hi[i] = hi;
  }
  if (b->blocks > a->blocks) a->blocks = b->blocks;
  if (b->lanes > a->lanes) a->lanes = b->lanes;
  a->h_major = true;
}

/* The result of a convolution in place may get the storage of an input as it lies (pz_make_in_place). */
static void widen_inputs(pz_plan *plan, pz_node_id n) {
  const pz_node *node = &plan->graph->nodes[n];
  const bool conv = node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV;
  const pz_tensor_id y = node->out[0];
  for (int32_t i = conv ? PZ_CONV_RESIDUAL : 0; i < (conv ? PZ_CONV_RESIDUAL + 1 : node->n_in); i++) {
    const pz_tensor_id x = node->in[i];
    if (x != PZ_NONE && plan->extents[y].h_major && pz_may_replace(plan, x, y) &&
        pz_shape_equal(&plan->graph->tensors[x].shape, &plan->graph->tensors[y].shape))
      widen(plan, x, y);
  }
}

/* From the last reader to the first maker. */
void pz_inplace_conv_extents(pz_plan *plan) {
  const pz_graph *g = plan->graph;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) {
    pz_extent *extent = &plan->extents[t];
    *extent = (pz_extent){.blocks = pz_block_count(shape_of(plan, t).c, plan->target.block)};
    memcpy(extent->lo, plan->border_lo[t], sizeof extent->lo);
    memcpy(extent->hi, plan->border_hi[t], sizeof extent->hi);
  }
  pz_choose_channels_last(plan);
  for (pz_node_id n = g->n_nodes - 1; n >= 0; n--) {
    if (inplace_of(plan, n)) widen(plan, g->nodes[n].in[PZ_CONV_X], g->nodes[n].out[0]);
    else widen_inputs(plan, n);
  }
}

/* ---- the step ---- */

/* A tensor that lies in this buffer does not end with node n. */
static bool is_read_later(const pz_plan *plan, int32_t buffer, pz_node_id n) {
  for (int32_t i = 0; i < plan->n_storages; i++) {
    const pz_storage *s = &plan->storages[i];
    if (s->at.space == PZ_SPACE_ARENA && s->at.index == buffer && !pz_ends_at(plan, s->tensor, n))
      return true;
  }
  return false;
}

/* Node n's result goes behind its input, and the bands fall: where that lies in front of what it was made from, or, if it was not made over
 * another tensor, where the results of convolutions in place that later nodes wait for are of an even number. So one inside of another goes the
 * other way, and the rows that both leave free meet between them. */
static bool falls_at(const pz_plan *plan, pz_node_id n) {
  const pz_storage *x = pz_input_storage(plan, plan->graph->nodes[n].in[PZ_CONV_X], PZ_NCHWC);
  int32_t waiting = 0;
  if (!x->owner || x->at.space != PZ_SPACE_ARENA) return true;
  const pz_buffer *under = &plan->buffers[x->at.index];
  if (under->anchor >= 0) return under->from_anchor < 0;
  for (int32_t i = 0; i < plan->n_buffers; i++)
    waiting += plan->buffers[i].anchor >= 0 && is_read_later(plan, i, n);
  return waiting % 2 == 0;
}

/* Buffers that the calls from `call` on were given, from `begin` on, become those of the band before, from `known` on. */
static void share_buffers(pz_plan *plan, pz_step *step, int32_t call, int32_t known, int32_t begin) {
  const int32_t n = plan->n_buffers - begin;
  if (begin - known != n) return;
  for (int32_t i = 0; i < n; i++) {
    pz_buffer *to = &plan->buffers[known + i];
    const pz_buffer *from = &plan->buffers[begin + i];
    if (from->bytes > to->bytes) to->bytes = from->bytes;
  }
  for (int32_t i = call; i < step->n_calls; i++)
    for (int32_t a = 0; a < step->calls[i].n_args; a++) {
      pz_pointer *at = &step->calls[i].args[a].at;
      if (at->space == PZ_SPACE_ARENA && at->index >= begin) at->index -= n;
    }
  plan->n_buffers = begin;
}

pz_status pz_inplace_conv_build(pz_plan *plan, pz_band_chain *c, bool *done, pz_error *err) {
  pz_band_member *m = &c->members[0];
  const pz_node *node = pz_band_node(c, 0);
  const pz_tensor_id x = node->in[PZ_CONV_X], y = node->out[0];
  const int64_t height = pz_band_height(plan, y);
  pz_step *step;
  PZ_TRY(pz_ensure_layout(plan, x, PZ_NCHWC, err));
  const bool falls = falls_at(plan, m->node);
  PZ_TRY(pz_shifted_storage(plan, x, y, falls ? c->shift : -c->shift, done, err));
  if (!*done) return PZ_OK;
  m->storage = plan->nchwc[y], m->weights[0] = m->weights[1] = -1;
  PZ_TRY(pz_new_step(plan, node->name, pz_op_name(node->op), m->node, &step, err));
  const int32_t buffers = plan->n_buffers;
  double multiply_adds = 0;
  for (int32_t i = 0; i < c->bands; i++) {
    const int32_t k = falls ? c->bands - 1 - i : i, call = step->n_calls, begin = plan->n_buffers;
    const int64_t first = (int64_t)k * c->rows, left = height - first;
    PZ_TRY(pz_bands_build_rows(plan, c, 0, k, first, left < c->rows ? left : c->rows, step, err));
    if (i) {
      step->calls[call].after_all = true;
      share_buffers(plan, step, call, buffers, begin);
    }
    multiply_adds += step->multiply_adds_done, step->multiply_adds_done = 0;
  }
  step->multiply_adds = pz_node_multiply_adds(plan->graph, node);
  step->bytes = pz_node_bytes(plan->graph, node);
  step->multiply_adds_done = multiply_adds > 0 ? multiply_adds : step->multiply_adds;
  step->storage = m->storage;
  if (!step->algorithm[0]) step->algorithm = pz_chosen(plan, m->node)->name;
  pz_builder b = pz_builder_of(plan, step);
  PZ_TRY(pz_set_algorithm(&b, err, "%s, in place, %d bands", step->algorithm, c->bands));
  PZ_TRY(pz_add_border_call(&b, &plan->storages[m->storage], err));
  return pz_add_pooled_border(plan, step, m->node, err);
}
