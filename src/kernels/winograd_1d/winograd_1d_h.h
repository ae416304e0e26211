/* winograd_1d_h.h: convolution to few NCHW channels by minimal filtering along the height, the taps along the width as channels of their own
 * (shape_h.h): strip after strip of columns, whose transformed inputs are multiplied, transformed back, and added along the width.
 *
 * Contract: shape_h.h; weights packed by pack_h.h; bias and slope padded with zeros to whole blocks. Reads `in` only as far as
 * the direct convolution would: rows that a tile at the edge would read beyond are zero. Writes the inside of out. scratch:
 * pz_winograd_1d_h_scratch floats of this worker's own, aligned to the vector. The unit of work is a row of tiles; each result is summed
 * in one order, so any number of workers gives the same bits. */
#ifndef PZ_KERNELS_WINOGRAD_1D_WINOGRAD_1D_H_H
#define PZ_KERNELS_WINOGRAD_1D_WINOGRAD_1D_H_H

#include "kernels/conv/narrow.h"
#include "kernels/conv_direct/direct.h"
#include "kernels/winograd/points.h"
#include "kernels/winograd/transforms.h"
#include "kernels/winograd_1d/shape_h.h"

/* Where a row of tiles lies: image, plane, first row of results; how many rows of inputs and of results it has there. */
typedef struct pz_winograd_1d_h_place {
  int32_t n, d, h, inputs, rows;
} pz_winograd_1d_h_place;

PZ_INLINE pz_winograd_1d_h_place pz_winograd_1d_h_place_at(const pz_winograd_1d_h_shape *s, int64_t unit) {
  const int32_t tiles = pz_winograd_1d_h_tiles(s), d = s->conv.out.d, h = (int32_t)(unit % tiles) * s->m,
                left = s->conv.out.h - h, rows = left < s->m ? left : s->m;
  return (pz_winograd_1d_h_place){(int32_t)(unit / tiles / d), (int32_t)(unit / tiles % d), h,
                                  rows + s->conv.kernel[1] - 1, rows};
}

/* Transformed inputs of `count` columns of a block of channels. in: at the first one's first row; whole: it has all rows. */
PZ_INLINE void pz_winograd_1d_h_load(const pz_winograd_1d_h_shape *s, int whole, int32_t inputs,
                                     int32_t count, const float *in, float *to) {
  const int32_t m = s->m, r = s->conv.kernel[1], a = pz_winograd_1d_h_a(s);
  const int64_t position = (int64_t)pz_conv_in_blocks(&s->conv) * s->rw * PZ_S;
  pz_v k[PZ_WINOGRAD_CONSTANTS];
  pz_winograd_forward_constants(0, m, r, k);
  PZ_ROLL for (int32_t c = 0; c < count; ++c, in += PZ_S, to += PZ_S) {
    pz_v x[PZ_WINOGRAD_MOST_A];
    PZ_POINTER_PIN(in);
    PZ_UNROLL for (int32_t i = 0; i < a; ++i) {
      x[i] = whole || i < inputs ? pz_v_load(in + i * s->conv.in.stride_h) : pz_v_zero();
      if (whole)
        __builtin_prefetch(in + i * s->conv.in.stride_h + s->rw * PZ_S, 0, 2); /* of the next strip */
    }
    pz_winograd_forward(0, m, r, k, x, 1);
    PZ_UNROLL for (int32_t i = 0; i < a; ++i) pz_v_store(to + i * position, x[i]);
  }
}

/* `channels` channels of a block: every column's sum gets weight * input. */
PZ_INLINE const float *pz_winograd_1d_h_channels(const pz_winograd_1d_h_shape *s, int32_t channels,
                                                 const float *in, const float *weights, pz_v *acc) {
  pz_v x[PZ_CONV_ACCUMULATORS];
  if (PZ_V_HAS_LANES) PZ_UNROLL for (int32_t c = 0; c < s->rw; ++c) x[c] = pz_v_load_once(in + c * PZ_S);
  PZ_UNROLL for (int32_t j = 0; j < channels; ++j, weights += PZ_S) {
    const pz_v w = pz_v_load(weights);
    PZ_UNROLL for (int32_t c = 0; c < s->rw; ++c) acc[c] =
        PZ_V_HAS_LANES ? pz_v_fma_lane(w, x[c], j, acc[c]) : pz_v_fma_broadcast(in + c * PZ_S + j, w, acc[c]);
  }
  return weights;
}

