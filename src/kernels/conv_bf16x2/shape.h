/* shape.h: a direct convolution of stride 1 whose factors are sums of two bfloat16 numbers (bf16x2.h), and what follows
 * from it. Plain C: the compiler half includes it too.
 *
 * Along the depth it is the sum itself (m = 1), or minimal filtering F(m, 3) (m = 2 or 4; winograd/points.h), which takes m + 2
 * planes of inputs, transformed along the depth, for m of results, with products of a 1 x kh x kw kernel each.
 *
 * Strips. `rows` rows of results over `planes` planes are a unit of work. A ring of slots holds what results are made of, as
 * halves. A slot is a plane of the strip (m = 1) or the m + 2 planes that make m of results. Or, `by_row`
 * (pack.h says where), strips are m planes deep and a slot is one row of all planes that these
 * read (m = 1: of the kernel's depth; else m + 2): a strip's rows follow each other through the ring, none of them is split twice.
 * A step makes `step` rows of results, or m planes, of the slots of a window; slots that there are beyond it are filled
 * meanwhile.
 * Of each position there are lines of 64 bytes, in pieces. A piece is, at all positions of a plane (of a row, by_row)
 * one behind the other, the first or the second halves of 32 channels (two blocks), or both halves of the 16 of a last block without
 * a partner. Positions are numbered row by row with the border on the right, `pitch` a row, so that a tap reads those of a tile
 * at a fixed distance.
 *
 * Few. Where a last block without a partner has four channels or fewer, most of a line, or of a tile of sums, would be empty. By row, and with
 * three taps along the width, it holds all three of them: `narrow_in`, a line is the channels at its position and at the next two, and is
 * multiplied once instead of three times; `narrow_out`, the sums of a position are what it gives to the three results that read it,
 * and three rows of sums, 4 lanes apart, are added to a result: a tile of 16 positions has 14 of them.
 *
 * Tiles. 16 positions that follow each other are multiplied with 16 channels out by one instruction for 32 products of bf16 numbers a
 * result. Tiles are cut from rows, or, `flat`, from the whole strip (what then lies between rows is thrown away; not by row):
 * whichever makes fewer. Blocks out are outer blocks (conv/shape.h): the phases of a deconvolution read the same halves. */
#ifndef PZ_KERNELS_CONV_BF16X2_SHAPE_H
#define PZ_KERNELS_CONV_BF16X2_SHAPE_H

#include "kernels/conv/shape.h"

enum {
  PZ_BF16X2_TILE = 16,    /* positions, and channels, of a tile of sums; floats of a line */
  PZ_BF16X2_FLOATS = 256, /* of a tile of sums, and of weights at most, 1 KiB */
  PZ_BF16X2_MOST_POINTS = 6,
  PZ_BF16X2_NARROW = 4,      /* channels */
  PZ_BF16X2_NARROW_TILE = 14 /* results of a tile of few channels out */
};

/* m: planes of results that are made together: 1; 2 or 4 where kernel[0] is 3 and dilation[0] 1.
 * parts: at most as many as pairs of blocks out, which are cut into them: units of work, each with a ring of
 *   its own.
 * pooled: the largest of each window of the result, while that is near; c = 0: none. Windows lie side by
 *   side, 1 or 2 points along each axis, so that m, rows, planes and the result's sizes are multiples; out
 *   does not stream.
 * normed: 1: inputs are normalised as they are read, act((x - center) * factor + term) with norm_act, which is zero at zero, and zero where in
 *   ends, for it has no border; in is NCHWc, not narrow_in. origin: the plane, row and column of in that the first result's first tap is of. */
