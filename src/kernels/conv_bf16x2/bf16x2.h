/* bf16x2.h: the direct convolution by products of bfloat16 numbers on AMX tiles.
 *
 * Contract: shape.h; that of conv_direct/direct.h for the operands but for the weights (pack.h) and statistics, which are not
 * collected. pooled: the largest of each window, if the shape says so, else NULL. factors: where it says that inputs are normalised as
 * they are read, those of all blocks (norm/normed.h), else NULL. scratch: pz_bf16x2_scratch floats of this worker's own. A result is summed by one worker in one order, (kd, kh, kw,
 * channels) at each point, few channels in behind all kw, so any number of workers and any strips give the same bits.
 *
 * Each factor is the sum of two bfloat16 numbers, the nearest to it and the nearest to what is left, which hold 16 to 17 bits of
 * its 24; three of the four products of bf16 numbers are summed in single precision (Henry, Tang, Heinecke 2019, "Leveraging the
 * bfloat16 artificial intelligence datatype for higher-precision computations": BFLOATx2). Relative L2 error of a layer of random
 * values: 4e-6, with m = 2 6e-6, with m = 4 1e-5 (doc/algorithm-bf16x2.md). Infinities, and values that round to them, give NaN, with narrow_in
 * and narrow_out in the two results before those that see them too.
 *
 * Tiles of products are made by a unit of the core's own: between those of a group of four tiles of sums, a few vectors at a
 * time, the inputs of the steps that follow are split into halves (`pz_bf16x2_split`), and the group before is finished: bias,
 * Base, activation (`pz_bf16x2_finish`). */
#ifndef PZ_KERNELS_CONV_BF16X2_BF16X2_H
#define PZ_KERNELS_CONV_BF16X2_BF16X2_H

#include "kernels/conv/bf16.h"
#include "kernels/conv/epilogue.h"
#include "kernels/conv_bf16x2/ways.h"
#include "kernels/isa/amx.h"
#include "kernels/isa/avx512.h"
#include "kernels/norm/normed.h"
#include "kernels/pool/pool.h"
#include "kernels/winograd/transforms.h"

/* Positions from the input that is split to the one that is fetched. */
#define PZ_BF16X2_AHEAD 16

/* ---- halves of the inputs ---- */

typedef struct pz_bf16x2_strip {
  int32_t n, d, h, planes, rows, begin, end; /* blocks out */
} pz_bf16x2_strip;

PZ_INLINE pz_bf16x2_strip pz_bf16x2_strip_at(const pz_conv_bf16x2_shape *s, int64_t i) {
  const int32_t across = pz_bf16x2_across(s), along = pz_bf16x2_along(s), part = (int32_t)(i % s->chunks);
  i /= s->chunks;
  pz_bf16x2_strip t = {.h = (int32_t)(i % across) * s->rows,
                       .d = (int32_t)(i / across % along) * s->planes,
                       .n = (int32_t)(i / across / along)};
  const int64_t pairs = (pz_bf16x2_out_blocks(s) + 1) / 2;
  t.begin = (int32_t)(pairs * part / s->chunks) * 2, t.end = (int32_t)(pairs * (part + 1) / s->chunks) * 2;
  if (part + 1 == s->chunks) t.end = pz_bf16x2_out_blocks(s);
  t.rows = s->conv.out.h - t.h < s->rows ? s->conv.out.h - t.h : s->rows;
  t.planes = s->conv.out.d - t.d < s->planes ? s->conv.out.d - t.d : s->planes;
  return t;
}

/* The inputs of strips `unit` .. `units` - 1 that are not split yet: `left` positions of a run; then, from slot `k` of the strip
 * `at` on, the runs of its planes that are split one by one (of which it has one, or, m = 1 by_row, several), pairs of blocks and
 * rows. Slots are numbered through all strips; they are filled in front of slot `limit`. With m > 1 a run is one of the m + 2
 * planes that make m + 2 of the slot. */
typedef struct pz_bf16x2_source {
  const int64_t *sizes; /* of the shape */
  const float *in,
      *from; /* of the sample's first result's first tap; the next position, in the run's first plane */
  float *ring, *to;
  const float *zeros;                        /* a row of absent planes */
  int64_t planes_at[PZ_BF16X2_MOST_POINTS];  /* from there to each of its planes */
  int64_t seconds_at[PZ_BF16X2_MOST_POINTS]; /* and to its second block; where planes may be absent */
  int64_t unit, units;
  pz_bf16x2_strip at;
  int32_t left, k, slot, limit, plane, pair, row;
  const float *factors; /* normed: of all blocks */
  int32_t column;       /* of in, of the next position */
  uint32_t inside;      /* the run's planes, a bit each, in which its row is one of in */
} pz_bf16x2_source;

PZ_INLINE int32_t pz_bf16x2_pieces(const pz_conv_bf16x2_shape *s) {
  return pz_bf16x2_pairs(s) + pz_bf16x2_single(s);
}

/* Past the runs that are done. */
PZ_INLINE void pz_bf16x2_skip(const pz_conv_bf16x2_shape *s, pz_bf16x2_source *x) {
  if (x->row == (s->by_row ? 1 : x->at.rows + pz_bf16x2_reach(s, 1))) x->row = 0, ++x->pair;
  if (x->pair == pz_bf16x2_pieces(s)) x->pair = 0, ++x->plane;
  if (x->plane == pz_bf16x2_apart(s)) x->plane = 0, ++x->k, ++x->slot;
  if (x->k == pz_bf16x2_strip_slots(s, x->at.planes, x->at.rows)) {
    x->k = 0;
    if (++x->unit < x->units) x->at = pz_bf16x2_strip_at(s, x->unit);
  }
}

/* Where the source's planes are, `first` of the strip and those behind it, the last of which stands for what is missing at the end. False: one of
 * them is absent. */
PZ_INLINE int pz_bf16x2_find_planes(const pz_conv_bf16x2_shape *s, pz_bf16x2_source *x, int32_t first) {
  const pz_view *in = &s->conv.in;
  const int32_t last = x->at.planes + pz_bf16x2_reach(s, 0) - 1 - first,
                end = s->conv.out.d + pz_bf16x2_reach(s, 0) - s->absent[1];
  int all = 1;
  PZ_UNROLL for (int32_t i = 0; i < pz_bf16x2_points(s); ++i) {
    const int32_t behind = i < last ? i : last, plane = x->at.d + first + behind;
    x->planes_at[i] = behind * in->stride_d;
    if (!pz_bf16x2_zeros(s)) continue;
    x->seconds_at[i] = x->planes_at[i] + in->stride_c;
    if (plane >= s->absent[0] && plane < end) continue;
    x->planes_at[i] = x->seconds_at[i] = ((intptr_t)x->zeros - (intptr_t)x->from) / (intptr_t)sizeof(float);
    all = 0;
  }
  return all;
}

