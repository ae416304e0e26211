/* watch.h: runs of a network whose steps are timed, and whether other work on the machine was in their way. What is seen: threads of this process that
 * were put aside for others while a step ran, and a pace of the core that is not what it was. */
#ifndef PZ_API_WATCH_H
#define PZ_API_WATCH_H

#include "api/api.h"
#include "runtime/runtime.h"

typedef struct pz_watch {
  pz_net *net;
  int32_t n;       /* steps */
  double *seconds; /* by step, of the last run */
  bool *disturbed; /* by step, the same */
  int64_t *step_ns;
  int64_t put_aside; /* how often, up to the step before */
  double pace;       /* seconds of a fixed piece of work: the least that was seen */
} pz_watch;

/* In the arena; the net is the caller's. */
pz_status pz_watch_new(pz_arena *arena, pz_net *net, pz_watch *watch, pz_error *err);
pz_status pz_watch_run(pz_watch *watch, const pz_patch *patch, pz_error *err);

/* How many times as long as its own processor time a thread takes now, for what it does: 1 on a quiet machine, 2 where another one wants
 * this core too. Looks for 30 ms. */
double pz_watch_load(void);

#endif
