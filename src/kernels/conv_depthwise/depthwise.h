/* depthwise.h: convolution in which each channel sees itself alone (groups = C = K): vectors run over channels.
 *
 * Contract: conv/shape.h with groups = in.c = out.c and one phase; in, out, residual of block S, aligned to the vector; bias,
 * residual_scale, slope padded with zeros to whole blocks. Of the schedule rw is used. The unit of work is a row
 * (n, block, d, h), or some of them where the shape says that moments of the results are collected (norm_stats: records of norm/moments.h
 * over n, block, unit): any number of workers gives the same bits. */
#ifndef PZ_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H
#define PZ_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H

#include "kernels/conv/epilogue.h"
#include "kernels/conv_depthwise/pack.h"
#include "kernels/norm/moments.h"
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

typedef struct pz_depthwise_operands {
  const float *in, *weights, *bias, *residual, *residual_scale, *slope;
  float *out;
} pz_depthwise_operands;

PZ_INLINE void pz_depthwise_row(const pz_conv_depthwise_shape *s, const pz_depthwise_operands *o,
                                pz_row row) {
  const pz_conv_split tiles = pz_conv_split_of(s->out.w, s->rw);
  pz_depthwise_tile t = {.block = row.b, .weights = o->weights + (int64_t)row.b * pz_conv_taps(s) * PZ_S};
  t.in = o->in + row.n * s->in.stride_n + row.b * s->in.stride_c +
         (row.d * s->stride[0] - s->pad[0]) * s->in.stride_d +
         (row.h * s->stride[1] - s->pad[1]) * s->in.stride_h - s->pad[2] * s->in.stride_w;
  t.out = o->out + pz_row_offset(&s->out, row);
  if (s->residual.c) t.residual = o->residual + pz_row_offset(&s->residual, row);
  t.bias = s->has_bias ? pz_v_load(o->bias + row.b * PZ_S) : pz_v_zero();
  t.residual_scale = s->has_residual_scale ? pz_v_load(o->residual_scale + row.b * PZ_S) : pz_v_zero();
  t.slope = s->act == PZ_K_ACT_PRELU ? pz_v_load(o->slope + row.b * PZ_S) : pz_v_zero();
  pz_depthwise_tiles(s, tiles.size, tiles.large, &t);
  if (tiles.large < tiles.count) pz_depthwise_tiles(s, tiles.size - 1, tiles.count - tiles.large, &t);
}

/* Rows and their moments, unit after unit (norm/shape.h). */
PZ_INLINE void pz_depthwise_with_stats(const pz_conv_depthwise_shape *s, const pz_depthwise_operands *o,
                                       float *norm_stats, int32_t worker, int32_t workers) {
  const int64_t units = pz_norm_units(&s->out), rows = pz_norm_unit_rows(&s->out),
                all = pz_norm_block_rows(&s->out);
  int64_t begin, end;
  pz_share(s->out.n * pz_blocks(&s->out) * units, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const int64_t block = i / units, first = i % units * rows, stop = first + rows < all ? first + rows : all;
    pz_row row = {.n = (int32_t)(block / pz_blocks(&s->out)), .b = (int32_t)(block % pz_blocks(&s->out))};
    const float *from = o->out + pz_row_offset(&s->out, row);
    PZ_ROLL for (int64_t r = first; r < stop; ++r) {
      row.d = (int32_t)(r / s->out.h), row.h = (int32_t)(r % s->out.h);
      pz_depthwise_row(s, o, row);
    }
    const pz_norm_lanes lanes = pz_norm_region(&s->out, from, first, stop);
    pz_norm_store(pz_norm_record_at(norm_stats, &s->out, s->stats_units, row.n, row.b, i % units), &lanes);
  }
}

PZ_INLINE void pz_conv_depthwise(const pz_conv_depthwise_shape s, const float *in, const float *weights,
                                 const float *bias, const float *residual, const float *residual_scale,
                                 const float *slope, float *out, float *norm_stats, int32_t worker,
                                 int32_t workers) {
  const pz_depthwise_operands o = {in, weights, bias, residual, residual_scale, slope, out};
  if (s.stats_units) {
    pz_depthwise_with_stats(&s, &o, norm_stats, worker, workers);
    return;
  }
  PZ_EACH_ROW(&s.out, row, worker, workers) pz_depthwise_row(&s, &o, row);
}

#endif