/* Which of the run's planes, `first` of the strip and those behind it, have its row `row` of the strip. */
PZ_INLINE void pz_bf16x2_find_inside(const pz_conv_bf16x2_shape *s, pz_bf16x2_source *x, int32_t first,
                                     int32_t row) {
  const pz_view *in = &s->conv.in;
  const int32_t last = x->at.planes + pz_bf16x2_reach(s, 0) - 1 - first, y = s->origin[1] + x->at.h + row;
  x->column = s->origin[2], x->inside = 0;
  if (y < 0 || y >= in->h) return;
  PZ_UNROLL for (int32_t i = 0; i < pz_bf16x2_points(s); ++i) {
    const int32_t plane = s->origin[0] + x->at.d + first + (i < last ? i : last);
    x->inside |= (uint32_t)(plane >= 0 && plane < in->d) << i;
  }
}

/* The next run: a row, or, where no gap lies between the rows of a slot, all of them. False: there is none. Of a last group whose last
 * planes are missing, the last one there is stands for these: results that they alone make are not wanted. */
PZ_INLINE int pz_bf16x2_next_run(const pz_conv_bf16x2_shape *s, pz_bf16x2_source *x) {
  const pz_view *in = &s->conv.in;
  const int32_t pitch = pz_bf16x2_pitch(s);
  pz_bf16x2_skip(s, x);
  if (x->unit >= x->units || x->slot >= x->limit) return 0;
  const int32_t rows = x->at.rows + pz_bf16x2_reach(s, 1),
                first = s->by_row ? x->plane * s->conv.dilation[0] : x->k * s->m;
  x->from = x->in + x->at.n * in->stride_n + (x->at.d + first) * in->stride_d +
            (x->at.h + (s->by_row ? x->k : x->row)) * in->stride_h + 2 * x->pair * in->stride_c;
  x->to = x->ring + x->slot % s->slots * pz_bf16x2_slot(s) + x->plane * pz_bf16x2_plane(s) +
          2 * x->pair * pz_bf16x2_piece(s) + (int64_t)x->row * pitch * PZ_BF16X2_TILE;
  const int normed = PZ_MAY(BF16X2, NORMED) && s->normed, stored = pz_bf16x2_find_planes(s, x, first),
            whole = stored && !normed && !s->by_row && in->stride_h == pitch * in->stride_w;
  if (normed) pz_bf16x2_find_inside(s, x, first, s->by_row ? x->k : x->row);
  x->left = whole ? rows * pitch : pitch;
  x->row = whole ? rows : x->row + 1;
  return 1;
}

/* Both halves of two blocks at a position, the second ones `piece` floats behind; of one block: each channel's second half and first half
 * side by side. */
PZ_INLINE void pz_bf16x2_store_pair(pz_v low, pz_v high, float *to, int64_t piece) {
  const pz_bf16s first = pz_bf16s_nearest(low, high);
  pz_bf16s_store(to, first);
  pz_bf16s_store(to + piece, pz_bf16s_nearest(low - pz_bf16s_low(first), high - pz_bf16s_high(first)));
}
PZ_INLINE void pz_bf16x2_store_single(pz_v x, float *to) {
  const pz_v first = pz_v_to_bf16(x);
  pz_bf16s_store(to, pz_bf16s_beside(first, x - first));
}

/* Few channels at the next position and at the two behind it, as far as `left` positions of the row go. */
PZ_INLINE pz_v pz_bf16x2_narrow(const pz_view *in, const float *from, int32_t left) {
  const int32_t n = in->channels_last ? in->c % PZ_BF16X2_TILE : PZ_BF16X2_NARROW;
  const int64_t next = in->stride_w - PZ_BF16X2_NARROW;
  const pz_v first = pz_v_load_lanes(from, 0, n),
             both = pz_v_load_over(first, left > 1 ? PZ_V_LANES(4, n) : 0, from + next);
  return pz_v_load_over(both, left > 2 ? PZ_V_LANES(8, n) : 0, from + 2 * next);
}

/* From the next position in block `block` of the pair to its plane i. */
PZ_INLINE int64_t pz_bf16x2_plane_at(const pz_conv_bf16x2_shape *s, const pz_bf16x2_source *x, int32_t block,
                                     int32_t i) {
  if (pz_bf16x2_zeros(s) && block) return x->seconds_at[i];
  return x->planes_at[i] + block * s->conv.in.stride_c;
}

/* Block `block` of the pair at the next position, in all planes of the group, normalised. */
PZ_INLINE void pz_bf16x2_normed_inputs(const pz_conv_bf16x2_shape *s, const pz_bf16x2_source *x,
                                       int32_t block, pz_v to[PZ_BF16X2_MOST_POINTS]) {
  const pz_view *in = &s->conv.in;
  const uint32_t inside = x->column >= 0 && x->column < in->w ? x->inside : 0;
  const pz_normed f = pz_normed_of(in, x->factors, x->at.n, block + 2 * x->pair);
  PZ_UNROLL for (int32_t i = 0; i < pz_bf16x2_points(s); ++i) {
    to[i] = pz_v_zero();
    if (inside >> i & 1)
      to[i] = pz_normed_load(&f, s->norm_act, s->norm_alpha, s->norm_beta,
                             x->from + pz_bf16x2_plane_at(s, x, block, i));
  }
}

/* Block `block` of the pair at the next position, in all planes of the group: B^T of F(m, 3) along the depth. */
PZ_INLINE void pz_bf16x2_inputs(const pz_conv_bf16x2_shape *s, const pz_bf16x2_source *x, int32_t block,
                                int32_t few, pz_v to[PZ_BF16X2_MOST_POINTS]) {
  const pz_view *in = &s->conv.in;
  const int32_t b = block + 2 * (pz_bf16x2_pieces(s) == 1 ? 0 : x->pair);
  if (PZ_MAY(BF16X2, NORMED) && s->normed) pz_bf16x2_normed_inputs(s, x, block, to);
  else PZ_UNROLL for (int32_t i = 0; i < pz_bf16x2_points(s); ++i) {
      const float *from = x->from + pz_bf16x2_plane_at(s, x, block, i);
      to[i] =
          PZ_MAY(BF16X2, NARROW) && few ? pz_bf16x2_narrow(in, from, x->left) : pz_point_load(in, b, from);
    }
  if (!PZ_MAY(BF16X2, FILTERING) || s->m == 1) return;
  pz_v k[PZ_WINOGRAD_CONSTANTS];
  pz_winograd_forward_constants(0, s->m, 3, k);
  pz_winograd_forward(0, s->m, 3, k, to, 1);
}

