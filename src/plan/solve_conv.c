/* solve_conv.c: the direct convolution (kernels/conv/direct.h): blocked, and with few input maps read plain. */
#include "kernels/conv/pack.h"
#include "kernels/conv/schedule.h"
#include "plan/solve_conv.h"

#include <string.h>

pz_tensor_id pz_conv_operand(const pz_node *node, int32_t slot) {
  return slot < node->n_in ? node->in[slot] : PZ_NONE;
}

pz_status pz_conv_begin(pz_plan *plan, const pz_node *node, pz_layout in, pz_layout out, pz_conv_parts *p,
                        pz_error *err) {
  const pz_tensor_id base = pz_conv_operand(node, PZ_CONV_BASE);
  bool in_place;
  if (base != PZ_NONE) PZ_TRY(pz_make_in_place(plan, base, node->out[0], out, &in_place, err));
  PZ_TRY(pz_output_storage(plan, node->out[0], out, &p->out, err));
  p->in = *pz_input_storage(plan, node->in[PZ_CONV_X], in);
  p->base = (pz_storage){.tensor = PZ_NONE};
  if (base != PZ_NONE) p->base = *pz_input_storage(plan, base, out);
  const int64_t k = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape).c;
  PZ_TRY(pz_add_channel_vector(plan, pz_conv_operand(node, PZ_CONV_BIAS), k, &p->bias, err));
  PZ_TRY(pz_add_channel_vector(plan, pz_conv_operand(node, PZ_CONV_BASE_SCALE), k, &p->base_scale, err));
  return pz_add_channel_vector(plan, pz_conv_operand(node, PZ_CONV_SLOPE), k, &p->slope, err);
}

static void shape_text(pz_text *t, const pz_conv_direct_shape *s) {
  pz_text_view(t, "in", &s->in);
  pz_text_view(t, "out", &s->out);
  if (s->base.c) pz_text_view(t, "base", &s->base);
  pz_text_ints(t, "kernel", s->kernel, 3);
  pz_text_ints(t, "stride", s->stride, 3);
  pz_text_ints(t, "dilation", s->dilation, 3);
  pz_text_ints(t, "pad", s->pad, 3);
  pz_text_printf(t, ".groups = %d, .phases = %d, .act = %d, ", s->groups, s->phases, s->act);
  pz_text_float(t, "alpha", s->alpha);
  pz_text_printf(t, ".has_bias = %d, .has_base_scale = %d, .kb = %d, .rw = %d, .rh = %d, .c_chunk = %d",
                 s->has_bias, s->has_base_scale, s->kb, s->rw, s->rh, s->c_chunk);
}

pz_status pz_conv_direct_call(pz_plan *plan, pz_step *step, const pz_conv_direct_shape *s,
                              const pz_conv_parts *p, pz_pointer weights, pz_error *err) {
  pz_text shape = {0};
  shape_text(&shape, s);
  const pz_arg args[] = {{.name = "in", .at = p->in.at},
                         {.name = "weights", .at = weights},
                         {.name = "bias", .at = p->bias},
                         {.name = "base", .at = p->base.at},
                         {.name = "base_scale", .at = p->base_scale},
                         {.name = "slope", .at = p->slope},
                         {.name = "out", .written = true, .at = p->out.at}};
  return pz_add_call(plan, step, "kernels/conv/direct.h", "pz_conv_direct", &shape, args, 7, err);
}

pz_conv_machine pz_conv_this_machine(const pz_plan *plan) {
  const pz_cache_sizes caches = pz_cpu_caches();
  return (pz_conv_machine){.registers = pz_isa_get(plan->isa)->registers, .l1 = caches.l1d, .l2 = caches.l2};
}

