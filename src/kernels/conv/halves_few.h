/* halves_few.h: convolution to few plain maps by products of bfloat16 halves on AMX tiles.
 *
 * Contract: halves_few_shape.h; weights packed by pack_halves_few.h; bias and slope padded with zeros to whole blocks. Writes the inside of out.
 * scratch: pz_halves_few_scratch floats of this worker's own, aligned to the vector. Each result is summed in one order, (maps, kh) for
 * each kw, then kw, so any number of workers and any strips give the same bits. Error: halves.h. Infinities, and values that round to
 * them, give NaN in a row's results that see their column. */
#ifndef PZ_KERNELS_CONV_HALVES_FEW_H
#define PZ_KERNELS_CONV_HALVES_FEW_H

#include "kernels/conv/few.h"
#include "kernels/conv/halves.h"
#include "kernels/conv/halves_few_shape.h"

/* Where the rows of inputs of a strip are: `from`, the next one's first column, to slot `row` of the ring and on; how many there are. */
typedef struct pz_halves_few_source {
  const float *from;
  float *ring;
  int32_t row, rows;
} pz_halves_few_source;

/* Columns `first` .. end - 1, as far as there are any, of row `row` from the next one on, of a pair of blocks or of the last one. */
PZ_INLINE void pz_halves_few_split_some(const pz_conv_halves_few_shape *s, const pz_halves_few_source *x,
                                        int32_t pair, int32_t row, int32_t first, int32_t end) {
  const int64_t piece = pz_halves_few_piece(s), block = s->conv.in.stride_c;
  const int32_t columns = pz_halves_few_columns(s), slot = (x->row + row) % pz_halves_few_slots(s);
  const pz_view *in = &s->conv.in;
  const float *from = x->from + row * in->stride_h + 2 * pair * block + first * in->stride_w;
  float *to = x->ring + slot * pz_halves_few_slot(s) + 2 * pair * piece + first * PZ_HALVES_TILE;
  if (end > columns) end = columns;
  if (row >= x->rows) return;
  PZ_ROLL for (int32_t i = first; i < end; ++i, from += in->stride_w, to += PZ_HALVES_TILE) {
    if (2 * pair + 1 < pz_halves_few_blocks(s))
      pz_halves_store_pair(pz_point_load(in, 2 * pair, from), pz_point_load(in, 2 * pair + 1, from + block),
                           to, piece);
    else pz_halves_store_single(pz_point_load(in, 2 * pair, from), to);
  }
}
/* Positions begin .. end - 1 of tile t of the next four rows, one row behind the other. */
PZ_INLINE void pz_halves_few_split(const pz_conv_halves_few_shape *s, const pz_halves_few_source *x,
                                   int32_t pair, int32_t t, int32_t begin, int32_t end) {
  PZ_UNROLL for (int32_t row = 0; row < PZ_HALVES_FEW_ROWS; ++row) {
    const int32_t before = row * PZ_HALVES_TILE, first = begin < before ? before : begin,
                  last = end > before + PZ_HALVES_TILE ? before + PZ_HALVES_TILE : end;
    if (first < last)
      pz_halves_few_split_some(s, x, pair, row, t * PZ_HALVES_TILE + first - before,
                               t * PZ_HALVES_TILE + last - before);
  }
}
/* The next `rows` rows. */
PZ_INLINE void pz_halves_few_split_rows(const pz_conv_halves_few_shape *s, const pz_halves_few_source *x,
                                        int32_t rows) {
  PZ_ROLL for (int32_t r = 0; r < rows; ++r)
      PZ_ROLL for (int32_t pair = 0; 2 * pair < pz_halves_few_blocks(s); ++pair)
          pz_halves_few_split_some(s, x, pair, r, 0, pz_halves_few_columns(s));
}
PZ_INLINE void pz_halves_few_move(const pz_conv_halves_few_shape *s, pz_halves_few_source *x, int32_t rows) {
  x->from += rows * s->conv.in.stride_h, x->row += rows, x->rows -= rows;
}

