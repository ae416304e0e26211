/* choose.h: a candidate for each node. */
#ifndef PZ_CHOOSE_CHOOSE_H
#define PZ_CHOOSE_CHOOSE_H

#include "choose/costs.h"

/* All candidates, of any error: the cheapest first, of equal cost the first of solvers.inc. Nothing else decides which there are. */
typedef struct pz_candidates {
  pz_candidate *list;
  int32_t n;
} pz_candidates;
pz_status pz_candidates_of(const pz_problem *problem, const pz_target *target, pz_arena *arena,
                           pz_candidates *candidates, pz_error *err);

/* What the candidate's solver counts of it (target/cost_terms.inc); all 0 where it counts nothing. */
void pz_candidate_work(const pz_solver *solver, const pz_query *q, pz_work *work);

/* What counts beside costs. */
typedef struct pz_prices {
  double error; /* of its square */
  double byte;  /* of packed weights */
  bool any;     /* all candidates, timed or guessed, whatever the plan's chooser says */
} pz_prices;

/* The global search: a candidate for each node, with the errors within the plan's bound (choose.c). *cost (may be NULL): what is expected of the plan, without prices. */
pz_status pz_choose_solvers(pz_plan *plan, const pz_costs *costs, const pz_prices *prices, double *cost,
                            pz_error *err);
/* The square of what all candidates' errors are expected to add to the result's. */
double pz_error_of(const pz_plan *plan);
/* With the layouts as they are, the fastest algorithms whose errors together keep within max_error (budget.c); `byte` is the price of weights. */
pz_status pz_satisfy_error_bound(pz_plan *plan, const pz_costs *costs, double byte, pz_error *err);
/* Of all nodes, without conversions, and without poolings that convolutions do. */
double pz_cost_of_nodes(const pz_plan *plan, const pz_costs *costs);
/* What the plan needs with the candidates as they are now. */
typedef pz_status (*pz_size_of)(pz_plan *plan, pz_plan_size *size, pz_error *err);
/* Algorithms with smaller weights, and more of the network in bands, where more memory is needed than allowed (budget.c). */
pz_status pz_satisfy_memory_bound(pz_plan *plan, const pz_costs *costs, pz_size_of size_of, pz_error *err);

#endif
