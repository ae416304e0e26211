/* direct.h: the direct convolution, register-NCHWc over out channels and points, weights streaming from cache.
 *
 * Contract: conv/shape.h. Weights packed by pack.h; bias, residual_scale, slope over out channels padded with zeros to whole
 * blocks; pointers that the shape does not ask for may be NULL. All but an NCHW `in` aligned to the vector. Writes the
 * inside of out and nothing else; its padding lanes, if it has any, become zero. Any number of workers gives the same bits: a tile is
 * summed by one worker in one order, (input block, kd, kh, kw, channel), or (input block, kd, kh, channel, kw) in tiles of one
 * outer block. If the shape says so, the moments of the results are collected on the way: statistics holds records
 * (norm/moments.h) over n, block of channels, unit; strips are its units, cut at the ends of samples. Inputs that are not finite meet the zeros that
 * fill up grouped weights and padding lanes, so they may spread NaN to other groups.
 *
 * The tile. In each step one input channel of one tap is broadcast at rw points and multiplied with kb vectors of weights:
 * kb*rw fused multiply-adds for kb + rw loads. Compilers lose up to half of the speed here by moving loads of later
 * steps up until registers spill, so empty asm statements pin the accumulators after each step and the operands that
 * wait in registers. Figures and what was tried: doc/notes/2026-11-28-convolutions.md.
 *
 * Where a multiply-add takes one factor from a lane (NEON), a point's S channels are one load for S steps instead of S broadcasts, each of which
 * would take an instruction for its address too; of NCHW inputs S points are. Summed in the same order, but for tiles of one outer
 * block, which then go tap by tap as all others do. What comes of it is counted: doc/notes/2026-11-29-neon.md. */
#ifndef PZ_KERNELS_CONV_DIRECT_DIRECT_H
#define PZ_KERNELS_CONV_DIRECT_DIRECT_H

#include "kernels/conv/epilogue.h"
#include "kernels/conv/fetch.h"
#include "kernels/conv/ways.h"
#include "kernels/norm/moments.h"

#define PZ_CONV_ACCUMULATORS 32

/* With AVX-512, gcc broadcasts from memory in each of the kb multiply-adds, unless told not to; clang spills if told. */
#if PZ_V_REGISTERS == 32 && !defined(__clang__)
#define PZ_CONV_PIN_BROADCAST 1
#else
#define PZ_CONV_PIN_BROADCAST 0
#endif

/* One call as a tile sees it: the operands at the tile's first point and first outer block. */
typedef struct pz_conv_tile {
  const float *in, *weights, *bias, *residual, *residual_scale, *slope;
  float *out, *norm_stats;
  int64_t further;     /* from a row of Base to the next one */
  int64_t next;        /* from a row of inputs to the same one of the next strip, of which */
  pz_conv_range soon;  /* these blocks are fetched */
  int32_t outer;       /* the first outer block */
  int32_t full;        /* whole input blocks in this pass */
  int32_t rest;        /* whether the last input block, which is not whole, is in this pass */
  int32_t first, last; /* whether this is the first, the last pass */
} pz_conv_tile;

/* Point r of a tile that is rw points wide. */
PZ_INLINE int64_t pz_conv_point(const pz_view *v, const int32_t stride[3], int32_t rw, int32_t r) {
  return (int64_t)(r / rw) * stride[1] * v->stride_h + (int64_t)(r % rw) * stride[2] * v->stride_w;
}
static const int32_t pz_conv_unit[3] = {1, 1, 1};

/* One step: every accumulator gets weight[k] * in[point]. Accumulator i is that of outer block i % kb, point i / kb. The
 * fewer operands wait in registers; the accumulators are visited in the order in which the others come. */
