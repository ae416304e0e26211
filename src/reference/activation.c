/* activation.c: the formula of each row of graph/activations.inc. */
#include "reference/ops.h"
#include <math.h>

/* A NaN gives NaN in every row: the comparisons are so that it falls through to x. */
typedef struct parameters {
  double alpha, beta, slope;
} parameters;

static double clip(double x, double least, double most) { return x < least ? least : x > most ? most : x; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

#define FORMULA(id, value)                                                                                   \
  static double act_##id(double x, parameters p) { return (void)p, (value); }
FORMULA(RELU, x > 0 ? x : p.alpha * x)
FORMULA(PRELU, x > 0 ? x : p.slope * x)
FORMULA(ELU, x > 0 ? x : p.alpha * expm1(x))
FORMULA(SIGMOID, sigmoid(x))
FORMULA(TANH, tanh(x))
FORMULA(SELU, act_ELU(x, p) * p.beta)
FORMULA(HARD_SIGMOID, clip(x *p.alpha + p.beta, 0, 1))
FORMULA(HARD_SWISH, clip(x / 6 + 0.5, 0, 1) * x)
FORMULA(SILU, sigmoid(x) * x)
FORMULA(MISH, tanh(softplus(x)) * x)
FORMULA(SOFTPLUS, softplus(x))
FORMULA(GELU, 0.5 * x * erfc(-x * M_SQRT1_2))
FORMULA(GELU_TANH, 0.5 * x * (1 + tanh(sqrt(M_2_PI) * (x + 0.044715 * x * x * x))))
FORMULA(CLIP, clip(x, p.alpha, p.beta))
FORMULA(ABS, fabs(x))
FORMULA(EXP, exp(x))
FORMULA(LOG, log(x))
FORMULA(SQRT, sqrt(x))
FORMULA(ERF, erf(x))
FORMULA(ROUND, nearbyint(x))
FORMULA(FLOOR, floor(x))
FORMULA(CEIL, ceil(x))
FORMULA(SIGN, x > 0 ? 1 : x < 0 ? -1 : x)
FORMULA(RECIPROCAL, 1 / x)
FORMULA(THRESHOLDED_RELU, x <= p.alpha ? 0 : x)
FORMULA(SOFTSIGN, x / (1 + fabs(x)))

static double (*const formulas[PZ_ACT_COUNT])(double x, parameters p) = {
#define ACTIVATION(id, name, uses_alpha, uses_beta, uses_slope, zero_at_zero) [PZ_ACT_##id] = act_##id,
#include "graph/activations.inc"
#undef ACTIVATION
};

void pz_reference_activate(const pz_activation *act, const double *slope, int64_t n_slopes, pz_axis_view view,
                           double *values) {
  if (act->kind == PZ_ACT_NONE) return;
  double (*formula)(double, parameters) = formulas[act->kind];
  for (int64_t row = 0; row < view.outer * view.size; row++) {
    parameters p = {act->alpha, act->beta, !slope ? 0 : n_slopes == 1 ? slope[0] : slope[row % view.size]};
    double *y = values + row * view.inner;
    for (int64_t i = 0; i < view.inner; i++) y[i] = formula(y[i], p);
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
