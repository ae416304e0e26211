/* choose.c: a solver for each node, the cheapest or as the chooser says. Where the cheapest are equal and differ in layout, the one with the
 * fewest conversions behind it. */
#include "choose/choose.h"

#include <string.h>

#define SOLVER(id) extern const pz_solver pz_solver_##id;
#include "choose/solvers.inc"
#undef SOLVER

static const pz_solver *const solvers[] = {
#define SOLVER(id) &pz_solver_##id,
#include "choose/solvers.inc"
#undef SOLVER
};

static bool is_convolution(pz_op op) { return op == PZ_OP_CONV || op == PZ_OP_DECONV; }

/* The cheapest first; of equal cost the first of solvers.inc. */
static void insert(pz_choice *choice, const pz_candidate *c) {
  int32_t at = choice->all++;
  for (; at > 0 && c->cost < choice->candidates[at - 1].cost; at--)
    choice->candidates[at] = choice->candidates[at - 1];
  choice->candidates[at] = *c;
}

/* Forms of operators that no solver knows yet: who teaches one takes its line away. */
static bool unknown_form(const pz_problem *p) {
  const bool any_rank = p->op == PZ_OP_RESHAPE || p->op == PZ_OP_PERMUTE || p->op == PZ_OP_EXTEND ||
                        p->op == PZ_OP_CROP || p->op == PZ_OP_ACTIVATION || p->op == PZ_OP_POWER ||
                        p->op == PZ_OP_ELTWISE || p->op == PZ_OP_GATHER;
  for (int32_t i = 0; i < p->n_in && !any_rank; i++)
    if (p->in[i].present && p->in[i].shape.rank > 5) return true;
  for (int32_t i = 0; i < p->n_out && !any_rank; i++)
    if (p->out[i].shape.rank > 5) return true;
  return false;
}

/* Of several variants with one label the first stands for all. */
static bool is_known(const pz_choice *choice, const char *label) {
  for (int32_t i = 0; i < choice->all; i++)
    if (!strcmp(choice->candidates[i].label, label)) return true;
  return false;
}

/* Whether a layer may have an algorithm of this error: the result has half of it or less; pz_meet_error knows, or takes the
 * candidate out. */
static bool error_fits(const pz_plan *plan, const pz_solver *solver, double error) {
  return solver->direct || error / 2 <= plan->max_error;
}

static pz_status consider(pz_plan *plan, pz_node_id n, const pz_solver *solver, const pz_query *q,
                          pz_choice *choice, pz_error *err) {
  char text[PZ_LABEL_TEXT];
  pz_candidate c = {.solver = solver, .variant = q->variant, .label = solver->name};
  if (solver->applies && !solver->applies(q)) return PZ_OK;
  if (is_convolution(q->problem->op)) c.error = PZ_SUM_ERROR;
  if (solver->describe) solver->describe(q, text, &c.error);
  if (!error_fits(plan, solver, c.error)) return PZ_OK;
  if (solver->weight_floats) c.weights = solver->weight_floats(q);
  if (solver->cost) c.cost = solver->cost(q);
  if (solver->describe) {
    if (is_known(choice, text)) return PZ_OK;
    c.label = pz_arena_strdup(plan->arena, text);
    if (!c.label) return pz_fail_memory(err, "the plan", sizeof text);
  }
  if (!plan->sensitivity && q->problem->epilogue.normalised && solver->normalised_error > 0)
    c.error *= solver->normalised_error;
  c.added = c.error * (plan->sensitivity ? plan->sensitivity[n] : 1);
  insert(choice, &c);
  return PZ_OK;
}

static int32_t variants_of(const pz_solver *s) { return s->variants ? s->variants : 1; }

static pz_status find_candidates(pz_plan *plan, pz_node_id n, pz_choice *choice, pz_error *err) {
  pz_query q = {.problem = &plan->problems[n], .target = &plan->target};
  int32_t most = 0;
  if (unknown_form(q.problem)) return PZ_OK;
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
    if (solvers[i]->op == q.problem->op) most += variants_of(solvers[i]);
  choice->candidates = PZ_NEW(plan->arena, pz_candidate, (size_t)most + 1);
  if (!choice->candidates) return pz_fail_memory(err, "the plan", (size_t)most * sizeof(pz_candidate));
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
    for (q.variant = 0; solvers[i]->op == q.problem->op && q.variant < variants_of(solvers[i]); q.variant++)
      PZ_TRY(consider(plan, n, solvers[i], &q, choice, err));
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
  if (options->choose && is_convolution(node->op))
    choice->chosen = options->choose(options->choose_host, plan, node, choice->candidates, choice->n);
  return PZ_OK;
}

pz_status pz_choose_solvers(pz_plan *plan, const pz_plan_options *options, pz_error *err) {
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) PZ_TRY(choose(plan, n, options, err));
  for (pz_node_id n = plan->graph->n_nodes - 1; n >= 0; n--) settle_layouts(plan, n);
  return PZ_OK;
}
