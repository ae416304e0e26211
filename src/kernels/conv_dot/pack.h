/* pack.h: weights and schedule of dot.h. Plain C, run by the compiler half.
 * Packed: [group of kb out channels][input block][kd][kh][kw][out channel in the group][S lanes of in channels]. */
#ifndef PZ_KERNELS_CONV_DOT_PACK_H
#define PZ_KERNELS_CONV_DOT_PACK_H

#include "kernels/conv/shape.h"

typedef pz_conv_direct_shape pz_conv_dot_shape;

/* kb channels at a time. */
PZ_INLINE pz_conv_split pz_conv_dot_groups(const pz_conv_dot_shape *s) {
  return pz_conv_split_of(s->out.c, s->kb);
}

static inline int64_t pz_conv_dot_weight_floats(const pz_conv_dot_shape *s) {
  return (int64_t)s->out.c * pz_conv_in_blocks(s) * s->in.block * pz_conv_taps(s);
}

/* One group and one input block; returns where the next one goes. */
static inline float *pz_conv_dot_pack_block(const pz_conv_dot_shape *s, const float *weights, int32_t first,
                                            int32_t count, int32_t block, float *to) {
  int32_t taps = pz_conv_taps(s), begin = block * s->in.block;
  for (int32_t tap = 0; tap < taps; ++tap)
    for (int32_t k = first; k < first + count; ++k)
      for (int32_t c = begin; c < begin + s->in.block; ++c)
        *to++ = c < s->in.c ? weights[((int64_t)k * s->in.c + c) * taps + tap] : 0.0f;
  return to;
}

/* weights: [K, C, kd, kh, kw]; packed: pz_conv_dot_weight_floats(s), aligned to 64 bytes for the kernel. */
static inline void pz_conv_dot_pack(const pz_conv_dot_shape *s, const float *weights, float *packed) {
  pz_conv_split groups = pz_conv_dot_groups(s);
  for (int32_t g = 0; g < groups.count; ++g)
    for (int32_t b = 0; b < pz_conv_in_blocks(s); ++b)
      packed = pz_conv_dot_pack_block(s, weights, pz_conv_split_begin(groups, g),
                                      pz_conv_split_size(groups, g), b, packed);
}

/* Points of a tile of kb channels: accumulators, the fewer operands and one more in registers (without fused multiply-add a product
 * needs one too), 24 accumulators at most. gcc 12 needs one to spare. */
static inline int32_t pz_conv_dot_most(const pz_conv_dot_shape *s, int32_t registers) {
  const int32_t spare = s->in.block == 4 ? 3 : 2;
  int32_t points = 1;
  for (int32_t more = 2; more * s->kb <= 24; ++more)
    if (more * s->kb + (more < s->kb ? more : s->kb) + spare <= registers) points = more;
  return points;
}

/* At most 6 channels at a time. */
static inline void pz_conv_dot_schedule(pz_conv_dot_shape *s, int32_t registers) {
  s->kb = pz_conv_split_of(s->out.c, 6).size;
  s->rw = pz_conv_split_of(s->out.w, pz_conv_dot_most(s, registers)).size;
  s->rh = 1, s->c_chunk = pz_conv_in_blocks(s);
}

#endif
