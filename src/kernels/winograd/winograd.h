/* winograd.h: convolution by minimal filtering, batch after batch of tiles: transform the inputs of all tiles of a
 * batch, multiply each transformed position by its weights, transform back with bias, Base and activation.
 *
 * Contract: shape.h; weights packed by pack.h; bias, base_scale, slope padded with zeros to whole blocks; in, out, base of
 * block S, base may be the very storage of out. Reads `in` only as far as the direct convolution would: what a tile at
 * the edge would read beyond is zero. Writes the inside of out; padding lanes become zero. scratch: pz_winograd_scratch
 * floats of this worker's own. The unit of work is a batch; a tile's sums do not depend on the others of its batch, so
 * any number of workers gives the same bits. */
#ifndef PZ_KERNELS_WINOGRAD_WINOGRAD_H
#define PZ_KERNELS_WINOGRAD_WINOGRAD_H

#include "kernels/conv/direct.h"
#include "kernels/winograd/shape.h"

/* Where a tile lies: image, first output along each axis; how many inputs and outputs it has there. */
typedef struct pz_winograd_tile {
  int32_t n, at[3], inputs[3], outputs[3];
  int whole; /* nothing is cut off */
} pz_winograd_tile;

PZ_INLINE pz_winograd_tile pz_winograd_tile_at(const pz_winograd_shape *s, int64_t index) {
  pz_winograd_tile t = {.whole = 1};
  for (int32_t axis = 2; axis >= 0; --axis) {
    const int32_t m = pz_winograd_m(s, axis), tiles = pz_winograd_tiles(s, axis);
    t.at[axis] = (int32_t)(index % tiles) * m;
    index /= tiles;
    const int32_t left = pz_winograd_size(s, axis) - t.at[axis];
    t.outputs[axis] = left < m ? left : m;
    t.inputs[axis] = t.outputs[axis] + s->conv.kernel[axis] - 1;
    t.whole &= left >= m;
  }
  t.n = (int32_t)index;
  return t;
}

/* ---- transforms along one axis, in place, of values that lie `step` apart ---- */

PZ_INLINE void pz_winograd_forward(pz_v *x, int32_t step) {
  const pz_v d0 = x[0], d1 = x[step], d2 = x[2 * step], d3 = x[3 * step];
  x[0] = d0 - d2;
  x[step] = d1 + d2;
  x[2 * step] = d2 - d1;
  x[3 * step] = d1 - d3;
}

PZ_INLINE void pz_winograd_back(pz_v *x, int32_t step) {
  const pz_v m0 = x[0], m1 = x[step], m2 = x[2 * step], m3 = x[3 * step];
  x[0] = m0 + m1 + m2;
  x[step] = m1 - m2 - m3;
}

/* ---- inputs ---- */

/* Points ahead of a tile that are fetched into cache: its sixteen short rows are too many for the hardware to follow. */
#define PZ_WINOGRAD_AHEAD 12

/* One plane of a tile: a1 x a2 vectors, transformed along h and w. */
PZ_INLINE void pz_winograd_plane(const pz_winograd_shape *s, const pz_winograd_tile *t, const float *in,
                                 int whole, pz_v *x) {
  const int32_t a1 = pz_winograd_a(s, 1), a2 = pz_winograd_a(s, 2);
  if (whole)
    PZ_UNROLL for (int32_t h = 0; h < a1; ++h) PZ_UNROLL for (int32_t w = 0; w < pz_winograd_m(s, 2); ++w)
        __builtin_prefetch(in + h * s->conv.in.stride_h + (w + PZ_WINOGRAD_AHEAD) * s->conv.in.stride_w);
  PZ_UNROLL for (int32_t h = 0; h < a1; ++h) PZ_UNROLL for (int32_t w = 0; w < a2; ++w) {
    const int there = whole || (h < t->inputs[1] && w < t->inputs[2]);
    x[h * a2 + w] = there ? pz_v_load(in + h * s->conv.in.stride_h + w * s->conv.in.stride_w) : pz_v_zero();
  }
  if (a2 == 4) PZ_UNROLL for (int32_t h = 0; h < a1; ++h) pz_winograd_forward(x + h * a2, 1);
  if (a1 == 4) PZ_UNROLL for (int32_t w = 0; w < a2; ++w) pz_winograd_forward(x + w, a2);
}

