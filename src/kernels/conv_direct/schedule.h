/* schedule.h: the schedule of a direct convolution, by a model of the core. Plain C, run by the compiler half.
 *
 * Cycles of one step (one input channel of one tap) of a tile of kb x p accumulators, all of vectors:
 *   multiply-adds  kb*p / 2        two units
 *   latency        5               an accumulator is added to once a step: 4 cycles and some slack (9 where the
 *                                  multiply-add is two instructions)
 *   loads          (kb + p) * 0.7  kb vectors of weights and p broadcasts; two ports, which are never filled
 *   issue          (kb*p + kb + p) / 6
 *   weights        kb * bytes / 16 from level 2 where a group's weights exceed half of level 1
 * gcc 12 copies accumulators about where more than two of either kind of operand are held: 4% on the multiply-adds.
 * A tile of one outer block takes the kw taps of a row together (pz_conv_takes_rows), which saves loads: kw weights and
 * a broadcast for each input point. More groups read the input more often: 4% too.
 * Where a multiply-add takes a factor from a lane (NEON: pz_conv_step_of_lanes), the S channels of a block at a point are one load, and wait in a
 * register, in place of S broadcasts; nothing of that was measured: what counts are instructions (doc/notes/2026-11-29-neon.md), four a cycle as on a
 * Neoverse N1, of which two may be multiply-adds, with a latency of four cycles, and two may be loads.
 * The step takes the largest of these; a tile takes its steps and a constant, for loading, finishing and storing its
 * accumulators and for the loop. The schedule with the fewest cycles for all tiles of all outer groups is taken; the
 * splits into equal parts make short rests rare. doc/notes/2026-11-28-convolutions.md compares the model with measurements. */
#ifndef PZ_KERNELS_CONV_DIRECT_SCHEDULE_H
#define PZ_KERNELS_CONV_DIRECT_SCHEDULE_H

#include "kernels/conv/machine.h"
#include "kernels/conv/shape.h"
#include "kernels/conv/ways.h"

#include <stdbool.h>

static inline double pz_conv_larger(double a, double b) { return a > b ? a : b; }

/* Vectors of inputs that wait for multiply-adds by lane, of a step of each channel of a block or, of an NCHW input, of each tap; rows: of all taps of
 * a row. */
static inline int32_t pz_conv_lane_vectors(const pz_conv_direct_shape *s, int32_t points, bool rows) {
  const int32_t more = rows ? (s->kernel[2] - 1) * s->dilation[2] : 0,
                reach = pz_conv_point_reach(s, points) + more;
  return pz_conv_by_points(s, points) ? (reach + s->out.block - 1) / s->out.block : points;
}

/* Without a fused multiply-add (S = 4) a product needs a register and an instruction more. By lane two vectors of weights take turns, or
 * the kernel's width of them wait. */
static inline int32_t pz_conv_registers(const pz_conv_direct_shape *s, const pz_conv_machine *m, int32_t kb,
                                        int32_t points) {
  const bool rows = s->in.block == 1 && pz_conv_takes_rows(s, kb, points, m->registers);
  if (m->lanes) return kb * points + pz_conv_lane_vectors(s, points, rows) + (rows ? s->kernel[2] : 2);
  return kb * points + (kb < points ? kb : points) + (s->out.block == 4 ? 2 : 1);
}

static inline double pz_conv_lane_cycles(const pz_conv_direct_shape *s, int32_t kb, int32_t points, bool near,
                                         bool rows) {
  rows = rows && s->in.block == 1;
  const int32_t steps = rows ? s->kernel[2] : s->in.block;
  const double fma = kb * points, loads = kb + pz_conv_lane_vectors(s, points, rows) / (double)steps,
               stream = near ? 0 : kb * s->out.block * 4 / 16.0;
  const double cycles =
      pz_conv_larger(pz_conv_larger(fma / 2, 5.0), pz_conv_larger(loads / 2, (fma + loads) / 4));
  return pz_conv_larger(cycles, stream) + loads * 0.05; /* of equals the one with fewer loads */
}

static inline double pz_conv_step_cycles(const pz_conv_direct_shape *s, const pz_conv_machine *m, int32_t kb,
                                         int32_t points, bool near, bool rows) {
  if (m->lanes) return pz_conv_lane_cycles(s, kb, points, near, rows);
  const bool fused = s->out.block > 4;
  double fma = kb * points * (fused ? 0.5 : 1.0);
  double loads = (kb + points) * 0.7, issue = (kb * points * (fused ? 1.0 : 2.5) + kb + points) / 6.0;
  double stream = near ? 0 : kb * s->out.block * 4 / 16.0;
  if ((kb > 2 && points > 2) || rows) fma *= 1.04;
  if (rows) loads = (points * s->stride[2] + 2 * s->kernel[2]) * 0.7 / s->kernel[2];
  double cycles = pz_conv_larger(pz_conv_larger(fma, fused ? 5.0 : 9.0), pz_conv_larger(loads, issue));
  return pz_conv_larger(cycles, stream);
}

