/* nd.h: functions of one value, powers and element-wise functions of tensors in the NCHW layout, of any rank.
 *
 * pz_activation_nd, pz_power_nd: `count` values side by side, at any address; out may be in. Unit of work:
 * PZ_PLAIN_UNIT values. PReLU is none of them.
 * pz_eltwise_nd: out is dense with `n` dimensions size[0 .. n-1]; input i has stride[i][k] along dimension k, 0 where its
 * values are repeated, and 0 or 1 along the last. out may be an input of the same strides, and overlaps inputs in no other way. Any
 * address. Unit of work: a row of the last dimension.
 * Formulas and errors: kernels/activation.h, power.h, eltwise.h. */
#ifndef PZ_KERNELS_POINTWISE_ND_H
#define PZ_KERNELS_POINTWISE_ND_H

#include "kernels/activation.h"
#include "kernels/copy/transpose.h"
#include "kernels/pointwise/eltwise.h"
#include "kernels/pointwise/power.h"

enum { PZ_PLAIN_UNIT = 1024, PZ_ND_RANK = 8 };

#define PZ_ACTIVATION_ND_FIELDS(ONE, MANY)                                                                   \
  ONE(long, count)                                                                                           \
  ONE(int, kind) /* pz_k_act */                                                                              \
  ONE(float, alpha)                                                                                          \
  ONE(float, beta)
typedef struct pz_activation_nd_shape {
  PZ_ACTIVATION_ND_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_activation_nd_shape;

#define PZ_POWER_ND_FIELDS(ONE, MANY)                                                                        \
  ONE(long, count)                                                                                           \
  ONE(float, power)                                                                                          \
  ONE(float, scale)                                                                                          \
  ONE(float, shift)
typedef struct pz_power_nd_shape {
  PZ_POWER_ND_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_power_nd_shape;

typedef int64_t pz_nd_axes[PZ_ND_RANK];
#define PZ_FIELD_axes pz_nd_axes

#define PZ_ELTWISE_ND_FIELDS(ONE, MANY)                                                                      \
  ONE(int, n)                                                                                                \
  ONE(axes, size)                                                                                            \
  MANY(axes, stride, PZ_ELTWISE_INPUTS)                                                                      \
  MANY(float, coeff, PZ_ELTWISE_INPUTS) /* SUM alone */                                                      \
  ONE(int, inputs)                                                                                           \
  ONE(int, kind)
typedef struct pz_eltwise_nd_shape {
  PZ_ELTWISE_ND_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_eltwise_nd_shape;

/* The first min(rest, S) floats. */
PZ_INLINE pz_v pz_nd_load(const float *p, int64_t rest) {
  return rest >= PZ_S ? pz_v_loadu(p) : pz_load_some(p, (int32_t)rest);
}
PZ_INLINE void pz_nd_store(float *p, pz_v x, int64_t rest) {
  if (rest >= PZ_S) pz_v_storeu(p, x);
  else pz_store_some(p, x, (int32_t)rest);
}

/* This worker's values begin .. end, whole units. */
PZ_INLINE void pz_nd_share(int64_t count, int32_t worker, int32_t workers, int64_t *begin, int64_t *end) {
  pz_share((count + PZ_PLAIN_UNIT - 1) / PZ_PLAIN_UNIT, worker, workers, begin, end);
  *begin *= PZ_PLAIN_UNIT, *end = *end * PZ_PLAIN_UNIT < count ? *end * PZ_PLAIN_UNIT : count;
}

PZ_INLINE void pz_activation_nd(const pz_activation_nd_shape s, const float *in, float *out, int32_t worker,
                                int32_t workers) {
  int64_t begin, end;
  pz_nd_share(s.count, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; i += PZ_S) {
    pz_v x = pz_nd_load(in + i, end - i);
    pz_nd_store(out + i, pz_activate(s.kind, s.alpha, s.beta, pz_v_zero(), x), end - i);
  }
}

PZ_INLINE void pz_power_nd(const pz_power_nd_shape s, const float *in, float *out, int32_t worker,
                           int32_t workers) {
  int64_t begin, end;
  pz_nd_share(s.count, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; i += PZ_S) {
    pz_v x = pz_v_fma(pz_nd_load(in + i, end - i), pz_v_set1(s.scale), pz_v_set1(s.shift));
    pz_nd_store(out + i, pz_power_of(x, s.power), end - i);
  }
}

PZ_INLINE pz_v pz_eltwise_nd_load(const pz_eltwise_nd_shape *s, int32_t input, const float *row, int64_t i) {
  if (s->stride[input][s->n - 1] == 0) return pz_v_set1(*row);
  return pz_nd_load(row + i, s->size[s->n - 1] - i);
}

PZ_INLINE void pz_eltwise_nd_row(const pz_eltwise_nd_shape *s, const float *const *in, float *out) {
  const int64_t count = s->size[s->n - 1];
  for (int64_t i = 0; i < count; i += PZ_S) {
    pz_v a = pz_eltwise_nd_load(s, 0, in[0], i);
    if (s->kind == PZ_ELTWISE_SUM && s->coeff[0] != 1.0f) a *= pz_v_set1(s->coeff[0]);
    if (s->kind == PZ_ELTWISE_SELECT)
      a = pz_eltwise_chosen(a, pz_eltwise_nd_load(s, 1, in[1], i), pz_eltwise_nd_load(s, 2, in[2], i));
    else {
#pragma GCC unroll 8
      for (int32_t k = 1; k < s->inputs; ++k)
        a = pz_eltwise_join(s->kind, s->coeff[k], a, pz_eltwise_nd_load(s, k, in[k], i));
    }
    pz_nd_store(out + i, a, count - i);
  }
}

PZ_INLINE void pz_eltwise_nd(const pz_eltwise_nd_shape s, const float *const *in, float *out, int32_t worker,
                             int32_t workers) {
  int64_t rows = 1, begin, end;
  for (int32_t k = 0; k < s.n - 1; ++k) rows *= s.size[k];
  pz_share(rows, worker, workers, &begin, &end);
  for (int64_t row = begin; row < end; ++row) {
    const float *from[PZ_ELTWISE_INPUTS] = {0};
    for (int32_t i = 0; i < s.inputs; ++i) from[i] = in[i];
    int64_t rest = row;
    for (int32_t k = s.n - 2; k >= 0; rest /= s.size[k--])
      for (int32_t i = 0; i < s.inputs; ++i) from[i] += rest % s.size[k] * s.stride[i][k];
    pz_eltwise_nd_row(&s, from, out + row * s.size[s.n - 1]);
  }
}

#endif