PZ_INLINE void pz_conv_step(const pz_conv_direct_shape *s, int32_t kb, int32_t rw, const float *in,
                            const float *weights, pz_v *acc) {
  const int32_t points = rw * s->rh, fewer = kb < points ? kb : points;
  const int pin = kb * points + fewer + 2 <= PZ_V_REGISTERS; /* else compilers spill */
  pz_v held[PZ_CONV_ACCUMULATORS];
  if (kb <= points) {
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
      held[k] = pz_v_load(weights + k * PZ_S);
      if (pin) PZ_V_PIN(held[k]);
    }
    PZ_UNROLL for (int32_t r = 0; r < points; ++r) {
      pz_v x = pz_v_factor(in + pz_conv_point(&s->in, s->stride, rw, r));
      if (PZ_CONV_PIN_BROADCAST && kb > 1) PZ_V_PIN(x);
      PZ_UNROLL for (int32_t k = 0; k < kb; ++k) acc[r * kb + k] =
          pz_v_fma_factor(held[k], x, acc[r * kb + k]);
    }
  } else {
    PZ_UNROLL for (int32_t r = 0; r < points; ++r) {
      held[r] = pz_v_factor(in + pz_conv_point(&s->in, s->stride, rw, r));
      if (pin) PZ_V_PIN(held[r]);
    }
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
      pz_v x = pz_v_load(weights + k * PZ_S);
      PZ_UNROLL for (int32_t r = 0; r < points; ++r) acc[r * kb + k] =
          PZ_V_HAS_LANES ? pz_v_fma_lane(x, held[r], 0, acc[r * kb + k])
                         : pz_v_fma(held[r], x, acc[r * kb + k]);
    }
  }
  PZ_UNROLL for (int32_t i = 0; i < kb * points; ++i) PZ_V_PIN(acc[i]);
  PZ_MEMORY_PIN();
}

/* ---- by lane ---- */

#define PZ_CONV_LANES(s) (PZ_V_HAS_LANES && (s)->in.block == PZ_S)

/* A block's channels at each point; vectors of a view that is channels-last lie anywhere. */
PZ_INLINE void pz_conv_load_points(const pz_conv_direct_shape *s, int32_t rw, const float *in, pz_v *x) {
  PZ_UNROLL for (int32_t r = 0; r < rw * s->rh; ++r) {
    x[r] = pz_v_loadu(in + pz_conv_point(&s->in, s->stride, rw, r));
    PZ_V_PIN(x[r]);
  }
}

/* pz_conv_step, of channel `lane` of what waits in x. No sum is pinned: each product is (pz_v_fma_lane). */
PZ_INLINE void pz_conv_step_of_lanes(int32_t kb, int32_t points, int32_t lane, const pz_v *x,
                                     const float *weights, pz_v *acc) {
  PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
    const pz_v w = pz_v_load(weights + k * PZ_S);
    PZ_UNROLL for (int32_t r = 0; r < points; ++r) acc[r * kb + k] =
        pz_v_fma_lane(w, x[r], lane, acc[r * kb + k]);
  }
  PZ_MEMORY_PIN();
}

/* A block's channels of each of the taps along w. */
PZ_INLINE void pz_conv_taps_of_lanes(const pz_conv_direct_shape *s, int32_t kb, int32_t rw, const float *in,
                                     const float *weights, pz_v *acc) {
  pz_v x[PZ_CONV_ACCUMULATORS];
  PZ_ROLL for (int32_t w = 0; w < s->kernel[2]; ++w) {
    PZ_POINTER_PIN(in);
    PZ_POINTER_PIN(weights);
    pz_conv_load_points(s, rw, in, x);
    PZ_UNROLL for (int32_t c = 0; c < PZ_S; ++c)
        pz_conv_step_of_lanes(kb, rw * s->rh, c, x, weights + c * kb * PZ_S, acc);
    in += s->dilation[2] * s->in.stride_w;
    weights += PZ_S * kb * PZ_S;
  }
}

/* Where `reach` points of a row, S at least, lie in vectors: v starts with this one; the last one is moved back, so that nothing behind them
 * is read. */
PZ_INLINE int32_t pz_conv_vector_of(int32_t reach, int32_t v) {
  return (v + 1) * PZ_S <= reach ? v * PZ_S : reach - PZ_S;
}
PZ_INLINE void pz_conv_load_row(int32_t reach, const float *in, pz_v *x) {
  PZ_UNROLL for (int32_t v = 0; v < (reach + PZ_S - 1) / PZ_S; ++v) {
    x[v] = pz_v_loadu(in + pz_conv_vector_of(reach, v));
    PZ_V_PIN(x[v]);
  }
}
/* w * point p of the row + c */
PZ_INLINE pz_v pz_conv_fma_point(int32_t reach, int32_t p, pz_v w, const pz_v *x, pz_v c) {
  return pz_v_fma_lane(w, x[p / PZ_S], p - pz_conv_vector_of(reach, p / PZ_S), c);
}

