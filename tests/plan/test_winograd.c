/* Minimal filtering in batches as generated code has it, of short last blocks above all (kernels/winograd/shape.h). */
#include "base/cpu.h"
#include "optimise/optimise.h"
#include "support/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Of the candidates whose label has this in it another for each layer; errors that together keep within the bound. */
static int32_t choose_next(int32_t *seen, const pz_candidate *c, int32_t n, const char *what, int32_t first,
                           int32_t most) {
  int32_t pick = -1, left = (*seen)++ % most + first;
  for (int32_t i = 0; i < n && left > 0; i++)
    if (!strncmp(c[i].label, "Winograd", 8) && strstr(c[i].label, what) && c[i].error <= 5e-6)
      pick = i, left--;
  assert_true(pick >= 0);
  return pick;
}
static int32_t choose_batches(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c,
                              int32_t n) {
  (void)plan;
  if (node->op != PZ_OP_CONV) return PZ_BY_COST;
  return choose_next(host, c, n, "batches", 2, 5);
}
static int32_t choose_slices(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c,
                             int32_t n) {
  (void)plan;
  if (node->op != PZ_OP_CONV) return PZ_BY_COST;
  return choose_next(host, c, n, "in slices", 1, 3);
}

/* Convolutions are told what is pooled of them, and no more is optimised. */
static pz_graph *parsed(const char *text) {
  pz_graph *g = NULL;
  pz_error err = {0};
  int n, changes;
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  const pz_pass *passes = pz_passes(&n);
  for (int i = 0; i < n; i++)
    if (!strcmp(passes[i].name, "fuse-pool")) assert_int_equal(passes[i].rewrite(g, &changes, &err), PZ_OK);
  return g;
}

/* The result has all of each layer's error, so that what fits into the bound does not depend on what is calculated of the networks. */
enum { MOST_NODES = 1024 };
static const double *all_of_it(const pz_graph *g) {
  static double all[MOST_NODES];
  assert_true(g->n_nodes <= MOST_NODES);
  for (int i = 0; i < MOST_NODES; i++) all[i] = 1;
  return all;
}

/* Steps whose algorithm has this in it. */
static int steps_on(const pz_target *target, const char *text, pz_fuse_rows bands, pz_choose choose,
                    const char *what) {
  int32_t seen = 0, found = 0;
  pz_graph *g = parsed(text);
  pz_plan *plan = NULL;
  pz_error err = {0};
  const pz_plan_options options = {.target = *target,
                                   .fuse_rows = bands,
                                   .choose = choose,
                                   .choose_host = &seen,
                                   .error_propagation = all_of_it(g)};
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
  for (int32_t i = 0; i < plan->n_steps; i++) found += strstr(plan->steps[i].algorithm, what) != NULL;
  pz_plan_free(plan);
  pz_graph_free(g);
  return found;
}

static int steps_with(const char *text, pz_isa isa, pz_fuse_rows bands, pz_choose choose, const char *what) {
  const pz_target target = pz_target_as(isa);
  return steps_on(&target, text, bands, choose, what);
}

/* ---- what is compiled: all networks side by side in one, for each instruction set, so that gcc begins few files ---- */

typedef enum place {
  EVERYWHERE,
  NATIVE,
  TILES
} place; /* instruction sets: all of this machine, its own, AMX */
typedef struct chain {
  const char *text;
  pz_choose choose;
  place place;
} chain;
enum { CHAINS = 24 };
static chain chains[CHAINS];
static int n_chains;

/* Against the reference; on the native set in bands to the same bits as without. */
static void check_bits(const char *text, pz_choose choose, place place) {
  assert_true(n_chains < CHAINS);
  chains[n_chains++] = (chain){text, choose, place};
}

/* The name as the chain's text has it. */
static const char *name_of(const pz_node *node) {
  const char *prefix = strchr(node->name, '_');
  return prefix ? prefix + 1 : node->name;
}

/* host: how many layers of each chain have been asked for. */
static int32_t choose_of_chain(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c,
                               int32_t n) {
  int32_t *seen = host;
  const long k = strtol(node->name + 1, NULL, 10);
  return chains[k].choose(&seen[k], plan, node, c, n);
}

