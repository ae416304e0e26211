/* Random networks, compiled and run against the reference: with all passes on, and with each one off in turn; on every
 * instruction set that this machine has; with 1, 2 and 3 threads to the same bits. PZ_TEST_NETWORKS=300 test_plan_networks
 * runs more of them; PZ_TEST_SEED=n one. */
#include "base/cpu.h"
#include "base/arena.h"
#include "optimise/optimise.h"
#include "support/compiled.h"
#include "support/random_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include <cmocka.h>

/* Relative L2 error of an output. The design promises 1e-5 for the default precision; random networks divide,
 * take powers and normalise, which multiplies the error of what they start from. */
#define TOLERANCE 2e-5
/* Products of bf16x2 in every layer. */
#define AMX_ERROR     1e-4
#define AMX_TOLERANCE 8e-5

/* On AMX: products of halves wherever they apply, in one of their variants; else what a layer has by default. */
static int32_t bf16x2(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  const uint64_t *seed = host;
  static const char *const labels[] = {"bf16x2", "bf16x2, F(2,3) along ", "bf16x2, F(4,3) along "};
  const char *wanted = labels[*seed % 3];
  int32_t usual = 0, any = -1;
  (void)plan;
  if (node->op != PZ_OP_CONV && node->op != PZ_OP_DECONV) return PZ_BY_COST;
  while (usual < n - 1 && c[usual].error > PZ_MAX_ERROR / 2) usual++;
  for (int32_t i = 0; i < n; i++) {
    if (*seed % 3 ? !strncmp(c[i].label, wanted, strlen(wanted)) : !strcmp(c[i].label, wanted)) return i;
    if (strstr(c[i].label, "bf16x2") && !strstr(c[i].label, "taps")) any = i;
  }
  return any >= 0 ? any : usual;
}

static const char *pass_off(uint64_t seed) {
  int n;
  const pz_pass *passes = pz_passes(&n);
  const int pick = (int)(seed % (uint64_t)(n + 1));
  return pick < n && !passes[pick].required ? passes[pick].name : NULL;
}

/* With the instruction set that the seed asks for or, where this machine lacks it, its own. As users have it where it asks for this machine's own, a
 * quarter of all: here passes and plans are random, and the kernels are those of other tests, which are compiled as users have them. */
static void one_network(uint64_t seed) {
  char name[32];
  const pz_isa asked = (pz_isa)(seed % PZ_ISA_COUNT), isa = pz_isa_supported(asked) ? asked : pz_isa_native();
  pz_graph *graph;
  pz_error err;
  snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
  const bool exported = seed % 5 >= 3; /* independent of what seed % 2 and % 3 choose */
  assert_int_equal((exported ? pz_random_exported_graph : pz_random_graph)(seed, &graph, &err), PZ_OK);
  const pz_compiled_options options = {
      .name = name,
      .seed = seed,
      .plan = {.target = pz_target_as(isa),
               .block = isa >= PZ_ISA_AVX512 && seed % 3 == 0 ? 8 : 0,
               .max_error = isa == PZ_ISA_AMX ? AMX_ERROR : 0,
               .choose = isa == PZ_ISA_AMX ? bf16x2 : NULL,
               .choose_host = &seed,
               .fuse_rows = seed % 2 ? PZ_FUSE_ROWS_ALWAYS : PZ_FUSE_ROWS_AUTO},
      .disable = pass_off(seed),
      .tolerance = isa == PZ_ISA_AMX ? AMX_TOLERANCE : TOLERANCE,
      .quick = asked != pz_isa_native()};
  pz_test_compiled(graph, &options);
  pz_graph_free(graph);
}

static void test_random_networks(void **state) {
  (void)state;
  const char *count = getenv("PZ_TEST_NETWORKS"), *only = getenv("PZ_TEST_SEED");
  const uint64_t n = count ? strtoull(count, NULL, 10) : 20;
  for (uint64_t seed = only ? strtoull(only, NULL, 10) : 1; seed <= (only ? strtoull(only, NULL, 10) : n);
       seed++)
    one_network(seed);
}

