/* solver.c: convolutions of stride 1 by products of bf16x2 on AMX tiles (kernels/conv_bf16x2/bf16x2.h). Variants: 1, 2
 * or 4 planes of results at a time, by F(m, 3) along the depth, or, in two dimensions, as many rows along the height: the kernel is given depth and
 * height exchanged then. Deconvolutions are such convolutions for each phase of their stride,
 * or for all phases together (kernels/deconv/deconv.h). */
#include "kernels/conv/solver.h"
#include "kernels/conv_bf16x2/pack.h"
#include "kernels/conv_bf16x2/solver.h"
#include "kernels/conv_bf16x2/ways.h"
#include "kernels/deconv/solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const int32_t planes_at_a_time[] = {1, 2, 4};
static int32_t m_of(const pz_query *q) { return q->parameters.of[0]; }
/* Sums that m planes of results are made of, with m > 1. */
static int32_t points_of(int32_t m) { return m + 2; }

static pz_shape5 shape_of(const pz_operand *operand) { return pz_shape_as5(&operand->shape); }

/* The axis of F(m, 3): 0 the depth, 1, where there is none, the height. (With depth, layers of 1 x 3 x 3 gained nothing in their network:
 * doc/notes/2026-11-28-convolutions.md.) */
static int32_t axis_of(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  return m_of(q) > 1 && a->kernel[0] == 1 && a->kernel[1] == 3 && a->dilation[1] == 1 &&
         shape_of(&q->problem->out[0]).s[0] == 1;
}

/* Planes at the end that are made two at a time where m is 4: of four, half and more would not be wanted. Along the height a band has whole tiles, and
 * the last one the same end as all rows together. */
static int32_t rest_of(int32_t m, int32_t axis, int64_t planes) {
  return m == 4 && (axis || planes > 4) && planes % 4 <= 2 ? (int32_t)(planes % 4) : 0;
}

/* Relative L2, of layers of random values: the largest that doc/algorithm-bf16x2.md has, or somewhat above it. A last block without a partner is multiplied by all
 * four products of bf16 numbers, so that it has less. */
static double error_of_m(int32_t m, int64_t channels) {
  const double of_pairs = m == 1   ? PZ_BF16X2_ERROR
                          : m == 2 ? 5.8e-6
                                   : 1.02e-5,
               of_single = m == 1   ? 3.3e-6
                           : m == 2 ? 4.6e-6
                                    : 8e-6;
  const int64_t single = (channels + 15) / 16 % 2 ? (channels + 15) % 16 + 1 : 0;
  return sqrt(((double)(channels - single) * pow(of_pairs, 2) + (double)single * pow(of_single, 2)) /
              (double)channels);
}
/* Of all planes: those at the end have less, too. */
static double error_of(const pz_query *q) {
  const int64_t channels = shape_of(&q->problem->in[PZ_CONV_X]).c;
  const int32_t m = m_of(q), axis = axis_of(q);
  const double planes = (double)shape_of(&q->problem->out[0]).s[axis],
               end = rest_of(m, axis, (int64_t)planes) / planes;
  return sqrt((1 - end) * pow(error_of_m(m, channels), 2) + end * pow(error_of_m(2, channels), 2));
}
/* The multiply-adds of single precision that take the time of all products of tiles, at both peaks. */
static double multiply_adds_of(const pz_conv_bf16x2_shape *s) {
  const int32_t rows = pz_bf16x2_step_rows(s);
  const double points = s->m == 1 ? s->conv.kernel[0] : (double)(s->m + 2) / s->m,
               planes = (double)((s->conv.out.d + s->m - 1) / s->m * s->m);
  double tiles = 0;
  for (int32_t few = 0; few < 2; few++) {
    const int32_t blocks = few ? s->narrow_out : pz_bf16x2_out_blocks(s) - s->narrow_out,
                  each = pz_bf16x2_step_tiles(s, few, rows);
    tiles += (double)blocks * each *
             pz_bf16x2_products_of(pz_bf16x2_pair_steps(s, few), pz_bf16x2_single_steps(s, few));
  }
  return PZ_BF16X2_MULTIPLY_ADDS * tiles / rows * s->conv.out.h * s->conv.out.n * planes * points *
         s->conv.kernel[1];
}

