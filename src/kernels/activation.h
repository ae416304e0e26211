/* activation.h: functions of one value on vectors (activations, PZnet 3.4); rows and order as in graph/activations.inc, which
 * kernels may not include (a test compares). `kind`, `alpha` and `beta` are constants, so one branch is left.
 *
 * Formulas: pz_activation_kind in graph/graph.h. NaN gives NaN for every kind, as in Caffe and PyTorch. Error relative to the
 * result at most 5e-7 (elementary.h), but relative to |x| + |result| where a formula cancels: GELU, GELU_TANH, HARD_SIGMOID (to
 * |alpha*x| + |beta|) and HARD_SWISH. Results below 1e-36 may be 0. */
#ifndef PZ_KERNELS_ACTIVATION_H
#define PZ_KERNELS_ACTIVATION_H

#include "kernels/elementary.h"

/* id, whether f(0) == 0 whatever the parameters (else padding lanes must be masked after it) */
#define PZ_K_ACTIVATIONS(ROW)                                                                                \
  ROW(RELU, 1)                                                                                               \
  ROW(PRELU, 1)                                                                                              \
  ROW(ELU, 1)                                                                                                \
  ROW(SIGMOID, 0)                                                                                            \
  ROW(TANH, 1)                                                                                               \
  ROW(SELU, 1)                                                                                               \
  ROW(HARD_SIGMOID, 0)                                                                                       \
  ROW(HARD_SWISH, 1)                                                                                         \
  ROW(SILU, 1)                                                                                               \
  ROW(MISH, 1)                                                                                               \
  ROW(SOFTPLUS, 0)                                                                                           \
  ROW(GELU, 1)                                                                                               \
  ROW(GELU_TANH, 1)                                                                                          \
  ROW(CLIP, 0)                                                                                               \
  ROW(ABS, 1)                                                                                                \
  ROW(EXP, 0)                                                                                                \
  ROW(LOG, 0)                                                                                                \
  ROW(SQRT, 1)                                                                                               \
  ROW(ERF, 1)                                                                                                \
  ROW(ROUND, 1)                                                                                              \
  ROW(FLOOR, 1)                                                                                              \
  ROW(CEIL, 1)                                                                                               \
  ROW(SIGN, 1)                                                                                               \
  ROW(RECIPROCAL, 0)                                                                                         \
  ROW(THRESHOLDED_RELU, 1)                                                                                   \
  ROW(SOFTSIGN, 1)

#define PZ_K_ROW(id, zero_at_zero) PZ_K_ACT_##id,
typedef enum pz_k_act { PZ_K_ACT_NONE, PZ_K_ACTIVATIONS(PZ_K_ROW) PZ_K_ACT_COUNT } pz_k_act;
#undef PZ_K_ROW

PZ_INLINE int pz_k_act_zero_at_zero(int kind) {
#define PZ_K_ROW(id, zero_at_zero) (kind == PZ_K_ACT_##id && (zero_at_zero)) ||
  return PZ_K_ACTIVATIONS(PZ_K_ROW) kind == PZ_K_ACT_NONE;
#undef PZ_K_ROW
}

PZ_INLINE pz_v pz_k_leak(pz_v slope, pz_v x) { return pz_v_select_gt(x, pz_v_zero(), x, slope * x); }

/* exp(x) - 1 is never below x, so that for alpha 1 the larger of both is right on both sides of 0, and NaN for NaN: a maximum in place of a
 * comparison, which would take the multiply-adds' unit on some cores (doc/notes/2026-11-28-winograd.md). */
PZ_INLINE pz_v pz_k_elu(float alpha, pz_v x) {
  if (alpha == 1.0f) return pz_v_max(pz_v_expm1_within(pz_v_below_zero(x, 87.5f)), x);
  return pz_v_select_gt(x, pz_v_zero(), x, alpha * pz_v_expm1_negative(x));
}

