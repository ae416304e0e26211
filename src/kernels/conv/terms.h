/* terms.h: convolution of few plain maps by products of bfloat16 numbers on AMX tiles.
 *
 * Contract: terms_shape.h; weights packed by pack_terms.h; bias, base_scale, slope padded with zeros to whole blocks; out, base of block 16,
 * base may be the very storage of out. Reads `in` as far as the direct convolution would. Writes the inside of out; padding lanes
 * become zero. scratch: pz_terms_scratch floats of this worker's own, aligned to the vector. Each result is summed in one order, so any number of
 * workers and any strips give the same bits.
 *
 * Each factor is the sum of two or three bfloat16 numbers, each the nearest to what those before it leave; of three terms, which hold a float's 24
 * bits, six of the nine products are summed in single precision, smallest first, of two three of four (Henry, Tang, Heinecke 2019, "Leveraging the
 * bfloat16 artificial intelligence datatype for higher-precision computations": BFLOATx3, BFLOATx2). Errors: doc/algorithm-terms.md. Infinities,
 * and values that round to them, give NaN, in the results of up to 32 values' columns before those that see them too. */
#ifndef PZ_KERNELS_CONV_TERMS_H
#define PZ_KERNELS_CONV_TERMS_H

#include "kernels/conv/bf16.h"
#include "kernels/conv/epilogue.h"
#include "kernels/conv/terms_shape.h"
#include "kernels/isa/amx.h"
#include "kernels/isa/avx512.h"

/* ---- columns of inputs ---- */

/* A worker's columns, and how a row gets into them: of each line of a group the column that each value is of, and, for each new row, which are its
 * values. */
typedef struct pz_terms_columns {
  uint16_t *values;
  uint16_t *from;
  uint32_t *mask;
} pz_terms_columns;

PZ_INLINE void pz_terms_begin(const pz_conv_terms_shape *s, const pz_terms_columns *to) {
  const int32_t values = pz_terms_values(s), lines = pz_terms_lines(s), kh = s->conv.kernel[1];
  PZ_ROLL for (int32_t i = 0; i < values * lines; ++i) to->mask[i] = 0;
  PZ_ROLL for (int32_t i = 0; i < values * PZ_TERMS_GROUP; ++i) {
    const int32_t value = i % values;
    to->from[i] = (uint16_t)(i / values);
    if (value % kh == kh - 1)
      to->mask[i / PZ_TERMS_GROUP * lines + value / kh] |= (uint32_t)1 << i % PZ_TERMS_GROUP;
  }
}

PZ_INLINE void pz_terms_clear(const pz_conv_terms_shape *s, const pz_terms_columns *x) {
  PZ_ROLL for (int64_t i = 0; i < s->terms * pz_terms_term(s); i += PZ_TERMS_GROUP)
      pz_bf16s_store(x->values + i, pz_bf16s_zero());
}

/* The terms of 32 values, those behind the first `left` zero. */
PZ_INLINE void pz_terms_split(const pz_conv_terms_shape *s, const float *from, int32_t left,
                              pz_bf16s to[PZ_TERMS_MOST]) {
  const uint32_t there = left < PZ_TERMS_GROUP ? ((uint32_t)1 << left) - 1 : UINT32_MAX;
  pz_v low = pz_v_load_masked((uint16_t)there, from),
       high = pz_v_load_masked((uint16_t)(there >> 16), from + PZ_S);
  PZ_UNROLL for (int32_t t = 0; t < s->terms; ++t) {
    to[t] = pz_bf16s_nearest(low, high);
    low = low - pz_bf16s_low(to[t]), high = high - pz_bf16s_high(to[t]);
  }
}

enum { PZ_TERMS_AT_ONCE = 3 }; /* rows that are put into columns together */

