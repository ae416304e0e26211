/* pack.h: transformed weights, and the schedule of the products. Plain C, run by the compiler half.
 * Packed: twiddles (shape.h); then [frequency][outer group][in channel][out block of the group][re, im][lane], in the order of the
 * slots, computed in double precision: w(f) = sum over taps of weight * exp(+2 pi i f j / size), the conjugate, since the network's
 * convolution is a correlation; divided by what the transforms multiply by, 2 * size[0] * size[1] * size[2]. */
#ifndef PZ_KERNELS_FFT_PACK_H
#define PZ_KERNELS_FFT_PACK_H

#include "kernels/fft/shape.h"

#include <math.h>
#include <string.h>

#define PZ_FFT_TURN 6.28318530717958647693

/* Fills kb, rw, and `batch` for about that many tiles. The real and imaginary parts of kb weights wait in registers, beside
 * those of the sums and one input. */
static inline void pz_fft_schedule(pz_fft_shape *s, int32_t registers, int32_t tiles) {
  pz_conv_direct_shape *c = &s->conv;
  const int32_t others = c->out.block == 4 ? 3 : 1; /* without fused multiply-adds a product needs two more */
  c->kb = registers >= 32 && c->out.c > c->out.block ? 2 : 1;
  const pz_conv_split parts = pz_conv_split_of(tiles, (registers - others - 2 * c->kb) / (2 * c->kb));
  c->rw = parts.size, s->batch = parts.count * parts.size;
}

static inline int64_t pz_fft_weight_floats(const pz_fft_shape *s) {
  const int64_t each = (int64_t)2 * s->conv.in.c * pz_conv_outer_blocks(&s->conv) * s->conv.out.block;
  return pz_fft_twiddle_floats(s) + pz_fft_frequencies(s) * each;
}

/* Doubles that pz_fft_pack needs to work with. */
static inline int64_t pz_fft_pack_doubles(const pz_fft_shape *s) {
  return (int64_t)4 * s->size[0] * s->size[1] * s->size[2];
}

static inline float *pz_fft_pack_twiddles(int32_t n, float *to) {
  const int32_t a = pz_fft_factor(n);
  for (int32_t j = 0; j < n / a; ++j)
    for (int32_t k = 0; k < a; ++k) {
      *to++ = (float)cos(PZ_FFT_TURN * j * k / n);
      *to++ = (float)-sin(PZ_FFT_TURN * j * k / n);
    }
  return to;
}

/* Complex values, real and imaginary parts apart. */
typedef struct pz_fft_values {
  double *re, *im;
} pz_fft_values;

/* n points of the unit circle: exp(2 pi i j / n). */
typedef struct pz_fft_circle {
  double re[PZ_FFT_MOST], im[PZ_FFT_MOST];
} pz_fft_circle;

static inline pz_fft_circle pz_fft_circle_of(int32_t n) {
  pz_fft_circle c = {{0}, {0}};
  for (int32_t j = 0; j < n; ++j) c.re[j] = cos(PZ_FFT_TURN * j / n), c.im[j] = sin(PZ_FFT_TURN * j / n);
  return c;
}

/* Along one axis of size n: from [before, r, after] to [before, count, after], the frequencies 0 .. count-1. */
typedef struct pz_fft_axis {
  int32_t n, r, count, before, after;
} pz_fft_axis;

static inline void pz_fft_apply(pz_fft_axis a, const pz_fft_circle *circle, pz_fft_values from,
                                pz_fft_values to) {
  const size_t bytes = (size_t)a.before * (size_t)a.count * (size_t)a.after * sizeof(double);
  memset(to.re, 0, bytes);
  memset(to.im, 0, bytes);
  for (int32_t x = 0; x < a.before; ++x)
    for (int32_t f = 0; f < a.count; ++f)
      for (int32_t j = 0; j < a.r; ++j) {
        const double c = circle->re[f * j % a.n], s = circle->im[f * j % a.n];
        const double *re = from.re + (x * a.r + j) * a.after, *im = from.im + (x * a.r + j) * a.after;
        double *out_re = to.re + (x * a.count + f) * a.after, *out_im = to.im + (x * a.count + f) * a.after;
        for (int32_t y = 0; y < a.after; ++y) {
          out_re[y] += c * re[y] - s * im[y];
          out_im[y] += s * re[y] + c * im[y];
        }
      }
}

/* The weights of one pair of channels, [kd, kh, kw], at all frequencies, [d, h, w]; `spare` is overwritten. */
static inline void pz_fft_weights(const pz_fft_shape *s, const pz_fft_circle circles[3], const float *w,
                                  pz_fft_values spare, pz_fft_values to) {
  const int32_t *r = s->conv.kernel, *n = s->size, half = pz_fft_half(s);
  const double scale = 0.5 / ((double)n[0] * n[1] * n[2]);
  for (int32_t i = 0; i < pz_conv_taps(&s->conv); ++i) spare.re[i] = scale * (double)w[i], spare.im[i] = 0;
  pz_fft_apply((pz_fft_axis){n[2], r[2], half, r[0] * r[1], 1}, &circles[2], spare, to);
  pz_fft_apply((pz_fft_axis){n[1], r[1], n[1], r[0], half}, &circles[1], to, spare);
  pz_fft_apply((pz_fft_axis){n[0], r[0], n[0], 1, n[1] * half}, &circles[0], spare, to);
}

/* weights: [K, C, kd, kh, kw]; work: pz_fft_pack_doubles(s); packed: pz_fft_weight_floats(s), zeroed, aligned to 64 bytes for the
 * kernel. */
static inline void pz_fft_pack(const pz_fft_shape *s, const float *weights, double *work, float *packed) {
  const pz_conv_split outer = pz_conv_outer_groups(&s->conv);
  const int32_t block = s->conv.out.block, channels = s->conv.in.c, taps = pz_conv_taps(&s->conv);
  const int32_t deep = s->size[0], lines = pz_fft_frequencies(s) / deep;
  const int64_t n = pz_fft_pack_doubles(s) / 4,
                each = (int64_t)2 * channels * pz_conv_outer_blocks(&s->conv) * block;
  const pz_fft_values spare = {work, work + n}, at = {work + 2 * n, work + 3 * n};
  pz_fft_circle circles[3];
  float *to = packed;
  for (int32_t i = 0; i < 3; ++i) {
    circles[i] = pz_fft_circle_of(s->size[i]);
    to = pz_fft_pack_twiddles(s->size[i], to);
  }
  packed += pz_fft_twiddle_floats(s);
  for (int32_t g = 0; g < outer.count; ++g) {
    const int32_t first = pz_conv_split_begin(outer, g) * block, size = pz_conv_split_size(outer, g);
    for (int32_t c = 0; c < channels; ++c)
      for (int32_t k = 0; k < size * block && first + k < s->conv.out.c; ++k) {
        pz_fft_weights(s, circles, weights + ((int64_t)(first + k) * channels + c) * taps, spare, at);
        to = packed + 2 * ((int64_t)first * channels + (c * size + k / block) * block) + k % block;
        for (int32_t i = 0; i < lines; ++i)
          for (int32_t d = 0; d < deep; ++d, to += each)
            to[0] = (float)at.re[d * lines + i], to[block] = (float)at.im[d * lines + i];
      }
  }
}

#endif
