/* pack.h: transformed weights, and the product's shape. Plain C, run by the compiler half.
 * Packed: [transformed position of the other axes][outer group][plane along the axis transformed on use][channel in][lane], or, of two axes transformed on use,
 * [position][outer group][channel in][block][plane][lane]; the first plane as
 * the first position needs it, with that row's factor of G, the last as the last one does. The short block is the last group. */
#ifndef PZ_KERNELS_WINOGRAD_PACK_H
#define PZ_KERNELS_WINOGRAD_PACK_H

#include "kernels/conv_direct/pack.h"
#include "kernels/conv_direct/schedule.h"
#include "kernels/winograd/points.h"
#include "kernels/winograd/shape.h"

#include <math.h>

/* Registers that products with far weights use at most: with few accumulators a batch is multiplied some tiles at a time, and a
 * position's weights have a while to arrive (doc/notes/2026-11-28-winograd.md). */
#define PZ_WINOGRAD_REGISTERS 20
/* Fewer, down to these, where the batch is then multiplied in equal parts. */
#define PZ_WINOGRAD_LEAST_REGISTERS 16
/* With multiply-adds by lane inputs wait in registers too: those of a tile of as many accumulators. */
#define PZ_WINOGRAD_LANE_REGISTERS 8

/* Floats of one plane of all outer groups at a position. */
static inline int64_t pz_winograd_plane_floats(const pz_winograd_shape *s) {
  const int64_t whole = s->product.out.c ? pz_conv_direct_weight_floats(&s->product) : 0;
  return whole + (pz_winograd_short(s, s->conv.out.c) ? pz_winograd_group(s, 0) : 0);
}

static inline int64_t pz_winograd_weight_floats(const pz_winograd_shape *s) {
  return pz_winograd_points(s) / pz_winograd_together(s) / pz_winograd_on_use_columns(s) *
         pz_winograd_planes(s) * pz_winograd_plane_floats(s);
}

/* Bytes of weights that a batch leaves in level 2 beside its slots, whatever its size. */
#define PZ_WINOGRAD_NEAR_WEIGHTS (256 << 10)

/* Whether level 2 does not hold weights from batch to batch. A single batch uses each of them once. */
static inline int32_t pz_winograd_far(const pz_winograd_shape *s, const pz_conv_machine *m) {
  const int64_t weights = 4 * pz_winograd_weight_floats(s), batch = 4 * pz_winograd_scratch(s);
  const bool once = s->product.out.w >= pz_winograd_all_tiles(s);
  return weights > PZ_WINOGRAD_NEAR_WEIGHTS && (once || weights + batch > m->l2);
}

/* Whether the next tile's inputs are best fetched into level 1: it has room for the slices that a tile keeps, and for the rows of two tiles, and what
 * is stored meanwhile does not wait for level 3 (doc/notes/2026-11-28-winograd.md). */
static inline int32_t pz_winograd_near(const pz_winograd_shape *s, const pz_conv_machine *m) {
  const int64_t slice = (int64_t)4 * pz_winograd_a(s, 0) * pz_winograd_a(s, 1) * s->conv.in.block;
  const int32_t kept = s->sliced ? 0 : pz_winograd_a(s, 2);
  return 4 * pz_winograd_slots(s) <= m->l2 && 6 * slice * (kept + 2 * s->m[2]) <= 5 * m->l1;
}

/* With few accumulators. */
static inline void pz_winograd_schedule_far(pz_winograd_shape *s, const pz_conv_machine *m) {
  pz_conv_machine few = *m;
  const int32_t more = m->lanes ? PZ_WINOGRAD_LANE_REGISTERS : 0;
  if (few.registers > PZ_WINOGRAD_REGISTERS + more) few.registers = PZ_WINOGRAD_REGISTERS + more;
  pz_conv_direct_schedule(&s->product, &few);
  pz_conv_direct_shape equal = s->product;
  for (;; --few.registers, pz_conv_direct_schedule(&equal, &few)) {
    const pz_conv_split tiles = pz_conv_row_tiles(&equal, equal.kb);
    if (tiles.large == tiles.count) s->product = equal;
    if (tiles.large == tiles.count || few.registers <= PZ_WINOGRAD_LEAST_REGISTERS + more) return;
  }
}

static inline void pz_winograd_schedule_inner_pairs(pz_winograd_shape *s, const pz_conv_machine *m) {
  pz_conv_direct_shape *g = &s->product;
  const int32_t blocks = pz_winograd_blocks(g->out.c, g->out.block),
                kb = blocks < PZ_WINOGRAD_MOST_KB ? blocks : PZ_WINOGRAD_MOST_KB,
                tiles = pz_winograd_tiles_of_inner_pairs(m->registers, kb, s->held);
  g->kb = pz_conv_split_of(blocks, kb).size;
  g->rw = pz_conv_split_of(g->out.w, tiles).size;
}

