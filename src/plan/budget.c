/* budget.c: smaller weights for a little time, and a plan within a bound on memory: packed weights and what a run needs.
 * Convolutions give up the algorithm chosen for them for one with smaller weights, first the one that saves most for the
 * time that it costs. */
#include "plan/slabs.h"

#include <math.h>

/* What a change costs, in the cost model's units. Times are compared with times, else costs with costs. */
static double slowdown(const pz_candidate *now, const pz_candidate *then) {
  const bool timed = now->seconds > 0 && then->seconds > 0;
  return timed ? (then->seconds - now->seconds) / now->seconds * now->cost : then->cost - now->cost;
}

/* Floats saved for each unit of time; 0: nothing. */
static double gain(const pz_candidate *now, const pz_candidate *then) {
  const double saved = now->weights - then->weights, slower = slowdown(now, then), least = 1e-6 * now->cost;
  if (now->weights <= 0 || then->weights <= 0 || saved <= 0) return 0;
  return saved / (slower > least ? slower : least);
}

/* A change costs `most` at most and saves `worth` floats at least for each unit of time; if `sure`, it is neither from a measured
 * time to a guess nor to other layouts. */
typedef struct limits {
  double most, worth;
  bool sure;
} limits;

static bool allowed(const limits *l, const pz_candidate *now, const pz_candidate *then) {
  const pz_solver_layouts a = pz_candidate_layouts(now), b = pz_candidate_layouts(then);
  const bool unsure = (now->seconds > 0 && then->seconds <= 0) || a.in != b.in || a.out != b.out;
  return slowdown(now, then) <= l->most && gain(now, then) >= l->worth && !(l->sure && unsure);
}

/* The best of all changes; what it saves in floats and costs. False: there is none left. */
static bool change_one(pz_plan *plan, const limits *l, double *saved, double *slower) {
  double best = 0;
  pz_node_id at = PZ_NONE;
  int32_t to = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    for (int32_t i = 0; i < plan->choices[n].n; i++) {
      const pz_candidate *now = pz_plan_candidate(plan, n), *then = &plan->choices[n].candidates[i];
      const double g = gain(now, then);
      if (g > best && allowed(l, now, then)) best = g, at = n, to = i;
    }
  if (at == PZ_NONE) return false;
  const pz_candidate *now = pz_plan_candidate(plan, at), *then = &plan->choices[at].candidates[to];
  *saved = now->weights - then->weights, *slower = slowdown(now, then);
  plan->choices[at].chosen = to;
  plan->chosen[at] = then->solver;
  plan->variant[at] = then->variant;
  return true;
}

#define WORTH 3.0 /* per cent of the weights for one of the time */

/* Gives a part of all convolutions' time for smaller weights, where it buys most, as long as it is worth it. */
static void spare_weights(pz_plan *plan) {
  double cost = 0, weights = 0, saved, slower;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    if (!plan->choices[n].n) continue;
    const pz_candidate *now = pz_plan_candidate(plan, n);
    cost += now->cost, weights += now->weights;
  }
  const double worth = cost > 0 ? WORTH * weights / cost : 0;
  double left = plan->spare * cost;
  while (left > 0 && change_one(plan, &(limits){left, worth, true}, &saved, &slower))
    left -= slower > 0 ? slower : 0;
}

static pz_status too_small(const pz_plan *plan, const pz_plan_size *size, pz_error *err) {
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s needs %.4g MB of memory at least (%.4g of weights, %.4g for a run), more than the %.4g MB allowed",
      plan->graph->name, 1e-6 * pz_plan_bytes(size), 4e-6 * (double)size->weights, 4e-6 * (double)size->run,
      1e-6 * plan->memory);
}

pz_status pz_meet_memory(pz_plan *plan, pz_error *err) {
  const limits any = {INFINITY, 0, false};
  pz_plan_size size;
  if (plan->spare > 0) spare_weights(plan);
  PZ_TRY(pz_choose_slabs(plan, &size, err));
  if (plan->memory <= 0 || pz_plan_bytes(&size) <= plan->memory) return PZ_OK;
  if (plan->slabs == PZ_SLABS_AUTO) { /* those too that cost time */
    plan->slabs = PZ_SLABS_ALWAYS;
    PZ_TRY(pz_choose_slabs(plan, &size, err));
  }
  while (pz_plan_bytes(&size) > plan->memory) {
    double missing = (pz_plan_bytes(&size) - plan->memory) / 4, saved, slower;
    if (!change_one(plan, &any, &saved, &slower)) return too_small(plan, &size, err);
    for (missing -= saved; missing > 0 && change_one(plan, &any, &saved, &slower);) missing -= saved;
    PZ_TRY(pz_choose_slabs(plan, &size, err)); /* other algorithms have other tiles */
  }
  return PZ_OK;
}
