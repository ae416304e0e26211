/* Plans for every row of the table of cores, on any machine: the host is not asked, and the generated C compiles. */
#include "base/process.h"
#include "emit/emit.h"
#include "plan/solver.h"
#include "planner/planner.h"
#include "support/kernels.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- whoever asks the host while a plan is made fails ---- */

static bool is_planning;
#define WATCHED(type, name, parameters, arguments)                                                           \
  type __real_##name parameters;                                                                             \
  type __wrap_##name parameters;                                                                             \
  type __wrap_##name parameters {                                                                            \
    if (is_planning) fail_msg(#name " was called: planning asked the host");                                 \
    return __real_##name arguments;                                                                          \
  }
WATCHED(pz_cache_sizes, pz_cpu_caches, (void), ())
WATCHED(bool, pz_cpu_identity, (pz_cpu_id * id), (id))
WATCHED(bool, pz_cpu_has, (pz_features features), (features))
WATCHED(pz_features, pz_cpu_features, (void), ())
WATCHED(int, pz_cpu_usable, (void), ())
WATCHED(bool, pz_isa_supported, (pz_isa isa), (isa))
WATCHED(pz_isa, pz_isa_native, (void), ())
WATCHED(pz_target, pz_target_host, (void), ())
WATCHED(pz_target, pz_target_as, (pz_isa isa), (isa))

/* ---- networks ---- */

/* Minimal filtering, a pooling behind it, a deconvolution, a product of channels, a first layer and a last one of few channels. */
static const char unet[] = "graph \"unet\"\n"
                           "input %x 1x1x8x32x32\n"
                           "const %w0 32x1x3x3x3 = seed 1 scale 0.2\n"
                           "const %w1 32x32x3x3x3 = seed 2 scale 0.05\n"
                           "const %w2 64x32x3x3x3 = seed 3 scale 0.05\n"
                           "const %w3 64x32x1x2x2 = seed 4 scale 0.05\n"
                           "const %w4 48x32x1x1x1 = seed 5 scale 0.05\n"
                           "const %w5 3x48x1x5x5 = seed 6 scale 0.05\n"
                           "%a = conv \"first\" %x, %w0 kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                           "%b = conv \"fine\" %a, %w1 kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                           "%p = pool \"pool\" %b kernel 1,2,2 stride 1,2,2\n"
                           "%c = conv \"coarse\" %p, %w2 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                           "%d = deconv \"up\" %c, %w3 kernel 1,2,2 stride 1,2,2\n"
                           "%s = eltwise \"sum\" %b, %d\n"
                           "%e = conv \"product\" %s, %w4 kernel 1,1,1 act relu\n"
                           "%y = conv \"last\" %e, %w5 kernel 1,5,5 pad 0,2,2:0,2,2\n"
                           "output %y\n";
/* Two dimensions, group convolution, statistics, softmax. */
static const char flat[] = "graph \"flat\"\n"
                           "input %x 1x3x20x20\n"
                           "const %w0 32x3x3x3 = seed 1 scale 0.2\n"
                           "const %w1 32x1x3x3 = seed 2 scale 0.2\n"
                           "const %w2 10x32x1x1 = seed 3 scale 0.2\n"
                           "%a = conv \"first\" %x, %w0 kernel 1,3,3 stride 1,2,2 pad 0,1,1:0,1,1 act relu\n"
                           "%b = conv \"depthwise\" %a, %w1 kernel 1,3,3 pad 0,1,1:0,1,1 group 32\n"
                           "%c = conv \"product\" %b, %w2 kernel 1,1,1\n"
                           "%y = softmax \"softmax\" %c axis 1\n"
                           "output %y\n";
static const char *const networks[] = {unet, flat};
enum { NETWORKS = sizeof networks / sizeof *networks };

static pz_graph *parsed(const char *text) {
  pz_graph *g = NULL;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  return g;
}

static pz_plan *plan_for(const pz_graph *g, const pz_target *target, double max_error) {
  const pz_plan_options options = {.target = *target, .threads = target->workers, .max_error = max_error};
  pz_plan *plan = NULL;
  pz_error err = {0};
  is_planning = true;
  const pz_status status = pz_plan_new(g, &options, &plan, &err);
  is_planning = false;
  if (status != PZ_OK) fail_msg("%s: %s", target->name, err.message);
  return plan;
}

