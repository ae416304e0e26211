/* costs.c: the tables of costs, from the candidates of all problems, their times, and the shapes of the tensors between them. */
#include "choose/costs.h"
#include "base/inert.h"
#include "choose/choose.h"

#include <string.h>

/* ---- candidates ---- */

/* Whether a layer may have an algorithm of this error: the result has half of it or less; pz_satisfy_error_bound knows, or takes the
 * candidate out. */
static bool error_fits(const pz_plan *plan, const pz_candidate *c) {
  const double most = c->solver->most_error > 0 ? c->solver->most_error : 2;
  return c->solver->direct || c->error <= most * plan->max_error;
}

/* Whether the search that the plan is made by may choose it. */
static bool is_searched(const pz_plan *plan, const pz_problem *problem, const pz_candidate *c) {
  if (plan->search == PZ_SEARCH_GLOBAL || problem->op != PZ_OP_CONV) return true;
  if (plan->search == PZ_SEARCH_NCHW) return c->solver->in == PZ_NCHW && c->solver->out == PZ_NCHW;
  return c->solver->direct && c->solver->out == PZ_NCHWC;
}

/* Keeps those of the choice. Where it may choose none, all. */
static void keep_searched(const pz_plan *plan, const pz_problem *problem, pz_choice *choice) {
  int32_t n = 0;
  for (int32_t i = 0; i < choice->n; i++) n += is_searched(plan, problem, &choice->candidates[i]);
  if (n == choice->n || n == 0) return;
  n = 0;
  for (int32_t i = 0; i < choice->n; i++)
    if (is_searched(plan, problem, &choice->candidates[i])) choice->candidates[n++] = choice->candidates[i];
  choice->n = n;
}

/* ---- what is asked for: "LAYER=LABEL" ---- */

/* The label that is asked for the layer; NULL: none. */
static const char *asked_label(const pz_plan_options *o, const char *layer) {
  const size_t length = strlen(layer);
  for (int32_t i = o->n_algorithms - 1; i >= 0; i--) {
    const char *end = strrchr(o->algorithms[i], '=');
    if (end && (size_t)(end - o->algorithms[i]) == length && !strncmp(o->algorithms[i], layer, length))
      return end + 1;
  }
  return NULL;
}

/* The first of its solver. */
static bool is_first(const pz_choice *choice, int32_t i) {
  for (int32_t k = 0; k < i; k++)
    if (choice->candidates[k].solver == choice->candidates[i].solver) return false;
  return true;
}

static pz_status has_none(const pz_plan *plan, const pz_node *node, const pz_choice *choice,
                          const char *label, pz_error *err) {
  pz_text text = {0};
  int32_t more = choice->n;
  for (int32_t i = 0; i < choice->n; i++) {
    if (!is_first(choice, i)) continue;
    pz_text_printf(&text, "%s'%s'", text.size ? ", " : "", choice->candidates[i].label);
    more--;
  }
  if (more) pz_text_printf(&text, " and %d more (pznet inspect --plan --json)", (int)more);
  pz_status status = text.failed ? pz_fail_memory(err, "labels", text.capacity) : PZ_OK;
  if (status == PZ_OK)
    status = pz_fail(err, PZ_ERROR_USAGE, "--algorithm %s=%s: the layer has no such algorithm; it has %s",
                     pz_inert_in(plan->arena, node->name), pz_inert_in(plan->arena, label), text.data);
  pz_text_free(&text);
  return status;
}

/* Keeps the candidate that is asked for, if one is. */
static pz_status keep_asked(const pz_plan *plan, const pz_plan_options *o, const pz_node *node,
                            pz_choice *choice, pz_error *err) {
  const char *label = asked_label(o, node->name);
  if (!label) return PZ_OK;
  for (int32_t i = 0; i < choice->n; i++)
    if (!strcmp(choice->candidates[i].label, label)) {
      choice->candidates[0] = choice->candidates[i], choice->n = 1;
      return PZ_OK;
    }
  return has_none(plan, node, choice, label, err);
}

