/* normed.h: what a convolution does that normalises its input as it reads it: act((x - center) * factor + term), with factors of group_norm.h. */
#ifndef PZ_KERNELS_NORM_NORMED_H
#define PZ_KERNELS_NORM_NORMED_H

#include "kernels/activation.h"
#include "kernels/norm/shape.h"

typedef struct pz_normed {
  pz_v center, factor, term;
} pz_normed;

/* Of a block of a sample. factors: of all blocks of all samples of `in`. */
PZ_INLINE pz_normed pz_normed_of(const pz_view *in, const float *factors, int32_t n, int32_t block) {
  factors += ((int64_t)n * pz_blocks(in) + block) * PZ_NORM_VECTORS * PZ_S;
  return (pz_normed){pz_v_load(factors + PZ_NORM_CENTER * PZ_S), pz_v_load(factors + PZ_NORM_FACTOR * PZ_S),
                     pz_v_load(factors + PZ_NORM_TERM * PZ_S)};
}

/* The vector at `from`, normalised. act has no slopes, and is zero at zero. */
PZ_INLINE pz_v pz_normed_load(const pz_normed *f, int32_t act, float alpha, float beta, const float *from) {
  return pz_activate(act, alpha, beta, pz_v_zero(),
                     pz_v_fma(pz_v_load(from) - f->center, f->factor, f->term));
}

#endif
