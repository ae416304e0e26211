/* worth.h: what measuring a problem may win, by what is known before: the costs of its candidates, and how far the cost model is off (pz_cost_uncertainty).
 *
 * The logarithm of what a candidate takes beside its cost is taken for normally distributed. Costs of one solver's candidates are known to each
 * other better than to those of another. */
#ifndef PZ_API_WORTH_H
#define PZ_API_WORTH_H

#include "plan/plan.h"

/* The candidates, at most PZ_WORTH_MOST, that are near enough to the cheapest one to be measured first, with it: true where i is one. The target is the plan's. */
enum { PZ_WORTH_MOST = 3 };
bool pz_worth_leads(const pz_target *target, const pz_candidate *candidates, int32_t n, int32_t i);

/* The part of the cheapest one's time that is expected to be won by knowing what candidate i takes. */
double pz_worth_of(const pz_target *target, const pz_candidate *candidates, int32_t i);

#endif
