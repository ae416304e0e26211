/* shape.h: a convolution of few NCHW channels whose factors are sums of two or three bfloat16 numbers (bf16x3.h), its taps side by side in the
 * rows of a tile. Plain C: the compiler half includes it too.
 *
 * Of a first layer channels fill next to nothing of a tile of inputs, which has room for 32 numbers a position; its taps do: 25 of 1x5x5, 27 of
 * 3x3x3. A worker holds, for a row of results, the columns of inputs that it reads: of each column all kernel[0] x kernel[1] x channels values, in
 * bf16x3, one behind the other. What a position reads is kernel[2] columns, which follow each other, and the next position's lies a
 * column further on: so a tile is read as it lies, its rows overlap. The next row of results has all columns moved by one value, and new ones of
 * one row of each plane and channel.
 *
 * Scratch of a worker: a term after the other, [column][channel][kd][kh] of 16 bits; how values of a row get into columns; two groups of four
 * tiles of sums. */
#ifndef PZ_KERNELS_CONV_BF16X3_SHAPE_H
#define PZ_KERNELS_CONV_BF16X3_SHAPE_H

#include "kernels/conv/shape.h"

enum {
  PZ_BF16X3_TILE = 16,    /* positions, and channels, of a tile of sums */
  PZ_BF16X3_FLOATS = 256, /* of one, 1 KiB */
  PZ_BF16X3_SUMS = 4,     /* tiles of sums that are made together */
  PZ_BF16X3_MOST = 3,
  PZ_BF16X3_MOST_VALUES = 64, /* of a column */
  PZ_BF16X3_WIDEST = 7,       /* kernel[2] */
  PZ_BF16X3_GROUP = 32        /* columns that are moved at a time; values of a line of them */
};

/* conv: stride, dilation, groups, phases 1; in NCHW, out and residual of block 16; kb, rw, rh, c_chunk are not
 *   used.
 * rows: of a strip, which is a unit of work; inputs of kernel[1] - 1 rows are put into columns again for
 *   each. */
#define PZ_CONV_BF16X3_FIELDS(ONE, MANY)                                                                     \
  ONE(sized_conv, conv)                                                                                      \
  ONE(int, terms) /* 2 or 3 */                                                                               \
  ONE(sized_int, rows)
