/* budget.c: what convolutions give up of their time, or get for it, so that the whole network keeps within bounds: on error; and
 * on memory, packed weights and what a run needs. First changes the one that saves most for the time that it costs. Smaller
 * weights are also taken where they cost little. */
#include "choose/choose.h"

#include <math.h>
#include <stdlib.h>

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

static void choose(pz_plan *plan, pz_node_id n, int32_t i) { plan->choices[n].chosen = i; }

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
  choose(plan, at, (int32_t)(made->then - plan->choices[at].candidates));
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

/* Each convolution's candidate such that all take the least time and their squares keep within the bound: a multiple-choice
 * knapsack, by dynamic programming over the squares in STEPS parts of the bound, rounded up. */
enum { STEPS = 4096 };

typedef struct knapsack {
  const pz_plan *plan;
  double rate; /* seconds for each of the cost model's units, of what was timed; 1 where nothing was */
  double *least,
      *further; /* [STEPS + 1]: time of the convolutions so far whose squares are so many parts or fewer */
  uint16_t *picked; /* [convolution][STEPS + 1] */
} knapsack;

static double rate_of(const pz_plan *plan) {
  double seconds = 0, cost = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    for (int32_t i = 0; i < plan->choices[n].n; i++) {
      const pz_candidate *c = &plan->choices[n].candidates[i];
      if (c->seconds > 0) seconds += c->seconds, cost += c->cost;
    }
  return cost > 0 ? seconds / cost : 1;
}

/* Candidates that were not timed where others were: a guess, but slower than those. */
static double time_of(const knapsack *k, const pz_choice *choice, const pz_candidate *c) {
  double slowest = 0;
  if (c->seconds > 0) return c->seconds;
  for (int32_t i = 0; i < choice->n; i++)
    if (choice->candidates[i].seconds > slowest) slowest = choice->candidates[i].seconds;
  return slowest > k->rate * c->cost ? slowest : k->rate * c->cost;
}

/* Parts of the bound; more than STEPS: too many. */
static int32_t parts_of(const pz_plan *plan, const pz_candidate *c) {
  const double parts = ceil(squares(c) / (plan->max_error * plan->max_error) * STEPS);
  return parts <= STEPS ? (int32_t)parts : STEPS + 1;
}

static void add_convolution(knapsack *k, const pz_choice *choice, uint16_t *picked) {
  for (int32_t s = 0; s <= STEPS; s++) k->further[s] = INFINITY, picked[s] = 0;
  for (int32_t i = 0; i < choice->n && i <= UINT16_MAX; i++) {
    const double time = time_of(k, choice, &choice->candidates[i]);
    for (int32_t parts = parts_of(k->plan, &choice->candidates[i]), s = parts; s <= STEPS; s++)
      if (k->least[s - parts] + time < k->further[s])
        k->further[s] = k->least[s - parts] + time, picked[s] = (uint16_t)i;
  }
  double *swap = k->least;
  k->least = k->further, k->further = swap;
}

/* Where no choice keeps within the bound. */
static void choose_smallest(pz_plan *plan) {
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    const pz_choice *choice = &plan->choices[n];
    int32_t best = choice->chosen;
    for (int32_t i = 0; i < choice->n; i++)
      if (choice->candidates[i].added < choice->candidates[best].added) best = i;
    if (choice->n) choose(plan, n, best);
  }
}

static void solve(knapsack *k, pz_plan *plan) {
  uint16_t *picked = k->picked;
  for (int32_t s = 0; s <= STEPS; s++) k->least[s] = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (plan->choices[n].n) add_convolution(k, &plan->choices[n], picked), picked += STEPS + 1;
  if (isinf(k->least[STEPS])) return choose_smallest(plan);
  for (pz_node_id n = plan->graph->n_nodes - 1, s = STEPS; n >= 0; n--) {
    if (!plan->choices[n].n) continue;
    picked -= STEPS + 1;
    choose(plan, n, picked[s]);
    s -= parts_of(plan, pz_plan_candidate(plan, n));
  }
}