/* Fills `product`, `far` and `near` for batches of `tiles` tiles; the rest is set. */
static inline void pz_winograd_schedule(pz_winograd_shape *s, const pz_conv_machine *machine, int32_t tiles) {
  pz_conv_machine alone = *machine; /* a worker has a product of its own */
  const pz_conv_machine *m = &alone;
  alone.workers = 1;
  const int32_t block = s->conv.in.block;
  const pz_view row = {.n = 1,
                       .d = 1,
                       .h = 1,
                       .w = tiles,
                       .block = block,
                       .stride_w = block,
                       .stride_h = tiles * block,
                       .stride_d = tiles * block,
                       .stride_c = tiles * block};
  s->product =
      (pz_conv_direct_shape){.in = row, .out = row, .groups = 1, .phases = 1, .phases_h = 1, .phases_d = 1};
  s->product.in.c = s->conv.in.c;
  s->product.out.c = s->conv.out.c - pz_winograd_short(s, s->conv.out.c);
  for (int i = 0; i < 3; ++i) s->product.kernel[i] = s->product.stride[i] = s->product.dilation[i] = 1;
  if (s->product.out.c) pz_conv_direct_schedule(&s->product, m);
  s->far = pz_winograd_far(s, m);
  s->near = pz_winograd_near(s, m);
  if (!s->product.out.c) return;
  if (s->inner_pairs) pz_winograd_schedule_inner_pairs(s, m);
  else if (s->far) pz_winograd_schedule_far(s, m);
}

/* G of each axis, [a, r]; and what all weights are multiplied by, 1 but for pairs. */
typedef struct pz_winograd_factors {
  double g[3][PZ_WINOGRAD_MOST_A][PZ_WINOGRAD_MOST_R], all;
} pz_winograd_factors;

/* How much larger B^T makes random inputs than G makes random weights, along an axis: the mean logarithm, of residual 2. */
static inline double pz_winograd_growth(const pz_winograd_shape *s, int32_t axis) {
  const int32_t m = s->m[axis], r = s->conv.kernel[axis], a = pz_winograd_a(s, axis);
  double sum = 0;
  for (int32_t i = 0; i < a; ++i) {
    pz_rational b[PZ_WINOGRAD_MOST_A], g[PZ_WINOGRAD_MOST_R];
    double in = 0, weights = 0;
    pz_winograd_input_row(m, r, i, b);
    pz_winograd_weight_row(m, r, i, g);
    for (int32_t k = 0; k < a; ++k) in += pz_rational_value(b[k]) * pz_rational_value(b[k]);
    for (int32_t k = 0; k < r; ++k) weights += pz_rational_value(g[k]) * pz_rational_value(g[k]);
    sum += log2(in / weights) / 2;
  }
  return sum / a;
}

/* The power of two that makes n weights as large as inputs of 1 to 2, where transforms make inputs 2^growth times larger than they
 * make weights. */
static inline double pz_winograd_balancing(const float *weights, int64_t n, double growth) {
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += (double)weights[i] * (double)weights[i];
  if (squares == 0) return 1;
  return exp2(round(fmin(fmax(0.5 + growth - log2(squares / (double)n) / 2, -60), 60)));
}

static inline double pz_winograd_balancing_of(const pz_winograd_shape *s, const float *weights) {
  double growth = 0;
  for (int32_t axis = 0; axis < 3; ++axis) growth += pz_winograd_growth(s, axis);
  return pz_winograd_balancing(weights, (int64_t)s->conv.in.c * s->conv.out.c * pz_conv_taps(&s->conv),
                               growth);
}

static inline pz_winograd_factors pz_winograd_factors_of(const pz_winograd_shape *s, const float *weights) {
  pz_winograd_factors f = {.all = s->inner_pairs ? pz_winograd_balancing_of(s, weights) : 1};
  for (int32_t axis = 0; axis < 3; ++axis)
    for (int32_t i = 0; i < pz_winograd_a(s, axis); ++i) {
      pz_rational row[PZ_WINOGRAD_MOST_R];
      pz_winograd_weight_row(s->m[axis], s->conv.kernel[axis], i, row);
      for (int32_t k = 0; k < s->conv.kernel[axis]; ++k) f.g[axis][i][k] = pz_rational_value(row[k]);
    }
  return f;
}

