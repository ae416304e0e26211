/* convert.h: from the volume's numbers to the network's. */
#ifndef PZ_VOLUME_CONVERT_H
#define PZ_VOLUME_CONVERT_H

#include "base/status.h"

/* out[i] = (in[i] - shift) / scale in float; shift 0 and scale 1 leave a number as it is. */
void pz_convert(pz_dtype dtype, const void *in, int64_t n, float shift, float scale, float *out);

/* Whether all n elements are zero. */
bool pz_all_zero(pz_dtype dtype, const void *in, int64_t n);

/* The index of the first value that is not-a-number or infinite, or -1. */
int64_t pz_find_not_finite(const float *in, int64_t n);
void pz_zero_not_finite(float *data, int64_t n);

/* Count, mean and sum of squared differences from the mean; not-a-numbers and infinities are left out. Two passes over what is in
 * memory, merged with what was there before by Chan's formula, so that nothing cancels. */
typedef struct pz_moments {
  double n, mean, m2;
} pz_moments;
void pz_moments_add(pz_moments *moments, pz_dtype dtype, const void *in, int64_t n);

#endif
