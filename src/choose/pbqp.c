#include "choose/pbqp.h"

#include <math.h>
#include <string.h>

/* Costs of variables together. stride: of each in the table. */
typedef struct group {
  int32_t n;
  int32_t *variable;
  int64_t *stride, entries;
  double *cost;
  bool gone;
  struct group *next; /* of the problem */
} group;

typedef struct link { /* of a variable, its groups */
  group *group;
  struct link *next;
} link;

struct pz_pbqp {
  pz_arena *arena;
  int32_t variables;
  const int32_t *values;
  group *first, **last;
};

static pz_status no_memory(pz_error *err) { return pz_fail_memory(err, "the global search", 0); }

pz_status pz_pbqp_new(pz_arena *arena, int32_t variables, const int32_t *values, pz_pbqp **out,
                      pz_error *err) {
  pz_pbqp *p = PZ_NEW(arena, pz_pbqp, 1);
  int32_t *copy = PZ_NEW(arena, int32_t, (size_t)variables + 1);
  if (!p || !copy) return no_memory(err);
  memcpy(copy, values, (size_t)variables * sizeof *copy);
  *p = (pz_pbqp){.arena = arena, .variables = variables, .values = copy};
  p->last = &p->first;
  *out = p;
  return PZ_OK;
}

/* Without costs. NULL: no memory. */
static group *new_group(pz_arena *arena, const int32_t *values, int32_t n, const int32_t *variables) {
  group *g = PZ_NEW(arena, group, 1);
  if (!g) return NULL;
  g->n = n, g->entries = 1;
  g->variable = PZ_NEW(arena, int32_t, (size_t)n + 1), g->stride = PZ_NEW(arena, int64_t, (size_t)n + 1);
  if (!g->variable || !g->stride) return NULL;
  for (int32_t i = n - 1; i >= 0; i--) {
    g->variable[i] = variables[i], g->stride[i] = g->entries;
    if (!pz_mul_i64(g->entries, values[variables[i]], &g->entries)) return NULL;
  }
  g->cost = PZ_NEW(arena, double, (size_t)g->entries);
  return g->cost ? g : NULL;
}

pz_status pz_pbqp_add(pz_pbqp *p, int32_t n, const int32_t *variables, const double *cost, pz_error *err) {
  group *g = new_group(p->arena, p->values, n, variables);
  if (!g) return no_memory(err);
  memcpy(g->cost, cost, (size_t)g->entries * sizeof *cost);
  *p->last = g, p->last = &g->next;
  return PZ_OK;
}

static double cost_of(const group *g, const int32_t *value) {
  int64_t at = 0;
  for (int32_t i = 0; i < g->n; i++) at += g->stride[i] * value[g->variable[i]];
  return g->cost[at];
}

double pz_pbqp_cost(const pz_pbqp *p, const int32_t *value) {
  double sum = 0;
  for (const group *g = p->first; g; g = g->next) sum += cost_of(g, value);
  return sum;
}

/* ---- solving ---- */

/* What an eliminated variable takes, by the values of its neighbours. */
typedef struct elimination {
  int32_t variable;
  const group *neighbours;
  const int32_t *best;
} elimination;

typedef struct solver {
  pz_arena *arena; /* of the search, not of the problem */
  const int32_t *values;
  int32_t variables, left;
  link **of;          /* by variable */
  int32_t *neighbour; /* of the variable that is looked at; */
  int32_t n;          /* how many */
  bool *seen, *decided;
  int64_t *table; /* by variable: entries over its neighbours; INT64_MAX: too many of them */
  int32_t *degree;
  elimination *done;
  int32_t n_done;
  int32_t *value;
  pz_pbqp_limits limits;
} solver;

static bool attach(solver *s, group *g) {
  for (int32_t i = 0; i < g->n; i++) {
    link *l = PZ_NEW(s->arena, link, 1);
    if (!l) return false;
    *l = (link){g, s->of[g->variable[i]]};
    s->of[g->variable[i]] = l;
  }
  return true;
}

static void sort(int32_t *list, int32_t n) {
  for (int32_t i = 1; i < n; i++)
    for (int32_t k = i; k > 0 && list[k] < list[k - 1]; k--) {
      const int32_t swap = list[k];
      list[k] = list[k - 1], list[k - 1] = swap;
    }
}

/* Into s->neighbour, in order; groups that are gone leave the list. */
static void find_neighbours(solver *s, int32_t v) {
  s->n = 0;
  for (link **at = &s->of[v]; *at;) {
    const group *g = (*at)->group;
    if (g->gone) {
      *at = (*at)->next;
      continue;
    }
    for (int32_t i = 0; i < g->n; i++)
      if (g->variable[i] != v && !s->seen[g->variable[i]])
        s->seen[s->neighbour[s->n++] = g->variable[i]] = true;
    at = &(*at)->next;
  }
  for (int32_t i = 0; i < s->n; i++) s->seen[s->neighbour[i]] = false;
  sort(s->neighbour, s->n);
}