/* pz_conv_step of an NCHW input. */
PZ_INLINE void pz_conv_step_of_points(const pz_conv_direct_shape *s, int32_t kb, int32_t rw, const float *in,
                                      const float *weights, pz_v *acc) {
  const int32_t reach = pz_conv_point_reach(s, rw);
  pz_v x[PZ_CONV_ACCUMULATORS];
  pz_conv_load_row(reach, in, x);
  PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
    const pz_v w = pz_v_load(weights + k * PZ_S);
    PZ_UNROLL for (int32_t r = 0; r < rw; ++r) acc[r * kb + k] =
        pz_conv_fma_point(reach, r * s->stride[2], w, x, acc[r * kb + k]);
  }
  PZ_MEMORY_PIN();
}

/* ---- ---- */

/* A tile of one outer block: kw steps at once. An input point is broadcast once for all outputs that it reaches, else
 * there were as many loads as multiply-adds. weights: of tap 0; those of the next tap lie `channels` vectors behind. */
PZ_INLINE void pz_conv_row_step(const pz_conv_direct_shape *s, int32_t rw, int32_t channels, const float *in,
                                const float *weights, pz_v *acc) {
  const int32_t kw = s->kernel[2], stride = s->stride[2], dilation = s->dilation[2];
  const int32_t reach = (rw - 1) * stride + (kw - 1) * dilation + 1;
  pz_v held[PZ_CONV_ACCUMULATORS];
  PZ_UNROLL for (int32_t w = 0; w < kw; ++w) {
    held[w] = pz_v_load(weights + w * channels * PZ_S);
    PZ_V_PIN(held[w]);
  }
  const int by_points = PZ_V_HAS_LANES && pz_conv_by_points(s, rw);
  pz_v points[PZ_CONV_ACCUMULATORS];
  if (by_points) pz_conv_load_row(reach, in, points);
  PZ_UNROLL for (int32_t p = 0; p < reach; ++p) {
    pz_v x = by_points ? pz_v_zero() : pz_v_factor(in + p * s->in.stride_w);
    if (!by_points) PZ_V_PIN(x);
    PZ_UNROLL for (int32_t w = 0; w < kw; ++w) {
      const int32_t r = (p - w * dilation) / stride;
      if (p >= w * dilation && r < rw && p == w * dilation + r * stride)
        acc[r] = by_points ? pz_conv_fma_point(reach, p, held[w], points, acc[r])
                           : pz_v_fma_factor(held[w], x, acc[r]);
    }
  }
  PZ_UNROLL for (int32_t r = 0; r < rw; ++r) PZ_V_PIN(acc[r]);
  PZ_MEMORY_PIN();
}

/* `channels` channels, the taps along w. */
PZ_INLINE void pz_conv_row(const pz_conv_direct_shape *s, int32_t rw, int32_t channels, const float *in,
                           const float *weights, pz_v *acc) {
  const float *end = in + channels;
  PZ_ROLL for (; in != end; ++in, weights += PZ_S) {
    PZ_POINTER_PIN(in);
    PZ_POINTER_PIN(weights);
    pz_conv_row_step(s, rw, channels, in, weights, acc);
  }
}

/* `channels` channels of each of the taps along w, tap by tap. Unrolled are a block's channels, or kw where the input is NCHW. */
PZ_INLINE void pz_conv_taps_of_row(const pz_conv_direct_shape *s, int32_t kb, int32_t rw, int32_t channels,
                                   const float *in, const float *weights, pz_v *acc) {
  const int nchw = s->in.block == 1;
  const int32_t steps = nchw ? s->kernel[2] : channels, across = nchw ? 1 : s->kernel[2];
  const int64_t tap = s->dilation[2] * s->in.stride_w, step = nchw ? tap : 1;
  PZ_ROLL for (int32_t w = 0; w < across; ++w) {
    PZ_POINTER_PIN(in);
    PZ_POINTER_PIN(weights);
    PZ_UNROLL for (int32_t i = 0; i < steps; ++i) {
      if (PZ_V_HAS_LANES && pz_conv_by_points(s, rw))
        pz_conv_step_of_points(s, kb, rw, in + i * step, weights + i * kb * PZ_S, acc);
      else pz_conv_step(s, kb, rw, in + i * step, weights + i * kb * PZ_S, acc);
    }
    in += tap;
    weights += steps * kb * PZ_S;
  }
}

