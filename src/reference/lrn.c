/* lrn.c: local response normalisation as Caffe has it: x / (k + alpha * mean of x^2 over a window)^beta.
 * The window is `size` channels, or size^s positions of the same channel; positions outside count as zeros. */
#include "reference/ops.h"
#include <math.h>

typedef struct range {
  int64_t begin, end;
} range;

/* The window of `size` around i, clipped to 0..n-1. */
static range around(int64_t i, int64_t size, int64_t n) {
  int64_t begin = i - (size - 1) / 2, end = begin + size;
  return (range){begin < 0 ? 0 : begin, end > n ? n : end};
}

static double normalise(const pz_attr_lrn *a, double x, double mean_square) {
  return x * pow((double)a->k + (double)a->alpha * mean_square, -(double)a->beta);
}

static void across_channels(const pz_reference_call *call, const pz_attr_lrn *a) {
  pz_axis_view x = reference_axis(reference_in_shape(call, 0), 1);
  for (int64_t n = 0; n < x.outer; n++)
    for (int64_t c = 0; c < x.size; c++)
      for (int64_t i = 0; i < x.inner; i++) {
        const double *in = call->in[0] + n * x.size * x.inner + i;
        range r = around(c, a->size, x.size);
        double sum = 0;
        for (int64_t k = r.begin; k < r.end; k++) sum += in[k * x.inner] * in[k * x.inner];
        call->out[0][(n * x.size + c) * x.inner + i] = normalise(a, in[c * x.inner], sum / a->size);
      }
}

static double sum_squares(const double *x, const pz_shape5 *size, const range r[PZ_SPATIAL]) {
  double sum = 0;
  for (int64_t d = r[0].begin; d < r[0].end; d++)
    for (int64_t h = r[1].begin; h < r[1].end; h++)
      for (int64_t w = r[2].begin; w < r[2].end; w++) {
        double v = x[(d * size->s[1] + h) * size->s[2] + w];
        sum += v * v;
      }
  return sum;
}

static void within_channel(const pz_reference_call *call, const pz_attr_lrn *a) {
  const pz_shape *shape = reference_in_shape(call, 0);
  pz_shape5 x = pz_shape_as5(shape);
  double count = pow(a->size, shape->rank - 2);
  int64_t plane = x.s[1] * x.s[2], channel = x.s[0] * plane;
  for (int64_t i = 0; i < x.n * x.c * channel; i++) {
    int64_t at[PZ_SPATIAL] = {i % channel / plane, i % plane / x.s[2], i % x.s[2]};
    range r[PZ_SPATIAL];
    for (int k = 0; k < PZ_SPATIAL; k++) r[k] = around(at[k], a->size, x.s[k]);
    call->out[0][i] =
        normalise(a, call->in[0][i], sum_squares(call->in[0] + i / channel * channel, &x, r) / count);
  }
}

void pz_reference_LRN(const pz_reference_call *call) {
  const pz_attr_lrn *a = &call->node->attr.lrn;
  if (a->within_channel) within_channel(call, a);
  else across_channels(call, a);
}
