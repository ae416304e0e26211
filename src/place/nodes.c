/* nodes.c: the steps of all nodes: conversions between layouts, operands, the calls of their solvers. */
#include "place/bands.h"

#include <string.h>

pz_status pz_new_step(pz_plan *plan, const char *name, const char *op, pz_node_id node, pz_step **step,
                      pz_error *err) {
  if (plan->n_steps == plan->cap_steps) {
    const int32_t capacity = plan->cap_steps ? 2 * plan->cap_steps : 64;
    pz_step *bigger = PZ_NEW(plan->arena, pz_step, (size_t)capacity);
    if (!bigger) return pz_fail_memory(err, "the plan", (unsigned long long)capacity * sizeof *bigger);
    if (plan->n_steps) memcpy(bigger, plan->steps, (size_t)plan->n_steps * sizeof *bigger);
    plan->steps = bigger;
    plan->cap_steps = capacity;
  }
  *step = &plan->steps[plan->n_steps++];
  **step = (pz_step){.name = name, .op = op, .algorithm = "", .node = node, .storage = -1};
  return PZ_OK;
}

/* ---- conversions between layouts ---- */

static pz_status add_conversion(pz_plan *plan, pz_tensor_id id, const pz_storage *from, const pz_storage *to,
                                int32_t index, pz_error *err) {
  pz_step *step = NULL;
  PZ_TRY(pz_new_step(plan, plan->graph->tensors[id].name, "layout", PZ_NONE, &step, err));
  step->storage = index;
  step->bytes = 2.0 * (double)(pz_dtype_bytes(plan->graph->tensors[id].type) *
                               pz_shape_elements(&plan->graph->tensors[id].shape));
  pz_builder b = pz_builder_of(plan, step);
  PZ_TRY(pz_add_copy_call(&b, from, to, err));
  return pz_add_border_call(&b, to, err);
}

/* A constant that is read as if it were computed lies in the weights, plain and dense. */
static pz_status place_constant(pz_plan *plan, pz_tensor_id id, pz_error *err) {
  const pz_tensor *t = &plan->graph->tensors[id];
  pz_storage s = pz_port_storage(plan, id, PZ_SPACE_WEIGHTS, 0);
  void *data;
  pz_builder b = pz_builder_of(plan, NULL);
  PZ_TRY(pz_add_weights(&b, PZ_F32, pz_shape_elements(&t->shape), &s.at, &data, err));
  if (data) memcpy(data, t->data, (size_t)pz_shape_elements(&t->shape) * sizeof(float));
  return pz_keep_storage(plan, PZ_NCHW, &s, err);
}

pz_status pz_ensure_layout(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_error *err) {
  if (plan->graph->tensors[id].data && plan->nchw[id] < 0) PZ_TRY(place_constant(plan, id, err));
  const int32_t known = layout == PZ_NCHWC ? plan->nchwc[id] : plan->nchw[id];
  if (known >= 0 && pz_border_suffices(plan, id, layout, &plan->storages[known].view)) return PZ_OK;
  const int32_t other = layout == PZ_NCHWC ? plan->nchw[id] : plan->nchwc[id];
  const pz_storage from = plan->storages[known >= 0 ? known : other];
  pz_storage to;
  PZ_TRY(pz_fresh_storage(plan, id, layout, &to, err));
  return add_conversion(plan, id, &from, &to, plan->n_storages - 1, err);
}

static pz_status ensure_output(pz_plan *plan, int32_t port, pz_error *err) {
  const pz_tensor_id id = plan->graph->outputs[port];
  if (plan->graph->tensors[id].data && plan->nchw[id] < 0) PZ_TRY(place_constant(plan, id, err));
  const int32_t plain = plan->nchw[id], from = plain >= 0 ? plain : plan->nchwc[id];
  const pz_storage *s = &plan->storages[from];
  if (s->at.space == PZ_SPACE_OUTPUT && s->at.index == port) return PZ_OK;
  const pz_storage to = pz_port_storage(plan, id, PZ_SPACE_OUTPUT, port);
  pz_storage copy = *s;
  return add_conversion(plan, id, &copy, &to, -1, err);
}

