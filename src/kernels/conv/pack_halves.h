/* pack_halves.h: weights as halves.h multiplies them, and its strips. Plain C, run by the compiler half.
 *
 * Packed: [pair of blocks out][kd, or point][kh][kw][pair of input blocks][second halves, first halves][outer block][tile]; a block out
 * without a partner lies behind the pairs. A tile is 16 rows of 16 maps out, each of which has two maps in side by side: rows go
 * over the pair's 32 maps. Of a last input block without a partner: [first halves, second halves], each twice side by side,
 * rows over its 16 maps. */
#ifndef PZ_KERNELS_CONV_PACK_HALVES_H
#define PZ_KERNELS_CONV_PACK_HALVES_H

#include "kernels/conv/halves_shape.h"
#include "kernels/conv/pack.h"
#include "kernels/conv/schedule.h"
#include "kernels/winograd/points.h"

#include <math.h>
#include <string.h>

/* The nearest bfloat16 number, ties to even, as the upper half of a float. */
static inline float pz_halves_nearest(float x) {
  uint32_t bits;
  if (x != x) return NAN;
  memcpy(&bits, &x, 4);
  bits += 0x7fff + (bits >> 16 & 1);
  bits &= 0xffff0000u;
  memcpy(&x, &bits, 4);
  return x;
}
static inline uint16_t pz_halves_of(float x, int32_t second) {
  const float first = pz_halves_nearest(x), half = second ? pz_halves_nearest(x - first) : first;
  uint32_t bits;
  memcpy(&bits, &half, 4);
  return (uint16_t)(bits >> 16);
}

/* The weight at tap (d, h, w), or, with F(m, 3) along the depth, at point d: G g, G's rows in points.h. */
static inline float pz_halves_weight(const pz_conv_halves_shape *s, const float *weights, int32_t block,
                                     int32_t lane, int32_t c, int32_t d, int32_t hw) {
  const int32_t plane = s->conv.kernel[1] * s->conv.kernel[2];
  pz_rational row[PZ_WINOGRAD_MOST_R];
  double sum = 0;
  if (c >= s->conv.in.c) return 0.0f;
  if (s->m == 1) return pz_conv_weight_at(&s->conv, weights, block, lane, c, d * plane + hw);
  pz_winograd_weight_row(s->m, 3, d, row);
  for (int32_t k = 0; k < 3; ++k)
    sum += pz_rational_value(row[k]) *
           (double)pz_conv_weight_at(&s->conv, weights, block, lane, c, k * plane + hw);
  return (float)sum;
}

/* Rows of 32 maps in from `first` on, or of 16, each twice. */
static inline float *pz_halves_pack_tile(const pz_conv_halves_shape *s, const float *weights, int32_t block,
                                         int32_t d, int32_t hw, int32_t first, int32_t twice, int32_t second,
                                         float *to) {
  for (int32_t row = 0; row < 16; ++row)
    for (int32_t lane = 0; lane < 16; ++lane) {
      uint16_t pair[2];
      for (int32_t i = 0; i < 2; ++i)
        pair[i] = pz_halves_of(
            pz_halves_weight(s, weights, block, lane, first + (twice ? row : 2 * row + i), d, hw), second);
      memcpy(to++, pair, 4);
    }
  return to;
}

/* weights: [K, C, kd, kh, kw]. packed: pz_halves_weight_floats(s). */
static inline void pz_halves_pack(const pz_conv_halves_shape *s, const float *weights, float *packed) {
  const int32_t outer = pz_halves_out_blocks(s), pairs = pz_halves_pairs(s);
  for (int32_t j = 0; j < outer; j += 2) {
    const int32_t blocks = outer - j < 2 ? 1 : 2;
    for (int32_t d = 0; d < pz_halves_points(s) * pz_halves_taps_d(s); ++d)
      for (int32_t hw = 0; hw < s->conv.kernel[1] * s->conv.kernel[2]; ++hw)
        for (int32_t c = 0; c < pairs + pz_halves_single(s); ++c)
          for (int32_t half = 0; half < 2; ++half)
            for (int32_t i = 0; i < blocks; ++i)
              packed = pz_halves_pack_tile(s, weights, j + i, d, hw, 32 * c, c == pairs,
                                           c == pairs ? half : !half, packed);
  }
}

