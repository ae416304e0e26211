/* infer.c: shape inference and the verifier of attributes: what all operators share. One function for each row of
 * ops.inc stands in infer_conv.c, infer_pointwise.c, infer_joining.c, infer_reducing.c and infer_copy.c. */
#include "graph/internal.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

pz_status pz_fail_node(pz_error *err, const pz_node *node, const char *format, ...) {
  char text[sizeof err->message];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const char *name = node->name ? node->name : "", *op = pz_op_name(node->op);
  if (!node->place.file) return pz_fail(err, PZ_ERROR_INPUT, "layer '%s' (%s): %s", name, op, text);
  if (node->place.line <= 0)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: layer '%s' (%s): %s", node->place.file, name, op, text);
  return pz_fail(err, PZ_ERROR_INPUT, "%s:%d: layer '%s' (%s): %s", node->place.file, (int)node->place.line,
                 name, op, text);
}

static const pz_inference infer[PZ_OP_COUNT] = {
#define OP(id, name, min_in, max_in, attr_type, family, layouts) pz_infer_##id,
#include "graph/ops.inc"
#undef OP
};

pz_status pz_infer_NONE(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  (void)g, (void)out;
  return pz_fail_node(err, node, "a removed layer has no result");
}

static pz_status check_arity(const pz_node *node, pz_error *err) {
  const pz_op_traits *op = pz_op_get(node->op);
  if (node->n_in < op->min_in)
    return pz_fail_node(err, node, "has %d inputs, needs at least %d", (int)node->n_in, (int)op->min_in);
  if (op->max_in >= 0 && node->n_in > op->max_in)
    return pz_fail_node(err, node, "has %d inputs, takes at most %d", (int)node->n_in, (int)op->max_in);
  if (node->n_out < 1 || (node->n_out > 1 && node->op != PZ_OP_SLICE))
    return pz_fail_node(err, node, "has %d outputs, makes one", (int)node->n_out);
  return PZ_OK;
}

static pz_status check_inputs(const pz_graph *g, const pz_node *node, pz_error *err) {
  const pz_op_traits *op = pz_op_get(node->op);
  for (int32_t i = 0; i < node->n_in; i++) {
    bool required = op->max_in < 0 || i < op->min_in;
    if (node->in[i] == PZ_NONE && required) return pz_fail_node(err, node, "its input %d is missing", (int)i);
    if (node->in[i] < PZ_NONE || node->in[i] >= g->n_tensors)
      return pz_fail_node(err, node, "its input %d is no tensor of the graph", (int)i);
  }
  return PZ_OK;
}

static pz_status check_results(const pz_node *node, const pz_shape *out, pz_error *err) {
  for (int32_t i = 0; i < node->n_out; i++)
    if (!pz_shape_valid(&out[i], NULL))
      return pz_fail_node(err, node, "its result would be %s: sizes are 1 to 2^31-1, at most 2^40 elements",
                          PZ_SHAPE(&out[i]));
  return PZ_OK;
}

pz_status pz_node_infer(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  if ((unsigned)node->op >= PZ_OP_COUNT) return pz_fail_node(err, node, "unknown operator %d", (int)node->op);
  PZ_TRY(check_arity(node, err));
  PZ_TRY(check_inputs(g, node, err));
  memset(out, 0, (size_t)node->n_out * sizeof *out);
  PZ_TRY(infer[node->op](g, node, out, err));
  return check_results(node, out, err);
}

pz_status pz_infer_vector(const pz_graph *g, const pz_node *node, int32_t i, int64_t count, const char *what,
                          pz_error *err) {
  const pz_tensor *t = pz_in(g, node, i);
  if (!t || (t->shape.rank == 1 && t->shape.dim[0] == count)) return PZ_OK;
  return pz_fail_node(err, node, "its %s '%s' is %s, expected %lld", what, t->name, PZ_SHAPE(&t->shape),
                      (long long)count);
}

pz_status pz_infer_finite(const pz_node *node, const char *what, double value, pz_error *err) {
  return isfinite(value) ? PZ_OK : pz_fail_node(err, node, "%s is not a finite number", what);
}

static pz_status check_parameters(const pz_node *node, const pz_activation *act, pz_error *err) {
  const char *name = pz_activation_name(act->kind);
  if (act->kind == PZ_ACT_CLIP) { /* so that the result is finite where x is */
    if (act->alpha <= act->beta && act->alpha < INFINITY && act->beta > -INFINITY) return PZ_OK;
    return pz_fail_node(err, node, "clip from %g to %g: the first must not be greater", (double)act->alpha,
                        (double)act->beta);
  }
  PZ_TRY(pz_infer_finite(node, "alpha", act->alpha, err));
  PZ_TRY(pz_infer_finite(node, "beta", act->beta, err));
  if (act->alpha != 0 && !pz_activation_uses_alpha(act->kind))
    return pz_fail_node(err, node, "activation %s has no alpha, but it is %g", name, (double)act->alpha);
  if (act->beta != 0 && !pz_activation_uses_beta(act->kind))
    return pz_fail_node(err, node, "activation %s has no beta, but it is %g", name, (double)act->beta);
  return PZ_OK;
}

pz_status pz_infer_activation(const pz_node *node, const pz_activation *act, int32_t slope, pz_error *err) {
  if ((unsigned)act->kind >= PZ_ACT_COUNT)
    return pz_fail_node(err, node, "unknown activation %d", (int)act->kind);
  const char *name = pz_activation_name(act->kind);
  PZ_TRY(check_parameters(node, act, err));
  bool has = pz_node_input(node, slope) != PZ_NONE, needs = pz_activation_uses_slope(act->kind);
  if (needs && !has) return pz_fail_node(err, node, "activation %s needs a slope", name);
  if (has && !needs) return pz_fail_node(err, node, "activation %s takes no slope", name);
  return PZ_OK;
}

pz_status pz_infer_axis(const pz_node *node, int32_t axis, int32_t rank, pz_error *err) {
  if (axis >= 0 && axis < rank) return PZ_OK;
  return pz_fail_node(err, node, "axis %d is not one of its input's %d dimensions", (int)axis, (int)rank);
}

pz_status pz_infer_spatial(const pz_node *node, const pz_shape *x, int32_t *first, pz_error *err) {
  if (x->rank < 3 || x->rank > 2 + PZ_SPATIAL)
    return pz_fail_node(err, node, "its input is %s, expected N x C and one to three spatial dimensions",
                        PZ_SHAPE(x));
  *first = PZ_SPATIAL - (x->rank - 2);
  return PZ_OK;
}

pz_status pz_infer_entries(const pz_node *node, const char *what, const int32_t v[PZ_SPATIAL], int32_t first,
                           int32_t least, int32_t unused, pz_error *err) {
  for (int32_t i = 0; i < PZ_SPATIAL; i++) {
    bool bad = i < first ? v[i] != unused : v[i] < least;
    if (bad && i < first)
      return pz_fail_node(err, node,
                          "%s %d,%d,%d: its input has %d spatial dimensions, the others must be %d", what,
                          (int)v[0], (int)v[1], (int)v[2], (int)(PZ_SPATIAL - first), (int)unused);
    if (bad)
      return pz_fail_node(err, node, "%s %d,%d,%d: must be at least %d", what, (int)v[0], (int)v[1],
                          (int)v[2], (int)least);
  }
  return PZ_OK;
}
