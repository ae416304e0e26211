/* pack_narrow.h: what the compiler half does for bf16x2_narrow.h: weights as it multiplies them, and strips. Plain C. */
#ifndef PZ_KERNELS_CONV_BF16X2_PACK_NARROW_H
#define PZ_KERNELS_CONV_BF16X2_PACK_NARROW_H

#include "kernels/conv_bf16x2/pack.h"
#include "kernels/conv_bf16x2/shape_narrow.h"

/* Fills rows: strips for many workers, of which little is split again. */
static inline void pz_bf16x2_narrow_schedule(pz_conv_bf16x2_narrow_shape *s) {
  const pz_conv_direct_shape *c = &s->conv;
  int32_t strips = 1;
  while (c->out.n * c->out.d * strips < PZ_BF16X2_UNITS && c->out.h >= 2 * strips * 4 * c->kernel[1])
    strips *= 2;
  s->rows = (c->out.h + strips - 1) / strips;
}

/* Of channel in `i` at row `h` of taps, in column `lane` of a tile. */
static inline float pz_bf16x2_narrow_weight(const pz_conv_direct_shape *c, const float *weights, int32_t i,
                                            int32_t h, int32_t lane) {
  const int32_t k = lane % c->out.c, w = c->kernel[2] - 1 - lane / c->out.c;
  if (i >= c->in.c || w < 0) return 0;
  return weights[(((int64_t)k * c->in.c + i) * c->kernel[1] + h) * c->kernel[2] + w];
}

/* weights: [K, C, 1, kh, kw]. packed: pz_bf16x2_narrow_weight_pairs(s). */
static inline void pz_bf16x2_narrow_pack(const pz_conv_bf16x2_narrow_shape *s, const float *weights,
                                         pz_bf16_pair *packed) {
  const int32_t blocks = pz_bf16x2_narrow_blocks(s);
  for (int32_t h = 0; h < s->conv.kernel[1]; ++h)
    for (int32_t b = 0; b < blocks; b += 2)
      for (int32_t half = 0; half < 2; ++half)
        for (int32_t row = 0; row < pz_bf16x2_narrow_weight_rows(s); ++row)
          for (int32_t lane = 0; lane < 16; ++lane, ++packed) {
            const int32_t twice = b + 1 == blocks;
            for (int32_t i = 0; i < 2; ++i) {
              const int32_t channel = 16 * b + (twice ? row : 2 * row + i);
              packed->of[i] = pz_bf16x2_of(pz_bf16x2_narrow_weight(&s->conv, weights, channel, h, lane),
                                           twice ? half : !half);
            }
          }
}

#endif
