/* activation.h: activation functions on vectors (PZnet 3.4); rows and order as in graph/activations.inc, which kernels
 * may not include (a test compares). `kind` and `alpha` are constants, so one branch is left.
 * NaN gives NaN for every kind, as in Caffe and PyTorch. */
#ifndef PZ_KERNELS_ACTIVATION_H
#define PZ_KERNELS_ACTIVATION_H

#include "kernels/vec.h"

/* id, whether f(0) == 0 (else padding lanes must be masked after it) */
#define PZ_K_ACTIVATIONS(ROW) ROW(RELU, 1) ROW(PRELU, 1) ROW(ELU, 1) ROW(SIGMOID, 0) ROW(TANH, 1)

#define PZ_K_ROW(id, zero_at_zero) PZ_K_ACT_##id,
typedef enum pz_k_act { PZ_K_ACT_NONE, PZ_K_ACTIVATIONS(PZ_K_ROW) PZ_K_ACT_COUNT } pz_k_act;
#undef PZ_K_ROW

PZ_INLINE int pz_k_act_zero_at_zero(int kind) {
#define PZ_K_ROW(id, zero_at_zero) (kind == PZ_K_ACT_##id && (zero_at_zero)) ||
  return PZ_K_ACTIVATIONS(PZ_K_ROW) kind == PZ_K_ACT_NONE;
#undef PZ_K_ROW
}

PZ_INLINE pz_v pz_k_leak(pz_v slope, pz_v x) { return pz_v_select_gt(x, pz_v_zero(), x, slope * x); }

/* slope: PReLU's, of the maps in the lanes; not used by other kinds. alpha: ReLU's negative slope, ELU's alpha. */
PZ_INLINE pz_v pz_activate(int kind, float alpha, pz_v slope, pz_v x) {
  switch (kind) {
  case PZ_K_ACT_RELU: return alpha == 0.0f ? pz_v_max(pz_v_zero(), x) : pz_k_leak(pz_v_set1(alpha), x);
  case PZ_K_ACT_PRELU: return pz_k_leak(slope, x);
  case PZ_K_ACT_ELU:
    return pz_v_select_gt(x, pz_v_zero(), x, alpha * pz_v_expm1_negative(pz_v_min(pz_v_zero(), x)));
  case PZ_K_ACT_SIGMOID: return pz_v_sigmoid(x);
  case PZ_K_ACT_TANH: return pz_v_tanh(x);
  default: return x;
  }
}

#endif
