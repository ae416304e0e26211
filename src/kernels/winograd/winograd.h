/* winograd.h: convolution by minimal filtering, batch after batch of tiles: transform the inputs of all tiles of a
 * batch, multiply each transformed position by its weights, transform back with bias, Base and activation.
 *
 * Contract: shape.h; weights packed by pack.h; bias, base_scale, slope padded with zeros to whole blocks; in, out, base of
 * block S, base may be the very storage of out. Reads `in` only as far as the direct convolution would: what a tile at
 * the edge would read beyond is zero. Writes the inside of out; padding lanes become zero. scratch: pz_winograd_scratch
 * floats of this worker's own. The unit of work is a batch; a tile's sums do not depend on the others of its batch, so
 * any number of workers gives the same bits. If the shape says so, the moments of the results are gathered: statistics holds
 * records (norm/moments.h) over n, block of maps, batch. */
#ifndef PZ_KERNELS_WINOGRAD_WINOGRAD_H
#define PZ_KERNELS_WINOGRAD_WINOGRAD_H

#include "kernels/conv/direct.h"
#include "kernels/winograd/points.h"
#include "kernels/winograd/shape.h"
#include "kernels/winograd/transforms.h"

/* What loops are unrolled by, apart from the shape: gcc must see each as a constant before it has cleared away the
 * transforms that are not taken. */
typedef struct pz_winograd_sizes {
  int32_t m0, m1, m2, r0, r1, r2, a0, a1, a2;
  int32_t late_m, planes, together;
  int64_t p0, p1, p2, slot; /* floats between positions along each axis, and between position p and p + 1 */
} pz_winograd_sizes;

PZ_INLINE pz_winograd_sizes pz_winograd_sizes_of(const pz_winograd_shape *s) {
  const int64_t slot = pz_winograd_slot(s);
  return (pz_winograd_sizes){.m0 = s->m[0],
                             .m1 = s->m[1],
                             .m2 = s->m[2],
                             .r0 = s->conv.kernel[0],
                             .r1 = s->conv.kernel[1],
                             .r2 = s->conv.kernel[2],
                             .a0 = pz_winograd_a(s, 0),
                             .a1 = pz_winograd_a(s, 1),
                             .a2 = pz_winograd_a(s, 2),
                             .late_m = pz_winograd_together(s) - pz_winograd_planes(s) + 1,
                             .planes = pz_winograd_planes(s),
                             .together = pz_winograd_together(s),
                             .p0 = pz_winograd_step(s, 0) * slot,
                             .p1 = pz_winograd_step(s, 1) * slot,
                             .p2 = pz_winograd_step(s, 2) * slot,
                             .slot = slot};
}

/* Where a tile lies: image, first output along each axis; how many inputs and outputs it has there. */
typedef struct pz_winograd_tile {
  int32_t n, at[3], inputs[3], outputs[3];
} pz_winograd_tile;

PZ_INLINE int64_t pz_winograd_tile_along(const pz_winograd_shape *s, pz_winograd_tile *t, int32_t axis,
                                         int64_t index) {
  const int32_t m = s->m[axis], tiles = pz_winograd_tiles(s, axis);
  t->at[axis] = (int32_t)(index % tiles) * m;
  const int32_t left = pz_winograd_size(s, axis) - t->at[axis];
  t->outputs[axis] = left < m ? left : m;
  t->inputs[axis] = t->outputs[axis] + s->conv.kernel[axis] - 1;
  return index / tiles;
}

/* Tiles follow each other along the width, so that rows of memory are read and written from end to end and a tile keeps the
 * slices that it shares with the one before; then along the depth. (Axes are constants here: clang keeps a shape in memory
 * that is indexed by anything else.) */
PZ_INLINE pz_winograd_tile pz_winograd_tile_at(const pz_winograd_shape *s, int64_t index) {
  pz_winograd_tile t = {0};
  index = pz_winograd_tile_along(s, &t, 2, index);
  index = pz_winograd_tile_along(s, &t, 0, index);
  t.n = (int32_t)pz_winograd_tile_along(s, &t, 1, index);
  return t;
}

