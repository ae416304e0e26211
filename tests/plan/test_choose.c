/* The candidates of a convolution, what the chooser sees and decides, and the texts of problems. */
#include "base/cpu.h"
#include "graph/graph.h"
#include "planner/planner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Convolutions whose problems differ, and a pooling that nobody asks about. */
static const char network[] = "graph \"test\"\n"
                              "input %x 1x32x8x16x16\n"
                              "const %w 32x32x3x3x3 = seed 1 scale 0.05\n"
                              "const %b 32 = seed 2 scale 0.05\n"
                              "%a = conv \"first\" %x, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                              "%c = conv \"second\" %a, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                              "%p = pool \"pool\" %c kernel 1,2,2 stride 1,2,2\n"
                              "%y = conv \"third\" %p, %w, %b kernel 3,3,3 pad 1,1,1:1,1,1\n"
                              "output %y\n";

typedef struct asked {
  const char *want; /* a label; NULL: the cheapest */
  int calls, found;
  bool sorted, distinct;
} asked;

static int32_t choose(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  asked *a = host;
  int32_t pick = 0;
  (void)plan;
  a->calls++;
  assert_int_equal(node->op, PZ_OP_CONV);
  for (int32_t i = 0; i < n; i++) {
    if (i && c[i].cost < c[i - 1].cost) a->sorted = false;
    for (int32_t k = 0; k < i; k++)
      if (!strcmp(c[i].label, c[k].label)) a->distinct = false;
    assert_true(c[i].seconds == 0 && c[i].error > 0);
    c[i].seconds = 0.5 + i;
    if (a->want && !strcmp(c[i].label, a->want)) pick = i, a->found++;
  }
  return pick;
}

static pz_graph *parsed(const char *text) {
  pz_graph *g = NULL;
  pz_error err = {0};
  assert_int_equal(pz_graph_parse(text, strlen(text), "test", &g, &err), PZ_OK);
  return g;
}

static pz_graph *graph(void) { return parsed(network); }

static pz_plan *plan_with(const pz_graph *g, pz_plan_options options, asked *a) {
  pz_plan *plan = NULL;
  pz_error err = {0};
  *a = (asked){.want = a->want, .sorted = true, .distinct = true};
  options.choose = choose;
  options.choose_host = a;
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
  assert_int_equal(a->calls, 3); /* direct sums have schedules to choose from */
  assert_true(a->sorted && a->distinct);
  return plan;
}

static void test_cheapest(void **state) {
  (void)state;
  pz_graph *g = graph();
  pz_plan *plain = NULL;
  pz_error err = {0};
  asked a = {.want = NULL};
  pz_plan *plan = plan_with(g, (pz_plan_options){.target = pz_target_as(PZ_ISA_SSE4)}, &a);
  assert_int_equal(pz_plan_new(g, &(pz_plan_options){.target = pz_target_as(PZ_ISA_SSE4)}, &plain, &err),
                   PZ_OK);
  assert_int_equal(plan->n_steps, plain->n_steps);
  for (int32_t i = 0; i < plan->n_steps; i++)
    assert_string_equal(plan->steps[i].algorithm, plain->steps[i].algorithm);
  pz_plan_free(plan);
  pz_plan_free(plain);
  pz_graph_free(g);
}

static void test_chosen_is_built(void **state) {
  (void)state;
  pz_graph *g = graph();
  asked a = {.want = "Winograd F(2,2,2), batches of 16"};
  pz_plan *plan = plan_with(g, (pz_plan_options){.target = pz_target_as(PZ_ISA_SSE4)}, &a);
  assert_int_equal(a.found, 3);
  for (int32_t i = 0; i < plan->n_steps; i++) {
    if (plan->steps[i].node == PZ_NONE || strcmp(plan->steps[i].op, "conv")) continue;
    const pz_candidate *c = pz_plan_candidate(plan, plan->steps[i].node);
    assert_string_equal(c->label, a.want);
    assert_true(c->seconds >= 0.5);
    assert_non_null(strstr(plan->steps[i].algorithm, "Winograd F(2,2,2), batches of 16"));
  }
  pz_plan_free(plan);
  pz_graph_free(g);
}

/* 128 tiles, 12 at a time at most: 12 batches of 11, not 10 of 12 and one of 8. */
static void test_equal_batches(void **state) {
  (void)state;
  pz_graph *g = graph();
  asked a = {.want = "Winograd F(2,4,2), batches of 11"};
  pz_plan *plan = plan_with(g, (pz_plan_options){.target = pz_target_as(PZ_ISA_SSE4)}, &a);
  assert_int_equal(a.found, 2);
  int built = 0;
  for (int32_t i = 0; i < plan->n_steps; i++) built += strstr(plan->steps[i].algorithm, a.want) != NULL;
  assert_int_equal(built, 2);
  pz_plan_free(plan);
  pz_graph_free(g);
}

