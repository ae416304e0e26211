/* trial.h: candidates, timed once more in the network itself.
 *
 * What a convolution takes alone (measure.c) is not quite what it takes between its neighbours: slabs, what the caches hold, where
 * pages lie. So the network is made again, with the next best candidate of each layer in place of the best, and so on, and its
 * layers are timed in turn with those of the network as it is. From then on the planner compares by these times.
 *
 *   pz_trial_run --> pz_plan_new: another plan? --> its network --> pz_trial_compare --> pz_trial_end
 */
#ifndef PZ_API_TRIAL_H
#define PZ_API_TRIAL_H

#include "api/tuner.h"
#include "emit/emit.h"

typedef struct pz_trial pz_trial;

/* `network` is the file of `plan`, which was made with `wanted` and the tuner as chooser; emit: how it was compiled. *trial is NULL
 * where no layer has candidates that are near each other and not tried yet; else the caller ends it. What fails is for the tuner's note,
 * and leaves nothing; PZ_INTERRUPTED is returned. tick(host) is called before each run. */
typedef pz_status (*pz_trial_tick)(void *host, pz_error *err);
pz_status pz_trial_run(pz_tuner *tuner, const pz_plan *plan, const pz_plan_options *wanted,
                       const pz_emit_options *emit, const char *network, pz_trial_tick tick, void *host,
                       pz_trial **trial, pz_error *err);
/* *better: `network`, a file of the plan that these times made, is not slower than the one that the trial began with. */
pz_status pz_trial_compare(pz_trial *trial, const char *network, bool *better, pz_error *err);
/* Into the database: nothing; the times of those candidates alone that the trial began with, so that they are not tried again; all. */
typedef enum pz_trial_keep { PZ_TRIAL_NOTHING, PZ_TRIAL_BEFORE, PZ_TRIAL_ALL } pz_trial_keep;
/* Frees the trial (NULL is fine), of whose plan it reads. */
void pz_trial_end(pz_trial *trial, pz_trial_keep keep);

#endif
