/* solver_w.c: convolution of few NCHW channels by minimal filtering along the width alone (kernels/winograd_1d/winograd_1d_w.h). Variants:
 * the results of a tile. */
#include "kernels/conv/solver.h"
#include "kernels/winograd/solver.h"
#include "kernels/winograd_1d/pack_w.h"

#include <math.h>
#include <stdio.h>

static const int32_t outputs_of_tile[] = {2, 4, 6};
enum { VARIANTS = 3 };

static int32_t outputs_of(const pz_query *q) { return q->parameters.of[0]; }

static double error_of(const pz_query *q) {
  return PZ_SUM_ERROR * pz_winograd_growth_of_error(q->problem->attr.conv.kernel[2], outputs_of(q));
}

static bool applies(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->stride[i] != 1 || a->dilation[i] != 1) return false;
  return a->group == 1 && (a->kernel[2] == 3 || a->kernel[2] == 5) && pz_conv_small_cin(q) &&
         out.s[2] >= outputs_of(q);
}

static pz_winograd_1d_w_shape shape_for(const pz_query *q, const pz_conv_direct_shape *conv) {
  pz_winograd_1d_w_shape s = {.conv = *conv, .m = outputs_of(q)};
  pz_winograd_1d_w_schedule(&s, pz_conv_machine_of(q->target).registers);
  return s;
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands p;
  pz_pointer weights;
  void *packed;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  const pz_conv_direct_shape conv = pz_conv_shape_of(q, &p);
  pz_winograd_1d_w_shape s = shape_for(q, &conv);
  PZ_TRY(pz_conv_collect_stats(q, b, &s.conv, pz_winograd_1d_w_units(&s), &p, err));
  PZ_TRY(pz_add_weights(b, PZ_F32, pz_winograd_1d_w_weight_floats(&s), &weights, &packed, err));
  if (!b->dry) pz_winograd_1d_w_pack(&s, q->problem->in[PZ_CONV_WEIGHT].data, packed);
  pz_text shape = {0};
  pz_text_winograd_1d_w(&shape, &s);
  PZ_TRY(pz_conv_add_scratch_call(b, &p, weights, PZ_F32, "kernels/winograd_1d/winograd_1d_w.h",
                                  "pz_winograd_1d_w", &shape, true, pz_winograd_1d_w_scratch(&s), err));
  const double tiles = (double)s.conv.out.n * s.conv.out.d * s.conv.out.h * pz_winograd_1d_w_tiles(&s),
               rows = (double)s.conv.in.c * s.conv.kernel[0] * s.conv.kernel[1];
  b->step->multiply_adds_done += tiles * rows * pz_winograd_1d_w_a(&s) * s.conv.out.c;
  return pz_set_algorithm(b, err, "Winograd F(%d) 1-D along w, %dx%dx%d, %d blocks x %d tiles", s.m,
                          s.conv.kernel[0], s.conv.kernel[1], s.conv.kernel[2], s.kb, s.rw);
}

/* In vector multiply-adds at peak: products, and what inputs of tiles and results take on their way (doc/notes/2026-11-28-winograd.md). */
#define INPUT     0.5
#define RESULT(m) (0.4 + 0.45 * (m))

static void work(const pz_query *q, pz_work *w) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  const int32_t *kernel = q->problem->attr.conv.kernel;
  pz_winograd_1d_w_shape s = {.m = outputs_of(q)};
  s.conv.out = (pz_view){.c = (int32_t)out.c, .w = (int32_t)out.s[2], .block = q->target->block};
  s.conv.kernel[2] = kernel[2], s.conv.phases = 1;
  pz_winograd_1d_w_schedule(&s, pz_conv_machine_of(q->target).registers);
  const double channels = (double)pz_shape_as5(&q->problem->in[PZ_CONV_X].shape).c,
               a = pz_winograd_1d_w_a(&s), blocks = pz_conv_outer_blocks(&s.conv),
               rows = (double)(out.n * out.s[0] * out.s[1]), tiles = rows * pz_winograd_1d_w_tiles(&s);
  w->of[PZ_TERM_winograd_1d_products] =
      rows * blocks * channels * kernel[0] * kernel[1] * a * pz_winograd_1d_w_steps(&s);
  w->of[PZ_TERM_winograd_1d_results] = tiles * blocks * s.m * RESULT(s.m);
  w->of[PZ_TERM_winograd_1d_inputs] = tiles * channels * kernel[0] * a * INPUT;
}

/* Pieces are bands of a plane. */
static double uneven(const pz_query *q) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  const double bands = ceil((double)out.s[1] / PZ_WINOGRAD_BAND);
  return pz_uneven((double)(out.n * out.s[0]) * bands, q->target->workers);
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "Winograd F(%d) 1-D along w", outputs_of(q));
  *error = error_of(q);
}

static double weight_bytes(const pz_query *q) {
  const int32_t *kernel = q->problem->attr.conv.kernel;
  return 4 * pz_conv_weight_pairs(q) * kernel[0] * kernel[1] * (outputs_of(q) + kernel[2] - 1);
}

const pz_solver pz_solver_winograd_1d_w = {.name = "Winograd 1-D along w",
                                           .op = PZ_OP_CONV,
                                           .in = PZ_NCHW,
                                           .out = PZ_NCHWC,
                                           .applies = applies,
                                           .family = PZ_FAMILY_winograd_1d,
                                           .work = work,
                                           .uneven = uneven,
                                           .emit = build,
                                           .overwrites = pz_conv_overwrites,
                                           .variants = VARIANTS,
                                           .choices = outputs_of_tile,
                                           .describe = describe,
                                           .weight_bytes = weight_bytes,
                                           .caps = PZ_CAP_CHANNELS_LAST};
