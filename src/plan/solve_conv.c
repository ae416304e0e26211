/* solve_conv.c: convolution and deconvolution by direct summation, with one of three kernels: outer products of
 * blocks (kernels/conv/direct.h), few output maps (reduce.h; also those behind the last whole block, tail.h), map by map
 * (depthwise.h). A deconvolution is a convolution for each phase of its stride (deconv.h). */
#include "base/memory.h"
#include "kernels/conv/deconv.h"
#include "kernels/conv/pack.h"
#include "kernels/conv/pack_depthwise.h"
#include "kernels/conv/pack_reduce.h"
#include "kernels/conv/schedule.h"
#include "kernels/conv/tail.h"
#include "kernels/norm/shape.h"
#include "plan/solve_conv.h"

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
static void schedule_reduce(pz_conv_direct_shape *s, const pz_conv_machine *m) {
  pz_conv_reduce_schedule(s, m->registers);
}

typedef struct method {
  const char *name, *header, *function;
  void (*schedule)(pz_conv_direct_shape *s, const pz_conv_machine *m);
  int64_t (*weight_floats)(const pz_conv_direct_shape *s);
  void (*pack)(const pz_conv_direct_shape *s, const float *weights, float *packed);
  bool merges;  /* the phases of a deconvolution along w can be one call */
  bool gathers; /* moments of results */
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
static const method reduce = {"direct, lanes over input maps",
                              "kernels/conv/reduce.h",
                              "pz_conv_reduce",
                              schedule_reduce,
                              pz_conv_reduce_weight_floats,
                              pz_conv_reduce_pack,
                              false,
                              false};

pz_status pz_conv_begin(pz_plan *plan, const pz_node *node, pz_layout in, pz_layout out, pz_conv_parts *p,
                        pz_error *err) {
  const pz_tensor_id base = node->in[PZ_CONV_BASE];
  bool in_place;
  if (base != PZ_NONE && base != node->in[PZ_CONV_X])
    PZ_TRY(pz_make_in_place(plan, base, node->out[0], out, &in_place, err));
  PZ_TRY(pz_output_storage(plan, node->out[0], out, &p->out, err));
  p->in = *pz_input_storage(plan, node->in[PZ_CONV_X], in);
  p->base = (pz_storage){.tensor = PZ_NONE};
  p->statistics = p->pooled = (pz_pointer){PZ_SPACE_NULL, 0, 0};
  if (base != PZ_NONE) p->base = *pz_input_storage(plan, base, out);
  PZ_TRY(pz_add_channel_vector(plan, node->in[PZ_CONV_BIAS], p->out.view.c, &p->bias, err));
  PZ_TRY(pz_add_channel_vector(plan, node->in[PZ_CONV_BASE_SCALE], p->out.view.c, &p->base_scale, err));
  return pz_add_channel_vector(plan, node->in[PZ_CONV_SLOPE], p->out.view.c, &p->slope, err);
}

pz_status pz_conv_pool(pz_plan *plan, pz_node_id n, pz_conv_parts *p, pz_conv_direct_shape *conv,
                       pz_view *pooled, int32_t window[PZ_SPATIAL], pz_error *err) {
  const pz_node_id pooling = pz_pooling_of(plan, n);
  pz_storage to;
  if (pooling == PZ_NONE) return PZ_OK;
  const pz_node *node = &plan->graph->nodes[pooling];
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_BLOCKED, &to, err));
  p->pooled = to.at, *pooled = to.view, conv->stream = false;
  memcpy(window, node->attr.pool.kernel, PZ_SPATIAL * sizeof *window);
  return PZ_OK;
}

pz_status pz_conv_tell_pool(pz_plan *plan, pz_step *step, const pz_view *pooled,
                            const int32_t window[PZ_SPATIAL], pz_error *err) {
  if (!pooled->c) return PZ_OK;
  return pz_set_algorithm(plan, step, err, "%s, maximum of %dx%dx%d", step->algorithm, window[0], window[1],
                          window[2]);
}

