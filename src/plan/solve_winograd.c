/* solve_winograd.c: convolution by minimal filtering, F(2,3) along each axis of kernel 3 (kernels/winograd). */
#include "kernels/winograd/pack.h"
#include "plan/solve_conv.h"

#include <stdlib.h>

/* Tiles of a batch: a multiple of the points that the product holds in registers, few enough that a batch's transformed
 * inputs and products stay in level 2 for up to 64 maps. Fewer where the whole tensor has not many more. */
#define BATCH 24

static pz_winograd_shape shape_for(const pz_plan *plan, const pz_conv_direct_shape *conv) {
  pz_winograd_shape s = {.conv = *conv};
  const pz_conv_machine machine = pz_conv_this_machine(plan);
  const int64_t tiles = pz_winograd_all_tiles(&s);
  pz_winograd_schedule(&s, &machine,
                       tiles >= 4 * BATCH  ? BATCH
                       : tiles > BATCH / 2 ? BATCH / 2
                                           : (int32_t)tiles);
  return s;
}

static pz_status pack(pz_plan *plan, const pz_node *node, const pz_winograd_shape *s, pz_pointer *weights,
                      pz_error *err) {
  const int64_t pairs = (int64_t)s->conv.in.c * s->conv.out.c;
  float *packed, *plain = malloc((size_t)pairs * sizeof *plain);
  if (!plain) return pz_fail_memory(err, "transformed weights", (unsigned long long)pairs * 4);
  const pz_status status = pz_add_weights(plan, pz_winograd_weight_floats(s), weights, &packed, err);
  if (status == PZ_OK)
    pz_winograd_pack(s, plan->graph->tensors[node->in[PZ_CONV_WEIGHT]].data, plain, packed);
  free(plain);
  return status;
}

static pz_status build(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_conv_parts p;
  pz_pointer weights, scratch;
  PZ_TRY(pz_conv_begin(plan, node, PZ_BLOCKED, PZ_BLOCKED, &p, err));
  const pz_conv_direct_shape conv = pz_conv_shape_of(node, &p);
  const pz_winograd_shape s = shape_for(plan, &conv);
  PZ_TRY(pack(plan, node, &s, &weights, err));
  scratch = pz_add_scratch(plan, pz_winograd_scratch(&s));
  pz_text shape = {0};
  pz_text_append(&shape, ".conv = {");
  pz_conv_shape_text(&shape, &s.conv);
  pz_text_append(&shape, "}, .product = {");
  pz_conv_shape_text(&shape, &s.product);
  pz_text_append(&shape, "}");
  const pz_arg args[] = {{.name = "in", .at = p.in.at},
                         {.name = "weights", .at = weights},
                         {.name = "bias", .at = p.bias},
                         {.name = "base", .at = p.base.at},
                         {.name = "base_scale", .at = p.base_scale},
                         {.name = "slope", .at = p.slope},
                         {.name = "out", .written = true, .at = p.out.at},
                         {.name = "scratch", .written = true, .at = scratch}};
  PZ_TRY(pz_set_algorithm(plan, step, err, "Winograd F(%d,%d,%d), batches of %d, %d blocks x %d tiles",
                          pz_winograd_m(&s, 0), pz_winograd_m(&s, 1), pz_winograd_m(&s, 2), s.product.out.w,
                          s.product.kb, s.product.rw));
  return pz_add_call(plan, step, "kernels/winograd/winograd.h", "pz_winograd", &shape, args, 8, err);
}

/* ---- which applies ---- */

static bool applies(const pz_plan *plan, const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  int threes = 0;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    if (a->stride[i] != 1 || a->dilation[i] != 1 || (a->kernel[i] != 1 && a->kernel[i] != 3)) return false;
    threes += a->kernel[i] == 3;
  }
  return !plan->exact && threes >= 2 && a->group == 1;
}

/* The products of all tiles, and about four operations for each transformed value on either side. */
static double cost(const pz_plan *plan, const pz_node *node) {
  const pz_shape5 in = pz_shape_as5(&plan->graph->tensors[node->in[PZ_CONV_X]].shape);
  const pz_shape5 out = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape);
  const double blocks_in = (double)pz_block_count(in.c, plan->block),
               blocks_out = (double)pz_block_count(out.c, plan->block);
  double tiles = (double)out.n, points = 1;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    const bool three = node->attr.conv.kernel[i] == 3;
    tiles *= (double)(three ? (out.s[i] + 1) / 2 : out.s[i]);
    points *= three ? 4 : 1;
  }
  return tiles * points * ((double)in.c * blocks_out + 4 * (blocks_in + blocks_out));
}

const pz_solver pz_solver_winograd = {"Winograd", PZ_OP_CONV, PZ_BLOCKED, PZ_BLOCKED, applies, cost, build};
