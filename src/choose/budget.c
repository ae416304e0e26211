/* budget.c: what convolutions give up of their time, or get for it, so that the whole network keeps within bounds: on error; and
 * on memory, packed weights and what a run needs. First changes the one that saves most for the time that it costs. Smaller
 * weights are also taken where they cost little. */
#include "choose/choose.h"

#include <math.h>
#include <stdlib.h>

typedef struct budget {
  pz_plan *plan;
  const pz_costs *costs;
} budget;

/* Another candidate for a node. */
typedef struct change {
  pz_node_id node;
  int32_t i;
  const pz_candidate *now, *then;
} change;

static int32_t chosen(const budget *b, pz_node_id n) { return b->plan->choices[n].chosen; }
static void choose(const budget *b, pz_node_id n, int32_t i) { b->plan->choices[n].chosen = i; }
static int32_t nodes(const budget *b) { return b->costs->n_nodes; }

static const pz_priced *priced(const budget *b, pz_node_id n, int32_t i) { return &b->costs->node[n][i]; }
static const pz_priced *priced_now(const budget *b, pz_node_id n) { return priced(b, n, chosen(b, n)); }

/* Costs of nodes add up, and may be changed one by one, as long as no edge between them changes: the layouts stay as they were chosen. Whoever
 * chooses layouts anew chooses with the bounds in mind. */
static bool keeps_edges(const budget *b, pz_node_id n, int32_t i) {
  const pz_priced *now = priced_now(b, n), *then = priced(b, n, i);
  return now->in == then->in && now->out == then->out && now->any_layout == then->any_layout;
}

static double slowdown(const budget *b, const change *c) {
  return priced(b, c->node, c->i)->cost - priced_now(b, c->node)->cost;
}

/* From a measured time to a guess. */
static bool is_unsure(const budget *b, const change *c) {
  return priced_now(b, c->node)->timed && !priced(b, c->node, c->i)->timed;
}

/* What a change is worth, for the bound `limits` of whoever asks; 0: it is none, or not allowed. */
typedef double gain_of(const budget *b, const void *limits, const change *c);

/* Makes the change of one node that is worth most. False: none is worth anything. */
static bool change_one(const budget *b, gain_of *gain, const void *limits, change *made, double *slower) {
  double best = 0;
  for (pz_node_id n = 0; n < nodes(b); n++)
    for (int32_t i = 0; i < b->costs->candidates[n]; i++) {
      const change c = {n, i, pz_plan_candidate(b->plan, n), &b->plan->choices[n].candidates[i]};
      const double w = keeps_edges(b, n, i) ? gain(b, limits, &c) : 0;
      if (w > best) best = w, *made = c;
    }
  if (best <= 0) return false;
  *slower = slowdown(b, made);
  choose(b, made->node, made->i);
  return true;
}

/* What is saved for each unit of time. */
static double for_time(const budget *b, double saved, const change *c) {
  const double slower = slowdown(b, c), least = 1e-6 * priced_now(b, c->node)->cost;
  return saved / (slower > least ? slower : least);
}

/* ---- error ---- */

/* Errors of layers are independent of each other: their squares add up. */
static double squares(const pz_candidate *c) { return c->added * c->added; }

/* What may be added to the square of the network's error. Less than 0: it is too large. */
static double slack_for_error(const budget *b) {
  return b->plan->max_error * b->plan->max_error - pz_error_of(b->plan);
}

/* Each convolution's candidate such that all take the least time and their squares keep within the bound: a multiple-choice
 * knapsack, by dynamic programming over the squares in STEPS parts of the bound, rounded up. */
enum { STEPS = 4096 };

typedef struct knapsack {
  const budget *budget;
  double *least,
      *further;     /* [STEPS + 1]: time of the nodes so far whose squares are so many parts or fewer */
  uint16_t *picked; /* [node][STEPS + 1] */
} knapsack;

/* Parts of the bound; more than STEPS: too many. */
static int32_t parts_of(const pz_plan *plan, const pz_candidate *c) {
  const double parts = ceil(squares(c) / (plan->max_error * plan->max_error) * STEPS);
  return parts <= STEPS ? (int32_t)parts : STEPS + 1;
}

static void add_node(knapsack *k, pz_node_id n, uint16_t *picked) {
  const pz_choice *choice = &k->budget->plan->choices[n];
  for (int32_t s = 0; s <= STEPS; s++) k->further[s] = INFINITY, picked[s] = 0;
  for (int32_t i = 0; i < choice->n && i <= UINT16_MAX; i++) {
    if (!keeps_edges(k->budget, n, i)) continue;
    const double time = priced(k->budget, n, i)->cost;
    for (int32_t parts = parts_of(k->budget->plan, &choice->candidates[i]), s = parts; s <= STEPS; s++)
      if (k->least[s - parts] + time < k->further[s])
        k->further[s] = k->least[s - parts] + time, picked[s] = (uint16_t)i;
  }
  double *swap = k->least;
  k->least = k->further, k->further = swap;
}