/* `blocks` input blocks of `channels` channels each, all taps. */
PZ_INLINE const float *pz_conv_sum(const pz_conv_direct_shape *s, int32_t kb, int32_t rw, int32_t channels,
                                   int32_t blocks, const float *in, const float *weights, pz_v *acc) {
  PZ_ROLL for (int32_t b = pz_rolled(0); b < blocks; ++b) {
    PZ_ROLL for (int32_t d = 0; d < s->kernel[0]; ++d) {
      PZ_ROLL for (int32_t h = 0; h < s->kernel[1]; ++h) {
        const float *x = in + b * s->in.stride_c + d * s->dilation[0] * s->in.stride_d +
                         h * s->dilation[1] * s->in.stride_h;
        pz_conv_fetch(s, rw, h, x);
        if (PZ_CONV_LANES(s) && channels == PZ_S) pz_conv_taps_of_lanes(s, kb, rw, x, weights, acc);
        else if (PZ_MAY(CONV, ROWS) && pz_conv_takes_rows(s, kb, rw, PZ_V_REGISTERS))
          pz_conv_row(s, rw, channels, x, weights, acc);
        else if (PZ_MAY(CONV, TAPS)) pz_conv_taps_of_row(s, kb, rw, channels, x, weights, acc);
        weights += s->kernel[2] * channels * kb * PZ_S;
      }
    }
  }
  return weights;
}

/* Whether a pass is behind another one, or in front of one. */
#define PZ_CONV_LATER(s, t)  (PZ_MAY(CONV, PASSES) && pz_conv_has_passes(s) && !(t)->first)
#define PZ_CONV_UNDONE(s, t) (PZ_MAY(CONV, PASSES) && pz_conv_has_passes(s) && !(t)->last)

/* What accumulator i starts from: bias and Base (PZnet 3.1), or what the pass before has left in out. */
PZ_INLINE pz_v pz_conv_start(const pz_conv_direct_shape *s, const pz_conv_tile *t, int32_t kb, int32_t rw,
                             int32_t i) {
  const int32_t block = (t->outer + i % kb) / s->phases, channel = block * PZ_S;
  if (PZ_CONV_LATER(s, t))
    return pz_point_load(&s->out, block,
                         t->out + pz_conv_block_offset(s, &s->out, i % kb) +
                             pz_conv_point(&s->out, pz_conv_unit, rw, i / kb));
  pz_v bias = s->has_bias ? pz_v_load(t->bias + channel) : pz_v_zero();
  if (!PZ_MAY(CONV, RESIDUAL) || !s->residual.c) return bias;
  const float *at = t->residual + pz_conv_block_offset(s, &s->residual, i % kb) +
                    pz_conv_point(&s->residual, pz_conv_unit, rw, i / kb);
  pz_v residual = pz_point_load(&s->residual, block, at);
  if (s->ahead == PZ_CONV_AHEAD_ROW)
    __builtin_prefetch(at + t->further, 0, 2); /* sums cannot begin without it */
  return s->has_residual_scale ? pz_v_fma(residual, pz_v_load(t->residual_scale + channel), bias)
                               : residual + bias;
}

PZ_INLINE void pz_conv_end(const pz_conv_direct_shape *s, const pz_conv_tile *t, int32_t kb, int32_t rw,
                           int32_t i, pz_v x) {
  const int32_t block = (t->outer + i % kb) / s->phases;
  pz_v slope = s->act == PZ_K_ACT_PRELU ? pz_v_load(t->slope + block * PZ_S) : pz_v_zero();
  float *at =
      t->out + pz_conv_block_offset(s, &s->out, i % kb) + pz_conv_point(&s->out, pz_conv_unit, rw, i / kb);
  if (!PZ_CONV_UNDONE(s, t)) x = pz_conv_finish(s, block, slope, x);
  if (PZ_MAY(CONV, STREAM) && !PZ_CONV_UNDONE(s, t) && s->stream) pz_v_stream(at, x);
  else pz_point_store(&s->out, block, at, x);
}

