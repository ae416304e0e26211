/* test_run_loop.c: the loop that runs a network's steps, with steps of its own: their order, barriers, chunks, times, observers, and the
 * rounding mode. */
#include "base/pool.h"
#define PZ_RUN_STEPS    3
#define PZ_RUN_CALLS    2
#define PZ_RUN_COUNTERS 16
#define PZ_RUN_WORKER   32
#define PZ_RUN_TILES    0
#include "emit/run_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_WORKERS = 4 };

#ifdef PZ_RUN_NEXT
extern _Atomic int asked_for; /* hand_out.c */
#endif

static _Atomic int begun[PZ_RUN_STEPS], made[PZ_RUN_CALLS][8 * MOST_WORKERS], early, late;
static _Atomic int denormals;

static void begin(int step, int32_t workers) {
  begun[step]++;
  if (step > 0 && begun[step - 1] != workers) early++; /* somebody is still in the step before */
}

static void take_chunks(const pz_abi_call *r, int32_t call, int32_t worker, int32_t workers) {
  for (int32_t chunk; (chunk = next_chunk(r, call, worker, workers)) >= 0;) {
    if (chunk >= PZ_RUN_CHUNKS(workers)) abort();
    made[call][chunk]++;
  }
}
static void first(const pz_abi_call *r, int32_t worker, int32_t workers) {
  volatile float tiny = 1e-38f;
  begin(0, workers);
  denormals += tiny / 8 != 0;
  take_chunks(r, 0, worker, workers);
}
static void second(const pz_abi_call *r, int32_t worker, int32_t workers) {
  begin(1, workers);
  if (worker == 0) { /* is held up: the others do its chunks too */
    const struct timespec pause = {.tv_nsec = 2000000};
    nanosleep(&pause, NULL);
  }
  take_chunks(r, 1, worker, workers);
}
static void third(const pz_abi_call *r, int32_t worker, int32_t workers) {
  (void)r, (void)worker;
  begin(2, workers);
}
static const pz_run_step functions[] = {first, second, third, 0};

static int observed[PZ_RUN_STEPS], n_observed;
static void observe(void *host, int32_t step) {
  const int workers = *(const int *)host;
  if (n_observed < PZ_RUN_STEPS) observed[n_observed] = step;
  n_observed++;
  late += begun[step] != workers || (step + 1 < PZ_RUN_STEPS && begun[step + 1] != 0);
}

static void run_on_pool(void *host, void (*task)(void *arg, int32_t worker), void *arg) {
  pz_pool_run(host, task, arg);
}
static void barrier(void *host, int32_t worker) { pz_pool_barrier(host, worker); }

static void check(int workers, pz_pool *pool, bool timed) {
  _Alignas(64) static float arena[PZ_RUN_COUNTERS + MOST_WORKERS * PZ_RUN_WORKER];
  const pz_abi_executor executor = {pool, workers, run_on_pool, barrier};
  int64_t ns[PZ_RUN_STEPS] = {1, 1, 1};
  int host = workers;
  memset(arena, 0xff, sizeof arena); /* whatever was there */
  memset(begun, 0, sizeof begun), memset(made, 0, sizeof made);
  early = late = denormals = n_observed = 0;
  const pz_abi_call call = {.arena = arena,
                            .executor = pool ? &executor : NULL,
                            .step_ns = timed ? ns : NULL,
                            .observe = observe,
                            .observe_host = &host};
  assert_int_equal(run(&call), 0);
  assert_int_equal(early, 0);
  assert_int_equal(late, 0);
  assert_int_equal(denormals, 0);
  assert_int_equal(n_observed, PZ_RUN_STEPS);
  for (int i = 0; i < PZ_RUN_STEPS; i++) {
    assert_int_equal(begun[i], workers);
    assert_int_equal(observed[i], i);
    if (timed) assert_true(ns[i] >= 1);
  }
  if (timed) assert_true(ns[1] > 2000000);
  for (int c = 0; c < PZ_RUN_CALLS; c++)
    for (int i = 0; i < PZ_RUN_CHUNKS(workers); i++) assert_int_equal(made[c][i], 1);
#ifdef PZ_RUN_NEXT
  assert_int_equal(asked_for, PZ_RUN_CALLS * (PZ_RUN_CHUNKS(workers) +
                                              workers)); /* each hears once that there is no more */
  asked_for = 0;
#endif
  volatile float tiny = 1e-38f;
#ifdef __SSE__
  assert_true(tiny / 8 != 0); /* the caller's mode is back */
#endif
}

static void alone(void **state) {
  (void)state;
  check(1, NULL, false);
  check(1, NULL, true);
}

static void together(void **state) {
  (void)state;
  for (int workers = 1; workers <= MOST_WORKERS; workers++) {
    pz_pool *pool;
    pz_error err = {0};
    if (pz_pool_new(workers, false, &pool, &err) != PZ_OK) fail_msg("%s", err.message);
    for (int i = 0; i < 20; i++) check(workers, pool, i % 2);
    pz_pool_free(pool);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(alone), cmocka_unit_test(together)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
