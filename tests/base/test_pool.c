#include "unit.h"
#include "base/affinity.h"
#include "base/cpu.h"
#include "base/pool.h"
#include "fail_alloc.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int creations_left = -1; /* -1: all succeed */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
  if (creations_left == 0) return EAGAIN;
  if (creations_left > 0) creations_left--;
  return __real_pthread_create(thread, attr, start, arg);
}

static pz_pool *make(int threads) {
  pz_pool *pool;
  pz_error err = {0};
  if (pz_pool_new(threads, false, &pool, &err) != PZ_OK) fail_msg("%s", err.message);
  return pool;
}

enum { MOST = 20 }; /* more than two of the pool's groups */

typedef struct shared {
  pz_pool *pool;
  int workers, rounds;
  int plain[MOST]; /* not atomic: the barrier alone keeps the accesses apart (seen by ThreadSanitizer too) */
  _Atomic int wrong;
  _Atomic int calls[MOST];
} shared;

static void count_call(void *arg, int32_t worker) { atomic_fetch_add(&((shared *)arg)->calls[worker], 1); }

static void every_worker_is_called_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= MOST; threads += threads < 10 ? 1 : 5) {
    shared s = {.pool = make(threads)};
    assert_int_equal(pz_pool_threads(s.pool), threads);
    for (int run = 0; run < 50; run++) pz_pool_run(s.pool, count_call, &s);
    for (int i = 0; i < MOST; i++) assert_int_equal(s.calls[i], i < threads ? 50 : 0);
    pz_pool_free(s.pool);
  }
}

/* In each round every worker writes its own number, all meet, every worker reads all numbers, all meet. */
static void rounds(void *arg, int32_t worker) {
  shared *s = arg;
  for (int round = 1; round <= s->rounds; round++) {
    s->plain[worker] = round;
    pz_pool_barrier(s->pool, worker);
    for (int i = 0; i < s->workers; i++)
      if (s->plain[i] != round) s->wrong++;
    pz_pool_barrier(s->pool, worker);
  }
}

static void barrier_separates_rounds(void **state) {
  (void)state;
  static const int sizes[] = {1, 2, 3, 5, 8, 9, 17, MOST};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    shared s = {.pool = make(sizes[i]),
                .workers = sizes[i],
                .rounds = sizes[i] <= 2   ? 4000
                          : sizes[i] <= 8 ? 500
                                          : 20};
    for (int run = 0; run < 3; run++) pz_pool_run(s.pool, rounds, &s);
    assert_int_equal(s.wrong, 0);
    pz_pool_free(s.pool);
  }
}

/* Workers that arrive late make the others sleep: the way through the futex. */
static void slow_rounds(void *arg, int32_t worker) {
  shared *s = arg;
  for (int round = 0; round < s->rounds; round++) {
    if (round % s->workers == worker) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    s->plain[worker] = round;
    pz_pool_barrier(s->pool, worker);
    for (int i = 0; i < s->workers; i++)
      if (s->plain[i] != round) s->wrong++;
    pz_pool_barrier(s->pool, worker);
  }
}

static void sleepers_are_woken(void **state) {
  (void)state;
  for (int workers = 3; workers <= 10; workers += 7) { /* in one group, in two */
    shared s = {.pool = make(workers), .workers = workers, .rounds = 30};
    for (int run = 0; run < 3; run++) {
      nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* workers fall asleep between runs */
      pz_pool_run(s.pool, slow_rounds, &s);
    }
    assert_int_equal(s.wrong, 0);
    pz_pool_free(s.pool);
  }
}

typedef struct contended {
  shared *s;
  _Atomic int inside;
} contended;

static void alone(void *arg, int32_t worker) {
  contended *c = arg;
  if (worker == 0 && atomic_fetch_add(&c->inside, 1) != 0) c->s->wrong++;
  pz_pool_barrier(c->s->pool, worker);
  c->s->plain[worker]++;
  pz_pool_barrier(c->s->pool, worker);
  if (worker == 0) atomic_fetch_sub(&c->inside, 1);
}

static void *call_often(void *arg) {
  contended *c = arg;
  for (int i = 0; i < 200; i++) pz_pool_run(c->s->pool, alone, c);
  return NULL;
}

static void one_run_at_a_time(void **state) {
  (void)state;
  shared s = {.pool = make(2), .workers = 2};
  contended c = {.s = &s};
  pthread_t callers[3];
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&callers[i], NULL, call_often, &c), 0);
  for (int i = 0; i < 3; i++) pthread_join(callers[i], NULL);
  assert_int_equal(s.wrong, 0);
  assert_int_equal(s.plain[0], 600);
  assert_int_equal(s.plain[1], 600);
  pz_pool_free(s.pool);
}

