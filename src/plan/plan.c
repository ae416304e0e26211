/* plan.c: the planner's main line. */
#include "plan/slabs.h"

#include <stdlib.h>
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

typedef struct conversion {
  const char *header, *function, *algorithm;
} conversion;
/* [from][to], PZ_PLAIN and PZ_BLOCKED */
static const conversion conversions[2][2] = {
    {{"kernels/copy/copy.h", "pz_copy", "copy"},
     {"kernels/copy/to_blocked.h", "pz_to_blocked", "plain to blocked"}},
    {{"kernels/copy/to_plain.h", "pz_to_plain", "blocked to plain"},
     {"kernels/copy/copy.h", "pz_copy", "copy"}}};

pz_status pz_add_copy_call(pz_plan *plan, pz_step *step, const pz_storage *from, const pz_storage *to,
                           pz_error *err) {
  const conversion *c = &conversions[from->view.block > 1][to->view.block > 1];
  pz_text shape = {0};
  pz_text_view(&shape, "in", &from->view);
  pz_text_view(&shape, "out", &to->view);
  const pz_arg args[] = {{.name = "in", .at = from->at}, {.name = "out", .written = true, .at = to->at}};
  PZ_TRY(pz_add_call(plan, step, c->header, c->function, &shape, args, 2, err));
  if (!step->algorithm[0]) step->algorithm = c->algorithm;
  return PZ_OK;
}

static pz_status add_conversion(pz_plan *plan, pz_tensor_id id, const pz_storage *from, const pz_storage *to,
                                int32_t index, pz_error *err) {
  pz_step *step = NULL;
  PZ_TRY(pz_new_step(plan, plan->graph->tensors[id].name, "layout", PZ_NONE, &step, err));
  step->storage = index;
  step->bytes = 8.0 * (double)pz_shape_elements(&plan->graph->tensors[id].shape);
  PZ_TRY(pz_add_copy_call(plan, step, from, to, err));
  return pz_add_border_call(plan, step, to, err);
}

/* A constant that is read as if it were computed lies in the weights, plain and dense. */
static pz_status place_constant(pz_plan *plan, pz_tensor_id id, pz_error *err) {
  const pz_tensor *t = &plan->graph->tensors[id];
  pz_storage s = pz_port_storage(plan, id, PZ_SPACE_WEIGHTS, 0);
  float *data;
  PZ_TRY(pz_add_weights(plan, pz_shape_elements(&t->shape), &s.at, &data, err));
  if (data) memcpy(data, t->data, (size_t)pz_shape_elements(&t->shape) * sizeof(float));
  return pz_keep_storage(plan, PZ_PLAIN, &s, err);
}

pz_status pz_ensure_layout(pz_plan *plan, pz_tensor_id id, pz_layout layout, pz_error *err) {
  if (plan->graph->tensors[id].data && plan->plain[id] < 0) PZ_TRY(place_constant(plan, id, err));
  const int32_t known = layout == PZ_BLOCKED ? plan->blocked[id] : plan->plain[id];
  if (known >= 0 && pz_border_suffices(plan, id, layout, &plan->storages[known].view)) return PZ_OK;
  const int32_t other = layout == PZ_BLOCKED ? plan->plain[id] : plan->blocked[id];
  const pz_storage from = plan->storages[known >= 0 ? known : other];
  pz_storage to;
  PZ_TRY(pz_fresh_storage(plan, id, layout, &to, err));
  return add_conversion(plan, id, &from, &to, plan->n_storages - 1, err);
}

static pz_status ensure_output(pz_plan *plan, int32_t port, pz_error *err) {
  const pz_tensor_id id = plan->graph->outputs[port];
  if (plan->graph->tensors[id].data && plan->plain[id] < 0) PZ_TRY(place_constant(plan, id, err));
  const int32_t plain = plan->plain[id], from = plain >= 0 ? plain : plan->blocked[id];
  const pz_storage *s = &plan->storages[from];
  if (s->at.space == PZ_SPACE_OUTPUT && s->at.index == port) return PZ_OK;
  const pz_storage to = pz_port_storage(plan, id, PZ_SPACE_OUTPUT, port);
  pz_storage copy = *s;
  return add_conversion(plan, id, &copy, &to, -1, err);
}

