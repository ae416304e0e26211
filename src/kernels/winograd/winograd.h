/* winograd.h: convolution by minimal filtering, batch after batch of tiles: transform the inputs of all tiles of a
 * batch, multiply each transformed position by its weights, transform back with bias, Base and activation.
 *
 * Contract: shape.h; weights packed by pack.h, and what pairs take away, else NULL; bias, base_scale, slope padded with zeros to whole blocks; in, out, base of
 * block S, base may be the very storage of out. Reads `in` only as far as the direct convolution would: what a tile at
 * the edge would read beyond is zero. Writes the inside of out; padding lanes become zero. scratch: pz_winograd_scratch
 * floats of this worker's own. The unit of work is a batch; a tile's sums do not depend on the others of its batch, so
 * any number of workers gives the same bits. pooled: the largest of each window, if the shape says so, else NULL. If it says so, too, the
 * moments of the results are gathered: statistics holds records (norm/moments.h) over n, block of maps, batch. */
#ifndef PZ_KERNELS_WINOGRAD_WINOGRAD_H
#define PZ_KERNELS_WINOGRAD_WINOGRAD_H

#include "kernels/conv/direct.h"
#include "kernels/pool/pool.h"
#include "kernels/winograd/pairs.h"
#include "kernels/winograd/points.h"
#include "kernels/winograd/shape.h"
#include "kernels/winograd/transforms.h"

/* What loops are unrolled by, apart from the shape: gcc must see each as a constant before it has cleared away the
 * transforms that are not taken. */
typedef struct pz_winograd_sizes {
  int32_t m0, m1, m2, r0, r1, r2, a0, a1, a2;
  int32_t late_m, planes, row_planes, together, apart, pairs; /* planes: of one row_planes */
  int32_t sliced,
      across; /* across: positions along the width, or outputs where they have been transformed back */
  int64_t p0, p1, p2, slot; /* floats between positions along each axis, and between position p and p + 1 */
  int64_t band;
} pz_winograd_sizes;

PZ_INLINE pz_winograd_sizes pz_winograd_sizes_of(const pz_winograd_shape *s) {
  const int64_t slot = pz_winograd_slot(s), band = pz_winograd_band(s);
  return (pz_winograd_sizes){.m0 = s->m[0],
                             .m1 = s->m[1],
                             .m2 = s->m[2],
                             .r0 = s->conv.kernel[0],
                             .r1 = s->conv.kernel[1],
                             .r2 = s->conv.kernel[2],
                             .a0 = pz_winograd_a(s, 0),
                             .a1 = pz_winograd_a(s, 1),
                             .a2 = pz_winograd_a(s, 2),
                             .late_m = pz_winograd_together(s) -
                                       pz_winograd_planes(s) / pz_winograd_row_planes(s) + 1,
                             .planes = pz_winograd_planes(s) / pz_winograd_row_planes(s),
                             .row_planes = pz_winograd_row_planes(s),
                             .together = pz_winograd_together(s),
                             .apart = s->apart,
                             .pairs = s->pairs,
                             .sliced = s->sliced,
                             .across = s->sliced ? s->m[2] : pz_winograd_a(s, 2),
                             .p0 = s->sliced ? pz_winograd_a(s, 1) * band : pz_winograd_step(s, 0) * slot,
                             .p1 = s->sliced ? band : pz_winograd_step(s, 1) * slot,
                             .p2 = s->sliced ? PZ_S : pz_winograd_step(s, 2) * slot,
                             .slot = slot,
                             .band = band};
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

/* What the transforms along d and h multiply by. */
typedef struct pz_winograd_constants {
  pz_v d[PZ_WINOGRAD_CONSTANTS], h[PZ_WINOGRAD_CONSTANTS];
} pz_winograd_constants;

/* What the next tile along w reads is fetched, a line with each that this one reads: tiles are short rows in many places, too many for
 * the hardware to follow, and a core waits for no more than two dozen lines at once (doc/kernels-winograd.md). */
PZ_INLINE void pz_winograd_fetch(const float *at, int near) {
  if (near) __builtin_prefetch(at, 0, 3);
  else __builtin_prefetch(at, 0, 2);
}

/* Where a slice lies, a0 x a1 vectors, of a tight tensor (view.h) of so many maps each, else 0; and the same of the next tile; NULL: that is
 * not fetched here. */
typedef struct pz_winograd_slice_place {
  const float *at, *next;
  int64_t stride_d, stride_h;
  int32_t near, maps;
} pz_winograd_slice_place;

PZ_INLINE pz_v pz_winograd_input(const pz_winograd_slice_place *from, const float *at) {
  return from->maps ? pz_v_load_lanes(at, 0, from->maps) : pz_v_load_once(at);
}

/* Rows h and `other` of a slice (which may be one), transformed along h, then d: no more values than registers hold. Returns the sum
 * of squares of what the other rows do not read, for pairs. */
PZ_INLINE pz_v pz_winograd_slice_rows(const pz_winograd_sizes z, const pz_winograd_constants *k, int32_t h,
                                      int32_t other, pz_winograd_slice_place from, float *to, int64_t step) {
  const int32_t edge = h == 0; /* the other rows need neither the first input nor the last */
  const int same = z.a0 == z.a1 && z.m0 == z.m1, fetches = from.next != NULL;
  pz_v kept[2][PZ_WINOGRAD_MOST_A], squares[2] = {pz_v_zero(), pz_v_zero()};
  PZ_UNROLL for (int32_t d = 0; d < z.a0; ++d, from.at += from.stride_d) {
    pz_v x[PZ_WINOGRAD_MOST_A];
    if (fetches) {
      pz_winograd_fetch(from.next + h * from.stride_h, from.near);
      if (other != h) pz_winograd_fetch(from.next + other * from.stride_h, from.near);
      from.next += from.stride_d;
    }
    PZ_POINTER_PIN(from.at); /* else rows are kept for the next ones, in memory */
    PZ_UNROLL for (int32_t i = 0; i < z.a1; ++i) x[i] =
        (z.m1 == 1 ? i == h : edge || (i > 0 && i + 1 < z.a1))
            ? pz_winograd_input(&from, from.at + i * from.stride_h)
            : pz_v_zero();
    if (z.pairs && (edge || z.m1 == 1))
      PZ_UNROLL for (int32_t i = 0; i < z.a1; ++i) if (z.m1 > 1 || i == h) squares[i % 2] =
          pz_v_fma(x[i], x[i], squares[i % 2]);
    pz_winograd_forward(0, z.m1, z.r1, k->h, x, 1);
    kept[0][d] = x[h], kept[1][d] = x[other];
  }
  pz_winograd_forward(0, z.m0, z.r0, same ? k->h : k->d, kept[0], 1);
  if (other != h) pz_winograd_forward(0, z.m0, z.r0, same ? k->h : k->d, kept[1], 1);
  PZ_UNROLL for (int32_t d = 0; d < z.a0; ++d) {
    pz_v_store(to + (d * z.a1 + h) * step, kept[0][d]);
    if (other != h) pz_v_store(to + (d * z.a1 + other) * step, kept[1][d]);
  }
  return squares[0] + squares[1];
}

/* One slice of a tile, a0 x a1 vectors at one place along w, transformed along d and h, to vectors `step` floats apart; returns its sum of
 * squares, for pairs. */
PZ_INLINE pz_v pz_winograd_slice(const pz_winograd_sizes z, const pz_winograd_slice_place from, float *to,
                                 int64_t step) {
  pz_winograd_constants k;
  pz_winograd_forward_constants(1, z.m0, z.r0, k.d);
  pz_winograd_forward_constants(1, z.m1, z.r1, k.h);
  if (z.m1 == 1) {
    pz_v squares = pz_v_zero();
    PZ_UNROLL for (int32_t h = 0; h < z.a1; ++h) squares =
        squares + pz_winograd_slice_rows(z, &k, h, h, from, to, step);
    return squares;
  }
  PZ_UNROLL for (int32_t h = 1; h + 1 < z.a1; h += 2) pz_winograd_slice_rows(z, &k, h, h + 1, from, to, step);
  return pz_winograd_slice_rows(z, &k, 0, z.a1 - 1, from, to, step);
}

/* Slice w of a tile that is cut off, filled up with zeros: a0 x a1 vectors. */
PZ_INLINE void pz_winograd_fill(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                const pz_winograd_tile *t, int32_t block, int32_t w, const float *in,
                                pz_v *to) {
  const pz_view *v = &s->conv.in;
  PZ_ROLL for (int32_t d = 0; d < z.a0; ++d) PZ_ROLL for (int32_t h = 0; h < z.a1; ++h) {
    const float *at = in + d * v->stride_d + h * v->stride_h;
    const int there = d < t->inputs[0] && h < t->inputs[1] && w < t->inputs[2];
    *to++ = there ? pz_point_load(v, block, at) : pz_v_zero();
    pz_winograd_fetch(at + z.m2 * v->stride_w, s->near);
  }
}

/* Tiles that share vectors of a short block, [tile][PZ_WINOGRAD_SHORT lanes]. */
#define PZ_WINOGRAD_SHARING (PZ_S / PZ_WINOGRAD_SHORT)

typedef struct pz_winograd_sharers {
  pz_winograd_tile tile[PZ_WINOGRAD_SHARING];
} pz_winograd_sharers;

/* Of the `count` tiles from `first` on; those that are missing have no inputs and no outputs. */
PZ_INLINE pz_winograd_sharers pz_winograd_sharers_at(const pz_winograd_shape *s, int64_t first,
                                                     int32_t count) {
  pz_winograd_sharers x;
  PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
    pz_winograd_tile t = pz_winograd_tile_at(s, first + (i < count ? i : 0));
    if (i >= count) t.inputs[0] = t.outputs[0] = 0;
    x.tile[i] = t;
  }
  return x;
}

