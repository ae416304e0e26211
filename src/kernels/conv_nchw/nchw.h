/* nchw.h: the direct convolution in NCHW, by outer products of weights and vectors of points.
 *
 * Contract: conv_nchw/shape.h. Weights packed by pack.h; bias, residual_scale and slope hold out.c floats; pointers that the shape does
 * not ask for may be NULL. residual may be the very storage of out. scratch: pz_conv_nchw_scratch(s) floats of this worker, aligned to
 * the vector. The unit of work is a row (n, d, h) of all channels: any number of workers gives the same bits, each sum in
 * one order, (channel, kd, kh, kw). */
#ifndef PZ_KERNELS_CONV_NCHW_NCHW_H
#define PZ_KERNELS_CONV_NCHW_NCHW_H

#include "kernels/activation.h"
#include "kernels/conv_nchw/shape.h"

#define PZ_CONV_NCHW_SUMS 32

/* ---- lines ---- */

/* Of one row of inputs, those of one phase: point i is input i*stride + phase - pad. x: NULL where there is no such row. */
PZ_INLINE void pz_conv_nchw_fill(const pz_conv_nchw_shape *s, int32_t phase, const float *x, float *line) {
  const int32_t stride = s->conv.stride[2], behind = s->conv.pad[2] - phase, all = pz_conv_nchw_line(s);
  int32_t first = behind > 0 ? (behind + stride - 1) / stride : 0,
          end = s->conv.in.w + behind > 0 ? (s->conv.in.w + behind - 1) / stride + 1 : 0;
  end = !x ? 0 : end < all ? end : all;
  first = first < end ? first : end;
  memset(line, 0, (size_t)first * sizeof *line);
  if (x) x += ((int64_t)first * stride - behind) * s->conv.in.stride_w;
  if (stride * s->conv.in.stride_w == 1) {
    if (end > first) memcpy(line + first, x, (size_t)(end - first) * sizeof *line);
  } else PZ_ROLL for (int32_t i = first; i < end; ++i, x += stride * s->conv.in.stride_w) line[i] = *x;
  memset(line + end, 0, (size_t)(all - end) * sizeof *line);
}

/* Of channels `begin` to `end` for the row of results at (d, h). in: of the sample. */
PZ_INLINE void pz_conv_nchw_fill_all(const pz_conv_nchw_shape *s, const float *in, int64_t d, int64_t h,
                                     int32_t begin, int32_t end, float *line) {
  const pz_conv_direct_shape *c = &s->conv;
  PZ_ROLL for (int32_t channel = begin; channel < end; ++channel)
      PZ_ROLL for (int32_t i = 0; i < c->kernel[0]; ++i) PZ_ROLL for (int32_t j = 0; j < c->kernel[1]; ++j) {
    const int64_t plane = d * c->stride[0] - c->pad[0] + i * c->dilation[0],
                  row = h * c->stride[1] - c->pad[1] + j * c->dilation[1];
    const int inside = plane >= 0 && plane < c->in.d && row >= 0 && row < c->in.h;
    const float *x = in + channel * c->in.stride_c + plane * c->in.stride_d + row * c->in.stride_h;
    PZ_ROLL for (int32_t p = 0; p < pz_conv_nchw_phases(c); ++p, line += pz_conv_nchw_line(s))
        pz_conv_nchw_fill(s, p, inside ? x : NULL, line);
  }
}

/* ---- a tile ---- */

typedef struct pz_conv_nchw_tile {
  const float *lines, *weights; /* at the tile's first point; of its channels out */
  const float *bias, *residual, *residual_scale, *slope;
  float *out;
  int32_t channels, points; /* in of this pass; points behind the first one that there are */
  int first, last;          /* whether this is the first, the last pass */
} pz_conv_nchw_tile;

