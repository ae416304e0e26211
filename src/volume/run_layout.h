/* run_layout.h: what the engine asks of the layout of the run beside its numbers. */
#ifndef PZ_VOLUME_RUN_LAYOUT_H
#define PZ_VOLUME_RUN_LAYOUT_H

#include "volume/engine.h"

/* The first input plane that layer k or a later one reads: planes before it are not needed any more. */
int64_t pz_layer_first(const pz_axis *z, int64_t k, bool mirror);

/* Planes of a block that are read at once: whole steps where a->step says so. */
int64_t pz_read_planes(const pz_engine_tuning *tuning, const pz_volume *input, const pz_run_layout *a);

#endif