PZ_INLINE void pz_bf16x2_split_pair(const pz_conv_bf16x2_shape *s, const pz_bf16x2_source *x) {
  pz_v low[PZ_BF16X2_MOST_POINTS], high[PZ_BF16X2_MOST_POINTS];
  float *const to = x->to; /* read once: halves might lie where it does */
  pz_bf16x2_inputs(s, x, 0, 0, low);
  pz_bf16x2_inputs(s, x, 1, 0, high);
  PZ_UNROLL for (int32_t i = 0; i < pz_bf16x2_points(s); ++i)
      pz_bf16x2_store_pair(low[i], high[i], to + i * pz_bf16x2_plane(s), pz_bf16x2_piece(s));
}
PZ_INLINE void pz_bf16x2_split_single(const pz_conv_bf16x2_shape *s, const pz_bf16x2_source *x) {
  pz_v all[PZ_BF16X2_MOST_POINTS];
  float *const to = x->to;
  pz_bf16x2_inputs(s, x, 0, s->narrow_in, all);
  PZ_UNROLL for (int32_t i = 0; i < pz_bf16x2_points(s); ++i)
      pz_bf16x2_store_single(all[i], to + i * pz_bf16x2_plane(s));
}

/* What is split some positions later: by row, at the end of one, of the next row. Not by row with m > 1, where it gained nothing. */
PZ_INLINE void pz_bf16x2_fetch(const pz_conv_bf16x2_shape *s, const pz_bf16x2_source *x) {
  const pz_view *in = &s->conv.in;
  const int64_t ahead = PZ_BF16X2_AHEAD * in->stride_w,
                next = in->stride_h - pz_bf16x2_pitch(s) * in->stride_w;
  if (s->by_row && s->m > 1) return;
  const float *from = x->from + ahead + (s->by_row && x->left <= PZ_BF16X2_AHEAD ? next : 0);
  PZ_UNROLL for (int32_t i = 0; i < pz_bf16x2_points(s); ++i) {
    __builtin_prefetch(from + pz_bf16x2_plane_at(s, x, 0, i), 0, 3);
    if (pz_bf16x2_pairs(s)) __builtin_prefetch(from + pz_bf16x2_plane_at(s, x, 1, i), 0, 3);
  }
}

/* The next position of a run. */
PZ_INLINE int pz_bf16x2_split_position(const pz_conv_bf16x2_shape *s, pz_bf16x2_source *x) {
  pz_bf16x2_fetch(s, x);
  if (PZ_MAY(BF16X2, PAIRS_IN) && (!pz_bf16x2_single(s) || x->pair < pz_bf16x2_pairs(s)))
    pz_bf16x2_split_pair(s, x);
  else if (PZ_MAY(BF16X2, SINGLE_IN)) pz_bf16x2_split_single(s, x);
  x->from += s->conv.in.stride_w, x->to += PZ_BF16X2_TILE, --x->left, ++x->column;
  return 1;
}

/* ---- results ---- */

/* Sums of a group of tiles that are not finished: 2 tiles x 2 blocks out or 4 tiles x 1, at all points. `left` vectors of a run,
 * of block out `block`; then from vector `at` of the group on. */
typedef struct pz_bf16x2_sums {
  const int64_t *sizes; /* of the shape */
  const float *sums, *from;
  int32_t blocks, few, first, block,
      rows;                 /* outer blocks, the first; the run's block of channels; rows of the step */
  int32_t left, at, planes; /* planes of results: m, or fewer at the end */
  int32_t tile, tiles;      /* the group's first tile; those of the step */
  int64_t plane, base_plane, out, residual; /* offsets: of the strip's plane d, of the run */
  int64_t pooled_plane, pooled;             /* and of what is pooled of them */
  int32_t row, w,
      index; /* the step's first row; column of the next position; its place in its window, but for the column's */
} pz_bf16x2_sums;

/* Row of a step's results that tile i is cut from, its first position in it; not of flat strips. */
PZ_INLINE int32_t pz_bf16x2_tile_row(const pz_conv_bf16x2_shape *s, int32_t few, int32_t i) {
  return i / (few ? pz_bf16x2_narrow_tiles(s) : pz_bf16x2_row_tiles(s));
}
PZ_INLINE int32_t pz_bf16x2_tile_in_row(const pz_conv_bf16x2_shape *s, int32_t few, int32_t i) {
  return few ? i % pz_bf16x2_narrow_tiles(s) * PZ_BF16X2_NARROW_TILE
             : i % pz_bf16x2_row_tiles(s) * PZ_BF16X2_TILE;
}
/* First position of tile i in a plane of results, with the border on the right. */
PZ_INLINE int32_t pz_bf16x2_tile_at(const pz_conv_bf16x2_shape *s, int32_t few, int32_t i) {
  return s->flat ? i * PZ_BF16X2_TILE
                 : pz_bf16x2_tile_row(s, few, i) * pz_bf16x2_pitch(s) + pz_bf16x2_tile_in_row(s, few, i);
}

/* A run from row h of the step and column w on. */
PZ_INLINE void pz_bf16x2_begin_windows(const pz_conv_bf16x2_shape *s, pz_bf16x2_sums *x, int32_t h,
                                       int32_t w) {
  const int32_t row = x->row + h;
  x->pooled = x->pooled_plane + row / s->pool_window[1] * s->pooled.stride_h + x->block * s->pooled.stride_c;
  x->index = row % s->pool_window[1] * s->pool_window[2], x->w = w;
}
/* What is pooled lies far off, and is written soon: its lines are fetched, one or two at each position, those of all planes at those of a window
 * (doc/notes/2026-11-28-convolutions.md). */
PZ_INLINE void pz_bf16x2_fetch_pooled(const pz_conv_bf16x2_shape *s, const pz_conv_epilogue *e,
                                      pz_bf16x2_sums *x) {
  const pz_view *to = &s->pooled;
  const int32_t *k = s->pool_window, index = x->index + x->w % k[2];
  const float *at = e->pooled + x->pooled + x->w / k[2] * to->stride_w;
  PZ_UNROLL for (int32_t o = 0; o < s->m / k[0]; o += k[1] * k[2]) if (o + index < s->m / k[0])
      __builtin_prefetch(at + (o + index) * to->stride_d, 1, 3);
  ++x->w;
}

