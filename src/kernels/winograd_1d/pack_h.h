/* pack_h.h: what the compiler half does for winograd_1d_h.h: weights, transformed along the height, and the schedule. Plain C. */
#ifndef PZ_KERNELS_WINOGRAD_1D_PACK_H_H
#define PZ_KERNELS_WINOGRAD_1D_PACK_H_H

#include "kernels/winograd/points.h"
#include "kernels/winograd_1d/shape_h.h"

/* Columns of a strip at most: enough sums for the multiply-adds' latency; with more, transformed inputs, products and weights leave level 1
 * (doc/notes/2026-11-28-winograd.md). */
#define PZ_WINOGRAD_COLUMNS_MOST 12

/* Fills rw: strips of one size. */
static inline void pz_winograd_1d_h_schedule(pz_winograd_1d_h_shape *s) {
  const int32_t columns = pz_winograd_1d_h_count(s),
                strips = (columns + PZ_WINOGRAD_COLUMNS_MOST - 1) / PZ_WINOGRAD_COLUMNS_MOST;
  s->rw = (columns + strips - 1) / strips;
}

/* weights [K, C, 1, kh, kw]; packed: pz_winograd_1d_h_weight_floats, zeroed. */
static inline void pz_winograd_1d_h_pack(const pz_winograd_1d_h_shape *s, const float *weights,
                                         float *packed) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t kh = c->kernel[1], kw = c->kernel[2];
  for (int32_t p = 0; p < pz_winograd_1d_h_a(s); ++p) {
    pz_rational g[PZ_WINOGRAD_MOST_R];
    pz_winograd_weight_row(s->m, kh, p, g);
    for (int32_t i = 0; i < c->in.c; ++i, packed += c->in.block)
      for (int32_t k = 0; k < c->out.c; ++k)
        for (int32_t w = 0; w < kw; ++w) {
          double sum = 0;
          for (int32_t h = 0; h < kh; ++h)
            sum += pz_rational_value(g[h]) * (double)weights[(((int64_t)k * c->in.c + i) * kh + h) * kw + w];
          packed[(kw - 1 - w) * c->out.c + k] = (float)sum;
        }
  }
}

#endif
