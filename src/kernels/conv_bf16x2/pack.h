/* pack.h: weights as bf16x2.h multiplies them, and its strips. Plain C, run by the compiler half.
 *
 * Packed: [pair of blocks out][kd, or point][kh][kw][pair of input blocks][second halves, first halves][outer block][tile]; a block out
 * without a partner lies behind the pairs. A tile is 16 rows (pz_bf16x2_weight_rows) of 16 channels out, each of which has two channels in side by side: rows go
 * over the pair's 32 channels. Of a last input block without a partner: [first halves, second halves], each twice side by side,
 * rows over its 16 channels; where it is few (shape.h), behind all kw, rows over the four channels of the three taps. Of a block out that is few,
 * all taps along the width stand in its columns, four channels each. */
#ifndef PZ_KERNELS_CONV_BF16X2_PACK_H
#define PZ_KERNELS_CONV_BF16X2_PACK_H

#include "kernels/conv/bf16.h"
#include "kernels/conv/machine.h"
#include "kernels/conv_bf16x2/shape.h"
#include "kernels/conv_direct/pack.h"
#include "kernels/winograd/points.h"

#include <math.h>
#include <string.h>

/* The nearest bfloat16 number, ties to even, as the upper half of a float. */
static inline float pz_bf16x2_nearest(float x) {
  uint32_t bits;
  if (x != x) return NAN;
  memcpy(&bits, &x, 4);
  bits += 0x7fff + (bits >> 16 & 1);
  bits &= 0xffff0000u;
  memcpy(&x, &bits, 4);
  return x;
}
static inline uint16_t pz_bf16x2_of(float x, int32_t second) {
  const float first = pz_bf16x2_nearest(x), half = second ? pz_bf16x2_nearest(x - first) : first;
  uint32_t bits;
  memcpy(&bits, &half, 4);
  return (uint16_t)(bits >> 16);
}

/* Where weights of a tile come from: block out, which may be few; kd or, with F(m, 3) along the depth, point, whose row of G (points.h) is g; kh;
 * kw; the first channel in, of 32 or, `twice`, of 16, narrow_in: of the last four. */
typedef struct pz_bf16x2_tile {
  int32_t block, few, d, h, k, first, twice, narrow_in;
  double g[3];
} pz_bf16x2_tile;

static inline void pz_bf16x2_set_point(const pz_conv_bf16x2_shape *s, pz_bf16x2_tile *t) {
  pz_rational row[PZ_WINOGRAD_MOST_R];
  if (s->m == 1) return;
  pz_winograd_weight_row(s->m, 3, t->d, row);
  for (int32_t k = 0; k < 3; ++k) t->g[k] = pz_rational_value(row[k]);
}

/* The weight at tap (t->d, h, w), or, with F(m, 3), at point t->d: G g. */
static inline float pz_bf16x2_weight(const pz_conv_bf16x2_shape *s, const float *weights,
                                     const pz_bf16x2_tile *t, int32_t lane, int32_t c, int32_t hw) {
  const int32_t plane = s->conv.kernel[1] * s->conv.kernel[2];
  double sum = 0;
  if (c >= s->conv.in.c) return 0.0f;
  if (s->m == 1) return pz_conv_weight_at(&s->conv, weights, t->block, lane, c, t->d * plane + hw);
  for (int32_t k = 0; k < 3; ++k)
    sum += t->g[k] * (double)pz_conv_weight_at(&s->conv, weights, t->block, lane, c, k * plane + hw);
  return (float)sum;
}

/* At row `row` of channels and column `lane`. */
static inline float pz_bf16x2_tile_weight(const pz_conv_bf16x2_shape *s, const float *weights,
                                          const pz_bf16x2_tile *t, int32_t row, int32_t lane) {
  int32_t k = t->k;
  if (t->narrow_in) {
    k = row / PZ_BF16X2_NARROW, row %= PZ_BF16X2_NARROW;
    if (t->few && lane >= PZ_BF16X2_NARROW) return 0;
  } else if (t->few) {
    k = lane / PZ_BF16X2_NARROW, lane %= PZ_BF16X2_NARROW;
  }
  if (k >= s->conv.kernel[2]) return 0;
  return pz_bf16x2_weight(s, weights, t, lane, t->first + row, t->h * s->conv.kernel[2] + k);
}

static inline pz_bf16_pair *pz_bf16x2_pack_tile(const pz_conv_bf16x2_shape *s, const float *weights,
                                                const pz_bf16x2_tile *t, int32_t second, pz_bf16_pair *to) {
  for (int32_t row = 0; row < pz_bf16x2_weight_rows(s); ++row)
    for (int32_t lane = 0; lane < 16; ++lane) {
      for (int32_t i = 0; i < 2; ++i)
        to->of[i] =
            pz_bf16x2_of(pz_bf16x2_tile_weight(s, weights, t, t->twice ? row : 2 * row + i, lane), second);
      ++to;
    }
  return to;
}

