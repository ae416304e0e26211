/* bf16x3.h: convolution of few NCHW channels by products of bfloat16 numbers on AMX tiles.
 *
 * Contract: shape.h; weights packed by pack.h; bias, residual_scale, slope padded with zeros to whole blocks; out, residual of block 16,
 * residual may be the very storage of out. Reads `in` as far as the direct convolution would. Writes the inside of out; padding lanes
 * become zero. scratch: pz_bf16x3_scratch floats of this worker's own, aligned to the vector. Each result is summed in one order, so any number of
 * workers and any strips give the same bits.
 *
 * Each factor is the sum of two or three bfloat16 numbers, each the nearest to what those before it leave; of three terms, which hold a float's 24
 * bits, six of the nine products are summed in single precision, smallest first, of two three of four (Henry, Tang, Heinecke 2019, "Leveraging the
 * bfloat16 artificial intelligence datatype for higher-precision computations": BFLOATx3, BFLOATx2). Errors: doc/algorithm-bf16x3.md. Infinities,
 * and values that round to them, give NaN, in the results of up to 32 values' columns before those that see them too. */
#ifndef PZ_KERNELS_CONV_BF16X3_BF16X3_H
#define PZ_KERNELS_CONV_BF16X3_BF16X3_H

#include "kernels/conv/bf16.h"
#include "kernels/conv/epilogue.h"
#include "kernels/conv_bf16x3/shape.h"
#include "kernels/isa/amx.h"
#include "kernels/isa/avx512.h"

/* ---- columns of inputs ---- */

/* A worker's columns, and how a row gets into them: of each line of a group the column that each value is of, and, for each new row, which are its
 * values. */
typedef struct pz_bf16x3_columns {
  uint16_t *values;
  uint16_t *from;
  uint32_t *mask;
} pz_bf16x3_columns;

PZ_INLINE void pz_bf16x3_begin(const pz_conv_bf16x3_shape *s, const pz_bf16x3_columns *to) {
  const int32_t values = pz_bf16x3_values(s), lines = pz_bf16x3_lines(s), kh = s->conv.kernel[1];
  PZ_ROLL for (int32_t i = 0; i < values * lines; ++i) to->mask[i] = 0;
  PZ_ROLL for (int32_t i = 0; i < values * PZ_BF16X3_GROUP; ++i) {
    const int32_t value = i % values;
    to->from[i] = (uint16_t)(i / values);
    if (value % kh == kh - 1)
      to->mask[i / PZ_BF16X3_GROUP * lines + value / kh] |= (uint32_t)1 << i % PZ_BF16X3_GROUP;
  }
}

PZ_INLINE void pz_bf16x3_clear(const pz_conv_bf16x3_shape *s, const pz_bf16x3_columns *x) {
  PZ_ROLL for (int64_t i = 0; i < s->terms * pz_bf16x3_term(s); i += PZ_BF16X3_GROUP)
      pz_bf16s_store(x->values + i, pz_bf16s_zero());
}

/* The terms of 32 values, those behind the first `left` zero. */
PZ_INLINE void pz_bf16x3_split(const pz_conv_bf16x3_shape *s, const float *from, int32_t left,
                               pz_bf16s to[PZ_BF16X3_MOST]) {
  const uint32_t there = left < PZ_BF16X3_GROUP ? ((uint32_t)1 << left) - 1 : UINT32_MAX;
  pz_v low = pz_v_load_masked((uint16_t)there, from),
       high = pz_v_load_masked((uint16_t)(there >> 16), from + PZ_S);
  PZ_UNROLL for (int32_t t = 0; t < s->terms; ++t) {
    to[t] = pz_bf16s_nearest(low, high);
    low = low - pz_bf16s_low(to[t]), high = high - pz_bf16s_high(to[t]);
  }
}

enum { PZ_BF16X3_AT_ONCE = 3 }; /* rows that are put into columns together */

/* Rows first .. first + PZ_BF16X3_AT_ONCE - 1 of those that are new into a group of columns; the first ones move all values by one. */
PZ_INLINE void pz_bf16x3_put(const pz_conv_bf16x3_shape *s, const pz_bf16x3_columns *x, int32_t first,
                             const float *const *rows, int32_t group, int32_t left) {
  const int32_t values = pz_bf16x3_values(s), lines = pz_bf16x3_lines(s), down = first == 0;
  pz_bf16s terms[PZ_BF16X3_AT_ONCE][PZ_BF16X3_MOST];
  PZ_UNROLL for (int32_t i = 0; i < PZ_BF16X3_AT_ONCE; ++i) if (first + i < lines)
      pz_bf16x3_split(s, rows[i], left, terms[i]);
  uint16_t *to = x->values + (int64_t)group * values * PZ_BF16X3_GROUP;
  PZ_ROLL for (int32_t j = 0; j < values; ++j, to += PZ_BF16X3_GROUP) {
    const pz_bf16s from = pz_bf16s_load(x->from + j * PZ_BF16X3_GROUP);
    const uint32_t *mask = x->mask + j * lines + first;
    PZ_UNROLL for (int32_t t = 0; t < s->terms; ++t) {
      uint16_t *at = to + t * pz_bf16x3_term(s);
      pz_bf16s z = pz_bf16s_loadu(at + down);
      PZ_UNROLL for (int32_t i = 0; i < PZ_BF16X3_AT_ONCE; ++i) if (first + i < lines) z =
          pz_bf16s_pick(z, mask[i], from, terms[i][t]);
      pz_bf16s_store(at, z);
    }
  }
}