pz_conv_direct_shape pz_conv_shape_of(const pz_plan *plan, const pz_node *node, const pz_conv_parts *p) {
  const pz_attr_conv *a = &node->attr.conv;
  pz_conv_direct_shape s = {.in = p->in.view,
                            .out = p->out.view,
                            .groups = a->group,
                            .phases = 1,
                            .act = (int32_t)a->act.kind,
                            .alpha = a->act.alpha,
                            .beta = a->act.beta,
                            .has_bias = p->bias.space != PZ_SPACE_NULL,
                            .has_base_scale = p->base_scale.space != PZ_SPACE_NULL};
  if (p->base.tensor != PZ_NONE) s.base = p->base.view;
  memcpy(s.kernel, a->kernel, sizeof s.kernel);
  memcpy(s.stride, a->stride, sizeof s.stride);
  memcpy(s.dilation, a->dilation, sizeof s.dilation);
  memcpy(s.pad, a->pad_lo, sizeof s.pad);
  /* The whole buffer: rows of it may be all that is seen. Not a sum, whose lines are in cache already, nor the phases of a
   * deconvolution, which write every other line (doc/notes/2026-11-28-winograd.md). */
  s.stream = node->op == PZ_OP_CONV && !s.base.c && !s.out.tight &&
             4 * s.out.n * s.out.stride_n > plan->target->caches.l3 / 2;
  return s;
}

/* ---- one call ---- */

void pz_conv_shape_text(pz_text *t, const pz_conv_direct_shape *s) {
  pz_text_view(t, "in", &s->in);
  pz_text_view(t, "out", &s->out);
  if (s->base.c) pz_text_view(t, "base", &s->base);
  pz_text_ints(t, "kernel", s->kernel, 3);
  pz_text_ints(t, "stride", s->stride, 3);
  pz_text_ints(t, "dilation", s->dilation, 3);
  pz_text_ints(t, "pad", s->pad, 3);
  pz_text_printf(t, ".groups = %d, .phases = %d, .phases_h = %d, .phases_d = %d, .act = %d, ", s->groups,
                 s->phases, pz_conv_phases_h(s), pz_conv_phases_d(s), s->act);
  pz_text_float(t, "alpha", s->alpha);
  pz_text_float(t, "beta", s->beta);
  pz_text_printf(t,
                 ".has_bias = %d, .has_base_scale = %d, .stream = %d, .gathers = %d, .kb = %d, .rw = %d, .rh "
                 "= %d, .c_chunk = %d, .ahead = %d",
                 s->has_bias, s->has_base_scale, s->stream, s->gathers, s->kb, s->rw, s->rh, s->c_chunk,
                 s->ahead);
}

pz_status pz_conv_add_few_call(pz_plan *plan, pz_step *step, const pz_conv_parts *p, pz_pointer weights,
                               const char *header, const char *function, pz_text *shape,
                               int64_t scratch_floats, pz_error *err) {
  const pz_arg args[] = {{.name = "in", .at = p->in.at},
                         {.name = "weights", .at = weights},
                         {.name = "bias", .at = p->bias},
                         {.name = "slope", .at = p->slope},
                         {.name = "out", .written = true, .at = p->out.at},
                         {.name = "scratch", .written = true, .at = pz_add_scratch(plan, scratch_floats)}};
  return pz_add_call(plan, step, header, function, shape, args, 6, err);
}

int32_t pz_conv_ends_args(const pz_conv_parts *p, pz_arg *args, int32_t n) {
  args[n++] = (pz_arg){.name = "bias", .at = p->bias};
  args[n++] = (pz_arg){.name = "base", .at = p->base.at};
  args[n++] = (pz_arg){.name = "base_scale", .at = p->base_scale};
  args[n++] = (pz_arg){.name = "slope", .at = p->slope};
  args[n++] = (pz_arg){.name = "out", .written = true, .at = p->out.at};
  return n;
}

