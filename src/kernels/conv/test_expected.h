/* test_expected.h: what a convolution of stride 1, without dilation and groups, should give: a plain sum in double precision. */
#ifndef PZ_KERNELS_CONV_TEST_EXPECTED_H
#define PZ_KERNELS_CONV_TEST_EXPECTED_H

#include "kernels/conv/shape.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"

/* What a convolution reads and writes: tensors, base perhaps that of out; weights [K, C, kd, kh, kw], bias, scale and slope [K], and these
 * three as kernels read them. */
typedef struct pz_test_conv {
  pz_test_tensor in, out, base;
  float *weights, *bias, *scale, *slope;
  pz_test_memory packed_bias, packed_scale, packed_slope;
} pz_test_conv;

/* Storage that ends with the border that a convolution needs, in front of a guard page or behind one; random. */
PZ_TEST_INLINE pz_test_tensor pz_test_bordered(pz_test_random *r, int32_t block, int32_t c,
                                               const int32_t size[4], const int32_t pad[3], bool tight) {
  const int32_t none[4] = {0};
  pz_view v = pz_test_dense(block, size[0], c, size[1], size[2], size[3]);
  v.tight = tight;
  for (int i = 0; i < 3; ++i) v.border_lo[i] = v.border_hi[i] = pad[i];
  pz_test_tensor t = pz_test_store(v, none, none, pz_test_int(r, 0, 1));
  pz_test_fill(&t, r, -1, 1);
  return t;
}

/* Operands for the shape `s` and tensors in and out: a Base, which is out's own storage with in_place, or none; weights and vectors. */
PZ_TEST_INLINE void pz_test_conv_random(pz_test_conv *o, pz_conv_direct_shape *s, bool in_place,
                                        pz_test_random *r) {
  const pz_view *v = &o->out.view;
  s->in = o->in.view, s->out = *v;
  if (pz_test_int(r, 0, 1)) {
    o->base = in_place ? o->out : pz_test_tensor_random(r, v->block, v->n, v->c, v->d, v->h, v->w);
    s->base = o->base.view, s->has_base_scale = pz_test_int(r, 0, 1);
  }
  o->weights = pz_test_floats(r, (int64_t)s->in.c * v->c * pz_conv_taps(s));
  o->bias = pz_test_floats(r, v->c), o->scale = pz_test_floats(r, v->c), o->slope = pz_test_floats(r, v->c);
}

PZ_TEST_INLINE void pz_test_conv_pack(pz_test_conv *o) {
  const int32_t maps = o->out.view.c;
  o->packed_bias = pz_test_vector(o->bias, maps, PZ_S);
  o->packed_scale = pz_test_vector(o->scale, maps, PZ_S);
  o->packed_slope = pz_test_vector(o->slope, maps, PZ_S);
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

/* A layer to one to four plain maps, whose taps along the width fit into lanes beside each other (few.h), and its operands. */
PZ_TEST_INLINE void pz_test_few_random(pz_test_conv *o, pz_conv_direct_shape *c, int32_t maps_in,
                                       int32_t kernel_h, pz_test_random *r) {
  static const int32_t acts[4] = {PZ_K_ACT_NONE, PZ_K_ACT_ELU, PZ_K_ACT_SIGMOID, PZ_K_ACT_PRELU};
  const int32_t most = PZ_S / 2 < PZ_CONV_FEW ? PZ_S / 2 : PZ_CONV_FEW, maps_out = pz_test_int(r, 1, most),
                widest = PZ_S / maps_out < 7 ? PZ_S / maps_out : 7;
  const int32_t kernel[3] = {1, kernel_h, pz_test_int(r, 2, widest)};
  const int32_t size[4] = {pz_test_int(r, 1, 2), pz_test_int(r, 1, 3), pz_test_int(r, 5, 15),
                           pz_test_int(r, 7, pz_test_int(r, 0, 1) ? 20 : 90)};
  *c = (pz_conv_direct_shape){.groups = 1,
                              .phases = 1,
                              .act = acts[pz_test_int(r, 0, 3)],
                              .alpha = 0.7f,
                              .has_bias = pz_test_int(r, 0, 1)};
  int32_t out[4];
  pz_test_conv_window(c, kernel, size, out, r);
  o->in = pz_test_bordered(r, PZ_S, maps_in, size, c->pad, false);
  o->out = pz_test_tensor_random(r, 1, out[0], maps_out, out[1], out[2], out[3]);
  pz_test_conv_random(o, c, true, r);
  c->base = (pz_view){0}, c->has_base_scale = 0; /* which was that of out */
  pz_test_conv_pack(o);
}

/* own_base: it is not that of out. */
PZ_TEST_INLINE void pz_test_conv_free(pz_test_conv *o, bool own_base) {
  if (own_base) pz_test_tensor_free(&o->base);
  pz_test_tensor_free(&o->in), pz_test_tensor_free(&o->out);
  pz_test_free(&o->packed_bias), pz_test_free(&o->packed_scale), pz_test_free(&o->packed_slope);
  free(o->weights), free(o->bias), free(o->scale), free(o->slope);
}

/* N,C,D,H,W, with bias, Base and activation as the shape says. The caller: free. */
PZ_TEST_INLINE double *pz_test_conv_expected(const pz_conv_direct_shape *s, const pz_test_conv *o) {
  double *want = pz_test_doubles(&o->out.view), *to = want;
  PZ_TEST_EACH(o->out.view, 0, o->out.view.c) {
    double sum = s->has_bias ? (double)o->bias[c] : 0;
    for (int32_t m = 0; m < s->in.c; ++m)
      for (int32_t t = 0; t < pz_conv_taps(s); ++t) {
        const int32_t i = t / (s->kernel[1] * s->kernel[2]), j = t / s->kernel[2] % s->kernel[1],
                      k = t % s->kernel[2];
        sum += (double)o->weights[((int64_t)c * s->in.c + m) * pz_conv_taps(s) + t] *
               (double)*pz_test_at(&o->in, n, m, d + i - s->pad[0], h + j - s->pad[1], w + k - s->pad[2]);
      }
    if (s->base.c)
      sum += (double)*pz_test_at(&o->base, n, c, d, h, w) * (s->has_base_scale ? (double)o->scale[c] : 1.0);
    *to++ = pz_test_activate(s->act, (double)s->alpha, (double)s->beta, (double)o->slope[c], sum);
  }
  return want;
}

#endif
