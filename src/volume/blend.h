/* blend.h: weights of overlapping patches, and the loops that sum, normalise and store.
 *
 * A voxel of the result is the sum of weight * value over the patches that cover it, divided by the sum of their
 * weights. The sum of weights is not stored: it is summed again, in double, for a row at a time.
 *
 *   constant   1.
 *   gaussian   product over axes of exp(-(i - (n-1)/2)^2 / (2 sigma^2)), sigma = n/8, raised to at least 1e-3: MONAI's
 *              compute_importance_map (1.6.1), whose floor is the greater of 1e-3 and the least weight.
 *   bump       exp(sum over axes of -1/(1-t^2)), t = (2i + 1)/n - 1, relative to the greatest weight and raised to at
 *              least 1e-30, so that float keeps it.
 *   nnunet     10 times the product of exp(-(i - n/2)^2 / (2 sigma^2)), n/2 rounded down, sigma = n/8, rounded to half
 *              precision; zeros are raised to the least positive weight: compute_gaussian of nnU-Net (2.8.1), whose filter,
 *              cut off at 4 sigma, reaches all of the patch.
 *   chunkflow  make_patch_mask of chunkflow (1.2.0): b = exp(sum over axes of -1/(1-t^2)), t = 2(i + 1)/(n + 1) - 1, mapped
 *              linearly so that its least is 1 and its greatest 1e6, divided by the sum of b over the patch itself and its 26
 *              neighbours, which lie a step away. */
#ifndef PZ_VOLUME_BLEND_H
#define PZ_VOLUME_BLEND_H

#include "base/status.h"
#include "volume/grid.h"

typedef enum pz_weights {
  PZ_WEIGHTS_CONSTANT,
  PZ_WEIGHTS_GAUSSIAN,
  PZ_WEIGHTS_BUMP,
  PZ_WEIGHTS_NNUNET,
  PZ_WEIGHTS_CHUNKFLOW
} pz_weights;

/* weights: [z][y][x] of an output patch. step: from a patch to the next. `scratch`: 2 * (out[0] + out[1] + out[2]) doubles. */
void pz_blend_weights(pz_weights kind, const int64_t out[3], const double step[3], double *scratch,
                      float *weights);

/* What the sums are kept in: float, double, or floats that are rounded to half precision after each addition. */
typedef enum pz_sum { PZ_SUM_FLOAT, PZ_SUM_DOUBLE, PZ_SUM_HALF } pz_sum;

/* Whether sums in float stay within 1e-6 of the greatest value; otherwise double is needed. Serial summation of n
 * non-negative terms errs by at most n * 2^-24 relative to the sum, typically by its square root: 27 (two
 * neighbours on each axis and a last patch that was moved) is within 1.6e-6 at worst, 4e-7 in practice. */
static inline bool pz_blend_float_suffices(int64_t coverage) { return coverage <= 27; }
static inline int64_t pz_sum_bytes(pz_sum kind) { return kind == PZ_SUM_DOUBLE ? 8 : 4; }

/* Neither infinite nor not-a-number, whose difference from themselves is not-a-number; a test that vectorises. */
#define PZ_IS_FINITE(v) ((v) - (v) == 0)

/* sum[i] += weight[i] * value[i], from element `at` of the sums on. False: some value is not finite. */
bool pz_blend_add(pz_sum kind, void *sum, int64_t at, const float *weight, const float *value, int64_t n);

/* One over the sum of weights of the result's voxels (z, y, 0..x-1), in double; for PZ_SUM_HALF the sum is rounded after
 * each addition. */
void pz_blend_inverse(pz_sum kind, const pz_grid *grid, const float *weights, int64_t z, int64_t y,
                      double *inverse);

/* A row of sums to the result. `stride`: elements of `sum` from channel to channel. The sums are left zero. */
typedef struct pz_blend_row {
  void *sum;
  pz_sum kind;
  const double *inverse;
  int64_t n, channels, stride;
  void *out; /* channel c to out + c * out_stride elements */
  int64_t out_stride;
  float *best; /* n floats, for the argmax and the softmax */
  float threshold;
} pz_blend_row;
void pz_blend_store(pz_store store, const pz_blend_row *row);

/* Sums in half precision to values, rounded to half precision. */
void pz_blend_round_half(float *restrict sum, const double *restrict inverse, int64_t n);

/* What is told of the values of a row before they are stored. */
typedef struct pz_blend_tally {
  int64_t not_finite, first; /* how many; channel * n + x of the first one, -1 when there is none */
  int64_t clipped;           /* finite, and beyond what the type that is stored holds, after rounding */
} pz_blend_tally;
void pz_blend_count_not_finite(const pz_blend_row *row, pz_blend_tally *tally);
void pz_blend_count_clipped(pz_store store, const pz_blend_row *row, pz_blend_tally *tally);

/* Applies a function to the blended values of the row, in place: afterwards its sums are the values and `inverse`, which is
 * row->inverse, is 1. The row's kind may change. The function is evaluated in double, with an error below 1e-15 of it. */
void pz_blend_apply(pz_apply apply, pz_blend_row *row, double *inverse);

#endif