static const char *along(int32_t m, int32_t axis) {
  static const char *const depth[] = {", F(2,3) along d", ", F(4,3) along d"}, *const height[] = {
                                                                                   ", F(2,3) along h",
                                                                                   ", F(4,3) along h"};
  return m == 1 ? "" : (axis ? height : depth)[m == 4];
}

static void exchange(int32_t *a, int32_t *b) {
  const int32_t t = *a;
  *a = *b, *b = t;
}
static void exchange_view(pz_view *v) {
  const int64_t stride = v->stride_d;
  v->stride_d = v->stride_h, v->stride_h = stride;
  exchange(&v->d, &v->h);
  exchange(&v->border_lo[0], &v->border_lo[1]), exchange(&v->border_hi[0], &v->border_hi[1]);
}
/* Depth and height exchanged; the weights lie as before, as one of the taps' axes has one. */
static void exchange_axes(pz_conv_direct_shape *c) {
  exchange_view(&c->in), exchange_view(&c->out), exchange_view(&c->residual);
  exchange(&c->kernel[0], &c->kernel[1]), exchange(&c->dilation[0], &c->dilation[1]);
  exchange(&c->pad[0], &c->pad[1]);
}

/* The shape of `planes` planes of results, m at a time; whole: conv, pooled and window of all of them. */
static pz_conv_bf16x2_shape shape_of_planes(const pz_query *q, const pz_conv_bf16x2_shape *whole, int32_t m,
                                            int32_t planes) {
  const pz_conv_machine machine = pz_conv_machine_of(q->target);
  pz_conv_bf16x2_shape s = *whole;
  s.m = m, s.conv.out.d = planes;
  pz_bf16x2_schedule(&s, &machine);
  return s;
}

/* Which planes of the border are not stored, of those that are read for the planes from `first` on. */
static void set_absent(pz_conv_bf16x2_shape *s, const pz_view *in, int32_t first) {
  const int32_t front = s->conv.pad[0] - in->border_lo[0] - first,
                end = first + s->conv.out.d + pz_bf16x2_reach(s, 0) - s->conv.pad[0],
                behind = end - in->d - in->border_hi[0];
  s->absent[0] = front > 0 ? front : 0, s->absent[1] = behind > 0 ? behind : 0;
}

/* The call that makes them, from plane and column `first` on, with weights packed. */
static pz_status add_call(pz_builder *b, const pz_conv_operands *p, const pz_conv_bf16x2_shape *all,
                          pz_pointer packed, const int32_t first[2], pz_pointer scratch, pz_error *err) {
  pz_conv_bf16x2_shape some = *all;
  const pz_conv_bf16x2_shape *s = &some;
  const pz_conv_direct_shape *c = &s->conv;
  pz_text shape = {0};
  if (s->normed)
    some.origin[0] = first[0] - c->pad[0], some.origin[1] = -c->pad[1], some.origin[2] = first[1] - c->pad[2];
  pz_text_conv_bf16x2(&shape, s);
  pz_pointer pooled = p->pooled;
  if (s->pooled.c) {
    pooled = pz_pointer_behind(pooled, PZ_F32,
                               first[0] / s->pool_window[0] * s->pooled.stride_d +
                                   first[1] / s->pool_window[2] * s->pooled.stride_w);
  }
  pz_conv_operands part = *p;
  part.in.at = pz_pointer_behind(p->in.at, PZ_F32, first[0] * c->in.stride_d + first[1] * c->in.stride_w);
  part.residual.at = pz_pointer_behind(p->residual.at, PZ_F32,
                                       first[0] * c->residual.stride_d + first[1] * c->residual.stride_w);
  part.out.at = pz_pointer_behind(p->out.at, PZ_F32, first[0] * c->out.stride_d + first[1] * c->out.stride_w);
  pz_arg args[10] = {{.name = "in", .at = part.in.at},
                     {.name = "factors", .at = part.factors},
                     {.name = "weights", .at = packed, .type = PZ_BF16}};
  int32_t n = pz_conv_epilogue_args(&part, args, 3);
  args[n++] = (pz_arg){.name = "pooled", .written = true, .at = pooled};
  args[n++] = (pz_arg){.name = "scratch", .written = true, .at = scratch};
  b->step->multiply_adds_done += multiply_adds_of(s);
  PZ_TRY(pz_add_call(b, "kernels/conv_bf16x2/bf16x2.h", "pz_conv_bf16x2", &shape, args, n, err));
  b->step->calls[b->step->n_calls - 1].functions = "PZ_CONV_BF16X2_FUNCTIONS";
  pz_call_ways(b, "PZ_BF16X2_WAYS", pz_bf16x2_ways(s));
  pz_call_ways(b, "PZ_TRANSFORM_WAYS", pz_bf16x2_transform_ways(s));
  return PZ_OK;
}