/* ---- the main line ---- */

/* Which inputs of a node are computed tensors to be read in the solver's layout; the other ones are weights that
 * the solver packs. */
static bool is_weight_slot(const pz_graph *g, const pz_node *node, int32_t i) {
  switch (node->op) {
  case PZ_OP_CONV:
  case PZ_OP_DECONV: return i != PZ_CONV_X && i != PZ_CONV_BASE;
  case PZ_OP_BATCH_NORM:
  case PZ_OP_GROUP_NORM:
  case PZ_OP_CHANNEL_NORM:
  case PZ_OP_ACTIVATION: return i > 0;
  case PZ_OP_SCALE: return i > 0 && pz_scale_of_maps(g, node);
  case PZ_OP_ELTWISE: return g->tensors[node->in[i]].data;
  default: return false;
  }
}

/* Weights are packed when the network is compiled: the network cannot compute them. */
static pz_status check_weights(const pz_graph *g, pz_error *err) {
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; i < g->nodes[n].n_in; i++) {
      const pz_tensor_id id = g->nodes[n].in[i];
      if (id != PZ_NONE && is_weight_slot(g, &g->nodes[n], i) && !g->tensors[id].data)
        return pz_fail_node(
            err, &g->nodes[n],
            "its input %d, '%s', must be a constant: weights cannot be computed by the network", (int)i,
            g->tensors[id].name);
    }
  return PZ_OK;
}

/* The sum that a convolution starts from is read in the layout of its result, factors of a scale are read plain. */
pz_layout pz_wanted_layout(const pz_plan *plan, pz_node_id n, int32_t slot) {
  const pz_op op = plan->graph->nodes[n].op;
  if ((op == PZ_OP_CONV || op == PZ_OP_DECONV) && slot == PZ_CONV_BASE) return plan->chosen[n]->out;
  if (op == PZ_OP_SCALE && slot > 0) return PZ_PLAIN;
  return plan->chosen[n]->in;
}

static pz_status ensure_inputs(pz_plan *plan, pz_node_id n, pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  const bool pads = node->op == PZ_OP_PAD; /* reads whatever there is */
  for (int32_t i = 0; i < node->n_in; i++) {
    const pz_tensor_id id = node->in[i];
    if (id == PZ_NONE || is_weight_slot(plan->graph, node, i)) continue;
    if (pads && (plan->plain[id] >= 0 || plan->blocked[id] >= 0)) continue;
    PZ_TRY(pz_ensure_layout(plan, id, pz_wanted_layout(plan, n, i), err));
  }
  return PZ_OK;
}

static pz_status add_borders(pz_plan *plan, const pz_node *node, pz_step *step, pz_layout layout,
                             pz_error *err) {
  for (int32_t i = 0; i < node->n_out; i++) {
    const int32_t s = layout == PZ_BLOCKED ? plan->blocked[node->out[i]] : plan->plain[node->out[i]];
    if (s >= 0 && step->n_calls && plan->storages[s].at.space == PZ_SPACE_ARENA)
      PZ_TRY(pz_add_border_call(plan, step, &plan->storages[s], err));
  }
  return PZ_OK;
}

static pz_status ensure_outputs(pz_plan *plan, const pz_node *node, pz_error *err) {
  for (int32_t i = 0; i < plan->graph->n_outputs; i++)
    for (int32_t k = 0; k < node->n_out; k++)
      if (plan->graph->outputs[i] == node->out[k]) PZ_TRY(ensure_output(plan, i, err));
  return PZ_OK;
}

static pz_status plan_node(pz_plan *plan, pz_node_id n, pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  if (pz_pooled_by(plan, n) != PZ_NONE) return ensure_outputs(plan, node, err);
  PZ_TRY(ensure_inputs(plan, n, err));
  pz_step *step = NULL;
  PZ_TRY(pz_new_step(plan, node->name, pz_op_name(node->op), n, &step, err));
  step->multiply_adds = pz_node_multiply_adds(plan->graph, node);
  step->bytes = pz_node_bytes(plan->graph, node);
  PZ_TRY(plan->chosen[n]->build(plan, node, step, err));
  if (step->multiply_adds_done <= 0) step->multiply_adds_done = step->multiply_adds;
  const pz_layout layout = plan->chosen[n]->out;
  PZ_TRY(add_borders(plan, node, step, layout, err));
  PZ_TRY(pz_add_pooled_border(plan, step, n, err));
  step->storage = layout == PZ_BLOCKED ? plan->blocked[node->out[0]] : plan->plain[node->out[0]];
  if (!step->n_calls) plan->n_steps--; /* a view: nothing to run */
  else if (!step->algorithm[0]) step->algorithm = plan->chosen[n]->name;
  return ensure_outputs(plan, node, err);
}