/* One step: every sum gets weight[channel] * x[vector]. Pinned as in conv_direct/direct.h, or gcc 12 spills. */
PZ_INLINE void pz_conv_nchw_sum_step(int32_t kb, int32_t rw, const float *x, const float *weights,
                                     pz_v *sum) {
  pz_v held[PZ_CONV_NCHW_SUMS];
  if (rw <= kb) {
    PZ_UNROLL for (int32_t v = 0; v < rw; ++v) {
      held[v] = pz_v_loadu(x + v * PZ_S);
      PZ_V_PIN(held[v]);
    }
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
      pz_v w = pz_v_broadcast(weights + k);
      if (rw > 1) PZ_V_PIN(w);
      PZ_UNROLL for (int32_t v = 0; v < rw; ++v) sum[k * rw + v] = pz_v_fma(held[v], w, sum[k * rw + v]);
    }
  } else {
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
      held[k] = pz_v_broadcast(weights + k);
      PZ_V_PIN(held[k]);
    }
    PZ_UNROLL for (int32_t v = 0; v < rw; ++v) {
      const pz_v at = pz_v_loadu(x + v * PZ_S);
      PZ_UNROLL for (int32_t k = 0; k < kb; ++k) sum[k * rw + v] = pz_v_fma(held[k], at, sum[k * rw + v]);
    }
  }
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) PZ_V_PIN(sum[i]);
}

PZ_INLINE void pz_conv_nchw_sum(const pz_conv_nchw_shape *s, int32_t kb, int32_t rw,
                                const pz_conv_nchw_tile *t, pz_v *sum) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t rows = c->kernel[0] * c->kernel[1] * t->channels, line = pz_conv_nchw_line(s);
  const float *x = t->lines, *weights = t->weights;
  PZ_ROLL for (int32_t i = 0; i < rows; ++i, x += pz_conv_nchw_phases(c) * line) {
    PZ_POINTER_PIN(x);
    PZ_POINTER_PIN(weights);
    PZ_ROLL for (int32_t w = 0; w < c->kernel[2]; ++w, weights += kb) {
      const int32_t point = w * c->dilation[2];
      pz_conv_nchw_sum_step(kb, rw, x + point % c->stride[2] * line + point / c->stride[2], weights, sum);
    }
  }
}

/* Points of vector v that there are. */
PZ_INLINE int32_t pz_conv_nchw_points(const pz_conv_nchw_tile *t, int32_t v) {
  const int32_t points = t->points - v * PZ_S;
  return points < PZ_S ? points : PZ_S;
}
PZ_INLINE pz_v pz_conv_nchw_load(const pz_conv_nchw_tile *t, const float *at, int32_t v) {
  const int32_t points = pz_conv_nchw_points(t, v);
  return points == PZ_S ? pz_v_loadu(at + v * PZ_S) : pz_v_load_lanes(at + v * PZ_S, 0, points);
}

/* What a sum of channel k begins with. */
PZ_INLINE pz_v pz_conv_nchw_start(const pz_conv_nchw_shape *s, const pz_conv_nchw_tile *t, int32_t k,
                                  int32_t v) {
  const pz_conv_direct_shape *c = &s->conv;
  if (!t->first) return pz_conv_nchw_load(t, t->out + k * c->out.stride_c, v);
  pz_v x = c->has_bias ? pz_v_broadcast(t->bias + k) : pz_v_zero();
  if (!c->residual.c) return x;
  const pz_v residual = pz_conv_nchw_load(t, t->residual + k * c->residual.stride_c, v);
  return c->has_residual_scale ? pz_v_fma(residual, pz_v_broadcast(t->residual_scale + k), x) : x + residual;
}

PZ_INLINE void pz_conv_nchw_end(const pz_conv_nchw_shape *s, const pz_conv_nchw_tile *t, int32_t k, int32_t v,
                                pz_v x) {
  const pz_conv_direct_shape *c = &s->conv;
  float *at = t->out + k * c->out.stride_c + v * PZ_S;
  const int32_t points = pz_conv_nchw_points(t, v);
  if (t->last)
    x = pz_activate(c->act, c->alpha, c->beta,
                    c->act == PZ_K_ACT_PRELU ? pz_v_broadcast(t->slope + k) : pz_v_zero(), x);
  if (points == PZ_S) pz_v_storeu(at, x);
  else pz_v_store_lanes(at, x, 0, points);
}

PZ_INLINE void pz_conv_nchw_one_tile(const pz_conv_nchw_shape *s, int32_t kb, int32_t rw,
                                     const pz_conv_nchw_tile *t) {
  pz_v sum[PZ_CONV_NCHW_SUMS];
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) sum[i] = pz_conv_nchw_start(s, t, i / rw, i % rw);
  pz_conv_nchw_sum(s, kb, rw, t, sum);
  float sums[PZ_CONV_NCHW_SUMS * PZ_S]; /* what is done with them need not be there as often as there are */
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) pz_v_storeu(sums + i * PZ_S, sum[i]);
  PZ_ROLL for (int32_t i = 0; i < kb * rw; ++i)
      pz_conv_nchw_end(s, t, i / rw, i % rw, pz_v_loadu(sums + i * PZ_S));
}