/* All tiles of one row of one outer group of kb blocks. */
static inline double pz_conv_row_cycles(const pz_conv_direct_shape *s, const pz_conv_machine *m, int32_t kb,
                                        int32_t channels) {
  pz_conv_split tiles = pz_conv_row_tiles(s, kb);
  double steps = (double)channels * pz_conv_taps(s), total = 0;
  bool near = steps * kb * s->out.block * 4 <= (double)m->l1 / 2;
  for (int32_t part = 0; part < 2; ++part) {
    int32_t points = (tiles.size - part) * s->rh, count = part ? tiles.count - tiles.large : tiles.large;
    bool rows = pz_conv_takes_rows(s, kb, tiles.size - part, m->registers);
    if (count)
      total += count * (steps * pz_conv_step_cycles(s, m, kb, points, near, rows) + kb * points * 2 + 20);
  }
  return total;
}

/* The model's cycles for the whole convolution under the schedule in s. */
static inline double pz_conv_direct_cycles(const pz_conv_direct_shape *s, const pz_conv_machine *m) {
  pz_conv_split outer = pz_conv_outer_groups(s);
  double total = 0;
  for (int32_t g = 0; g < outer.count; ++g) {
    int32_t kb = pz_conv_split_size(outer, g);
    pz_conv_range sees = pz_conv_sees(s, pz_conv_split_begin(outer, g), kb);
    double row = pz_conv_row_cycles(s, m, kb, pz_conv_channels_in(s, sees.begin, sees.end));
    if (s->groups == 1) { /* only two sizes of groups to look at */
      int32_t rest = outer.count - outer.large;
      total = outer.large * row;
      if (rest) total += rest * pz_conv_row_cycles(s, m, kb - 1, s->in.c);
      break;
    }
    total += row;
  }
  return total * s->out.n * s->out.d * (s->out.h / s->rh);
}

/* Adding a group's block to its first one moves within a row of phases, or by whole rows, planes, channels. */
static inline bool pz_conv_phases_fit(const pz_conv_direct_shape *s) {
  const int32_t sizes[3] = {pz_conv_phases_w(s), pz_conv_phases_w(s) * pz_conv_phases_h(s), s->phases};
  if (s->phases == 1) return true;
  if (pz_conv_outer_blocks(s) % s->kb) return false;
  for (int i = 0; i < 3; ++i) {
    if (sizes[i] % s->kb == 0) return true;
    if (s->kb % sizes[i]) return false;
  }
  return true;
}

/* kb, rw, rh are the sizes that they stand for (no other gives the same split), and fit. */
static inline bool pz_conv_schedule_fits(const pz_conv_direct_shape *s, const pz_conv_machine *m) {
  if (pz_conv_outer_groups(s).size != s->kb || pz_conv_split_of(s->out.w, s->rw).size != s->rw) return false;
  if (s->out.h % s->rh || (s->rh > 1 && s->rw != s->out.w)) return false;
  /* tiles of rows sum in an order of their own: which tiles there are must not depend on the height (bands, same bits) */
  if (s->rh > 1 && s->kernel[2] > 1) return false;
  if (!pz_conv_phases_fit(s)) return false;
  return pz_conv_registers(s, m, s->kb, s->rw * s->rh) <= m->registers;
}

/* Bytes of the weights that one pass of one outer group streams through, for each input block. */
static inline int64_t pz_conv_block_bytes(const pz_conv_direct_shape *s) {
  return (int64_t)s->kb * s->out.block * s->in.block * pz_conv_taps(s) * 4;
}

/* As many input blocks as keep their weights in half of level 1, in passes of about equal length; all of them where
 * there is but one tile to use the weights for. */
static inline int32_t pz_conv_chunk(const pz_conv_direct_shape *s, const pz_conv_machine *m) {
  int32_t blocks = pz_conv_in_blocks(s);
  if (pz_conv_taps(s) == 0 || (int64_t)s->out.n * s->out.d * s->out.h * s->out.w <= s->rh * s->rw)
    return blocks;
  int64_t most = m->l1 / 2 / pz_conv_block_bytes(s);
  most = most < 1 ? 1 : most > blocks ? blocks : most;
  return pz_conv_split_of(blocks, (int32_t)most).size;
}

/* A view's rows without a gap between them are one row; its planes likewise. Where there is no tensor, the view stays zero. */
static inline bool pz_conv_rows_touch(const pz_view *v) {
  return v->c == 0 || v->stride_h == v->w * v->stride_w;
}
static inline bool pz_conv_planes_touch(const pz_view *v) {
  return v->c == 0 || v->stride_d == v->h * v->stride_h;
}
static inline void pz_conv_join(pz_view *v) {
  if (v->c == 0) return;
  v->w *= v->h, v->h = v->d, v->d = 1;
  v->stride_h = v->stride_d;
}

/* A product without spatial kernel, stride or padding sees a plane as one row, if that has at most this many points;
 * longer rows would leave less to share among workers. */