_Static_assert(PZ_K_ACT_RELU == 1 && PZ_K_ACT_PRELU == 2, "pz_conv_epilogue_rolled");

/* Point by point, from memory: unrolled over all sums, the activation's constants take registers from the sums while these are
 * made (gcc 12; doc/notes/2026-11-28-convolutions.md). */
PZ_INLINE void pz_conv_end_points(const pz_conv_direct_shape *s, const pz_conv_tile *t, int32_t kb,
                                  int32_t rw, const pz_v *acc) {
  pz_v sums[PZ_CONV_ACCUMULATORS];
  PZ_UNROLL for (int32_t i = 0; i < kb * rw * s->rh; ++i) sums[i] = acc[i];
  const pz_v *sum = sums;
  PZ_POINTER_PIN(sum);
  PZ_MEMORY_PIN();
  PZ_ROLL for (int32_t r = 0; r < rw * s->rh; ++r, sum += kb) {
    PZ_POINTER_PIN(sum);
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) pz_conv_end(s, t, kb, rw, r * kb + k, sum[k]);
  }
}

PZ_INLINE int pz_conv_fetches_evenly(const pz_conv_direct_shape *s) {
  return s->residual.c && s->rh == 1 && s->in.c >= s->in.block;
}

/* Points begin .. end - 1 of what a tile reads in the next strip are fetched, for a share of all groups; and of what it starts from in the
 * next row, where that does not come beside a block of channels in. */
PZ_INLINE void pz_conv_fetch_ahead(const pz_conv_direct_shape *s, const pz_conv_tile *t, int32_t kb,
                                   int32_t rw, int32_t begin, int32_t end) {
  PZ_ROLL for (int32_t r = begin; r < end; ++r) {
    if (s->residual.c && !pz_conv_fetches_evenly(s))
      PZ_UNROLL for (int32_t k = 0; k < kb; ++k)
          __builtin_prefetch(t->residual + t->further + pz_conv_block_offset(s, &s->residual, k) +
                                 pz_conv_point(&s->residual, pz_conv_unit, rw, r),
                             0, 2);
    PZ_ROLL for (int32_t b = t->soon.begin; b < t->soon.end; ++b) __builtin_prefetch(
        t->in + t->next + b * s->in.stride_c + pz_conv_point(&s->in, pz_conv_unit, rw, r), 0, 2);
  }
}

/* The channels of a block in, one tap. Beside them what `points` points in a row start from is fetched, at `residual`, evenly: no more lines at once
 * than a core waits for. */
PZ_INLINE void pz_conv_sum_fetching(const pz_conv_direct_shape *s, int32_t kb, int32_t rw, int32_t points,
                                    const float *in, const float *weights, const float *residual, pz_v *acc) {
  const int32_t steps = s->in.block, lines = pz_conv_fetches_evenly(s) ? points * kb : 0;
  pz_v x[PZ_CONV_ACCUMULATORS];
  PZ_POINTER_PIN(in);
  PZ_POINTER_PIN(weights);
  PZ_POINTER_PIN(residual);
  if (PZ_CONV_LANES(s)) pz_conv_load_points(s, rw, in, x);
  PZ_UNROLL for (int32_t i = 0; i < steps; ++i) {
    PZ_UNROLL for (int32_t l = lines * i / steps; l < lines * (i + 1) / steps; ++l) __builtin_prefetch(
        residual + pz_conv_block_offset(s, &s->residual, l % kb) + l / kb * s->residual.stride_w, 0, 2);
    if (PZ_CONV_LANES(s)) pz_conv_step_of_lanes(kb, rw * s->rh, i, x, weights + i * kb * PZ_S, acc);
    else pz_conv_step(s, kb, rw, in + i, weights + i * kb * PZ_S, acc);
  }
}

