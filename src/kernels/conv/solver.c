/* solver.c: what the solvers of convolutions share (solver.h). */
#include "kernels/conv/solver.h"
#include "kernels/norm/solver.h"

#include <string.h>

pz_status pz_conv_begin(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_conv_operands *p,
                        pz_error *err) {
  const pz_operand *in = q->problem->in;
  p->out = placed->out[0];
  p->in = placed->in[PZ_CONV_X];
  p->residual = (pz_storage){.tensor = PZ_NONE};
  p->norm_stats = p->pooled = (pz_pointer){PZ_SPACE_NULL, 0, 0};
  p->factors = placed->pending.at;
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
                                   bool collects_stats, int64_t scratch_floats, pz_error *err) {
  pz_arg args[9] = {{.name = "in", .at = p->in.at}, {.name = "weights", .at = weights, .type = type}};
  int32_t n = pz_conv_epilogue_args(p, args, 2);
  if (collects_stats) args[n++] = (pz_arg){.name = "norm_stats", .written = true, .at = p->norm_stats};
  args[n++] = (pz_arg){.name = "scratch", .written = true, .at = pz_add_scratch(b, PZ_F32, scratch_floats)};
  return pz_add_call(b, header, function, shape, args, n, err);
}

pz_conv_machine pz_conv_machine_of(const pz_target *target) {
  return (pz_conv_machine){.registers = target->registers,
                           .lanes = pz_target_has(target, PZ_NEEDS_NEON),
                           .l1 = target->caches.l1d,
                           .l2 = target->caches.l2,
                           .workers = target->workers};
}

pz_conv_machine pz_conv_machine_for(const pz_query *q) {
  pz_conv_machine m = pz_conv_machine_of(q->target);
  if (q->problem->op == PZ_OP_CONV) m.rank = q->parameters.of[0];
  return m;
}

pz_status pz_conv_add(const pz_query *q, pz_builder *b, const pz_conv_method *m, pz_conv_direct_shape *s,
                      const pz_conv_operands *p, const float *weights, pz_error *err) {
  const pz_conv_machine machine = pz_conv_machine_for(q);
  pz_pointer packed;
  void *data;
  m->schedule(s, &machine);
  PZ_TRY(pz_add_weights(b, PZ_F32, m->weight_floats(s), &packed, &data, err));
  if (!b->unpacked && !b->dry) m->pack(s, weights, data);
  pz_text shape = {0};
  pz_text_conv_direct(&shape, s);
  pz_arg args[8] = {{.name = "in", .at = p->in.at}, {.name = "weights", .at = packed}};
  int32_t n = pz_conv_epilogue_args(p, args, 2);
  if (m->units) args[n++] = (pz_arg){.name = "norm_stats", .written = true, .at = p->norm_stats};
  PZ_TRY(pz_add_call(b, m->header, m->function, &shape, args, n, err));
  if (m->ways) pz_call_ways(b, "PZ_CONV_WAYS", m->ways(s, q->target->registers));
  return PZ_OK;
}

/* ---- moments of the result ---- */

int32_t pz_conv_units_with(const pz_query *q, const pz_conv_method *m, pz_conv_direct_shape s) {
  const pz_conv_machine machine = pz_conv_machine_for(q);
  s.stats_units = 1;
  m->schedule(&s, &machine);
  return m->units(&s);
}

/* Results that go past the caches would have to be read again: a pass of its own costs no more. */
bool pz_conv_collects_stats(const pz_query *q, const pz_conv_method *m, const pz_conv_direct_shape *s) {
  return m->units && !(m->streams && s->stream) && q->problem->epilogue.norm_stats;
}

pz_status pz_conv_add_stats(pz_builder *b, const pz_conv_direct_shape *s, pz_conv_operands *p,
                            pz_error *err) {
  if (!s->stats_units) return PZ_OK;
  return pz_add_norm_stats(b, &p->out.view, s->stats_units, &p->norm_stats, err);
}

