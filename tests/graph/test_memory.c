/* Every allocation fails in turn: a status, no crash, and (with the sanitizer) no leak. */
#include "fixture.h"
#include "fail_alloc.h"
#include "support/random_graph.h"

static pz_graph *random_graph(void) {
  pz_graph *g;
  assert_int_equal(pz_random_graph(11, &g, NULL), PZ_OK);
  return g;
}

static void building(void **state) {
  (void)state;
  PZ_FAIL_EACH_ALLOC() {
    pz_graph *g;
    pz_error err = {0};
    pz_status status = pz_random_graph(11, &g, &err);
    bool failed = pz_fail_alloc_end();
    assert_int_equal(status, failed ? PZ_ERROR_MEMORY : PZ_OK);
    assert_int_equal(g == NULL, failed);
    pz_graph_free(g);
  }
}

static void copying(void **state) {
  (void)state;
  pz_graph *g = random_graph();
  PZ_FAIL_EACH_ALLOC() {
    pz_graph *copy;
    pz_status status = pz_graph_copy(g, &copy, NULL);
    bool failed = pz_fail_alloc_end();
    assert_int_equal(status, failed ? PZ_ERROR_MEMORY : PZ_OK);
    assert_int_equal(copy == NULL, failed);
    pz_graph_free(copy);
  }
  pz_graph_free(g);
}

/* Not by PZ_FAIL_EACH_ALLOC: each round makes a graph of its own, before allocations are counted. */
static void sorting_and_checking(void **state) {
  (void)state;
  bool failed = true;
  for (long n = 1; failed; n++) {
    pz_graph *g = random_graph();
    char *before = printed(g);
    pz_fail_alloc_at(n);
    pz_status sorted = pz_graph_compact(g, NULL), checked = pz_graph_verify(g, NULL);
    failed = pz_fail_alloc_end();
    assert_int_equal(sorted != PZ_OK || checked != PZ_OK, failed);
    assert_true(sorted == PZ_OK || sorted == PZ_ERROR_MEMORY);
    assert_true(checked == PZ_OK || checked == PZ_ERROR_MEMORY);
    char *after =
        printed(g); /* it is sorted and has nothing dead: sorting or failing to, it stays the same */
    assert_string_equal(before, after);
    free(before);
    free(after);
    pz_graph_free(g);
    assert_true(failed || n > 2);
  }
}

static void printing(void **state) {
  (void)state;
  pz_graph *g = random_graph();
  PZ_FAIL_EACH_ALLOC() {
    pz_text text = {0}, dot = {0};
    pz_status printed = pz_graph_print(g, true, &text), drawn = pz_graph_print_dot(g, &dot);
    bool failed = pz_fail_alloc_end();
    assert_int_equal(printed != PZ_OK || drawn != PZ_OK, failed);
    assert_true(printed == PZ_OK || printed == PZ_ERROR_MEMORY);
    assert_true(drawn == PZ_OK || drawn == PZ_ERROR_MEMORY);
    pz_text_free(&text);
    pz_text_free(&dot);
  }
  pz_graph_free(g);
}

static void parsing(void **state) {
  (void)state;
  pz_graph *g = random_graph();
  char *text = printed(g);
  PZ_FAIL_EACH_ALLOC() {
    pz_graph *back;
    pz_error err = {0};
    pz_status status = pz_graph_parse(text, strlen(text), "t", &back, &err);
    bool failed = pz_fail_alloc_end();
    assert_int_equal(status, failed ? PZ_ERROR_MEMORY : PZ_OK);
    assert_int_equal(back == NULL, failed);
    pz_graph_free(back);
  }
  free(text);
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(building), cmocka_unit_test(copying), cmocka_unit_test(sorting_and_checking),
      cmocka_unit_test(printing), cmocka_unit_test(parsing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