/* AVX-512 on a machine that has AMX, where that makes the same kernels. */
static bool is_repeated(const chain *c, pz_isa isa) {
  int32_t seen[2] = {0};
  if (isa != PZ_ISA_AVX512 || pz_isa_native() != PZ_ISA_AMX) return false;
  pz_graph *g = parsed(c->text);
  pz_plan_options of = {.target = pz_target_as(isa),
                        .choose = c->choose,
                        .choose_host = &seen[0],
                        .error_propagation = all_of_it(g)};
  pz_plan_options best = of;
  best.target = pz_target_as(pz_isa_native()), best.choose_host = &seen[1];
  const bool same = pz_test_same_kernels(g, &of, &best);
  pz_graph_free(g);
  return same;
}

static bool is_of(const chain *c, pz_isa isa) {
  if (c->place == EVERYWHERE) return !is_repeated(c, isa);
  return isa == (c->place == TILES ? PZ_ISA_AMX : pz_isa_native());
}

static int join(pz_text *t, pz_isa isa) {
  int n = 0;
  char prefix[16];
  pz_text_append(t, "graph \"chains\"\n");
  for (int k = 0; k < n_chains; k++)
    if (is_of(&chains[k], isa)) {
      snprintf(prefix, sizeof prefix, "c%d_", k); /* choose_of_chain reads the number */
      pz_test_append_graph(t, chains[k].text, prefix);
      n++;
    }
  assert_false(t->failed);
  return n;
}

/* The native set's kernels are compiled as users have them once, without bands; those band by band differ in where rows lie, which are arguments, and
 * plan_bands has all families of them as users have them. */
static uint64_t bits_of(const char *text, pz_isa isa, pz_fuse_rows bands) {
  int32_t seen[CHAINS] = {0};
  uint64_t bits = 0;
  pz_graph *g = parsed(text);
  const pz_plan_options plan = {.target = pz_target_as(isa),
                                .fuse_rows = bands,
                                .choose = choose_of_chain,
                                .choose_host = seen,
                                .error_propagation = all_of_it(g)};
  const pz_compiled_options options = {.name = pz_isa_get(isa)->name,
                                       .seed = 3,
                                       .plan = plan,
                                       .tolerance = 1e-5,
                                       .bits = &bits,
                                       .quick = isa != pz_isa_native() || bands != PZ_FUSE_ROWS_NEVER};
  pz_test_compiled(g, &options);
  pz_graph_free(g);
  return bits;
}

/* The last chain by itself too: beside others its results do not lie over its inputs. */
static void check_alone(void) {
  pz_text text = {0};
  char prefix[16];
  const pz_isa isa = pz_isa_native();
  snprintf(prefix, sizeof prefix, "c%d_", n_chains - 1);
  pz_text_append(&text, "graph \"alone\"\n");
  pz_test_append_graph(&text, chains[n_chains - 1].text, prefix);
  assert_false(text.failed);
  assert_true(bits_of(text.data, isa, PZ_FUSE_ROWS_ALWAYS) == bits_of(text.data, isa, PZ_FUSE_ROWS_NEVER));
  pz_text_free(&text);
}

/* The last test: of all chains that those before have added. */
static void test_bits(void **state) {
  (void)state;
  assert_true(n_chains > 0);
  for (pz_isa isa = 0; isa < PZ_ISA_COUNT; isa++) {
    pz_text text = {0};
    if (pz_isa_supported(isa) && join(&text, isa)) {
      const uint64_t whole = bits_of(text.data, isa, PZ_FUSE_ROWS_NEVER);
      if (isa == pz_isa_native()) assert_true(bits_of(text.data, isa, PZ_FUSE_ROWS_ALWAYS) == whole);
    }
    pz_text_free(&text);
  }
}

static const char short_blocks[] =
    "graph \"short blocks\"\n"
    "input %x 2x20x7x13x17\n"
    "const %w1 36x20x3x3x3 = seed 1 scale 0.04\n"
    "const %b1 36 = seed 2 scale 0.1\n"
    "const %w2 36x36x3x3x3 = seed 3 scale 0.03\n"
    "const %w3 33x36x1x3x3 = seed 4 scale 0.05\n"
    "const %s3 33 = seed 5 scale 0.2\n"
    "const %w4 3x33x1x5x5 = seed 6 scale 0.03\n"
    "const %b4 3 = seed 7 scale 0.1\n"
    "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
    "%b = conv \"b\" %a, %w2, _, %a kernel 3,3,3 pad 1,1,1:1,1,1 act elu 0.7\n"
    "%c = conv \"c\" %b, %w3, _, _, _, %s3 kernel 1,3,3 pad 0,1,1:0,1,1 act prelu\n"
    "%d = conv \"d\" %c, %w4, %b4 kernel 1,5,5 pad 0,2,2:0,2,2 act sigmoid\n"
    "%p = pool \"p\" %d kernel 1,2,2 stride 1,2,2\n"
    "output %p\n";