/* The next sums of a tile that lie in one row of results. False: there are none. */
PZ_INLINE int pz_bf16x2_next_results(const pz_conv_bf16x2_shape *s, pz_bf16x2_sums *x) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t pitch = pz_bf16x2_pitch(s);
  while (x->at < 4 * PZ_BF16X2_TILE && x->planes) {
    const int32_t sum = x->at / PZ_BF16X2_TILE, rest = x->at % PZ_BF16X2_TILE,
                  tile = x->tile + sum / x->blocks;
    const int32_t at = pz_bf16x2_tile_at(s, x->few, tile) + rest, h = at / pitch, w = at % pitch;
    const int32_t in_tile = PZ_BF16X2_TILE - rest, in_row = (w < c->out.w ? c->out.w : pitch) - w,
                  n = in_tile < in_row || !s->flat ? in_tile : in_row;
    x->from = x->sums + (sum * PZ_BF16X2_TILE + rest) * PZ_S;
    x->at += n;
    if (w >= c->out.w || h >= x->rows || tile >= x->tiles) continue;
    x->left = n < in_row ? n : in_row;
    if (x->few && x->left > PZ_BF16X2_NARROW_TILE) x->left = PZ_BF16X2_NARROW_TILE;
    const int32_t outer = x->first + sum % x->blocks;
    x->block = outer / c->phases;
    x->out = x->plane + h * c->out.stride_h + w * c->out.stride_w + pz_conv_block_offset(c, &c->out, outer);
    if (c->residual.c)
      x->residual = x->base_plane + h * c->residual.stride_h + w * c->residual.stride_w +
                    pz_conv_block_offset(c, &c->residual, outer);
    if (PZ_MAY(BF16X2, POOLED) && s->pooled.c) pz_bf16x2_begin_windows(s, x, h, w);
    return 1;
  }
  return 0;
}

/* From a position of Base to that of the next two tiles, about. The phases of a deconvolution read every other line, of rows that lie
 * apart: nothing else fetches them. */
PZ_INLINE int64_t pz_bf16x2_further(const pz_conv_direct_shape *s) {
  const int32_t positions = 2 * PZ_BF16X2_TILE;
  return positions / s->out.w * s->residual.stride_h + positions % s->out.w * s->residual.stride_w;
}

/* Of few channels out, what a position's three taps are given, from the sums of it and of the next two. */
PZ_INLINE pz_v pz_bf16x2_narrow_sum(const float *from) {
  return pz_v_four(pz_v_load(from), 0) + pz_v_four(pz_v_load(from + PZ_S), 1) +
         pz_v_four(pz_v_load(from + 2 * PZ_S), 2);
}

/* The next position of a run: m vectors of results, A^T of F(m, 3) along the depth. */
PZ_INLINE int pz_bf16x2_finish_position(const pz_conv_bf16x2_shape *s, const pz_conv_epilogue *epilogue,
                                        pz_bf16x2_sums *x) {
  pz_v y[PZ_BF16X2_MOST_POINTS];
  /* All read once: results might lie where they do. */
  const pz_conv_epilogue here = *epilogue, *e = &here;
  const int64_t out = x->out, residual = x->residual;
  const int32_t block = x->block, planes = x->planes;
  PZ_UNROLL for (int32_t i = 0; i < pz_bf16x2_points(s); ++i) {
    const float *from = x->from + i * 4 * PZ_BF16X2_FLOATS;
    y[i] = PZ_MAY(BF16X2, NARROW) && s->narrow_out && x->few ? pz_bf16x2_narrow_sum(from) : pz_v_load(from);
  }
  if (PZ_MAY(BF16X2, FILTERING) && s->m > 1) pz_winograd_back(s->m, 3, y, 1);
  if (s->conv.residual.c && s->conv.phases > 1)
    __builtin_prefetch(e->residual + residual + pz_bf16x2_further(&s->conv), 1, 3);
  if (PZ_MAY(BF16X2, POOLED) && s->pooled.c) pz_bf16x2_fetch_pooled(s, e, x);
  PZ_UNROLL for (int32_t o = 0; o < s->m; ++o) {
    if (o && o >= planes) break;
    pz_conv_store_sum(&s->conv, e, block, out + o * s->conv.out.stride_d,
                      residual + o * s->conv.residual.stride_d, y[o]);
  }
  x->from += PZ_S, x->out = out + s->conv.out.stride_w, --x->left;
  if (s->conv.residual.c) x->residual = residual + s->conv.residual.stride_w;
  return 1;
}

/* ---- products ---- */

/* A tile is stored after so many steps at least. Where none was for 12 steps and more, storing the sums took 240 ns (an Intel Xeon;
 * doc/notes/2026-11-28-convolutions.md). */
#define PZ_BF16X2_OFTEN 8

/* Splitting and finishing a position, of each shape: with m = 1 inlined between the products, which is up to a quarter faster than calls; with
 * m > 1 called there. (Inlined: no faster, five times the code.) They reach generic code by pointers, which the compiler knows when it has the
 * shape: else it would optimise all activations at each of these places, for nobody, which took most of the time of compiling. */
typedef struct pz_bf16x2_functions {
  int (*split)(pz_bf16x2_source *), (*split_apart)(pz_bf16x2_source *);
  int (*finish)(const pz_conv_epilogue *, pz_bf16x2_sums *),
      (*finish_apart)(const pz_conv_epilogue *, pz_bf16x2_sums *);
} pz_bf16x2_functions;

/* Of a shape that NAME(sizes) returns: NAME_functions. What begins a run makes a shape of its own: of one for both the compiler
 * would fetch at each position what only runs need. */
