/* Normalisation, functions of one value, element-wise functions with broadcasting, reductions: in odd shapes, through the whole
 * compiler. They round a few times each: a relative error of 2e-6 is enough. */
#include "base/cpu.h"
#include "support/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void check_on(pz_isa isa, const char *text) {
  pz_graph *graph = NULL;
  pz_error err;
  if (pz_graph_parse(text, strlen(text), "test_computing.c", &graph, &err) != PZ_OK)
    fail_msg("%s", err.message);
  const pz_compiled_options options = {.name = graph->name,
                                       .seed = 9,
                                       .plan = {.target = pz_target_as(isa), .exact = true},
                                       .tolerance = 2e-6,
                                       .quick = isa != pz_isa_native()};
  pz_test_compiled(graph, &options);
  pz_graph_free(graph);
}

/* By instruction set: networks, side by side in one, so that gcc begins few files. */
static pz_text all[PZ_ISA_COUNT];

static void add(pz_isa isa, const char *text, const char *prefix) {
  if (!all[isa].size) pz_text_append(&all[isa], "graph \"computing\"\n");
  pz_test_append_graph(&all[isa], text, prefix);
}

/* On this machine's own instruction set, and one of the others in turn: the kernels' tests run on all of them. */
static void check(const char *text) {
  static int turn;
  char prefix[16];
  snprintf(prefix, sizeof prefix, "c%d_", turn);
  const pz_isa other = (pz_isa)(turn++ % PZ_ISA_COUNT);
  add(pz_isa_native(), text, prefix);
  if (other != pz_isa_native()) add(other, text, prefix);
}

/* The last test: of what those before have added. */
static void test_compiled(void **state) {
  (void)state;
  assert_true(all[pz_isa_native()].size > 0);
  for (pz_isa isa = 0; isa < PZ_ISA_COUNT; isa++) {
    assert_false(all[isa].failed);
    if (pz_isa_supported(isa) && all[isa].size) check_on(isa, all[isa].data);
    pz_text_free(&all[isa]);
  }
}

/* Instance, group (groups within, of, and across blocks) and layer normalisation; whole and in two parts; read with a
 * border; a large mean; in place. */
static void test_group_norm(void **state) {
  (void)state;
  check("graph \"norms\"\n"
        "input %x 2x48x3x9x11\n"
        "input %y 1x19x5x60x31\n"
        "input %rows 7x40\n"
        "const %w 5x48x3x3x3 = seed 1 scale 0.05\n"
        "const %g 48 = seed 2\n"
        "const %b 48 = seed 3\n"
        "const %s 19 = seed 4\n"
        "const %r 40 = seed 5\n"
        "%a = group_norm \"a\" %x, %g, %b groups 48 act relu 0.01\n"
        "%a2 = conv \"a2\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
        "%c = group_norm \"c\" %x, _, %b groups 12 act silu\n"
        "%d = group_norm \"d\" %x, %g groups 2 eps 0.1\n"
        "%e = group_norm \"e\" %x groups 1\n"
        "%f = group_norm \"f\" %y, _, _, %s groups 19 act prelu\n"
        "%h = power \"h\" %y shift 4\n"
        "%i = group_norm \"i\" %h groups 1\n"
        "%j = group_norm \"j\" %rows, %r, %r groups 1\n"
        "%k = group_norm \"k\" %rows groups 8\n"
        "output %a2\noutput %c\noutput %d\noutput %e\noutput %f\noutput %i\noutput %j\noutput %k\n");
}

/* As layers, and behind convolutions where a pass puts them there; 19 channels leave padding lanes to be zero. */
static void test_functions(void **state) {
  (void)state;
  check("graph \"functions\"\n"
        "input %x 2x19x3x5x7\n"
        "const %w 19x19x1x3x3 = seed 1 scale 0.1\n"
        "%p = power \"p\" %x scale 0.4 shift 1\n"
        "%a = activation \"a\" %x act selu 1.67 1.05\n"
        "%b = activation \"b\" %x act hard_swish\n"
        "%c = activation \"c\" %x act gelu\n"
        "%d = activation \"d\" %x act gelu_tanh\n"
        "%e = activation \"e\" %p act log\n"
        "%f = activation \"f\" %p act sqrt\n"
        "%g = activation \"g\" %p act reciprocal\n"
        "%h = activation \"h\" %x act erf\n"
        "%i = activation \"i\" %x act floor\n"
        "%j = activation \"j\" %x act thresholded_relu 0.1\n"
        "%k = concat \"k\" %a, %b, %c, %d, %e, %f, %g, %h, %i, %j axis 2\n"
        "%l = conv \"l\" %k, %w kernel 1,3,3 pad 0,1,1:0,1,1 act mish\n"
        "%m = conv \"m\" %l, %w kernel 1,3,3 pad 0,1,1:0,1,1\n"
        "%n = activation \"n\" %m act hard_sigmoid 0.2 0.5\n"
        "%o = conv \"o\" %n, %w kernel 1,3,3 pad 0,1,1:0,1,1\n"
        "%q = activation \"q\" %o act clip 0.05 inf\n"
        "%r = conv \"r\" %q, %w kernel 1,3,3 pad 0,1,1:0,1,1\n"
        "%s = activation \"s\" %r act exp\n"
        "%t = activation \"t\" %x act softplus\n"
        "%u = activation \"u\" %x act silu\n"
        "output %s\noutput %t\noutput %u\n");
}

