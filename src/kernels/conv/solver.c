/* solver.c: convolution and deconvolution by direct summation, with one of three kernels: outer products of
 * blocks (kernels/conv/direct.h), few output channels (dot.h; also those behind the last whole block, tail.h), channel by channel
 * (depthwise.h). A deconvolution is a convolution for each phase of its stride (deconv.h). */
#include "base/memory.h"
#include "kernels/conv/deconv.h"
#include "kernels/conv/pack.h"
#include "kernels/conv/pack_depthwise.h"
#include "kernels/conv/pack_dot.h"
#include "kernels/conv/schedule.h"
#include "kernels/conv/tail.h"
#include "kernels/norm/shape.h"
#include "kernels/conv/solver.h"
#include "kernels/norm/solver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels ---- */

static void schedule_direct(pz_conv_direct_shape *s, const pz_conv_machine *m) {
  pz_conv_direct_schedule(s, m);
}
static void schedule_depthwise(pz_conv_direct_shape *s, const pz_conv_machine *m) {
  pz_conv_depthwise_schedule(s, m->registers);
}
static void schedule_dot(pz_conv_direct_shape *s, const pz_conv_machine *m) {
  pz_conv_dot_schedule(s, m->registers);
}

typedef struct method {
  const char *name, *header, *function;
  void (*schedule)(pz_conv_direct_shape *s, const pz_conv_machine *m);
  int64_t (*weight_floats)(const pz_conv_direct_shape *s);
  void (*pack)(const pz_conv_direct_shape *s, const float *weights, float *packed);
  bool merges;         /* the phases of a deconvolution along w can be one call */
  bool collects_stats; /* moments of results */
} method;
static const method direct = {"direct",
                              "kernels/conv/direct.h",
                              "pz_conv_direct",
                              schedule_direct,
                              pz_conv_direct_weight_floats,
                              pz_conv_direct_pack,
                              true,
                              true};
static const method depthwise = {"depthwise",
                                 "kernels/conv/depthwise.h",
                                 "pz_conv_depthwise",
                                 schedule_depthwise,
                                 pz_conv_depthwise_weight_floats,
                                 pz_conv_depthwise_pack,
                                 false,
                                 false};
static const method dot = {
    "direct, lanes over input channels", "kernels/conv/dot.h", "pz_conv_dot", schedule_dot,
    pz_conv_dot_weight_floats,           pz_conv_dot_pack,     false,         false};

pz_status pz_conv_begin(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_conv_operands *p,
                        pz_error *err) {
  const pz_operand *in = q->problem->in;
  p->out = placed->out[0];
  p->in = placed->in[PZ_CONV_X];
  p->residual = (pz_storage){.tensor = PZ_NONE};
  p->norm_stats = p->pooled = (pz_pointer){PZ_SPACE_NULL, 0, 0};
  if (in[PZ_CONV_RESIDUAL].present) p->residual = placed->in[PZ_CONV_RESIDUAL];
  PZ_TRY(pz_add_channel_vector(b, &in[PZ_CONV_BIAS], p->out.view.c, &p->bias, err));
  PZ_TRY(pz_add_channel_vector(b, &in[PZ_CONV_RESIDUAL_SCALE], p->out.view.c, &p->residual_scale, err));
  return pz_add_channel_vector(b, &in[PZ_CONV_SLOPE], p->out.view.c, &p->slope, err);
}

uint32_t pz_conv_overwrites(const pz_query *q) {
  const pz_operand *residual = &q->problem->in[PZ_CONV_RESIDUAL];
  return residual->present && residual->same == PZ_CONV_RESIDUAL ? 1u << PZ_CONV_RESIDUAL : 0;
}

void pz_conv_pool(const pz_query *q, const pz_placed *placed, pz_conv_operands *p, pz_conv_direct_shape *conv,
                  pz_view *pooled, int32_t window[PZ_SPATIAL]) {
  if (placed->pooled.tensor == PZ_NONE) return;
  p->pooled = placed->pooled.at, *pooled = placed->pooled.view, conv->stream = false;
  memcpy(window, q->problem->epilogue.pool, PZ_SPATIAL * sizeof *window);
}

pz_status pz_conv_tell_pool(pz_builder *b, const pz_view *pooled, const int32_t window[PZ_SPATIAL],
                            pz_error *err) {
  if (!pooled->c) return PZ_OK;
  return pz_set_algorithm(b, err, "%s, maximum of %dx%dx%d", b->step->algorithm, window[0], window[1],
                          window[2]);
}

