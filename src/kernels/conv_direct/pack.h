/* pack.h: weights as the direct convolution streams them. Plain C, run by the compiler half.
 *
 * Packed: [outer group][input block][kd][kh][kw][channel in the block][outer block in the group][S lanes]; PZnet 2.2 with
 * the groups' blocks side by side, in the order in which a tile reads. Where the input is NCHW its block is one channel.
 * Lanes behind the last out channel, and pairs of channels of different groups, are zero. */
#ifndef PZ_KERNELS_CONV_DIRECT_PACK_H
#define PZ_KERNELS_CONV_DIRECT_PACK_H

#include "kernels/conv/shape.h"

static inline int64_t pz_conv_direct_weight_floats(const pz_conv_direct_shape *s) {
  return pz_conv_weights_before(s, pz_conv_outer_groups(s).count);
}

/* weights [phases, K, C/groups, taps] at (outer block j, lane), input channel c, tap. */
static inline float pz_conv_weight_at(const pz_conv_direct_shape *s, const float *weights, int32_t j,
                                      int32_t lane, int32_t c, int32_t tap) {
  int32_t k = j / s->phases * s->out.block + lane, channels = s->in.c / s->groups;
  if (k >= s->out.c || k / (s->out.c / s->groups) != c / channels) return 0.0f;
  int64_t row = (int64_t)(j % s->phases) * s->out.c + k;
  return weights[(row * channels + c % channels) * pz_conv_taps(s) + tap];
}

/* One outer group (blocks first .. first+count-1) and one input block; returns where the next one goes. */
static inline float *pz_conv_pack_block(const pz_conv_direct_shape *s, const float *weights, int32_t first,
                                        int32_t count, int32_t block, float *to) {
  int32_t begin = block * s->in.block, channels = pz_conv_channels_in(s, block, block + 1);
  for (int32_t tap = 0; tap < pz_conv_taps(s); ++tap)
    for (int32_t c = begin; c < begin + channels; ++c)
      for (int32_t j = first; j < first + count; ++j)
        for (int32_t lane = 0; lane < s->out.block; ++lane)
          *to++ = pz_conv_weight_at(s, weights, j, lane, c, tap);
  return to;
}

/* weights: [K, C/groups, kd, kh, kw], with `phases` of these behind each other. packed:
 * pz_conv_direct_weight_floats(s), which the kernel wants aligned to 64 bytes. */
static inline void pz_conv_direct_pack(const pz_conv_direct_shape *s, const float *weights, float *packed) {
  pz_conv_split outer = pz_conv_outer_groups(s);
  for (int32_t g = 0; g < outer.count; ++g) {
    int32_t first = pz_conv_split_begin(outer, g), count = pz_conv_split_size(outer, g);
    pz_conv_range sees = pz_conv_sees(s, first, count);
    for (int32_t b = sees.begin; b < sees.end; ++b)
      packed = pz_conv_pack_block(s, weights, first, count, b, packed);
  }
}

/* A vector over k channels, padded with zeros to whole blocks of `block`. */
static inline void pz_pack_channels(const float *values, int32_t k, int32_t block, float *packed) {
  for (int32_t i = 0; i < (k + block - 1) / block * block; ++i) packed[i] = i < k ? values[i] : 0.0f;
}

#endif
