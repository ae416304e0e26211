/* shape_narrow.h: a convolution to few NCHW channels whose factors are sums of two bfloat16 numbers (bf16x2.h), its taps along the width side
 * by side in the columns of a tile (conv/narrow.h). Plain C: the compiler half includes it too.
 *
 * A tile of sums is 16 columns of inputs by kernel[2] times as many channels as there are out: 3 channels of 1x5x5 fill 15 of 16. Four rows of results are summed up
 * together, so that inputs are read half as often. A ring of rows holds their inputs, and those of the next four, as halves, in pieces: both halves of 32 channels (two blocks) one behind the other, or of the
 * 16 of a last block side by side, each of all columns, in whole tiles. */
#ifndef PZ_KERNELS_CONV_BF16X2_SHAPE_NARROW_H
#define PZ_KERNELS_CONV_BF16X2_SHAPE_NARROW_H

#include "kernels/conv_bf16x2/shape.h"

enum { PZ_BF16X2_NARROW_ROWS = 4 };

/* conv: kernel 1 along the depth; kernel[2] times channels out at most 16; stride, dilation, groups, phases 1;
 *   in of block 16, out NCHW, no Base.
 * rows: of a strip, which is a unit of work; inputs of kernel[1] - 1 rows are split again for each. */
#define PZ_CONV_BF16X2_NARROW_FIELDS(ONE, MANY)                                                              \
  ONE(conv, conv)                                                                                            \
  ONE(int, rows)
typedef struct pz_conv_bf16x2_narrow_shape {
  PZ_CONV_BF16X2_NARROW_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_conv_bf16x2_narrow_shape;

/* Columns of inputs that results are made of, and tiles of them. */
PZ_INLINE int32_t pz_bf16x2_narrow_columns(const pz_conv_bf16x2_narrow_shape *s) {
  return s->conv.out.w + s->conv.kernel[2] - 1;
}
PZ_INLINE int32_t pz_bf16x2_narrow_row_tiles(const pz_conv_bf16x2_narrow_shape *s) {
  return (pz_bf16x2_narrow_columns(s) + PZ_BF16X2_TILE - 1) / PZ_BF16X2_TILE;
}
PZ_INLINE int32_t pz_bf16x2_narrow_strips(const pz_conv_bf16x2_narrow_shape *s) {
  return (s->conv.out.h + s->rows - 1) / s->rows;
}
/* Blocks of channels in. */
PZ_INLINE int32_t pz_bf16x2_narrow_blocks(const pz_conv_bf16x2_narrow_shape *s) {
  return (s->conv.in.c + 15) / 16;
}

/* Floats of a piece; of a row of the ring, which has two pieces of each pair and one of what is left: as many as blocks. */
PZ_INLINE int64_t pz_bf16x2_narrow_piece(const pz_conv_bf16x2_narrow_shape *s) {
  return (int64_t)pz_bf16x2_narrow_row_tiles(s) * PZ_BF16X2_FLOATS;
}
PZ_INLINE int64_t pz_bf16x2_narrow_slot(const pz_conv_bf16x2_narrow_shape *s) {
  return pz_bf16x2_narrow_blocks(s) * pz_bf16x2_narrow_piece(s);
}
/* Rows of inputs that so many of results read. */
PZ_INLINE int32_t pz_bf16x2_narrow_rows(const pz_conv_bf16x2_narrow_shape *s, int32_t rows) {
  return rows + s->conv.kernel[1] - 1;
}
/* Those that four read; those of the ring, where the next ones are split meanwhile. */
PZ_INLINE int32_t pz_bf16x2_narrow_window(const pz_conv_bf16x2_narrow_shape *s) {
  return pz_bf16x2_narrow_rows(s, PZ_BF16X2_NARROW_ROWS);
}
PZ_INLINE int32_t pz_bf16x2_narrow_slots(const pz_conv_bf16x2_narrow_shape *s) {
  return pz_bf16x2_narrow_window(s) + PZ_BF16X2_NARROW_ROWS;
}
/* Of a worker: the ring; four tiles of sums; as many rows of results, [column][PZ_CONV_NARROW channels]. */
PZ_INLINE int64_t pz_bf16x2_narrow_scratch(const pz_conv_bf16x2_narrow_shape *s) {
  return pz_bf16x2_narrow_slots(s) * pz_bf16x2_narrow_slot(s) +
         PZ_BF16X2_NARROW_ROWS * (PZ_BF16X2_FLOATS + pz_conv_narrow_row(&s->conv));
}
/* Rows of a tile of weights, of all steps: shape.h. */
PZ_INLINE int32_t pz_bf16x2_narrow_weight_rows(const pz_conv_bf16x2_narrow_shape *s) {
  return pz_bf16x2_rows_of(s->conv.in.c);
}
PZ_INLINE int32_t pz_bf16x2_narrow_weight_tile(const pz_conv_bf16x2_narrow_shape *s) {
  return pz_bf16x2_narrow_weight_rows(s) * PZ_BF16X2_TILE;
}
/* Of packed weights: [kh][block pair][second halves, first halves][tile]; of a last block [kh][first halves, second halves][tile]. */
PZ_INLINE int64_t pz_bf16x2_narrow_weight_pairs(const pz_conv_bf16x2_narrow_shape *s) {
  return (int64_t)s->conv.kernel[1] * ((pz_bf16x2_narrow_blocks(s) + 1) / 2) * 2 *
         pz_bf16x2_narrow_weight_tile(s);
}

#endif
