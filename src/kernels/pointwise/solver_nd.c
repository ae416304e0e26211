/* solver_nd.c: element-wise operators on tensors of more than five dimensions, which lie NCHW. */
#include "kernels/pointwise/nd.h"
#include "plan/axes.h"

#include <string.h>

#define MOST_INPUTS 8 /* PZ_ELTWISE_INPUTS of kernels/pointwise/eltwise.h; more are chained */

static bool many_dimensions(const pz_query *q) { return q->problem->out[0].shape.rank > 5; }
static bool without_slope(const pz_query *q) { return many_dimensions(q) && !q->problem->in[1].present; }

/* ---- functions of one value ---- */

static pz_status add_one(const pz_placed *placed, pz_builder *b, const char *function, pz_text *shape,
                         pz_error *err) {
  const pz_storage in = placed->in[0];
  const pz_storage out = placed->out[0];
  const pz_arg args[] = {{.name = "in", .at = in.at}, {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(b, "kernels/pointwise/nd.h", function, shape, args, 2, err);
}

static pz_status build_activation(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const pz_activation *act = &q->problem->attr.activation.act;
  pz_text shape = {0};
  PZ_TRY(pz_set_algorithm(b, err, "%s, NCHW", pz_activation_name(act->kind)));
  pz_text_activation_nd(&shape,
                        &(pz_activation_nd_shape){.count = pz_shape_elements(&q->problem->in[0].shape),
                                                  .kind = (int32_t)act->kind,
                                                  .alpha = act->alpha,
                                                  .beta = act->beta});
  return add_one(placed, b, "pz_activation_nd", &shape, err);
}
const pz_solver pz_solver_activation_nd = {.name = "activation, NCHW",
                                           .op = PZ_OP_ACTIVATION,
                                           .in = PZ_NCHW,
                                           .out = PZ_NCHW,
                                           .applies = without_slope,
                                           .emit = build_activation,
                                           .overwrites = pz_overwrites_first};

static pz_status build_power(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  pz_text shape = {0};
  pz_text_power_nd(&shape, &(pz_power_nd_shape){.count = pz_shape_elements(&q->problem->in[0].shape),
                                                .power = q->problem->attr.power.power,
                                                .scale = q->problem->attr.power.scale,
                                                .shift = q->problem->attr.power.shift});
  return add_one(placed, b, "pz_power_nd", &shape, err);
}
const pz_solver pz_solver_power_nd = {.name = "power, NCHW",
                                      .op = PZ_OP_POWER,
                                      .in = PZ_NCHW,
                                      .out = PZ_NCHW,
                                      .applies = many_dimensions,
                                      .emit = build_power,
                                      .overwrites = pz_overwrites_first};

/* ---- functions of several tensors ---- */

typedef struct operands {
  int32_t inputs, n; /* n dimensions */
  int64_t size[PZ_MAX_RANK], stride[MOST_INPUTS][PZ_MAX_RANK];
  float coeff[MOST_INPUTS];
  pz_pointer at[MOST_INPUTS];
} operands;

static void set_strides(operands *o, int32_t i, const pz_shape *shape) {
  int64_t product = 1;
  for (int32_t k = shape->rank - 1; k >= 0; product *= shape->dim[k], k--)
    o->stride[i][k] = shape->dim[k] == 1 ? 0 : product;
}

/* Joins dimensions of which all inputs have both as one run or neither; leaves out those of one element. */
static void simplify(operands *o) {
  int32_t kept = 0;
  for (int32_t k = 0; k < o->n; k++) {
    if (o->size[k] == 1 && !(k == o->n - 1 && !kept)) continue;
    bool joins = kept > 0;
    for (int32_t i = 0; i < o->inputs && kept; i++)
      joins = joins && o->stride[i][kept - 1] == o->stride[i][k] * o->size[k];
    const int32_t to = joins ? kept - 1 : kept++;
    o->size[to] = joins ? o->size[to] * o->size[k] : o->size[k];
    for (int32_t i = 0; i < o->inputs; i++) o->stride[i][to] = o->stride[i][k];
  }
  o->n = kept;
}

static pz_status add_eltwise(const pz_query *q, pz_builder *b, operands *o, pz_pointer out, pz_error *err) {
  static const char *const names[MOST_INPUTS] = {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7"};
  pz_arg args[MOST_INPUTS + 1];
  simplify(o);
  pz_eltwise_nd_shape s = {.n = o->n, .inputs = o->inputs, .kind = (int32_t)q->problem->attr.eltwise.kind};
  memcpy(s.size, o->size, (size_t)o->n * sizeof *s.size);
  for (int32_t i = 0; i < o->inputs; i++) {
    memcpy(s.stride[i], o->stride[i], (size_t)o->n * sizeof *s.stride[i]);
    s.coeff[i] = o->coeff[i];
    args[i] = (pz_arg){.name = names[i], .at = o->at[i], .listed = true};
  }
  pz_text shape = {0};
  pz_text_eltwise_nd(&shape, &s);
  args[o->inputs] = (pz_arg){.name = "out", .written = true, .at = out};
  return pz_add_call(b, "kernels/pointwise/nd.h", "pz_eltwise_nd", &shape, args, o->inputs + 1, err);
}

static pz_status operand(const pz_query *q, const pz_placed *placed, pz_builder *b, int32_t i, pz_pointer *at,
                         pz_error *err) {
  const pz_operand *o = &q->problem->in[i];
  const int64_t floats = pz_shape_elements(&o->shape);
  void *data;
  if (!o->data) return *at = placed->in[i].at, PZ_OK;
  PZ_TRY(pz_add_weights(b, PZ_F32, floats, at, &data, err));
  if (data) memcpy(data, o->data, (size_t)floats * sizeof(float));
  return PZ_OK;
}

static pz_status build_eltwise(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_error *err) {
  const float *given = q->problem->attr.eltwise.kind == PZ_ELT_SUM ? q->problem->attr.eltwise.coeff : NULL;
  const pz_shape *y = &q->problem->out[0].shape;
  const pz_storage out = placed->out[0];
  for (int32_t done = 0; done < q->problem->n_in;) {
    const bool chained = done > 0; /* and cut into other rows: a worker reads what another one wrote */
    operands o = {.n = y->rank};
    memcpy(o.size, y->dim, sizeof o.size);
    if (chained) o.at[0] = out.at, o.coeff[0] = 1, set_strides(&o, o.inputs++, y);
    for (; done < q->problem->n_in && o.inputs < MOST_INPUTS; done++, o.inputs++) {
      PZ_TRY(operand(q, placed, b, done, &o.at[o.inputs], err));
      o.coeff[o.inputs] = given ? given[done] : 1;
      set_strides(&o, o.inputs, &q->problem->in[done].shape);
    }
    PZ_TRY(add_eltwise(q, b, &o, out.at, err));
    if (chained) pz_call_after_all(b);
  }
  return PZ_OK;
}
const pz_solver pz_solver_eltwise_nd = {.name = "element by element, NCHW",
                                        .op = PZ_OP_ELTWISE,
                                        .in = PZ_NCHW,
                                        .out = PZ_NCHW,
                                        .applies = many_dimensions,
                                        .emit = build_eltwise};