static int count(const pz_plan *plan, const char *what) {
  int n = 0;
  for (int32_t i = 0; i < plan->n_steps; i++) n += strstr(plan->steps[i].algorithm, what) != NULL;
  return n;
}

/* ---- plans ---- */

static void every_row_has_a_plan(void **state) {
  (void)state;
  for (int k = 0; k < NETWORKS; k++) {
    pz_graph *g = parsed(networks[k]);
    for (int i = 0; pz_target_row(i); i++) {
      const pz_target *row = pz_target_row(i);
      pz_plan *plan = plan_for(g, row, 0), *again = plan_for(g, row, 0);
      assert_string_equal(plan->target.name, row->name);
      assert_int_equal(plan->target.block, row->vector_width);
      assert_true(plan->n_steps > 0 && plan->n_steps == again->n_steps);
      for (int32_t s = 0; s < plan->n_steps; s++)
        assert_string_equal(plan->steps[s].algorithm, again->steps[s].algorithm);
      pz_plan_free(again);
      pz_plan_free(plan);
    }
    pz_graph_free(g);
  }
}

/* Pairs where products and sums have units of their own, tiles where there are some; and of no other row. */
static void rows_decide(void **state) {
  (void)state;
  static const char text[] = "graph \"test\"\n"
                             "input %x 1x64x8x32x32\n"
                             "const %w 64x64x3x3x3 = seed 1 scale 0.05\n"
                             "%a = conv \"a\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "%y = conv \"b\" %a, %w kernel 3,3,3 pad 1,1,1:1,1,1\n"
                             "output %y\n";
  pz_graph *g = parsed(text);
  for (int i = 0; pz_target_row(i); i++) {
    const pz_target *row = pz_target_row(i);
    const bool tiles = pz_target_has(row, PZ_NEEDS_TILES), pairs = row->adds_apart && row->vector_width == 16;
    pz_plan *plan = plan_for(g, row, 0), *loose = plan_for(g, row, 1e-3);
    assert_int_equal(count(plan, "inner pairs") > 0, pairs);
    assert_int_equal(count(loose, "bf16") > 0, tiles);
    pz_plan_free(loose);
    pz_plan_free(plan);
  }
  pz_graph_free(g);
}

/* What a row's caches do not hold is written past them. */
static int streams(const pz_graph *g, int64_t l3) {
  pz_target row = *pz_target_row(0);
  row.caches.l3 = l3;
  const pz_plan_options options = {
      .target = row, .search = PZ_SEARCH_TRANSFORMS, .sized = true}; /* none in NCHW, which never streams */
  pz_plan *plan = NULL;
  pz_error err = {0};
  int n = 0;
  assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
  for (int32_t i = 0; i < plan->n_steps; i++)
    for (int32_t k = 0; k < plan->steps[i].n_calls; k++)
      n += strstr(plan->steps[i].calls[k].shape, ".stream = 1") != NULL;
  pz_plan_free(plan);
  return n;
}
static void caches_decide(void **state) {
  (void)state;
  pz_graph *g = parsed("graph \"test\"\n"
                       "input %x 1x8x8x32x32\n"
                       "const %w 16x8x1x1x1 = seed 1 scale 0.2\n"
                       "const %v 8x16x1x1x1 = seed 2 scale 0.2\n"
                       "%a = conv \"a\" %x, %w kernel 1,1,1\n"
                       "%y = conv \"b\" %a, %v kernel 1,1,1\n"
                       "output %y\n");
  assert_int_equal(streams(g, 64 << 20), 0);
  assert_true(streams(g, 256 << 10) > 0);
  pz_graph_free(g);
}

static void a_plan_without_a_target_is_of_the_first_row(void **state) {
  (void)state;
  pz_graph *g = parsed(flat);
  pz_plan *plan = plan_for(g, &(pz_target){0}, 0);
  assert_string_equal(plan->target.name, "x86-64-v2");
  assert_int_equal(plan->target.block, 4);
  pz_plan_free(plan);
  pz_graph_free(g);
}

