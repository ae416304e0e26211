/* shape.h: a convolution by Winograd's minimal filtering, F(m, r) along each axis (Winograd 1980; Lavin and Gray 2015; in
 * 3D Jia, Zlateski, Durand, Li 2018; points.h). Plain C: the compiler half includes it too.
 *
 * A tile of m[0] x m[1] x m[2] outputs comes from a = m + r - 1 inputs an axis with a0*a1*a2 products a pair of channels:
 * F(4,4,4) of 3x3x3 takes 216 where the sum itself takes 1728. For each of the `points` transformed positions the sum over
 * channels is a matrix product, made by the direct convolution's micro-kernel.
 *
 * Weights that are transformed on use are packed before G of one axis, the first that is filtered: kernel planes instead of up to eight. It is
 * applied when they are used, once for a batch. That is quicker than to wait for all of them where they come from level 3
 * or from memory, and takes less of it. Where all tiles are one batch they may be packed before G of the height too, so that those
 * of 3x3x3 and F(4,4,4) are 54 planes instead of 216 (model: 27): each column of positions along the axis transformed on use makes its own from all planes.
 *
 * Positions are numbered so that those of the axis transformed on use follow each other, then those of the second one. Scratch of a worker: slot p +
 * pz_winograd_together holds the transformed inputs of position p, [block][tile of the batch][lane]; its products go to
 * slot p, whose inputs nothing reads any more: one buffer for both. Behind the slots are the weights of one outer group that
 * are made at a time.
 *
 * In slices. Slices are what lies at one place along the width, a0 x a1 points; tiles that are neighbours there share a2 - m2 of them. Where
 * scratch keeps slices, transformed along depth and height alone, in place of positions, it needs m2 values for a tile where slots are a2. They
 * lie in bands, each of all slices at one place along depth and height. Band after band is transformed along the width to a few slots, a2 + 1 of
 * them behind the bands, which stay in level 1, multiplied, and transformed back along the width to where it was.
 *
 * A short block is the last one where it has four channels at most: 36 channels are two blocks of 16 and a short one. S/4 tiles share
 * vectors of it, [tile][4 lanes], while they are transformed and multiplied; in memory it is a block as any other, or, where it is all
 * that comes out, it may be NCHW channels. */
#ifndef PZ_KERNELS_WINOGRAD_SHAPE_H
#define PZ_KERNELS_WINOGRAD_SHAPE_H

#include "kernels/conv/shape.h"

/* conv: kernels up to 5; stride, dilation, groups, phases 1; in and out NCHWc, stride_w of in is the
 *   block. out may be plain where all its channels are a short block; then there is no residual.
 * product: of one transformed position: 1x1x1, in.c -> out.c channels, but for those of a short block, w = tiles
 *   of a batch.
 * late: axes whose G follows when weights are used, 0 to 2; two: where all tiles are one batch
 *   (nonfused.h).
 * apart: 1: the inputs' last transform, which stores much, multiplies and adds in operations of their own.
 * held: 1: of pairs, an input waits in a register for all blocks out; 0: each operation loads it anew.
 * normed: 1: inputs are normalised as they are read, act((x - center) * factor + term) with norm_act, which is zero at zero, and zero where in
 *   ends, for it has no border; no block in is short; not where all tiles are one batch.
 * pooled: the largest of each window of the result, as tiles leave the cache; c = 0: none. Windows lie side
 *   by side, 1 or 2 points along each axis, so that m and the result's sizes are multiples; out is NCHWc,
 *   and does not stream. Not where all tiles are one batch. */
#define PZ_WINOGRAD_FIELDS(ONE, MANY)                                                                                \
  ONE(conv, conv)                                                                                                    \
  ONE(conv, product)                                                                                                 \
  MANY(int, m, 3) /* outputs of a tile along each axis; 1 where the kernel is 1 */                                   \
  ONE(int, on_use)                                                                                                   \
  ONE(int, far)   /* 1: weights come from level 3 or from memory, and are fetched early */                           \
  ONE(int, near)  /* 1: the next tile's inputs are fetched into level 1, else into level 2 */                        \
  ONE(int, ahead) /* 1: the next batch's inputs are fetched into level 2 while this one is multiplied */             \
  ONE(int, apart)                                                                                                    \
  ONE(int, fours) /* 1: last blocks of four channels and less are short */                                           \
  ONE(int,                                                                                                           \
      inner_pairs) /* 1: channels in are multiplied in inner pairs (inner_pairs.h), but for those of short blocks */ \
  ONE(int, held)                                                                                                     \
  ONE(int, sliced) /* 1: scratch keeps slices; no weights are transformed on use then */                             \
  ONE(int, normed)                                                                                                   \
  ONE(int, norm_act)                                                                                                 \
  ONE(float, norm_alpha)                                                                                             \
  ONE(float, norm_beta)                                                                                              \
  ONE(view, pooled)                                                                                                  \
  MANY(int, pool_window, 3)