typedef struct size {
  int kd, depth, height, width, channels;
} size;

/* Convolutions into a result, a sum in place and without a border. Names end with `k`. */
static void add_chain(pz_text *t, int k, size s) {
  const int c = s.channels, kd = s.kd, pad = s.kd / 2;
  pz_text_printf(t, "input %%x%d 1x20x%dx%dx%d\n", k, s.depth, s.height, s.width);
  pz_text_printf(t, "const %%v%d %dx20x%dx3x3 = seed 1 scale 0.1\n", k, c, kd);
  pz_text_printf(t, "const %%w%d %dx%dx%dx3x3 = seed 2 scale 0.1\n", k, c, c, kd);
  pz_text_printf(t, "%%a%d = conv \"a%d\" %%x%d, %%v%d kernel %d,3,3 pad %d,1,1:%d,1,1 act elu 1\n", k, k, k,
                 k, kd, pad, pad);
  pz_text_printf(t, "%%b%d = conv \"b%d\" %%a%d, %%w%d, _, %%a%d kernel %d,3,3 pad %d,1,1:%d,1,1\n", k, k, k,
                 k, k, kd, pad, pad);
  pz_text_printf(t, "%%c%d = conv \"c%d\" %%b%d, %%w%d kernel %d,3,3\noutput %%c%d\n", k, k, k, k, kd, k);
}

/* Four planes at a time: band by band they have the same bits. One network of all sizes, so that gcc begins few files. */
static void bands_are_alike(const char *name, const size *sizes, int n) {
  const uint64_t four = 2;
  uint64_t bits[2];
  pz_text text = {0};
  pz_text_printf(&text, "graph \"%s\"\n", name);
  for (int k = 0; k < n; k++) add_chain(&text, k, sizes[k]);
  assert_false(text.failed);
  for (int i = 0; i < 2; i++) {
    pz_graph *graph;
    pz_error err;
    if (pz_graph_parse(text.data, strlen(text.data), "test", &graph, &err) != PZ_OK)
      fail_msg("%s", err.message);
    pz_test_compiled(
        graph, &(pz_compiled_options){.name = name,
                                      .seed = 7,
                                      .plan = {.target = pz_target_as(PZ_ISA_AMX),
                                               .max_error = AMX_ERROR,
                                               .choose = bf16x2,
                                               .choose_host = (void *)&four,
                                               .fuse_rows = i ? PZ_FUSE_ROWS_ALWAYS : PZ_FUSE_ROWS_NEVER},
                                      .tolerance = 3e-5,
                                      .bits = &bits[i]});
    pz_graph_free(graph);
  }
  pz_text_free(&text);
  assert_true(bits[0] == bits[1]);
}

/* All depths leave other planes at the end. By plane, or by row with four channels that are left of 36. */
static void test_depths(void **state) {
  (void)state;
  size sizes[7];
  for (int depth = 4; depth <= 10; depth++)
    sizes[depth - 4] = (size){3, depth, 19, depth % 2 ? 21 : 32, depth % 2 ? 40 : 36};
  if (pz_isa_supported(PZ_ISA_AMX)) bands_are_alike("depths", sizes, 7);
}
/* Four rows at a time, in two dimensions: all heights leave other rows at the end. Each by itself, where the first result lies over its input. */
static void test_heights(void **state) {
  (void)state;
  for (int height = 16; height <= 20 && pz_isa_supported(PZ_ISA_AMX); height++)
    bands_are_alike("height", &(size){1, 1, height, height % 3 ? 21 : 32, height % 2 ? 48 : 36}, 1);
}
/* By row, in several calls: 104 columns in four, 128 channels in four. */
static void test_calls(void **state) {
  (void)state;
  const size sizes[] = {{3, 6, 10, 104, 64}, {3, 6, 5, 32, 128}};
  if (pz_isa_supported(PZ_ISA_AMX)) bands_are_alike("calls", sizes, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_networks), cmocka_unit_test(test_depths),
                                     cmocka_unit_test(test_heights), cmocka_unit_test(test_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