/* Channel attention (channels), gates (positions), rows, scalars; constants; more inputs than a call takes; in place, read with
 * a border. */
static void test_eltwise(void **state) {
  (void)state;
  check("graph \"eltwise\"\n"
        "input %x 2x19x3x5x7\n"
        "input %y 2x19x1x5x1\n"
        "input %row 1x1x1x1x7\n"
        "const %w 19x19x3x3x3 = seed 1 scale 0.1\n"
        "const %one 19x19x1x1x1 = seed 2 scale 0.3\n"
        "const %gate 1x19x1x1x1 = seed 3 scale 0.5\n"
        "const %k 1x19x3x1x1 = seed 4\n"
        "const %k1 1x1x1x5x7 = seed 5\n"
        "const %k2 1x1x1x1x1 = [0.7]\n"
        "%p = pool \"p\" %x kind ave kernel 3,5,7\n"
        "%s = conv \"s\" %p, %one act sigmoid\n"
        "%a = eltwise \"a\" %x, %s kind prod\n"
        "%a2 = conv \"a2\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
        "%q = conv \"q\" %x, %gate act sigmoid\n"
        "%b = eltwise \"b\" %q, %x kind prod\n"
        "%c = eltwise \"c\" %y, %row coeff 1,-2\n"
        "%d = eltwise \"d\" %c, %k, %k1, %k2, %b, %y, %x, %row, %a2, %s, %k coeff 1,2,1,1,-1,1,1,0.5,1,1,-3\n"
        "%e = eltwise \"e\" %d, %k kind min\n"
        "%f = eltwise \"f\" %k1, %y kind max\n"
        "%g = power \"g\" %x scale 0.4 shift 1\n"
        "%h = eltwise \"h\" %g, %y kind pow\n"
        "%i = eltwise \"i\" %k2, %g kind div\n"
        "%j = eltwise \"j\" %g, %k2 kind pow\n"
        "%r = activation \"r\" %x act round\n"
        "%lt = eltwise \"lt\" %r, %k kind less\n"
        "%le = eltwise \"le\" %k2, %g kind less_equal\n"
        "%eq = eltwise \"eq\" %r, %y kind equal\n"
        "%se = eltwise \"se\" %lt, %y, %k kind select\n"
        "%sf = eltwise \"sf\" %r, %le, %k2 kind select\n"
        "output %eq\noutput %se\noutput %sf\n"
        "output %a2\noutput %b\noutput %e\noutput %f\noutput %h\noutput %i\noutput %j\n");
}

/* Over positions in slices, over channels, over all, over samples; argmax; logarithms of softmax. */
static void test_reduce(void **state) {
  (void)state;
  check("graph \"reduce\"\n"
        "input %x 2x19x3x50x37\n"
        "input %r 5x70\n"
        "%a = reduce \"a\" %x axis 2,3,4\n"
        "%b = reduce \"b\" %x kind max axis 1\n"
        "%c = reduce \"c\" %x kind sum axis 3\n"
        "%d = reduce \"d\" %x kind min axis 0,1,2,3,4\n"
        "%e = reduce \"e\" %x axis 1,4\n"
        "%f = reduce \"f\" %r axis 1\n"
        "%g = eltwise \"g\" %x, %a, %b kind prod\n"
        "%h = argmax \"h\" %x axis 1\n"
        "%i = argmax \"i\" %x axis 3 last\n"
        "%j = argmax \"j\" %r axis 1\n"
        "%k = softmax \"k\" %x axis 1 log\n"
        "%l = softmax \"l\" %x axis 4 log\n"
        "%m = softmax \"m\" %r axis 1 log\n"
        "output %c\noutput %d\noutput %e\noutput %f\noutput %g\noutput %h\noutput %i\noutput %j\n"
        "output %k\noutput %l\noutput %m\n");
}