static const float pz_winograd_nothing[PZ_WINOGRAD_SHORT];

/* What the tiles have of a short block, each at at[i]. */
PZ_INLINE pz_v pz_winograd_fours(const pz_view *v, int32_t block, const float *const *at) {
  if (!v->tight) return pz_v_fours_at(at);
  pz_v all = pz_v_zero();
  PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
    const int32_t first = i * PZ_WINOGRAD_SHORT;
    all = all + pz_v_load_lanes(at[i] - first, first, v->c - block * PZ_S);
  }
  return all;
}

/* Slice w of tiles that share vectors, a0 x a1 of them; zeros where a tile is cut off. in: map block 0 of all. */
PZ_INLINE void pz_winograd_fill_short(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                      const pz_winograd_sharers *x, int32_t block, int32_t w, const float *in,
                                      pz_v *to) {
  const pz_view *v = &s->conv.in;
  const float *from[PZ_WINOGRAD_SHARING], *at[PZ_WINOGRAD_SHARING];
  int32_t whole = 1;
  PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
    const pz_winograd_tile *t = &x->tile[i];
    from[i] = in + pz_winograd_origin(s, t, block) + w * v->stride_w;
    whole = whole && t->inputs[0] == z.a0 && t->inputs[1] == z.a1 && w < t->inputs[2];
  }
  PZ_ROLL for (int32_t d = 0; d < z.a0; ++d) PZ_ROLL for (int32_t h = 0; h < z.a1; ++h) {
    const int64_t offset = d * v->stride_d + h * v->stride_h;
    PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
      const pz_winograd_tile *t = &x->tile[i];
      const int there = whole || (d < t->inputs[0] && h < t->inputs[1] && w < t->inputs[2]);
      at[i] = there ? from[i] + offset : pz_winograd_nothing;
      __builtin_prefetch(from[i] + offset + PZ_WINOGRAD_SHARING * z.m2 * v->stride_w, 0, 2);
    }
    *to++ = pz_winograd_fours(v, block, at);
  }
}

/* The slices of a tile in a block of maps, transformed along d and h: slice w lies at (first + w) % a2. */
typedef struct pz_winograd_ring {
  int32_t first, kept;    /* the first `kept` slices are those of the tile before */
  pz_v *slices, *squares; /* [slice][d][h], [slice] */
} pz_winograd_ring;

/* Slice w of a tile in a block of maps; or, of the short block, of those that share its vectors. in: the map block 0 of all. Returns its sum
 * of squares, for pairs. */
PZ_INLINE pz_v pz_winograd_slice_of(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                    const pz_winograd_tile *t, const pz_winograd_sharers *sharers,
                                    int32_t block, int32_t w, const float *in, float *to, int64_t step) {
  const pz_view *v = &s->conv.in;
  const int32_t whole = t->inputs[0] == z.a0 && t->inputs[1] == z.a1,
                filled = sharers || !whole || w >= t->inputs[2];
  const float *slice = in + pz_winograd_origin(s, t, block) + w * v->stride_w;
  pz_v patch[PZ_WINOGRAD_PLANE];
  if (sharers) pz_winograd_fill_short(s, z, sharers, block, w, in, patch);
  else if (filled) pz_winograd_fill(s, z, t, block, w, slice, patch);
  const pz_winograd_slice_place filled_up = {(const float *)patch, NULL, z.a1 * PZ_S, PZ_S, 0, 0},
                                there = {slice,       slice + z.m2 * v->stride_w,
                                         v->stride_d, v->stride_h,
                                         s->near,     v->tight ? pz_point_maps(v, block) : 0};
  /* two copies, with strides that are constants in each */
  if (filled) return pz_winograd_slice(z, filled_up, to, step);
  return pz_winograd_slice(z, there, to, step);
}

/* One tile of one block of maps; or, of the short block, those that share its vectors. in: the map block 0 of all. Returns the sum of
 * squares, for pairs. */
PZ_INLINE pz_v pz_winograd_slices(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                  const pz_winograd_tile *t, const pz_winograd_sharers *sharers,
                                  int32_t block, const float *in, const pz_winograd_ring *ring) {
  pz_v sum = pz_v_zero();
  PZ_ROLL for (int32_t w = ring->kept; w < z.a2; ++w) {
    const int32_t place = (ring->first + w) % z.a2;
    const pz_v squares = pz_winograd_slice_of(s, z, t, sharers, block, w, in,
                                              (float *)(ring->slices + place * z.a0 * z.a1), PZ_S);
    if (z.pairs) ring->squares[place] = squares;
  }
  if (z.pairs) PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) sum = sum + ring->squares[w];
  return sum;
}

/* Along the width, to the slots. scale: of pairs. */
PZ_INLINE void pz_winograd_widths(const pz_winograd_sizes z, const pz_winograd_ring *ring, pz_v scale,
                                  float *to) {
  const int32_t size = z.a0 * z.a1;
  const pz_v *slices[PZ_WINOGRAD_MOST_A];
  PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) slices[w] = ring->slices + (ring->first + w) % z.a2 * size;
  const int64_t turn = z.p0 - z.a1 * z.p1; /* from behind a plane to the next one */
  pz_v k[PZ_WINOGRAD_CONSTANTS];
  pz_winograd_forward_constants(1, z.m2, z.r2, k);
  PZ_ROLL for (int32_t i = 0; i < size; ++i, to += z.p1) {
    pz_v y[PZ_WINOGRAD_MOST_A];
    if (turn && i && i % z.a1 == 0) to += turn;
    PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) y[w] =
        z.pairs ? pz_v_load((const float *)(slices[w] + i)) * scale
                : pz_v_load_once((const float *)(slices[w] + i));
    pz_winograd_forward(z.apart, z.m2, z.r2, k, y, 1);
    PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) pz_v_store(to + w * z.p2, y[w]);
  }
}

