/* choose.c: the global search (NeoCPU 3.3.2) over the tables of costs: a candidate for each node, such that their costs and those of all conversions
 * between them are the least together, and the errors within the bound. Of candidates with the same layouts a node keeps the cheapest: of those
 * that were timed the fastest. What is left is a problem of a few values a node, which pbqp.h solves. A tensor that several read is converted once for
 * all: where there are several a variable of its own says whether it is. */
#include "choose/choose.h"
#include "choose/pbqp.h"

#include <math.h>

/* Times that differ by less are taken for equal: the smaller error decides, then the smaller weights. */
#define EQUAL 1.02

/* Candidates of one node with one set of layouts, which all do the epilogue's pooling or none; one of them stands for all. */
typedef struct option {
  int32_t candidate;
  double cost;
} option;

enum { MOST_OPTIONS = 16 }; /* layouts read, written, whether any is read, whether it pools */

typedef struct search {
  pz_plan *plan;
  const pz_costs *costs;
  pz_arena *arena;
  const pz_prices *prices;        /* in the unit of costs */
  option (*option)[MOST_OPTIONS]; /* by node */
  int32_t *options;               /* by variable: how many values it has; nodes come first */
  int32_t *readers, *variable;    /* by tensor: edges; its variable, -1: none */
  int32_t tensors, variables;
} search;

static pz_status no_memory(pz_error *err) { return pz_fail_memory(err, "the global search", 0); }

/* ---- what a node may have ---- */

static double square(const pz_candidate *c) { return c->added * c->added; }

/* Whether candidate i may be taken, as far as how the node is chosen goes. */
static bool is_allowed(const search *s, pz_node_id n, int32_t i) {
  const pz_priced *all = s->costs->node[n];
  const int32_t how = s->costs->forced[n];
  if (s->prices->any) return true;
  if (how >= 0) return i == how;
  if (how == PZ_BY_TIME) return all[i].timed;
  return all[0].counted || all[i].cost <= all[0].cost; /* ranks are no costs: of the first alone */
}

/* Ranks do not add up with costs. */
static double cost_of(const search *s, pz_node_id n, int32_t i) {
  const pz_priced *p = &s->costs->node[n][i];
  const bool rank = s->costs->forced[n] == PZ_BY_COST && !s->costs->node[n][0].counted;
  const pz_candidate *c = &s->plan->choices[n].candidates[i];
  return (rank ? 0 : p->cost) + s->prices->error * square(c) + s->prices->byte * c->weights;
}

static bool is_smaller(const pz_candidate *c, const pz_candidate *than) {
  return c->error < than->error || (c->error <= than->error && c->weights < than->weights);
}

static void take_cheapest(search *s, pz_node_id n, int32_t i) {
  option *o = s->option[n];
  const double cost = cost_of(s, n, i);
  int32_t k = 0;
  while (k < s->options[n] && !pz_priced_alike(&s->costs->node[n][o[k].candidate], &s->costs->node[n][i]))
    k++;
  if (k == s->options[n]) o[s->options[n]++] = (option){i, cost};
  else if (cost < o[k].cost) o[k] = (option){i, cost};
}

/* Of times that are near the fastest, one that is smaller. */
static void take_smaller(search *s, pz_node_id n, int32_t i) {
  const pz_candidate *c = s->plan->choices[n].candidates;
  for (int32_t k = 0; k < s->options[n]; k++) {
    option *o = &s->option[n][k];
    if (!pz_priced_alike(&s->costs->node[n][o->candidate], &s->costs->node[n][i])) continue;
    if (cost_of(s, n, i) <= EQUAL * o->cost && is_smaller(&c[i], &c[o->candidate])) o->candidate = i;
  }
}

static void find_options(search *s, pz_node_id n) {
  s->options[n] = 0;
  for (int32_t i = 0; i < s->costs->candidates[n]; i++)
    if (is_allowed(s, n, i)) take_cheapest(s, n, i);
  const bool free = s->prices->error <= 0 && s->prices->byte <= 0;
  for (int32_t i = 0; s->costs->forced[n] == PZ_BY_TIME && free && i < s->costs->candidates[n]; i++)
    if (is_allowed(s, n, i)) take_smaller(s, n, i);
  if (!s->options[n]) s->option[n][s->options[n]++] = (option){0, 0}; /* none was timed */
}

/* ---- the problem ---- */

