/* ways.h: which ways (kernels/ways.h) a shape of minimal filtering takes: of its own kernels, and of the transforms, which others use too. Plain C: the compiler
 * half includes it too. */
#ifndef PZ_KERNELS_WINOGRAD_WAYS_H
#define PZ_KERNELS_WINOGRAD_WAYS_H

#include "kernels/conv/ways.h"
#include "kernels/winograd/shape.h"

#ifndef PZ_WINOGRAD_WAYS
#define PZ_WINOGRAD_WAYS PZ_ALL_WAYS
#endif

enum {
  PZ_WINOGRAD_WAY_SLICED,
  PZ_WINOGRAD_WAY_SHORT, /* blocks in or out */
  PZ_WINOGRAD_WAY_INNER_PAIRS,
  PZ_WINOGRAD_WAY_ON_USE, /* weights are transformed when they are used, along one axis or two */
  PZ_WINOGRAD_WAY_ON_USE_TOO,
  PZ_WINOGRAD_WAY_FEWER_TILES,  /* are multiplied together at the end of a batch */
  PZ_WINOGRAD_WAY_FEWER_BLOCKS, /* have outer groups behind others */
  PZ_WINOGRAD_WAY_FLAT,         /* the height is not transformed */
  PZ_WINOGRAD_WAY_HIGH,         /* it is */
  PZ_WINOGRAD_WAY_POOLED,
  PZ_WINOGRAD_WAY_STATS,
  PZ_WINOGRAD_WAY_AHEAD,
  PZ_WINOGRAD_WAY_RESIDUAL,
  PZ_WINOGRAD_WAY_NORMED,
  PZ_WINOGRAD_WAY_NCHW_OUT
};

PZ_INLINE int pz_winograd_fewer_tiles(const pz_winograd_shape *s) {
  const pz_conv_split outer = pz_conv_outer_groups(&s->product),
                      tiles = pz_conv_row_tiles(&s->product, outer.size),
                      others = pz_conv_row_tiles(&s->product, outer.size - 1);
  return tiles.large < tiles.count || (outer.large < outer.count && others.large < others.count);
}

PZ_INLINE uint32_t pz_winograd_ways(const pz_winograd_shape *s) {
  const pz_conv_direct_shape *c = &s->conv;
  const pz_conv_split outer = s->product.out.c ? pz_conv_outer_groups(&s->product) : (pz_conv_split){0};
  return PZ_WAY(WINOGRAD, SLICED, s->sliced) |
         PZ_WAY(WINOGRAD, SHORT, pz_winograd_short(s, c->in.c) || pz_winograd_short(s, c->out.c)) |
         PZ_WAY(WINOGRAD, INNER_PAIRS, s->inner_pairs) |
         PZ_WAY(WINOGRAD, ON_USE, pz_winograd_together(s) > 1) |
         PZ_WAY(WINOGRAD, ON_USE_TOO, pz_winograd_on_use_too(s) >= 0) |
         PZ_WAY(WINOGRAD, FEWER_TILES, s->product.out.c && pz_winograd_fewer_tiles(s)) |
         PZ_WAY(WINOGRAD, FEWER_BLOCKS, outer.large < outer.count) | PZ_WAY(WINOGRAD, FLAT, s->m[1] == 1) |
         PZ_WAY(WINOGRAD, HIGH, s->m[1] != 1) | PZ_WAY(WINOGRAD, POOLED, s->pooled.c) |
         PZ_WAY(WINOGRAD, STATS, c->stats_units) | PZ_WAY(WINOGRAD, AHEAD, s->ahead) |
         PZ_WAY(WINOGRAD, RESIDUAL, c->residual.c) | PZ_WAY(WINOGRAD, NORMED, s->normed) |
         PZ_WAY(WINOGRAD, NCHW_OUT, c->out.block == 1);
}

/* Of the products, which are those of the direct convolution. registers: of vectors. */
PZ_INLINE uint32_t pz_winograd_product_ways(const pz_winograd_shape *s, int32_t registers) {
  return s->product.out.c ? pz_conv_ways(&s->product, registers) : 0;
}

/* ---- transforms ---- */

#ifndef PZ_TRANSFORM_WAYS
#define PZ_TRANSFORM_WAYS PZ_ALL_WAYS
#endif

/* Of `a` inputs; of m outputs and r taps. */
#define PZ_TRANSFORM_OF_INPUTS(a) ((a) / 2)
#define PZ_TRANSFORM_OF(m, r)     (6 + ((r) == 5 ? 3 : 0) + (m) / 2)

/* Along an axis; none where nothing is transformed. */
PZ_INLINE uint32_t pz_transform_ways(int32_t m, int32_t r) {
  if (m == 1 || r == 1) return 0;
  return 1u << PZ_TRANSFORM_OF_INPUTS(m + r - 1) | 1u << PZ_TRANSFORM_OF(m, r);
}
PZ_INLINE uint32_t pz_winograd_transform_ways(const pz_winograd_shape *s) {
  return pz_transform_ways(s->m[0], s->conv.kernel[0]) | pz_transform_ways(s->m[1], s->conv.kernel[1]) |
         pz_transform_ways(s->m[2], s->conv.kernel[2]);
}

#define PZ_WINOGRAD_CHECK_WAYS(s)                                                                            \
  PZ_WAYS_CHECK(WINOGRAD, pz_winograd_ways(&(s)));                                                           \
  PZ_WAYS_CHECK(TRANSFORM, pz_winograd_transform_ways(&(s)));                                                \
  PZ_WAYS_CHECK(CONV, pz_winograd_product_ways(&(s), PZ_V_REGISTERS))

#endif
