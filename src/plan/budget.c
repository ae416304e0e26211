/* budget.c: what convolutions give up of their time, or get for it, so that the whole network keeps within bounds: on error; and
 * on memory, packed weights and what a run needs. First changes the one that saves most for the time that it costs. Smaller
 * weights are also taken where they cost little. */
#include "plan/slabs.h"

#include <math.h>

/* What a change costs, in the cost model's units. Times are compared with times, else costs with costs. */
static double slowdown(const pz_candidate *now, const pz_candidate *then) {
  const bool timed = now->seconds > 0 && then->seconds > 0;
  return timed ? (then->seconds - now->seconds) / now->seconds * now->cost : then->cost - now->cost;
}

/* From a measured time to a guess. */
static bool unmeasured(const pz_candidate *now, const pz_candidate *then) {
  return now->seconds > 0 && then->seconds <= 0;
}

/* What a change is worth, for the bound `limits` of whoever asks; 0: it is none, or not allowed. */
typedef double worth_of(const pz_plan *plan, const void *limits, const pz_candidate *now,
                        const pz_candidate *then);

typedef struct change {
  const pz_candidate *now, *then;
} change;

/* Makes the change of one convolution that is worth most. False: none is worth anything. */
static bool change_one(pz_plan *plan, worth_of *worth, const void *limits, change *made) {
  double best = 0;
  pz_node_id at = PZ_NONE;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    for (int32_t i = 0; i < plan->choices[n].n; i++) {
      const pz_candidate *now = pz_plan_candidate(plan, n), *then = &plan->choices[n].candidates[i];
      const double w = worth(plan, limits, now, then);
      if (w > best) best = w, at = n, *made = (change){now, then};
    }
  if (at == PZ_NONE) return false;
  plan->choices[at].chosen = (int32_t)(made->then - plan->choices[at].candidates);
  plan->chosen[at] = made->then->solver;
  plan->variant[at] = made->then->variant;
  return true;
}

/* What is saved for each unit of time. */
static double for_time(double saved, const pz_candidate *now, const pz_candidate *then) {
  const double slower = slowdown(now, then), least = 1e-6 * now->cost;
  return saved / (slower > least ? slower : least);
}

/* ---- error ---- */

/* Errors of layers are independent of each other: their squares add up. */
static double squares(const pz_candidate *c) { return c->added * c->added; }

/* What may be added to the square of the network's error. Less than 0: it is too large. */
static double room_for_error(const pz_plan *plan) {
  double sum = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (plan->choices[n].n) sum += squares(pz_plan_candidate(plan, n));
  return plan->max_error * plan->max_error - sum;
}

/* Who gives time for a smaller error, one after the other: of those that were not worth timing the ones with larger errors, for what is
 * gained there is little and a guess; who was measured with both; all. */
typedef enum givers { UNTIMED, TIMED, ALL } givers;

static double smaller_error(const pz_plan *plan, const void *limits, const pz_candidate *now,
                            const pz_candidate *then) {
  const givers who = *(const givers *)limits;
  if (then->added >= now->added) return 0;
  if (who == UNTIMED && (now->seconds > 0 || now->added <= plan->layer_error / 2)) return 0;
  if (who == TIMED && (now->seconds <= 0 || then->seconds <= 0)) return 0;
  return for_time(squares(now) - squares(then), now, then);
}

typedef struct room {
  double error; /* room_for_error */
  bool timed;   /* some layer was: where none was, guesses decide */
} room;

/* Time that is gained for a larger error, where there is room for it. */
static double gained_time(const pz_plan *plan, const void *limits, const pz_candidate *now,
                          const pz_candidate *then) {
  const room *r = limits;
  const double gained = -slowdown(now, then);
  (void)plan;
  if (r->timed && (now->seconds <= 0 || then->seconds <= 0)) return 0;
  return gained > 0 && squares(then) - squares(now) <= r->error ? gained : 0;
}

static bool was_timed(const pz_plan *plan) {
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (plan->choices[n].n && pz_plan_candidate(plan, n)->seconds > 0) return true;
  return false;
}

void pz_meet_error(pz_plan *plan) {
  room r = {room_for_error(plan), was_timed(plan)};
  change c;
  if (plan->max_error <= 0 || r.error >= 0) return;
  for (givers who = UNTIMED; who <= ALL; who++)
    while (r.error < 0 && change_one(plan, smaller_error, &who, &c)) r.error = room_for_error(plan);
  while (change_one(plan, gained_time, &r, &c)) r.error = room_for_error(plan);
}

/* ---- memory ---- */

/* Floats saved for each unit of time; 0: nothing. */
static double gain(const pz_candidate *now, const pz_candidate *then) {
  const double saved = now->weights - then->weights;
  if (now->weights <= 0 || then->weights <= 0 || saved <= 0) return 0;
  return for_time(saved, now, then);
}

/* A change costs `most` at most, saves `worth` floats at least for each unit of time, and adds `error` to the square of the network's at
 * most; if `sure`, it is neither from a measured time to a guess nor to other layouts. */
typedef struct limits {
  double most, worth, error;
  bool sure;
} limits;

static double smaller_weights(const pz_plan *plan, const void *within, const pz_candidate *now,
                              const pz_candidate *then) {
  const limits *l = within;
  const pz_solver_layouts a = pz_candidate_layouts(now), b = pz_candidate_layouts(then);
  const bool unsure = unmeasured(now, then) || a.in != b.in || a.out != b.out;
  const double g = gain(now, then), error = squares(then) - squares(now);
  (void)plan;
  if (slowdown(now, then) > l->most || g < l->worth || (l->sure && unsure)) return 0;
  return error > 0 && error > l->error ? 0 : g;
}

/* What is saved, in floats, and costs. False: there is no change left. */
static bool spare_some(pz_plan *plan, limits l, double *saved, double *slower) {
  change c;
  l.error = room_for_error(plan);
  if (!change_one(plan, smaller_weights, &l, &c)) return false;
  *saved = c.now->weights - c.then->weights, *slower = slowdown(c.now, c.then);
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
  while (left > 0 && spare_some(plan, (limits){.most = left, .worth = worth, .sure = true}, &saved, &slower))
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
  const limits any = {.most = INFINITY};
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
    if (!spare_some(plan, any, &saved, &slower)) return too_small(plan, &size, err);
    for (missing -= saved; missing > 0 && spare_some(plan, any, &saved, &slower);) missing -= saved;
    PZ_TRY(pz_choose_slabs(plan, &size, err)); /* other algorithms have other tiles */
  }
  return PZ_OK;
}
