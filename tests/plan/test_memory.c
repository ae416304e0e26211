/* The arena: buffers that live at a time lie apart, anchored ones at their distance, and gaps are used. */
#include "kernels/testing.h"
#include "place/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MOST 40

typedef struct want {
  int64_t bytes;
  int32_t first, last, anchor;
  int64_t from_anchor;
} want;

/* The buffers' places when each is used by one call at its first and one at its last step. */
static int64_t planned(const want *wants, int32_t n, pz_buffer *buffers) {
  pz_call calls[MOST][2 * MOST];
  pz_step steps[MOST] = {0};
  pz_plan plan = {.arena = pz_arena_new(), .buffers = buffers, .n_buffers = n, .steps = steps};
  assert_non_null(plan.arena);
  memset(calls, 0, sizeof calls);
  for (int32_t s = 0; s < MOST; s++) steps[s].calls = calls[s];
  for (int32_t i = 0; i < n; i++) {
    const want *w = &wants[i];
    buffers[i] = (pz_buffer){.bytes = w->bytes,
                             .first = INT32_MAX,
                             .last = -1,
                             .anchor = w->anchor,
                             .from_anchor = w->from_anchor};
    for (int32_t end = 0; end < 2; end++) {
      pz_step *step = &steps[end ? w->last : w->first];
      pz_call *call = &step->calls[step->n_calls++];
      call->n_args = 1;
      call->args[0].at = (pz_pointer){PZ_SPACE_ARENA, i, 0};
      if (w->last >= plan.n_steps) plan.n_steps = w->last + 1;
    }
  }
  assert_int_equal(pz_memory_plan(&plan, NULL), PZ_OK);
  pz_arena_free(plan.arena);
  return plan.arena_bytes;
}

static void check(const want *wants, int32_t n, const pz_buffer *b, int64_t arena) {
  int64_t end = 0;
  for (int32_t i = 0; i < n; i++) {
    assert_true(b[i].offset >= 0 && b[i].offset + b[i].bytes <= arena && b[i].bytes >= wants[i].bytes);
    if (b[i].offset + b[i].bytes > end) end = b[i].offset + b[i].bytes;
    if (wants[i].anchor >= 0) assert_true(b[i].offset == b[wants[i].anchor].offset + wants[i].from_anchor);
    for (int32_t k = 0; k < i; k++) {
      const bool together = b[i].first <= b[k].last && b[k].first <= b[i].last;
      const bool apart = b[i].offset >= b[k].offset + b[k].bytes || b[k].offset >= b[i].offset + b[i].bytes;
      assert_true(!together || apart || wants[i].anchor == k);
    }
  }
  assert_true(end == arena);
}

static void test_random(void **state) {
  (void)state;
  pz_test_random r = {7};
  for (int32_t round = 0; round < 200; round++) {
    want wants[MOST];
    pz_buffer buffers[MOST];
    int64_t alive[MOST] = {0}, bound = 0;
    const int32_t n = 1 + round % MOST;
    for (int32_t i = 0; i < n; i++) {
      wants[i] = (want){.bytes = pz_test_int(&r, 1, 5000), .first = pz_test_int(&r, 0, 29), .anchor = -1};
      wants[i].last = wants[i].first + pz_test_int(&r, 0, 7);
      if (i > 0 && wants[i - 1].anchor < 0 && pz_test_int(&r, 0, 3) == 0) {
        wants[i].anchor = i - 1;
        wants[i].from_anchor = (int64_t)pz_test_int(&r, -20, 19) * PZ_ALIGN;
      }
    }
    const int64_t arena = planned(wants, n, buffers);
    check(wants, n, buffers, arena);
    for (int32_t i = 0; i < n; i++)
      for (int32_t s = wants[i].first; s <= wants[i].last && wants[i].anchor < 0; s++) {
        alive[s] += wants[i].bytes;
        if (alive[s] > bound) bound = alive[s];
      }
    assert_true(arena >= bound);
  }
}

/* Like Symmetric's second level (AVX-512): with the largest first it takes 930, for what is made at step 5 lies above all that ended at
 * step 4. */
static void test_gap(void **state) {
  (void)state;
  const int64_t kb64 = 16 << 10;
  want wants[] = {{562, 0, 1, -1, 0}, {562, 1, 9, 0, 68 * kb64}, {154, 2, 7, -1, 0}, {23, 3, 4, -1, 0},
                  {46, 4, 5, -1, 0},  {55, 4, 4, -1, 0},         {54, 4, 4, -1, 0},  {46, 5, 8, -1, 0},
                  {48, 6, 6, -1, 0},  {48, 6, 6, -1, 0}};
  pz_buffer buffers[sizeof wants / sizeof *wants];
  const int32_t n = (int32_t)(sizeof wants / sizeof *wants);
  for (int32_t i = 0; i < n; i++) wants[i].bytes *= kb64;
  const int64_t arena = planned(wants, n, buffers);
  check(wants, n, buffers, arena);
  assert_int_equal(arena / kb64, 562 + 154 + 23 + 46 + 55 + 54); /* what lives at step 4 */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_gap)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
