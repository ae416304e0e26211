/* pool.h: the executor: pinned threads, one cheap barrier between operators.
 * NeoCPU section 3.1.2 (own thread pool). Workers spin briefly, then sleep on a futex. The calling thread is worker 0. */
#ifndef PZ_BASE_POOL_H
#define PZ_BASE_POOL_H

#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct pz_pool pz_pool;

/* threads = 0: as many as pz_cpu_usable(). pin: bind worker i to the i-th core of the affinity mask (the
 * calling thread is never bound). The caller frees it with pz_pool_free, when no run is under way. */
pz_status pz_pool_new(int threads, bool pin, pz_pool **pool, pz_error *err);
void pz_pool_free(pz_pool *pool);
int pz_pool_threads(const pz_pool *pool);

/* False in a process that was forked from the one that made the pool: the threads are not there, and a run would wait
 * for them for ever. Freeing works. */
bool pz_pool_usable(const pz_pool *pool);

/* Calls task(arg, worker) on every worker and returns when all have returned. One run at a time: a second
 * caller waits. */
void pz_pool_run(pz_pool *pool, void (*task)(void *arg, int32_t worker), void *arg);

/* Called by all workers of a run, from inside the task. */
void pz_pool_barrier(pz_pool *pool, int32_t worker);

#endif
