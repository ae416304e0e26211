/* solve_plain.c: element-wise operators on tensors of more than five dimensions, which lie plain. */
#include "plan/axes.h"

#include <string.h>

#define MOST_INPUTS 8 /* PZ_ELTWISE_INPUTS of kernels/pointwise/eltwise.h; more are chained */

static bool many_dimensions(const pz_plan *plan, const pz_node *node) {
  return plan->graph->tensors[node->out[0]].shape.rank > 5;
}
static bool without_slope(const pz_plan *plan, const pz_node *node) {
  return many_dimensions(plan, node) && node->in[1] == PZ_NONE;
}

/* ---- functions of one value ---- */

static pz_status add_one(pz_plan *plan, const pz_node *node, pz_step *step, const char *function,
                         pz_text *rest, pz_error *err) {
  const pz_storage in = *pz_input_storage(plan, node->in[0], PZ_PLAIN);
  const long long count = (long long)pz_shape_elements(&plan->graph->tensors[node->in[0]].shape);
  bool done;
  pz_storage out;
  pz_text shape = {0};
  PZ_TRY(pz_make_in_place(plan, node->in[0], node->out[0], PZ_PLAIN, &done, err));
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_PLAIN, &out, err));
  pz_text_printf(&shape, ".count = %lld, %s", count, rest->data ? rest->data : "");
  pz_text_free(rest);
  const pz_arg args[] = {{.name = "in", .at = in.at}, {.name = "out", .written = true, .at = out.at}};
  return pz_add_call(plan, step, "kernels/pointwise/plain.h", function, &shape, args, 2, err);
}

static pz_status build_activation(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const pz_activation *act = &node->attr.activation.act;
  pz_text rest = {0};
  pz_text_printf(&rest, ".kind = %d, ", (int)act->kind);
  pz_text_float(&rest, "alpha", act->alpha);
  pz_text_float(&rest, "beta", act->beta);
  PZ_TRY(pz_set_algorithm(plan, step, err, "%s, plain layout", pz_activation_name(act->kind)));
  return add_one(plan, node, step, "pz_activation_plain", &rest, err);
}
const pz_solver pz_solver_activation_plain = {.name = "activation, plain layout",
                                              .op = PZ_OP_ACTIVATION,
                                              .in = PZ_PLAIN,
                                              .out = PZ_PLAIN,
                                              .applies = without_slope,
                                              .build = build_activation};

static pz_status build_power(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  pz_text rest = {0};
  pz_text_float(&rest, "power", node->attr.power.power);
  pz_text_float(&rest, "scale", node->attr.power.scale);
  pz_text_float(&rest, "shift", node->attr.power.shift);
  return add_one(plan, node, step, "pz_power_plain", &rest, err);
}
const pz_solver pz_solver_power_plain = {.name = "power, plain layout",
                                         .op = PZ_OP_POWER,
                                         .in = PZ_PLAIN,
                                         .out = PZ_PLAIN,
                                         .applies = many_dimensions,
                                         .build = build_power};

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

static void text_list(pz_text *t, const int64_t *values, int32_t n) {
  pz_text_append(t, "{");
  for (int32_t i = 0; i < n; i++) pz_text_printf(t, "%lld, ", (long long)values[i]);
  pz_text_append(t, "}, ");
}

static pz_status add_eltwise(pz_plan *plan, const pz_node *node, pz_step *step, operands *o, pz_pointer out,
                             pz_error *err) {
  static const char *const names[MOST_INPUTS] = {"in0", "in1", "in2", "in3", "in4", "in5", "in6", "in7"};
  pz_arg args[MOST_INPUTS + 1];
  pz_text shape = {0};
  simplify(o);
  pz_text_printf(&shape, ".n = %d, .inputs = %d, .kind = %d, .size = ", o->n, o->inputs,
                 (int)node->attr.eltwise.kind);
  text_list(&shape, o->size, o->n);
  pz_text_append(&shape, ".stride = {");
  for (int32_t i = 0; i < o->inputs; i++) text_list(&shape, o->stride[i], o->n);
  pz_text_append(&shape, "}, .coeff = {");
  for (int32_t i = 0; i < o->inputs; i++) {
    pz_text_number(&shape, o->coeff[i]);
    args[i] = (pz_arg){.name = names[i], .at = o->at[i], .listed = true};
  }
  pz_text_append(&shape, "}");
  args[o->inputs] = (pz_arg){.name = "out", .written = true, .at = out};
  return pz_add_call(plan, step, "kernels/pointwise/plain.h", "pz_eltwise_plain", &shape, args, o->inputs + 1,
                     err);
}

static pz_status operand(pz_plan *plan, pz_tensor_id id, pz_pointer *at, pz_error *err) {
  const pz_tensor *t = &plan->graph->tensors[id];
  const int64_t floats = pz_shape_elements(&t->shape);
  float *data;
  if (!t->data) return *at = pz_input_storage(plan, id, PZ_PLAIN)->at, PZ_OK;
  PZ_TRY(pz_add_weights(plan, floats, at, &data, err));
  if (data) memcpy(data, t->data, (size_t)floats * sizeof *data);
  return PZ_OK;
}

static pz_status build_eltwise(pz_plan *plan, const pz_node *node, pz_step *step, pz_error *err) {
  const float *given = node->attr.eltwise.kind == PZ_ELT_SUM ? node->attr.eltwise.coeff : NULL;
  const pz_shape *y = &plan->graph->tensors[node->out[0]].shape;
  pz_storage out;
  PZ_TRY(pz_output_storage(plan, node->out[0], PZ_PLAIN, &out, err));
  for (int32_t done = 0; done < node->n_in;) {
    const bool chained = done > 0; /* and cut into other rows: a worker reads what another one wrote */
    operands o = {.n = y->rank};
    memcpy(o.size, y->dim, sizeof o.size);
    if (chained) o.at[0] = out.at, o.coeff[0] = 1, set_strides(&o, o.inputs++, y);
    for (; done < node->n_in && o.inputs < MOST_INPUTS; done++, o.inputs++) {
      PZ_TRY(operand(plan, node->in[done], &o.at[o.inputs], err));
      o.coeff[o.inputs] = given ? given[done] : 1;
      set_strides(&o, o.inputs, &plan->graph->tensors[node->in[done]].shape);
    }
    PZ_TRY(add_eltwise(plan, node, step, &o, out.at, err));
    if (chained) pz_call_after_all(step);
  }
  return PZ_OK;
}
const pz_solver pz_solver_eltwise_plain = {.name = "element by element, plain layout",
                                           .op = PZ_OP_ELTWISE,
                                           .in = PZ_PLAIN,
                                           .out = PZ_PLAIN,
                                           .applies = many_dimensions,
                                           .build = build_eltwise};
