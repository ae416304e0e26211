/* bench_pool.c: what a parallel region costs in pznet's thread pool and in OpenMP (NeoCPU 3.1.2 and figure 4).
 *
 *   bench_pool pool|openmp THREADS [NET.so]
 *
 * prints one line of JSON: microseconds for a parallel region (fork and join) and for a barrier within one; milliseconds
 * for the same work cut into more and more regions; and runs per second of a network file with this executor. One
 * executor a process: idle OpenMP threads spin and would take the cores from the pool. OpenMP's own settings come from
 * its environment variables. Status 77: compiled without OpenMP. */
#define PROGRAM "bench_pool"
#include "executors.h"

enum { REPEATS = 9, WARMUP = 2, EMPTY = 2000, MOST_REGIONS = 16384 };
#define WORK ((int64_t)1 << 21) /* dependent multiply-adds, some milliseconds of a core */

/* ---- the same work in more and more regions ---- */

typedef struct slot { /* a worker's, on cache lines of its own */
  _Alignas(128) double sum;
  int64_t done, seen;
} slot;

typedef struct setup {
  const pz_abi_executor *executor;
  int64_t work;    /* of a region, all workers together */
  int64_t regions; /* that a task passes through, with a barrier behind each; 0: one, without */
  slot slots[MAX_THREADS];
} setup;

static double chain(double x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x = x * 0.999999 + 1e-6;
  return x;
}

static void share(setup *j, int32_t worker) {
  const int64_t workers = j->executor->workers;
  const int64_t n = j->work * (worker + 1) / workers - j->work * worker / workers;
  slot *s = &j->slots[worker];
  s->sum = chain(s->sum, n);
  s->done += n;
}

static void region_task(void *arg, int32_t worker) { share(arg, worker); }
static void barriers_task(void *arg, int32_t worker) {
  setup *j = arg;
  for (int64_t r = 0; r < j->regions; r++) {
    share(j, worker);
    j->executor->barrier(j->executor->host, worker);
  }
}

/* `regions` regions of work/regions each, as so many calls of run, or as one with barriers. */
static double once(setup *j, int64_t work, int64_t regions, bool barriers) {
  j->work = work / regions;
  j->regions = barriers ? regions : 0;
  const double start = now();
  if (barriers) j->executor->run(j->executor->host, barriers_task, j);
  for (int64_t r = 0; !barriers && r < regions; r++) j->executor->run(j->executor->host, region_task, j);
  return now() - start;
}

static double median(setup *j, int64_t work, int64_t regions, bool barriers) {
  double seconds[REPEATS];
  for (int i = 0; i < WARMUP; i++) once(j, work, regions, barriers);
  for (int i = 0; i < REPEATS; i++) seconds[i] = once(j, work, regions, barriers);
  qsort(seconds, REPEATS, sizeof *seconds, ascending);
  return seconds[REPEATS / 2];
}

/* Did every worker do its share of every region, no more and no less? */
static void check_work(setup *j) {
  memset(j->slots, 0, sizeof j->slots);
  for (int barriers = 0; barriers < 2; barriers++) once(j, 1 << 12, 1 << 6, barriers);
  int64_t done = 0;
  for (int32_t i = 0; i < j->executor->workers; i++) done += j->slots[i].done;
  if (done != 2 << 12) fail(1, "the workers did not do all the work once");
}

/* Behind a barrier every worker must see what all have written before it. */
static void checking_task(void *arg, int32_t worker) {
  setup *j = arg;
  const pz_abi_executor *e = j->executor;
  for (int64_t r = 1; r <= j->regions; r++) {
    __atomic_store_n(&j->slots[worker].seen, r, __ATOMIC_RELAXED);
    e->barrier(e->host, worker);
    for (int32_t i = 0; i < e->workers; i++)
      if (__atomic_load_n(&j->slots[i].seen, __ATOMIC_RELAXED) != r)
        fail(1, "a barrier let a worker through");
    e->barrier(e->host, worker);
  }
}

static void check_barriers(setup *j) {
  j->regions = 100;
  j->executor->run(j->executor->host, checking_task, j);
  for (int32_t i = 0; i < j->executor->workers; i++)
    if (j->slots[i].seen != j->regions) fail(1, "fewer workers ran than were asked for");
}

static void print_regions(setup *j) {
  printf(", \"regions\": [");
  for (int64_t regions = 1; regions <= MOST_REGIONS; regions *= 4)
    printf("%s{\"count\": %lld, \"milliseconds\": %.6f, \"barrier_milliseconds\": %.6f}",
           regions > 1 ? ", " : "", (long long)regions, 1e3 * median(j, WORK, regions, false),
           1e3 * median(j, WORK, regions, true));
  printf("]");
}

/* ---- a network file ---- */

static void print_network(const char *path, const pz_abi_executor *executor) {
  const pz_abi_network *net = network_in(path);
  const pz_abi_call call = call_of(net, executor);
  enum { RUNS = 101 };
  double seconds[RUNS];
  for (int i = 0; i < WARMUP + RUNS; i++) {
    const double start = now();
    net->run(&call);
    if (i >= WARMUP) seconds[i - WARMUP] = now() - start;
  }
  qsort(seconds, RUNS, sizeof *seconds, ascending);
  printf(", \"network\": {\"steps\": %d, \"milliseconds\": %.6f}", (int)net->n_steps,
         1e3 * seconds[RUNS / 2]);
}

int main(int argc, char **argv) {
  int threads = argc == 3 || argc == 4 ? atoi(argv[2]) : 0;
  if (threads < 1 || threads > MAX_THREADS) fail(2, "usage: bench_pool pool|openmp THREADS [NET.so]");
  const pz_abi_executor executor = executor_named(argv[1], &threads);
  static setup j;
  j.executor = &executor;
  check_work(&j);
  check_barriers(&j);
  printf("{\"executor\": \"%s\", \"threads\": %d, \"region_us\": %.4f, \"barrier_us\": %.4f", argv[1],
         threads, 1e6 * median(&j, 0, EMPTY, false) / EMPTY, 1e6 * median(&j, 0, EMPTY, true) / EMPTY);
  print_regions(&j);
  if (argc == 4) print_network(argv[3], &executor);
  puts("}");
  return 0;
}
