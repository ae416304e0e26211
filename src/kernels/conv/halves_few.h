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

typedef struct pz_halves_few_strip {
  int32_t n, d, h, rows;
} pz_halves_few_strip;

PZ_INLINE pz_halves_few_strip pz_halves_few_strip_at(const pz_conv_halves_few_shape *s, int64_t i) {
  const int32_t strips = pz_halves_few_strips(s), h = (int32_t)(i % strips) * s->rows,
                left = s->conv.out.h - h;
  return (pz_halves_few_strip){.h = h,
                               .d = (int32_t)(i / strips % s->conv.out.d),
                               .n = (int32_t)(i / strips / s->conv.out.d),
                               .rows = left < s->rows ? left : s->rows};
}

/* Rows of inputs on their way into the ring: those of strips `unit` .. units - 1, a strip behind the other, from row `row` of the first of them
 * on. in: what the first result reads first. ahead: the rows that are split beside products, to slot `slot` and on; NULL: there is none. */
typedef struct pz_halves_few_source {
  const float *in, *ahead[PZ_HALVES_FEW_ROWS];
  float *ring;
  int64_t unit, units;
  int32_t row, slot;
} pz_halves_few_source;

/* The first column of the next row; NULL behind the last. */
PZ_INLINE const float *pz_halves_few_next(const pz_conv_halves_few_shape *s, pz_halves_few_source *x) {
  const pz_view *in = &s->conv.in;
  if (x->unit >= x->units) return NULL;
  const pz_halves_few_strip t = pz_halves_few_strip_at(s, x->unit);
  const float *from = x->in + t.n * in->stride_n + t.d * in->stride_d + (t.h + x->row) * in->stride_h;
  if (++x->row == pz_halves_few_rows(s, t.rows)) x->row = 0, ++x->unit;
  return from;
}

/* Columns `first` .. end - 1, as far as there are any, of a row, to slot `ahead` from the next one on, of a pair of blocks or of the last one. */
PZ_INLINE void pz_halves_few_split_some(const pz_conv_halves_few_shape *s, const pz_halves_few_source *x,
                                        const float *from, int32_t pair, int32_t ahead, int32_t first,
                                        int32_t end) {
  const int64_t piece = pz_halves_few_piece(s), block = s->conv.in.stride_c;
  const int32_t columns = pz_halves_few_columns(s), slot = (x->slot + ahead) % pz_halves_few_slots(s);
  const pz_view *in = &s->conv.in;
  float *to = x->ring + slot * pz_halves_few_slot(s) + 2 * pair * piece + first * PZ_HALVES_TILE;
  if (end > columns) end = columns;
  if (!from) return;
  from += 2 * pair * block + first * in->stride_w;
  PZ_ROLL for (int32_t i = first; i < end; ++i, from += in->stride_w, to += PZ_HALVES_TILE) {
    if (2 * pair + 1 < pz_halves_few_blocks(s))
      pz_halves_store_pair(pz_point_load(in, 2 * pair, from), pz_point_load(in, 2 * pair + 1, from + block),
                           to, piece);
    else pz_halves_store_single(pz_point_load(in, 2 * pair, from), to);
  }
}
/* Positions begin .. end - 1 of tile t of the rows ahead, one row behind the other. */
PZ_INLINE void pz_halves_few_split(const pz_conv_halves_few_shape *s, const pz_halves_few_source *x,
                                   int32_t pair, int32_t t, int32_t begin, int32_t end) {
  PZ_UNROLL for (int32_t row = 0; row < PZ_HALVES_FEW_ROWS; ++row) {
    const int32_t before = row * PZ_HALVES_TILE, first = begin < before ? before : begin,
                  last = end > before + PZ_HALVES_TILE ? before + PZ_HALVES_TILE : end;
    if (first < last)
      pz_halves_few_split_some(s, x, x->ahead[row], pair, row, t * PZ_HALVES_TILE + first - before,
                               t * PZ_HALVES_TILE + last - before);
  }
}
/* The next row, nothing beside it. */
PZ_INLINE void pz_halves_few_split_row(const pz_conv_halves_few_shape *s, pz_halves_few_source *x) {
  const float *from = pz_halves_few_next(s, x);
  PZ_ROLL for (int32_t pair = 0; 2 * pair < pz_halves_few_blocks(s); ++pair)
      pz_halves_few_split_some(s, x, from, pair, 0, 0, pz_halves_few_columns(s));
  x->slot = (x->slot + 1) % pz_halves_few_slots(s);
}

/* Products of the inputs in registers 4 and, of a pair of blocks, 5 for row o of results. w: of the tap along the height, in tiles of so
 * many pairs. */
#define PZ_HALVES_FEW_PRODUCTS(o)                                                                            \
  PZ_TILE_MULTIPLY(o, 4, 6);                                                                                 \
  PZ_TILE_MULTIPLY(o, 4, 7);                                                                                 \
  if (pair) PZ_TILE_MULTIPLY(o, 5, 7)
PZ_INLINE void pz_halves_few_products(int32_t o, int32_t pair, const pz_bf16_pair *w, int32_t tile) {
  PZ_TILE_LOAD(6, w);
  PZ_TILE_LOAD(7, w + tile);
  switch (o) {
  case 0: PZ_HALVES_FEW_PRODUCTS(0); break;
  case 1: PZ_HALVES_FEW_PRODUCTS(1); break;
  case 2: PZ_HALVES_FEW_PRODUCTS(2); break;
  default: PZ_HALVES_FEW_PRODUCTS(3);
  }
}