#define PZ_CONV_BF16X2_FIELDS(ONE, MANY)                                                                     \
  ONE(sized_conv, conv) /* stride, groups 1; in and out of block 16; kb, rw, rh, c_chunk are not used */     \
  ONE(int, m)                                                                                                \
  ONE(sized_int, rows) /* rows, planes: of a strip; planes are a multiple of m, by_row m */                  \
  ONE(int, planes)                                                                                           \
  ONE(int, by_row) /* step: rows, of by_row */                                                               \
  ONE(int, step)                                                                                             \
  ONE(int, slots)     /* of the ring: those of a window or more */                                           \
  ONE(int, narrow_in) /* narrow_in, narrow_out: of by_row */                                                 \
  ONE(int, narrow_out)                                                                                       \
  ONE(int, chunks)                                                                                           \
  ONE(int, flat)       /* tiles are cut from the strip, not from its rows */                                 \
  MANY(int, absent, 2) /* first and last planes of what is read that are border and not stored: zeros */     \
  ONE(int, normed)                                                                                           \
  ONE(int, norm_act)                                                                                         \
  ONE(float, norm_alpha)                                                                                     \
  ONE(float, norm_beta)                                                                                      \
  MANY(sized_int, origin, 3)                                                                                 \
  ONE(sized_view, pooled)                                                                                    \
  MANY(int, pool_window, 3)
