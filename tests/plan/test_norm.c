/* Normalisation behind convolutions: whether the convolution gathers the statistics, or a pass does; results against the
 * reference, on 1, 2 and 3 threads to the same bits. */
#include "base/cpu.h"
#include "optimise/optimise.h"
#include "plan/solver.h"
#include "support/compiled.h"
#include "support/random_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static pz_graph *parse(const char *text) {
  pz_graph *graph = NULL;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test_norm.c", &graph, &err) != PZ_OK) fail_msg("%s", err.message);
  return graph;
}

/* Of the graph after its passes. */
static pz_plan *plan_of(pz_graph *graph, const pz_plan_options *options) {
  pz_error err = {0};
  pz_plan *plan;
  assert_int_equal(pz_optimise(graph, NULL, NULL, NULL, &err), PZ_OK);
  assert_int_equal(pz_plan_new(graph, options, &plan, &err), PZ_OK);
  return plan;
}

/* Passes over memory for statistics; *gathered: normalisations whose convolution gathers them. Frees the graph. */
static int passes_of(pz_graph *graph, const pz_plan_options *options, int *collected) {
  pz_plan *plan = plan_of(graph, options);
  int passes = 0;
  *collected = 0;
  for (int32_t i = 0; i < plan->n_steps; i++) {
    const pz_step *step = &plan->steps[i];
    *collected += strstr(step->algorithm, "collected by the convolution") ||
                  strstr(step->algorithm, "the convolution collected");
    for (int32_t c = 0; c < step->n_calls; c++)
      passes += !strcmp(step->calls[c].function, "pz_norm_stats_of_units");
  }
  pz_plan_free(plan);
  pz_graph_free(graph);
  return passes;
}

typedef struct expected {
  int passes, collected; /* the latter at least: with shorter vectors more normalisations do whole groups */
} expected;

static void check_plan(const char *text, const pz_plan_options *options, expected want) {
  int collected;
  assert_int_equal(passes_of(parse(text), options, &collected), want.passes);
  assert_true(collected >= want.collected);
}

static void check(const char *text, pz_plan_options options, expected want) {
  check_plan(text, &options, want);
  pz_graph *graph = parse(text);
  const pz_compiled_options compiled = {
      .name = graph->name, .seed = 5, .plan = options, .tolerance = options.exact ? 1e-5 : 2e-5};
  pz_test_compiled(graph, &compiled);
  pz_graph_free(graph);
}

/* Several samples, few of them whole strips; kernels of 3 and 1, strides, groups of channels, NCHW input, padding lanes; a
 * normalisation of several blocks; two of one result, which is used otherwise too; transposed with phases alike and not. */
static const char direct[] = "graph \"direct\"\n"
                             "input %x 2x3x4x11x13\n"
                             "const %w1 20x3x3x3x3 = seed 1 scale 0.2\n"
                             "const %b1 20 = seed 2 scale 5\n"
                             "const %w2 48x20x3x3x3 = seed 3 scale 0.1\n"
                             "const %w3 48x12x1x3x3 = seed 4 scale 0.1\n"
                             "const %w4 24x48x1x1x1 = seed 5 scale 0.2\n"
                             "const %w5 24x20x2x2x2 = seed 6 scale 0.2\n"
                             "const %w6 20x20x3x3x3 = seed 7 scale 0.2\n"
                             "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%an = group_norm \"an\" %a groups 20 act relu 0.01\n"
                             "%b = conv \"b\" %an, %w2 kernel 3,3,3 pad 1,1,1:1,1,1 stride 1,2,1 act elu 1\n"
                             "%bn = group_norm \"bn\" %b groups 1\n"
                             "%bm = group_norm \"bm\" %b groups 2\n"
                             "%c = conv \"c\" %bn, %w3 kernel 1,3,3 pad 0,1,1:0,1,1 group 4\n"
                             "%d = eltwise \"d\" %b, %bm, %c\n"
                             "%e = conv \"e\" %d, %w4 kernel 1,1,1\n"
                             "%en = group_norm \"en\" %e groups 3\n"
                             "%f = deconv \"f\" %en, %w5 kernel 2,2,2 stride 2,2,2\n"
                             "%fn = group_norm \"fn\" %f groups 20 act relu\n"
                             "%g = deconv \"g\" %fn, %w6 kernel 3,3,3 stride 1,2,1 pad 1,1,1:1,1,1\n"
                             "%gn = group_norm \"gn\" %g groups 5\n"
                             "output %gn\n";
