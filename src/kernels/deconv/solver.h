/* solver.h: what the solvers of deconvolutions share. */
#ifndef PZ_KERNELS_DECONV_SOLVER_H
#define PZ_KERNELS_DECONV_SOLVER_H

#include "kernels/conv/solver.h"
#include "kernels/deconv/deconv.h"

/* One phase of the deconvolution `whole`: its parts, and its weights, [phases, K, C, taps], which the caller frees; NULL where
 * sizes alone are counted. */
pz_status pz_conv_phase_operands(const pz_query *q, const pz_builder *b, const pz_conv_direct_shape *whole,
                                 const pz_deconv_phase *phase, const pz_conv_operands *all,
                                 pz_conv_operands *p, float **weights, pz_error *err);
/* All phases, by such a kernel. */
pz_status pz_deconv_build(const pz_query *q, const pz_placed *placed, pz_builder *b, const pz_conv_method *m,
                          pz_error *err);

#endif