static void test_short_blocks(void **state) {
  (void)state;
  assert_true(steps_with(short_blocks, pz_isa_native(), PZ_FUSE_ROWS_ALWAYS, choose_batches, " bands") > 0);
  check_bits(short_blocks, choose_batches, EVERYWHERE);
}

/* Along one axis alone: factorised kernels, with a sum and a maximum. */
static const char factorised[] = "graph \"factorised\"\n"
                                 "input %x 2x20x9x13x17\n"
                                 "const %w1 36x20x1x3x3 = seed 1 scale 0.08\n"
                                 "const %b1 36 = seed 2 scale 0.1\n"
                                 "const %w2 36x36x3x1x1 = seed 3 scale 0.1\n"
                                 "const %w3 36x36x1x3x1 = seed 4 scale 0.1\n"
                                 "const %w4 28x36x1x1x3 = seed 5 scale 0.1\n"
                                 "const %w5 8x28x5x1x1 = seed 6 scale 0.1\n"
                                 "%a = conv \"a\" %x, %w1, %b1 kernel 1,3,3 pad 0,1,1:0,1,1 act elu 1\n"
                                 "%b = conv \"b\" %a, %w2, %b1, %a kernel 3,1,1 pad 1,0,0:1,0,0 act relu\n"
                                 "%c = conv \"c\" %b, %w3 kernel 1,3,1 pad 0,1,0:0,1,0 act elu 0.7\n"
                                 "%d = conv \"d\" %c, %w4 kernel 1,1,3 pad 0,0,1:0,0,1 act tanh\n"
                                 "%e = conv \"e\" %d, %w5 kernel 5,1,1 pad 2,0,0:2,0,0 act sigmoid\n"
                                 "%p = pool \"p\" %e kernel 2,1,1 stride 2,1,1\n"
                                 "output %p\n";

static void test_factorised(void **state) {
  (void)state;
  assert_int_equal(steps_with(factorised, pz_isa_native(), PZ_FUSE_ROWS_NEVER, choose_batches, "Winograd"),
                   5);
  assert_true(steps_with(factorised, pz_isa_native(), PZ_FUSE_ROWS_ALWAYS, choose_batches, " bands") > 0);
  check_bits(factorised, choose_batches, EVERYWHERE);
}

/* Where they are, plans say so: 36, 36, 33 and 3 channels in vectors of 16. */
static void test_named(void **state) {
  (void)state;
  assert_int_equal(
      steps_with(short_blocks, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_batches, "tiles and 4 channels"), 2);
  assert_int_equal(
      steps_with(short_blocks, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_batches, "tiles and 1 channels"), 1);
  assert_int_equal(
      steps_with(short_blocks, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_batches, ", 3 channels"), 1);
  assert_int_equal(steps_with(short_blocks, PZ_ISA_AVX2, PZ_FUSE_ROWS_NEVER, choose_batches, " channels"), 0);
}

/* Of a result with a short last block that is read elsewhere too and leaves the network; along the depth; of one that lies in a concatenation;
 * and of rows of an odd length; of %c an average in front and another maximum behind, which are steps. */
