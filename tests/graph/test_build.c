/* Building, changing, sorting, copying and verifying graphs. */
#include "fixture.h"
#include "support/graph_equal.h"
#include "support/random_graph.h"

static pz_tensor_id add(pz_graph *g, pz_op op, const char *name, pz_tensor_id a, pz_tensor_id b) {
  pz_tensor_id in[2] = {a, b}, out = PZ_NONE;
  pz_node node = pz_node_new(op);
  pz_error err = {0};
  node.name = name;
  node.in = in;
  node.n_in = b == PZ_NONE ? 1 : 2;
  if (pz_graph_add_node(g, &node, 1, &name, &out, &err) != PZ_OK) fail_msg("%s", err.message);
  return out;
}

static const pz_shape small = {3, {1, 2, 3}};

/* x -> a -> b -> sum(b, a) -> output */
static pz_graph *diamond(void) {
  pz_graph *g;
  pz_tensor_id x;
  assert_int_equal(pz_graph_new("diamond", &g, NULL), PZ_OK);
  assert_int_equal(pz_graph_add_input(g, "x", &small, &x, NULL), PZ_OK);
  pz_tensor_id a = add(g, PZ_OP_IDENTITY, "a", x, PZ_NONE), b = add(g, PZ_OP_IDENTITY, "b", a, PZ_NONE);
  pz_tensor_id sum = add(g, PZ_OP_ELTWISE, "sum", b, a);
  assert_int_equal(pz_graph_add_output(g, sum, NULL), PZ_OK);
  return g;
}

static void finds_things(void **state) {
  (void)state;
  pz_graph *g = diamond();
  pz_tensor_id a = pz_graph_find_tensor(g, "a"), x = pz_graph_find_tensor(g, "x"),
               sum = pz_graph_find_tensor(g, "sum");
  assert_int_equal(pz_graph_find_tensor(g, "nobody"), PZ_NONE);
  assert_int_equal(pz_graph_find_node(g, "sum"), 2);
  assert_int_equal(pz_graph_producer(g, x), PZ_NONE);
  assert_int_equal(pz_graph_producer(g, a), 0);
  assert_int_equal(pz_graph_count_uses(g, a), 2);
  assert_int_equal(pz_graph_count_uses(g, sum), 1);
  assert_true(pz_graph_is_output(g, sum));
  assert_false(pz_graph_is_output(g, a));
  assert_int_equal(pz_graph_verify(g, NULL), PZ_OK);
  pz_graph_free(g);
  pz_graph_free(NULL);
}

static void nodes_have_all_slots(void **state) {
  (void)state;
  pz_graph *g =
      parsed("graph \"g\"\ninput %x 1x1x2\nconst %w 1x1x1 = [1]\n%y = conv \"y\" %x, %w\noutput %y\n");
  assert_int_equal(g->nodes[0].n_in, PZ_CONV_INPUTS);
  for (int32_t i = PZ_CONV_BIAS; i < PZ_CONV_INPUTS; i++) assert_int_equal(g->nodes[0].in[i], PZ_NONE);
  pz_graph_free(g);
}

static void node_fails(pz_graph *g, const pz_node *node, int32_t n_out, const char *const *names,
                       const char *message) {
  pz_error err = {0};
  pz_tensor_id ids[4];
  int32_t tensors = g->n_tensors, nodes = g->n_nodes;
  assert_int_equal(pz_graph_add_node(g, node, n_out, names, ids, &err), PZ_ERROR_INPUT);
  assert_error(&err, message);
  assert_int_equal(g->n_tensors, tensors);
  assert_int_equal(g->n_nodes, nodes);
  assert_int_equal(pz_graph_verify(g, NULL), PZ_OK);
}