/* ---- products ---- */

#define PZ_WINOGRAD_LINE 16 /* floats of a cache line */

/* Maps in that are summed at a time: `whole` blocks, and `rest` maps of the last one; first: nothing is summed yet; last: nothing
 * will be. */
typedef struct pz_winograd_maps {
  int32_t first, last, whole, rest;
} pz_winograd_maps;

/* `blocks` blocks of `maps` maps in, of rw tiles, into kb blocks of maps out. */
PZ_INLINE const float *pz_winograd_sum(const pz_winograd_shape *s, int32_t kb, int32_t rw, int32_t maps,
                                       int32_t blocks, const float *in, const float *weights, pz_v *acc) {
  return s->pairs ? pz_winograd_sum_pairs(&s->product, s->held, kb, rw, maps, blocks, in, weights, acc)
                  : pz_conv_sum(&s->product, kb, rw, maps, blocks, in, weights, acc);
}

/* tile: the first one's place in the batch. */
PZ_INLINE void pz_winograd_multiply_tile(const pz_winograd_shape *s, int32_t kb, int32_t rw,
                                         const pz_winograd_maps maps, const pz_winograd_taken taken,
                                         int32_t tile, const float *in, const float *weights, float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const int32_t few = pz_winograd_short(s, g->in.c), rest = g->in.c % PZ_S, spare = pz_winograd_has_spare(s);
  pz_v acc[PZ_CONV_ACCUMULATORS];
  if (maps.first && taken.fresh) pz_winograd_take_inputs(s, rw, in, taken.inputs + tile);
  if (maps.first && s->pairs) {
    PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] = pz_v_load(taken.weights + i % kb * PZ_S);
  } else if (maps.first) {
    PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] = pz_v_zero();
  } else {
    PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i) acc[i] =
        pz_v_load(out + i % kb * g->out.stride_c + i / kb * PZ_S);
  }
  if (maps.whole) weights = pz_winograd_sum(s, kb, rw, PZ_S, maps.whole, in, weights, acc);
  if (maps.rest && few) {
    pz_conv_direct_shape shared = *g;
    shared.in.stride_w = PZ_WINOGRAD_SHORT;
    pz_conv_sum(&shared, kb, rw, rest, 1,
                in + maps.whole * g->in.stride_c - tile * (PZ_S - PZ_WINOGRAD_SHORT), weights, acc);
  } else if (maps.rest) {
    pz_winograd_sum(s, kb, rw, rest, 1, in + maps.whole * g->in.stride_c, weights, acc);
  }
  if (maps.last && s->pairs) /* not first: all sums would wait for it */
    PZ_UNROLL for (int32_t r = 0; r < rw; ++r) {
      const pz_v inputs = spare ? pz_v_last(acc[r * kb + kb - 1]) : pz_v_zero();
      PZ_UNROLL for (int32_t k = 0; k < kb; ++k) acc[r * kb + k] =
          spare ? acc[r * kb + k] - inputs : pz_v_add_broadcast(taken.inputs + tile + r, acc[r * kb + k]);
    }
  PZ_UNROLL for (int32_t i = 0; i < kb * rw; ++i)
      pz_v_store(out + i % kb * g->out.stride_c + i / kb * PZ_S, acc[i]);
}

/* Tiles whose sums of the short block are made at a time: as many as keep both multiply-add units busy. */
#define PZ_WINOGRAD_SHORT_TILES 8

/* `sums` quarters of vectors of maps in, of n tiles that lie `stride` apart: acc[tile] gets [map out][map in of S/4]. */
PZ_INLINE const float *pz_winograd_short_sum(int32_t n, int32_t sums, int32_t stride, const float *in,
                                             const float *weights, pz_v *acc) {
  PZ_ROLL for (int32_t i = 0; i < sums; ++i, in += PZ_WINOGRAD_SHARING, weights += PZ_S) {
    const pz_v w = pz_v_load(weights);
    PZ_UNROLL for (int32_t k = 0; k < n; ++k) acc[k] =
        pz_v_fma(pz_v_repeat(in + k * stride, PZ_WINOGRAD_SHARING), w, acc[k]);
  }
  return weights;
}

/* n tiles from `tile` on by the weights of the short block. in, out: of the batch's first tile. */
PZ_INLINE void pz_winograd_multiply_few(const pz_winograd_shape *s, int32_t n, const pz_winograd_maps maps,
                                        int32_t tile, const float *in, const float *weights, float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const int32_t stride = pz_winograd_short(s, g->in.c) ? PZ_WINOGRAD_SHORT : PZ_S,
                quarters = PZ_S / PZ_WINOGRAD_SHARING;
  pz_v acc[PZ_WINOGRAD_SHORT_TILES];
  PZ_UNROLL for (int32_t k = 0; k < n; ++k) acc[k] = pz_v_zero();
  PZ_ROLL for (int32_t b = 0; b < maps.whole; ++b) weights =
      pz_winograd_short_sum(n, quarters, PZ_S, in + b * g->in.stride_c + tile * PZ_S, weights, acc);
  if (maps.rest)
    pz_winograd_short_sum(n, pz_winograd_blocks(g->in.c % PZ_S, PZ_WINOGRAD_SHARING), stride,
                          in + maps.whole * g->in.stride_c + tile * stride, weights, acc);
  out += tile * PZ_WINOGRAD_SHORT;
  PZ_UNROLL for (int32_t k = 0; k < n; k += PZ_WINOGRAD_SHARING, out += PZ_S) {
    const pz_v sum = pz_v_quarter_sums(acc + k);
    pz_v_store(out, maps.first ? sum : sum + pz_v_load(out));
  }
}

/* All tiles of the batch. (Behind the last one lie others' or none's.) */
PZ_INLINE void pz_winograd_multiply_short(const pz_winograd_shape *s, const pz_winograd_maps maps,
                                          const float *in, const float *weights, float *out) {
  const int32_t tiles = pz_winograd_blocks(s->product.out.w, PZ_WINOGRAD_SHARING) * PZ_WINOGRAD_SHARING;
  int32_t tile = 0;
  PZ_ROLL for (; tile + PZ_WINOGRAD_SHORT_TILES <= tiles; tile += PZ_WINOGRAD_SHORT_TILES)
      pz_winograd_multiply_few(s, PZ_WINOGRAD_SHORT_TILES, maps, tile, in, weights, out);
  PZ_ROLL for (; tile < tiles; tile += PZ_WINOGRAD_SHARING)
      pz_winograd_multiply_few(s, PZ_WINOGRAD_SHARING, maps, tile, in, weights, out);
}

/* Inputs that the worker's next batch will read, fetched into level 2 while this one is multiplied, when memory would have nothing to do:
 * a row of m2 lines of a tile in a block of maps after the other. in: map block 0 of all. */
typedef struct pz_winograd_ahead {
  const float *in;
  int64_t tile, end; /* the next tile; behind the last one: nothing is left to fetch where they are equal */
  int32_t block, d, h, first_d;
  const float *at; /* of the tile's first input that the one before has not read */
} pz_winograd_ahead;

