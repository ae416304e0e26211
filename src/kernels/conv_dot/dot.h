/* dot.h: the direct convolution with few out channels (a network's last layer): vectors run over the in channels.
 *
 * Contract: as in conv/shape.h, but: in has block S; one group, one phase; out and residual have block 1 (NCHW), any stride_w, or
 * are one block of S, whose padding lanes become zero; bias, residual_scale, slope hold out.c floats. Of the schedule kb (channels) and
 * rw (points) are used. S vectors of weights of the direct convolution become K here, so it pays for K < S. Each sum over
 * lanes is made once at the end of a tile, and bias, Base and activation work on vectors of points, or on a point's channels
 * where out is NCHWc. The unit of work is a row (n, d, h): any number of workers gives the same bits. */
#ifndef PZ_KERNELS_CONV_DOT_DOT_H
#define PZ_KERNELS_CONV_DOT_DOT_H

#include "kernels/activation.h"
#include "kernels/conv/fetch.h"
#include "kernels/conv_dot/pack.h"

/* Padded to whole vectors of points. */
#define PZ_DOT_POINTS 32

typedef struct pz_dot_tile {
  const float *in, *weights, *bias, *residual, *residual_scale, *slope;
  float *out;
  int32_t channel; /* the first out channel */
} pz_dot_tile;

/* The accumulator of channel k at point r: what a finishing vector takes lies together. */
PZ_INLINE int32_t pz_dot_index(const pz_conv_dot_shape *s, int32_t kb, int32_t rw, int32_t k, int32_t r) {
  return s->out.block == 1 ? k * rw + r : r * kb + k;
}

/* Elements from the first out channel to channel k of a view. */
PZ_INLINE int64_t pz_dot_channel(const pz_view *v, int32_t k) { return v->block == 1 ? k * v->stride_c : k; }

/* One tap of one input block. The fewer operands wait in registers; pinned as in conv_direct/direct.h, or gcc 12 spills. */
PZ_INLINE void pz_dot_step(const pz_conv_dot_shape *s, int32_t kb, int32_t rw, const float *in,
                           const float *weights, pz_v *acc) {
  const int64_t step = s->stride[2] * s->in.stride_w;
  pz_v held[PZ_DOT_POINTS];
  if (kb <= rw) {
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
      held[k] = pz_v_load(weights + k * PZ_S);
      PZ_V_PIN(held[k]);
    }
    PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
      pz_v x = pz_v_load(in + r * step);
      PZ_V_PIN(x);
      PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
        const int32_t i = pz_dot_index(s, kb, rw, k, r);
        acc[i] = pz_v_fma(held[k], x, acc[i]);
      }
    }
  } else {
    PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
      held[r] = pz_v_load(in + r * step);
      PZ_V_PIN(held[r]);
    }
    PZ_UNROLL for (int32_t k = 0; k < kb; ++k) {
      pz_v x = pz_v_load(weights + k * PZ_S);
      PZ_V_PIN(x);
      PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
        const int32_t i = pz_dot_index(s, kb, rw, k, r);
        acc[i] = pz_v_fma(held[r], x, acc[i]);
      }
    }
  }
}

PZ_INLINE void pz_dot_sum(const pz_conv_dot_shape *s, int32_t kb, int32_t rw, const pz_dot_tile *t,
                          pz_v *acc) {
  const int32_t blocks = pz_conv_in_blocks(s);
  const float *weights = t->weights;
  PZ_ROLL for (int32_t b = 0; b < blocks; ++b) {
    PZ_ROLL for (int32_t d = 0; d < s->kernel[0]; ++d) {
      PZ_ROLL for (int32_t h = 0; h < s->kernel[1]; ++h) {
        const float *x = t->in + b * s->in.stride_c + d * s->dilation[0] * s->in.stride_d +
                         h * s->dilation[1] * s->in.stride_h;
        pz_conv_fetch(s, rw, h, x);
        PZ_ROLL for (int32_t w = 0; w < s->kernel[2]; ++w) {
          PZ_POINTER_PIN(x);
          PZ_POINTER_PIN(weights);
          pz_dot_step(s, kb, rw, x, weights, acc);
          PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) PZ_V_PIN(acc[i]);
          x += s->dilation[2] * s->in.stride_w;
          weights += kb * PZ_S;
        }
      }
    }
  }
}