/* Tile `t` of four rows of results, the first `made` of which are wanted; the first reads slot `slot` of the ring and on. Beside them the rows ahead
 * are split. */
PZ_INLINE void pz_halves_few_multiply(const pz_conv_halves_few_shape *s, int32_t t, int32_t slot,
                                      int32_t made, const pz_bf16_pair *weights,
                                      const pz_halves_few_source *next, float *sums) {
  const int32_t kh = s->conv.kernel[1], blocks = pz_halves_few_blocks(s), window = pz_halves_few_window(s),
                positions = PZ_HALVES_FEW_ROWS * PZ_HALVES_TILE, shares = PZ_HALVES_FEW_ROWS * kh;
  const int64_t piece = pz_halves_few_piece(s), each = 2 * pz_halves_few_weight_tile(s),
                tap = (blocks + 1) / 2 * each;
  PZ_MEMORY_PIN();
  pz_tiles_zero_sums();
  PZ_ROLL for (int32_t c = 0; 2 * c < blocks; ++c) {
    const int32_t pair = 2 * c + 1 < blocks;
    PZ_UNROLL for (int32_t i = 0; i < window; ++i) {
      const float *x = next->ring + (slot + i) % pz_halves_few_slots(s) * pz_halves_few_slot(s) +
                       2 * c * piece + t * PZ_HALVES_FLOATS;
      PZ_TILE_LOAD(4, x);
      if (pair) PZ_TILE_LOAD(5, x + piece);
      PZ_UNROLL for (int32_t o = 0; o < PZ_HALVES_FEW_ROWS; ++o) if (i >= o && i - o < kh) {
        const int32_t share = o * kh + i - o;
        if (o < made)
          pz_halves_few_products(o, pair, weights + (i - o) * tap + c * each, pz_halves_few_weight_tile(s));
        pz_halves_few_split(s, next, c, t, positions * share / shares, positions * (share + 1) / shares);
      }
    }
  }
  pz_tiles_store_sums(sums);
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

/* Strip t, whose first row is in slot `first` of the ring, *ready rows from there on being split. */
PZ_INLINE void pz_halves_few_make(const pz_conv_halves_few_shape *s, const pz_halves_few_strip *t,
                                  int32_t first, int32_t *ready, const pz_bf16_pair *weights,
                                  const float *bias, const float *slope, float *out,
                                  pz_halves_few_source *next) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t slots = pz_halves_few_slots(s);
  float *to = out + t->n * c->out.stride_n + t->d * c->out.stride_d + t->h * c->out.stride_h,
        *sums = next->ring + slots * pz_halves_few_slot(s),
        *results = sums + PZ_HALVES_FEW_ROWS * PZ_HALVES_FLOATS;
  PZ_ROLL for (; *ready < pz_halves_few_window(s); ++*ready) pz_halves_few_split_row(s, next);
  PZ_ROLL for (int32_t r = 0; r < t->rows; r += PZ_HALVES_FEW_ROWS) {
    const int32_t made = t->rows - r < PZ_HALVES_FEW_ROWS ? t->rows - r : PZ_HALVES_FEW_ROWS,
                  free = r + slots - *ready, ahead = free < PZ_HALVES_FEW_ROWS ? free : PZ_HALVES_FEW_ROWS;
    pz_v carried[PZ_HALVES_FEW_ROWS];
    PZ_UNROLL for (int32_t o = 0; o < PZ_HALVES_FEW_ROWS; ++o) {
      carried[o] = pz_v_zero();
      next->ahead[o] = o < ahead ? pz_halves_few_next(s, next) : NULL;
    }
    PZ_ROLL for (int32_t i = 0; i < pz_halves_few_row_tiles(s); ++i) {
      pz_halves_few_multiply(s, i, first + r, made, weights, next, sums);
      pz_halves_few_add(s, i, sums, carried, results);
    }
    *ready += ahead, next->slot = (next->slot + ahead) % slots;
    PZ_ROLL for (int32_t o = 0; o < made; ++o)
        pz_conv_few_end(c, results + o * pz_conv_few_row(c), bias, slope, to + (r + o) * c->out.stride_h);
  }
}

PZ_INLINE void pz_conv_halves_few(const pz_conv_halves_few_shape s, const float *in, const uint16_t *weights,
                                  const float *bias, const float *slope, float *out, float *scratch,
                                  int32_t worker, int32_t workers) {
  const pz_conv_direct_shape *c = &s.conv;
  int32_t first = 0, ready = 0;
  int64_t begin, end;
  pz_share((int64_t)s.conv.out.n * s.conv.out.d * pz_halves_few_strips(&s), worker, workers, &begin, &end);
  if (begin >= end) return;
  pz_tiles_begin(pz_halves_few_weight_rows(&s));
  pz_halves_few_source next = {.in = in - c->pad[1] * c->in.stride_h - c->pad[2] * c->in.stride_w,
                               .ring = scratch,
                               .unit = begin,
                               .units = end};
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const pz_halves_few_strip t = pz_halves_few_strip_at(&s, i);
    const int32_t rows = pz_halves_few_rows(&s, t.rows);
    pz_halves_few_make(&s, &t, first, &ready, (const pz_bf16_pair *)weights, bias, slope, out, &next);
    first = (first + rows) % pz_halves_few_slots(&s), ready -= rows;
  }
  pz_tiles_end();
}

#endif