static pz_status plan_chain(pz_plan *plan, pz_slab_chain *chain, bool *done, pz_error *err) {
  bool built = true;
  if (chain->shift) PZ_TRY(pz_slide_build(plan, chain, &built, err));
  else PZ_TRY(pz_slabs_build(plan, chain, err));
  if (!built) return PZ_OK;
  for (int32_t i = 0; i < chain->n; i++) {
    done[chain->members[i].node] = true;
    PZ_TRY(ensure_outputs(plan, pz_slab_node(chain, i), err));
  }
  return PZ_OK;
}

#define LONG 2e7 /* multiply-adds: a tenth of a millisecond and more */

/* Workers take the parts of long steps in turn (emit/source.c). The counters lie behind the scratch. */
static void take_turns(pz_plan *plan) {
  plan->turns = plan->worker_floats, plan->n_turns = 0;
  for (int32_t i = 0; i < plan->n_steps; i++)
    for (int32_t k = 0; k < plan->steps[i].n_calls && plan->steps[i].multiply_adds >= LONG; k++)
      plan->steps[i].calls[k].turn = plan->n_turns++;
  plan->worker_floats += (plan->n_turns + 15) / 16 * 16;
}

static pz_status plan_all(pz_plan *plan, pz_error *err) {
  const pz_graph *g = plan->graph;
  pz_slide_rooms(plan);
  for (int32_t i = 0; i < g->n_inputs; i++) {
    const pz_storage s = pz_port_storage(plan, g->inputs[i], PZ_SPACE_INPUT, i);
    PZ_TRY(pz_keep_storage(plan, PZ_PLAIN, &s, err));
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
  take_turns(plan);
  return pz_memory_plan(plan, err);
}

/* ---- slabs ---- */

#define SLABS_WORTH 0.05 /* slabs save this part of all memory, weights included */
#define CHAIN_WORTH                                                                                          \
  0.15 /* each chain, where products are of AMX tiles: its slabs cost these more (doc/notes/2026-11-28-memory.md) */
#define SLIDE_WORTH 0.01 /* those of compact plans, which take little time each */
#define COMPACT_WORTH                                                                                        \
  0.07 /* compact plans as a whole: slides take as much of the time as chains in cache save */

/* Forgets what plan_all has made; texts and lists stay in the arena. */
static void plan_nothing(pz_plan *plan) {
  plan->n_storages = plan->n_buffers = plan->n_steps = 0;
  plan->n_weights = plan->arena_floats = plan->worker_floats = 0;
  plan->multiply_adds = 0;
  for (int32_t i = 0; i < plan->graph->n_tensors; i++) {
    plan->plain[i] = plan->blocked[i] = -1;
    plan->gathered[i].units = 0;
  }
}

static pz_status find_chains(pz_plan *plan, bool compact, pz_error *err) {
  plan->compact = compact;
  plan->n_chains = 0;
  plan->chains = PZ_NEW(plan->arena, pz_slab_chain, (size_t)plan->graph->n_nodes);
  if (!plan->chains) return pz_fail_memory(err, "slabs", sizeof(pz_slab_chain));
  for (pz_node_id n = 0; n < plan->graph->n_nodes;) {
    pz_slab_chain *chain = &plan->chains[plan->n_chains];
    PZ_TRY(pz_slabs_find(plan, n, chain, err));
    plan->n_chains += chain->n > 0;
    n += chain->n ? chain->layers : 1;
  }
  return PZ_OK;
}

static pz_status dry_size(pz_plan *plan, pz_plan_size *size, pz_error *err) {
  plan->dry = true;
  PZ_TRY(plan_all(plan, err));
  plan->dry = false;
  *size = (pz_plan_size){.run = plan->arena_floats, .weights = plan->n_weights};
  plan_nothing(plan);
  return PZ_OK;
}

static void want_all(pz_plan *plan, bool wanted) {
  for (int32_t i = 0; i < plan->n_chains; i++) plan->chains[i].wanted = wanted;
}

/* All chains but those that cost time, less those, one after the other, without which the network needs about as much: several
 * may have to be slabs before the peak is lower. None, where that saves too little. */
static pz_status choose_slabs(pz_plan *plan, pz_plan_size *size, pz_error *err) {
  const double worth = plan->compact ? SLIDE_WORTH : SLABS_WORTH,
               each = !plan->compact && pz_target_has(plan->target, PZ_NEEDS_TILES) ? CHAIN_WORTH : worth;
  pz_plan_size none, without;
  want_all(plan, true);
  PZ_TRY(dry_size(plan, size, err)); /* counts all weights, whose sizes pz_slabs_cost knows then */
  want_all(plan, false);
  PZ_TRY(dry_size(plan, &none, err));
  for (int32_t i = 0; i < plan->n_chains; i++) plan->chains[i].wanted = !pz_slabs_cost(&plan->chains[i]);
  PZ_TRY(dry_size(plan, size, err));
  double least = pz_plan_bytes(size);
  for (int32_t i = 0; i < plan->n_chains; i++) {
    if (!plan->chains[i].wanted) continue;
    plan->chains[i].wanted = false;
    PZ_TRY(dry_size(plan, &without, err));
    plan->chains[i].wanted = pz_plan_bytes(&without) > (1 + each) * least;
    if (!plan->chains[i].wanted) *size = without;
    if (pz_plan_bytes(&without) < least) least = pz_plan_bytes(&without);
  }
  if ((1 + worth) * least <= (1 - worth) * pz_plan_bytes(&none)) return PZ_OK;
  want_all(plan, false);
  *size = none;
  return PZ_OK;
}

/* The chains, all in the smallest slabs or those that are worth it, and what the network needs with them. */
static pz_status try_slabs(pz_plan *plan, bool compact, pz_plan_size *size, pz_error *err) {
  PZ_TRY(find_chains(plan, compact, err));
  if (plan->n_chains && plan->slabs == PZ_SLABS_AUTO) return choose_slabs(plan, size, err);
  want_all(plan, true);
  return dry_size(plan, size, err);
}

/* With chains as long as they can be, or compact, where that needs much less or memory is bound. */
pz_status pz_choose_slabs(pz_plan *plan, pz_plan_size *size, pz_error *err) {
  PZ_TRY(pz_decide_aliases(plan, err)); /* of the algorithms as they are chosen now */
  plan->n_chains = 0;
  if (!plan->slabs) return plan->memory > 0 || plan->spare > 0 ? dry_size(plan, size, err) : PZ_OK;
  pz_plan_size other;
  PZ_TRY(try_slabs(plan, false, &other, err));
  pz_slab_chain *const chains = plan->chains;
  const int32_t n_chains = plan->n_chains;
  PZ_TRY(try_slabs(plan, true, size, err));
  const bool bound =
      plan->slabs == PZ_SLABS_ALWAYS || (plan->memory > 0 && pz_plan_bytes(&other) > plan->memory);
  if (pz_plan_bytes(size) < (1 - (bound ? SLIDE_WORTH : COMPACT_WORTH)) * pz_plan_bytes(&other)) return PZ_OK;
  plan->compact = false;
  plan->chains = chains, plan->n_chains = n_chains;
  *size = other;
  return PZ_OK;
}

static pz_status set_target(pz_plan *plan, const pz_target *target, pz_error *err) {
  pz_target *copy = PZ_NEW(plan->arena, pz_target, 1);
  if (!copy) return pz_fail_memory(err, "the plan", sizeof *copy);
  *copy = *target;
  plan->target = copy;
  plan->block = copy->block;
  return PZ_OK;
}

static pz_target wanted_target(const pz_plan_options *options) {
  pz_target target = options->target.name ? options->target : *pz_target_row(0);
  target.block = options->block ? options->block : target.vector_width;
  target.workers = options->threads;
  return target;
}

static pz_status allocate(pz_plan *plan, pz_error *err) {
  const size_t tensors = (size_t)plan->graph->n_tensors, nodes = (size_t)plan->graph->n_nodes;
  plan->chosen = PZ_NEW(plan->arena, const pz_solver *, nodes);
  plan->variant = PZ_NEW(plan->arena, int32_t, nodes);
  plan->choices = PZ_NEW(plan->arena, pz_choice, nodes);
  plan->plain = PZ_NEW(plan->arena, int32_t, tensors);
  plan->blocked = PZ_NEW(plan->arena, int32_t, tensors);
  plan->gathered = PZ_NEW(plan->arena, pz_gathered, tensors);
  plan->alias_parent = PZ_NEW(plan->arena, pz_tensor_id, tensors);
  plan->alias_channel = PZ_NEW(plan->arena, int64_t, tensors);
  plan->border_lo = pz_arena_alloc(plan->arena, tensors, sizeof *plan->border_lo);
  plan->border_hi = pz_arena_alloc(plan->arena, tensors, sizeof *plan->border_hi);
  plan->rooms = PZ_NEW(plan->arena, pz_room, tensors);
  if (!plan->chosen || !plan->variant || !plan->choices || !plan->plain || !plan->blocked ||
      !plan->gathered || !plan->alias_parent || !plan->alias_channel || !plan->border_lo ||
      !plan->border_hi || !plan->rooms)
    return pz_fail_memory(err, "the plan", tensors * 64);
  for (size_t i = 0; i < tensors; i++) plan->plain[i] = plan->blocked[i] = -1;
  return PZ_OK;
}

/* Sizes first; then, where they are admitted, the same with weights. */
static pz_status build_plan(pz_plan *plan, const pz_plan_options *options, pz_error *err) {
  plan->most_weights = 0;
  plan->dry = true;
  PZ_TRY(plan_all(plan, err));
  plan->dry = false;
  if (options->admit) PZ_TRY(options->admit(options->admit_host, plan, err));
  if (options->sized) return PZ_OK;
  plan_nothing(plan);
  return plan_all(plan, err);
}

pz_status pz_plan_new(const pz_graph *graph, const pz_plan_options *options, pz_plan **out, pz_error *err) {
  *out = NULL;
  pz_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return pz_fail_memory(err, "the plan", sizeof *plan);
  plan->graph = graph;
  plan->unpacked = options->unpacked;
  plan->slabs = options->slabs;
  plan->threads = options->threads;
  plan->memory = options->memory;
  plan->spare = options->spare;
  plan->max_error = options->exact ? 0 : options->max_error > 0 ? options->max_error : PZ_MAX_ERROR;
  plan->sensitivity = options->sensitivity;
  plan->arena = pz_arena_new();
  if (plan->arena) pz_arena_watch(plan->arena, pz_arena_watched(graph->arena));
  const pz_target target = wanted_target(options);
  pz_status status = plan->arena ? set_target(plan, &target, err) : pz_fail_memory(err, "the plan", 64);
  if (status == PZ_OK) status = allocate(plan, err);
  if (status == PZ_OK) status = check_weights(graph, err);
  if (status == PZ_OK) status = pz_choose_solvers(plan, options, err);
  if (status == PZ_OK) status = pz_meet_error(plan, err);
  if (status == PZ_OK) status = pz_meet_memory(plan, err);
  if (status == PZ_OK) status = build_plan(plan, options, err);
  if (status == PZ_OK) *out = plan;
  else pz_plan_free(plan);
  return status;
}

pz_status pz_plan_spare_tiles(pz_plan *plan, pz_error *err) {
  if (!pz_target_has(plan->target, PZ_NEEDS_TILES)) return PZ_OK;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (plan->chosen[n] && plan->chosen[n]->takes_tiles) return PZ_OK;
  const pz_target spared = pz_target_without(plan->target, PZ_NEEDS_TILES & ~PZ_NEEDS_AVX512);
  return set_target(plan, &spared, err);
}

void pz_plan_free(pz_plan *plan) {
  if (!plan) return;
  free(plan->weights);
  pz_arena_free(plan->arena);
  free(plan);
}