pz_status pz_conv_collect_stats(const pz_query *q, pz_builder *b, pz_conv_direct_shape *s, int64_t units,
                                pz_conv_operands *p, pz_error *err) {
  if (!q->problem->epilogue.norm_stats || units > INT32_MAX) return PZ_OK;
  s->stats_units = (int32_t)units, s->stream = 0;
  return pz_conv_add_stats(b, s, p, err);
}

/* ---- convolution ---- */

pz_status pz_conv_build(const pz_query *q, const pz_placed *placed, pz_builder *b, const pz_conv_method *m,
                        pz_error *err) {
  pz_conv_operands p;
  PZ_TRY(pz_conv_begin(q, placed, b, &p, err));
  pz_conv_direct_shape s = pz_conv_shape_of(q, &p);
  if (pz_conv_collects_stats(q, m, &s)) s.stats_units = pz_conv_units_with(q, m, s);
  PZ_TRY(pz_conv_add_stats(b, &s, &p, err));
  PZ_TRY(pz_conv_add(q, b, m, &s, &p, q->problem->in[PZ_CONV_WEIGHT].data, err));
  return pz_set_algorithm(b, err, "%s %dx%dx%d, %d blocks x %d points", m->name, s.kernel[0], s.kernel[1],
                          s.kernel[2], s.kb, s.rw * s.rh);
}

/* ---- which applies ---- */

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

int64_t pz_conv_cin(const pz_query *q) { return pz_shape_as5(&q->problem->in[PZ_CONV_X].shape).c; }

int64_t pz_conv_cout(const pz_query *q) { return pz_shape_as5(&q->problem->out[0].shape).c; }

bool pz_conv_small_cin(const pz_query *q) {
  return q->problem->in[PZ_CONV_X].nchw && 2 * pz_conv_cin(q) <= q->target->block;
}

/* The result leaves the network, and nothing else reads it: NCHW is what is wanted. */
bool pz_conv_small_cout(const pz_query *q) {
  return q->problem->attr.conv.group == 1 && 2 * pz_conv_cout(q) <= q->target->block &&
         q->problem->out[0].nchw;
}

bool pz_conv_narrow_beside(const pz_query *q) {
  const pz_attr_conv *a = &q->problem->attr.conv;
  const int64_t out = pz_conv_cout(q);
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->stride[i] != 1 || a->dilation[i] != 1) return false;
  return a->kernel[0] == 1 && a->kernel[2] > 1 && out <= PZ_CONV_NARROW &&
         out * a->kernel[2] <= q->target->block && pz_conv_small_cout(q) &&
         !q->problem->in[PZ_CONV_RESIDUAL].present;
}

bool pz_conv_has_inner_pairs(const pz_target *target, int64_t in, int64_t out, int64_t least) {
  return target->adds_apart && target->block == 16 && in >= least && out >= least;
}

double pz_conv_vectors(const pz_query *q, int64_t in, int64_t out) {
  const pz_operand *at = q->problem->op == PZ_OP_DECONV ? &q->problem->in[PZ_CONV_X] : &q->problem->out[0];
  const pz_shape5 s = pz_shape_as5(&at->shape);
  const pz_attr_conv *a = &q->problem->attr.conv;
  return (double)(s.n * s.s[0] * s.s[1] * s.s[2]) * a->kernel[0] * a->kernel[1] * a->kernel[2] *
         (double)(in * out);
}

static double vectors_of(const pz_query *q, const pz_operand *o) {
  const pz_shape5 s = pz_shape_as5(&o->shape);
  return (double)(s.n * pz_block_count(s.c, q->target->block) * s.s[0] * s.s[1] * s.s[2]);
}
double pz_conv_input_vectors(const pz_query *q) { return vectors_of(q, &q->problem->in[PZ_CONV_X]); }
double pz_conv_result_vectors(const pz_query *q) { return vectors_of(q, &q->problem->out[0]); }

int32_t pz_conv_taps_of(const pz_query *q) {
  const int32_t *k = q->problem->attr.conv.kernel;
  return k[0] * k[1] * k[2];
}

double pz_conv_weight_pairs(const pz_query *q) {
  return (double)pz_conv_cin(q) / q->problem->attr.conv.group *
         (double)(pz_block_count(pz_conv_cout(q), q->target->block) * q->target->block);
}
