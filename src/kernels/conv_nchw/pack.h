/* pack.h: weights and schedule of nchw.h. Plain C, run by the compiler half.
 * Packed: [group of channels out][channel in][kd][kh][kw][channel out in the group]. */
#ifndef PZ_KERNELS_CONV_NCHW_PACK_H
#define PZ_KERNELS_CONV_NCHW_PACK_H

#include "kernels/conv/machine.h"
#include "kernels/conv_nchw/shape.h"

#include <stdbool.h>

static inline int64_t pz_conv_nchw_weight_floats(const pz_conv_nchw_shape *s) {
  return (int64_t)s->conv.out.c * s->conv.in.c * pz_conv_taps(&s->conv);
}

/* weights: [K, C, kd, kh, kw]; packed: pz_conv_nchw_weight_floats(s). */
static inline void pz_conv_nchw_pack(const pz_conv_nchw_shape *s, const float *weights, float *packed) {
  const pz_conv_split groups = pz_conv_nchw_groups(s);
  const int64_t products = (int64_t)s->conv.in.c * pz_conv_taps(&s->conv);
  for (int32_t g = 0; g < groups.count; ++g) {
    const int32_t first = pz_conv_split_begin(groups, g), count = pz_conv_split_size(groups, g);
    for (int64_t i = 0; i < products; ++i)
      for (int32_t k = first; k < first + count; ++k) *packed++ = weights[k * products + i];
  }
}

/* Cycles of a step of a tile, one tap of one channel in: two multiply-adds and two loads each, and 5 of latency; 9 and one where a
 * multiply-add is two instructions (conv_direct/schedule.h). */
static inline double pz_conv_nchw_step(int32_t kb, int32_t rw, int32_t lanes) {
  const double fma = kb * rw * (lanes > 4 ? 0.5 : 1), loads = (kb + rw) * 0.7, latency = lanes > 4 ? 5 : 9;
  const double most = fma > loads ? fma : loads;
  return most > latency ? most : latency;
}
/* Of the steps of all tiles of a row with this schedule. */
static inline double pz_conv_nchw_row_cycles(const pz_conv_nchw_shape *s) {
  const pz_conv_split groups = pz_conv_nchw_groups(s), tiles = pz_conv_nchw_tiles(s);
  double cycles = 0;
  for (int32_t g = 0; g < 2; ++g)
    for (int32_t t = 0; t < 2; ++t)
      cycles += (double)(g ? groups.count - groups.large : groups.large) *
                (t ? tiles.count - tiles.large : tiles.large) *
                pz_conv_nchw_step(groups.size - g, tiles.size - t, s->lanes);
  return cycles * s->conv.in.c * pz_conv_taps(&s->conv);
}
static inline double pz_conv_nchw_cycles(const pz_conv_nchw_shape *s) {
  return pz_conv_nchw_row_cycles(s) * s->conv.out.n * s->conv.out.d * s->conv.out.h;
}

/* Whether a tile's sums, the fewer of its operands and one of the others are held. */
static inline bool pz_conv_nchw_fits(const pz_conv_nchw_shape *s, int32_t registers) {
  const int32_t kb = s->conv.kb, rw = s->conv.rw;
  return kb * rw + (kb < rw ? kb : rw) + (s->lanes > 4 ? 1 : 2) <= registers;
}

/* Fills kb, rw and c_chunk. All other fields are set by the caller. */
static inline void pz_conv_nchw_schedule(pz_conv_nchw_shape *s, const pz_conv_machine *m) {
  pz_conv_nchw_shape try = *s;
  double least = 0;
  for (try.conv.kb = 1; try.conv.kb <= s->conv.out.c && try.conv.kb < m->registers; ++try.conv.kb)
    for (try.conv.rw = 1; try.conv.rw <= pz_conv_nchw_vectors(s) && try.conv.rw < m->registers;
         ++try.conv.rw) {
      if (!pz_conv_nchw_fits(&try, m->registers)) continue;
      const double cycles = pz_conv_nchw_row_cycles(&try);
      if (least > 0 && cycles >= least) continue;
      least = cycles;
      s->conv.kb = pz_conv_nchw_groups(&try).size, s->conv.rw = pz_conv_nchw_tiles(&try).size;
    }
  s->conv.rh = 1;
  const int64_t most = m->l2 / 2 / (int64_t)sizeof(float) / pz_conv_nchw_lines(s);
  s->conv.c_chunk = pz_conv_split_of(s->conv.in.c, most < 1              ? 1
                                                   : most > s->conv.in.c ? s->conv.in.c
                                                                         : (int32_t)most)
                        .size;
}

#endif