typedef struct pz_conv_bf16x3_shape {
  PZ_CONV_BF16X3_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_conv_bf16x3_shape;

/* Rows of inputs that are new with a row of results; values of a column; of what a position reads. */
PZ_INLINE int32_t pz_bf16x3_lines(const pz_conv_bf16x3_shape *s) { return s->conv.in.c * s->conv.kernel[0]; }
PZ_INLINE int32_t pz_bf16x3_values(const pz_conv_bf16x3_shape *s) {
  return pz_bf16x3_lines(s) * s->conv.kernel[1];
}
PZ_INLINE int32_t pz_bf16x3_window(const pz_conv_bf16x3_shape *s) {
  return pz_bf16x3_values(s) * s->conv.kernel[2];
}

/* Tiles that a position's values fill, and rows of their weights: pairs of values, equally many in each. */
PZ_INLINE int32_t pz_bf16x3_steps(const pz_conv_bf16x3_shape *s) {
  return (pz_bf16x3_window(s) + PZ_BF16X3_GROUP - 1) / PZ_BF16X3_GROUP;
}
PZ_INLINE int32_t pz_bf16x3_pairs(const pz_conv_bf16x3_shape *s) {
  const int32_t steps = pz_bf16x3_steps(s);
  return (pz_bf16x3_window(s) + 2 * steps - 1) / (2 * steps);
}

/* Blocks of channels out whose sums are made together, and tiles of positions beside each other. */
PZ_INLINE int32_t pz_bf16x3_blocks(const pz_conv_bf16x3_shape *s) {
  const int32_t blocks = pz_conv_outer_blocks(&s->conv),
                groups = (blocks + PZ_BF16X3_SUMS - 1) / PZ_BF16X3_SUMS;
  return (blocks + groups - 1) / groups;
}
PZ_INLINE int32_t pz_bf16x3_groups(const pz_conv_bf16x3_shape *s) {
  return (pz_conv_outer_blocks(&s->conv) + pz_bf16x3_blocks(s) - 1) / pz_bf16x3_blocks(s);
}
PZ_INLINE int32_t pz_bf16x3_beside(const pz_conv_bf16x3_shape *s) {
  return PZ_BF16X3_SUMS / pz_bf16x3_blocks(s);
}
/* Tiles of a row of results, whole groups of them. */
PZ_INLINE int32_t pz_bf16x3_row_tiles(const pz_conv_bf16x3_shape *s) {
  const int32_t beside = pz_bf16x3_beside(s), tiles = (s->conv.out.w + PZ_BF16X3_TILE - 1) / PZ_BF16X3_TILE;
  return (tiles + beside - 1) / beside * beside;
}
PZ_INLINE int32_t pz_bf16x3_strips(const pz_conv_bf16x3_shape *s) {
  return (s->conv.out.h + s->rows - 1) / s->rows;
}

/* Groups of columns that inputs are put into; values of a term: those, and what tiles read beyond them, zeros. */
PZ_INLINE int32_t pz_bf16x3_column_groups(const pz_conv_bf16x3_shape *s) {
  return (s->conv.out.w + s->conv.kernel[2] - 1 + PZ_BF16X3_GROUP - 1) / PZ_BF16X3_GROUP;
}
PZ_INLINE int64_t pz_bf16x3_term(const pz_conv_bf16x3_shape *s) {
  const int64_t read = (int64_t)(pz_bf16x3_row_tiles(s) * PZ_BF16X3_TILE + s->conv.kernel[2]) *
                           pz_bf16x3_values(s) +
                       2 * PZ_BF16X3_GROUP,
                put = (int64_t)(pz_bf16x3_column_groups(s) * pz_bf16x3_values(s) + 1) * PZ_BF16X3_GROUP;
  return ((read > put ? read : put) + PZ_BF16X3_GROUP - 1) / PZ_BF16X3_GROUP * PZ_BF16X3_GROUP;
}
/* Floats: a term; where a group's values come from, a line each; which of them are a row's, a mask for each line and row, in whole lines. */
PZ_INLINE int64_t pz_bf16x3_term_floats(const pz_conv_bf16x3_shape *s) { return pz_bf16x3_term(s) / 2; }
PZ_INLINE int64_t pz_bf16x3_from_floats(const pz_conv_bf16x3_shape *s) {
  return (int64_t)pz_bf16x3_values(s) * PZ_BF16X3_TILE;
}
PZ_INLINE int64_t pz_bf16x3_mask_floats(const pz_conv_bf16x3_shape *s) {
  return (int64_t)(pz_bf16x3_values(s) * pz_bf16x3_lines(s) + PZ_BF16X3_TILE - 1) / PZ_BF16X3_TILE *
         PZ_BF16X3_TILE;
}
PZ_INLINE int64_t pz_bf16x3_scratch(const pz_conv_bf16x3_shape *s) {
  return s->terms * pz_bf16x3_term_floats(s) + pz_bf16x3_from_floats(s) + pz_bf16x3_mask_floats(s) +
         2 * PZ_BF16X3_SUMS * PZ_BF16X3_FLOATS;
}

/* Of packed weights: a tile; all, [group of blocks][step][last term first][block][tile], a group's missing blocks left out. */
PZ_INLINE int64_t pz_bf16x3_weight_tile(const pz_conv_bf16x3_shape *s) {
  return (int64_t)pz_bf16x3_pairs(s) * PZ_BF16X3_TILE;
}
PZ_INLINE int64_t pz_bf16x3_block_weights(const pz_conv_bf16x3_shape *s) {
  return pz_bf16x3_steps(s) * s->terms * pz_bf16x3_weight_tile(s);
}
PZ_INLINE int64_t pz_bf16x3_weight_pairs(const pz_conv_bf16x3_shape *s) {
  return pz_conv_outer_blocks(&s->conv) * pz_bf16x3_block_weights(s);
}

#endif
