/* The tables of costs: all candidates are in them, whatever their layouts, edges lead where tensors go, and the global search reads nothing else, and finds what
 * trying all finds. */
#include "any_target.h"
#include "choose/choose.h"
#include "planner/planner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A first layer that can read NCHW and NCHWc, a crop that can be made in both, a last layer that leaves the network. */
static const char network[] = "graph \"test\"\n"
                              "input %x 1x4x8x16x16\n"
                              "const %w 32x4x3x3x3 = seed 1 scale 0.05\n"
                              "const %v 32x32x3x3x3 = seed 2 scale 0.05\n"
                              "const %u 2x32x1x1x1 = seed 3 scale 0.05\n"
                              "%a = conv \"first\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                              "%b = conv \"second\" %a, %v, _, %a kernel 3,3,3 pad 1,1,1:1,1,1\n"
                              "%s = crop \"crop\" %a size 1,32,8,16,16\n"
                              "%y = conv \"last\" %s, %u\n"
                              "output %y\noutput %a\noutput %b\n";

typedef struct fixture {
  pz_graph *g;
  pz_plan *plan;
} fixture;

static fixture planned(const char *text, pz_choose choose) {
  fixture f;
  pz_error err = {0};
  const pz_plan_options options = {.target = target, .choose = choose, .sized = true};
  if (pz_graph_parse(text, strlen(text), "test", &f.g, &err) != PZ_OK ||
      pz_plan_new(f.g, &options, &f.plan, &err) != PZ_OK)
    fail_msg("%s", err.message);
  return f;
}
static void end(fixture *f) {
  pz_plan_free(f->plan);
  pz_graph_free(f->g);
}
static pz_costs costs_of(const fixture *f, pz_choose choose) {
  pz_costs costs;
  pz_error err = {0};
  const pz_plan_options options = {.target = target, .choose = choose};
  assert_int_equal(pz_costs_of(f->plan, &options, &costs, &err), PZ_OK);
  return costs;
}
static pz_node_id layer(const fixture *f, const char *name) {
  const pz_node_id n = pz_graph_find_node(f->g, name);
  assert_int_not_equal(n, PZ_NONE);
  return n;
}

static void test_all_layouts(void **state) {
  (void)state;
  fixture f = planned(network, NULL);
  const pz_costs c = costs_of(&f, NULL);
  bool layouts[2][2] = {{false}};
  assert_int_equal(c.n_nodes, 4);
  for (pz_node_id n = 0; n < c.n_nodes; n++) {
    pz_candidates all;
    pz_error err = {0};
    assert_int_equal(pz_candidates_of(&f.plan->problems[n], &f.plan->target, f.plan->arena, &all, &err),
                     PZ_OK);
    int32_t direct = 0, there = 0; /* those that no bound on errors takes away */
    for (int32_t i = 0; i < all.n; i++) direct += all.list[i].solver->direct;
    for (int32_t i = 0; i < c.candidates[n]; i++) {
      const pz_candidate *k = &f.plan->choices[n].candidates[i];
      assert_true(c.node[n][i].cost == k->cost && !c.node[n][i].timed);
      assert_true(c.node[n][i].in == k->solver->in && c.node[n][i].out == k->solver->out);
      assert_true(i == 0 || c.node[n][i].cost >= c.node[n][i - 1].cost);
      there += k->solver->direct;
      layouts[k->solver->in][k->solver->out] = true;
    }
    assert_int_equal(there, direct);
  }
  assert_true(layouts[PZ_NCHW][PZ_NCHWC] && layouts[PZ_NCHWC][PZ_NCHWC] && layouts[PZ_NCHWC][PZ_NCHW] &&
              layouts[PZ_NCHW][PZ_NCHW]);
  end(&f);
}

static const pz_edge *edge(const pz_costs *c, pz_node_id from, pz_node_id to, int skip) {
  for (int32_t i = 0; i < c->n_edges; i++)
    if (c->edges[i].from == from && c->edges[i].to == to && skip-- == 0) return &c->edges[i];
  return NULL;
}

