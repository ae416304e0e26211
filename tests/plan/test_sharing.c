/* What a plan does about many workers: candidates whose pieces of work are few cost more, batches are cut for as many as there are, and bands are not
 * so small that workers wait. */
#include "choose/choose.h"
#include "place/bands.h"
#include "planner/planner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static pz_plan *planned(const char *text, int32_t threads, int64_t memory) {
  pz_graph *g = NULL;
  pz_plan *plan = NULL;
  pz_error err = {0};
  pz_plan_options options = {.threads = threads, .memory = memory, .fuse_rows = PZ_FUSE_ROWS_AUTO};
  assert_true(pz_target_parse("zen3", &options.target));
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  if (pz_plan_new(g, &options, &plan, &err) != PZ_OK) fail_msg("%s", err.message);
  return plan;
}

static void end(pz_plan *plan) {
  const pz_graph *g = plan->graph;
  pz_plan_free(plan);
  pz_graph_free((pz_graph *)(uintptr_t)g);
}

static void test_uneven(void **state) {
  (void)state;
  assert_true(pz_uneven(16, 64) == 4);
  assert_true(pz_uneven(64, 64) == 1);
  assert_true(pz_uneven(65, 64) == 128.0 / 65);
  assert_true(pz_uneven(3, 2) == 4.0 / 3);
  assert_true(pz_uneven(5, 1) == 1 && pz_uneven(5, 0) == 1 && pz_uneven(0, 8) == 1);
}

/* As the second level of Symmetric: 512 tiles of 4 x 4 x 4. */
static const char level[] = "graph \"level\"\n"
                            "input %x 1x64x32x32x32\n"
                            "const %w 64x64x3x3x3 = seed 1 scale 0.05\n"
                            "%a = conv \"first\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                            "%b = conv \"second\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                            "output %b\n";

static int64_t tiles_of(int64_t points, int m) { return (points + m - 1) / m; }

/* Batches of a candidate of the second layer; 0: it has none. */
static int64_t batches_of(const char *label) {
  int m[3], batch;
  if (sscanf(label, "Winograd F(%d,%d,%d), batches of %d", &m[0], &m[1], &m[2], &batch) != 4) return 0;
  return (tiles_of(32, m[0]) * tiles_of(32, m[1]) * tiles_of(32, m[2]) + batch - 1) / batch;
}

static const pz_choice *second_of(const pz_plan *plan) {
  return &plan->choices[pz_graph_find_node(plan->graph, "second")];
}

static bool has(const pz_plan *plan, const char *label) {
  const pz_choice *c = second_of(plan);
  for (int32_t i = 0; i < c->n; i++)
    if (!strcmp(c->candidates[i].label, label)) return true;
  return false;
}

static void test_batches_are_cut_for_the_workers(void **state) {
  (void)state;
  pz_plan *two = planned(level, 2, 0), *many = planned(level, 64, 0);
  assert_true(has(two, "Winograd F(4,4,4), batches of 12"));
  assert_false(has(many, "Winograd F(4,4,4), batches of 12"));
  assert_true(has(many, "Winograd F(4,4,4), batches of 8")); /* 64 batches */
  end(two), end(many);
}

/* What is chosen for two workers has too few batches for 64, what is chosen for 64 has not. */
static void test_few_pieces_cost(void **state) {
  (void)state;
  pz_plan *two = planned(level, 2, 0), *many = planned(level, 64, 0);
  const int64_t of_two = batches_of(pz_plan_candidate(two, pz_graph_find_node(two->graph, "second"))->label),
                of_many =
                    batches_of(pz_plan_candidate(many, pz_graph_find_node(many->graph, "second"))->label);
  assert_true(of_two > 0 && of_two < 64);
  assert_true(of_many == 0 || pz_uneven((double)of_many, 64) < 1.1);
  end(two), end(many);
}

