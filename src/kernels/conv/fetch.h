/* fetch.h: the input of the next row of outputs is fetched into level 2 while this one is summed; not for the phases of a
 * deconvolution whose kernel is its stride, whose inputs pz_conv_fetch_ahead fetches (conv_direct/direct.h, doc/notes/2026-11-28-convolutions.md). */
#ifndef PZ_KERNELS_CONV_FETCH_H
#define PZ_KERNELS_CONV_FETCH_H

#include "kernels/conv/shape.h"

/* x: a tile's first input at tap (d, h). The rows of plane d that a tile of the next rows is the first to read lie behind those of
 * the kernel; of their part that the tile under this one reads, each of the kh taps fetches its share. */
PZ_INLINE void pz_conv_fetch(const pz_conv_direct_shape *s, int32_t rw, int32_t h, const float *x) {
  const int32_t line = 64 / sizeof(float), floats = (int32_t)(rw * s->stride[2] * s->in.stride_w);
  const int32_t share = ((floats + line - 1) / line + s->kernel[1] - 1) / s->kernel[1] * line;
  if (s->in.block == 1 || s->out.h == s->rh || (pz_conv_taps(s) == 1 && s->phases > 1)) return;
  x += ((s->kernel[1] - 1 - h) * s->dilation[1] + 1) * s->in.stride_h + h * share;
  PZ_UNROLL for (int32_t row = 0; row < s->rh * s->stride[1]; ++row)
      PZ_UNROLL for (int32_t i = 0; i < share; i += line)
          __builtin_prefetch(x + row * s->in.stride_h + i, 0, 2);
}

#endif