/* All layers that something is asked for are there. */
static pz_status check_asked(const pz_plan *plan, const pz_plan_options *o, pz_error *err) {
  for (int32_t i = 0; i < o->n_algorithms; i++) {
    const char *end = strrchr(o->algorithms[i], '=');
    bool known = false;
    for (pz_node_id n = 0; end && n < plan->graph->n_nodes && !known; n++) {
      const char *name = plan->graph->nodes[n].name;
      known = strlen(name) == (size_t)(end - o->algorithms[i]) &&
              !strncmp(name, o->algorithms[i], (size_t)(end - o->algorithms[i]));
    }
    if (!known)
      return pz_fail(
          err, PZ_ERROR_USAGE,
          "--algorithm %s: expected LAYER=ALGORITHM, of a layer that is there after the passes (pznet "
          "inspect --plan lists them)",
          pz_inert_in(plan->arena, o->algorithms[i]));
  }
  return PZ_OK;
}

/* What of the layer's error the result is taken to have. */
static double propagation_of(const pz_plan *plan, pz_node_id n) {
  const double *known = plan->error_propagation ? plan->error_propagation : plan->expected_propagation;
  return known ? known[n] : 1;
}

/* Those that the plan's bound on the error leaves, with what they are expected to add to it. */
static pz_status find_candidates(pz_plan *plan, const pz_plan_options *options, pz_node_id n, pz_error *err) {
  const pz_problem *problem = &plan->problems[n];
  const pz_node *node = &plan->graph->nodes[n];
  pz_choice *choice = &plan->choices[n];
  pz_candidates all;
  PZ_TRY(pz_candidates_of(problem, &plan->target, plan->arena, &all, err));
  *choice = (pz_choice){.candidates = all.list};
  for (int32_t i = 0; i < all.n; i++) {
    pz_candidate c = all.list[i];
    if (!error_fits(plan, &c)) continue;
    if (!plan->error_propagation && problem->epilogue.normalised && c.solver->normalised_error > 0)
      c.error *= c.solver->normalised_error;
    c.added = c.error * propagation_of(plan, n);
    choice->candidates[choice->n++] = c;
  }
  if (!choice->n)
    return pz_fail(
        err, PZ_ERROR_INPUT, "%s:%d: layer '%s' (%s): no algorithm of this version can run it in this form",
        node->place.file ? node->place.file : "model", node->place.line, node->name, pz_op_name(node->op));
  PZ_TRY(keep_asked(plan, options, node, choice, err));
  keep_searched(plan, problem, choice);
  return PZ_OK;
}

/* ---- cost[node][candidate] ---- */

typedef struct tables {
  pz_plan *plan;
  pz_priced **node;
  int32_t *candidates, *forced;
  pz_edge *edges;
  int32_t *into, *out_of, *first_out;
  double rate; /* seconds for each of the cost model's units, of what was timed; 1 where nothing was */
} tables;

/* The times of a node count where all are there that were wanted. */
static bool is_timed(const tables *t, pz_node_id n, int32_t i) {
  return t->forced[n] != PZ_BY_COST && t->plan->choices[n].candidates[i].seconds > 0;
}

static double rate_of(const tables *t) {
  double seconds = 0, cost = 0;
  for (pz_node_id n = 0; n < t->plan->graph->n_nodes; n++)
    for (int32_t i = 0; i < t->plan->choices[n].n; i++)
      if (is_timed(t, n, i)) {
        seconds += t->plan->choices[n].candidates[i].seconds;
        cost += t->plan->choices[n].candidates[i].cost;
      }
  return cost > 0 ? seconds / cost : 1;
}

/* Candidates that were not timed where others were: a guess, but slower than those. */
static void price(const tables *t, pz_node_id n) {
  const pz_choice *choice = &t->plan->choices[n];
  double slowest = 0;
  for (int32_t i = 0; i < choice->n; i++)
    if (is_timed(t, n, i) && choice->candidates[i].seconds > slowest) slowest = choice->candidates[i].seconds;
  for (int32_t i = 0; i < choice->n; i++) {
    const pz_candidate *c = &choice->candidates[i];
    const double guess = t->rate * c->cost;
    const pz_query q = {&t->plan->problems[n], &t->plan->target, c->parameters};
    t->node[n][i] =
        (pz_priced){.cost = is_timed(t, n, i) ? c->seconds
                            : slowest > guess ? slowest
                                              : guess,
                    .in = c->solver->in,
                    .out = c->solver->out,
                    .any_layout = c->solver->any_layout,
                    .timed = is_timed(t, n, i),
                    .counted = c->solver->work != NULL,
                    .pools = q.problem->epilogue.pools && c->solver->pools && c->solver->pools(&q)};
  }
}