static int32_t candidate_of(const search *s, pz_node_id n, int32_t i) {
  return n == PZ_NONE ? 0 : s->option[n][i].candidate;
}
static int32_t options_of(const search *s, pz_node_id n) { return n == PZ_NONE ? 1 : s->options[n]; }

static pz_status add_node(const search *s, pz_pbqp *p, pz_node_id n, pz_error *err) {
  double cost[MOST_OPTIONS];
  for (int32_t i = 0; i < s->options[n]; i++) cost[i] = s->option[n][i].cost;
  return pz_pbqp_add(p, 1, &n, cost, err);
}

/* Costs over those of `from`, `to` and the tensor's variable that there are. */
typedef double cost_at(const search *s, const pz_edge *e, int32_t i, int32_t j, int32_t converted);

static pz_status add_group(const search *s, pz_pbqp *p, const pz_edge *e, bool reader, cost_at *at,
                           pz_error *err) {
  double cost[MOST_OPTIONS * MOST_OPTIONS * 2];
  int32_t variable[3], n = 0, k = 0;
  const int32_t own = s->variable[e->tensor];
  if (e->from != PZ_NONE) variable[n++] = e->from;
  if (reader && e->to != PZ_NONE) variable[n++] = e->to;
  if (own >= 0) variable[n++] = own;
  for (int32_t i = 0; i < options_of(s, e->from); i++)
    for (int32_t j = 0; j < (reader ? options_of(s, e->to) : 1); j++)
      for (int32_t t = 0; t < (own >= 0 ? 2 : 1); t++)
        cost[k++] = at(s, e, candidate_of(s, e->from, i), reader ? candidate_of(s, e->to, j) : 0, t);
  return n ? pz_pbqp_add(p, n, variable, cost, err) : PZ_OK;
}

static double of_one_reader(const search *s, const pz_edge *e, int32_t i, int32_t j, int32_t converted) {
  (void)converted;
  return pz_edge_cost(s->costs, e, i, j);
}
/* Of several: what converting costs, and that it must be done where one wants it. */
static double of_converting(const search *s, const pz_edge *e, int32_t i, int32_t j, int32_t converted) {
  (void)j;
  const pz_layout written = pz_edge_written(s->costs, e, i);
  return converted ? e->transform[written][written == PZ_NCHW ? PZ_NCHWC : PZ_NCHW] : 0;
}
static double of_reading(const search *s, const pz_edge *e, int32_t i, int32_t j, int32_t converted) {
  return !converted && pz_edge_cost(s->costs, e, i, j) > 0 ? INFINITY : 0;
}

static double of_pooling(const search *s, const pz_edge *e, int32_t i, int32_t j, int32_t converted) {
  (void)converted;
  return -pz_edge_spares(s->costs, e, i, j);
}

static pz_status add_edges(const search *s, pz_pbqp *p, pz_error *err) {
  bool *told = PZ_NEW(s->arena, bool, (size_t)s->tensors + 1);
  if (!told) return no_memory(err);
  for (int32_t k = 0; k < s->costs->n_edges; k++) {
    const pz_edge *e = &s->costs->edges[k];
    const bool several = s->variable[e->tensor] >= 0;
    PZ_TRY(add_group(s, p, e, true, several ? of_reading : of_one_reader, err));
    if (e->pooling > 0) PZ_TRY(add_group(s, p, e, true, of_pooling, err));
    if (several && !told[e->tensor]) PZ_TRY(add_group(s, p, e, false, of_converting, err));
    told[e->tensor] = true;
  }
  return PZ_OK;
}

static pz_status begin(search *s, pz_error *err) {
  const pz_costs *c = s->costs;
  for (int32_t k = 0; k < c->n_edges; k++)
    if (c->edges[k].tensor >= s->tensors) s->tensors = c->edges[k].tensor + 1;
  const size_t most = (size_t)c->n_nodes + (size_t)s->tensors + 1;
  s->option = pz_arena_alloc(s->arena, (size_t)c->n_nodes + 1, sizeof *s->option);
  s->options = PZ_NEW(s->arena, int32_t, most);
  s->readers = PZ_NEW(s->arena, int32_t, most), s->variable = PZ_NEW(s->arena, int32_t, most);
  if (!s->option || !s->options || !s->readers || !s->variable) return no_memory(err);
  for (int32_t k = 0; k < c->n_edges; k++) s->readers[c->edges[k].tensor]++;
  s->variables = c->n_nodes;
  for (int32_t t = 0; t < s->tensors; t++) {
    s->variable[t] = s->readers[t] > 1 ? s->variables : -1;
    if (s->readers[t] > 1) s->options[s->variables++] = 2;
  }
  return PZ_OK;
}