/* Of block `t->block`, or of two. */
static inline pz_bf16_pair *pz_bf16x2_pack_step(const pz_conv_bf16x2_shape *s, const float *weights,
                                                pz_bf16x2_tile t, int32_t blocks, pz_bf16_pair *packed) {
  for (int32_t half = 0; half < 2; ++half)
    for (int32_t i = 0; i < blocks; ++i) {
      pz_bf16x2_tile one = t;
      one.block += i;
      packed = pz_bf16x2_pack_tile(s, weights, &one, t.twice ? half : !half, packed);
    }
  return packed;
}

/* weights: [K, C, kd, kh, kw]. packed: pz_bf16x2_weight_pairs(s). */
static inline void pz_bf16x2_pack(const pz_conv_bf16x2_shape *s, const float *weights, pz_bf16_pair *packed) {
  const int32_t outer = pz_bf16x2_out_blocks(s), pairs = pz_bf16x2_pairs(s),
                each = pairs + (s->narrow_in ? 0 : pz_bf16x2_single(s));
  for (int32_t j = 0; j < outer; j += 2) {
    const int32_t blocks = outer - j < 2 ? 1 : 2, few = blocks == 1 && s->narrow_out;
    for (int32_t d = 0; d < pz_bf16x2_points(s) * pz_bf16x2_taps_d(s); ++d)
      for (int32_t h = 0; h < s->conv.kernel[1]; ++h) {
        pz_bf16x2_tile t = {.block = j, .few = few, .d = d, .h = h};
        pz_bf16x2_set_point(s, &t);
        for (t.k = 0; t.k < pz_bf16x2_taps_w(s, few); ++t.k)
          for (int32_t c = 0; c < each; ++c) {
            t.first = 32 * c, t.twice = c == pairs;
            packed = pz_bf16x2_pack_step(s, weights, t, blocks, packed);
          }
        if (!s->narrow_in) continue;
        t.k = 0, t.first = 32 * pairs, t.twice = t.narrow_in = 1;
        packed = pz_bf16x2_pack_step(s, weights, t, blocks, packed);
      }
  }
}

/* ---- strips ---- */

/* So many units of work are wanted, for workers to share; a strip that is cut by row for them has so many rows at least. */
#define PZ_BF16X2_UNITS       16
#define PZ_BF16X2_FEWEST_ROWS 6

/* Positions that the tiles of `rows` rows multiply, for each of a row's; groups are of two tiles, or two and more are left over. */
static inline double pz_bf16x2_padding(const pz_conv_bf16x2_shape *s, int32_t rows) {
  const double tiles = pz_bf16x2_tiles(s, rows);
  return ceil(tiles / 2) * 2 * PZ_BF16X2_TILE / ((double)rows * s->conv.out.w);
}

/* Whether narrow_in and narrow_out apply, by row. */
static inline int32_t pz_bf16x2_may_be_narrow(const pz_conv_direct_shape *c) {
  return c->kernel[2] == 3 && c->dilation[2] == 1 && c->phases == 1;
}

/* Bytes of the weights and of the ring. */
static inline int64_t pz_bf16x2_kept(const pz_conv_bf16x2_shape *s) {
  return 4 * (pz_bf16x2_weight_pairs(s) + s->slots * pz_bf16x2_slot(s));
}

static inline void pz_bf16x2_set_step(pz_conv_bf16x2_shape *s) {
  s->step = 1;
  if (pz_bf16x2_padding(s, 2) < pz_bf16x2_padding(s, 1)) s->step = 2;
  s->slots = pz_bf16x2_window(s) + 1;
}

/* Part `part` of `chunks` of a layer by row: some columns of it, in whole tiles but for the last. Returns the first one. */
static inline int32_t pz_bf16x2_take_columns(pz_conv_bf16x2_shape *s, int32_t part, int32_t parts) {
  const int32_t tiles = pz_bf16x2_row_tiles(s), begin = tiles * part / parts * PZ_BF16X2_TILE,
                end = tiles * (part + 1) / parts * PZ_BF16X2_TILE;
  s->conv.out.w = (end < s->conv.out.w ? end : s->conv.out.w) - begin;
  pz_bf16x2_set_step(s);
  return begin;
}

/* Parts of a layer by row: of one or two tiles where weights and ring would take more than five eighths of level 2, which inputs and
 * results pass through as well. */
static inline int32_t pz_bf16x2_column_chunks(const pz_conv_bf16x2_shape *s, const pz_conv_machine *m) {
  return pz_bf16x2_kept(s) <= m->l2 / 8 * 5 ? 1 : (pz_bf16x2_row_tiles(s) + 1) / 2;
}

/* Sets by_row, step, slots, narrow_in and narrow_out, where that is better: level 2 holds the weights and the ring, tiles fit into rows, and
 * no plane is split for several planes of results. Says the same of any rows and planes of a layer: few changes the bits. */