pz_status pz_meet_error(pz_plan *plan, pz_error *err) {
  size_t convolutions = 0;
  if (plan->max_error <= 0 || room_for_error(plan) >= 0) return PZ_OK;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) convolutions += plan->choices[n].n > 0;
  const size_t bytes = 2 * (STEPS + 1) * sizeof(double) + convolutions * (STEPS + 1) * sizeof(uint16_t);
  double *rows = malloc(bytes);
  if (!rows) return pz_fail_memory(err, "the choice of algorithms", bytes);
  knapsack k = {plan, rate_of(plan), rows, rows + STEPS + 1, (uint16_t *)(rows + 2 * (STEPS + 1))};
  solve(&k, plan);
  free(rows);
  return PZ_OK;
}

/* ---- memory ---- */

/* Bytes saved for each unit of time; 0: nothing. */
static double gain(const pz_candidate *now, const pz_candidate *then) {
  const double saved = now->weights - then->weights;
  if (now->weights <= 0 || then->weights <= 0 || saved <= 0) return 0;
  return for_time(saved, now, then);
}

/* A change costs `most` at most, saves `worth` bytes at least for each unit of time, and adds `error` to the square of the network's at
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

/* What is saved, in bytes, and costs. False: there is no change left. */
static bool spare_some(pz_plan *plan, limits l, double *saved, double *slower) {
  change c;
  l.error = room_for_error(plan);
  if (!change_one(plan, smaller_weights, &l, &c)) return false;
  *saved = c.now->weights - c.then->weights, *slower = slowdown(c.now, c.then);
  return true;
}

#define WORTH 4 /* per cent of all memory for one of the time */

/* Gives a part of all convolutions' time for smaller weights, where it buys most, as long as it is worth it. size: of the plan
 * before. False: nothing was. */
static bool spare_weights(pz_plan *plan, const pz_plan_size *size) {
  double cost = 0, saved, slower;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (plan->choices[n].n) cost += pz_plan_candidate(plan, n)->cost;
  const double worth = cost > 0 ? WORTH * pz_plan_bytes(size) / cost : 0;
  double left = plan->spare * cost;
  bool any = false;
  for (; left > 0 && spare_some(plan, (limits){.most = left, .worth = worth, .sure = true}, &saved, &slower);
       any = true)
    left -= slower > 0 ? slower : 0;
  return any;
}

static pz_status too_small(const pz_plan *plan, const pz_plan_size *size, pz_error *err) {
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s needs %.4g MB of memory at least (%.4g of weights, %.4g for a run), more than the %.4g MB allowed",
      plan->graph->name, 1e-6 * pz_plan_bytes(size), 1e-6 * (double)size->weights, 1e-6 * (double)size->run,
      1e-6 * plan->memory);
}

pz_status pz_meet_memory(pz_plan *plan, pz_size_of size_of, pz_error *err) {
  const limits any = {.most = INFINITY};
  pz_plan_size size;
  PZ_TRY(size_of(plan, &size, err));
  if (plan->spare > 0 && spare_weights(plan, &size))
    PZ_TRY(size_of(plan, &size, err)); /* other algorithms have other tiles */
  if (plan->memory <= 0 || pz_plan_bytes(&size) <= plan->memory) return PZ_OK;
  if (plan->slabs == PZ_SLABS_AUTO) { /* those too that cost time */
    plan->slabs = PZ_SLABS_ALWAYS;
    PZ_TRY(size_of(plan, &size, err));
  }
  while (pz_plan_bytes(&size) > plan->memory) {
    double missing = (pz_plan_bytes(&size) - plan->memory) / 4, saved, slower;
    if (!spare_some(plan, any, &saved, &slower)) return too_small(plan, &size, err);
    for (missing -= saved; missing > 0 && spare_some(plan, any, &saved, &slower);) missing -= saved;
    PZ_TRY(size_of(plan, &size, err));
  }
  return PZ_OK;
}
