/* conv_inner_pairs.h: convolutions of 1x1x1 and deconvolutions whose kernel is their stride, with channels in multiplied in inner pairs.
 *
 * Contract: shape.h; weights and taken packed by pack.h; bias, residual_scale, slope padded with zeros to whole blocks; residual may be
 * the very storage of out. Reads the inside of in, writes the inside of out; padding lanes become zero. scratch:
 * pz_conv_inner_pairs_scratch floats of this worker's own, aligned to the vector. The unit of work is a tile; a point's sums depend on its
 * own inputs alone, so any number of workers gives the same bits. Error: as winograd/inner_pairs.h. */
#ifndef PZ_KERNELS_CONV_INNER_PAIRS_CONV_INNER_PAIRS_H
#define PZ_KERNELS_CONV_INNER_PAIRS_CONV_INNER_PAIRS_H

#include "kernels/conv_direct/direct.h"
#include "kernels/conv_inner_pairs/shape.h"
#include "kernels/winograd/inner_pairs.h"

/* Points of a strip: where their inputs, results and Base begin, of the first block. */
typedef struct pz_winograd_places {
  int32_t count;
  int64_t in[PZ_WINOGRAD_MOST_POINTS], out[PZ_WINOGRAD_MOST_POINTS], residual[PZ_WINOGRAD_MOST_POINTS];
} pz_winograd_places;

/* A strip: its points and those of the next; its inputs (shape.h). */
typedef struct pz_winograd_strip {
  const pz_winograd_places *at, *next;
  float *in, *taken, *back;
} pz_winograd_strip;

PZ_INLINE int64_t pz_winograd_point_at(const pz_view *v, int64_t n, int64_t d, int64_t h, int64_t w) {
  return n * v->stride_n + d * v->stride_d + h * v->stride_h + w * v->stride_w;
}

/* Inputs of one point, scaled: from in to [block][..]. */
PZ_INLINE void pz_conv_inner_pairs_point(const pz_conv_inner_pairs_shape *s, float unscale, const float *in,
                                         float *to, float *back) {
  const int64_t step = (int64_t)pz_conv_inner_pairs_extent(s) * PZ_S;
  const int32_t blocks = pz_conv_in_blocks(&s->conv);
  pz_v squares = pz_v_zero();
  PZ_ROLL for (int32_t b = 0; b < blocks; ++b) {
    const pz_v x = pz_v_load(in + b * s->conv.in.stride_c);
    squares = pz_v_fma(x, x, squares);
  }
  const float mean = pz_v_sum(squares) / (float)s->conv.in.c, scale = pz_winograd_scale_of(mean);
  PZ_ROLL for (int32_t b = 0; b < blocks; ++b)
      pz_v_store(to + b * step, pz_v_load(in + b * s->conv.in.stride_c) * pz_v_set1(scale));
  *back = pz_winograd_back_from(mean, scale, unscale);
}

/* Points first .. end - 1, a strip's at most. */
PZ_INLINE void pz_conv_inner_pairs_places(const pz_conv_inner_pairs_shape *s, int64_t first, int64_t end,
                                          pz_winograd_places *to) {
  const pz_view *v = &s->conv.in;
  const int32_t most = PZ_WINOGRAD_STRIP * s->conv.rw;
  int64_t w = first % v->w, h = first / v->w % v->h, d = first / v->w / v->h % v->d,
          n = first / v->w / v->h / v->d;
  to->count = end - first < most ? (int32_t)(end - first) : most;
  PZ_ROLL for (int32_t i = 0; i < to->count; ++i) {
    to->in[i] = pz_winograd_point_at(v, n, d, h, w);
    to->out[i] = pz_winograd_point_at(&s->conv.out, n, d, h, w);
    to->residual[i] = pz_winograd_point_at(&s->conv.residual, n, d, h, w);
    if (++w < v->w) continue;
    w = 0;
    if (++h < v->h) continue;
    h = 0;
    if (++d == v->d) d = 0, ++n;
  }
}

/* The inputs of a strip. (Behind them lies what was there: no result comes of it.) */
PZ_INLINE void pz_conv_inner_pairs_load(const pz_conv_inner_pairs_shape *s, float unscale, const float *in,
                                        const pz_winograd_strip *strip) {
  const int32_t extent = pz_conv_inner_pairs_extent(s), channels = s->conv.in.c;
  PZ_ROLL for (int32_t i = 0; i < strip->at->count; ++i)
      pz_conv_inner_pairs_point(s, unscale, in + strip->at->in[i], strip->in + i * PZ_S, strip->back + i);
  const pz_conv_direct_shape g = {.in = {.c = channels, .stride_c = extent * PZ_S}};
  PZ_ROLL for (int32_t t = 0; t < extent; t += PZ_S)
      pz_winograd_take_some(&g, channels % PZ_S, PZ_S, PZ_S, strip->in + t * PZ_S, strip->taken + t);
}

