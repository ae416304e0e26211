/* Problems say all that a solver may know of the network around a node, and the candidates of a problem depend on it and on the target
 * alone: also for a machine that this one is not. */
#include "any_target.h"
#include "choose/choose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Two workers, and caches that are large enough for what is asked below. */
static int set_server(void **state) {
  if (set_target(state)) return 1;
  target.workers = 2;
  target.caches = (pz_cache_sizes){48 << 10, 2 << 20, 60 << 20};
  return 0;
}

typedef struct fixture {
  pz_graph *g;
  pz_arena *arena;
  const pz_problem *problems;
} fixture;

static fixture problems_of(const char *text, const pz_target *t) {
  fixture f = {.arena = pz_arena_new()};
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test", &f.g, &err) != PZ_OK) fail_msg("%s", err.message);
  assert_int_equal(pz_problems_of(f.g, t, f.arena, &f.problems, &err), PZ_OK);
  return f;
}
static void end(fixture *f) {
  pz_graph_free(f->g);
  pz_arena_free(f->arena);
}
static const pz_problem *problem(const fixture *f, const char *layer) {
  const pz_node_id n = pz_graph_find_node(f->g, layer);
  assert_int_not_equal(n, PZ_NONE);
  return &f->problems[n];
}
static pz_candidates candidates(const fixture *f, const char *layer, const pz_target *t) {
  pz_candidates all;
  pz_error err = {0};
  assert_int_equal(pz_candidates_of(problem(f, layer), t, f->arena, &all, &err), PZ_OK);
  return all;
}
static bool has(const pz_candidates *all, const char *label) {
  for (int32_t i = 0; i < all->n; i++)
    if (!strncmp(all->list[i].label, label, strlen(label))) return true;
  return false;
}

static const char chain[] = "graph \"chain\"\n"
                            "input %x 1x32x8x16x16\n"
                            "const %w 32x32x3x3x3 = seed 1 scale 0.05\n"
                            "const %v 32x32x1x1x1 = seed 2 scale 0.05\n"
                            "%a = conv \"first\" %x, %w kernel 3,3,3 pad 1,1,1:1,1,1 act relu\n"
                            "%b = conv \"second\" %a, %w, _, %a kernel 3,3,3 pad 1,1,1:1,1,1\n"
                            "%c = conv \"third\" %b, %w, _, %a kernel 3,3,3 pad 1,1,1:1,1,1 pooled 1,2,2\n"
                            "%p = pool \"pool\" %c kernel 1,2,2 stride 1,2,2\n"
                            "%d = conv \"point\" %p, %v norm_groups 32\n"
                            "%n = group_norm \"norm\" %d groups 32\n"
                            "output %c\noutput %n\n";

static void test_operands(void **state) {
  (void)state;
  fixture f = problems_of(chain, &target);
  const pz_operand *first = problem(&f, "first")->in, *second = problem(&f, "second")->in,
                   *third = problem(&f, "third")->in;
  assert_true(first[PZ_CONV_X].present && first[PZ_CONV_X].nchw && !first[PZ_CONV_X].data);
  assert_true(first[PZ_CONV_WEIGHT].packed && first[PZ_CONV_WEIGHT].data);
  assert_false(first[PZ_CONV_X].packed || first[PZ_CONV_X].one_sign || first[PZ_CONV_RESIDUAL].present);
  assert_true(second[PZ_CONV_X].one_sign && !second[PZ_CONV_X].nchw);
  assert_int_equal(second[PZ_CONV_RESIDUAL].same, PZ_CONV_X);
  assert_int_equal(third[PZ_CONV_RESIDUAL].same, PZ_CONV_RESIDUAL);
  assert_false(third[PZ_CONV_X].one_sign);
  /* it leaves the network, but is read besides */
  assert_false(problem(&f, "third")->out[0].nchw);
  assert_true(problem(&f, "norm")->out[0].nchw);
  end(&f);
}