/* All whole input blocks, and a part of what is fetched with each: inputs would wait behind it if it came at once. */
PZ_INLINE const float *pz_conv_sum_chunks(const pz_conv_direct_shape *s, int32_t kb, int32_t rw,
                                          const pz_conv_tile *t, pz_v *acc) {
  const int32_t points = rw * s->rh, whole = s->in.c / s->in.block, block = s->in.block * kb * PZ_S,
                parts = whole < s->c_chunk ? whole : s->c_chunk,
                share = parts ? (points + parts - 1) / parts : 0;
  const float *weights = t->weights, *residual = t->residual + t->further;
  if (PZ_CONV_LATER(s, t)) return pz_conv_sum(s, kb, rw, s->in.block, t->full, t->in, weights, acc);
  if (!t->full) pz_conv_fetch_ahead(s, t, kb, rw, 0, points);
  PZ_ROLL for (int32_t b = pz_rolled(0); b < t->full;
               ++b, weights += block, residual += share * s->residual.stride_w) {
    pz_conv_fetch_ahead(s, t, kb, rw, points * b / t->full, points * (b + 1) / t->full);
    pz_conv_sum_fetching(s, kb, rw, share, t->in + b * s->in.stride_c, weights, residual, acc);
  }
  return weights;
}

PZ_INLINE void pz_conv_one_tile(const pz_conv_direct_shape *s, int32_t kb, int32_t rw,
                                const pz_conv_tile *t) {
  pz_v acc[PZ_CONV_ACCUMULATORS];
  const int32_t rest = s->in.c % s->in.block, all = kb * rw * s->rh;
  PZ_UNROLL for (int32_t i = 0; i < all; ++i) acc[i] = pz_conv_start(s, t, kb, rw, i);
  const float *weights = PZ_MAY(CONV, PARTS) && s->ahead == PZ_CONV_AHEAD_PARTS
                             ? pz_conv_sum_chunks(s, kb, rw, t, acc)
                             : pz_conv_sum(s, kb, rw, s->in.block, t->full, t->in, t->weights, acc);
  if (PZ_MAY(CONV, REST) && rest && t->rest)
    pz_conv_sum(s, kb, rw, rest, 1, t->in + t->full * s->in.stride_c, weights, acc);
  if (PZ_MAY(CONV, ROLLED) && pz_conv_epilogue_rolled(s) && !PZ_CONV_UNDONE(s, t)) {
    pz_conv_end_points(s, t, kb, rw, acc);
    return;
  }
  PZ_UNROLL for (int32_t i = 0; i < all; ++i) pz_conv_end(s, t, kb, rw, i, acc[i]);
}

PZ_INLINE void pz_conv_tiles(const pz_conv_direct_shape *s, int32_t kb, int32_t rw, int32_t count,
                             pz_conv_tile *t) {
  PZ_ROLL for (int32_t i = pz_rolled(0); i < count; ++i) {
    pz_conv_one_tile(s, kb, rw, t);
    t->in += rw * s->stride[2] * s->in.stride_w;
    t->out += rw * s->out.stride_w;
    if (s->residual.c) t->residual += rw * s->residual.stride_w;
  }
}

/* Where a pass works: outer group, input blocks, rows. */
typedef struct pz_conv_pass {
  int32_t group, begin, end, first, last;
  int64_t row, row_end;
} pz_conv_pass;

/* Where a row of results is; rows of rh at once. They are counted in the order in which they lie: of tensors whose rows lie in front of
 * their planes, a row of all planes before the next one, so that what is written, and what is read for it, goes on where it was. */
typedef struct pz_conv_row_place {
  int64_t n, d, h;
} pz_conv_row_place;
PZ_INLINE pz_conv_row_place pz_conv_place(const pz_conv_direct_shape *s, int64_t row) {
  const int64_t rows = s->out.h / s->rh, planes = s->out.d, n = row / rows / planes;
  if (s->stats_units || s->out.stride_h < s->out.stride_d)
    return (pz_conv_row_place){n, row / rows % planes, row % rows * s->rh};
  return (pz_conv_row_place){n, row % planes, row / planes % rows * s->rh};
}

/* Where it begins, from the first one. */
PZ_INLINE int64_t pz_conv_row_at(const pz_view *v, pz_conv_row_place at) {
  return at.n * v->stride_n + at.d * v->stride_d + at.h * v->stride_h;
}