static void test_exact_leaves_direct_sums(void **state) {
  (void)state;
  pz_graph *g = graph();
  asked a = {.want = NULL};
  pz_plan *plan = plan_with(g, (pz_plan_options){.target = pz_target_as(PZ_ISA_SSE4), .exact = true}, &a);
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    for (int32_t i = 0; i < plan->choices[n].n; i++)
      assert_null(strstr(plan->choices[n].candidates[i].label, "Winograd"));
  pz_plan_free(plan);
  pz_graph_free(g);
}

static char *text_of(const pz_plan *plan, const char *layer) {
  pz_text text = {0};
  pz_error err = {0};
  const pz_node_id n = pz_graph_find_node(plan->graph, layer);
  assert_int_equal(pz_problem_text(&plan->problems[n], &text, &err), PZ_OK);
  return text.data;
}

static void test_problems(void **state) {
  (void)state;
  pz_graph *g = graph();
  asked a = {.want = NULL};
  pz_plan *plan = plan_with(g, (pz_plan_options){.target = pz_target_as(PZ_ISA_SSE4)}, &a);
  char *first = text_of(plan, "first"), *second = text_of(plan, "second"), *third = text_of(plan, "third");
  assert_string_equal(first,
                      "conv 1x32x8x16x16 nchw, 32x32x3x3x3 weights, 32 weights, _, _, _ to 1x32x8x16x16 "
                      "kernel 3,3,3 pad 1,1,1:1,1,1 act relu");
  assert_string_equal(second, "conv 1x32x8x16x16 one-sign, 32x32x3x3x3 weights, 32 weights, _, _, _ to "
                              "1x32x8x16x16 kernel 3,3,3 pad 1,1,1:1,1,1 act relu");
  assert_string_equal(third,
                      "conv 1x32x8x8x8 one-sign, 32x32x3x3x3 weights, 32 weights, _, _, _ to 1x32x8x8x8 nchw "
                      "kernel 3,3,3 pad 1,1,1:1,1,1");
  free(first);
  free(second);
  free(third);
  pz_plan_free(plan);
  pz_graph_free(g);
}

/* What cannot be compiled is refused with the layer's name. */
static void test_refuses(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"graph \"g\"\ninput %x 1x8x4x4\ninput %w 8x8x1x1\n%y = conv \"c\" %x, %w\noutput %y\n",
       "t:4: layer 'c' (conv): its input 1, 'w', must be a constant"},
      {"graph \"g\"\ninput %x 1x8x4\ninput %s 8\n%y = activation \"a\" %x, %s act prelu\noutput %y\n",
       "t:4: layer 'a' (activation): its input 1, 's', must be a constant"},
      {"graph \"g\"\ninput %x 1x2x1x3x1x2\n%y = concat \"a\" %x, %x axis 2\noutput %y\n",
       "t:3: layer 'a' (concat): no algorithm of this version can run it in this form"},
  };
  const pz_plan_options options = {.target = pz_target_as(PZ_ISA_SSE4)};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pz_graph *g = NULL;
    pz_plan *plan = NULL;
    pz_error err = {0};
    assert_int_equal(pz_graph_parse(rows[i].text, strlen(rows[i].text), "t", &g, &err), PZ_OK);
    assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_ERROR_INPUT);
    assert_null(plan);
    if (!strstr(err.message, rows[i].message)) fail_msg("%s", err.message);
    pz_graph_free(g);
  }
}

/* A bound on memory is obeyed by algorithms with smaller weights; what cannot be is refused with the number. */
static void test_memory(void **state) {
  (void)state;
  pz_graph *g = graph();
  pz_plan *plan = NULL;
  pz_error err = {0};
  pz_plan_options options = {.target = pz_target_as(PZ_ISA_SSE4)};
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
  const double run = (double)plan->arena_bytes, weights = (double)plan->weight_bytes;
  pz_plan_free(plan);
  options.memory = run + weights;
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
  assert_true((double)plan->weight_bytes == weights);
  pz_plan_free(plan);
  options.memory = run + weights / 2;
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
  assert_true((double)(plan->arena_bytes + plan->weight_bytes) <= options.memory);
  pz_plan_free(plan);
  options.memory = run / 8;
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "MB of memory at least"));
  pz_graph_free(g);
}

static double cost_of(const pz_plan *plan) {
  double cost = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (plan->choices[n].n) cost += pz_plan_candidate(plan, n)->cost;
  return cost;
}

