/* solver.h: sums over lanes, for the tails of others (tail.h). */
#ifndef PZ_KERNELS_CONV_DOT_SOLVER_H
#define PZ_KERNELS_CONV_DOT_SOLVER_H

#include "kernels/conv/solver.h"

extern const pz_conv_method pz_conv_dot_method;

#endif
