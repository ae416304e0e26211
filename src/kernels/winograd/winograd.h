/* winograd.h: convolution by minimal filtering, batch after batch of tiles: transform the inputs of all tiles of a
 * batch, multiply each transformed position by its weights, transform back with bias, Base and activation.
 *
 * Contract: shape.h; weights packed by pack.h, and what pairs take away, else NULL; bias, residual_scale, slope padded with zeros to whole blocks; in, out, residual of
 * block S, residual may be the very storage of out. Reads `in` only as far as the direct convolution would: what a tile at
 * the edge would read beyond is zero. Writes the inside of out; padding lanes become zero. scratch: pz_winograd_scratch
 * floats of this worker's own. The unit of work is a batch; a tile's sums do not depend on the others of its batch, so
 * any number of workers gives the same bits. pooled: the largest of each window, if the shape says so, else NULL. If it says so, too, the
 * moments of the results are collected: statistics holds records (norm/moments.h) over n, block of channels, batch. factors: where the shape says that
 * inputs are normalised as they are read (norm/group_norm.h), else NULL. */
#ifndef PZ_KERNELS_WINOGRAD_WINOGRAD_H
#define PZ_KERNELS_WINOGRAD_WINOGRAD_H

#include "kernels/pool/pool.h"
#include "kernels/winograd/products.h"

/* ---- outputs ---- */

/* y: the results of a tile. Not inlined: the transforms around it would have fewer registers. */
static __attribute__((noinline, unused)) void pz_winograd_collect_stats(const pz_winograd_sizes z,
                                                                        const pz_winograd_tile *t,
                                                                        const pz_v *y, float *record) {
  const int32_t whole = t->outputs[0] == z.m0 && t->outputs[1] == z.m1 && t->outputs[2] == z.m2;
  pz_view v = {.d = 1, .h = 1, .w = z.m0 * z.m1 * z.m2, .stride_w = PZ_S};
  if (!whole) {
    v.d = t->outputs[0], v.h = t->outputs[1], v.w = t->outputs[2];
    v.stride_h = z.m2 * PZ_S, v.stride_d = z.m1 * v.stride_h;
  }
  const pz_norm_place first = {.row = (const float *)y};
  const pz_norm_lanes lanes = pz_norm_piece(&v, first, v.d * v.h, 0, v.w, 0);
  pz_norm_collect(record, &lanes);
}

PZ_INLINE int pz_winograd_has(const pz_winograd_tile *t, const int32_t place[3]) {
  return place[0] < t->outputs[0] && place[1] < t->outputs[1] && place[2] < t->outputs[2];
}

/* The lines of a tile's results, or of what they start from, all at once. */
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
PZ_INLINE int pz_winograd_fetches_out(const pz_winograd_shape *s) {
  return !s->conv.stream && s->conv.out.block != 1;
}
PZ_INLINE void pz_winograd_fetch_ends(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                      const pz_winograd_tile *t, int32_t block, const pz_conv_epilogue *e) {
  if (PZ_MAY(WINOGRAD, RESIDUAL) && s->conv.residual.c)
    pz_winograd_fetch_lines(z, t, &s->conv.residual, block, 0, e->residual);
  if (pz_winograd_fetches_out(s)) pz_winograd_fetch_lines(z, t, &s->conv.out, block, 1, e->out);
}

/* A tile in a block of channels, whose turn it is next; tile NULL: there is none. */
typedef struct pz_winograd_next {
  const pz_winograd_tile *tile;
  int32_t block;
} pz_winograd_next;

/* Its lines at one place along h and w, through the depth: a few with each place of the tile before, for a core waits for no more than two
 * dozen at once. */