/* By row, columns are made some a call. */
static int32_t column_chunks(const pz_query *q, const pz_conv_bf16x2_shape *s) {
  const pz_conv_machine machine = pz_conv_machine_of(q->target);
  return s->by_row ? pz_bf16x2_column_chunks(s, &machine) : 1;
}
static pz_conv_bf16x2_shape columns_of(const pz_query *q, const pz_conv_bf16x2_shape *s, int32_t part,
                                       int32_t *first) {
  const int32_t parts = column_chunks(q, s);
  pz_conv_bf16x2_shape columns = *s;
  *first = parts == 1 ? 0 : pz_bf16x2_take_columns(&columns, part, parts);
  return columns;
}
static int64_t scratch_of(const pz_query *q, const pz_conv_bf16x2_shape *s) {
  int64_t most = 0;
  for (int32_t i = 0, first; i < column_chunks(q, s); i++) {
    const pz_conv_bf16x2_shape columns = columns_of(q, s, i, &first);
    if (pz_bf16x2_scratch(&columns) > most) most = pz_bf16x2_scratch(&columns);
  }
  return most;
}

/* The planes from `first` on. weights: [phases, K, C, taps], NULL where they are not packed. */
static pz_status add_planes(const pz_query *q, pz_builder *b, const pz_conv_operands *p,
                            const pz_conv_bf16x2_shape *s, const float *weights, int32_t first,
                            pz_pointer scratch, pz_error *err) {
  pz_pointer packed;
  void *data;
  PZ_TRY(pz_add_weights(b, PZ_BF16, 2 * pz_bf16x2_weight_pairs(s), &packed, &data, err));
  if (!b->unpacked && !b->dry) pz_bf16x2_pack(s, weights, data);
  for (int32_t i = 0; i < column_chunks(q, s); i++) {
    int32_t at[2] = {first};
    const pz_conv_bf16x2_shape columns = columns_of(q, s, i, &at[1]);
    PZ_TRY(add_call(b, p, &columns, packed, at, scratch, err));
  }
  return PZ_OK;
}

/* Channels out that are made by calls of their own, each of which splits the inputs again: all, or, where level 2 does not hold the weights of
 * all, as many pairs of blocks as it does hold those of, by row. */
static int32_t channels_at_once(const pz_query *q, const pz_conv_bf16x2_shape *whole, int32_t m) {
  pz_conv_bf16x2_shape some = *whole;
  while (some.conv.out.c > 0) {
    const pz_conv_bf16x2_shape s = shape_of_planes(q, &some, m, whole->conv.out.d);
    if (s.by_row) return some.conv.out.c;
    some.conv.out.c = (some.conv.out.c - 1) / 32 * 32;
  }
  return whole->conv.out.c;
}

/* The parts of channels out `first` and on; first is a multiple of a block's. */
static pz_conv_operands operands_behind(const pz_query *q, const pz_conv_operands *whole,
                                        const pz_view *pooled, int32_t first) {
  const int32_t block = first / q->target->block;
  pz_conv_operands p = *whole;
  p.out.at = pz_pointer_behind(p.out.at, PZ_F32, block * p.out.view.stride_c);
  p.residual.at = pz_pointer_behind(p.residual.at, PZ_F32, block * p.residual.view.stride_c);
  p.pooled = pz_pointer_behind(p.pooled, PZ_F32, block * pooled->stride_c);
  p.bias = pz_pointer_behind(p.bias, PZ_F32, first);
  p.residual_scale = pz_pointer_behind(p.residual_scale, PZ_F32, first);
  p.slope = pz_pointer_behind(p.slope, PZ_F32, first);
  return p;
}

