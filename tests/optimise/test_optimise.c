/* test_optimise.c: the list of passes and the loop over it; failing allocations; passes that need each other. */
#include "compare.h"
#include "optimise/optimise.h"
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- every allocation fails in turn: malloc, calloc and realloc of this program are these ---- */

static int fail_at, calls; /* the call with this number fails, counted from 1; 0: none does */
static bool fails(void) { return fail_at && ++calls == fail_at; }
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *p, size_t size) { return fails() ? NULL : __real_realloc(p, size); }

/* All passes have something to do here. */
static const char network[] = "graph \"all\"\n"
                              "input %x 1x2x6x6\n"
                              "const %w1 2x2x3x3 = seed 1\n"
                              "const %mean 2 = [0.1 0.2]\n"
                              "const %variance 2 = [1 2]\n"
                              "const %slope 1 = [0.25]\n"
                              "%a = conv \"conv1\" %x, %w1 kernel 1,3,3 pad 0,1,1:0,1,1\n"
                              "%s = eltwise \"sum\" %a, %x coeff 2,3\n"
                              "%n = batch_norm \"norm\" %s, %mean, %variance\n"
                              "%r = activation \"prelu\" %n, %slope act prelu\n"
                              "%d = identity \"dropout\" %r\n"
                              "const %w2 2x2x3x3 = seed 2\n"
                              "%b = conv \"conv2\" %d, %w2 kernel 1,3,3 pad 0,1,1:0,1,1\n"
                              "%c = concat \"concat\" %d, %b\n"
                              "%left, %right = slice \"slice\" %c begin 0,1,4\n"
                              "const %w3 1x3x3x3 = seed 3\n"
                              "%e = conv \"conv3\" %right, %w3 kernel 1,3,3 pad 0,1,1:0,1,1\n"
                              "const %w4 2x36 = seed 4\n"
                              "const %gamma 2 = [2 3]\n"
                              "%f = inner_product \"fc\" %e, %w4\n"
                              "%g = scale \"scale\" %f, %gamma\n"
                              "%y = activation \"relu\" %g act relu\n"
                              "%dead = softmax \"dead\" %left\n"
                              "output %y\n"
                              "input %z 1x4x2x2 wanted bf16\n"
                              "const %half 1x1x1x1 = [0.25]\n"
                              "%c1 = activation \"root\" %half act sqrt\n"
                              "%z1 = eltwise \"shift\" %z, %c1\n"
                              "%gate = activation \"gate\" %z1 act sigmoid\n"
                              "%z2 = eltwise \"swish\" %z1, %gate kind prod\n"
                              "%z3 = reshape \"to_groups\" %z2 shape 1x2x8\n"
                              "%z4 = group_norm \"norm2\" %z3 groups 2\n"
                              "%z5 = reshape \"from_groups\" %z4 shape 1x4x2x2\n"
                              "const %gamma4 4 = [1 2 3 4]\n"
                              "%q1 = permute \"maps_last\" %z5 order 0,2,3,1\n"
                              "%q2 = reshape \"rows\" %q1 shape 4x4\n"
                              "%q3 = group_norm \"norm3\" %q2, %gamma4, %gamma4\n"
                              "%q4 = reshape \"back\" %q3 shape 1x2x2x4\n"
                              "%q5 = permute \"maps_first\" %q4 order 0,3,1,2\n"
                              "%z6 = reshape \"split\" %q5 shape 1x1x2x2x2x2\n"
                              "%z7 = permute \"permute\" %z6 order 0,1,4,2,5,3\n"
                              "%z8 = reshape \"join\" %z7 shape 1x1x4x4\n"
                              "%z9 = pad \"zeros\" %z8 lo 0,0,1,1 hi 0,0,1,1\n"
                              "const %w5 1x1x3x3 = seed 5\n"
                              "%v = conv \"conv4\" %z9, %w5 kernel 1,3,3\n"
                              "output %v\n"
                              "%p4 = pool \"pool4\" %v kernel 1,2,2 stride 1,2,2\n"
                              "output %p4\n"
                              "%n4 = group_norm \"norm4\" %v\n"
                              "output %n4\n"
                              "%f5 = deconv \"flat5\" %v, %w5 kernel 1,3,3\n"
                              "const %one 1x1x1x1 = [1]\n"
                              "%p5 = conv \"points5\" %f5, %one stride 1,2,2\n"
                              "output %p5\n"
                              "input %x6 1x2x16x16\n"
                              "const %w6 2x2x1x1 = seed 6\n"
                              "const %w7 2x2x2x2 = seed 7\n"
                              "const %w8 2x4x1x1 = seed 8\n"
                              "%s6 = conv \"skip6\" %x6, %w6\n"
                              "%l6 = pool \"low6\" %s6 kind ave kernel 1,2,2 stride 1,2,2\n"
                              "%u6 = deconv \"up6\" %l6, %w7 kernel 1,2,2 stride 1,2,2\n"
                              "%j6 = concat \"join6\" %s6, %u6\n"
                              "%c6 = conv \"conv6\" %j6, %w8\n"
                              "%n6 = group_norm \"norm6\" %c6\n"
                              "output %n6\n";

