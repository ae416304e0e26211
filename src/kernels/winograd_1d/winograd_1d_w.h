/* winograd_1d_w.h: convolution of few NCHW channels by minimal filtering along the width alone: transformed rows, then tile after tile of
 * products and their transforms, which do not leave the registers.
 *
 * Contract: shape_w.h; weights packed by pack_w.h; bias, residual_scale, slope padded with zeros to whole blocks; out, residual of block S,
 * residual may be the very storage of out. Reads `in` as far as the direct convolution would. Writes the inside of out; padding lanes
 * become zero. scratch: pz_winograd_1d_w_scratch floats of this worker's own, aligned to the vector. The unit of work is a band of rows
 * of one plane of results; each result is summed in one order, (channel, kd, kh), so any number of workers gives the same bits. If the shape
 * says so, the moments of the results are collected: norm_stats holds records (norm/moments.h) over n, block, plane, band. */
#ifndef PZ_KERNELS_WINOGRAD_1D_WINOGRAD_1D_W_H
#define PZ_KERNELS_WINOGRAD_1D_WINOGRAD_1D_W_H

#include "kernels/conv_direct/direct.h"
#include "kernels/norm/moments.h"
#include "kernels/winograd/points.h"
#include "kernels/winograd/transforms.h"
#include "kernels/winograd_1d/shape_w.h"

/* ---- inputs ---- */

/* Every m-th input of a row in turn, so that a vector holds one input of S tiles; zeros behind the last one. */
PZ_INLINE void pz_winograd_1d_w_deal(const pz_winograd_1d_w_shape *s, const float *in, float *phases) {
  const int32_t m = s->m, size = s->conv.out.w + s->conv.kernel[2] - 1, whole = size / m;
  const int64_t phase = pz_winograd_1d_w_phase(s);
  PZ_ROLL for (int32_t t = 0; t < whole; ++t, in += m) PZ_UNROLL for (int32_t i = 0; i < m; ++i)
      phases[i * phase + t] = in[i];
  PZ_UNROLL for (int32_t i = 0; i < m; ++i) PZ_ROLL for (int64_t t = whole; t < phase; ++t)
      phases[i * phase + t] = t == whole && i < size - whole * m ? in[i] : 0.0f;
}

/* One row: in its first input, to [position][tile]. */
PZ_INLINE void pz_winograd_1d_w_transform(const pz_winograd_1d_w_shape *s, const float *in, float *phases,
                                          float *to) {
  const int32_t m = s->m, r = s->conv.kernel[2], a = pz_winograd_1d_w_a(s),
                extent = pz_winograd_1d_w_extent(s);
  const int64_t phase = pz_winograd_1d_w_phase(s);
  pz_v k[PZ_WINOGRAD_CONSTANTS];
  pz_winograd_1d_w_deal(s, in, phases);
  pz_winograd_forward_constants(0, m, r, k);
  PZ_ROLL for (int32_t t = 0; t < extent; t += PZ_S) {
    pz_v x[PZ_WINOGRAD_MOST_A];
    PZ_UNROLL for (int32_t i = 0; i < a; ++i) x[i] = pz_v_loadu(phases + i % m * phase + t + i / m);
    pz_winograd_forward(0, m, r, k, x, 1);
    PZ_UNROLL for (int32_t i = 0; i < a; ++i) pz_v_store(to + i * extent + t, x[i]);
  }
}

/* Rows of all channels for `rows` rows of results, of the input's plane `plane` (from -pad on). in: where row 0 of the band begins there, in
 * channel 0. */