static pz_status state(search *s, pz_pbqp **p, pz_error *err) {
  for (pz_node_id n = 0; n < s->costs->n_nodes; n++) find_options(s, n);
  PZ_TRY(pz_pbqp_new(s->arena, s->variables, s->options, p, err));
  for (pz_node_id n = 0; n < s->costs->n_nodes; n++) PZ_TRY(add_node(s, *p, n, err));
  return add_edges(s, *p, err);
}

/* Of the chosen candidates' errors and weights. */
static double paid(const pz_plan *plan, const pz_costs *costs, const pz_prices *prices) {
  double sum = 0;
  for (pz_node_id n = 0; n < costs->n_nodes; n++) {
    const pz_candidate *c = &plan->choices[n].candidates[plan->choices[n].chosen];
    sum += prices->error * square(c) + prices->byte * c->weights;
  }
  return sum;
}

/* *cost: what is expected of the plan, without prices. */
static pz_status solve(pz_plan *plan, const pz_costs *costs, const pz_prices *prices, double *cost,
                       pz_error *err) {
  search s = {.plan = plan, .costs = costs, .prices = prices, .arena = pz_arena_new()};
  pz_pbqp *p = NULL;
  if (!s.arena) return no_memory(err);
  pz_arena_watch(s.arena, pz_arena_watched(plan->arena));
  pz_status status = begin(&s, err);
  if (status == PZ_OK) status = state(&s, &p, err);
  int32_t *value = status == PZ_OK ? PZ_NEW(s.arena, int32_t, (size_t)s.variables + 1) : NULL;
  if (status == PZ_OK && !value) status = no_memory(err);
  if (status == PZ_OK) status = pz_pbqp_solve(p, &pz_dynamic_programming, value, NULL, err);
  for (pz_node_id n = 0; n < costs->n_nodes && status == PZ_OK; n++)
    plan->choices[n].chosen = candidate_of(&s, n, value[n]);
  if (status == PZ_OK) *cost = pz_pbqp_cost(p, value) - paid(plan, costs, prices);
  pz_arena_free(s.arena);
  return status;
}

/* ---- the bound on the error ---- */

double pz_error_of(const pz_plan *plan) {
  double sum = 0;
  for (pz_node_id n = 0; plan->graph && n < plan->graph->n_nodes; n++)
    if (plan->choices[n].n) sum += square(pz_plan_candidate(plan, n));
  return sum;
}

static bool is_within(const pz_plan *plan) {
  return plan->max_error <= 0 || pz_error_of(plan) <= plan->max_error * plan->max_error;
}

/* The least price at which the errors keep within the bound, to a few per cent: with a Lagrange multiplier layouts and errors are searched
 * together. What is left of the bound is for pz_satisfy_error_bound. */
static pz_status find_price(pz_plan *plan, const pz_costs *costs, pz_prices prices, double *cost,
                            pz_error *err) {
  enum { DOUBLINGS = 24, HALVINGS = 12 };
  double low = 0, high = 1e-3 * *cost / (plan->max_error * plan->max_error);
  int tries = 0;
  for (; tries < DOUBLINGS && !is_within(plan); tries++) {
    if (tries) low = high, high *= 4; /* up to 1e14 times where it began */
    prices.error = high;
    PZ_TRY(solve(plan, costs, &prices, cost, err));
  }
  for (int i = 0; i < HALVINGS && is_within(plan) && high > 1.02 * low; i++) {
    prices.error = low > 0 ? sqrt(low * high) : high / 16;
    PZ_TRY(solve(plan, costs, &prices, cost, err));
    if (is_within(plan)) {
      high = prices.error;
      continue;
    }
    low = prices.error, prices.error = high;
    PZ_TRY(solve(plan, costs, &prices, cost, err));
  }
  return PZ_OK;
}

pz_status pz_choose_solvers(pz_plan *plan, const pz_costs *costs, const pz_prices *prices, double *cost,
                            pz_error *err) {
  double expected = 0;
  PZ_TRY(solve(plan, costs, prices, &expected, err));
  if (!is_within(plan)) {
    PZ_TRY(find_price(plan, costs, *prices, &expected, err));
    expected -= pz_cost_of_nodes(plan, costs);
    PZ_TRY(pz_satisfy_error_bound(plan, costs, prices->byte, err));
    expected += pz_cost_of_nodes(plan, costs);
  }
  if (cost) *cost = expected;
  return PZ_OK;
}
