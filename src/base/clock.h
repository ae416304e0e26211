/* clock.h: seconds of a clock, of which only differences mean something. */
#ifndef PZ_BASE_CLOCK_H
#define PZ_BASE_CLOCK_H

#include <time.h>

static inline double pz_clock(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
/* One that nobody sets back. */
static inline double pz_now(void) { return pz_clock(CLOCK_MONOTONIC); }

#endif
