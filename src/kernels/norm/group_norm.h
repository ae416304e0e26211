/* group_norm.h: out = act((x - mean) / sqrt(variance + eps) * gamma + beta), mean and biased variance of each sample's groups
 * of in.c/groups channels over all positions (Wu, He 2018); groups = c: instance normalisation, 1: layer normalisation.
 *
 * pz_norm_stats_of_units, a barrier, pz_group_norm: for large groups. The first writes the moments of units (some rows of a
 * block, fixed by the view) into `statistics`, the second has each worker join those that its rows need, and normalises.
 * A convolution that makes `in` may collect the statistics instead, in units of its own (conv_direct/direct.h, winograd/winograd.h).
 * pz_group_norm_whole: one call; a worker does all of a span, the fewest blocks that hold whole groups, so that span should
 * fit level 2. It applies where pz_norm_span is not 0.
 *
 * Layouts: `in` and `out` NCHWc, same sizes, any strides; out may be in (same pointer and strides). gamma, beta (either may be
 * absent: has_gamma, has_beta), slope (PReLU alone): packed, a float for each lane of each block, aligned to the vector.
 * statistics: pz_norm_floats(&in, units) floats, aligned to the vector; pz_norm_stats_of_units has pz_norm_units(&in) units. Padding lanes of `in` are not looked at; those of `out` become
 * zero. Units of work: a unit and a row; a span. The bits do not depend on the workers.
 *
 * Error: moments.h. x - mean is taken first, from the float nearest to the mean, where it is exact if the two are near; so
 * results are good to 1e-6 of the deviation even where the mean is 1e5 deviations. */
#ifndef PZ_KERNELS_NORM_GROUP_NORM_H
#define PZ_KERNELS_NORM_GROUP_NORM_H

#include "kernels/activation.h"
#include "kernels/norm/moments.h"
#include "kernels/norm/shape.h"

/* ---- statistics of units ---- */

PZ_INLINE void pz_norm_stats_of_units(const pz_norm_stats_of_units_shape s, const float *in,
                                      float *norm_stats, int32_t worker, int32_t workers) {
  const int64_t units = pz_norm_units(&s.in), rows = pz_norm_unit_rows(&s.in),
                all = pz_norm_block_rows(&s.in);
  int64_t begin, end;
  pz_share((int64_t)s.in.n * pz_blocks(&s.in) * units, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t block = i / units, first = i % units * rows;
    const float *from =
        in + block / pz_blocks(&s.in) * s.in.stride_n + block % pz_blocks(&s.in) * s.in.stride_c;
    const pz_norm_lanes lanes = pz_norm_region(&s.in, from, first, first + rows < all ? first + rows : all);
    pz_norm_store(norm_stats + i * PZ_NORM_RECORD, &lanes);
  }
}

/* All units of a block, counted over n, block. */
PZ_INLINE pz_norm_lanes pz_norm_of_block(const float *norm_stats, int64_t units, int64_t block) {
  const float *record = norm_stats + block * units * PZ_NORM_RECORD;
  pz_norm_lanes lanes = pz_norm_load(record);
  for (int64_t i = 1; i < units; ++i) {
    const pz_norm_lanes unit = pz_norm_load(record + i * PZ_NORM_RECORD);
    pz_norm_join_lanes(&lanes, &unit);
  }
  return lanes;
}

/* ---- from moments to factors ---- */

/* The groups first .. last of sample n: their moments; the float nearest to the mean, what is left of it, and
 * 1/sqrt(variance + eps). */
typedef struct pz_norm_groups {
  int32_t n, first, last;
  pz_norm_moments group[PZ_S];
  float center[PZ_S], rest[PZ_S], scale[PZ_S];
} pz_norm_groups;

PZ_INLINE void pz_norm_finish(pz_norm_groups *g, float eps) {
  for (int32_t i = 0; i <= g->last - g->first; ++i) {
    const pz_norm_moments *m = &g->group[i];
    const double variance = m->squares / m->count;
    g->center[i] = (float)m->mean, g->rest[i] = (float)((double)g->center[i] - m->mean);
    g->scale[i] = (float)(1 / __builtin_sqrt((variance < 0 ? 0 : variance) + (double)eps));
  }
}

