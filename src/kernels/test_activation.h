/* test_activation.h: the functions of activation.h in double precision, for the kernels' tests. */
#ifndef PZ_KERNELS_TEST_ACTIVATION_H
#define PZ_KERNELS_TEST_ACTIVATION_H

#include "kernels/activation.h"
#include "kernels/testing.h"

#include <math.h>

static inline double pz_test_clip(double low, double high, double x) {
  return x < low ? low : x > high ? high : x;
}
static inline double pz_test_elu(double alpha, double x) { return x > 0 ? x : alpha * expm1(x); }
static inline double pz_test_softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }

static inline double pz_test_activate(int kind, double alpha, double beta, double slope, double x) {
  if (isnan(x)) return x;
  switch (kind) {
  case PZ_K_ACT_RELU: return x > 0 ? x : alpha == 0 ? 0 : alpha * x;
  case PZ_K_ACT_PRELU: return x > 0 ? x : slope * x;
  case PZ_K_ACT_ELU: return pz_test_elu(alpha, x);
  case PZ_K_ACT_SIGMOID: return 1 / (1 + exp(-x));
  case PZ_K_ACT_TANH: return tanh(x);
  case PZ_K_ACT_SELU: return beta * pz_test_elu(alpha, x);
  case PZ_K_ACT_HARD_SIGMOID: return pz_test_clip(0, 1, alpha * x + beta);
  case PZ_K_ACT_HARD_SWISH: return x * pz_test_clip(0, 1, x / 6 + 0.5);
  case PZ_K_ACT_SILU: return x / (1 + exp(-x));
  case PZ_K_ACT_MISH: return x * tanh(pz_test_softplus(x));
  case PZ_K_ACT_SOFTPLUS: return pz_test_softplus(x);
  case PZ_K_ACT_GELU: return x / 2 * (1 + erf(x * sqrt(0.5)));
  case PZ_K_ACT_GELU_TANH: return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
  case PZ_K_ACT_CLIP: return pz_test_clip(alpha, beta, x);
  case PZ_K_ACT_ABS: return fabs(x);
  case PZ_K_ACT_EXP: return exp(x);
  case PZ_K_ACT_LOG: return log(x);
  case PZ_K_ACT_SQRT: return sqrt(x);
  case PZ_K_ACT_ERF: return erf(x);
  case PZ_K_ACT_ROUND: return nearbyint(x);
  case PZ_K_ACT_FLOOR: return floor(x);
  case PZ_K_ACT_CEIL: return ceil(x);
  case PZ_K_ACT_SIGN: return x > 0 ? 1 : x < 0 ? -1 : 0;
  case PZ_K_ACT_RECIPROCAL: return 1 / x;
  case PZ_K_ACT_THRESHOLDED_RELU: return x > alpha ? x : 0;
  case PZ_K_ACT_SOFTSIGN: return x / (1 + fabs(x));
  default: return x;
  }
}

/* Kinds whose result moves about as little as their argument: what is computed in another order may go through them and be
 * compared. */
static inline int pz_test_smooth(int kind) {
  return kind <= PZ_K_ACT_ABS || kind == PZ_K_ACT_ERF || kind == PZ_K_ACT_SOFTSIGN;
}

/* One of those that are smooth, and its numbers. */
PZ_TEST_INLINE void pz_test_smooth_activation(pz_test_random *r, int *act, float *alpha, float *beta) {
  do *act = pz_test_int(r, 0, PZ_K_ACT_COUNT - 1);
  while (!pz_test_smooth(*act));
  *alpha = pz_test_float(r, 0, 1), *beta = *alpha + 1;
}

#endif
