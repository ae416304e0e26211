/* build_bands.c: the steps of a chain that runs band by band. A layer's solver is asked for calls once for each run of rows, which are
 * its operands then. */
#include "place/bands.h"

#include <string.h>

typedef pz_band_chain chain;
typedef pz_band_member member;

static int32_t *slot_of(pz_plan *plan, pz_tensor_id id, pz_layout layout) {
  return layout == PZ_NCHWC ? &plan->nchwc[id] : &plan->nchw[id];
}

/* ---- storages ---- */

static pz_status whole_result(pz_plan *plan, const chain *c, int32_t i, pz_error *err) {
  const pz_node *node = pz_band_node(c, i);
  member *m = &c->members[i];
  const pz_tensor_id id = node->out[0];
  pz_storage s;
  bool done;
  if (node->op == PZ_OP_CROP) PZ_TRY(pz_fresh_storage(plan, id, m->layout, &s, err));
  if (m->replaces) PZ_TRY(pz_make_in_place(plan, node->in[PZ_CONV_RESIDUAL], id, m->layout, &done, err));
  PZ_TRY(pz_output_storage(plan, id, m->layout, &s, err));
  return PZ_OK;
}

/* What the chain reads and does not make, in the layouts that it is read in. */
static pz_status ensure_inputs(pz_plan *plan, const chain *c, pz_error *err) {
  for (int32_t i = 0; i < c->n; i++) {
    const pz_node *node = pz_band_node(c, i);
    const bool sums = node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV;
    for (int32_t slot = 0; slot <= (sums ? PZ_CONV_RESIDUAL : 0); slot += PZ_CONV_RESIDUAL)
      if (node->in[slot] != PZ_NONE && pz_band_maker(c, node->in[slot]) < 0)
        PZ_TRY(pz_ensure_layout(plan, node->in[slot], pz_wanted_layout(plan, c->members[i].node, slot), err));
  }
  return PZ_OK;
}

static pz_status place_members(pz_plan *plan, chain *c, pz_error *err) {
  for (int32_t i = 0; i < c->n; i++) {
    member *m = &c->members[i];
    const pz_tensor_id id = pz_band_node(c, i)->out[0];
    m->weights[0] = m->weights[1] = -1;
    if (!m->line_buffered) PZ_TRY(whole_result(plan, c, i, err));
    else PZ_TRY(pz_line_buffer_storage(plan, id, m->layout, m->extent, err));
    m->storage = *slot_of(plan, id, m->layout);
  }
  return PZ_OK;
}

/* Rows first .. first + rows - 1 of a storage whose first row is row `base` of the tensor. */
static pz_storage rows_of(const pz_storage *of, int64_t base, int64_t first, int64_t rows) {
  pz_storage s = *of;
  pz_storage_move(&s, (first - base) * s.view.stride_h);
  s.view.h = (int32_t)rows;
  s.view.border_lo[1] = s.view.border_hi[1] = 0;
  s.owner = false;
  return s;
}

/* The rows of a tensor in band k, which the chain makes or not. */
static pz_storage tensor_rows(const pz_plan *plan, const chain *c, pz_tensor_id id, pz_layout layout,
                              int32_t k, int64_t first, int64_t rows) {
  const pz_storage *whole = pz_input_storage(plan, id, layout);
  int64_t base = 0;
  for (int32_t i = 0; i < c->n; i++) {
    if (pz_band_node(c, i)->out[0] != id) continue;
    whole = &plan->storages[c->members[i].storage];
    base = c->members[i].line_buffered ? c->members[i].start[k] : 0;
  }
  return rows_of(whole, base, first, rows);
}

/* ---- one run of rows ---- */

typedef struct rows_run {
  const chain *c;
  int32_t member, band;
  int64_t first, rows;
  pz_storage in[PZ_CONV_INPUTS], out; /* x and Base */
  pz_storage pooled;                  /* tensor PZ_NONE: the layer pools nothing */
} rows_run;

/* Rows of x that `rows` rows of the result come from, the border not counted. */
static int64_t rows_of_x(const pz_node *node, int64_t rows) {
  const pz_attr_conv *a = &node->attr.conv;
  const pz_attr_pool *p = &node->attr.pool;
  int64_t n = rows;
  if (node->op == PZ_OP_POOL) n = (rows - 1) * p->stride[1] + (p->kernel[1] - 1) * p->dilation[1] + 1;
  if (node->op == PZ_OP_DECONV) n = rows / a->stride[1];
  if (node->op == PZ_OP_CONV)
    n = (rows - 1) * a->stride[1] + (a->kernel[1] - 1) * a->dilation[1] + 1 - a->pad_lo[1] - a->pad_hi[1];
  return n < 1 ? 1 : n;
}
static int64_t first_of_x(const pz_node *node, int64_t first) {
  if (node->op == PZ_OP_POOL) return first * node->attr.pool.stride[1];
  if (node->op == PZ_OP_DECONV) return first / node->attr.conv.stride[1];
  if (node->op == PZ_OP_CONV) return first * node->attr.conv.stride[1];
  return first;
}

