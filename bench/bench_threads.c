/* bench_threads.c: how a network file runs on more threads. It is compiled with --cc "gcc -DPZ_RUN_NEXT=pz_bench_next" (emit/run_loop.h), so
 * that this program hands out its chunks; bench/threads does so, and simulates and reports what is measured here.
 *
 *   bench_threads chunks NET.so THREADS RUNS
 *
 * runs the network as if there were so many workers, all on this thread, one after the other from barrier to barrier, and prints a line of JSON: of each
 * step its name, algorithm, multiply-adds and bytes, and of each of its phases (what lies between two barriers) `alone`, nanoseconds of what each
 * worker does alone, and `shared`, of each chunk of each call that workers share. Each is the median of all runs, of the
 * time that this thread computes. The first of the
 * workers makes all chunks, in order: what it has in level 1 and 2 is then what chunks in a row find there.
 *
 *   bench_threads run NET.so THREADS pool|openmp ours|static|dynamic RUNS
 *
 * prints milliseconds of each run with an executor and a schedule: ours (a worker's own chunks, then others'), static (its own alone), dynamic (the next
 * of all, by libgomp's loops, which OpenMP's schedule(dynamic) is made of). One executor a process, for idle OpenMP threads spin. */
#define PROGRAM "bench_threads"
#include "executors.h"

#include <link.h>
#include <stdbool.h>
#include <ucontext.h>

#ifdef _OPENMP
/* libgomp's, as gcc calls them (its libgomp.map: GOMP_1.0). */
bool GOMP_loop_dynamic_start(long begin, long end, long step, long chunk, long *first, long *stop);
bool GOMP_loop_dynamic_next(long *first, long *stop);
void GOMP_loop_end_nowait(void);
#endif

enum { WARMUP = 2, STACK = 1 << 20 };

/* ---- who hands out chunks ---- */

typedef int32_t next_chunk_of(const pz_abi_call *r, int32_t call, int32_t worker, int32_t workers);
__attribute__((visibility("default"))) int32_t pz_bench_next(next_chunk_of *ours, int32_t chunks,
                                                             const pz_abi_call *r, int32_t call,
                                                             int32_t worker, int32_t workers);
static enum { OURS, STATIC, DYNAMIC, TIMED } schedule;
static void begin_piece(int32_t call, int32_t chunk);

static int32_t next_static(int32_t chunks, int32_t worker, int32_t workers) {
  static _Thread_local int32_t taken;
  const int32_t each = chunks / workers;
  if (taken < each) return worker * each + taken++;
  taken = 0;
  return -1;
}

#ifdef _OPENMP
static int32_t next_dynamic(int32_t chunks) {
  static _Thread_local bool begun;
  long first, stop;
  const bool more =
      begun ? GOMP_loop_dynamic_next(&first, &stop) : GOMP_loop_dynamic_start(0, chunks, 1, 1, &first, &stop);
  begun = more;
  if (more) return (int32_t)first;
  GOMP_loop_end_nowait();
  return -1;
}
#else
static int32_t next_dynamic(int32_t chunks) {
  (void)chunks;
  fail(77, "compiled without OpenMP");
}
#endif

int32_t pz_bench_next(next_chunk_of *ours, int32_t chunks, const pz_abi_call *r, int32_t call, int32_t worker,
                      int32_t workers) {
  if (schedule == STATIC) return next_static(chunks, worker, workers);
  if (schedule == DYNAMIC) return next_dynamic(chunks);
  const int32_t chunk = ours(r, call, worker, workers);
  if (schedule == TIMED) begin_piece(chunk < 0 ? -1 : call, chunk);
  return chunk;
}

/* A file that hands out its chunks itself would be timed as if one worker made all of them: its dynamic strings have not our function's name. */
static const pz_abi_network *network_of(const char *path) {
  static const char name[] = "pz_bench_next";
  const pz_abi_network *net = network_in(path);
  const char *strings = NULL;
  size_t size = 0;
  struct link_map *map;
  if (dlinfo(dlopen(path, RTLD_NOW | RTLD_NOLOAD), RTLD_DI_LINKMAP, &map)) fail(1, dlerror());
  for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_STRTAB) strings = (const char *)d->d_un.d_ptr;
    if (d->d_tag == DT_STRSZ) size = d->d_un.d_val;
  }
  if (!strings || !memmem(strings, size, name, sizeof name))
    fail(1, "a network file for this is compiled with --cc \"gcc -DPZ_RUN_NEXT=pz_bench_next\"");
  return net;
}

