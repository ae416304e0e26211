/* Chains that run slab by slab: against the reference, with the bits of the plain execution, and in less memory. */
#include "base/cpu.h"
#include "optimise/optimise.h"
#include "support/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static pz_graph *parse(const char *text) {
  pz_graph *graph = NULL;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test_slabs.c", &graph, &err) != PZ_OK) fail_msg("%s", err.message);
  return graph;
}

/* Floats of the arena; *steps: whether a chain runs slab by slab. */
static int64_t floats_of(const char *text, pz_slabs slabs, bool exact, bool *steps) {
  pz_graph *graph = parse(text);
  pz_error err = {0};
  pz_plan *plan;
  const pz_plan_options options = {.isa = pz_isa_native(), .slabs = slabs, .exact = exact};
  assert_int_equal(pz_optimise(graph, NULL, NULL, NULL, &err), PZ_OK);
  assert_int_equal(pz_plan_new(graph, &options, &plan, &err), PZ_OK);
  const int64_t floats = plan->arena_floats;
  *steps = false;
  for (int32_t i = 0; i < plan->n_steps; i++) *steps |= strstr(plan->steps[i].algorithm, " slabs") != NULL;
  pz_plan_free(plan);
  pz_graph_free(graph);
  return floats;
}

static void check_as(const char *text, pz_isa isa, bool exact) {
  uint64_t bits[2];
  for (int i = 0; i < 2; i++) {
    pz_graph *graph = parse(text);
    const pz_compiled_options options = {
        .name = graph->name,
        .seed = 3,
        .plan = {.isa = isa, .exact = exact, .slabs = i ? PZ_SLABS_ALWAYS : PZ_SLABS_NEVER},
        .tolerance = 1e-5,
        .bits = &bits[i]};
    pz_test_compiled(graph, &options);
    pz_graph_free(graph);
  }
  assert_true(bits[0] == bits[1]);
}

static void check(const char *text, pz_isa isa, bool exact, bool saves) {
  bool slabs;
  const int64_t plain = floats_of(text, PZ_SLABS_NEVER, exact, &slabs);
  assert_false(slabs);
  assert_true(floats_of(text, PZ_SLABS_ALWAYS, exact, &slabs) < plain || !saves);
  assert_true(slabs);
  check_as(text, isa, exact);
}

/* Valid convolutions, pooling, and a crop of what is pooled that is read much later. */
static void test_valid(void **state) {
  (void)state;
  check("graph \"valid\"\n"
        "input %x 1x1x9x47x14\n"
        "const %w1 20x1x3x3x3 = seed 1 scale 0.2\n"
        "const %b1 20 = seed 2 scale 0.2\n"
        "const %w2 18x20x3x3x3 = seed 3 scale 0.05\n"
        "const %w3 18x18x1x1x1 = seed 4 scale 0.2\n"
        "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 act relu 0.1\n"
        "%b = conv \"b\" %a, %w2 kernel 3,3,3 act elu 1\n"
        "%p = pool \"p\" %b kernel 1,2,2 stride 1,2,2\n"
        "%q = conv \"q\" %p, %w3 kernel 1,1,1\n"
        "%c = crop \"c\" %b offset 0,0,0,11,2 size 1,18,5,21,5\n"
        "%d = crop \"d\" %q offset 0,0,0,0,0 size 1,18,5,21,5\n"
        "%e = eltwise \"e\" %c, %d\n"
        "output %e\n",
        pz_isa_native(), false, true);
}

/* Padded convolutions around a residual sum, two images, one output in the chain and one behind it. */
static void test_padded(void **state) {
  (void)state;
  check("graph \"padded\"\n"
        "input %x 2x3x4x97x11\n"
        "const %w1 24x3x1x5x5 = seed 1 scale 0.1\n"
        "const %w2 24x24x1x3x3 = seed 2 scale 0.08\n"
        "const %w3 24x24x3x3x3 = seed 3 scale 0.05\n"
        "const %w4 2x24x1x5x5 = seed 4 scale 0.05\n"
        "%a = conv \"a\" %x, %w1 kernel 1,5,5 pad 0,2,2:0,2,2 act elu 1\n"
        "%b = conv \"b\" %a, %w2 kernel 1,3,3 pad 0,1,1:0,1,1\n"
        "%c = conv \"c\" %b, %w3 kernel 3,3,3 pad 1,1,1:1,1,1 act sigmoid\n"
        "%d = conv \"d\" %c, %w3, _, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
        "%l = conv \"l\" %d, %w4 kernel 1,5,5 pad 0,2,2:0,2,2\n"
        "output %l\noutput %d\n",
        pz_isa_native(), false, true);
}

/* Deconvolution at the start onto a sum from outside, strides, dilation, 2D, groups, two ends of different heights. */
static void test_shapes(void **state) {
  (void)state;
  check("graph \"shapes\"\n"
        "input %x 1x18x61x9\n"
        "input %y 1x17x122x18\n"
        "const %w1 18x17x2x2 = seed 1 scale 0.2\n"
        "const %w2 17x17x3x3 = seed 2 scale 0.1\n"
        "const %w3 34x1x3x1 = seed 3 scale 0.3\n"
        "const %w4 5x17x3x3 = seed 4 scale 0.1\n"
        "%a = deconv \"a\" %x, %w1, _, %y kernel 1,2,2 stride 1,2,2\n"
        "%b = conv \"b\" %a, %w2 kernel 1,3,3 dilation 1,2,1 pad 0,2,1:0,2,1\n"
        "%d = conv \"d\" %b, %w3 kernel 1,3,1 pad 0,2,0:0,1,0 group 17\n"
        "%e = conv \"e\" %b, %w4 kernel 1,3,3 stride 1,2,2 pad 0,1,0:0,0,1\n"
        "output %d\noutput %e\n",
        PZ_ISA_SSE4, true, false);
}

/* Windows of a pooling that lie apart, and a deconvolution whose rows do, which no chain begins with. */
static void test_dilated(void **state) {
  (void)state;
  check("graph \"dilated\"\n"
        "input %x 1x18x61x9\n"
        "const %w1 18x17x2x2 = seed 1 scale 0.2\n"
        "const %w2 17x17x3x3 = seed 2 scale 0.1\n"
        "%a = deconv \"a\" %x, %w1 kernel 1,2,2 stride 1,2,2 dilation 1,3,1\n"
        "%b = conv \"b\" %a, %w2 kernel 1,3,3 pad 0,1,1:0,1,1\n"
        "%c = conv \"c\" %b, %w2 kernel 1,3,3\n"
        "%p = pool \"p\" %c kernel 1,3,2 stride 1,2,2 dilation 1,4,1\n"
        "output %p\n",
        PZ_ISA_SSE4, true, true);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_valid), cmocka_unit_test(test_padded),
                                     cmocka_unit_test(test_shapes), cmocka_unit_test(test_dilated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
