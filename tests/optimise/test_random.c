/* test_random.c: random networks mean the same after the passes: all of them, and with each one switched off. */
#include "compare.h"
#include "optimise/optimise.h"
#include "support/random_graph.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { GRAPHS = 400 };
/* Folded weights are rounded to float once, a relative 6e-8 each, and a network of a few layers that keeps its values
 * of order 1 does not raise that tenfold. The exception are sums whose terms cancel by chance (an inner product of
 * thousands of terms with a result of two numbers): those are held to the same bound relative to their terms. They
 * are named, and few: at most one graph in a hundred. */
static const double tolerance = 1e-6;
enum { MOST_ILL_CONDITIONED = GRAPHS / 100 };

static void expect_equal(const pz_graph *before, const pz_graph *g, const char *what, uint64_t seed,
                         int *ill) {
  comparison c = compare_graphs(before, g, seed);
  if (c.error <= tolerance) return;
  if (!(c.error_terms <= tolerance))
    fail_msg("seed %d, %s: relative error %g of %%%s, %g of its terms", (int)seed, what, c.error, c.worst,
             c.error_terms);
  print_message("seed %d, %s: terms cancel in %%%s: relative error %.3g, %.3g of its terms\n", (int)seed,
                what, c.worst, c.error, c.error_terms);
  if (++*ill > MOST_ILL_CONDITIONED)
    fail_msg("more than %d graphs exceed %g", MOST_ILL_CONDITIONED, tolerance);
}

/* What has been seen over all graphs, so that the test cannot pass by never reaching a pass. */
static int fired[64];

static void count(void *host, const pz_pass *pass, int changes, const pz_graph *g) {
  int n;
  (void)host, (void)g;
  assert_true(changes > 0);
  fired[pass - pz_passes(&n)]++;
}

/* What the passes promise of the graph that they leave. */
static void check_promises(const pz_graph *g, const char *disable, uint64_t seed) {
  pz_error err = {0};
  if (pz_graph_verify(g, &err) != PZ_OK)
    fail_msg("seed %d without %s: %s", (int)seed, disable ? disable : "nothing", err.message);
  if (!pz_borders_sufficient(g))
    fail_msg("seed %d without %s: a border is missing", (int)seed, disable ? disable : "nothing");
  for (int32_t i = 0; i < g->n_nodes; i++) assert_true(g->nodes[i].op != PZ_OP_INNER_PRODUCT);
}

static pz_graph *random_graph(uint64_t seed) {
  pz_graph *g = NULL;
  pz_error err = {0};
  bool exported = seed % 2;
  if ((exported ? pz_random_exported_graph : pz_random_graph)(seed, &g, &err) != PZ_OK)
    fail_msg("seed %d: %s", (int)seed, err.message);
  for (int32_t i = 0; i < g->n_inputs && seed % 16 < 2; i++) g->tensors[g->inputs[i]].wanted = PZ_U8;
  return g;
}

static void check_optimised(const pz_graph *before, const char *disable, uint64_t seed, int *ill) {
  pz_graph *g = NULL;
  pz_error err = {0};
  assert_int_equal(pz_graph_copy(before, &g, &err), PZ_OK);
  if (pz_optimise(g, disable, disable ? NULL : count, NULL, &err) != PZ_OK)
    fail_msg("seed %d: %s", (int)seed, err.message);
  check_promises(g, disable, seed);
  expect_equal(before, g, disable ? disable : "all passes", seed, ill);
  pz_graph_free(g);
}

static void all_passes(void **state) {
  (void)state;
  int n, ill = 0;
  const pz_pass *passes = pz_passes(&n);
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    pz_graph *before = random_graph(seed);
    check_optimised(before, NULL, seed, &ill);
    pz_graph_free(before);
  }
  for (int i = 0; i < n; i++)
    if (fired[i] < GRAPHS / 40) fail_msg("%s changed only %d of %d graphs", passes[i].name, fired[i], GRAPHS);
}

static void each_one_off(void **state) {
  (void)state;
  int n;
  const pz_pass *passes = pz_passes(&n);
  int ill[64] = {0};
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    pz_graph *before = random_graph(seed);
    for (int i = 0; i < n; i++)
      if (!passes[i].required) check_optimised(before, passes[i].name, seed, &ill[i]);
    pz_graph_free(before);
  }
}

/* One pass with nothing before it, and again: the second run finds nothing to do. */
static void each_one_alone(void **state) {
  (void)state;
  int n, ill = 0;
  const pz_pass *passes = pz_passes(&n);
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    const pz_pass *pass = &passes[seed / 2 % (uint64_t)n];
    pz_graph *before = random_graph(seed), *g;
    pz_error err = {0};
    int changes = 0, again = 0;
    assert_int_equal(pz_graph_copy(before, &g, &err), PZ_OK);
    if (pass->rewrite(g, &changes, &err) != PZ_OK || pz_graph_verify(g, &err) != PZ_OK ||
        pass->rewrite(g, &again, &err) != PZ_OK)
      fail_msg("seed %d, %s: %s", (int)seed, pass->name, err.message);
    if (again != 0) fail_msg("seed %d, %s: %d changes, then %d", (int)seed, pass->name, changes, again);
    expect_equal(before, g, pass->name, seed, &ill);
    pz_graph_free(before);
    pz_graph_free(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_passes), cmocka_unit_test(each_one_off),
                                     cmocka_unit_test(each_one_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