/* Weights become smaller for the part of the time that may be given, and no more of it is taken: what is not worth it stays,
 * however much may be given. Most of the network's memory are weights. */
static const char deep[] = "graph \"deep\"\n"
                           "input %x 1x64x4x14x14\n"
                           "const %w 64x64x3x3x3 = seed 1 scale 0.05\n"
                           "%a = conv \"a\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                           "%b = conv \"b\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                           "%y = conv \"c\" %b, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                           "output %y\n";
/* By the cost model of cores with 1 MiB of level 2 more is worth it than 0.05 buys. */
static void check_spare(const char *core, bool more) {
  pz_target row;
  pz_graph *g = NULL;
  pz_error err = {0};
  assert_true(pz_target_parse(core, &row));
  assert_int_equal(pz_graph_parse(deep, sizeof deep - 1, "test", &g, &err), PZ_OK);
  const double spare[4] = {0, 0.05, 0.3, 0.6};
  double cost[4] = {0};
  int64_t weights[4] = {0};
  for (int i = 0; i < 4; i++) {
    pz_plan *plan = NULL;
    const pz_plan_options options = {.target = pz_target_without(&row, ~PZ_NEEDS_SSE4), .slack = spare[i]};
    assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
    cost[i] = cost_of(plan), weights[i] = plan->weight_bytes;
    assert_true(cost[i] <= (1 + options.slack) * cost[0]);
    pz_plan_free(plan);
  }
  assert_true(weights[1] < weights[0]);
  assert_true(more ? weights[2] < weights[1] : weights[2] == weights[1] && cost[2] <= cost[1]);
  assert_true(weights[3] == weights[2] && cost[3] <= cost[2]);
  pz_graph_free(g);
}
static void test_spare(void **state) {
  (void)state;
  check_spare("zen4", true);
  check_spare("zen5", true);
  check_spare("sapphire-rapids", false);
}

/* ---- the error of the whole network ---- */

/* Convolutions in a row, on a CPU with AMX: products of bf16x2 have larger errors than minimal filtering. */
static pz_graph *chain(void) {
  static const char text[] = "graph \"test\"\n"
                             "input %x 1x64x8x32x32\n"
                             "const %w 64x64x3x3x3 = seed 1 scale 0.05\n"
                             "%a = conv \"a\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%b = conv \"b\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%c = conv \"c\" %b, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%d = conv \"d\" %c, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%e = conv \"e\" %d, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%y = conv \"f\" %e, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "output %y\n";
  return parsed(text);
}

static bool has_bf16x2(const pz_candidate *c) { return strstr(c->label, "bf16x2") != NULL; }

/* With two planes of halves at a time "c" takes half of what it takes otherwise, "e" less, the others nine tenths. */
static int32_t by_time(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  int32_t best = 0;
  (void)host, (void)plan;
  for (int32_t i = 0; i < n; i++) {
    const bool two = has_bf16x2(&c[i]) && strstr(c[i].label, "F(2,3)");
    const double of_two = *node->name == 'c' ? 0.5 : *node->name == 'e' ? 0.4 : 0.9;
    c[i].seconds = two ? of_two : strstr(c[i].label, "F(4,4,4)") ? 1 : 2;
    if (c[i].seconds < c[best].seconds) best = i;
  }
  return best;
}

static double squared_error(const pz_plan *plan) {
  double sum = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++) {
    const double e = plan->choices[n].n ? pz_plan_candidate(plan, n)->error : 0;
    sum += e * e;
  }
  return sum;
}

/* The names of those that take halves. */
static const char *bf16x2_of(const pz_plan *plan) {
  static char names[8];
  int n_names = 0;
  for (pz_node_id n = 0; n < plan->graph->n_nodes; n++)
    if (plan->choices[n].n && has_bf16x2(pz_plan_candidate(plan, n)))
      names[n_names++] = plan->graph->nodes[n].name[0];
  names[n_names] = 0;
  return names;
}

/* All layers together keep within the bound, measured or guessed, however many weights are to be saved; those that gain most by a larger
 * error have it. */