/* ---- a node ---- */

static pz_status ensure_inputs(pz_plan *plan, pz_node_id n, pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  const bool any = pz_chosen(plan, n)->any_layout;
  for (int32_t i = 0; i < node->n_in; i++) {
    const pz_tensor_id id = node->in[i];
    if (id == PZ_NONE || plan->problems[n].in[i].packed) continue;
    if (i == 0 && plan->pending[id].at.space != PZ_SPACE_NULL) continue; /* as it lies, without a border */
    if (any && (plan->nchw[id] >= 0 || plan->nchwc[id] >= 0)) continue;
    PZ_TRY(pz_ensure_layout(plan, id, pz_wanted_layout(plan, n, i), err));
  }
  return PZ_OK;
}

static pz_status add_borders(pz_plan *plan, const pz_node *node, pz_step *step, pz_layout layout,
                             pz_error *err) {
  pz_builder b = pz_builder_of(plan, step);
  for (int32_t i = 0; i < node->n_out; i++) {
    const int32_t s = layout == PZ_NCHWC ? plan->nchwc[node->out[i]] : plan->nchw[node->out[i]];
    if (s >= 0 && step->n_calls && plan->storages[s].at.space == PZ_SPACE_ARENA)
      PZ_TRY(pz_add_border_call(&b, &plan->storages[s], err));
  }
  return PZ_OK;
}

static pz_status ensure_outputs(pz_plan *plan, const pz_node *node, pz_error *err) {
  for (int32_t i = 0; i < plan->graph->n_outputs; i++)
    for (int32_t k = 0; k < node->n_out; k++)
      if (plan->graph->outputs[i] == node->out[k]) PZ_TRY(ensure_output(plan, i, err));
  return PZ_OK;
}

/* ---- operands ---- */

static int32_t *slot_of(pz_plan *plan, pz_tensor_id id, pz_layout layout) {
  return layout == PZ_NCHWC ? &plan->nchwc[id] : &plan->nchw[id];
}

/* Where the input at that slot lies, in the layout that it is read in, or in any. */
static const pz_storage *placed_input(pz_plan *plan, pz_node_id n, int32_t slot) {
  const pz_tensor_id id = plan->graph->nodes[n].in[slot];
  const pz_layout layout = pz_wanted_layout(plan, n, slot);
  if (pz_chosen(plan, n)->any_layout && *slot_of(plan, id, layout) < 0)
    return pz_input_storage(plan, id, layout == PZ_NCHWC ? PZ_NCHW : PZ_NCHWC);
  return pz_input_storage(plan, id, layout);
}

/* Nothing else reads what is written: no view of another tensor, no part of a concatenation that has a border of its own. */
static bool may_write_through(const pz_plan *plan, pz_tensor_id id, const pz_storage *s) {
  const pz_graph *g = plan->graph;
  if (!s->owner || s->at.space != PZ_SPACE_ARENA || pz_graph_count_uses(g, id) != 1) return false;
  for (pz_tensor_id t = 0; t < g->n_tensors; t++) {
    const pz_node_id n = plan->alias_parent[t] == id ? pz_graph_producer(g, t) : PZ_NONE;
    if (n != PZ_NONE && g->nodes[n].op == PZ_OP_VOLUME_BORDER) return false;
  }
  return true;
}

