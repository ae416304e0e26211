/* pack.h: transformed weights, and the product's shape. Plain C, run by the compiler half.
 * Packed: [transformed position][as conv/pack.h packs a 1x1x1 convolution]. */
#ifndef PZ_KERNELS_WINOGRAD_PACK_H
#define PZ_KERNELS_WINOGRAD_PACK_H

#include "kernels/conv/pack.h"
#include "kernels/conv/schedule.h"
#include "kernels/winograd/points.h"
#include "kernels/winograd/shape.h"

/* Fills `product` for batches of `tiles` tiles. `conv` and `m` are set. */
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

/* G of each axis, [a, r]. */
typedef struct pz_winograd_factors {
  double g[3][PZ_WINOGRAD_MOST_A][PZ_WINOGRAD_MOST_R];
} pz_winograd_factors;

static inline pz_winograd_factors pz_winograd_factors_of(const pz_winograd_shape *s) {
  pz_winograd_factors f = {0};
  for (int32_t axis = 0; axis < 3; ++axis)
    for (int32_t i = 0; i < pz_winograd_a(s, axis); ++i) {
      pz_rational row[PZ_WINOGRAD_MOST_R];
      pz_winograd_weight_row(s->m[axis], s->conv.kernel[axis], i, row);
      for (int32_t k = 0; k < s->conv.kernel[axis]; ++k) f.g[axis][i][k] = pz_rational_value(row[k]);
    }
  return f;
}

/* The weights of one pair of maps, [kd, kh, kw], at transformed position (i, j, l). */
static inline double pz_winograd_weight(const pz_winograd_shape *s, const pz_winograd_factors *f,
                                        const float *w, int32_t i, int32_t j, int32_t l) {
  const int32_t *r = s->conv.kernel;
  double sum = 0;
  for (int32_t x = 0; x < r[0]; ++x) {
    double plane = 0;
    for (int32_t y = 0; y < r[1]; ++y) {
      double row = 0;
      for (int32_t z = 0; z < r[2]; ++z) row += f->g[2][l][z] * (double)w[(x * r[1] + y) * r[2] + z];
      plane += f->g[1][j][y] * row;
    }
    sum += f->g[0][i][x] * plane;
  }
  return sum;
}

/* weights: [K, C, kd, kh, kw]; plain: room for K*C floats; packed: pz_winograd_weight_floats(s), aligned to 64 bytes
 * for the kernel. */
static inline void pz_winograd_pack(const pz_winograd_shape *s, const float *weights, float *plain,
                                    float *packed) {
  const int64_t pairs = (int64_t)s->conv.in.c * s->conv.out.c,
                each = pz_conv_direct_weight_floats(&s->product);
  const pz_winograd_factors f = pz_winograd_factors_of(s);
  const int32_t a1 = pz_winograd_a(s, 1), a2 = pz_winograd_a(s, 2), taps = pz_conv_taps(&s->conv);
  for (int32_t p = 0; p < pz_winograd_points(s); ++p) {
    for (int64_t i = 0; i < pairs; ++i)
      plain[i] = (float)pz_winograd_weight(s, &f, weights + i * taps, p / (a1 * a2), p / a2 % a1, p % a2);
    pz_conv_direct_pack(&s->product, plain, packed + p * each);
  }
}

#endif