PZ_INLINE void pz_winograd_1d_w_load(const pz_winograd_1d_w_shape *s, int32_t plane, int32_t rows,
                                     const float *in, float *ring, float *phases) {
  const int32_t kd = s->conv.kernel[0], slot = plane % kd;
  PZ_ROLL for (int32_t c = 0; c < s->conv.in.c; ++c)
      PZ_ROLL for (int32_t h = 0; h < rows + s->conv.kernel[1] - 1; ++h) pz_winograd_1d_w_transform(
          s, in + c * s->conv.in.stride_c + h * s->conv.in.stride_h, phases,
          ring + (c * kd + slot) * pz_winograd_1d_w_plane(s) + h * pz_winograd_1d_w_row(s));
}

/* ---- products ---- */

/* Every sum gets weight[position, block] * in[position, tile]. By lane tiles are read a vector at a time, up to S - 1 floats further: in the scratch, where
 * phases lie behind the last row. Sum (position, tile, block) is (position * rw + tile) * kb + block. */
PZ_INLINE void pz_winograd_1d_w_step(const pz_winograd_1d_w_shape *s, const float *in, const float *weights,
                                     pz_v *acc) {
  const int32_t a = pz_winograd_1d_w_a(s), extent = pz_winograd_1d_w_extent(s), kb = s->kb, rw = s->rw;
  PZ_UNROLL for (int32_t p = 0; p < a; ++p) {
    pz_v held[PZ_CONV_ACCUMULATORS];
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
      held[k] = pz_v_load(weights + (p * kb + k) * PZ_S);
      PZ_V_PIN(held[k]);
    }
    pz_v x = pz_v_zero();
    PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
      if (!PZ_V_HAS_LANES) x = pz_v_broadcast(in + p * extent + r);
      else if (r % PZ_S == 0) x = pz_v_loadu(in + p * extent + r); /* of tiles behind them too */
      if (PZ_CONV_PIN_BROADCAST && kb > 1) PZ_V_PIN(x);
      PZ_UNROLL for (int32_t k = 0; k < kb; ++k) acc[(p * rw + r) * kb + k] =
          PZ_V_HAS_LANES ? pz_v_fma_lane(held[k], x, r % PZ_S, acc[(p * rw + r) * kb + k])
                         : pz_v_fma(held[k], x, acc[(p * rw + r) * kb + k]);
    }
  }
  if (!PZ_V_HAS_LANES) PZ_UNROLL for (int32_t i = 0; i < a * rw * kb; ++i) PZ_V_PIN(acc[i]);
  PZ_MEMORY_PIN();
}

/* Sums of rw tiles of kb blocks. ring: at the first tile of the row of the band that results come from; plane: the first of them. */
PZ_INLINE void pz_winograd_1d_w_sum(const pz_winograd_1d_w_shape *s, int32_t plane, const float *ring,
                                    const float *weights, pz_v *acc) {
  const int32_t sums = pz_winograd_1d_w_a(s) * s->rw * s->kb, kd = s->conv.kernel[0];
  PZ_UNROLL for (int32_t i = 0; i < sums; ++i) acc[i] = pz_v_zero();
  PZ_ROLL for (int32_t c = 0; c < s->conv.in.c; ++c) PZ_ROLL for (int32_t d = 0; d < kd; ++d) {
    const float *in = ring + (c * kd + (plane + d) % kd) * pz_winograd_1d_w_plane(s);
    PZ_ROLL for (int32_t h = 0; h < s->conv.kernel[1]; ++h) {
      PZ_POINTER_PIN(in);
      PZ_POINTER_PIN(weights);
      pz_winograd_1d_w_step(s, in, weights, acc);
      in += pz_winograd_1d_w_row(s);
      weights += pz_winograd_1d_w_a(s) * s->kb * PZ_S;
    }
  }
}

/* The results of tile r of block k. */
PZ_INLINE void pz_winograd_1d_w_back(const pz_winograd_1d_w_shape *s, int32_t r, int32_t k, const pz_v *acc,
                                     pz_v *y) {
  PZ_UNROLL for (int32_t p = 0; p < pz_winograd_1d_w_a(s); ++p) y[p] = acc[(p * s->rw + r) * s->kb + k];
  pz_winograd_back(s->m, s->conv.kernel[2], y, 1);
}

