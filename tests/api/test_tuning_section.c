/* What a network file carries for tuning: its graph without weights has the problems of the graph with them, so that times of one are the other's. */
#include "api/tuning_section.h"
#include "optimise/optimise.h"
#include "planner/planner.h"
#include "plan/problem.h"
#include "support/random_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { GRAPHS = 60 };

static pz_plan *plan_of(const pz_graph *g) {
  const pz_plan_options options = {.sized = true, .threads = 2};
  pz_error err = {0};
  pz_plan *plan;
  if (pz_plan_new(g, &options, &plan, &err) != PZ_OK) fail_msg("%s", err.message);
  return plan;
}

/* *key: as the database has it. */
static void key_of(const pz_plan *plan, pz_node_id n, char key[PZ_DIGEST_TEXT]) {
  pz_text text = {0};
  assert_int_equal(pz_problem_key(&plan->problems[n], &plan->target, "", &text, key, NULL), PZ_OK);
  pz_text_free(&text);
}

static void compare(const pz_plan *with, const pz_plan *without) {
  assert_int_equal(with->graph->n_nodes, without->graph->n_nodes);
  for (pz_node_id n = 0; n < with->graph->n_nodes; n++) {
    const pz_choice *a = &with->choices[n], *b = &without->choices[n];
    char x[PZ_DIGEST_TEXT], y[PZ_DIGEST_TEXT];
    key_of(with, n, x), key_of(without, n, y);
    assert_string_equal(x, y);
    assert_int_equal(a->n, b->n);
    for (int32_t i = 0; i < a->n; i++) assert_string_equal(a->candidates[i].label, b->candidates[i].label);
  }
}

static void has_the_same_problems(pz_status (*make)(uint64_t seed, pz_graph **g, pz_error *err)) {
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    pz_graph *g, *again;
    pz_error err = {0};
    pz_text text = {0};
    assert_int_equal(make(seed, &g, &err), PZ_OK);
    assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
    pz_plan *with = plan_of(g);
    assert_int_equal(pz_graph_print_bare(g, &text), PZ_OK);
    if (pz_graph_parse(text.data, text.size, "bare", &again, &err) != PZ_OK)
      fail_msg("graph %d: %s", (int)seed, err.message);
    pz_plan *without = plan_of(again);
    compare(with, without);
    pz_plan_free(with), pz_plan_free(without);
    pz_graph_free(g), pz_graph_free(again);
    pz_text_free(&text);
  }
}

static void of_random_graphs(void **state) {
  (void)state;
  has_the_same_problems(pz_random_graph);
}
static void of_exported_graphs(void **state) {
  (void)state;
  has_the_same_problems(pz_random_exported_graph);
}

/* Numbers of layers, errors and labels, no name and no weight; the same text each time. */
static void is_printed_alike(void **state) {
  (void)state;
  const pz_compile_options options = {.target = "zen4", .max_error = 1e-6, .threads = 3};
  pz_graph *g;
  pz_error err = {0};
  const char *first, *second;
  assert_int_equal(pz_random_graph(3, &g, &err), PZ_OK);
  pz_plan *plan = plan_of(g);
  assert_int_equal(pz_tuning_section_print(&options, plan, &first, &err), PZ_OK);
  assert_int_equal(pz_tuning_section_print(&options, plan, &second, &err), PZ_OK);
  assert_string_equal(first, second);
  assert_non_null(strstr(first, "\"target\": \"zen4\""));
  assert_non_null(strstr(first, "\"max_error\": 1e-6"));
  assert_non_null(strstr(first, "\"threads\": 3"));
  pz_plan_free(plan);
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_random_graphs),
      cmocka_unit_test(of_exported_graphs),
      cmocka_unit_test(is_printed_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
