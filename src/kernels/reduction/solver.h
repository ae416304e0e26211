/* solver.h: what solvers of several operators use of the reductions. */
#ifndef PZ_KERNELS_REDUCTION_SOLVER_H
#define PZ_KERNELS_REDUCTION_SOLVER_H

#include "plan/solver.h"

/* The calls that reduce the node's NCHWc input to its NCHWc output, over those of n, c, d, h, w that are set. */
pz_status pz_add_reduction(const pz_placed *placed, pz_builder *b, pz_reduce_kind kind, const int32_t over[5],
                           pz_error *err);

#endif