/* All positions of a strip. */
PZ_INLINE void pz_winograd_1d_h_multiply(const pz_winograd_1d_h_shape *s, const float *in,
                                         const float *weights, float *out) {
  const int32_t whole = s->conv.in.c / PZ_S, rest = s->conv.in.c % PZ_S, extent = s->rw * PZ_S;
  PZ_ROLL for (int32_t p = 0; p < pz_winograd_1d_h_a(s); ++p, out += extent) {
    pz_v acc[PZ_CONV_ACCUMULATORS];
    PZ_UNROLL for (int32_t c = 0; c < s->rw; ++c) acc[c] = pz_v_zero();
    PZ_ROLL for (int32_t b = 0; b < whole; ++b, in += extent) {
      PZ_POINTER_PIN(in);
      PZ_POINTER_PIN(weights);
      weights = pz_winograd_1d_h_channels(s, PZ_S, in, weights, acc);
    }
    if (rest) {
      weights = pz_winograd_1d_h_channels(s, rest, in, weights, acc);
      in += extent;
    }
    PZ_UNROLL for (int32_t c = 0; c < s->rw; ++c) pz_v_store(out + c * PZ_S, acc[c]);
  }
}

/* Products of `count` columns from column `first` on become results. carried: of each row, what the columns before have summed up; lanes of
 * tap k wait for kernel[2] - 1 - k columns more. */
PZ_INLINE void pz_winograd_1d_h_store(const pz_winograd_1d_h_shape *s, int32_t first, int32_t count,
                                      const float *products, pz_v *carried, float *results) {
  const int32_t m = s->m, wait = s->conv.kernel[2] - 1;
  const int64_t row = pz_conv_narrow_row(&s->conv);
  pz_v z[PZ_WINOGRAD_MOST_M];
  PZ_UNROLL for (int32_t h = 0; h < m; ++h) z[h] = carried[h];
  PZ_ROLL for (int32_t c = first; c < first + count; ++c, products += PZ_S) {
    pz_v y[PZ_WINOGRAD_MOST_A];
    PZ_UNROLL for (int32_t i = 0; i < pz_winograd_1d_h_a(s); ++i) y[i] =
        pz_v_load(products + i * s->rw * PZ_S);
    pz_winograd_back(m, s->conv.kernel[1], y, 1);
    PZ_UNROLL for (int32_t h = 0; h < m; ++h) z[h] = y[h] + pz_conv_narrow_pass_on(&s->conv, z[h]);
    if (c >= wait)
      PZ_UNROLL for (int32_t h = 0; h < m; ++h)
          pz_v_store_four(results + h * row + (c - wait) * PZ_CONV_NARROW, z[h]);
  }
  PZ_UNROLL for (int32_t h = 0; h < m; ++h) carried[h] = z[h];
}

PZ_INLINE void pz_winograd_1d_h(const pz_winograd_1d_h_shape s, const float *in, const float *weights,
                                const float *bias, const float *slope, float *out, float *scratch,
                                int32_t worker, int32_t workers) {
  const pz_conv_direct_shape *c = &s.conv;
  const int32_t columns = pz_winograd_1d_h_count(&s);
  float *products = scratch + pz_winograd_1d_h_slots(&s), *results = products + pz_winograd_1d_h_products(&s);
  int64_t begin, end;
  pz_share((int64_t)c->out.n * c->out.d * pz_winograd_1d_h_tiles(&s), worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const pz_winograd_1d_h_place t = pz_winograd_1d_h_place_at(&s, i);
    const float *from = in + t.n * c->in.stride_n + t.d * c->in.stride_d +
                        (t.h - c->pad[1]) * c->in.stride_h - c->pad[2] * PZ_S;
    float *to = out + t.n * c->out.stride_n + t.d * c->out.stride_d + t.h * c->out.stride_h;
    pz_v carried[PZ_WINOGRAD_MOST_M];
    PZ_UNROLL for (int32_t h = 0; h < s.m; ++h) carried[h] = pz_v_zero();
    PZ_ROLL for (int32_t w = 0; w < columns; w += s.rw) {
      const int32_t count = columns - w < s.rw ? columns - w : s.rw;
      PZ_ROLL for (int32_t b = 0; b < pz_conv_in_blocks(c); ++b) {
        const float *block = from + b * c->in.stride_c + w * PZ_S;
        float *slots = scratch + b * s.rw * PZ_S;
        if (t.rows == s.m) pz_winograd_1d_h_load(&s, 1, t.inputs, count, block, slots);
        else pz_winograd_1d_h_load(&s, 0, t.inputs, count, block, slots);
      }
      pz_winograd_1d_h_multiply(&s, scratch, weights, products);
      pz_winograd_1d_h_store(&s, w, count, products, carried, results);
    }
    PZ_ROLL for (int32_t h = 0; h < t.rows; ++h)
        pz_conv_narrow_end(c, results + h * pz_conv_narrow_row(c), bias, slope, to + h * c->out.stride_h);
  }
}

#endif
