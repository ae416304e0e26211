/* products.h: of minimal filtering, the products of a batch's transformed inputs by the weights of their positions, some tiles and outer
 * blocks at a time, while what comes next is fetched; and the weights that are made as they are used. Contract: winograd.h. */
#ifndef PZ_KERNELS_WINOGRAD_PRODUCTS_H
#define PZ_KERNELS_WINOGRAD_PRODUCTS_H

#include "kernels/conv_direct/direct.h"
#include "kernels/winograd/inner_pairs.h"
#include "kernels/winograd/inputs.h"

/* Channels in that are summed at a time: `whole` blocks, and `rest` channels of the last one; first: nothing is summed yet; last: nothing
 * will be. */
typedef struct pz_winograd_channels {
  int32_t first, last, whole, rest;
} pz_winograd_channels;

/* `blocks` blocks of `channels` channels in, of rw tiles, into kb blocks of channels out. */
PZ_INLINE const float *pz_winograd_sum(const pz_winograd_shape *s, int32_t kb, int32_t rw, int32_t channels,
                                       int32_t blocks, const float *in, const float *weights,
                                       pz_winograd_beside *beside, pz_v *acc) {
  return PZ_MAY(WINOGRAD, INNER_PAIRS) && s->inner_pairs
             ? pz_winograd_sum_inner_pairs(&s->product, s->held, kb, rw, channels, blocks, in, weights,
                                           beside, acc)
             : pz_conv_sum(&s->product, kb, rw, channels, blocks, in, weights, acc);
}

/* tile: the first one's place in the batch. */
PZ_INLINE void pz_winograd_multiply_tile(const pz_winograd_shape *s, int32_t kb, int32_t rw,
                                         const pz_winograd_channels channels, const pz_winograd_taken taken,
                                         int32_t tile, pz_winograd_beside beside, const float *in,
                                         const float *weights, float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const int32_t few = pz_winograd_short(s, g->in.c), rest = g->in.c % PZ_S, spare = pz_winograd_has_spare(s);
  pz_v acc[PZ_CONV_ACCUMULATORS];
  if (PZ_MAY(WINOGRAD, INNER_PAIRS) && channels.first && taken.fresh)
    pz_winograd_take_inputs(s, rw, in, taken.inputs + tile);
  if (PZ_MAY(WINOGRAD, INNER_PAIRS) && channels.first && s->inner_pairs) {
    PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] = pz_v_load(taken.weights + i % kb * PZ_S);
  } else if (channels.first) {
    PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] = pz_v_zero();
  } else {
    PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] =
        pz_v_load(out + i % kb * g->out.stride_c + i / kb * PZ_S);
  }
  if (channels.whole) weights = pz_winograd_sum(s, kb, rw, PZ_S, channels.whole, in, weights, &beside, acc);
  if (PZ_MAY(WINOGRAD, SHORT) && channels.rest && few) {
    pz_conv_direct_shape shared = *g;
    shared.in.stride_w = PZ_WINOGRAD_SHORT;
    pz_conv_sum(&shared, kb, rw, rest, 1,
                in + channels.whole * g->in.stride_c - tile * (PZ_S - PZ_WINOGRAD_SHORT), weights, acc);
  } else if (channels.rest) {
    pz_winograd_sum(s, kb, rw, rest, 1, in + channels.whole * g->in.stride_c, weights, &beside, acc);
  }
  if (PZ_MAY(WINOGRAD, INNER_PAIRS) && channels.last &&
      s->inner_pairs) /* not first: all sums would wait for it */
    PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
      const pz_v inputs = spare ? pz_v_last(acc[r * kb + kb - 1]) : pz_v_zero();
      PZ_UNROLL for (int32_t k = 0; k < kb; ++k) acc[r * kb + k] =
          spare ? acc[r * kb + k] - inputs : pz_v_add_broadcast(taken.inputs + tile + r, acc[r * kb + k]);
    }
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i)
      pz_v_store(out + i % kb * g->out.stride_c + i / kb * PZ_S, acc[i]);
}

/* Tiles whose sums of the short block are made at a time: as many as keep both multiply-add units busy. */
#define PZ_WINOGRAD_SHORT_TILES 8