static void refuses_and_stays_as_it_was(void **state) {
  (void)state;
  pz_graph *g = diamond();
  pz_error err = {0};
  pz_tensor_id in[2] = {0, 0}, id;
  int64_t begin[3] = {0, 1, 2};
  pz_node node = pz_node_new(PZ_OP_SLICE);
  node.attr.slice.begin = begin;
  node.in = in;
  node.n_in = 1;
  node.name = "a";
  node_fails(g, &node, 2, (const char *[]){"p", "q"}, "there are two layers of this name");
  node.name = "s";
  node_fails(g, &node, 2, (const char *[]){"p", "p"}, "two outputs are named 'p'");
  assert_int_equal(pz_graph_find_tensor(g, "p"), PZ_NONE);
  node_fails(g, &node, 2, (const char *[]){"p", "a"}, "there already is a tensor named 'a'");
  node_fails(g, &node, 2, (const char *[]){"p", ""}, "output 1 has no name");
  node_fails(g, &node, 0, NULL, "cannot have 0 outputs");
  in[0] = 99;
  node_fails(g, &node, 2, (const char *[]){"p", "q"}, "its input 0 is no tensor of the graph");
  node.name = NULL;
  node_fails(g, &node, 2, (const char *[]){"p", "q"}, "the layer has no name");
  node = pz_node_new(PZ_OP_NONE);
  node.name = "n";
  node_fails(g, &node, 1, (const char *[]){"p"}, "a removed layer has no result");
  assert_int_equal(pz_graph_add_input(g, "x", &small, &id, &err), PZ_ERROR_INPUT);
  assert_error(&err, "two tensors named 'x'");
  err = (pz_error){0};
  assert_int_equal(pz_graph_add_input(g, "y", &(pz_shape){2, {1, 0}}, &id, &err), PZ_ERROR_INPUT);
  assert_error(&err, "tensor 'y': bad shape 1x0");
  err = (pz_error){0};
  assert_int_equal(pz_graph_add_output(g, 77, &err), PZ_ERROR_INPUT);
  assert_error(&err, "output 77 is no tensor");
  pz_graph_free(g);
}

static void says_the_place(void **state) {
  (void)state;
  pz_error err = {0};
  pz_node node = pz_node_new(PZ_OP_CONV);
  node.name = "c1";
  pz_fail_node(&err, &node, "no %d", 1);
  assert_string_equal(err.message, "layer 'c1' (conv): no 1");
  node.place = (pz_place){"net.prototxt", 120, 3};
  err = (pz_error){0};
  pz_fail_node(&err, &node, "no %d", 2);
  assert_string_equal(err.message, "net.prototxt:120: layer 'c1' (conv): no 2");
}

/* ---- changing ---- */

static void compact_removes_the_dead(void **state) {
  (void)state;
  pz_graph *g = diamond();
  pz_tensor_id spare;
  assert_int_equal(pz_graph_add_constant(g, "spare", &small, NULL, &spare, NULL), PZ_OK);
  pz_graph_replace_uses(g, pz_graph_find_tensor(g, "b"), pz_graph_find_tensor(g, "a"));
  pz_graph_kill_node(g, pz_graph_find_node(g, "b"));
  assert_int_equal(pz_graph_find_node(g, "b"), PZ_NONE);
  assert_int_equal(pz_graph_compact(g, NULL), PZ_OK);
  assert_int_equal(g->n_nodes, 2);
  assert_int_equal(g->n_tensors, 3);
  assert_int_equal(pz_graph_find_tensor(g, "b"), PZ_NONE);
  assert_int_equal(pz_graph_find_tensor(g, "spare"), PZ_NONE);
  assert_int_equal(g->nodes[1].in[0], pz_graph_find_tensor(g, "a"));
  assert_int_equal(g->outputs[0], pz_graph_find_tensor(g, "sum"));
  assert_int_equal(pz_graph_verify(g, NULL), PZ_OK);
  add(g, PZ_OP_IDENTITY, "b", 0, PZ_NONE); /* the name is free again */
  pz_graph_free(g);
}

static void names_of_the_killed_are_free(void **state) {
  (void)state;
  pz_graph *g = diamond();
  pz_graph_kill_node(g, 1);
  pz_tensor_id in[1] = {0}, out;
  const char *name = "new";
  pz_node node = pz_node_new(PZ_OP_IDENTITY);
  node.name = "b";
  node.in = in;
  node.n_in = 1;
  assert_int_equal(pz_graph_add_node(g, &node, 1, &name, &out, NULL), PZ_OK);
  assert_int_equal(pz_graph_find_node(g, "b"), 3);
  pz_graph_replace_uses(g, pz_graph_find_tensor(g, "b"), out);
  assert_int_equal(pz_graph_compact(g, NULL), PZ_OK);
  assert_int_equal(pz_graph_verify(g, NULL), PZ_OK);
  assert_string_equal(g->nodes[1].name, "b"); /* before its user, behind a */
  pz_graph_free(g);
}

/* Nodes in a bad order: y(x) is the last, though all depend on it. */
static void compact_sorts_stably(void **state) {
  (void)state;
  pz_graph *g = diamond();
  pz_tensor_id x = 0, y = add(g, PZ_OP_IDENTITY, "y", x, PZ_NONE),
               z = add(g, PZ_OP_IDENTITY, "z", x, PZ_NONE);
  g->nodes[0].in[0] = y;
  g->nodes[1].in[0] = z;
  assert_int_not_equal(pz_graph_verify(g, NULL), PZ_OK);
  assert_int_equal(pz_graph_compact(g, NULL), PZ_OK);
  static const char *const order[] = {"y", "a", "z", "b", "sum"};
  for (int32_t i = 0; i < 5; i++) assert_string_equal(g->nodes[i].name, order[i]);
  assert_int_equal(pz_graph_verify(g, NULL), PZ_OK);
  pz_graph_free(g);
}

