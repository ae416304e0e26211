/* inner_pairs.h: sums over channels by pairs, for cores that add beside multiply-adds (Winograd 1968, A new algorithm for inner product):
 *
 *   x1 w1 + x2 w2 = (x1 + w2) (x2 + w1) - x1 x2 - w1 w2
 *
 * A multiply-add and two sums for two multiply-adds. What is taken away is known beforehand: the weights' part is packed (pack.h), that
 * of the inputs, the same for all channels out, is summed once for a tile and position; or, where the last block out has a lane without a
 * channel, by the products themselves: there w is 0, and the lane's sum is that of x1 x2. With each pair a third channel is multiplied as always,
 * so that both kinds of units have as much to do: of a block of 16 channels five pairs, j and 5 + j, and six others; 11 steps in place
 * of 16. Of a last block of n channels n/3 are pairs, of a short one none.
 *
 * Rounding: sums are as large as x x + w w, so x and w are to be of one size. Weights are packed times a power of two, for inputs
 * whose root of the mean square is from 1 to 2; a tile's inputs are multiplied by that which makes them so, its results by what undoes
 * both. All are exact. A tile's error then is that of multiply-adds, or up to a third more, whatever the size of inputs and
 * weights; the factor depends on the tile's inputs alone (doc/notes/2026-11-28-winograd.md). Inputs that are all below 1e-18 or above
 * 1e18 lose what they are further away. */
#ifndef PZ_KERNELS_WINOGRAD_INNER_PAIRS_H
#define PZ_KERNELS_WINOGRAD_INNER_PAIRS_H

#include "kernels/vec.h"
#include "kernels/winograd/shape.h"

#define PZ_WINOGRAD_LINE 16 /* floats of a cache line */

/* A worker's scratch for them. */
typedef struct pz_winograd_balance {
  float *scale;   /* [tile]: what inputs are multiplied by */
  float *back;    /* [tile]: and results */
  float *squares; /* [tile]: sums of squares of inputs */
  float *
      taken; /* [position along the axis transformed on use, or of a band][tile]: minus the sums of products of inputs */
} pz_winograd_balance;

PZ_INLINE pz_winograd_balance pz_winograd_balance_at(const pz_winograd_shape *s, float *scratch) {
  const int32_t tiles = pz_winograd_tiles_filled(s);
  return (pz_winograd_balance){scratch, scratch + tiles, scratch + 2 * tiles, scratch + 3 * tiles};
}

/* What is taken away, at a position: minus the sums of products of inputs, [tile], and of weights of an outer group, [block][lane].
 * fresh: those of inputs are not summed yet. */
typedef struct pz_winograd_taken {
  float *inputs;
  const float *weights;
  int32_t fresh;
} pz_winograd_taken;

/* Of a tile's inputs, from the sum of their squares. */
PZ_INLINE float pz_winograd_mean_of(const pz_winograd_shape *s, float squares) {
  return squares / (float)(pz_winograd_points(s) * s->conv.in.c);
}

/* The power of two that makes the root of this mean square one from 1 to 2. */
PZ_INLINE float pz_winograd_scale_of(float mean) {
  const float inside = !(mean > 0x1p-120f) ? 0x1p-120f : !(mean < 0x1p120f) ? 0x1p120f : mean;
  int32_t bits;
  float scale;
  memcpy(&bits, &inside, sizeof bits);
  bits = (254 - (((bits >> 23) + 127) >> 1)) << 23; /* minus half of the exponent, rounded down */
  memcpy(&scale, &bits, sizeof scale);
  return scale;
}

/* What undoes it, and the weights' factor; nothing but rounding errors comes of inputs that are all zero. */
PZ_INLINE float pz_winograd_back_from(float mean, float scale, float unscale) {
  return mean == 0 ? 0 : unscale / scale;
}