/* ---- cost[layout][layout] ---- */

double pz_transform_cost(const pz_shape *shape, const pz_target *target, pz_layout from, pz_layout to) {
  if (from == to) return 0;
  const pz_shape5 s = pz_shape_as5(shape);
  const double points = (double)(s.n * s.s[0] * s.s[1] * s.s[2]);
  return pz_target_cost_model(target)->factor[PZ_TERM_any_converted] * points *
         (double)pz_block_count(s.c, target->block);
}

/* A step that moves data, as conversions do: what of one's cost is its reading and writing. */
static double pooling_cost(const pz_plan *plan, pz_tensor_id in, pz_node_id pool) {
  const pz_shape *x = &plan->graph->tensors[in].shape, *y = &plan->problems[pool].out[0].shape;
  const double points = (double)pz_shape_elements(x);
  return pz_transform_cost(x, &plan->target, PZ_NCHW, PZ_NCHWC) * (points + (double)pz_shape_elements(y)) /
         (2 * points);
}

static void add_edge(const tables *t, int32_t *n, pz_tensor_id id, pz_node_id from, pz_node_id to,
                     pz_reads reads) {
  pz_edge *e = &t->edges[(*n)++];
  *e = (pz_edge){.tensor = id, .from = from, .to = to, .reads = reads};
  if (from != PZ_NONE && to != PZ_NONE &&
      pz_told_pooling(t->plan->graph, &t->plan->problems[from], from) == to)
    e->pooling = t->rate * pooling_cost(t->plan, id, to);
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++)
      e->transform[a][b] = t->rate * pz_transform_cost(&t->plan->graph->tensors[id].shape, &t->plan->target,
                                                       (pz_layout)a, (pz_layout)b);
}

/* Weights lie as the solver packs them: they are no edges. */
static int32_t add_edges(const tables *t, const pz_node_id *maker) {
  const pz_graph *g = t->plan->graph;
  int32_t count = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    t->into[n] = count;
    for (int32_t i = 0; i < g->nodes[n].n_in; i++) {
      const pz_operand *x = &t->plan->problems[n].in[i];
      const pz_tensor_id id = g->nodes[n].in[i];
      if (x->present && !x->packed) add_edge(t, &count, id, maker[id], n, pz_reads_of(g->nodes[n].op, i));
    }
  }
  t->into[g->n_nodes] = count;
  for (int32_t i = 0; i < g->n_outputs; i++)
    add_edge(t, &count, g->outputs[i], maker[g->outputs[i]], PZ_NONE, PZ_READS_NCHW);
  return count;
}

/* Those of a node's outputs one after the other, by counting. first[id + 1] counts the edges of tensor `id` first; `order`, by node, has a place
 * for each of its outputs. */
static void sort_edges(const tables *t, const pz_node_id *maker, int32_t *first, int32_t n_edges) {
  const pz_graph *g = t->plan->graph;
  int32_t at = 0;
  for (int32_t i = 0; i < n_edges; i++) first[t->edges[i].tensor]++;
  for (pz_node_id n = 0; n < g->n_nodes; n++) {
    t->first_out[n] = at;
    for (int32_t i = 0; i < g->nodes[n].n_out; i++) {
      const int32_t count = first[g->nodes[n].out[i]];
      first[g->nodes[n].out[i]] = at;
      at += count;
    }
  }
  t->first_out[g->n_nodes] = at;
  for (int32_t i = 0; i < n_edges; i++)
    if (maker[t->edges[i].tensor] != PZ_NONE) t->out_of[first[t->edges[i].tensor]++] = i;
}