PZ_INLINE int64_t pz_winograd_place(const pz_view *v, const pz_winograd_tile *t, int32_t block, int32_t h,
                                    int32_t w) {
  return t->n * v->stride_n + block * v->stride_c + t->at[0] * v->stride_d + (t->at[1] + h) * v->stride_h +
         (t->at[2] + w) * v->stride_w;
}

/* The first input of a tile in a block of maps. */
PZ_INLINE int64_t pz_winograd_origin(const pz_winograd_shape *s, const pz_winograd_tile *t, int32_t block) {
  const int32_t *pad = s->conv.pad;
  return pz_winograd_place(&s->conv.in, t, block, -pad[1], -pad[2]) - pad[0] * s->conv.in.stride_d;
}

/* ---- inputs ---- */

#define PZ_WINOGRAD_PLANE (PZ_WINOGRAD_MOST_A * PZ_WINOGRAD_MOST_A)

/* One slice of a tile, a0 x a1 vectors at one place along w, transformed along d and h. That of the next tile along w is fetched
 * meanwhile: tiles are short rows in many places, too many for the hardware to follow (doc/kernels-winograd.md). */
PZ_INLINE void pz_winograd_slice(const pz_winograd_shape *s, const pz_winograd_sizes z, const float *in,
                                 int64_t stride_d, int64_t stride_h, pz_v *to) {
  pz_v x[PZ_WINOGRAD_PLANE];
  PZ_UNROLL for (int32_t d = 0; d < z.a0; ++d) {
    PZ_UNROLL for (int32_t h = 0; h < z.a1; ++h) {
      x[d * z.a1 + h] = pz_v_load(in + h * stride_h);
      if (s->near) __builtin_prefetch(in + h * stride_h + z.m2 * PZ_S, 0, 3);
      else __builtin_prefetch(in + h * stride_h + z.m2 * PZ_S, 0, 2);
    }
    in += stride_d;
    PZ_POINTER_PIN(in);
    pz_winograd_forward(z.m1, z.r1, x + d * z.a1, 1);
  }
  PZ_UNROLL for (int32_t h = 0; h < z.a1; ++h) pz_winograd_forward(z.m0, z.r0, x + h, z.a1);
  PZ_UNROLL for (int32_t i = 0; i < z.a0 * z.a1; ++i) to[i] = x[i];
}

/* Slice w of a tile that is cut off, filled up with zeros: a0 x a1 vectors. */
PZ_INLINE void pz_winograd_fill(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                const pz_winograd_tile *t, int32_t w, const float *in, pz_v *to) {
  PZ_ROLL for (int32_t d = 0; d < z.a0; ++d) PZ_ROLL for (int32_t h = 0; h < z.a1; ++h) {
    const int there = d < t->inputs[0] && h < t->inputs[1] && w < t->inputs[2];
    *to++ = there ? pz_v_load(in + d * s->conv.in.stride_d + h * s->conv.in.stride_h) : pz_v_zero();
  }
}

/* The slices of a tile, transformed along d and h: slice w lies at (first + w) % a2 of a ring. */
typedef struct pz_winograd_ring {
  int32_t first, kept; /* the first `kept` slices are those of the tile before */
  pz_v slices[PZ_WINOGRAD_MOST_A * PZ_WINOGRAD_PLANE];
} pz_winograd_ring;