/* Rows row .. row_end of one outer group of kb blocks. */
PZ_INLINE void pz_conv_rows(const pz_conv_direct_shape *s, int32_t kb, const pz_conv_pass *p,
                            pz_conv_tile t) {
  const pz_conv_split tiles = pz_conv_row_tiles(s, kb);
  const pz_conv_tile origin = t;
  PZ_ROLL for (int64_t i = p->row; i < p->row_end; ++i) {
    const pz_conv_row_place at = pz_conv_place(s, i);
    t.in = origin.in + at.n * s->in.stride_n + p->begin * s->in.stride_c +
           (at.d * s->stride[0] - s->pad[0]) * s->in.stride_d +
           (at.h * s->stride[1] - s->pad[1]) * s->in.stride_h - s->pad[2] * s->in.stride_w;
    t.out = origin.out + pz_conv_block_offset(s, &s->out, t.outer) + pz_conv_row_at(&s->out, at);
    if (s->residual.c) {
      const int64_t here = pz_conv_row_at(&s->residual, at);
      t.residual = origin.residual + pz_conv_block_offset(s, &s->residual, t.outer) + here;
      t.further = pz_conv_row_at(&s->residual, pz_conv_place(s, i + 1)) - here;
    }
    if (s->ahead == PZ_CONV_AHEAD_PARTS)
      t.next =
          pz_conv_row_at(&s->in, pz_conv_place(s, i + pz_conv_strip_rows(s))) - pz_conv_row_at(&s->in, at);
    pz_conv_tiles(s, kb, tiles.size, tiles.large, &t);
    if (PZ_MAY(CONV, FEWER_POINTS) && tiles.large < tiles.count)
      pz_conv_tiles(s, kb, tiles.size - 1, tiles.count - tiles.large, &t);
  }
}

/* The moments of a strip of kb blocks, whose results are in level 2 still. In the tiles' registers they would cost more: compilers
 * then spill sums. */
PZ_INLINE void pz_conv_collect_stats(const pz_conv_direct_shape *s, int32_t kb, const pz_conv_pass *p,
                                     const pz_conv_tile *t) {
  const int64_t rows = pz_conv_sample_rows(s), n = p->row / rows, first = p->row % rows,
                blocks = pz_conv_outer_blocks(s) / s->phases, strip = first / pz_conv_strip_rows(s);
  PZ_ROLL for (int32_t k = t->outer; k < t->outer + kb; ++k) {
    const float *out = t->out + n * s->out.stride_n + pz_conv_block_offset(s, &s->out, k);
    const pz_norm_lanes lanes =
        pz_norm_region(&s->out, out, first * s->rh, (first + p->row_end - p->row) * s->rh);
    const int64_t unit = (n * blocks + k / s->phases) * s->stats_units + strip * s->phases + k % s->phases;
    pz_norm_store(t->norm_stats + unit * PZ_NORM_RECORD, &lanes);
  }
}

/* All passes over a strip of rows of one outer group: chunk after chunk of input blocks. */
PZ_INLINE void pz_conv_strip(const pz_conv_direct_shape *s, pz_conv_pass p, pz_conv_tile t) {
  const pz_conv_split outer = pz_conv_outer_groups(s);
  const int32_t kb = pz_conv_split_size(outer, p.group), whole = s->in.c / s->in.block;
  const pz_conv_range sees = pz_conv_sees(s, t.outer, kb);
  const int32_t passes = (sees.end - sees.begin + s->c_chunk - 1) / s->c_chunk;
  PZ_ROLL for (p.begin = sees.begin + pz_first_of(passes); p.begin < sees.end; p.begin = p.end) {
    p.end = p.begin + s->c_chunk < sees.end ? p.begin + s->c_chunk : sees.end;
    t.first = p.begin == sees.begin, t.last = p.end == sees.end;
    t.full = (p.end < whole ? p.end : whole) - p.begin, t.rest = p.end > whole;
    if (p.group < outer.large) pz_conv_rows(s, outer.size, &p, t);
    else if (PZ_MAY(CONV, FEWER_BLOCKS) && outer.large < outer.count) pz_conv_rows(s, outer.size - 1, &p, t);
    t.weights += (int64_t)kb * PZ_S * pz_conv_taps(s) * pz_conv_channels_in(s, p.begin, p.end);
  }
  if (PZ_MAY(CONV, STATS) && s->stats_units) pz_conv_collect_stats(s, kb, &p, &t);
}

