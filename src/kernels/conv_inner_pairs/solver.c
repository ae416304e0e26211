/* solver.c: convolutions of 1x1x1, and deconvolutions whose kernel is their stride, with channels multiplied in inner pairs
 * (kernels/conv_inner_pairs/conv_inner_pairs.h). */
#include "kernels/conv/solver.h"
#include "kernels/conv_direct/solver.h"
#include "kernels/conv_inner_pairs/pack.h"
#include "kernels/deconv/solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIGN = PZ_ALIGN / sizeof(float) };

/* ---- calls ---- */

/* The product that it is: `conv` scheduled, weights [phases, K, C]. */
static pz_status add_product(const pz_query *q, pz_builder *b, const pz_conv_direct_shape *conv,
                             const pz_conv_operands *p, const float *weights, pz_error *err) {
  pz_conv_inner_pairs_shape s = {.conv = *conv, .held = !q->target->double_pumped};
  pz_pointer packed, taken;
  void *data;
  pz_conv_inner_pairs_schedule(&s, pz_conv_machine_of(q->target).registers);
  const int64_t floats = (pz_conv_direct_weight_floats(&s.conv) + ALIGN - 1) / ALIGN * ALIGN;
  PZ_TRY(pz_add_weights(b, PZ_F32, floats + pz_conv_inner_pairs_taken_floats(&s), &packed, &data, err));
  if (!b->unpacked && !b->dry) pz_conv_inner_pairs_pack(&s, weights, data, (float *)data + floats);
  taken = pz_pointer_behind(packed, PZ_F32, floats);
  pz_text shape = {0};
  pz_text_conv_inner_pairs(&shape, &s);
  pz_arg args[9] = {
      {.name = "in", .at = p->in.at}, {.name = "weights", .at = packed}, {.name = "taken", .at = taken}};
  int32_t n = pz_conv_epilogue_args(p, args, 3);
  args[n++] = (pz_arg){
      .name = "scratch", .written = true, .at = pz_add_scratch(b, PZ_F32, pz_conv_inner_pairs_scratch(&s))};
  PZ_TRY(pz_add_call(b, "kernels/conv_inner_pairs/conv_inner_pairs.h", "pz_conv_inner_pairs", &shape, args, n,
                     err));
  const int32_t steps = pz_winograd_steps_of_inner_pairs(s.conv.in.c, s.conv.in.block);
  b->step->multiply_adds_done +=
      (double)pz_conv_inner_pairs_points(&s) * steps * s.conv.phases * s.conv.out.c; /* one for a pair */
  return pz_set_algorithm(b, err, "direct 1x1x1 of %d phases, %d blocks x %d points, inner pairs",
                          s.conv.phases, s.conv.kb, s.conv.rw);
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands p;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  const pz_conv_direct_shape s = pz_conv_shape_of(q, &p);
  return add_product(q, b, &s, &p, q->problem->in[PZ_CONV_WEIGHT].data, err);
}

static pz_status build_deconv(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands all, p;
  pz_deconv_phase phase;
  float *weights;
  PZ_TRY(pz_conv_begin(q, placed, b, &all, err));
  const pz_conv_direct_shape s = pz_conv_shape_of(q, &all);
  pz_deconv_phase_of(&s, PZ_DECONV_ALL, 0, &phase);
  PZ_TRY(pz_conv_phase_operands(q, b, &s, &phase, &all, &p, &weights, err));
  const pz_status status = add_product(q, b, &phase.shape, &p, weights, err);
  free(weights);
  return status;
}

/* ---- which applies ---- */

static pz_shape5 shape_of(const pz_operand *operand) { return pz_shape_as5(&operand->shape); }

/* Relative L2 error: 1.7e-7 with 64 channels in, and more of more, above all where inputs have one sign (doc/notes/2026-11-28-winograd.md). */
static double error_of(const pz_query *q) {
  const double channels = (double)shape_of(&q->problem->in[PZ_CONV_X]).c;
  return hypot(1.3 * PZ_SUM_ERROR * sqrt(fmax(1, channels / 64)),
               q->problem->in[PZ_CONV_X].one_sign ? 1e-9 * channels : 0);
}

#define MANY 100 /* points: of fewer, weights are what is waited for */

/* Not where the result's moments are collected. */
static bool applies(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const pz_shape5 x = shape_of(&q->problem->in[PZ_CONV_X]), y = shape_of(&q->problem->out[0]);
  int64_t phases = 1;
  for (int i = 0; i < PZ_SPATIAL; i++) phases *= a->kernel[i];
  return pz_conv_is_product(q->problem) &&
         pz_conv_has_inner_pairs(q->target, x.c, phases * y.c, PZ_CONV_INNER_PAIRS_FROM) &&
         x.n * x.s[0] * x.s[1] * x.s[2] >= MANY && !q->problem->epilogue.norm_stats;
}

static void work(const pz_query *q, pz_work *w) {
  w->of[PZ_TERM_inner_pairs_products] =
      q->target->inner_pairs * (pz_conv_direct_products(q) + pz_conv_lane_products(q));
  w->of[PZ_TERM_inner_pairs_results] = pz_conv_result_vectors(q);
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "direct, inner pairs");
  *error = error_of(q);
}

const pz_solver pz_solver_conv_inner_pairs = {.name = "direct, inner pairs",
                                              .op = PZ_OP_CONV,
                                              .in = PZ_NCHWC,
                                              .out = PZ_NCHWC,
                                              .applies = applies,
                                              .family = PZ_FAMILY_inner_pairs,
                                              .work = work,
                                              .emit = build,
                                              .overwrites = pz_conv_overwrites,
                                              .describe = describe};
const pz_solver pz_solver_deconv_inner_pairs = {.name = "direct, inner pairs",
                                                .op = PZ_OP_DECONV,
                                                .in = PZ_NCHWC,
                                                .out = PZ_NCHWC,
                                                .applies = applies,
                                                .family = PZ_FAMILY_inner_pairs,
                                                .work = work,
                                                .emit = build_deconv,
                                                .overwrites = pz_conv_overwrites,
                                                .describe = describe};
