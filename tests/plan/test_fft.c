/* Convolutions by Fourier transforms as generated code has them, and where they are candidates. */
#include "support/compiled.h"

#include "base/cpu.h"
#include "optimise/optimise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool is_fft(const char *label) { return !strncmp(label, "FFT", 3); }

static pz_graph *parsed(const char *text) {
  pz_graph *g = NULL;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  return g;
}

/* The smallest tiles for layers that are to run band by band; else others for each layer. */
typedef struct asked {
  bool smallest;
  int seen;
} asked;

static int32_t choose_fft(void *host, const pz_plan *plan, const pz_node *node, pz_candidate *c, int32_t n) {
  asked *a = host;
  int32_t pick = -1, left = a->seen++ % 3;
  (void)plan;
  (void)node;
  for (int32_t i = 0; i < n; i++) {
    if (!is_fft(c[i].label)) continue;
    if (pick < 0 || (a->smallest ? c[i].weights < c[pick].weights : left > 0)) pick = i, left--;
  }
  assert_true(pick >= 0);
  return pick;
}

static bool in_bands(const char *text) {
  asked a = {.smallest = true};
  bool bands = false;
  pz_graph *g = parsed(text);
  pz_plan *plan = NULL;
  pz_error err = {0};
  const pz_plan_options options = {.target = pz_target_as(pz_isa_native()),
                                   .fuse_rows = PZ_FUSE_ROWS_ALWAYS,
                                   .choose = choose_fft,
                                   .choose_host = &a};
  assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
  for (int32_t i = 0; i < plan->n_steps; i++) bands |= strstr(plan->steps[i].algorithm, " bands") != NULL;
  pz_plan_free(plan);
  pz_graph_free(g);
  return bands;
}

static uint64_t bits_of(const char *text, pz_isa isa, pz_fuse_rows bands) {
  asked a = {.smallest = isa == pz_isa_native()};
  uint64_t bits = 0;
  pz_graph *g = parsed(text);
  const pz_plan_options plan = {
      .target = pz_target_as(isa), .fuse_rows = bands, .choose = choose_fft, .choose_host = &a};
  const pz_compiled_options options = {.name = g->name,
                                       .seed = 3,
                                       .plan = plan,
                                       .tolerance = 1e-6,
                                       .bits = &bits,
                                       .quick = isa != pz_isa_native()};
  pz_test_compiled(g, &options);
  pz_graph_free(g);
  return bits;
}

/* On each instruction set, against the reference: errors of 3e-7 a layer. In bands to the same bits as without. */
static void test_compiled(void **state) {
  (void)state;
  const char *text = "graph \"large kernels\"\n"
                     "input %x 1x18x4x56x13\n"
                     "const %w1 17x18x5x5x5 = seed 1 scale 0.02\n"
                     "const %b1 17 = seed 2 scale 0.1\n"
                     "const %w2 17x17x1x11x9 = seed 3 scale 0.02\n"
                     "const %w3 17x17x3x7x7 = seed 4 scale 0.02\n"
                     "%a = conv \"a\" %x, %w1, %b1 kernel 5,5,5 pad 2,2,2:2,2,2 act elu 1\n"
                     "%b = conv \"b\" %a, %w2 kernel 1,11,9 pad 0,5,4:0,5,4\n"
                     "%s = eltwise \"s\" %a, %b\n"
                     "%y = conv \"y\" %s, %w3 kernel 3,7,7 act sigmoid\n"
                     "output %y\n";
  for (int isa = 0; isa < PZ_ISA_COUNT; isa++)
    if (pz_isa_supported((pz_isa)isa) && isa != (int)pz_isa_native())
      bits_of(text, (pz_isa)isa, PZ_FUSE_ROWS_ALWAYS);
  assert_true(in_bands(text));
  assert_true(bits_of(text, pz_isa_native(), PZ_FUSE_ROWS_ALWAYS) ==
              bits_of(text, pz_isa_native(), PZ_FUSE_ROWS_NEVER));
}

static int count_fft(const pz_plan *plan, const char *layer) {
  const pz_node_id n = pz_graph_find_node(plan->graph, layer);
  int count = 0;
  for (int32_t i = 0; i < plan->choices[n].n; i++) {
    const pz_candidate *c = &plan->choices[n].candidates[i];
    if (!is_fft(c->label)) continue;
    assert_true(c->cost > 0 && c->weights > 0 && c->error > 1e-7);
    count++;
  }
  return count;
}

static void test_candidates(void **state) {
  (void)state;
  static const struct {
    const char *layer;
    bool fft;
  } rows[] = {{"five", true},  {"seven", true},  {"even", true},    {"flat", true},     {"three", false},
              {"line", false}, {"point", false}, {"stride", false}, {"dilated", false}, {"groups", false}};
  pz_graph *g = parsed("graph \"candidates\"\n"
                       "input %x 1x16x12x40x40\n"
                       "const %w5 16x16x5x5x5 = seed 1 scale 0.05\n"
                       "const %w7 16x16x1x7x7 = seed 1 scale 0.05\n"
                       "const %w6 16x16x6x6x2 = seed 1 scale 0.05\n"
                       "const %w31 16x16x1x31x31 = seed 1 scale 0.05\n"
                       "const %w3 16x16x3x3x3 = seed 1 scale 0.05\n"
                       "const %wl 16x16x1x1x9 = seed 1 scale 0.05\n"
                       "const %w1 16x16x1x1x1 = seed 1 scale 0.05\n"
                       "const %wg 16x8x1x7x7 = seed 1 scale 0.05\n"
                       "%a = conv \"five\" %x, %w5 kernel 5,5,5\noutput %a\n"
                       "%b = conv \"seven\" %x, %w7 kernel 1,7,7\noutput %b\n"
                       "%c = conv \"even\" %x, %w6 kernel 6,6,2\noutput %c\n"
                       "%d = conv \"flat\" %x, %w31 kernel 1,31,31\noutput %d\n"
                       "%e = conv \"three\" %x, %w3 kernel 3,3,3\noutput %e\n"
                       "%f = conv \"line\" %x, %wl kernel 1,1,9\noutput %f\n"
                       "%g = conv \"point\" %x, %w1 kernel 1,1,1\noutput %g\n"
                       "%h = conv \"stride\" %x, %w7 kernel 1,7,7 stride 1,2,2\noutput %h\n"
                       "%i = conv \"dilated\" %x, %w7 kernel 1,7,7 dilation 1,2,2\noutput %i\n"
                       "%j = conv \"groups\" %x, %wg kernel 1,7,7 group 2\noutput %j\n");
  const pz_plan_options options[] = {{.target = pz_target_as(PZ_ISA_SSE4)},
                                     {.target = pz_target_as(PZ_ISA_SSE4), .exact = true},
                                     {.target = pz_target_as(PZ_ISA_SSE4), .max_error = 3e-7}};
  for (int o = 0; o < 3; o++) {
    pz_plan *plan = NULL;
    pz_error err = {0};
    if (pz_plan_new(g, &options[o], &plan, &err) != PZ_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
      if ((count_fft(plan, rows[i].layer) > 0) != (rows[i].fft && o == 0))
        fail_msg("layer %s with options %d", rows[i].layer, o);
    if (o == 0)
      for (int i = 0; i < 4; i++)
        assert_true(is_fft(pz_plan_candidate(plan, pz_graph_find_node(g, rows[i].layer))->label));
    pz_plan_free(plan);
  }
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_candidates), cmocka_unit_test(test_compiled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