/* `sums` quarters of vectors of channels in, of n tiles that lie `stride` apart: acc[tile] gets [channel out][channel in of S/4]. */
PZ_INLINE const float *pz_winograd_short_sum(int32_t n, int32_t sums, int32_t stride, const float *in,
                                             const float *weights, pz_v *acc) {
  PZ_ROLL for (int32_t i = 0; i < sums; ++i, in += PZ_WINOGRAD_SHARING, weights += PZ_S) {
    const pz_v w = pz_v_load(weights);
    PZ_UNROLL for (int32_t k = 0; k < n; ++k) acc[k] =
        pz_v_fma(pz_v_repeat(in + k * stride, PZ_WINOGRAD_SHARING), w, acc[k]);
  }
  return weights;
}

/* n tiles from `tile` on by the weights of the short block. in, out: of the batch's first tile. */
PZ_INLINE void pz_winograd_multiply_narrow(const pz_winograd_shape *s, int32_t n,
                                           const pz_winograd_channels channels, int32_t tile, const float *in,
                                           const float *weights, float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const int32_t stride = pz_winograd_short(s, g->in.c) ? PZ_WINOGRAD_SHORT : PZ_S,
                quarters = PZ_S / PZ_WINOGRAD_SHARING;
  pz_v acc[PZ_WINOGRAD_SHORT_TILES];
  PZ_UNROLL for (int32_t k = 0; k < n; ++k) acc[k] = pz_v_zero();
  PZ_ROLL for (int32_t b = 0; b < channels.whole; ++b) weights =
      pz_winograd_short_sum(n, quarters, PZ_S, in + b * g->in.stride_c + tile * PZ_S, weights, acc);
  if (channels.rest)
    pz_winograd_short_sum(n, pz_winograd_blocks(g->in.c % PZ_S, PZ_WINOGRAD_SHARING), stride,
                          in + channels.whole * g->in.stride_c + tile * stride, weights, acc);
  out += tile * PZ_WINOGRAD_SHORT;
  PZ_UNROLL for (int32_t k = 0; k < n; k += PZ_WINOGRAD_SHARING, out += PZ_S) {
    const pz_v sum = pz_v_quarter_sums(acc + k);
    pz_v_store(out, channels.first ? sum : sum + pz_v_load(out));
  }
}

/* All tiles of the batch. (Behind the last one lie others' or none's.) */
PZ_INLINE void pz_winograd_multiply_short(const pz_winograd_shape *s, const pz_winograd_channels channels,
                                          const float *in, const float *weights, float *out) {
  const int32_t tiles = pz_winograd_blocks(s->product.out.w, PZ_WINOGRAD_SHARING) * PZ_WINOGRAD_SHARING;
  int32_t tile = 0;
  PZ_ROLL for (; tile + PZ_WINOGRAD_SHORT_TILES <= tiles; tile += PZ_WINOGRAD_SHORT_TILES)
      pz_winograd_multiply_narrow(s, PZ_WINOGRAD_SHORT_TILES, channels, tile, in, weights, out);
  PZ_ROLL for (; tile < tiles; tile += PZ_WINOGRAD_SHARING)
      pz_winograd_multiply_narrow(s, PZ_WINOGRAD_SHARING, channels, tile, in, weights, out);
}

/* Inputs that the worker's next batch will read, fetched into level 2 while this one is multiplied, when memory would have nothing to do:
 * a row of m2 lines of a tile in a block of channels after the other. in: channel block 0 of all. */
typedef struct pz_winograd_ahead {
  const float *in;
  int64_t tile, end; /* the next tile; behind the last one: nothing is left to fetch where they are equal */
  int32_t block, d, h, first_d;
  const float *at; /* of the tile's first input that the one before has not read */
} pz_winograd_ahead;

PZ_INLINE void pz_winograd_fetch_row(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                     pz_winograd_ahead *a) {
  if (a->tile == a->end) return;
  if (a->block + a->d + a->h == 0) {
    const pz_winograd_tile t = pz_winograd_tile_at(s, a->tile);
    a->d = a->first_d = t.at[0] ? z.a0 - z.m0 : 0;
    a->at = a->in + pz_winograd_origin(s, &t, 0) + (z.a2 - z.m2) * s->conv.in.stride_w;
  }
  const pz_view *v = &s->conv.in;
  const float *row = a->at + a->block * v->stride_c + a->d * v->stride_d + a->h * v->stride_h;
  PZ_UNROLL for (int32_t w = 0; w < z.m2; ++w) __builtin_prefetch(row + w * v->stride_w, 0, 2);
  if (++a->h < z.a1) return;
  a->h = 0;
  if (++a->d < z.a0) return;
  a->d = a->first_d;
  if (++a->block < pz_winograd_blocks(v->c, PZ_S)) return;
  a->block = a->d = 0, ++a->tile;
}

