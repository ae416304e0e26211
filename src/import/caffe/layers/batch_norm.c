/* batch_norm.c: mean and variance lie in the file as sums, with the factor that they were summed with as a third blob:
 * what is stored is divided by it, and is 0 where the factor is 0. */
#include "import/caffe/net.h"

static void multiply(pz_caffe *c, pz_tensor_id id, int64_t count, float factor) {
  float *values = pz_graph_constant_data(c->graph, id);
  for (int64_t i = 0; i < count; i++) values[i] *= factor;
}

static pz_status add_statistics(pz_caffe *c, int64_t channels, pz_tensor_id *mean, pz_tensor_id *variance) {
  const pz_shape per_map = {1, {channels}};
  pz_caffe_weight means = {0, "mean", per_map, NULL, 0, true},
                  variances = {1, "variance", per_map, NULL, 1, true};
  pz_caffe_weight factors = {2, "factor", {1, {1}}, NULL, 1, true};
  float factor;
  PZ_TRY(pz_caffe_expect_blobs(c, 3));
  PZ_TRY(pz_caffe_add_weight(c, &means, &per_map, mean));
  PZ_TRY(pz_caffe_add_weight(c, &variances, &per_map, variance));
  PZ_TRY(pz_caffe_read_number(c, &factors, &factor));
  factor = factor == 0 ? 0 : 1 / factor;
  multiply(c, *mean, channels, factor);
  multiply(c, *variance, channels, factor);
  return PZ_OK;
}

pz_status pz_caffe_layer_batch_norm(pz_caffe *c) {
  static const Caffe__BatchNormParameter none = CAFFE__BATCH_NORM_PARAMETER__INIT;
  const Caffe__BatchNormParameter *p = c->p->batch_norm_param ? c->p->batch_norm_param : &none;
  const pz_shape *x = pz_caffe_in_shape(c, 0);
  pz_node node = pz_node_new(PZ_OP_BATCH_NORM);
  pz_tensor_id in[3] = {c->in[0]};
  /* Absent, Caffe takes the stored statistics in phase TEST; an explicit false holds in phase TEST too. */
  if (p->has_use_global_stats && !p->use_global_stats)
    return pz_caffe_fail(
        c, "use_global_stats: false computes the statistics of the batch even in phase TEST, which is "
           "not supported: remove it, so that TEST uses the stored ones");
  if (x->rank < 2) return pz_caffe_fail(c, "its bottom has no channels: expected at least N x C");
  node.attr.batch_norm.eps = p->eps;
  PZ_TRY(add_statistics(c, x->dim[1], &in[1], &in[2]));
  return pz_caffe_emit(c, &node, 3, in, 1);
}
