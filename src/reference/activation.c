/* activation.c: the formula of each row of graph/activations.inc. */
#include "reference/ops.h"
#include <math.h>

static double act_RELU(double x, double alpha, double slope) { return (void)slope, x > 0 ? x : alpha * x; }
static double act_PRELU(double x, double alpha, double slope) { return (void)alpha, x > 0 ? x : slope * x; }
static double act_ELU(double x, double alpha, double slope) {
  return (void)slope, x > 0 ? x : alpha * expm1(x);
}
static double act_SIGMOID(double x, double alpha, double slope) {
  return (void)alpha, (void)slope, 1 / (1 + exp(-x));
}
static double act_TANH(double x, double alpha, double slope) { return (void)alpha, (void)slope, tanh(x); }

static double (*const formulas[PZ_ACT_COUNT])(double x, double alpha, double slope) = {
#define ACTIVATION(id, name, uses_alpha, uses_slope, zero_at_zero) [PZ_ACT_##id] = act_##id,
#include "graph/activations.inc"
#undef ACTIVATION
};

void pz_reference_activate(const pz_activation *act, const double *slope, int64_t n_slopes, pz_axis_view view,
                           double *values) {
  if (act->kind == PZ_ACT_NONE) return;
  double (*formula)(double, double, double) = formulas[act->kind];
  for (int64_t row = 0; row < view.outer * view.size; row++) {
    double s = !slope ? 0 : n_slopes == 1 ? slope[0] : slope[row % view.size];
    double *y = values + row * view.inner;
    for (int64_t i = 0; i < view.inner; i++) y[i] = formula(y[i], act->alpha, s);
  }
}

/* The channels' axis; a tensor of rank 1 or 0 is one channel. */
static pz_axis_view channels(const pz_shape *s) {
  return s->rank > 1 ? reference_axis(s, 1) : (pz_axis_view){1, 1, pz_shape_elements(s)};
}

void pz_reference_ACTIVATION(const pz_reference_call *call) {
  const pz_shape *shape = reference_in_shape(call, 0);
  const double *slope = reference_in(call, 1);
  int64_t n = pz_shape_elements(shape);
  for (int64_t i = 0; i < n; i++) call->out[0][i] = call->in[0][i];
  pz_reference_activate(&call->node->attr.activation.act, slope,
                        slope ? pz_shape_elements(reference_in_shape(call, 1)) : 0, channels(shape),
                        call->out[0]);
}
