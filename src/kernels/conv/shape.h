/* shape.h: what a direct convolution is, and what follows from it. Plain C: the compiler half includes it too.
 *
 *   out[k, o] = act(bias[k] + residual_scale[k] * residual[k, o] + sum over c, j of weight[k, c, j] * in[c, o*stride - pad + j*dilation])
 *
 * in: block S, or 1 (few input channels). Its storage has a zero border wherever a window reaches out of it: nothing is
 * checked. out: block S; stride_w may be a multiple of the block (one phase of a strided deconvolution). residual: sizes
 * of out; it may be the very storage of out. S is out.block.
 *
 * Outer blocks. `phases` p > 1 makes each block of out channels into p outer blocks, which lie beside each other along w:
 * out.stride_w = p*S, and outer block j writes channel block j/p at offset (j%p)*S. All phases read the same inputs, with
 * weights of their own: a deconvolution whose kernel along w is its stride writes its rows once. phases_h and phases_d of them
 * (0: one) may lie along h and d in the same way, j counting (d, h, w): a deconvolution whose kernel is its stride is then one
 * product. A group's blocks are whole rows, planes of phases, or parts of a row (pz_conv_phases_fit).
 *
 * Schedule. Outer blocks are cut into groups of kb or kb-1, rows into tiles of rw or rw-1 points (rw*kb/(kb-1) for the
 * smaller groups), so that no short rest is left; a tile's group x points accumulators are held in registers
 * ("sub-image primitive", PZnet 3.1). rh > 1: a tile spans rh rows; rh divides h. c_chunk input blocks are summed in one
 * pass over a strip of rows, so that their weights stay in level 1; the first pass starts from bias and residual, the last
 * one applies the activation; the strip's sums wait in out between passes. */
#ifndef PZ_KERNELS_CONV_SHAPE_H
#define PZ_KERNELS_CONV_SHAPE_H

#include "kernels/view.h"

/* stream: results go past the caches: there are more of them than level 3 holds; out is not channels-last.
 * stats_units: units of each block in `statistics`, this call's among them; 0: none are collected; then results
 *   should not stream. */
#define PZ_CONV_DIRECT_FIELDS(ONE, MANY)                                                                     \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(view, residual) /* residual.c = 0: none */                                                             \
  MANY(int, kernel, 3)                                                                                       \
  MANY(int, stride, 3)                                                                                       \
  MANY(int, dilation, 3)                                                                                     \
  MANY(int, pad, 3)                                                                                          \
  ONE(int, groups) /* out channels of a group see in channels of the same group alone */                     \
  ONE(int, phases)                                                                                           \
  ONE(int, phases_h)                                                                                         \
  ONE(int, phases_d)                                                                                         \
  ONE(int, act) /* pz_k_act; PReLU reads slope */                                                            \
  ONE(float, alpha)                                                                                          \
  ONE(float, beta)                                                                                           \
  ONE(int, has_bias)                                                                                         \
  ONE(int, has_residual_scale)                                                                               \
  ONE(int, stream)                                                                                           \
  ONE(int, stats_units)                                                                                      \
  ONE(int, kb) /* kb, rw, rh, c_chunk: conv_direct/schedule.h */                                             \
  ONE(int, rw)                                                                                               \
  ONE(int, rh)                                                                                               \
  ONE(int, c_chunk)                                                                                          \
  ONE(int, ahead) /* what is fetched into level 2 while a tile is summed: PZ_CONV_AHEAD_ROW .. NONE */