static pz_status tell(pz_builder *b, const pz_conv_bf16x2_shape *s, int32_t axis, int32_t rest,
                      pz_error *err) {
  const int32_t *k = s->conv.kernel, strip[] = {s->planes, s->rows};
  PZ_TRY(pz_set_algorithm(b, err, "bf16x2 %dx%dx%d%s%s, strips of %d rows x %d planes%s", k[axis], k[!axis],
                          k[2], along(s->m, axis), rest ? " and F(2,3) at its end" : "", strip[!axis],
                          strip[axis], s->normed ? ", of normalised input" : ""));
  return pz_conv_tell_pool(b, &s->pooled, s->pool_window, err);
}

/* All planes: m at a time, and the last `rest` of them two at a time. */
static pz_status add_channels(const pz_query *q, pz_builder *b, const pz_conv_operands *p,
                              const pz_conv_bf16x2_shape *some, int32_t m, int32_t axis, const float *weights,
                              pz_error *err) {
  const int32_t planes = some->conv.out.d, rest = rest_of(m, axis, planes), most = planes - rest;
  pz_conv_bf16x2_shape end = shape_of_planes(q, some, 2, rest ? rest : most),
                       s = most ? shape_of_planes(q, some, m, most) : end;
  if (!axis && !some->normed) set_absent(&end, &p->in.view, rest ? most : 0), set_absent(&s, &p->in.view, 0);
  const int64_t floats = scratch_of(q, &s), of_end = scratch_of(q, &end);
  const pz_pointer scratch = pz_add_scratch(b, PZ_F32, of_end > floats ? of_end : floats);
  PZ_TRY(tell(b, &s, axis, rest && most, err));
  if (most) PZ_TRY(add_planes(q, b, p, &s, weights, 0, scratch, err));
  return rest ? add_planes(q, b, p, &end, weights, most, scratch, err) : PZ_OK;
}

/* The input lies as it was before its normalisation. */
static void take_pending(const pz_placed *placed, pz_conv_bf16x2_shape *s) {
  const pz_activation *act = &placed->pending.act;
  if (placed->pending.at.space == PZ_SPACE_NULL) return;
  s->normed = 1, s->norm_act = (int32_t)act->kind, s->norm_alpha = act->alpha, s->norm_beta = act->beta;
}

static bool normalises(const pz_query *q, const pz_activation *act) {
  return pz_activation_zero_at_zero(act->kind) && !pz_bf16x2_narrow_at_end((int32_t)pz_conv_cin(q));
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands whole;
  PZ_TRY(pz_conv_begin(q, placed, b, &whole, err));
  const int32_t m = m_of(q), axis = axis_of(q);
  const float *weights = q->problem->in[PZ_CONV_WEIGHT].data;
  pz_conv_bf16x2_shape all = {.conv = pz_conv_shape_of(q, &whole)};
  pz_conv_direct_shape *conv = &all.conv;
  pz_conv_pool(q, placed, &whole, conv, &all.pooled, all.pool_window);
  take_pending(placed, &all);
  if (axis) exchange_axes(conv);
  const int32_t at_once = channels_at_once(q, &all, m);
  b->step->multiply_adds_done = 0;
  for (int32_t first = 0; first < conv->out.c; first += at_once) {
    const pz_conv_operands p = operands_behind(q, &whole, &all.pooled, first);
    const int64_t weight = (int64_t)first * conv->in.c * pz_conv_taps(conv);
    pz_conv_bf16x2_shape some = all;
    some.conv.out.c = conv->out.c - first < at_once ? conv->out.c - first : at_once;
    if (some.conv.residual.c) some.conv.residual.c = some.conv.out.c;
    if (some.pooled.c) some.pooled.c = some.conv.out.c;
    PZ_TRY(add_channels(q, b, &p, &some, m, axis, weights ? weights + weight : NULL, err));
  }
  return PZ_OK;
}

/* ---- deconvolution ---- */

static pz_status add_phase(const pz_query *q, pz_builder *b, const pz_conv_operands *whole,
                           const pz_conv_direct_shape *deconv, const pz_deconv_phase *phase,
                           pz_conv_bf16x2_shape *s, pz_error *err) {
  pz_conv_operands p;
  float *weights;
  PZ_TRY(pz_conv_phase_operands(q, b, deconv, phase, whole, &p, &weights, err));
  const pz_conv_bf16x2_shape alone = {.conv = phase->shape};
  *s = shape_of_planes(q, &alone, 1, phase->shape.out.d);
  const pz_status status =
      add_planes(q, b, &p, s, weights, 0, pz_add_scratch(b, PZ_F32, pz_bf16x2_scratch(s)), err);
  free(weights);
  return status;
}