static void test_direct(void **state) {
  (void)state;
  check(direct, (pz_plan_options){.target = pz_target_as(pz_isa_native()), .exact = true}, (expected){0, 3});
}

/* Minimal filtering: tiles cut off at each end, samples that end within a batch, a residual sum; a pooled tensor and a sum of two,
 * which no convolution makes, keep their pass. */
static const char filtered[] = "graph \"filtered\"\n"
                               "input %x 2x20x10x31x29\n"
                               "const %w1 20x20x3x3x3 = seed 1 scale 0.1\n"
                               "const %b1 20 = seed 2 scale 5\n"
                               "const %w2 20x20x1x3x3 = seed 3 scale 0.1\n"
                               "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                               "%an = group_norm \"an\" %a groups 4 act relu\n"
                               "%b = conv \"b\" %an, %w2, %b1, %x kernel 1,3,3 pad 0,1,1:0,1,1\n"
                               "%bn = group_norm \"bn\" %b groups 2 act relu\n"
                               "%p = pool \"p\" %bn kernel 3,3,3 pad 1,1,1:1,1,1\n"
                               "%pn = group_norm \"pn\" %p groups 4\n"
                               "%s = eltwise \"s\" %pn, %b kind max\n"
                               "%sn = group_norm \"sn\" %s groups 4\n"
                               "output %sn\n";
static void test_filtered(void **state) {
  (void)state;
  const pz_isa native = pz_isa_native(),
               isa = native == PZ_ISA_AMX ? PZ_ISA_AVX512 : native; /* AMX has halves */
  check(filtered, (pz_plan_options){.target = pz_target_as(isa)}, (expected){2, 2});
  /* what is normalised is in no band chain */
  check_plan(filtered, &(pz_plan_options){.target = pz_target_as(isa), .fuse_rows = PZ_FUSE_ROWS_ALWAYS},
             (expected){2, 2});
}

/* Algorithms that read their results again, all asked for by name: two samples, tiles and bands cut off at each end. */
static const char asked[] = "graph \"asked\"\n"
                            "input %x 2x2x3x34x30\n"
                            "const %w1 20x2x3x3x3 = seed 1 scale 0.2\n"
                            "const %b1 20 = seed 2 scale 5\n"
                            "const %w2 20x20x3x3x3 = seed 3 scale 0.1\n"
                            "const %w3 20x20x1x5x5 = seed 4 scale 0.1\n"
                            "const %w4 20x1x3x3x3 = seed 5 scale 0.3\n"
                            "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                            "%an = group_norm \"an\" %a groups 2 act relu\n"
                            "%b = conv \"b\" %an, %w2, %b1 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                            "%bn = group_norm \"bn\" %b groups 2 act relu\n"
                            "%c = conv \"c\" %bn, %w3, %b1 kernel 1,5,5 pad 0,2,2:0,2,2 act elu 1\n"
                            "%cn = group_norm \"cn\" %c groups 2\n"
                            "%d = conv \"d\" %cn, %w4, %b1 kernel 3,3,3 pad 1,1,1:1,1,1 group 20\n"
                            "%dn = group_norm \"dn\" %d groups 2\n"
                            "output %dn\n";
/* The label of the first candidate of layer `name` that has `part` in it, as "LAYER=LABEL". */
static const char *label_of(const pz_plan *plan, const char *name, const char *part, char *text,
                            size_t size) {
  const pz_node_id n = pz_graph_find_node(plan->graph, name);
  for (int32_t i = 0; i < plan->choices[n].n; i++) {
    const char *label = plan->choices[n].candidates[i].label;
    if (strstr(label, part)) return snprintf(text, size, "%s=%s", name, label), text;
  }
  fail_msg("layer %s has no candidate '%s'", name, part);
  return NULL;
}
enum { ASKED = 4 };
typedef struct asked_for {
  char text[ASKED][2 * PZ_LABEL_TEXT];
  const char *algorithms[ASKED];
} asked_for;
/* options->algorithms: for layers[i], one whose label has parts[i] in it. */
static void ask(const char *network, const char layers[ASKED], const char *const parts[ASKED],
                pz_plan_options *options, asked_for *of) {
  pz_graph *graph = parse(network);
  pz_plan *plan = plan_of(graph, options);
  for (int i = 0; i < ASKED; i++)
    of->algorithms[i] =
        label_of(plan, (const char[2]){layers[i], 0}, parts[i], of->text[i], sizeof of->text[i]);
  pz_plan_free(plan);
  pz_graph_free(graph);
  options->algorithms = of->algorithms, options->n_algorithms = ASKED;
}
static pz_target without_tiles(void) {
  const pz_isa native = pz_isa_native();
  return pz_target_as(native == PZ_ISA_AMX ? PZ_ISA_AVX512 : native);
}