static pz_graph *parse(const char *text) {
  pz_graph *g = NULL;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  return g;
}

static void expect_text(const pz_graph *g, const char *expected) {
  pz_text text = {0};
  assert_int_equal(pz_graph_print(g, false, &text), PZ_OK);
  assert_string_equal(text.data, expected);
  pz_text_free(&text);
}

static void remember(void *host, const pz_pass *pass, int changes, const pz_graph *g) {
  char *names = host;
  assert_true(changes > 0);
  assert_true(g->n_nodes > 0);
  strcat(strcat(names, pass->name), " ");
}

static void runs_all_to_a_fixed_point(void **state) {
  (void)state;
  pz_graph *before = parse(network), *g = parse(network);
  pz_error err = {0};
  char first[2000] = "", second[2000] = "";
  assert_int_equal(pz_optimise(g, NULL, remember, first, &err), PZ_OK);
  int n;
  const pz_pass *passes = pz_passes(&n);
  for (int i = 0; i < n; i++)
    if (!strstr(first, passes[i].name)) fail_msg("%s found nothing to do: %s", passes[i].name, first);
  assert_int_equal(pz_optimise(g, NULL, remember, second, &err), PZ_OK);
  assert_string_equal(second, "");
  assert_true(pz_borders_sufficient(g));
  assert_true(compare_graphs(before, g, 1).error < 1e-6);
  /* conv1, conv2, concat, slice, a padded copy of the slice, conv3, fc and its reshape; shift, swish, norm2, norm3, join, conv4, pool4, norm4;
   * z's cast; flat5, points5; skip6, low6, what conv6 makes of the skip connection, up6, conv6, norm6 */
  assert_int_equal(g->n_nodes, 25);
  pz_graph_free(before);
  pz_graph_free(g);
}

/* PZnet, figure 1, on a piece of its Residual network: a block around a residual sum, down, another convolution, up,
 * an additive skip. Nothing is left but convolutions, deconvolutions and pooling; no padding is explicit. */
