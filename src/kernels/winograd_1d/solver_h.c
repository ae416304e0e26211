/* solver_h.c: convolution to few NCHW channels by minimal filtering along the height, taps along the width as channels
 * (kernels/winograd_1d/winograd_1d_h.h). Variants: the rows of results of a tile. */
#include "kernels/conv/solver.h"
#include "kernels/winograd/solver.h"
#include "kernels/winograd_1d/pack_h.h"

#include <math.h>
#include <stdio.h>

static const int32_t outputs_of_tile[] = {2, 4, 6};
enum { VARIANTS = 3 };

static int32_t outputs_of(const pz_query *q) { return q->parameters.of[0]; }

static double error_of(const pz_query *q) {
  return PZ_SUM_ERROR * pz_winograd_growth_of_error(q->problem->attr.conv.kernel[1], outputs_of(q));
}

static bool applies(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  return pz_conv_narrow_beside(q) && (a->kernel[1] == 3 || a->kernel[1] == 5) && out.s[1] >= outputs_of(q);
}

static pz_winograd_1d_h_shape shape_for(const pz_query *q, const pz_conv_direct_shape *conv) {
  pz_winograd_1d_h_shape s = {.conv = *conv, .m = outputs_of(q)};
  pz_winograd_1d_h_schedule(&s);
  return s;
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands p;
  pz_pointer weights;
  void *packed;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  const pz_conv_direct_shape conv = pz_conv_shape_of(q, &p);
  const pz_winograd_1d_h_shape s = shape_for(q, &conv);
  PZ_TRY(pz_add_weights(b, PZ_F32, pz_winograd_1d_h_weight_floats(&s), &weights, &packed, err));
  if (!b->dry) pz_winograd_1d_h_pack(&s, q->problem->in[PZ_CONV_WEIGHT].data, packed);
  pz_text shape = {0};
  pz_text_winograd_1d_h(&shape, &s);
  PZ_TRY(pz_conv_add_narrow_call(b, &p, weights, PZ_F32, "kernels/winograd_1d/winograd_1d_h.h",
                                 "pz_winograd_1d_h", &shape, pz_winograd_1d_h_scratch(&s), err));
  b->step->multiply_adds_done += (double)s.conv.out.n * s.conv.out.d * pz_winograd_1d_h_tiles(&s) *
                                 pz_winograd_1d_h_count(&s) * pz_winograd_1d_h_a(&s) * s.conv.in.c *
                                 s.conv.out.c * s.conv.kernel[2];
  return pz_set_algorithm(b, err, "Winograd F(%d) 1-D along h, %dx%dx%d, %d at a time", s.m, s.conv.kernel[0],
                          s.conv.kernel[1], s.conv.kernel[2], s.rw);
}

/* In vector multiply-adds at peak, of a position of a column: a product, what a vector of inputs takes on its way, and what sums do; beside
 * what winograd/solver.c says, which is a third too little where a tile has ten positions along an axis (doc/notes/2026-11-28-winograd.md). */
#define PRODUCT 1.1
#define INPUT   3.0
#define RESULT  8.0

static void work(const pz_query *q, pz_work *w) {
  const pz_shape5 in = pz_shape_as5(&q->problem->in[PZ_CONV_X].shape),
                  out = pz_shape_as5(&q->problem->out[0].shape);
  pz_winograd_1d_h_shape s = {.m = outputs_of(q)};
  s.conv.out = (pz_view){.h = (int32_t)out.s[1], .w = (int32_t)out.s[2]};
  s.conv.kernel[1] = q->problem->attr.conv.kernel[1], s.conv.kernel[2] = q->problem->attr.conv.kernel[2];
  pz_winograd_1d_h_schedule(&s);
  const double columns = pz_winograd_1d_h_strips(&s) * s.rw,
               positions =
                   (double)(out.n * out.s[0]) * pz_winograd_1d_h_tiles(&s) * columns * pz_winograd_1d_h_a(&s);
  w->of[PZ_TERM_winograd_1d_products_h] = positions * PRODUCT * (double)in.c;
  w->of[PZ_TERM_winograd_1d_inputs_h] = positions * INPUT * (double)pz_block_count(in.c, q->target->block);
  w->of[PZ_TERM_winograd_1d_results_h] = positions * RESULT;
}

/* Pieces are rows of tiles. */
static double uneven(const pz_query *q) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  const double tiles = ceil((double)out.s[1] / outputs_of(q));
  return pz_uneven((double)(out.n * out.s[0]) * tiles, q->target->workers);
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "Winograd F(%d) 1-D along h", outputs_of(q));
  *error = error_of(q);
}

static double weight_bytes(const pz_query *q) {
  const double channels = (double)q->problem->in[PZ_CONV_WEIGHT].shape.dim[1];
  return 4 * channels * q->target->block * (outputs_of(q) + q->problem->attr.conv.kernel[1] - 1);
}

const pz_solver pz_solver_winograd_1d_h = {.name = "Winograd 1-D along h",
                                           .op = PZ_OP_CONV,
                                           .in = PZ_NCHWC,
                                           .out = PZ_NCHW,
                                           .applies = applies,
                                           .family = PZ_FAMILY_winograd_1d,
                                           .work = work,
                                           .uneven = uneven,
                                           .emit = build,
                                           .overwrites = pz_conv_overwrites,
                                           .variants = VARIANTS,
                                           .choices = outputs_of_tile,
                                           .describe = describe,
                                           .tile_rows = outputs_of,
                                           .weight_bytes = weight_bytes};
