/* pack_w.h: what the compiler half does for winograd_1d_w.h: weights, transformed along the width, and the schedule. Plain C. */
#ifndef PZ_KERNELS_WINOGRAD_1D_PACK_W_H
#define PZ_KERNELS_WINOGRAD_1D_PACK_W_H

#include "kernels/winograd/points.h"
#include "kernels/winograd_1d/shape_w.h"

/* What the sums of a row's tiles wait for at one position, of one block and tap, in multiply-adds at peak: these, or loads. A vector of
 * weights takes as long as a multiply-add, a broadcast half of that (doc/notes/2026-11-28-winograd.md). Tiles that only fill up count. */
static inline double pz_winograd_1d_w_steps(const pz_winograd_1d_w_shape *s) {
  const double tiles = (pz_winograd_1d_w_tiles(s) + s->rw - 1) / s->rw * s->rw, sums = s->kb * s->rw,
               loads = s->kb + 0.6 * s->rw;
  return tiles * ((loads > sums ? loads : sums) + 0.05 * loads) / sums;
}

/* Fills kb and rw; all else is set. registers: vectors. */
static inline void pz_winograd_1d_w_schedule(pz_winograd_1d_w_shape *s, int32_t registers) {
  const int32_t a = pz_winograd_1d_w_a(s), blocks = pz_conv_outer_blocks(&s->conv);
  pz_winograd_1d_w_shape best = *s, try = *s;
  best.kb = best.rw = 1;
  for (try.kb = 1; try.kb <= blocks; ++try.kb)
    for (try.rw = 1; a * try.kb * try.rw + try.kb + 1 <= registers; ++try.rw)
      if (blocks % try.kb == 0 && pz_winograd_1d_w_steps(&try) < pz_winograd_1d_w_steps(&best)) best = try;
  *s = best;
}

/* weights [K, C, kd, kh, kw]; packed: pz_winograd_1d_w_weight_floats, zeroed. */
static inline void pz_winograd_1d_w_pack(const pz_winograd_1d_w_shape *s, const float *weights,
                                         float *packed) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t a = pz_winograd_1d_w_a(s), r = c->kernel[2], rows = c->in.c * c->kernel[0] * c->kernel[1],
                block = c->out.block;
  for (int32_t p = 0; p < a; ++p) {
    pz_rational g[PZ_WINOGRAD_MOST_R];
    pz_winograd_weight_row(s->m, r, p, g);
    for (int32_t k = 0; k < c->out.c; ++k)
      for (int32_t i = 0; i < rows; ++i) {
        const int32_t b = k / block, group = b / s->kb;
        double sum = 0;
        for (int32_t j = 0; j < r; ++j)
          sum += pz_rational_value(g[j]) * (double)weights[((int64_t)k * rows + i) * r + j];
        packed[((((int64_t)group * rows + i) * a + p) * s->kb + b % s->kb) * block + k % block] = (float)sum;
      }
  }
}

#endif