/* ---- a row ---- */

PZ_INLINE void pz_conv_nchw_some(const pz_conv_nchw_shape *s, int32_t kb, int32_t rw, int32_t count,
                                 pz_conv_nchw_tile *t) {
  PZ_ROLL for (int32_t i = 0; i < count; ++i) {
    pz_conv_nchw_one_tile(s, kb, rw, t);
    t->lines += rw * PZ_S, t->out += rw * PZ_S, t->points -= rw * PZ_S;
    if (s->conv.residual.c) t->residual += rw * PZ_S;
  }
}

PZ_INLINE void pz_conv_nchw_group(const pz_conv_nchw_shape *s, int32_t kb, pz_conv_nchw_tile t) {
  const pz_conv_split tiles = pz_conv_nchw_tiles(s);
  pz_conv_nchw_some(s, kb, tiles.size, tiles.large, &t);
  if (tiles.large < tiles.count) pz_conv_nchw_some(s, kb, tiles.size - 1, tiles.count - tiles.large, &t);
}

/* All channels of one row, with what channels in from `begin` on, which have lines, add to them. row: at the first point and channel. */
PZ_INLINE void pz_conv_nchw_channels(const pz_conv_nchw_shape *s, const pz_conv_nchw_tile *row,
                                     int32_t begin) {
  const pz_conv_direct_shape *c = &s->conv;
  const pz_conv_split groups = pz_conv_nchw_groups(s);
  PZ_ROLL for (int32_t g = 0; g < groups.count; ++g) {
    const int32_t k = pz_conv_split_begin(groups, g), taps = pz_conv_taps(c);
    pz_conv_nchw_tile t = *row;
    t.weights += ((int64_t)k * c->in.c + (int64_t)begin * pz_conv_split_size(groups, g)) * taps;
    t.out += k * c->out.stride_c;
    if (c->residual.c) t.residual += k * c->residual.stride_c;
    if (c->has_bias) t.bias += k;
    if (c->has_residual_scale) t.residual_scale += k;
    if (c->act == PZ_K_ACT_PRELU) t.slope += k;
    if (g < groups.large) pz_conv_nchw_group(s, groups.size, t);
    else if (groups.large < groups.count) pz_conv_nchw_group(s, groups.size - 1, t);
  }
}

/* The row (d, h) of a sample, pass after pass. in: of the sample; t: at the row's first point and channel. */
PZ_INLINE void pz_conv_nchw_row(const pz_conv_nchw_shape *s, const float *in, int64_t d, int64_t h,
                                pz_conv_nchw_tile t, float *scratch) {
  const int32_t channels = s->conv.in.c;
  PZ_ROLL for (int32_t begin = 0, end; begin < channels; begin = end) {
    end = begin + s->conv.c_chunk < channels ? begin + s->conv.c_chunk : channels;
    pz_conv_nchw_fill_all(s, in, d, h, begin, end, scratch);
    t.channels = end - begin, t.first = begin == 0, t.last = end == channels;
    pz_conv_nchw_channels(s, &t, begin);
  }
}

PZ_INLINE void pz_conv_nchw(const pz_conv_nchw_shape s, const float *in, const float *weights,
                            const float *bias, const float *residual, const float *residual_scale,
                            const float *slope, float *out, float *scratch, int32_t worker, int32_t workers) {
  const pz_view *o = &s.conv.out, *r = &s.conv.residual;
  int64_t row, end;
  pz_share((int64_t)o->n * o->d * o->h, worker, workers, &row, &end);
  PZ_ROLL for (; row < end; ++row) {
    const int64_t h = row % o->h, d = row / o->h % o->d, n = row / o->h / o->d;
    pz_conv_nchw_tile t = {.lines = scratch,
                           .weights = weights,
                           .bias = bias,
                           .residual_scale = residual_scale,
                           .slope = slope,
                           .points = o->w};
    t.out = out + n * o->stride_n + d * o->stride_d + h * o->stride_h;
    if (r->c) t.residual = residual + n * r->stride_n + d * r->stride_d + h * r->stride_h;
    pz_conv_nchw_row(&s, in + n * s.conv.in.stride_n, d, h, t, scratch);
  }
}

#endif