PZ_INLINE void pz_winograd_fetch_row(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                     pz_winograd_ahead *a) {
  if (a->tile == a->end) return;
  if (a->block + a->d + a->h == 0) {
    const pz_winograd_tile t = pz_winograd_tile_at(s, a->tile);
    a->d = a->first_d = t.at[0] ? z.a0 - z.m0 : 0;
    a->at = a->in + pz_winograd_origin(s, &t, 0) + (z.a2 - z.m2) * s->conv.in.stride_w;
  }
  const pz_view *v = &s->conv.in;
  const float *row = a->at + a->block * v->stride_c + a->d * v->stride_d + a->h * v->stride_h;
  PZ_UNROLL for (int32_t w = 0; w < z.m2; ++w) __builtin_prefetch(row + w * v->stride_w, 0, 2);
  if (++a->h < z.a1) return;
  a->h = 0;
  if (++a->d < z.a0) return;
  a->d = a->first_d;
  if (++a->block < pz_winograd_blocks(v->c, PZ_S)) return;
  a->block = a->d = 0, ++a->tile;
}

/* Rows of a batch's inputs for each time that some of its tiles are multiplied, `tiles` times at a position by part of its weights. */
PZ_INLINE int32_t pz_winograd_rows_ahead(const pz_winograd_shape *s, int32_t tiles) {
  const int32_t groups = pz_conv_outer_groups(&s->product).count,
                times = pz_winograd_points(s) * groups * pz_winograd_parts(s) * tiles,
                blocks = pz_winograd_blocks(s->conv.in.c, PZ_S),
                rows = s->product.out.w * blocks * pz_winograd_a(s, 0) * pz_winograd_a(s, 1);
  return (rows + times - 1) / times;
}

/* Weights that are needed soon, `floats` from `at` on; 0: none are fetched. */
typedef struct pz_winograd_soon {
  const float *at;
  int64_t floats;
} pz_winograd_soon;

/* All tiles of the batch by the weights of one outer group of kb blocks (0: the short block), some tiles at a time, while others are
 * fetched. (Behind the last ones nothing is fetched that matters.) */