static pz_node_id *makers(const pz_plan *plan) {
  const pz_graph *g = plan->graph;
  pz_node_id *maker = PZ_NEW(plan->arena, pz_node_id, (size_t)g->n_tensors + 1);
  for (pz_tensor_id id = 0; maker && id < g->n_tensors; id++) maker[id] = PZ_NONE;
  for (pz_node_id n = 0; maker && n < g->n_nodes; n++)
    for (int32_t i = 0; i < g->nodes[n].n_out; i++) maker[g->nodes[n].out[i]] = n;
  return maker;
}

static size_t most_edges(const pz_graph *g) {
  size_t edges = (size_t)g->n_outputs;
  for (pz_node_id n = 0; n < g->n_nodes; n++) edges += (size_t)g->nodes[n].n_in;
  return edges;
}

static pz_status find_edges(tables *t, int32_t *n_edges, pz_error *err) {
  const pz_node_id *maker = makers(t->plan);
  int32_t *first = PZ_NEW(t->plan->arena, int32_t, (size_t)t->plan->graph->n_tensors + 1);
  if (!maker || !first) return pz_fail_memory(err, "tables of costs", (size_t)t->plan->graph->n_tensors * 8);
  *n_edges = add_edges(t, maker);
  sort_edges(t, maker, first, *n_edges);
  return PZ_OK;
}

/* ---- the tables ---- */

static pz_status allocate(tables *t, pz_error *err) {
  pz_arena *arena = t->plan->arena;
  const size_t nodes = (size_t)t->plan->graph->n_nodes + 1, edges = most_edges(t->plan->graph) + 1;
  t->node = PZ_NEW(arena, pz_priced *, nodes);
  t->candidates = PZ_NEW(arena, int32_t, nodes);
  t->forced = PZ_NEW(arena, int32_t, nodes);
  t->edges = PZ_NEW(arena, pz_edge, edges);
  t->into = PZ_NEW(arena, int32_t, nodes);
  t->out_of = PZ_NEW(arena, int32_t, edges);
  t->first_out = PZ_NEW(arena, int32_t, nodes);
  if (t->node && t->candidates && t->forced && t->edges && t->into && t->out_of && t->first_out) return PZ_OK;
  return pz_fail_memory(err, "tables of costs", nodes * 32 + edges * sizeof(pz_edge));
}

static pz_status find_nodes(tables *t, const pz_plan_options *options, pz_error *err) {
  pz_plan *plan = t->plan;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    PZ_TRY(find_candidates(plan, options, n, err));
    pz_choice *choice = &plan->choices[n];
    t->candidates[n] = choice->n, t->forced[n] = PZ_BY_COST;
    t->node[n] = PZ_NEW(plan->arena, pz_priced, (size_t)choice->n);
    if (!t->node[n]) return pz_fail_memory(err, "tables of costs", (size_t)choice->n * sizeof(pz_priced));
    if (options->choose && choice->n > 1)
      t->forced[n] =
          options->choose(options->choose_host, plan, &plan->graph->nodes[n], choice->candidates, choice->n);
  }
  return PZ_OK;
}

pz_status pz_costs_of(pz_plan *plan, const pz_plan_options *options, pz_costs *costs, pz_error *err) {
  tables t = {.plan = plan};
  int32_t n_edges = 0;
  PZ_TRY(allocate(&t, err));
  PZ_TRY(check_asked(plan, options, err));
  PZ_TRY(find_nodes(&t, options, err));
  t.rate = rate_of(&t);
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) price(&t, n);
  PZ_TRY(find_edges(&t, &n_edges, err));
  *costs = (pz_costs){.n_nodes = plan->graph->n_nodes,
                      .n_edges = n_edges,
                      .node = (const pz_priced *const *)t.node,
                      .candidates = t.candidates,
                      .forced = t.forced,
                      .edges = t.edges,
                      .into = t.into,
                      .out_of = t.out_of,
                      .first_out = t.first_out,
                      .byte = t.rate * pz_target_cost_model(&plan->target)->factor[PZ_TERM_any_far] / 64};
  return PZ_OK;
}
