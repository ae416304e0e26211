/* group_norm.c: (x - mean) / sqrt(variance + eps) * gamma + beta, with the statistics of each image's groups of channels
 * (group_norm), or of the channels of each position (channel_norm). */
#include "reference/ops.h"
#include <math.h>

typedef struct moments {
  double mean, variance;
} moments;

/* Of every step-th value. The variance from the differences to the mean: the difference of two sums would cancel. */
static moments moments_of(const double *x, int64_t n, int64_t step) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) sum += x[i * step];
  double mean = sum / (double)n;
  for (int64_t i = 0; i < n; i++) squares += (x[i * step] - mean) * (x[i * step] - mean);
  return (moments){mean, squares / (double)n};
}

void pz_reference_GROUP_NORM(const pz_reference_call *call) {
  const pz_attr_group_norm *a = &call->node->attr.group_norm;
  pz_axis_view x = reference_axis(reference_in_shape(call, 0), 1);
  const double *gamma = reference_in(call, PZ_GROUP_NORM_GAMMA),
               *beta = reference_in(call, PZ_GROUP_NORM_BETA);
  int64_t channels = x.size / a->groups;
  for (int64_t row = 0; row < x.outer * x.size; row++) {
    int64_t c = row % x.size, group = row / channels;
    moments m = moments_of(call->in[0] + group * channels * x.inner, channels * x.inner, 1);
    double deviation = sqrt(m.variance + (double)a->eps);
    for (int64_t i = row * x.inner; i < (row + 1) * x.inner; i++)
      call->out[0][i] = (call->in[0][i] - m.mean) / deviation * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0);
  }
  pz_reference_activate(&a->act, reference_in(call, PZ_GROUP_NORM_SLOPE), x.size, x, call->out[0]);
}

void pz_reference_CHANNEL_NORM(const pz_reference_call *call) {
  const pz_attr_channel_norm *a = &call->node->attr.channel_norm;
  pz_axis_view x = reference_axis(reference_in_shape(call, 0), 1);
  const double *gamma = reference_in(call, PZ_GROUP_NORM_GAMMA),
               *beta = reference_in(call, PZ_GROUP_NORM_BETA);
  for (int64_t point = 0; point < x.outer * x.inner; point++) {
    int64_t at = point / x.inner * x.size * x.inner + point % x.inner;
    moments m = moments_of(call->in[0] + at, x.size, x.inner);
    double deviation = sqrt(m.variance + (double)a->eps);
    for (int64_t c = 0; c < x.size; c++, at += x.inner)
      call->out[0][at] =
          (call->in[0][at] - m.mean) / deviation * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0);
  }
  pz_reference_activate(&a->act, reference_in(call, PZ_GROUP_NORM_SLOPE), x.size, x, call->out[0]);
}
