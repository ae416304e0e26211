/* choose.c: a solver for each node, the cheapest or as the chooser says. Where the cheapest are equal and differ in layout, the one with the
 * fewest conversions behind it. */
#include "choose/choose.h"

#include <string.h>

/* Whether a layer may have an algorithm of this error: the result has half of it or less; pz_meet_error knows, or takes the
 * candidate out. */
static bool error_fits(const pz_plan *plan, const pz_candidate *c) {
  const double most = c->solver->most_error > 0 ? c->solver->most_error : 2;
  return c->solver->direct || c->error <= most * plan->max_error;
}

/* The candidates that the plan's bound on the error leaves, with what they are expected to add to it. */
static pz_status find_candidates(pz_plan *plan, pz_node_id n, pz_choice *choice, pz_error *err) {
  const pz_problem *problem = &plan->problems[n];
  pz_candidates all;
  PZ_TRY(pz_candidates_of(problem, &plan->target, plan->arena, &all, err));
  *choice = (pz_choice){.candidates = all.list};
  for (int32_t i = 0; i < all.n; i++) {
    pz_candidate c = all.list[i];
    if (!error_fits(plan, &c)) continue;
    if (!plan->sensitivity && problem->epilogue.normalised && c.solver->normalised_error > 0)
      c.error *= c.solver->normalised_error;
    c.added = c.error * (plan->sensitivity ? plan->sensitivity[n] : 1);
    choice->candidates[choice->all++] = c;
  }
  return PZ_OK;
}

/* ---- layouts ---- */

static bool is_alike(const pz_candidate *a, const pz_candidate *b) {
  return a->solver->in == b->solver->in && a->solver->out == b->solver->out;
}

/* Candidates of the layouts of candidate i come first, in their order, the others behind them. */
static void lead_with(pz_choice *choice, int32_t i) {
  const pz_candidate lead = choice->candidates[i];
  choice->n = 0;
  for (int32_t k = 0; k < choice->all; k++) {
    const pz_candidate c = choice->candidates[k];
    if (!is_alike(&c, &lead)) continue;
    for (int32_t to = k; to > choice->n; to--) choice->candidates[to] = choice->candidates[to - 1];
    choice->candidates[choice->n++] = c;
  }
}

static bool is_read_in(const pz_plan *plan, pz_tensor_id id, pz_layout layout) {
  const pz_graph *g = plan->graph;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; i < g->nodes[n].n_in; i++)
      if (g->nodes[n].in[i] == id && pz_wanted_layout(plan, n, i) == layout) return true;
  return false;
}

/* How many tensors would be converted for node n, as its neighbours are chosen now. */
static int32_t conversions(const pz_plan *plan, pz_node_id n, const pz_solver *solver) {
  const pz_node *node = &plan->graph->nodes[n];
  int32_t count = 0;
  for (int32_t i = 0; i < node->n_in && !solver->any_layout; i++) {
    const pz_node_id maker = pz_graph_producer(plan->graph, node->in[i]);
    count += maker != PZ_NONE && pz_chosen(plan, maker)->out != solver->in;
  }
  for (int32_t i = 0; i < node->n_out; i++)
    count += is_read_in(plan, node->out[i], solver->out == PZ_BLOCKED ? PZ_PLAIN : PZ_BLOCKED);
  return count;
}

static void settle_layouts(pz_plan *plan, pz_node_id n) {
  pz_choice *choice = &plan->choices[n];
  int32_t best = 0, least = -1;
  for (int32_t i = choice->n; i < choice->all; i++) {
    if (choice->candidates[i].cost > choice->candidates[0].cost) continue;
    if (least < 0) least = conversions(plan, n, choice->candidates[0].solver);
    const int32_t count = conversions(plan, n, choice->candidates[i].solver);
    if (count < least) least = count, best = i;
  }
  if (best) lead_with(choice, best);
}

/* ---- choosing ---- */

static pz_status choose(pz_plan *plan, pz_node_id n, const pz_plan_options *options, pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  pz_choice *choice = &plan->choices[n];
  PZ_TRY(find_candidates(plan, n, choice, err));
  if (!choice->all)
    return pz_fail(
        err, PZ_ERROR_INPUT, "%s:%d: layer '%s' (%s): no algorithm of this version can run it in this form",
        node->place.file ? node->place.file : "model", node->place.line, node->name, pz_op_name(node->op));
  lead_with(choice, 0);
  if (options->choose && choice->n > 1)
    choice->chosen = options->choose(options->choose_host, plan, node, choice->candidates, choice->n);
  return PZ_OK;
}

pz_status pz_choose_solvers(pz_plan *plan, const pz_plan_options *options, pz_error *err) {
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) PZ_TRY(choose(plan, n, options, err));
  for (pz_node_id n = plan->graph->n_nodes - 1; n >= 0; n--) settle_layouts(plan, n);
  return PZ_OK;
}
