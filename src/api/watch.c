#include "api/watch.h"
#include "base/clock.h"

#include "base/cpu.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SLOW   1.15 /* times the least pace: another clock rate, or a core that is shared below the system */
#define LOOK   0.03 /* seconds */
#define WAITED 0.02 /* of a step's time, that its threads waited for a core: a step that is disturbed */
#define TURN                                                                                                 \
  2e-4 /* seconds, and more than waking takes on a quiet machine, less than another's turn: then it is disturbed */
#define NAP 5000000 /* nanoseconds: more than a thread's turn, so that it is its turn when it wakes */
enum { MOST_THREADS = 256 };

/* ---- what threads wait ---- */

/* The second number: nanoseconds that the thread could have run and had no core. */
static bool read_waited(int file, int64_t *sum) {
  char text[96];
  const ssize_t n = pread(file, text, sizeof text - 1, 0);
  long long ran, waited;
  if (n <= 0) return false;
  text[n] = 0;
  if (sscanf(text, "%lld %lld", &ran, &waited) != 2) return false;
  *sum += waited;
  return true;
}

/* Of all threads of the process together. */
static int64_t put_aside(void) {
  struct rusage r;
  return getrusage(RUSAGE_SELF, &r) ? 0 : r.ru_nivcsw;
}

static int64_t look_now(const pz_watch *w) {
  int64_t sum = 0;
  if (!w->counts) return put_aside();
  for (int32_t i = 0; i < w->threads; i++) read_waited(w->files[i], &sum);
  return sum;
}

static void open_thread(pz_watch *w, const char *thread) {
  char path[300];
  int64_t none;
  snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  w->counts &= file >= 0 && read_waited(file, &none);
  if (file >= 0) w->files[w->threads++] = file;
}

/* Not where there are so many that looking at them takes longer than steps. */
static void open_threads(pz_watch *w) {
  DIR *tasks = opendir("/proc/self/task");
  w->counts = tasks != NULL;
  for (struct dirent *e; tasks && (e = readdir(tasks));) {
    if (e->d_name[0] == '.') continue;
    if (w->threads == MOST_THREADS) w->counts = false;
    if (w->counts) open_thread(w, e->d_name);
  }
  if (tasks) closedir(tasks);
}

/* ---- pace ---- */

/* Some 20 microseconds of products that wait for each other. */
static uint64_t work(uint64_t x) {
  for (int i = 0; i < 16384; i++) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}

/* The least of some: what a run does to caches is no pace. */
static double pace_now(void) {
  double least = 1;
  for (int i = 0; i < 5; i++) {
    const double start = pz_now();
    volatile uint64_t kept = work((uint64_t)i);
    (void)kept;
    const double seconds = pz_now() - start;
    if (seconds < least) least = seconds;
  }
  return least;
}

/* True where the pace is as it was. */
static bool keeps_pace(pz_watch *w) {
  const double pace = pace_now();
  if (pace < w->pace) w->pace = pace;
  return pace <= SLOW * w->pace;
}

/* ---- runs ---- */

pz_status pz_watch_new(pz_arena *arena, pz_net *net, bool trusting, pz_watch *w, pz_error *err) {
  const size_t n = (size_t)pz_net_steps(net) + 1;
  *w = (pz_watch){.net = net, .n = pz_net_steps(net), .trusting = trusting, .pace = pace_now()};
  w->seconds = PZ_NEW(arena, double, n);
  w->disturbed = PZ_NEW(arena, bool, n);
  w->step_ns = PZ_NEW(arena, int64_t, n);
  w->waited_ns = PZ_NEW(arena, int64_t, n);
  w->files = PZ_NEW(arena, int, MOST_THREADS);
  if (!w->seconds || !w->disturbed || !w->step_ns || !w->waited_ns || !w->files)
    return pz_fail_memory(err, "times of steps", n * 40);
  open_threads(w);
  w->crowded = pz_pool_threads(net->pool) > pz_cpu_usable();
  return PZ_OK;
}

void pz_watch_close(pz_watch *w) {
  for (int32_t i = 0; i < w->threads; i++) close(w->files[i]);
  w->threads = 0;
}

static void look(void *host, int32_t step) {
  pz_watch *w = host;
  const int64_t now = look_now(w);
  w->waited_ns[step] = now - w->seen;
  if (w->nap) nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
  w->seen = w->nap ? look_now(w) : now;
}

/* Chunks of a step are taken by whoever is free: what its threads waited has made it longer by its part of them. */
static void end_step(pz_watch *w, int32_t step, int32_t workers) {
  const double wall = 1e-9 * (double)w->step_ns[step], waited = 1e-9 * (double)w->waited_ns[step];
  w->seconds[step] = wall;
  w->disturbed[step] = false;
  if (w->crowded || w->trusting) return;
  w->disturbed[step] = w->counts ? waited > WAITED * wall && waited > TURN : w->waited_ns[step] > 0;
  if (w->counts && w->disturbed[step] && waited / workers < wall) w->seconds[step] -= waited / workers;
}

pz_status pz_watch_run(pz_watch *w, const pz_patch *patch, pz_error *err) {
  pz_abi_call call = {.inputs = (const void *const *)patch->inputs,
                      .outputs = (void *const *)patch->outputs,
                      .step_ns = w->step_ns,
                      .observe = look,
                      .observe_host = w};
  memset(w->step_ns, 0, (size_t)w->n * sizeof *w->step_ns);
  const bool before = keeps_pace(w);
  w->seen = look_now(w);
  PZ_TRY(pz_runtime_run(w->net, &call, err));
  const bool even = keeps_pace(w) && before;
  int32_t disturbed = 0;
  for (int32_t i = 0; i < w->n; i++) {
    end_step(w, i, pz_pool_threads(w->net->pool));
    disturbed += w->disturbed[i];
    w->disturbed[i] |= !even && !w->trusting;
  }
  w->nap = 4 * disturbed > w->n;
  return PZ_OK;
}

double pz_watch_load(void) {
  const double start = pz_now(), cpu = pz_clock(CLOCK_THREAD_CPUTIME_ID);
  double wall;
  volatile uint64_t kept = 1;
  while ((wall = pz_now() - start) < LOOK) kept = work(kept);
  const double own = pz_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
  return own > 0 && wall > own ? wall / own : 1;
}
