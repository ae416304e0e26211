/* power.h: out = (shift + scale*x)^power.
 *
 * Layouts: `in` and `out` NCHWc, same sizes, any strides; out may be in (same pointer and strides). Reads and writes
 * the inside; padding lanes of `out` become zero. Unit of work: a row. Powers 1, 2, 3, 1/2 (square root: NaN below zero)
 * and -1 are single instructions; any other is pz_v_pow (kernels/pointwise/pow.h), which says its formula. Relative
 * error at most 1e-7 beyond that of the float sum shift + scale*x. */
#ifndef PZ_KERNELS_POINTWISE_POWER_H
#define PZ_KERNELS_POINTWISE_POWER_H

#include "kernels/pointwise/pow.h"
#include "kernels/rows.h"

#define PZ_POWER_FIELDS(ONE, MANY)                                                                           \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(float, power)                                                                                          \
  ONE(float, scale)                                                                                          \
  ONE(float, shift)
typedef struct pz_power_shape {
  PZ_POWER_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_power_shape;

PZ_INLINE pz_v pz_power_of(pz_v x, float power) {
  if (power == 1.0f) return x;
  if (power == 2.0f) return x * x;
  if (power == 3.0f) return x * x * x;
  if (power == 0.5f) return pz_v_sqrt(x);
  if (power == -1.0f) return 1.0f / x;
  return pz_v_pow(x, power);
}

PZ_INLINE void pz_power(const pz_power_shape s, const float *in, float *out, int32_t worker,
                        int32_t workers) {
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    const float *from = in + pz_row_offset(&s.in, row);
    float *to = out + pz_row_offset(&s.out, row);
    int32_t channels = pz_block_channels(&s.out, row.b);
    for (int32_t w = 0; w < s.out.w; ++w) {
      pz_v x = pz_v_fma(pz_v_load(from + w * s.in.stride_w), pz_v_set1(s.scale), pz_v_set1(s.shift));
      pz_v_store(to + w * s.out.stride_w, pz_v_first(pz_power_of(x, s.power), channels));
    }
  }
}

#endif
