/* convert.h: from the volume's numbers to the network's. */
#ifndef PZ_FORMATS_CONVERT_H
#define PZ_FORMATS_CONVERT_H

#include "base/dtype.h"

/* out[i] = (in[i] - shift) / scale in float; shift 0 and scale 1 leave a number as it is, rounded once to float. Types that float
 * does not hold exactly are shifted and divided in double. A byte of a bool that is not 0 is true. */
void pz_convert(pz_dtype dtype, const void *in, int64_t n, double shift, double scale, float *out);

/* Whether all n elements are zero. */
bool pz_all_zero(pz_dtype dtype, const void *in, int64_t n);

/* The index of the first value that is not-a-number or infinite, or -1; never one in types that are no floats. */
int64_t pz_find_not_finite(pz_dtype dtype, const void *in, int64_t n);
void pz_zero_not_finite(pz_dtype dtype, void *data, int64_t n);

/* Whether there are values of this type that float does not hold exactly. */
bool pz_dtype_rounded(pz_dtype dtype);
/* How many of the elements float does not hold exactly; *first: the index of the first one. Not-a-numbers are held. */
int64_t pz_count_rounded(pz_dtype dtype, const void *in, int64_t n, int64_t *first);
/* The element as it is and as float has it, in words: "16777217 becomes 16777216". */
void pz_describe_rounded(pz_dtype dtype, const void *element, char *out, int size);

/* Count, mean and sum of squared differences from the mean; not-a-numbers and infinities are left out. Two passes over what is in
 * memory, merged with what was there before by Chan's formula, so that nothing cancels. */
typedef struct pz_moments {
  double n, mean, m2;
} pz_moments;
void pz_moments_add(pz_moments *moments, pz_dtype dtype, const void *in, int64_t n);
void pz_moments_merge(pz_moments *moments, const pz_moments *more);

#endif