static const char pooled[] = "graph \"pooled\"\n"
                             "input %x 2x20x6x14x18\n"
                             "const %w1 36x20x3x3x3 = seed 1 scale 0.04\n"
                             "const %b1 36 = seed 2 scale 0.1\n"
                             "const %w2 28x36x3x3x3 = seed 3 scale 0.03\n"
                             "const %w3 32x36x3x3x3 = seed 4 scale 0.03\n"
                             "const %w4 5x60x3x3x3 = seed 5 scale 0.02\n"
                             "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                             "%p = pool \"p\" %a kernel 1,2,2 stride 1,2,2\n"
                             "%b = conv \"b\" %p, %w2 kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                             "%q = pool \"q\" %b kernel 2,1,1 stride 2,1,1\n"
                             "%c = conv \"c\" %a, %w3, _, _ kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%f = pool \"f\" %c kind ave kernel 2,2,2 stride 2,2,2\n"
                             "%r = pool \"r\" %c kernel 2,2,2 stride 2,2,2\n"
                             "%g = pool \"g\" %c kernel 1,2,1 stride 1,2,1\n"
                             "%j = concat \"j\" %r, %q axis 1\n"
                             "%d = conv \"d\" %j, %w4 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 0.5\n"
                             "%e = pool \"e\" %d kernel 1,1,2 stride 1,1,2\n"
                             "output %e\noutput %a\noutput %p\noutput %f\noutput %g\n";

/* Windows that lie in tiles are pooled with them: against the reference, in bands to the same bits. */
static void test_pooled(void **state) {
  (void)state;
  assert_int_equal(steps_with(pooled, pz_isa_native(), PZ_FUSE_ROWS_NEVER, choose_batches, ", maximum of"),
                   3);
  assert_int_equal(steps_with(pooled, pz_isa_native(), PZ_FUSE_ROWS_NEVER, choose_batches, "maximum of"), 5);
  check_bits(pooled, choose_batches, EVERYWHERE);
}

static int32_t choose_two_planes(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c,
                                 int32_t n) {
  int32_t pick = 0;
  (void)host, (void)plan;
  for (int32_t i = 0; i < n && strcmp(name_of(node), "b") && strcmp(name_of(node), "d"); i++)
    if (strstr(c[i].label, "bf16x2, F(2,3)")) pick = i;
  return pick;
}

/* The same by products of halves, two planes at a time, of %a and %c: as many as their errors allow. */
static void test_pooled_bf16x2(void **state) {
  (void)state;
  pz_target tiles; /* whose caches are known: what is cheapest goes by them */
  assert_true(pz_target_parse("sapphire-rapids", &tiles));
  assert_int_equal(steps_on(&tiles, pooled, PZ_FUSE_ROWS_NEVER, choose_two_planes, "planes, maximum of"), 2);
  check_bits(pooled, choose_two_planes, TILES);
}

static const char paired[] = "graph \"pairs\"\n"
                             "input %x 2x20x9x13x17\n"
                             "const %w1 44x20x3x3x3 = seed 1 scale 0.04\n"
                             "const %b1 44 = seed 2 scale 0.1\n"
                             "const %w2 48x44x3x3x3 = seed 3 scale 0.03\n"
                             "const %w3 48x48x1x3x3 = seed 4 scale 0.05\n"
                             "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                             "%b = conv \"b\" %a, %w2 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 0.7\n"
                             "%c = conv \"c\" %b, %w3, _, %b kernel 1,3,3 pad 0,1,1:0,1,1 act relu\n"
                             "%p = pool \"p\" %c kernel 1,2,2 stride 1,2,2\n"
                             "output %p\n";

/* In pairs where the core is one that they are for: against the reference, in bands to the same bits. */
static void test_pairs(void **state) {
  (void)state;
  const bool has = pz_target_as(PZ_ISA_AVX512).adds_apart;
  assert_int_equal(steps_with(paired, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_batches, ", inner pairs"),
                   has ? 2 : 0);
  assert_int_equal(steps_with(paired, PZ_ISA_AVX2, PZ_FUSE_ROWS_NEVER, choose_batches, ", inner pairs"), 0);
  check_bits(paired, choose_batches, NATIVE);
}