PZ_INLINE void pz_winograd_multiply_group(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t kb,
                                          const pz_winograd_maps maps, const pz_winograd_taken taken,
                                          const pz_winograd_soon soon, pz_winograd_ahead *ahead,
                                          const float *in, const float *weights, float *out) {
  if (kb == 0) {
    pz_winograd_multiply_short(s, maps, in, weights, out);
    return;
  }
  const pz_conv_split tiles = pz_conv_row_tiles(&s->product, kb);
  const int64_t each = (soon.floats / PZ_WINOGRAD_LINE + tiles.count - 1) / tiles.count * PZ_WINOGRAD_LINE;
  const float *next = soon.at;
  PZ_ROLL for (int32_t i = 0, tile = 0; i < tiles.count; ++i, next += each) {
    const int32_t size = i < tiles.large ? tiles.size : tiles.size - 1;
    if (soon.floats) {
      PZ_ROLL for (int64_t line = 0; line < each; line += PZ_WINOGRAD_LINE)
          __builtin_prefetch(next + line, 0, 2);
    }
    if (s->ahead)
      PZ_ROLL for (int32_t k = 0; k < pz_winograd_rows_ahead(s, tiles.count); ++k)
          pz_winograd_fetch_row(s, z, ahead);
    if (i < tiles.large) pz_winograd_multiply_tile(s, kb, tiles.size, maps, taken, tile, in, weights, out);
    else pz_winograd_multiply_tile(s, kb, tiles.size - 1, maps, taken, tile, in, weights, out);
    in += size * PZ_S, out += size * PZ_S, tile += size;
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

/* Row `row` of G along the height, for weights whose first has the first row's factor already. */
PZ_INLINE void pz_winograd_row_of(const pz_winograd_sizes z, int32_t row, pz_v *g) {
  PZ_UNROLL for (int32_t k = 0; k < z.row_planes; ++k) {
    pz_v unit[PZ_WINOGRAD_MOST_R], x[PZ_WINOGRAD_MOST_A];
    PZ_UNROLL for (int32_t i = 0; i < z.row_planes; ++i) unit[i] = pz_v_set1(i == k);
    pz_winograd_spread(z.m1, z.r1, unit, x);
    x[0] = unit[0], x[z.a1 - 1] = unit[z.row_planes - 1];
    g[k] = x[row];
  }
}

/* The same of all positions of a column, the `row`-th of those that share packed weights, where G is late along two axes: of each vector
 * of weights in turn all planes. */
PZ_INLINE void pz_winograd_make_column(const pz_winograd_sizes z, int32_t row, int64_t floats,
                                       const float *planes, float *fresh) {
  const float *end = fresh + floats;
  pz_v of_row[PZ_WINOGRAD_MOST_R];
  pz_winograd_row_of(z, row, of_row);
  PZ_ROLL for (; fresh != end; fresh += PZ_S) {
    pz_v g[PZ_WINOGRAD_MOST_R], x[PZ_WINOGRAD_MOST_A];
    PZ_UNROLL for (int32_t i = 0; i < z.planes; ++i) {
      g[i] = pz_v_load(planes) * of_row[0];
      PZ_UNROLL for (int32_t k = 1; k < z.row_planes; ++k) g[i] =
          pz_v_fma(pz_v_load(planes + k * PZ_S), of_row[k], g[i]);
      planes += z.row_planes * PZ_S;
    }
    pz_winograd_spread(z.late_m, z.planes, g, x);
    x[0] = g[0], x[z.together - 1] = g[z.planes - 1];
    PZ_UNROLL for (int32_t i = 0; i < z.together; ++i) pz_v_store(fresh + i * floats, x[i]);
  }
}

/* Weights of these maps in an outer group. */
PZ_INLINE int64_t pz_winograd_part_floats(int32_t kb, const pz_winograd_maps maps) {
  const int32_t in = maps.whole * PZ_S + maps.rest;
  return (int64_t)PZ_S * (kb ? kb * in : pz_winograd_blocks(in, PZ_WINOGRAD_SHARING));
}

/* Positions along the late axis by the weights of an outer group of kb blocks, some blocks of maps in at a time, whose weights
 * that are made stay in level 1. row: the column's, of those that share packed weights; taken: of the first position. */
PZ_INLINE void pz_winograd_multiply_column(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t kb,
                                           int32_t row, const pz_winograd_taken taken,
                                           pz_winograd_ahead *ahead, const float *in, const float *weights,
                                           float *fresh, float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const int32_t part = pz_winograd_part(s), parts = pz_winograd_parts(s), whole = g->in.c / PZ_S,
                columns = pz_winograd_late_columns(s);
  const int64_t plane = pz_winograd_group(s, kb), all = pz_winograd_planes(s) * plane,
                times = z.together * parts,
                each = (all / PZ_WINOGRAD_LINE + times * columns - 1) / (times * columns) * PZ_WINOGRAD_LINE;
  pz_winograd_soon soon = {weights + all + row * times * each, s->far ? each : 0};
  PZ_ROLL for (int32_t b = 0; b < g->in.c; b += part * PZ_S) {
    const int32_t first = b / PZ_S, left = whole - first;
    const pz_winograd_maps maps = {first == 0, b + part * PZ_S >= g->in.c, left < part ? left : part,
                                   left < part ? g->in.c % PZ_S : 0};
    const int64_t floats = pz_winograd_part_floats(kb, maps);
    if (z.row_planes > 1) pz_winograd_make_column(z, row, floats, weights, fresh);
    else if (z.together > 1) pz_winograd_make(z, floats, plane, weights, fresh);
    PZ_ROLL for (int32_t i = 0; i < z.together; ++i, soon.at += soon.floats) {
      const float *w = z.row_planes > 1      ? fresh + i * floats
                       : i == 0              ? weights
                       : i == z.together - 1 ? weights + (z.planes - 1) * plane
                                             : fresh + (i - 1) * floats;
      const pz_winograd_taken here = {s->pairs ? taken.inputs + i * pz_winograd_tiles_filled(s) : NULL,
                                      s->pairs ? taken.weights + i * kb * PZ_S : NULL, taken.fresh};
      pz_winograd_multiply_group(s, z, kb, maps, here, soon, ahead, in + first * g->in.stride_c + i * z.slot,
                                 w, out + i * z.slot);
    }
    weights += z.row_planes > 1 ? pz_winograd_planes(s) * floats : floats;
  }
}

/* All outer groups; returns where the weights behind them are. taken: of the first one. */
PZ_INLINE const float *pz_winograd_multiply_columns(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                                    pz_winograd_taken taken, pz_winograd_ahead *ahead,
                                                    const float *in, const float *weights, float *fresh,
                                                    float *out) {
  const pz_conv_direct_shape *g = &s->product;
  const pz_conv_split outer = g->out.c ? pz_conv_outer_groups(g) : (pz_conv_split){0};
  PZ_ROLL for (int32_t i = 0; i < outer.large; ++i, out += outer.size * g->out.stride_c) {
    pz_winograd_multiply_column(s, z, outer.size, 0, taken, ahead, in, weights, fresh, out);
    weights += z.planes * pz_winograd_group(s, outer.size);
    if (s->pairs) taken.weights += outer.size * z.together * PZ_S;
    taken.fresh = 0;
  }
  if (outer.large < outer.count) {
    PZ_ROLL for (int32_t i = outer.large; i < outer.count; ++i, out += (outer.size - 1) * g->out.stride_c) {
      pz_winograd_multiply_column(s, z, outer.size - 1, 0, taken, ahead, in, weights, fresh, out);
      weights += z.planes * pz_winograd_group(s, outer.size - 1);
      if (s->pairs) taken.weights += (outer.size - 1) * z.together * PZ_S;
    }
  }
  if (!pz_winograd_short(s, s->conv.out.c)) return weights;
  pz_winograd_multiply_column(s, z, 0, 0, taken, ahead, in, weights, fresh, out);
  return weights + z.planes * pz_winograd_group(s, 0);
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

PZ_INLINE int pz_winograd_has(const pz_winograd_tile *t, const int32_t place[3]) {
  return place[0] < t->outputs[0] && place[1] < t->outputs[1] && place[2] < t->outputs[2];
}

/* The lines of a tile's results, or of what they start from, are fetched while it is transformed. */
PZ_INLINE void pz_winograd_fetch_lines(const pz_winograd_sizes z, const pz_winograd_tile *t, const pz_view *v,
                                       int32_t block, int written, const float *at) {
  PZ_ROLL for (int32_t d = 0; d < t->outputs[0]; ++d) PZ_ROLL for (int32_t h = 0; h < t->outputs[1]; ++h) {
    const float *row = at + pz_winograd_place(v, t, block, h, 0) + d * v->stride_d;
    PZ_UNROLL for (int32_t w = 0; w < z.m2; ++w) {
      if (written) __builtin_prefetch(row + w * v->stride_w, 1);
      else __builtin_prefetch(row + w * v->stride_w, 0, 2);
    }
  }
}
PZ_INLINE void pz_winograd_fetch_ends(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                      const pz_winograd_tile *t, int32_t block, const pz_conv_ends *e) {
  if (s->conv.base.c) pz_winograd_fetch_lines(z, t, &s->conv.base, block, 0, e->base);
  if (!s->conv.stream && s->conv.out.block != 1)
    pz_winograd_fetch_lines(z, t, &s->conv.out, block, 1, e->out);
}

/* Where a tile's windows go. */
PZ_INLINE int64_t pz_winograd_pooled_place(const pz_winograd_shape *s, const pz_winograd_tile *t,
                                           int32_t block) {
  const pz_view *to = &s->pooled;
  const int32_t *k = s->window;
  return t->n * to->stride_n + block * to->stride_c + t->at[0] / k[0] * to->stride_d +
         t->at[1] / k[1] * to->stride_h + t->at[2] / k[2] * to->stride_w;
}
PZ_INLINE void pz_winograd_fetch_pooled(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                        const pz_winograd_tile *t, int32_t block, float *pooled) {
  const pz_view *to = &s->pooled;
  pooled += pz_winograd_pooled_place(s, t, block);
  PZ_ROLL for (int32_t d = 0; d < t->outputs[0] / s->window[0]; ++d)
      PZ_ROLL for (int32_t h = 0; h < t->outputs[1] / s->window[1]; ++h)
          PZ_UNROLL for (int32_t w = 0; w < z.m2 / s->window[2]; ++w)
              __builtin_prefetch(pooled + d * to->stride_d + h * to->stride_h + w * to->stride_w, 1);
}

/* Results of one place of tiles that share vectors, to plain maps. */
PZ_INLINE void pz_winograd_store_plain(const pz_winograd_shape *s, const pz_winograd_sharers *x,
                                       const int32_t place[3], pz_v y, float *out) {
  const pz_view *v = &s->conv.out;
  PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
    if (!pz_winograd_has(&x->tile[i], place)) continue;
    float *to = out + pz_winograd_place(v, &x->tile[i], 0, place[1], place[2]) + place[0] * v->stride_d;
    PZ_UNROLL for (int32_t k = 0; k < PZ_WINOGRAD_SHORT; ++k) if (k < v->c) to[k * v->stride_c] =
        y[i * PZ_WINOGRAD_SHORT + k];
  }
}

/* Results of one place of tiles that share vectors, in map block `block`. place: (d, h, w) in a tile. */
PZ_INLINE void pz_winograd_store_short(const pz_winograd_shape *s, const pz_winograd_sharers *x,
                                       int32_t block, const int32_t place[3], const pz_conv_ends *e, pz_v y) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t map = block * PZ_S, few = PZ_WINOGRAD_SHORT;
  if (c->has_bias) y = y + pz_v_repeat(e->bias + map, few);
  if (c->base.c) {
    const float *at[PZ_WINOGRAD_SHARING];
    PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
      const pz_winograd_tile *t = &x->tile[i];
      at[i] = pz_winograd_has(t, place)
                  ? e->base + pz_winograd_place(&c->base, t, block, place[1], place[2]) +
                        place[0] * c->base.stride_d
                  : pz_winograd_nothing;
    }
    const pz_v from = pz_winograd_fours(&c->base, block, at);
    y = c->has_base_scale ? pz_v_fma(from, pz_v_repeat(e->base_scale + map, few), y) : y + from;
  }
  const pz_v slope = c->act == PZ_K_ACT_PRELU ? pz_v_repeat(e->slope + map, few) : pz_v_zero();
  y = pz_activate(c->act, c->alpha, c->beta, slope, y);
  if (c->out.block == 1) {
    pz_winograd_store_plain(s, x, place, y, e->out);
    return;
  }
  PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
    if (pz_winograd_has(&x->tile[i], place)) {
      const pz_v four = pz_v_four(y, i),
                 mine = pz_k_act_zero_at_zero(c->act) ? four : pz_v_first(four, c->out.c - map);
      float *to = e->out + pz_winograd_place(&c->out, &x->tile[i], block, place[1], place[2]) +
                  place[0] * c->out.stride_d;
      if (c->stream) pz_v_stream(to, mine);
      else pz_point_store(&c->out, block, to, mine);
    }
  }
}

/* A tile's results in one block of maps; or, of the short block, those of tiles that share its vectors. back: of pairs, what results are
 * multiplied by. record: of moments that those of the results are added to; or NULL. */
