/* solver.c: a deconvolution is a convolution for each phase of its stride (kernels/deconv/deconv.h), here by direct summation. */
#include "base/memory.h"
#include "kernels/conv_direct/solver.h"
#include "kernels/deconv/solver.h"
#include "kernels/norm/shape.h"

#include <stdio.h>
#include <stdlib.h>

/* Of one whose kernel is its stride. Which is fastest depends on what a core fetches by itself and how many lines it waits for
 * (doc/notes/2026-11-28-convolutions.md), so it is measured. */
static const int32_t ahead[] = {PZ_CONV_AHEAD_PARTS, PZ_CONV_AHEAD_ROW, PZ_CONV_AHEAD_NONE};

pz_status pz_conv_phase_operands(const pz_query *q, const pz_builder *b, const pz_conv_direct_shape *whole,
                                 const pz_deconv_phase *phase, const pz_conv_operands *all,
                                 pz_conv_operands *p, float **weights, pz_error *err) {
  const int64_t floats = pz_deconv_weight_floats(phase);
  *p = *all;
  p->out.at = pz_pointer_behind(p->out.at, PZ_F32, phase->out_offset);
  p->residual.at = pz_pointer_behind(p->residual.at, PZ_F32, phase->base_offset);
  *weights = NULL;
  if (b->dry) return PZ_OK;
  *weights = pz_memory_allows((size_t)floats * 4) ? calloc((size_t)floats + 1, sizeof **weights) : NULL;
  if (!*weights) return pz_fail_memory(err, "weights of a deconvolution", (unsigned long long)floats * 4);
  pz_deconv_weights(whole, phase, q->problem->in[PZ_CONV_WEIGHT].data, *weights);
  return PZ_OK;
}

static pz_status add_phase(const pz_query *q, pz_builder *b, const pz_conv_method *m,
                           const pz_conv_direct_shape *whole, pz_deconv_phase *phase, pz_conv_operands *all,
                           pz_error *err) {
  pz_conv_operands p;
  float *weights;
  PZ_TRY(pz_conv_phase_operands(q, b, whole, phase, all, &p, &weights, err));
  const pz_status status = pz_conv_add(q, b, m, &phase->shape, &p, weights, err);
  free(weights);
  if (phase->shape.stats_units)
    all->norm_stats =
        pz_pointer_behind(all->norm_stats, PZ_F32, m->units(&phase->shape) * pz_norm_record(&all->out.view));
  return status;
}

/* What is fetched ahead. */
/* Without Base nothing of a row is fetched: two are one. */
static int32_t ahead_of(const pz_query *q) {
  const int32_t wanted = q->parameters.of[0];
  const bool same = wanted == PZ_CONV_AHEAD_NONE && !q->problem->in[PZ_CONV_RESIDUAL].present;
  return pz_conv_is_product(q->problem) && !same ? wanted : PZ_CONV_AHEAD_ROW;
}

static const char *ahead_text(int32_t ahead) {
  return ahead == PZ_CONV_AHEAD_PARTS  ? ", parts fetched"
         : ahead == PZ_CONV_AHEAD_NONE ? ", nothing fetched"
                                       : "";
}

static void describe_phases(const pz_query *q, char label[PZ_LABEL_TEXT], double *error) {
  snprintf(label, PZ_LABEL_TEXT, "direct in phases%s", ahead_text(ahead_of(q)));
  *error = PZ_SUM_ERROR;
}

static void work_of_phases(const pz_query *q, pz_work *w) {
  const int32_t wanted = ahead_of(q);
  const double results = pz_conv_result_vectors(q);
  w->of[PZ_TERM_deconv_products] = pz_conv_direct_products(q) + pz_conv_lane_products(q);
  w->of[PZ_TERM_deconv_inputs] = pz_conv_input_vectors(q);
  w->of[PZ_TERM_deconv_results] = results;
  const bool base = q->problem->in[PZ_CONV_RESIDUAL].present;
  if (wanted == PZ_CONV_AHEAD_PARTS) w->of[base ? PZ_TERM_deconv_parts_base : PZ_TERM_deconv_parts] = results;
  if (wanted == PZ_CONV_AHEAD_ROW) w->of[base ? PZ_TERM_deconv_row_base : PZ_TERM_deconv_row] = results;
}

pz_status pz_deconv_build(const pz_query *q, const pz_placed *placed, pz_builder *b, const pz_conv_method *m,
                          pz_error *err) {
  pz_conv_operands p;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  pz_conv_direct_shape s = pz_conv_shape_of(q, &p);
  const pz_deconv_merge merge = m->merges ? pz_deconv_merges(&s) : PZ_DECONV_EACH;
  const int32_t n = pz_deconv_phases(&s, merge);
  pz_deconv_phase phase = {.out_offset = 0};
  const bool wanted = pz_conv_collects_stats(q, m, &s);
  for (int32_t i = 0; i < n && wanted; i++)
    if (pz_deconv_phase_of(&s, merge, i, &phase)) s.stats_units += pz_conv_units_with(q, m, phase.shape);
  PZ_TRY(pz_conv_add_stats(b, &s, &p, err));
  s.ahead = ahead_of(q);
  for (int32_t i = 0; i < n; i++)
    if (pz_deconv_phase_of(&s, merge, i, &phase)) PZ_TRY(add_phase(q, b, m, &s, &phase, &p, err));
  return pz_set_algorithm(b, err, "%s %dx%dx%d in %d phases, %d blocks x %d points%s", m->name, s.kernel[0],
                          s.kernel[1], s.kernel[2], n, phase.shape.kb, phase.shape.rw * phase.shape.rh,
                          ahead_text(s.ahead));
}

static pz_status build_deconv(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return pz_deconv_build(q, placed, b, &pz_conv_direct_method, err);
}

const pz_solver pz_solver_deconv_phases = {.name = "direct in phases",
                                           .direct = true,
                                           .overwrites = pz_conv_overwrites,
                                           .op = PZ_OP_DECONV,
                                           .in = PZ_NCHWC,
                                           .out = PZ_NCHWC,
                                           .family = PZ_FAMILY_deconv,
                                           .work = work_of_phases,
                                           .emit = build_deconv,
                                           .variants = sizeof ahead / sizeof *ahead,
                                           .choices = ahead,
                                           .describe = describe_phases,
                                           .caps = PZ_CAP_CHANNELS_LAST};
