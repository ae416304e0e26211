#include "api/watch.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define SLOW 1.15 /* times the least pace: another clock rate, or a core that is shared below the system */
#define LOOK 0.03 /* seconds */

static double clock_of(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of all threads of the process: how often the system took a core from one that could have gone on. */
static int64_t put_aside(void) {
  struct rusage r;
  return getrusage(RUSAGE_SELF, &r) ? 0 : r.ru_nivcsw;
}

/* Some 20 microseconds of products that wait for each other. */
static uint64_t work(uint64_t x) {
  for (int i = 0; i < 16384; i++) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}

/* The least of three: what a run does to caches is no pace. */
static double pace_now(void) {
  double least = 1;
  for (int i = 0; i < 3; i++) {
    const double start = clock_of(CLOCK_MONOTONIC);
    volatile uint64_t kept = work((uint64_t)i);
    (void)kept;
    const double seconds = clock_of(CLOCK_MONOTONIC) - start;
    if (seconds < least) least = seconds;
  }
  return least;
}

pz_status pz_watch_new(pz_arena *arena, pz_net *net, pz_watch *w, pz_error *err) {
  const size_t n = (size_t)pz_net_steps(net) + 1;
  *w = (pz_watch){.net = net, .n = pz_net_steps(net), .pace = pace_now()};
  w->seconds = PZ_NEW(arena, double, n);
  w->disturbed = PZ_NEW(arena, bool, n);
  w->step_ns = PZ_NEW(arena, int64_t, n);
  return w->seconds && w->disturbed && w->step_ns ? PZ_OK : pz_fail_memory(err, "times of steps", n * 32);
}

static void look(void *host, int32_t step) {
  pz_watch *w = host;
  const int64_t now = put_aside();
  w->disturbed[step] = now != w->put_aside;
  w->put_aside = now;
}

/* True where the pace is as it was. */
static bool keeps_pace(pz_watch *w) {
  const double pace = pace_now();
  if (pace < w->pace) w->pace = pace;
  return pace <= SLOW * w->pace;
}

pz_status pz_watch_run(pz_watch *w, const pz_patch *patch, pz_error *err) {
  pz_abi_call call = {.inputs = (const void *const *)patch->inputs,
                      .outputs = (void *const *)patch->outputs,
                      .step_ns = w->step_ns,
                      .observe = look,
                      .observe_host = w};
  memset(w->step_ns, 0, (size_t)w->n * sizeof *w->step_ns);
  const bool before = keeps_pace(w);
  w->put_aside = put_aside();
  PZ_TRY(pz_runtime_run(w->net, &call, err));
  const bool even = keeps_pace(w) && before;
  for (int32_t i = 0; i < w->n; i++) {
    w->seconds[i] = 1e-9 * (double)w->step_ns[i];
    w->disturbed[i] |= !even;
  }
  return PZ_OK;
}

double pz_watch_load(void) {
  const double start = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_THREAD_CPUTIME_ID);
  double wall;
  volatile uint64_t kept = 1;
  while ((wall = clock_of(CLOCK_MONOTONIC) - start) < LOOK) kept = work(kept);
  const double own = clock_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
  return own > 0 && wall > own ? wall / own : 1;
}