/* ---- strips ---- */

/* So many units of work are wanted, for workers to share; rows of a strip that is cut by_row for them, at least. */
#define PZ_HALVES_UNITS      16
#define PZ_HALVES_FEWEST_ROWS 8

/* Positions that the tiles of `rows` rows multiply, for each of a row's; groups are of two tiles, or two and more are left over. */
static inline double pz_halves_padding(const pz_conv_halves_shape *s, int32_t rows) {
  const double tiles = pz_halves_tiles(s, rows);
  return ceil(tiles / 2) * 2 * PZ_HALVES_TILE / ((double)rows * s->conv.out.w);
}

/* Sets by_row, step and slots, where that is better: level 2 holds the weights and the ring, tiles fit into rows, and no plane is
 * split for several planes of results. */
static inline void pz_halves_cut_by_row(pz_conv_halves_shape *s, const pz_conv_machine *m) {
  const int64_t weights = 4 * pz_halves_weight_floats(s);
  s->by_row = s->step = 1;
  if (pz_halves_padding(s, 2) < pz_halves_padding(s, 1) && s->conv.out.h > 1) s->step = 2;
  s->slots = pz_halves_window(s) + 1;
  const int64_t ring = 4 * s->slots * pz_halves_slot(s);
  if ((s->m > 1 || s->conv.kernel[0] == 1) && weights <= m->l2 / 2 && weights + ring <= m->l2 / 8 * 7 && pz_halves_padding(s, s->step) <= 1.1) return;
  s->by_row = s->step = 0;
}

/* Strips whose ring takes a third of level 2; where weights would not stay there anyway, more than it, so that they are read less often. */
static inline void pz_halves_cut_rows(pz_conv_halves_shape *s, const pz_conv_machine *m) {
  const int64_t far = 4 * pz_halves_weight_floats(s) > m->l2 / 2, most = far ? 3 * m->l2 : m->l2 / 3;
  s->rows = s->conv.out.h;
  s->slots = pz_halves_window(s);
  while (s->rows > 1 && 4 * s->slots * pz_halves_slot(s) > most) --s->rows;
  const int32_t strips = (s->conv.out.h + s->rows - 1) / s->rows;
  s->rows = (s->conv.out.h + strips - 1) / strips;
}

/* Fills rows, planes, by_row, step, slots, parts, flat. `conv` and `m` are set. Planes that share no inputs are cut first. Inputs of many
 * maps are made halves again for each part of the outer blocks: that takes little time beside the products of several taps. */
static inline void pz_halves_schedule(pz_conv_halves_shape *s, const pz_conv_machine *m) {
  const int32_t d = s->conv.out.d, h = s->conv.out.h, pairs = pz_halves_out_blocks(s) / 2;
  s->parts = 1, s->flat = 0, s->planes = s->m, s->rows = h;
  pz_halves_cut_by_row(s, m);
  if (s->by_row) {
    const int32_t units = s->conv.out.n * pz_halves_along(s), most = h / PZ_HALVES_FEWEST_ROWS;
    int32_t strips = (PZ_HALVES_UNITS + units - 1) / units;
    if (strips > most) strips = most > 1 ? most : 1;
    s->rows = ((h + strips - 1) / strips + s->step - 1) / s->step * s->step;
    return;
  }
  pz_halves_cut_rows(s, m);
  s->planes = (d + s->m - 1) / s->m * s->m;
  while (s->conv.out.n * pz_halves_across(s) * pz_halves_along(s) * s->parts < PZ_HALVES_UNITS) {
    if (pz_halves_reach(s, 0) == 0 && s->planes > 1) s->planes = (s->planes + 1) / 2;
    else if (2 * s->parts <= pairs && s->conv.in.c >= 64 && pz_conv_taps(&s->conv) > 1) s->parts *= 2;
    else if (s->planes >= 16) s->planes = (s->planes / 2 + s->m - 1) / s->m * s->m;
    else break;
  }
  const int32_t cut = pz_halves_tiles(s, s->rows);
  s->flat = 1;
  s->flat = pz_halves_tiles(s, s->rows) < cut;
}

#endif
