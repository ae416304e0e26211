/* blend.h: weights of overlapping patches, and the loops that sum, normalise and store.
 *
 * A voxel of the result is the sum of weight * value over the patches that cover it, divided by the sum of their
 * weights. The sum of weights is not stored: it is summed again, in double, for a row at a time.
 *
 *   constant  1.
 *   gaussian  product over axes of exp(-(i - (n-1)/2)^2 / (2 sigma^2)), sigma = n/8, raised to at least 1e-3 (MONAI's
 *             importance map: clamped from below at the greater of its least positive weight and 1e-3; nnU-Net replaces
 *             zeros by the least positive weight, to the same purpose).
 *   bump      exp(sum over axes of -1/(1-t^2)), t = (2i + 1)/n - 1, relative to the greatest weight and raised to at
 *             least 1e-30, so that float keeps it. */
#ifndef PZ_VOLUME_BLEND_H
#define PZ_VOLUME_BLEND_H

#include "base/status.h"
#include "volume/grid.h"

/* weights: [z][y][x] of an output patch. `scratch`: out[0] + out[1] + out[2] doubles. */
void pz_blend_weights(pz_blend blend, const int64_t out[3], double *scratch, float *weights);

/* Whether sums in float stay within 1e-6 of the greatest value; otherwise double is needed. Serial summation of n
 * non-negative terms errs by at most n * 2^-24 relative to the sum, typically by its square root: 27 (two
 * neighbours on each axis and a last patch that was moved) is within 1.6e-6 at worst, 4e-7 in practice. */
static inline bool pz_blend_float_suffices(int64_t coverage) { return coverage <= 27; }

/* sum[i] += weight[i] * value[i] */
void pz_blend_add_f32(float *sum, const float *weight, const float *value, int64_t n);
void pz_blend_add_f64(double *sum, const float *weight, const float *value, int64_t n);

/* One over the sum of weights of the voxels (z, y, 0..x-1), in double. */
void pz_blend_inverse(const pz_grid *grid, const float *weights, int64_t z, int64_t y, double *inverse);

/* A row of sums to the result. `stride`: elements of `sum` from channel to channel. The sums are left zero. */
typedef struct pz_blend_row {
  void *sum;
  bool wide; /* sums are double */
  const double *inverse;
  int64_t n, channels, stride;
  void *out; /* channel c to out + c * out_stride elements */
  int64_t out_stride;
  float *best; /* n floats, for the argmax */
} pz_blend_row;
void pz_blend_store(pz_store store, const pz_blend_row *row);

#endif
