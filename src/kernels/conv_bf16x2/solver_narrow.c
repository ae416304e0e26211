/* solver_narrow.c: convolution to few NCHW channels by products of bf16x2 on AMX tiles, taps along the width as channels
 * (kernels/conv_bf16x2/bf16x2_narrow.h). */
#include "kernels/conv/solver.h"
#include "kernels/conv_bf16x2/pack_narrow.h"
#include "kernels/conv_bf16x2/solver.h"

#include <stdio.h>

static bool applies(const pz_query *q) {
  const pz_shape5 in = pz_shape_as5(&q->problem->in[PZ_CONV_X].shape);
  return pz_conv_has_tiles(q->target) && in.c >= PZ_BF16X2_FEWEST_IN && pz_conv_narrow_beside(q);
}

/* The shape, as far as the number of products depends on it; products of tiles of a row of results. */
static pz_conv_bf16x2_narrow_shape outline_of(const pz_query *q) {
  pz_conv_bf16x2_narrow_shape s = {.rows = 1};
  s.conv.in.c = (int32_t)pz_shape_as5(&q->problem->in[PZ_CONV_X].shape).c;
  s.conv.out.w = (int32_t)pz_shape_as5(&q->problem->out[0].shape).s[2];
  s.conv.kernel[1] = q->problem->attr.conv.kernel[1], s.conv.kernel[2] = q->problem->attr.conv.kernel[2];
  return s;
}
static double products_of(const pz_conv_bf16x2_narrow_shape *s) {
  const int32_t blocks = pz_bf16x2_narrow_blocks(s);
  return (double)pz_bf16x2_narrow_row_tiles(s) * s->conv.kernel[1] *
         pz_bf16x2_products_of(blocks / 2, blocks % 2);
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands p;
  pz_pointer weights;
  void *packed;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  pz_conv_bf16x2_narrow_shape s = {.conv = pz_conv_shape_of(q, &p)};
  pz_bf16x2_narrow_schedule(&s);
  PZ_TRY(pz_add_weights(b, PZ_BF16, 2 * pz_bf16x2_narrow_weight_pairs(&s), &weights, &packed, err));
  const float *data = q->problem->in[PZ_CONV_WEIGHT].data;
  if (!b->unpacked && !b->dry) pz_bf16x2_narrow_pack(&s, data, packed);
  pz_text shape = {0};
  pz_text_conv_bf16x2_narrow(&shape, &s);
  PZ_TRY(pz_conv_add_narrow_call(b, &p, weights, PZ_BF16, "kernels/conv_bf16x2/bf16x2_narrow.h",
                                 "pz_conv_bf16x2_narrow", &shape, pz_bf16x2_narrow_scratch(&s), err));
  b->step->multiply_adds_done +=
      PZ_BF16X2_MULTIPLY_ADDS * products_of(&s) * s.conv.out.n * s.conv.out.d * s.conv.out.h;
  return pz_set_algorithm(b, err, "bf16x2 narrow %dx%dx%d, strips of %d rows", s.conv.kernel[0],
                          s.conv.kernel[1], s.conv.kernel[2], s.rows);
}

/* In vector multiply-adds at peak: a vector that is split; a column whose sums are added (doc/notes/2026-11-28-convolutions.md). */
#define VECTOR 7.0
#define COLUMN 5.0

static void work(const pz_query *q, pz_work *w) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  const pz_conv_bf16x2_narrow_shape s = outline_of(q);
  const double rows = (double)(out.n * out.s[0] * out.s[1]),
               columns = rows * (double)pz_bf16x2_narrow_columns(&s);
  w->of[PZ_TERM_bf16x2_narrow_products] = rows * products_of(&s) * PZ_BF16X2_PRODUCT;
  w->of[PZ_TERM_bf16x2_narrow_inputs] = columns * pz_bf16x2_narrow_blocks(&s) * VECTOR;
  w->of[PZ_TERM_bf16x2_narrow_columns] = columns * COLUMN;
}

static double weight_bytes(const pz_query *q) {
  const pz_conv_bf16x2_narrow_shape s = outline_of(q);
  return 4.0 * (double)pz_bf16x2_narrow_weight_pairs(&s);
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  (void)q;
  snprintf(label, PZ_LABEL_TEXT, "bf16x2 narrow");
  *error = PZ_BF16X2_ERROR;
}

const pz_solver pz_solver_conv_bf16x2_narrow = {.name = "bf16x2 narrow",
                                                .op = PZ_OP_CONV,
                                                .in = PZ_NCHWC,
                                                .out = PZ_NCHW,
                                                .applies = applies,
                                                .family = PZ_FAMILY_bf16x2_narrow,
                                                .work = work,
                                                .emit = build,
                                                .overwrites = pz_conv_overwrites,
                                                .describe = describe,
                                                .weight_bytes = weight_bytes,
                                                .caps = PZ_CAP_CHANNELS_LAST,
                                                .needs_amx = true};
