/* bf16x2_narrow.h: convolution to few NCHW channels by products of bf16x2 on AMX tiles.
 *
 * Contract: shape_narrow.h; weights packed by pack_narrow.h; bias and slope padded with zeros to whole blocks. Writes the inside of out.
 * scratch: pz_bf16x2_narrow_scratch floats of this worker's own, aligned to the vector. Each result is summed in one order, (channels, kh) for
 * each kw, then kw, so any number of workers and any strips give the same bits. Error: bf16x2.h. Infinities, and values that round to
 * them, give NaN in a row's results that see their column. */
#ifndef PZ_KERNELS_CONV_BF16X2_BF16X2_NARROW_H
#define PZ_KERNELS_CONV_BF16X2_BF16X2_NARROW_H

#include "kernels/conv/narrow.h"
#include "kernels/conv_bf16x2/bf16x2.h"
#include "kernels/conv_bf16x2/shape_narrow.h"

typedef struct pz_bf16x2_narrow_strip {
  int32_t n, d, h, rows;
} pz_bf16x2_narrow_strip;

PZ_INLINE pz_bf16x2_narrow_strip pz_bf16x2_narrow_strip_at(const pz_conv_bf16x2_narrow_shape *s, int64_t i) {
  const int32_t strips = pz_bf16x2_narrow_strips(s), h = (int32_t)(i % strips) * s->rows,
                left = s->conv.out.h - h;
  return (pz_bf16x2_narrow_strip){.h = h,
                                  .d = (int32_t)(i / strips % s->conv.out.d),
                                  .n = (int32_t)(i / strips / s->conv.out.d),
                                  .rows = left < s->rows ? left : s->rows};
}

/* Rows of inputs on their way into the ring: those of strips `unit` .. units - 1, a strip behind the other, from row `row` of the first of them
 * on. in: what the first result reads first. ahead: the rows that are split beside products, to slot `slot` and on; NULL: there is none. */
typedef struct pz_bf16x2_narrow_source {
  const float *in, *ahead[PZ_BF16X2_NARROW_ROWS];
  float *ring;
  int64_t unit, units;
  int32_t row, slot;
} pz_bf16x2_narrow_source;

/* The first column of the next row; NULL behind the last. */
PZ_INLINE const float *pz_bf16x2_narrow_next(const pz_conv_bf16x2_narrow_shape *s,
                                             pz_bf16x2_narrow_source *x) {
  const pz_view *in = &s->conv.in;
  if (x->unit >= x->units) return NULL;
  const pz_bf16x2_narrow_strip t = pz_bf16x2_narrow_strip_at(s, x->unit);
  const float *from = x->in + t.n * in->stride_n + t.d * in->stride_d + (t.h + x->row) * in->stride_h;
  if (++x->row == pz_bf16x2_narrow_rows(s, t.rows)) x->row = 0, ++x->unit;
  return from;
}

/* Columns `first` .. end - 1, as far as there are any, of a row, to slot `ahead` from the next one on, of a pair of blocks or of the last one. */
PZ_INLINE void pz_bf16x2_narrow_split_some(const pz_conv_bf16x2_narrow_shape *s,
                                           const pz_bf16x2_narrow_source *x, const float *from, int32_t pair,
                                           int32_t ahead, int32_t first, int32_t end) {
  const int64_t piece = pz_bf16x2_narrow_piece(s), block = s->conv.in.stride_c;
  const int32_t columns = pz_bf16x2_narrow_columns(s), slot = (x->slot + ahead) % pz_bf16x2_narrow_slots(s);
  const pz_view *in = &s->conv.in;
  float *to = x->ring + slot * pz_bf16x2_narrow_slot(s) + 2 * pair * piece + first * PZ_BF16X2_TILE;
  if (end > columns) end = columns;
  if (!from) return;
  from += 2 * pair * block + first * in->stride_w;
  PZ_ROLL for (int32_t i = first; i < end; ++i, from += in->stride_w, to += PZ_BF16X2_TILE) {
    if (2 * pair + 1 < pz_bf16x2_narrow_blocks(s))
      pz_bf16x2_store_pair(pz_point_load(in, 2 * pair, from), pz_point_load(in, 2 * pair + 1, from + block),
                           to, piece);
    else pz_bf16x2_store_single(pz_point_load(in, 2 * pair, from), to);
  }
}
/* Positions begin .. end - 1 of tile t of the rows ahead, one row behind the other. */
PZ_INLINE void pz_bf16x2_narrow_split(const pz_conv_bf16x2_narrow_shape *s, const pz_bf16x2_narrow_source *x,
                                      int32_t pair, int32_t t, int32_t begin, int32_t end) {
  PZ_UNROLL for (int32_t row = 0; row < PZ_BF16X2_NARROW_ROWS; ++row) {
    const int32_t before = row * PZ_BF16X2_TILE, first = begin < before ? before : begin,
                  last = end > before + PZ_BF16X2_TILE ? before + PZ_BF16X2_TILE : end;
    if (first < last)
      pz_bf16x2_narrow_split_some(s, x, x->ahead[row], pair, row, t * PZ_BF16X2_TILE + first - before,
                                  t * PZ_BF16X2_TILE + last - before);
  }
}
/* The next row, nothing beside it. */
PZ_INLINE void pz_bf16x2_narrow_split_row(const pz_conv_bf16x2_narrow_shape *s, pz_bf16x2_narrow_source *x) {
  const float *from = pz_bf16x2_narrow_next(s, x);
  PZ_ROLL for (int32_t pair = 0; 2 * pair < pz_bf16x2_narrow_blocks(s); ++pair)
      pz_bf16x2_narrow_split_some(s, x, from, pair, 0, 0, pz_bf16x2_narrow_columns(s));
  x->slot = (x->slot + 1) % pz_bf16x2_narrow_slots(s);
}