/* Rows first .. first + PZ_TERMS_AT_ONCE - 1 of those that are new into a group of columns; the first ones move all values by one. */
PZ_INLINE void pz_terms_put(const pz_conv_terms_shape *s, const pz_terms_columns *x, int32_t first,
                            const float *const *rows, int32_t group, int32_t left) {
  const int32_t values = pz_terms_values(s), lines = pz_terms_lines(s), down = first == 0;
  pz_bf16s terms[PZ_TERMS_AT_ONCE][PZ_TERMS_MOST];
  PZ_UNROLL for (int32_t i = 0; i < PZ_TERMS_AT_ONCE; ++i) if (first + i < lines)
      pz_terms_split(s, rows[i], left, terms[i]);
  uint16_t *to = x->values + (int64_t)group * values * PZ_TERMS_GROUP;
  PZ_ROLL for (int32_t j = 0; j < values; ++j, to += PZ_TERMS_GROUP) {
    const pz_bf16s from = pz_bf16s_load(x->from + j * PZ_TERMS_GROUP);
    const uint32_t *mask = x->mask + j * lines + first;
    PZ_UNROLL for (int32_t t = 0; t < s->terms; ++t) {
      uint16_t *at = to + t * pz_terms_term(s);
      pz_bf16s z = pz_bf16s_loadu(at + down);
      PZ_UNROLL for (int32_t i = 0; i < PZ_TERMS_AT_ONCE; ++i) if (first + i < lines) z =
          pz_bf16s_pick(z, mask[i], from, terms[i][t]);
      pz_bf16s_store(at, z);
    }
  }
}

/* One row of each plane and map. in: at the row's first input, in the first plane of map 0. */
PZ_INLINE void pz_terms_put_row(const pz_conv_terms_shape *s, const pz_terms_columns *x, const float *in) {
  const int32_t lines = pz_terms_lines(s), kd = s->conv.kernel[0],
                size = s->conv.out.w + s->conv.kernel[2] - 1;
  PZ_ROLL for (int32_t g = 0; g < pz_terms_column_groups(s); ++g)
      PZ_ROLL for (int32_t first = 0; first < lines; first += PZ_TERMS_AT_ONCE) {
    const float *rows[PZ_TERMS_AT_ONCE];
    PZ_UNROLL for (int32_t i = 0; i < PZ_TERMS_AT_ONCE; ++i) rows[i] =
        in + (first + i) / kd * s->conv.in.stride_c + (first + i) % kd * s->conv.in.stride_d +
        g * PZ_TERMS_GROUP;
    pz_terms_put(s, x, first, rows, g, size - g * PZ_TERMS_GROUP);
  }
}

/* ---- results ---- */

/* Sums that are not finished: the first of their tiles' results, how many there are in the row from it on; first block of maps. */
typedef struct pz_terms_sums {
  const float *sums;
  int32_t left, block;
  int64_t out, base;
} pz_terms_sums;

/* Positions that are finished together, so many vectors. */
PZ_INLINE int32_t pz_terms_together(int32_t blocks) { return blocks > 2 ? 1 : 4 / blocks; }

/* Positions `at` and on of a tile, all blocks; those below are fetched, which gains a little where results go to level 3. sums: of the first
 * one; offsets of the tile's first result. */
PZ_INLINE void pz_terms_finish_some(const pz_conv_terms_shape *s, const pz_conv_ends *ends,
                                    const pz_terms_sums *x, int32_t blocks, int32_t at, int32_t left,
                                    const float *sums, int64_t to, int64_t from) {
  const pz_view *out = &s->conv.out, *base = &s->conv.base;
  const int32_t n = pz_terms_together(blocks), whole = out->w % n == 0;
  PZ_UNROLL for (int32_t i = 0; i < n; ++i) if (whole || at + i < left)
      PZ_UNROLL for (int32_t b = 0; b < blocks; ++b) {
    const int64_t result = to + (at + i) * out->stride_w + b * out->stride_c;
    if (!s->conv.stream) __builtin_prefetch(ends->out + result + out->stride_h, 1, 3);
    pz_conv_store_sum(&s->conv, ends, x->block + b, result,
                      from + (at + i) * base->stride_w + b * base->stride_c,
                      pz_v_load(sums + (b * PZ_TERMS_TILE + at + i) * PZ_S));
  }
}
/* Positions begin .. end - 1 of tile `tile` of a group, of those that are finished together. */
PZ_INLINE void pz_terms_finish(const pz_conv_terms_shape *s, const pz_conv_ends *ends, const pz_terms_sums *x,
                               int32_t blocks, int32_t tile, int32_t begin, int32_t end) {
  const int32_t n = pz_terms_together(blocks), left = x->left - tile * PZ_TERMS_TILE,
                last = end < left ? end : left;
  const float *sums = x->sums + tile * blocks * PZ_TERMS_FLOATS;
  const int64_t to = x->out + tile * PZ_TERMS_TILE * s->conv.out.stride_w,
                from = x->base + tile * PZ_TERMS_TILE * s->conv.base.stride_w;
  PZ_ROLL for (int32_t i = (begin + n - 1) / n * n; i < last; i += n)
      pz_terms_finish_some(s, ends, x, blocks, i, left, sums, to, from);
}
PZ_INLINE void pz_terms_finish_all(const pz_conv_terms_shape *s, const pz_conv_ends *ends, pz_terms_sums *x,
                                   int32_t blocks) {
  PZ_ROLL for (int32_t i = 0; i * PZ_TERMS_TILE < x->left; ++i)
      pz_terms_finish(s, ends, x, blocks, i, 0, PZ_TERMS_TILE);
  x->left = 0;
}