static void compact_names_a_cycle(void **state) {
  (void)state;
  pz_graph *g = diamond();
  pz_error err = {0};
  g->nodes[0].in[0] = pz_graph_find_tensor(g, "b");
  char *before = printed(g);
  assert_int_equal(pz_graph_compact(g, &err), PZ_ERROR_INPUT);
  assert_error(&err, "its input depends on its own output");
  assert_non_null(strstr(err.message, "'a'"));
  assert_non_null(strstr(err.message, "'b'"));
  assert_null(strstr(err.message, "'sum'"));
  char *after = printed(g);
  assert_string_equal(before, after);
  free(before);
  free(after);
  pz_graph_free(g);
}

static void compact_survives_a_long_cycle(void **state) {
  (void)state;
  pz_graph *g = diamond();
  pz_error err = {0};
  pz_tensor_id at = 0;
  for (int32_t i = 0; i < 200; i++) {
    char name[32];
    snprintf(name, sizeof name, "a_rather_long_name_%d", (int)i);
    at = add(g, PZ_OP_IDENTITY, name, at, PZ_NONE);
  }
  g->nodes[3].in[0] = at;
  assert_int_equal(pz_graph_compact(g, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "..."));
  pz_graph_free(g);
}

static void sorts_shuffled_graphs_back(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 60; seed++) {
    pz_graph *g;
    float random[2];
    assert_int_equal(pz_random_graph(seed, &g, NULL), PZ_OK);
    int32_t nodes = g->n_nodes;
    for (int32_t i = nodes - 1; i > 0; i--) {
      pz_random_values(seed * 1000 + (uint64_t)i, 1, random);
      int32_t k = (int32_t)((random[0] + 1) * 0.5f * (float)(i + 1));
      pz_node moved = g->nodes[i];
      g->nodes[i] = g->nodes[k];
      g->nodes[k] = moved;
    }
    assert_int_equal(pz_graph_compact(g, NULL), PZ_OK);
    assert_int_equal(g->n_nodes, nodes);
    assert_int_equal(pz_graph_verify(g, NULL), PZ_OK);
    pz_graph_free(g);
  }
}

static void renames(void **state) {
  (void)state;
  pz_graph *g = diamond();
  pz_error err = {0};
  assert_int_equal(pz_graph_rename_tensor(g, 1, "b", &err), PZ_ERROR_INPUT);
  assert_int_equal(pz_graph_rename_tensor(g, 1, "new", NULL), PZ_OK);
  assert_int_equal(pz_graph_rename_tensor(g, 1, "new", NULL), PZ_OK);
  assert_int_equal(pz_graph_find_tensor(g, "new"), 1);
  assert_int_equal(pz_graph_find_tensor(g, "a"), PZ_NONE);
  assert_int_equal(pz_graph_rename_tensor(g, 2, "a", NULL), PZ_OK);
  assert_int_equal(pz_graph_rename_tensor(g, 1, "b", NULL), PZ_OK);
  assert_int_equal(pz_graph_verify(g, NULL), PZ_OK);
  assert_string_equal(pz_graph_fresh_name(g, "free"), "free");
  assert_string_equal(pz_graph_fresh_name(g, "sum"), "sum_2");
  pz_graph_free(g);
}

/* ---- copying ---- */

static void copies_share_nothing(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 40; seed++) {
    pz_graph *g, *copy;
    char why[256];
    assert_int_equal(pz_random_graph(seed, &g, NULL), PZ_OK);
    if (seed % 3 == 0) pz_graph_kill_node(g, g->n_nodes - 1);
    assert_int_equal(pz_graph_copy(g, &copy, NULL), PZ_OK);
    char *before = printed(g);
    pz_graph_free(g); /* with the sanitizer: nothing of the copy lies in it */
    char *after = printed(copy);
    assert_string_equal(before, after);
    assert_int_equal(pz_graph_copy(copy, &g, NULL), PZ_OK);
    if (seed % 3) assert_true(pz_graphs_equal(g, copy, why));
    assert_int_equal(pz_graph_find_tensor(copy, "data"), copy->inputs[0]);
    pz_tensor_id more = add(copy, PZ_OP_IDENTITY, "one_more", 0, PZ_NONE);
    for (int32_t i = 0; i < 5; i++) assert_int_equal(pz_graph_add_output(copy, more, NULL), PZ_OK);
    assert_int_equal(pz_graph_find_tensor(g, "one_more"), PZ_NONE);
    free(before);
    free(after);
    pz_graph_free(g);
    pz_graph_free(copy);
  }
}

/* ---- verifying ---- */