/* The last whose label has this in it, where there is one. */
static int32_t choose_with(pz_candidate *c, int32_t n, const char *text) {
  int32_t pick = 0;
  for (int32_t i = 0; i < n; i++)
    if (strstr(c[i].label, text) && c[i].error <= 5e-6) pick = i;
  return pick;
}
#define CHOOSE(name, text)                                                                                   \
  static int32_t name(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {    \
    (void)host;                                                                                              \
    (void)plan;                                                                                              \
    (void)node;                                                                                              \
    return choose_with(c, n, text);                                                                          \
  }
CHOOSE(choose_inner_pairs, "inner pairs")
CHOOSE(choose_plain, "to NCHW")
CHOOSE(choose_1d_h, "along h")
CHOOSE(choose_small, "small weights")
CHOOSE(choose_bf16x2, "narrow")

/* Notes the error of F(2,2,2) in layer "b". */
static int32_t choose_noting(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c,
                             int32_t n) {
  double *error = host;
  (void)plan;
  for (int32_t i = 0; i < n; i++)
    if (!strcmp(node->name, "b") && !strncmp(c[i].label, "Winograd F(2,2,2), ", 19)) *error = c[i].error;
  return 0;
}
static double error_behind(const char *activation) {
  char text[512];
  snprintf(text, sizeof text,
           "graph \"signs\"\ninput %%x 1x64x9x16x16\nconst %%w1 64x64x3x3x3 = seed 1 scale 0.1\n"
           "const %%w2 64x64x3x3x3 = seed 2 scale 0.1\n"
           "%%a = conv \"a\" %%x, %%w1 kernel 3,3,3 pad 1,1,1:1,1,1 act %s\n"
           "%%p = pool \"p\" %%a kernel 1,2,2 stride 1,2,2\n"
           "%%b = conv \"b\" %%p, %%w2 kernel 3,3,3 pad 1,1,1:1,1,1\noutput %%b\n",
           activation);
  double error = 0;
  pz_graph *g = parsed(text);
  pz_plan *plan = NULL;
  pz_error err = {0};
  const pz_plan_options options = {
      .target = pz_target_as(PZ_ISA_AVX512), .choose = choose_noting, .choose_host = &error};
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
  pz_plan_free(plan);
  pz_graph_free(g);
  return error;
}

/* In pairs, inputs of one sign cost precision, which the planner counts; through a pooling too. */
static void test_one_sign(void **state) {
  (void)state;
  const bool has = pz_target_as(PZ_ISA_AVX512).adds_apart;
  const double elu = error_behind("elu 1"), relu = error_behind("relu");
  assert_true(elu > 0);
  if (has) assert_true(relu > 1.3 * elu && relu < 2 * elu);
  else assert_true(relu == elu);
}

static const char sliced[] = "graph \"slices\"\n"
                             "input %x 2x28x7x13x19\n"
                             "const %w1 40x28x3x3x3 = seed 1 scale 0.04\n"
                             "const %b1 40 = seed 2 scale 0.1\n"
                             "const %w2 28x40x3x3x3 = seed 3 scale 0.03\n"
                             "const %w3 28x28x3x3x3 = seed 4 scale 0.03\n"
                             "const %w4 44x28x3x3x3 = seed 5 scale 0.03\n"
                             "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                             "%b = conv \"b\" %a, %w2 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 0.7\n"
                             "%c = conv \"c\" %b, %w3, _, %b kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                             "%d = conv \"d\" %c, %w4 kernel 3,3,3\n"
                             "output %d\n";

/* Weights that others transform on use where memory comes first: slices have no room for these, in place neither. */
static void test_slices_in_place(void **state) {
  (void)state;
  static const char text[] = "graph \"in_place\"\n"
                             "input %x 1x64x64x64x64\n"
                             "const %w 64x64x3x3x3 = seed 1 scale 0.03\n"
                             "%a = activation \"a\" %x act elu 1\n"
                             "%b = conv \"b\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                             "%c = conv \"c\" %b, %w kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                             "output %c\n";
  int32_t seen = 0, slices = 0;
  pz_graph *g = parsed(text);
  pz_plan *plan = NULL;
  pz_error err = {0};
  const pz_plan_options options = {.target = pz_target_as(PZ_ISA_AVX2),
                                   .fuse_rows = PZ_FUSE_ROWS_ALWAYS,
                                   .sized = true,
                                   .choose = choose_slices,
                                   .choose_host = &seen,
                                   .error_propagation = all_of_it(g)};
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
  for (int32_t i = 0; i < plan->n_steps; i++) {
    const pz_step *step = &plan->steps[i];
    if (!strstr(step->algorithm, "in slices") || !strstr(step->algorithm, "in place")) continue;
    for (int32_t k = 0; k < step->n_calls; k++) {
      const bool sliced_call = strstr(step->calls[k].shape, ".sliced = 1") != NULL;
      slices += sliced_call;
      assert_true(!sliced_call || strstr(step->calls[k].shape, ".on_use = 0"));
    }
  }
  assert_true(slices > 0);
  pz_plan_free(plan);
  pz_graph_free(g);
}

static void test_sliced(void **state) {
  (void)state;
  assert_int_equal(steps_with(sliced, pz_isa_native(), PZ_FUSE_ROWS_NEVER, choose_slices, "in slices"), 4);
  check_bits(sliced, choose_slices, EVERYWHERE);
}

static const char last_layer[] = "graph \"last layer\"\n"
                                 "input %x 2x20x5x23x17\n"
                                 "const %w1 20x20x3x3x3 = seed 1 scale 0.1\n"
                                 "const %w2 3x20x1x5x5 = seed 2 scale 0.1\n"
                                 "const %b2 3 = seed 3 scale 0.1\n"
                                 "%a = conv \"a\" %x, %w1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                                 "%b = conv \"b\" %a, %w2, %b2 kernel 1,5,5 pad 0,2,2:0,2,2 act sigmoid\n"
                                 "output %b\n";

/* A short block that leaves the network comes out NCHW, without a step that converts it. */
static void test_nd(void **state) {
  (void)state;
  assert_int_equal(steps_with(last_layer, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_plain, ", 3 channels"),
                   1);
  assert_int_equal(steps_with(last_layer, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_plain, "NCHWc to NCHW"),
                   0);
  check_bits(last_layer, choose_plain, NATIVE);
}

static const char last_of_one_map[] = "graph \"last layer of one channel\"\n"
                                      "input %x 2x20x5x23x17\n"
                                      "const %w1 20x20x3x3x3 = seed 1 scale 0.1\n"
                                      "const %w2 1x20x1x5x3 = seed 2 scale 0.1\n"
                                      "%a = conv \"a\" %x, %w1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                                      "%b = conv \"b\" %a, %w2 kernel 1,5,3 pad 0,2,1:0,2,1 act elu 1\n"
                                      "output %b\n";

/* Few channels that leave the network, their taps along the width in the lanes: where these suffice. */
static void test_columns(void **state) {
  (void)state;
  assert_int_equal(steps_with(last_layer, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_1d_h, " along h, "), 1);
  assert_int_equal(steps_with(last_layer, PZ_ISA_AVX2, PZ_FUSE_ROWS_NEVER, choose_1d_h, " along h, "), 0);
  assert_int_equal(
      steps_with(last_of_one_map, pz_isa_native(), PZ_FUSE_ROWS_NEVER, choose_1d_h, " along h, "), 1);
  check_bits(last_layer, choose_1d_h, NATIVE);
  check_bits(last_of_one_map, choose_1d_h, EVERYWHERE);
}

/* The same on AMX tiles. */
static void test_bf16x2_narrow(void **state) {
  (void)state;
  const char *const graphs[] = {last_layer, last_of_one_map};
  assert_int_equal(steps_with(last_layer, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_bf16x2, " narrow "), 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(steps_with(graphs[i], PZ_ISA_AMX, PZ_FUSE_ROWS_NEVER, choose_bf16x2, " narrow "), 1);
    check_bits(graphs[i], choose_bf16x2, TILES);
  }
}

static const char products[] = "graph \"products\"\n"
                               "input %x 2x44x4x7x9\n"
                               "const %w1 44x36x2x2x2 = seed 1 scale 0.1\n"
                               "const %b1 36 = seed 2 scale 0.1\n"
                               "const %w2 48x36x1x1x1 = seed 3 scale 0.1\n"
                               "const %w3 48x48x1x1x1 = seed 4 scale 0.1\n"
                               "%a = deconv \"a\" %x, %w1, %b1 kernel 2,2,2 stride 2,2,2 act elu 1\n"
                               "%b = conv \"b\" %a, %w2 kernel 1,1,1 act elu 0.7\n"
                               "%c = conv \"c\" %b, %w3, _, %b kernel 1,1,1 act relu\n"
                               "%p = pool \"p\" %c kernel 1,2,2 stride 1,2,2\n"
                               "output %p\n";

/* 1x1x1, and a deconvolution whose kernel is its stride. */
static void test_products(void **state) {
  (void)state;
  const bool has = pz_target_as(PZ_ISA_AVX512).adds_apart;
  assert_int_equal(
      steps_with(products, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_inner_pairs, ", inner pairs"),
      has ? 3 : 0);
  check_bits(products, choose_inner_pairs, NATIVE);
}

/* A network's first layer, of few channels, by rows. */
static int32_t choose_1d_w(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  int32_t pick = 0, *seen = host, left = (*seen)++ % 3 + 1;
  (void)plan;
  (void)node;
  for (int32_t i = 0; i < n && left > 0; i++)
    if (strstr(c[i].label, "along w")) pick = i, left--;
  return pick;
}

static const char first_layers[] = "graph \"first layers\"\n"
                                   "input %x 2x1x9x13x23\n"
                                   "input %y 2x3x9x13x23\n"
                                   "const %w1 36x1x3x3x3 = seed 1 scale 0.1\n"
                                   "const %b1 36 = seed 2 scale 0.1\n"
                                   "const %w2 36x3x1x5x5 = seed 3 scale 0.1\n"
                                   "const %w3 36x36x1x3x3 = seed 4 scale 0.05\n"
                                   "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                                   "%b = conv \"b\" %y, %w2, _, %a kernel 1,5,5 pad 0,2,2:0,2,2 act relu\n"
                                   "%c = conv \"c\" %b, %w3 kernel 1,3,3 pad 0,1,1:0,1,1 act elu 1\n"
                                   "%p = pool \"p\" %c kernel 1,2,2 stride 1,2,2\n"
                                   "output %p\n";

static void test_rows(void **state) {
  (void)state;
  assert_int_equal(steps_with(first_layers, pz_isa_native(), PZ_FUSE_ROWS_NEVER, choose_1d_w, " along w, "),
                   2);
  check_bits(first_layers, choose_1d_w, EVERYWHERE);
}

/* Three terms in layer "a", two in "b". */
static int32_t choose_bf16x3(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c,
                             int32_t n) {
  const char *text = strcmp(name_of(node), "a") ? "bf16x2 taps" : "bf16x3 taps";
  (void)host, (void)plan;
  return choose_with(c, n, text);
}

/* By products of terms on AMX tiles */
static void test_bf16x3(void **state) {
  (void)state;
  assert_int_equal(steps_with(first_layers, PZ_ISA_AVX512, PZ_FUSE_ROWS_NEVER, choose_bf16x3, " taps "), 0);
  assert_int_equal(steps_with(first_layers, PZ_ISA_AMX, PZ_FUSE_ROWS_NEVER, choose_bf16x3, "bf16x3 taps "),
                   1);
  assert_int_equal(steps_with(first_layers, PZ_ISA_AMX, PZ_FUSE_ROWS_NEVER, choose_bf16x3, "bf16x2 taps "),
                   1);
  check_bits(first_layers, choose_bf16x3, TILES);
}

static const char few_tiles[] = "graph \"few tiles\"\n"
                                "input %x 1x96x8x8x8\n"
                                "const %w1 96x96x3x3x3 = seed 1 scale 0.02\n"
                                "const %b1 96 = seed 2 scale 0.1\n"
                                "const %w2 80x96x3x5x3 = seed 3 scale 0.02\n"
                                "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                                "%b = conv \"b\" %a, %w2 kernel 3,5,3 pad 1,2,1:1,2,1 act relu\n"
                                "output %b\n";

/* All tiles at once, with weights that are packed before G of two axes: a part of what they take else. */
static void test_small_weights(void **state) {
  (void)state;
  assert_int_equal(
      steps_with(few_tiles, pz_isa_native(), PZ_FUSE_ROWS_NEVER, choose_small, "nonfused, small weights"), 2);
  check_bits(few_tiles, choose_small, EVERYWHERE);
  check_alone();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factorised),    cmocka_unit_test(test_short_blocks),
      cmocka_unit_test(test_named),         cmocka_unit_test(test_pooled),
      cmocka_unit_test(test_sliced),        cmocka_unit_test(test_slices_in_place),
      cmocka_unit_test(test_pairs),         cmocka_unit_test(test_rows),
      cmocka_unit_test(test_products),      cmocka_unit_test(test_nd),
      cmocka_unit_test(test_one_sign),      cmocka_unit_test(test_small_weights),
      cmocka_unit_test(test_columns),       cmocka_unit_test(test_bf16x2_narrow),
      cmocka_unit_test(test_pooled_bf16x2), cmocka_unit_test(test_bf16x3),
      cmocka_unit_test(test_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
