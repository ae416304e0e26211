/* choose.c: a solver for each node. From the last node to the first, so that solvers that depend on how their
 * result is read can look at the choices of its consumers. */
#include "plan/solver.h"

#define SOLVER(id) extern const pz_solver pz_solver_##id;
#include "plan/solvers.inc"
#undef SOLVER

static const pz_solver *const solvers[] = {
#define SOLVER(id) &pz_solver_##id,
#include "plan/solvers.inc"
#undef SOLVER
};

/* NULL: none applies. */
static const pz_solver *cheapest(const pz_plan *plan, const pz_node *node, int32_t *variant) {
  const pz_solver *best = NULL;
  int32_t chosen = 0;
  double least = 0;
  for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
    for (*variant = 0; *variant == 0 || *variant < solvers[i]->variants; ++*variant) {
      if (solvers[i]->op != node->op || (solvers[i]->applies && !solvers[i]->applies(plan, node))) continue;
      const double cost = solvers[i]->cost ? solvers[i]->cost(plan, node) : 0;
      if (!best || cost < least) best = solvers[i], chosen = *variant, least = cost;
    }
  *variant = chosen;
  return best;
}

pz_status pz_choose_solvers(pz_plan *plan, pz_error *err) {
  for (pz_node_id n = plan->graph->n_nodes - 1; n >= 0; n--) {
    const pz_node *node = &plan->graph->nodes[n];
    plan->chosen[n] = cheapest(plan, node, &plan->variant[n]);
    if (!plan->chosen[n])
      return pz_fail(
          err, PZ_ERROR_INPUT, "%s:%d: layer '%s' (%s): no algorithm of this version can run it in this form",
          node->place.file ? node->place.file : "model", node->place.line, node->name, pz_op_name(node->op));
  }
  return PZ_OK;
}
