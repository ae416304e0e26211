/* test_run.c: the walk over a graph, failing allocations, and the error measure. */
#include "fixture.h"
#include <stdio.h>
#include <string.h>

/* calloc of the code under test fails at the call with this number, counted from 1; 0: never. */
static int fail_at, calls;
static int live; /* blocks that the code under test holds */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p) {
  live -= p != NULL;
  __real_free(p);
}
void *__wrap_calloc(size_t count, size_t size) {
  if (++calls == fail_at) return NULL;
  live++;
  return __real_calloc(count, size);
}

/* x -> relu -> r; r + x -> s; s * 2 -> d, with r and d as outputs, and x itself. */
static pz_graph *small_graph(void) {
  pz_error err = {0};
  pz_graph *g;
  pz_tensor_id x, r, s, d;
  assert_int_equal(pz_graph_new("small", &g, &err), PZ_OK);
  assert_int_equal(pz_graph_add_input(g, "x", &SHAPE(1, 2, 2), &x, &err), PZ_OK);
  pz_node relu = pz_node_new(PZ_OP_ACTIVATION), sum = pz_node_new(PZ_OP_ELTWISE),
          twice = pz_node_new(PZ_OP_POWER);
  relu.name = "relu", relu.in = &x, relu.n_in = 1, relu.attr.activation.act.kind = PZ_ACT_RELU;
  assert_int_equal(pz_graph_add_node(g, &relu, 1, (const char *[]){"r"}, &r, &err), PZ_OK);
  sum.name = "sum", sum.in = (pz_tensor_id[]){r, x}, sum.n_in = 2, sum.attr.eltwise.kind = PZ_ELT_SUM;
  assert_int_equal(pz_graph_add_node(g, &sum, 1, (const char *[]){"s"}, &s, &err), PZ_OK);
  twice.name = "twice", twice.in = &s, twice.n_in = 1, twice.attr.power = (pz_attr_power){1, 2, 0};
  assert_int_equal(pz_graph_add_node(g, &twice, 1, (const char *[]){"d"}, &d, &err), PZ_OK);
  assert_int_equal(pz_graph_add_output(g, r, &err), PZ_OK);
  assert_int_equal(pz_graph_add_output(g, d, &err), PZ_OK);
  assert_int_equal(pz_graph_add_output(g, x, &err), PZ_OK);
  return g;
}

static const float x[4] = {-1, 2, -3, 4};

static void runs_a_graph(void **state) {
  (void)state;
  pz_graph *g = small_graph();
  pz_error err = {0};
  double r[4], d[4], same[4];
  assert_int_equal(pz_reference_run(g, (const float *[]){x}, (double *[]){r, d, same}, NULL, NULL, &err),
                   PZ_OK);
  for (int i = 0; i < 4; i++) {
    assert_true(r[i] == (x[i] > 0 ? x[i] : 0));
    assert_true(d[i] == 2 * (r[i] + x[i]));
    assert_true(same[i] == x[i]);
  }
  pz_graph_free(g);
}

typedef struct seen {
  char names[64];
  int stop_after, count;
} seen;

static pz_status look(void *host, const pz_graph *g, pz_tensor_id id, double *values) {
  seen *s = host;
  assert_non_null(values);
  strcat(s->names, g->tensors[id].name);
  return ++s->count == s->stop_after ? PZ_INTERRUPTED : PZ_OK;
}

static void visits_in_order(void **state) {
  (void)state;
  pz_graph *g = small_graph();
  pz_error err = {0};
  seen all = {0}, two = {.stop_after = 2};
  assert_int_equal(pz_reference_run(g, (const float *[]){x}, NULL, look, &all, &err), PZ_OK);
  assert_string_equal(all.names, "rsd");
  assert_int_equal(pz_reference_run(g, (const float *[]){x}, NULL, look, &two, &err), PZ_INTERRUPTED);
  assert_string_equal(two.names, "rs");
  pz_graph_free(g);
}

static void refuses_removed_layers(void **state) {
  (void)state;
  pz_graph *g = small_graph();
  pz_error err = {0};
  pz_graph_kill_node(g, 1);
  assert_int_equal(pz_reference_run(g, (const float *[]){x}, NULL, NULL, NULL, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "sum"));
  pz_graph_free(g);
}