/* One tile of one block of maps. `in`: its first input. */
PZ_INLINE void pz_winograd_input(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                 const pz_winograd_tile *t, const float *in, pz_winograd_ring *ring,
                                 float *to) {
  const int32_t size = z.a0 * z.a1, whole = t->inputs[0] == z.a0 && t->inputs[1] == z.a1;
  pz_v patch[PZ_WINOGRAD_PLANE];
  const pz_v *slices[PZ_WINOGRAD_MOST_A];
  PZ_ROLL for (int32_t w = ring->kept; w < z.a2; ++w) {
    const float *slice = in + w * PZ_S;
    int64_t stride_d = s->conv.in.stride_d, stride_h = s->conv.in.stride_h;
    if (!whole || w >= t->inputs[2]) {
      pz_winograd_fill(s, z, t, w, slice, patch);
      slice = (const float *)patch, stride_d = z.a1 * PZ_S, stride_h = PZ_S;
    }
    pz_winograd_slice(s, z, slice, stride_d, stride_h, ring->slices + (ring->first + w) % z.a2 * size);
  }
  PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) slices[w] = ring->slices + (ring->first + w) % z.a2 * size;
  const int64_t turn = z.p0 - z.a1 * z.p1; /* from behind a plane to the next one */
  PZ_ROLL for (int32_t i = 0; i < size; ++i, to += z.p1) {
    pz_v y[PZ_WINOGRAD_MOST_A];
    if (turn && i && i % z.a1 == 0) to += turn;
    PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) y[w] = slices[w][i];
    pz_winograd_forward(z.m2, z.r2, y, 1);
    PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) pz_v_store(to + w * z.p2, y[w]);
  }
}

/* ---- products ---- */

#define PZ_WINOGRAD_LINE 16 /* floats of a cache line */

/* Maps in that are summed at a time: `whole` blocks, and `rest` maps of the last one; first: nothing is summed yet. */
typedef struct pz_winograd_maps {
  int32_t first, whole, rest;
} pz_winograd_maps;

PZ_INLINE void pz_winograd_multiply_tile(const pz_conv_direct_shape *g, int32_t kb, int32_t rw,
                                         const pz_winograd_maps maps, const float *in, const float *weights,
                                         float *out) {
  pz_v acc[PZ_CONV_ACCUMULATORS];
  if (maps.first) {
    PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] = pz_v_zero();
  } else {
    PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] =
        pz_v_load(out + i % kb * g->out.stride_c + i / kb * PZ_S);
  }
  if (maps.whole) weights = pz_conv_sum(g, kb, rw, PZ_S, maps.whole, in, weights, acc);
  if (maps.rest) pz_conv_sum(g, kb, rw, g->in.c % PZ_S, 1, in + maps.whole * g->in.stride_c, weights, acc);
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i)
      pz_v_store(out + i % kb * g->out.stride_c + i / kb * PZ_S, acc[i]);
}

/* Weights that are needed soon, `floats` from `at` on; 0: none are fetched. */
typedef struct pz_winograd_soon {
  const float *at;
  int64_t floats;
} pz_winograd_soon;

/* All tiles of the batch by the weights of one outer group of kb blocks, some tiles at a time, while others are fetched. (Behind
 * the last ones nothing is fetched that matters.) */
PZ_INLINE void pz_winograd_multiply_group(const pz_winograd_shape *s, int32_t kb, const pz_winograd_maps maps,
                                          const pz_winograd_soon soon, const float *in, const float *weights,
                                          float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const pz_conv_split tiles = pz_conv_row_tiles(g, kb);
  const int64_t each = (soon.floats / PZ_WINOGRAD_LINE + tiles.count - 1) / tiles.count * PZ_WINOGRAD_LINE;
  const float *next = soon.at;
  PZ_ROLL for (int32_t i = 0; i < tiles.count; ++i, next += each) {
    const int32_t size = i < tiles.large ? tiles.size : tiles.size - 1;
    if (soon.floats) {
      PZ_ROLL for (int64_t line = 0; line < each; line += PZ_WINOGRAD_LINE)
          __builtin_prefetch(next + line, 0, 2);
    }
    if (i < tiles.large) pz_winograd_multiply_tile(g, kb, tiles.size, maps, in, weights, out);
    else pz_winograd_multiply_tile(g, kb, tiles.size - 1, maps, in, weights, out);
    in += size * PZ_S, out += size * PZ_S;
  }
}

/* What G along the late axis makes of `floats` weights in each of its planes, which lie `plane` floats apart, but for its first and
 * last row. */