PZ_INLINE void pz_winograd_input(const pz_winograd_shape *s, const pz_winograd_tile *t, const float *in,
                                 int whole, float *to, int64_t point) {
  const int32_t a0 = pz_winograd_a(s, 0), plane = pz_winograd_a(s, 1) * pz_winograd_a(s, 2);
  pz_v x[64];
  PZ_ROLL for (int32_t d = 0; d < a0; ++d) {
    if (whole || d < t->inputs[0])
      pz_winograd_plane(s, t, in + d * s->conv.in.stride_d, whole, x + d * plane);
    else
      for (int32_t i = 0; i < plane; ++i) x[d * plane + i] = pz_v_zero();
  }
  PZ_ROLL for (int32_t i = 0; i < plane; ++i) {
    if (a0 == 4) pz_winograd_forward(x + i, plane);
    PZ_UNROLL for (int32_t d = 0; d < a0; ++d) pz_v_store(to + (d * plane + i) * point, x[d * plane + i]);
  }
}

/* ---- products ---- */

PZ_INLINE void pz_winograd_multiply_tile(const pz_conv_direct_shape *g, int32_t kb, int32_t rw,
                                         const float *in, const float *weights, float *out) {
  pz_v acc[PZ_CONV_ACCUMULATORS];
  const int32_t rest = g->in.c % PZ_S, whole = g->in.c / PZ_S;
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] = pz_v_zero();
  if (whole) weights = pz_conv_sum(g, kb, rw, PZ_S, whole, in, weights, acc);
  if (rest) pz_conv_sum(g, kb, rw, rest, 1, in + whole * g->in.stride_c, weights, acc);
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i)
      pz_v_store(out + i % kb * g->out.stride_c + i / kb * PZ_S, acc[i]);
}

/* All tiles of the batch by the weights of one outer group of kb blocks. */
PZ_INLINE void pz_winograd_multiply_group(const pz_conv_direct_shape *g, int32_t kb, const float *in,
                                          const float *weights, float *out) {
  const pz_conv_split tiles = pz_conv_row_tiles(g, kb);
  PZ_ROLL for (int32_t i = 0; i < tiles.large; ++i, in += tiles.size * PZ_S, out += tiles.size * PZ_S)
      pz_winograd_multiply_tile(g, kb, tiles.size, in, weights, out);
  if (tiles.large == tiles.count) return;
  PZ_ROLL for (int32_t i = tiles.large; i < tiles.count;
               ++i, in += (tiles.size - 1) * PZ_S, out += (tiles.size - 1) * PZ_S)
      pz_winograd_multiply_tile(g, kb, tiles.size - 1, in, weights, out);
}

/* The outer groups of one transformed position; returns where the next position's weights are. */
PZ_INLINE const float *pz_winograd_multiply_point(const pz_conv_direct_shape *g, const float *in,
                                                  const float *weights, float *out) {
  const pz_conv_split outer = pz_conv_outer_groups(g);
  PZ_ROLL for (int32_t i = 0; i < outer.large; ++i, out += outer.size * g->out.stride_c) {
    pz_winograd_multiply_group(g, outer.size, in, weights, out);
    weights += (int64_t)outer.size * PZ_S * g->in.c;
  }
  if (outer.large == outer.count) return weights;
  PZ_ROLL for (int32_t i = outer.large; i < outer.count; ++i, out += (outer.size - 1) * g->out.stride_c) {
    pz_winograd_multiply_group(g, outer.size - 1, in, weights, out);
    weights += (int64_t)(outer.size - 1) * PZ_S * g->in.c;
  }
  return weights;
}

PZ_INLINE void pz_winograd_multiply(const pz_winograd_shape *s, const float *in, const float *weights,
                                    float *out) {
  PZ_ROLL for (int32_t p = 0; p < pz_winograd_points(s); ++p) {
    weights = pz_winograd_multiply_point(&s->product, in, weights, out);
    in += pz_winograd_in_point(s);
    out += pz_winograd_out_point(s);
  }
}

/* ---- outputs ---- */

typedef struct pz_winograd_ends {
  const float *bias, *base, *base_scale, *slope;
  float *out;
} pz_winograd_ends;

PZ_INLINE void pz_winograd_end(const pz_conv_direct_shape *s, const pz_winograd_ends *e, int32_t block,
                               int64_t out, int64_t base, pz_v x) {
  const int32_t map = block * PZ_S;
  if (s->has_bias) x = x + pz_v_load(e->bias + map);
  if (s->base.c) {
    pz_v from = pz_v_load(e->base + base);
    x = s->has_base_scale ? pz_v_fma(from, pz_v_load(e->base_scale + map), x) : x + from;
  }
  pz_v slope = s->act == PZ_K_ACT_PRELU ? pz_v_load(e->slope + map) : pz_v_zero();
  pz_v_store(e->out + out, pz_conv_finish(s, block, slope, x));
}

PZ_INLINE int64_t pz_winograd_place(const pz_view *v, const pz_winograd_tile *t, int32_t block, int32_t d,
                                    int32_t h, int32_t w) {
  return t->n * v->stride_n + block * v->stride_c + (t->at[0] + d) * v->stride_d +
         (t->at[1] + h) * v->stride_h + (t->at[2] + w) * v->stride_w;
}