/* Products of the inputs in registers 4 and, of a pair of blocks, 5 for row o of results. w: of the tap along the height, in tiles of so
 * many floats. */
#define PZ_HALVES_FEW_PRODUCTS(o)                                                                            \
  _tile_dpbf16ps(o, 4, 6);                                                                                   \
  _tile_dpbf16ps(o, 4, 7);                                                                                   \
  if (pair) _tile_dpbf16ps(o, 5, 7)
PZ_INLINE void pz_halves_few_products(int32_t o, int32_t pair, const float *w, int32_t tile) {
  PZ_HALVES_LOAD(6, w);
  PZ_HALVES_LOAD(7, w + tile);
  switch (o) {
  case 0: PZ_HALVES_FEW_PRODUCTS(0); break;
  case 1: PZ_HALVES_FEW_PRODUCTS(1); break;
  case 2: PZ_HALVES_FEW_PRODUCTS(2); break;
  default: PZ_HALVES_FEW_PRODUCTS(3);
  }
}

/* Tile `t` of four rows of results, the first of which reads slot `row` of the ring and on; beside them the next rows' inputs are split. */
PZ_INLINE void pz_halves_few_multiply(const pz_conv_halves_few_shape *s, int32_t t, int32_t row,
                                      const float *weights, const pz_halves_few_source *next, float *sums) {
  const int32_t kh = s->conv.kernel[1], blocks = pz_halves_few_blocks(s), window = pz_halves_few_window(s),
                positions = PZ_HALVES_FEW_ROWS * PZ_HALVES_TILE, shares = PZ_HALVES_FEW_ROWS * kh;
  const int64_t piece = pz_halves_few_piece(s), each = 2 * pz_halves_few_weight_tile(s),
                tap = (blocks + 1) / 2 * each;
  PZ_MEMORY_PIN();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  PZ_ROLL for (int32_t c = 0; 2 * c < blocks; ++c) {
    const int32_t pair = 2 * c + 1 < blocks;
    PZ_UNROLL for (int32_t i = 0; i < window; ++i) {
      const float *x = next->ring + (row + i) % pz_halves_few_slots(s) * pz_halves_few_slot(s) +
                       2 * c * piece + t * PZ_HALVES_FLOATS;
      PZ_HALVES_LOAD(4, x);
      if (pair) PZ_HALVES_LOAD(5, x + piece);
      PZ_UNROLL for (int32_t o = 0; o < PZ_HALVES_FEW_ROWS; ++o) if (i >= o && i - o < kh) {
        const int32_t share = o * kh + i - o;
        pz_halves_few_products(o, pair, weights + (i - o) * tap + c * each, pz_halves_few_weight_tile(s));
        pz_halves_few_split(s, next, c, t, positions * share / shares, positions * (share + 1) / shares);
      }
    }
  }
  _tile_stored(0, sums, 64);
  _tile_stored(1, sums + PZ_HALVES_FLOATS, 64);
  _tile_stored(2, sums + 2 * PZ_HALVES_FLOATS, 64);
  _tile_stored(3, sums + 3 * PZ_HALVES_FLOATS, 64);
  PZ_MEMORY_PIN();
}