PZ_INLINE void pz_winograd_fetch_next(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                      pz_winograd_next next, int32_t h, int32_t w,
                                      const pz_conv_epilogue *e) {
  const pz_view *out = &s->conv.out, *residual = &s->conv.residual;
  const float *to = e->out + pz_winograd_place(out, next.tile, next.block, h, w),
              *from =
                  residual->c ? e->residual + pz_winograd_place(residual, next.tile, next.block, h, w) : to;
  PZ_UNROLL for (int32_t d = 0; d < z.m0; ++d) {
    if (pz_winograd_fetches_out(s)) __builtin_prefetch(to + d * out->stride_d, 1);
    if (residual->c && (from != to || !pz_winograd_fetches_out(s)))
      __builtin_prefetch(from + d * residual->stride_d, 0, 2);
  }
}

/* Where a tile's windows go. */
PZ_INLINE int64_t pz_winograd_pooled_place(const pz_winograd_shape *s, const pz_winograd_tile *t,
                                           int32_t block) {
  const pz_view *to = &s->pooled;
  const int32_t *k = s->pool_window;
  return t->n * to->stride_n + block * to->stride_c + t->at[0] / k[0] * to->stride_d +
         t->at[1] / k[1] * to->stride_h + t->at[2] / k[2] * to->stride_w;
}
PZ_INLINE void pz_winograd_fetch_pooled(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                        const pz_winograd_tile *t, int32_t block, float *pooled) {
  const pz_view *to = &s->pooled;
  pooled += pz_winograd_pooled_place(s, t, block);
  PZ_ROLL for (int32_t d = 0; d < t->outputs[0] / s->pool_window[0]; ++d)
      PZ_ROLL for (int32_t h = 0; h < t->outputs[1] / s->pool_window[1]; ++h)
          PZ_UNROLL for (int32_t w = 0; w < z.m2 / s->pool_window[2]; ++w)
              __builtin_prefetch(pooled + d * to->stride_d + h * to->stride_h + w * to->stride_w, 1);
}

/* Results of one place of tiles that share vectors, to NCHW channels. */
PZ_INLINE void pz_winograd_store_nchw(const pz_winograd_shape *s, const pz_winograd_sharers *x,
                                      const int32_t place[3], pz_v y, float *out) {
  const pz_view *v = &s->conv.out;
  PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
    if (!pz_winograd_has(&x->tile[i], place)) continue;
    float *to = out + pz_winograd_place(v, &x->tile[i], 0, place[1], place[2]) + place[0] * v->stride_d;
    PZ_UNROLL for (int32_t k = 0; k < PZ_WINOGRAD_SHORT; ++k) if (k < v->c) to[k * v->stride_c] =
        y[i * PZ_WINOGRAD_SHORT + k];
  }
}

/* Results of one place of tiles that share vectors, in channel block `block`. place: (d, h, w) in a tile. */
PZ_INLINE void pz_winograd_store_short(const pz_winograd_shape *s, const pz_winograd_sharers *x,
                                       int32_t block, const int32_t place[3], const pz_conv_epilogue *e,
                                       pz_v y) {
  const pz_conv_direct_shape *c = &s->conv;
  const int32_t channel = block * PZ_S, few = PZ_WINOGRAD_SHORT;
  if (c->has_bias) y = y + pz_v_repeat(e->bias + channel, few);
  if (PZ_MAY(WINOGRAD, RESIDUAL) && c->residual.c) {
    const float *at[PZ_WINOGRAD_SHARING];
    PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
      const pz_winograd_tile *t = &x->tile[i];
      at[i] = pz_winograd_has(t, place)
                  ? e->residual + pz_winograd_place(&c->residual, t, block, place[1], place[2]) +
                        place[0] * c->residual.stride_d
                  : pz_winograd_nothing;
    }
    const pz_v from = pz_winograd_fours(&c->residual, block, at);
    y = c->has_residual_scale ? pz_v_fma(from, pz_v_repeat(e->residual_scale + channel, few), y) : y + from;
  }
  const pz_v slope = c->act == PZ_K_ACT_PRELU ? pz_v_repeat(e->slope + channel, few) : pz_v_zero();
  y = pz_activate(c->act, c->alpha, c->beta, slope, y);
  if (PZ_MAY(WINOGRAD, NCHW_OUT) && c->out.block == 1) {
    pz_winograd_store_nchw(s, x, place, y, e->out);
    return;
  }
  PZ_UNROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i) {
    if (pz_winograd_has(&x->tile[i], place)) {
      const pz_v four = pz_v_four(y, i),
                 mine = pz_k_act_zero_at_zero(c->act) ? four : pz_v_first(four, c->out.c - channel);
      float *to = e->out + pz_winograd_place(&c->out, &x->tile[i], block, place[1], place[2]) +
                  place[0] * c->out.stride_d;
      if (c->stream) pz_v_stream(to, mine);
      else pz_point_store(&c->out, block, to, mine);
    }
  }
}

