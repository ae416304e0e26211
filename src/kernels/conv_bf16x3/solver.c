/* solver.c: convolution of few NCHW channels by products of bf16x3 on AMX tiles (kernels/conv_bf16x3/bf16x3.h). Variants: three terms of each
 * factor, or two. */
#include "kernels/conv/solver.h"
#include "kernels/conv_bf16x2/solver.h"
#include "kernels/conv_bf16x3/pack.h"

#include <stdio.h>

static const int32_t terms[] = {3, 2};

static int32_t terms_of(const pz_query *q) { return q->parameters.of[0]; }
static double error_of(const pz_query *q) { return terms_of(q) == 3 ? PZ_BF16X3_ERROR : PZ_BF16X2_ERROR; }

/* The shape, as far as the number of products depends on it. */
static pz_conv_bf16x3_shape outline_of(const pz_query *q) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  pz_conv_bf16x3_shape s = {.terms = terms_of(q)};
  s.conv.in.c = (int32_t)pz_shape_as5(&q->problem->in[PZ_CONV_X].shape).c;
  s.conv.out = (pz_view){.c = (int32_t)out.c, .w = (int32_t)out.s[2], .block = PZ_BF16X3_TILE};
  s.conv.phases = 1;
  for (int i = 0; i < PZ_SPATIAL; i++) s.conv.kernel[i] = q->problem->attr.conv.kernel[i];
  return s;
}
/* Of tiles, of a row of results. */
static double products_of(const pz_conv_bf16x3_shape *s) {
  return (double)pz_bf16x3_row_tiles(s) * pz_conv_outer_blocks(&s->conv) * pz_bf16x3_steps(s) *
         (s->terms == 3 ? 6 : 3);
}

static bool applies(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->stride[i] != 1 || a->dilation[i] != 1) return false;
  if (!pz_conv_has_tiles(q->target) || a->group != 1 || !pz_conv_small_cin(q)) return false;
  const pz_conv_bf16x3_shape s = outline_of(q);
  return pz_bf16x3_values(&s) <= PZ_BF16X3_MOST_VALUES && a->kernel[2] <= PZ_BF16X3_WIDEST;
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_operands p;
  pz_pointer weights;
  void *packed;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  pz_conv_bf16x3_shape s = {.conv = pz_conv_shape_of(q, &p), .terms = terms_of(q)};
  pz_bf16x3_schedule(&s);
  PZ_TRY(pz_add_weights(b, PZ_BF16, 2 * pz_bf16x3_weight_pairs(&s), &weights, &packed, err));
  const float *data = q->problem->in[PZ_CONV_WEIGHT].data;
  if (!b->unpacked && !b->dry) pz_bf16x3_pack(&s, data, packed);
  pz_text shape = {0};
  pz_text_conv_bf16x3(&shape, &s);
  PZ_TRY(pz_conv_add_scratch_call(b, &p, weights, PZ_BF16, "kernels/conv_bf16x3/bf16x3.h", "pz_conv_bf16x3",
                                  &shape, false, pz_bf16x3_scratch(&s), err));
  b->step->multiply_adds_done +=
      PZ_BF16X2_MULTIPLY_ADDS * products_of(&s) * s.conv.out.n * s.conv.out.d * s.conv.out.h;
  return pz_set_algorithm(b, err, "bf16x%d taps %dx%dx%d, strips of %d rows", s.terms, s.conv.kernel[0],
                          s.conv.kernel[1], s.conv.kernel[2], s.rows);
}

/* What a product of tiles, a vector of results and a line of columns that is moved take beside each other (doc/notes/2026-11-28-convolutions.md), in what the model of
 * Winograd's rows counts, which take 6.5 ms of Residual's first layer where these take 5.5. */
#define PRODUCT 6.0
#define RESULT  6.5
#define LINE    4.3

static void work(const pz_query *q, pz_work *w) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  const pz_conv_bf16x3_shape s = outline_of(q);
  const double lines = (double)pz_bf16x3_column_groups(&s) * pz_bf16x3_values(&s) * s.terms,
               results = (double)out.s[2] * pz_conv_outer_blocks(&s.conv);
  const double rows = (double)(out.n * out.s[0] * out.s[1]);
  w->of[PZ_TERM_bf16x3_products] = rows * products_of(&s) * PRODUCT;
  w->of[PZ_TERM_bf16x3_results] = rows * results * RESULT;
  w->of[PZ_TERM_bf16x3_lines] = rows * lines * LINE * pz_bf16x3_groups(&s);
}

static double weight_bytes(const pz_query *q) {
  const pz_conv_bf16x3_shape s = outline_of(q);
  return 4.0 * (double)pz_bf16x3_weight_pairs(&s);
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "bf16x%d taps", terms_of(q));
  *error = error_of(q);
}

const pz_solver pz_solver_conv_bf16x3 = {.name = "bf16x3 taps",
                                         .op = PZ_OP_CONV,
                                         .in = PZ_NCHW,
                                         .out = PZ_NCHWC,
                                         .applies = applies,
                                         .family = PZ_FAMILY_bf16x3,
                                         .work = work,
                                         .emit = build,
                                         .overwrites = pz_conv_overwrites,
                                         .variants = sizeof terms / sizeof *terms,
                                         .choices = terms,
                                         .describe = describe,
                                         .weight_bytes = weight_bytes,
                                         .caps = PZ_CAP_CHANNELS_LAST,
                                         .needs_amx = true};