/* Sums of tile t become results. carried: of each row, what the columns before have summed up, as in winograd/columns.h. */
PZ_INLINE void pz_halves_few_add(const pz_conv_halves_few_shape *s, int32_t t, const float *sums,
                                 pz_v carried[PZ_HALVES_FEW_ROWS], float *results) {
  const int32_t first = t * PZ_HALVES_TILE, left = pz_halves_few_columns(s) - first,
                count = left < PZ_HALVES_TILE ? left : PZ_HALVES_TILE, wait = s->conv.kernel[2] - 1;
  const int64_t row = pz_conv_few_row(&s->conv);
  pz_v z[PZ_HALVES_FEW_ROWS];
  PZ_UNROLL for (int32_t o = 0; o < PZ_HALVES_FEW_ROWS; ++o) z[o] = carried[o];
  PZ_ROLL for (int32_t i = 0; i < count; ++i, sums += PZ_S) {
    PZ_UNROLL for (int32_t o = 0; o < PZ_HALVES_FEW_ROWS; ++o) z[o] =
        pz_v_load(sums + o * PZ_HALVES_FLOATS) + pz_conv_few_pass_on(&s->conv, z[o]);
    if (first + i >= wait)
      PZ_UNROLL for (int32_t o = 0; o < PZ_HALVES_FEW_ROWS; ++o)
          pz_v_store_four(results + o * row + (first + i - wait) * PZ_CONV_FEW, z[o]);
  }
  PZ_UNROLL for (int32_t o = 0; o < PZ_HALVES_FEW_ROWS; ++o) carried[o] = z[o];
}

/* Strip `unit`. */
PZ_INLINE void pz_halves_few_strip(const pz_conv_halves_few_shape *s, int64_t unit, const float *in,
                                   const float *weights, const float *bias, const float *slope, float *out,
                                   float *ring) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t strips = pz_halves_few_strips(s), h = (int32_t)(unit % strips) * s->rows,
                d = (int32_t)(unit / strips % c->out.d), n = (int32_t)(unit / strips / c->out.d),
                left = c->out.h - h, rows = left < s->rows ? left : s->rows;
  float *to = out + n * c->out.stride_n + d * c->out.stride_d + h * c->out.stride_h,
        *sums = ring + pz_halves_few_slots(s) * pz_halves_few_slot(s),
        *results = sums + PZ_HALVES_FEW_ROWS * PZ_HALVES_FLOATS;
  pz_halves_few_source next = {.from = in + n * c->in.stride_n + d * c->in.stride_d +
                                       (h - c->pad[1]) * c->in.stride_h - c->pad[2] * c->in.stride_w,
                               .ring = ring,
                               .rows = rows + c->kernel[1] - 1};
  pz_halves_few_split_rows(s, &next, pz_halves_few_window(s));
  pz_halves_few_move(s, &next, pz_halves_few_window(s));
  PZ_ROLL for (int32_t r = 0; r < rows; r += PZ_HALVES_FEW_ROWS) {
    pz_v carried[PZ_HALVES_FEW_ROWS];
    PZ_UNROLL for (int32_t o = 0; o < PZ_HALVES_FEW_ROWS; ++o) carried[o] = pz_v_zero();
    PZ_ROLL for (int32_t t = 0; t < pz_halves_few_row_tiles(s); ++t) {
      pz_halves_few_multiply(s, t, r, weights, &next, sums);
      pz_halves_few_add(s, t, sums, carried, results);
    }
    pz_halves_few_move(s, &next, PZ_HALVES_FEW_ROWS);
    const int32_t made = rows - r < PZ_HALVES_FEW_ROWS ? rows - r : PZ_HALVES_FEW_ROWS;
    PZ_ROLL for (int32_t o = 0; o < made; ++o)
        pz_conv_few_end(c, results + o * pz_conv_few_row(c), bias, slope, to + (r + o) * c->out.stride_h);
  }
}

PZ_INLINE void pz_conv_halves_few(const pz_conv_halves_few_shape s, const float *in, const float *weights,
                                  const float *bias, const float *slope, float *out, float *scratch,
                                  int32_t worker, int32_t workers) {
  int64_t begin, end;
  pz_share((int64_t)s.conv.out.n * s.conv.out.d * pz_halves_few_strips(&s), worker, workers, &begin, &end);
  if (begin >= end) return;
  pz_halves_begin(pz_halves_few_weight_rows(&s));
  PZ_ROLL for (int64_t i = begin; i < end; ++i)
      pz_halves_few_strip(&s, i, in, weights, bias, slope, out, scratch);
  _tile_release();
}

#endif