static void test_asked(void **state) {
  (void)state;
  static const char *const parts[ASKED] = {"1-D along w", "nonfused", "FFT", "depthwise"};
  pz_plan_options options = {.target = without_tiles(), .max_error = 1e-4};
  asked_for of;
  ask(asked, "abcd", parts, &options, &of);
  check(asked, options, (expected){0, 4});
}

/* Minimal filtering normalises what it reads, unless anything else reads that, or what was normalised: two samples, tiles cut off at each end, sums
 * as skips, moments of the result; a gamma of zeros, whose results are those of its beta but on the border. */
static const char reads[] = "graph \"reads\"\n"
                            "input %x 2x20x9x31x29\n"
                            "const %w1 32x20x3x3x3 = seed 1 scale 0.1\n"
                            "const %b1 32 = seed 2 scale 5\n"
                            "const %w2 32x32x3x3x3 = seed 3 scale 0.1\n"
                            "const %w3 32x32x1x3x3 = seed 4 scale 0.1\n"
                            "const %g 32 = seed 5 scale 1\n"
                            "const %z 32 = seed 6 scale 0\n"
                            "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                            "%an = group_norm \"an\" %a, %g, %b1 groups 2 act relu 0.01\n"
                            "%b = conv \"b\" %an, %w2, %b1 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                            "%bn = group_norm \"bn\" %b, %z, %b1 groups 2 act elu 1\n"
                            "%c = conv \"c\" %bn, %w3, %b1 kernel 1,3,3 pad 0,1,1:0,1,1\n"
                            "%cn = group_norm \"cn\" %c groups 2\n"
                            "%d = conv \"d\" %cn, %w2, %b1, %cn kernel 3,3,3 pad 1,1,1:1,1,1\n"
                            "%dn = group_norm \"dn\" %d groups 2 act sigmoid\n"
                            "%e = conv \"e\" %dn, %w2, %b1 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                            "output %e\n";
static int normalising(const pz_plan_options *options) {
  pz_graph *graph = parse(reads);
  pz_plan *plan = plan_of(graph, options);
  int n = 0;
  for (int32_t i = 0; i < plan->n_steps; i++)
    for (int32_t c = 0; c < plan->steps[i].n_calls; c++)
      n += !strcmp(plan->steps[i].calls[c].function, "pz_group_norm_factors");
  pz_plan_free(plan);
  pz_graph_free(graph);
  return n;
}
static void test_reads(void **state) {
  (void)state;
  static const char *const parts[ASKED] = {"batches of", "batches of", "batches of", "batches of"};
  pz_plan_options options = {.target = without_tiles(), .max_error = 1e-4};
  asked_for of;
  ask(reads, "bcde", parts, &options, &of);
  assert_int_equal(normalising(&options), 2); /* not cn: a skip too; nor dn: not zero at zero */
  check(reads, options, (expected){0, 4});
  options.fuse_rows = PZ_FUSE_ROWS_ALWAYS; /* memory first: rather in bands */
  assert_int_equal(normalising(&options), 0);
  options = (pz_plan_options){.target = without_tiles(), .exact = true};
  assert_int_equal(normalising(&options), 0);
}

/* On AMX too; it is run where there is that. */
static void test_reads_on_amx(void **state) {
  (void)state;
  static const char *const parts[ASKED] = {"bf16x2", "bf16x2", "bf16x2", "bf16x2"};
  pz_plan_options options = {.max_error = 1e-4};
  asked_for of;
  assert_true(pz_target_parse("sapphire-rapids", &options.target));
  ask(reads, "bcde", parts, &options, &of);
  assert_int_equal(normalising(&options), 2);
  if (pz_isa_native() == PZ_ISA_AMX) check(reads, options, (expected){4, 0});
  else check_plan(reads, &options, (expected){4, 0});
}