static const char residual[] =
    "graph \"residual\"\ninput %x 1x1x4x8x8\n"
    "const %w1 4x1x1x5x5 = seed 1\nconst %w2 4x4x1x3x3 = seed 2 scale 0.2\nconst %w3 4x4x3x3x3 = seed 3 "
    "scale 0.1\n"
    "const %wd 4x1x1x2x2 = seed 4\nconst %w4 4x4x3x3x3 = seed 5 scale 0.1\nconst %w5 2x4x1x5x5 = seed 6 "
    "scale 0.1\n"
    "const %mean 4 = [0.1 -0.2 0.3 0]\nconst %var 4 = [1 2 0.5 1]\nconst %gamma 4 = [1 2 0.5 -1]\n"
    "const %beta 4 = [0 0.1 -0.1 0.2]\n"
    "%c1 = conv \"c1\" %x, %w1 kernel 1,5,5 pad 0,2,2:0,2,2\n"
    "%n1 = batch_norm \"n1\" %c1, %mean, %var\n%s1 = scale \"s1\" %n1, %gamma, %beta\n"
    "%e1 = activation \"e1\" %s1 act elu 1\n"
    "%c2 = conv \"c2\" %e1, %w2 kernel 1,3,3 pad 0,1,1:0,1,1\n"
    "%n2 = batch_norm \"n2\" %c2, %mean, %var\n%s2 = scale \"s2\" %n2, %gamma, %beta\n"
    "%e2 = activation \"e2\" %s2 act elu 1\n"
    "%c3 = conv \"c3\" %e2, %w3 kernel 3,3,3 pad 1,1,1:1,1,1\n%sum = eltwise \"sum\" %e1, %c3\n"
    "%n3 = batch_norm \"n3\" %sum, %mean, %var\n%s3 = scale \"s3\" %n3, %gamma, %beta\n"
    "%e3 = activation \"e3\" %s3 act elu 1\n"
    "%p = pool \"pool\" %e3 kernel 1,2,2 stride 1,2,2\n"
    "%c4 = conv \"c4\" %p, %w4 kernel 3,3,3 pad 1,1,1:1,1,1\n%e4 = activation \"e4\" %c4 act elu 1\n"
    "%u = deconv \"up\" %e4, %wd kernel 1,2,2 stride 1,2,2 group 4\n%skip = eltwise \"skip\" %u, %e3\n"
    "%n5 = batch_norm \"n5\" %skip, %mean, %var\n%s5 = scale \"s5\" %n5, %gamma, %beta\n"
    "%e5 = activation \"e5\" %s5 act elu 1\n"
    "%c5 = conv \"c5\" %e5, %w5 kernel 1,5,5 pad 0,2,2:0,2,2\n%y = activation \"y\" %c5 act sigmoid\noutput "
    "%y\n";

static void residual_network(void **state) {
  (void)state;
  pz_graph *before = parse(residual), *g = parse(residual);
  pz_error err = {0};
  assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
  const char *const left[] = {"c1", "c2", "c3", "pool", "c4", "up", "c5"};
  assert_int_equal(g->n_nodes, 7);
  for (int i = 0; i < 7; i++) {
    assert_string_equal(g->nodes[i].name, left[i]);
    if (g->nodes[i].op == PZ_OP_POOL) continue;
    assert_int_not_equal(g->nodes[i].attr.conv.act.kind, PZ_ACT_NONE);
    bool summed = i == 2 || i == 5;
    assert_true((pz_node_input(&g->nodes[i], PZ_CONV_RESIDUAL) != PZ_NONE) == summed);
    assert_true((pz_node_input(&g->nodes[i], PZ_CONV_RESIDUAL_SCALE) != PZ_NONE) == summed);
  }
  /* the residual keeps its values: it is what the activation before the block made */
  assert_string_equal(g->tensors[g->nodes[2].in[PZ_CONV_RESIDUAL]].name, "e1");
  assert_true(pz_borders_sufficient(g));
  assert_true(compare_graphs(before, g, 1).error < 1e-6);
  pz_graph_free(before);
  pz_graph_free(g);
}

/* The epilogue of an inner product ends in its convolution, across the reshape; the reshapes between two cancel. */
static void inner_products_in_a_row(void **state) {
  (void)state;
  pz_graph *g =
      parse("graph \"fc\"\ninput %x 1x2\nconst %w 2x2 = [1 2 3 4]\nconst %v 1x2 = [5 6]\n"
            "const %mean 2 = [0 1]\nconst %variance 2 = [4 16]\n"
            "%a = inner_product \"fc1\" %x, %w\n%b = batch_norm \"norm\" %a, %mean, %variance eps 0\n"
            "%c = activation \"relu\" %b act relu\n%y = inner_product \"fc2\" %c, %v\noutput %y\n");
  pz_error err = {0};
  assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
  expect_text(g, "graph \"fc\"\n"
                 "input %x 1x2\n"
                 "%x/flat 1x2x1x1 = reshape \"fc1/flatten\" %x shape 1x2x1x1\n"
                 "const %w 2x2x1x1 = [0.5 1 0.75 1]\n"
                 "const %fc1/bias 2 = [0 -0.25]\n"
                 "%c 1x2x1x1 = conv \"fc1\" %x/flat, %w, %fc1/bias act relu\n"
                 "const %v 1x2x1x1 = [5 6]\n"
                 "%y/conv 1x1x1x1 = conv \"fc2\" %c, %v\n"
                 "%y 1x1 = reshape \"fc2/reshape\" %y/conv shape 1x1\n"
                 "output %y\n");
  pz_graph_free(g);
}

