/* Long calls are cut into parts: a worker that is held up leaves its own to the others, and the bits are the same. */
#include "support/compiled.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Step 0 copies the input into the arena, step 1 is the convolution: 28 million multiply-adds, and step 2 what is too short. */
static const char text[] = "graph \"turns\"\n"
                           "input %x 1x3x10x40x41\n"
                           "const %w1 21x3x3x3x3 = seed 1 scale 0.1\n"
                           "const %b1 21 = seed 2 scale 0.1\n"
                           "const %w2 1x21x1x1x1 = seed 3 scale 0.1\n"
                           "%a = conv \"a\" %x, %w1, %b1 kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n"
                           "%b = conv \"b\" %a, %w2\n"
                           "output %b\n";
enum { COPY, CONVOLUTION };

static _Thread_local int met; /* barriers that this thread has passed in this run */
static _Atomic int others;    /* workers but 0 that are not done with the convolution */
static int whole;

/* Values of the convolution's result that are there: the arena was full of NaN. */
static int64_t made(const pz_abi_network *n, const float *arena) {
  const pz_abi_tensor *t = &n->tensors[n->steps[CONVOLUTION].tensor];
  int64_t there = 0;
  assert_int_equal(t->space, PZ_ABI_ARENA);
  for (int64_t c = 0; c < t->dim[1]; c++)
    for (int64_t d = 0; d < t->dim[2]; d++)
      for (int64_t h = 0; h < t->dim[3]; h++)
        for (int64_t w = 0; w < t->dim[4]; w++)
          there += !isnan(arena[(t->offset + c / t->block * t->stride_c + d * t->stride_d + h * t->stride_h +
                                 w * t->stride_w) /
                                    4 +
                                c % t->block]);
  return there;
}

/* Worker 0 begins the convolution when all others have done what they can, and finds all of it made. */
static void hold_up(const pz_abi_network *n, const float *arena, int32_t worker, bool behind) {
  if (worker && !behind && met == COPY) atomic_fetch_add(&others, 1);
  if (worker && !behind && met == CONVOLUTION) atomic_fetch_sub(&others, 1);
  met += behind;
  if (worker == 0 && behind && met == CONVOLUTION) {
    while (atomic_load(&others)) continue;
    const pz_abi_tensor *t = &n->tensors[n->steps[CONVOLUTION].tensor];
    whole += made(n, arena) == t->dim[1] * t->dim[2] * t->dim[3] * t->dim[4];
  }
  if (met == n->n_steps) met = 0;
}

static void run_with(bool timed, void (*at_barrier)(const pz_abi_network *, const float *, int32_t, bool)) {
  pz_graph *g = NULL;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  pz_test_compiled(g, &(pz_compiled_options){.name = "turns",
                                             .plan = {.target = pz_target_as(pz_isa_native()), .exact = true},
                                             .tolerance = 1e-6,
                                             .timed = timed,
                                             .at_barrier = at_barrier});
  pz_graph_free(g);
}

static void test_held_up(void **state) {
  (void)state;
  run_with(false, hold_up);
  assert_int_equal(whole, 2); /* with two threads, with three */
}

/* With times there is a barrier in front of the first step, and two behind each: worker 0, held up behind the first one behind the copying, has
 * not looked at the clock yet, and finds that another worker waits and has not begun the convolution. */
enum { COPIED = 2 };
static _Atomic int waiting;
static int untouched;

static void hold_up_clock(const pz_abi_network *n, const float *arena, int32_t worker, bool behind) {
  if (worker && !behind && met == COPIED) atomic_fetch_add(&waiting, 1);
  met += behind;
  if (worker == 0 && behind && met == COPIED) {
    while (!atomic_load(&waiting)) continue;
    untouched += made(n, arena) == 0;
  }
  if (met < 1 + 2 * n->n_steps) return;
  met = 0;
  if (worker == 0) atomic_store(&waiting, 0);
}

static void test_times(void **state) {
  (void)state;
  run_with(true, hold_up_clock);
  assert_int_equal(untouched, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_held_up), cmocka_unit_test(test_times)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