/* A tile's results in one block of channels, whose lines have been fetched, as those of `next` will be; or, of the short block, those of tiles
 * that share its vectors. back: of pairs, what results are multiplied by. record: of moments that those of the results are added to; or NULL. */
PZ_INLINE void pz_winograd_output(const pz_winograd_shape *s, const pz_winograd_sizes z,
                                  const pz_winograd_tile *t, const pz_winograd_sharers *sharers, pz_v back,
                                  const float *from, int32_t block, const pz_conv_epilogue *e, float *record,
                                  pz_winograd_next next) {
  const int32_t rows = sharers ? z.m1 : t->outputs[1], across = sharers ? z.m2 : t->outputs[2];
  if (PZ_MAY(WINOGRAD, SHORT) && sharers)
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
    if (PZ_MAY(WINOGRAD, SHORT) && sharers) {
      PZ_UNROLL for (int32_t d = 0; d < z.m0; ++d) y[(d * z.m1 + h) * z.m2 + w] =
          z.inner_pairs ? v[d] * back : v[d];
      PZ_ROLL for (int32_t d = 0; d < z.m0; ++d) pz_winograd_store_short(
          s, sharers, block, (const int32_t[3]){d, h, w}, e, y[(d * z.m1 + h) * z.m2 + w]);
      continue;
    }
    const int64_t out = pz_winograd_place(&s->conv.out, t, block, h, w),
                  residual = pz_winograd_place(&s->conv.residual, t, block, h, w);
    if (next.tile) pz_winograd_fetch_next(s, z, next, h, w, e);
    PZ_UNROLL for (int32_t d = 0; d < z.m0; ++d) if (d < t->outputs[0]) {
      const int64_t to = out + d * s->conv.out.stride_d,
                    from_residual = residual + d * s->conv.residual.stride_d;
      v[d] = z.inner_pairs ? pz_conv_store_scaled(&s->conv, e, block, to, from_residual, back, v[d])
                           : pz_conv_store_sum(&s->conv, e, block, to, from_residual, v[d]);
      if (s->conv.stats_units)
        y[(d * z.m1 + h) * z.m2 + w] = v[d]; /* else gcc 12 stores it too: 17% of the stage */
    }
  }
  if (PZ_MAY(WINOGRAD, STATS) && record) pz_winograd_collect_stats(z, t, y, record);
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
    const pz_winograd_taken here = {b.taken, z.inner_pairs ? taken + pz_winograd_taken_at(s, i, 0) : NULL,
                                    z.inner_pairs && !pz_winograd_has_spare(s)};
    weights = pz_winograd_multiply_columns(s, z, here, &ahead, in, weights, fresh, slots);
  }
}

/* Of pairs: adds what a tile has of squares in a block of `channels` channels to those of the blocks before. The first block that is not all
 * zeros tells its factor (0: those in front of it). */
PZ_INLINE void pz_winograd_balance_with(const pz_winograd_shape *s, const pz_winograd_balance *p,
                                        int32_t tile, int32_t channels, float squares) {
  const float part = (float)s->conv.in.c / (float)channels;
  if (p->squares[tile] == 0)
    p->scale[tile] = squares == 0 ? 0 : pz_winograd_scale_of(pz_winograd_mean_of(s, squares) * part);
  p->squares[tile] += squares;
}