PZ_INLINE void pz_winograd_make(const pz_winograd_sizes z, int64_t floats, int64_t plane, const float *planes,
                                float *fresh) {
  const float *end = planes + floats;
  PZ_ROLL for (; planes != end; planes += PZ_S, fresh += PZ_S) {
    pz_v g[PZ_WINOGRAD_MOST_R], x[PZ_WINOGRAD_MOST_A];
    PZ_UNROLL for (int32_t k = 0; k < z.planes; ++k) g[k] = pz_v_load(planes + k * plane);
    pz_winograd_spread(z.late_m, z.planes, g, x);
    PZ_UNROLL for (int32_t i = 1; i < z.together - 1; ++i) pz_v_store(fresh + (i - 1) * floats, x[i]);
  }
}

/* Positions along the late axis by the weights of an outer group of kb blocks, some blocks of maps in at a time, whose weights
 * that are made stay in level 1. */
PZ_INLINE void pz_winograd_multiply_column(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t kb,
                                           const float *in, const float *weights, float *fresh, float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const int32_t part = pz_winograd_part(s), parts = pz_winograd_parts(s), whole = g->in.c / PZ_S;
  const int64_t plane = pz_winograd_group(s, kb), all = z.planes * plane,
                each = (all / PZ_WINOGRAD_LINE + z.together * parts - 1) / (z.together * parts);
  pz_winograd_soon soon = {weights + all, s->far ? each * PZ_WINOGRAD_LINE : 0};
  PZ_ROLL for (int32_t b = 0; b < g->in.c; b += part * PZ_S) {
    const int32_t first = b / PZ_S, left = whole - first;
    const pz_winograd_maps maps = {first == 0, left < part ? left : part, left < part && g->in.c % PZ_S};
    const int64_t floats =
        (int64_t)(maps.whole * PZ_S + (maps.rest ? g->in.c % PZ_S : 0)) * kb * s->conv.out.block;
    if (z.together > 1) pz_winograd_make(z, floats, plane, weights, fresh);
    PZ_ROLL for (int32_t i = 0; i < z.together; ++i, soon.at += soon.floats) {
      const float *w = i == 0                ? weights
                       : i == z.together - 1 ? weights + (z.planes - 1) * plane
                                             : fresh + (i - 1) * floats;
      pz_winograd_multiply_group(s, kb, maps, soon, in + first * g->in.stride_c + i * z.slot, w,
                                 out + i * z.slot);
    }
    weights += floats;
  }
}

/* All outer groups; returns where the weights behind them are. */
PZ_INLINE const float *pz_winograd_multiply_columns(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                                    const float *in, const float *weights, float *fresh,
                                                    float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const pz_conv_split outer = pz_conv_outer_groups(g);
  PZ_ROLL for (int32_t i = 0; i < outer.large; ++i, out += outer.size * g->out.stride_c) {
    pz_winograd_multiply_column(s, z, outer.size, in, weights, fresh, out);
    weights += z.planes * pz_winograd_group(s, outer.size);
  }
  if (outer.large == outer.count) return weights;
  PZ_ROLL for (int32_t i = outer.large; i < outer.count; ++i, out += (outer.size - 1) * g->out.stride_c) {
    pz_winograd_multiply_column(s, z, outer.size - 1, in, weights, fresh, out);
    weights += z.planes * pz_winograd_group(s, outer.size - 1);
  }
  return weights;
}

/* ---- outputs ---- */

/* y: the results of a tile. Not inlined: the transforms around it would have fewer registers. */
static __attribute__((noinline, unused)) void
pz_winograd_gather(const pz_winograd_sizes z, const pz_winograd_tile *t, const pz_v *y, float *record) {
  const int32_t whole = t->outputs[0] == z.m0 && t->outputs[1] == z.m1 && t->outputs[2] == z.m2;
  pz_view v = {.d = 1, .h = 1, .w = z.m0 * z.m1 * z.m2, .stride_w = PZ_S};
  if (!whole) {
    v.d = t->outputs[0], v.h = t->outputs[1], v.w = t->outputs[2];
    v.stride_h = z.m2 * PZ_S, v.stride_d = z.m1 * v.stride_h;
  }
  const pz_norm_place first = {.row = (const float *)y};
  const pz_norm_lanes lanes = pz_norm_piece(&v, first, v.d * v.h, 0, v.w, 0);
  pz_norm_gather(record, &lanes);
}