/* A group of outer blocks: the first, how many; weights; what is taken away; where its blocks lie, from the first one. */
typedef struct pz_conv_inner_pairs_blocks {
  int32_t outer, count;
  const float *weights, *taken;
  int64_t out[PZ_WINOGRAD_MOST_KB], residual[PZ_WINOGRAD_MOST_KB];
} pz_conv_inner_pairs_blocks;

/* The sum of block k of the group and a point of the strip becomes a result. Padding lanes have rounding errors in place of zeros. */
PZ_INLINE void pz_conv_inner_pairs_end(const pz_conv_inner_pairs_shape *s, const pz_conv_epilogue *e,
                                       const pz_winograd_strip *strip, const pz_conv_inner_pairs_blocks *g,
                                       int32_t k, int32_t point, pz_v sum) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t block = (g->outer + k) / c->phases;
  const pz_v back = pz_v_first(pz_v_broadcast(strip->back + point), c->out.c - block * PZ_S);
  pz_conv_store_scaled(c, e, block, strip->at->out[point] + g->out[k],
                       strip->at->residual[point] + g->residual[k], back, sum);
}

/* The lines that results of points begin .. end - 1 start from. */
PZ_INLINE void pz_conv_inner_pairs_lines(const pz_winograd_places *at, const pz_conv_inner_pairs_blocks *g,
                                         int32_t begin, int32_t end, const float *residual) {
  if (end > at->count) end = at->count;
  PZ_ROLL for (int32_t p = begin; p < end; ++p) PZ_ROLL for (int32_t k = 0; k < g->count; ++k)
      __builtin_prefetch(residual + at->residual[p] + g->residual[k], 0, 3);
}

/* What results of points begin .. end - 1 of group g[0] start from is fetched; points behind the strip are those of the next group, g[1],
 * which is the first one of the next strip behind the last. Half a tile at a time, two tiles early and more: all at once would be as many
 * lines as a core waits for, and inputs would wait behind them. */
PZ_INLINE void pz_conv_inner_pairs_fetch(const pz_conv_inner_pairs_shape *s, const pz_winograd_strip *strip,
                                         const pz_conv_inner_pairs_blocks g[2], int32_t begin, int32_t end,
                                         const pz_conv_epilogue *e) {
  const int32_t count = strip->at->count;
  if (!s->conv.residual.c) return;
  if (begin < count) pz_conv_inner_pairs_lines(strip->at, g, begin, end, e->residual);
  if (end > count)
    pz_conv_inner_pairs_lines(g[1].outer ? strip->at : strip->next, g + 1, begin > count ? begin - count : 0,
                              end - count, e->residual);
}

/* Of the next strip's inputs, what is fetched beside tile `tile` of a group: each has its part. */
PZ_INLINE void pz_conv_inner_pairs_fetch_inputs(const pz_conv_inner_pairs_shape *s,
                                                const pz_winograd_strip *strip, int32_t group, int32_t tile,
                                                const float *in) {
  const int32_t groups = pz_conv_outer_groups(&s->conv).count, each = (s->conv.rw + groups - 1) / groups,
                begin = (group * PZ_WINOGRAD_STRIP + tile) * each, count = strip->next->count,
                end = begin + each < count ? begin + each : count;
  PZ_ROLL for (int32_t p = begin; p < end; ++p)
      PZ_ROLL for (int32_t b = 0; b < pz_conv_in_blocks(&s->conv); ++b)
          __builtin_prefetch(in + strip->next->in[p] + b * s->conv.in.stride_c, 0, 2);
}

/* One tile, from point `point` of the strip on, of kb blocks; all: it is not cut off. */
PZ_INLINE void pz_conv_inner_pairs_tile(const pz_conv_inner_pairs_shape *s, int32_t kb, int all,
                                        const pz_winograd_strip *strip, const pz_conv_inner_pairs_blocks *g,
                                        int32_t point, const pz_conv_epilogue *e) {
  const int32_t rw = s->conv.rw, rest = s->conv.in.c % PZ_S, whole = s->conv.in.c / PZ_S, half = whole / 2,
                points = all ? rw : strip->at->count - point;
  const pz_conv_direct_shape product = {.in = {.stride_c = pz_conv_inner_pairs_extent(s) * PZ_S}};
  const float *in = strip->in + point * PZ_S, *weights = g->weights;
  pz_v acc[PZ_CONV_ACCUMULATORS], sums[PZ_CONV_ACCUMULATORS];
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] =
      pz_v_add_broadcast(strip->taken + point + i / kb, pz_v_load(g->taken + i % kb * PZ_S));
  pz_conv_inner_pairs_fetch(s, strip, g, point + 2 * rw + rw / 2, point + 3 * rw, e);
  if (half)
    weights = pz_winograd_sum_inner_pairs(&product, s->held, kb, rw, PZ_S, half, in, weights, NULL, acc);
  pz_conv_inner_pairs_fetch(s, strip, g, point + 3 * rw, point + 3 * rw + rw / 2, e);
  if (whole)
    weights = pz_winograd_sum_inner_pairs(&product, s->held, kb, rw, PZ_S, whole - half,
                                          in + half * product.in.stride_c, weights, NULL, acc);
  if (rest)
    pz_winograd_sum_inner_pairs(&product, s->held, kb, rw, rest, 1, in + whole * product.in.stride_c, weights,
                                NULL, acc);
  if (all && !pz_conv_epilogue_rolled(&s->conv)) {
    PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i)
        pz_conv_inner_pairs_end(s, e, strip, g, i % kb, point + i / kb, acc[i]);
    return;
  }
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) sums[i] = acc[i];
  const pz_v *sum = sums; /* from memory: see pz_conv_end_points */
  PZ_POINTER_PIN(sum);
  PZ_MEMORY_PIN();
  PZ_ROLL for (int32_t r = 0; r < points; ++r, sum += kb) {
    PZ_POINTER_PIN(sum);
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) pz_conv_inner_pairs_end(s, e, strip, g, k, point + r, sum[k]);
  }
}

