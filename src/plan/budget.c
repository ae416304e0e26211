/* budget.c: a plan within a bound on memory: packed weights and what a run needs. Convolutions give up the algorithm chosen
 * for them for one with smaller weights, first the one that saves most for the time that it costs. */
#include "plan/slabs.h"

#include <string.h>

/* Floats saved for each unit of time; 0: nothing. Times are compared with times, else costs with costs. */
static double gain(const pz_candidate *now, const pz_candidate *then) {
  const double saved = now->weights - then->weights, unit = now->cost;
  const bool timed = now->seconds > 0 && then->seconds > 0;
  if (now->weights <= 0 || then->weights <= 0) return 0;
  double slower = timed ? (then->seconds - now->seconds) / now->seconds * unit : then->cost - now->cost;
  if (slower < 1e-6 * unit) slower = 1e-6 * unit;
  return saved > 0 ? saved / slower : 0;
}

/* The best of all changes; *saved: floats. False: there is none left. */
static bool change_one(pz_plan *plan, double *saved) {
  double best = 0;
  pz_node_id at = PZ_NONE;
  int32_t to = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    for (int32_t i = 0; i < plan->choices[n].n; i++) {
      const double g = gain(pz_plan_candidate(plan, n), &plan->choices[n].candidates[i]);
      if (g > best) best = g, at = n, to = i;
    }
  if (at == PZ_NONE) return false;
  *saved = pz_plan_candidate(plan, at)->weights - plan->choices[at].candidates[to].weights;
  plan->choices[at].chosen = to;
  plan->chosen[at] = plan->choices[at].candidates[to].solver;
  plan->variant[at] = plan->choices[at].candidates[to].variant;
  return true;
}

static pz_status too_small(const pz_plan *plan, const pz_plan_size *size, pz_error *err) {
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s needs %.4g MB of memory at least (%.4g of weights, %.4g for a run), more than the %.4g MB allowed",
      plan->graph->name, 1e-6 * pz_plan_bytes(size), 4e-6 * (double)size->weights, 4e-6 * (double)size->run,
      1e-6 * plan->memory);
}

pz_status pz_meet_memory(pz_plan *plan, pz_error *err) {
  pz_plan_size size;
  PZ_TRY(pz_choose_slabs(plan, &size, err));
  if (plan->memory <= 0 || pz_plan_bytes(&size) <= plan->memory) return PZ_OK;
  if (plan->slabs == PZ_SLABS_AUTO) { /* those too that cost time */
    plan->slabs = PZ_SLABS_ALWAYS;
    PZ_TRY(pz_choose_slabs(plan, &size, err));
  }
  while (pz_plan_bytes(&size) > plan->memory) {
    double missing = (pz_plan_bytes(&size) - plan->memory) / 4, saved = 0;
    if (!change_one(plan, &saved)) return too_small(plan, &size, err);
    for (missing -= saved; missing > 0 && change_one(plan, &saved);) missing -= saved;
    PZ_TRY(pz_choose_slabs(plan, &size, err)); /* other algorithms have other tiles */
  }
  return PZ_OK;
}