/* The lines that will be written are fetched while a tile is transformed. */
PZ_INLINE void pz_winograd_fetch_out(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                     const pz_winograd_tile *t, int32_t block, const float *out) {
  if (s->conv.stream) return;
  PZ_ROLL for (int32_t d = 0; d < t->outputs[0]; ++d) PZ_ROLL for (int32_t h = 0; h < t->outputs[1]; ++h) {
    const float *row = out + pz_winograd_place(&s->conv.out, t, block, h, 0) + d * s->conv.out.stride_d;
    PZ_UNROLL for (int32_t w = 0; w < z.m2; ++w) __builtin_prefetch(row + w * PZ_S, 1);
  }
}

/* record: of moments that those of the results are added to; or NULL. */
PZ_INLINE void pz_winograd_output(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                  const pz_winograd_tile *t, const float *from, int32_t block,
                                  const pz_conv_ends *e, float *record) {
  pz_winograd_fetch_out(s, z, t, block, e->out);
  pz_v y[PZ_WINOGRAD_MOST_A * PZ_WINOGRAD_MOST_M * PZ_WINOGRAD_MOST_M];
  PZ_ROLL for (int32_t d = 0; d < z.a0; ++d, from += z.p0) {
    pz_v x[PZ_WINOGRAD_PLANE];
    PZ_POINTER_PIN(from);
    PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) {
      PZ_UNROLL for (int32_t h = 0; h < z.a1; ++h) x[h * z.a2 + w] = pz_v_load(from + h * z.p1 + w * z.p2);
      pz_winograd_back(z.m1, z.r1, x + w, z.a2);
    }
    PZ_UNROLL for (int32_t h = 0; h < z.m1; ++h) {
      pz_winograd_back(z.m2, z.r2, x + h * z.a2, 1);
      PZ_UNROLL for (int32_t w = 0; w < z.m2; ++w) y[(d * z.m1 + h) * z.m2 + w] = x[h * z.a2 + w];
    }
  }
  PZ_ROLL for (int32_t h = 0; h < t->outputs[1]; ++h) PZ_ROLL for (int32_t w = 0; w < t->outputs[2]; ++w) {
    const int64_t out = pz_winograd_place(&s->conv.out, t, block, h, w),
                  base = pz_winograd_place(&s->conv.base, t, block, h, w);
    pz_v v[PZ_WINOGRAD_MOST_A];
    PZ_UNROLL for (int32_t d = 0; d < z.a0; ++d) v[d] = y[(d * z.m1 + h) * z.m2 + w];
    pz_winograd_back(z.m0, z.r0, v, 1);
    PZ_UNROLL for (int32_t d = 0; d < z.m0; ++d) if (d < t->outputs[0]) {
      v[d] = pz_conv_store_sum(&s->conv, e, block, out + d * s->conv.out.stride_d,
                               base + d * s->conv.base.stride_d, v[d]);
      if (s->conv.gathers)
        y[(d * z.m1 + h) * z.m2 + w] = v[d]; /* else gcc 12 stores it too: 17% of the stage */
    }
  }
  if (record) pz_winograd_gather(z, t, y, record);
}

/* ---- batches ---- */

/* Products of slot p + together into slot p. */
PZ_INLINE void pz_winograd_multiply(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                    const float *weights, float *slots) {
  const int64_t step = z.together * z.slot;
  float *fresh = slots + pz_winograd_slots(s) + step;
  PZ_ROLL for (int32_t i = pz_winograd_points(s) / z.together; i; --i, slots += step) weights =
      pz_winograd_multiply_columns(s, z, slots + step, weights, fresh, slots);
}