typedef struct pz_conv_direct_shape {
  PZ_CONV_DIRECT_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_conv_direct_shape;
#define PZ_FIELD_conv       pz_conv_direct_shape
#define PZ_FIELD_sized_conv pz_conv_direct_shape

enum {
  PZ_CONV_AHEAD_ROW, /* Base of the next row, all at once as a tile begins */
  PZ_CONV_AHEAD_PARTS, /* a part with each block of channels in, and inputs of the next strip too; one tap, stride 1 */
  PZ_CONV_AHEAD_NONE /* nothing: the core does so by itself */
};

/* A length cut into `count` parts, the first `large` of them of `size`, the others of size - 1. */
typedef struct pz_conv_split {
  int32_t size, count, large;
} pz_conv_split;

PZ_INLINE pz_conv_split pz_conv_split_of(int32_t length, int32_t size) {
  int32_t count = (length + size - 1) / size, most = (length + count - 1) / count;
  return (pz_conv_split){most, count, length - count * (most - 1)};
}
PZ_INLINE int32_t pz_conv_split_begin(pz_conv_split s, int32_t part) {
  return part * s.size - (part > s.large ? part - s.large : 0);
}
PZ_INLINE int32_t pz_conv_split_size(pz_conv_split s, int32_t part) { return s.size - (part >= s.large); }

PZ_INLINE int32_t pz_conv_phases_d(const pz_conv_direct_shape *s) { return s->phases_d ? s->phases_d : 1; }
PZ_INLINE int32_t pz_conv_phases_h(const pz_conv_direct_shape *s) { return s->phases_h ? s->phases_h : 1; }
PZ_INLINE int32_t pz_conv_phases_w(const pz_conv_direct_shape *s) {
  return s->phases / (pz_conv_phases_d(s) * pz_conv_phases_h(s));
}

PZ_INLINE int32_t pz_conv_taps(const pz_conv_direct_shape *s) {
  return s->kernel[0] * s->kernel[1] * s->kernel[2];
}
PZ_INLINE int32_t pz_conv_in_blocks(const pz_conv_direct_shape *s) {
  return (s->in.c + s->in.block - 1) / s->in.block;
}
PZ_INLINE int32_t pz_conv_outer_blocks(const pz_conv_direct_shape *s) {
  return (s->out.c + s->out.block - 1) / s->out.block * s->phases;
}
/* From a group's first outer block to its j-th, in a view of the out channels; also from block 0 to j. */
PZ_INLINE int64_t pz_conv_block_offset(const pz_conv_direct_shape *s, const pz_view *v, int32_t j) {
  if (s->phases == 1) return j * v->stride_c;
  const int32_t across = pz_conv_phases_w(s), down = pz_conv_phases_h(s), phase = j % s->phases;
  return j / s->phases * v->stride_c + phase % across * (v->stride_w / across) +
         phase / across % down * (v->stride_h / down) +
         phase / across / down * (v->stride_d / pz_conv_phases_d(s));
}

PZ_INLINE pz_conv_split pz_conv_outer_groups(const pz_conv_direct_shape *s) {
  return pz_conv_split_of(pz_conv_outer_blocks(s), s->kb);
}

/* Tiles of a row of a group of kb outer blocks: the smaller groups take wider tiles, with as many accumulators. */
PZ_INLINE pz_conv_split pz_conv_row_tiles(const pz_conv_direct_shape *s, int32_t kb) {
  return pz_conv_split_of(s->out.w, kb && kb < s->kb ? s->rw * s->kb / kb : s->rw);
}

/* Whether a tile of one outer block takes the taps along w in one step: their weights wait in registers, of which compilers want
 * one in 16 for themselves. */
PZ_INLINE int pz_conv_takes_rows(const pz_conv_direct_shape *s, int32_t kb, int32_t rw, int32_t registers) {
  return kb == 1 && s->rh == 1 && s->kernel[2] > 1 && rw + s->kernel[2] + 1 <= registers - registers / 16;
}

/* By lane, of an NCHW input whose points in a row lie side by side: vectors of points wait, S of them in each, the last one ending with the
 * last point that a tile of one row reads. Tiles of several rows, and of fewer points than a vector has, broadcast them. */
PZ_INLINE int32_t pz_conv_point_reach(const pz_conv_direct_shape *s, int32_t points) {
  return (points - 1) * s->stride[2] + 1;
}
PZ_INLINE int pz_conv_by_points(const pz_conv_direct_shape *s, int32_t points) {
  return s->in.block == 1 && s->in.stride_w == 1 && s->rh == 1 &&
         pz_conv_point_reach(s, points) >= s->out.block;
}

/* The input blocks that outer blocks first .. first+count-1 see. */
typedef struct pz_conv_range {
  int32_t begin, end;
} pz_conv_range;

PZ_INLINE pz_conv_range pz_conv_sees(const pz_conv_direct_shape *s, int32_t first, int32_t count) {
  if (s->groups == 1) return (pz_conv_range){0, pz_conv_in_blocks(s)};
  int32_t channels_in = s->in.c / s->groups, channels_out = s->out.c / s->groups, block = s->out.block;
  int32_t low = first / s->phases * block, high = ((first + count - 1) / s->phases + 1) * block;
  int32_t group_low = low / channels_out,
          group_high = ((high < s->out.c ? high : s->out.c) - 1) / channels_out;
  int32_t end = (group_high + 1) * channels_in;
  return (pz_conv_range){group_low * channels_in / s->in.block, (end + s->in.block - 1) / s->in.block};
}

/* Channels in the input blocks of the range; the lanes behind the last channel are skipped. */
PZ_INLINE int32_t pz_conv_channels_in(const pz_conv_direct_shape *s, int32_t begin, int32_t end) {
  int32_t stop = end * s->in.block;
  return (stop < s->in.c ? stop : s->in.c) - begin * s->in.block;
}

/* Floats of packed weights in front of outer group `group`; of all of them where group is their count. */
PZ_INLINE int64_t pz_conv_weights_before(const pz_conv_direct_shape *s, int32_t group) {
  pz_conv_split outer = pz_conv_outer_groups(s);
  int64_t lanes = (int64_t)s->out.block * pz_conv_taps(s), floats = 0;
  if (s->groups == 1) return pz_conv_split_begin(outer, group) * lanes * s->in.c;
  for (int32_t g = 0; g < group; ++g) {
    int32_t size = pz_conv_split_size(outer, g);
    pz_conv_range sees = pz_conv_sees(s, pz_conv_split_begin(outer, g), size);
    floats += size * lanes * pz_conv_channels_in(s, sees.begin, sees.end);
  }
  return floats;
}

/* A strip is about this many points: enough to hide that a chunk's weights come from level 2 or 3 once for each strip,
 * few enough that the strip's sums stay in level 2 between the passes. */
#ifndef PZ_CONV_STRIP_POINTS
#define PZ_CONV_STRIP_POINTS 512
#endif

/* Fewer rows than this, or than there are workers or chunks, are shared together with the outer groups, else alone: all workers then use the
 * same weights at about the same time, and each its own part of the input for all outer groups. */
#define PZ_CONV_MANY_ROWS 64

/* Of one sample, in units of rh. */
PZ_INLINE int64_t pz_conv_sample_rows(const pz_conv_direct_shape *s) {
  return (int64_t)s->out.d * (s->out.h / s->rh);
}
/* Rows of a strip, in units of rh. Where moments are collected, workers share strips. */
PZ_INLINE int32_t pz_conv_strip_rows(const pz_conv_direct_shape *s) {
  int32_t rows = PZ_CONV_STRIP_POINTS / (s->out.w * s->rh);
  const int64_t most = pz_conv_sample_rows(s) / PZ_CONV_MANY_ROWS;
  if (s->stats_units && rows > most) rows = (int32_t)most;
  return rows < 1 ? 1 : rows;
}
/* Of a sample. */
PZ_INLINE int64_t pz_conv_strips(const pz_conv_direct_shape *s) {
  return (pz_conv_sample_rows(s) + pz_conv_strip_rows(s) - 1) / pz_conv_strip_rows(s);
}
/* Units of moments that a convolution collects of each block of channels: a strip and phase. */
PZ_INLINE int32_t pz_conv_units(const pz_conv_direct_shape *s) {
  return (int32_t)pz_conv_strips(s) * s->phases;
}

/* Channels out that narrow.h takes, at most; floats of a row of their results, in whole vectors of columns. */
#define PZ_CONV_NARROW 4
PZ_INLINE int64_t pz_conv_narrow_row(const pz_conv_direct_shape *s) {
  const int32_t block = s->in.block;
  return (int64_t)(s->out.w + block - 1) / block * block * PZ_CONV_NARROW;
}

#endif
