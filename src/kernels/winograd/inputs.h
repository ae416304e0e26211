/* inputs.h: of minimal filtering, where tiles lie and how their inputs are transformed: slices along the depth and the height, which
 * neighbours share, then along the width. Contract: winograd.h. */
#ifndef PZ_KERNELS_WINOGRAD_INPUTS_H
#define PZ_KERNELS_WINOGRAD_INPUTS_H

#include "kernels/norm/normed.h"
#include "kernels/point.h"
#include "kernels/winograd/points.h"
#include "kernels/winograd/shape.h"
#include "kernels/winograd/transforms.h"
#include "kernels/winograd/ways.h"

/* What loops are unrolled by, apart from the shape: gcc must see each as a constant before it has cleared away the
 * transforms that are not taken. */
typedef struct pz_winograd_sizes {
  int32_t m0, m1, m2, r0, r1, r2, a0, a1, a2;
  int32_t on_use_m, planes, row_planes, together, apart, inner_pairs; /* planes: of one row_planes */
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
                             .on_use_m = pz_winograd_together(s) -
                                         pz_winograd_planes(s) / pz_winograd_row_planes(s) + 1,
                             .planes = pz_winograd_planes(s) / pz_winograd_row_planes(s),
                             .row_planes = pz_winograd_row_planes(s),
                             .together = pz_winograd_together(s),
                             .apart = s->apart,
                             .inner_pairs = s->inner_pairs,
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

/* The first input of a tile in a block of channels. */
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
 * the hardware to follow, and a core waits for no more than two dozen lines at once (doc/notes/2026-11-28-winograd.md). */
PZ_INLINE void pz_winograd_fetch(const float *at, int near) {
  if (near) __builtin_prefetch(at, 0, 3);
  else __builtin_prefetch(at, 0, 2);
}

/* Where a slice lies, a0 x a1 vectors, of a channels-last tensor (view.h) of so many channels each, else 0; and the same of the next tile; NULL: that is
 * not fetched here. */
typedef struct pz_winograd_slice_place {
  const float *at, *next;
  int64_t stride_d, stride_h;
  int32_t near, channels;
} pz_winograd_slice_place;

PZ_INLINE pz_v pz_winograd_input(const pz_winograd_slice_place *from, const float *at) {
  return from->channels ? pz_v_load_lanes(at, 0, from->channels) : pz_v_load_once(at);
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
    if (PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs && (edge || z.m1 == 1))
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
  if (PZ_MAY(WINOGRAD, FLAT) && z.m1 == 1) {
    pz_v squares = pz_v_zero();
    PZ_UNROLL for (int32_t h = 0; h < z.a1; ++h) squares =
        squares + pz_winograd_slice_rows(z, &k, h, h, from, to, step);
    return squares;
  }
  if (!PZ_MAY(WINOGRAD, HIGH)) __builtin_unreachable();
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

PZ_INLINE pz_v pz_winograd_norm(const pz_winograd_shape *s, const pz_normed *f, const float *at) {
  return pz_normed_load(f, s->norm_act, s->norm_alpha, s->norm_beta, at);
}

/* Slice w of a tile whose inputs are normalised as they are read; zeros where they end. factors: of all blocks. */
PZ_INLINE void pz_winograd_fill_normed(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                       const pz_winograd_tile *t, int32_t block, int32_t w, const float *in,
                                       const float *factors, pz_v *to) {
  const pz_view *v = &s->conv.in;
  const int32_t *pad = s->conv.pad, x = t->at[2] - pad[2] + w, y = t->at[1] - pad[1], d0 = t->at[0] - pad[0];
  const pz_normed f = pz_normed_of(v, factors, t->n, block);
  const int within = x >= 0 && x < v->w, all = d0 >= 0 && d0 + z.a0 <= v->d && y >= 0 && y + z.a1 <= v->h;
  if (within && all) {
    PZ_ROLL for (int32_t d = 0; d < z.a0; ++d, in += v->stride_d)
        PZ_UNROLL for (int32_t h = 0; h < z.a1; ++h) {
      *to++ = pz_winograd_norm(s, &f, in + h * v->stride_h);
      pz_winograd_fetch(in + h * v->stride_h + z.m2 * v->stride_w, s->near);
    }
    return;
  }
  PZ_ROLL for (int32_t d = 0; d < z.a0; ++d) PZ_ROLL for (int32_t h = 0; h < z.a1; ++h) {
    const float *at = in + d * v->stride_d + h * v->stride_h;
    const int there = within && d0 + d >= 0 && d0 + d < v->d && y + h >= 0 && y + h < v->h;
    *to++ = there ? pz_winograd_norm(s, &f, at) : pz_v_zero();
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
  if (!v->channels_last) return pz_v_fours_at(at);
  pz_v all = pz_v_zero();
  PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
    const int32_t first = i * PZ_WINOGRAD_SHORT;
    all = all + pz_v_load_lanes(at[i] - first, first, v->c - block * PZ_S);
  }
  return all;
}

/* Slice w of tiles that share vectors, a0 x a1 of them; zeros where a tile is cut off. in: channel block 0 of all. */
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

/* The slices of a tile in a block of channels, transformed along d and h: slice w lies at (first + w) % a2. */
typedef struct pz_winograd_ring {
  int32_t first, kept;    /* the first `kept` slices are those of the tile before */
  pz_v *slices, *squares; /* [slice][d][h], [slice] */
} pz_winograd_ring;

/* The input, the channel block 0 of all; factors: where it is normalised as it is read, else NULL. */
typedef struct pz_winograd_source {
  const float *at, *factors;
} pz_winograd_source;

/* Slice w of a tile in a block of channels; or, of the short block, of those that share its vectors. Returns its sum of squares, for pairs. */
PZ_INLINE pz_v pz_winograd_slice_of(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                    const pz_winograd_tile *t, const pz_winograd_sharers *sharers,
                                    int32_t block, int32_t w, pz_winograd_source source, float *to,
                                    int64_t step) {
  const pz_view *v = &s->conv.in;
  const float *in = source.at;
  const int32_t whole = t->inputs[0] == z.a0 && t->inputs[1] == z.a1,
                normed = PZ_MAY(WINOGRAD, NORMED) && s->normed,
                filled = normed || sharers || !whole || w >= t->inputs[2];
  const float *slice = in + pz_winograd_origin(s, t, block) + w * v->stride_w;
  pz_v patch[PZ_WINOGRAD_PLANE];
  if (PZ_MAY(WINOGRAD, SHORT) && sharers) pz_winograd_fill_short(s, z, sharers, block, w, in, patch);
  else if (normed) pz_winograd_fill_normed(s, z, t, block, w, slice, source.factors, patch);
  else if (filled) pz_winograd_fill(s, z, t, block, w, slice, patch);
  /* One copy of the transforms: two, each with constant strides, ran no faster and took longer to compile (doc/notes/2026-11-29-compiling.md). */
  const int32_t lanes = filled ? PZ_S : pz_point_channels(v, block);
  const pz_winograd_slice_place from = {filled ? (const float *)patch : slice,
                                        filled ? NULL : slice + z.m2 * v->stride_w,
                                        filled ? z.a1 * PZ_S : v->stride_d,
                                        filled ? PZ_S : v->stride_h,
                                        s->near,
                                        v->channels_last ? lanes : 0};
  return pz_winograd_slice(z, from, to, step);
}

/* One tile of one block of channels; or, of the short block, those that share its vectors. Returns the sum of squares, for pairs. */
PZ_INLINE pz_v pz_winograd_slices(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                  const pz_winograd_tile *t, const pz_winograd_sharers *sharers,
                                  int32_t block, pz_winograd_source in, const pz_winograd_ring *ring) {
  pz_v sum = pz_v_zero();
  PZ_ROLL for (int32_t w = ring->kept; w < z.a2; ++w) {
    const int32_t place = (ring->first + w) % z.a2;
    const pz_v squares = pz_winograd_slice_of(s, z, t, sharers, block, w, in,
                                              (float *)(ring->slices + place * z.a0 * z.a1), PZ_S);
    if (PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs) ring->squares[place] = squares;
  }
  if (PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs)
    PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) sum = sum + ring->squares[w];
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
        PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs ? pz_v_load((const float *)(slices[w] + i)) * scale
                                                       : pz_v_load_once((const float *)(slices[w] + i));
    pz_winograd_forward(z.apart, z.m2, z.r2, k, y, 1);
    PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) pz_v_store(to + w * z.p2, y[w]);
  }
}

#endif
