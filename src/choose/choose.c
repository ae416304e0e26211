/* choose.c: the greedy choice over the tables of costs: the cheapest candidate of each node by itself. Of nodes that were timed the fastest,
 * with what its layouts make others convert; by the cost model the cheapest with that; where solvers have ranks alone, of the first rank the one with
 * the fewest conversions. */
#include "choose/choose.h"

#include <math.h>

/* Times that differ by less are taken for equal: the smaller error decides, then the smaller weights. */
#define EQUAL 1.02

typedef struct greedy {
  const pz_costs *costs;
  pz_choice *choices;
} greedy;

/* Candidate i of node n with what is converted for it, as its neighbours are chosen now. */
static double cost_beside(const greedy *g, pz_node_id n, int32_t i) {
  return g->costs->node[n][i].cost + pz_transforms_of(g->costs, g->choices, n, i).cost;
}

/* What is converted whatever is chosen would hide how far times are apart: it does not count. */
static double converted_always(const greedy *g, pz_node_id n) {
  double least = INFINITY;
  for (int32_t i = 0; i < g->costs->candidates[n]; i++)
    if (g->costs->node[n][i].timed) least = fmin(least, pz_transforms_of(g->costs, g->choices, n, i).cost);
  return least;
}

static bool is_better(const pz_candidate *c, const pz_candidate *than) {
  return c->error < than->error || (c->error <= than->error && c->weights < than->weights);
}

static int32_t fastest(const greedy *g, pz_node_id n) {
  const double always = converted_always(g, n);
  const pz_candidate *c = g->choices[n].candidates;
  int32_t best = 0;
  double least = INFINITY;
  for (int32_t i = 0; i < g->costs->candidates[n]; i++) {
    const double cost = g->costs->node[n][i].timed ? cost_beside(g, n, i) - always : INFINITY;
    if (cost < least) least = cost, best = i;
  }
  for (int32_t i = 0; i < g->costs->candidates[n]; i++)
    if (g->costs->node[n][i].timed && cost_beside(g, n, i) - always <= EQUAL * least &&
        is_better(&c[i], &c[best]))
      best = i;
  return best;
}

/* The least cost with what is converted for it; of equal ones the first. */
static int32_t cheapest(const greedy *g, pz_node_id n) {
  int32_t best = 0;
  for (int32_t i = 1; i < g->costs->candidates[n]; i++)
    if (cost_beside(g, n, i) < cost_beside(g, n, best)) best = i;
  return best;
}

/* Ranks are no costs: only among those of one rank, and by the number of conversions inside the network. */
static int32_t least_converted(const greedy *g, pz_node_id n) {
  int32_t best = 0, least = -1;
  if (g->costs->node[n][0].counted) return cheapest(g, n);
  for (int32_t i = 1; i < g->costs->candidates[n]; i++) {
    if (g->costs->node[n][i].cost > g->costs->node[n][0].cost) continue;
    if (least < 0) least = pz_transforms_of(g->costs, g->choices, n, 0).inside;
    const int32_t count = pz_transforms_of(g->costs, g->choices, n, i).inside;
    if (count < least) least = count, best = i;
  }
  return best;
}

void pz_choose_solvers(pz_plan *plan, const pz_costs *costs) {
  const greedy g = {costs, plan->choices};
  for (pz_node_id n = 0; n < costs->n_nodes; n++)
    plan->choices[n].chosen = costs->forced[n] > 0 ? costs->forced[n] : 0;
  for (pz_node_id n = 0; n < costs->n_nodes; n++)
    if (costs->forced[n] == PZ_BY_TIME) plan->choices[n].chosen = fastest(&g, n);
  for (pz_node_id n = costs->n_nodes - 1; n >= 0; n--)
    if (costs->forced[n] == PZ_BY_COST) plan->choices[n].chosen = least_converted(&g, n);
}