/* One row of each plane and channel. in: at the row's first input, in the first plane of channel 0. */
PZ_INLINE void pz_bf16x3_put_row(const pz_conv_bf16x3_shape *s, const pz_bf16x3_columns *x, const float *in) {
  const int32_t lines = pz_bf16x3_lines(s), kd = s->conv.kernel[0],
                size = s->conv.out.w + s->conv.kernel[2] - 1;
  PZ_ROLL for (int32_t g = 0; g < pz_bf16x3_column_groups(s); ++g)
      PZ_ROLL for (int32_t first = 0; first < lines; first += PZ_BF16X3_AT_ONCE) {
    const float *rows[PZ_BF16X3_AT_ONCE];
    PZ_UNROLL for (int32_t i = 0; i < PZ_BF16X3_AT_ONCE; ++i) rows[i] =
        in + (first + i) / kd * s->conv.in.stride_c + (first + i) % kd * s->conv.in.stride_d +
        g * PZ_BF16X3_GROUP;
    pz_bf16x3_put(s, x, first, rows, g, size - g * PZ_BF16X3_GROUP);
  }
}

/* ---- results ---- */

/* Sums that are not finished: the first of their tiles' results, how many there are in the row from it on; first block of channels. */
typedef struct pz_bf16x3_sums {
  const float *sums;
  int32_t left, block;
  int64_t out, residual;
} pz_bf16x3_sums;

/* Positions that are finished together, so many vectors. */
PZ_INLINE int32_t pz_bf16x3_together(int32_t blocks) { return blocks > 2 ? 1 : 4 / blocks; }

/* Positions `at` and on of a tile, all blocks; those below are fetched, which gains a little where results go to level 3. sums: of the first
 * one; offsets of the tile's first result. */
PZ_INLINE void pz_bf16x3_finish_some(const pz_conv_bf16x3_shape *s, const pz_conv_epilogue *epilogue,
                                     const pz_bf16x3_sums *x, int32_t blocks, int32_t at, int32_t left,
                                     const float *sums, int64_t to, int64_t from) {
  const pz_view *out = &s->conv.out, *residual = &s->conv.residual;
  const int32_t n = pz_bf16x3_together(blocks), whole = out->w % n == 0;
  PZ_UNROLL for (int32_t i = 0; i < n; ++i) if (whole || at + i < left)
      PZ_UNROLL for (int32_t b = 0; b < blocks; ++b) {
    const int64_t result = to + (at + i) * out->stride_w + b * out->stride_c;
    if (!s->conv.stream) __builtin_prefetch(epilogue->out + result + out->stride_h, 1, 3);
    pz_conv_store_sum(&s->conv, epilogue, x->block + b, result,
                      from + (at + i) * residual->stride_w + b * residual->stride_c,
                      pz_v_load(sums + (b * PZ_BF16X3_TILE + at + i) * PZ_S));
  }
}
/* Positions begin .. end - 1 of tile `tile` of a group, of those that are finished together. */
PZ_INLINE void pz_bf16x3_finish(const pz_conv_bf16x3_shape *s, const pz_conv_epilogue *epilogue,
                                const pz_bf16x3_sums *x, int32_t blocks, int32_t tile, int32_t begin,
                                int32_t end) {
  const int32_t n = pz_bf16x3_together(blocks), left = x->left - tile * PZ_BF16X3_TILE,
                last = end < left ? end : left;
  const float *sums = x->sums + tile * blocks * PZ_BF16X3_FLOATS;
  const int64_t to = x->out + tile * PZ_BF16X3_TILE * s->conv.out.stride_w,
                from = x->residual + tile * PZ_BF16X3_TILE * s->conv.residual.stride_w;
  PZ_ROLL for (int32_t i = (begin + n - 1) / n * n; i < last; i += n)
      pz_bf16x3_finish_some(s, epilogue, x, blocks, i, left, sums, to, from);
}
PZ_INLINE void pz_bf16x3_finish_all(const pz_conv_bf16x3_shape *s, const pz_conv_epilogue *epilogue,
                                    pz_bf16x3_sums *x, int32_t blocks) {
  PZ_ROLL for (int32_t i = 0; i * PZ_BF16X3_TILE < x->left; ++i)
      pz_bf16x3_finish(s, epilogue, x, blocks, i, 0, PZ_BF16X3_TILE);
  x->left = 0;
}