typedef struct pz_conv_bf16x2_shape {
  PZ_CONV_BF16X2_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_conv_bf16x2_shape;

/* Inputs that a row of results reads beyond its own length, along an axis. */
PZ_INLINE int32_t pz_bf16x2_reach(const pz_conv_bf16x2_shape *s, int32_t axis) {
  return (s->conv.kernel[axis] - 1) * s->conv.dilation[axis];
}
PZ_INLINE int32_t pz_bf16x2_pitch(const pz_conv_bf16x2_shape *s) {
  return s->conv.out.w + pz_bf16x2_reach(s, 2);
}
PZ_INLINE int32_t pz_bf16x2_row_tiles(const pz_conv_bf16x2_shape *s) {
  return (s->conv.out.w + PZ_BF16X2_TILE - 1) / PZ_BF16X2_TILE;
}
/* Whether so many channels end with a block that may be few. */
PZ_INLINE int32_t pz_bf16x2_narrow_at_end(int32_t channels) {
  return (channels + 15) / 16 % 2 == 1 && (channels + 15) % 16 < PZ_BF16X2_NARROW;
}
/* Tiles of a row of few channels out. */
PZ_INLINE int32_t pz_bf16x2_narrow_tiles(const pz_conv_bf16x2_shape *s) {
  return (s->conv.out.w + PZ_BF16X2_NARROW_TILE - 1) / PZ_BF16X2_NARROW_TILE;
}
/* Tiles of `rows` rows of a step. */
PZ_INLINE int32_t pz_bf16x2_tiles(const pz_conv_bf16x2_shape *s, int32_t rows) {
  const int32_t all = rows * pz_bf16x2_pitch(s) - pz_bf16x2_reach(s, 2);
  return s->flat ? (all + PZ_BF16X2_TILE - 1) / PZ_BF16X2_TILE : rows * pz_bf16x2_row_tiles(s);
}
/* Tiles of a step of so many rows, of a block out that is few or not. */
PZ_INLINE int32_t pz_bf16x2_step_tiles(const pz_conv_bf16x2_shape *s, int32_t few, int32_t rows) {
  return few ? rows * pz_bf16x2_narrow_tiles(s) : pz_bf16x2_tiles(s, rows);
}
/* Rows of a step's results. */
PZ_INLINE int32_t pz_bf16x2_step_rows(const pz_conv_bf16x2_shape *s) { return s->by_row ? s->step : s->rows; }
/* Positions of a piece; tiles may reach beyond the last row. */
PZ_INLINE int64_t pz_bf16x2_positions(const pz_conv_bf16x2_shape *s) {
  const int64_t pitch = pz_bf16x2_pitch(s), rows = s->rows + pz_bf16x2_reach(s, 1);
  const int64_t row = pz_bf16x2_row_tiles(s) * PZ_BF16X2_TILE + pz_bf16x2_reach(s, 2),
                few = s->narrow_out ? pz_bf16x2_narrow_tiles(s) * PZ_BF16X2_NARROW_TILE + 2 : 0;
  return !s->by_row ? rows * pitch + PZ_BF16X2_TILE : few > row ? few : row;
}
/* Sums that m results are made of. */
PZ_INLINE int32_t pz_bf16x2_points(const pz_conv_bf16x2_shape *s) { return s->m == 1 ? 1 : s->m + 2; }
/* Planes of a slot; those that are split one by one. */
PZ_INLINE int32_t pz_bf16x2_slot_planes(const pz_conv_bf16x2_shape *s) {
  return s->m > 1 ? s->m + 2 : s->by_row ? s->conv.kernel[0] : 1;
}
PZ_INLINE int32_t pz_bf16x2_apart(const pz_conv_bf16x2_shape *s) {
  return s->m > 1 ? 1 : pz_bf16x2_slot_planes(s);
}
/* Slots that a step reads, and from a step to the next one. */
PZ_INLINE int32_t pz_bf16x2_window(const pz_conv_bf16x2_shape *s) {
  return s->by_row ? s->step + pz_bf16x2_reach(s, 1) : s->m == 1 ? pz_bf16x2_reach(s, 0) + 1 : 1;
}
PZ_INLINE int32_t pz_bf16x2_advance(const pz_conv_bf16x2_shape *s) { return s->by_row ? s->step : 1; }
/* Steps of a strip of so many planes and rows of results, and its slots. */
PZ_INLINE int32_t pz_bf16x2_strip_steps(const pz_conv_bf16x2_shape *s, int32_t planes, int32_t rows) {
  return s->by_row ? (rows + s->step - 1) / s->step : (planes + s->m - 1) / s->m;
}
PZ_INLINE int32_t pz_bf16x2_strip_slots(const pz_conv_bf16x2_shape *s, int32_t planes, int32_t rows) {
  return s->by_row ? rows + pz_bf16x2_reach(s, 1)
                   : (planes + s->m - 1) / s->m + (s->m == 1 ? pz_bf16x2_reach(s, 0) : 0);
}

/* Taps of each sum along the depth. */
PZ_INLINE int32_t pz_bf16x2_taps_d(const pz_conv_bf16x2_shape *s) {
  return s->m == 1 ? s->conv.kernel[0] : 1;
}

PZ_INLINE int32_t pz_bf16x2_in_blocks(const pz_conv_bf16x2_shape *s) { return (s->conv.in.c + 15) / 16; }
/* Pairs of blocks, and whether a block is left. */
PZ_INLINE int32_t pz_bf16x2_pairs(const pz_conv_bf16x2_shape *s) { return pz_bf16x2_in_blocks(s) / 2; }
PZ_INLINE int32_t pz_bf16x2_single(const pz_conv_bf16x2_shape *s) { return pz_bf16x2_in_blocks(s) % 2; }
/* Floats of a piece; of a plane of a slot, which has two pieces of each pair and one of what is left: as many as blocks; of a slot. */
PZ_INLINE int64_t pz_bf16x2_piece(const pz_conv_bf16x2_shape *s) {
  return pz_bf16x2_positions(s) * PZ_BF16X2_TILE;
}
PZ_INLINE int64_t pz_bf16x2_plane(const pz_conv_bf16x2_shape *s) {
  return pz_bf16x2_in_blocks(s) * pz_bf16x2_piece(s);
}

PZ_INLINE int64_t pz_bf16x2_slot(const pz_conv_bf16x2_shape *s) {
  return pz_bf16x2_slot_planes(s) * pz_bf16x2_plane(s);
}

/* Floats of a row of zeros, which stands for those of absent planes: whole vectors. */
PZ_INLINE int64_t pz_bf16x2_zeros(const pz_conv_bf16x2_shape *s) {
  const int64_t row = pz_bf16x2_pitch(s) * s->conv.in.stride_w + PZ_BF16X2_TILE - 1;
  return s->absent[0] || s->absent[1] ? row / PZ_BF16X2_TILE * PZ_BF16X2_TILE : 0;
}

/* Behind the ring: sums of two groups of four tiles at all points, a tile that is not read, and the row of zeros. */
PZ_INLINE int64_t pz_bf16x2_scratch(const pz_conv_bf16x2_shape *s) {
  return s->slots * pz_bf16x2_slot(s) + (8 * pz_bf16x2_points(s) + 1) * PZ_BF16X2_FLOATS + pz_bf16x2_zeros(s);
}

/* Taps along the width that a block out multiplies one after the other; steps of a row of taps: of pairs of blocks in, of a last block
 * without a partner. few: of the last block out, where it is few. */
PZ_INLINE int32_t pz_bf16x2_taps_w(const pz_conv_bf16x2_shape *s, int32_t few) {
  return few ? 1 : s->conv.kernel[2];
}
PZ_INLINE int32_t pz_bf16x2_pair_steps(const pz_conv_bf16x2_shape *s, int32_t few) {
  return pz_bf16x2_taps_w(s, few) * pz_bf16x2_pairs(s);
}
PZ_INLINE int32_t pz_bf16x2_single_steps(const pz_conv_bf16x2_shape *s, int32_t few) {
  return s->narrow_in ? 1 : pz_bf16x2_taps_w(s, few) * pz_bf16x2_single(s);
}

PZ_INLINE int32_t pz_bf16x2_out_blocks(const pz_conv_bf16x2_shape *s) {
  return pz_conv_outer_blocks(&s->conv);
}
/* Rows of a tile of weights, of so many channels in: two channels each, or, of one block, one channel twice. All tiles of a call are alike: fewer than
 * 16 where there is one piece. */
PZ_INLINE int32_t pz_bf16x2_rows_of(int32_t channels) {
  return channels <= 16 ? channels : channels <= 32 ? (channels + 1) / 2 : 16;
}
PZ_INLINE int32_t pz_bf16x2_weight_rows(const pz_conv_bf16x2_shape *s) {
  return s->narrow_in ? 16 : pz_bf16x2_rows_of(s->conv.in.c);
}
PZ_INLINE int32_t pz_bf16x2_weight_tile(const pz_conv_bf16x2_shape *s) {
  return pz_bf16x2_weight_rows(s) * PZ_BF16X2_TILE;
}
/* Of the packed weights, pairs (conv/bf16.h) of one block out: of one point, of all. */
PZ_INLINE int64_t pz_bf16x2_point_weights(const pz_conv_bf16x2_shape *s, int32_t few) {
  return (int64_t)pz_bf16x2_taps_d(s) * s->conv.kernel[1] * 2 *
         (pz_bf16x2_pair_steps(s, few) + pz_bf16x2_single_steps(s, few)) * pz_bf16x2_weight_tile(s);
}
PZ_INLINE int64_t pz_bf16x2_block_weights(const pz_conv_bf16x2_shape *s, int32_t few) {
  return pz_bf16x2_points(s) * pz_bf16x2_point_weights(s, few);
}
PZ_INLINE int64_t pz_bf16x2_weight_pairs(const pz_conv_bf16x2_shape *s) {
  return (pz_bf16x2_out_blocks(s) - s->narrow_out) * pz_bf16x2_block_weights(s, 0) +
         s->narrow_out * pz_bf16x2_block_weights(s, 1);
}

/* Strips of a sample across its rows, along its planes. */
PZ_INLINE int32_t pz_bf16x2_across(const pz_conv_bf16x2_shape *s) {
  return (s->conv.out.h + s->rows - 1) / s->rows;
}
PZ_INLINE int32_t pz_bf16x2_along(const pz_conv_bf16x2_shape *s) {
  return (s->conv.out.d + s->planes - 1) / s->planes;
}

#endif