PZ_INLINE void pz_winograd_output(const pz_winograd_shape *s, const pz_winograd_tile *t, const float *from,
                                  int64_t point, int32_t block, int whole, const pz_winograd_ends *e) {
  const int32_t a0 = pz_winograd_a(s, 0), a1 = pz_winograd_a(s, 1), a2 = pz_winograd_a(s, 2), plane = a1 * a2;
  const int32_t m0 = pz_winograd_m(s, 0), m1 = pz_winograd_m(s, 1), m2 = pz_winograd_m(s, 2);
  pz_v x[64];
  PZ_ROLL for (int32_t i = 0; i < plane; ++i) {
    PZ_UNROLL for (int32_t d = 0; d < a0; ++d) x[d * plane + i] = pz_v_load(from + (d * plane + i) * point);
    if (a0 == 4) pz_winograd_back(x + i, plane);
  }
  PZ_ROLL for (int32_t d = 0; d < m0; ++d) {
    if (!whole && d >= t->outputs[0]) break;
    pz_v *y = x + d * plane;
    if (a1 == 4) PZ_UNROLL for (int32_t w = 0; w < a2; ++w) pz_winograd_back(y + w, a2);
    if (a2 == 4) PZ_UNROLL for (int32_t h = 0; h < m1; ++h) pz_winograd_back(y + h * a2, 1);
    PZ_UNROLL for (int32_t h = 0; h < m1; ++h) PZ_UNROLL for (int32_t w = 0; w < m2; ++w) {
      if (!whole && (h >= t->outputs[1] || w >= t->outputs[2])) continue;
      pz_winograd_end(&s->conv, e, block, pz_winograd_place(&s->conv.out, t, block, d, h, w),
                      pz_winograd_place(&s->conv.base, t, block, d, h, w), y[h * a2 + w]);
    }
  }
}

/* ---- batches ---- */

PZ_INLINE void pz_winograd_load(const pz_winograd_shape *s, const pz_winograd_tile *t, const float *in,
                                float *to) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t blocks = pz_winograd_blocks(c->in.c, PZ_S);
  const float *from = in + t->n * c->in.stride_n + (t->at[0] - c->pad[0]) * c->in.stride_d +
                      (t->at[1] - c->pad[1]) * c->in.stride_h + (t->at[2] - c->pad[2]) * c->in.stride_w;
  PZ_ROLL for (int32_t b = 0; b < blocks; ++b, from += c->in.stride_c, to += s->product.in.stride_c) {
    if (t->whole) pz_winograd_input(s, t, from, 1, to, pz_winograd_in_point(s));
    else pz_winograd_input(s, t, from, 0, to, pz_winograd_in_point(s));
  }
}

PZ_INLINE void pz_winograd_store(const pz_winograd_shape *s, const pz_winograd_tile *t, const float *from,
                                 const pz_winograd_ends *e) {
  const int32_t blocks = pz_winograd_blocks(s->conv.out.c, PZ_S);
  PZ_ROLL for (int32_t b = 0; b < blocks; ++b, from += s->product.out.stride_c) {
    if (t->whole) pz_winograd_output(s, t, from, pz_winograd_out_point(s), b, 1, e);
    else pz_winograd_output(s, t, from, pz_winograd_out_point(s), b, 0, e);
  }
}

PZ_INLINE void pz_winograd(const pz_winograd_shape s, const float *in, const float *weights,
                           const float *bias, const float *base, const float *base_scale, const float *slope,
                           float *out, float *scratch, int32_t worker, int32_t workers) {
  const int64_t tiles = pz_winograd_all_tiles(&s);
  const int32_t batch = s.product.out.w;
  const pz_winograd_ends ends = {bias, base, base_scale, slope, out};
  float *products = scratch + pz_winograd_inputs(&s);
  int64_t begin, end;
  pz_share((tiles + batch - 1) / batch, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const int32_t count = tiles - i * batch < batch ? (int32_t)(tiles - i * batch) : batch;
    PZ_ROLL for (int32_t k = 0; k < count; ++k) {
      const pz_winograd_tile t = pz_winograd_tile_at(&s, i * batch + k);
      pz_winograd_load(&s, &t, in, scratch + k * PZ_S);
    }
    pz_winograd_multiply(&s, scratch, weights, products);
    PZ_ROLL for (int32_t k = 0; k < count; ++k) {
      const pz_winograd_tile t = pz_winograd_tile_at(&s, i * batch + k);
      pz_winograd_store(&s, &t, products + k * PZ_S, &ends);
    }
  }
}

#endif
