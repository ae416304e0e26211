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

/* The greedy choice: a candidate for each node (choose.c). */
void pz_choose_solvers(pz_plan *plan, const pz_costs *costs);
/* Algorithms with smaller errors where those of all convolutions together exceed max_error (budget.c). */
pz_status pz_satisfy_error_bound(pz_plan *plan, const pz_costs *costs, pz_error *err);
/* What the plan needs with the candidates as they are now. */
typedef pz_status (*pz_size_of)(pz_plan *plan, pz_plan_size *size, pz_error *err);
/* Algorithms with smaller weights where more memory is needed than allowed (budget.c). */
pz_status pz_satisfy_memory_bound(pz_plan *plan, const pz_costs *costs, pz_size_of size_of, pz_error *err);

#endif