/* Where the first result of some tiles lies: channel block, offsets. */
typedef struct pz_winograd_1d_w_place {
  int32_t block;
  int64_t out, residual;
} pz_winograd_1d_w_place;

PZ_INLINE void pz_winograd_1d_w_end(const pz_winograd_1d_w_shape *s, const pz_conv_epilogue *e,
                                    const pz_winograd_1d_w_place *at, int32_t o, int32_t k, pz_v sum) {
  const pz_view *out = &s->conv.out, *residual = &s->conv.residual;
  pz_conv_store_sum(&s->conv, e, at->block + k, at->out + k * out->stride_c + o * out->stride_w,
                    at->residual + k * residual->stride_c + o * residual->stride_w, sum);
}

PZ_INLINE void pz_winograd_1d_w_whole(const pz_winograd_1d_w_shape *s, const pz_conv_epilogue *e,
                                      const pz_winograd_1d_w_place *at, const pz_v *acc) {
  PZ_UNROLL for (int32_t r = 0; r < s->rw; ++r) PZ_UNROLL for (int32_t k = 0; k < s->kb; ++k) {
    pz_v y[PZ_WINOGRAD_MOST_A];
    pz_winograd_1d_w_back(s, r, k, acc, y);
    PZ_UNROLL for (int32_t o = 0; o < s->m; ++o) { pz_winograd_1d_w_end(s, e, at, r * s->m + o, k, y[o]); }
  }
}

/* The first `outputs` results. */
PZ_INLINE void pz_winograd_1d_w_rest(const pz_winograd_1d_w_shape *s, const pz_conv_epilogue *e,
                                     const pz_winograd_1d_w_place *at, int32_t outputs, const pz_v *acc) {
  pz_v sums[PZ_CONV_ACCUMULATORS];
  PZ_UNROLL for (int32_t r = 0; r < s->rw; ++r) PZ_UNROLL for (int32_t k = 0; k < s->kb; ++k) {
    pz_v y[PZ_WINOGRAD_MOST_A];
    pz_winograd_1d_w_back(s, r, k, acc, y);
    PZ_UNROLL for (int32_t o = 0; o < s->m; ++o) sums[(r * s->m + o) * s->kb + k] = y[o];
  }
  const pz_v *sum = sums;
  PZ_POINTER_PIN(sum);
  PZ_MEMORY_PIN();
  PZ_ROLL for (int32_t o = 0; o < outputs; ++o, sum += s->kb) PZ_UNROLL for (int32_t k = 0; k < s->kb; ++k)
      pz_winograd_1d_w_end(s, e, at, o, k, sum[k]);
}

/* One row of results of kb blocks. */
PZ_INLINE void pz_winograd_1d_w_line(const pz_winograd_1d_w_shape *s, int32_t plane, const float *ring,
                                     const float *weights, const pz_conv_epilogue *e,
                                     pz_winograd_1d_w_place at) {
  const int32_t step = s->rw * s->m, whole = s->conv.out.w / step;
  pz_v acc[PZ_CONV_ACCUMULATORS];
  PZ_ROLL for (int32_t i = 0; i < whole; ++i, ring += s->rw) {
    pz_winograd_1d_w_sum(s, plane, ring, weights, acc);
    pz_winograd_1d_w_whole(s, e, &at, acc);
    at.out += step * s->conv.out.stride_w, at.residual += step * s->conv.residual.stride_w;
  }
  if (s->conv.out.w == whole * step) return;
  pz_winograd_1d_w_sum(s, plane, ring, weights, acc);
  pz_winograd_1d_w_rest(s, e, &at, s->conv.out.w - whole * step, acc);
}

