/* narrow.h: what convolutions to few NCHW channels share whose taps along the width are channels of their own: lane (kernel[2] - 1 - tap) * channels + channel
 * of a column's sums is what it gives to a result through that tap. On the way along the width they are added. */
#ifndef PZ_KERNELS_CONV_NARROW_H
#define PZ_KERNELS_CONV_NARROW_H

#include "kernels/activation.h"
#include "kernels/conv/shape.h"
#include "kernels/copy/shift.h"

/* What a column has summed up, where the next one takes it: the lanes of each tap are those of the tap before. */
PZ_INLINE pz_v pz_conv_narrow_pass_on(const pz_conv_direct_shape *c, pz_v x) {
  const pz_v none = pz_v_zero();
  switch (c->out.c) {
  case 1: return PZ_SHIFT(x, none, 1);
  case 2: return PZ_SHIFT(x, none, 2);
  case 3: return PZ_SHIFT(x, none, 3);
  default: return PZ_SHIFT(x, none, 4);
  }
}

/* A row of results, bias and activation to NCHW channels. out: its first one of channel 0. */
PZ_INLINE void pz_conv_narrow_end(const pz_conv_direct_shape *c, const float *results, const float *bias,
                                  const float *slope, float *out) {
  PZ_ROLL for (int32_t w = 0; w < c->out.w; w += PZ_S, results += PZ_S * PZ_CONV_NARROW) {
    const int32_t left = c->out.w - w;
    pz_v y[PZ_CONV_NARROW];
    pz_v_deal_fours(results, y);
    PZ_UNROLL for (int32_t k = 0; k < PZ_CONV_NARROW; ++k) if (k < c->out.c) {
      const pz_v slopes = c->act == PZ_K_ACT_PRELU ? pz_v_broadcast(slope + k) : pz_v_zero();
      if (c->has_bias) y[k] = y[k] + pz_v_broadcast(bias + k);
      y[k] = pz_activate(c->act, c->alpha, c->beta, slopes, y[k]);
      if (left >= PZ_S) pz_v_storeu(out + k * c->out.stride_c + w, y[k]);
      else pz_v_store_lanes(out + k * c->out.stride_c + w, y[k], 0, left);
    }
  }
}

#endif