/* Products of the inputs in registers 4 and, of a pair of blocks, 5 for row o of results. w: of the tap along the height, in tiles of so
 * many pairs. */
#define PZ_BF16X2_NARROW_PRODUCTS(o)                                                                         \
  PZ_TILE_MULTIPLY(o, 4, 6);                                                                                 \
  PZ_TILE_MULTIPLY(o, 4, 7);                                                                                 \
  if (pair) PZ_TILE_MULTIPLY(o, 5, 7)
PZ_INLINE void pz_bf16x2_narrow_products(int32_t o, int32_t pair, const pz_bf16_pair *w, int32_t tile) {
  PZ_TILE_LOAD(6, w);
  PZ_TILE_LOAD(7, w + tile);
  switch (o) {
  case 0: PZ_BF16X2_NARROW_PRODUCTS(0); break;
  case 1: PZ_BF16X2_NARROW_PRODUCTS(1); break;
  case 2: PZ_BF16X2_NARROW_PRODUCTS(2); break;
  default: PZ_BF16X2_NARROW_PRODUCTS(3);
  }
}

/* Tile `t` of four rows of results, the first `made` of which are wanted; the first reads slot `slot` of the ring and on. Beside them the rows ahead
 * are split. */
PZ_INLINE void pz_bf16x2_narrow_multiply(const pz_conv_bf16x2_narrow_shape *s, int32_t t, int32_t slot,
                                         int32_t made, const pz_bf16_pair *weights,
                                         const pz_bf16x2_narrow_source *next, float *sums) {
  const int32_t kh = s->conv.kernel[1], blocks = pz_bf16x2_narrow_blocks(s),
                window = pz_bf16x2_narrow_window(s), positions = PZ_BF16X2_NARROW_ROWS * PZ_BF16X2_TILE,
                shares = PZ_BF16X2_NARROW_ROWS * kh;
  const int64_t piece = pz_bf16x2_narrow_piece(s), each = 2 * pz_bf16x2_narrow_weight_tile(s),
                tap = (blocks + 1) / 2 * each;
  PZ_MEMORY_PIN();
  pz_tiles_zero_sums();
  PZ_ROLL for (int32_t c = 0; 2 * c < blocks; ++c) {
    const int32_t pair = 2 * c + 1 < blocks;
    PZ_UNROLL for (int32_t i = 0; i < window; ++i) {
      const float *x = next->ring + (slot + i) % pz_bf16x2_narrow_slots(s) * pz_bf16x2_narrow_slot(s) +
                       2 * c * piece + t * PZ_BF16X2_FLOATS;
      PZ_TILE_LOAD(4, x);
      if (pair) PZ_TILE_LOAD(5, x + piece);
      PZ_UNROLL for (int32_t o = 0; o < PZ_BF16X2_NARROW_ROWS; ++o) if (i >= o && i - o < kh) {
        const int32_t share = o * kh + i - o;
        if (o < made)
          pz_bf16x2_narrow_products(o, pair, weights + (i - o) * tap + c * each,
                                    pz_bf16x2_narrow_weight_tile(s));
        pz_bf16x2_narrow_split(s, next, c, t, positions * share / shares, positions * (share + 1) / shares);
      }
    }
  }
  pz_tiles_store_sums(sums);
  PZ_MEMORY_PIN();
}