static void test_error(void **state) {
  (void)state;
  static const struct {
    double most;
    const char *measured; /* who takes halves by the times above */
  } bounds[] = {{1e-4, "abcdef"}, {1e-5, "ce"}, {7e-6, "e"}, {5e-6, ""}, {1e-6, ""}};
  pz_graph *g = chain();
  pz_error err = {0};
  double all_of_it[64];
  for (size_t i = 0; i < sizeof all_of_it / sizeof *all_of_it; i++) all_of_it[i] = 1;
  assert_true(g->n_nodes < 64);
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
    for (int measured = 0; measured < 2; measured++)
      for (int spare = 0; spare < 2; spare++) {
        pz_plan *plan = NULL;
        const pz_plan_options options = {.target = pz_target_as(PZ_ISA_AMX),
                                         .max_error = bounds[i].most,
                                         .slack = spare ? 0.6 : 0,
                                         .error_propagation = all_of_it,
                                         .choose = measured ? by_time : NULL};
        assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
        assert_true(squared_error(plan) <= bounds[i].most * bounds[i].most);
        if (measured && !spare) assert_string_equal(bf16x2_of(plan), bounds[i].measured);
        pz_plan_free(plan);
      }
  pz_graph_free(g);
}

/* Of a layer's error the bound counts what the result has. */
static void test_sensitivity(void **state) {
  (void)state;
  static const struct {
    double error_propagation[6]; /* of a, b, ... */
    const char *bf16x2;          /* who takes them by the times above, at 1e-5 */
  } rows[] = {{{1, 1, 1, 1, 1, 1}, "ce"},
              {{0.2, 0.2, 0.2, 0.2, 0.2, 0.2}, "abcdef"},
              {{0.1, 0.1, 2, 0.1, 0.1, 0.1}, "abdef"},
              {{0.1, 0.1, 1, 0.1, 1, 2}, "abcde"},
              {{3, 3, 3, 3, 3, 3}, ""}};
  pz_graph *g = chain();
  pz_error err = {0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pz_plan *plan = NULL;
    const pz_plan_options options = {.target = pz_target_as(PZ_ISA_AMX),
                                     .max_error = 1e-5,
                                     .error_propagation = rows[i].error_propagation,
                                     .choose = by_time};
    double sum = 0;
    assert_int_equal(g->n_nodes, 6);
    assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
    for (pz_node_id n = 0; n < g->n_nodes; n++) {
      const double e = pz_plan_candidate(plan, n)->error * rows[i].error_propagation[n];
      sum += e * e;
    }
    assert_true(sum <= 1e-10);
    assert_string_equal(bf16x2_of(plan), rows[i].bf16x2);
    pz_plan_free(plan);
  }
  pz_graph_free(g);
}

/* Tiles at the node named by the host's letter, and nowhere else. */
static int32_t tiles_at(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  (void)plan;
  for (int32_t i = 0; i < n; i++)
    if ((strstr(c[i].label, "bf16") != NULL) == (*node->name == *(const char *)host)) return i;
  fail_msg("layer %s has no such candidate", node->name);
  return 0;
}

/* Only a network with a layer that takes tiles asks for them, whichever layer that is. */
static void test_spares_tiles(void **state) {
  (void)state;
  static const char text[] = "graph \"test\"\n"
                             "input %x 1x1x8x16x32\n"
                             "const %wf 32x1x3x3x3 = seed 1 scale 0.05\n"
                             "const %wm 32x32x3x3x3 = seed 2 scale 0.05\n"
                             "const %wd 32x32x1x2x2 = seed 3 scale 0.05\n"
                             "const %wl 3x32x1x5x5 = seed 4 scale 0.05\n"
                             "%a = conv \"first\" %x, %wf kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                             "%b = conv \"middle\" %a, %wm kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                             "%c = deconv \"up\" %b, %wd kernel 1,2,2 stride 1,2,2 act relu\n"
                             "%y = conv \"last\" %c, %wl kernel 1,5,5 pad 0,2,2:0,2,2\n"
                             "output %y\n";
  pz_graph *g = parsed(text);
  pz_error err = {0};
  for (const char *who = "fmul-"; *who; who++) {
    pz_plan *plan = NULL;
    const pz_plan_options options = {.target = pz_target_as(PZ_ISA_AMX),
                                     .max_error = 1e-3,
                                     .choose = tiles_at,
                                     .choose_host = (void *)who};
    assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
    pz_plan_spare_tiles(plan);
    assert_int_equal(pz_target_isa(&plan->target), *who == '-' ? PZ_ISA_AVX512 : PZ_ISA_AMX);
    pz_plan_free(plan);
  }
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_error),         cmocka_unit_test(test_sensitivity),
      cmocka_unit_test(test_spare),         cmocka_unit_test(test_spares_tiles),
      cmocka_unit_test(test_cheapest),      cmocka_unit_test(test_chosen_is_built),
      cmocka_unit_test(test_equal_batches), cmocka_unit_test(test_exact_leaves_direct_sums),
      cmocka_unit_test(test_problems),      cmocka_unit_test(test_refuses),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
