/* pool.c: maximum and average over windows. */
#include "reference/ops.h"

/* The window at output position o, along one axis: positions begin, begin + dilation, ... that are before end, of which
 * `inside` lie in the input and `padded` in the padded input. */
typedef struct window {
  int64_t begin, end, inside, padded;
} window;

/* How many of n positions from `begin` on lie in 0..end-1, or with `low` from below 0 on. */
static int64_t count(int64_t begin, int64_t n, int64_t step, bool low, int64_t end) {
  int64_t k = 0;
  for (int64_t i = 0, at = begin; i < n; i++, at += step) k += (low || at >= 0) && at < end;
  return k;
}

static window window_at(const pz_attr_pool *a, int axis, int64_t o, int64_t n) {
  int64_t step = a->dilation[axis], kernel = a->kernel[axis];
  int64_t begin = o * a->stride[axis] - a->pad_lo[axis], last = begin + (kernel - 1) * step;
  window w = {.inside = count(begin, kernel, step, false, n),
              .padded = count(begin, kernel, step, true, n + a->pad_hi[axis])};
  w.begin = begin >= 0 ? begin : begin + (-begin + step - 1) / step * step;
  w.end = last < n ? last + 1 : n;
  return w;
}

static double divisor(const pz_attr_pool *a, const window w[PZ_SPATIAL]) {
  double product = 1;
  for (int i = 0; i < PZ_SPATIAL; i++)
    product *= (double)(a->divisor == PZ_DIVISOR_CAFFE   ? w[i].padded
                        : a->divisor == PZ_DIVISOR_VALID ? w[i].inside
                                                         : a->kernel[i]);
  return product;
}

static double pool_window(const pz_attr_pool *a, const double *x, const pz_shape5 *size,
                          const window w[PZ_SPATIAL]) {
  double sum = 0, most = -__builtin_inf();
  for (int64_t d = w[0].begin; d < w[0].end; d += a->dilation[0])
    for (int64_t h = w[1].begin; h < w[1].end; h += a->dilation[1])
      for (int64_t i = w[2].begin; i < w[2].end; i += a->dilation[2]) {
        double v = x[(d * size->s[1] + h) * size->s[2] + i];
        sum += v;
        if (v > most || v != v) most = v; /* a NaN stays */
      }
  return a->kind == PZ_POOL_MAX ? most : sum / divisor(a, w);
}

void pz_reference_POOL(const pz_reference_call *call) {
  const pz_attr_pool *a = &call->node->attr.pool;
  pz_shape5 x = pz_shape_as5(reference_in_shape(call, 0)), y = pz_shape_as5(reference_out_shape(call, 0));
  double *out = call->out[0];
  for (int64_t channel = 0; channel < y.n * y.c; channel++)
    for (int64_t d = 0; d < y.s[0]; d++)
      for (int64_t h = 0; h < y.s[1]; h++)
        for (int64_t w = 0; w < y.s[2]; w++) {
          window windows[PZ_SPATIAL] = {window_at(a, 0, d, x.s[0]), window_at(a, 1, h, x.s[1]),
                                        window_at(a, 2, w, x.s[2])};
          *out++ = pool_window(a, call->in[0] + channel * x.s[0] * x.s[1] * x.s[2], &x, windows);
        }
}
