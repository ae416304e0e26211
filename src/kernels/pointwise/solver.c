/* solver.c: operators on each value by itself. All of them work in place where their input has no
 * other use. */
#include "kernels/pointwise/activation_layer.h"
#include "kernels/pointwise/eltwise.h"
#include "kernels/pointwise/power.h"
#include "kernels/pointwise/scale.h"
#include "plan/axes.h"

#include <math.h>
#include <string.h>

/* ---- x*gamma + beta ---- */

static pz_status add_scale(const pz_placed *placed, pz_builder *b, pz_pointer gamma, pz_pointer beta,
                           pz_error *err) {
  const pz_storage in = placed->in[0];
  const pz_storage out = placed->out[0];
  pz_text shape = {0};
  pz_text_scale(&shape, &(pz_scale_shape){.in = in.view,
                                          .out = out.view,
                                          .has_gamma = gamma.space != PZ_SPACE_NULL,
                                          .has_beta = beta.space != PZ_SPACE_NULL});
  const pz_arg args[] = {{.name = "in", .at = in.at},
                         {.name = "gamma", .at = gamma},
                         {.name = "beta", .at = beta},
                         {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(b, "kernels/pointwise/scale.h", "pz_scale", &shape, args, 4, err);
}

static pz_status build_batch_norm(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const float *mean = q->problem->in[1].data, *variance = q->problem->in[2].data;
  const int64_t c = q->problem->in[0].shape.dim[1],
                floats = pz_block_count(c, q->target->block) * q->target->block;
  pz_pointer gamma, beta;
  void *data;
  PZ_TRY(pz_add_weights(b, PZ_F32, floats, &gamma, &data, err));
  float *values = data;
  for (int64_t i = 0; values && i < c; i++)
    values[i] = (float)(1 / sqrt((double)variance[i] + q->problem->attr.batch_norm.eps));
  PZ_TRY(pz_add_weights(b, PZ_F32, floats, &beta, &data, err));
  values = data;
  for (int64_t i = 0; values && i < c; i++)
    values[i] = (float)(-(double)mean[i] / sqrt((double)variance[i] + q->problem->attr.batch_norm.eps));
  return add_scale(placed, b, gamma, beta, err);
}
static bool constant_statistics(const pz_query *q) {
  return q->problem->in[1].data && q->problem->in[2].data;
}
const pz_solver pz_solver_batch_norm = {.name = "scale and shift of each channel",
                                        .op = PZ_OP_BATCH_NORM,
                                        .in = PZ_NCHWC,
                                        .out = PZ_NCHWC,
                                        .applies = constant_statistics,
                                        .emit = build_batch_norm,
                                        .overwrites = pz_overwrites_first};

/* Factors that are constants of the channels. */
static bool packs_factors(const pz_problem *p) {
  for (int32_t i = 1; i < p->n_in; i++)
    if (p->in[i].present && !p->in[i].packed) return false;
  return true;
}
static bool of_channels(const pz_query *q) {
  return q->problem->attr.scale.axis == 1 && packs_factors(q->problem);
}

static pz_status build_scale(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const int64_t c = q->problem->in[0].shape.dim[1];
  pz_pointer gamma, beta;
  PZ_TRY(pz_add_channel_vector(b, pz_problem_input(q->problem, 1), c, &gamma, err));
  PZ_TRY(pz_add_channel_vector(b, pz_problem_input(q->problem, 2), c, &beta, err));
  return add_scale(placed, b, gamma, beta, err);
}
const pz_solver pz_solver_scale = {.name = "scale and shift of each channel",
                                   .op = PZ_OP_SCALE,
                                   .in = PZ_NCHWC,
                                   .out = PZ_NCHWC,
                                   .applies = of_channels,
                                   .emit = build_scale,
                                   .overwrites = pz_overwrites_first};

/* A factor that is computed, or a constant of other dimensions than the channels: read in the NCHW layout, with strides
 * of zero in the dimensions that it does not have. */
static pz_view broadcast(const pz_query *q, int32_t slot, const pz_storage *factor) {
  const int rank = q->problem->in[0].shape.rank;
  const int own = q->problem->in[slot].shape.rank;
  const int64_t from[5] = {factor->view.stride_n, factor->view.stride_c, factor->view.stride_d,
                           factor->view.stride_h, factor->view.stride_w};
  int64_t to[5] = {0};
  for (int i = 0; i < own; i++) {
    const int axis = q->problem->attr.scale.axis + i;
    to[axis < 2 ? axis : 5 - (rank - axis)] = from[i < 2 ? i : 5 - (own - i)];
  }
  const pz_shape5 s = pz_shape_as5(&q->problem->in[0].shape);
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

static pz_status build_scale_computed(const pz_query *q, const pz_placed *placed, pz_builder *b,
                                      pz_error *err) {
  const pz_storage in = placed->in[0];
  const char *const names[] = {"gamma", "beta"};
  pz_arg args[4] = {{.name = "in", .at = in.at}};
  const pz_storage out = placed->out[0];
  pz_scale_by_shape s = {.in = in.view, .out = out.view};
  for (int32_t i = 1; i <= 2; i++) {
    args[i] = (pz_arg){.name = names[i - 1]};
    if (!pz_problem_input(q->problem, i)) continue;
    const pz_storage *factor = &placed->in[i];
    *(i == 1 ? &s.gamma : &s.beta) = broadcast(q, i, factor);
    args[i].at = factor->at;
  }
  pz_text shape = {0};
  pz_text_scale_by(&shape, &s);
  args[3] = (pz_arg){.name = "out", .written = true, .at = out.at};
  return pz_add_call(b, "kernels/pointwise/scale.h", "pz_scale_by", &shape, args, 4, err);
}
/* Of constants of the channels the scale above alone: packed, they lie in no tensor that could be read. */
static bool of_tensors(const pz_query *q) { return !of_channels(q); }
const pz_solver pz_solver_scale_computed = {.name = "scale by a tensor",
                                            .op = PZ_OP_SCALE,
                                            .in = PZ_NCHWC,
                                            .out = PZ_NCHWC,
                                            .applies = of_tensors,
                                            .emit = build_scale_computed,
                                            .overwrites = pz_overwrites_first};

/* ---- functions of one value ---- */

static pz_status build_activation(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_storage in = placed->in[0];
  const pz_activation *act = &q->problem->attr.activation.act;
  pz_pointer slope;
  const pz_storage out = placed->out[0];
  PZ_TRY(pz_add_channel_vector(b, pz_problem_input(q->problem, 1), in.view.c, &slope, err));
  pz_text shape = {0};
  pz_text_activation_layer(&shape, &(pz_activation_layer_shape){.in = in.view,
                                                                .out = out.view,
                                                                .kind = (int32_t)act->kind,
                                                                .alpha = act->alpha,
                                                                .beta = act->beta});
  const pz_arg args[] = {{.name = "in", .at = in.at},
                         {.name = "slope", .at = slope},
                         {.name = "out", .written = true, .at = out.at}};
  PZ_TRY(pz_set_algorithm(b, err, "%s", pz_activation_name(act->kind)));
  return pz_add_call(b, "kernels/pointwise/activation_layer.h", "pz_activation_layer", &shape, args, 3, err);
}
/* solver_nd.c has the others. */
static bool few_dimensions(const pz_query *q) { return q->problem->out[0].shape.rank <= 5; }
static bool constant_slope(const pz_query *q) {
  if (!few_dimensions(q)) return false;
  return !pz_problem_input(q->problem, 1) || q->problem->in[1].data;
}
const pz_solver pz_solver_activation = {.name = "activation",
                                        .op = PZ_OP_ACTIVATION,
                                        .in = PZ_NCHWC,
                                        .out = PZ_NCHWC,
                                        .applies = constant_slope,
                                        .emit = build_activation,
                                        .overwrites = pz_overwrites_first};

static pz_status build_power(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_storage in = placed->in[0];
  const pz_storage out = placed->out[0];
  pz_text shape = {0};
  pz_text_power(&shape, &(pz_power_shape){.in = in.view,
                                          .out = out.view,
                                          .power = q->problem->attr.power.power,
                                          .scale = q->problem->attr.power.scale,
                                          .shift = q->problem->attr.power.shift});
  const pz_arg args[] = {{.name = "in", .at = in.at}, {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(b, "kernels/pointwise/power.h", "pz_power", &shape, args, 2, err);
}
const pz_solver pz_solver_power = {.name = "power",
                                   .op = PZ_OP_POWER,
                                   .in = PZ_NCHWC,
                                   .out = PZ_NCHWC,
                                   .applies = few_dimensions,
                                   .emit = build_power,
                                   .overwrites = pz_overwrites_first};

/* ---- functions of several tensors ---- */

#define MOST_INPUTS 8 /* PZ_ELTWISE_INPUTS of kernels/pointwise/eltwise.h; more are chained */

static bool broadcasts(const pz_query *q) {
  for (int32_t i = 0; i < q->problem->n_in; i++)
    if (!pz_shape_equal(&q->problem->in[i].shape, &q->problem->out[0].shape)) return true;
  return false;
}

static pz_status add_eltwise(const pz_query *q, pz_builder *b, const pz_storage *const *in,
                             const float *coeff, int32_t n, const pz_storage *out, pz_error *err) {
  static const char *const names[MOST_INPUTS] = {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7"};
  static const char *const kinds[] = {"sum",   "product", "maximum",       "quotient", "minimum",
                                      "power", "less",    "less or equal", "equal",    "selection"};
  pz_arg args[MOST_INPUTS + 1];
  pz_eltwise_shape s = {.out = out->view, .inputs = n, .kind = (int32_t)q->problem->attr.eltwise.kind};
  for (int32_t i = 0; i < n; i++) {
    s.in[i] = in[i]->view, s.coeff[i] = coeff[i];
    args[i] = (pz_arg){.name = names[i], .at = in[i]->at, .listed = true};
  }
  pz_text shape = {0};
  pz_text_eltwise(&shape, &s);
  args[n] = (pz_arg){.name = "out", .written = true, .at = out->at};
  PZ_TRY(pz_set_algorithm(b, err, "%s%s", kinds[q->problem->attr.eltwise.kind],
                          broadcasts(q) ? ", broadcast" : ""));
  return pz_add_call(b, "kernels/pointwise/eltwise.h", "pz_eltwise", &shape, args, n + 1, err);
}

/* A constant in the NCHWc layout, packed. */
static pz_status pack_constant(pz_builder *b, const pz_operand *operand, int32_t block, pz_storage *s,
                               pz_error *err) {
  void *data;
  *s = (pz_storage){.tensor = PZ_NONE, .view = pz_dense_view(&operand->shape)};
  pz_view *v = &s->view;
  const int64_t points = (int64_t)v->d * v->h * v->w;
  v->block = block, v->stride_w = block, v->stride_h = (int64_t)block * v->w,
  v->stride_d = v->stride_h * v->h;
  v->stride_c = block * points, v->stride_n = v->stride_c * pz_block_count(v->c, block);
  PZ_TRY(pz_add_weights(b, PZ_F32, v->stride_n * v->n, &s->at, &data, err));
  float *to = data;
  for (int64_t i = 0; to && i < v->n * v->c * points; i++) {
    const int64_t c = i / points % v->c;
    to[i / points / v->c * v->stride_n + c / block * v->stride_c + i % points * block + c % block] =
        operand->data[i];
  }
  return PZ_OK;
}

static pz_status eltwise_storage(const pz_query *q, const pz_placed *placed, pz_builder *b, int32_t i,
                                 pz_storage *s, pz_error *err) {
  const pz_operand *operand = &q->problem->in[i];
  if (operand->packed) return pack_constant(b, operand, q->target->block, s, err);
  *s = placed->in[i];
  return PZ_OK;
}

/* A chain overwrites its output with the first call: only a first-call input may share its storage. */
static uint32_t overwrites_any(const pz_query *q) {
  uint32_t slots = 0;
  for (int32_t i = 0; i < q->problem->n_in && q->problem->n_in <= MOST_INPUTS; i++)
    if (!q->problem->in[i].packed) slots |= 1u << i;
  return slots;
}

static pz_status build_eltwise(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const float *given = q->problem->attr.eltwise.kind == PZ_ELT_SUM ? q->problem->attr.eltwise.coeff : NULL;
  const pz_storage out = placed->out[0];
  pz_storage inputs[MOST_INPUTS];
  const pz_storage *in[MOST_INPUTS];
  float coeff[MOST_INPUTS];
  for (int32_t done = 0; done < q->problem->n_in;) {
    int32_t n = 0;
    if (done) inputs[n] = out, coeff[n++] = 1;
    for (; done < q->problem->n_in && n < MOST_INPUTS; done++, n++) {
      PZ_TRY(eltwise_storage(q, placed, b, done, &inputs[n], err));
      coeff[n] = given ? given[done] : 1;
    }
    for (int32_t i = 0; i < n; i++) in[i] = &inputs[i];
    PZ_TRY(add_eltwise(q, b, in, coeff, n, &out, err));
  }
  return PZ_OK;
}
const pz_solver pz_solver_eltwise = {.name = "element by element",
                                     .op = PZ_OP_ELTWISE,
                                     .in = PZ_NCHWC,
                                     .out = PZ_NCHWC,
                                     .applies = few_dimensions,
                                     .emit = build_eltwise,
                                     .overwrites = overwrites_any};