static void survives_failing_allocations(void **state) {
  (void)state;
  pz_graph *g = small_graph();
  double r[4], d[4], same[4];
  int failures = 0;
  for (fail_at = 1;; fail_at++) {
    pz_error err = {0};
    calls = 0;
    pz_status status = pz_reference_run(g, (const float *[]){x}, (double *[]){r, d, same}, NULL, NULL, &err);
    if (calls < fail_at) {
      assert_int_equal(status, PZ_OK);
      break;
    }
    assert_int_equal(status, PZ_ERROR_MEMORY);
    assert_true(err.message[0] != 0);
    failures++;
  }
  fail_at = 0;
  assert_true(failures >= 8); /* four tables, four tensors */
  pz_graph_free(g);
}

/* A chain in which each layer also reads the result before the last one, behind a layer that nobody reads. */
enum { CHAIN = 40 };

static pz_graph *chain(void) {
  pz_error err = {0};
  pz_graph *g;
  pz_tensor_id t[CHAIN + 2];
  assert_int_equal(pz_graph_new("chain", &g, &err), PZ_OK);
  assert_int_equal(pz_graph_add_input(g, "x0", &SHAPE(1), &t[0], &err), PZ_OK);
  assert_int_equal(pz_graph_add_input(g, "x1", &SHAPE(1), &t[1], &err), PZ_OK);
  pz_node dead = pz_node_new(PZ_OP_IDENTITY);
  dead.name = "dead", dead.in = t, dead.n_in = 1;
  assert_int_equal(pz_graph_add_node(g, &dead, 1, (const char *[]){"dead"}, &t[2], &err), PZ_OK);
  for (int i = 2; i < CHAIN + 2; i++) {
    char name[16];
    snprintf(name, sizeof name, "t%d", i);
    pz_node sum = pz_node_new(PZ_OP_ELTWISE);
    sum.name = name, sum.in = (pz_tensor_id[]){t[i - 2], t[i - 1]}, sum.n_in = 2;
    assert_int_equal(pz_graph_add_node(g, &sum, 1, (const char *[]){name}, &t[i], &err), PZ_OK);
  }
  assert_int_equal(pz_graph_add_output(g, t[CHAIN + 1], &err), PZ_OK);
  return g;
}

typedef struct peak {
  int start, most;
} peak;

static pz_status measure(void *host, const pz_graph *g, pz_tensor_id id, double *values) {
  peak *p = host;
  (void)g, (void)id, (void)values;
  if (live - p->start > p->most) p->most = live - p->start;
  return PZ_OK;
}

/* Values live as long as somebody reads them, and no longer: four tables, two operands and a result at any time. */
static void frees_after_the_last_use(void **state) {
  (void)state;
  pz_graph *g = chain();
  pz_error err = {0};
  double y, a = 0, b = 1;
  peak p = {.start = live};
  assert_int_equal(
      pz_reference_run(g, (const float *[]){FLOATS(0), FLOATS(1)}, (double *[]){&y}, measure, &p, &err),
      PZ_OK);
  for (int i = 0; i < CHAIN; i++) b += a, a = b - a; /* Fibonacci */
  assert_true(y == b);
  assert_int_equal(p.most, 7);
  assert_int_equal(live, p.start);
  pz_graph_free(g);
}

static void relative_error(void **state) {
  (void)state;
  assert_true(fabs(pz_relative_error(FLOATS(3, 4), DOUBLES(3, 5), 2) - 1 / sqrt(34)) < 1e-15);
  assert_true(pz_relative_error(FLOATS(1, 2), DOUBLES(1, 2), 2) == 0);
  assert_true(pz_relative_error(FLOATS(3, 4), DOUBLES(0, 0), 2) == 5);
  assert_true(pz_relative_error(FLOATS(0, 0), DOUBLES(0, 0), 2) == 0);
  assert_true(isinf(pz_relative_error(FLOATS(NAN, 1), DOUBLES(1, 1), 2)));
  assert_true(isinf(pz_relative_error(FLOATS(1, 1), DOUBLES(NAN, 1), 2)));
  assert_true(pz_relative_error(FLOATS(NAN, 1), DOUBLES(NAN, 1), 2) == 0);
  assert_true(pz_relative_error(FLOATS(INFINITY, 1), DOUBLES(INFINITY, 1), 2) == 0);
  assert_true(isinf(pz_relative_error(FLOATS(-INFINITY, 1), DOUBLES(INFINITY, 1), 2)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_a_graph),
      cmocka_unit_test(visits_in_order),
      cmocka_unit_test(refuses_removed_layers),
      cmocka_unit_test(survives_failing_allocations),
      cmocka_unit_test(frees_after_the_last_use),
      cmocka_unit_test(relative_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