/* Rows of a batch's inputs for each time that some of its tiles are multiplied, `tiles` times at a position by part of its weights. */
PZ_INLINE int32_t pz_winograd_1d_w_ahead(const pz_winograd_shape *s, int32_t tiles) {
  const int32_t groups = pz_conv_outer_groups(&s->product).count,
                times = pz_winograd_points(s) * groups * pz_winograd_parts(s) * tiles,
                blocks = pz_winograd_blocks(s->conv.in.c, PZ_S),
                rows = s->product.out.w * blocks * pz_winograd_a(s, 0) * pz_winograd_a(s, 1);
  return (rows + times - 1) / times;
}

/* Weights that are needed soon, `floats` from `at` on; 0: none are fetched. */
typedef struct pz_winograd_soon {
  const float *at;
  int64_t floats;
} pz_winograd_soon;

/* Weights that are needed soon are fetched beside the steps of pairs (early weights), or as weights are made (on use, along one axis); else so
 * many at once in front of some tiles' products. */
PZ_INLINE int pz_winograd_spreads(const pz_winograd_shape *s) {
  return s->inner_pairs && s->held && pz_winograd_on_use_too(s) < 0;
}

/* `lines` lines beside products of these channels; none where there are no pairs. */
PZ_INLINE pz_winograd_beside pz_winograd_beside_of(const pz_winograd_shape *s,
                                                   const pz_winograd_channels channels, int32_t lines,
                                                   const float *at) {
  const int32_t rest = pz_winograd_short(s, s->conv.in.c) ? 0 : channels.rest,
                pairs = channels.whole * PZ_WINOGRAD_INNER_PAIRS_OF(PZ_S) + PZ_WINOGRAD_INNER_PAIRS_OF(rest),
                singles = channels.whole * PZ_S + rest - 3 * pairs;
  if (pairs == 0) return (pz_winograd_beside){0};
  const int32_t single = lines / (3 * pairs + singles);
  return (pz_winograd_beside){at, pz_winograd_blocks(lines - single * singles, pairs), single};
}

/* All tiles of the batch by the weights of one outer group of kb blocks (0: the short block), some tiles at a time, while others are
 * fetched. (Behind the last ones nothing is fetched that matters.) */
PZ_INLINE void pz_winograd_multiply_group(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t kb,
                                          const pz_winograd_channels channels, const pz_winograd_taken taken,
                                          const pz_winograd_soon soon, pz_winograd_ahead *ahead,
                                          const float *in, const float *weights, float *out) {
  if (PZ_MAY(WINOGRAD, SHORT) && kb == 0) {
    pz_winograd_multiply_short(s, channels, in, weights, out);
    return;
  }
  const pz_conv_split tiles = pz_conv_row_tiles(&s->product, kb);
  const int32_t lines = (int32_t)((soon.floats / PZ_WINOGRAD_LINE + tiles.count - 1) / tiles.count),
                spread = pz_winograd_spreads(s);
  const float *next = soon.at;
  PZ_ROLL for (int32_t i = pz_rolled(0), tile = 0; i < tiles.count; ++i, next += lines * PZ_WINOGRAD_LINE) {
    const int32_t size = i < tiles.large ? tiles.size : tiles.size - 1;
    const pz_winograd_beside beside =
        spread && z.together == 1 ? pz_winograd_beside_of(s, channels, lines, next) : (pz_winograd_beside){0};
    if (!spread)
      PZ_ROLL for (int32_t k = 0; k < lines; ++k) __builtin_prefetch(next + k * PZ_WINOGRAD_LINE, 0, 2);
    if (PZ_MAY(WINOGRAD, AHEAD) && s->ahead)
      PZ_ROLL for (int32_t k = 0; k < pz_winograd_1d_w_ahead(s, tiles.count); ++k)
          pz_winograd_fetch_row(s, z, ahead);
    if (i < tiles.large)
      pz_winograd_multiply_tile(s, kb, tiles.size, channels, taken, tile, beside, in, weights, out);
    else if (PZ_MAY(WINOGRAD, FEWER_TILES))
      pz_winograd_multiply_tile(s, kb, tiles.size - 1, channels, taken, tile, beside, in, weights, out);
    in += size * PZ_S, out += size * PZ_S, tile += size;
  }
}

