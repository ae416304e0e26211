/* pointwise.c: Power, Softmax, LRN, Dropout, and Silence, which does nothing. */
#include "import/caffe/net.h"

pz_status pz_caffe_layer_power(pz_caffe *c) {
  static const Caffe__PowerParameter none = CAFFE__POWER_PARAMETER__INIT;
  const Caffe__PowerParameter *p = c->p->power_param ? c->p->power_param : &none;
  pz_node node = pz_node_new(PZ_OP_POWER);
  node.attr.power = (pz_attr_power){p->power, p->scale, p->shift};
  return pz_caffe_emit_simple(c, &node);
}

pz_status pz_caffe_layer_softmax(pz_caffe *c) {
  pz_node node = pz_node_new(PZ_OP_SOFTMAX);
  int32_t axis = c->p->softmax_param ? c->p->softmax_param->axis : 1;
  PZ_TRY(pz_caffe_axis(c, "axis", axis, pz_caffe_in_shape(c, 0)->rank, &node.attr.softmax.axis));
  return pz_caffe_emit_simple(c, &node);
}

/* Caffe computes WITHIN_CHANNEL from other layers, where k is always 1. */
pz_status pz_caffe_layer_lrn(pz_caffe *c) {
  static const Caffe__LRNParameter none = CAFFE__LRNPARAMETER__INIT;
  const Caffe__LRNParameter *p = c->p->lrn_param ? c->p->lrn_param : &none;
  pz_node node = pz_node_new(PZ_OP_LRN);
  pz_attr_lrn *a = &node.attr.lrn;
  a->within_channel = p->norm_region == CAFFE__LRNPARAMETER__NORM_REGION__WITHIN_CHANNEL;
  a->alpha = p->alpha;
  a->beta = p->beta;
  a->k = a->within_channel ? 1 : p->k;
  PZ_TRY(pz_caffe_int32(c, "local_size", p->local_size, 1, &a->size));
  return pz_caffe_emit_simple(c, &node);
}

/* Nothing in phase TEST; a dialect scales then and not in training. */
pz_status pz_caffe_layer_dropout(pz_caffe *c) {
  const Caffe__DropoutParameter *p = c->p->dropout_param;
  bool scales = p && !p->scale_train;
  pz_node node = pz_node_new(scales ? PZ_OP_POWER : PZ_OP_IDENTITY);
  if (scales) node.attr.power = (pz_attr_power){1, 1 - p->dropout_ratio, 0};
  return pz_caffe_emit_simple(c, &node);
}

pz_status pz_caffe_layer_silence(pz_caffe *c) {
  (void)c; /* its bottoms are read, so they are no outputs */
  return PZ_OK;
}
