/* terms_shape.h: a convolution of few plain maps whose factors are sums of two or three bfloat16 numbers (terms.h), its taps side by side in the
 * rows of a tile. Plain C: the compiler half includes it too.
 *
 * Of a first layer maps fill next to nothing of a tile of inputs, which has room for 32 numbers a position; its taps do: 25 of 1x5x5, 27 of
 * 3x3x3. A worker holds, for a row of results, the columns of inputs that it reads: of each column all kernel[0] x kernel[1] x maps values, in
 * bfloat16 terms, one behind the other. What a position reads is kernel[2] columns, which follow each other, and the next position's lies a
 * column further on: so a tile is read as it lies, its rows overlap. The next row of results has all columns moved by one value, and new ones of
 * one row of each plane and map.
 *
 * Scratch of a worker: a term after the other, [column][map][kd][kh] of 16 bits; how values of a row get into columns; two groups of four
 * tiles of sums. */
#ifndef PZ_KERNELS_CONV_TERMS_SHAPE_H
#define PZ_KERNELS_CONV_TERMS_SHAPE_H

#include "kernels/conv/shape.h"

enum {
  PZ_TERMS_TILE = 16,    /* positions, and maps, of a tile of sums */
  PZ_TERMS_FLOATS = 256, /* of one, 1 KiB */
  PZ_TERMS_SUMS = 4,     /* tiles of sums that are made together */
  PZ_TERMS_MOST = 3,
  PZ_TERMS_MOST_VALUES = 64, /* of a column */
  PZ_TERMS_WIDEST = 7,       /* kernel[2] */
  PZ_TERMS_GROUP = 32        /* columns that are moved at a time; values of a line of them */
};

/* conv: stride, dilation, groups, phases 1; in plain, out and base of block 16; kb, rw, rh, c_chunk are not
 *   used.
 * rows: of a strip, which is a unit of work; inputs of kernel[1] - 1 rows are put into columns again for
 *   each. */
#define PZ_CONV_TERMS_FIELDS(ONE, MANY)                                                                      \
  ONE(conv, conv)                                                                                            \
  ONE(int, terms) /* 2 or 3 */                                                                               \
  ONE(int, rows)
typedef struct pz_conv_terms_shape {
  PZ_CONV_TERMS_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_conv_terms_shape;

/* Rows of inputs that are new with a row of results; values of a column; of what a position reads. */
PZ_INLINE int32_t pz_terms_lines(const pz_conv_terms_shape *s) { return s->conv.in.c * s->conv.kernel[0]; }
PZ_INLINE int32_t pz_terms_values(const pz_conv_terms_shape *s) {
  return pz_terms_lines(s) * s->conv.kernel[1];
}
PZ_INLINE int32_t pz_terms_window(const pz_conv_terms_shape *s) {
  return pz_terms_values(s) * s->conv.kernel[2];
}

/* Tiles that a position's values fill, and rows of their weights: pairs of values, equally many in each. */
PZ_INLINE int32_t pz_terms_steps(const pz_conv_terms_shape *s) {
  return (pz_terms_window(s) + PZ_TERMS_GROUP - 1) / PZ_TERMS_GROUP;
}
PZ_INLINE int32_t pz_terms_pairs(const pz_conv_terms_shape *s) {
  const int32_t steps = pz_terms_steps(s);
  return (pz_terms_window(s) + 2 * steps - 1) / (2 * steps);
}

/* Blocks of maps out whose sums are made together, and tiles of positions beside each other. */
PZ_INLINE int32_t pz_terms_blocks(const pz_conv_terms_shape *s) {
  const int32_t blocks = pz_conv_outer_blocks(&s->conv),
                groups = (blocks + PZ_TERMS_SUMS - 1) / PZ_TERMS_SUMS;
  return (blocks + groups - 1) / groups;
}
PZ_INLINE int32_t pz_terms_groups(const pz_conv_terms_shape *s) {
  return (pz_conv_outer_blocks(&s->conv) + pz_terms_blocks(s) - 1) / pz_terms_blocks(s);
}
PZ_INLINE int32_t pz_terms_beside(const pz_conv_terms_shape *s) { return PZ_TERMS_SUMS / pz_terms_blocks(s); }
/* Tiles of a row of results, whole groups of them. */
PZ_INLINE int32_t pz_terms_row_tiles(const pz_conv_terms_shape *s) {
  const int32_t beside = pz_terms_beside(s), tiles = (s->conv.out.w + PZ_TERMS_TILE - 1) / PZ_TERMS_TILE;
  return (tiles + beside - 1) / beside * beside;
}
PZ_INLINE int32_t pz_terms_strips(const pz_conv_terms_shape *s) {
  return (s->conv.out.h + s->rows - 1) / s->rows;
}

/* Groups of columns that inputs are put into; values of a term: those, and what tiles read beyond them, zeros. */
PZ_INLINE int32_t pz_terms_column_groups(const pz_conv_terms_shape *s) {
  return (s->conv.out.w + s->conv.kernel[2] - 1 + PZ_TERMS_GROUP - 1) / PZ_TERMS_GROUP;
}
PZ_INLINE int64_t pz_terms_term(const pz_conv_terms_shape *s) {
  const int64_t read = (int64_t)(pz_terms_row_tiles(s) * PZ_TERMS_TILE + s->conv.kernel[2]) *
                           pz_terms_values(s) +
                       2 * PZ_TERMS_GROUP,
                put = (int64_t)(pz_terms_column_groups(s) * pz_terms_values(s) + 1) * PZ_TERMS_GROUP;
  return ((read > put ? read : put) + PZ_TERMS_GROUP - 1) / PZ_TERMS_GROUP * PZ_TERMS_GROUP;
}
/* Floats: a term; where a group's values come from, a line each; which of them are a row's, a mask for each line and row, in whole lines. */
PZ_INLINE int64_t pz_terms_term_floats(const pz_conv_terms_shape *s) { return pz_terms_term(s) / 2; }
PZ_INLINE int64_t pz_terms_from_floats(const pz_conv_terms_shape *s) {
  return (int64_t)pz_terms_values(s) * PZ_TERMS_TILE;
}
PZ_INLINE int64_t pz_terms_mask_floats(const pz_conv_terms_shape *s) {
  return (int64_t)(pz_terms_values(s) * pz_terms_lines(s) + PZ_TERMS_TILE - 1) / PZ_TERMS_TILE *
         PZ_TERMS_TILE;
}
PZ_INLINE int64_t pz_terms_scratch(const pz_conv_terms_shape *s) {
  return s->terms * pz_terms_term_floats(s) + pz_terms_from_floats(s) + pz_terms_mask_floats(s) +
         2 * PZ_TERMS_SUMS * PZ_TERMS_FLOATS;
}

/* Of packed weights: a tile; all, [group of blocks][step][last term first][block][tile], a group's missing blocks left out. */
PZ_INLINE int64_t pz_terms_weight_tile(const pz_conv_terms_shape *s) {
  return (int64_t)pz_terms_pairs(s) * PZ_TERMS_TILE;
}
PZ_INLINE int64_t pz_terms_block_weights(const pz_conv_terms_shape *s) {
  return pz_terms_steps(s) * s->terms * pz_terms_weight_tile(s);
}
PZ_INLINE int64_t pz_terms_weight_pairs(const pz_conv_terms_shape *s) {
  return pz_conv_outer_blocks(&s->conv) * pz_terms_block_weights(s);
}

#endif