/* Of `count` tiles of `blocks` blocks of `channels` channels: sums less products; the last one again and again up to n. */
PZ_INLINE void pz_winograd_take_blocks(const pz_conv_direct_shape *g, int32_t n, int32_t count,
                                       int32_t channels, int32_t blocks, const float *in, pz_vh *sums) {
  const int32_t pairs = PZ_WINOGRAD_INNER_PAIRS_OF(channels);
  if (!pairs) return;
  PZ_ROLL for (int32_t b = 0; b < blocks; ++b, in += g->in.stride_c) {
    PZ_POINTER_PIN(in);
    PZ_UNROLL for (int32_t i = 0; i < n; ++i) {
      const float *x = in + (i < count ? i : count - 1) * PZ_S;
      sums[i] = pz_vh_less(pz_vh_load_first(x + pairs, pairs), pz_vh_load(x), sums[i]);
    }
  }
}

/* At one position, of `count` tiles, n at most S; rest: channels of a last block that is not full; in: [block][tile][lane]. */
PZ_INLINE void pz_winograd_take_some(const pz_conv_direct_shape *g, int32_t rest, int32_t n, int32_t count,
                                     const float *in, float *taken) {
  const int32_t whole = g->in.c / PZ_S;
  pz_vh sums[PZ_S];
  PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) sums[i] = pz_vh_zero();
  pz_winograd_take_blocks(g, n, count, PZ_S, whole, in, sums);
  pz_winograd_take_blocks(g, n, count, rest, 1, in + whole * g->in.stride_c, sums);
  pz_v_store_lanes(taken, pz_vh_sums(sums), 0, count);
}

/* Of `tiles` tiles. */
PZ_INLINE void pz_winograd_take_inputs(const pz_winograd_shape *s, int32_t tiles, const float *in,
                                       float *taken) {
  const pz_conv_direct_shape *g = &s->product;
  const int32_t most = tiles / PZ_S * PZ_S, left = tiles - most,
                rest = pz_winograd_short(s, g->in.c) ? 0 : g->in.c % PZ_S;
  PZ_ROLL for (int32_t t = 0; t < most; t += PZ_S)
      pz_winograd_take_some(g, rest, PZ_S, PZ_S, in + t * PZ_S, taken + t);
  in += most * PZ_S, taken += most;
  if (left > 3 * PZ_S / 4) pz_winograd_take_some(g, rest, PZ_S, left, in, taken);
  else if (left > PZ_S / 2) pz_winograd_take_some(g, rest, 3 * PZ_S / 4, left, in, taken);
  else if (left > PZ_S / 4) pz_winograd_take_some(g, rest, PZ_S / 2, left, in, taken);
  else if (left) pz_winograd_take_some(g, rest, PZ_S / 4, left, in, taken);
}

/* What an operation reads of inputs, for kb blocks out: held, one load for all of them. */
typedef struct pz_winograd_operand {
  const float *at;
  pz_v held;
} pz_winograd_operand;

PZ_INLINE pz_winograd_operand pz_winograd_operand_at(int32_t held, const float *at) {
  pz_winograd_operand x = {at, held ? pz_v_broadcast(at) : pz_v_zero()};
  if (held) PZ_V_PIN(x.held);
  return x;
}
PZ_INLINE pz_v pz_winograd_operand_plus(int32_t held, const pz_winograd_operand x, pz_v b) {
  return held ? x.held + b : pz_v_add_broadcast(x.at, b);
}
PZ_INLINE pz_v pz_winograd_operand_times(int32_t held, const pz_winograd_operand x, pz_v b, pz_v c) {
  return held ? pz_v_fma(x.held, b, c) : pz_v_fma_broadcast(x.at, b, c);
}

/* Weights that are needed soon, from `at` on, fetched into level 1 beside products: so many lines with each pair, and with each channel that is
 * multiplied as always. Not many at once: a core waits for two dozen lines (doc/notes/2026-11-28-winograd.md). */
typedef struct pz_winograd_beside {
  const float *at;
  int32_t pair, single;
} pz_winograd_beside;

