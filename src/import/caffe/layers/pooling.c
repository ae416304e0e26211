/* pooling.c: Caffe rounds the size up unless round_mode says FLOOR, and its averages divide by the part of the window
 * that lies in the padded input. */
#include "import/caffe/layers/spatial.h"

static pz_status read_global(pz_caffe *c, const Caffe__PoolingParameter *p, int32_t n_spatial,
                             pz_attr_pool *a) {
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  if (p->n_kernel_size || p->has_kernel_h || p->has_kernel_w)
    return pz_caffe_fail(c, "global_pooling takes the whole input, but a kernel is given");
  for (int32_t i = PZ_SPATIAL - n_spatial; i < PZ_SPATIAL; i++) {
    if (a->pad_lo[i] || a->stride[i] != 1)
      return pz_caffe_fail(c, "global_pooling goes with pad 0 and stride 1 only");
    PZ_TRY(pz_caffe_int32(c, "kernel_size", x->dim[x->rank - PZ_SPATIAL + i], 1, &a->kernel[i]));
  }
  return PZ_OK;
}

static pz_status read_windows(pz_caffe *c, const Caffe__PoolingParameter *p, int32_t n_spatial,
                              pz_attr_pool *a) {
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
  PZ_TRY(pz_caffe_read_spatial(c, &stride, n_spatial, a->stride));
  PZ_TRY(pz_caffe_read_spatial(c, &pad, n_spatial, a->pad_lo));
  for (int i = 0; i < PZ_SPATIAL; i++) a->pad_hi[i] = a->pad_lo[i];
  return p->global_pooling ? read_global(c, p, n_spatial, a)
                           : pz_caffe_read_spatial(c, &kernel, n_spatial, a->kernel);
}

/* Without any padding Caffe keeps a last window that begins behind the input, and has no value for it. */
static pz_status check_last_window(pz_caffe *c, const pz_attr_pool *a, int32_t n_spatial) {
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  bool padded = a->pad_lo[0] || a->pad_lo[1] || a->pad_lo[2];
  for (int32_t i = PZ_SPATIAL - n_spatial; i < PZ_SPATIAL && a->ceil && !padded; i++) {
    int64_t in = x->dim[x->rank - PZ_SPATIAL + i], steps = in - a->kernel[i] + a->stride[i] - 1;
    if (in >= a->kernel[i] && steps / a->stride[i] * a->stride[i] >= in)
      return pz_caffe_fail(
          c,
          "its last window along %c lies outside of the input, where Caffe has no value: use "
          "round_mode: FLOOR",
          "zyx"[i]);
  }
  return PZ_OK;
}

pz_status pz_caffe_layer_pooling(pz_caffe *c) {
  static const Caffe__PoolingParameter none = CAFFE__POOLING_PARAMETER__INIT;
  const Caffe__PoolingParameter *p = c->p->pooling_param ? c->p->pooling_param : &none;
  pz_node node = pz_node_new(PZ_OP_POOL);
  pz_attr_pool *a = &node.attr.pool;
  int32_t n_spatial;
  if (p->pool == CAFFE__POOLING_PARAMETER__POOL_METHOD__STOCHASTIC)
    return pz_caffe_fail(c, "pool: STOCHASTIC is not supported, only MAX and AVE");
  a->kind = p->pool == CAFFE__POOLING_PARAMETER__POOL_METHOD__AVE ? PZ_POOL_AVE : PZ_POOL_MAX;
  a->divisor = PZ_DIVISOR_CAFFE;
  a->ceil = p->round_mode == CAFFE__POOLING_PARAMETER__ROUND_MODE__CEIL;
  PZ_TRY(pz_caffe_count_spatial(c, 0, &n_spatial));
  PZ_TRY(read_windows(c, p, n_spatial, a));
  PZ_TRY(check_last_window(c, a, n_spatial));
  return pz_caffe_emit_simple(c, &node);
}