/* An input of three channels; a kernel of 5 x 5; few channels out. */
static const char odd[] = "graph \"odd\"\n"
                          "input %x 1x3x1x30x40\n"
                          "const %w 32x3x1x3x3 = seed 1 scale 0.1\n"
                          "const %v 32x32x1x5x5 = seed 2 scale 0.05\n"
                          "const %u 2x32x1x3x3 = seed 3 scale 0.1\n"
                          "%a = conv \"first\" %x, %w kernel 1,3,3 pad 0,1,1:0,1,1 act relu\n"
                          "%b = conv \"second\" %a, %v kernel 1,5,5 pad 0,2,2:0,2,2 act relu\n"
                          "%c = conv \"last\" %b, %u kernel 1,3,3 pad 0,1,1:0,1,1\n"
                          "output %c\n";

static double cost_of(const pz_plan *plan, const char *node, const char *label) {
  const pz_choice *c = &plan->choices[pz_graph_find_node(plan->graph, node)];
  for (int32_t i = 0; i < c->n; i++)
    if (!strncmp(c->candidates[i].label, label, strlen(label))) return c->candidates[i].cost;
  fail_msg("%s: no candidate '%s'", node, label);
  return 0;
}

/* The cost on 64 workers beside that on one is what waiting takes. */
static void test_each_method_knows_its_pieces(void **state) {
  (void)state;
  const struct {
    const char *node, *label;
    double pieces;
  } rows[] = {{"first", "Winograd F(4) 1-D along w", 8}, /* bands of 4 rows */
              {"second", "FFT, tiles of 1x16x16", 2},    /* 12 tiles in batches of 6 */
              {"last", "Winograd F(4) 1-D along h", 8},  /* rows of tiles */
              {"last", "direct, lanes over input channels", 30}};
  pz_plan *one = planned(odd, 1, 0), *many = planned(odd, 64, 0);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const double waits =
        cost_of(many, rows[i].node, rows[i].label) / cost_of(one, rows[i].node, rows[i].label);
    if (waits / pz_uneven(rows[i].pieces, 64) < 0.999 || waits / pz_uneven(rows[i].pieces, 64) > 1.001)
      fail_msg("%s: %g times, not %g", rows[i].label, waits, pz_uneven(rows[i].pieces, 64));
  }
  end(one), end(many);
}

static const char large[] = "graph \"large\"\n"
                            "input %x 1x8x16x192x192\n"
                            "const %w 32x8x3x3x3 = seed 1 scale 0.1\n"
                            "const %v 32x32x3x3x3 = seed 2 scale 0.05\n"
                            "const %u 2x32x1x1x1 = seed 3 scale 0.1\n"
                            "%a = conv \"first\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                            "%b = conv \"second\" %a, %v kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                            "%c = conv \"third\" %b, %v kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                            "%d = conv \"last\" %c, %u\n"
                            "output %d\n";

static int chains_of(const pz_plan *plan) {
  int wanted = 0;
  for (int32_t i = 0; i < plan->n_chains; i++) wanted += plan->chains[i].wanted;
  return wanted;
}

static void test_bands_are_large_enough(void **state) {
  (void)state;
  pz_plan *two = planned(large, 2, 0), *many = planned(large, 64, 0);
  const int64_t of_two = two->arena_bytes + two->weight_bytes,
                of_many = many->arena_bytes + many->weight_bytes;
  assert_true(chains_of(two) > 0);
  assert_int_equal(chains_of(many), 0);
  assert_true(of_many > of_two);
  pz_plan *loose = planned(large, 64, 2 * of_many);
  assert_int_equal(chains_of(loose), 0);
  pz_plan *bound = planned(large, 64, (of_two + of_many) / 2); /* memory comes first */
  assert_true(chains_of(bound) > 0);
  assert_true(bound->arena_bytes + bound->weight_bytes <= (of_two + of_many) / 2);
  end(two), end(many), end(loose), end(bound);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_uneven), cmocka_unit_test(test_batches_are_cut_for_the_workers),
      cmocka_unit_test(test_few_pieces_cost), cmocka_unit_test(test_each_method_knows_its_pieces),
      cmocka_unit_test(test_bands_are_large_enough)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