/* The rows of a band in one plane; n, d, first: where they are. Blocks are outermost: their weights then stay in level 1. */
PZ_INLINE void pz_winograd_1d_w_lines(const pz_winograd_1d_w_shape *s, int64_t n, int32_t d, int32_t first,
                                      int32_t rows, const float *ring, const float *weights,
                                      const pz_conv_epilogue *e) {
  const pz_view *out = &s->conv.out, *residual = &s->conv.residual;
  const int32_t blocks = pz_conv_outer_blocks(&s->conv);
  const int64_t group = pz_winograd_1d_w_weight_floats(s) / blocks * s->kb;
  PZ_ROLL for (int32_t b = 0; b < blocks; b += s->kb, weights += group) {
    const int64_t to = n * out->stride_n + b * out->stride_c + d * out->stride_d,
                  from = n * residual->stride_n + b * residual->stride_c + d * residual->stride_d;
    PZ_ROLL for (int32_t h = 0; h < rows; ++h) {
      const pz_winograd_1d_w_place at = {b, to + (first + h) * out->stride_h,
                                         from + (first + h) * residual->stride_h};
      pz_winograd_1d_w_line(s, d, ring + h * pz_winograd_1d_w_row(s), weights, e, at);
    }
  }
}

/* The moments of those rows, a unit of each block. */
PZ_INLINE void pz_winograd_1d_w_collect(const pz_winograd_1d_w_shape *s, int64_t n, int32_t d, int32_t first,
                                        int32_t rows, const float *out, float *norm_stats) {
  const pz_view *v = &s->conv.out;
  const int64_t unit = (int64_t)d * pz_winograd_1d_w_bands(s) + first / PZ_WINOGRAD_BAND;
  out += n * v->stride_n + d * v->stride_d + first * v->stride_h;
  PZ_ROLL for (int32_t b = 0; b < pz_conv_outer_blocks(&s->conv); ++b) {
    float *record = pz_norm_record_at(norm_stats, v, s->conv.stats_units, n, b, unit);
    pz_norm_clear(record);
    pz_norm_collect_box(v, out + b * v->stride_c, 1, rows, v->w, record);
  }
}

PZ_INLINE void pz_winograd_1d_w(const pz_winograd_1d_w_shape s, const float *in, const float *weights,
                                const float *bias, const float *residual, const float *residual_scale,
                                const float *slope, float *out, float *norm_stats, float *scratch,
                                int32_t worker, int32_t workers) {
  const pz_conv_direct_shape *c = &s.conv;
  const pz_conv_epilogue epilogue = {bias, residual, residual_scale, slope, out, NULL};
  float *phases = scratch + pz_winograd_1d_w_scratch(&s) - s.m * pz_winograd_1d_w_phase(&s);
  const int32_t bands = pz_winograd_1d_w_bands(&s);
  int64_t begin, end;
  pz_share((int64_t)c->out.n * bands * c->out.d, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const int32_t d = (int32_t)(i % c->out.d), first = (int32_t)(i / c->out.d % bands) * PZ_WINOGRAD_BAND,
                  left = c->out.h - first, rows = left < PZ_WINOGRAD_BAND ? left : PZ_WINOGRAD_BAND;
    const int64_t n = i / c->out.d / bands;
    const float *from = in + n * c->in.stride_n + (d - c->pad[0]) * c->in.stride_d +
                        (first - c->pad[1]) * c->in.stride_h - c->pad[2];
    /* of the planes of the unit before, all but the first are there */
    PZ_ROLL for (int32_t p = d && i > begin ? c->kernel[0] - 1 : 0; p < c->kernel[0]; ++p)
        pz_winograd_1d_w_load(&s, d + p, rows, from + p * c->in.stride_d, scratch, phases);
    pz_winograd_1d_w_lines(&s, n, d, first, rows, scratch, weights, &epilogue);
    if (c->stats_units) pz_winograd_1d_w_collect(&s, n, d, first, rows, out, norm_stats);
  }
  if (c->stream) pz_v_stream_end();
}

#endif
