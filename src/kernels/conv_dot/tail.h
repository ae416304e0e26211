/* tail.h: the out channels behind the last whole block ("tail") by sums over lanes (dot.h), the whole blocks by conv_direct/direct.h. Plain
 * C, run by the compiler half.
 *
 * A block that holds t of S channels costs in.c multiply-adds of vectors a tap like a whole one; sums over lanes cost t for each
 * block of in channels, 8% more for the shorter tile and 4 for each result's sum at the end. 36 channels in blocks of 16 take 84
 * instead of 108, 28 take 52 instead of 56. */
#ifndef PZ_KERNELS_CONV_DOT_TAIL_H
#define PZ_KERNELS_CONV_DOT_TAIL_H

#include "kernels/conv/shape.h"

#include <stdbool.h>

/* In vector multiply-adds for each point, of `channels` channels of the result. */
static inline double pz_conv_tail_cost(int32_t channels, int32_t channels_in, int32_t block, int32_t taps) {
  return channels * (1.08 * taps * ((channels_in + block - 1) / block) + 4);
}

/* How many channels are to be the tail; 0: none. */
static inline int32_t pz_conv_tail_channels(int32_t channels_out, int32_t channels_in, int32_t block,
                                            int32_t taps) {
  const int32_t channels = channels_out % block;
  return pz_conv_tail_cost(channels, channels_in, block, taps) < 1.04 * taps * channels_in ? channels : 0;
}

/* A convolution's tail as one of its own: offsets in floats from the pointers to the whole one's out, residual and weights
 * [K, C, taps]; bias and the like begin at channel `first`. */
typedef struct pz_conv_tail {
  pz_conv_direct_shape shape;
  int32_t first;
  int64_t out_offset, base_offset, weights_offset;
} pz_conv_tail;

/* Leaves the whole blocks to `s`, which may then have no channels left (out.c = 0). Neither has a schedule. False: there is no
 * tail to cut off. */
static inline bool pz_conv_cut_tail(pz_conv_direct_shape *s, pz_conv_tail *tail) {
  const int32_t channels = pz_conv_tail_channels(s->out.c, s->in.c, s->out.block, pz_conv_taps(s));
  if (!channels || s->groups != 1 || s->phases != 1 || s->in.block == 1) return false;
  const int32_t first = s->out.c - channels, blocks = first / s->out.block;
  *tail = (pz_conv_tail){.shape = *s,
                         .first = first,
                         .out_offset = blocks * s->out.stride_c,
                         .base_offset = blocks * s->residual.stride_c,
                         .weights_offset = (int64_t)first * s->in.c * pz_conv_taps(s)};
  tail->shape.out.c = channels, s->out.c = first;
  if (s->residual.c) tail->shape.residual.c = channels, s->residual.c = first;
  return true;
}

#endif
