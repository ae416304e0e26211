/* budget.c: what convolutions give up of their time, or get for it, so that the whole network keeps within bounds: on error; and
 * on memory, packed weights and what a run needs. Where memory is bound, weights have a price in the global search: the least one with which
 * the network fits, in bands as they are worth it or wherever there can be some, whichever is expected to take less time. Smaller weights
 * are also taken where they cost little: first changes the layer that saves most for the time that it costs. */
#include "choose/choose.h"

#include <math.h>
#include <stdlib.h>

typedef struct budget {
  pz_plan *plan;
  const pz_costs *costs;
  double byte; /* the price of weights */
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

/* Costs of nodes add up, and may be changed one by one, as long as no tensor is converted otherwise: the layouts stay as they were chosen. Whoever
 * chooses layouts anew chooses with the bounds in mind. */
static bool keeps_layouts(const budget *b, pz_node_id n, int32_t i) {
  const pz_priced *now = priced_now(b, n), *then = priced(b, n, i);
  return now->in == then->in && now->out == then->out && now->any_layout == then->any_layout;
}

/* Of a node with candidate i, less that of a pooling which it does then. */
static double cost_at(const pz_plan *plan, const pz_costs *c, pz_node_id n, int32_t i) {
  double cost = c->node[n][i].cost;
  for (int32_t k = c->first_out[n]; k < c->first_out[n + 1]; k++) {
    const pz_edge *e = &c->edges[c->out_of[k]];
    if (e->pooling > 0) cost -= pz_edge_spares(c, e, i, plan->choices[e->to].chosen);
  }
  return cost;
}
double pz_cost_of_nodes(const pz_plan *plan, const pz_costs *costs) {
  double cost = 0;
  for (pz_node_id n = 0; n < costs->n_nodes; n++) cost += cost_at(plan, costs, n, plan->choices[n].chosen);
  return cost;
}
static double cost_of_all(const budget *b) { return pz_cost_of_nodes(b->plan, b->costs); }

static double slowdown(const budget *b, const change *c) {
  return cost_at(b->plan, b->costs, c->node, c->i) - cost_at(b->plan, b->costs, c->node, chosen(b, c->node));
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
      const double w = keeps_layouts(b, n, i) ? gain(b, limits, &c) : 0;
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

/* Time and weights. */
static double paid_for(const budget *b, pz_node_id n, int32_t i) {
  return cost_at(b->plan, b->costs, n, i) + b->byte * b->plan->choices[n].candidates[i].weights;
}

static void add_node(knapsack *k, pz_node_id n, uint16_t *picked) {
  const pz_choice *choice = &k->budget->plan->choices[n];
  for (int32_t s = 0; s <= STEPS; s++) k->further[s] = INFINITY, picked[s] = 0;
  for (int32_t i = 0; i < choice->n && i <= UINT16_MAX; i++) {
    if (!keeps_layouts(k->budget, n, i)) continue;
    const double time = paid_for(k->budget, n, i);
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
      if (keeps_layouts(b, n, i) && choice->candidates[i].added < choice->candidates[best].added) best = i;
    choose(b, n, best);
  }
}

static double paid_for_all(const budget *b) {
  double cost = 0;
  for (pz_node_id n = 0; n < nodes(b); n++) cost += paid_for(b, n, chosen(b, n));
  return cost;
}

/* The parts are rounded up: what was chosen before may keep within the bound and be faster. */
static void solve(knapsack *k) {
  const budget *b = k->budget;
  uint16_t *picked = k->picked;
  for (int32_t s = 0; s <= STEPS; s++) k->least[s] = 0;
  for (pz_node_id n = 0; n < nodes(b); n++) add_node(k, n, picked), picked += STEPS + 1;
  if (slack_for_error(b) >= 0 && !(k->least[STEPS] < paid_for_all(b))) return;
  if (isinf(k->least[STEPS])) return choose_smallest(b);
  for (pz_node_id n = nodes(b) - 1, s = STEPS; n >= 0; n--) {
    picked -= STEPS + 1;
    choose(b, n, picked[s]);
    s -= parts_of(b->plan, pz_plan_candidate(b->plan, n));
  }
}

pz_status pz_satisfy_error_bound(pz_plan *plan, const pz_costs *costs, double byte, pz_error *err) {
  const budget b = {plan, costs, byte};
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

static bool adds_too_much(const change *c, double error) {
  const double added = squares(c->then) - squares(c->now);
  return added > 0 && added > error;
}

static double smaller_weights(const budget *b, const void *within, const change *c) {
  const limits *l = within;
  const double g = gain(b, c);
  if (g <= 0 || slowdown(b, c) > l->most || g < l->threshold || (l->sure && is_unsure(b, c))) return 0;
  return adds_too_much(c, l->error) ? 0 : g;
}

#define THRESHOLD 4 /* per cent of all memory for one of the time */

/* Gives a part of all convolutions' time for smaller weights, where it buys most, as long as it is worth it. size: of the plan
 * before. False: nothing was. */
static bool spend_slack(const budget *b, const pz_plan_size *size) {
  const double cost = cost_of_all(b), threshold = cost > 0 ? THRESHOLD * pz_plan_bytes(size) / cost : 0;
  double left = b->plan->slack * cost, slower;
  change made;
  bool any = false;
  while (left > 0) {
    const limits l = {left, threshold, slack_for_error(b), true};
    if (!change_one(b, smaller_weights, &l, &made, &slower)) break;
    left -= slower > 0 ? slower : 0, any = true;
  }
  return any;
}

static pz_status too_small(const pz_plan *plan, const pz_plan_size *size, pz_error *err) {
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s needs %.4g MB of memory at least (%.4g of weights, %.4g for a run), more than the %.4g MB allowed",
      plan->graph->name, 1e-6 * pz_plan_bytes(size), 1e-6 * (double)size->weights, 1e-6 * (double)size->run,
      1e-6 * plan->memory);
}

static bool fits(const pz_plan *plan, const pz_plan_size *size) {
  return plan->memory <= 0 || pz_plan_bytes(size) <= plan->memory;
}

/* The search with weights at a price, and what comes of it: size, and cost with that of bands. */
static pz_status try_price(const budget *b, double byte, pz_size_of size_of, pz_plan_size *size, double *cost,
                           pz_error *err) {
  const pz_prices prices = {.byte = byte, .any = true};
  PZ_TRY(pz_choose_solvers(b->plan, b->costs, &prices, cost, err));
  PZ_TRY(size_of(b->plan, size, err));
  *cost += b->costs->byte * size->again;
  return PZ_OK;
}

/* Smaller weights, one layer after the other, until the network fits or nothing is left. */
static pz_status shrink(const budget *b, pz_size_of size_of, pz_plan_size *size, pz_error *err) {
  limits l = {.most = INFINITY};
  change made = {0};
  double slower;
  while (!fits(b->plan, size)) {
    double missing = (pz_plan_bytes(size) - b->plan->memory) / 4;
    bool any = false;
    for (; missing > 0; missing -= made.now->weights - made.then->weights, any = true) {
      l.error = slack_for_error(b);
      if (!change_one(b, smaller_weights, &l, &made, &slower)) break;
    }
    if (!any) return PZ_OK;
    PZ_TRY(size_of(b->plan, size, err));
  }
  return PZ_OK;
}

/* The least price with which the network fits, to some per cent; the plan is that of it. If none does: of the one with which it is smallest, and
 * then layer by layer. */
static pz_status find_byte_price(const budget *b, pz_size_of size_of, pz_plan_size *size, double *cost,
                                 pz_error *err) {
  enum { RISES = 12, HALVINGS = 6 };
  double low = 0, price = 0, smallest = 0, least = INFINITY;
  const double begin = 1e-3 * cost_of_all(b) / pz_plan_bytes(size);
  for (int i = 0; i < RISES; i++) { /* up to 1e9 times where it began */
    low = price, price = i ? begin * pow(8, i - 1) : 0;
    PZ_TRY(try_price(b, price, size_of, size, cost, err));
    if (fits(b->plan, size)) break;
    if (pz_plan_bytes(size) < least) least = pz_plan_bytes(size), smallest = price;
  }
  if (!fits(b->plan, size)) {
    PZ_TRY(try_price(b, smallest, size_of, size, cost, err));
    *cost -= cost_of_all(b);
    PZ_TRY(shrink(b, size_of, size, err));
    *cost += cost_of_all(b);
    return PZ_OK;
  }
  for (int i = 0; i < HALVINGS && low > 0; i++) {
    const double middle = sqrt(low * price);
    PZ_TRY(try_price(b, middle, size_of, size, cost, err));
    *(fits(b->plan, size) ? &price : &low) = middle;
  }
  return low > 0 && !fits(b->plan, size) ? try_price(b, price, size_of, size, cost, err) : PZ_OK;
}

/* What a price of all weights leaves of the memory: faster algorithms where there is room for their weights. */
static double faster(const budget *b, const void *within, const change *c) {
  const limits *l = within;
  const double more = c->then->weights - c->now->weights, saved = -slowdown(b, c);
  if (saved <= 0 || more > l->most || adds_too_much(c, l->error)) return 0;
  return saved;
}
static pz_status use_room(const budget *b, pz_size_of size_of, pz_plan_size *size, pz_error *err) {
  change made;
  double slower;
  for (;;) {
    const limits l = {.most = b->plan->memory - pz_plan_bytes(size), .error = slack_for_error(b)};
    pz_plan_size then;
    if (!change_one(b, faster, &l, &made, &slower)) return PZ_OK;
    PZ_TRY(size_of(b->plan, &then, err));
    if (!fits(b->plan, &then)) {
      choose(b, made.node, (int32_t)(made.now - b->plan->choices[made.node].candidates));
      return size_of(b->plan, size, err);
    }
    *size = then;
  }
}

/* One way to lay the network out. */
typedef struct way {
  pz_fuse_rows fuse_rows;
  pz_plan_size size;
  double cost;
} way;

static pz_status find_way(const budget *b, pz_size_of size_of, way *w, pz_error *err) {
  b->plan->fuse_rows = w->fuse_rows;
  PZ_TRY(find_byte_price(b, size_of, &w->size, &w->cost, err));
  return fits(b->plan, &w->size) ? use_room(b, size_of, &w->size, err) : PZ_OK;
}

static pz_status fit(const budget *b, pz_size_of size_of, pz_plan_size *size, pz_error *err) {
  pz_plan *plan = b->plan;
  way ways[2] = {{plan->fuse_rows, *size, 0}, {PZ_FUSE_ROWS_ALWAYS, *size, 0}};
  const int n = plan->fuse_rows == PZ_FUSE_ROWS_AUTO ? 2 : 1; /* never: no bands are asked for */
  for (int i = 0; i < n; i++) PZ_TRY(find_way(b, size_of, &ways[i], err));
  const bool first =
      n == 2 && fits(plan, &ways[0].size) && (!fits(plan, &ways[1].size) || ways[0].cost <= ways[1].cost);
  if (first) PZ_TRY(find_way(b, size_of, &ways[0], err));
  const way *w = first ? &ways[0] : &ways[n - 1];
  return fits(plan, &w->size) ? PZ_OK : too_small(plan, &w->size, err);
}

pz_status pz_satisfy_memory_bound(pz_plan *plan, const pz_costs *costs, pz_size_of size_of, pz_error *err) {
  const budget b = {plan, costs, 0};
  pz_plan_size size;
  PZ_TRY(size_of(plan, &size, err));
  if (plan->slack > 0 && spend_slack(&b, &size))
    PZ_TRY(size_of(plan, &size, err)); /* other algorithms have other tiles */
  return fits(plan, &size) ? PZ_OK : fit(&b, size_of, &size, err);
}