/* Of what the layer pools while it makes its rows, which are whole windows. */
static pz_status find_pooled(pz_plan *plan, rows_run *r, pz_error *err) {
  const pz_node_id pool = pz_pooling_of(plan, r->c->members[r->member].node);
  pz_storage whole;
  r->pooled.tensor = PZ_NONE;
  if (pool == PZ_NONE) return PZ_OK;
  const pz_node *node = &plan->graph->nodes[pool];
  const int64_t rows = node->attr.pool.kernel[1];
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_NCHWC, &whole, err));
  r->pooled = rows_of(&whole, 0, r->first / rows, r->rows / rows);
  return PZ_OK;
}

static void find_storages(pz_plan *plan, rows_run *r) {
  const pz_band_member *m = &r->c->members[r->member];
  const pz_node *node = pz_band_node(r->c, r->member);
  r->in[0] = tensor_rows(plan, r->c, node->in[0], pz_chosen(plan, m->node)->in, r->band,
                         first_of_x(node, r->first), rows_of_x(node, r->rows));
  if ((node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV) && node->in[PZ_CONV_RESIDUAL] != PZ_NONE)
    r->in[PZ_CONV_RESIDUAL] =
        tensor_rows(plan, r->c, node->in[PZ_CONV_RESIDUAL], m->layout, r->band, r->first, r->rows);
  r->out = tensor_rows(plan, r->c, node->out[0], m->layout, r->band, r->first, r->rows);
}

/* Where weights that came out like those from `begin` on lie already; -1: nowhere. */
static int64_t known_weights(const pz_plan *plan, const member *m, int64_t begin) {
  const int64_t bytes = plan->weight_bytes - begin;
  for (int i = 0; i < 2; i++)
    if (m->weights[i] >= 0 && m->weight_bytes[i] == bytes &&
        (plan->dry || !memcmp(plan->weights + m->weights[i], plan->weights + begin, (size_t)bytes)))
      return m->weights[i];
  return -1;
}

/* Weights that were packed again for other rows of the same layer and came out the same are dropped, and the calls changed. */
static void share_weights(pz_plan *plan, member *m, pz_step *step, int32_t first_call, int64_t begin) {
  const int64_t known = known_weights(plan, m, begin);
  if (known < 0) {
    const int which = m->weights[0] >= 0;
    m->weights[which] = begin, m->weight_bytes[which] = plan->weight_bytes - begin;
    return;
  }
  for (int32_t i = first_call; i < step->n_calls; i++)
    for (int32_t a = 0; a < step->calls[i].n_args; a++) {
      pz_pointer *at = &step->calls[i].args[a].at;
      if (at->space == PZ_SPACE_WEIGHTS && at->offset >= begin) at->offset += known - begin;
    }
  plan->weight_bytes = begin;
}

static pz_status crop_rows(pz_plan *plan, const pz_node *node, pz_step *step, rows_run *r, pz_error *err) {
  const int rank = plan->graph->tensors[node->in[0]].shape.rank;
  pz_storage from = r->in[0];
  pz_storage_move(&from, node->attr.crop.offset[rank - 2] * from.view.stride_h +
                             node->attr.crop.offset[rank - 1] * from.view.stride_w +
                             (rank == 5 ? node->attr.crop.offset[2] * from.view.stride_d : 0));
  from.view.d = r->out.view.d, from.view.h = r->out.view.h, from.view.w = r->out.view.w;
  step->algorithm = "copy";
  pz_builder b = pz_builder_of(plan, step);
  return pz_add_copy_call(&b, &from, &r->out, err);
}

static pz_status build_rows(pz_plan *plan, rows_run *r, pz_step *step, pz_error *err) {
  const pz_node_id n = r->c->members[r->member].node;
  const pz_node *node = pz_band_node(r->c, r->member);
  pz_problem of_rows = plan->problems[n]; /* whose moments are not those of the result */
  pz_query q = pz_query_of(plan, n);
  of_rows.epilogue.norm_stats = false;
  q.problem = &of_rows;
  find_storages(plan, r);
  if (node->op == PZ_OP_CROP) return crop_rows(plan, node, step, r, err);
  PZ_TRY(find_pooled(plan, r, err));
  const pz_placed placed = {.in = r->in, .out = &r->out, .pooled = r->pooled, .low_memory = plan->low_memory};
  pz_builder b = pz_builder_of(plan, step);
  return pz_chosen(plan, n)->emit(&q, &placed, &b, err);
}