/* G applied along one axis: from [before, r, after] to [before, a, after]. */
static inline void pz_winograd_apply(const double g[PZ_WINOGRAD_MOST_A][PZ_WINOGRAD_MOST_R], int32_t r,
                                     int32_t a, int32_t before, int32_t after, const double *from,
                                     double *to) {
  for (int32_t x = 0; x < before; ++x)
    for (int32_t i = 0; i < a; ++i)
      for (int32_t y = 0; y < after; ++y) {
        double sum = 0;
        for (int32_t k = 0; k < r; ++k) sum += g[i][k] * from[(x * r + k) * after + y];
        to[(x * a + i) * after + y] = sum;
      }
}

/* G of an axis that is transformed on use, but for the factor of its first row, waits for the kernel: a unit matrix here. */
static inline void pz_winograd_leave_for_use(int32_t axis, pz_winograd_factors *f) {
  if (axis < 0) return;
  const double first = f->g[axis][0][0];
  for (int32_t i = 0; i < PZ_WINOGRAD_MOST_R; ++i)
    for (int32_t k = 0; k < PZ_WINOGRAD_MOST_R; ++k) f->g[axis][i][k] = i == k ? (i ? 1 : first) : 0;
}

/* The weights of one pair of channels, [kd, kh, kw], at all positions, `a` along each axis. */
static inline void pz_winograd_weights(const pz_winograd_shape *s, const pz_winograd_factors *f,
                                       const int32_t a[3], const float *w, double *to) {
  enum { R = PZ_WINOGRAD_MOST_R, A = PZ_WINOGRAD_MOST_A };
  const int32_t *r = s->conv.kernel;
  double taps[R * R * R], rows[R * R * A], planes[R * A * A];
  for (int32_t i = 0; i < pz_conv_taps(&s->conv); ++i) taps[i] = f->all * (double)w[i];
  pz_winograd_apply(f->g[2], r[2], a[2], r[0] * r[1], 1, taps, rows);
  pz_winograd_apply(f->g[1], r[1], a[1], r[0], a[2], rows, planes);
  pz_winograd_apply(f->g[0], r[0], a[0], 1, a[1] * a[2], planes, to);
}

/* Outer groups, the short block among them. */
static inline int32_t pz_winograd_groups(const pz_winograd_shape *s) {
  const int32_t whole = s->product.out.c ? pz_conv_outer_groups(&s->product).count : 0;
  return whole + (pz_winograd_short(s, s->conv.out.c) > 0);
}

/* The channels out of an outer group, and its weights in a plane. */
typedef struct pz_winograd_channels_out {
  int32_t kb, first, lanes; /* kb = 0: the short block */
  int64_t before;           /* floats of the groups in front of it */
} pz_winograd_channels_out;

static inline pz_winograd_channels_out pz_winograd_channels_of(const pz_winograd_shape *s, int32_t group) {
  const pz_conv_direct_shape *g = &s->product;
  if (group + 1 == pz_winograd_groups(s) && pz_winograd_short(s, s->conv.out.c))
    return (pz_winograd_channels_out){.first = g->out.c,
                                      .lanes = PZ_WINOGRAD_SHORT,
                                      .before = pz_winograd_plane_floats(s) - pz_winograd_group(s, 0)};
  const pz_conv_split outer = pz_conv_outer_groups(g);
  const int32_t kb = pz_conv_split_size(outer, group), block = g->out.block;
  return (pz_winograd_channels_out){.kb = kb,
                                    .first = pz_conv_split_begin(outer, group) * block,
                                    .lanes = kb * block,
                                    .before = pz_conv_weights_before(g, group)};
}

/* Where the weight of channel in c and the group's channel out k lies in a plane. */
static inline int64_t pz_winograd_weight_at(const pz_winograd_shape *s, const pz_winograd_channels_out *g,
                                            int32_t c, int32_t k) {
  const int32_t quarter = pz_winograd_sharing(s);
  return g->kb ? (int64_t)c * g->lanes + k
               : (int64_t)(c / quarter * PZ_WINOGRAD_SHORT + k) * quarter + c % quarter;
}