PZ_INLINE int64_t pz_conv_strip_end(const pz_conv_direct_shape *s, int64_t row, int64_t end) {
  const int64_t rows = pz_conv_sample_rows(s), sample = s->stats_units ? (row / rows + 1) * rows : end,
                stop = row + pz_conv_strip_rows(s);
  end = sample < end ? sample : end;
  return stop < end ? stop : end;
}

/* Rows p.row .. p.row_end of one outer group, strip after strip. */
PZ_INLINE void pz_conv_group(const pz_conv_direct_shape *s, pz_conv_pass p, pz_conv_tile t) {
  const int64_t end = p.row_end;
  t.outer = pz_conv_split_begin(pz_conv_outer_groups(s), p.group);
  t.weights += pz_conv_weights_before(s, p.group);
  if (s->ahead == PZ_CONV_AHEAD_PARTS) {
    const int32_t groups = pz_conv_outer_groups(s).count, blocks = pz_conv_in_blocks(s);
    t.soon = (pz_conv_range){p.group * blocks / groups, (p.group + 1) * blocks / groups};
  }
  PZ_ROLL for (; p.row < end; p.row = p.row_end) {
    p.row_end = pz_conv_strip_end(s, p.row, end);
    pz_conv_strip(s, p, t);
  }
}

/* A product: all outer groups of a strip before the next strip, whose inputs then come from level 2 for all but the first. */
PZ_INLINE void pz_conv_all_groups(const pz_conv_direct_shape *s, int64_t row, int64_t end, pz_conv_tile t) {
  PZ_ROLL for (int64_t stop; row < end; row = stop) {
    stop = pz_conv_strip_end(s, row, end);
    PZ_ROLL for (int32_t g = pz_first_of(pz_conv_outer_groups(s).count); g < pz_conv_outer_groups(s).count;
                 ++g) pz_conv_group(s, (pz_conv_pass){.group = g, .row = row, .row_end = stop}, t);
  }
}

/* The row that share `share` of all samples begins with: a row is one, or a strip where its moments are collected. */
PZ_INLINE int64_t pz_conv_share_row(const pz_conv_direct_shape *s, int64_t share) {
  if (!s->stats_units) return share;
  const int64_t strips = pz_conv_strips(s);
  return share / strips * pz_conv_sample_rows(s) + share % strips * pz_conv_strip_rows(s);
}

PZ_INLINE void pz_conv_direct(const pz_conv_direct_shape s, const float *in, const float *weights,
                              const float *bias, const float *residual, const float *residual_scale,
                              const float *slope, float *out, float *norm_stats, int32_t worker,
                              int32_t workers) {
  const int64_t shares = pz_conv_shares(&s);
  const int32_t groups = pz_conv_outer_groups(&s).count, each_strip = pz_conv_each_strip(&s),
                many = each_strip || pz_conv_rows_suffice(&s, workers);
  const pz_conv_tile t = {.in = in,
                          .weights = weights,
                          .bias = bias,
                          .residual = residual,
                          .residual_scale = residual_scale,
                          .slope = slope,
                          .out = out,
                          .norm_stats = norm_stats};
  int64_t begin, end;
  PZ_WAYS_CHECK(CONV, pz_conv_ways(&s, PZ_V_REGISTERS));
  pz_share(many ? shares : shares * groups, worker, workers, &begin, &end);
  if (PZ_MAY(CONV, EACH_STRIP) && each_strip) {
    pz_conv_all_groups(&s, pz_conv_share_row(&s, begin), pz_conv_share_row(&s, end), t);
  } else if (PZ_MAY(CONV, EACH_GROUP)) PZ_ROLL for (int32_t g = pz_first_of(groups); g < groups; ++g) {
      const int64_t skip = many ? 0 : g * shares, first = begin > skip ? begin - skip : 0,
                    stop = end - skip < shares ? end - skip : shares;
      if (first < stop)
        pz_conv_group(&s,
                      (pz_conv_pass){.group = g,
                                     .row = pz_conv_share_row(&s, first),
                                     .row_end = pz_conv_share_row(&s, stop)},
                      t);
    }
  if (s.stream) pz_v_stream_end();
}

#endif