/* Transformed inputs of block b of tiles first .. first + count - 1, into places from `to` on. */
PZ_INLINE void pz_winograd_load_block(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t b,
                                      int64_t first, int32_t count, const float *in, float *to) {
  pz_winograd_ring ring;
  ring.first = ring.kept = 0;
  PZ_ROLL for (int32_t k = 0; k < count; ++k) {
    const pz_winograd_tile t = pz_winograd_tile_at(s, first + k);
    const float *from = in + pz_winograd_origin(s, &t, b);
    if (t.at[2] == 0) ring.kept = 0;
    pz_winograd_input(s, z, &t, from, &ring, to + k * PZ_S);
    ring.first = (ring.first + z.m2) % z.a2, ring.kept = z.a2 - z.m2;
  }
}

PZ_INLINE void pz_winograd_load(const pz_winograd_shape *s, const pz_winograd_sizes z, int64_t first,
                                int32_t count, const float *in, float *to) {
  PZ_ROLL for (int32_t b = 0; b < pz_winograd_blocks(s->conv.in.c, PZ_S); ++b)
      pz_winograd_load_block(s, z, b, first, count, in, to + b * s->product.in.stride_c);
}

PZ_INLINE void pz_winograd_store(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                 const pz_winograd_tile *t, const float *from, const pz_conv_ends *e,
                                 float *record) {
  PZ_ROLL for (int32_t b = 0; b < pz_winograd_blocks(s->conv.out.c, PZ_S); ++b)
      pz_winograd_output(s, z, t, from + b * s->product.out.stride_c, b, e,
                         s->conv.gathers ? record + (int64_t)b * s->conv.gathers * PZ_NORM_RECORD : NULL);
}

/* Tiles first .. first + count - 1. */
typedef struct pz_winograd_batch {
  int64_t first;
  int32_t count;
} pz_winograd_batch;

PZ_INLINE pz_winograd_batch pz_winograd_batch_at(const pz_winograd_shape *s, int64_t i) {
  const int64_t run = pz_winograd_run(s), first = i % pz_winograd_batches(s) * s->product.out.w,
                left = run - first;
  return (pz_winograd_batch){.first = i / pz_winograd_batches(s) * run + first,
                             .count = left < s->product.out.w ? (int32_t)left : s->product.out.w};
}

/* Of batch i in block 0; those of all blocks are made empty. */
PZ_INLINE float *pz_winograd_begin_records(const pz_winograd_shape *s, float *statistics, int64_t i) {
  const int64_t units = s->conv.gathers, blocks = pz_winograd_blocks(s->conv.out.c, PZ_S);
  float *record = statistics + (i / units * blocks * units + i % units) * PZ_NORM_RECORD;
  PZ_ROLL for (int64_t b = 0; b < blocks; ++b) pz_norm_clear(record + b * units * PZ_NORM_RECORD);
  return record;
}

PZ_INLINE void pz_winograd(const pz_winograd_shape s, const float *in, const float *weights,
                           const float *bias, const float *base, const float *base_scale, const float *slope,
                           float *out, float *statistics, float *scratch, int32_t worker, int32_t workers) {
  const pz_conv_ends ends = {bias, base, base_scale, slope, out};
  const pz_winograd_sizes z = pz_winograd_sizes_of(&s);
  int64_t begin, end;
  const int64_t batches = pz_winograd_all_tiles(&s) / pz_winograd_run(&s) * pz_winograd_batches(&s);
  pz_share(batches, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const pz_winograd_batch b = pz_winograd_batch_at(&s, i);
    pz_winograd_load(&s, z, b.first, b.count, in, scratch + z.together * z.slot);
    pz_winograd_multiply(&s, z, weights, scratch);
    float *record = s.conv.gathers ? pz_winograd_begin_records(&s, statistics, i) : NULL;
    PZ_ROLL for (int32_t k = 0; k < b.count; ++k) {
      const pz_winograd_tile t = pz_winograd_tile_at(&s, b.first + k);
      pz_winograd_store(&s, z, &t, scratch + k * PZ_S, &ends, record);
    }
  }
  if (s.conv.stream) pz_v_stream_end();
}

#endif