/* Bias, Base and activation on a vector of `points` sums; only these points are read and written. */
PZ_INLINE void pz_dot_finish(const pz_conv_dot_shape *s, const pz_dot_tile *t, int32_t k, int32_t point,
                             int32_t points, pz_v x) {
  const int32_t channel = t->channel + k;
  float value[PZ_S] = {0};
  if (s->has_bias) x = x + pz_v_broadcast(t->bias + channel);
  if (s->residual.c) {
    const float *at = t->residual + k * s->residual.stride_c + point * s->residual.stride_w;
    PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) if (i < points) value[i] = at[i * s->residual.stride_w];
    pz_v residual = pz_v_loadu(value);
    x = s->has_residual_scale ? pz_v_fma(residual, pz_v_broadcast(t->residual_scale + channel), x)
                              : x + residual;
  }
  pz_v slope = s->act == PZ_K_ACT_PRELU ? pz_v_broadcast(t->slope + channel) : pz_v_zero();
  float *at = t->out + k * s->out.stride_c + point * s->out.stride_w;
  pz_v_storeu(value, pz_activate(s->act, s->alpha, s->beta, slope, x));
  if (s->out.stride_w == 1) memcpy(at, value, (size_t)points * sizeof *value);
  else PZ_UNROLL for (int32_t i = 0; i < PZ_S; ++i) if (i < points) at[i * s->out.stride_w] = value[i];
}

/* Of a NCHWc result: what vector v of a tile's sums holds of the point's channels, as lanes. */
typedef struct pz_dot_piece {
  int32_t first, lanes; /* in the vector */
  int64_t shift;        /* of the point's first channel from lane 0 */
} pz_dot_piece;

PZ_INLINE pz_dot_piece pz_dot_piece_of(int32_t kb, int32_t point, int32_t v) {
  const int32_t at = point * kb - v * PZ_S, first = at < 0 ? 0 : at, end = at + kb < PZ_S ? at + kb : PZ_S;
  return (pz_dot_piece){first, end - first, at};
}

PZ_INLINE pz_v pz_dot_base(const pz_conv_dot_shape *s, const pz_dot_tile *t, int32_t kb, int32_t rw,
                           int32_t v) {
  pz_vi bits = {0};
  PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
    const pz_dot_piece p = pz_dot_piece_of(kb, r, v);
    if (p.lanes > 0)
      bits |= pz_v_bits(pz_v_load_lanes(t->residual + r * s->residual.stride_w - p.shift, p.first, p.lanes));
  }
  return pz_v_from_bits(bits);
}

/* Bias, Base and activation on vector v of the sums of a NCHWc result. */
PZ_INLINE void pz_dot_finish_lanes(const pz_conv_dot_shape *s, const pz_dot_tile *t, int32_t kb, int32_t rw,
                                   int32_t v, pz_v x) {
  if (s->has_bias) x = x + pz_v_loadu(t->bias + v * PZ_S);
  if (s->residual.c) {
    pz_v residual = pz_dot_base(s, t, kb, rw, v);
    x = s->has_residual_scale ? pz_v_fma(residual, pz_v_loadu(t->residual_scale + v * PZ_S), x)
                              : x + residual;
  }
  pz_v slope = s->act == PZ_K_ACT_PRELU ? pz_v_loadu(t->slope + v * PZ_S) : pz_v_zero();
  x = pz_activate(s->act, s->alpha, s->beta, slope, x);
  PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
    const pz_dot_piece p = pz_dot_piece_of(kb, r, v);
    float *at = t->out + r * s->out.stride_w;
    if (p.lanes > 0) pz_v_store_lanes(at - p.shift, x, p.first, p.lanes);
  }
}

PZ_INLINE void pz_dot_one_tile(const pz_conv_dot_shape *s, int32_t kb, int32_t rw, const pz_dot_tile *t) {
  pz_v acc[PZ_DOT_POINTS];
  float sums[PZ_DOT_POINTS + PZ_S] = {0}; /* gcc keeps acc in registers only if no loop over it is nested */
  PZ_UNROLL for (int32_t i = 0; i < PZ_DOT_POINTS; ++i) acc[i] = pz_v_zero();
  pz_dot_sum(s, kb, rw, t, acc);
  if (s->out.block != 1) {
    PZ_UNROLL for (int32_t v = 0; v < PZ_DOT_POINTS / PZ_S; ++v) if (v * PZ_S < kb * rw)
        pz_dot_finish_lanes(s, t, kb, rw, v, pz_v_sums(acc + v * PZ_S));
    if (t->channel + kb == s->out.c)
      PZ_UNROLL for (int32_t r = 0; r < rw; ++r) pz_v_store_lanes(
          t->out + r * s->out.stride_w - (s->out.c - kb), pz_v_zero(), s->out.c, PZ_S - s->out.c);
    return;
  }
  PZ_UNROLL for (int32_t i = 0; i < PZ_DOT_POINTS; i += PZ_S) if (i < kb * rw)
      pz_v_storeu(sums + i, pz_v_sums(acc + i));
  PZ_ROLL for (int32_t k = 0; k < kb; ++k) PZ_ROLL for (int32_t r = 0; r < rw; r += PZ_S)
      pz_dot_finish(s, t, k, r, rw - r < PZ_S ? rw - r : PZ_S, pz_v_loadu(sums + k * rw + r));
}