typedef struct pz_winograd_shape {
  PZ_WINOGRAD_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_winograd_shape;

/* Inputs of a tile along an axis. */
PZ_INLINE int32_t pz_winograd_a(const pz_winograd_shape *s, int32_t axis) {
  return s->m[axis] + s->conv.kernel[axis] - 1;
}
PZ_INLINE int32_t pz_winograd_points(const pz_winograd_shape *s) {
  return pz_winograd_a(s, 0) * pz_winograd_a(s, 1) * pz_winograd_a(s, 2);
}
PZ_INLINE int32_t pz_winograd_size(const pz_winograd_shape *s, int32_t axis) {
  return axis == 0 ? s->conv.out.d : axis == 1 ? s->conv.out.h : s->conv.out.w;
}
PZ_INLINE int32_t pz_winograd_tiles(const pz_winograd_shape *s, int32_t axis) {
  return (pz_winograd_size(s, axis) + s->m[axis] - 1) / s->m[axis];
}
PZ_INLINE int64_t pz_winograd_all_tiles(const pz_winograd_shape *s) {
  return (int64_t)s->conv.out.n * pz_winograd_tiles(s, 0) * pz_winograd_tiles(s, 1) * pz_winograd_tiles(s, 2);
}
/* Tiles that are cut into batches: all of them, or, where moments are collected, those of one sample after the other. */
PZ_INLINE int64_t pz_winograd_run(const pz_winograd_shape *s) {
  return s->conv.stats_units ? pz_winograd_all_tiles(s) / s->conv.out.n : pz_winograd_all_tiles(s);
}
/* Batches of a run: units of moments. */
PZ_INLINE int32_t pz_winograd_batches(const pz_winograd_shape *s) {
  return (int32_t)((pz_winograd_run(s) + s->product.out.w - 1) / s->product.out.w);
}
/* Units of moments of each block where all tiles are one batch: so many tiles each. */
#define PZ_WINOGRAD_UNIT 8
PZ_INLINE int32_t pz_winograd_units(const pz_winograd_shape *s) {
  return (int32_t)((pz_winograd_all_tiles(s) / s->conv.out.n + PZ_WINOGRAD_UNIT - 1) / PZ_WINOGRAD_UNIT);
}
/* Channels of a short block at most. */
#define PZ_WINOGRAD_SHORT 4

PZ_INLINE int32_t pz_winograd_blocks(int32_t channels, int32_t block) {
  return (channels + block - 1) / block;
}

/* Channels of the short block; 0: there is none. */
PZ_INLINE int32_t pz_winograd_short(const pz_winograd_shape *s, int32_t channels) {
  const int32_t rest = channels % s->conv.in.block;
  return s->fours && rest <= PZ_WINOGRAD_SHORT ? rest : 0;
}
/* Blocks but for it. */
PZ_INLINE int32_t pz_winograd_whole(const pz_winograd_shape *s, int32_t channels) {
  return pz_winograd_blocks(channels - pz_winograd_short(s, channels), s->conv.in.block);
}

/* Tiles that share vectors of the short block. */
PZ_INLINE int32_t pz_winograd_sharing(const pz_winograd_shape *s) {
  return s->conv.in.block / PZ_WINOGRAD_SHORT;
}

/* What `channels` channels of all tiles of a batch take at one position, in vectors. */
PZ_INLINE int32_t pz_winograd_vectors(const pz_winograd_shape *s, int32_t channels) {
  const int32_t tiles = s->product.out.w, sharing = pz_winograd_sharing(s),
                few = pz_winograd_short(s, channels) ? (tiles + sharing - 1) / sharing : 0;
  return pz_winograd_whole(s, channels) * tiles + few;
}

/* From a slot to the next one, in floats: an odd number of cache lines, so that the lines of one tile do not fall on a few sets of
 * the cache (doc/notes/2026-11-28-winograd.md). */
PZ_INLINE int64_t pz_winograd_slot(const pz_winograd_shape *s) {
  const int32_t in = pz_winograd_vectors(s, s->conv.in.c), out = pz_winograd_vectors(s, s->conv.out.c);
  return (int64_t)((in > out ? in : out) | 1) * s->conv.in.block;
}

/* Slices of a batch at most, in a block of channels that is not short: neighbours along the width share a2 - m2 of them. */
PZ_INLINE int32_t pz_winograd_slices_of(const pz_winograd_shape *s) {
  const int32_t tiles = s->product.out.w,
                rows = (tiles + pz_winograd_tiles(s, 2) - 2) / pz_winograd_tiles(s, 2) + 1;
  return tiles * s->m[2] + rows * (pz_winograd_a(s, 2) - s->m[2]);
}
/* A band: [block][slice][lane], and behind them [tiles that share vectors][a2][lane] from here on, in floats. */
PZ_INLINE int64_t pz_winograd_band_short(const pz_winograd_shape *s) {
  const int32_t in = pz_winograd_whole(s, s->conv.in.c), out = pz_winograd_whole(s, s->conv.out.c);
  return (int64_t)(in > out ? in : out) * pz_winograd_slices_of(s) * s->conv.in.block;
}
/* Floats of it: an odd number of cache lines, as of a slot. */
PZ_INLINE int64_t pz_winograd_band(const pz_winograd_shape *s) {
  const int32_t block = s->conv.in.block, sharing = pz_winograd_sharing(s),
                few = pz_winograd_short(s, s->conv.in.c) || pz_winograd_short(s, s->conv.out.c),
                shared = few ? pz_winograd_blocks(s->product.out.w, sharing) * pz_winograd_a(s, 2) : 0;
  return ((pz_winograd_band_short(s) / block + shared) | 1) * block;
}

/* Floats of the slots of all positions, or of the bands. */
PZ_INLINE int64_t pz_winograd_slots(const pz_winograd_shape *s) {
  return s->sliced ? pz_winograd_a(s, 0) * pz_winograd_a(s, 1) * pz_winograd_band(s)
                   : pz_winograd_points(s) * pz_winograd_slot(s);
}

/* The axis along which G is applied on use; -1: none. */
PZ_INLINE int32_t pz_winograd_on_use(const pz_winograd_shape *s) {
  return !s->on_use ? -1 : s->m[0] > 1 ? 0 : s->m[1] > 1 ? 1 : -1;
}

/* Positions along the axis transformed on use: those that are multiplied together. */
PZ_INLINE int32_t pz_winograd_together(const pz_winograd_shape *s) {
  const int32_t on_use = pz_winograd_on_use(s);
  return on_use < 0 ? 1 : pz_winograd_a(s, on_use < 0 ? 0 : on_use);
}
/* The second axis transformed on use, the height; -1: none. */
PZ_INLINE int32_t pz_winograd_on_use_too(const pz_winograd_shape *s) {
  return s->on_use > 1 && s->m[0] > 1 && s->m[1] > 1 ? 1 : -1;
}
/* Columns of positions along the axis transformed on use that share packed weights. */
PZ_INLINE int32_t pz_winograd_on_use_columns(const pz_winograd_shape *s) {
  return pz_winograd_on_use_too(s) < 0 ? 1 : pz_winograd_a(s, 1);
}
/* Planes of packed weights that a column's are made from, [axis transformed on use][second one]; those of one row of the second one. */
PZ_INLINE int32_t pz_winograd_row_planes(const pz_winograd_shape *s) {
  return pz_winograd_on_use_too(s) < 0 ? 1 : s->conv.kernel[1];
}
PZ_INLINE int32_t pz_winograd_planes(const pz_winograd_shape *s) {
  const int32_t on_use = pz_winograd_on_use(s);
  return on_use < 0 ? 1 : s->conv.kernel[on_use < 0 ? 0 : on_use] * pz_winograd_row_planes(s);
}

/* From a position's number to the next one's along an axis. */
PZ_INLINE int32_t pz_winograd_step(const pz_winograd_shape *s, int32_t axis) {
  const int32_t on_use = pz_winograd_on_use(s), together = pz_winograd_together(s);
  if (axis == on_use) return 1;
  if (axis == pz_winograd_on_use_too(s)) return together;
  if (axis == 2) return together * pz_winograd_on_use_columns(s);
  if (axis == 1) return together * pz_winograd_a(s, 2);
  return pz_winograd_a(s, 1) * pz_winograd_a(s, 2);
}

/* Floats of one position's weights in an outer group of kb blocks; 0: of the short block, [S/4 channels in][4 channels][S/4]. */
PZ_INLINE int64_t pz_winograd_group(const pz_winograd_shape *s, int32_t kb) {
  const int32_t block = s->conv.in.block, in = s->conv.in.c, quarter = block / PZ_WINOGRAD_SHORT;
  return kb ? (int64_t)kb * block * in : (int64_t)block * pz_winograd_blocks(in, quarter);
}

/* Bytes of the weights that are made at a time, where a block of channels in has no more: they are to stay in level 1 until all tiles
 * of a batch have met them (doc/notes/2026-11-28-winograd.md). */
#define PZ_WINOGRAD_FRESH (16 << 10)
/* Of pairs, whose products take fewer steps for each time that sums are put away: in level 2. */
#define PZ_WINOGRAD_FRESH_INNER_PAIRS (64 << 10)

/* Positions of a column whose weights are made: all, or but for the first and the last one, which have planes for theirs. */
PZ_INLINE int32_t pz_winograd_made(const pz_winograd_shape *s) {
  const int32_t together = pz_winograd_together(s);
  return pz_winograd_on_use_too(s) >= 0 ? together : together > 2 ? together - 2 : 0;
}

/* Blocks of channels in whose weights are made at a time. Early weights: all. */
PZ_INLINE int32_t pz_winograd_part(const pz_winograd_shape *s) {
  const int32_t block = s->conv.in.block, all = pz_winograd_blocks(s->conv.in.c, block),
                made = pz_winograd_made(s), kb = s->product.kb ? s->product.kb : 1,
                bytes = made * kb * block * block * (int32_t)sizeof(float),
                most = s->inner_pairs ? PZ_WINOGRAD_FRESH_INNER_PAIRS : PZ_WINOGRAD_FRESH,
                part = made > 0 ? most / bytes : all;
  return part < 1 ? 1 : part < all ? part : all;
}
PZ_INLINE int32_t pz_winograd_parts(const pz_winograd_shape *s) {
  return pz_winograd_blocks(pz_winograd_blocks(s->conv.in.c, s->conv.in.block), pz_winograd_part(s));
}

/* Floats of these weights. */
PZ_INLINE int64_t pz_winograd_fresh(const pz_winograd_shape *s) {
  const int32_t block = s->conv.in.block, kb = s->product.kb ? s->product.kb : 1;
  return (int64_t)pz_winograd_made(s) * kb * block * pz_winograd_part(s) * block;
}

/* Pairs among so many channels of a block. */
#define PZ_WINOGRAD_INNER_PAIRS_OF(channels) ((channels) / 3)
/* Multiply-adds for `channels` channels in, of one channel out, in inner pairs: one for each. */
PZ_INLINE int32_t pz_winograd_steps_of_inner_pairs(int32_t channels, int32_t block) {
  return channels - channels / block * PZ_WINOGRAD_INNER_PAIRS_OF(block) -
         PZ_WINOGRAD_INNER_PAIRS_OF(channels % block);
}
PZ_INLINE int32_t pz_winograd_steps(const pz_winograd_shape *s) {
  const int32_t in = s->conv.in.c, few = pz_winograd_short(s, in);
  return s->inner_pairs ? pz_winograd_steps_of_inner_pairs(in - few, s->conv.in.block) + few : in;
}
/* And for all channels out, at one position of a tile. */
PZ_INLINE int32_t pz_winograd_all_steps(const pz_winograd_shape *s) {
  const int32_t few = pz_winograd_short(s, s->conv.out.c);
  return pz_winograd_steps(s) * (s->conv.out.c - few) + s->conv.in.c * few;
}
/* Blocks of channels out that pairs are multiplied for at most: three vectors of weights each wait in registers. */
#define PZ_WINOGRAD_MOST_KB 2
/* Tiles that are multiplied in inner pairs at a time by kb blocks: the weights and two sums wait beside the accumulators, and three inputs where
 * they are held. */
PZ_INLINE int32_t pz_winograd_tiles_of_inner_pairs(int32_t registers, int32_t kb, int32_t held) {
  return (registers - 2 - (held ? 3 : 0) - 3 * kb) / kb;
}

/* Whether the last lane of the last block out belongs to no channel, and one outer group has all blocks: its weights are zeros, so it sums
 * up what pairs take away of the inputs, for all lanes. */
PZ_INLINE int32_t pz_winograd_has_spare(const pz_winograd_shape *s) {
  const pz_view *out = &s->product.out;
  return s->inner_pairs && out->c % out->block && pz_winograd_blocks(out->c, out->block) <= s->product.kb;
}

/* Tiles of a batch that fill whole vectors. */
PZ_INLINE int32_t pz_winograd_tiles_filled(const pz_winograd_shape *s) {
  return pz_winograd_blocks(s->product.out.w, s->conv.in.block) * s->conv.in.block;
}
/* Floats of scratch that pairs need (inner_pairs.h, pz_winograd_balance). */
PZ_INLINE int64_t pz_winograd_balance_floats(const pz_winograd_shape *s) {
  const int32_t positions = s->sliced ? pz_winograd_a(s, 2) : pz_winograd_together(s);
  return s->inner_pairs ? (int64_t)pz_winograd_tiles_filled(s) * (3 + positions) : 0;
}

/* Where all tiles are one batch (nonfused.h): floats of what pairs take away of a column's inputs, of a worker's scratch for positions,
 * of the scales that workers share. */
PZ_INLINE int64_t pz_winograd_taken_inputs(const pz_winograd_shape *s) {
  return s->inner_pairs ? (int64_t)pz_winograd_together(s) * pz_winograd_tiles_filled(s) : 0;
}
PZ_INLINE int64_t pz_winograd_position_floats(const pz_winograd_shape *s) {
  return pz_winograd_fresh(s) + pz_winograd_on_use_columns(s) * pz_winograd_taken_inputs(s);
}
PZ_INLINE int64_t pz_winograd_scale_floats(const pz_winograd_shape *s) {
  return s->inner_pairs ? (int64_t)2 * pz_winograd_tiles_filled(s) : 0;
}

/* Floats of scratch that a worker needs. A short block is multiplied as if its tiles were as many as share vectors: what is read then
 * lies behind the last one. */
PZ_INLINE int64_t pz_winograd_scratch(const pz_winograd_shape *s) {
  const int32_t more = s->sliced ? pz_winograd_a(s, 2) + 1 : pz_winograd_together(s);
  return pz_winograd_slots(s) + more * pz_winograd_slot(s) + pz_winograd_fresh(s) +
         (pz_winograd_short(s, s->conv.out.c) ? s->conv.in.block * pz_winograd_sharing(s) : 0) +
         pz_winograd_balance_floats(s);
}
/* Where they lie in it. */
PZ_INLINE int64_t pz_winograd_balance_place(const pz_winograd_shape *s) {
  return pz_winograd_scratch(s) - pz_winograd_balance_floats(s);
}

/* Floats of what pairs take away (pack.h): what undoes the weights' factor, in a vector; then [column of the axis transformed on use][outer
 * group][position][block][lane]. */
PZ_INLINE int64_t pz_winograd_taken_floats(const pz_winograd_shape *s) {
  const int32_t block = s->conv.in.block;
  return s->inner_pairs ? block * (1 + pz_winograd_points(s) * (int64_t)pz_winograd_whole(s, s->conv.out.c))
                        : 0;
}
/* Where those of a column's outer group begin whose first block of channels is `first`. */
PZ_INLINE int64_t pz_winograd_taken_at(const pz_winograd_shape *s, int64_t column, int32_t first) {
  return s->conv.in.block *
         (1 + (column * pz_winograd_whole(s, s->conv.out.c) + first) * pz_winograd_together(s));
}

#endif
