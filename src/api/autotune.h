/* autotune.h: candidates, timed once more in the network itself.
 *
 * What a convolution takes alone (measure.c) is not quite what it takes between its neighbours: bands, what the caches hold, where
 * pages lie. So the network is made again, with the next best candidate of each layer in place of the best, and so on, and its
 * layers are timed in turn with those of the network as it is. From then on the planner compares by these times.
 *
 *   pz_autotune_run --> pz_plan_new: another plan? --> its network --> pz_autotune_compare --> pz_autotune_end
 */
#ifndef PZ_API_AUTOTUNE_H
#define PZ_API_AUTOTUNE_H

#include "api/tuner.h"
#include "emit/emit.h"

typedef struct pz_autotune pz_autotune;

/* `network` is the file of `plan`, which was made with `wanted` and the tuner as chooser; emit: how it was compiled. *autotuning is NULL
 * where no layer has candidates that are near each other and not tried yet; else the caller ends it. What fails is for the tuner's note,
 * and leaves nothing; PZ_INTERRUPTED is returned. tick(host) is called before each run. */
typedef pz_status (*pz_autotune_tick)(void *host, pz_error *err);
pz_status pz_autotune_run(pz_tuner *tuner, const pz_plan *plan, const pz_plan_options *wanted,
                          const pz_emit_options *emit, const char *network, pz_autotune_tick tick, void *host,
                          pz_autotune **autotune, pz_error *err);
/* *better: `network`, a file of the plan that these times made, is not slower than the one that in-network autotuning began with. Where other work on
 * the machine hides which is faster it is not, and PZ_AUTOTUNE_BEFORE keeps nothing, so that the candidates are tried again. */
pz_status pz_autotune_compare(pz_autotune *autotune, const char *network, bool *better, pz_error *err);
/* Into the database: nothing; the times of those candidates alone that in-network autotuning began with, so that they are not tried again; all. */
typedef enum pz_autotune_keep { PZ_AUTOTUNE_NOTHING, PZ_AUTOTUNE_BEFORE, PZ_AUTOTUNE_ALL } pz_autotune_keep;
/* Frees in-network autotuning (NULL is fine), of whose plan it reads. */
void pz_autotune_end(pz_autotune *autotune, pz_autotune_keep keep);

#endif