static pz_conv_direct_shape direct_shape(const pz_node *node, const pz_conv_parts *p) {
  const pz_attr_conv *a = &node->attr.conv;
  pz_conv_direct_shape s = {.in = p->in.view,
                            .out = p->out.view,
                            .groups = a->group,
                            .phases = 1,
                            .act = (int32_t)a->act.kind,
                            .alpha = a->act.alpha,
                            .has_bias = p->bias.space != PZ_SPACE_NULL,
                            .has_base_scale = p->base_scale.space != PZ_SPACE_NULL};
  if (p->base.tensor != PZ_NONE) s.base = p->base.view;
  memcpy(s.kernel, a->kernel, sizeof s.kernel);
  memcpy(s.stride, a->stride, sizeof s.stride);
  memcpy(s.dilation, a->dilation, sizeof s.dilation);
  memcpy(s.pad, a->pad_lo, sizeof s.pad);
  return s;
}

static pz_status build(pz_plan *plan, const pz_node *node, pz_step *step, pz_layout in, pz_error *err) {
  pz_conv_parts parts;
  PZ_TRY(pz_conv_begin(plan, node, in, PZ_BLOCKED, &parts, err));
  pz_conv_direct_shape s = direct_shape(node, &parts);
  const pz_conv_machine machine = pz_conv_this_machine(plan);
  pz_conv_direct_schedule(&s, &machine);
  pz_pointer weights;
  float *packed;
  PZ_TRY(pz_add_weights(plan, pz_conv_direct_weight_floats(&s), &weights, &packed, err));
  pz_conv_direct_pack(&s, plan->graph->tensors[node->in[PZ_CONV_WEIGHT]].data, packed);
  PZ_TRY(pz_set_algorithm(plan, step, err,
                          "direct%s %dx%dx%d, %d blocks x %d points, %d of %d input blocks a pass",
                          in == PZ_PLAIN ? " on plain input" : "", s.kernel[0], s.kernel[1], s.kernel[2],
                          s.kb, s.rw * s.rh, s.c_chunk, pz_conv_in_blocks(&s)));
  return pz_conv_direct_call(plan, step, &s, &parts, weights, err);
}

static pz_status build_direct(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build(plan, node, step, PZ_BLOCKED, err);
}
static pz_status build_few_inputs(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  return build(plan, node, step, PZ_PLAIN, err);
}

static int64_t maps_in(const pz_plan *plan, const pz_node *node) {
  return pz_shape_as5(&plan->graph->tensors[node->in[PZ_CONV_X]].shape).c;
}

/* The maps are read from an input of the network, which is plain already, or from a padded copy of one: nothing has to
 * be converted. */
static bool comes_plain(const pz_plan *plan, const pz_node *node) {
  const pz_tensor_id x = node->in[PZ_CONV_X];
  const pz_node_id maker = pz_graph_producer(plan->graph, x);
  if (maker == PZ_NONE) return true;
  const pz_node *m = &plan->graph->nodes[maker];
  return m->op == PZ_OP_PAD && pz_graph_producer(plan->graph, m->in[0]) == PZ_NONE;
}

static bool few_inputs(const pz_plan *plan, const pz_node *node) {
  return comes_plain(plan, node) && 2 * maps_in(plan, node) <= plan->block;
}

/* Vector multiply-adds, without the rests. */
double pz_conv_vector_cost(const pz_plan *plan, const pz_node *node) {
  const pz_shape5 out = pz_shape_as5(&plan->graph->tensors[node->out[0]].shape);
  const pz_attr_conv *a = &node->attr.conv;
  return (double)(out.n * out.s[0] * out.s[1] * out.s[2]) * a->kernel[0] * a->kernel[1] * a->kernel[2] *
         (double)pz_block_count(out.c, plan->block) * (double)(maps_in(plan, node) / a->group);
}
static double few_inputs_cost(const pz_plan *plan, const pz_node *node) {
  return 0.99 * pz_conv_vector_cost(plan, node);
}

const pz_solver pz_solver_conv_direct = {"direct", PZ_OP_CONV,          PZ_BLOCKED,  PZ_BLOCKED,
                                         NULL,     pz_conv_vector_cost, build_direct};
const pz_solver pz_solver_conv_direct_few_inputs = {
    "direct on plain input", PZ_OP_CONV, PZ_PLAIN, PZ_BLOCKED, few_inputs, few_inputs_cost, build_few_inputs};