static void measure(solver *s, int32_t v) {
  int64_t entries = 1;
  find_neighbours(s, v);
  s->degree[v] = s->n;
  for (int32_t i = 0; i < s->n; i++)
    if (!pz_mul_i64(entries, s->values[s->neighbour[i]], &entries)) entries = INT64_MAX;
  s->table[v] = s->n > s->limits.neighbours || entries > s->limits.entries ? INT64_MAX : entries;
}

/* Of a group, what an assignment of the neighbours adds to its index. */
static int64_t index_of(const solver *s, const group *g, int32_t v, int64_t *stride_of_v) {
  int64_t at = 0;
  for (int32_t i = 0; i < g->n; i++)
    if (g->variable[i] == v) *stride_of_v = g->stride[i];
    else at += g->stride[i] * s->value[g->variable[i]];
  return at;
}

/* The least cost of v beside its neighbours, and the value that has it. */
static double best_beside(const solver *s, int32_t v, double *sum, int32_t *best) {
  for (int32_t i = 0; i < s->values[v]; i++) sum[i] = 0;
  for (const link *l = s->of[v]; l; l = l->next) {
    int64_t stride = 0;
    const int64_t at = index_of(s, l->group, v, &stride);
    for (int32_t i = 0; i < s->values[v]; i++) sum[i] += l->group->cost[at + i * stride];
  }
  *best = 0;
  for (int32_t i = 1; i < s->values[v]; i++)
    if (sum[i] < sum[*best]) *best = i;
  return sum[*best];
}

/* The next assignment of the neighbours, the last one's values fastest. */
static void advance(solver *s, const group *over) {
  for (int32_t i = over->n - 1; i >= 0; i--) {
    int32_t *value = &s->value[over->variable[i]];
    if (++*value < s->values[over->variable[i]]) return;
    *value = 0;
  }
}

static void retire(solver *s, int32_t v) {
  for (link *l = s->of[v]; l; l = l->next) l->group->gone = true;
  s->decided[v] = true;
  s->left--;
}

/* Those whose neighbours have changed. */
static void measure_again(solver *s, const int32_t *list, int32_t n) {
  for (int32_t i = 0; i < n; i++) measure(s, list[i]);
}

static pz_status eliminate(solver *s, int32_t v, pz_error *err) {
  find_neighbours(s, v);
  group *over = new_group(s->arena, s->values, s->n, s->neighbour);
  int32_t *best = over ? PZ_NEW(s->arena, int32_t, (size_t)over->entries) : NULL;
  double *sum = PZ_NEW(s->arena, double, (size_t)s->values[v]);
  if (!over || !best || !sum) return no_memory(err);
  for (int32_t i = 0; i < over->n; i++) s->value[over->variable[i]] = 0;
  for (int64_t at = 0; at < over->entries; at++, advance(s, over))
    over->cost[at] = best_beside(s, v, sum, &best[at]);
  s->done[s->n_done++] = (elimination){v, over, best};
  retire(s, v);
  if (over->n && !attach(s, over)) return no_memory(err);
  measure_again(s, over->variable, over->n);
  return PZ_OK;
}

/* What each value of a variable costs by itself. */
static double cost_alone(const solver *s, int32_t v, int32_t value) {
  double sum = 0;
  for (const link *l = s->of[v]; l; l = l->next)
    if (!l->group->gone && l->group->n == 1) sum += l->group->cost[value];
  return sum;
}

/* Adds to `sum`, for each value of v, the least that the group and its other variables by themselves can cost. */
static pz_status add_least(const solver *s, const group *g, int32_t v, double *sum, pz_error *err) {
  double *least = PZ_NEW(s->arena, double, (size_t)s->values[v]);
  if (!least) return no_memory(err);
  for (int32_t i = 0; i < s->values[v]; i++) least[i] = INFINITY;
  for (int64_t at = 0; at < g->entries; at++) {
    double cost = g->cost[at];
    int32_t mine = 0;
    for (int32_t i = 0; i < g->n; i++) {
      const int32_t value = (int32_t)(at / g->stride[i] % s->values[g->variable[i]]);
      if (g->variable[i] == v) mine = value;
      else cost += cost_alone(s, g->variable[i], value);
    }
    if (cost < least[mine]) least[mine] = cost;
  }
  for (int32_t i = 0; i < s->values[v]; i++) sum[i] += least[i];
  return PZ_OK;
}