pz_conv_direct_shape pz_conv_shape_of(const pz_query *q, const pz_conv_operands *p) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  pz_conv_direct_shape s = {.in = p->in.view,
                            .out = p->out.view,
                            .groups = a->group,
                            .phases = 1,
                            .phases_h = 1,
                            .phases_d = 1,
                            .act = (int32_t)a->act.kind,
                            .alpha = a->act.alpha,
                            .beta = a->act.beta,
                            .has_bias = p->bias.space != PZ_SPACE_NULL,
                            .has_residual_scale = p->residual_scale.space != PZ_SPACE_NULL};
  if (p->residual.tensor != PZ_NONE) s.residual = p->residual.view;
  memcpy(s.kernel, a->kernel, sizeof s.kernel);
  memcpy(s.stride, a->stride, sizeof s.stride);
  memcpy(s.dilation, a->dilation, sizeof s.dilation);
  memcpy(s.pad, a->pad_lo, sizeof s.pad);
  /* The whole buffer: rows of it may be all that is seen. Not a sum, whose lines are in cache already, nor the phases of a
   * deconvolution, which write every other line (doc/notes/2026-11-28-winograd.md). */
  s.stream = q->problem->op == PZ_OP_CONV && !s.residual.c && !s.out.channels_last &&
             4 * s.out.n * s.out.stride_n > q->target->caches.l3 / 2;
  return s;
}

/* ---- one call ---- */

pz_status pz_conv_add_narrow_call(pz_builder *b, const pz_conv_operands *p, pz_pointer weights, pz_dtype type,
                                  const char *header, const char *function, pz_text *shape,
                                  int64_t scratch_floats, pz_error *err) {
  const pz_arg args[] = {
      {.name = "in", .at = p->in.at},
      {.name = "weights", .at = weights, .type = type},
      {.name = "bias", .at = p->bias},
      {.name = "slope", .at = p->slope},
      {.name = "out", .written = true, .at = p->out.at},
      {.name = "scratch", .written = true, .at = pz_add_scratch(b, PZ_F32, scratch_floats)}};
  return pz_add_call(b, header, function, shape, args, 6, err);
}

int32_t pz_conv_epilogue_args(const pz_conv_operands *p, pz_arg *args, int32_t n) {
  args[n++] = (pz_arg){.name = "bias", .at = p->bias};
  args[n++] = (pz_arg){.name = "residual", .at = p->residual.at};
  args[n++] = (pz_arg){.name = "residual_scale", .at = p->residual_scale};
  args[n++] = (pz_arg){.name = "slope", .at = p->slope};
  args[n++] = (pz_arg){.name = "out", .written = true, .at = p->out.at};
  return n;
}

pz_status pz_conv_add_scratch_call(pz_builder *b, const pz_conv_operands *p, pz_pointer weights,
                                   pz_dtype type, const char *header, const char *function, pz_text *shape,
                                   int64_t scratch_floats, pz_error *err) {
  pz_arg args[8] = {{.name = "in", .at = p->in.at}, {.name = "weights", .at = weights, .type = type}};
  int32_t n = pz_conv_epilogue_args(p, args, 2);
  args[n++] = (pz_arg){.name = "scratch", .written = true, .at = pz_add_scratch(b, PZ_F32, scratch_floats)};
  return pz_add_call(b, header, function, shape, args, n, err);
}

pz_conv_machine pz_conv_machine_of(const pz_target *target) {
  return (pz_conv_machine){.registers = target->registers,
                           .l1 = target->caches.l1d,
                           .l2 = target->caches.l2,
                           .workers = target->workers};
}

/* Schedules `s`, packs its weights [phases, K, C/groups, taps] and adds the call. */
static pz_status add_conv(const pz_query *q, pz_builder *b, const method *m, pz_conv_direct_shape *s,
                          const pz_conv_operands *p, const float *weights, pz_error *err) {
  const pz_conv_machine machine = pz_conv_machine_of(q->target);
  pz_pointer packed;
  void *data;
  m->schedule(s, &machine);
  PZ_TRY(pz_add_weights(b, PZ_F32, m->weight_floats(s), &packed, &data, err));
  if (!b->unpacked && !b->dry) m->pack(s, weights, data);
  pz_text shape = {0};
  pz_text_conv_direct(&shape, s);
  pz_arg args[8] = {{.name = "in", .at = p->in.at}, {.name = "weights", .at = packed}};
  int32_t n = pz_conv_epilogue_args(p, args, 2);
  if (m->collects_stats) args[n++] = (pz_arg){.name = "norm_stats", .written = true, .at = p->norm_stats};
  return pz_add_call(b, m->header, m->function, &shape, args, n, err);
}