/* ---- products ---- */

/* Products of the inputs in register 4 or 5, `second`, with the weights of one block or two in 6 and 7, for the sums from c on. */
#define PZ_TERMS_TIMES(c, c2, x)                                                                             \
  PZ_TILE_MULTIPLY(c, x, 6);                                                                                 \
  if (two) PZ_TILE_MULTIPLY(c2, x, 7)
PZ_INLINE void pz_terms_times(int32_t c, int32_t two, int32_t second) {
  switch (2 * c + second) {
  case 0: PZ_TERMS_TIMES(0, 1, 4); break;
  case 1: PZ_TERMS_TIMES(0, 1, 5); break;
  case 2: PZ_TERMS_TIMES(1, 2, 4); break;
  case 3: PZ_TERMS_TIMES(1, 2, 5); break;
  case 4: PZ_TERMS_TIMES(2, 3, 4); break;
  case 5: PZ_TERMS_TIMES(2, 3, 5); break;
  case 6: PZ_TERMS_TIMES(3, 3, 4); break;
  default: PZ_TERMS_TIMES(3, 3, 5);
  }
}

/* Times that a tile's blocks, taken in twos, are multiplied by a term of inputs. */
PZ_INLINE int32_t pz_terms_turns(const pz_conv_terms_shape *s, int32_t blocks) {
  return (blocks + 1) / 2 * (s->terms + 1) * s->terms / 2;
}

/* A tile of positions at `in`, its step k: last terms of weights first, each with as many terms of inputs as count. Tile `tile` of the group, whose
 * sums are the registers from tile * blocks on; beside it that of the group before is finished. Register 4 has the first term of inputs, 5 the
 * second one or the third, which count with the first term of weights alone, in whichever order they are there. */
PZ_INLINE void pz_terms_step(const pz_conv_terms_shape *s, const uint16_t *in, int32_t k, int32_t blocks,
                             int32_t tile, const pz_bf16_pair *w, const pz_conv_ends *ends,
                             const pz_terms_sums *before) {
  const int32_t terms = s->terms, turns = pz_terms_turns(s, blocks), shares = pz_terms_steps(s) * turns;
  const int64_t stride = 2 * pz_terms_values(s), each = pz_terms_weight_tile(s), term = pz_terms_term(s);
  int32_t turn = k * turns, held = 1;
  PZ_TILE_LOAD_ROWS(4, in, stride);
  PZ_TILE_LOAD_ROWS(5, in + term, stride);
  PZ_UNROLL for (int32_t t = 0; t < terms; ++t) PZ_UNROLL for (int32_t b = 0; b < blocks; b += 2) {
    const int32_t two = b + 1 < blocks;
    PZ_TILE_LOAD(6, w + (t * blocks + b) * each);
    if (two) PZ_TILE_LOAD(7, w + (t * blocks + b + 1) * each);
    PZ_UNROLL for (int32_t i = 0; i <= t; ++i, ++turn) {
      if (i == 2) {
        held = 3 - held;
        PZ_TILE_LOAD_ROWS(5, in + held * term, stride);
      }
      pz_terms_times(tile * blocks + b, two, t > 0 && i != 1);
      pz_terms_finish(s, ends, before, blocks, tile, PZ_TERMS_TILE * turn / shares,
                      PZ_TERMS_TILE * (turn + 1) / shares);
    }
  }
}

/* A group of tiles from column `first` on, of so many blocks. */
PZ_INLINE void pz_terms_multiply(const pz_conv_terms_shape *s, const pz_terms_columns *x, int32_t first,
                                 int32_t blocks, const pz_bf16_pair *weights, const pz_conv_ends *ends,
                                 const pz_terms_sums *before, float *sums) {
  const int64_t tile = (int64_t)PZ_TERMS_TILE * pz_terms_values(s),
                step = s->terms * blocks * pz_terms_weight_tile(s);
  PZ_MEMORY_PIN();
  pz_tiles_zero_sums();
  PZ_UNROLL for (int32_t i = 0; i < pz_terms_beside(s); ++i) {
    const uint16_t *in = x->values + (int64_t)first * pz_terms_values(s) + i * tile;
    PZ_ROLL for (int32_t k = 0; k < pz_terms_steps(s); ++k)
        pz_terms_step(s, in + k * 2 * pz_terms_pairs(s), k, blocks, i, weights + k * step, ends, before);
  }
  pz_tiles_store_sums(sums);
  PZ_MEMORY_PIN();
}

