/* apply.c: the sigmoid or the softmax of blended values. Arithmetic alone, in double: the bits depend neither on the C library
 * nor on the width of vectors. */
#include "volume/blend.h"
#include "base/wide.h"

#include <float.h>
#include <math.h>

/* exp(x) = 2^n exp(r), n the integer nearest to x / ln 2 and |r| <= ln(2)/2, where the Taylor sum to r^13/13! is good to 4e-18.
 * Beyond +-700 the value at +-700. ln 2 in two parts, the first with so many zeros at its end that n times it is exact. */
static inline double exponential(double x) {
  static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  const double magic = 0x1.8p52; /* adding it rounds to an integer, held in the low bits */
  union {
    double number;
    uint64_t bits;
  } shifted, power;
  x = x > 700 ? 700 : x;
  x = x < -700 ? -700 : x;
  shifted.number = x * 0x1.71547652b82fep0 + magic;
  const double n = shifted.number - magic, r = x - n * ln2_high - n * ln2_low;
  double p = 1.0 / 6227020800;
  p = p * r + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  power.bits = (shifted.bits + 1023) << 52;
  return p * power.number;
}

/* Subnormal floats are zeros to some threads and not to others. */
static inline double normal(double v) { return v < (double)FLT_MIN ? 0 : v; }

#define DEFINE_APPLY(KIND, T)                                                                                \
  PZ_WIDE static void values_##KIND(T *restrict v, const double *restrict inverse, int64_t n) {              \
    for (int64_t i = 0; i < n; i++) v[i] = (T)((double)v[i] * inverse[i]);                                   \
  }                                                                                                          \
  PZ_WIDE static void sigmoid_##KIND(T *restrict v, int64_t n) {                                             \
    for (int64_t i = 0; i < n; i++) v[i] = (T)normal(1 / (1 + exponential(-(double)v[i])));                  \
  }                                                                                                          \
  PZ_WIDE static void greatest_##KIND(const T *restrict v, int64_t n, float *restrict best) {                \
    for (int64_t i = 0; i < n; i++) best[i] = (float)v[i] > best[i] ? (float)v[i] : best[i];                 \
  }                                                                                                          \
  PZ_WIDE static void exponentials_##KIND(T *restrict v, int64_t n, const float *restrict best,              \
                                          double *restrict total) {                                          \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      v[i] = (T)normal(exponential((double)v[i] - (double)best[i]));                                         \
      total[i] += (double)v[i];                                                                              \
    }                                                                                                        \
  }                                                                                                          \
  PZ_WIDE static void shares_##KIND(T *restrict v, int64_t n, const double *restrict total) {                \
    for (int64_t i = 0; i < n; i++) v[i] = (T)normal((double)v[i] / total[i]);                               \
  }                                                                                                          \
  static void softmax_##KIND(const pz_blend_row *r, double *total) {                                         \
    T *v = r->sum;                                                                                           \
    for (int64_t i = 0; i < r->n; i++) r->best[i] = -INFINITY, total[i] = 0;                                 \
    for (int64_t c = 0; c < r->channels; c++) greatest_##KIND(v + c * r->stride, r->n, r->best);             \
    for (int64_t c = 0; c < r->channels; c++) exponentials_##KIND(v + c * r->stride, r->n, r->best, total);  \
    for (int64_t c = 0; c < r->channels; c++) shares_##KIND(v + c * r->stride, r->n, total);                 \
  }                                                                                                          \
  static void apply_##KIND(pz_apply apply, const pz_blend_row *r, double *scratch) {                         \
    T *v = r->sum;                                                                                           \
    for (int64_t c = 0; c < r->channels; c++) values_##KIND(v + c * r->stride, r->inverse, r->n);            \
    for (int64_t c = 0; c < r->channels && apply == PZ_APPLY_SIGMOID; c++)                                   \
      sigmoid_##KIND(v + c * r->stride, r->n);                                                               \
    if (apply == PZ_APPLY_SOFTMAX) softmax_##KIND(r, scratch);                                               \
  }
DEFINE_APPLY(float, float)
DEFINE_APPLY(double, double)

/* Sums in half precision are floats; their quotient is rounded as without a function, what is made of it is not. */
static void round_halves(const pz_blend_row *r) {
  for (int64_t c = 0; c < r->channels; c++)
    pz_blend_round_half((float *)r->sum + c * r->stride, r->inverse, r->n);
}

void pz_blend_apply(pz_apply apply, pz_blend_row *r, double *inverse) {
  if (apply == PZ_APPLY_NOTHING) return;
  if (r->kind == PZ_SUM_HALF) {
    round_halves(r);
    for (int64_t i = 0; i < r->n; i++) inverse[i] = 1;
    r->kind = PZ_SUM_FLOAT;
  }
  if (r->kind == PZ_SUM_DOUBLE) apply_double(apply, r, inverse);
  else apply_float(apply, r, inverse);
  for (int64_t i = 0; i < r->n; i++) inverse[i] = 1;
}