/* A convolution for each phase of the stride, or one for all of them (deconv/deconv.h). */
static pz_status build_deconv(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands p;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  const pz_conv_direct_shape conv = pz_conv_shape_of(q, &p);
  const pz_deconv_merge merge = pz_deconv_merges(&conv);
  const int32_t n = pz_deconv_phases(&conv, merge);
  pz_conv_bf16x2_shape s = {.m = 1};
  b->step->multiply_adds_done = 0;
  for (int32_t i = 0; i < n; i++) {
    pz_deconv_phase phase;
    if (pz_deconv_phase_of(&conv, merge, i, &phase)) PZ_TRY(add_phase(q, b, &p, &conv, &phase, &s, err));
  }
  return pz_set_algorithm(b, err, "bf16x2 %dx%dx%d in %d phases, strips of %d rows x %d planes",
                          conv.kernel[0], conv.kernel[1], conv.kernel[2], n, s.rows, s.planes);
}

/* ---- which applies ---- */

static bool applies(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const int32_t m = m_of(q);
  if (!pz_conv_has_tiles(q->target) || a->group != 1) return false;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->stride[i] != 1) return false;
  const int32_t axis = axis_of(q);
  if (m > 1 && (a->kernel[axis] != 3 || a->dilation[axis] != 1 || shape_of(&q->problem->out[0]).s[axis] < m))
    return false;
  return shape_of(&q->problem->in[PZ_CONV_X]).c >= PZ_BF16X2_FEWEST_IN;
}

/* In vector multiply-adds at peak, beside products: what a vector costs on its way into the ring and out of the sums, where level 2 does not hold the
 * weights; where it does, all takes NEAR of that. Beside the same layers' best Winograd, at its cost, these took 0.6 to 0.93 of the time, most
 * 0.65 to 0.75 (28 to 64 channels, an Intel Xeon, two threads). */
#define VECTOR 30.0
#define LINE   12.0 /* of weights that comes from level 3 or from memory */
#define NEAR   0.72

/* A layer's blocks, and rows of taps that are multiplied for a plane of results. narrow_in, narrow_out: as conv/shape.h's, where it is made by
 * row. */
typedef struct bf16x2_layer {
  int32_t in, out, taps_w, narrow_in, narrow_out;
  double rows;
} bf16x2_layer;

static bf16x2_layer layer_of(const pz_query *q, int32_t m) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const int32_t in = (int32_t)shape_of(&q->problem->in[PZ_CONV_X]).c,
                out = (int32_t)shape_of(&q->problem->out[0]).c;
  const bool few = a->kernel[2] == 3 && a->dilation[2] == 1 && (m > 1 || a->kernel[0] == 1);
  return (bf16x2_layer){.in = (int32_t)pz_block_count(in, q->target->block),
                        .out = (int32_t)pz_block_count(out, q->target->block),
                        .taps_w = a->kernel[2],
                        .narrow_in = few && pz_bf16x2_narrow_at_end(in),
                        .narrow_out = few && pz_bf16x2_narrow_at_end(out),
                        .rows = m == 1 ? a->kernel[0] * a->kernel[1]
                                       : (double)points_of(m) / m * a->kernel[!axis_of(q)]};
}
/* Pairs of blocks in, and blocks that are left, of all steps of a row of taps. */
static int32_t pair_steps(const bf16x2_layer *l, bool few) { return (few ? 1 : l->taps_w) * (l->in / 2); }
static int32_t single_steps(const bf16x2_layer *l, bool few) {
  return l->narrow_in ? 1 : (few ? 1 : l->taps_w) * (l->in % 2);
}

/* Of a tile of weights. */
static int32_t tile_floats(const pz_query *q, bool narrow_in) {
  const int64_t channels = shape_of(&q->problem->in[PZ_CONV_X]).c;
  return (narrow_in || channels > 32 ? 16 : pz_bf16x2_rows_of((int32_t)channels)) * PZ_BF16X2_TILE;
}

/* Packed for m planes at a time. */
static double floats_of(const pz_query *q, int32_t m) {
  const bf16x2_layer l = layer_of(q, m);
  double steps = 0;
  for (int32_t few = 0; few < 2; few++)
    steps +=
        (few ? l.narrow_out : l.out - l.narrow_out) * (double)(pair_steps(&l, few) + single_steps(&l, few));
  return l.rows * m * steps * 2 * tile_floats(q, l.narrow_in);
}