/* What G along the axis transformed on use makes of `floats` weights in each of its planes, which lie `plane` floats apart, but for its first and
 * last row. soon: how many floats further those lie that are fetched meanwhile; or 0. */
PZ_INLINE void pz_winograd_make(const pz_winograd_sizes z, int64_t floats, int64_t plane, int64_t soon,
                                const float *planes, float *fresh) {
  const float *end = planes + floats;
  PZ_ROLL for (; planes != end; planes += PZ_S, fresh += PZ_S) {
    pz_v g[PZ_WINOGRAD_MOST_R], x[PZ_WINOGRAD_MOST_A];
    if (soon)
      PZ_UNROLL for (int32_t k = 0; k < z.planes; ++k) __builtin_prefetch(planes + k * plane + soon, 0, 2);
    PZ_UNROLL for (int32_t k = 0; k < z.planes; ++k) g[k] = pz_v_load(planes + k * plane);
    pz_winograd_spread(z.on_use_m, z.planes, g, x);
    PZ_UNROLL for (int32_t i = 1; i < z.together - 1; ++i) pz_v_store(fresh + (i - 1) * floats, x[i]);
  }
}

/* Row `row` of G along the height, for weights whose first has the first row's factor already. */
PZ_INLINE void pz_winograd_row_of(const pz_winograd_sizes z, int32_t row, pz_v *g) {
  PZ_UNROLL for (int32_t k = 0; k < z.row_planes; ++k) {
    pz_v unit[PZ_WINOGRAD_MOST_R], x[PZ_WINOGRAD_MOST_A];
    PZ_UNROLL for (int32_t i = 0; i < z.row_planes; ++i) unit[i] = pz_v_set1(i == k);
    pz_winograd_spread(z.m1, z.r1, unit, x);
    x[0] = unit[0], x[z.a1 - 1] = unit[z.row_planes - 1];
    g[k] = x[row];
  }
}

/* The same of all positions of a column, the `row`-th of those that share packed weights, where G is transformed on use along two axes: of each vector
 * of weights in turn all planes. */
PZ_INLINE void pz_winograd_make_column(const pz_winograd_sizes z, int32_t row, int64_t floats,
                                       const float *planes, float *fresh) {
  const float *end = fresh + floats;
  pz_v of_row[PZ_WINOGRAD_MOST_R];
  pz_winograd_row_of(z, row, of_row);
  PZ_ROLL for (; fresh != end; fresh += PZ_S) {
    pz_v g[PZ_WINOGRAD_MOST_R], x[PZ_WINOGRAD_MOST_A];
    PZ_UNROLL for (int32_t i = 0; i < z.planes; ++i) {
      g[i] = pz_v_load(planes) * of_row[0];
      PZ_UNROLL for (int32_t k = 1; k < z.row_planes; ++k) g[i] =
          pz_v_fma(pz_v_load(planes + k * PZ_S), of_row[k], g[i]);
      planes += z.row_planes * PZ_S;
    }
    pz_winograd_spread(z.on_use_m, z.planes, g, x);
    x[0] = g[0], x[z.together - 1] = g[z.planes - 1];
    PZ_UNROLL for (int32_t i = 0; i < z.together; ++i) pz_v_store(fresh + i * floats, x[i]);
  }
}

/* Weights of these channels in an outer group. */
PZ_INLINE int64_t pz_winograd_part_floats(int32_t kb, const pz_winograd_channels channels) {
  const int32_t in = channels.whole * PZ_S + channels.rest;
  return (int64_t)PZ_S * (kb ? kb * in : pz_winograd_blocks(in, PZ_WINOGRAD_SHARING));
}

/* Positions along the axis transformed on use by the weights of an outer group of kb blocks, some blocks of channels in at a time, whose weights
 * that are made stay in level 1. row: the column's, of those that share packed weights; taken: of the first position. */
