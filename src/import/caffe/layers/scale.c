/* scale.c: Scale and Bias. The factor is a weight of the layer (one bottom), or the second bottom. */
#include "import/caffe/net.h"

/* Caffe's num_axes dimensions of x from axis on; -1: all that follow. */
static pz_status operand_shape(pz_caffe *c, int32_t axis, int32_t num_axes, pz_shape *shape) {
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  if (num_axes == -1) num_axes = x->rank - axis;
  if (num_axes < 0 || num_axes > x->rank - axis)
    return pz_caffe_fail(c, "num_axes: %d from axis %d on, its bottom has %d dimensions", (int)num_axes,
                         (int)axis, (int)x->rank);
  *shape = (pz_shape){.rank = num_axes};
  for (int32_t i = 0; i < num_axes; i++) shape->dim[i] = x->dim[axis + i];
  return PZ_OK;
}

/* What Scale and Bias have in common. */
typedef struct operand {
  int32_t axis, num_axes; /* as the layer gives them */
  pz_shape shape;
  pz_node node;
} operand;

/* A second bottom brings its shape; a scalar fits anywhere. */
static pz_status find_operand(pz_caffe *c, operand *o) {
  int32_t rank = pz_caffe_in_shape(c, 0)->rank;
  int32_t *axis = &o->node.attr.scale.axis;
  if (c->n_in == 2) o->shape = *pz_caffe_in_shape(c, 1);
  if (c->n_in == 2 && !o->shape.rank) *axis = 0;
  else PZ_TRY(pz_caffe_axis(c, "axis", o->axis, rank, axis));
  return c->n_in == 2 ? PZ_OK : operand_shape(c, *axis, o->num_axes, &o->shape);
}

pz_status pz_caffe_layer_scale(pz_caffe *c) {
  static const Caffe__ScaleParameter none = CAFFE__SCALE_PARAMETER__INIT;
  const Caffe__ScaleParameter *p = c->p->scale_param ? c->p->scale_param : &none;
  operand o = {.axis = p->axis, .num_axes = p->num_axes, .node = pz_node_new(PZ_OP_SCALE)};
  pz_tensor_id in[3] = {c->in[0], c->n_in == 2 ? c->in[1] : PZ_NONE, PZ_NONE};
  int32_t own = c->n_in == 1, bias = p->bias_term != 0;
  PZ_TRY(find_operand(c, &o));
  PZ_TRY(pz_caffe_expect_blobs(c, own + bias));
  pz_caffe_weight gamma = {0, "gamma", o.shape, p->filler, 1, false},
                  beta = {own, "beta", o.shape, p->bias_filler, 0, false};
  if (own) PZ_TRY(pz_caffe_add_weight(c, &gamma, &o.shape, &in[1]));
  if (bias) PZ_TRY(pz_caffe_add_weight(c, &beta, &o.shape, &in[2]));
  return pz_caffe_emit(c, &o.node, 3, in, 1);
}

pz_status pz_caffe_layer_bias(pz_caffe *c) {
  static const Caffe__BiasParameter none = CAFFE__BIAS_PARAMETER__INIT;
  const Caffe__BiasParameter *p = c->p->bias_param ? c->p->bias_param : &none;
  operand o = {.axis = p->axis, .num_axes = p->num_axes, .node = pz_node_new(PZ_OP_SCALE)};
  pz_tensor_id in[3] = {c->in[0], PZ_NONE, c->n_in == 2 ? c->in[1] : PZ_NONE};
  PZ_TRY(find_operand(c, &o));
  pz_caffe_weight beta = {0, "beta", o.shape, p->filler, 0, false};
  PZ_TRY(pz_caffe_expect_blobs(c, c->n_in == 1));
  if (c->n_in == 1) PZ_TRY(pz_caffe_add_weight(c, &beta, &o.shape, &in[2]));
  return pz_caffe_emit(c, &o.node, 3, in, 1);
}
