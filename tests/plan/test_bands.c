/* Chains that run band by band: against the reference, with the bits of the plain execution, and in less memory. */
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
  if (pz_graph_parse(text, strlen(text), "test_bands.c", &graph, &err) != PZ_OK) fail_msg("%s", err.message);
  return graph;
}

/* The caller: pz_plan_free, then pz_graph_free. */
static pz_plan *plan_of(pz_graph *graph, const pz_plan_options *options) {
  pz_error err = {0};
  pz_plan *plan;
  assert_int_equal(pz_optimise(graph, NULL, NULL, NULL, &err), PZ_OK);
  assert_int_equal(pz_plan_new(graph, options, &plan, &err), PZ_OK);
  return plan;
}

/* Floats of the arena; *steps: how many algorithms' names have `what` in them. */
static int64_t floats_of(const char *text, pz_isa isa, pz_fuse_rows bands, bool exact, const char *what,
                         int32_t *steps) {
  pz_graph *graph = parse(text);
  pz_plan *plan =
      plan_of(graph, &(pz_plan_options){.target = pz_target_as(isa), .fuse_rows = bands, .exact = exact});
  const int64_t floats = plan->arena_bytes / 4;
  *steps = 0;
  for (int32_t i = 0; i < plan->n_steps; i++) *steps += strstr(plan->steps[i].algorithm, what) != NULL;
  pz_plan_free(plan);
  pz_graph_free(graph);
  return floats;
}

/* Chains as users have them: one of all families of kernels band by band ("valid"), one in place with deconvolution and strides ("sliding"). Those of
 * the others differ in where rows lie and when they are made, which the compiler does not see: sizes and pointers are arguments of kernels. */
static bool is_quick(const char *name, pz_isa isa) {
  return isa != pz_isa_native() || (strcmp(name, "valid") && strcmp(name, "sliding"));
}

/* Without bands kernels are the quick compiler's: other tests have those as users have them. max_error: that fast convolutions may add; 0: the default. */
static void check_within(const char *text, pz_isa isa, bool exact, double max_error) {
  uint64_t bits[2];
  for (int i = 0; i < 2; i++) {
    pz_graph *graph = parse(text);
    const pz_compiled_options options = {.name = graph->name,
                                         .seed = 3,
                                         .plan = {.target = pz_target_as(isa),
                                                  .exact = exact,
                                                  .max_error = max_error,
                                                  .fuse_rows = i ? PZ_FUSE_ROWS_ALWAYS : PZ_FUSE_ROWS_NEVER},
                                         .tolerance = max_error > 0 ? max_error : 1e-5,
                                         .bits = &bits[i],
                                         .quick = !i || is_quick(graph->name, isa)};
    pz_test_compiled(graph, &options);
    pz_graph_free(graph);
  }
  assert_true(bits[0] == bits[1]);
}
static void check_as(const char *text, pz_isa isa, bool exact) { check_within(text, isa, exact, 0); }

static void check(const char *text, pz_isa isa, bool exact, bool saves) {
  int32_t bands;
  const int64_t plain = floats_of(text, isa, PZ_FUSE_ROWS_NEVER, exact, " bands", &bands);
  assert_int_equal(bands, 0);
  assert_true(floats_of(text, isa, PZ_FUSE_ROWS_ALWAYS, exact, " bands", &bands) < plain || !saves);
  assert_true(bands > 0);
  check_as(text, isa, exact);
}

/* So many convolutions have their results over their inputs, and the arena is at most `part` of the NCHW one, or of `apart` floats where these
 * are more. */