/* ---- many workers on one thread, timed ---- */

/* Seconds that this thread has computed: other work on the machine does not count. */
static double computed(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What a look at that clock adds to a piece. */
static double look_takes(void) {
  double least = 1;
  for (int i = 0; i < 10000; i++) {
    const double before = computed(), takes = computed() - before;
    if (takes < least) least = takes;
  }
  return least;
}

/* What a worker does from one look at the clock to the next. The same pieces follow each other in every run. */
typedef struct piece {
  int32_t step, phase; /* phase: of the step */
  int32_t worker;
  int32_t call, chunk; /* -1: what the worker does alone */
  double *seconds;     /* of each run */
} piece;

static struct {
  int32_t workers, worker; /* worker: that runs */
  ucontext_t back, of[MAX_THREADS];
  bool ended[MAX_THREADS];
  void (*task)(void *arg, int32_t worker);
  void *arg;
  piece *pieces, now;
  int64_t n, room;
  int run, runs;
  bool observed; /* a step has ended in this phase, and nothing but that is done in it */
  double since, look;
} timed;

static void grow(void) {
  timed.room = timed.room ? 2 * timed.room : 1 << 16;
  timed.pieces = realloc(timed.pieces, (size_t)timed.room * sizeof *timed.pieces);
  if (!timed.pieces) fail(1, "out of memory");
}

static void end_piece(double at) {
  if (timed.observed || timed.run < 0) return;
  if (timed.n == timed.room) grow();
  piece *p = &timed.pieces[timed.n++];
  const double between = at - timed.since - timed.look, seconds = between > 0 ? between : 0;
  if (timed.run == 0) {
    *p = timed.now, p->worker = timed.worker;
    p->seconds = malloc((size_t)timed.runs * sizeof *p->seconds);
    if (!p->seconds) fail(1, "out of memory");
  }
  p->seconds[timed.run] = seconds;
}

static void begin_piece(int32_t call, int32_t chunk) {
  end_piece(computed());
  timed.now.call = call, timed.now.chunk = chunk;
  timed.since = computed();
}

static void begin_phase(void) {
  timed.now.call = timed.now.chunk = -1;
  timed.since = computed();
}

static void timed_barrier(void *host, int32_t worker) {
  (void)host;
  end_piece(computed());
  swapcontext(&timed.of[worker], &timed.back);
  begin_phase();
}

static void whole_task(void) {
  const int32_t worker = timed.worker;
  begin_phase();
  timed.task(timed.arg, worker);
  end_piece(computed());
  timed.ended[worker] = true;
}

/* Called by worker 0, the first of all behind a step's last barrier. What follows up to the next one is nothing. */
static void end_step(void *host, int32_t step) {
  (void)host, (void)step;
  timed.observed = true;
}

static void one_phase(void) {
  for (timed.worker = 0; timed.worker < timed.workers; timed.worker++)
    swapcontext(&timed.back, &timed.of[timed.worker]);
}

static void timed_run(void *host, void (*task)(void *arg, int32_t worker), void *arg) {
  static char *stacks;
  (void)host;
  if (!stacks) stacks = take((uint64_t)timed.workers * STACK);
  timed.task = task, timed.arg = arg, timed.n = 0, timed.now = (piece){0};
  for (int32_t i = 0; i < timed.workers; i++) {
    getcontext(&timed.of[i]);
    timed.of[i].uc_stack.ss_sp = stacks + (int64_t)i * STACK, timed.of[i].uc_stack.ss_size = STACK;
    timed.of[i].uc_link = &timed.back;
    timed.ended[i] = false;
    makecontext(&timed.of[i], whole_task, 0);
  }
  while (!timed.ended[timed.workers - 1]) {
    one_phase();
    timed.now.phase++;
    if (timed.observed) timed.now.phase = 0, timed.now.step++;
    timed.observed = false;
  }
}

static double median_of(const piece *p) {
  qsort(p->seconds, (size_t)timed.runs, sizeof *p->seconds, ascending);
  return p->seconds[timed.runs / 2];
}

static void quote(const char *text) {
  putchar('"');
  for (; *text; text++) printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  putchar('"');
}

/* The pieces from i on that are of one phase; the first one behind it is returned. */
static int64_t print_phase(int64_t i) {
  const piece *first = &timed.pieces[i];
  double *alone = take((uint64_t)timed.workers * sizeof *alone);
  int64_t end = i;
  for (; end < timed.n && timed.pieces[end].step == first->step && timed.pieces[end].phase == first->phase;
       end++)
    if (timed.pieces[end].call < 0) alone[timed.pieces[end].worker] += median_of(&timed.pieces[end]);
  printf("{\"alone\": [");
  for (int32_t w = 0; w < timed.workers; w++) printf("%s%.0f", w ? ", " : "", 1e9 * alone[w]);
  printf("], \"shared\": [");
  int32_t call = -1;
  for (; i < end; i++) {
    const piece *p = &timed.pieces[i];
    if (p->call < 0) continue;
    if (p->call != call) printf("%s[%.0f", call < 0 ? "" : "], ", 1e9 * median_of(p));
    else printf(", %.0f", 1e9 * median_of(p));
    call = p->call;
  }
  printf("%s]}", call < 0 ? "" : "]");
  free(alone);
  return end;
}

static void print_steps(const pz_abi_network *net) {
  int64_t at = 0;
  printf("{\"threads\": %d, \"steps\": [", timed.workers);
  for (int32_t i = 0; i < net->n_steps; i++) {
    const pz_abi_step *s = &net->steps[i];
    printf("%s{\"name\": ", i ? ",\n" : "\n");
    quote(s->name);
    printf(", \"op\": \"%s\", \"algorithm\": ", s->op);
    quote(s->algorithm);
    printf(", \"multiply_adds\": %.0f, \"bytes\": %.0f, \"phases\": [", s->multiply_adds, s->bytes);
    for (const char *comma = ""; at < timed.n && timed.pieces[at].step == i; comma = ", ") {
      printf("%s", comma);
      at = print_phase(at);
    }
    printf("]}");
  }
  puts("]}");
}

static void time_chunks(const char *path, int threads, int runs) {
  const pz_abi_network *net = network_of(path);
  const pz_abi_executor executor = {NULL, threads, timed_run, timed_barrier};
  pz_abi_call call = call_of(net, &executor);
  call.observe = end_step;
  schedule = TIMED, timed.workers = threads, timed.runs = runs, timed.look = look_takes();
  for (int i = -1; i < runs; i++) {
    timed.run = i; /* the first is to warm up */
    if (net->run(&call)) fail(1, "the network does not run here");
  }
  print_steps(net);
}

/* ---- runs ---- */

static void time_runs(const char *path, int threads, char **words, int runs) {
  pz_abi_executor executor = executor_named(words[0], &threads);
  const pz_abi_network *net = network_of(path);
  const pz_abi_call call = call_of(net, &executor);
  schedule = !strcmp(words[1], "static") ? STATIC : !strcmp(words[1], "dynamic") ? DYNAMIC : OURS;
  if (schedule == OURS && strcmp(words[1], "ours")) fail(2, "the schedule is ours, static or dynamic");
  if (schedule == DYNAMIC && strcmp(words[0], "openmp")) fail(2, "the dynamic schedule is OpenMP's");
  for (int i = 0; i < WARMUP + runs; i++) {
    const double start = now();
    if (net->run(&call)) fail(1, "the network does not run here");
    if (i >= WARMUP) printf("%s%.6f", i == WARMUP ? "[" : ", ", 1e3 * (now() - start));
  }
  puts("]");
}

int main(int argc, char **argv) {
  const int threads = argc > 3 ? atoi(argv[3]) : 0, runs = argc > 4 ? atoi(argv[argc - 1]) : 0;
  if (threads < 1 || threads > MAX_THREADS || runs < 1) argc = 0;
  if (argc == 5 && !strcmp(argv[1], "chunks")) time_chunks(argv[2], threads, runs);
  else if (argc == 7 && !strcmp(argv[1], "run")) time_runs(argv[2], threads, argv + 4, runs);
  else
    fail(2, "usage: bench_threads chunks NET.so THREADS RUNS, or run NET.so THREADS pool|openmp "
            "ours|static|dynamic RUNS; 256 threads at most");
  return 0;
}