/* ---- products ---- */

/* Products of the inputs in register 4 or 5, `second`, with the weights of one block or two in 6 and 7, for the sums from c on. */
#define PZ_BF16X3_TIMES(c, c2, x)                                                                            \
  PZ_TILE_MULTIPLY(c, x, 6);                                                                                 \
  if (two) PZ_TILE_MULTIPLY(c2, x, 7)
PZ_INLINE void pz_bf16x3_times(int32_t c, int32_t two, int32_t second) {
  switch (2 * c + second) {
  case 0: PZ_BF16X3_TIMES(0, 1, 4); break;
  case 1: PZ_BF16X3_TIMES(0, 1, 5); break;
  case 2: PZ_BF16X3_TIMES(1, 2, 4); break;
  case 3: PZ_BF16X3_TIMES(1, 2, 5); break;
  case 4: PZ_BF16X3_TIMES(2, 3, 4); break;
  case 5: PZ_BF16X3_TIMES(2, 3, 5); break;
  case 6: PZ_BF16X3_TIMES(3, 3, 4); break;
  default: PZ_BF16X3_TIMES(3, 3, 5);
  }
}

/* Times that a tile's blocks, taken in twos, are multiplied by a term of inputs. */
PZ_INLINE int32_t pz_bf16x3_chunks(const pz_conv_bf16x3_shape *s, int32_t blocks) {
  return (blocks + 1) / 2 * (s->terms + 1) * s->terms / 2;
}

/* A tile of positions at `in`, its step k: last terms of weights first, each with as many terms of inputs as count. Tile `tile` of the group, whose
 * sums are the registers from tile * blocks on; beside it that of the group before is finished. Register 4 has the first term of inputs, 5 the
 * second one or the third, which count with the first term of weights alone, in whichever order they are there. */
PZ_INLINE void pz_bf16x3_step(const pz_conv_bf16x3_shape *s, const uint16_t *in, int32_t k, int32_t blocks,
                              int32_t tile, const pz_bf16_pair *w, const pz_conv_epilogue *epilogue,
                              const pz_bf16x3_sums *before) {
  const int32_t terms = s->terms, chunks = pz_bf16x3_chunks(s, blocks), shares = pz_bf16x3_steps(s) * chunks;
  const int64_t stride = 2 * pz_bf16x3_values(s), each = pz_bf16x3_weight_tile(s), term = pz_bf16x3_term(s);
  int32_t chunk = k * chunks, held = 1;
  PZ_TILE_LOAD_ROWS(4, in, stride);
  PZ_TILE_LOAD_ROWS(5, in + term, stride);
  PZ_UNROLL for (int32_t t = 0; t < terms; ++t) PZ_UNROLL for (int32_t b = 0; b < blocks; b += 2) {
    const int32_t two = b + 1 < blocks;
    PZ_TILE_LOAD(6, w + (t * blocks + b) * each);
    if (two) PZ_TILE_LOAD(7, w + (t * blocks + b + 1) * each);
    PZ_UNROLL for (int32_t i = 0; i <= t; ++i, ++chunk) {
      if (i == 2) {
        held = 3 - held;
        PZ_TILE_LOAD_ROWS(5, in + held * term, stride);
      }
      pz_bf16x3_times(tile * blocks + b, two, t > 0 && i != 1);
      pz_bf16x3_finish(s, epilogue, before, blocks, tile, PZ_BF16X3_TILE * chunk / shares,
                       PZ_BF16X3_TILE * (chunk + 1) / shares);
    }
  }
}

/* A group of tiles from column `first` on, of so many blocks. */
PZ_INLINE void pz_bf16x3_multiply(const pz_conv_bf16x3_shape *s, const pz_bf16x3_columns *x, int32_t first,
                                  int32_t blocks, const pz_bf16_pair *weights,
                                  const pz_conv_epilogue *epilogue, const pz_bf16x3_sums *before,
                                  float *sums) {
  const int64_t tile = (int64_t)PZ_BF16X3_TILE * pz_bf16x3_values(s),
                step = s->terms * blocks * pz_bf16x3_weight_tile(s);
  PZ_MEMORY_PIN();
  pz_tiles_zero_sums();
  PZ_UNROLL for (int32_t i = 0; i < pz_bf16x3_beside(s); ++i) {
    const uint16_t *in = x->values + (int64_t)first * pz_bf16x3_values(s) + i * tile;
    PZ_ROLL for (int32_t k = 0; k < pz_bf16x3_steps(s); ++k) pz_bf16x3_step(
        s, in + k * 2 * pz_bf16x3_pairs(s), k, blocks, i, weights + k * step, epilogue, before);
  }
  pz_tiles_store_sums(sums);
  PZ_MEMORY_PIN();
}

