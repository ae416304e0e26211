/* pack.h: what the compiler half does for conv_inner_pairs.h. Plain C. */
#ifndef PZ_KERNELS_CONV_INNER_PAIRS_PACK_H
#define PZ_KERNELS_CONV_INNER_PAIRS_PACK_H

#include "kernels/conv_inner_pairs/shape.h"
#include "kernels/winograd/pack.h"

/* Fills kb and rw; the rest is set. */
static inline void pz_conv_inner_pairs_schedule(pz_conv_inner_pairs_shape *s, int32_t registers) {
  const int32_t blocks = pz_conv_outer_blocks(&s->conv),
                kb = blocks < PZ_WINOGRAD_MOST_KB ? blocks : PZ_WINOGRAD_MOST_KB,
                most = PZ_WINOGRAD_MOST_POINTS / PZ_WINOGRAD_STRIP,
                rw = pz_winograd_tiles_of_inner_pairs(registers, kb, s->held);
  s->conv.kb = pz_conv_split_of(blocks, kb).size;
  s->conv.rw = rw < 1 ? 1 : rw < most ? rw : most;
  s->conv.rh = 1, s->conv.c_chunk = pz_conv_in_blocks(&s->conv);
}

/* weights [phases, K, C]; packed: pz_conv_direct_weight_floats, taken: pz_conv_inner_pairs_taken_floats. */
static inline void pz_conv_inner_pairs_pack(const pz_conv_inner_pairs_shape *s, const float *weights,
                                            float *packed, float *taken) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t block = c->out.block;
  const double factor = pz_winograd_balancing(weights, (int64_t)c->phases * c->out.c * c->in.c, 0);
  pz_conv_direct_pack(c, weights, packed);
  for (int64_t i = 0; i < pz_conv_direct_weight_floats(c); ++i) packed[i] *= (float)factor;
  for (int32_t i = 0; i < block; ++i) *taken++ = (float)(1 / factor);
  for (int32_t j = 0; j < pz_conv_outer_blocks(c); ++j)
    for (int32_t lane = 0; lane < block; ++lane) {
      double sum = 0;
      for (int32_t b = 0; b < c->in.c; b += block) {
        const int32_t pairs = PZ_WINOGRAD_INNER_PAIRS_OF(c->in.c - b < block ? c->in.c - b : block);
        for (int32_t i = b; i < b + pairs; ++i)
          sum -= factor * (double)pz_conv_weight_at(c, weights, j, lane, i, 0) * factor *
                 (double)pz_conv_weight_at(c, weights, j, lane, i + pairs, 0);
      }
      *taken++ = (float)sum;
    }
}

#endif
