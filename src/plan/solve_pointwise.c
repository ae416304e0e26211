/* solve_pointwise.c: operators on each value by itself. All of them work in place where their input has no
 * other use. */
#include "plan/solver.h"

#include <math.h>
#include <string.h>

/* The output's storage: the input's own where that is possible. */
static pz_status output_over(pz_plan *plan, pz_tensor_id from, pz_tensor_id to, pz_storage *out,
                             pz_error *err) {
  bool done;
  PZ_TRY(pz_make_in_place(plan, from, to, PZ_BLOCKED, &done, err));
  return pz_output_storage(plan, to, PZ_BLOCKED, out, err);
}

static void in_and_out(pz_text *shape, const pz_storage *in, const pz_storage *out) {
  pz_text_view(shape, "in", &in->view);
  pz_text_view(shape, "out", &out->view);
}

/* ---- x*gamma + beta ---- */

static pz_status add_scale(pz_plan *plan, const pz_node *node, pz_step *step, pz_pointer gamma,
                           pz_pointer beta, pz_error *err) {
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  pz_storage out;
  PZ_TRY(output_over(plan, node->in[0], node->out[0], &out, err));
  pz_text shape = {0};
  in_and_out(&shape, &in, &out);
  pz_text_printf(&shape, ".has_gamma = %d, .has_beta = %d", gamma.space != PZ_SPACE_NULL,
                 beta.space != PZ_SPACE_NULL);
  const pz_arg args[] = {{.name = "in", .at = in.at},
                         {.name = "gamma", .at = gamma},
                         {.name = "beta", .at = beta},
                         {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(plan, step, "kernels/pointwise/scale.h", "pz_scale", &shape, args, 4, err);
}

static pz_status build_batch_norm(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const float *mean = plan->graph->tensors[node->in[1]].data,
              *variance = plan->graph->tensors[node->in[2]].data;
  const int64_t c = plan->graph->tensors[node->in[0]].shape.dim[1],
                floats = pz_block_count(c, plan->block) * plan->block;
  pz_pointer gamma, beta;
  float *values;
  PZ_TRY(pz_add_weights(plan, floats, &gamma, &values, err));
  for (int64_t i = 0; values && i < c; i++)
    values[i] = (float)(1 / sqrt((double)variance[i] + node->attr.batch_norm.eps));
  PZ_TRY(pz_add_weights(plan, floats, &beta, &values, err));
  for (int64_t i = 0; values && i < c; i++)
    values[i] = (float)(-(double)mean[i] / sqrt((double)variance[i] + node->attr.batch_norm.eps));
  return add_scale(plan, node, step, gamma, beta, err);
}
static bool constant_statistics(const pz_plan *plan, const pz_node *node) {
  return plan->graph->tensors[node->in[1]].data && plan->graph->tensors[node->in[2]].data;
}
const pz_solver pz_solver_batch_norm = {.name = "scale and shift of each map",
                                        .op = PZ_OP_BATCH_NORM,
                                        .in = PZ_BLOCKED,
                                        .out = PZ_BLOCKED,
                                        .applies = constant_statistics,
                                        .build = build_batch_norm};

bool pz_scale_of_maps(const pz_graph *g, const pz_node *node) {
  if (node->attr.scale.axis != 1) return false;
  for (int32_t i = 1; i < node->n_in; i++)
    if (node->in[i] != PZ_NONE && (!g->tensors[node->in[i]].data || g->tensors[node->in[i]].shape.rank != 1))
      return false;
  return true;
}
static bool of_maps(const pz_plan *plan, const pz_node *node) { return pz_scale_of_maps(plan->graph, node); }

static pz_tensor_id operand(const pz_node *node, int32_t i) { return i < node->n_in ? node->in[i] : PZ_NONE; }

static pz_status build_scale(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const int64_t c = plan->graph->tensors[node->in[0]].shape.dim[1];
  pz_pointer gamma, beta;
  PZ_TRY(pz_add_channel_vector(plan, operand(node, 1), c, &gamma, err));
  PZ_TRY(pz_add_channel_vector(plan, operand(node, 2), c, &beta, err));
  return add_scale(plan, node, step, gamma, beta, err);
}
const pz_solver pz_solver_scale = {.name = "scale and shift of each map",
                                   .op = PZ_OP_SCALE,
                                   .in = PZ_BLOCKED,
                                   .out = PZ_BLOCKED,
                                   .applies = of_maps,
                                   .build = build_scale};

/* A factor that is computed, or a constant of other dimensions than the maps: read in the plain layout, with strides
 * of zero in the dimensions that it does not have. */
static pz_view broadcast(const pz_plan *plan, const pz_node *node, const pz_storage *factor) {
  const int rank = plan->graph->tensors[node->in[0]].shape.rank;
  const int own = plan->graph->tensors[factor->tensor].shape.rank;
  const int64_t from[5] = {factor->view.stride_n, factor->view.stride_c, factor->view.stride_d,
                           factor->view.stride_h, factor->view.stride_w};
  int64_t to[5] = {0};
  for (int i = 0; i < own; i++) {
    const int axis = node->attr.scale.axis + i;
    to[axis < 2 ? axis : 5 - (rank - axis)] = from[i < 2 ? i : 5 - (own - i)];
  }
  const pz_shape5 s = pz_shape_as5(&plan->graph->tensors[node->in[0]].shape);
  return (pz_view){.n = (int32_t)s.n,
                   .c = (int32_t)s.c,
                   .d = (int32_t)s.s[0],
                   .h = (int32_t)s.s[1],
                   .w = (int32_t)s.s[2],
                   .block = 1,
                   .stride_n = to[0],
                   .stride_c = to[1],
                   .stride_d = to[2],
                   .stride_h = to[3],
                   .stride_w = to[4]};
}

static pz_status build_scale_computed(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  const char *const names[] = {"gamma", "beta"};
  pz_arg args[4] = {{.name = "in", .at = in.at}};
  pz_text shape = {0};
  pz_storage out;
  PZ_TRY(output_over(plan, node->in[0], node->out[0], &out, err));
  in_and_out(&shape, &in, &out);
  for (int32_t i = 1; i <= 2; i++) {
    args[i] = (pz_arg){.name = names[i - 1]};
    if (operand(node, i) == PZ_NONE) continue;
    const pz_storage *factor = pz_input_storage(plan, node->in[i], PZ_PLAIN);
    const pz_view view = broadcast(plan, node, factor);
    pz_text_view(&shape, names[i - 1], &view);
    args[i].at = factor->at;
  }
  args[3] = (pz_arg){.name = "out", .written = true, .at = out.at};
  return pz_add_call(plan, step, "kernels/pointwise/scale.h", "pz_scale_by", &shape, args, 4, err);
}
const pz_solver pz_solver_scale_computed = {.name = "scale by a tensor",
                                            .op = PZ_OP_SCALE,
                                            .in = PZ_BLOCKED,
                                            .out = PZ_BLOCKED,
                                            .build = build_scale_computed};

/* ---- functions of one value ---- */

static pz_status build_activation(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  const pz_activation *act = &node->attr.activation.act;
  pz_storage out;
  pz_pointer slope;
  PZ_TRY(output_over(plan, node->in[0], node->out[0], &out, err));
  PZ_TRY(pz_add_channel_vector(plan, operand(node, 1), in.view.c, &slope, err));
  pz_text shape = {0};
  in_and_out(&shape, &in, &out);
  pz_text_printf(&shape, ".kind = %d, ", act->kind);
  pz_text_float(&shape, "alpha", act->alpha);
  pz_text_float(&shape, "beta", act->beta);
  const pz_arg args[] = {{.name = "in", .at = in.at},
                         {.name = "slope", .at = slope},
                         {.name = "out", .written = true, .at = out.at}};
  PZ_TRY(pz_set_algorithm(plan, step, err, "%s", pz_activation_name(act->kind)));
  return pz_add_call(plan, step, "kernels/pointwise/activation_layer.h", "pz_activation_layer", &shape, args,
                     3, err);
}
/* solve_plain.c has the others. */
static bool few_dimensions(const pz_plan *plan, const pz_node *node) {
  return plan->graph->tensors[node->out[0]].shape.rank <= 5;
}
static bool constant_slope(const pz_plan *plan, const pz_node *node) {
  if (!few_dimensions(plan, node)) return false;
  return operand(node, 1) == PZ_NONE || plan->graph->tensors[node->in[1]].data;
}
const pz_solver pz_solver_activation = {.name = "activation",
                                        .op = PZ_OP_ACTIVATION,
                                        .in = PZ_BLOCKED,
                                        .out = PZ_BLOCKED,
                                        .applies = constant_slope,
                                        .build = build_activation};

static pz_status build_power(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_BLOCKED);
  pz_storage out;
  PZ_TRY(output_over(plan, node->in[0], node->out[0], &out, err));
  pz_text shape = {0};
  in_and_out(&shape, &in, &out);
  pz_text_float(&shape, "power", node->attr.power.power);
  pz_text_float(&shape, "scale", node->attr.power.scale);
  pz_text_float(&shape, "shift", node->attr.power.shift);
  const pz_arg args[] = {{.name = "in", .at = in.at}, {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(plan, step, "kernels/pointwise/power.h", "pz_power", &shape, args, 2, err);
}
const pz_solver pz_solver_power = {.name = "power",
                                   .op = PZ_OP_POWER,
                                   .in = PZ_BLOCKED,
                                   .out = PZ_BLOCKED,
                                   .applies = few_dimensions,
                                   .build = build_power};

/* ---- functions of several tensors ---- */

#define MOST_INPUTS 8 /* PZ_ELTWISE_INPUTS of kernels/pointwise/eltwise.h; more are chained */

static void eltwise_input(pz_text *shape, int32_t i, const pz_view *view) {
  pz_text one = {0};
  pz_text_view(&one, "in", view);
  pz_text_printf(shape, "[%d]%s", i, one.data ? one.data + 3 : "");
  pz_text_free(&one);
}

static bool broadcasts(const pz_plan *plan, const pz_node *node) {
  const pz_graph *g = plan->graph;
  for (int32_t i = 0; i < node->n_in; i++)
    if (!pz_shape_equal(&g->tensors[node->in[i]].shape, &g->tensors[node->out[0]].shape)) return true;
  return false;
}

static pz_status add_eltwise(pz_plan *plan, const pz_node *node, pz_step *step, const pz_storage *const *in,
                             const float *coeff, int32_t n, const pz_storage *out, pz_error *err) {
  static const char *const names[MOST_INPUTS] = {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7"};
  static const char *const kinds[] = {"sum",   "product", "maximum",       "quotient", "minimum",
                                      "power", "less",    "less or equal", "equal",    "selection"};
  pz_arg args[MOST_INPUTS + 1];
  pz_text shape = {0};
  pz_text_append(&shape, ".in = {");
  for (int32_t i = 0; i < n; i++) {
    eltwise_input(&shape, i, &in[i]->view);
    args[i] = (pz_arg){.name = names[i], .at = in[i]->at, .listed = true};
  }
  pz_text_append(&shape, "}, .coeff = {");
  for (int32_t i = 0; i < n; i++) pz_text_number(&shape, coeff[i]);
  pz_text_append(&shape, "}, ");
  pz_text_view(&shape, "out", &out->view);
  pz_text_printf(&shape, ".inputs = %d, .kind = %d", n, node->attr.eltwise.kind);
  args[n] = (pz_arg){.name = "out", .written = true, .at = out->at};
  PZ_TRY(pz_set_algorithm(plan, step, err, "%s%s", kinds[node->attr.eltwise.kind],
                          broadcasts(plan, node) ? ", broadcast" : ""));
  return pz_add_call(plan, step, "kernels/pointwise/eltwise.h", "pz_eltwise", &shape, args, n + 1, err);
}

/* A constant in the blocked layout, packed. */
static pz_status pack_constant(pz_plan *plan, pz_tensor_id id, pz_storage *s, pz_error *err) {
  const pz_tensor *t = &plan->graph->tensors[id];
  const int32_t block = plan->block;
  float *to;
  *s = pz_port_storage(plan, id, PZ_SPACE_WEIGHTS, 0); /* the sizes */
  pz_view *v = &s->view;
  const int64_t points = (int64_t)v->d * v->h * v->w;
  v->block = block, v->stride_w = block, v->stride_h = (int64_t)block * v->w,
  v->stride_d = v->stride_h * v->h;
  v->stride_c = block * points, v->stride_n = v->stride_c * pz_block_count(v->c, block);
  PZ_TRY(pz_add_weights(plan, v->stride_n * v->n, &s->at, &to, err));
  for (int64_t i = 0; to && i < v->n * v->c * points; i++) {
    const int64_t c = i / points % v->c;
    to[i / points / v->c * v->stride_n + c / block * v->stride_c + i % points * block + c % block] =
        t->data[i];
  }
  return PZ_OK;
}

static pz_status eltwise_storage(pz_plan *plan, pz_tensor_id id, pz_storage *s, pz_error *err) {
  if (plan->graph->tensors[id].data) return pack_constant(plan, id, s, err);
  *s = *pz_input_storage(plan, id, PZ_BLOCKED);
  return PZ_OK;
}

static pz_status eltwise_output(pz_plan *plan, const pz_node *node, pz_storage *out, pz_error *err) {
  bool done = false;
  for (int32_t i = 0; i < node->n_in && !done; i++)
    if (!plan->graph->tensors[node->in[i]].data)
      PZ_TRY(pz_make_in_place(plan, node->in[i], node->out[0], PZ_BLOCKED, &done, err));
  return pz_output_storage(plan, node->out[0], PZ_BLOCKED, out, err);
}

/* A chain overwrites its output with the first call: only a first-call input may share its storage. */
static pz_status build_eltwise(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const float *given = node->attr.eltwise.kind == PZ_ELT_SUM ? node->attr.eltwise.coeff : NULL;
  pz_storage inputs[MOST_INPUTS], out;
  const pz_storage *in[MOST_INPUTS];
  float coeff[MOST_INPUTS];
  if (node->n_in <= MOST_INPUTS) PZ_TRY(eltwise_output(plan, node, &out, err));
  else PZ_TRY(pz_output_storage(plan, node->out[0], PZ_BLOCKED, &out, err));
  for (int32_t done = 0; done < node->n_in;) {
    int32_t n = 0;
    if (done) inputs[n] = out, coeff[n++] = 1;
    for (; done < node->n_in && n < MOST_INPUTS; done++, n++) {
      PZ_TRY(eltwise_storage(plan, node->in[done], &inputs[n], err));
      coeff[n] = given ? given[done] : 1;
    }
    for (int32_t i = 0; i < n; i++) in[i] = &inputs[i];
    PZ_TRY(add_eltwise(plan, node, step, in, coeff, n, &out, err));
  }
  return PZ_OK;
}
const pz_solver pz_solver_eltwise = {.name = "element by element",
                                     .op = PZ_OP_ELTWISE,
                                     .in = PZ_BLOCKED,
                                     .out = PZ_BLOCKED,
                                     .applies = few_dimensions,
                                     .build = build_eltwise};