PZ_INLINE void pz_winograd_output(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                  const pz_winograd_tile *t, const pz_winograd_sharers *sharers, pz_v back,
                                  const float *from, int32_t block, const pz_conv_ends *e, float *record) {
  const int32_t rows = sharers ? z.m1 : t->outputs[1], across = sharers ? z.m2 : t->outputs[2];
  if (!sharers) pz_winograd_fetch_ends(s, z, t, block, e);
  else
    PZ_ROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i)
        pz_winograd_fetch_ends(s, z, &sharers->tile[i], block, e);
  pz_v y[PZ_WINOGRAD_MOST_A * PZ_WINOGRAD_MOST_M * PZ_WINOGRAD_MOST_M];
  PZ_ROLL for (int32_t d = 0; d < z.a0; ++d, from += z.p0) {
    pz_v x[PZ_WINOGRAD_PLANE];
    PZ_POINTER_PIN(from);
    PZ_UNROLL for (int32_t w = 0; w < z.across; ++w) {
      PZ_UNROLL for (int32_t h = 0; h < z.a1; ++h) x[h * z.a2 + w] = pz_v_load(from + h * z.p1 + w * z.p2);
      pz_winograd_back(z.m1, z.r1, x + w, z.a2);
    }
    PZ_UNROLL for (int32_t h = 0; h < z.m1; ++h) {
      if (!z.sliced) pz_winograd_back(z.m2, z.r2, x + h * z.a2, 1);
      PZ_UNROLL for (int32_t w = 0; w < z.m2; ++w) y[(d * z.m1 + h) * z.m2 + w] = x[h * z.a2 + w];
    }
  }
  PZ_ROLL for (int32_t h = 0; h < rows; ++h) PZ_ROLL for (int32_t w = 0; w < across; ++w) {
    pz_v v[PZ_WINOGRAD_MOST_A];
    PZ_UNROLL for (int32_t d = 0; d < z.a0; ++d) v[d] = y[(d * z.m1 + h) * z.m2 + w];
    pz_winograd_back(z.m0, z.r0, v, 1);
    if (sharers) {
      PZ_UNROLL for (int32_t d = 0; d < z.m0; ++d) y[(d * z.m1 + h) * z.m2 + w] =
          z.pairs ? v[d] * back : v[d];
      PZ_ROLL for (int32_t d = 0; d < z.m0; ++d) pz_winograd_store_short(
          s, sharers, block, (const int32_t[3]){d, h, w}, e, y[(d * z.m1 + h) * z.m2 + w]);
      continue;
    }
    const int64_t out = pz_winograd_place(&s->conv.out, t, block, h, w),
                  base = pz_winograd_place(&s->conv.base, t, block, h, w);
    PZ_UNROLL for (int32_t d = 0; d < z.m0; ++d) if (d < t->outputs[0]) {
      const int64_t to = out + d * s->conv.out.stride_d, from_base = base + d * s->conv.base.stride_d;
      v[d] = z.pairs ? pz_conv_store_scaled(&s->conv, e, block, to, from_base, back, v[d])
                     : pz_conv_store_sum(&s->conv, e, block, to, from_base, v[d]);
      if (s->conv.gathers)
        y[(d * z.m1 + h) * z.m2 + w] = v[d]; /* else gcc 12 stores it too: 17% of the stage */
    }
  }
  if (record) pz_winograd_gather(z, t, y, record);
}

/* ---- batches ---- */

/* Products of slot p + together into slot p. taken: packed for pairs; or NULL. */
PZ_INLINE void pz_winograd_multiply(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                    const float *weights, const float *taken, pz_winograd_ahead ahead,
                                    float *slots) {
  const int64_t step = z.together * z.slot;
  const pz_winograd_balance b = pz_winograd_balance_at(s, slots + pz_winograd_balance_place(s));
  float *fresh = slots + pz_winograd_slots(s) + step;
  PZ_ROLL for (int32_t i = 0; i < pz_winograd_points(s) / z.together; ++i, slots += step) {
    const float *in = slots + step;
    const pz_winograd_taken here = {b.taken, z.pairs ? taken + pz_winograd_taken_at(s, i, 0) : NULL,
                                    z.pairs && !pz_winograd_has_spare(s)};
    weights = pz_winograd_multiply_columns(s, z, here, &ahead, in, weights, fresh, slots);
  }
}

/* Of pairs: adds what a tile has of squares in a block of `maps` maps to those of the blocks before. The first block that is not all
 * zeros tells its factor (0: those in front of it). */
PZ_INLINE void pz_winograd_balance_with(const pz_winograd_shape *s, const pz_winograd_balance *p,
                                        int32_t tile, int32_t maps, float squares) {
  const float part = (float)s->conv.in.c / (float)maps;
  if (p->squares[tile] == 0)
    p->scale[tile] = squares == 0 ? 0 : pz_winograd_scale_of(pz_winograd_mean_of(s, squares) * part);
  p->squares[tile] += squares;
}

/* What the inputs of a tile in block b are multiplied by, or of those that share its vectors. p: of pairs; without squares, scales are
 * known. */
PZ_INLINE pz_v pz_winograd_scale_in(const pz_winograd_shape *s, const pz_winograd_balance *p, int32_t tile,
                                    int32_t b, int few, pz_v squares) {
  const int32_t left = s->conv.in.c - b * PZ_S;
  if (!s->pairs) return pz_v_zero();
  if (!few) {
    if (p->squares) pz_winograd_balance_with(s, p, tile, left < PZ_S ? left : PZ_S, pz_v_sum(squares));
    return pz_v_broadcast(p->scale + tile);
  }
  PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
    float sum = 0;
    PZ_UNROLL for (int32_t k = 0; k < PZ_WINOGRAD_SHORT; ++k) sum += squares[i * PZ_WINOGRAD_SHORT + k];
    pz_winograd_balance_with(s, p, tile + i, left, sum);
  }
  return pz_v_four_times(p->scale + tile);
}

/* Transformed inputs of block b of tiles first .. first + count - 1, into places from `to` on. p: of pairs, of these tiles. */
PZ_INLINE void pz_winograd_load_block(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t b,
                                      int64_t first, int32_t count, const pz_winograd_balance p,
                                      const float *in, float *to) {
  const int few = pz_winograd_short(s, s->conv.in.c) && b == pz_winograd_whole(s, s->conv.in.c);
  pz_v slices[PZ_WINOGRAD_MOST_A * PZ_WINOGRAD_PLANE], of_slices[PZ_WINOGRAD_MOST_A];
  pz_winograd_ring ring = {.slices = slices, .squares = of_slices};
  pz_winograd_sharers sharers;
  PZ_ROLL for (int32_t k = 0; k < count; k += few ? PZ_WINOGRAD_SHARING : 1, to += PZ_S) {
    const pz_winograd_tile t = pz_winograd_tile_at(s, first + k);
    if (few) sharers = pz_winograd_sharers_at(s, first + k, count - k);
    if (few || t.at[2] == 0) ring.kept = 0;
    const pz_v squares = pz_winograd_slices(s, z, &t, few ? &sharers : NULL, b, in, &ring);
    pz_winograd_widths(z, &ring, pz_winograd_scale_in(s, &p, k, b, few, squares), to);
    ring.first = (ring.first + z.m2) % z.a2, ring.kept = z.a2 - z.m2;
  }
}

/* Transformed inputs of a tile, multiplied once more. */
PZ_INLINE void pz_winograd_scale_again(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t tile,
                                       float factor, float *slots) {
  const int32_t whole = pz_winograd_whole(s, s->conv.in.c), few = pz_winograd_short(s, s->conv.in.c);
  PZ_ROLL for (int32_t i = 0; i < pz_winograd_points(s); ++i, slots += z.slot) {
    PZ_ROLL for (int32_t b = 0; b < whole; ++b) {
      float *at = slots + b * s->product.in.stride_c + tile * PZ_S;
      pz_v_store(at, pz_v_load(at) * pz_v_set1(factor));
    }
    if (few)
      PZ_ROLL for (int32_t k = 0; k < PZ_WINOGRAD_SHORT; ++k)
          slots[whole * s->product.in.stride_c + tile * PZ_WINOGRAD_SHORT + k] *= factor;
  }
}

