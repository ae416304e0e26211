/* executors.h: what the programs that time network files with pznet's pool and with OpenMP have in common: the two executors, a clock, and a network
 * file's memory. PROGRAM names the program that includes it. Programs compiled without OpenMP end with status 77 where it is asked for. */
#ifndef PZ_BENCH_EXECUTORS_H
#define PZ_BENCH_EXECUTORS_H

#include "base/pool.h"
#include "pznet/network_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { MAX_THREADS = 256 };

typedef void (*work_task)(void *arg, int32_t worker);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static _Noreturn void fail(int status, const char *message) {
  fprintf(stderr, PROGRAM ": %s\n", message);
  exit(status);
}

/* ---- the two executors, as network files see them: host, run, barrier ---- */

static void pool_run(void *host, work_task task, void *arg) { pz_pool_run(host, task, arg); }
static void pool_barrier(void *host, int32_t worker) { pz_pool_barrier(host, worker); }

#ifdef _OPENMP
static void openmp_run(void *host, work_task task, void *arg) {
  const int threads = *(const int *)host;
#pragma omp parallel num_threads(threads)
  task(arg, omp_get_thread_num());
}
static void openmp_barrier(void *host, int32_t worker) {
  (void)host, (void)worker;
#pragma omp barrier
}
#endif

static pz_abi_executor executor_named(const char *name, int *threads) {
  if (!strcmp(name, "pool")) {
    pz_pool *pool;
    pz_error err = {0};
    if (pz_pool_new(*threads, true, &pool, &err) != PZ_OK) fail(1, err.message);
    return (pz_abi_executor){pool, *threads, pool_run, pool_barrier};
  }
  if (strcmp(name, "openmp")) fail(2, "the executor is pool or openmp");
#ifdef _OPENMP
  omp_set_dynamic(0);
  return (pz_abi_executor){threads, *threads, openmp_run, openmp_barrier};
#else
  fail(77, "compiled without OpenMP");
#endif
}

/* ---- a network file ---- */

static void *take(uint64_t bytes) {
  void *memory = NULL;
  if (posix_memalign(&memory, 4096, bytes + 4096)) fail(1, "out of memory");
  memset(memory, 0, bytes + 4096);
  return memory;
}

static float **take_ports(const pz_abi_port *ports, int32_t n) {
  float **all = take((uint64_t)n * sizeof *all);
  for (int32_t i = 0; i < n; i++) {
    int64_t elements = 1;
    for (int k = 0; k < ports[i].rank; k++) elements *= ports[i].dim[k];
    all[i] = take((uint64_t)elements * sizeof(float));
    for (int64_t k = 0; k < elements; k++) all[i][k] = (float)(k % 17) / 16;
  }
  return all;
}

static const pz_abi_network *network_in(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(1, dlerror());
  const pz_abi_entry entry = (pz_abi_entry)dlsym(library, PZ_ABI_SYMBOL);
  if (!entry || entry()->abi_version != PZ_ABI_VERSION) fail(1, "not a network file of this version");
  return entry();
}

/* Its memory is the program's, to the end. */
static pz_abi_call call_of(const pz_abi_network *net, const pz_abi_executor *executor) {
  return (pz_abi_call){.arena = take(net->arena_bytes + (uint64_t)executor->workers * net->worker_bytes),
                       .state = net->state_bytes ? take(net->state_bytes) : NULL,
                       .inputs = (const void *const *)take_ports(net->inputs, net->n_inputs),
                       .outputs = (void *const *)take_ports(net->outputs, net->n_outputs),
                       .executor = executor};
}

#endif
