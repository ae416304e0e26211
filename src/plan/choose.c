/* choose.c: a solver for each node, the cheapest or as the chooser says. From the last node to the first, so that solvers that depend on how their
 * result is read can look at the choices of its consumers. */
#include "plan/solver.h"

#include <string.h>

#define SOLVER(id) extern const pz_solver pz_solver_##id;
#include "plan/solvers.inc"
#undef SOLVER

static const pz_solver *const solvers[] = {
#define SOLVER(id) &pz_solver_##id,
#include "plan/solvers.inc"
#undef SOLVER
};

static bool is_convolution(const pz_node *node) { return node->op == PZ_OP_CONV || node->op == PZ_OP_DECONV; }

/* The cheapest first; of equal cost the first of solvers.inc. */
static void insert(pz_choice *choice, const pz_candidate *c) {
  int32_t at = choice->n++;
  for (; at > 0 && c->cost < choice->candidates[at - 1].cost; at--)
    choice->candidates[at] = choice->candidates[at - 1];
  choice->candidates[at] = *c;
}

/* Forms of operators that no solver knows yet: who teaches one takes its line away. */
static bool unknown_form(const pz_plan *plan, const pz_node *node) {
  const pz_graph *g = plan->graph;
  const bool any_rank = node->op == PZ_OP_RESHAPE || node->op == PZ_OP_PERMUTE || node->op == PZ_OP_EXTEND ||
                        node->op == PZ_OP_CROP || node->op == PZ_OP_ACTIVATION || node->op == PZ_OP_POWER ||
                        node->op == PZ_OP_ELTWISE || node->op == PZ_OP_GATHER;
  for (int32_t i = 0; i < node->n_in && !any_rank; i++)
    if (node->in[i] != PZ_NONE && g->tensors[node->in[i]].shape.rank > 5) return true;
  for (int32_t i = 0; i < node->n_out && !any_rank; i++)
    if (g->tensors[node->out[i]].shape.rank > 5) return true;
  return false;
}

/* Of several variants with one label the first stands for all. */
static bool is_known(const pz_choice *choice, const char *label) {
  for (int32_t i = 0; i < choice->n; i++)
    if (!strcmp(choice->candidates[i].label, label)) return true;
  return false;
}

/* plan->variant says which. */
static pz_status consider(pz_plan *plan, const pz_node *node, const pz_solver *solver, pz_choice *choice,
                          pz_error *err) {
  char text[PZ_LABEL_TEXT];
  pz_candidate c = {.solver = solver, .variant = pz_variant_of(plan, node), .label = solver->name};
  if (solver->applies && !solver->applies(plan, node)) return PZ_OK;
  if (solver->weight_floats) c.weights = solver->weight_floats(plan, node);
  if (solver->cost) c.cost = solver->cost(plan, node);
  if (is_convolution(node)) c.error = PZ_SUM_ERROR;
  if (solver->describe) {
    solver->describe(plan, node, text, &c.error);
    if (is_known(choice, text)) return PZ_OK;
    c.label = pz_arena_strdup(plan->arena, text);
    if (!c.label) return pz_fail_memory(err, "the plan", sizeof text);
  }
  c.added = c.error * (plan->sensitivity ? plan->sensitivity[node - plan->graph->nodes] : 1);
  insert(choice, &c);
  return PZ_OK;
}

static int32_t variants_of(const pz_solver *s) { return s->variants ? s->variants : 1; }

static pz_status find_candidates(pz_plan *plan, pz_node_id n, pz_choice *choice, pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  int32_t most = 0;
  if (unknown_form(plan, node)) return PZ_OK;
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
    if (solvers[i]->op == node->op) most += variants_of(solvers[i]);
  choice->candidates = PZ_NEW(plan->arena, pz_candidate, (size_t)most + 1);
  if (!choice->candidates) return pz_fail_memory(err, "the plan", (size_t)most * sizeof(pz_candidate));
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
    for (int32_t v = 0; solvers[i]->op == node->op && v < variants_of(solvers[i]); v++) {
      plan->variant[n] = v;
      PZ_TRY(consider(plan, node, solvers[i], choice, err));
    }
  return PZ_OK;
}

static void keep_layouts_of_cheapest(pz_choice *choice) {
  int32_t kept = 0;
  for (int32_t i = 0; i < choice->n; i++) {
    const pz_solver *s = choice->candidates[i].solver, *first = choice->candidates[0].solver;
    if (s->in == first->in && s->out == first->out) choice->candidates[kept++] = choice->candidates[i];
  }
  choice->n = kept;
}

static pz_status choose(pz_plan *plan, pz_node_id n, const pz_plan_options *options, pz_error *err) {
  const pz_node *node = &plan->graph->nodes[n];
  pz_choice *choice = &plan->choices[n];
  PZ_TRY(find_candidates(plan, n, choice, err));
  if (!choice->n)
    return pz_fail(
        err, PZ_ERROR_INPUT, "%s:%d: layer '%s' (%s): no algorithm of this version can run it in this form",
        node->place.file ? node->place.file : "model", node->place.line, node->name, pz_op_name(node->op));
  keep_layouts_of_cheapest(choice);
  if (options->choose && is_convolution(node))
    choice->chosen = options->choose(options->choose_host, plan, node, choice->candidates, choice->n);
  plan->chosen[n] = choice->candidates[choice->chosen].solver;
  plan->variant[n] = choice->candidates[choice->chosen].variant;
  return PZ_OK;
}

pz_status pz_choose_solvers(pz_plan *plan, const pz_plan_options *options, pz_error *err) {
  for (pz_node_id n = plan->graph->n_nodes - 1; n >= 0; n--) PZ_TRY(choose(plan, n, options, err));
  return PZ_OK;
}
