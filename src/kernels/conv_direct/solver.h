/* solver.h: direct sums, for deconvolutions and for what is measured by them. */
#ifndef PZ_KERNELS_CONV_DIRECT_SOLVER_H
#define PZ_KERNELS_CONV_DIRECT_SOLVER_H

#include "kernels/conv/solver.h"

extern const pz_conv_method pz_conv_direct_method;
/* Vector multiply-adds of the direct algorithm. */
/* Multiply-adds of vectors that direct sums take: of whole blocks out, and of the tail over lanes. */
double pz_conv_direct_products(const pz_query *q);
double pz_conv_lane_products(const pz_query *q);

#endif