static double weight_bytes(const pz_query *q) {
  const int32_t m = m_of(q);
  const int32_t axis = axis_of(q);
  const bool rest = rest_of(m, axis, shape_of(&q->problem->out[0]).s[axis]);
  return 4 * (floats_of(q, m) + (rest ? floats_of(q, 2) : 0));
}

/* Calls that make some channels out each, whose weights level 2 holds, by row (channels_at_once); 0: by plane, with weights that it does not hold. */
static double calls_of(const pz_query *q, int32_t m) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const pz_shape5 y = shape_of(&q->problem->out[0]);
  const double all = 4 * floats_of(q, m), half = (double)pz_conv_machine_of(q->target).l2 / 2,
               pairs = ceil((double)pz_block_count(y.c, q->target->block) / 2), width = (double)y.s[2];
  if (all <= half) return 1;
  if (all / pairs > half || (m == 1 && a->kernel[0] > 1) ||
      ceil(width / PZ_BF16X2_TILE) * PZ_BF16X2_TILE > 1.1 * width)
    return 0;
  return ceil(pairs / floor(half / (all / pairs)));
}

/* By plane, where level 2 does not hold all weights, they are read for every m planes of results; where it does not hold those of two blocks
 * out, for every two tiles of these. */
static double lines_read(const pz_query *q, int32_t m, int64_t planes) {
  const pz_shape5 y = shape_of(&q->problem->out[0]);
  const double all = 4 * floats_of(q, m), half = (double)pz_conv_machine_of(q->target).l2 / 2,
               pairs = ceil((double)pz_block_count(y.c, q->target->block) / 2),
               times = (double)y.n * ceil((double)planes / m),
               tiles = ceil((double)y.s[!axis_of(q)] * (double)y.s[2] / PZ_BF16X2_TILE);
  return all / 64 * times * (all / pairs <= half ? 1 : ceil(tiles / 2));
}

static void add_work(const pz_query *q, int32_t m, int64_t planes, pz_work *w) {
  const pz_shape5 y = shape_of(&q->problem->out[0]);
  const bf16x2_layer l = layer_of(q, m);
  const double made = ceil((double)planes / m) * m, calls = calls_of(q, m),
               split = (m == 1 ? 1 : (double)points_of(m) / m) * (calls ? calls : 1);
  double products = 0;
  for (int32_t few = 0; few < 2; few++)
    products += (few ? l.narrow_out / (double)PZ_BF16X2_NARROW_TILE
                     : (l.out - l.narrow_out) / (double)PZ_BF16X2_TILE) *
                pz_bf16x2_products_of(pair_steps(&l, few), single_steps(&l, few));
  const double rows = (double)(y.n * y.s[!axis_of(q)]) * made, points = rows * (double)y.s[2],
               tiles = points * l.rows * products * PZ_BF16X2_PRODUCT;
  if (calls) {
    w->of[PZ_TERM_bf16x2_products] += NEAR * tiles;
    w->of[m == 1 ? PZ_TERM_bf16x2_inputs : PZ_TERM_bf16x2_inputs_f] += NEAR * points * split * l.in * VECTOR;
    w->of[m == 1 ? PZ_TERM_bf16x2_outputs : PZ_TERM_bf16x2_outputs_f] += NEAR * points * l.out * VECTOR;
  } else {
    w->of[PZ_TERM_bf16x2_products_far] += tiles;
    w->of[PZ_TERM_bf16x2_vectors_far] += points * (split * l.in + l.out) * VECTOR;
    w->of[PZ_TERM_bf16x2_lines] += lines_read(q, m, planes) * LINE;
  }
  w->of[PZ_TERM_bf16x2_rows] += rows * (calls > 1 ? calls : 1);
  w->of[PZ_TERM_bf16x2_weights] += floats_of(q, m) / 16;
}

static void work(const pz_query *q, pz_work *w) {
  const int32_t m = m_of(q), axis = axis_of(q);
  const int64_t planes = shape_of(&q->problem->out[0]).s[axis], rest = rest_of(m, axis, planes);
  if (planes > rest) add_work(q, m, planes - rest, w);
  if (rest) add_work(q, 2, rest, w);
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "bf16x2%s", along(m_of(q), axis_of(q)));
  *error = error_of(q);
}

