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
 * of order 1 does not raise that tenfold. */
static const double tolerance = 1e-6;

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
  if (pz_random_graph(seed, &g, &err) != PZ_OK) fail_msg("seed %d: %s", (int)seed, err.message);
  return g;
}

static void check_optimised(const pz_graph *before, const char *disable, uint64_t seed) {
  pz_graph *g = NULL;
  pz_error err = {0};
  const char *worst = "";
  assert_int_equal(pz_graph_copy(before, &g, &err), PZ_OK);
  if (pz_optimise(g, disable, disable ? NULL : count, NULL, &err) != PZ_OK)
    fail_msg("seed %d: %s", (int)seed, err.message);
  check_promises(g, disable, seed);
  double error = compare_graphs(before, g, seed, &worst);
  if (!(error <= tolerance))
    fail_msg("seed %d without %s: relative error %g of %%%s", (int)seed, disable ? disable : "nothing", error,
             worst);
  pz_graph_free(g);
}

static void all_passes(void **state) {
  (void)state;
  int n;
  const pz_pass *passes = pz_passes(&n);
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    pz_graph *before = random_graph(seed);
    check_optimised(before, NULL, seed);
    pz_graph_free(before);
  }
  for (int i = 0; i < n; i++)
    if (fired[i] < GRAPHS / 40) fail_msg("%s changed only %d of %d graphs", passes[i].name, fired[i], GRAPHS);
}

static void each_one_off(void **state) {
  (void)state;
  int n;
  const pz_pass *passes = pz_passes(&n);
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    const pz_pass *pass = &passes[seed % (uint64_t)n];
    if (pass->required) continue;
    pz_graph *before = random_graph(seed);
    check_optimised(before, pass->name, seed);
    pz_graph_free(before);
  }
}

/* One pass with nothing before it, and again: the second run finds nothing to do. */
static void each_one_alone(void **state) {
  (void)state;
  int n;
  const pz_pass *passes = pz_passes(&n);
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    const pz_pass *pass = &passes[seed / 2 % (uint64_t)n];
    pz_graph *before = random_graph(seed), *g;
    pz_error err = {0};
    int changes, again;
    const char *worst = "";
    assert_int_equal(pz_graph_copy(before, &g, &err), PZ_OK);
    if (pass->rewrite(g, &changes, &err) != PZ_OK || pz_graph_verify(g, &err) != PZ_OK ||
        pass->rewrite(g, &again, &err) != PZ_OK)
      fail_msg("seed %d, %s: %s", (int)seed, pass->name, err.message);
    if (again != 0) fail_msg("seed %d, %s: %d changes, then %d", (int)seed, pass->name, changes, again);
    double error = compare_graphs(before, g, seed, &worst);
    if (!(error <= tolerance))
      fail_msg("seed %d, %s: relative error %g of %%%s", (int)seed, pass->name, error, worst);
    pz_graph_free(before);
    pz_graph_free(g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_passes), cmocka_unit_test(each_one_off),
                                     cmocka_unit_test(each_one_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