pz_status pz_conv_add_scratch_call(pz_plan *plan, pz_step *step, const pz_conv_parts *p, pz_pointer weights,
                                   const char *header, const char *function, pz_text *shape,
                                   int64_t scratch_floats, pz_error *err) {
  pz_arg args[8] = {{.name = "in", .at = p->in.at}, {.name = "weights", .at = weights}};
  int32_t n = pz_conv_ends_args(p, args, 2);
  args[n++] = (pz_arg){.name = "scratch", .written = true, .at = pz_add_scratch(plan, scratch_floats)};
  return pz_add_call(plan, step, header, function, shape, args, n, err);
}

pz_conv_machine pz_conv_this_machine(const pz_plan *plan) {
  const pz_target *target = plan->target;
  return (pz_conv_machine){.registers = target->registers,
                           .l1 = target->caches.l1d,
                           .l2 = target->caches.l2,
                           .workers = target->workers};
}

/* Schedules `s`, packs its weights [phases, K, C/groups, taps] and adds the call. */
static pz_status add_conv(pz_plan *plan, pz_step *step, const method *m, pz_conv_direct_shape *s,
                          const pz_conv_parts *p, const float *weights, pz_error *err) {
  const pz_conv_machine machine = pz_conv_this_machine(plan);
  pz_pointer packed;
  float *data;
  m->schedule(s, &machine);
  PZ_TRY(pz_add_weights(plan, m->weight_floats(s), &packed, &data, err));
  if (!plan->unpacked && !plan->dry) m->pack(s, weights, data);
  pz_text shape = {0};
  pz_conv_shape_text(&shape, s);
  pz_arg args[8] = {{.name = "in", .at = p->in.at}, {.name = "weights", .at = packed}};
  int32_t n = pz_conv_ends_args(p, args, 2);
  if (m->gathers) args[n++] = (pz_arg){.name = "statistics", .written = true, .at = p->statistics};
  return pz_add_call(plan, step, m->header, m->function, &shape, args, n, err);
}

/* ---- moments of the result ---- */

/* What a call for `s` will gather of each block. */
static int32_t units_of(const pz_plan *plan, const method *m, pz_conv_direct_shape s) {
  const pz_conv_machine machine = pz_conv_this_machine(plan);
  s.gathers = 1;
  m->schedule(&s, &machine);
  return pz_conv_units(&s);
}
/* Results that go past the caches would have to be read again: a pass of its own costs no more. */
static bool gathers(const pz_plan *plan, const pz_node *node, const method *m,
                    const pz_conv_direct_shape *s) {
  return m->gathers && !s->stream && pz_wants_moments(plan, node);
}
/* All calls together gather s->gathers units. */
static pz_status gather(pz_plan *plan, const pz_node *node, const pz_conv_direct_shape *s, pz_conv_parts *p,
                        pz_error *err) {
  if (!s->gathers) return PZ_OK;
  return pz_gather_moments(plan, node, &p->out.view, s->gathers, &p->statistics, err);
}

/* ---- convolution ---- */

/* The parts of the whole convolution as its tail sees them. */
static pz_conv_parts parts_of_tail(const pz_conv_parts *whole, const pz_conv_tail *tail) {
  pz_conv_parts p = *whole;
  p.out.at = pz_pointer_behind(p.out.at, tail->out_offset);
  p.base.at = pz_pointer_behind(p.base.at, tail->base_offset);
  p.bias = pz_pointer_behind(p.bias, tail->first);
  p.base_scale = pz_pointer_behind(p.base_scale, tail->first);
  p.slope = pz_pointer_behind(p.slope, tail->first);
  return p;
}

