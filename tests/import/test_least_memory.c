/* What a model takes at least: from shapes, with no more of what lies between layers than bands of rows hold. */
#include "import/least_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MANY (INT64_C(20) << 20) /* floats of constants */

/* x --> a --> b, each of 1 x 4 x 100 x 50 floats; b is the output. */
static pz_graph *chain(void) {
  const pz_shape shape = {4, {1, 4, 100, 50}};
  pz_graph *g;
  pz_tensor_id at;
  assert_int_equal(pz_graph_new("g", &g, NULL), PZ_OK);
  assert_int_equal(pz_graph_add_input(g, "x", &shape, &at, NULL), PZ_OK);
  for (int i = 0; i < 2; i++) {
    const char *const name = i ? "b" : "a";
    pz_node node = pz_node_new(PZ_OP_IDENTITY);
    pz_tensor_id in = at;
    node.name = name;
    node.n_in = 1;
    node.in = &in;
    assert_int_equal(pz_graph_add_node(g, &node, 1, &name, &at, NULL), PZ_OK);
  }
  assert_int_equal(pz_graph_add_output(g, at, NULL), PZ_OK);
  return g;
}

static void both_numbers(void **state) {
  (void)state;
  pz_graph *g = chain();
  const int64_t whole = 4 * 4 * 100 * 50, least = 12 * MANY + 2 * whole + whole / 100;
  pz_error err = {0};
  assert_int_equal(pz_import_ask_all(g, MANY, least, &err), PZ_OK);
  assert_int_equal(pz_import_ask_all(g, MANY, least - 1, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "layer 'a'"));
  assert_non_null(strstr(err.message, "needs at least 251819040 bytes of memory (weights 251658240, inputs "
                                      "and outputs 160000, this layer 800), 251819039 are there"));
  pz_graph_free(g);
}

/* Planning costs little then, and its answer is exact. */
static void few_constants_are_left_to_the_planner(void **state) {
  (void)state;
  pz_graph *g = chain();
  pz_error err = {0};
  assert_int_equal(pz_import_ask_all(g, 1 << 20, 1000, &err), PZ_OK);
  pz_graph_free(g);
}

static void sums_stay_at_the_greatest_number(void **state) {
  (void)state;
  pz_graph *g = chain();
  pz_error err = {0};
  assert_int_equal(pz_import_ask_all(g, INT64_MAX / 2, INT64_MAX - 1, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "9223372036854775807 bytes"));
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(both_numbers),
                                     cmocka_unit_test(few_constants_are_left_to_the_planner),
                                     cmocka_unit_test(sums_stay_at_the_greatest_number)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