#define PZ_CONV_LONG_ROW 256

/* Joins rows, or planes of one row, while they are short: the fewer rests, the better. Changes the shape's views, not what they cover. False: they
 * stay as they are. */
static inline bool pz_conv_direct_flatten(pz_conv_direct_shape *s) {
  for (int i = 0; i < 3; ++i)
    if (s->kernel[i] != 1 || s->stride[i] != 1 || s->pad[i]) return false;
  pz_view *views[3] = {&s->in, &s->out, &s->residual};
  if ((s->out.h <= 1 && s->out.d <= 1) || (int64_t)s->out.h * s->out.w > PZ_CONV_LONG_ROW) return false;
  for (int i = 0; i < 3; ++i)
    if (!pz_conv_rows_touch(views[i])) return false;
  for (int i = 0; i < 3; ++i) pz_conv_join(views[i]);
  return true;
}

/* Pieces of work that so many workers share (direct.h), which take eight chunks each of a long call. */
static inline int64_t pz_conv_direct_pieces(const pz_conv_direct_shape *s, int32_t workers) {
  const int64_t shares = pz_conv_shares(s);
  if (pz_conv_each_strip(s) || pz_conv_rows_suffice(s, 8 * workers)) return shares;
  return shares * pz_conv_outer_groups(s).count;
}

/* The cycles as its workers share them, times their number. */
static inline double pz_conv_direct_shared_cycles(const pz_conv_direct_shape *s, const pz_conv_machine *m) {
  return pz_conv_direct_cycles(s, m) * pz_conv_uneven(pz_conv_direct_pieces(s, m->workers), m->workers);
}

/* The schedules with the fewest of these, in their order; of equal ones the first. */
enum { PZ_CONV_RANKS = 4 };
typedef struct pz_conv_ranking {
  int32_t n;
  struct {
    int32_t kb, rw, rh;
    double cycles;
  } at[PZ_CONV_RANKS];
} pz_conv_ranking;

static inline void pz_conv_rank(pz_conv_ranking *r, const pz_conv_direct_shape *s, double cycles) {
  int32_t at = r->n < PZ_CONV_RANKS ? r->n++ : PZ_CONV_RANKS;
  for (; at > 0 && cycles < r->at[at - 1].cycles; --at)
    if (at < PZ_CONV_RANKS) r->at[at] = r->at[at - 1];
  if (at == PZ_CONV_RANKS) return;
  r->at[at].kb = s->kb, r->at[at].rw = s->rw, r->at[at].rh = s->rh, r->at[at].cycles = cycles;
}

/* For rows as they are. One block and one point fit always, and come first where nothing is better. */
static inline pz_conv_ranking pz_conv_direct_tiles(const pz_conv_direct_shape *s, const pz_conv_machine *m) {
  pz_conv_ranking r = {0};
  pz_conv_direct_shape try = *s;
  try.kb = try.rw = try.rh = 1;
  pz_conv_rank(&r, &try, pz_conv_direct_shared_cycles(&try, m));
  for (try.kb = 1; try.kb <= pz_conv_outer_blocks(s) && try.kb < m->registers; ++try.kb)
    for (try.rw = 1; try.rw <= s->out.w && try.rw < m->registers; ++try.rw)
      for (try.rh = 1; try.rh <= s->out.h && try.rh * try.rw < m->registers; ++try.rh)
        if (try.kb * try.rw * try.rh > 1 && pz_conv_schedule_fits(&try, m))
          pz_conv_rank(&r, &try, pz_conv_direct_shared_cycles(&try, m));
  return r;
}

/* Joined rows are fewer to share; the model knows less of what they spare. */
#define PZ_CONV_JOINED 1.1

/* Joins rows where it may and it leaves enough to share; the schedules then. */
static inline pz_conv_ranking pz_conv_direct_ranking(pz_conv_direct_shape *s, const pz_conv_machine *m) {
  while (m->workers < 2 && pz_conv_direct_flatten(s)) continue;
  pz_conv_direct_shape rows = *s;
  pz_conv_ranking best = pz_conv_direct_tiles(s, m);
  while (pz_conv_direct_flatten(&rows)) {
    const pz_conv_ranking joined = pz_conv_direct_tiles(&rows, m);
    if (joined.at[0].cycles <= PZ_CONV_JOINED * best.at[0].cycles) best = joined, *s = rows;
  }
  return best;
}

/* Fills kb, rw, rh, c_chunk; joins rows. All other fields are set by the caller. m->rank: of the schedules; the last one where there are fewer. */
static inline void pz_conv_direct_schedule(pz_conv_direct_shape *s, const pz_conv_machine *m) {
  const pz_conv_ranking r = pz_conv_direct_ranking(s, m);
  const int32_t at = m->rank < r.n ? m->rank : r.n - 1;
  s->kb = r.at[at].kb, s->rw = r.at[at].rw, s->rh = r.at[at].rh;
  s->c_chunk = pz_conv_chunk(s, m);
}

#endif