static pz_status build_conv(pz_plan *plan, const pz_node *node, pz_step *step, const method *m, pz_layout in,
                            pz_layout out, pz_error *err) {
  const float *weights = plan->graph->tensors[node->in[PZ_CONV_WEIGHT]].data;
  char rest[48] = "";
  pz_conv_parts p;
  pz_conv_tail tail;
  PZ_TRY(pz_conv_begin(plan, node, in, out, &p, err));
  pz_conv_direct_shape s = pz_conv_shape_of(plan, node, &p);
  const bool cut = pz_conv_cut_tail(&s, &tail);
  if (cut && s.out.c) {
    const pz_conv_parts q = parts_of_tail(&p, &tail);
    const float *behind = weights ? weights + tail.weights_offset : NULL;
    PZ_TRY(add_conv(plan, step, &reduce, &tail.shape, &q, behind, err));
    snprintf(rest, sizeof rest, ", %d maps over lanes", tail.shape.out.c);
  } else if (cut) s = tail.shape, m = &reduce;
  else if (gathers(plan, node, m, &s)) s.gathers = units_of(plan, m, s);
  PZ_TRY(gather(plan, node, &s, &p, err));
  PZ_TRY(add_conv(plan, step, m, &s, &p, weights, err));
  return pz_set_algorithm(plan, step, err, "%s%s %dx%dx%d, %d blocks x %d points%s", m->name,
                          in == PZ_PLAIN ? " on plain input" : "", s.kernel[0], s.kernel[1], s.kernel[2],
                          s.kb, s.rw * s.rh, rest);
}

static pz_status build_direct(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build_conv(plan, node, step, &direct, PZ_BLOCKED, PZ_BLOCKED, err);
}
static pz_status build_few_inputs(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build_conv(plan, node, step, &direct, PZ_PLAIN, PZ_BLOCKED, err);
}
static pz_status build_depthwise(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build_conv(plan, node, step, &depthwise, PZ_BLOCKED, PZ_BLOCKED, err);
}
static pz_status build_reduce(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build_conv(plan, node, step, &reduce, PZ_BLOCKED, PZ_PLAIN, err);
}

/* ---- deconvolution ---- */

/* Of one whose kernel is its stride. Which is fastest depends on what a core fetches by itself and how many lines it waits for
 * (doc/notes/2026-11-28-convolutions.md), so it is measured. */
enum { PHASES_VARIANTS = 3 };

pz_status pz_conv_phase_parts(const pz_plan *plan, const pz_node *node, const pz_conv_direct_shape *whole,
                              const pz_deconv_phase *phase, const pz_conv_parts *all, pz_conv_parts *p,
                              float **weights, pz_error *err) {
  const int64_t floats = pz_deconv_weight_floats(phase);
  *p = *all;
  p->out.at = pz_pointer_behind(p->out.at, phase->out_offset);
  p->base.at = pz_pointer_behind(p->base.at, phase->base_offset);
  *weights = NULL;
  if (plan->dry) return PZ_OK;
  *weights = pz_memory_allows((size_t)floats * 4) ? calloc((size_t)floats + 1, sizeof **weights) : NULL;
  if (!*weights) return pz_fail_memory(err, "weights of a deconvolution", (unsigned long long)floats * 4);
  pz_deconv_weights(whole, phase, plan->graph->tensors[node->in[PZ_CONV_WEIGHT]].data, *weights);
  return PZ_OK;
}

static pz_status add_phase(pz_plan *plan, const pz_node *node, pz_step *step, const method *m,
                           const pz_conv_direct_shape *whole, pz_deconv_phase *phase, pz_conv_parts *all,
                           pz_error *err) {
  pz_conv_parts p;
  float *weights;
  PZ_TRY(pz_conv_phase_parts(plan, node, whole, phase, all, &p, &weights, err));
  const pz_status status = add_conv(plan, step, m, &phase->shape, &p, weights, err);
  free(weights);
  if (phase->shape.gathers)
    all->statistics =
        pz_pointer_behind(all->statistics, pz_conv_units(&phase->shape) * pz_norm_record(&all->out.view));
  return status;
}

