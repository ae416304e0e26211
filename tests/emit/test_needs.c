/* Which steps must have finished before each begins: against all pairs of steps that touch the same memory, one of them writing, of random
 * networks, whole and band by band. */
#include "unit.h"
#include "emit/emit.h"
#include "optimise/optimise.h"
#include "planner/planner.h"
#include "support/random_graph.h"

#include <string.h>

enum { MOST = 2048 };
static bool before[MOST][MOST]; /* [b][a]: a is among the needs of b, at whatever distance */

/* The same bytes of the arena, the same output, or both the state. */
static bool meet(const pz_plan *p, const pz_pointer *a, const pz_pointer *b) {
  if (a->space != b->space) return false;
  if (a->space == PZ_SPACE_OUTPUT) return a->index == b->index;
  if (a->space != PZ_SPACE_ARENA) return a->space == PZ_SPACE_STATE;
  const pz_buffer *x = &p->buffers[a->index], *y = &p->buffers[b->index];
  return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

static bool calls_collide(const pz_plan *p, const pz_call *a, const pz_call *b) {
  for (int32_t i = 0; i < a->n_args; i++)
    for (int32_t k = 0; k < b->n_args; k++)
      if ((a->args[i].written || b->args[k].written) && meet(p, &a->args[i].at, &b->args[k].at)) return true;
  return false;
}

static bool collide(const pz_plan *p, const pz_step *a, const pz_step *b) {
  for (int32_t i = 0; i < a->n_calls; i++)
    for (int32_t k = 0; k < b->n_calls; k++)
      if (calls_collide(p, &a->calls[i], &b->calls[k])) return true;
  return false;
}

/* Every collision is covered, every need is one, and none follows from the others. */
static int64_t check(const pz_plan *p, const pz_sources *needs) {
  int64_t collisions = 0;
  memset(before, 0, sizeof before);
  for (int32_t b = 0; b < p->n_steps; b++) {
    for (int32_t i = 0; i < needs[b].n; i++) {
      const int32_t a = needs[b].of[i];
      assert_true(a >= 0 && a < b && (!i || a > needs[b].of[i - 1]));
      for (int32_t k = 0; k < needs[b].n; k++) assert_false(before[needs[b].of[k]][a]);
      assert_true(collide(p, &p->steps[a], &p->steps[b]));
      before[b][a] = true;
    }
    for (int32_t i = 0; i < needs[b].n; i++)
      for (int32_t a = 0; a < b; a++) before[b][a] |= before[needs[b].of[i]][a];
    for (int32_t a = 0; a < b; a++) {
      if (!collide(p, &p->steps[a], &p->steps[b])) continue;
      if (!before[b][a]) fail_msg("step %d does not wait for step %d", b, a);
      collisions++;
    }
  }
  return collisions;
}

static void random_networks(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  int64_t collisions = 0, chains = 0, several = 0;
  for (uint64_t seed = 1; seed <= 150; seed++) {
    pz_graph *g;
    pz_plan *plan;
    pz_sources *needs;
    pz_error err = {0};
    assert_int_equal((seed % 2 ? pz_random_graph : pz_random_exported_graph)(seed, &g, &err), PZ_OK);
    assert_int_equal(pz_optimise(g, NULL, NULL, NULL, &err), PZ_OK);
    const pz_plan_options options = {.target = pz_target_as((pz_isa)(seed % PZ_ISA_COUNT)),
                                     .fuse_rows = (pz_fuse_rows)(seed / 2 % 3),
                                     .threads = 2,
                                     .sized = true};
    assert_int_equal(pz_plan_new(g, &options, &plan, &err), PZ_OK);
    assert_true(plan->n_steps <= MOST);
    assert_int_equal(pz_emit_needs(plan, arena, &needs, &err), PZ_OK);
    collisions += check(plan, needs);
    for (int32_t i = 0; i < plan->n_steps; i++) several += needs[i].n > 1, chains += needs[i].n == 1;
    pz_plan_free(plan);
    pz_graph_free(g);
  }
  pz_arena_free(arena);
  assert_true(collisions > 2000 && chains > 500 && several > 50); /* they are of some size */
}

/* Of two branches, what follows the first need not wait for the second; that overwrites the blocked input, which the first has read. */
static void branches(void **state) {
  (void)state;
  static const char text[] = "graph \"branches\"\n"
                             "input %x 1x1x2x8x8\n"
                             "%a = activation \"a\" %x act relu 0\n"
                             "%b = activation \"b\" %x act abs\n"
                             "%c = activation \"c\" %a act sigmoid\n"
                             "output %b\noutput %c\n";
  pz_arena *arena = pz_arena_new();
  pz_graph *g;
  pz_plan *plan;
  pz_sources *needs;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  if (pz_plan_new(g, &(pz_plan_options){.target = pz_target_as(PZ_ISA_SSE4)}, &plan, &err) != PZ_OK)
    fail_msg("%s", err.message);
  assert_int_equal(pz_emit_needs(plan, arena, &needs, &err), PZ_OK);
  const char *names = "xabbcc"; /* conversions of x, of b, of c */
  assert_int_equal(plan->n_steps, 6);
  for (int32_t i = 0; i < 6; i++) assert_memory_equal(plan->steps[i].name, &names[i], 1);
  check(plan, needs);
  assert_true(before[4][1] && before[5][4] && before[2][1] && before[3][2]);
  assert_false(before[4][2] || before[4][3] || before[5][2] || before[5][3]);
  pz_plan_free(plan);
  pz_graph_free(g);
  pz_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_networks), cmocka_unit_test(branches)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