/* ---- strips ---- */

/* Strip `unit`: of `blocks` blocks of channels from block `block` on. */
PZ_INLINE void pz_bf16x3_strip(const pz_conv_bf16x3_shape *s, int64_t unit, int32_t block, int32_t blocks,
                               const float *in, const pz_bf16_pair *weights, const pz_conv_epilogue *epilogue,
                               const pz_bf16x3_columns *x, float *sums) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t strips = pz_bf16x3_strips(s), h = (int32_t)(unit % strips) * s->rows,
                d = (int32_t)(unit / strips % c->out.d), n = (int32_t)(unit / strips / c->out.d),
                left = c->out.h - h, rows = left < s->rows ? left : s->rows,
                beside = pz_bf16x3_beside(s) * PZ_BF16X3_TILE;
  const float *from = in + n * c->in.stride_n + (d - c->pad[0]) * c->in.stride_d +
                      (h - c->pad[1]) * c->in.stride_h - c->pad[2];
  int64_t to = n * c->out.stride_n + d * c->out.stride_d + h * c->out.stride_h + block * c->out.stride_c,
          residual = n * c->residual.stride_n + d * c->residual.stride_d + h * c->residual.stride_h +
                     block * c->residual.stride_c;
  pz_bf16x3_sums before = {.sums = sums};
  int32_t buffer = 0;
  PZ_ROLL for (int32_t r = 0; r < c->kernel[1] - 1; ++r, from += c->in.stride_h)
      pz_bf16x3_put_row(s, x, from);
  PZ_ROLL for (int32_t r = 0; r < rows;
               ++r, from += c->in.stride_h, to += c->out.stride_h, residual += c->residual.stride_h) {
    pz_bf16x3_put_row(s, x, from);
    PZ_ROLL for (int32_t w = 0; w < c->out.w; w += beside) {
      float *made = sums + buffer * PZ_BF16X3_SUMS * PZ_BF16X3_FLOATS;
      pz_bf16x3_multiply(s, x, w, blocks, weights, epilogue, &before, made);
      before = (pz_bf16x3_sums){.sums = made,
                                .left = c->out.w - w < beside ? c->out.w - w : beside,
                                .block = block,
                                .out = to + w * c->out.stride_w,
                                .residual = residual + w * c->residual.stride_w};
      buffer ^= 1;
    }
  }
  pz_bf16x3_finish_all(s, epilogue, &before, blocks);
}

PZ_INLINE void pz_conv_bf16x3(const pz_conv_bf16x3_shape s, const float *in, const uint16_t *weights,
                              const float *bias, const float *residual, const float *residual_scale,
                              const float *slope, float *out, float *scratch, int32_t worker,
                              int32_t workers) {
  const pz_conv_epilogue epilogue = {bias, residual, residual_scale, slope, out, NULL};
  const int32_t all = pz_conv_outer_blocks(&s.conv), each = pz_bf16x3_blocks(&s),
                groups = pz_bf16x3_groups(&s), rest = all - (groups - 1) * each;
  const int64_t strips = (int64_t)s.conv.out.n * s.conv.out.d * pz_bf16x3_strips(&s);
  float *from = scratch + s.terms * pz_bf16x3_term_floats(&s), *mask = from + pz_bf16x3_from_floats(&s),
        *sums = mask + pz_bf16x3_mask_floats(&s);
  const pz_bf16x3_columns columns = {(uint16_t *)scratch, (uint16_t *)from, (uint32_t *)mask};
  int64_t begin, end;
  pz_share(groups * strips, worker, workers, &begin, &end);
  if (begin >= end) return;
  pz_tiles_begin(pz_bf16x3_pairs(&s));
  pz_bf16x3_begin(&s, &columns);
  pz_bf16x3_clear(&s, &columns);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const int32_t group = (int32_t)(i / strips), block = group * each;
    const pz_bf16_pair *w = (const pz_bf16_pair *)weights + block * pz_bf16x3_block_weights(&s);
    if (rest == each || group + 1 < groups)
      pz_bf16x3_strip(&s, i % strips, block, each, in, w, &epilogue, &columns, sums);
    else pz_bf16x3_strip(&s, i % strips, block, rest, in, w, &epilogue, &columns, sums);
  }
  pz_tiles_end();
  if (s.conv.stream) pz_v_stream_end();
}

#endif