static void verify_fails(pz_graph *g, const char *message) {
  pz_error err = {0};
  assert_int_equal(pz_graph_verify(g, &err), PZ_ERROR_INPUT);
  assert_error(&err, message);
  pz_graph_free(g);
}

static void verifies(void **state) {
  (void)state;
  pz_graph *g = diamond();
  g->tensors[1].name = "renamed";
  verify_fails(g, "there are two tensors named 'renamed', or it was renamed behind the graph");
  g = diamond();
  g->nodes[1].name = "a";
  verify_fails(g, "layer 'a' (identity): there are two layers of this name");
  g = diamond();
  g->tensors[2].shape.dim[0] = 7;
  verify_fails(g, "layer 'b' (identity): its output 'b' is 7x2x3, but its inputs make it 1x2x3");
  g = diamond();
  g->tensors[2].shape.dim[0] = INT64_MAX;
  verify_fails(g, "tensor 'b': bad shape");
  g = diamond();
  g->nodes[1].out[0] = g->nodes[0].out[0];
  verify_fails(g, "layer 'b' (identity): its output 'a' is made by another layer, too");
  g = diamond();
  g->nodes[0].out[0] = 0;
  verify_fails(g, "its output 'x' is made by another layer, too");
  g = diamond();
  pz_graph_kill_node(g, 1);
  verify_fails(g, "layer 'sum' (eltwise): its input 'b' is made by no layer");
  g = diamond();
  g->nodes[0].in[0] = 3;
  verify_fails(g, "layer 'a' (identity): its input 'sum' is made later");
  g = diamond();
  g->nodes[0].in[0] = 1234;
  verify_fails(g, "its input 0 is no tensor");
  g = diamond();
  g->nodes[0].out[0] = -5;
  verify_fails(g, "its output 0 is no tensor");
  g = diamond();
  g->n_outputs = 0;
  verify_fails(g, "graph 'diamond' has no output");
  g = diamond();
  g->outputs[0] = 9;
  verify_fails(g, "output 9 is no tensor");
  g = diamond();
  pz_graph_kill_node(g, 2);
  verify_fails(g, "output 'sum' of graph 'diamond' is made by no layer");
  g = diamond();
  g->tensors[1].type = PZ_BF16;
  verify_fails(g, "layer 'a' (identity): its output 'a' is bf16, but the layer makes it f32");
  g = diamond();
  g->tensors[0].type = PZ_U8;
  verify_fails(g, "layer 'a' (identity): its input 'x' is of u8; it takes f32: a cast must lie between");
  g = diamond();
  g->tensors[0].type = (pz_dtype)99;
  verify_fails(g, "tensor 'x': elements are not of an unknown type");
  g = diamond();
  g->tensors[0].scale = 2;
  verify_fails(g, "tensor 'x': elements are not f32 scale 2 zero_point 0");
  g = diamond();
  g->tensors[0].wanted = PZ_BOOL;
  verify_fails(g, "tensor 'x' is wanted as bool");
  g = diamond();
  g->tensors[1].border_lo[2] = -1;
  verify_fails(g, "tensor 'a' 1x2x3: bad border -1:0 along x");
  g = diamond();
  g->tensors[1].border_hi[1] = 1;
  verify_fails(g, "bad border 0:1 along y");
  g = diamond();
  g->tensors[1].border_hi[2] = INT32_MAX;
  verify_fails(g, "too large");
  g = diamond();
  g->inputs[0] = 55;
  verify_fails(g, "input 55 is no tensor");
}

static void has_limits(void **state) {
  (void)state;
  pz_graph *g;
  pz_error err = {0};
  pz_tensor_id id;
  pz_status status = PZ_OK;
  assert_int_equal(pz_graph_new("g", &g, NULL), PZ_OK);
  int32_t i = 0;
  for (; status == PZ_OK; i++) {
    char name[32];
    snprintf(name, sizeof name, "%d", (int)i);
    status = pz_graph_add_input(g, name, &small, &id, &err);
  }
  assert_int_equal(i - 1, PZ_MAX_TENSORS);
  assert_error(&err, "more than");
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_things),
      cmocka_unit_test(nodes_have_all_slots),
      cmocka_unit_test(refuses_and_stays_as_it_was),
      cmocka_unit_test(says_the_place),
      cmocka_unit_test(compact_removes_the_dead),
      cmocka_unit_test(names_of_the_killed_are_free),
      cmocka_unit_test(compact_sorts_stably),
      cmocka_unit_test(compact_names_a_cycle),
      cmocka_unit_test(compact_survives_a_long_cycle),
      cmocka_unit_test(sorts_shuffled_graphs_back),
      cmocka_unit_test(renames),
      cmocka_unit_test(copies_share_nothing),
      cmocka_unit_test(verifies),
      cmocka_unit_test(has_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