/* Of pairs: where all blocks of a tile say that another factor is right than the first one did, which is rare. */
PZ_INLINE void pz_winograd_check_scales(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t count,
                                        float unscale, const pz_winograd_balance *p, float *slots) {
  PZ_ROLL for (int32_t k = 0; k < count; ++k) {
    const float mean = pz_winograd_mean_of(s, p->squares[k]), scale = pz_winograd_scale_of(mean);
    if (p->squares[k] != 0 && (scale > 2 * p->scale[k] || 2 * scale < p->scale[k])) {
      pz_winograd_scale_again(s, z, k, scale / p->scale[k], slots);
      p->scale[k] = scale;
    }
    p->back[k] = pz_winograd_back_from(mean, p->scale[k], unscale);
  }
}

/* ---- slices, and bands ---- */

/* Slices of block b of tiles first .. first + count - 1, to the bands: `to` is of the first one. p: of pairs; squares are added up. */
PZ_INLINE void pz_winograd_load_slices(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t b,
                                       int64_t first, int32_t count, const pz_winograd_balance p,
                                       const float *in, float *to) {
  pz_v squares[PZ_WINOGRAD_MOST_A];
  PZ_ROLL for (int32_t k = 0; k < count; ++k) {
    const pz_winograd_tile t = pz_winograd_tile_at(s, first + k);
    const int32_t kept = k == 0 || t.at[2] == 0 ? 0 : z.a2 - z.m2;
    PZ_ROLL for (int32_t w = 0; w < kept; ++w) squares[w] = squares[w + z.m2];
    PZ_ROLL for (int32_t w = kept; w < z.a2; ++w, to += PZ_S) squares[w] =
        pz_winograd_slice_of(s, z, &t, NULL, b, w, in, to, z.band);
    if (z.pairs) {
      pz_v sum = pz_v_zero();
      PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) sum = sum + squares[w];
      p.squares[k] += pz_v_sum(sum);
    }
  }
}

/* The same of the short block. */
PZ_INLINE void pz_winograd_load_shared(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t b,
                                       int64_t first, int32_t count, const pz_winograd_balance p,
                                       const float *in, float *to) {
  PZ_ROLL for (int32_t k = 0; k < count; k += PZ_WINOGRAD_SHARING) {
    const pz_winograd_sharers sharers = pz_winograd_sharers_at(s, first + k, count - k);
    pz_v sum = pz_v_zero();
    PZ_ROLL for (int32_t w = 0; w < z.a2; ++w, to += PZ_S) sum =
        sum + pz_winograd_slice_of(s, z, &sharers.tile[0], &sharers, b, w, in, to, z.band);
    if (z.pairs)
      PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i)
          PZ_UNROLL for (int32_t l = 0; l < PZ_WINOGRAD_SHORT; ++l)
              p.squares[k + i] += sum[i * PZ_WINOGRAD_SHORT + l];
  }
}

/* Along the width, of one vector of slices. scale: of pairs. */
PZ_INLINE void pz_winograd_width(const pz_winograd_sizes z, const pz_v *constants, pz_v scale,
                                 const float *from, float *to) {
  pz_v y[PZ_WINOGRAD_MOST_A];
  PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) y[w] =
      z.pairs ? pz_v_load(from + w * PZ_S) * scale : pz_v_load_once(from + w * PZ_S);
  pz_winograd_forward(z.apart, z.m2, z.r2, constants, y, 1);
  PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) pz_v_store(to + w * z.slot, y[w]);
}

/* Positions of a band, to slots from `to` on. */
PZ_INLINE void pz_winograd_band_forward(const pz_winograd_shape *s, const pz_winograd_sizes z, int64_t first,
                                        int32_t count, const float *scale, const float *band, float *to) {
  const int32_t whole = pz_winograd_whole(s, s->conv.in.c), tiles = pz_winograd_tiles(s, 2);
  const int64_t slices = (int64_t)pz_winograd_slices_of(s) * PZ_S;
  pz_v constants[PZ_WINOGRAD_CONSTANTS];
  pz_winograd_forward_constants(1, z.m2, z.r2, constants);
  PZ_ROLL for (int32_t b = 0; b < whole; ++b) {
    const float *from = band + b * slices;
    float *at = to + b * s->product.in.stride_c;
    PZ_ROLL for (int32_t k = 0, left = tiles - (int32_t)(first % tiles); k < count;
                 left = tiles, from += (z.a2 - z.m2) * PZ_S) {
      const int32_t end = k + left < count ? k + left : count;
      PZ_ROLL for (; k < end; ++k, from += z.m2 * PZ_S, at += PZ_S)
          pz_winograd_width(z, constants, z.pairs ? pz_v_broadcast(scale + k) : pz_v_zero(), from, at);
    }
  }
  if (!pz_winograd_short(s, s->conv.in.c)) return;
  const float *from = band + pz_winograd_band_short(s);
  float *at = to + whole * s->product.in.stride_c;
  PZ_ROLL for (int32_t k = 0; k < count; k += PZ_WINOGRAD_SHARING, from += z.a2 * PZ_S, at += PZ_S)
      pz_winograd_width(z, constants, z.pairs ? pz_v_four_times(scale + k) : pz_v_zero(), from, at);
}

/* And back: products of positions, in slots from `from` on, to sums of a band, [block][tile][m2][lane], then
 * [those that share vectors][m2][lane]. */
PZ_INLINE void pz_winograd_band_back(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t count,
                                     const float *from, float *band) {
  const int32_t whole = pz_winograd_whole(s, s->conv.out.c), few = pz_winograd_short(s, s->conv.out.c) > 0;
  const int64_t slices = (int64_t)pz_winograd_slices_of(s) * PZ_S;
  PZ_ROLL for (int32_t b = 0; b < whole + few; ++b) {
    float *to = band + (b < whole ? b * slices : pz_winograd_band_short(s));
    const float *at = from + b * s->product.out.stride_c;
    const int32_t vectors = b < whole ? count : pz_winograd_blocks(count, PZ_WINOGRAD_SHARING);
    PZ_ROLL for (int32_t k = 0; k < vectors; ++k, at += PZ_S, to += z.m2 * PZ_S) {
      pz_v x[PZ_WINOGRAD_MOST_A];
      PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) x[w] = pz_v_load(at + w * z.slot);
      pz_winograd_back(z.m2, z.r2, x, 1);
      PZ_UNROLL for (int32_t w = 0; w < z.m2; ++w) pz_v_store(to + w * PZ_S, x[w]);
    }
  }
}

/* All bands: each is transformed, multiplied and transformed back. scratch: of the worker; taken: packed for pairs. (Of the next band's
 * slices nothing is fetched: the core does so by itself, and faster.) */
PZ_INLINE void pz_winograd_multiply_bands(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                          int64_t first, int32_t count, const float *weights,
                                          const float *taken, pz_winograd_ahead ahead, float *scratch) {
  const pz_winograd_balance p = pz_winograd_balance_at(s, scratch + pz_winograd_balance_place(s));
  float *band = scratch, *positions = scratch + pz_winograd_slots(s);
  PZ_ROLL for (int32_t i = 0; i < z.a0 * z.a1; ++i, band += z.band) {
    pz_winograd_band_forward(s, z, first, count, p.scale, band, positions + z.slot);
    PZ_ROLL for (int32_t w = 0; w < z.a2; ++w) {
      const pz_winograd_taken here = {p.taken,
                                      z.pairs ? taken + pz_winograd_taken_at(s, i * z.a2 + w, 0) : NULL,
                                      z.pairs && !pz_winograd_has_spare(s)};
      weights = pz_winograd_multiply_columns(s, z, here, &ahead, positions + (w + 1) * z.slot, weights, NULL,
                                             positions + w * z.slot);
    }
    pz_winograd_band_back(s, z, count, positions, band);
  }
}