pz_status pz_bands_build_rows(pz_plan *plan, pz_band_chain *c, int32_t i, int32_t k, int64_t first,
                              int64_t rows, pz_step *step, pz_error *err) {
  rows_run r = {.c = c, .member = i, .band = k, .first = first, .rows = rows};
  const int64_t weights = plan->weight_bytes;
  const int32_t call = step->n_calls;
  PZ_TRY(build_rows(plan, &r, step, err));
  share_weights(plan, &c->members[i], step, call, weights);
  return PZ_OK;
}

/* ---- a layer's rows of one band ---- */

static pz_status add_border(pz_plan *plan, pz_step *step, const chain *c, int32_t i, int32_t k, int64_t first,
                            pz_error *err) {
  const member *m = &c->members[i];
  const pz_tensor_id id = pz_band_node(c, i)->out[0];
  pz_storage s = tensor_rows(plan, c, id, m->layout, k, first, m->end[k] - first);
  if (s.at.space != PZ_SPACE_ARENA) return PZ_OK;
  const pz_view *whole = &plan->storages[m->storage].view;
  const bool bordered = m->line_buffered || whole->border_lo[1] || whole->border_hi[1];
  if (bordered && first == 0) s.view.border_lo[1] = plan->border_lo[id][1];
  if (bordered && m->end[k] == pz_band_height(plan, id)) s.view.border_hi[1] = plan->border_hi[id][1];
  pz_builder b = pz_builder_of(plan, step);
  return pz_add_border_call(&b, &s, err);
}

static pz_status build_member(pz_plan *plan, chain *c, int32_t i, int32_t k, pz_error *err) {
  member *m = &c->members[i];
  const pz_node *node = pz_band_node(c, i);
  const int64_t begin = k ? m->end[k - 1] : 0, all = pz_band_height(plan, node->out[0]);
  const double part = (double)(m->end[k] - begin) / (double)all;
  pz_step *step = NULL;
  if (m->end[k] == begin || pz_pooled_by(plan, m->node) != PZ_NONE) return PZ_OK;
  PZ_TRY(pz_new_step(plan, node->name, pz_op_name(node->op), m->node, &step, err));
  step->multiply_adds = part * pz_node_multiply_adds(plan->graph, node);
  step->bytes = part * pz_node_bytes(plan->graph, node);
  for (int64_t first = begin; first < m->end[k];) {
    const int64_t left = m->end[k] - first, rows = left < m->run ? left : m->run;
    PZ_TRY(pz_bands_build_rows(plan, c, i, k, first, rows, step, err));
    first += rows;
  }
  if (step->multiply_adds_done <= 0) step->multiply_adds_done = step->multiply_adds;
  if (!step->algorithm[0]) step->algorithm = pz_chosen(plan, m->node)->name;
  pz_builder b = pz_builder_of(plan, step);
  PZ_TRY(pz_set_algorithm(&b, err, "%s, %d bands", step->algorithm, c->bands));
  if (!m->line_buffered && m->end[k] == all) step->storage = m->storage;
  if (m->end[k] == all) PZ_TRY(pz_add_pooled_border(plan, step, m->node, err));
  return add_border(plan, step, c, i, k, begin, err);
}

/* ---- line buffers ---- */

/* What band k needs of the rows before it moves to the start of the line buffers. */
static pz_status move_line_buffers(pz_plan *plan, const chain *c, int32_t k, pz_error *err) {
  pz_step *step = NULL;
  for (int32_t i = 0; i < c->n; i++) {
    const member *m = &c->members[i];
    const int64_t keep = m->line_buffered ? m->end[k - 1] - m->start[k] : 0;
    if (keep <= 0 || m->start[k] == m->start[k - 1]) continue;
    const pz_storage *buffer = &plan->storages[m->storage];
    const pz_storage from = rows_of(buffer, m->start[k - 1], m->start[k], keep),
                     to = rows_of(buffer, 0, 0, keep);
    if (!step) PZ_TRY(pz_new_step(plan, pz_band_node(c, i)->name, "layout", PZ_NONE, &step, err));
    pz_builder b = pz_builder_of(plan, step);
    PZ_TRY(pz_add_copy_call(&b, &from, &to, err));
    step->algorithm = "moving rows of bands";
  }
  return PZ_OK;
}

pz_status pz_bands_build(pz_plan *plan, pz_band_chain *c, pz_error *err) {
  PZ_TRY(ensure_inputs(plan, c, err));
  PZ_TRY(place_members(plan, c, err));
  for (int32_t k = 0; k < c->bands; k++) {
    if (k) PZ_TRY(move_line_buffers(plan, c, k, err));
    for (int32_t i = 0; i < c->n; i++) PZ_TRY(build_member(plan, c, i, k, err));
  }
  return PZ_OK;
}
