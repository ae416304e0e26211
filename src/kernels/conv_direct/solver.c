/* solver.c: convolution by direct summation, outer products of blocks (kernels/conv_direct/direct.h); the out channels behind the last whole
 * block by sums over lanes (kernels/conv_dot/tail.h). */
#include "kernels/conv/ways.h"
#include "kernels/conv_direct/pack.h"
#include "kernels/conv_direct/schedule.h"
#include "kernels/conv_direct/solver.h"
#include "kernels/conv_dot/solver.h"
#include "kernels/conv_dot/tail.h"

#include <math.h>
#include <stdio.h>

static void schedule_direct(pz_conv_direct_shape *s, const pz_conv_machine *m) {
  pz_conv_direct_schedule(s, m);
}

const pz_conv_method pz_conv_direct_method = {"direct",
                                              "kernels/conv_direct/direct.h",
                                              "pz_conv_direct",
                                              schedule_direct,
                                              pz_conv_direct_weight_floats,
                                              pz_conv_direct_pack,
                                              .merges = true,
                                              .units = pz_conv_units,
                                              .streams = true,
                                              .ways = pz_conv_ways};

/* The parts of the whole convolution as its tail sees them. */
static pz_conv_operands operands_of_tail(const pz_conv_operands *whole, const pz_conv_tail *tail) {
  pz_conv_operands p = *whole;
  p.out.at = pz_pointer_behind(p.out.at, PZ_F32, tail->out_offset);
  p.residual.at = pz_pointer_behind(p.residual.at, PZ_F32, tail->base_offset);
  p.bias = pz_pointer_behind(p.bias, PZ_F32, tail->first);
  p.residual_scale = pz_pointer_behind(p.residual_scale, PZ_F32, tail->first);
  p.slope = pz_pointer_behind(p.slope, PZ_F32, tail->first);
  return p;
}

static pz_status build_conv(const pz_query *q, const pz_placed *placed, pz_builder *b, bool from_nchw,
                            pz_error *err) {
  const float *weights = q->problem->in[PZ_CONV_WEIGHT].data;
  char rest[48] = "";
  pz_conv_operands p;
  pz_conv_tail tail;
  const pz_conv_method *m = &pz_conv_direct_method;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  pz_conv_direct_shape s = pz_conv_shape_of(q, &p);
  const bool cut = pz_conv_cut_tail(&s, &tail);
  if (cut && s.out.c) {
    const pz_conv_operands rest_operands = operands_of_tail(&p, &tail);
    const float *behind = weights ? weights + tail.weights_offset : NULL;
    PZ_TRY(pz_conv_add(q, b, &pz_conv_dot_method, &tail.shape, &rest_operands, behind, err));
    snprintf(rest, sizeof rest, ", %d channels over lanes", tail.shape.out.c);
  } else if (cut) s = tail.shape, m = &pz_conv_dot_method;
  else if (pz_conv_collects_stats(q, m, &s)) s.stats_units = pz_conv_units_with(q, m, s);
  PZ_TRY(pz_conv_add_stats(b, &s, &p, err));
  PZ_TRY(pz_conv_add(q, b, m, &s, &p, weights, err));
  return pz_set_algorithm(b, err, "%s%s %dx%dx%d, %d blocks x %d points%s", m->name,
                          from_nchw ? " on NCHW input" : "", s.kernel[0], s.kernel[1], s.kernel[2], s.kb,
                          s.rw * s.rh, rest);
}

static pz_status build_direct(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return build_conv(q, placed, b, false, err);
}
static pz_status build_small_cin(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return build_conv(q, placed, b, true, err);
}

static double weight_bytes(const pz_query *q) {
  const int32_t *k = q->problem->attr.conv.kernel;
  return 4.0 * k[0] * k[1] * k[2] * pz_conv_weight_pairs(q);
}

/* Channels that are summed over lanes. */
static int32_t tail_of(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  if (q->problem->op != PZ_OP_CONV || a->group != 1) return 0;
  return pz_conv_tail_channels((int32_t)pz_conv_cout(q), (int32_t)pz_conv_cin(q), q->target->block,
                               pz_conv_taps_of(q));
}

double pz_conv_direct_products(const pz_query *q) {
  return pz_conv_vectors(q, pz_conv_cin(q), pz_block_count(pz_conv_cout(q) - tail_of(q), q->target->block));
}
double pz_conv_lane_products(const pz_query *q) {
  const int32_t taps = pz_conv_taps_of(q);
  return pz_conv_vectors(q, 1, 1) / taps *
         pz_conv_tail_cost(tail_of(q), (int32_t)pz_conv_cin(q), q->target->block, taps);
}

/* Of plain convolutions; the views have sizes alone. No channels out: all are summed over lanes. joined: products join rows; what waits cost was fitted
 * without. */
static pz_conv_direct_shape outline(const pz_query *q, int32_t in_block, bool joined) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  pz_conv_direct_shape s = {.groups = 1, .phases = 1};
  s.in = (pz_view){.c = (int32_t)pz_conv_cin(q), .block = in_block};
  s.out = (pz_view){.n = (int32_t)out.n,
                    .c = (int32_t)pz_conv_cout(q) - tail_of(q),
                    .d = (int32_t)out.s[0],
                    .h = (int32_t)out.s[1],
                    .w = (int32_t)out.s[2],
                    .block = q->target->block};
  for (int i = 0; i < PZ_SPATIAL; i++)
    s.kernel[i] = a->kernel[i], s.stride[i] = a->stride[i], s.dilation[i] = a->dilation[i],
    s.pad[i] = joined ? a->pad_lo[i] : 1;
  return s;
}