/* scratch: of the worker; taken: packed for pairs. */
PZ_INLINE void pz_winograd_load(const pz_winograd_shape *s, const pz_winograd_sizes z, int64_t first,
                                int32_t count, const float *taken, const float *in, float *scratch) {
  const pz_winograd_balance p = pz_winograd_balance_at(s, scratch + pz_winograd_balance_place(s));
  float *slots = scratch + z.together * z.slot;
  if (z.pairs) PZ_ROLL for (int32_t k = 0; k < pz_winograd_tiles_filled(s); ++k) p.squares[k] = 0;
  if (z.sliced) {
    const int32_t whole = pz_winograd_whole(s, s->conv.in.c);
    PZ_ROLL for (int32_t b = 0; b < whole; ++b) pz_winograd_load_slices(
        s, z, b, first, count, p, in, scratch + (int64_t)b * pz_winograd_slices_of(s) * PZ_S);
    if (pz_winograd_short(s, s->conv.in.c))
      pz_winograd_load_shared(s, z, whole, first, count, p, in, scratch + pz_winograd_band_short(s));
    if (z.pairs) PZ_ROLL for (int32_t k = 0; k < count; ++k) {
        const float mean = pz_winograd_mean_of(s, p.squares[k]);
        p.scale[k] = pz_winograd_scale_of(mean), p.back[k] = pz_winograd_back_from(mean, p.scale[k], *taken);
      }
    return;
  }
  PZ_ROLL for (int32_t b = 0; b < pz_winograd_blocks(s->conv.in.c, PZ_S); ++b)
      pz_winograd_load_block(s, z, b, first, count, p, in, slots + b * s->product.in.stride_c);
  if (z.pairs) pz_winograd_check_scales(s, z, count, *taken, &p, slots);
}

/* What results of pairs are multiplied by in block b, from a tile's own: padding lanes have rounding errors in place of zeros. */
PZ_INLINE pz_v pz_winograd_back_of(const pz_winograd_shape *s, const float *back, int32_t b) {
  return pz_v_first(pz_v_broadcast(back), s->conv.out.c - b * PZ_S);
}

/* The windows of a tile's results, which are stored and still near. */
PZ_INLINE void pz_winograd_pool(const pz_winograd_shape *s, const pz_winograd_tile *t, int32_t block,
                                const float *out, float *pooled) {
  const pz_view *from = &s->conv.out, *to = &s->pooled;
  const int32_t *k = s->window;
  const pz_pooling_steps step = {from, block, from->stride_d, from->stride_h, from->stride_w};
  const float *in = out + pz_winograd_place(from, t, block, 0, 0);
  pooled += pz_winograd_pooled_place(s, t, block);
  PZ_ROLL for (int32_t d = 0; d < t->outputs[0] / k[0]; ++d)
      PZ_ROLL for (int32_t h = 0; h < t->outputs[1] / k[1]; ++h)
          PZ_ROLL for (int32_t w = 0; w < t->outputs[2] / k[2]; ++w) {
    const float *window =
        in + d * k[0] * from->stride_d + h * k[1] * from->stride_h + w * k[2] * from->stride_w;
    pz_point_store(to, block, pooled + d * to->stride_d + h * to->stride_h + w * to->stride_w,
                   pz_pooling_max(step, window, k[0], k[1], k[2]));
  }
}

/* Where what is to be transformed back of a tile of the batch begins, in block b, or of the tiles that share its vectors. */
PZ_INLINE int64_t pz_winograd_sums_at(const pz_winograd_shape *s, int32_t tile, int32_t b) {
  const int32_t few = b == pz_winograd_whole(s, s->conv.out.c);
  if (!s->sliced) return b * s->product.out.stride_c + tile * (few ? PZ_WINOGRAD_SHORT : PZ_S);
  if (few) return pz_winograd_band_short(s) + tile / PZ_WINOGRAD_SHARING * s->m[2] * PZ_S;
  return ((int64_t)b * pz_winograd_slices_of(s) + tile * s->m[2]) * PZ_S;
}

/* Results of tiles first .. first + count - 1. */
PZ_INLINE void pz_winograd_store(const pz_winograd_shape *s, const pz_winograd_sizes z, int64_t first,
                                 int32_t count, float *from, const pz_conv_ends *e, float *pooled,
                                 float *record) {
  const float *back = pz_winograd_balance_at(s, from + pz_winograd_balance_place(s)).back;
  const int32_t whole = pz_winograd_whole(s, s->conv.out.c), few = pz_winograd_short(s, s->conv.out.c) > 0;
  PZ_ROLL for (int32_t k = 0; k < count; ++k) {
    const pz_winograd_tile t = pz_winograd_tile_at(s, first + k);
    const int32_t shared = few && k % PZ_WINOGRAD_SHARING == 0;
    pz_winograd_sharers sharers;
    if (shared) sharers = pz_winograd_sharers_at(s, first + k, count - k);
    PZ_ROLL for (int32_t b = 0; b < whole + shared; ++b) {
      const pz_v factor = !z.pairs     ? pz_v_zero()
                          : b == whole ? pz_v_four_times(back + k)
                                       : pz_winograd_back_of(s, back + k, b);
      if (s->pooled.c && b < whole) pz_winograd_fetch_pooled(s, z, &t, b, pooled);
      pz_winograd_output(s, z, &t, b == whole ? &sharers : NULL, factor, from + pz_winograd_sums_at(s, k, b),
                         b, e,
                         s->conv.gathers ? record + (int64_t)b * s->conv.gathers * PZ_NORM_RECORD : NULL);
      if (!s->pooled.c) continue;
      if (b < whole) pz_winograd_pool(s, &t, b, e->out, pooled);
      else
        PZ_ROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i)
            pz_winograd_pool(s, &sharers.tile[i], b, e->out, pooled);
    }
  }
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
                           const float *taken, const float *bias, const float *base, const float *base_scale,
                           const float *slope, float *out, float *pooled, float *statistics, float *scratch,
                           int32_t worker, int32_t workers) {
  const pz_conv_ends ends = {bias, base, base_scale, slope, out};
  const pz_winograd_sizes z = pz_winograd_sizes_of(&s);
  int64_t begin, end;
  const int64_t batches = pz_winograd_all_tiles(&s) / pz_winograd_run(&s) * pz_winograd_batches(&s);
  pz_share(batches, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const pz_winograd_batch b = pz_winograd_batch_at(&s, i);
    pz_winograd_load(&s, z, b.first, b.count, taken, in, scratch);
    const pz_winograd_batch next = pz_winograd_batch_at(&s, i + 1 < end ? i + 1 : i);
    const pz_winograd_ahead ahead = {
        .in = in, .tile = next.first, .end = i + 1 < end ? next.first + next.count : next.first};
    if (z.sliced) pz_winograd_multiply_bands(&s, z, b.first, b.count, weights, taken, ahead, scratch);
    else pz_winograd_multiply(&s, z, weights, taken, ahead, scratch);
    float *record = s.conv.gathers ? pz_winograd_begin_records(&s, statistics, i) : NULL;
    pz_winograd_store(&s, z, b.first, b.count, scratch, &ends, pooled, record);
  }
  if (s.conv.stream) pz_v_stream_end();
}

#endif