/* Views need no calls; a first output lies in place of an input where it may. */
static pz_status place_output(pz_plan *plan, pz_node_id n, const pz_storage *in, int32_t i, pz_storage *out,
                              pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  const pz_solver *solver = pz_chosen(plan, n);
  const pz_query q = pz_query_of(plan, n);
  const uint32_t slots = i == 0 && solver->overwrites ? solver->overwrites(&q) : 0;
  bool done = false;
  *out = (pz_storage){.tensor = PZ_NONE};
  pz_storage view;
  if (solver->views && solver->views(&q, &in[0], i, &view))
    return pz_make_view(plan, node->out[i], solver->out, &view, err);
  if (solver->through && i == 0 && may_write_through(plan, node->in[0], &in[0])) {
    PZ_TRY(pz_make_view(plan, node->out[i], solver->out, &in[0], err));
    return pz_output_storage(plan, node->out[i], solver->out, out, err);
  }
  for (int32_t slot = 0; slots >> slot && !done; slot++)
    if (slots >> slot & 1)
      PZ_TRY(pz_make_in_place(plan, node->in[slot], node->out[i], solver->out, &done, err));
  return pz_output_storage(plan, node->out[i], solver->out, out, err);
}

static pz_status emit_node(pz_plan *plan, pz_node_id n, pz_step *step, pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  const pz_query q = pz_query_of(plan, n);
  const pz_node_id pooling = pz_pooling_of(plan, n);
  pz_storage *in = plan->operands, *out = in + node->n_in;
  memset(in, 0, (size_t)(node->n_in + node->n_out) * sizeof *in);
  bool all_views = true;
  for (int32_t i = 0; i < node->n_in; i++)
    if (q.problem->in[i].present && !q.problem->in[i].packed) in[i] = *placed_input(plan, n, i);
  for (int32_t i = 0; i < node->n_out; i++) {
    PZ_TRY(place_output(plan, n, in, i, &out[i], err));
    all_views &= out[i].tensor == PZ_NONE;
  }
  if (all_views) return PZ_OK;
  pz_placed placed = {.in = in, .out = out, .pooled = {.tensor = PZ_NONE}, .low_memory = plan->low_memory};
  if (node->n_in && node->in[0] != PZ_NONE)
    placed.norm_stats = plan->norm_stats[node->in[0]], placed.pending = plan->pending[node->in[0]];
  if (pooling != PZ_NONE)
    PZ_TRY(pz_output_storage(plan, plan->graph->nodes[pooling].out[0], PZ_NCHWC, &placed.pooled, err));
  pz_builder b = pz_builder_of(plan, step);
  PZ_TRY(pz_chosen(plan, n)->emit(&q, &placed, &b, err));
  if (b.norm_stats.units) plan->norm_stats[node->out[0]] = b.norm_stats;
  return PZ_OK;
}

/* A convolution's result as NCHW alone, whoever reads it: what conversions cost that the search leaves out (PZ_SEARCH_LAYOUT). */
static pz_status part_layouts(pz_plan *plan, const pz_node *node, pz_error *err) {
  if (plan->search != PZ_SEARCH_LAYOUT || node->op != PZ_OP_CONV || plan->nchwc[node->out[0]] < 0)
    return PZ_OK;
  PZ_TRY(pz_ensure_layout(plan, node->out[0], PZ_NCHW, err));
  plan->nchwc[node->out[0]] = -1;
  return PZ_OK;
}

static pz_status plan_node(pz_plan *plan, pz_node_id n, pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  if (pz_pooled_by(plan, n) != PZ_NONE) return ensure_outputs(plan, node, err);
  if (pz_normed_by(plan, n) != PZ_NONE) return pz_add_norm_factors(plan, n, err);
  PZ_TRY(ensure_inputs(plan, n, err));
  pz_step *step = NULL;
  PZ_TRY(pz_new_step(plan, node->name, pz_op_name(node->op), n, &step, err));
  step->multiply_adds = pz_node_multiply_adds(plan->graph, node);
  step->bytes = pz_node_bytes(plan->graph, node);
  PZ_TRY(emit_node(plan, n, step, err));
  if (step->multiply_adds_done <= 0) step->multiply_adds_done = step->multiply_adds;
  const pz_layout layout = pz_chosen(plan, n)->out;
  PZ_TRY(add_borders(plan, node, step, layout, err));
  PZ_TRY(pz_add_pooled_border(plan, step, n, err));
  step->storage = layout == PZ_NCHWC ? plan->nchwc[node->out[0]] : plan->nchw[node->out[0]];
  if (!step->n_calls) plan->n_steps--; /* a view: nothing to run */
  else if (!step->algorithm[0]) step->algorithm = pz_chosen(plan, n)->name;
  PZ_TRY(part_layouts(plan, node, err));
  return ensure_outputs(plan, node, err);
}