static void test_edges(void **state) {
  (void)state;
  fixture f = planned(network, NULL);
  const pz_costs c = costs_of(&f, NULL);
  const pz_node_id first = layer(&f, "first"), second = layer(&f, "second"), crop = layer(&f, "crop"),
                   last = layer(&f, "last");
  /* no weights; all outputs */
  assert_int_equal(c.n_edges, 1 + 2 + 1 + 1 + 3);
  assert_non_null(edge(&c, PZ_NONE, first, 0));
  assert_int_equal(edge(&c, first, second, 0)->reads, PZ_READS_IN);
  assert_int_equal(edge(&c, first, second, 1)->reads, PZ_READS_OUT);
  assert_true(edge(&c, first, crop, 0) && edge(&c, crop, last, 0) && !edge(&c, second, crop, 0));
  assert_true(edge(&c, last, PZ_NONE, 0) && edge(&c, first, PZ_NONE, 0) && !edge(&c, crop, PZ_NONE, 0));
  for (pz_node_id n = 0; n < c.n_nodes; n++) {
    for (int32_t i = c.into[n]; i < c.into[n + 1]; i++) assert_int_equal(c.edges[i].to, n);
    for (int32_t i = c.first_out[n]; i < c.first_out[n + 1]; i++)
      assert_int_equal(c.edges[c.out_of[i]].from, n);
  }
  assert_int_equal(c.first_out[first + 1] - c.first_out[first], 4);
  for (int32_t i = 0; i < c.n_edges; i++)
    for (int a = 0; a < 2; a++)
      for (int b = 0; b < 2; b++) assert_int_equal(c.edges[i].transform[a][b] > 0, a != b);
  /* a tensor of 32 channels is twice as many vectors as one of 4 */
  assert_true(edge(&c, first, crop, 0)->transform[0][1] == 2 * edge(&c, PZ_NONE, first, 0)->transform[0][1]);
  end(&f);
}

/* ---- the global search, over tables that no planner made ---- */

/* Two nodes in a row, each with a plain and a NCHWc candidate. */
typedef struct synthetic {
  pz_priced priced[2][2];
  const pz_priced *node[2];
  int32_t candidates[2], forced[2], into[3], out_of[2], first_out[3];
  pz_edge edges[3];
  pz_candidate list[2][2];
  pz_choice choices[2];
  pz_costs costs;
  pz_plan plan;
} synthetic;

static void make(synthetic *s, const double cost[2][2], int32_t how, double transform) {
  memset(s, 0, sizeof *s);
  for (int n = 0; n < 2; n++) {
    s->node[n] = s->priced[n];
    s->candidates[n] = 2, s->forced[n] = how;
    s->choices[n] = (pz_choice){s->list[n], 2, 0};
    for (int i = 0; i < 2; i++)
      s->priced[n][i] = (pz_priced){cost[n][i], (pz_layout)i, (pz_layout)i, .timed = how == PZ_BY_TIME};
  }
  const pz_node_id ends[3][2] = {{PZ_NONE, 0}, {0, 1}, {1, PZ_NONE}};
  for (int e = 0; e < 3; e++)
    s->edges[e] = (pz_edge){e, ends[e][0], ends[e][1], PZ_READS_IN, {{0, transform}, {transform, 0}}, 0};
  s->into[1] = 1, s->into[2] = 2;
  s->out_of[0] = 1, s->out_of[1] = 2, s->first_out[1] = 1, s->first_out[2] = 2;
  s->plan.choices = s->choices;
  s->costs =
      (pz_costs){2, 3, s->node, s->candidates, s->forced, s->edges, s->into, s->out_of, s->first_out, 0};
}
static void choose(synthetic *s) {
  const pz_prices none = {0};
  pz_error err = {0};
  s->plan.arena = pz_arena_new();
  assert_int_equal(pz_choose_solvers(&s->plan, &s->costs, &none, NULL, &err), PZ_OK);
  pz_arena_free(s->plan.arena);
}
static void expect(const double cost[2][2], int32_t how, double transform, int32_t a, int32_t b) {
  synthetic s;
  make(&s, cost, how, transform);
  choose(&s);
  assert_int_equal(s.choices[0].chosen, a);
  assert_int_equal(s.choices[1].chosen, b);
}