bool pz_conv_is_product(const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  for (int i = 0; i < PZ_SPATIAL; i++) {
    const int32_t stride = node->op == PZ_OP_DECONV ? a->stride[i] : 1;
    if (a->kernel[i] != stride || a->stride[i] != stride || a->dilation[i] != 1 || a->pad_lo[i] ||
        a->pad_hi[i] || a->output_pad[i])
      return false;
  }
  return a->group == 1;
}

/* What is fetched ahead, by the variant. Without Base nothing of a row is: two variants are one. */
static int32_t ahead_of(const pz_plan *plan, const pz_node *node) {
  static const int32_t ahead[PHASES_VARIANTS] = {PZ_CONV_AHEAD_PARTS, PZ_CONV_AHEAD_ROW, PZ_CONV_AHEAD_NONE};
  const int32_t wanted = ahead[pz_variant_of(plan, node)];
  const bool same = wanted == PZ_CONV_AHEAD_NONE && node->in[PZ_CONV_BASE] == PZ_NONE;
  return pz_conv_is_product(node) && !same ? wanted : PZ_CONV_AHEAD_ROW;
}
static const char *ahead_text(int32_t ahead) {
  return ahead == PZ_CONV_AHEAD_PARTS  ? ", parts fetched"
         : ahead == PZ_CONV_AHEAD_NONE ? ", nothing fetched"
                                       : "";
}
static void describe_phases(const pz_plan *plan, const pz_node *node, char label[PZ_LABEL_TEXT],
                            double *error) {
  snprintf(label, PZ_LABEL_TEXT, "direct in phases%s", ahead_text(ahead_of(plan, node)));
  *error = PZ_SUM_ERROR;
}

static pz_status build_phases(pz_plan *plan, const pz_node *node, pz_step *step, const method *m,
                              pz_error *err) {
  pz_conv_parts p;
  PZ_TRY(pz_conv_begin(plan, node, PZ_BLOCKED, PZ_BLOCKED, &p, err));
  pz_conv_direct_shape s = pz_conv_shape_of(plan, node, &p);
  const pz_deconv_merge merge = m->merges ? pz_deconv_merges(&s) : PZ_DECONV_EACH;
  const int32_t n = pz_deconv_phases(&s, merge);
  pz_deconv_phase phase = {.out_offset = 0};
  const bool wanted = gathers(plan, node, m, &s);
  for (int32_t i = 0; i < n && wanted; i++)
    if (pz_deconv_phase_of(&s, merge, i, &phase)) s.gathers += units_of(plan, m, phase.shape);
  PZ_TRY(gather(plan, node, &s, &p, err));
  s.ahead = ahead_of(plan, node);
  for (int32_t i = 0; i < n; i++)
    if (pz_deconv_phase_of(&s, merge, i, &phase)) PZ_TRY(add_phase(plan, node, step, m, &s, &phase, &p, err));
  return pz_set_algorithm(plan, step, err, "%s %dx%dx%d in %d phases, %d blocks x %d points%s", m->name,
                          s.kernel[0], s.kernel[1], s.kernel[2], n, phase.shape.kb,
                          phase.shape.rw * phase.shape.rh, ahead_text(s.ahead));
}

static pz_status build_deconv(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build_phases(plan, node, step, &direct, err);
}
static pz_status build_deconv_depthwise(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build_phases(plan, node, step, &depthwise, err);
}

/* ---- which applies ---- */

static int64_t maps_in(const pz_plan *plan, const pz_node *node) {
  return pz_shape_as5(&plan->graph->tensors[node->in[PZ_CONV_X]].shape).c;
}
static int64_t maps_out(const pz_plan *plan, const pz_node *node) {
  return pz_shape_as5(&plan->graph->tensors[node->out[0]].shape).c;
}

static bool is_depthwise(const pz_plan *plan, const pz_node *node) {
  return node->attr.conv.group > 1 && node->attr.conv.group == maps_in(plan, node) &&
         maps_in(plan, node) == maps_out(plan, node);
}

