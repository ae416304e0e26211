/* pack.h: transformed weights, and the product's shape. Plain C, run by the compiler half.
 * Packed: [transformed position][as conv/pack.h packs a 1x1x1 convolution]. */
#ifndef PZ_KERNELS_WINOGRAD_PACK_H
#define PZ_KERNELS_WINOGRAD_PACK_H

#include "kernels/conv/pack.h"
#include "kernels/conv/schedule.h"
#include "kernels/winograd/shape.h"

/* Fills `product` for batches of `tiles` tiles. `conv` is set. */
static inline void pz_winograd_schedule(pz_winograd_shape *s, const pz_conv_machine *m, int32_t tiles) {
  const int32_t block = s->conv.out.block;
  const pz_view row = {.n = 1,
                       .d = 1,
                       .h = 1,
                       .w = tiles,
                       .block = block,
                       .stride_w = block,
                       .stride_h = tiles * block,
                       .stride_d = tiles * block,
                       .stride_c = tiles * block};
  s->product = (pz_conv_direct_shape){.in = row, .out = row, .groups = 1, .phases = 1};
  s->product.in.c = s->conv.in.c, s->product.out.c = s->conv.out.c;
  for (int i = 0; i < 3; ++i) s->product.kernel[i] = s->product.stride[i] = s->product.dilation[i] = 1;
  pz_conv_direct_schedule(&s->product, m);
}

static inline int64_t pz_winograd_weight_floats(const pz_winograd_shape *s) {
  return pz_winograd_points(s) * pz_conv_direct_weight_floats(&s->product);
}

/* Row `i` of G applied to three weights that lie `step` apart; an axis of kernel 1 keeps its weight. */
static inline double pz_winograd_row(int32_t kernel, int32_t i, const double *g, int32_t step) {
  if (kernel == 1) return g[0];
  if (i == 0) return g[0];
  if (i == 3) return g[2 * step];
  return 0.5 * (g[0] + (i == 1 ? g[step] : -g[step]) + g[2 * step]);
}

/* The weights of one pair of maps, [kd, kh, kw], at transformed position (i, j, l). */
static inline double pz_winograd_weight(const pz_winograd_shape *s, const float *w, int32_t i, int32_t j,
                                        int32_t l) {
  const int32_t *k = s->conv.kernel;
  double rows[9], columns[3], taps[27];
  for (int32_t t = 0; t < k[0] * k[1] * k[2]; ++t) taps[t] = w[t];
  for (int32_t t = 0; t < k[1] * k[2]; ++t) rows[t] = pz_winograd_row(k[0], i, taps + t, k[1] * k[2]);
  for (int32_t t = 0; t < k[2]; ++t) columns[t] = pz_winograd_row(k[1], j, rows + t, k[2]);
  return pz_winograd_row(k[2], l, columns, 1);
}

/* weights: [K, C, kd, kh, kw]; plain: room for K*C floats; packed: pz_winograd_weight_floats(s), aligned to 64 bytes
 * for the kernel. */
static inline void pz_winograd_pack(const pz_winograd_shape *s, const float *weights, float *plain,
                                    float *packed) {
  const int64_t pairs = (int64_t)s->conv.in.c * s->conv.out.c,
                each = pz_conv_direct_weight_floats(&s->product);
  const int32_t a1 = pz_winograd_a(s, 1), a2 = pz_winograd_a(s, 2), taps = pz_conv_taps(&s->conv);
  for (int32_t p = 0; p < pz_winograd_points(s); ++p) {
    for (int64_t i = 0; i < pairs; ++i)
      plain[i] = (float)pz_winograd_weight(s, weights + i * taps, p / (a1 * a2), p / a2 % a1, p % a2);
    pz_conv_direct_pack(&s->product, plain, packed + p * each);
  }
}

#endif
