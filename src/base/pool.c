/* A run is one gate that lets the workers in and one barrier where all meet at its end; the barrier inside a run is the
 * same one. It is a counter and a gate: the last to arrive resets the counter and opens the gate. Each arrival takes the counter's
 * line from the core before, one after the other, so more than GROUP workers meet in groups, neighbours in each, which have lines of their own: the
 * last of a group meets those of the others, and then opens its group's gate. A third level would pay for hundreds of threads. */
#include "base/pool.h"
#include "base/affinity.h"
#include "base/cpu.h"
#include "base/gate.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 1024

/* Looks at a gate before a thread sleeps on it. A look with its pause takes 20 to 70 ns: about as long as a thread needs
 * to be woken (50 to 100 us), the point where having waited costs at most twice the better of the two choices. Where
 * threads outnumber cores the one that is waited for may itself wait for this core. */
#define SPINS         2000
#define SPINS_CROWDED 20

#define GROUP 8 /* cores that share a level 3 on many CPUs; doc/notes/2026-11-29-threads.md */

/* Where `members` threads wait for each other. */
typedef struct meeting {
  pz_gate gate; /* opened when all have arrived */
  _Alignas(128) _Atomic int32_t arrived;
  int32_t members;
} meeting;

typedef struct worker {
  pz_pool *pool;
  pthread_t thread;
  int32_t index;
  int core; /* bound to it; -1: to none */
} worker;

struct pz_pool {
  pz_gate start;   /* opened for each run */
  meeting all;     /* of one worker of each group, where there are several */
  meeting *groups; /* worker i is in group i / GROUP */
  _Alignas(128) void (*task)(void *arg, int32_t worker); /* NULL: the workers end */
  void *arg;
  int32_t threads, started; /* started: created so far, worker 0 (the caller) included */
  int spins;
  int home; /* the core that is left to the caller; -1: workers are not bound, or share it */
  pid_t process;
  pthread_mutex_t one_run;
  worker *workers;
};

/* True: this thread is the last one, and is to open the gate. False: another one has. */
static bool arrive(meeting *m, int spins) {
  /* Read before arriving: the gate cannot open until this thread has arrived. */
  const uint32_t seen = atomic_load_explicit(&m->gate.value, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&m->arrived, 1, memory_order_acq_rel) + 1 < m->members) {
    pz_gate_wait(&m->gate, seen, spins);
    return false;
  }
  atomic_store_explicit(&m->arrived, 0, memory_order_relaxed);
  return true;
}

void pz_pool_barrier(pz_pool *pool, int32_t index) {
  meeting *group = &pool->groups[index / GROUP];
  if (pool->threads == 1 || !arrive(group, pool->spins)) return;
  if (pool->all.members > 1 && arrive(&pool->all, pool->spins)) pz_gate_open(&pool->all.gate);
  pz_gate_open(&group->gate);
}

static void *work(void *arg) {
  const worker *w = arg;
  pz_pool *pool = w->pool;
  for (uint32_t seen = 0;; seen++) {
    pz_gate_wait(&pool->start, seen, pool->spins);
    if (!pool->task) return NULL;
    pool->task(pool->arg, w->index);
    pz_pool_barrier(pool, w->index);
  }
}

/* The caller is not bound, so it may be on a worker's core when a run begins, and the scheduler would let the two take
 * turns for milliseconds. */
static void step_aside(const pz_pool *pool) {
  if (pool->home < 0) return;
  int here = sched_getcpu();
  for (int32_t i = 1; i < pool->threads; i++)
    if (pool->workers[i].core == here) return pz_affinity_move(pool->home);
}

void pz_pool_run(pz_pool *pool, void (*task)(void *arg, int32_t worker), void *arg) {
  pthread_mutex_lock(&pool->one_run);
  step_aside(pool);
  pool->task = task;
  pool->arg = arg;
  if (pool->threads > 1) pz_gate_open(&pool->start);
  task(arg, 0);
  pz_pool_barrier(pool, 0);
  pthread_mutex_unlock(&pool->one_run);
}