static void switches_off(void **state) {
  (void)state;
  char all[512] = "";
  int n;
  const pz_pass *passes = pz_passes(&n);
  for (int i = 0; i < n; i++)
    if (!passes[i].required) strcat(strcat(all, passes[i].name), " , ");
  pz_graph *g = parse(network);
  pz_error err = {0};
  char names[2000] = "";
  assert_int_equal(pz_optimise(g, all, remember, names, &err), PZ_OK);
  assert_string_equal(names, "type-ports lower-inner-product pad-inputs ");
  assert_true(pz_borders_sufficient(g));
  pz_graph_free(g);
}

static void refuse(const char *disable, const char *name) {
  pz_graph *g = parse(network);
  int32_t before = g->n_nodes;
  pz_error err = {0};
  assert_int_equal(pz_optimise(g, disable, NULL, NULL, &err), PZ_ERROR_USAGE);
  assert_non_null(strstr(err.message, name));
  assert_non_null(strstr(err.message, "fold-linear"));
  assert_null(strstr(err.message, ": pad-inputs"));
  assert_int_equal(g->n_nodes, before);
  pz_graph_free(g);
}

static void refuses_unknown_and_required(void **state) {
  (void)state;
  refuse("fuse-add,fuse-all", "fuse-all");
  refuse("fuse", "fuse");
  refuse("fuse-addition", "fuse-addition");
  refuse("pad-inputs", "pad-inputs");
  refuse(" lower-inner-product ", "lower-inner-product");
}

static void disable_may_be_empty(void **state) {
  (void)state;
  const char *const texts[] = {"", ",", " , ", "fuse-add,", NULL};
  for (int i = 0; texts[i]; i++) {
    pz_graph *g = parse(network);
    pz_error err = {0};
    assert_int_equal(pz_optimise(g, texts[i], NULL, NULL, &err), PZ_OK);
    pz_graph_free(g);
  }
}

static void borders(void **state) {
  (void)state;
  const char *const too_narrow[] = {
      "input %x 1x1x8 border 0,0,1:0,0,0\nconst %w 1x1x3 = [1 2 3]\n"
      "%y = conv \"c\" %x, %w kernel 1,1,3 pad 0,0,1:0,0,1\noutput %y\n",
      "input %x 1x1x8\n%a 1x1x8 border 0,0,1:0,0,1 = identity \"i\" %x\nconst %w 1x1x3 = [1 2 3]\n"
      "%y = conv \"c\" %a, %w kernel 1,1,3 pad 0,0,1:0,0,1\noutput %y\n",
      "input %x 1x1x8\n%a 1x1x8 border 0,0,1:0,0,1 = softmax \"s\" %x\n%b = softmax \"t\" %x\n"
      "%c = concat \"concat\" %a, %b in_place\nconst %w 1x1x3 = [1 2 3]\n"
      "%y = conv \"c\" %a, %w kernel 1,1,3 pad 0,0,1:0,0,1\noutput %y\noutput %c\n"};
  for (int i = 0; i < 3; i++) {
    char text[600] = "graph \"g\"\n";
    pz_graph *g = parse(strcat(text, too_narrow[i]));
    pz_error err = {0};
    assert_false(pz_borders_sufficient(g));
    assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
    assert_true(pz_borders_sufficient(g));
    pz_graph_free(g);
  }
}

static void computed_weights(void **state) {
  (void)state;
  pz_graph *g =
      parse("graph \"g\"\ninput %x 1x2\ninput %w 3x2\n%y = inner_product \"fc\" %x, %w\noutput %y\n");
  pz_error err = {0};
  assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "fc"));
  pz_graph_free(g);
}

/* Of a constant that a convolution with computed weights reads there is one padded copy, however often the passes go round. */
static void padded_constant(void **state) {
  (void)state;
  pz_graph *g = parse("graph \"g\"\nconst %k 1x1x8 = seed 1\ninput %w 1x1x3\n"
                      "%y = conv \"c\" %k, %w kernel 1,1,3 pad 0,0,1:0,0,1\noutput %y\n");
  pz_error err = {0};
  assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
  assert_int_equal(g->n_nodes, 2);
  assert_true(pz_borders_sufficient(g));
  pz_graph_free(g);
}