/* A level of a decoder, with other layers around it: of the skip connection, what is upsampled, and the result two live at a time. */
static const char decoder[] = "graph \"decoder\"\n"
                              "input %x 1x1x12x26x22\n"
                              "const %w1 20x1x3x3x3 = seed 1 scale 0.2\n"
                              "const %w2 40x20x2x2x2 = seed 2 scale 0.1\n"
                              "const %w3 40x20x2x2x2 = seed 3 scale 0.2\n"
                              "const %w4 24x40x3x3x3 = seed 4 scale 0.1\n"
                              "const %b4 24 = seed 5 scale 1\n"
                              "const %w5 2x24x1x1x1 = seed 6 scale 0.3\n"
                              "%a = conv \"a\" %x, %w1 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                              "%an = group_norm \"an\" %a groups 20 act relu 0.01\n"
                              "%b = conv \"b\" %an, %w2 kernel 2,2,2 stride 2,2,2\n"
                              "%bn = group_norm \"bn\" %b groups 40 act relu 0.01\n"
                              "%c = deconv \"c\" %bn, %w3 kernel 2,2,2 stride 2,2,2\n"
                              "%j = concat \"j\" %c, %an\n"
                              "%d = conv \"d\" %j, %w4, %b4 kernel 3,3,3 pad 1,1,1:1,1,1\n"
                              "%dn = group_norm \"dn\" %d groups 24 act relu 0.01\n"
                              "%e = conv \"e\" %dn, %w5 kernel 1,1,1\n"
                              "output %e\n";
static double arena_of(const char *text, const char *disable, pz_fuse_rows fuse_rows) {
  const pz_plan_options options = {.target = pz_target_as(pz_isa_native()), .fuse_rows = fuse_rows};
  pz_error err = {0};
  pz_graph *graph = parse(text);
  pz_plan *plan;
  assert_int_equal(pz_optimise(graph, disable, NULL, NULL, &err), PZ_OK);
  assert_int_equal(pz_plan_new(graph, &options, &plan, &err), PZ_OK);
  const double bytes = (double)plan->arena_bytes;
  pz_plan_free(plan);
  pz_graph_free(graph);
  return bytes;
}
static void test_decoder(void **state) {
  (void)state;
  const pz_target native = pz_target_as(pz_isa_native());
  check(decoder, (pz_plan_options){.target = native}, (expected){0, 1});
  const double now = arena_of(decoder, NULL, PZ_FUSE_ROWS_NEVER),
               before = arena_of(decoder, "split-concat", PZ_FUSE_ROWS_NEVER);
  if (!(now < 0.9 * before)) fail_msg("%.0f bytes, without the pass %.0f", now, before);
}

/* Memory first: what is upsampled is never whole, the convolution of the skip connection and the one that reads what is normalised lie over their inputs,
 * and normalisations over theirs: little more than one whole tensor of the finest level lives at a time. A pass finds its moments. */
static void test_memory_first(void **state) {
  (void)state;
  pz_plan_options options = {.target = pz_target_as(pz_isa_native()), .fuse_rows = PZ_FUSE_ROWS_ALWAYS};
  check(decoder, options, (expected){1, 0});
  const double now = arena_of(decoder, NULL, PZ_FUSE_ROWS_ALWAYS),
               before = arena_of(decoder, "split-concat", PZ_FUSE_ROWS_NEVER);
  if (!(now < 0.65 * before)) fail_msg("%.0f bytes, with whole tensors %.0f", now, before);
}

/* Random networks have such normalisations. */
static void test_random(void **state) {
  (void)state;
  int all = 0, collected;
  for (uint64_t seed = 3; seed <= 300; seed++) {
    pz_graph *graph;
    pz_error err;
    if (seed % 5 < 3) continue;
    assert_int_equal(pz_random_exported_graph(seed, &graph, &err), PZ_OK);
    passes_of(graph, &(pz_plan_options){.target = pz_target_as((pz_isa)(seed % PZ_ISA_COUNT))}, &collected);
    all += collected;
  }
  assert_true(all > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_direct),       cmocka_unit_test(test_filtered),
                                     cmocka_unit_test(test_asked),        cmocka_unit_test(test_reads),
                                     cmocka_unit_test(test_reads_on_amx), cmocka_unit_test(test_decoder),
                                     cmocka_unit_test(test_memory_first), cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