/* Bytes count up from 0, and so do their copies; with a zero point, or of a type with a sign, they do not. */
static void test_one_sign_of_types(void **state) {
  (void)state;
  static const struct {
    const char *type;
    bool one_sign;
  } rows[] = {
      {"u8", true}, {"u16", true}, {"i8", false}, {"f16", false}, {"u8 scale 0.5 zero_point 3", false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    snprintf(text, sizeof text,
             "graph \"types\"\ninput %%x 1x32x1x16x16 %s\nconst %%v 8x32x1x1x1 = seed 2\n"
             "%%f = cast \"f\" %%x to f32\n%%y = conv \"y\" %%f, %%v\noutput %%y\n",
             rows[i].type);
    fixture f = problems_of(text, &target);
    assert_int_equal(problem(&f, "y")->in[PZ_CONV_X].one_sign, rows[i].one_sign);
    end(&f);
  }
}

static void test_epilogues(void **state) {
  (void)state;
  fixture f = problems_of(chain, &target);
  const pz_epilogue *third = &problem(&f, "third")->epilogue, *point = &problem(&f, "point")->epilogue;
  assert_true(third->pools && third->pool[0] == 1 && third->pool[1] == 2 && third->pool[2] == 2);
  assert_false(third->normalised || problem(&f, "second")->epilogue.pools);
  /* the whole tensor is so small that a worker does whole groups */
  assert_true(point->normalised && !point->norm_stats);
  end(&f);
  f = problems_of("graph \"large\"\ninput %x 1x32x16x64x64\nconst %v 32x32x1x1x1 = seed 2\n"
                  "%d = conv \"point\" %x, %v norm_groups 32\noutput %d\n",
                  &target);
  assert_true(problem(&f, "point")->epilogue.norm_stats);
  end(&f);
}

static void test_other_machines(void **state) {
  (void)state;
  fixture f = problems_of(chain, &target);
  pz_target amx = target, pairs = target, small = target;
  amx.features = PZ_NEEDS_TILES;
  pairs.adds_apart = true;
  small.features = PZ_NEEDS_SSE4, small.block = 4, small.registers = 16;
  const pz_candidates here = candidates(&f, "second", &target), tiles = candidates(&f, "second", &amx),
                      few = candidates(&f, "second", &small);
  assert_true(has(&here, "Winograd F(4,4,4)") && has(&here, "direct") && has(&few, "direct"));
  assert_true(!has(&here, "bf16x2") && has(&tiles, "bf16x2, F(4,3) along d"));
  pz_candidates one = candidates(&f, "point", &target), two = candidates(&f, "point", &pairs);
  assert_true(!has(&one, "direct, inner pairs") && has(&two, "direct, inner pairs"));
  end(&f);
}

/* Sorted, told apart by their labels, and the same each time. */
static void test_lists(void **state) {
  (void)state;
  fixture f = problems_of(chain, &target);
  const char *const layers[] = {"first", "second", "third", "pool", "point", "norm"};
  for (size_t l = 0; l < sizeof layers / sizeof *layers; l++) {
    const pz_candidates a = candidates(&f, layers[l], &target), b = candidates(&f, layers[l], &target);
    assert_true(a.n > 0 && a.n == b.n);
    for (int32_t i = 0; i < a.n; i++) {
      assert_true(a.list[i].solver == b.list[i].solver &&
                  !memcmp(&a.list[i].parameters, &b.list[i].parameters, sizeof a.list[i].parameters));
      assert_true(a.list[i].cost == b.list[i].cost && (i == 0 || a.list[i].cost >= a.list[i - 1].cost));
      for (int32_t k = 0; k < i; k++) assert_string_not_equal(a.list[i].label, a.list[k].label);
    }
  }
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operands), cmocka_unit_test(test_one_sign_of_types),
      cmocka_unit_test(test_epilogues), cmocka_unit_test(test_other_machines), cmocka_unit_test(test_lists)};
  return cmocka_run_group_tests(tests, set_server, NULL);
}
