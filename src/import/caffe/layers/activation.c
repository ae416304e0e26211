/* activation.c: ReLU, PReLU, ELU, Sigmoid, TanH. */
#include "import/caffe/net.h"

static pz_status emit(pz_caffe *c, pz_activation_kind kind, float alpha) {
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  node.attr.activation.act = (pz_activation){.kind = kind, .alpha = alpha};
  return pz_caffe_emit_simple(c, &node);
}

pz_status pz_caffe_layer_relu(pz_caffe *c) {
  return emit(c, PZ_ACT_RELU, c->p->relu_param ? c->p->relu_param->negative_slope : 0);
}
pz_status pz_caffe_layer_elu(pz_caffe *c) {
  return emit(c, PZ_ACT_ELU, c->p->elu_param ? c->p->elu_param->alpha : 1);
}
pz_status pz_caffe_layer_sigmoid(pz_caffe *c) { return emit(c, PZ_ACT_SIGMOID, 0); }
pz_status pz_caffe_layer_tanh(pz_caffe *c) { return emit(c, PZ_ACT_TANH, 0); }

/* A slope for each channel, or a scalar for all. */
pz_status pz_caffe_layer_prelu(pz_caffe *c) {
  static const Caffe__PReLUParameter none = CAFFE__PRE_LUPARAMETER__INIT;
  const Caffe__PReLUParameter *p = c->p->prelu_param ? c->p->prelu_param : &none;
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  if (x->rank < 2) return pz_caffe_fail(c, "its bottom has no channels: expected at least N x C");
  pz_shape slopes = {1, {p->channel_shared ? 1 : x->dim[1]}};
  pz_caffe_weight slope = {0, "slope", slopes, p->filler, 0.25f, false};
  pz_node node = pz_node_new(PZ_OP_ACTIVATION);
  pz_tensor_id in[2] = {c->in[0]};
  if (p->channel_shared) slope.shape = (pz_shape){0};
  node.attr.activation.act.kind = PZ_ACT_PRELU;
  PZ_TRY(pz_caffe_expect_blobs(c, 1));
  PZ_TRY(pz_caffe_add_weight(c, &slope, &slopes, &in[1]));
  return pz_caffe_emit(c, &node, 2, in, 1);
}
