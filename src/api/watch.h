/* watch.h: runs of a network whose steps are timed, and whether other work on the machine was in their way. What is seen: that threads of this process
 * waited for a core, as the system counts it, and that the core's pace is not what it was. */
#ifndef PZ_API_WATCH_H
#define PZ_API_WATCH_H

#include "api/api.h"
#include "runtime/runtime.h"

typedef struct pz_watch {
  pz_net *net;
  int32_t n, threads; /* steps; of this process, that are looked at */
  double *seconds;    /* by step, of the last run: without what its threads waited for a core */
  bool *disturbed;    /* by step, the same */
  int64_t *step_ns, *waited_ns;
  int *files;    /* by thread: what the system counts of it; -1: it does not */
  int64_t seen;  /* of that, up to the step before */
  bool counts;   /* nanoseconds; else how often a thread that could have gone on was put aside */
  bool trusting; /* nothing is looked at: all is taken for quiet */
  bool crowded;  /* there are more threads than cores: they wait for each other */
  bool nap;      /* before steps, for the threads to have their full share of the cores then */
  double pace;   /* seconds of a fixed piece of work: the least that was seen */
} pz_watch;

/* The arena is for this; the net is the caller's. On success the caller closes it. */
pz_status pz_watch_new(pz_arena *arena, pz_net *net, bool trusting, pz_watch *watch, pz_error *err);
void pz_watch_close(pz_watch *watch);
pz_status pz_watch_run(pz_watch *watch, const pz_patch *patch, pz_error *err);

/* How many times as long as its own processor time a thread takes now, for what it does: 1 on a quiet machine, 2 where another one wants
 * this core too. Looks for 30 ms. */
double pz_watch_load(void);

#endif