PZ_INLINE void pz_dot_tiles(const pz_conv_dot_shape *s, int32_t kb, int32_t rw, int32_t count,
                            pz_dot_tile *t) {
  PZ_ROLL for (int32_t i = 0; i < count; ++i) {
    pz_dot_one_tile(s, kb, rw, t);
    t->in += rw * s->stride[2] * s->in.stride_w;
    t->out += rw * s->out.stride_w;
    if (s->residual.c) t->residual += rw * s->residual.stride_w;
  }
}

PZ_INLINE void pz_dot_rows(const pz_conv_dot_shape *s, int32_t kb, int64_t row, int64_t end, pz_dot_tile t) {
  const pz_conv_split tiles = pz_conv_split_of(s->out.w, s->rw);
  const pz_dot_tile origin = t;
  PZ_ROLL for (; row < end; ++row) {
    const int64_t h = row % s->out.h, d = row / s->out.h % s->out.d, n = row / s->out.h / s->out.d;
    t.in = origin.in + n * s->in.stride_n + (d * s->stride[0] - s->pad[0]) * s->in.stride_d +
           (h * s->stride[1] - s->pad[1]) * s->in.stride_h - s->pad[2] * s->in.stride_w;
    t.out = origin.out + n * s->out.stride_n + pz_dot_channel(&s->out, t.channel) + d * s->out.stride_d +
            h * s->out.stride_h;
    if (s->residual.c)
      t.residual = origin.residual + n * s->residual.stride_n + pz_dot_channel(&s->residual, t.channel) +
                   d * s->residual.stride_d + h * s->residual.stride_h;
    pz_dot_tiles(s, kb, tiles.size, tiles.large, &t);
    if (tiles.large < tiles.count) pz_dot_tiles(s, kb, tiles.size - 1, tiles.count - tiles.large, &t);
  }
}

/* The kb values from `channel` on again and again, as the sums of a NCHWc result lie; what is read of a NCHW one. */
PZ_INLINE const float *pz_dot_lanes(const pz_conv_dot_shape *s, int32_t kb, const float *values,
                                    int32_t channel, float lanes[PZ_DOT_POINTS]) {
  if (!values || s->out.block == 1) return values;
  PZ_ROLL for (int32_t i = 0; i < PZ_DOT_POINTS; ++i) lanes[i] = values[channel + i % kb];
  return lanes;
}

PZ_INLINE void pz_dot_group(const pz_conv_dot_shape *s, int32_t kb, int64_t row, int64_t end, pz_dot_tile t) {
  float lanes[3][PZ_DOT_POINTS];
  t.bias = pz_dot_lanes(s, kb, t.bias, t.channel, lanes[0]);
  t.residual_scale = pz_dot_lanes(s, kb, t.residual_scale, t.channel, lanes[1]);
  t.slope = pz_dot_lanes(s, kb, t.slope, t.channel, lanes[2]);
  pz_dot_rows(s, kb, row, end, t);
}

/* All channels of rows row .. end. */
PZ_INLINE void pz_dot_strip(const pz_conv_dot_shape *s, int64_t row, int64_t end, pz_dot_tile t) {
  const pz_conv_split groups = pz_conv_dot_groups(s);
  const float *weights = t.weights;
  PZ_ROLL for (int32_t g = 0; g < groups.count; ++g) {
    t.channel = pz_conv_split_begin(groups, g);
    t.weights = weights + (int64_t)t.channel * pz_conv_in_blocks(s) * pz_conv_taps(s) * PZ_S;
    if (g < groups.large) pz_dot_group(s, groups.size, row, end, t);
    else if (groups.large < groups.count) pz_dot_group(s, groups.size - 1, row, end, t);
  }
}

PZ_INLINE void pz_conv_dot(const pz_conv_dot_shape s, const float *in, const float *weights,
                           const float *bias, const float *residual, const float *residual_scale,
                           const float *slope, float *out, int32_t worker, int32_t workers) {
  const pz_dot_tile t = {in, weights, bias, residual, residual_scale, slope, out, 0};
  const int64_t strip = pz_conv_strip_rows(&s);
  int64_t begin, end;
  pz_share((int64_t)s.out.n * s.out.d * s.out.h, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t stop; begin < end; begin = stop) {
    stop = begin + strip < end ? begin + strip : end;
    pz_dot_strip(&s, begin, stop, t);
  }
}

#endif