/* weights: [K, C, kd, kh, kw]; packed: pz_winograd_weight_floats(s), zeroed, aligned to 64 bytes for the kernel. */
static inline void pz_winograd_pack(const pz_winograd_shape *s, const float *weights, float *packed) {
  const int64_t each = pz_winograd_plane_floats(s);
  const int32_t channels = s->conv.in.c, block = s->conv.in.block, on_use = pz_winograd_on_use(s),
                too = pz_winograd_on_use_too(s), planes = pz_winograd_planes(s);
  int32_t a[3];
  pz_winograd_factors f = pz_winograd_factors_of(s, weights);
  pz_winograd_leave_for_use(on_use, &f), pz_winograd_leave_for_use(too, &f);
  for (int32_t i = 0; i < 3; ++i) a[i] = i == on_use || i == too ? s->conv.kernel[i] : pz_winograd_a(s, i);
  double at[PZ_WINOGRAD_MOST_A * PZ_WINOGRAD_MOST_A * PZ_WINOGRAD_MOST_A];
  for (int32_t i = 0; i < pz_winograd_groups(s); ++i) {
    const pz_winograd_channels_out g = pz_winograd_channels_of(s, i);
    const int64_t floats = pz_winograd_group(s, g.kb);
    for (int32_t c = 0; c < channels; ++c)
      for (int32_t k = 0; k < g.lanes && g.first + k < s->conv.out.c; ++k) {
        const double *from = at;
        pz_winograd_weights(s, &f, a,
                            weights + ((int64_t)(g.first + k) * channels + c) * pz_conv_taps(&s->conv), at);
        for (int32_t d = 0; d < a[0]; ++d)
          for (int32_t h = 0; h < a[1]; ++h)
            for (int32_t w = 0; w < a[2]; ++w) {
              const int64_t plane = too == 1      ? d * a[1] + h
                                    : on_use == 0 ? d
                                    : on_use == 1 ? h
                                                  : 0,
                            other = too == 1      ? w
                                    : on_use == 0 ? h * a[2] + w
                                    : on_use == 1 ? d * a[2] + w
                                                  : (d * a[1] + h) * a[2] + w;
              const int64_t in_plane = pz_winograd_weight_at(s, &g, c, k), lane = in_plane % block,
                            at_plane = too == 1 ? (in_plane - lane) * planes + plane * block + lane
                                                : plane * floats + in_plane;
              packed[planes * (other * each + g.before) + at_plane] = (float)*from++;
            }
      }
  }
}

/* Of one channel out: minus the sums of products of its weights that pairs have, at all positions, in their order. */
static inline void pz_winograd_sum_taken(const pz_winograd_shape *s, const pz_winograd_factors *f,
                                         const float *weights, double *sums) {
  enum { A = PZ_WINOGRAD_MOST_A };
  const int32_t block = s->conv.in.block, channels = s->conv.in.c - pz_winograd_short(s, s->conv.in.c),
                taps = pz_conv_taps(&s->conv);
  const int32_t a[3] = {pz_winograd_a(s, 0), pz_winograd_a(s, 1), pz_winograd_a(s, 2)};
  double one[A * A * A], two[A * A * A];
  for (int32_t i = 0; i < pz_winograd_points(s); ++i) sums[i] = 0;
  for (int32_t b = 0; b < channels; b += block) {
    const int32_t pairs = PZ_WINOGRAD_INNER_PAIRS_OF(channels - b < block ? channels - b : block);
    for (int32_t j = 0; j < pairs; ++j) {
      pz_winograd_weights(s, f, a, weights + (int64_t)(b + j) * taps, one);
      pz_winograd_weights(s, f, a, weights + (int64_t)(b + pairs + j) * taps, two);
      for (int32_t i = 0; i < pz_winograd_points(s); ++i)
        sums[i] -= (double)(float)one[i] * (double)(float)two[i];
    }
  }
}

/* What pairs take away. weights: as above; taken: pz_winograd_taken_floats(s), zeroed. */
static inline void pz_winograd_pack_taken(const pz_winograd_shape *s, const float *weights, float *taken) {
  enum { A = PZ_WINOGRAD_MOST_A };
  if (!s->inner_pairs) return;
  const pz_winograd_factors f = pz_winograd_factors_of(s, weights);
  const int32_t block = s->conv.in.block, a1 = pz_winograd_a(s, 1), a2 = pz_winograd_a(s, 2),
                together = pz_winograd_together(s);
  const int64_t channel = (int64_t)s->conv.in.c * pz_conv_taps(&s->conv);
  double sums[A * A * A];
  for (int32_t i = 0; i < block; ++i) taken[i] = (float)(1 / f.all);
  for (int32_t i = 0; i < pz_winograd_groups(s); ++i) {
    const pz_winograd_channels_out g = pz_winograd_channels_of(s, i);
    for (int32_t k = 0; k < g.kb * block && g.first + k < s->conv.out.c; ++k) {
      pz_winograd_sum_taken(s, &f, weights + (g.first + k) * channel, sums);
      for (int32_t p = 0; p < pz_winograd_points(s); ++p) {
        const int32_t at = p / (a1 * a2) * pz_winograd_step(s, 0) + p / a2 % a1 * pz_winograd_step(s, 1) +
                           p % a2 * pz_winograd_step(s, 2);
        taken[pz_winograd_taken_at(s, at / together, g.first / block) + at % together * g.kb * block + k] =
            (float)sums[p];
      }
    }
  }
}

#endif
