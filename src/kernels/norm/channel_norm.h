/* channel_norm.h: out = act((x - mean) / sqrt(variance + eps) * gamma + beta), mean and biased variance of the channels of each
 * position: layer normalisation over channels (Ba, Kiros, Hinton 2016).
 *
 * Layouts: `in` and `out` NCHWc, same sizes, any strides; out may be in (same pointer and strides). gamma, beta (either may be
 * absent: has_gamma, has_beta), slope (PReLU alone): packed, a float for each lane of each block, aligned to the vector.
 * Padding lanes of `in` are not looked at; those of `out` become zero. Unit of work: PZ_CHANNEL_POINTS points of a row. The bits
 * do not depend on the workers.
 *
 * Error: the mean in float, then the sums of deviations from it and of their squares; the first, which would be zero without
 * rounding, corrects both ("corrected two-pass algorithm"; Chan, Golub, LeVeque 1983, eq. 1.7). A sum has a term for each block in
 * each lane, in one partial sum for at most 64 blocks: below 1e-6 of the deviation for any mean of up to 1e4 deviations. */
#ifndef PZ_KERNELS_NORM_CHANNEL_NORM_H
#define PZ_KERNELS_NORM_CHANNEL_NORM_H

#include "kernels/activation.h"
#include "kernels/rows.h"
#include "kernels/vec.h"

enum { PZ_CHANNEL_POINTS = 4 };

#define PZ_CHANNEL_NORM_FIELDS(ONE, MANY)                                                                    \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, has_gamma)                                                                                        \
  ONE(int, has_beta)                                                                                         \
  ONE(float, eps)                                                                                            \
  ONE(int, act) /* pz_k_act; PReLU reads slope */                                                            \
  ONE(float, act_alpha)                                                                                      \
  ONE(float, act_beta)
typedef struct pz_channel_norm_shape {
  PZ_CHANNEL_NORM_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_channel_norm_shape;

/* Points w .. w + count of a row; those behind them are the last one again. */
typedef struct pz_channel_tile {
  const float *in;
  float *out;
  int32_t count;
} pz_channel_tile;

PZ_INLINE pz_v pz_channel_load(const pz_channel_norm_shape *s, const pz_channel_tile *t, int32_t b,
                               int32_t point) {
  const int32_t at = point < t->count ? point : t->count - 1;
  return pz_v_load(t->in + b * s->in.stride_c + at * s->in.stride_w);
}

PZ_INLINE void pz_channel_means(const pz_channel_norm_shape *s, const pz_channel_tile *t, float *mean) {
  pz_v sum[PZ_CHANNEL_POINTS] = {{0}};
  for (int32_t b = 0; b < pz_blocks(&s->in); ++b)
    PZ_UNROLL for (int32_t i = 0; i < PZ_CHANNEL_POINTS; ++i) sum[i] +=
        pz_v_first(pz_channel_load(s, t, b, i), pz_block_channels(&s->in, b));
  PZ_UNROLL for (int32_t i = 0; i < PZ_CHANNEL_POINTS; ++i) mean[i] = pz_v_sum(sum[i]) / (float)s->in.c;
}

/* What is left of the mean, and 1/sqrt(variance + eps). */
PZ_INLINE void pz_channel_scales(const pz_channel_norm_shape *s, const pz_channel_tile *t, const float *mean,
                                 float *rest, float *scale) {
  pz_v sum[PZ_CHANNEL_POINTS] = {{0}}, squares[PZ_CHANNEL_POINTS] = {{0}};
  for (int32_t b = 0; b < pz_blocks(&s->in); ++b) PZ_UNROLL for (int32_t i = 0; i < PZ_CHANNEL_POINTS; ++i) {
      const pz_v x =
          pz_v_first(pz_channel_load(s, t, b, i) - pz_v_set1(mean[i]), pz_block_channels(&s->in, b));
      sum[i] += x;
      squares[i] = pz_v_fma(x, x, squares[i]);
    }
  PZ_UNROLL for (int32_t i = 0; i < PZ_CHANNEL_POINTS; ++i) {
    const double off = (double)pz_v_sum(sum[i]) / s->in.c,
                 variance = (double)pz_v_sum(squares[i]) / s->in.c - off * off;
    rest[i] = (float)off;
    scale[i] = (float)(1 / __builtin_sqrt((variance < 0 ? 0 : variance) + (double)s->eps));
  }
}

PZ_INLINE void pz_channel_tile_norm(const pz_channel_norm_shape *s, const pz_channel_tile *t,
                                    const float *gamma, const float *beta, const float *slope) {
  float mean[PZ_CHANNEL_POINTS], rest[PZ_CHANNEL_POINTS], scale[PZ_CHANNEL_POINTS];
  pz_channel_means(s, t, mean);
  pz_channel_scales(s, t, mean, rest, scale);
  for (int32_t b = 0; b < pz_blocks(&s->in); ++b) {
    const pz_v factor = s->has_gamma ? pz_v_load(gamma + b * PZ_S) : pz_v_set1(1),
               term = s->has_beta ? pz_v_load(beta + b * PZ_S) : pz_v_zero(),
               slopes = s->act == PZ_K_ACT_PRELU ? pz_v_load(slope + b * PZ_S) : pz_v_zero();
    for (int32_t i = 0; i < t->count; ++i) {
      const pz_v x = pz_channel_load(s, t, b, i) - pz_v_set1(mean[i]) - pz_v_set1(rest[i]);
      const pz_v y = pz_v_fma(x, pz_v_set1(scale[i]) * factor, term);
      pz_v_store(t->out + b * s->out.stride_c + i * s->out.stride_w,
                 pz_v_first(pz_activate(s->act, s->act_alpha, s->act_beta, slopes, y),
                            pz_block_channels(&s->out, b)));
    }
  }
}

PZ_INLINE void pz_channel_norm(const pz_channel_norm_shape s, const float *in, const float *gamma,
                               const float *beta, const float *slope, float *out, int32_t worker,
                               int32_t workers) {
  const int32_t tiles = (s.in.w + PZ_CHANNEL_POINTS - 1) / PZ_CHANNEL_POINTS;
  int64_t begin, end;
  pz_share((int64_t)s.in.n * s.in.d * s.in.h * tiles, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t plane = i / tiles / s.in.h;
    const pz_row row = {(int32_t)(plane / s.in.d), 0, (int32_t)(plane % s.in.d),
                        (int32_t)(i / tiles % s.in.h)};
    const int32_t w = (int32_t)(i % tiles) * PZ_CHANNEL_POINTS,
                  count = s.in.w - w < PZ_CHANNEL_POINTS ? s.in.w - w : PZ_CHANNEL_POINTS;
    const pz_channel_tile tile = {in + pz_row_offset(&s.in, row) + w * s.in.stride_w,
                                  out + pz_row_offset(&s.out, row) + w * s.out.stride_w, count};
    pz_channel_tile_norm(&s, &tile, gamma, beta, slope);
  }
}

#endif