/* ---- moments of the result ---- */

/* What a call for `s` will collect of each block. */
static int32_t units_of(const pz_query *q, const method *m, pz_conv_direct_shape s) {
  const pz_conv_machine machine = pz_conv_machine_of(q->target);
  s.stats_units = 1;
  m->schedule(&s, &machine);
  return pz_conv_units(&s);
}
/* Results that go past the caches would have to be read again: a pass of its own costs no more. */
static bool collects_stats(const pz_query *q, const method *m, const pz_conv_direct_shape *s) {
  return m->collects_stats && !s->stream && q->problem->epilogue.norm_stats;
}
/* All calls together collect s->collects units. */
static pz_status collect_stats(pz_builder *b, const pz_conv_direct_shape *s, pz_conv_operands *p,
                               pz_error *err) {
  if (!s->stats_units) return PZ_OK;
  return pz_add_norm_stats(b, &p->out.view, s->stats_units, &p->norm_stats, err);
}

/* ---- convolution ---- */

/* The parts of the whole convolution as its tail sees them. */
static pz_conv_operands operands_of_tail(const pz_conv_operands *whole, const pz_conv_tail *tail) {
  pz_conv_operands p = *whole;
  p.out.at = pz_pointer_behind(p.out.at, PZ_F32, tail->out_offset);
  p.residual.at = pz_pointer_behind(p.residual.at, PZ_F32, tail->base_offset);
  p.bias = pz_pointer_behind(p.bias, PZ_F32, tail->first);
  p.residual_scale = pz_pointer_behind(p.residual_scale, PZ_F32, tail->first);
  p.slope = pz_pointer_behind(p.slope, PZ_F32, tail->first);
  return p;
}

static pz_status build_conv(const pz_query *q, const pz_placed *placed, pz_builder *b, const method *m,
                            bool from_plain, pz_error *err) {
  const float *weights = q->problem->in[PZ_CONV_WEIGHT].data;
  char rest[48] = "";
  pz_conv_operands p;
  pz_conv_tail tail;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  pz_conv_direct_shape s = pz_conv_shape_of(q, &p);
  const bool cut = pz_conv_cut_tail(&s, &tail);
  if (cut && s.out.c) {
    const pz_conv_operands rest_operands = operands_of_tail(&p, &tail);
    const float *behind = weights ? weights + tail.weights_offset : NULL;
    PZ_TRY(add_conv(q, b, &dot, &tail.shape, &rest_operands, behind, err));
    snprintf(rest, sizeof rest, ", %d channels over lanes", tail.shape.out.c);
  } else if (cut) s = tail.shape, m = &dot;
  else if (collects_stats(q, m, &s)) s.stats_units = units_of(q, m, s);
  PZ_TRY(collect_stats(b, &s, &p, err));
  PZ_TRY(add_conv(q, b, m, &s, &p, weights, err));
  return pz_set_algorithm(b, err, "%s%s %dx%dx%d, %d blocks x %d points%s", m->name,
                          from_plain ? " on plain input" : "", s.kernel[0], s.kernel[1], s.kernel[2], s.kb,
                          s.rw * s.rh, rest);
}

static pz_status build_direct(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return build_conv(q, placed, b, &direct, false, err);
}
static pz_status build_small_cin(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return build_conv(q, placed, b, &direct, true, err);
}
static pz_status build_depthwise(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return build_conv(q, placed, b, &depthwise, false, err);
}
static pz_status build_dot(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return build_conv(q, placed, b, &dot, false, err);
}

/* ---- deconvolution ---- */

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

static pz_status add_phase(const pz_query *q, pz_builder *b, const method *m,
                           const pz_conv_direct_shape *whole, pz_deconv_phase *phase, pz_conv_operands *all,
                           pz_error *err) {
  pz_conv_operands p;
  float *weights;
  PZ_TRY(pz_conv_phase_operands(q, b, whole, phase, all, &p, &weights, err));
  const pz_status status = add_conv(q, b, m, &phase->shape, &p, weights, err);
  free(weights);
  if (phase->shape.stats_units)
    all->norm_stats = pz_pointer_behind(all->norm_stats, PZ_F32,
                                        pz_conv_units(&phase->shape) * pz_norm_record(&all->out.view));
  return status;
}