/* max(low, min(high, x)), NaN for NaN. */
PZ_INLINE pz_v pz_k_clip(float low, float high, pz_v x) {
  return pz_v_min(pz_v_set1(high), pz_v_max(pz_v_set1(low), x));
}

/* x*tanh(log(1 + e^x)): with n = e^x*(e^x + 2) it is x*n/(n + 2), which is x from x = 20 on. */
PZ_INLINE pz_v pz_k_mish(pz_v x) {
  pz_v e = pz_v_exp(pz_v_min(pz_v_set1(20.0f), x)), n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

PZ_INLINE pz_v pz_k_gelu(pz_v x) { return x * 0.5f * (pz_v_erf(x * 0.707106781f) + 1.0f); }

/* x/2*(1 + tanh(z)) = x*sigmoid(2z), z = sqrt(2/pi)*(x + 0.044715 x^3). */
PZ_INLINE pz_v pz_k_gelu_tanh(pz_v x) {
  pz_v two_z = x * pz_v_fma(x * x, pz_v_set1(0.0713548163f), pz_v_set1(1.59576912f));
  return x * pz_v_sigmoid(two_z);
}

/* slope: PReLU's, of the channels in the lanes; not used by other kinds. */
PZ_INLINE pz_v pz_activate(int kind, float alpha, float beta, pz_v slope, pz_v x) {
  const pz_v zero = pz_v_zero(), one = pz_v_set1(1.0f);
  switch (kind) {
  case PZ_K_ACT_RELU: return alpha == 0.0f ? pz_v_max(zero, x) : pz_k_leak(pz_v_set1(alpha), x);
  case PZ_K_ACT_PRELU: return pz_k_leak(slope, x);
  case PZ_K_ACT_ELU: return pz_k_elu(alpha, x);
  case PZ_K_ACT_SIGMOID: return pz_v_sigmoid(x);
  case PZ_K_ACT_TANH: return pz_v_tanh(x);
  case PZ_K_ACT_SELU: return beta * pz_k_elu(alpha, x);
  case PZ_K_ACT_HARD_SIGMOID: return pz_k_clip(0, 1, pz_v_fma(x, pz_v_set1(alpha), pz_v_set1(beta)));
  case PZ_K_ACT_HARD_SWISH: return x * pz_k_clip(0, 1, pz_v_fma(x, pz_v_set1(1.0f / 6), pz_v_set1(0.5f)));
  case PZ_K_ACT_SILU: return x / (pz_v_exp(-x) + 1.0f);
  case PZ_K_ACT_MISH: return pz_k_mish(x);
  case PZ_K_ACT_SOFTPLUS: return pz_v_softplus(x);
  case PZ_K_ACT_GELU: return pz_k_gelu(x);
  case PZ_K_ACT_GELU_TANH: return pz_k_gelu_tanh(x);
  case PZ_K_ACT_CLIP: return pz_k_clip(alpha, beta, x);
  case PZ_K_ACT_ABS: return pz_v_abs(x);
  case PZ_K_ACT_EXP: return pz_v_exp(x);
  case PZ_K_ACT_LOG: return pz_v_log(x);
  case PZ_K_ACT_SQRT: return pz_v_sqrt(x);
  case PZ_K_ACT_ERF: return pz_v_erf(x);
  case PZ_K_ACT_ROUND: return pz_v_round(x);
  case PZ_K_ACT_FLOOR: return pz_v_floor(x);
  case PZ_K_ACT_CEIL: return pz_v_ceil(x);
  case PZ_K_ACT_SIGN: return pz_v_sign(x);
  case PZ_K_ACT_RECIPROCAL: return 1.0f / x;
  case PZ_K_ACT_THRESHOLDED_RELU: return pz_v_select((pz_vi)(pz_v_set1(alpha) >= x), zero, x);
  case PZ_K_ACT_SOFTSIGN: return x / (pz_v_abs(x) + one);
  default: return x;
  }
}

#endif