/* Where no choice keeps within the bound. */
static void choose_smallest(const budget *b) {
  for (pz_node_id n = 0; n < nodes(b); n++) {
    const pz_choice *choice = &b->plan->choices[n];
    int32_t best = choice->chosen;
    for (int32_t i = 0; i < choice->n; i++)
      if (keeps_edges(b, n, i) && choice->candidates[i].added < choice->candidates[best].added) best = i;
    choose(b, n, best);
  }
}

static double cost_of_all(const budget *b) {
  double cost = 0;
  for (pz_node_id n = 0; n < nodes(b); n++) cost += priced_now(b, n)->cost;
  return cost;
}

/* The parts are rounded up: what was chosen before may keep within the bound and be faster. */
static void solve(knapsack *k) {
  const budget *b = k->budget;
  uint16_t *picked = k->picked;
  for (int32_t s = 0; s <= STEPS; s++) k->least[s] = 0;
  for (pz_node_id n = 0; n < nodes(b); n++) add_node(k, n, picked), picked += STEPS + 1;
  if (slack_for_error(b) >= 0 && !(k->least[STEPS] < cost_of_all(b))) return;
  if (isinf(k->least[STEPS])) return choose_smallest(b);
  for (pz_node_id n = nodes(b) - 1, s = STEPS; n >= 0; n--) {
    picked -= STEPS + 1;
    choose(b, n, picked[s]);
    s -= parts_of(b->plan, pz_plan_candidate(b->plan, n));
  }
}

pz_status pz_satisfy_error_bound(pz_plan *plan, const pz_costs *costs, pz_error *err) {
  const budget b = {plan, costs};
  const size_t bytes = 2 * (STEPS + 1) * sizeof(double) + (size_t)nodes(&b) * (STEPS + 1) * sizeof(uint16_t);
  double *rows = malloc(bytes);
  if (!rows) return pz_fail_memory(err, "the choice of algorithms", bytes);
  knapsack k = {&b, rows, rows + STEPS + 1, (uint16_t *)(rows + 2 * (STEPS + 1))};
  solve(&k);
  free(rows);
  return PZ_OK;
}

/* ---- memory ---- */

/* Bytes saved for each unit of time; 0: nothing. */
static double gain(const budget *b, const change *c) {
  const double saved = c->now->weights - c->then->weights;
  if (c->now->weights <= 0 || c->then->weights <= 0 || saved <= 0) return 0;
  return for_time(b, saved, c);
}

/* A change costs `most` at most, saves `threshold` bytes at least for each unit of time, and adds `error` to the square of the network's at
 * most; if `sure`, it is not from a measured time to a guess. */
typedef struct limits {
  double most, threshold, error;
  bool sure;
} limits;

static double smaller_weights(const budget *b, const void *within, const change *c) {
  const limits *l = within;
  const double g = gain(b, c), error = squares(c->then) - squares(c->now);
  if (g <= 0 || slowdown(b, c) > l->most || g < l->threshold || (l->sure && is_unsure(b, c))) return 0;
  return error > 0 && error > l->error ? 0 : g;
}

/* What is saved, in bytes, and costs. False: there is no change left. */
static bool spend_some(const budget *b, limits l, double *saved, double *slower) {
  change c = {0};
  l.error = slack_for_error(b);
  if (!change_one(b, smaller_weights, &l, &c, slower)) return false;
  *saved = c.now->weights - c.then->weights;
  return true;
}

#define THRESHOLD 4 /* per cent of all memory for one of the time */

/* Gives a part of all convolutions' time for smaller weights, where it buys most, as long as it is worth it. size: of the plan
 * before. False: nothing was. */
static bool spend_slack(const budget *b, const pz_plan_size *size) {
  double cost, saved, slower;
  cost = cost_of_all(b);
  const double threshold = cost > 0 ? THRESHOLD * pz_plan_bytes(size) / cost : 0;
  double left = b->plan->slack * cost;
  bool any = false;
  for (; left > 0 &&
         spend_some(b, (limits){.most = left, .threshold = threshold, .sure = true}, &saved, &slower);
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

pz_status pz_satisfy_memory_bound(pz_plan *plan, const pz_costs *costs, pz_size_of size_of, pz_error *err) {
  const budget b = {plan, costs};
  const limits any = {.most = INFINITY};
  pz_plan_size size;
  PZ_TRY(size_of(plan, &size, err));
  if (plan->slack > 0 && spend_slack(&b, &size))
    PZ_TRY(size_of(plan, &size, err)); /* other algorithms have other tiles */
  if (plan->memory <= 0 || pz_plan_bytes(&size) <= plan->memory) return PZ_OK;
  if (plan->fuse_rows == PZ_FUSE_ROWS_AUTO) { /* those too that cost time */
    plan->fuse_rows = PZ_FUSE_ROWS_ALWAYS;
    PZ_TRY(size_of(plan, &size, err));
  }
  while (pz_plan_bytes(&size) > plan->memory) {
    double missing = (pz_plan_bytes(&size) - plan->memory) / 4, saved, slower;
    if (!spend_some(&b, any, &saved, &slower)) return too_small(plan, &size, err);
    for (missing -= saved; missing > 0 && spend_some(&b, any, &saved, &slower);) missing -= saved;
    PZ_TRY(size_of(plan, &size, err));
  }
  return PZ_OK;
}