bool pz_conv_is_product(const pz_problem *problem) {
  const pz_attr_conv *a = &problem->attr.conv;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    const int32_t stride = problem->op == PZ_OP_DECONV ? a->stride[i] : 1;
    if (a->kernel[i] != stride || a->stride[i] != stride || a->dilation[i] != 1 || a->pad_lo[i] ||
        a->pad_hi[i] || a->output_pad[i])
      return false;
  }
  return a->group == 1;
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

static pz_status build_phases(const pz_query *q, const pz_placed *placed, pz_builder *b, const method *m,
                              pz_error *err) {
  pz_conv_operands p;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  pz_conv_direct_shape s = pz_conv_shape_of(q, &p);
  const pz_deconv_merge merge = m->merges ? pz_deconv_merges(&s) : PZ_DECONV_EACH;
  const int32_t n = pz_deconv_phases(&s, merge);
  pz_deconv_phase phase = {.out_offset = 0};
  const bool wanted = collects_stats(q, m, &s);
  for (int32_t i = 0; i < n && wanted; i++)
    if (pz_deconv_phase_of(&s, merge, i, &phase)) s.stats_units += units_of(q, m, phase.shape);
  PZ_TRY(collect_stats(b, &s, &p, err));
  s.ahead = ahead_of(q);
  for (int32_t i = 0; i < n; i++)
    if (pz_deconv_phase_of(&s, merge, i, &phase)) PZ_TRY(add_phase(q, b, m, &s, &phase, &p, err));
  return pz_set_algorithm(b, err, "%s %dx%dx%d in %d phases, %d blocks x %d points%s", m->name, s.kernel[0],
                          s.kernel[1], s.kernel[2], n, phase.shape.kb, phase.shape.rw * phase.shape.rh,
                          ahead_text(s.ahead));
}

static pz_status build_deconv(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  return build_phases(q, placed, b, &direct, err);
}
static pz_status build_deconv_depthwise(const pz_query *q, const pz_placed *placed, pz_builder *b,
                                        pz_error *err) {
  return build_phases(q, placed, b, &depthwise, err);
}

/* ---- which applies ---- */

static int64_t channels_in(const pz_query *q) { return pz_shape_as5(&q->problem->in[PZ_CONV_X].shape).c; }
static int64_t channels_out(const pz_query *q) { return pz_shape_as5(&q->problem->out[0].shape).c; }

static bool is_depthwise(const pz_query *q) {
  return q->problem->attr.conv.group > 1 && q->problem->attr.conv.group == channels_in(q) &&
         channels_in(q) == channels_out(q);
}

bool pz_conv_small_cin(const pz_query *q) {
  return q->problem->in[PZ_CONV_X].nchw && 2 * channels_in(q) <= q->target->block;
}

/* The result leaves the network, and nothing else reads it: plain is what is wanted. */
bool pz_conv_small_cout(const pz_query *q) {
  return q->problem->attr.conv.group == 1 && 2 * channels_out(q) <= q->target->block &&
         q->problem->out[0].nchw;
}

bool pz_conv_narrow_beside(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const int64_t out = channels_out(q);
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->stride[i] != 1 || a->dilation[i] != 1) return false;
  return a->kernel[0] == 1 && a->kernel[2] > 1 && out <= PZ_CONV_NARROW &&
         out * a->kernel[2] <= q->target->block && pz_conv_small_cout(q) &&
         !q->problem->in[PZ_CONV_RESIDUAL].present;
}

bool pz_conv_has_inner_pairs(const pz_target *target, int64_t in, int64_t out, int64_t least) {
  return target->adds_apart && target->block == 16 && in >= least && out >= least;
}

