/* solver_terms.c: convolution of few plain maps by products of bfloat16 terms on AMX tiles (kernels/conv/terms.h). Variants: three terms of each
 * factor, or two. */
#include "kernels/conv/pack_terms.h"
#include "kernels/conv/solver.h"
#include "kernels/conv/solver_halves.h"

#include <stdio.h>

static const int32_t terms[] = {3, 2};

static int32_t terms_of(const pz_query *q) { return q->parameters.of[0]; }
static double error_of(const pz_query *q) { return terms_of(q) == 3 ? PZ_TERMS_ERROR : PZ_HALVES_ERROR; }

/* The shape, as far as the number of products depends on it. */
static pz_conv_terms_shape outline_of(const pz_query *q) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  pz_conv_terms_shape s = {.terms = terms_of(q)};
  s.conv.in.c = (int32_t)pz_shape_as5(&q->problem->in[PZ_CONV_X].shape).c;
  s.conv.out = (pz_view){.c = (int32_t)out.c, .w = (int32_t)out.s[2], .block = PZ_TERMS_TILE};
  s.conv.phases = 1;
  for (int i = 0; i < PZ_SPATIAL; i++) s.conv.kernel[i] = q->problem->attr.conv.kernel[i];
  return s;
}
/* Of tiles, of a row of results. */
static double products_of(const pz_conv_terms_shape *s) {
  return (double)pz_terms_row_tiles(s) * pz_conv_outer_blocks(&s->conv) * pz_terms_steps(s) *
         (s->terms == 3 ? 6 : 3);
}

static bool applies(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->stride[i] != 1 || a->dilation[i] != 1) return false;
  if (!pz_conv_has_tiles(q->target) || a->group != 1 || !pz_conv_few_inputs(q)) return false;
  const pz_conv_terms_shape s = outline_of(q);
  return pz_terms_values(&s) <= PZ_TERMS_MOST_VALUES && a->kernel[2] <= PZ_TERMS_WIDEST;
}

static pz_status build(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_conv_parts p;
  pz_pointer weights;
  void *packed;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  pz_conv_terms_shape s = {.conv = pz_conv_shape_of(q, &p), .terms = terms_of(q)};
  pz_terms_schedule(&s);
  PZ_TRY(pz_add_weights(b, PZ_BF16, 2 * pz_terms_weight_pairs(&s), &weights, &packed, err));
  const float *data = q->problem->in[PZ_CONV_WEIGHT].data;
  if (!b->unpacked && !b->dry) pz_terms_pack(&s, data, packed);
  pz_text shape = {0};
  pz_text_conv_terms(&shape, &s);
  PZ_TRY(pz_conv_add_scratch_call(b, &p, weights, PZ_BF16, "kernels/conv/terms.h", "pz_conv_terms", &shape,
                                  pz_terms_scratch(&s), err));
  b->step->multiply_adds_done +=
      PZ_HALVES_MULTIPLY_ADDS * products_of(&s) * s.conv.out.n * s.conv.out.d * s.conv.out.h;
  return pz_set_algorithm(b, err, "%d bfloat16 terms of taps %dx%dx%d, strips of %d rows", s.terms,
                          s.conv.kernel[0], s.conv.kernel[1], s.conv.kernel[2], s.rows);
}

/* What a product of tiles, a vector of results and a line of columns that is moved take beside each other (doc/notes/2026-11-28-convolutions.md), in what the model of
 * Winograd's rows counts, which take 6.5 ms of Residual's first layer where these take 5.5. */
#define PRODUCT 6.0
#define RESULT  6.5
#define LINE    4.3

static double cost(const pz_query *q) {
  const pz_shape5 out = pz_shape_as5(&q->problem->out[0].shape);
  const pz_conv_terms_shape s = outline_of(q);
  const double lines = (double)pz_terms_column_groups(&s) * pz_terms_values(&s) * s.terms,
               results = (double)out.s[2] * pz_conv_outer_blocks(&s.conv);
  return (double)(out.n * out.s[0] * out.s[1]) *
         (products_of(&s) * PRODUCT + results * RESULT + lines * LINE * pz_terms_groups(&s));
}

static double weight_bytes(const pz_query *q) {
  const pz_conv_terms_shape s = outline_of(q);
  return 4.0 * (double)pz_terms_weight_pairs(&s);
}

static void describe(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "%d bfloat16 terms of taps", terms_of(q));
  *error = error_of(q);
}

const pz_solver pz_solver_conv_terms = {.name = "bfloat16 terms of taps",
                                        .op = PZ_OP_CONV,
                                        .in = PZ_PLAIN,
                                        .out = PZ_BLOCKED,
                                        .applies = applies,
                                        .cost = cost,
                                        .emit = build,
                                        .overwrites = pz_conv_overwrites,
                                        .variants = sizeof terms / sizeof *terms,
                                        .choices = terms,
                                        .describe = describe,
                                        .weight_bytes = weight_bytes,
                                        .knows_tight = true,
                                        .takes_tiles = true};