PZ_INLINE void pz_winograd_fetch_beside(pz_winograd_beside *b, int32_t lines) {
  if (!lines) return;
  PZ_POINTER_PIN(b->at);
  PZ_UNROLL for (int32_t i = 0; i < lines; ++i) __builtin_prefetch(b->at + i * PZ_WINOGRAD_LINE, 0, 3);
  b->at += lines * PZ_WINOGRAD_LINE;
}

/* Channels j, pairs + j and 2 pairs + j of a block, of rw tiles, into kb blocks out. */
PZ_INLINE void pz_winograd_step_of_inner_pairs(int32_t held, int32_t kb, int32_t rw, int32_t pairs,
                                               const float *in, const float *weights, pz_v *acc) {
  const int32_t row = kb * PZ_S;
  pz_v w1[PZ_WINOGRAD_MOST_KB], w2[PZ_WINOGRAD_MOST_KB], w3[PZ_WINOGRAD_MOST_KB];
  PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
    w1[k] = pz_v_load(weights + k * PZ_S);
    w2[k] = pz_v_load(weights + pairs * row + k * PZ_S);
    w3[k] = pz_v_load(weights + 2 * pairs * row + k * PZ_S);
  }
  PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
    const float *at = in + r * PZ_S;
    const pz_winograd_operand x1 = pz_winograd_operand_at(held, at),
                              x2 = pz_winograd_operand_at(held, at + pairs),
                              x3 = pz_winograd_operand_at(held, at + 2 * pairs);
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
      const pz_v one = pz_winograd_operand_plus(held, x1, w2[k]),
                 two = pz_winograd_operand_plus(held, x2, w1[k]);
      acc[r * kb + k] = pz_winograd_operand_times(held, x3, w3[k], acc[r * kb + k]);
      acc[r * kb + k] = pz_v_fma(one, two, acc[r * kb + k]);
    }
  }
}

/* One channel as always. */
PZ_INLINE void pz_winograd_step_of_one(int32_t held, int32_t kb, int32_t rw, const float *in,
                                       const float *weights, pz_v *acc) {
  pz_v w[PZ_WINOGRAD_MOST_KB];
  PZ_UNROLL for (int32_t k = 0; k < kb; ++k) w[k] = pz_v_load(weights + k * PZ_S);
  PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
    const pz_winograd_operand x = pz_winograd_operand_at(held, in + r * PZ_S);
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) acc[r * kb + k] =
        pz_winograd_operand_times(held, x, w[k], acc[r * kb + k]);
  }
}

/* `blocks` blocks of `channels` channels in, of rw tiles, into kb blocks of channels out; as pz_conv_sum. held: pz_winograd_shape; beside: or NULL. */
PZ_INLINE const float *pz_winograd_sum_inner_pairs(const pz_conv_direct_shape *g, int32_t held, int32_t kb,
                                                   int32_t rw, int32_t channels, int32_t blocks,
                                                   const float *in, const float *weights,
                                                   pz_winograd_beside *beside, pz_v *acc) {
  const int32_t pairs = PZ_WINOGRAD_INNER_PAIRS_OF(channels), row = kb * PZ_S;
  PZ_ROLL for (int32_t b = 0; b < blocks; ++b, in += g->in.stride_c) {
    const float *x = in;
    PZ_ROLL for (int32_t j = 0; j < pairs; ++j, ++x, weights += row) {
      PZ_POINTER_PIN(x);
      PZ_POINTER_PIN(weights);
      if (beside) pz_winograd_fetch_beside(beside, beside->pair);
      pz_winograd_step_of_inner_pairs(held, kb, rw, pairs, x, weights, acc);
      if (held) PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) PZ_V_PIN(acc[i]);
      if (held) PZ_MEMORY_PIN();
    }
    x += 2 * pairs, weights += 2 * pairs * row;
    PZ_UNROLL for (int32_t j = 3 * pairs; j < channels; ++j, ++x, weights += row) {
      if (beside) pz_winograd_fetch_beside(beside, beside->single);
      pz_winograd_step_of_one(held, kb, rw, x, weights, acc);
    }
  }
  return weights;
}

#endif
