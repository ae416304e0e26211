/* solve_winograd_columns.c: convolution to few plain maps by minimal filtering along the height, taps along the width as maps
 * (kernels/winograd/columns.h). Variants: the rows of results of a tile. */
#include "kernels/winograd/pack_columns.h"
#include "plan/solve_conv.h"

#include <stdio.h>

static const int32_t outputs_of_tile[] = {2, 4, 6};
enum { VARIANTS = 3 };

static int32_t outputs_of(const pz_plan *plan, const pz_node *node) {
  return outputs_of_tile[pz_variant_of(plan, node)];
}

static double error_of(const pz_plan *plan, const pz_node *node) {
  return PZ_SUM_ERROR * pz_winograd_growth_of_error(node->attr.conv.kernel[1], outputs_of(plan, node));
}

static bool applies(const pz_plan *plan, const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  const pz_shape5 out = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape);
  return pz_conv_few_beside(plan, node) && (a->kernel[1] == 3 || a->kernel[1] == 5) &&
         out.s[1] >= outputs_of(plan, node) && pz_conv_error_fits(plan, error_of(plan, node));
}

static pz_winograd_columns_shape shape_for(const pz_plan *plan, const pz_node *node,
                                           const pz_conv_direct_shape *conv) {
  pz_winograd_columns_shape s = {.conv = *conv, .m = outputs_of(plan, node)};
  pz_winograd_columns_schedule(&s);
  return s;
}

static pz_status build(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_conv_parts p;
  pz_pointer weights;
  float *packed;
  PZ_TRY(pz_conv_begin(plan, node, PZ_BLOCKED, PZ_PLAIN, &p, err));
  const pz_conv_direct_shape conv = pz_conv_shape_of(plan, node, &p);
  const pz_winograd_columns_shape s = shape_for(plan, node, &conv);
  PZ_TRY(pz_add_weights(plan, pz_winograd_columns_weight_floats(&s), &weights, &packed, err));
  if (!plan->dry) pz_winograd_columns_pack(&s, plan->graph->tensors[node->in[PZ_CONV_WEIGHT]].data, packed);
  pz_text shape = {0};
  pz_text_append(&shape, ".conv = {");
  pz_conv_shape_text(&shape, &s.conv);
  pz_text_printf(&shape, "}, .m = %d, .rw = %d", s.m, s.rw);
  PZ_TRY(pz_conv_add_few_call(plan, step, &p, weights, "kernels/winograd/columns.h", "pz_winograd_columns",
                              &shape, pz_winograd_columns_scratch(&s), err));
  step->multiply_adds_done += (double)s.conv.out.n * s.conv.out.d * pz_winograd_columns_tiles(&s) *
                              pz_winograd_columns_count(&s) * pz_winograd_columns_a(&s) * s.conv.in.c *
                              s.conv.out.c * s.conv.kernel[2];
  return pz_set_algorithm(plan, step, err, "Winograd F(%d) of columns %dx%dx%d, %d at a time", s.m,
                          s.conv.kernel[0], s.conv.kernel[1], s.conv.kernel[2], s.rw);
}

/* In vector multiply-adds at peak, of a position of a column: a product, what a vector of inputs takes on its way, and what sums do; beside
 * what solve_winograd.c says, which is a third too little where a tile has ten positions along an axis (doc/notes/2026-11-28-winograd.md). */
#define PRODUCT 1.1
#define INPUT   3.0
#define RESULT  8.0

static double cost(const pz_plan *plan, const pz_node *node) {
  const pz_shape5 in = pz_shape_as5(&plan->graph->tensors[node->in[PZ_CONV_X]].shape),
                  out = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape);
  pz_winograd_columns_shape s = {.m = outputs_of(plan, node)};
  s.conv.out = (pz_view){.h = (int32_t)out.s[1], .w = (int32_t)out.s[2]};
  s.conv.kernel[1] = node->attr.conv.kernel[1], s.conv.kernel[2] = node->attr.conv.kernel[2];
  pz_winograd_columns_schedule(&s);
  const double columns = pz_winograd_columns_strips(&s) * s.rw,
               position = PRODUCT * (double)in.c + INPUT * (double)pz_block_count(in.c, plan->block) + RESULT;
  return (double)(out.n * out.s[0]) * pz_winograd_columns_tiles(&s) * columns * pz_winograd_columns_a(&s) *
         position;
}

static void describe(const pz_plan *plan, const pz_node *node, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "Winograd F(%d) of columns", outputs_of(plan, node));
  *error = error_of(plan, node);
}

static double weight_floats(const pz_plan *plan, const pz_node *node) {
  const double maps = (double)plan->graph->tensors[node->in[PZ_CONV_WEIGHT]].shape.dim[1];
  return maps * plan->block * (outputs_of(plan, node) + node->attr.conv.kernel[1] - 1);
}

const pz_solver pz_solver_winograd_columns = {.name = "Winograd of columns",
                                              .op = PZ_OP_CONV,
                                              .in = PZ_BLOCKED,
                                              .out = PZ_PLAIN,
                                              .applies = applies,
                                              .cost = cost,
                                              .build = build,
                                              .variants = VARIANTS,
                                              .describe = describe,
                                              .tile_rows = outputs_of,
                                              .weight_floats = weight_floats};
