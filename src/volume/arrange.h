/* arrange.h: what the engine asks of the arrangement beside its numbers. */
#ifndef PZ_VOLUME_ARRANGE_H
#define PZ_VOLUME_ARRANGE_H

#include "volume/engine.h"

/* The first input plane that row k or a later one reads: planes before it are not needed any more. */
int64_t pz_row_first(const pz_axis *z, int64_t k, bool mirror);

#endif