PZ_INLINE void pz_winograd_multiply_column(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t kb,
                                           int32_t row, const pz_winograd_taken taken,
                                           pz_winograd_ahead *ahead, const float *in, const float *weights,
                                           float *fresh, float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const int32_t part = pz_winograd_part(s), parts = pz_winograd_parts(s), whole = g->in.c / PZ_S,
                columns = pz_winograd_on_use_columns(s);
  const int64_t plane = pz_winograd_group(s, kb), all = pz_winograd_planes(s) * plane,
                times = z.together * parts,
                each = (all / PZ_WINOGRAD_LINE + times * columns - 1) / (times * columns) * PZ_WINOGRAD_LINE;
  pz_winograd_soon soon = {weights + all + row * times * each,
                           s->far || (z.together == 1 && pz_winograd_spreads(s)) ? each : 0};
  PZ_ROLL for (int32_t b = pz_rolled(0); b < g->in.c; b += part * PZ_S) {
    const int32_t first = b / PZ_S, left = whole - first;
    const pz_winograd_channels channels = {first == 0, b + part * PZ_S >= g->in.c, left < part ? left : part,
                                           left < part ? g->in.c % PZ_S : 0};
    const int64_t floats = pz_winograd_part_floats(kb, channels);
    if (PZ_MAY(WINOGRAD, ON_USE_TOO) && z.row_planes > 1)
      pz_winograd_make_column(z, row, floats, weights, fresh);
    else if (PZ_MAY(WINOGRAD, ON_USE) && z.together > 1)
      pz_winograd_make(z, floats, plane, pz_winograd_spreads(s) && s->far ? all : 0, weights, fresh);
    PZ_ROLL for (int32_t i = 0; i < z.together; ++i, soon.at += soon.floats) {
      const float *w = z.row_planes > 1      ? fresh + i * floats
                       : i == 0              ? weights
                       : i == z.together - 1 ? weights + (z.planes - 1) * plane
                                             : fresh + (i - 1) * floats;
      const pz_winograd_taken here = {s->inner_pairs ? taken.inputs + i * pz_winograd_tiles_filled(s) : NULL,
                                      s->inner_pairs ? taken.weights + i * kb * PZ_S : NULL, taken.fresh};
      pz_winograd_multiply_group(s, z, kb, channels, here, soon, ahead,
                                 in + first * g->in.stride_c + i * z.slot, w, out + i * z.slot);
    }
    weights += z.row_planes > 1 ? pz_winograd_planes(s) * floats : floats;
  }
}

/* All outer groups; returns where the weights behind them are. taken: of the first one. */
PZ_INLINE const float *pz_winograd_multiply_columns(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                                    pz_winograd_taken taken, pz_winograd_ahead *ahead,
                                                    const float *in, const float *weights, float *fresh,
                                                    float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const pz_conv_split outer = g->out.c ? pz_conv_outer_groups(g) : (pz_conv_split){0};
  PZ_ROLL for (int32_t i = pz_rolled(0); i < outer.large; ++i, out += outer.size * g->out.stride_c) {
    pz_winograd_multiply_column(s, z, outer.size, 0, taken, ahead, in, weights, fresh, out);
    weights += z.planes * pz_winograd_group(s, outer.size);
    if (s->inner_pairs) taken.weights += outer.size * z.together * PZ_S;
    taken.fresh = 0;
  }
  if (PZ_MAY(WINOGRAD, FEWER_BLOCKS) && outer.large < outer.count) {
    PZ_ROLL for (int32_t i = pz_rolled(outer.large); i < outer.count;
                 ++i, out += (outer.size - 1) * g->out.stride_c) {
      pz_winograd_multiply_column(s, z, outer.size - 1, 0, taken, ahead, in, weights, fresh, out);
      weights += z.planes * pz_winograd_group(s, outer.size - 1);
      if (s->inner_pairs) taken.weights += (outer.size - 1) * z.together * PZ_S;
    }
  }
  if (!PZ_MAY(WINOGRAD, SHORT) || !pz_winograd_short(s, s->conv.out.c)) return weights;
  pz_winograd_multiply_column(s, z, 0, 0, taken, ahead, in, weights, fresh, out);
  return weights + z.planes * pz_winograd_group(s, 0);
}

#endif