/* Adds the lanes of a block whose first channel is `channel` to their groups of `channels` channels: those of channels begin .. end. */
PZ_INLINE void pz_norm_add_lanes(pz_norm_groups *g, const pz_norm_lanes *lanes, int32_t channel,
                                 int32_t begin, int32_t end, int32_t channels) {
  for (int32_t from = begin > channel ? begin : channel, to; from < end && from < channel + PZ_S; from = to) {
    const int32_t group = from / channels - g->first, stop = (from / channels + 1) * channels;
    to = stop < channel + PZ_S ? stop : channel + PZ_S;
    const pz_norm_moments part = pz_norm_of_lanes(lanes, from - channel, to - channel);
    if (g->group[group].count > 0) pz_norm_join(&g->group[group], &part);
    else g->group[group] = part;
  }
}

PZ_INLINE void pz_norm_groups_of_block(const pz_group_norm_shape *s, const float *norm_stats, int32_t n,
                                       int32_t b, pz_norm_groups *g) {
  const int32_t channels = s->in.c / s->groups, end = b * PZ_S + PZ_S < s->in.c ? b * PZ_S + PZ_S : s->in.c;
  const int32_t first = b * PZ_S / channels, last = (end - 1) / channels;
  if (g->n == n && g->first == first && g->last == last) return;
  g->n = n, g->first = first, g->last = last;
  for (int32_t i = 0; i <= last - first; ++i) g->group[i].count = 0;
  for (int32_t k = first * channels / PZ_S; k * PZ_S < (last + 1) * channels; ++k) {
    const pz_norm_lanes lanes = pz_norm_of_block(norm_stats, s->units, (int64_t)n * pz_blocks(&s->in) + k);
    pz_norm_add_lanes(g, &lanes, k * PZ_S, first * channels, (last + 1) * channels, channels);
  }
  pz_norm_finish(g, s->eps);
}

/* act((x - center)*factor + term) */
typedef struct pz_norm_factors {
  pz_v center, factor, term, slope;
} pz_norm_factors;

/* values[i] of the group of each of block b's lanes. */
PZ_INLINE pz_v pz_norm_spread(const pz_group_norm_shape *s, const pz_norm_groups *g, int32_t b,
                              const float values[PZ_S]) {
  const int32_t channels = s->in.c / s->groups, lanes = pz_block_channels(&s->in, b);
  if (channels == 1) return pz_v_loadu(values);
  if (g->first == g->last) return pz_v_set1(values[0]);
  pz_v x = pz_v_zero();
  for (int32_t i = 0; i < lanes; ++i) x[i] = values[(b * PZ_S + i) / channels - g->first];
  return x;
}

PZ_INLINE pz_norm_factors pz_norm_factors_of(const pz_group_norm_shape *s, const pz_norm_groups *g, int32_t b,
                                             const float *gamma, const float *beta, const float *slope) {
  pz_norm_factors f = {.center = pz_norm_spread(s, g, b, g->center),
                       .factor = pz_norm_spread(s, g, b, g->scale),
                       .term = pz_norm_spread(s, g, b, g->rest)};
  if (s->has_gamma) f.factor *= pz_v_load(gamma + b * PZ_S);
  f.term *= f.factor;
  if (s->has_beta) f.term += pz_v_load(beta + b * PZ_S);
  f.slope = s->act == PZ_K_ACT_PRELU ? pz_v_load(slope + b * PZ_S) : pz_v_zero();
  return f;
}

PZ_INLINE void pz_norm_row(const pz_group_norm_shape *s, const pz_norm_factors *f, const float *in,
                           float *out, int32_t channels) {
  for (int32_t w = 0; w < s->out.w; ++w) {
    pz_v x = pz_v_load(in + w * s->in.stride_w) - f->center;
    x = pz_activate(s->act, s->act_alpha, s->act_beta, f->slope, pz_v_fma(x, f->factor, f->term));
    pz_v_store(out + w * s->out.stride_w, pz_v_first(x, channels));
  }
}

PZ_INLINE void pz_group_norm(const pz_group_norm_shape s, const float *in, const float *norm_stats,
                             const float *gamma, const float *beta, const float *slope, float *out,
                             int32_t worker, int32_t workers) {
  pz_norm_groups groups = {.n = -1};
  pz_norm_factors factors = {pz_v_zero(), pz_v_zero(), pz_v_zero(), pz_v_zero()};
  int32_t n = -1, b = -1;
  PZ_EACH_ROW(&s.out, row, worker, workers) {
    if (row.n != n || row.b != b) {
      n = row.n, b = row.b;
      pz_norm_groups_of_block(&s, norm_stats, n, b, &groups);
      factors = pz_norm_factors_of(&s, &groups, b, gamma, beta, slope);
    }
    pz_norm_row(&s, &factors, in + pz_row_offset(&s.in, row), out + pz_row_offset(&s.out, row),
                pz_block_channels(&s.out, row.b));
  }
}