static void test_chosen(void **state) {
  (void)state;
  static const double apart[2][2] = {{1, 3}, {2, 5}}, equal[2][2] = {{1, 3}, {4, 4}},
                      reversed[2][2] = {{5, 3}, {5, 3}};
  /* by rank the first one is taken, whatever is converted; of equal ones that with fewer conversions */
  expect(apart, PZ_BY_COST, 100, 0, 0);
  expect(equal, PZ_BY_COST, 100, 0, 0);
  /* by time the fastest together: both in the other layout, with a conversion before and one behind, unless those take more */
  expect(reversed, PZ_BY_TIME, 0, 1, 1);
  expect(reversed, PZ_BY_TIME, 1.5, 1, 1);
  expect(reversed, PZ_BY_TIME, 2.5, 0, 0);
  synthetic s;
  make(&s, equal, PZ_BY_COST, 1); /* the first node is forced to be NCHWc */
  s.forced[0] = 1;
  choose(&s);
  assert_int_equal(s.choices[0].chosen, 1);
}

/* Costs of amounts are weighed against conversions, and of equal sums the first is taken. */
static void test_counted(void **state) {
  (void)state;
  static const double near[2][2] = {{3, 1}, {3, 1}}, once[2][2] = {{1, 1}, {5, 1}};
  static const struct {
    const double (*cost)[2];
    double transform;
    int32_t a, b;
  } cases[] = {{near, 0, 1, 1}, {near, 1.5, 1, 1}, {near, 5, 0, 0}, {once, 0.5, 0, 1}, {once, 100, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    synthetic s;
    make(&s, cases[i].cost, PZ_BY_COST, cases[i].transform);
    for (int n = 0; n < 2; n++) s.priced[n][0].counted = s.priced[n][1].counted = true;
    choose(&s);
    if (s.choices[0].chosen != cases[i].a || s.choices[1].chosen != cases[i].b)
      fail_msg("case %d: %d, %d", (int)i, (int)s.choices[0].chosen, (int)s.choices[1].chosen);
  }
}

/* A convolution that takes longer is taken where it does what follows it: of a pooling its time, or what that is expected to be. */
static void test_pooling(void **state) {
  (void)state;
  static const double cost[2][2] = {{3, 4}, {2, 2}};
  static const struct {
    double pooling;
    int32_t how, chosen;
  } cases[] = {{0, PZ_BY_TIME, 0},
               {9, PZ_BY_TIME, 1},
               {1e-9, PZ_BY_TIME, 1},
               {0.9, PZ_BY_COST, 0},
               {1.1, PZ_BY_COST, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    synthetic s;
    make(&s, cost, cases[i].how, 0);
    for (int n = 0; n < 2; n++) s.priced[n][1].in = s.priced[n][1].out = PZ_NCHW;
    for (int k = 0; k < 2; k++) s.priced[0][k].counted = true;
    s.priced[0][1].pools = true, s.edges[1].pooling = cases[i].pooling;
    choose(&s);
    if (s.choices[0].chosen != cases[i].chosen) fail_msg("case %d: %d", (int)i, (int)s.choices[0].chosen);
  }
}

/* Weights that have a price are smaller, by candidates that nobody would choose from too. */
static void test_price_of_weights(void **state) {
  (void)state;
  static const double cost[2][2] = {{1, 2}, {1, 2}};
  static const struct {
    pz_prices prices;
    int32_t chosen;
  } cases[] = {{{.byte = 0.05}, 0},
               {{.byte = 0.2}, 0},
               {{.byte = 0.05, .any = true}, 0},
               {{.byte = 0.2, .any = true}, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    synthetic s;
    pz_error err = {0};
    double expected;
    make(&s, cost, PZ_BY_TIME, 0);
    for (int n = 0; n < 2; n++) {
      s.priced[n][1].in = s.priced[n][1].out = PZ_NCHW, s.priced[n][1].timed = false;
      s.list[n][0].weights = 20, s.list[n][1].weights = 10;
    }
    s.plan.arena = pz_arena_new();
    assert_int_equal(pz_choose_solvers(&s.plan, &s.costs, &cases[i].prices, &expected, &err), PZ_OK);
    pz_arena_free(s.plan.arena);
    for (int n = 0; n < 2; n++)
      if (s.choices[n].chosen != cases[i].chosen) fail_msg("case %d: %d", (int)i, (int)s.choices[n].chosen);
    assert_true(fabs(expected - 2 * cost[0][cases[i].chosen]) < 1e-9);
  }
}

/* Of times within two per cent, with the same layouts, the smaller error is taken, then the smaller weights. */
static void test_near_times(void **state) {
  (void)state;
  static const double near[2][2] = {{1, 1.01}, {1, 1.03}};
  synthetic s;
  make(&s, near, PZ_BY_TIME, 0);
  for (int n = 0; n < 2; n++) s.priced[n][1].in = s.priced[n][1].out = PZ_NCHW;
  for (int n = 0; n < 2; n++) s.list[n][0].error = 2e-6, s.list[n][1].error = 1e-6;
  choose(&s);
  assert_int_equal(s.choices[0].chosen, 1);
  assert_int_equal(s.choices[1].chosen, 0);
  make(&s, near, PZ_BY_TIME, 0);
  for (int n = 0; n < 2; n++) s.priced[n][1].in = s.priced[n][1].out = PZ_NCHW;
  for (int n = 0; n < 2; n++) s.list[n][0].weights = 20, s.list[n][1].weights = 10;
  choose(&s);
  assert_int_equal(s.choices[0].chosen, 1);
  assert_int_equal(s.choices[1].chosen, 0);
}

/* ---- of networks ---- */

/* What a choice costs: all candidates but poolings that convolutions do, and of each tensor one conversion, however many want it. */
static double cost_of_all(const pz_costs *c, const int32_t *chosen) {
  double sum = 0;
  for (pz_node_id n = 0; n < c->n_nodes; n++) sum += c->node[n][chosen[n]].cost;
  for (int32_t k = 0; k < c->n_edges; k++) {
    const pz_edge *e = &c->edges[k];
    double cost =
        pz_edge_cost(c, e, e->from == PZ_NONE ? 0 : chosen[e->from], e->to == PZ_NONE ? 0 : chosen[e->to]);
    for (int32_t before = 0; before < k && cost > 0; before++) {
      const pz_edge *o = &c->edges[before];
      if (o->tensor == e->tensor && pz_edge_cost(c, o, o->from == PZ_NONE ? 0 : chosen[o->from],
                                                 o->to == PZ_NONE ? 0 : chosen[o->to]) > 0)
        cost = 0;
    }
    if (e->pooling > 0) cost -= pz_edge_spares(c, e, chosen[e->from], chosen[e->to]);
    sum += cost;
  }
  return sum;
}

/* Tries all pairs of layouts of all nodes, each with its cheapest candidate. */
static double least_of_all(const pz_costs *c, int32_t *chosen, pz_node_id n) {
  if (n == c->n_nodes) return cost_of_all(c, chosen);
  double least = INFINITY;
  for (int32_t i = 0; i < c->candidates[n]; i++) {
    bool first = true; /* of its layouts, and so the cheapest: lists are sorted */
    for (int32_t k = 0; k < i; k++) first = first && !pz_priced_alike(&c->node[n][k], &c->node[n][i]);
    if (!first || (!c->node[n][0].counted && c->node[n][i].cost > c->node[n][0].cost)) continue;
    chosen[n] = i;
    least = fmin(least, least_of_all(c, chosen, n + 1));
  }
  return least;
}

static double expect_least(fixture *f) {
  const pz_costs c = costs_of(f, NULL);
  const pz_prices none = {0};
  double expected;
  pz_error err = {0};
  int32_t now[16], all[16];
  assert_true(c.n_nodes <= 16);
  f->plan->max_error = 1; /* no bound */
  assert_int_equal(pz_choose_solvers(f->plan, &c, &none, &expected, &err), PZ_OK);
  for (pz_node_id n = 0; n < c.n_nodes; n++) now[n] = f->plan->choices[n].chosen;
  const double is = cost_of_all(&c, now), least = least_of_all(&c, all, 0);
  if (!(fabs(is - least) <= 1e-12 * least)) fail_msg("%g, the least is %g", is, least);
  return is;
}

/* A result that several read, one of them plain: one conversion for all of them. */
static void test_one_conversion(void **state) {
  (void)state;
  fixture f = planned(network, NULL);
  expect_least(&f);
  end(&f);
}

static void test_whole_plans(void **state) {
  (void)state;
  static const char *const layers[] = {
      "%a = conv \"a\" %x, %w kernel 1,3,3 pad 0,1,1:0,1,1\n%b = conv \"b\" %a, %v\n%c = concat \"c\" %a, "
      "%b\n"
      "%d = conv \"d\" %c, %u\n%e = eltwise \"e\" %a, %d\noutput %e\n",
      "%a = conv \"a\" %x, %w kernel 1,3,3\n%p = pool \"p\" %a kernel 1,2,2 stride 1,2,2\n%b = conv \"b\" "
      "%p, %v\n"
      "%s = softmax \"s\" %b\noutput %s\noutput %p\n",
      "%a = conv \"a\" %x, %w kernel 1,3,3\n%r = permute \"r\" %a order 0,1,3,2\n%b = conv \"b\" %r, %v\n%q "
      "= activation \"q\" %a act relu\n"
      "%g = activation \"g\" %b act tanh\noutput %q\noutput %g\n",
  };
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    char text[2000];
    snprintf(
        text, sizeof text,
        "graph \"test\"\ninput %%x 1x3x20x20\nconst %%w 16x3x3x3 = seed 1\nconst %%v 16x16x1x1 = seed 2\n"
        "const %%u 16x32x1x1 = seed 3\n%s",
        layers[i]);
    fixture f = planned(text, NULL);
    assert_true(expect_least(&f) > 0);
    end(&f);
  }
}

/* ---- times ---- */

/* A second for each thousand units of cost, of the second layer; the cheapest candidate has none there. */
static int32_t some_times(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  (void)host, (void)plan;
  if (strcmp(node->name, "second") != 0) return PZ_BY_COST;
  for (int32_t i = 1; i < n; i++) c[i].seconds = 1e-3 * c[i].cost;
  return PZ_BY_TIME;
}
static int32_t not_all_times(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c,
                             int32_t n) {
  some_times(host, plan, node, c, n);
  return PZ_BY_COST;
}

/* Costs of all nodes are in one unit, guesses are slower than times, and times that do not decide are not in the table. */
static void test_times(void **state) {
  (void)state;
  fixture f = planned(network, NULL);
  const pz_costs guessed = costs_of(&f, NULL), timed = costs_of(&f, some_times),
                 partly = costs_of(&f, not_all_times);
  const pz_node_id first = layer(&f, "first"), second = layer(&f, "second");
  assert_true(guessed.candidates[second] > 2);
  double slowest = 0;
  for (int32_t i = 1; i < timed.candidates[second]; i++) {
    const double seconds = 1e-3 * guessed.node[second][i].cost;
    assert_true(timed.node[second][i].timed && timed.node[second][i].cost == seconds);
    if (seconds > slowest) slowest = seconds;
    assert_true(partly.node[second][i].cost == guessed.node[second][i].cost && !partly.node[second][i].timed);
  }
  assert_true(timed.node[second][0].cost == slowest && !timed.node[second][0].timed);
  const double scale = timed.node[first][0].cost / guessed.node[first][0].cost;
  assert_true(scale > 0.999e-3 && scale < 1.001e-3);
  const double converted =
      edge(&timed, first, second, 0)->transform[0][1] / edge(&guessed, first, second, 0)->transform[0][1];
  assert_true(converted > 0.999e-3 && converted < 1.001e-3);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_all_layouts),      cmocka_unit_test(test_edges),
      cmocka_unit_test(test_chosen),           cmocka_unit_test(test_counted),
      cmocka_unit_test(test_near_times),       cmocka_unit_test(test_pooling),
      cmocka_unit_test(test_price_of_weights), cmocka_unit_test(test_one_conversion),
      cmocka_unit_test(test_whole_plans),      cmocka_unit_test(test_times)};
  return cmocka_run_group_tests(tests, set_target, NULL);
}
