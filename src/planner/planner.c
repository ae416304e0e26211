/* planner.c: the main line: problems, a candidate for each, places, steps. */
#include "planner/planner.h"
#include "choose/choose.h"
#include "choose/expect.h"
#include "place/place.h"

#include <stdlib.h>

/* Weights are packed when the network is compiled: the network cannot compute them. */
static pz_status check_weights(const pz_plan *plan, pz_error *err) {
  const pz_graph *g = plan->graph;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; i < g->nodes[n].n_in; i++) {
      const pz_operand *operand = &plan->problems[n].in[i];
      if (operand->packed && !operand->data)
        return pz_fail_node(
            err, &g->nodes[n],
            "its input %d, '%s', must be a constant: weights cannot be computed by the network", (int)i,
            g->tensors[g->nodes[n].in[i]].name);
    }
  return PZ_OK;
}

/* Of the node that has most, inputs and outputs. */
static size_t most_operands(const pz_graph *g) {
  int32_t most = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    const int32_t operands = g->nodes[n].n_in + g->nodes[n].n_out;
    if (operands > most) most = operands;
  }
  return (size_t)most;
}

static pz_status allocate(pz_plan *plan, pz_error *err) {
  const size_t tensors = (size_t)plan->graph->n_tensors, nodes = (size_t)plan->graph->n_nodes;
  plan->choices = PZ_NEW(plan->arena, pz_choice, nodes);
  plan->nchw = PZ_NEW(plan->arena, int32_t, tensors);
  plan->nchwc = PZ_NEW(plan->arena, int32_t, tensors);
  plan->norm_stats = PZ_NEW(plan->arena, pz_norm_stats, tensors);
  plan->pending = PZ_NEW(plan->arena, pz_norm_pending, tensors);
  plan->alias_parent = PZ_NEW(plan->arena, pz_tensor_id, tensors);
  plan->alias_channel = PZ_NEW(plan->arena, int64_t, tensors);
  plan->border_lo = pz_arena_alloc(plan->arena, tensors, sizeof *plan->border_lo);
  plan->border_hi = pz_arena_alloc(plan->arena, tensors, sizeof *plan->border_hi);
  plan->extents = PZ_NEW(plan->arena, pz_extent, tensors);
  plan->operands = PZ_NEW(plan->arena, pz_storage, most_operands(plan->graph) + 1);
  if (!plan->choices || !plan->nchw || !plan->nchwc || !plan->norm_stats || !plan->pending ||
      !plan->alias_parent || !plan->alias_channel || !plan->border_lo || !plan->border_hi || !plan->extents ||
      !plan->operands)
    return pz_fail_memory(err, "the plan", tensors * 64);
  for (size_t i = 0; i < tensors; i++) plan->nchw[i] = plan->nchwc[i] = -1;
  return PZ_OK;
}

static pz_status choose(pz_plan *plan, const pz_plan_options *options, pz_error *err) {
  pz_costs costs;
  const pz_prices none = {0};
  if (plan->max_error > 0)
    PZ_TRY(pz_expect_error_propagation(plan->graph, plan->arena, &plan->expected_propagation, err));
  PZ_TRY(pz_costs_of(plan, options, &costs, err));
  PZ_TRY(pz_choose_solvers(plan, &costs, &none, NULL, err));
  return pz_satisfy_memory_bound(plan, &costs, pz_choose_bands, err);
}

/* Sizes first; then, where they are admitted, the same with weights. */
static pz_status build_plan(pz_plan *plan, const pz_plan_options *options, pz_error *err) {
  plan->most_weight_bytes = 0;
  plan->dry = true;
  PZ_TRY(pz_place_all(plan, err));
  plan->dry = false;
  if (options->admit) PZ_TRY(options->admit(options->admit_host, plan, err));
  if (options->sized) return PZ_OK;
  pz_place_nothing(plan);
  return pz_place_all(plan, err);
}

pz_target pz_plan_target(const pz_plan_options *options) {
  pz_target target = options->target.name ? options->target : *pz_target_row(0);
  target.block = options->block ? options->block : target.vector_width;
  target.workers = options->threads;
  return target;
}

pz_status pz_plan_new(const pz_graph *graph, const pz_plan_options *options, pz_plan **out, pz_error *err) {
  *out = NULL;
  pz_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return pz_fail_memory(err, "the plan", sizeof *plan);
  plan->graph = graph;
  plan->unpacked = options->unpacked;
  plan->search = options->search;
  plan->fuse_rows = plan->search == PZ_SEARCH_LAYOUT ? PZ_FUSE_ROWS_NEVER : options->fuse_rows;
  plan->memory = options->memory;
  plan->slack = options->slack;
  plan->max_error = options->exact ? 0 : options->max_error > 0 ? options->max_error : PZ_MAX_ERROR;
  plan->error_propagation = options->error_propagation;
  plan->target = pz_plan_target(options);
  plan->arena = pz_arena_new();
  if (plan->arena) pz_arena_watch(plan->arena, pz_arena_watched(graph->arena));
  pz_status status = plan->arena ? allocate(plan, err) : pz_fail_memory(err, "the plan", 64);
  if (status == PZ_OK) status = pz_problems_of(graph, &plan->target, plan->arena, &plan->problems, err);
  if (status == PZ_OK) status = check_weights(plan, err);
  if (status == PZ_OK) status = choose(plan, options, err);
  if (status == PZ_OK) status = build_plan(plan, options, err);
  if (status == PZ_OK) *out = plan;
  else pz_plan_free(plan);
  return status;
}

void pz_plan_spare_tiles(pz_plan *plan) {
  if (!pz_target_has(&plan->target, PZ_NEEDS_TILES)) return;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (pz_chosen(plan, n)->needs_amx) return;
  plan->target = pz_target_without(&plan->target, PZ_NEEDS_TILES & ~PZ_NEEDS_AVX512);
}

void pz_plan_drop_weights(pz_plan *plan) {
  free(plan->weights);
  plan->weights = NULL, plan->weight_capacity = 0;
}

void pz_plan_free(pz_plan *plan) {
  if (!plan) return;
  free(plan->weights);
  pz_arena_free(plan->arena);
  free(plan);
}