static inline void pz_bf16x2_cut_by_row(pz_conv_bf16x2_shape *s, const pz_conv_machine *m) {
  const int32_t may_be_narrow = pz_bf16x2_may_be_narrow(&s->conv);
  s->by_row = 1;
  s->narrow_in = may_be_narrow && pz_bf16x2_narrow_at_end(s->conv.in.c);
  s->narrow_out = may_be_narrow && pz_bf16x2_narrow_at_end(s->conv.out.c);
  pz_bf16x2_set_step(s);
  pz_conv_bf16x2_shape part = *s;
  const int32_t parts = pz_bf16x2_column_chunks(s, m);
  (void)pz_bf16x2_take_columns(&part, parts - 1, parts);
  if ((s->m > 1 || s->conv.kernel[0] == 1) && 4 * pz_bf16x2_weight_pairs(s) <= m->l2 / 2 &&
      pz_bf16x2_kept(&part) <= m->l2 / 8 * 7 && pz_bf16x2_padding(s, s->step) <= 1.1)
    return;
  s->by_row = s->step = s->narrow_in = s->narrow_out = 0;
}

/* Strips whose ring takes a third of level 2; where weights would not stay there anyway, more than it, so that they are read less often. */
static inline void pz_bf16x2_cut_rows(pz_conv_bf16x2_shape *s, const pz_conv_machine *m) {
  const int64_t far = 4 * pz_bf16x2_weight_pairs(s) > m->l2 / 2, most = far ? 3 * m->l2 : m->l2 / 3;
  s->rows = s->conv.out.h;
  s->slots = pz_bf16x2_window(s);
  while (s->rows > 1 && 4 * s->slots * pz_bf16x2_slot(s) > most) --s->rows;
  const int32_t strips = (s->conv.out.h + s->rows - 1) / s->rows;
  s->rows = (s->conv.out.h + strips - 1) / strips;
}

/* Whether so many units are enough: each worker gets as many as the others, about. */
static inline int32_t pz_bf16x2_enough(int64_t units, const pz_conv_machine *m) {
  const int64_t w = m->workers;
  return w ? units >= w && 10 * ((units + w - 1) / w * w) <= 11 * units : units >= PZ_BF16X2_UNITS;
}

/* As many rows, or planes, as whole windows have. */
static inline void pz_bf16x2_whole_windows(int32_t *size, const pz_conv_bf16x2_shape *s, int32_t axis) {
  if (s->pooled.c) *size = (*size + s->pool_window[axis] - 1) / s->pool_window[axis] * s->pool_window[axis];
}

/* Fills rows, planes, by_row, step, slots, narrow_in, narrow_out, chunks, flat. `conv`, `m`, `pooled` and `pool_window` are set. Planes that share no inputs are cut first (those of F(m, 3)
 * share none that are split, but units of few of them begin too often). Inputs of many
 * channels are made halves again for each part of the outer blocks: that takes little time beside the products of several taps. */
static inline void pz_bf16x2_schedule(pz_conv_bf16x2_shape *s, const pz_conv_machine *m) {
  const int32_t d = s->conv.out.d, h = s->conv.out.h, pairs = pz_bf16x2_out_blocks(s) / 2;
  s->chunks = 1, s->flat = s->narrow_in = s->narrow_out = 0, s->planes = s->m, s->rows = h;
  pz_bf16x2_cut_by_row(s, m);
  if (s->by_row) {
    int32_t strips = 1; /* a power of two: as much for each worker, of few strips too */
    while (!pz_bf16x2_enough(s->conv.out.n * pz_bf16x2_along(s) * strips, m) &&
           h >= 2 * strips * PZ_BF16X2_FEWEST_ROWS)
      strips *= 2;
    s->rows = ((h + strips - 1) / strips + s->step - 1) / s->step * s->step;
    pz_bf16x2_whole_windows(&s->rows, s, 1);
    return;
  }
  pz_bf16x2_cut_rows(s, m);
  s->planes = (d + s->m - 1) / s->m * s->m;
  for (int64_t units;
       (units = s->conv.out.n * pz_bf16x2_across(s) * pz_bf16x2_along(s) * s->chunks) < PZ_BF16X2_UNITS;) {
    if ((pz_bf16x2_reach(s, 0) == 0 || (s->m > 1 && units < PZ_BF16X2_UNITS / 2)) && s->planes > s->m)
      s->planes = ((s->planes + 1) / 2 + s->m - 1) / s->m * s->m;
    else if (2 * s->chunks <= pairs && s->conv.in.c >= 64 && pz_conv_taps(&s->conv) > 1) s->chunks *= 2;
    else if (s->planes >= 16) s->planes = (s->planes / 2 + s->m - 1) / s->m * s->m;
    else break;
  }
  pz_bf16x2_whole_windows(&s->rows, s, 1), pz_bf16x2_whole_windows(&s->planes, s, 0);
  const int32_t cut = pz_bf16x2_tiles(s, s->rows);
  s->flat = 1;
  s->flat = pz_bf16x2_tiles(s, s->rows) < cut;
}

#endif