/* A chain of n layers of each kind that is folded away takes no more than linear work for each pass, nor stack. */
static void long_chain(void **state) {
  (void)state;
  pz_text text = {0};
  pz_text_append(&text, "graph \"long\"\ninput %t0 1x1x1\nconst %g 1 = [1.001]\n");
  enum { LENGTH = 3000 };
  for (int i = 0; i < LENGTH; i++) pz_text_printf(&text, "%%t%d = scale \"s%d\" %%t%d, %%g\n", i + 1, i, i);
  pz_text_printf(&text, "output %%t%d\n", LENGTH);
  pz_graph *g = parse(text.data);
  pz_error err = {0};
  assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
  assert_int_equal(g->n_nodes, 1);
  pz_text_free(&text);
  pz_graph_free(g);
}

/* A copy that shares constants is optimised, and what it was copied from stays as it is. */
static void shared_constants_stay(void **state) {
  (void)state;
  pz_graph *model = parse(network), *same = parse(network), *g;
  pz_error err = {0};
  assert_int_equal(pz_graph_copy_sharing(model, &g, &err), PZ_OK);
  assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
  for (pz_tensor_id t = 0; t < model->n_tensors; t++)
    if (model->tensors[t].data)
      assert_memory_equal(model->tensors[t].data, same->tensors[t].data,
                          4 * (size_t)pz_shape_elements(&model->tensors[t].shape));
  pz_graph_free(g);
  pz_graph_free(model);
  pz_graph_free(same);
}

/* 150 million multiply-adds each: some are folded, and then no more, in however many rounds of passes. */
static void folding_is_bounded_by_work(void **state) {
  (void)state;
  pz_text text = {0};
  pz_text_append(
      &text,
      "graph \"work\"\ninput %x 1x64x64x64\nconst %t0 1x64x64x64 = seed 1\nconst %w 64x64x3x3 = seed 2\n");
  enum { LENGTH = 8 };
  for (int i = 0; i < LENGTH; i++)
    pz_text_printf(&text, "%%t%d = conv \"c%d\" %%t%d, %%w kernel 1,3,3 pad 0,1,1:0,1,1\n", i + 1, i, i);
  pz_text_printf(&text, "%%y = eltwise \"sum\" %%x, %%t%d\noutput %%y\n", LENGTH);
  pz_graph *g = parse(text.data);
  pz_error err = {0};
  assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
  int convolutions = 0;
  for (pz_node_id n = 0; n < g->n_nodes; n++) convolutions += g->nodes[n].op == PZ_OP_CONV;
  assert_int_equal(convolutions, LENGTH - 3);
  pz_text_free(&text);
  pz_graph_free(g);
}

static void survives_failing_allocations(void **state) {
  (void)state;
  int failures = 0;
  for (int at = 1;; at++) {
    pz_graph *g = parse(network);
    pz_error err = {0};
    calls = 0;
    fail_at = at;
    pz_status status = pz_optimise(g, NULL, NULL, NULL, &err);
    bool reached = calls >= fail_at;
    fail_at = 0;
    pz_graph_free(g);
    if (!reached) {
      assert_int_equal(status, PZ_OK);
      break;
    }
    assert_int_equal(status, PZ_ERROR_MEMORY);
    assert_true(err.message[0] != 0);
    failures++;
  }
  assert_true(failures > 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_all_to_a_fixed_point),
      cmocka_unit_test(inner_products_in_a_row),
      cmocka_unit_test(residual_network),
      cmocka_unit_test(switches_off),
      cmocka_unit_test(refuses_unknown_and_required),
      cmocka_unit_test(disable_may_be_empty),
      cmocka_unit_test(borders),
      cmocka_unit_test(computed_weights),
      cmocka_unit_test(padded_constant),
      cmocka_unit_test(long_chain),
      cmocka_unit_test(shared_constants_stay),
      cmocka_unit_test(folding_is_bounded_by_work),
      cmocka_unit_test(survives_failing_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
