/* What the search may choose from (pz_search), and what is asked for of a layer: the plans, and that all of them compute the same. */
#include "plan/chosen.h"
#include "support/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Strides, dilation, channels that fill no block, a sum, a concatenation in place, a pooling, a result that leaves, and one that is read twice. */
static const char network[] =
    "graph \"searches\"\n"
    "input %x 2x3x1x19x21\n"
    "const %w1 20x3x1x5x5 = seed 1 scale 0.1\n"
    "const %w2 16x20x1x3x3 = seed 2 scale 0.05\n"
    "const %w3 16x16x1x1x1 = seed 3 scale 0.2\n"
    "const %w4 9x32x1x3x3 = seed 4 scale 0.05\n"
    "const %b 20 = seed 5\n"
    "const %s 16 = seed 6\n"
    "%a = conv \"a\" %x, %w1, %b kernel 1,5,5 stride 1,2,2 pad 0,2,2:0,2,2 act relu\n"
    "%c = conv \"c\" %a, %w2 kernel 1,3,3 dilation 1,2,2 pad 0,2,2:0,2,2 act relu 0.1\n"
    "%d = conv \"d\" %c, %w3, _, %c, %s kernel 1,1,1\n"
    "%e = concat \"e\" %c, %d axis 1\n"
    "%p = pool \"p\" %e kernel 1,2,2 stride 1,2,2\n"
    "%f = conv \"f\" %p, %w4 kernel 1,3,3 pad 0,1,1:0,1,1\n"
    "output %f\noutput %d\n";

static pz_graph *parsed(void) {
  pz_graph *g = NULL;
  pz_error err = {0};
  if (pz_graph_parse(network, strlen(network), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  return g;
}

static pz_status plan_of(const pz_graph *g, const pz_plan_options *options, pz_plan **plan, pz_error *err) {
  *err = (pz_error){0};
  return pz_plan_new(g, options, plan, err);
}

static pz_plan *plan_by(const pz_graph *g, pz_search search) {
  const pz_plan_options options = {.target = pz_target_as(PZ_ISA_AVX2), .search = search, .sized = true};
  pz_plan *plan;
  pz_error err;
  assert_int_equal(plan_of(g, &options, &plan, &err), PZ_OK);
  return plan;
}

static bool is_conv(const pz_plan *plan, pz_node_id n) { return plan->graph->nodes[n].op == PZ_OP_CONV; }

static void test_what_is_searched(void **state) {
  (void)state;
  pz_graph *g = parsed();
  for (int i = 0; i < PZ_SEARCHES; i++) {
    pz_plan *plan = plan_by(g, (pz_search)i);
    for (pz_node_id n = 0; n < g->n_nodes; n++) {
      const pz_solver *solver = pz_chosen(plan, n);
      if (!is_conv(plan, n) || i == PZ_SEARCH_GLOBAL) continue;
      assert_true(solver->direct);
      assert_int_equal(solver->out, i == PZ_SEARCH_NCHW ? PZ_NCHW : PZ_NCHWC);
    }
    pz_plan_free(plan);
  }
  pz_graph_free(g);
}

static int32_t conversions(const pz_plan *plan) {
  int32_t n = 0;
  for (int32_t i = 0; i < plan->n_steps; i++) n += plan->steps[i].node == PZ_NONE;
  return n;
}

/* Around each convolution there are more than where they are left out. */
static void test_conversions(void **state) {
  (void)state;
  pz_graph *g = parsed();
  int32_t n[PZ_SEARCHES];
  for (int i = 0; i < PZ_SEARCHES; i++) {
    pz_plan *plan = plan_by(g, (pz_search)i);
    n[i] = conversions(plan);
    pz_plan_free(plan);
  }
  assert_true(n[PZ_SEARCH_LAYOUT] >= n[PZ_SEARCH_TRANSFORMS] + 3);
  assert_true(n[PZ_SEARCH_GLOBAL] <= n[PZ_SEARCH_TRANSFORMS]);
  pz_graph_free(g);
}

static void test_same_results(void **state) {
  (void)state;
  pz_graph *g = parsed();
  for (int i = PZ_SEARCH_TRANSFORMS; i < PZ_SEARCHES; i++) {
    const pz_compiled_options options = {
        .name = "searches",
        .seed = 3,
        .plan = {.target = pz_target_as(pz_isa_native()), .search = (pz_search)i},
        .tolerance = 1e-6,
        .quick = true};
    pz_test_compiled(g, &options);
  }
  pz_graph_free(g);
}

/* ---- what is asked for ---- */

static const char *label_of(const pz_plan *plan, const char *layer) {
  return pz_plan_candidate(plan, pz_graph_find_node(plan->graph, layer))->label;
}

static void test_asked(void **state) {
  (void)state;
  pz_graph *g = parsed();
  static const char *const asked[] = {"d=direct in NCHW", "c=direct in NCHW", "c=direct, schedule 2"};
  const pz_plan_options options = {
      .target = pz_target_as(PZ_ISA_AVX2), .algorithms = asked, .n_algorithms = 3, .sized = true};
  pz_plan *plan;
  pz_error err;
  if (plan_of(g, &options, &plan, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_string_equal(label_of(plan, "d"), "direct in NCHW");
  assert_string_equal(label_of(plan, "c"), "direct, schedule 2"); /* the last one counts */
  pz_plan_free(plan);
  pz_graph_free(g);
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *asked, *message;
  } rows[] = {
      {"d=direct, schedule 99",
       "--algorithm d=direct, schedule 99: the layer has no such algorithm; it has 'direct'"},
      {"z=direct", "--algorithm z=direct: expected LAYER=ALGORITHM, of a layer that is there"},
      {"direct", "--algorithm direct: expected LAYER=ALGORITHM"},
      {"=direct", "--algorithm =direct: expected LAYER=ALGORITHM"},
  };
  pz_graph *g = parsed();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const pz_plan_options options = {
        .target = pz_target_as(PZ_ISA_AVX2), .algorithms = &rows[i].asked, .n_algorithms = 1, .sized = true};
    pz_plan *plan;
    pz_error err;
    assert_int_equal(plan_of(g, &options, &plan, &err), PZ_ERROR_USAGE);
    if (!strstr(err.message, rows[i].message)) fail_msg("%s", err.message);
  }
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_searched),
                                     cmocka_unit_test(test_conversions), cmocka_unit_test(test_same_results),
                                     cmocka_unit_test(test_asked), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