#define PZ_CONV_BF16X2_FUNCTIONS(name)                                                                       \
  PZ_INLINE int name##_next_run(pz_bf16x2_source *x) {                                                       \
    const pz_conv_bf16x2_shape s = name(x->sizes);                                                           \
    return pz_bf16x2_next_run(&s, x);                                                                        \
  }                                                                                                          \
  PZ_INLINE int name##_split_position(pz_bf16x2_source *x) {                                                 \
    const pz_conv_bf16x2_shape s = name(x->sizes);                                                           \
    return pz_bf16x2_split_position(&s, x);                                                                  \
  }                                                                                                          \
  PZ_INLINE int name##_split(pz_bf16x2_source *x) {                                                          \
    return __builtin_expect(!x->left, 0) && !name##_next_run(x) ? 0 : name##_split_position(x);              \
  }                                                                                                          \
  PZ_INLINE int name##_next_results(pz_bf16x2_sums *x) {                                                     \
    const pz_conv_bf16x2_shape s = name(x->sizes);                                                           \
    return pz_bf16x2_next_results(&s, x);                                                                    \
  }                                                                                                          \
  PZ_INLINE int name##_finish_position(const pz_conv_epilogue *e, pz_bf16x2_sums *x) {                       \
    const pz_conv_bf16x2_shape s = name(x->sizes);                                                           \
    return pz_bf16x2_finish_position(&s, e, x);                                                              \
  }                                                                                                          \
  PZ_INLINE int name##_finish(const pz_conv_epilogue *e, pz_bf16x2_sums *x) {                                \
    return __builtin_expect(!x->left, 0) && !name##_next_results(x) ? 0 : name##_finish_position(e, x);      \
  }                                                                                                          \
  static int name##_split_run(pz_bf16x2_source *x);                                                          \
  static __attribute__((noinline)) int name##_split_apart(pz_bf16x2_source *x) {                             \
    return __builtin_expect(x->left, 1) ? name##_split_position(x) : name##_split_run(x);                    \
  }                                                                                                          \
  static __attribute__((noinline)) int name##_split_run(pz_bf16x2_source *x) {                               \
    return name##_next_run(x) ? name##_split_apart(x) : 0;                                                   \
  }                                                                                                          \
  static int name##_finish_run(const pz_conv_epilogue *e, pz_bf16x2_sums *x);                                \
  static __attribute__((noinline)) int name##_finish_apart(const pz_conv_epilogue *e, pz_bf16x2_sums *x) {   \
    return __builtin_expect(x->left, 1) ? name##_finish_position(e, x) : name##_finish_run(e, x);            \
  }                                                                                                          \
  static __attribute__((noinline)) int name##_finish_run(const pz_conv_epilogue *e, pz_bf16x2_sums *x) {     \
    return name##_next_results(x) ? name##_finish_apart(e, x) : 0;                                           \
  }                                                                                                          \
  static const pz_bf16x2_functions name##_functions = {name##_split, name##_split_apart, name##_finish,      \
                                                       name##_finish_apart};

/* What is done beside the products: a position is split or finished, a task at a time. (Two at once are more than the core holds beside
 * products, which then wait: doc/notes/2026-11-28-convolutions.md.) */
typedef struct pz_bf16x2_beside {
  pz_bf16x2_source *source;
  pz_bf16x2_sums *sums;
  const pz_conv_epilogue *epilogue;
  int32_t steps;
  float *nobody; /* a tile that is not read */
} pz_bf16x2_beside;

/* `tasks` beside the six pairs of products of a step, evenly; `splits` of `period` tasks are splits: the period is a step of eight tasks or
 * more, for which code is written out, up to a number; else eight tasks. */
typedef struct pz_bf16x2_pace {
  int32_t tasks, splits, period;
} pz_bf16x2_pace;

enum { PZ_BF16X2_STEP_PAIRS = 6, PZ_BF16X2_PERIOD = 8, PZ_BF16X2_MOST_WRITTEN_OUT = 64 };

PZ_INLINE int pz_bf16x2_split_one(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f,
                                  pz_bf16x2_source *x) {
  return !PZ_MAY(BF16X2, FILTERING) || (PZ_MAY(BF16X2, SUMS) && s->m == 1) ? f->split(x) : f->split_apart(x);
}
PZ_INLINE int pz_bf16x2_finish_one(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f,
                                   pz_bf16x2_beside *b) {
  return !PZ_MAY(BF16X2, FILTERING) || (PZ_MAY(BF16X2, SUMS) && s->m == 1)
             ? f->finish(b->epilogue, b->sums)
             : f->finish_apart(b->epilogue, b->sums);
}

/* Whether task i of a period is a split. */
PZ_INLINE int pz_bf16x2_is_split(pz_bf16x2_pace p, int32_t i) {
  return (i + 1) * p.splits / p.period > i * p.splits / p.period;
}

/* Tasks of a step in front of pair `pair`. (Behind the pair before it, in front of the loads, 2 to 10% slower.) */
PZ_INLINE int32_t pz_bf16x2_tasks_before(pz_bf16x2_pace p, int32_t pair) {
  return (pair * p.tasks + PZ_BF16X2_STEP_PAIRS - 1) / PZ_BF16X2_STEP_PAIRS;
}

PZ_INLINE void pz_bf16x2_do_task(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f, int split,
                                 pz_bf16x2_beside *b) {
  if (split) pz_bf16x2_split_one(s, f, b->source);
  else pz_bf16x2_finish_one(s, f, b);
}

/* Beside pair `pair` of a step. */
PZ_INLINE void pz_bf16x2_do_beside(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f,
                                   pz_bf16x2_pace p, int32_t pair, pz_bf16x2_beside *b) {
  const int32_t begin = pz_bf16x2_tasks_before(p, pair), end = pz_bf16x2_tasks_before(p, pair + 1);
  uint32_t splits = 0; /* bit i: task i of PZ_BF16X2_PERIOD is one */
  PZ_UNROLL for (int32_t i = 0; i < PZ_BF16X2_PERIOD; ++i) splits |= (uint32_t)pz_bf16x2_is_split(p, i) << i;
  if (p.tasks > PZ_BF16X2_MOST_WRITTEN_OUT)
    PZ_ROLL for (int32_t i = begin; i < end; ++i) pz_bf16x2_do_task(s, f, pz_bf16x2_is_split(p, i), b);
  else if (p.period == p.tasks)
    PZ_UNROLL for (int32_t i = begin; i < end; ++i) pz_bf16x2_do_task(s, f, pz_bf16x2_is_split(p, i), b);
  else
    PZ_UNROLL for (int32_t i = begin; i < end; ++i)
        pz_bf16x2_do_task(s, f, splits >> (b->steps * p.tasks + i) % PZ_BF16X2_PERIOD & 1, b);
}

/* Two products, and what is done beside them: in front of them, so that they have their operands when it is through. */
#define PZ_BF16X2_PRODUCTS(pair, c, x, y, c2, x2, y2)                                                        \
  pz_bf16x2_do_beside(s, f, pace, pair, b);                                                                  \
  PZ_TILE_MULTIPLY(c, x, y);                                                                                 \
  PZ_TILE_MULTIPLY(c2, x2, y2)

/* Steps of 32 channels in halves: first halves by second, by first, second by first; of 16 channels in both halves: by second, by first.
 * a: of the first tile; 2 tiles x 2 blocks. */
