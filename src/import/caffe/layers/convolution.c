/* convolution.c: Convolution and Deconvolution, in one to three dimensions. With several bottoms each has its top, and
 * all share the weights. */
#include "import/caffe/layers/spatial.h"

typedef struct conv {
  const Caffe__ConvolutionParameter *p;
  bool transposed;
  int32_t n_spatial;
  pz_node node;
  pz_tensor_id weight, bias;
} conv;

static pz_status read_windows(pz_caffe *c, conv *v) {
  const Caffe__ConvolutionParameter *p = v->p;
  pz_attr_conv *a = &v->node.attr.conv;
  pz_caffe_spatial kernel = {"kernel_size",
                             p->n_kernel_size,
                             p->kernel_size,
                             p->has_kernel_h,
                             p->has_kernel_w,
                             p->kernel_h,
                             p->kernel_w,
                             0,
                             1,
                             1};
  pz_caffe_spatial stride = {
      "stride", p->n_stride, p->stride, p->has_stride_h, p->has_stride_w, p->stride_h, p->stride_w, 1, 1, 1};
  pz_caffe_spatial pad = {"pad", p->n_pad, p->pad, p->has_pad_h, p->has_pad_w, p->pad_h, p->pad_w, 0, 0, 0};
  pz_caffe_spatial dilation = {"dilation", p->n_dilation, p->dilation, false, false, 0, 0, 1, 1, 1};
  PZ_TRY(pz_caffe_read_spatial(c, &kernel, v->n_spatial, a->kernel));
  PZ_TRY(pz_caffe_read_spatial(c, &stride, v->n_spatial, a->stride));
  PZ_TRY(pz_caffe_read_spatial(c, &pad, v->n_spatial, a->pad_lo));
  for (int i = 0; i < PZ_SPATIAL; i++) a->pad_hi[i] = a->pad_lo[i];
  return pz_caffe_read_spatial(c, &dilation, v->n_spatial, a->dilation);
}

static pz_status read_attributes(pz_caffe *c, conv *v) {
  int32_t axis, rank = v->n_spatial + 2;
  PZ_TRY(pz_caffe_axis(c, "axis", v->p->axis, rank, &axis));
  if (axis != 1) return pz_caffe_fail(c, "axis %d: the channels must be dimension 1", (int)v->p->axis);
  PZ_TRY(read_windows(c, v));
  return pz_caffe_int32(c, "group", v->p->group, 1, &v->node.attr.conv.group);
}

/* [K, C/group, kernel], transposed [C, K/group, kernel]. */
static pz_status weight_shape(pz_caffe *c, const conv *v, int32_t channels_out, pz_shape *shape) {
  int64_t channels = pz_caffe_in_shape(c, 0)->dim[1], group = v->node.attr.conv.group;
  if (channels % group || channels_out % group)
    return pz_caffe_fail(c, "group %d does not divide its %lld input channels and %d output channels",
                         (int)group, (long long)channels, (int)channels_out);
  *shape = (pz_shape){
      v->n_spatial + 2,
      {v->transposed ? channels : channels_out, (v->transposed ? channels_out : channels) / group}};
  for (int32_t i = 0; i < v->n_spatial; i++)
    shape->dim[2 + i] = v->node.attr.conv.kernel[PZ_SPATIAL - v->n_spatial + i];
  return PZ_OK;
}

static pz_status add_weights(pz_caffe *c, conv *v) {
  int32_t channels_out;
  pz_caffe_weight weight = {0, "weight", {0}, v->p->weight_filler, 0, false};
  PZ_TRY(pz_caffe_int32(c, "num_output", v->p->num_output, 1, &channels_out));
  PZ_TRY(weight_shape(c, v, channels_out, &weight.shape));
  PZ_TRY(pz_caffe_expect_blobs(c, 1 + (v->p->bias_term != 0)));
  PZ_TRY(pz_caffe_add_weight(c, &weight, &weight.shape, &v->weight));
  if (!v->p->bias_term) return PZ_OK;
  pz_caffe_weight bias = {1, "bias", {1, {channels_out}}, v->p->bias_filler, 0, false};
  return pz_caffe_add_weight(c, &bias, &bias.shape, &v->bias);
}

static pz_status build(pz_caffe *c, pz_op op) {
  static const Caffe__ConvolutionParameter none = CAFFE__CONVOLUTION_PARAMETER__INIT;
  conv v = {.p = c->p->convolution_param ? c->p->convolution_param : &none,
            .transposed = op == PZ_OP_DECONV,
            .node = pz_node_new(op),
            .bias = PZ_NONE};
  PZ_TRY(pz_caffe_count_spatial(c, 0, &v.n_spatial));
  PZ_TRY(read_attributes(c, &v));
  PZ_TRY(add_weights(c, &v));
  for (int32_t i = 0; i < c->n_in; i++) {
    pz_tensor_id in[] = {c->in[i], v.weight, v.bias};
    PZ_TRY(pz_caffe_emit(c, &v.node, 3, in, 1));
  }
  return PZ_OK;
}

pz_status pz_caffe_layer_convolution(pz_caffe *c) { return build(c, PZ_OP_CONV); }
pz_status pz_caffe_layer_deconvolution(pz_caffe *c) { return build(c, PZ_OP_DECONV); }