static void check_inplace(const char *text, pz_isa isa, bool exact, int32_t in_place, double part,
                          int64_t apart) {
  int32_t found;
  const int64_t plain = floats_of(text, isa, PZ_FUSE_ROWS_NEVER, exact, "in place", &found);
  assert_int_equal(found, 0);
  const int64_t floats = floats_of(text, isa, PZ_FUSE_ROWS_ALWAYS, exact, "in place", &found);
  assert_int_equal(found, in_place);
  assert_true(floats < plain && (double)floats <= part * (double)(apart > plain ? apart : plain));
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

/* What a sum starts from is read by a taller kernel than the sum's: it is not overwritten while that one needs it. */
static void test_tall(void **state) {
  (void)state;
  check("graph \"tall\"\n"
        "input %x 1x16x4x83x11\n"
        "const %w1 16x16x1x1x1 = seed 1 scale 0.2\n"
        "const %w2 16x16x1x9x3 = seed 2 scale 0.05\n"
        "const %w3 16x16x1x3x3 = seed 3 scale 0.08\n"
        "%p = pool \"p\" %x kernel 1,3,3 stride 1,1,1 pad 0,1,1:0,1,1\n"
        "%a = conv \"a\" %p, %w2 kernel 1,9,3 pad 0,4,1:0,4,1\n"
        "%b = conv \"b\" %a, %w3, _, %p kernel 1,3,3 pad 0,1,1:0,1,1\n"
        "%c = conv \"c\" %b, %w1 kernel 1,1,1\n"
        "output %c\n",
        PZ_ISA_SSE4, true, true);
}

/* Down, up and down again, with more and with fewer channels, and a border that grows. */
static const char sliding[] = "graph \"sliding\"\n"
                              "input %x 1x2x4x55x22\n"
                              "const %w0 2x20x1x4x4 = seed 7 scale 0.3\n"
                              "const %w1 20x20x3x3x3 = seed 1 scale 0.05\n"
                              "const %w2 20x20x3x3x3 = seed 2 scale 0.05\n"
                              "const %w3 16x20x1x5x1 = seed 3 scale 0.1\n"
                              "const %w4 20x16x1x3x3 = seed 4 scale 0.1\n"
                              "const %b1 20 = seed 5 scale 0.2\n"
                              "%p = deconv \"p\" %x, %w0 kernel 1,4,4 stride 1,2,2 pad 0,1,1:0,1,1\n"
                              "%a = conv \"a\" %p, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                              "%b = conv \"b\" %a, %w2 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                              "%c = conv \"c\" %b, %w3 kernel 1,5,1 pad 0,2,0:0,2,0 act relu\n"
                              "%d = conv \"d\" %c, %w4 kernel 1,3,3 pad 0,1,1:0,1,1\n"
                              "%q = pool \"q\" %d kernel 3,3,3 stride 2,2,2 pad 1,1,1:1,1,1\n"
                              "output %q\n";
static void test_sliding(void **state) {
  (void)state;
  check_inplace(sliding, pz_isa_native(), false, 4, 0.65, 0);
  check_inplace(sliding, PZ_ISA_SSE4, true, 4, 0.65, 0);
}

/* Results smaller than their inputs, pads of one side, a dilated kernel, and a sum that an in-place result ends in. */
static void test_sliding_shapes(void **state) {
  (void)state;
  const pz_isa isa = pz_isa_native();
  const int32_t block = pz_isa_get(isa)->vector_width, lanes = (17 + block - 1) / block * block;
  const int64_t apart =
      (int64_t)lanes * (90 * 12 + (5 + 88 + 3) * (1 + 10 + 1)); /* p and a, with a border of its own */
  check_inplace("graph \"sliding_shapes\"\n"
                "input %x 1x1x1x90x12\n"
                "const %w0 17x1x1x1x1 = seed 7\n"
                "const %w1 17x17x1x3x3 = seed 1 scale 0.1\n"
                "const %w2 17x17x1x2x1 = seed 2 scale 0.2\n"
                "const %w4 17x17x1x2x2 = seed 4 scale 0.2\n"
                "%p = conv \"p\" %x, %w0 kernel 1,1,1\n"
                "%a = conv \"a\" %p, %w1 kernel 1,3,3\n"
                "%b = conv \"b\" %a, %w1 kernel 1,3,3 dilation 1,4,1 pad 0,5,1:0,3,1\n"
                "%c = conv \"c\" %b, %w2 kernel 1,2,1 pad 0,1,0:0,0,0\n"
                "%q = pool \"q\" %c kernel 1,3,3 stride 1,2,2 pad 0,1,1:0,1,1\n"
                "%d = deconv \"d\" %q, %w4, _, %c kernel 1,2,2 stride 1,2,2\n"
                "%e = conv \"e\" %d, %w1 kernel 1,3,3 pad 0,1,1:0,1,1\n"
                "%r = pool \"r\" %e kernel 1,3,3 stride 1,2,2 pad 0,1,1:0,1,1\n"
                "output %r\n",
                isa, false, 4, 0.7, apart);
}

/* A convolution and a residual module: it and the module's first one are in place, the other two run band by band and end where the first
 * one's result lay. */
static void test_residual(void **state) {
  (void)state;
  const char text[] = "graph \"residual\"\n"
                      "input %x 1x1x5x96x12\n"
                      "const %w0 16x1x1x1x1 = seed 7\n"
                      "const %w1 16x16x1x3x3 = seed 1 scale 0.1\n"
                      "const %w2 16x16x3x3x3 = seed 2 scale 0.05\n"
                      "%p = conv \"p\" %x, %w0 kernel 1,1,1\n"
                      "%o = conv \"o\" %p, %w1 kernel 1,3,3 pad 0,1,1:0,1,1 act elu 1\n"
                      "%a = conv \"a\" %o, %w1 kernel 1,3,3 pad 0,1,1:0,1,1 act elu 1\n"
                      "%b = conv \"b\" %a, %w2 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                      "%c = conv \"c\" %b, %w2, _, %a kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                      "%q = pool \"q\" %c kernel 1,3,3 stride 1,2,2 pad 0,1,1:0,1,1\n"
                      "output %q\n";
  const pz_isa native = pz_isa_native(), isa = native == PZ_ISA_AMX ? PZ_ISA_AVX512 : native;
  int32_t chains, nonfused;
  floats_of(text, isa, PZ_FUSE_ROWS_ALWAYS, false, " bands", &chains);
  assert_true(chains > 3);
  /* Layers by position, which plans for much of level 2 have, need memory for all their tiles. */
  floats_of(text, isa, PZ_FUSE_ROWS_NEVER, false, "nonfused", &nonfused);
  check_inplace(text, isa, false, 2, nonfused ? 0.4 : 0.62, 0);
  /* Products of tiles go row by row: there all of them run band by band. */
  if (native != isa) check(text, native, false, true);
}

/* Planes of border that the tensor between two convolutions of 3x3x3 has in front of it: by halves, or exact by others. Neighbouring rows,
 * planes and blocks share what lies between them. */
static int32_t planes_in_front(bool exact) {
  pz_graph *graph = parse("graph \"borders\"\n"
                          "input %x 1x32x6x40x40\n"
                          "const %w 32x32x3x3x3 = seed 2 scale 0.05\n"
                          "%a = conv \"a\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                          "%b = conv \"b\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                          "output %b\n");
  pz_plan *plan = plan_of(graph, &(pz_plan_options){.target = pz_target_as(PZ_ISA_AMX), .exact = exact});
  const pz_view v = plan->storages[plan->nchwc[graph->nodes[0].out[0]]].view;
  const bool bf16x2 = strstr(plan->steps[plan->n_steps - 2].algorithm, "bf16x2") != NULL;
  assert_true(bf16x2 != exact);
  assert_int_equal(v.border_lo[1], 1);
  assert_int_equal(v.border_hi[2], 1);
  assert_true(v.stride_h == (v.w + 1) * v.block && v.stride_d == (v.h + 1) * v.stride_h);
  assert_true(v.stride_c == (v.d + v.border_lo[0]) * v.stride_d && v.border_lo[0] == v.border_hi[0]);
  pz_plan_free(plan);
  pz_graph_free(graph);
  return v.border_lo[0];
}

static void test_borders(void **state) {
  (void)state;
  assert_int_equal(planes_in_front(false), 0);
  assert_int_equal(planes_in_front(true), 1);
}

/* A module of 36 channels between pooling and a deconvolution onto its result: 12 of 48 lanes would be empty, so what halves, pooling and
 * deconvolution share is channels-last, in one storage after the other; what an output or other solvers read is not. */
static const char channels_last[] = "graph \"tight\"\n"
                                    "input %x 1x16x5x96x40\n"
                                    "const %w0 28x16x1x3x3 = seed 1 scale 0.1\n"
                                    "const %w1 36x28x1x3x3 = seed 2 scale 0.1\n"
                                    "const %w2 36x36x3x3x3 = seed 3 scale 0.03\n"
                                    "const %w3 36x36x1x2x2 = seed 4 scale 0.1\n"
                                    "%i = conv \"i\" %x, %w0 kernel 1,3,3 pad 0,1,1:0,1,1 act elu 1\n"
                                    "%p = pool \"p\" %i kernel 1,2,2 stride 1,2,2\n"
                                    "%a = conv \"a\" %p, %w1 kernel 1,3,3 pad 0,1,1:0,1,1 act elu 1\n"
                                    "%b = conv \"b\" %a, %w2 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                                    "%c = conv \"c\" %b, %w2, _, %a kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                                    "%m = pool \"m\" %c kernel 1,2,2 stride 1,2,2\n"
                                    "%n = conv \"n\" %m, %w2 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                                    "%d = deconv \"d\" %n, %w3, _, %c kernel 1,2,2 stride 1,2,2\n"
                                    "%e = conv \"e\" %d, %w2 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                                    "%q = pool \"q\" %e kernel 1,2,2 stride 1,2,2\n"
                                    "output %q\n";
static const pz_view *view_of(const pz_plan *plan, const char *name) {
  const pz_graph *g = plan->graph;
  for (pz_node_id n = 0; n < g->n_nodes; n++)
    if (!strcmp(g->nodes[n].name, name)) return &plan->storages[plan->nchwc[g->nodes[n].out[0]]].view;
  fail_msg("there is no '%s'", name);
  return NULL;
}
static void test_channels_last(void **state) {
  (void)state;
  for (int32_t exact = 0; exact < 2; exact++) {
    pz_graph *graph = parse(channels_last);
    const pz_plan_options options = {.target = pz_target_as(PZ_ISA_AMX), .exact = exact, .max_error = 1e-4};
    pz_plan *plan = plan_of(graph, &options);
    assert_int_equal(view_of(plan, "i")->channels_last, 0);
    assert_int_equal(view_of(plan, "p")->channels_last, !exact);
    assert_int_equal(view_of(plan, "c")->channels_last, !exact);
    assert_int_equal(view_of(plan, "d")->channels_last, !exact);
    assert_int_equal(view_of(plan, "e")->channels_last, !exact);
    assert_int_equal(view_of(plan, "q")->channels_last, 0);
    assert_int_equal(view_of(plan, "c")->stride_w, exact ? 16 : 36);
    pz_plan_free(plan);
    pz_graph_free(graph);
  }
  if (pz_isa_native() == PZ_ISA_AMX) check_within(channels_last, PZ_ISA_AMX, false, 1e-4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_valid),          cmocka_unit_test(test_padded),   cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_dilated),        cmocka_unit_test(test_tall),     cmocka_unit_test(test_sliding),
      cmocka_unit_test(test_sliding_shapes), cmocka_unit_test(test_residual), cmocka_unit_test(test_borders),
      cmocka_unit_test(test_channels_last)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