typedef struct seen {
  int cores[16], first[16], here[16];
  pthread_t thread[16];
  bool blocked[16];
} seen;

static void look(void *arg, int32_t worker) {
  seen *s = arg;
  sigset_t mask;
  s->here[worker] = sched_getcpu();
  s->cores[worker] = pz_affinity_cores(&s->first[worker], 1);
  s->thread[worker] = pthread_self();
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  s->blocked[worker] = sigismember(&mask, SIGINT);
}

static void workers_are_bound_and_the_caller_is_not(void **state) {
  (void)state;
  int cores[64], n = pz_affinity_cores(cores, 64);
  pz_pool *pool;
  assert_int_equal(pz_pool_new(4, true, &pool, NULL), PZ_OK);
  seen s = {0};
  pz_pool_run(pool, look, &s);
  pz_pool_free(pool);
  assert_int_equal(s.cores[0], n);
  assert_true(pthread_equal(s.thread[0], pthread_self()));
  assert_false(s.blocked[0]);
  for (int i = 1; i < 4; i++) {
    assert_int_equal(s.cores[i], 1);
    assert_int_equal(s.first[i], cores[i % (n < 64 ? n : 64)]);
    assert_true(s.blocked[i]);
  }
}

static void caller_leaves_a_workers_core(void **state) {
  (void)state;
  int cores[64], n = pz_affinity_cores(cores, 64);
  if (n < 2) skip();
  pz_pool *pool;
  assert_int_equal(pz_pool_new(2, true, &pool, NULL), PZ_OK);
  seen s = {0};
  bool aside = false; /* on a busy machine the scheduler may move the caller once more: several attempts */
  for (int i = 0; i < 20 && !aside; i++) {
    pz_affinity_move(cores[1]);
    assert_int_equal(pz_affinity_cores(NULL, 0), n); /* moved, not bound */
    pz_pool_run(pool, look, &s);
    assert_int_equal(s.here[1], cores[1]);
    assert_int_equal(s.cores[0], n);
    aside = s.here[0] == cores[0];
  }
  pz_pool_free(pool);
  assert_true(aside);
}

static void default_is_the_usable_cores(void **state) {
  (void)state;
  pz_pool *pool = make(0);
  assert_int_equal(pz_pool_threads(pool), pz_cpu_usable());
  pz_pool_free(pool);
  pz_pool_free(NULL);
}

static void wrong_numbers_of_threads(void **state) {
  (void)state;
  static const int numbers[] = {-1, 1025, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 4; i++) {
    pz_pool *pool = (pz_pool *)&pool;
    pz_error err = {0};
    assert_int_equal(pz_pool_new(numbers[i], false, &pool, &err), PZ_ERROR_USAGE);
    assert_null(pool);
    assert_non_null(strstr(err.message, "threads"));
  }
}

static void threads_that_do_not_start(void **state) {
  (void)state;
  for (int works = 0; works < 4; works++) {
    pz_pool *pool;
    pz_error err = {0};
    creations_left = works;
    pz_status status = pz_pool_new(6, true, &pool, &err);
    creations_left = -1;
    assert_int_equal(status, PZ_ERROR_RUN);
    assert_null(pool);
    char start[64];
    snprintf(start, sizeof start, "thread %d of 6 cannot be started", works + 2);
    assert_non_null(strstr(err.message, start));
  }
}

static void pool_without_memory(void **state) {
  (void)state;
  PZ_FAIL_EACH_ALLOC() {
    pz_pool *pool;
    pz_error err = {0};
    pz_status status = pz_pool_new(2, false, &pool, &err);
    bool failed = pz_fail_alloc_end();
    assert_int_equal(status, failed ? PZ_ERROR_MEMORY : PZ_OK);
    assert_int_equal(pool == NULL, failed);
    pz_pool_free(pool);
  }
}

static void forked_process_may_free(void **state) {
  (void)state;
  pz_pool *pool = make(3);
  assert_true(pz_pool_usable(pool));
  pid_t child = fork();
  if (child == 0) {
    bool usable = pz_pool_usable(pool);
    alarm(60);
    pz_pool_free(pool);
    _exit(usable);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  pz_pool_free(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_worker_is_called_once),
      cmocka_unit_test(barrier_separates_rounds),
      cmocka_unit_test(sleepers_are_woken),
      cmocka_unit_test(one_run_at_a_time),
      cmocka_unit_test(workers_are_bound_and_the_caller_is_not),
      cmocka_unit_test(caller_leaves_a_workers_core),
      cmocka_unit_test(default_is_the_usable_cores),
      cmocka_unit_test(wrong_numbers_of_threads),
      cmocka_unit_test(threads_that_do_not_start),
      cmocka_unit_test(pool_without_memory),
      cmocka_unit_test(forked_process_may_free),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