/* With the schedule that the model takes. */
static pz_conv_direct_shape scheduled(const pz_query *q, int32_t in_block, bool joined) {
  const pz_conv_machine machine = pz_conv_machine_of(q->target);
  pz_conv_direct_shape s = outline(q, in_block, joined);
  if (s.out.c > 0) pz_conv_direct_schedule(&s, &machine);
  return s;
}

/* ---- schedules (NeoCPU 3.3.1): those that the model tells apart least are candidates ---- */

#define FAR 1.25 /* times the best one's cycles: not worth measuring */

static pz_conv_ranking ranking_of(const pz_query *q) {
  const pz_conv_machine machine = pz_conv_machine_of(q->target);
  pz_conv_direct_shape s = outline(q, q->target->block, true);
  return s.out.c > 0 ? pz_conv_direct_ranking(&s, &machine) : (pz_conv_ranking){0};
}

static bool vary(const pz_query *q, int32_t i, pz_parameters *parameters) {
  *parameters = (pz_parameters){{i}};
  if (i == 0) return true;
  if (q->problem->attr.conv.group != 1) return false;
  const pz_conv_ranking r = ranking_of(q);
  return i < r.n && r.at[i].cycles <= FAR * r.at[0].cycles;
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  const int32_t rank = q->parameters.of[0];
  *error = PZ_SUM_ERROR;
  if (rank) snprintf(label, PZ_LABEL_TEXT, "direct, schedule %d", rank + 1);
  else snprintf(label, PZ_LABEL_TEXT, "direct");
}

/* What the schedule's tiles take beside products at peak, in products: loads, latency, rests. */
static double waits_of(const pz_query *q, int32_t in_block) {
  const pz_conv_machine machine = pz_conv_machine_of(q->target);
  const pz_conv_direct_shape s = scheduled(q, in_block, false);
  const int32_t rank = q->parameters.of[0];
  if (s.out.c <= 0) return 0;
  const pz_conv_ranking r = rank ? ranking_of(q) : (pz_conv_ranking){0};
  const double more = rank && rank < r.n ? r.at[rank].cycles - r.at[0].cycles : 0;
  return fmax(0, 2 * (pz_conv_direct_cycles(&s, &machine) + more) - pz_conv_direct_products(q));
}

static double uneven_of(const pz_query *q, int32_t in_block) {
  if (q->target->workers < 2 || q->problem->op != PZ_OP_CONV || q->problem->attr.conv.group > 1) return 1;
  const pz_conv_direct_shape s = scheduled(q, in_block, true);
  return s.out.c > 0 ? pz_uneven((double)pz_conv_direct_pieces(&s, q->target->workers), q->target->workers)
                     : 1;
}
static double direct_uneven(const pz_query *q) { return uneven_of(q, q->target->block); }
static double small_cin_uneven(const pz_query *q) { return uneven_of(q, 1); }

static void work_of(const pz_query *q, int32_t in_block, pz_work *w) {
  w->of[PZ_TERM_direct_lanes] = pz_conv_lane_products(q);
  w->of[PZ_TERM_direct_waits] = q->problem->attr.conv.group == 1 ? waits_of(q, in_block) : 0;
  w->of[PZ_TERM_direct_inputs] = pz_conv_input_vectors(q);
  w->of[PZ_TERM_direct_results] = pz_conv_result_vectors(q);
  w->of[PZ_TERM_direct_weights] = pz_conv_taps_of(q) * pz_conv_weight_pairs(q) / q->target->block;
}
static void direct_work(const pz_query *q, pz_work *w) {
  w->of[PZ_TERM_direct_products] = pz_conv_direct_products(q);
  work_of(q, q->target->block, w);
}
/* Where nothing has been fitted this is the one to take: nothing is left to be converted. */
static void small_cin_work(const pz_query *q, pz_work *w) {
  w->of[PZ_TERM_direct_nchw] = 0.99 * pz_conv_direct_products(q);
  work_of(q, 1, w);
}

const pz_solver pz_solver_conv_direct = {.name = "direct",
                                         .direct = true,
                                         .overwrites = pz_conv_overwrites,
                                         .op = PZ_OP_CONV,
                                         .in = PZ_NCHWC,
                                         .out = PZ_NCHWC,
                                         .family = PZ_FAMILY_direct,
                                         .work = direct_work,
                                         .uneven = direct_uneven,
                                         .weight_bytes = weight_bytes,
                                         .variants = PZ_CONV_RANKS,
                                         .vary = vary,
                                         .describe = describe,
                                         .emit = build_direct};

const pz_solver pz_solver_conv_direct_small_cin = {.name = "direct on NCHW input",
                                                   .direct = true,
                                                   .overwrites = pz_conv_overwrites,
                                                   .op = PZ_OP_CONV,
                                                   .in = PZ_NCHW,
                                                   .out = PZ_NCHWC,
                                                   .applies = pz_conv_small_cin,
                                                   .family = PZ_FAMILY_direct,
                                                   .work = small_cin_work,
                                                   .uneven = small_cin_uneven,
                                                   .emit = build_small_cin};