/* Vector multiply-adds, without the rests: a tap is one at each result, of a deconvolution at each input. */
static double vectors(const pz_query *q, int64_t in, int64_t out) {
  const pz_operand *at = q->problem->op == PZ_OP_DECONV ? &q->problem->in[PZ_CONV_X] : &q->problem->out[0];
  const pz_shape5 s = pz_shape_as5(&at->shape);
  const pz_attr_conv *a = &q->problem->attr.conv;
  return (double)(s.n * s.s[0] * s.s[1] * s.s[2]) * a->kernel[0] * a->kernel[1] * a->kernel[2] *
         (double)(in * out);
}
double pz_conv_weight_pairs(const pz_query *q) {
  return (double)channels_in(q) / q->problem->attr.conv.group *
         (double)(pz_block_count(channels_out(q), q->target->block) * q->target->block);
}
static double weight_bytes(const pz_query *q) {
  const int32_t *k = q->problem->attr.conv.kernel;
  return 4.0 * k[0] * k[1] * k[2] * pz_conv_weight_pairs(q);
}
double pz_conv_direct_cost(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const int32_t in = (int32_t)channels_in(q), out = (int32_t)channels_out(q);
  const int32_t taps = a->kernel[0] * a->kernel[1] * a->kernel[2];
  const bool cuts = q->problem->op == PZ_OP_CONV && a->group == 1;
  const int32_t tail = cuts ? pz_conv_tail_channels(out, in, q->target->block, taps) : 0;
  return vectors(q, in, pz_block_count(out - tail, q->target->block)) +
         vectors(q, 1, 1) / taps * pz_conv_tail_cost(tail, in, q->target->block, taps);
}
static double small_cin_cost(const pz_query *q) { return 0.99 * pz_conv_direct_cost(q); }
/* As the tail of a direct convolution, and then nothing is left to be converted. */
static double dot_cost(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const int32_t in = (int32_t)channels_in(q), out = (int32_t)channels_out(q);
  const int32_t taps = a->kernel[0] * a->kernel[1] * a->kernel[2];
  return 0.99 * vectors(q, 1, 1) / taps * pz_conv_tail_cost(out, in, q->target->block, taps);
}
static double depthwise_cost(const pz_query *q) {
  return vectors(q, 1, pz_block_count(channels_out(q), q->target->block));
}

const pz_solver pz_solver_conv_direct = {.name = "direct",
                                         .direct = true,
                                         .overwrites = pz_conv_overwrites,
                                         .op = PZ_OP_CONV,
                                         .in = PZ_NCHWC,
                                         .out = PZ_NCHWC,
                                         .cost = pz_conv_direct_cost,
                                         .weight_bytes = weight_bytes,
                                         .emit = build_direct};
const pz_solver pz_solver_conv_direct_small_cin = {.name = "direct on plain input",
                                                   .direct = true,
                                                   .overwrites = pz_conv_overwrites,
                                                   .op = PZ_OP_CONV,
                                                   .in = PZ_NCHW,
                                                   .out = PZ_NCHWC,
                                                   .applies = pz_conv_small_cin,
                                                   .cost = small_cin_cost,
                                                   .emit = build_small_cin};
const pz_solver pz_solver_conv_dot = {.name = "direct, lanes over input channels",
                                      .direct = true,
                                      .overwrites = pz_conv_overwrites,
                                      .op = PZ_OP_CONV,
                                      .in = PZ_NCHWC,
                                      .out = PZ_NCHW,
                                      .applies = pz_conv_small_cout,
                                      .cost = dot_cost,
                                      .emit = build_dot};
const pz_solver pz_solver_conv_depthwise = {.name = "depthwise",
                                            .direct = true,
                                            .overwrites = pz_conv_overwrites,
                                            .op = PZ_OP_CONV,
                                            .in = PZ_NCHWC,
                                            .out = PZ_NCHWC,
                                            .applies = is_depthwise,
                                            .cost = depthwise_cost,
                                            .emit = build_depthwise};
const pz_solver pz_solver_deconv_phases = {.name = "direct in phases",
                                           .direct = true,
                                           .overwrites = pz_conv_overwrites,
                                           .op = PZ_OP_DECONV,
                                           .in = PZ_NCHWC,
                                           .out = PZ_NCHWC,
                                           .cost = pz_conv_direct_cost,
                                           .emit = build_deconv,
                                           .variants = sizeof ahead / sizeof *ahead,
                                           .choices = ahead,
                                           .describe = describe_phases,
                                           .caps = PZ_CAP_CHANNELS_LAST};
const pz_solver pz_solver_deconv_depthwise = {.name = "depthwise in phases",
                                              .direct = true,
                                              .overwrites = pz_conv_overwrites,
                                              .op = PZ_OP_DECONV,
                                              .in = PZ_NCHWC,
                                              .out = PZ_NCHWC,
                                              .applies = is_depthwise,
                                              .cost = depthwise_cost,
                                              .emit = build_deconv_depthwise};