/* The maps are read from an input of the network, which is plain already, or from a padded copy of one: nothing has to
 * be converted. */
static bool comes_plain(const pz_plan *plan, const pz_node *node) {
  const pz_node_id maker = pz_graph_producer(plan->graph, node->in[PZ_CONV_X]);
  if (maker == PZ_NONE) return true;
  const pz_node *m = &plan->graph->nodes[maker];
  return m->op == PZ_OP_PAD && pz_graph_producer(plan->graph, m->in[0]) == PZ_NONE;
}
bool pz_conv_few_inputs(const pz_plan *plan, const pz_node *node) {
  return comes_plain(plan, node) && 2 * maps_in(plan, node) <= plan->block;
}

/* The result leaves the network, and nothing else reads it: plain is what is wanted. */
bool pz_conv_few_outputs(const pz_plan *plan, const pz_node *node) {
  return node->attr.conv.group == 1 && 2 * maps_out(plan, node) <= plan->block &&
         pz_graph_is_output(plan->graph, node->out[0]) && pz_graph_count_uses(plan->graph, node->out[0]) == 1;
}

bool pz_conv_few_beside(const pz_plan *plan, const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  const int64_t out = maps_out(plan, node);
  for (int i = 0; i < PZ_SPATIAL; i++)
    if (a->stride[i] != 1 || a->dilation[i] != 1) return false;
  return a->kernel[0] == 1 && a->kernel[2] > 1 && out <= PZ_CONV_FEW && out * a->kernel[2] <= plan->block &&
         pz_conv_few_outputs(plan, node) && node->in[PZ_CONV_BASE] == PZ_NONE;
}

bool pz_conv_has_pairs(const pz_plan *plan, int64_t in, int64_t out, int64_t least) {
  return plan->target->adds_apart && plan->block == 16 && in >= least && out >= least;
}

static bool is_one_sided(const pz_activation *act) {
  switch (act->kind) {
  case PZ_ACT_RELU: return act->alpha == 0;
  case PZ_ACT_SIGMOID:
  case PZ_ACT_HARD_SIGMOID:
  case PZ_ACT_SOFTPLUS:
  case PZ_ACT_EXP:
  case PZ_ACT_ABS: return true;
  default: return false;
  }
}
bool pz_conv_one_sign(const pz_plan *plan, const pz_node *node) {
  for (pz_tensor_id id = node->in[PZ_CONV_X];;) {
    const pz_node_id maker = pz_graph_producer(plan->graph, id);
    if (maker == PZ_NONE) return false;
    const pz_node *m = &plan->graph->nodes[maker];
    switch (m->op) {
    case PZ_OP_CONV:
    case PZ_OP_DECONV: return is_one_sided(&m->attr.conv.act);
    case PZ_OP_ACTIVATION: return is_one_sided(&m->attr.activation.act);
    case PZ_OP_POOL:
    case PZ_OP_CONCAT:
    case PZ_OP_SLICE:
    case PZ_OP_CROP:
    case PZ_OP_IDENTITY:
    case PZ_OP_PAD: id = m->in[0]; break;
    default: return false;
    }
  }
}

