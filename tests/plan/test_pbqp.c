/* The global search against trying all assignments: random groups of one to three variables; chains and trees, where reductions are exact too; what is
 * forbidden; and PBQP's reductions beside dynamic programming where both run (NeoCPU 3.3.2: 88% of the best at least). */
#include "choose/pbqp.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 40, MOST_TABLE = 64 };

typedef struct random_problem {
  pz_arena *arena;
  pz_pbqp *p;
  int32_t n, values[MOST];
} random_problem;

static uint32_t state;
static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)state * below) >> 32);
}

static void add(random_problem *r, int32_t n, const int32_t *variables, uint32_t forbidden) {
  double cost[MOST_TABLE];
  int32_t entries = 1;
  pz_error err = {0};
  for (int32_t i = 0; i < n; i++) entries *= r->values[variables[i]];
  for (int32_t i = 0; i < entries; i++) cost[i] = draw(100) < forbidden ? INFINITY : draw(1000) / 16.0;
  assert_int_equal(pz_pbqp_add(r->p, n, variables, cost, &err), PZ_OK);
}

static random_problem begin(uint32_t seed, int32_t n) {
  random_problem r = {.arena = pz_arena_new(), .n = n};
  pz_error err = {0};
  state = seed;
  for (int32_t i = 0; i < n; i++) r.values[i] = 1 + (int32_t)draw(4);
  assert_int_equal(pz_pbqp_new(r.arena, n, r.values, &r.p, &err), PZ_OK);
  for (int32_t i = 0; i < n; i++) add(&r, 1, &i, 0);
  return r;
}

static double least_of_all(const random_problem *r) {
  int32_t value[MOST] = {0};
  double least = INFINITY;
  for (;;) {
    least = fmin(least, pz_pbqp_cost(r->p, value));
    int32_t i = 0;
    while (i < r->n && ++value[i] == r->values[i]) value[i++] = 0;
    if (i == r->n) return least;
  }
}

static double solved(const random_problem *r, const pz_pbqp_limits *limits, int32_t *heuristic) {
  int32_t value[MOST];
  pz_error err = {0};
  assert_int_equal(pz_pbqp_solve(r->p, limits, value, heuristic, &err), PZ_OK);
  for (int32_t i = 0; i < r->n; i++) assert_in_range(value[i], 0, r->values[i] - 1);
  return pz_pbqp_cost(r->p, value);
}

/* Sums in another order differ in their last bits: costs are multiples of 1/16, whose sums are exact. */
static void equal(double a, double b) {
  if (!(a <= b && a >= b)) fail_msg("%.17g, expected %.17g", a, b);
}

static void any_graph(void **unused) {
  (void)unused;
  for (uint32_t seed = 1; seed <= 400; seed++) {
    random_problem r = begin(seed, 1 + (int32_t)draw(7));
    for (uint32_t k = draw(12), forbidden = draw(3) * 15; k > 0 && r.n > 2; k--) {
      const int32_t a = (int32_t)draw((uint32_t)r.n), b = (a + 1 + (int32_t)draw((uint32_t)r.n - 1)) % r.n;
      int32_t c = (int32_t)draw((uint32_t)r.n);
      add(&r, c != a && c != b ? 3 : 2, (const int32_t[]){a, b, c}, forbidden);
    }
    int32_t fixed = -1;
    const double best = least_of_all(&r);
    equal(solved(&r, &pz_dynamic_programming, &fixed), best);
    assert_int_equal(fixed, 0);
    assert_true(solved(&r, &pz_pbqp_reductions, &fixed) >= best);
    pz_arena_free(r.arena);
  }
}

static void trees(void **unused) {
  (void)unused;
  for (uint32_t seed = 1; seed <= 100; seed++) {
    random_problem r = begin(seed, 9);
    int32_t fixed = -1;
    for (int32_t i = 1; i < r.n; i++) add(&r, 2, (const int32_t[]){(int32_t)draw((uint32_t)i), i}, 0);
    equal(solved(&r, &pz_pbqp_reductions, &fixed), least_of_all(&r));
    assert_int_equal(fixed, 0);
    pz_arena_free(r.arena);
  }
}

/* As dense as blocks whose layers read all layers before them. */
static void reductions_beside_dynamic_programming(void **unused) {
  (void)unused;
  double least = 1, sum = 0;
  int32_t fixed = 0, some = 0;
  enum { PROBLEMS = 60 };
  for (uint32_t seed = 1; seed <= PROBLEMS; seed++) {
    random_problem r = begin(seed, MOST);
    for (int32_t i = 1; i < r.n; i++)
      for (int32_t back = 1; back <= 4 && back <= i; back++)
        if (back == 1 || draw(2)) add(&r, 2, (const int32_t[]){i - back, i}, 0);
    const double exact = solved(&r, &pz_dynamic_programming, NULL);
    const double share = exact / solved(&r, &pz_pbqp_reductions, &fixed);
    some += fixed > 0;
    assert_true(share <= 1);
    if (share < least) least = share;
    sum += share / PROBLEMS;
    pz_arena_free(r.arena);
  }
  printf("PBQP's reductions reach %.3f of the best, at least %.3f\n", sum, least);
  assert_true(some > PROBLEMS / 2);
  assert_true(least >= 0.88 && sum >= 0.95);
}

/* A table that is not allowed ends in a choice, not in a failure. */
static void without_tables(void **unused) {
  (void)unused;
  random_problem r = begin(3, 12);
  int32_t fixed = 0;
  for (int32_t i = 0; i < r.n; i++)
    for (int32_t k = 0; k < i; k++) add(&r, 2, (const int32_t[]){k, i}, 0);
  const double best = solved(&r, &pz_dynamic_programming, &fixed);
  assert_int_equal(fixed, 0);
  assert_true(solved(&r, &(pz_pbqp_limits){64, 8}, &fixed) >= best);
  assert_true(fixed > 0);
  assert_true(solved(&r, &(pz_pbqp_limits){0, 1}, &fixed) >= best);
  pz_arena_free(r.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(any_graph), cmocka_unit_test(trees),
                                     cmocka_unit_test(reductions_beside_dynamic_programming),
                                     cmocka_unit_test(without_tables)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