static pz_status plan_chain(pz_plan *plan, pz_band_chain *chain, bool *done, pz_error *err) {
  bool built = true;
  if (chain->shift) PZ_TRY(pz_inplace_conv_build(plan, chain, &built, err));
  else PZ_TRY(pz_bands_build(plan, chain, err));
  if (!built) return PZ_OK;
  for (int32_t i = 0; i < chain->n; i++) {
    done[chain->members[i].node] = true;
    PZ_TRY(ensure_outputs(plan, pz_band_node(chain, i), err));
  }
  return PZ_OK;
}

#define LONG 2e7 /* multiply-adds: a tenth of a millisecond and more */

/* Workers steal the chunks of long steps (emit/run_loop.h). The counters lie behind the scratch. */
static void count_chunks(pz_plan *plan) {
  plan->chunk_counters = plan->worker_bytes, plan->n_chunk_counters = 0;
  for (int32_t i = 0; i < plan->n_steps; i++)
    for (int32_t k = 0; k < plan->steps[i].n_calls && plan->steps[i].multiply_adds >= LONG; k++)
      plan->steps[i].calls[k].chunk_counter = plan->n_chunk_counters++;
  plan->worker_bytes += (4 * (int64_t)plan->n_chunk_counters + PZ_ALIGN - 1) / PZ_ALIGN * PZ_ALIGN;
}

pz_status pz_place_all(pz_plan *plan, pz_error *err) {
  const pz_graph *g = plan->graph;
  pz_inplace_conv_extents(plan);
  for (int32_t i = 0; i < g->n_inputs; i++) {
    const pz_storage s = pz_port_storage(plan, g->inputs[i], PZ_SPACE_INPUT, i);
    PZ_TRY(pz_keep_storage(plan, PZ_NCHW, &s, err));
  }
  bool *done = PZ_NEW(plan->arena, bool, (size_t)g->n_nodes);
  if (!done) return pz_fail_memory(err, "the plan", (unsigned long long)g->n_nodes);
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    for (int32_t i = 0; i < plan->n_chains; i++)
      if (plan->chains[i].first == n && plan->chains[i].wanted)
        PZ_TRY(plan_chain(plan, &plan->chains[i], done, err));
    if (!done[n]) PZ_TRY(plan_node(plan, n, err));
  }
  for (int32_t i = 0; i < g->n_outputs; i++)
    if (pz_graph_producer(g, g->outputs[i]) == PZ_NONE) PZ_TRY(ensure_output(plan, i, err));
  for (int32_t i = 0; i < plan->n_steps; i++) plan->multiply_adds += plan->steps[i].multiply_adds;
  count_chunks(plan);
  return pz_memory_plan(plan, err);
}

/* Forgets what pz_place_all has made; texts and lists stay in the arena. */
void pz_place_nothing(pz_plan *plan) {
  plan->n_storages = plan->n_buffers = plan->n_steps = 0;
  plan->weight_bytes = plan->arena_bytes = plan->worker_bytes = plan->state_bytes = 0;
  plan->multiply_adds = 0;
  for (int32_t i = 0; i < plan->graph->n_tensors; i++) {
    plan->nchw[i] = plan->nchwc[i] = -1;
    plan->norm_stats[i].units = 0;
    plan->pending[i].at.space = PZ_SPACE_NULL;
  }
}
