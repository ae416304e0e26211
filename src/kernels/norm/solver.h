/* solver.h: moments of a result that the convolution collects which makes it (kernels/norm/moments.h). */
#ifndef PZ_KERNELS_NORM_SOLVER_H
#define PZ_KERNELS_NORM_SOLVER_H

#include "plan/builder.h"

/* A buffer of records of the result at `out`, `units` of each block; whoever normalises it is told. */
pz_status pz_add_norm_stats(pz_builder *b, const pz_view *out, int32_t units, pz_pointer *at, pz_error *err);

#endif
