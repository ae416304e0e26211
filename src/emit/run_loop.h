/* run_loop.h: how the steps of a network are run. It travels with the generated C; network.c includes it once, behind the constants of its
 * network:
 *
 *   PZ_RUN_STEPS     how many steps there are
 *   PZ_RUN_CALLS     calls whose chunks workers take, numbered from 0
 *   PZ_RUN_COUNTERS  where the first worker's counters of these calls lie, in bytes from the start of the arena
 *   PZ_RUN_WORKER    from one worker's counters to the next one's, in bytes
 *   PZ_RUN_TILES     1 where steps multiply AMX tiles, else 0
 *
 * and defines `functions`, the steps. The arena, executor and buffers are the host's (network_abi.h); nothing is allocated. */
#include "network_abi.h"
#include <stdatomic.h>
#include <time.h>
#if PZ_RUN_TILES
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* One worker's share of a step. All workers call it, and pass a barrier behind it. */
typedef void (*pz_run_step)(const pz_abi_call *r, int32_t worker, int32_t workers);
static const pz_run_step functions[PZ_RUN_STEPS + 1];

static void wait_for_all(const pz_abi_executor *e, int32_t worker) {
  if (e) e->barrier(e->host, worker);
}

/* ---- chunks ---- */

/* A long call is cut into chunks. A worker takes its own, one after the other, then those that others have not begun: one that is
 * held up, by another process on its core, does less. Which worker makes a chunk does not change its bits. */
#define PZ_RUN_CHUNKS(workers) (workers > 1 ? 8 * workers : 1)

static inline _Atomic int32_t *taken_of(const pz_abi_call *r, int32_t worker) {
  return (_Atomic int32_t *)((char *)r->arena + PZ_RUN_COUNTERS + (int64_t)worker * PZ_RUN_WORKER);
}

/* The next chunk of a call for this worker; -1: all are taken. */
__attribute__((unused)) static int32_t next_chunk(const pz_abi_call *r, int32_t call, int32_t worker,
                                                  int32_t workers) {
  const int32_t each = PZ_RUN_CHUNKS(workers) / workers;
  for (int32_t i = 0, w = worker; i < workers; i++, w = w + 1 < workers ? w + 1 : 0) {
    if (atomic_load_explicit(taken_of(r, w) + call, memory_order_relaxed) >= each) continue;
    const int32_t chunk = atomic_fetch_add_explicit(taken_of(r, w) + call, 1, memory_order_relaxed);
    if (chunk < each) return w * each + chunk;
  }
  return -1;
}

/* A program that looks at chunks, or hands them out its own way (bench/bench_threads.c), has a network file compiled with the name of a function
 * of its own, which is asked in place of ours where there is one: --cc "gcc -DPZ_RUN_NEXT=name". chunks: of all workers together. */
#ifdef PZ_RUN_NEXT
typedef int32_t pz_run_next(const pz_abi_call *r, int32_t call, int32_t worker, int32_t workers);
__attribute__((weak)) int32_t PZ_RUN_NEXT(pz_run_next *ours, int32_t chunks, const pz_abi_call *r,
                                          int32_t call, int32_t worker, int32_t workers);
__attribute__((unused)) static int32_t chunk_handed_out(const pz_abi_call *r, int32_t call, int32_t worker,
                                                        int32_t workers) {
  if (!PZ_RUN_NEXT) return next_chunk(r, call, worker, workers);
  return PZ_RUN_NEXT(next_chunk, PZ_RUN_CHUNKS(workers), r, call, worker, workers);
}
#define next_chunk chunk_handed_out
#endif

static void begin_chunks(const pz_abi_call *r, int32_t workers) {
  for (int32_t w = 0; w < workers; w++)
    for (int32_t i = 0; i < PZ_RUN_CALLS; i++)
      atomic_store_explicit(taken_of(r, w) + i, 0, memory_order_relaxed);
}

/* ---- the loop ---- */

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Where steps are timed no worker begins one before worker 0 has looked at the clock: it may be held up behind a barrier, and find
 * all chunks of the next step taken. */
static void run_steps(const pz_abi_call *r, int32_t worker, int32_t workers) {
  int64_t before = r->step_ns && worker == 0 ? now() : 0;
  if (r->step_ns) wait_for_all(r->executor, worker);
  for (int32_t i = 0; i < PZ_RUN_STEPS; i++) {
    functions[i](r, worker, workers);
    wait_for_all(r->executor, worker);
    if (r->step_ns && worker == 0) {
      const int64_t after = now();
      r->step_ns[i] += after - before;
      before = after;
    }
    if (r->step_ns) wait_for_all(r->executor, worker);
    if (r->observe) {
      if (worker == 0) r->observe(r->observe_host, i);
      if (r->step_ns && worker == 0) before = now();
      wait_for_all(r->executor, worker);
    }
  }
}

/* Denormals are flushed while the network runs: they never matter to a result of single precision and cost a hundred cycles each. */
static void work(void *arg, int32_t worker) {
  const pz_abi_call *r = arg;
#ifdef __SSE__
  const uint32_t mode = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode | 0x8040); /* flush denormal results and operands to zero */
#elif defined(__aarch64__)
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0" : : "r"(mode | UINT64_C(1) << 24)); /* FZ: the same */
#endif
  run_steps(r, worker, r->executor ? r->executor->workers : 1);
#ifdef __SSE__
  __builtin_ia32_ldmxcsr(mode);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#endif
}

/* Linux lets only those processes use AMX tiles that have asked. pznet's runtime has asked when it opened the file; other hosts
 * have not. */
static int32_t may_run(void) {
#if PZ_RUN_TILES
  static atomic_int asked;
  if (atomic_load_explicit(&asked, memory_order_relaxed)) return 1;
  if (syscall(SYS_arch_prctl, 0x1023, 18)) return 0; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
  atomic_store_explicit(&asked, 1, memory_order_relaxed);
#endif
  return 1;
}

static int32_t run(const pz_abi_call *r) {
  if (!may_run()) return PZ_ABI_NO_TILES;
  begin_chunks(r, r->executor ? r->executor->workers : 1);
  if (r->executor) r->executor->run(r->executor->host, work, (void *)(uintptr_t)r);
  else work((void *)(uintptr_t)r, 0);
  return 0;
}
