/* solve_paired.c: convolutions of 1x1x1, and deconvolutions whose kernel is their stride, with maps multiplied in pairs
 * (kernels/winograd/paired.h). */
#include "kernels/winograd/pack_paired.h"
#include "plan/solve_conv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- calls ---- */

/* The product that it is: `conv` scheduled, weights [phases, K, C]. */
static pz_status add_product(pz_plan *plan, pz_step *step, const pz_conv_direct_shape *conv,
                             const pz_conv_parts *p, const float *weights, pz_error *err) {
  pz_winograd_paired_shape s = {.conv = *conv, .held = !plan->target->double_pumped};
  pz_pointer packed, taken;
  float *data;
  pz_winograd_paired_schedule(&s, pz_conv_this_machine(plan).registers);
  const int64_t floats =
      (pz_conv_direct_weight_floats(&s.conv) + PZ_ALIGN_FLOATS - 1) / PZ_ALIGN_FLOATS * PZ_ALIGN_FLOATS;
  PZ_TRY(pz_add_weights(plan, floats + pz_winograd_paired_taken_floats(&s), &packed, &data, err));
  if (!plan->unpacked && !plan->dry) pz_winograd_paired_pack(&s, weights, data, data + floats);
  taken = pz_pointer_behind(packed, floats);
  pz_text shape = {0};
  pz_text_append(&shape, ".conv = {");
  pz_conv_shape_text(&shape, &s.conv);
  pz_text_printf(&shape, "}, .held = %d", s.held);
  pz_arg args[9] = {
      {.name = "in", .at = p->in.at}, {.name = "weights", .at = packed}, {.name = "taken", .at = taken}};
  int32_t n = pz_conv_ends_args(p, args, 3);
  args[n++] = (pz_arg){
      .name = "scratch", .written = true, .at = pz_add_scratch(plan, pz_winograd_paired_scratch(&s))};
  PZ_TRY(pz_add_call(plan, step, "kernels/winograd/paired.h", "pz_winograd_paired", &shape, args, n, err));
  const int32_t steps = pz_winograd_steps_of_pairs(s.conv.in.c, s.conv.in.block);
  step->multiply_adds_done +=
      (double)pz_winograd_paired_points(&s) * steps * s.conv.phases * s.conv.out.c; /* one for a pair */
  return pz_set_algorithm(plan, step, err, "direct 1x1x1 of %d phases, %d blocks x %d points, in pairs",
                          s.conv.phases, s.conv.kb, s.conv.rw);
}

static pz_status build(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_conv_parts p;
  PZ_TRY(pz_conv_begin(plan, node, PZ_BLOCKED, PZ_BLOCKED, &p, err));
  const pz_conv_direct_shape s = pz_conv_shape_of(plan, node, &p);
  return add_product(plan, step, &s, &p, plan->graph->tensors[node->in[PZ_CONV_WEIGHT]].data, err);
}

static pz_status build_deconv(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_conv_parts all, p;
  pz_deconv_phase phase;
  float *weights;
  PZ_TRY(pz_conv_begin(plan, node, PZ_BLOCKED, PZ_BLOCKED, &all, err));
  const pz_conv_direct_shape s = pz_conv_shape_of(plan, node, &all);
  pz_deconv_phase_of(&s, PZ_DECONV_ALL, 0, &phase);
  PZ_TRY(pz_conv_phase_parts(plan, node, &s, &phase, &all, &p, &weights, err));
  const pz_status status = add_product(plan, step, &phase.shape, &p, weights, err);
  free(weights);
  return status;
}

/* ---- which applies ---- */

static pz_shape5 shape_of(const pz_plan *plan, pz_tensor_id id) {
  return pz_shape_as5(&plan->graph->tensors[id].shape);
}

/* Relative L2 error: 1.7e-7 with 64 maps in, and more of more, above all where inputs have one sign (doc/notes/2026-11-28-winograd.md). */
static double error_of(const pz_plan *plan, const pz_node *node) {
  const double maps = (double)shape_of(plan, node->in[PZ_CONV_X]).c;
  return hypot(1.3 * PZ_SUM_ERROR * sqrt(fmax(1, maps / 64)), pz_conv_one_sign(plan, node) ? 1e-9 * maps : 0);
}

#define MANY 100 /* points: of fewer, weights are what is waited for */

/* Not where the result's moments are gathered. */
static bool applies(const pz_plan *plan, const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  const pz_shape5 x = shape_of(plan, node->in[PZ_CONV_X]), y = shape_of(plan, node->out[0]);
  int64_t phases = 1;
  for (int i = 0; i < PZ_SPATIAL; i++) phases *= a->kernel[i];
  return pz_conv_is_product(node) && pz_conv_has_pairs(plan, x.c, phases * y.c, PZ_CONV_PAIRS_FROM) &&
         x.n * x.s[0] * x.s[1] * x.s[2] >= MANY && !pz_wants_moments(plan, node) &&
         pz_conv_error_fits(plan, error_of(plan, node));
}

static double cost(const pz_plan *plan, const pz_node *node) {
  return plan->target->pairs * pz_conv_direct_cost(plan, node);
}

static void describe(const pz_plan *plan, const pz_node *node, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "direct, in pairs");
  *error = error_of(plan, node);
}

const pz_solver pz_solver_conv_paired = {.name = "direct, in pairs",
                                         .op = PZ_OP_CONV,
                                         .in = PZ_BLOCKED,
                                         .out = PZ_BLOCKED,
                                         .applies = applies,
                                         .cost = cost,
                                         .build = build,
                                         .describe = describe};
const pz_solver pz_solver_deconv_paired = {.name = "direct, in pairs",
                                           .op = PZ_OP_DECONV,
                                           .in = PZ_BLOCKED,
                                           .out = PZ_BLOCKED,
                                           .applies = applies,
                                           .cost = cost,
                                           .build = build_deconv,
                                           .describe = describe};