/* Of planes that are made together. */
static bool pools(const pz_query *q) { return !axis_of(q) && m_of(q) % q->problem->epilogue.pool[0] == 0; }

static int32_t tile_rows(const pz_query *q) {
  const int32_t *window = q->problem->epilogue.pool;
  if (axis_of(q)) return m_of(q);
  return q->problem->epilogue.pools && pools(q) ? window[1] : 1;
}

/* A guess on the safe side, for where it was not measured what becomes of errors. */
#define NORMALISED 1.8

const pz_solver pz_solver_conv_bf16x2 = {.name = "bf16x2",
                                         .op = PZ_OP_CONV,
                                         .in = PZ_NCHWC,
                                         .out = PZ_NCHWC,
                                         .applies = applies,
                                         .family = PZ_FAMILY_bf16x2,
                                         .work = work,
                                         .emit = build,
                                         .overwrites = pz_conv_overwrites,
                                         .variants = 3,
                                         .choices = planes_at_a_time,
                                         .describe = describe,
                                         .normalised_error = NORMALISED,
                                         .tile_rows = tile_rows,
                                         .weight_bytes = weight_bytes,
                                         .pools = pools,
                                         .normalises = normalises,
                                         .caps = PZ_CAP_DEPTH_BORDER | PZ_CAP_CHANNELS_LAST,
                                         .needs_amx = true};

/* ---- which applies to deconvolutions ---- */

/* Each phase has a tap. */
static bool deconv_applies(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->dilation[i] != 1 || a->kernel[i] < a->stride[i]) return false;
  return pz_conv_has_tiles(q->target) && a->group == 1 &&
         shape_of(&q->problem->in[PZ_CONV_X]).c >= PZ_BF16X2_FEWEST_IN;
}

/* Blocks out of all phases, and their taps together: one each where the kernel is the stride. */
static double deconv_tiles(const pz_query *q) {
  const int32_t *k = q->problem->attr.conv.kernel;
  return (double)pz_block_count(shape_of(&q->problem->out[0]).c, q->target->block) * k[0] * k[1] * k[2];
}
static double deconv_weight_bytes(const pz_query *q) {
  const double in = (double)pz_block_count(shape_of(&q->problem->in[PZ_CONV_X]).c, q->target->block);
  return 4 * deconv_tiles(q) * ceil(in / 2) * 2 * tile_floats(q, false);
}

static void deconv_work(const pz_query *q, pz_work *w) {
  const pz_shape5 x = shape_of(&q->problem->in[PZ_CONV_X]), y = shape_of(&q->problem->out[0]);
  const int32_t in = (int32_t)pz_block_count(x.c, q->target->block),
                out = (int32_t)pz_block_count(y.c, q->target->block);
  const double from = (double)(x.n * x.s[0] * x.s[1] * x.s[2]), to = (double)(y.n * y.s[0] * y.s[1] * y.s[2]);
  w->of[PZ_TERM_bf16x2_deconv_products] =
      from * deconv_tiles(q) * pz_bf16x2_products_of(in / 2, in % 2) / 16 * PZ_BF16X2_PRODUCT;
  w->of[PZ_TERM_bf16x2_deconv_inputs] = from * in * VECTOR;
  w->of[PZ_TERM_bf16x2_deconv_outputs] = to * out * VECTOR;
}

static void deconv_describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "bf16x2 in phases");
  *error = error_of(q);
}

const pz_solver pz_solver_deconv_bf16x2 = {.name = "bf16x2 in phases",
                                           .op = PZ_OP_DECONV,
                                           .in = PZ_NCHWC,
                                           .out = PZ_NCHWC,
                                           .applies = deconv_applies,
                                           .family = PZ_FAMILY_bf16x2_deconv,
                                           .work = deconv_work,
                                           .emit = build_deconv,
                                           .variants = 1,
                                           .choices = planes_at_a_time,
                                           .overwrites = pz_conv_overwrites,
                                           .describe = deconv_describe,
                                           .normalised_error = NORMALISED,
                                           .weight_bytes = deconv_weight_bytes,
                                           .caps = PZ_CAP_CHANNELS_LAST,
                                           .needs_amx = true};