/* ---- strips ---- */

/* Strip `unit`: of `blocks` blocks of maps from block `block` on. */
PZ_INLINE void pz_terms_strip(const pz_conv_terms_shape *s, int64_t unit, int32_t block, int32_t blocks,
                              const float *in, const pz_bf16_pair *weights, const pz_conv_ends *ends,
                              const pz_terms_columns *x, float *sums) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t strips = pz_terms_strips(s), h = (int32_t)(unit % strips) * s->rows,
                d = (int32_t)(unit / strips % c->out.d), n = (int32_t)(unit / strips / c->out.d),
                left = c->out.h - h, rows = left < s->rows ? left : s->rows,
                beside = pz_terms_beside(s) * PZ_TERMS_TILE;
  const float *from = in + n * c->in.stride_n + (d - c->pad[0]) * c->in.stride_d +
                      (h - c->pad[1]) * c->in.stride_h - c->pad[2];
  int64_t to = n * c->out.stride_n + d * c->out.stride_d + h * c->out.stride_h + block * c->out.stride_c,
          base =
              n * c->base.stride_n + d * c->base.stride_d + h * c->base.stride_h + block * c->base.stride_c;
  pz_terms_sums before = {.sums = sums};
  int32_t turn = 0;
  PZ_ROLL for (int32_t r = 0; r < c->kernel[1] - 1; ++r, from += c->in.stride_h) pz_terms_put_row(s, x, from);
  PZ_ROLL for (int32_t r = 0; r < rows;
               ++r, from += c->in.stride_h, to += c->out.stride_h, base += c->base.stride_h) {
    pz_terms_put_row(s, x, from);
    PZ_ROLL for (int32_t w = 0; w < c->out.w; w += beside) {
      float *made = sums + turn * PZ_TERMS_SUMS * PZ_TERMS_FLOATS;
      pz_terms_multiply(s, x, w, blocks, weights, ends, &before, made);
      before = (pz_terms_sums){.sums = made,
                               .left = c->out.w - w < beside ? c->out.w - w : beside,
                               .block = block,
                               .out = to + w * c->out.stride_w,
                               .base = base + w * c->base.stride_w};
      turn ^= 1;
    }
  }
  pz_terms_finish_all(s, ends, &before, blocks);
}

PZ_INLINE void pz_conv_terms(const pz_conv_terms_shape s, const float *in, const uint16_t *weights,
                             const float *bias, const float *base, const float *base_scale,
                             const float *slope, float *out, float *scratch, int32_t worker,
                             int32_t workers) {
  const pz_conv_ends ends = {bias, base, base_scale, slope, out, NULL};
  const int32_t all = pz_conv_outer_blocks(&s.conv), each = pz_terms_blocks(&s), groups = pz_terms_groups(&s),
                rest = all - (groups - 1) * each;
  const int64_t strips = (int64_t)s.conv.out.n * s.conv.out.d * pz_terms_strips(&s);
  float *from = scratch + s.terms * pz_terms_term_floats(&s), *mask = from + pz_terms_from_floats(&s),
        *sums = mask + pz_terms_mask_floats(&s);
  const pz_terms_columns columns = {(uint16_t *)scratch, (uint16_t *)from, (uint32_t *)mask};
  int64_t begin, end;
  pz_share(groups * strips, worker, workers, &begin, &end);
  if (begin >= end) return;
  pz_tiles_begin(pz_terms_pairs(&s));
  pz_terms_begin(&s, &columns);
  pz_terms_clear(&s, &columns);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const int32_t group = (int32_t)(i / strips), block = group * each;
    const pz_bf16_pair *w = (const pz_bf16_pair *)weights + block * pz_terms_block_weights(&s);
    if (rest == each || group + 1 < groups)
      pz_terms_strip(&s, i % strips, block, each, in, w, &ends, &columns, sums);
    else pz_terms_strip(&s, i % strips, block, rest, in, w, &ends, &columns, sums);
  }
  pz_tiles_end();
  if (s.conv.stream) pz_v_stream_end();
}

#endif
