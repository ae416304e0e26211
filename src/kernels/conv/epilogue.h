/* epilogue.h: what the NCHWc convolutions do with a finished sum. */
#ifndef PZ_KERNELS_CONV_EPILOGUE_H
#define PZ_KERNELS_CONV_EPILOGUE_H

#include "kernels/activation.h"
#include "kernels/conv/shape.h"
#include "kernels/point.h"

/* The activation; padding lanes of channel block `block` stay zero where it would make something else of them. */
PZ_INLINE pz_v pz_conv_finish(const pz_conv_direct_shape *s, int32_t block, pz_v slope, pz_v x) {
  pz_v y = pz_activate(s->act, s->alpha, s->beta, slope, x);
  return s->out.c % PZ_S == 0 || pz_k_act_zero_at_zero(s->act) ? y : pz_v_first(y, s->out.c - block * PZ_S);
}

/* What is done with a sum of products, and where results go, and the largest of their windows, where the kernel pools. */
typedef struct pz_conv_epilogue {
  const float *bias, *residual, *residual_scale, *slope;
  float *out, *pooled;
} pz_conv_epilogue;

/* Base, activation; out, residual: offsets of the point in channel block `block`. Returns what it stores. */
PZ_INLINE pz_v pz_conv_store_biased(const pz_conv_direct_shape *s, const pz_conv_epilogue *e, int32_t block,
                                    int64_t out, int64_t residual, pz_v x) {
  const int32_t channel = block * PZ_S;
  if (s->residual.c) {
    pz_v from = pz_point_load(&s->residual, block, e->residual + residual);
    x = s->has_residual_scale ? pz_v_fma(from, pz_v_load(e->residual_scale + channel), x) : x + from;
  }
  pz_v slope = s->act == PZ_K_ACT_PRELU ? pz_v_load(e->slope + channel) : pz_v_zero();
  x = pz_conv_finish(s, block, slope, x);
  if (s->stream) pz_v_stream(e->out + out, x);
  else pz_point_store(&s->out, block, e->out + out, x);
  return x;
}

/* And bias before them. */
PZ_INLINE pz_v pz_conv_store_sum(const pz_conv_direct_shape *s, const pz_conv_epilogue *e, int32_t block,
                                 int64_t out, int64_t residual, pz_v x) {
  if (s->has_bias) x = x + pz_v_load(e->bias + block * PZ_S);
  return pz_conv_store_biased(s, e, block, out, residual, x);
}

/* Of a sum that is to be multiplied by `factor` first. */
PZ_INLINE pz_v pz_conv_store_scaled(const pz_conv_direct_shape *s, const pz_conv_epilogue *e, int32_t block,
                                    int64_t out, int64_t residual, pz_v factor, pz_v x) {
  x = s->has_bias ? pz_v_fma(x, factor, pz_v_load(e->bias + block * PZ_S)) : x * factor;
  return pz_conv_store_biased(s, e, block, out, residual, x);
}

#endif