/* Sums of tile t become results. carried: of each row, what the columns before have summed up, as in winograd_1d/winograd_1d_h.h. */
PZ_INLINE void pz_bf16x2_narrow_add(const pz_conv_bf16x2_narrow_shape *s, int32_t t, const float *sums,
                                    pz_v carried[PZ_BF16X2_NARROW_ROWS], float *results) {
  const int32_t first = t * PZ_BF16X2_TILE, left = pz_bf16x2_narrow_columns(s) - first,
                count = left < PZ_BF16X2_TILE ? left : PZ_BF16X2_TILE, wait = s->conv.kernel[2] - 1;
  const int64_t row = pz_conv_narrow_row(&s->conv);
  pz_v z[PZ_BF16X2_NARROW_ROWS];
  PZ_UNROLL for (int32_t o = 0; o < PZ_BF16X2_NARROW_ROWS; ++o) z[o] = carried[o];
  PZ_ROLL for (int32_t i = 0; i < count; ++i, sums += PZ_S) {
    PZ_UNROLL for (int32_t o = 0; o < PZ_BF16X2_NARROW_ROWS; ++o) z[o] =
        pz_v_load(sums + o * PZ_BF16X2_FLOATS) + pz_conv_narrow_pass_on(&s->conv, z[o]);
    if (first + i >= wait)
      PZ_UNROLL for (int32_t o = 0; o < PZ_BF16X2_NARROW_ROWS; ++o)
          pz_v_store_four(results + o * row + (first + i - wait) * PZ_CONV_NARROW, z[o]);
  }
  PZ_UNROLL for (int32_t o = 0; o < PZ_BF16X2_NARROW_ROWS; ++o) carried[o] = z[o];
}

/* Strip t, whose first row is in slot `first` of the ring, *ready rows from there on being split. */
PZ_INLINE void pz_bf16x2_narrow_make(const pz_conv_bf16x2_narrow_shape *s, const pz_bf16x2_narrow_strip *t,
                                     int32_t first, int32_t *ready, const pz_bf16_pair *weights,
                                     const float *bias, const float *slope, float *out,
                                     pz_bf16x2_narrow_source *next) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t slots = pz_bf16x2_narrow_slots(s);
  float *to = out + t->n * c->out.stride_n + t->d * c->out.stride_d + t->h * c->out.stride_h,
        *sums = next->ring + slots * pz_bf16x2_narrow_slot(s),
        *results = sums + PZ_BF16X2_NARROW_ROWS * PZ_BF16X2_FLOATS;
  PZ_ROLL for (; *ready < pz_bf16x2_narrow_window(s); ++*ready) pz_bf16x2_narrow_split_row(s, next);
  PZ_ROLL for (int32_t r = 0; r < t->rows; r += PZ_BF16X2_NARROW_ROWS) {
    const int32_t made = t->rows - r < PZ_BF16X2_NARROW_ROWS ? t->rows - r : PZ_BF16X2_NARROW_ROWS,
                  free = r + slots - *ready,
                  ahead = free < PZ_BF16X2_NARROW_ROWS ? free : PZ_BF16X2_NARROW_ROWS;
    pz_v carried[PZ_BF16X2_NARROW_ROWS];
    PZ_UNROLL for (int32_t o = 0; o < PZ_BF16X2_NARROW_ROWS; ++o) {
      carried[o] = pz_v_zero();
      next->ahead[o] = o < ahead ? pz_bf16x2_narrow_next(s, next) : NULL;
    }
    PZ_ROLL for (int32_t i = 0; i < pz_bf16x2_narrow_row_tiles(s); ++i) {
      pz_bf16x2_narrow_multiply(s, i, first + r, made, weights, next, sums);
      pz_bf16x2_narrow_add(s, i, sums, carried, results);
    }
    *ready += ahead, next->slot = (next->slot + ahead) % slots;
    PZ_ROLL for (int32_t o = 0; o < made; ++o) pz_conv_narrow_end(
        c, results + o * pz_conv_narrow_row(c), bias, slope, to + (r + o) * c->out.stride_h);
  }
}

PZ_INLINE void pz_conv_bf16x2_narrow(const pz_conv_bf16x2_narrow_shape s, const float *in,
                                     const uint16_t *weights, const float *bias, const float *slope,
                                     float *out, float *scratch, int32_t worker, int32_t workers) {
  const pz_conv_direct_shape *c = &s.conv;
  int32_t first = 0, ready = 0;
  int64_t begin, end;
  pz_share((int64_t)s.conv.out.n * s.conv.out.d * pz_bf16x2_narrow_strips(&s), worker, workers, &begin, &end);
  if (begin >= end) return;
  pz_tiles_begin(pz_bf16x2_narrow_weight_rows(&s));
  pz_bf16x2_narrow_source next = {.in = in - c->pad[1] * c->in.stride_h - c->pad[2] * c->in.stride_w,
                                  .ring = scratch,
                                  .unit = begin,
                                  .units = end};
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const pz_bf16x2_narrow_strip t = pz_bf16x2_narrow_strip_at(&s, i);
    const int32_t rows = pz_bf16x2_narrow_rows(&s, t.rows);
    pz_bf16x2_narrow_make(&s, &t, first, &ready, (const pz_bf16_pair *)weights, bias, slope, out, &next);
    first = (first + rows) % pz_bf16x2_narrow_slots(&s), ready -= rows;
  }
  pz_tiles_end();
}

#endif