/* All tiles of a strip by group `group`, g[0], of kb blocks. */
PZ_INLINE void pz_conv_inner_pairs_group(const pz_conv_inner_pairs_shape *s, int32_t kb, int32_t group,
                                         const pz_winograd_strip *strip,
                                         const pz_conv_inner_pairs_blocks g[2], const float *in,
                                         const pz_conv_epilogue *e) {
  const int32_t count = strip->at->count;
  PZ_ROLL for (int32_t p = 0, tile = 0; p < count; p += s->conv.rw, ++tile) {
    pz_conv_inner_pairs_fetch_inputs(s, strip, group, tile, in);
    if (p + s->conv.rw <= count) pz_conv_inner_pairs_tile(s, kb, 1, strip, g, p, e);
    else pz_conv_inner_pairs_tile(s, kb, 0, strip, g, p, e);
  }
}

/* Group i. */
PZ_INLINE pz_conv_inner_pairs_blocks pz_conv_inner_pairs_blocks_of(const pz_conv_direct_shape *c, int32_t i,
                                                                   const float *weights, const float *taken) {
  const pz_conv_split groups = pz_conv_outer_groups(c);
  const int32_t outer = pz_conv_split_begin(groups, i);
  pz_conv_inner_pairs_blocks g = {.outer = outer,
                                  .count = pz_conv_split_size(groups, i),
                                  .weights = weights + (int64_t)outer * PZ_S * c->in.c,
                                  .taken = taken + (1 + outer) * PZ_S};
  PZ_UNROLL for (int32_t k = 0; k < groups.size; ++k) {
    g.out[k] = pz_conv_block_offset(c, &c->out, outer + k);
    g.residual[k] = pz_conv_block_offset(c, &c->residual, outer + k);
  }
  return g;
}

PZ_INLINE void pz_conv_inner_pairs(const pz_conv_inner_pairs_shape s, const float *in, const float *weights,
                                   const float *taken, const float *bias, const float *residual,
                                   const float *residual_scale, const float *slope, float *out,
                                   float *scratch, int32_t worker, int32_t workers) {
  const pz_conv_direct_shape *c = &s.conv;
  const pz_conv_epilogue epilogue = {bias, residual, residual_scale, slope, out, NULL};
  const pz_conv_split groups = pz_conv_outer_groups(c);
  const int32_t extent = pz_conv_inner_pairs_extent(&s), most = PZ_WINOGRAD_STRIP * c->rw;
  const int64_t points = pz_conv_inner_pairs_points(&s),
                inputs = (int64_t)extent * pz_conv_in_blocks(c) * PZ_S;
  pz_winograd_places places[2];
  pz_winograd_strip strip = {.in = scratch, .taken = scratch + inputs, .back = scratch + inputs + extent};
  pz_conv_inner_pairs_blocks g[2] = {pz_conv_inner_pairs_blocks_of(c, 0, weights, taken)};
  int64_t begin, end;
  pz_share((points + c->rw - 1) / c->rw, worker, workers, &begin, &end);
  begin *= c->rw, end *= c->rw;
  if (end > points) end = points;
  pz_conv_inner_pairs_places(&s, begin, end, places);
  if (c->residual.c) pz_conv_inner_pairs_lines(places, g, 0, 2 * c->rw + c->rw / 2, residual);
  PZ_ROLL for (int32_t even = 1; begin < end; begin += most, even = !even) {
    strip.at = places + !even, strip.next = places + even;
    pz_conv_inner_pairs_places(&s, begin + most < end ? begin + most : end, end, places + even);
    pz_conv_inner_pairs_load(&s, *taken, in, &strip);
    PZ_ROLL for (int32_t i = 0; i < groups.count; ++i, g[0] = g[1]) {
      g[1] = pz_conv_inner_pairs_blocks_of(c, i + 1 < groups.count ? i + 1 : 0, weights, taken);
      if (i < groups.large) pz_conv_inner_pairs_group(&s, groups.size, i, &strip, g, in, &epilogue);
      else if (groups.large < groups.count)
        pz_conv_inner_pairs_group(&s, groups.size - 1, i, &strip, g, in, &epilogue);
    }
  }
  if (c->stream) pz_v_stream_end();
}

#endif
