/* pack.h: weights and schedule of depthwise.h. Plain C, run by the compiler half.
 * Packed: [block][kd][kh][kw][S lanes of channels]. */
#ifndef PZ_KERNELS_CONV_DEPTHWISE_PACK_H
#define PZ_KERNELS_CONV_DEPTHWISE_PACK_H

#include "kernels/conv/shape.h"

typedef pz_conv_direct_shape pz_conv_depthwise_shape;

static inline int64_t pz_conv_depthwise_weight_floats(const pz_conv_depthwise_shape *s) {
  return (int64_t)pz_conv_in_blocks(s) * s->in.block * pz_conv_taps(s);
}

/* weights: [C, 1, kd, kh, kw]; packed: pz_conv_depthwise_weight_floats(s), aligned to 64 bytes for the kernel. */
static inline void pz_conv_depthwise_pack(const pz_conv_depthwise_shape *s, const float *weights,
                                          float *packed) {
  int32_t taps = pz_conv_taps(s), lanes = s->in.block;
  for (int32_t b = 0; b < pz_conv_in_blocks(s); ++b)
    for (int32_t tap = 0; tap < taps; ++tap)
      for (int32_t c = b * lanes; c < (b + 1) * lanes; ++c)
        *packed++ = c < s->in.c ? weights[(int64_t)c * taps + tap] : 0.0f;
}

static inline void pz_conv_depthwise_schedule(pz_conv_depthwise_shape *s, int32_t registers) {
  s->kb = s->rh = s->c_chunk = 1;
  s->rw = pz_conv_split_of(s->out.w, registers - 4 < 16 ? registers - 4 : 16).size;
}

#endif
