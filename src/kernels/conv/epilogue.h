/* epilogue.h: what the blocked convolutions do with a finished sum. */
#ifndef PZ_KERNELS_CONV_EPILOGUE_H
#define PZ_KERNELS_CONV_EPILOGUE_H

#include "kernels/activation.h"
#include "kernels/conv/shape.h"

/* The activation; padding lanes of map block `block` stay zero where it would make something else of them. */
PZ_INLINE pz_v pz_conv_finish(const pz_conv_direct_shape *s, int32_t block, pz_v slope, pz_v x) {
  pz_v y = pz_activate(s->act, s->alpha, s->beta, slope, x);
  return s->out.c % PZ_S == 0 || pz_k_act_zero_at_zero(s->act) ? y : pz_v_first(y, s->out.c - block * PZ_S);
}

#endif