/* Along channels, rows and planes; along lines; of one dimension, and of six. */
static void test_cumsum(void **state) {
  (void)state;
  check("graph \"sums\"\n"
        "input %x 2x19x3x5x37\n"
        "input %r 5x70\n"
        "input %l 300\n"
        "const %w 4x19x3x3x3 = seed 3 scale 0.1\n"
        "%a = cumsum \"a\" %x\n"
        "%b = conv \"b\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
        "%c = cumsum \"c\" %b axis 3 exclusive\n"
        "%d = cumsum \"d\" %x axis 4 reverse\n"
        "%e = cumsum \"e\" %r axis 0 exclusive reverse\n"
        "%f = cumsum \"f\" %r axis 1\n"
        "%g = cumsum \"g\" %l axis 0 reverse\n"
        "%h = reshape \"h\" %x shape 2x1x19x3x5x37\n"
        "%i = cumsum \"i\" %h axis 2\n"
        "%j = reshape \"j\" %i shape 2x57x185\n"
        "output %c\noutput %d\noutput %e\noutput %f\noutput %g\noutput %j\n");
}

/* By corners and by centres, of all classes at once and each by itself, in several images. */
static void test_detection(void **state) {
  (void)state;
  check(
      "graph \"detection\"\n"
      "input %x 2x240\n"
      "input %l 2x160\n"
      "input %m 2x960\n"
      "const %p 1x2x160 = seed 4\n"
      "%c = activation \"c\" %x act sigmoid\n"
      "%a = detection_output \"a\" %l, %c, %p classes 6 keep 20 top_k 15 corners overlap 0.2 confidence 0.4\n"
      "%b = detection_output \"b\" %m, %c, %p classes 6 keep 9 background -1 per_class coded overlap 0.3\n"
      "output %a\noutput %b\n");
}

/* By corners and by middles, of several images; rows of other tensors, also by numbers that are none of theirs. */
static void test_suppression(void **state) {
  (void)state;
  check("graph \"suppression\"\n"
        "input %x 2x3x37\n"
        "input %b 2x37x4\n"
        "%c = activation \"c\" %x act sigmoid\n"
        "%n = non_max_suppression \"n\" %b, %c most 5 overlap 0.2 score 0.4\n"
        "%m = non_max_suppression \"m\" %b, %c most 50 centre overlap 0.3\n"
        "%k = crop \"k\" %n offset 0,2 size 30,1 step 1,1\n"
        "%t = reshape \"t\" %b shape 74x4\n"
        "%r = gather_rows \"r\" %t, %k fill -1\n"
        "%v = reshape \"v\" %b shape 37x2x1x2x1x2\n"
        "%s = gather_rows \"s\" %v, %k\n"
        "%w = reshape \"w\" %s shape 30x8\n"
        "output %n\noutput %m\noutput %r\noutput %w\n");
}

static void test_channel_norm(void **state) {
  (void)state;
  check("graph \"channels\"\n"
        "input %x 2x19x3x5x7\n"
        "input %line 1x70x9\n"
        "input %point 5x33\n"
        "const %g 19 = seed 1 scale 0.5\n"
        "const %h 33 = seed 2\n"
        "const %w 4x19x3x3x3 = seed 3 scale 0.1\n"
        "%a = channel_norm \"a\" %x, %g, %g\n"
        "%b = conv \"b\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
        "%c = channel_norm \"c\" %b eps 0.01 act relu 0.1\n"
        "%d = channel_norm \"d\" %line act gelu\n"
        "%e = channel_norm \"e\" %point, _, %h, %h act prelu\n"
        "output %a\noutput %c\noutput %d\noutput %e\n");
}

/* Tensors of six dimensions and more. */
static void test_many_dimensions(void **state) {
  (void)state;
  check("graph \"dimensions\"\n"
        "input %x 2x19x3x5x7\n"
        "const %k 1x1x19x1x5x7 = seed 1\n"
        "const %one 1x1x1x1x1x1 = [0.5]\n"
        "%a = reshape \"a\" %x shape 2x1x19x3x5x7\n"
        "%b = activation \"b\" %a act gelu\n"
        "%c = power \"c\" %a scale 0.3 shift 1 power -2\n"
        "%d = reduce \"d\" %x axis 2\n"
        "%e = reshape \"e\" %d shape 2x1x19x1x5x7\n"
        "%f = eltwise \"f\" %b, %c, %e, %k, %one coeff 1,-1,2,0.5,1\n"
        "%g = eltwise \"g\" %f, %e, %b, %a, %e, %one, %k, %k, %b, %c kind max\n"
        "%h0 = eltwise \"h0\" %g, %c kind div\n"
        "%l = eltwise \"l\" %k, %b kind less\n"
        "%h = eltwise \"h\" %l, %h0, %one kind select\n"
        "%i = reshape \"i\" %h shape 2x19x3x5x7\n"
        "%j = reshape \"j\" %e shape 2x19x5x7\n"
        "output %i\noutput %j\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_group_norm),   cmocka_unit_test(test_functions),
      cmocka_unit_test(test_eltwise),      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_channel_norm), cmocka_unit_test(test_many_dimensions),
      cmocka_unit_test(test_cumsum),       cmocka_unit_test(test_detection),
      cmocka_unit_test(test_suppression),  cmocka_unit_test(test_compiled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