/* The group without v, which has its value. */
static pz_status fix_in(solver *s, const group *g, int32_t v, pz_error *err) {
  int32_t *rest = PZ_NEW(s->arena, int32_t, (size_t)g->n), n = 0;
  if (!rest) return no_memory(err);
  for (int32_t i = 0; i < g->n; i++)
    if (g->variable[i] != v) rest[n++] = g->variable[i];
  if (!n) return PZ_OK;
  group *left = new_group(s->arena, s->values, n, rest);
  if (!left) return no_memory(err);
  for (int32_t i = 0; i < n; i++) s->value[rest[i]] = 0;
  for (int64_t at = 0; at < left->entries; at++, advance(s, left)) left->cost[at] = cost_of(g, s->value);
  return attach(s, left) ? PZ_OK : no_memory(err);
}

/* RN. */
static pz_status fix(solver *s, int32_t v, pz_error *err) {
  double *sum = PZ_NEW(s->arena, double, (size_t)s->values[v]);
  if (!sum) return no_memory(err);
  find_neighbours(s, v);
  const int32_t n = s->n;
  int32_t *affected = PZ_NEW(s->arena, int32_t, (size_t)n + 1), best = 0;
  if (!affected) return no_memory(err);
  memcpy(affected, s->neighbour, (size_t)n * sizeof *affected);
  for (const link *l = s->of[v]; l; l = l->next) PZ_TRY(add_least(s, l->group, v, sum, err));
  for (int32_t i = 1; i < s->values[v]; i++)
    if (sum[i] < sum[best]) best = i;
  s->value[v] = best;
  link *before = s->of[v];
  retire(s, v);
  for (const link *l = before; l; l = l->next) PZ_TRY(fix_in(s, l->group, v, err));
  measure_again(s, affected, n);
  return PZ_OK;
}

/* The one with the smallest table; *most: the one with the most neighbours. */
static int32_t next_variable(const solver *s, int32_t *most) {
  int32_t least = -1;
  *most = -1;
  for (int32_t v = 0; v < s->variables; v++) {
    if (s->decided[v]) continue;
    if (least < 0 || s->table[v] < s->table[least]) least = v;
    if (*most < 0 || s->degree[v] > s->degree[*most]) *most = v;
  }
  return least;
}

static pz_status begin(solver *s, const pz_pbqp *p, pz_error *err) {
  const size_t n = (size_t)p->variables + 1;
  s->of = PZ_NEW(s->arena, link *, n), s->neighbour = PZ_NEW(s->arena, int32_t, n);
  s->seen = PZ_NEW(s->arena, bool, n), s->decided = PZ_NEW(s->arena, bool, n);
  s->table = PZ_NEW(s->arena, int64_t, n), s->degree = PZ_NEW(s->arena, int32_t, n);
  s->done = PZ_NEW(s->arena, elimination, n);
  if (!s->of || !s->neighbour || !s->seen || !s->decided || !s->table || !s->degree || !s->done)
    return no_memory(err);
  for (const group *g = p->first; g; g = g->next) {
    group *mine = PZ_NEW(s->arena, group, 1);
    if (!mine) return no_memory(err);
    *mine = *g;
    if (!attach(s, mine)) return no_memory(err);
  }
  for (int32_t v = 0; v < p->variables; v++) measure(s, v);
  return PZ_OK;
}

static pz_status work(solver *s, int32_t *heuristic, pz_error *err) {
  while (s->left > 0) {
    int32_t most;
    const int32_t v = next_variable(s, &most);
    if (s->table[v] < INT64_MAX) PZ_TRY(eliminate(s, v, err));
    else {
      PZ_TRY(fix(s, most, err));
      ++*heuristic;
    }
  }
  while (s->n_done-- > 0) {
    const elimination *e = &s->done[s->n_done];
    int64_t at = 0;
    for (int32_t i = 0; i < e->neighbours->n; i++)
      at += e->neighbours->stride[i] * s->value[e->neighbours->variable[i]];
    s->value[e->variable] = e->best[at];
  }
  return PZ_OK;
}

pz_status pz_pbqp_solve(const pz_pbqp *p, const pz_pbqp_limits *limits, int32_t *value, int32_t *heuristic,
                        pz_error *err) {
  int32_t fixed = 0;
  solver s = {.values = p->values,
              .variables = p->variables,
              .left = p->variables,
              .value = value,
              .limits = *limits};
  s.arena = pz_arena_new();
  if (!s.arena) return no_memory(err);
  pz_arena_watch(s.arena, pz_arena_watched(p->arena));
  pz_status status = begin(&s, p, err);
  if (status == PZ_OK) status = work(&s, &fixed, err);
  pz_arena_free(s.arena);
  if (heuristic) *heuristic = fixed;
  return status;
}
