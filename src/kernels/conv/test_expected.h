/* test_expected.h: what a convolution or deconvolution should give: a plain sum in double precision. */
#ifndef PZ_KERNELS_CONV_TEST_EXPECTED_H
#define PZ_KERNELS_CONV_TEST_EXPECTED_H

#include "kernels/conv/shape.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"

/* What a convolution reads and writes: tensors, residual perhaps that of out; weights [K, C, kd, kh, kw], bias, scale and slope [K], and these
 * three as kernels read them. */
typedef struct pz_test_conv {
  pz_test_tensor in, out, residual;
  float *weights, *bias, *scale, *slope;
  pz_test_memory packed_bias, packed_scale, packed_slope;
} pz_test_conv;

/* Storage that ends with the border that a convolution needs, in front of a guard page or behind one; random. */
PZ_TEST_INLINE pz_test_tensor pz_test_bordered(pz_test_random *r, int32_t block, int32_t c,
                                               const int32_t size[4], const int32_t pad[3],
                                               bool channels_last) {
  const int32_t none[4] = {0};
  pz_view v = pz_test_dense(block, size[0], c, size[1], size[2], size[3]);
  v.channels_last = channels_last;
  for (int i = 0; i < 3; ++i) v.border_lo[i] = v.border_hi[i] = pad[i];
  pz_test_tensor t = pz_test_store(v, none, none, pz_test_int(r, 0, 1));
  pz_test_fill(&t, r, -1, 1);
  return t;
}

PZ_TEST_INLINE void pz_test_conv_pack(pz_test_conv *o) {
  const int32_t channels = o->out.view.c;
  o->packed_bias = pz_test_vector(o->bias, channels, PZ_S);
  o->packed_scale = pz_test_vector(o->scale, channels, PZ_S);
  o->packed_slope = pz_test_vector(o->slope, channels, PZ_S);
}

/* Kernel, random pad, stride and dilation of 1; out: n, d, h, w of results. */
PZ_TEST_INLINE void pz_test_conv_window(pz_conv_direct_shape *c, const int32_t kernel[3],
                                        const int32_t size[4], int32_t out[4], pz_test_random *r) {
  out[0] = size[0];
  for (int i = 0; i < 3; ++i) {
    c->kernel[i] = kernel[i], c->stride[i] = c->dilation[i] = 1;
    c->pad[i] = pz_test_int(r, 0, kernel[i] / 2);
    out[i + 1] = size[i + 1] + 2 * c->pad[i] - kernel[i] + 1;
  }
}

/* own_residual: it is not that of out. */
PZ_TEST_INLINE void pz_test_conv_free(pz_test_conv *o, bool own_residual) {
  if (own_residual) pz_test_tensor_free(&o->residual);
  pz_test_tensor_free(&o->in), pz_test_tensor_free(&o->out);
  pz_test_free(&o->packed_bias), pz_test_free(&o->packed_scale), pz_test_free(&o->packed_slope);
  free(o->weights), free(o->bias), free(o->scale), free(o->slope);
}

/* Where tap `tap` of the result at `at` reads along axis i; -1: nowhere, or outside, where zeros are. */
PZ_TEST_INLINE int32_t pz_test_conv_source(const pz_conv_direct_shape *s, bool transposed, int i, int32_t at,
                                           int32_t tap) {
  const int32_t size = i == 0 ? s->in.d : i == 1 ? s->in.h : s->in.w;
  int32_t from = transposed ? at + s->pad[i] - tap * s->dilation[i]
                            : at * s->stride[i] - s->pad[i] + tap * s->dilation[i];
  if (transposed && from >= 0) from = from % s->stride[i] ? -1 : from / s->stride[i];
  return from < 0 || from >= size ? -1 : from;
}

/* The sum at (n, c, d, h, w). weights: [K, C/groups, kd, kh, kw], transposed [C, K/groups, kd, kh, kw]. */
PZ_TEST_INLINE double pz_test_conv_sum(const pz_conv_direct_shape *s, bool transposed,
                                       const pz_test_tensor *in, const float *weights, const int32_t at[5]) {
  const int32_t channels = s->in.c / s->groups, outs = s->out.c / s->groups, first = at[1] / outs * channels,
                taps = pz_conv_taps(s);
  const int64_t next = transposed ? (int64_t)outs * taps : taps; /* from channel to channel in */
  double sum = 0;
  weights += transposed ? first * next + at[1] % outs * taps : at[1] * channels * next;
  for (int32_t tap = 0; tap < taps; ++tap) {
    const int32_t d = pz_test_conv_source(s, transposed, 0, at[2], tap / s->kernel[2] / s->kernel[1]),
                  h = pz_test_conv_source(s, transposed, 1, at[3], tap / s->kernel[2] % s->kernel[1]),
                  w = pz_test_conv_source(s, transposed, 2, at[4], tap % s->kernel[2]);
    if (d < 0 || h < 0 || w < 0) continue;
    for (int32_t m = 0; m < channels; ++m)
      sum += (double)weights[m * next + tap] * (double)*pz_test_at(in, at[0], first + m, d, h, w);
  }
  return sum;
}

/* N,C,D,H,W, with bias, Base and activation as the shape says; norm: of what the activation is given, or NULL. The caller: free. */
PZ_TEST_INLINE double *pz_test_conv_expected(const pz_conv_direct_shape *s, bool transposed,
                                             const pz_test_conv *o, double *norm) {
  double *want = pz_test_doubles(&o->out.view), *to = want, squares = 0;
  PZ_TEST_EACH(o->out.view, 0, o->out.view.c) {
    const int32_t at[5] = {n, c, d, h, w};
    double sum = pz_test_conv_sum(s, transposed, &o->in, o->weights, at);
    if (s->has_bias) sum += (double)o->bias[c];
    if (s->residual.c)
      sum += (double)*pz_test_at(&o->residual, n, c, d, h, w) *
             (s->has_residual_scale ? (double)o->scale[c] : 1.0);
    squares += sum * sum;
    *to++ = pz_test_activate(s->act, (double)s->alpha, (double)s->beta, (double)o->slope[c], sum);
  }
  if (norm) *norm = sqrt(squares);
  return want;
}

#endif