/* Vector multiply-adds, without the rests: a tap is one at each result, of a deconvolution at each input. */
static double vectors(const pz_plan *plan, const pz_node *node, int64_t in, int64_t out) {
  const pz_tensor_id at = node->op == PZ_OP_DECONV ? node->in[PZ_CONV_X] : node->out[0];
  const pz_shape5 s = pz_shape_as5(&plan->graph->tensors[at].shape);
  const pz_attr_conv *a = &node->attr.conv;
  return (double)(s.n * s.s[0] * s.s[1] * s.s[2]) * a->kernel[0] * a->kernel[1] * a->kernel[2] *
         (double)(in * out);
}
double pz_conv_weight_pairs(const pz_plan *plan, const pz_node *node) {
  return (double)maps_in(plan, node) / node->attr.conv.group *
         (double)(pz_block_count(maps_out(plan, node), plan->block) * plan->block);
}
static double weight_floats(const pz_plan *plan, const pz_node *node) {
  const int32_t *k = node->attr.conv.kernel;
  return (double)k[0] * k[1] * k[2] * pz_conv_weight_pairs(plan, node);
}
double pz_conv_direct_cost(const pz_plan *plan, const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  const int32_t in = (int32_t)maps_in(plan, node), out = (int32_t)maps_out(plan, node);
  const int32_t taps = a->kernel[0] * a->kernel[1] * a->kernel[2];
  const bool cuts = node->op == PZ_OP_CONV && a->group == 1;
  const int32_t tail = cuts ? pz_conv_tail_maps(out, in, plan->block, taps) : 0;
  return vectors(plan, node, in, pz_block_count(out - tail, plan->block)) +
         vectors(plan, node, 1, 1) / taps * pz_conv_tail_cost(tail, in, plan->block, taps);
}
static double few_inputs_cost(const pz_plan *plan, const pz_node *node) {
  return 0.99 * pz_conv_direct_cost(plan, node);
}
/* As the tail of a direct convolution, and then nothing is left to be converted. */
static double reduce_cost(const pz_plan *plan, const pz_node *node) {
  const pz_attr_conv *a = &node->attr.conv;
  const int32_t in = (int32_t)maps_in(plan, node), out = (int32_t)maps_out(plan, node);
  const int32_t taps = a->kernel[0] * a->kernel[1] * a->kernel[2];
  return 0.99 * vectors(plan, node, 1, 1) / taps * pz_conv_tail_cost(out, in, plan->block, taps);
}
static double depthwise_cost(const pz_plan *plan, const pz_node *node) {
  return vectors(plan, node, 1, pz_block_count(maps_out(plan, node), plan->block));
}

const pz_solver pz_solver_conv_direct = {.name = "direct",
                                         .op = PZ_OP_CONV,
                                         .in = PZ_BLOCKED,
                                         .out = PZ_BLOCKED,
                                         .cost = pz_conv_direct_cost,
                                         .weight_floats = weight_floats,
                                         .build = build_direct};
const pz_solver pz_solver_conv_direct_few_inputs = {.name = "direct on plain input",
                                                    .op = PZ_OP_CONV,
                                                    .in = PZ_PLAIN,
                                                    .out = PZ_BLOCKED,
                                                    .applies = pz_conv_few_inputs,
                                                    .cost = few_inputs_cost,
                                                    .build = build_few_inputs};
const pz_solver pz_solver_conv_reduce = {.name = "direct, lanes over input maps",
                                         .op = PZ_OP_CONV,
                                         .in = PZ_BLOCKED,
                                         .out = PZ_PLAIN,
                                         .applies = pz_conv_few_outputs,
                                         .cost = reduce_cost,
                                         .build = build_reduce};
const pz_solver pz_solver_conv_depthwise = {.name = "depthwise",
                                            .op = PZ_OP_CONV,
                                            .in = PZ_BLOCKED,
                                            .out = PZ_BLOCKED,
                                            .applies = is_depthwise,
                                            .cost = depthwise_cost,
                                            .build = build_depthwise};
const pz_solver pz_solver_deconv_phases = {.name = "direct in phases",
                                           .op = PZ_OP_DECONV,
                                           .in = PZ_BLOCKED,
                                           .out = PZ_BLOCKED,
                                           .cost = pz_conv_direct_cost,
                                           .build = build_deconv,
                                           .variants = PHASES_VARIANTS,
                                           .describe = describe_phases,
                                           .knows_tight = true};
const pz_solver pz_solver_deconv_depthwise = {.name = "depthwise in phases",
                                              .op = PZ_OP_DECONV,
                                              .in = PZ_BLOCKED,
                                              .out = PZ_BLOCKED,
                                              .applies = is_depthwise,
                                              .cost = depthwise_cost,
                                              .build = build_deconv_depthwise};
