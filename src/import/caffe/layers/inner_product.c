#include "import/caffe/net.h"

/* [K, X], transposed [X, K], X being all of the bottom from axis on. */
static pz_shape weight_shape(const pz_shape *x, int32_t axis, int32_t channels, bool transpose) {
  int64_t length = 1;
  for (int32_t i = axis; i < x->rank; i++) length *= x->dim[i];
  return transpose ? (pz_shape){2, {length, channels}} : (pz_shape){2, {channels, length}};
}

pz_status pz_caffe_layer_inner_product(pz_caffe *c) {
  static const Caffe__InnerProductParameter none = CAFFE__INNER_PRODUCT_PARAMETER__INIT;
  const Caffe__InnerProductParameter *p = c->p->inner_product_param ? c->p->inner_product_param : &none;
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  pz_node node = pz_node_new(PZ_OP_INNER_PRODUCT);
  pz_attr_inner_product *a = &node.attr.inner_product;
  pz_tensor_id in[3] = {c->in[0], PZ_NONE, PZ_NONE};
  int32_t channels;
  PZ_TRY(pz_caffe_axis(c, "axis", p->axis, x->rank, &a->axis));
  PZ_TRY(pz_caffe_int32(c, "num_output", p->num_output, 1, &channels));
  a->transpose = p->transpose;
  pz_caffe_weight weight = {0, "weight", weight_shape(x, a->axis, channels, a->transpose), p->weight_filler,
                            0, false};
  pz_caffe_weight bias = {1, "bias", {1, {channels}}, p->bias_filler, 0, false};
  PZ_TRY(pz_caffe_expect_blobs(c, 1 + (p->bias_term != 0)));
  PZ_TRY(pz_caffe_add_weight(c, &weight, &weight.shape, &in[1]));
  if (p->bias_term) PZ_TRY(pz_caffe_add_weight(c, &bias, &bias.shape, &in[2]));
  return pz_caffe_emit(c, &node, 3, in, 1);
}