/* ---- C ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  (void)st, (void)type, (void)ftw;
  return remove(path);
}

/* Of the row's machine, where there is one. */
static const char *compiler_for(const pz_target *row) {
  static const char cross[] = "aarch64-linux-gnu-gcc";
  const bool other = pz_isa_get(pz_target_isa(row))->machine != pz_machine_here();
  return other && pz_process_known(cross) ? cross : pz_emit_compiler(&(pz_emit_options){0});
}

/* "gcc -O1": words behind the compiler's name win, and what is asked is whether it compiles. What this machine runs is compiled as users have it by other
 * tests; here kernels are not inlined then. */
static void set_compiler(const pz_target *row, char cc[512]) {
  const bool other = pz_isa_get(pz_target_isa(row))->machine != pz_machine_here();
  const char *quick = other || !pz_isa_supported(pz_target_isa(row)) ? NULL : pz_test_quick_compiler();
  snprintf(cc, 512, quick ? "%s" : "%s -O1", quick ? quick : compiler_for(row));
}

/* False where the C compiler knows the features, or the machine, not. Objects are shared: equal kernels of equal instruction sets are one. */
static bool compiles(pz_plan *plan, const char *objects) {
  char folder[] = "/tmp/pznet-test-XXXXXX";
  const char *json;
  pz_error err = {0};
  assert_non_null(mkdtemp(folder));
  char cc[512];
  set_compiler(&plan->target, cc);
  const pz_emit_options emit = {.cc = cc, .model = "targets", .model_digest = "0", .objects = objects};
  is_planning = true;
  pz_status status = pz_emit_source(plan, &emit, folder, &err);
  if (status == PZ_OK) status = pz_emit_manifest(plan, &emit, NULL, folder, &json, &err);
  is_planning = false;
  if (status != PZ_OK) fail_msg("%s: %s", plan->target.name, err.message);
  char wanted[128];
  snprintf(wanted, sizeof wanted, "\"target\": \"%s\"", plan->target.name);
  assert_non_null(strstr(json, wanted));
  status = pz_emit_compile(plan, &emit, folder, &err);
  if (status == PZ_OK) status = pz_emit_link(plan, &emit, folder, "network.so", &err);
  nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  if (status != PZ_OK && strstr(err.message, "does not know -m")) return false;
  if (status != PZ_OK && strstr(err.message, " makes no code for ")) return false;
  if (status != PZ_OK) fail_msg("%s: %s", plan->target.name, err.message);
  return true;
}

/* No row before it has the same instruction set and the same costs: others differ in the numbers that caches give. */
static bool is_first_of_kind(int i) {
  const pz_target *row = pz_target_row(i);
  for (int k = 0; k < i; k++) {
    const pz_target *other = pz_target_row(k);
    if (pz_target_isa(other) == pz_target_isa(row) && other->wide == row->wide &&
        other->narrow == row->narrow && other->adds_apart == row->adds_apart &&
        other->double_pumped == row->double_pumped)
      return false;
  }
  return true;
}

static void every_kind_of_row_compiles(void **state) {
  (void)state;
  char objects[] = "/tmp/pznet-test-XXXXXX";
  int known = 0, rows = 0;
  assert_non_null(mkdtemp(objects));
  for (int k = 0; k < NETWORKS; k++) {
    pz_graph *g = parsed(networks[k]);
    for (int i = 0; pz_target_row(i); i++) {
      if (!is_first_of_kind(i)) continue;
      pz_plan *plan = plan_for(g, pz_target_row(i), 0);
      rows++;
      known += compiles(plan, objects);
      pz_plan_free(plan);
    }
    pz_graph_free(g);
  }
  nftw(objects, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  assert_true(known > rows / 2); /* gcc 9 and clang 9 know all but AMX */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_has_a_plan), cmocka_unit_test(rows_decide),
                                     cmocka_unit_test(caches_decide),
                                     cmocka_unit_test(a_plan_without_a_target_is_of_the_first_row),
                                     cmocka_unit_test(every_kind_of_row_compiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