/* In place of results what they come from, for a reader that normalises what it reads: act((x - center) * factor + term). factors: pz_norm_factor_floats
 * over n, block, aligned to the vector; those of padding lanes are zero. Unit of work: a block of a sample. */
PZ_INLINE void pz_group_norm_factors(const pz_group_norm_factors_shape s, const float *norm_stats,
                                     const float *gamma, const float *beta, float *factors, int32_t worker,
                                     int32_t workers) {
  pz_norm_groups groups = {.n = -1};
  int64_t begin, end;
  pz_share((int64_t)s.in.n * pz_blocks(&s.in), worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    const int32_t n = (int32_t)(i / pz_blocks(&s.in)), b = (int32_t)(i % pz_blocks(&s.in)),
                  channels = pz_block_channels(&s.in, b);
    pz_norm_groups_of_block(&s, norm_stats, n, b, &groups);
    const pz_norm_factors f = pz_norm_factors_of(&s, &groups, b, gamma, beta, NULL);
    float *to = factors + i * PZ_NORM_VECTORS * PZ_S;
    pz_v_store(to + PZ_NORM_CENTER * PZ_S, pz_v_first(f.center, channels));
    pz_v_store(to + PZ_NORM_FACTOR * PZ_S, pz_v_first(f.factor, channels));
    pz_v_store(to + PZ_NORM_TERM * PZ_S, pz_v_first(f.term, channels));
  }
}

/* ---- spans ---- */

/* The groups of the span that begins with block b: its whole blocks are one region; a last block with padding lanes has fewer
 * channels. */
PZ_INLINE pz_norm_groups pz_norm_groups_of_span(const pz_group_norm_shape *s, const float *in, int32_t b) {
  const int32_t channels = s->in.c / s->groups, span = pz_norm_span(&s->in, s->groups);
  const int32_t rest = s->in.c % PZ_S,
                whole = span > 1 && b + span == pz_blocks(&s->in) && rest ? span - 1 : span;
  const int32_t lanes = span > 1 ? PZ_S : pz_block_channels(&s->in, b), begin = b * PZ_S;
  const int64_t rows = pz_norm_block_rows(&s->in);
  pz_norm_groups g = {.first = begin / channels, .last = (begin + lanes - 1) / channels};
  const pz_norm_lanes first = pz_norm_region(&s->in, in, 0, whole * rows);
  pz_norm_add_lanes(&g, &first, begin, begin, begin + lanes, channels);
  if (whole < span) {
    const pz_norm_lanes last = pz_norm_region(&s->in, in, whole * rows, span * rows);
    const pz_norm_moments part = pz_norm_of_lanes(&last, 0, rest);
    pz_norm_join(&g.group[0], &part);
  }
  pz_norm_finish(&g, s->eps);
  return g;
}

PZ_INLINE void pz_group_norm_whole(const pz_group_norm_whole_shape s, const float *in, const float *gamma,
                                   const float *beta, const float *slope, float *out, int32_t worker,
                                   int32_t workers) {
  const int32_t span = pz_norm_span(&s.in, s.groups), blocks = pz_blocks(&s.in), spans = blocks / span;
  int64_t begin, end;
  pz_share((int64_t)s.in.n * spans, worker, workers, &begin, &end);
  for (int64_t i = begin; i < end; ++i) {
    pz_row row = {.n = (int32_t)(i / spans), .b = (int32_t)(i % spans) * span};
    const int32_t stop = row.b + span;
    const pz_norm_groups groups = pz_norm_groups_of_span(&s, in + pz_row_offset(&s.in, row), row.b);
    for (; row.b < stop; ++row.b) {
      const pz_norm_factors factors = pz_norm_factors_of(&s, &groups, row.b, gamma, beta, slope);
      for (row.d = 0; row.d < s.in.d; ++row.d)
        for (row.h = 0; row.h < s.in.h; ++row.h)
          pz_norm_row(&s, &factors, in + pz_row_offset(&s.in, row), out + pz_row_offset(&s.out, row),
                      pz_block_channels(&s.out, row.b));
    }
  }
}

#endif