PZ_INLINE void pz_bf16x2_step_22(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f,
                                 const float *const a[4], int64_t at, int64_t second, const pz_bf16_pair *w,
                                 pz_bf16x2_pace pace, pz_bf16x2_beside *b) {
  const int32_t tile = pz_bf16x2_weight_tile(s);
  PZ_TILE_LOAD(4, a[0] + at);
  PZ_TILE_LOAD(6, w);
  PZ_TILE_LOAD(7, w + tile);
  PZ_BF16X2_PRODUCTS(0, 0, 4, 6, 1, 4, 7);
  PZ_TILE_LOAD(5, a[1] + at);
  PZ_BF16X2_PRODUCTS(1, 2, 5, 6, 3, 5, 7);
  PZ_TILE_LOAD(6, w + 2 * tile);
  PZ_TILE_LOAD(7, w + 3 * tile);
  PZ_BF16X2_PRODUCTS(2, 0, 4, 6, 1, 4, 7);
  PZ_BF16X2_PRODUCTS(3, 2, 5, 6, 3, 5, 7);
  if (!PZ_MAY(BF16X2, PAIRS_IN) || !second) return;
  PZ_TILE_LOAD(4, a[0] + at + second);
  PZ_BF16X2_PRODUCTS(4, 0, 4, 6, 1, 4, 7);
  PZ_TILE_LOAD(5, a[1] + at + second);
  PZ_BF16X2_PRODUCTS(5, 2, 5, 6, 3, 5, 7);
}
/* 4 tiles x 1 block. */
PZ_INLINE void pz_bf16x2_step_41(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f,
                                 const float *const a[4], int64_t at, int64_t second, const pz_bf16_pair *w,
                                 pz_bf16x2_pace pace, pz_bf16x2_beside *b) {
  const int32_t tile = pz_bf16x2_weight_tile(s);
  PZ_TILE_LOAD(6, w);
  PZ_TILE_LOAD(7, w + tile);
  PZ_TILE_LOAD(4, a[0] + at);
  PZ_TILE_LOAD(5, a[1] + at);
  PZ_BF16X2_PRODUCTS(0, 0, 4, 6, 1, 5, 6);
  PZ_BF16X2_PRODUCTS(1, 0, 4, 7, 1, 5, 7);
  PZ_TILE_LOAD(4, a[2] + at);
  PZ_TILE_LOAD(5, a[3] + at);
  PZ_BF16X2_PRODUCTS(2, 2, 4, 6, 3, 5, 6);
  PZ_BF16X2_PRODUCTS(3, 2, 4, 7, 3, 5, 7);
  if (!PZ_MAY(BF16X2, PAIRS_IN) || !second) return;
  PZ_TILE_LOAD(4, a[0] + at + second);
  PZ_TILE_LOAD(5, a[1] + at + second);
  PZ_BF16X2_PRODUCTS(4, 0, 4, 7, 1, 5, 7);
  PZ_TILE_LOAD(4, a[2] + at + second);
  PZ_TILE_LOAD(5, a[3] + at + second);
  PZ_BF16X2_PRODUCTS(5, 2, 4, 7, 3, 5, 7);
}

/* What tap (d, h) of the first position of tile i reads at point p; slot: the window's first. */
PZ_INLINE const float *pz_bf16x2_tap(const pz_conv_bf16x2_shape *s, const float *ring, int32_t slot,
                                     int32_t p, int32_t few, int32_t i, int32_t d, int32_t h) {
  const int32_t down = h * s->conv.dilation[1];
  if (s->by_row)
    return ring + (slot + pz_bf16x2_tile_row(s, few, i) + down) % s->slots * pz_bf16x2_slot(s) +
           (s->m == 1 ? d : p) * pz_bf16x2_plane(s) +
           (int64_t)pz_bf16x2_tile_in_row(s, few, i) * PZ_BF16X2_TILE;
  return ring + (slot + (s->m == 1 ? d * s->conv.dilation[0] : 0)) % s->slots * pz_bf16x2_slot(s) +
         p * pz_bf16x2_plane(s) +
         ((int64_t)down * pz_bf16x2_pitch(s) + pz_bf16x2_tile_at(s, 0, i)) * PZ_BF16X2_TILE;
}

/* The sums of `blocks` blocks out of tiles first, first + 1 (.. first + 3 where it is one block) at point p; slot: the first one
 * of the ring that they read; few: the block out is. */
PZ_INLINE void pz_bf16x2_multiply(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f, int32_t blocks,
                                  int32_t few, int32_t first, int32_t tiles, const float *ring, int32_t slot,
                                  int32_t p, const pz_bf16_pair *w, float *sums, pz_bf16x2_pace pace,
                                  pz_bf16x2_beside *b) {
  const int64_t piece = pz_bf16x2_piece(s), step = 2 * blocks * pz_bf16x2_weight_tile(s);
  const int32_t pairs = pz_bf16x2_pairs(s), each = pairs + (s->narrow_in ? 0 : pz_bf16x2_single(s)),
                taps = pz_bf16x2_taps_w(s, few);
  int32_t tile[4];
  PZ_UNROLL for (int32_t i = 0; i < 4; ++i) tile[i] = first + i < tiles ? first + i : tiles - 1;
  PZ_MEMORY_PIN();
  pz_tiles_zero_sums();
  PZ_ROLL for (int32_t d = 0; d < pz_bf16x2_taps_d(s); ++d)
      PZ_ROLL for (int32_t h = 0; h < s->conv.kernel[1]; ++h) {
    const float *x[4];
    PZ_UNROLL for (int32_t i = 0; i < 4; ++i) x[i] = pz_bf16x2_tap(s, ring, slot, p, few, tile[i], d, h);
    PZ_ROLL for (int32_t k = 0; k < taps + s->narrow_in; ++k) {
      const int32_t all = s->narrow_in && k == taps, end = all ? pairs + 1 : each;
      const int64_t right = all ? 0 : (int64_t)k * s->conv.dilation[2] * PZ_BF16X2_TILE;
      const float *const at[4] = {x[0] + right, x[1] + right, x[2] + right, x[3] + right};
      PZ_ROLL for (int32_t c = all ? pairs : 0; c < end; ++c, w += step) {
        const int64_t second = c < pairs ? piece : 0;
        if (PZ_MAY(BF16X2, PAIRS_OUT) && blocks == 2)
          pz_bf16x2_step_22(s, f, at, 2 * c * piece, second, w, pace, b);
        else if (PZ_MAY(BF16X2, SINGLE_OUT)) pz_bf16x2_step_41(s, f, at, 2 * c * piece, second, w, pace, b);
        if (++b->steps % PZ_BF16X2_OFTEN == 0) PZ_TILE_STORE(6, b->nobody);
      }
    }
  }
  pz_tiles_store_sums(sums);
  PZ_MEMORY_PIN();
}

/* ---- strips ---- */

