/* pack.h: what the compiler half does for bf16x3.h: weights as it multiplies them, and strips. Plain C. */
#ifndef PZ_KERNELS_CONV_BF16X3_PACK_H
#define PZ_KERNELS_CONV_BF16X3_PACK_H

#include "kernels/conv_bf16x2/pack.h"
#include "kernels/conv_bf16x3/shape.h"

/* Fills rows: strips for many workers, of which little is put into columns again. */
static inline void pz_bf16x3_schedule(pz_conv_bf16x3_shape *s) {
  const pz_conv_direct_shape *c = &s->conv;
  int32_t strips = 1;
  while (c->out.n * c->out.d * pz_bf16x3_groups(s) * strips < PZ_BF16X2_UNITS &&
         c->out.h >= 2 * strips * 4 * c->kernel[1])
    strips *= 2;
  s->rows = (c->out.h + strips - 1) / strips;
}

/* Term `term` of x: the bfloat16 number nearest to what those before it leave. */
static inline uint16_t pz_bf16x3_of(float x, int32_t term) {
  for (int32_t i = 0; i < term; ++i) x -= pz_bf16x2_nearest(x);
  return pz_bf16x2_of(x, 0);
}

/* Of channel out k and what is at `value` of a position's columns. weights: [K, C, kd, kh, kw]. */
static inline float pz_bf16x3_weight(const pz_conv_bf16x3_shape *s, const float *weights, int32_t k,
                                     int32_t value) {
  const int32_t values = pz_bf16x3_values(s), kw = s->conv.kernel[2];
  if (k >= s->conv.out.c || value >= values * kw) return 0;
  return weights[((int64_t)k * values + value % values) * kw + value / values];
}

/* packed: pz_bf16x3_weight_pairs(s). */
static inline void pz_bf16x3_pack(const pz_conv_bf16x3_shape *s, const float *weights, pz_bf16_pair *packed) {
  const int32_t blocks = pz_conv_outer_blocks(&s->conv), pairs = pz_bf16x3_pairs(s);
  for (int32_t first = 0; first < blocks; first += pz_bf16x3_blocks(s))
    for (int32_t step = 0; step < pz_bf16x3_steps(s); ++step)
      for (int32_t term = s->terms - 1; term >= 0; --term)
        for (int32_t b = first; b < blocks && b < first + pz_bf16x3_blocks(s); ++b)
          for (int32_t row = 0; row < pairs; ++row)
            for (int32_t lane = 0; lane < PZ_BF16X3_TILE; ++lane, ++packed) {
              for (int32_t i = 0; i < 2; ++i)
                packed->of[i] = pz_bf16x3_of(
                    pz_bf16x3_weight(s, weights, b * PZ_BF16X3_TILE + lane, 2 * (step * pairs + row) + i),
                    term);
            }
}

#endif
