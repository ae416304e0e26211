/* pack_terms.h: what the compiler half does for terms.h: weights as it multiplies them, and strips. Plain C. */
#ifndef PZ_KERNELS_CONV_PACK_TERMS_H
#define PZ_KERNELS_CONV_PACK_TERMS_H

#include "kernels/conv/pack_halves.h"
#include "kernels/conv/terms_shape.h"

/* Fills rows: strips for many workers, of which little is put into columns again. */
static inline void pz_terms_schedule(pz_conv_terms_shape *s) {
  const pz_conv_direct_shape *c = &s->conv;
  int32_t strips = 1;
  while (c->out.n * c->out.d * pz_terms_groups(s) * strips < PZ_HALVES_UNITS &&
         c->out.h >= 2 * strips * 4 * c->kernel[1])
    strips *= 2;
  s->rows = (c->out.h + strips - 1) / strips;
}

/* Term `term` of x: the bfloat16 number nearest to what those before it leave. */
static inline uint16_t pz_terms_of(float x, int32_t term) {
  for (int32_t i = 0; i < term; ++i) x -= pz_halves_nearest(x);
  return pz_halves_of(x, 0);
}

/* Of map out k and what is at `value` of a position's columns. weights: [K, C, kd, kh, kw]. */
static inline float pz_terms_weight(const pz_conv_terms_shape *s, const float *weights, int32_t k,
                                    int32_t value) {
  const int32_t values = pz_terms_values(s), kw = s->conv.kernel[2];
  if (k >= s->conv.out.c || value >= values * kw) return 0;
  return weights[((int64_t)k * values + value % values) * kw + value / values];
}

/* packed: pz_terms_weight_pairs(s). */
static inline void pz_terms_pack(const pz_conv_terms_shape *s, const float *weights, pz_bf16_pair *packed) {
  const int32_t blocks = pz_conv_outer_blocks(&s->conv), pairs = pz_terms_pairs(s);
  for (int32_t first = 0; first < blocks; first += pz_terms_blocks(s))
    for (int32_t step = 0; step < pz_terms_steps(s); ++step)
      for (int32_t term = s->terms - 1; term >= 0; --term)
        for (int32_t b = first; b < blocks && b < first + pz_terms_blocks(s); ++b)
          for (int32_t row = 0; row < pairs; ++row)
            for (int32_t lane = 0; lane < PZ_TERMS_TILE; ++lane, ++packed) {
              for (int32_t i = 0; i < 2; ++i)
                packed->of[i] = pz_terms_of(
                    pz_terms_weight(s, weights, b * PZ_TERMS_TILE + lane, 2 * (step * pairs + row) + i),
                    term);
            }
}

#endif
