/* solve_winograd_rows.c: convolution of few plain maps by minimal filtering along the width alone (kernels/winograd/rows.h). Variants:
 * the results of a tile. */
#include "kernels/winograd/pack_rows.h"
#include "plan/solve_conv.h"

#include <stdio.h>

static const int32_t outputs_of_tile[] = {2, 4, 6};
enum { VARIANTS = 3 };

static int32_t outputs_of(const pz_plan *plan, const pz_node *node) {
  return outputs_of_tile[pz_variant_of(plan, node)];
}

static double error_of(const pz_plan *plan, const pz_node *node) {
  return PZ_SUM_ERROR * pz_winograd_growth_of_error(node->attr.conv.kernel[2], outputs_of(plan, node));
}

static bool applies(const pz_plan *plan, const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  const pz_shape5 out = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape);
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->stride[i] != 1 || a->dilation[i] != 1) return false;
  return a->group == 1 && (a->kernel[2] == 3 || a->kernel[2] == 5) && pz_conv_few_inputs(plan, node) &&
         out.s[2] >= outputs_of(plan, node) && pz_conv_error_fits(plan, error_of(plan, node));
}

static pz_winograd_rows_shape shape_for(const pz_plan *plan, const pz_node *node,
                                        const pz_conv_direct_shape *conv) {
  pz_winograd_rows_shape s = {.conv = *conv, .m = outputs_of(plan, node)};
  pz_winograd_rows_schedule(&s, pz_conv_this_machine(plan).registers);
  return s;
}

static pz_status build(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_conv_parts p;
  pz_pointer weights;
  float *packed;
  PZ_TRY(pz_conv_begin(plan, node, PZ_PLAIN, PZ_BLOCKED, &p, err));
  const pz_conv_direct_shape conv = pz_conv_shape_of(plan, node, &p);
  const pz_winograd_rows_shape s = shape_for(plan, node, &conv);
  PZ_TRY(pz_add_weights(plan, pz_winograd_rows_weight_floats(&s), &weights, &packed, err));
  if (!plan->dry) pz_winograd_rows_pack(&s, plan->graph->tensors[node->in[PZ_CONV_WEIGHT]].data, packed);
  pz_text shape = {0};
  pz_text_append(&shape, ".conv = {");
  pz_conv_shape_text(&shape, &s.conv);
  pz_text_printf(&shape, "}, .m = %d, .kb = %d, .rw = %d", s.m, s.kb, s.rw);
  PZ_TRY(pz_conv_add_scratch_call(plan, step, &p, weights, "kernels/winograd/rows.h", "pz_winograd_rows",
                                  &shape, pz_winograd_rows_scratch(&s), err));
  const double tiles = (double)s.conv.out.n * s.conv.out.d * s.conv.out.h * pz_winograd_rows_tiles(&s),
               rows = (double)s.conv.in.c * s.conv.kernel[0] * s.conv.kernel[1];
  step->multiply_adds_done += tiles * rows * pz_winograd_rows_a(&s) * s.conv.out.c;
  return pz_set_algorithm(plan, step, err, "Winograd F(%d) of rows %dx%dx%d, %d blocks x %d tiles", s.m,
                          s.conv.kernel[0], s.conv.kernel[1], s.conv.kernel[2], s.kb, s.rw);
}

/* In vector multiply-adds at peak: products, and what inputs of tiles and results take on their way (doc/notes/2026-11-28-winograd.md). */
#define INPUT     0.5
#define RESULT(m) (0.4 + 0.45 * (m))

static double cost(const pz_plan *plan, const pz_node *node) {
  const pz_shape5 out = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape);
  const int32_t *kernel = node->attr.conv.kernel;
  pz_winograd_rows_shape s = {.m = outputs_of(plan, node)};
  s.conv.out = (pz_view){.c = (int32_t)out.c, .w = (int32_t)out.s[2], .block = plan->block};
  s.conv.kernel[2] = kernel[2], s.conv.phases = 1;
  pz_winograd_rows_schedule(&s, pz_conv_this_machine(plan).registers);
  const double maps = (double)pz_shape_as5(&plan->graph->tensors[node->in[PZ_CONV_X]].shape).c,
               a = pz_winograd_rows_a(&s), blocks = pz_conv_outer_blocks(&s.conv),
               products = blocks * maps * kernel[0] * kernel[1] * a * pz_winograd_rows_steps(&s),
               others =
                   pz_winograd_rows_tiles(&s) * (blocks * s.m * RESULT(s.m) + maps * kernel[0] * a * INPUT);
  return (double)(out.n * out.s[0] * out.s[1]) * (products + others);
}

static void describe(const pz_plan *plan, const pz_node *node, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "Winograd F(%d) of rows", outputs_of(plan, node));
  *error = error_of(plan, node);
}

static double weight_floats(const pz_plan *plan, const pz_node *node) {
  const int32_t *kernel = node->attr.conv.kernel;
  return pz_conv_weight_pairs(plan, node) * kernel[0] * kernel[1] * (outputs_of(plan, node) + kernel[2] - 1);
}

const pz_solver pz_solver_winograd_rows = {.name = "Winograd of rows",
                                           .op = PZ_OP_CONV,
                                           .in = PZ_PLAIN,
                                           .out = PZ_BLOCKED,
                                           .applies = applies,
                                           .cost = cost,
                                           .build = build,
                                           .variants = VARIANTS,
                                           .describe = describe,
                                           .weight_floats = weight_floats,
                                           .knows_tight = true};