/* What the inputs of a tile in block b are multiplied by, or of those that share its vectors. p: of pairs; without squares, scales are
 * known. */
PZ_INLINE pz_v pz_winograd_scale_in(const pz_winograd_shape *s, const pz_winograd_balance *p, int32_t tile,
                                    int32_t b, int few, pz_v squares) {
  const int32_t left = s->conv.in.c - b * PZ_S;
  if (!PZ_MAY(WINOGRAD, INNER_PAIRS) || !s->inner_pairs) return pz_v_zero();
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
                                      pz_winograd_source in, float *to) {
  const int few = pz_winograd_short(s, s->conv.in.c) && b == pz_winograd_whole(s, s->conv.in.c);
  pz_v slices[PZ_WINOGRAD_MOST_A * PZ_WINOGRAD_PLANE], of_slices[PZ_WINOGRAD_MOST_A];
  pz_winograd_ring ring = {.slices = slices, .squares = of_slices};
  pz_winograd_sharers sharers;
  PZ_ROLL for (int32_t k = 0; k < count; k += few ? PZ_WINOGRAD_SHARING : 1, to += PZ_S) {
    const pz_winograd_tile t = pz_winograd_tile_at(s, first + k);
    if (PZ_MAY(WINOGRAD, SHORT) && few) sharers = pz_winograd_sharers_at(s, first + k, count - k);
    if (few || t.at[2] == 0) ring.kept = 0;
    const pz_v squares =
        pz_winograd_slices(s, z, &t, PZ_MAY(WINOGRAD, SHORT) && few ? &sharers : NULL, b, in, &ring);
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
                                       pz_winograd_source in, float *to) {
  pz_v squares[PZ_WINOGRAD_MOST_A];
  PZ_ROLL for (int32_t k = 0; k < count; ++k) {
    const pz_winograd_tile t = pz_winograd_tile_at(s, first + k);
    const int32_t kept = k == 0 || t.at[2] == 0 ? 0 : z.a2 - z.m2;
    PZ_ROLL for (int32_t w = 0; w < kept; ++w) squares[w] = squares[w + z.m2];
    PZ_ROLL for (int32_t w = kept; w < z.a2; ++w, to += PZ_S) squares[w] =
        pz_winograd_slice_of(s, z, &t, NULL, b, w, in, to, z.band);
    if (PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs) {
      pz_v sum = pz_v_zero();
      PZ_UNROLL for (int32_t w = 0; w < z.a2; ++w) sum = sum + squares[w];
      p.squares[k] += pz_v_sum(sum);
    }
  }
}

/* The same of the short block. */
PZ_INLINE void pz_winograd_load_shared(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t b,
                                       int64_t first, int32_t count, const pz_winograd_balance p,
                                       pz_winograd_source in, float *to) {
  PZ_ROLL for (int32_t k = 0; k < count; k += PZ_WINOGRAD_SHARING) {
    const pz_winograd_sharers sharers = pz_winograd_sharers_at(s, first + k, count - k);
    pz_v sum = pz_v_zero();
    PZ_ROLL for (int32_t w = 0; w < z.a2; ++w, to += PZ_S) sum =
        sum + pz_winograd_slice_of(s, z, &sharers.tile[0], &sharers, b, w, in, to, z.band);
    if (PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs)
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
      z.inner_pairs ? pz_v_load(from + w * PZ_S) * scale : pz_v_load_once(from + w * PZ_S);
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
  PZ_ROLL for (int32_t b = pz_rolled(0); b < whole; ++b) {
    const float *from = band + b * slices;
    float *at = to + b * s->product.in.stride_c;
    PZ_ROLL for (int32_t k = 0, left = tiles - (int32_t)(first % tiles); k < count;
                 left = tiles, from += (z.a2 - z.m2) * PZ_S) {
      const int32_t end = k + left < count ? k + left : count;
      PZ_ROLL for (; k < end; ++k, from += z.m2 * PZ_S, at += PZ_S)
          pz_winograd_width(z, constants, z.inner_pairs ? pz_v_broadcast(scale + k) : pz_v_zero(), from, at);
    }
  }
  if (!pz_winograd_short(s, s->conv.in.c)) return;
  const float *from = band + pz_winograd_band_short(s);
  float *at = to + whole * s->product.in.stride_c;
  PZ_ROLL for (int32_t k = 0; k < count; k += PZ_WINOGRAD_SHARING, from += z.a2 * PZ_S, at += PZ_S)
      pz_winograd_width(z, constants, z.inner_pairs ? pz_v_four_times(scale + k) : pz_v_zero(), from, at);
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
    if (PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs && !pz_winograd_has_spare(s))
      PZ_ROLL for (int32_t w = 0; w < z.a2; ++w) pz_winograd_take_inputs(
          s, s->product.out.w, positions + (w + 1) * z.slot, p.taken + w * pz_winograd_tiles_filled(s));
    PZ_ROLL for (int32_t w = 0; w < z.a2; ++w) {
      const pz_winograd_taken here = {p.taken + w * pz_winograd_tiles_filled(s),
                                      z.inner_pairs ? taken + pz_winograd_taken_at(s, i * z.a2 + w, 0) : NULL,
                                      0};
      weights = pz_winograd_multiply_columns(s, z, here, &ahead, positions + (w + 1) * z.slot, weights, NULL,
                                             positions + w * z.slot);
    }
    pz_winograd_band_back(s, z, count, positions, band);
  }
}

/* scratch: of the worker; taken: packed for pairs. */
PZ_INLINE void pz_winograd_load(const pz_winograd_shape *s, const pz_winograd_sizes z, int64_t first,
                                int32_t count, const float *taken, pz_winograd_source in, float *scratch) {
  const pz_winograd_balance p = pz_winograd_balance_at(s, scratch + pz_winograd_balance_place(s));
  float *slots = scratch + z.together * z.slot;
  if (PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs)
    PZ_ROLL for (int32_t k = 0; k < pz_winograd_tiles_filled(s); ++k) p.squares[k] = 0;
  if (PZ_MAY(WINOGRAD, SLICED) && z.sliced) {
    const int32_t whole = pz_winograd_whole(s, s->conv.in.c);
    PZ_ROLL for (int32_t b = pz_rolled(0); b < whole; ++b) pz_winograd_load_slices(
        s, z, b, first, count, p, in, scratch + (int64_t)b * pz_winograd_slices_of(s) * PZ_S);
    if (pz_winograd_short(s, s->conv.in.c))
      pz_winograd_load_shared(s, z, whole, first, count, p, in, scratch + pz_winograd_band_short(s));
    if (PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs) PZ_ROLL for (int32_t k = 0; k < count; ++k) {
        const float mean = pz_winograd_mean_of(s, p.squares[k]);
        p.scale[k] = pz_winograd_scale_of(mean), p.back[k] = pz_winograd_back_from(mean, p.scale[k], *taken);
      }
    return;
  }
  PZ_ROLL for (int32_t b = pz_rolled(0); b < pz_winograd_blocks(s->conv.in.c, PZ_S); ++b)
      pz_winograd_load_block(s, z, b, first, count, p, in, slots + b * s->product.in.stride_c);
  if (PZ_MAY(WINOGRAD, INNER_PAIRS) && z.inner_pairs)
    pz_winograd_check_scales(s, z, count, *taken, &p, slots);
}

/* What results of pairs are multiplied by in block b, from a tile's own: padding lanes have rounding errors in place of zeros. */
PZ_INLINE pz_v pz_winograd_back_of(const pz_winograd_shape *s, const float *back, int32_t b) {
  return pz_v_first(pz_v_broadcast(back), s->conv.out.c - b * PZ_S);
}

/* The windows of a tile's results, which are stored and still near. */
PZ_INLINE void pz_winograd_pool(const pz_winograd_shape *s, const pz_winograd_tile *t, int32_t block,
                                const float *out, float *pooled) {
  const pz_view *from = &s->conv.out, *to = &s->pooled;
  const int32_t *k = s->pool_window;
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

/* Block by block: what a tile streams along the width of all its rows and blocks are more lines at once than a core puts together, where
 * a vector is half of one (doc/notes/2026-11-30-winograd.md). */
PZ_INLINE int pz_winograd_by_blocks(const pz_winograd_shape *s) {
  return s->conv.stream && PZ_S < 16 && !pz_winograd_short(s, s->conv.out.c);
}

/* Of tile k of the batch in block b, or of those that share its vectors there; `next` comes behind it. */
PZ_INLINE void pz_winograd_store_tile(const pz_winograd_shape *s, const pz_winograd_sizes z, int32_t k,
                                      int32_t b, const pz_winograd_tile *t,
                                      const pz_winograd_sharers *sharers, pz_winograd_next next, float *from,
                                      const pz_conv_epilogue *e, float *pooled, float *record) {
  const float *back = pz_winograd_balance_at(s, from + pz_winograd_balance_place(s)).back;
  const pz_v factor = !z.inner_pairs ? pz_v_zero()
                      : sharers      ? pz_v_four_times(back + k)
                                     : pz_winograd_back_of(s, back + k, b);
  if (PZ_MAY(WINOGRAD, POOLED) && s->pooled.c && !sharers) pz_winograd_fetch_pooled(s, z, t, b, pooled);
  pz_winograd_output(s, z, t, sharers, factor, from + pz_winograd_sums_at(s, k, b), b, e,
                     s->conv.stats_units ? record + (int64_t)b * s->conv.stats_units * PZ_NORM_RECORD : NULL,
                     next);
  if (!PZ_MAY(WINOGRAD, POOLED) || !s->pooled.c) return;
  if (!sharers) pz_winograd_pool(s, t, b, e->out, pooled);
  else if (PZ_MAY(WINOGRAD, SHORT))
    PZ_ROLL for (int32_t i = 0; i < PZ_WINOGRAD_SHARING; ++i)
        pz_winograd_pool(s, &sharers->tile[i], b, e->out, pooled);
}

/* Results of tiles first .. first + count - 1. */
PZ_INLINE void pz_winograd_store(const pz_winograd_shape *s, const pz_winograd_sizes z, int64_t first,
                                 int32_t count, float *from, const pz_conv_epilogue *e, float *pooled,
                                 float *record) {
  const int32_t whole = pz_winograd_whole(s, s->conv.out.c), few = pz_winograd_short(s, s->conv.out.c) > 0;
  if (pz_winograd_by_blocks(s)) {
    PZ_ROLL for (int32_t b = pz_rolled(0); b < whole; ++b) PZ_ROLL for (int32_t k = 0; k < count; ++k) {
      const pz_winograd_tile t = pz_winograd_tile_at(s, first + k);
      pz_winograd_store_tile(s, z, k, b, &t, NULL, (pz_winograd_next){NULL, 0}, from, e, pooled, record);
    }
    return;
  }
  PZ_ROLL for (int32_t k = 0; k < count; ++k) {
    const pz_winograd_tile t = pz_winograd_tile_at(s, first + k),
                           after = pz_winograd_tile_at(s, first + k + 1);
    const int32_t shared = few && k % PZ_WINOGRAD_SHARING == 0;
    pz_winograd_sharers sharers;
    if (k == 0 && whole) pz_winograd_fetch_ends(s, z, &t, 0, e);
    if (PZ_MAY(WINOGRAD, SHORT) && shared) sharers = pz_winograd_sharers_at(s, first + k, count - k);
    PZ_ROLL for (int32_t b = pz_rolled(0); b < whole + shared; ++b) {
      const pz_winograd_next next = b + 1 < whole ? (pz_winograd_next){&t, b + 1}
                                                  : (pz_winograd_next){k + 1 < count ? &after : NULL, 0};
      pz_winograd_store_tile(s, z, k, b, &t, PZ_MAY(WINOGRAD, SHORT) && b == whole ? &sharers : NULL, next,
                             from, e, pooled, record);
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

/* Bands in a function of their own, of each shape, where blocks are short: in one with the other stages gcc 12 keeps their sums in memory (36
 * channels, F(6,4,4): 6800 in place of 4400 ns a tile). The shape is not handed to it, for then gcc would not see it as constants here. */
typedef void pz_winograd_bands(int64_t first, int32_t count, const float *weights, const float *taken,
                               pz_winograd_ahead ahead, float *scratch);

PZ_INLINE int pz_winograd_bands_apart(const pz_winograd_shape *s) {
  return s->sliced && (pz_winograd_short(s, s->conv.in.c) || pz_winograd_short(s, s->conv.out.c));
}

/* Of a shape that is a constant outside of functions: NAME_functions. */
#define PZ_WINOGRAD_FUNCTIONS(name)                                                                          \
  static __attribute__((noinline)) void name##_functions(int64_t first, int32_t count, const float *weights, \
                                                         const float *taken, pz_winograd_ahead ahead,        \
                                                         float *scratch) {                                   \
    const pz_winograd_shape s = name;                                                                        \
    if (PZ_MAY(WINOGRAD, SLICED) && pz_winograd_bands_apart(&s))                                             \
      pz_winograd_multiply_bands(&s, pz_winograd_sizes_of(&s), first, count, weights, taken, ahead,          \
                                 scratch);                                                                   \
  }

PZ_INLINE void pz_winograd(const pz_winograd_shape s, pz_winograd_bands *bands, const float *in,
                           const float *factors, const float *weights, const float *taken, const float *bias,
                           const float *residual, const float *residual_scale, const float *slope, float *out,
                           float *pooled, float *norm_stats, float *scratch, int32_t worker,
                           int32_t workers) {
  const pz_conv_epilogue epilogue = {bias, residual, residual_scale, slope, out, NULL};
  const pz_winograd_sizes z = pz_winograd_sizes_of(&s);
  int64_t begin, end;
  PZ_WINOGRAD_CHECK_WAYS(s);
  const int64_t batches = pz_winograd_all_tiles(&s) / pz_winograd_run(&s) * pz_winograd_batches(&s);
  pz_share(batches, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const pz_winograd_batch b = pz_winograd_batch_at(&s, i);
    pz_winograd_load(&s, z, b.first, b.count, taken, (pz_winograd_source){in, factors}, scratch);
    const pz_winograd_batch next = pz_winograd_batch_at(&s, i + 1 < end ? i + 1 : i);
    const pz_winograd_ahead ahead = {
        .in = in, .tile = next.first, .end = i + 1 < end ? next.first + next.count : next.first};
    if (!PZ_MAY(WINOGRAD, SLICED) || !z.sliced) pz_winograd_multiply(&s, z, weights, taken, ahead, scratch);
    else if (PZ_MAY(WINOGRAD, SLICED) && pz_winograd_bands_apart(&s))
      bands(b.first, b.count, weights, taken, ahead, scratch);
    else if (PZ_MAY(WINOGRAD, SLICED))
      pz_winograd_multiply_bands(&s, z, b.first, b.count, weights, taken, ahead, scratch);
    float *record = s.conv.stats_units ? pz_norm_begin_records(norm_stats, &s.conv.out, s.conv.stats_units,
                                                               i / s.conv.stats_units, i % s.conv.stats_units)
                                       : NULL;
    pz_winograd_store(&s, z, b.first, b.count, scratch, &epilogue, pooled, record);
  }
  if (s.conv.stream) pz_v_stream_end();
}

#endif
