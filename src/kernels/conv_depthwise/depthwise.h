/* depthwise.h: convolution in which each channel sees itself alone (groups = C = K): vectors run over channels.
 *
 * Contract: conv/shape.h with groups = in.c = out.c and one phase; in, out, residual of block S, aligned to the vector; bias,
 * residual_scale, slope padded with zeros to whole blocks. Of the schedule rw is used. The unit of work is a row
 * (n, block, d, h): any number of workers gives the same bits. */
#ifndef PZ_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H
#define PZ_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H

#include "kernels/conv/epilogue.h"
#include "kernels/conv_depthwise/pack.h"
#include "kernels/rows.h"

#define PZ_DEPTHWISE_POINTS 16

typedef struct pz_depthwise_tile {
  const float *in, *weights, *residual;
  float *out;
  pz_v bias, residual_scale, slope;
  int32_t block;
} pz_depthwise_tile;

PZ_INLINE void pz_depthwise_sum(const pz_conv_depthwise_shape *s, int32_t rw, const pz_depthwise_tile *t,
                                pz_v *acc) {
  const float *weights = t->weights;
  PZ_ROLL for (int32_t d = 0; d < s->kernel[0]; ++d) {
    PZ_ROLL for (int32_t h = 0; h < s->kernel[1]; ++h) {
      const float *x = t->in + d * s->dilation[0] * s->in.stride_d + h * s->dilation[1] * s->in.stride_h;
      PZ_ROLL for (int32_t w = 0; w < s->kernel[2]; ++w) {
        PZ_POINTER_PIN(x);
        PZ_POINTER_PIN(weights);
        pz_v weight = pz_v_load(weights);
        PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
          acc[r] = pz_v_fma(weight, pz_v_load(x + r * s->stride[2] * s->in.stride_w), acc[r]);
          PZ_V_PIN(acc[r]);
        }
        x += s->dilation[2] * s->in.stride_w;
        weights += PZ_S;
      }
    }
  }
}

PZ_INLINE void pz_depthwise_one_tile(const pz_conv_depthwise_shape *s, int32_t rw,
                                     const pz_depthwise_tile *t) {
  pz_v acc[PZ_DEPTHWISE_POINTS];
  PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
    acc[r] = t->bias;
    if (s->residual.c) {
      pz_v residual = pz_v_load(t->residual + r * s->residual.stride_w);
      acc[r] = s->has_residual_scale ? pz_v_fma(residual, t->residual_scale, acc[r]) : residual + acc[r];
    }
  }
  pz_depthwise_sum(s, rw, t, acc);
  PZ_UNROLL for (int32_t r = 0; r < rw; ++r)
      pz_v_store(t->out + r * s->out.stride_w, pz_conv_finish(s, t->block, t->slope, acc[r]));
}

PZ_INLINE void pz_depthwise_tiles(const pz_conv_depthwise_shape *s, int32_t rw, int32_t count,
                                  pz_depthwise_tile *t) {
  PZ_ROLL for (int32_t i = 0; i < count; ++i) {
    pz_depthwise_one_tile(s, rw, t);
    t->in += rw * s->stride[2] * s->in.stride_w;
    t->out += rw * s->out.stride_w;
    if (s->residual.c) t->residual += rw * s->residual.stride_w;
  }
}

PZ_INLINE void pz_conv_depthwise(const pz_conv_depthwise_shape s, const float *in, const float *weights,
                                 const float *bias, const float *residual, const float *residual_scale,
                                 const float *slope, float *out, int32_t worker, int32_t workers) {
  const pz_conv_split tiles = pz_conv_split_of(s.out.w, s.rw);
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    pz_depthwise_tile t = {.block = row.b, .weights = weights + (int64_t)row.b * pz_conv_taps(&s) * PZ_S};
    t.in = in + row.n * s.in.stride_n + row.b * s.in.stride_c +
           (row.d * s.stride[0] - s.pad[0]) * s.in.stride_d +
           (row.h * s.stride[1] - s.pad[1]) * s.in.stride_h - s.pad[2] * s.in.stride_w;
    t.out = out + pz_row_offset(&s.out, row);
    if (s.residual.c) t.residual = residual + pz_row_offset(&s.residual, row);
    t.bias = s.has_bias ? pz_v_load(bias + row.b * PZ_S) : pz_v_zero();
    t.residual_scale = s.has_residual_scale ? pz_v_load(residual_scale + row.b * PZ_S) : pz_v_zero();
    t.slope = s.act == PZ_K_ACT_PRELU ? pz_v_load(slope + row.b * PZ_S) : pz_v_zero();
    pz_depthwise_tiles(&s, tiles.size, tiles.large, &t);
    if (tiles.large < tiles.count) pz_depthwise_tiles(&s, tiles.size - 1, tiles.count - tiles.large, &t);
  }
}

#endif