/* Pairs of products of a group. */
PZ_INLINE int32_t pz_bf16x2_steps(const pz_conv_bf16x2_shape *s, int32_t few) {
  return pz_bf16x2_points(s) * pz_bf16x2_taps_d(s) * s->conv.kernel[1] *
         (6 * pz_bf16x2_pair_steps(s, few) + 4 * pz_bf16x2_single_steps(s, few));
}

PZ_INLINE void pz_bf16x2_finish_all(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f,
                                    pz_bf16x2_beside *b) {
  PZ_ROLL while (pz_bf16x2_finish_one(s, f, b)) continue;
}

/* Pairs of products of a step of a whole strip. */
PZ_INLINE int64_t pz_bf16x2_step_pairs(const pz_conv_bf16x2_shape *s) {
  const int32_t rows = pz_bf16x2_step_rows(s), outer = pz_bf16x2_out_blocks(s) / s->chunks,
                tiles = pz_bf16x2_step_tiles(s, 0, rows), last = pz_bf16x2_step_tiles(s, s->narrow_out, rows);
  return (int64_t)(outer / 2) * ((tiles + 1) / 2) * pz_bf16x2_steps(s, 0) +
         (int64_t)(outer % 2) * ((last + 3) / 4) * pz_bf16x2_steps(s, s->narrow_out);
}
/* Positions that are split for each pair of products, by row, where slots are filled beside these: of a strip of so many rows. A constant, as the
 * code between products is written out by it; of fewer rows some are left over, and split before the next step. */
enum { PZ_BF16X2_PACE_ROWS = 32 };
PZ_INLINE double pz_bf16x2_splits(const pz_conv_bf16x2_shape *s) {
  const int64_t slots = pz_bf16x2_strip_slots(s, s->planes, PZ_BF16X2_PACE_ROWS),
                steps = pz_bf16x2_strip_steps(s, s->planes, PZ_BF16X2_PACE_ROWS);
  return (double)(slots * pz_bf16x2_apart(s) * pz_bf16x2_pieces(s) * pz_bf16x2_pitch(s)) /
         (double)(pz_bf16x2_step_pairs(s) * steps);
}

PZ_INLINE int32_t pz_bf16x2_up(double x) { return (int32_t)x + ((int32_t)x < x); }
/* Tasks beside a group of tiles; steps without second halves have four pairs. */
PZ_INLINE int32_t pz_bf16x2_group_tasks(const pz_conv_bf16x2_shape *s, int32_t few, pz_bf16x2_pace p) {
  const int32_t rows = pz_bf16x2_points(s) * pz_bf16x2_taps_d(s) * s->conv.kernel[1];
  return rows * (pz_bf16x2_pair_steps(s, few) * p.tasks +
                 pz_bf16x2_single_steps(s, few) * pz_bf16x2_tasks_before(p, 4));
}
/* Of a number of tasks a step. */
PZ_INLINE pz_bf16x2_pace pz_bf16x2_pace_of(int32_t tasks, double split) {
  const int32_t period = tasks < PZ_BF16X2_PERIOD ? PZ_BF16X2_PERIOD : tasks,
                splits = pz_bf16x2_up(period * split);
  return (pz_bf16x2_pace){tasks, splits < period ? splits : period - 1, period};
}
/* Few enough, and so that the group before is finished beside a group. splits: that are needed for each pair of products. */
PZ_INLINE pz_bf16x2_pace pz_bf16x2_group_pace(const pz_conv_bf16x2_shape *s, int32_t few, double splits) {
  const double pairs = pz_bf16x2_steps(s, few), finished = 4.0 * PZ_BF16X2_TILE,
               all = finished + splits * pairs;
  pz_bf16x2_pace p =
      pz_bf16x2_pace_of(pz_bf16x2_up(PZ_BF16X2_STEP_PAIRS * all / pairs), splits * pairs / all);
  PZ_UNROLL for (int32_t i = 0; i < 4; ++i) {
    const double tasks = pz_bf16x2_group_tasks(s, few, p);
    if (tasks < all || tasks * (p.period - p.splits) < finished * p.period)
      p = pz_bf16x2_pace_of(p.tasks + 1, splits * pairs / all);
  }
  return p;
}

/* All tiles of step k of strip t, by the blocks out block .. block + blocks - 1, few: one that is; slot: the first one that the step
 * reads. buffer: which of the sums is free. */
PZ_INLINE void pz_bf16x2_blocks(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f,
                                const pz_bf16x2_strip *t, int32_t blocks, int32_t few, int32_t block,
                                int32_t k, int32_t slot, const pz_bf16_pair *weights, double splits,
                                float *sums, int32_t *buffer, pz_bf16x2_beside *b) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t d = s->by_row ? 0 : k * s->m, h = s->by_row ? k * s->step : 0, left = t->rows - h,
                rows = left < pz_bf16x2_step_rows(s) ? left : pz_bf16x2_step_rows(s);
  const int32_t tiles = pz_bf16x2_step_tiles(s, few, rows), each = 4 / blocks, points = pz_bf16x2_points(s);
  const pz_bf16x2_pace pace = pz_bf16x2_group_pace(s, few, splits);
  PZ_ROLL for (int32_t i = 0; i < tiles; i += each) {
    float *to = sums + *buffer * points * 4 * PZ_BF16X2_FLOATS;
    PZ_ROLL for (int32_t p = 0; p < points; ++p) pz_bf16x2_multiply(
        s, f, blocks, few, i, tiles, b->source->ring, slot, p,
        weights + p * blocks * pz_bf16x2_point_weights(s, few), to + p * 4 * PZ_BF16X2_FLOATS, pace, b);
    pz_bf16x2_finish_all(s, f, b);
    *b->sums = (pz_bf16x2_sums){
        .sizes = b->sums->sizes,
        .sums = to,
        .blocks = blocks,
        .few = few,
        .first = block,
        .rows = rows,
        .planes = t->planes - d < s->m ? t->planes - d : s->m,
        .tile = i,
        .tiles = tiles,
        .plane = t->n * c->out.stride_n + (t->d + d) * c->out.stride_d + (t->h + h) * c->out.stride_h,
        .base_plane = t->n * c->residual.stride_n + (t->d + d) * c->residual.stride_d +
                      (t->h + h) * c->residual.stride_h,
        .pooled_plane =
            s->pooled.c ? t->n * s->pooled.stride_n + (t->d + d) / s->pool_window[0] * s->pooled.stride_d : 0,
        .row = t->h + h};
    *buffer ^= 1;
  }
}

