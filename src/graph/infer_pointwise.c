/* infer_pointwise.c: operators whose result has the shape of x. */
#include "graph/internal.h"

static const pz_shape *keep(const pz_graph *g, const pz_node *node, pz_shape *out) {
  *out = pz_in(g, node, 0)->shape;
  return out;
}

/* C, the number of channels. */
static pz_status channels_of(const pz_node *node, const pz_shape *x, int64_t *channels, pz_error *err) {
  if (x->rank < 2) return pz_fail_node(err, node, "its input is %s, expected N x C x ...", PZ_SHAPE(x));
  *channels = x->dim[1];
  return PZ_OK;
}

pz_status pz_infer_IDENTITY(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  (void)err;
  keep(g, node, out);
  return PZ_OK;
}

pz_status pz_infer_BORDER_COPY(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  int32_t first = 0;
  return pz_infer_spatial(node, keep(g, node, out), &first, err);
}

pz_status pz_infer_BATCH_NORM(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  int64_t channels = 0;
  PZ_TRY(channels_of(node, keep(g, node, out), &channels, err));
  PZ_TRY(pz_infer_vector(g, node, 1, channels, "mean", err));
  PZ_TRY(pz_infer_vector(g, node, 2, channels, "variance", err));
  PZ_TRY(pz_infer_finite(node, "eps", node->attr.batch_norm.eps, err));
  if (node->attr.batch_norm.eps < 0)
    return pz_fail_node(err, node, "eps %g is negative", (double)node->attr.batch_norm.eps);
  return PZ_OK;
}

/* gamma and beta have the shape x.dim[axis], x.dim[axis + 1], ..., as many as they have dimensions. */
static pz_status check_operand(const pz_graph *g, const pz_node *node, int32_t i, const char *what,
                               pz_error *err) {
  const pz_tensor *x = pz_in(g, node, 0), *t = pz_in(g, node, i);
  if (!t) return PZ_OK;
  int32_t axis = node->attr.scale.axis;
  bool fits = axis + t->shape.rank <= x->shape.rank;
  for (int32_t k = 0; fits && k < t->shape.rank; k++) fits = t->shape.dim[k] == x->shape.dim[axis + k];
  if (fits) return PZ_OK;
  return pz_fail_node(err, node, "its %s '%s' is %s, which does not fit its input '%s' %s from axis %d on",
                      what, t->name, PZ_SHAPE(&t->shape), x->name, PZ_SHAPE(&x->shape), (int)axis);
}

pz_status pz_infer_SCALE(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = keep(g, node, out);
  const pz_tensor *gamma = pz_in(g, node, 1), *beta = pz_in(g, node, 2);
  int32_t axis = node->attr.scale.axis;
  if (axis < 0 || axis > x->rank)
    return pz_fail_node(err, node, "axis %d is not one of its input's %d dimensions", (int)axis,
                        (int)x->rank);
  PZ_TRY(check_operand(g, node, 1, "factor", err));
  PZ_TRY(check_operand(g, node, 2, "bias", err));
  if (gamma && beta && !pz_shape_equal(&gamma->shape, &beta->shape))
    return pz_fail_node(err, node, "its factor '%s' is %s, but its bias '%s' is %s", gamma->name,
                        PZ_SHAPE(&gamma->shape), beta->name, PZ_SHAPE(&beta->shape));
  return PZ_OK;
}

pz_status pz_infer_ACTIVATION(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_shape *x = keep(g, node, out);
  const pz_tensor *slope = pz_in(g, node, 1);
  PZ_TRY(pz_infer_activation(node, &node->attr.activation.act, 1, err));
  if (!slope || (slope->shape.rank == 1 && slope->shape.dim[0] == 1)) return PZ_OK;
  int64_t channels = 0;
  PZ_TRY(channels_of(node, x, &channels, err));
  return pz_infer_vector(g, node, 1, channels, "slope", err);
}

pz_status pz_infer_POWER(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  keep(g, node, out);
  PZ_TRY(pz_infer_finite(node, "power", node->attr.power.power, err));
  PZ_TRY(pz_infer_finite(node, "scale", node->attr.power.scale, err));
  return pz_infer_finite(node, "shift", node->attr.power.shift, err);
}

pz_status pz_infer_SOFTMAX(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  return pz_infer_axis(node, node->attr.softmax.axis, keep(g, node, out)->rank, err);
}

pz_status pz_infer_CUMSUM(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  return pz_infer_axis(node, node->attr.cumsum.axis, keep(g, node, out)->rank, err);
}

/* eps, the vectors of a norm over `channels` channels, and its activation. */
static pz_status check_norm(const pz_graph *g, const pz_node *node, float eps, const pz_activation *act,
                            int64_t channels, pz_error *err) {
  PZ_TRY(pz_infer_finite(node, "eps", eps, err));
  if (eps < 0) return pz_fail_node(err, node, "eps %g is negative", (double)eps);
  PZ_TRY(pz_infer_vector(g, node, PZ_GROUP_NORM_GAMMA, channels, "factor", err));
  PZ_TRY(pz_infer_vector(g, node, PZ_GROUP_NORM_BETA, channels, "bias", err));
  PZ_TRY(pz_infer_vector(g, node, PZ_GROUP_NORM_SLOPE, channels, "slope", err));
  return pz_infer_activation(node, act, PZ_GROUP_NORM_SLOPE, err);
}

pz_status pz_infer_CHANNEL_NORM(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_channel_norm *a = &node->attr.channel_norm;
  int64_t channels = 0;
  PZ_TRY(channels_of(node, keep(g, node, out), &channels, err));
  return check_norm(g, node, a->eps, &a->act, channels, err);
}

pz_status pz_infer_GROUP_NORM(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_group_norm *a = &node->attr.group_norm;
  int64_t channels = 0;
  PZ_TRY(channels_of(node, keep(g, node, out), &channels, err));
  if (a->groups < 1 || channels % a->groups)
    return pz_fail_node(err, node, "%d groups: they must divide its input's %lld channels", (int)a->groups,
                        (long long)channels);
  return check_norm(g, node, a->eps, &a->act, channels, err);
}

pz_status pz_infer_LRN(const pz_graph *g, const pz_node *node, pz_shape *out, pz_error *err) {
  const pz_attr_lrn *a = &node->attr.lrn;
  const pz_shape *x = keep(g, node, out);
  int64_t channels = 0;
  int32_t first = 0;
  if (a->size < 1 || a->size % 2 == 0)
    return pz_fail_node(err, node, "its window is %d wide, it must be odd and positive", (int)a->size);
  PZ_TRY(pz_infer_finite(node, "alpha", a->alpha, err));
  PZ_TRY(pz_infer_finite(node, "beta", a->beta, err));
  PZ_TRY(pz_infer_finite(node, "k", a->k, err));
  return a->within_channel ? pz_infer_spatial(node, x, &first, err) : channels_of(node, x, &channels, err);
}
