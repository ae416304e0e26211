/* solver.c: convolution by direct summation, outer products of blocks (kernels/conv_direct/direct.h); the out channels behind the last whole
 * block by sums over lanes (kernels/conv_dot/tail.h). */
#include "kernels/conv/ways.h"
#include "kernels/conv_direct/pack.h"
#include "kernels/conv_direct/schedule.h"
#include "kernels/conv_direct/solver.h"
#include "kernels/conv_dot/solver.h"
#include "kernels/conv_dot/tail.h"

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
                                              true,
                                              true,
                                              pz_conv_ways};

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

double pz_conv_direct_cost(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const int32_t in = (int32_t)pz_conv_cin(q), out = (int32_t)pz_conv_cout(q);
  const int32_t taps = a->kernel[0] * a->kernel[1] * a->kernel[2];
  const bool cuts = q->problem->op == PZ_OP_CONV && a->group == 1;
  const int32_t tail = cuts ? pz_conv_tail_channels(out, in, q->target->block, taps) : 0;
  return pz_conv_vectors(q, in, pz_block_count(out - tail, q->target->block)) +
         pz_conv_vectors(q, 1, 1) / taps * pz_conv_tail_cost(tail, in, q->target->block, taps);
}

static double small_cin_cost(const pz_query *q) { return 0.99 * pz_conv_direct_cost(q); }

const pz_solver pz_solver_conv_direct = {.name = "direct",
                                         .direct = true,
                                         .overwrites = pz_conv_overwrites,
                                         .op = PZ_OP_CONV,
                                         .in = PZ_NCHWC,
                                         .out = PZ_NCHWC,
                                         .cost = pz_conv_direct_cost,
                                         .weight_bytes = weight_bytes,
                                         .emit = build_direct};

const pz_solver pz_solver_conv_direct_small_cin = {.name = "direct on NCHW input",
                                                   .direct = true,
                                                   .overwrites = pz_conv_overwrites,
                                                   .op = PZ_OP_CONV,
                                                   .in = PZ_NCHW,
                                                   .out = PZ_NCHWC,
                                                   .applies = pz_conv_small_cin,
                                                   .cost = small_cin_cost,
                                                   .emit = build_small_cin};