/* Step k of strip t. */
PZ_INLINE void pz_bf16x2_step(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f,
                              const pz_bf16x2_strip *t, int32_t k, int32_t slot, const pz_bf16_pair *weights,
                              double splits, float *sums, int32_t *buffer, pz_bf16x2_beside *b) {
  const pz_bf16_pair *w = weights + t->begin * pz_bf16x2_block_weights(s, 0);
  if (PZ_MAY(BF16X2, PAIRS_OUT))
    PZ_ROLL for (int32_t j = t->begin; j + 1 < t->end; j += 2, w += 2 * pz_bf16x2_block_weights(s, 0))
        pz_bf16x2_blocks(s, f, t, 2, 0, j, k, slot, w, splits, sums, buffer, b);
  if (PZ_MAY(BF16X2, SINGLE_OUT) && pz_bf16x2_out_blocks(s) % 2 && (t->end - t->begin) % 2)
    pz_bf16x2_blocks(s, f, t, 1, s->narrow_out, t->end - 1, k, slot, w, splits, sums, buffer, b);
}

/* The windows of rows begin .. end - 1 of strip t, by row, or of so many of its planes, which are finished and still near. */
PZ_INLINE void pz_bf16x2_pool(const pz_conv_bf16x2_shape *s, const pz_bf16x2_strip *t, int32_t begin,
                              int32_t end, const pz_conv_epilogue *e) {
  const pz_view *from = &s->conv.out, *to = &s->pooled;
  const int32_t *k = s->pool_window, first[2] = {s->by_row ? 0 : begin, s->by_row ? begin : 0},
                last[2] = {s->by_row ? t->planes : end, s->by_row ? end : t->rows};
  PZ_ROLL for (int32_t h = first[1]; h < last[1]; h += k[1])
      PZ_ROLL for (int32_t d = first[0]; d < last[0]; d += k[0])
          PZ_ROLL for (int32_t b = t->begin; b < t->end; ++b) {
    const pz_pooling_steps step = {from, b, from->stride_d, from->stride_h, from->stride_w};
    const float *in = e->out + t->n * from->stride_n + b * from->stride_c + (t->d + d) * from->stride_d +
                      (t->h + h) * from->stride_h;
    float *most = e->pooled + t->n * to->stride_n + b * to->stride_c + (t->d + d) / k[0] * to->stride_d +
                  (t->h + h) / k[1] * to->stride_h;
    PZ_ROLL for (int32_t w = 0; w < from->w; w += k[2], in += k[2] * from->stride_w, most += to->stride_w)
        pz_point_store(to, b, most, pz_pooling_max(step, in, k[0], k[1], k[2]));
  }
}

/* Strips begin .. end - 1. */
PZ_INLINE void pz_bf16x2_run(const pz_conv_bf16x2_shape *s, const pz_bf16x2_functions *f,
                             const int64_t *sizes, int64_t begin, int64_t end, const float *in,
                             const float *factors, const pz_bf16_pair *weights,
                             const pz_conv_epilogue *epilogue, float *ring) {
  const pz_conv_direct_shape *c = &s->conv;
  float *sums = ring + s->slots * pz_bf16x2_slot(s),
        *nobody = sums + 8 * pz_bf16x2_points(s) * PZ_BF16X2_FLOATS, *zeros = nobody + PZ_BF16X2_FLOATS;
  PZ_ROLL for (int64_t i = 0; i < pz_bf16x2_zeros(s); i += PZ_S) pz_v_store(zeros + i, pz_v_zero());
  pz_bf16x2_source source = {.sizes = sizes,
                             .in = in - c->pad[0] * c->in.stride_d - c->pad[1] * c->in.stride_h -
                                   c->pad[2] * c->in.stride_w,
                             .ring = ring,
                             .zeros = zeros,
                             .factors = factors,
                             .unit = begin,
                             .units = end,
                             .at = pz_bf16x2_strip_at(s, begin)};
  pz_bf16x2_sums unfinished = {.sizes = sizes, .blocks = 1};
  pz_bf16x2_beside b = {.source = &source, .sums = &unfinished, .epilogue = epilogue, .nobody = nobody};
  const double splits = s->slots > pz_bf16x2_window(s) ? pz_bf16x2_splits(s) : 0;
  int32_t buffer = 0, first = 0;
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const pz_bf16x2_strip t = pz_bf16x2_strip_at(s, i);
    const int32_t slots = pz_bf16x2_strip_slots(s, t.planes, t.rows),
                  steps = pz_bf16x2_strip_steps(s, t.planes, t.rows), all = s->by_row ? t.rows : t.planes,
                  each = s->by_row ? s->step : s->m, window = s->pool_window[s->by_row];
    int32_t done = 0; /* rows, or planes, that are pooled */
    PZ_ROLL for (int32_t k = 0; k < steps; ++k) {
      const int32_t slot = k * pz_bf16x2_advance(s), read = slot + pz_bf16x2_window(s),
                    needed = first + (read < slots ? read : slots);
      source.limit = first + slot + s->slots;
      while (source.slot < needed && pz_bf16x2_split_one(s, f, &source)) continue;
      pz_bf16x2_step(s, f, &t, k, first + slot, weights, splits, sums, &buffer, &b);
      if (!PZ_MAY(BF16X2, POOLED) || !s->pooled.c) continue;
      if (k + 1 == steps) pz_bf16x2_finish_all(s, f, &b); /* else the step's last tiles may be left */
      const int32_t made = k + 1 == steps ? all : k * each / window * window;
      pz_bf16x2_pool(s, &t, done, made, epilogue);
      done = made;
    }
    first += slots;
  }
  pz_bf16x2_finish_all(s, f, &b);
}

PZ_INLINE void pz_conv_bf16x2(const pz_conv_bf16x2_shape s, const pz_bf16x2_functions f, const int64_t *sizes,
                              const float *in, const float *factors, const uint16_t *weights,
                              const float *bias, const float *residual, const float *residual_scale,
                              const float *slope, float *out, float *pooled, float *scratch, int32_t worker,
                              int32_t workers) {
  const pz_conv_epilogue epilogue = {bias, residual, residual_scale, slope, out, pooled};
  int64_t begin, end;
  PZ_WAYS_CHECK(BF16X2, pz_bf16x2_ways(&s));
  PZ_WAYS_CHECK(TRANSFORM, pz_bf16x2_transform_ways(&s));
  pz_share((int64_t)s.conv.out.n * pz_bf16x2_along(&s) * pz_bf16x2_across(&s) * s.chunks, worker, workers,
           &begin, &end);
  if (begin >= end) return;
  pz_tiles_begin(pz_bf16x2_weight_rows(&s));
  pz_bf16x2_run(&s, &f, sizes, begin, end, in, factors, (const pz_bf16_pair *)weights, &epilogue, scratch);
  pz_tiles_end();
  if (s.conv.stream) pz_v_stream_end();
}

#endif
