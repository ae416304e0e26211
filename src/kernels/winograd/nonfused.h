/* nonfused.h: minimal filtering of a layer with few tiles. All tiles are one batch; workers share the transformed positions
 * (those along the axis transformed on use together) and outer groups, so that each reads its part of the weights alone, and there is
 * work for as many as there are of those.
 * Three calls, each after all of the one before: inputs, positions, outputs; of pairs, scales before them.
 *
 * Contract: that of winograd.h; product.out.w is the number of all tiles; no block is short. slots, products: pz_winograd_slots
 * floats each, scales: pz_winograd_scale_floats, of pairs, else NULL; shared by the workers, aligned to the vector. The bits do not
 * depend on the workers; those without pairs are those of pz_winograd without short blocks. */
#ifndef PZ_KERNELS_WINOGRAD_NONFUSED_H
#define PZ_KERNELS_WINOGRAD_NONFUSED_H

#include "kernels/winograd/winograd.h"

typedef pz_winograd_shape pz_winograd_scales_shape, pz_winograd_inputs_shape, pz_winograd_positions_shape,
    pz_winograd_outputs_shape;

/* The mean square of a tile's inputs; what is cut off counts as zeros. in: the channel block 0 of all. */
PZ_INLINE float pz_winograd_mean_square(const pz_winograd_shape *s, const pz_winograd_tile *t,
                                        const float *in) {
  pz_v sums[2] = {pz_v_zero(), pz_v_zero()};
  const pz_view *v = &s->conv.in;
  PZ_ROLL for (int32_t b = 0; b < pz_winograd_blocks(v->c, PZ_S); ++b) {
    const float *from = in + pz_winograd_origin(s, t, b);
    PZ_ROLL for (int32_t d = 0; d < t->inputs[0]; ++d) PZ_ROLL for (int32_t h = 0; h < t->inputs[1]; ++h) {
      const float *row = from + d * v->stride_d + h * v->stride_h;
      PZ_ROLL for (int32_t w = 0; w < t->inputs[2]; w += 2) {
        const pz_v x = pz_point_load(v, b, row + w * v->stride_w),
                   y = w + 1 < t->inputs[2] ? pz_point_load(v, b, row + (w + 1) * v->stride_w) : pz_v_zero();
        sums[0] = pz_v_fma(x, x, sums[0]), sums[1] = pz_v_fma(y, y, sums[1]);
      }
    }
  }
  return pz_winograd_mean_of(s, pz_v_sum(sums[0] + sums[1]));
}

/* Of pairs. Unit: a tile. scales: [tile] what inputs are multiplied by, then results. taken: packed for pairs. */
PZ_INLINE void pz_winograd_scales(const pz_winograd_scales_shape s, const float *in, const float *taken,
                                  float *scales, int32_t worker, int32_t workers) {
  int64_t begin, end;
  PZ_WINOGRAD_CHECK_WAYS(s);
  pz_share(pz_winograd_all_tiles(&s), worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const pz_winograd_tile t = pz_winograd_tile_at(&s, i);
    const float mean = pz_winograd_mean_square(&s, &t, in);
    scales[i] = pz_winograd_scale_of(mean);
    scales[pz_winograd_tiles_filled(&s) + i] = pz_winograd_back_from(mean, scales[i], *taken);
  }
}

/* Unit: a tile of a block of channels in. */
PZ_INLINE void pz_winograd_inputs(const pz_winograd_inputs_shape s, const float *in, const float *scales,
                                  float *slots, int32_t worker, int32_t workers) {
  const pz_winograd_sizes z = pz_winograd_sizes_of(&s);
  const int64_t tiles = pz_winograd_all_tiles(&s);
  int64_t begin, end;
  PZ_WINOGRAD_CHECK_WAYS(s);
  pz_share(tiles * pz_winograd_blocks(s.conv.in.c, PZ_S), worker, workers, &begin, &end);
  PZ_ROLL for (int64_t stop; begin < end; begin = stop) {
    const int64_t b = begin / tiles, first = begin % tiles;
    stop = (b + 1) * tiles < end ? (b + 1) * tiles : end;
    const pz_winograd_balance known = {.scale = (float *)(s.inner_pairs ? scales + first : scales)};
    pz_winograd_load_block(&s, z, (int32_t)b, first, (int32_t)(stop - begin), known,
                           (pz_winograd_source){in, NULL}, slots + b * s.product.in.stride_c + first * PZ_S);
  }
}

/* Unit: an outer group of the positions along the axis transformed on use. Columns that share packed weights follow each other, group by group, so that
 * these come once from level 3 or from memory. scratch: pz_winograd_position_floats of this worker's own. */