int pz_pool_threads(const pz_pool *pool) { return pool->threads; }

/* A process that was forked from the owner has the pool's memory, but not its threads. */
void pz_pool_free(pz_pool *pool) {
  if (!pool) return;
  if (pool->process == getpid()) {
    pool->task = NULL;
    if (pool->started > 1) pz_gate_open(&pool->start);
    for (int32_t i = 1; i < pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_mutex_destroy(&pool->one_run);
  }
  free(pool->workers);
  free(pool->groups);
  free(pool);
}

bool pz_pool_usable(const pz_pool *pool) { return pool->process == getpid(); }

static void bind_workers(pz_pool *pool) {
  int cores[MAX_THREADS];
  int n = pz_affinity_cores(cores, MAX_THREADS);
  if (n > MAX_THREADS) n = MAX_THREADS;
  for (int32_t i = 1; n > 0 && i < pool->threads; i++)
    if (pz_affinity_bind(pool->workers[i].thread, cores[i % n])) pool->workers[i].core = cores[i % n];
  if (n >= pool->threads) pool->home = cores[0];
}

/* Signals are the host's business: workers block them all, so that its handlers run in its own threads. */
static pz_status start_workers(pz_pool *pool, pz_error *err) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int reason = 0;
  for (; pool->started < pool->threads && !reason; pool->started += !reason) {
    worker *w = &pool->workers[pool->started];
    *w = (worker){.pool = pool, .index = pool->started, .core = -1};
    reason = pthread_create(&w->thread, NULL, work, w);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!reason) return PZ_OK;
  errno = reason;
  return pz_fail(err, PZ_ERROR_RUN, "thread %d of %d cannot be started: %m: ask for fewer threads",
                 (int)pool->started + 1, (int)pool->threads);
}

/* Zeroed, on lines of its own; NULL: out of memory. */
static void *take(size_t n, size_t size) {
  void *memory = NULL;
  if (posix_memalign(&memory, _Alignof(pz_pool), n * size)) return NULL;
  return memset(memory, 0, n * size);
}

static void make_groups(pz_pool *pool) {
  pool->all.members = (pool->threads + GROUP - 1) / GROUP;
  for (int32_t i = 0; i < pool->threads; i++) pool->groups[i / GROUP].members++;
}

static pz_pool *allocate(int threads) {
  pz_pool *pool = take(1, sizeof *pool);
  if (!pool) return NULL;
  pool->workers = calloc((size_t)threads, sizeof *pool->workers);
  pool->groups = take(((size_t)threads + GROUP - 1) / GROUP, sizeof *pool->groups);
  pool->threads = threads;
  pool->started = 1;
  pool->process = getpid();
  pool->home = -1;
  pthread_mutex_init(&pool->one_run, NULL);
  if (!pool->workers || !pool->groups) return pz_pool_free(pool), NULL;
  make_groups(pool);
  return pool;
}

pz_status pz_pool_new(int threads, bool pin, pz_pool **out, pz_error *err) {
  *out = NULL;
  int usable = pz_cpu_usable();
  if (threads < 0 || threads > MAX_THREADS)
    return pz_fail(err, PZ_ERROR_USAGE, "%d threads: expected 1 to %d, or 0 for all cores", threads,
                   MAX_THREADS);
  if (threads == 0) threads = usable < MAX_THREADS ? usable : MAX_THREADS;
  pz_pool *pool = allocate(threads);
  if (!pool) return pz_fail_memory(err, "the thread pool", sizeof *pool + (size_t)threads * sizeof(worker));
  pool->spins = threads > usable ? SPINS_CROWDED : SPINS;
  pz_status status = start_workers(pool, err);
  if (status != PZ_OK) return pz_pool_free(pool), status;
  if (pin) bind_workers(pool);
  *out = pool;
  return PZ_OK;
}