PZ_INLINE void pz_winograd_positions(const pz_winograd_positions_shape s, const float *slots,
                                     const float *weights, const float *taken, float *products,
                                     float *scratch, int32_t worker, int32_t workers) {
  const pz_conv_direct_shape *g = &s.product;
  const pz_winograd_sizes z = pz_winograd_sizes_of(&s);
  const pz_conv_split outer = pz_conv_outer_groups(g);
  const int64_t step = z.together * z.slot, block = pz_winograd_planes(&s) * pz_winograd_group(&s, 1);
  const int32_t columns = pz_winograd_on_use_columns(&s);
  int64_t begin, end;
  PZ_WINOGRAD_CHECK_WAYS(s);
  pz_share(pz_winograd_points(&s) / z.together * outer.count, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const int64_t shared = i / columns / outer.count;
    const int32_t row = (int32_t)(i % columns), group = (int32_t)(i / columns % outer.count),
                  first = pz_conv_split_begin(outer, group);
    const int64_t column = shared * columns + row;
    const float *in = slots + column * step,
                *w = weights + (shared * pz_winograd_blocks(g->out.c, PZ_S) + first) * block;
    float *out = products + column * step + first * g->out.stride_c,
          *inputs = scratch + pz_winograd_fresh(&s) + row * pz_winograd_taken_inputs(&s);
    const pz_winograd_taken t = {
        inputs, s.inner_pairs ? taken + pz_winograd_taken_at(&s, column, first) : NULL,
        s.inner_pairs && !pz_winograd_has_spare(&s) && (i - begin < columns || group == 0)};
    if (group < outer.large)
      pz_winograd_multiply_column(&s, z, outer.size, row, t, NULL, in, w, scratch, out);
    else if (PZ_MAY(WINOGRAD, FEWER_BLOCKS) && outer.large < outer.count)
      pz_winograd_multiply_column(&s, z, outer.size - 1, row, t, NULL, in, w, scratch, out);
  }
}

/* Results and their moments. Unit: PZ_WINOGRAD_UNIT tiles of a block of channels out of a sample, which is one of moments too. Of each block's
 * stats_units units these are the first from norm_stats on. */
PZ_INLINE void pz_winograd_outputs_with_stats(const pz_winograd_shape *s, const float *products,
                                              const float *scales, const pz_conv_epilogue *e,
                                              float *norm_stats, int32_t worker, int32_t workers) {
  const pz_winograd_sizes z = pz_winograd_sizes_of(s);
  const int32_t blocks = pz_winograd_blocks(s->conv.out.c, PZ_S);
  const int64_t run = pz_winograd_run(s), units = pz_winograd_units(s);
  int64_t begin, end;
  pz_share(s->conv.out.n * units * blocks, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const int32_t b = (int32_t)(i % blocks);
    const int64_t n = i / blocks / units, unit = i / blocks % units, last = (unit + 1) * PZ_WINOGRAD_UNIT,
                  stop = n * run + (last < run ? last : run);
    float *record = pz_norm_record_at(norm_stats, &s->conv.out, s->conv.stats_units, n, b, unit);
    pz_norm_clear(record);
    PZ_ROLL for (int64_t k = n * run + unit * PZ_WINOGRAD_UNIT; k < stop; ++k) {
      const pz_winograd_tile t = pz_winograd_tile_at(s, k);
      const pz_v back =
          s->inner_pairs ? pz_winograd_back_of(s, scales + pz_winograd_tiles_filled(s) + k, b) : pz_v_zero();
      pz_winograd_fetch_ends(s, z, &t, b, e);
      pz_winograd_output(s, z, &t, NULL, back, products + k * PZ_S + b * s->product.out.stride_c, b, e,
                         record, (pz_winograd_next){NULL, 0});
    }
  }
}

/* Unit: a tile of a block of channels out. norm_stats: records (norm/moments.h) over n, block, unit, if the shape says so; or NULL. */
PZ_INLINE void pz_winograd_outputs(const pz_winograd_outputs_shape s, const float *products,
                                   const float *scales, const float *bias, const float *residual,
                                   const float *residual_scale, const float *slope, float *out,
                                   float *norm_stats, int32_t worker, int32_t workers) {
  const pz_conv_epilogue epilogue = {bias, residual, residual_scale, slope, out, NULL};
  const pz_winograd_sizes z = pz_winograd_sizes_of(&s);
  const int32_t blocks = pz_winograd_blocks(s.conv.out.c, PZ_S);
  int64_t begin, end;
  PZ_WINOGRAD_CHECK_WAYS(s);
  if (PZ_MAY(WINOGRAD, STATS) && s.conv.stats_units) {
    pz_winograd_outputs_with_stats(&s, products, scales, &epilogue, norm_stats, worker, workers);
    return;
  }
  pz_share(pz_winograd_all_tiles(&s) * blocks, worker, workers, &begin, &end);
  PZ_ROLL for (int64_t i = begin; i < end; ++i) {
    const pz_winograd_tile t = pz_winograd_tile_at(&s, i / blocks),
                           after = pz_winograd_tile_at(&s, (i + 1) / blocks);
    const int32_t b = (int32_t)(i % blocks);
    const pz_winograd_next next = {i + 1 < end ? &after : NULL, b + 1 < blocks ? b + 1 : 0};
    if (i == begin) pz_winograd_fetch_ends(&s, z, &t, b, &epilogue);
    const pz_v back = s.inner_pairs
                          ? pz_winograd_back_of(&s, scales + pz_winograd_tiles_filled(&s) + i / blocks, b)
                          : pz_v_zero();
    pz_winograd_output(&s, z, &t, NULL, back, products + i / blocks * PZ_S + b * s.product.out.stride_c, b,
                       &epilogue, NULL, next);
  }
  if (s.conv.stream) pz_v_stream_end();
}

#endif
