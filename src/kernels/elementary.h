/* elementary.h: functions of one value on vectors. Arithmetic alone, no tables, no branches; the same bits in every lane.
 * Each says its relative error, which isa/test_vec.c checks against double over the whole range, with and without fused
 * multiply-add. NaN gives NaN. */
#ifndef PZ_KERNELS_ELEMENTARY_H
#define PZ_KERNELS_ELEMENTARY_H

#include "kernels/vec.h"

/* ---- exponentials ---- */

/* exp(x) = 2^n * (1 + tail), n the integer nearest to x/ln 2; |tail| <= 0.42, good to 3e-8 of 1 and, near 0, of itself.
 * The caller keeps |x| below 2^21. */
typedef struct pz_v_exp_parts {
  pz_v tail;
  pz_vi n;
} pz_v_exp_parts;

PZ_INLINE pz_v_exp_parts pz_v_exp_split(pz_v x) {
  const pz_v magic =
      pz_v_set1(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer, held in the low bits */
  pz_v shifted = pz_v_fma(x, pz_v_set1(1.44269504f), magic);
  pz_v n = shifted - magic;
  /* ln 2 in two parts; the first has 10 bits, so that its product with n is exact without fused multiply-add */
  pz_v r = pz_v_fma(n, pz_v_set1(-0.693359375f), x);
  r = pz_v_fma(n, pz_v_set1(2.12194440e-4f), r);
  /* (exp(r) - 1 - r) / r^2 for |r| <= ln(2)/2: the Taylor sum to r^7/7!, error 3e-9 relative to exp */
  pz_v p = pz_v_set1(1.0f / 5040);
  p = pz_v_fma(p, r, pz_v_set1(1.0f / 720));
  p = pz_v_fma(p, r, pz_v_set1(1.0f / 120));
  p = pz_v_fma(p, r, pz_v_set1(1.0f / 24));
  p = pz_v_fma(p, r, pz_v_set1(1.0f / 6));
  p = pz_v_fma(p, r, pz_v_set1(0.5f));
  pz_v square = r * r;
  return (pz_v_exp_parts){pz_v_fma(p, square, r), (pz_vi)((pz_vbits)shifted - (pz_vbits)magic)};
}

/* 2^n for -127 < n < 128; 0 for n = -127. */
PZ_INLINE pz_v pz_v_pow2(pz_vi n) { return (pz_v)(((pz_vbits)n + 127u) << 23); }

/* exp(x), relative error at most 1e-7 where the result is normal; subnormal results are rounded once more;
 * 0 for -inf, inf above 88.73. */
PZ_INLINE pz_v pz_v_exp(pz_v x) {
  pz_v clamped = pz_v_min(pz_v_set1(89.0f), pz_v_max(pz_v_set1(-104.5f), x));
  pz_v_exp_parts e = pz_v_exp_split(clamped);
  pz_vi half = e.n >> 1; /* two factors: 2^n alone may be out of range */
  pz_v factor = pz_v_pow2(half);
  pz_v first = pz_v_fma(e.tail, factor, factor);
  return first * pz_v_pow2(e.n - half);
}

/* exp(x) - 1 for -87.5 <= x <= 0, relative error at most 2e-7 near 0 too. With t = x/ln 2 = n + f, |f| <= 1/2:
 * 2^n (2^f - 1) + (2^n - 1). What t lacks is relative to x, and |x| exp(x) is below |exp(x) - 1|: one product is enough. */
PZ_INLINE pz_v pz_v_expm1_within(pz_v x) {
  const pz_v per_ln2 = pz_v_set1(1.44269504f);
  /* 1.5 * 2^23 + 127: adding it rounds to an integer, held with the exponent's bias in the low bits */
  const pz_v magic = pz_v_set1(12583039.0f);
  pz_v shifted = pz_v_fma(x, per_ln2, magic);
  pz_v f = pz_v_fma(x, per_ln2, magic - shifted), scale = (pz_v)((pz_vbits)shifted << 23);
  /* (2^f - 1)/f: the polynomial with the least relative error, 1.1e-8 */
  pz_v p = pz_v_set1(1.54035128e-4f);
  p = pz_v_fma(p, f, pz_v_set1(1.33907355e-3f));
  p = pz_v_fma(p, f, pz_v_set1(9.61823749e-3f));
  p = pz_v_fma(p, f, pz_v_set1(5.55035743e-2f));
  p = pz_v_fma(p, f, pz_v_set1(0.240226498f));
  p = pz_v_fma(p, f, pz_v_set1(0.693147188f));
  return pz_v_fma(p * f, scale, scale - 1.0f);
}

/* The same of all x <= 0; above 0 anything. */
PZ_INLINE pz_v pz_v_expm1_negative(pz_v x) { return pz_v_expm1_within(pz_v_max(pz_v_set1(-87.5f), x)); }

/* Relative error at most 3e-7. */
PZ_INLINE pz_v pz_v_tanh(pz_v x) {
  pz_v a = pz_v_abs(x);
  pz_v e = pz_v_expm1_negative(a * -2.0f);
  return pz_v_copysign(e / (e + 2.0f), x);
}

/* Relative error at most 3e-7 where exp(-x) is finite, else 0. */
PZ_INLINE pz_v pz_v_sigmoid(pz_v x) { return 1.0f / (pz_v_exp(-x) + 1.0f); }

/* ---- logarithms ---- */

/* The sum of s^(2i)/(2i+1) for i = 1 .. terms: atanh(s)/s - 1. `square` is s*s; the rest is below square^(terms+1). */
PZ_INLINE pz_v pz_v_atanh_series(int terms, pz_v square) {
  pz_v p = pz_v_set1(1.0f / (float)(2 * terms + 1));
  PZ_UNROLL for (int i = terms - 1; i > 0; --i) p = pz_v_fma(p, square, pz_v_set1(1.0f / (float)(2 * i + 1)));
  return p * square;
}

/* log(x), relative error at most 2e-7, near 1 too; subnormal x as well. -inf for 0, NaN below it, inf for inf.
 * x = 2^n * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = 2*atanh(s) with s = f/(2 + f), |s| <= 0.172, written
 * f - s*(f - 2*(atanh(s)/s - 1)), whose first term is exact (fdlibm's arrangement); five terms leave 1e-9. */
PZ_INLINE pz_v pz_v_log(pz_v x) {
  const int32_t root = 0x3f3504f3; /* sqrt(1/2) */
  const pz_v infinity = pz_v_set1(__builtin_inff());
  pz_vi tiny = (pz_vi)(x < 1.17549435e-38f);
  pz_vi bits = (pz_vi)pz_v_select(tiny, x * 8388608.0f, x);
  pz_vi n = ((pz_vi)((pz_vbits)bits - (uint32_t)root)) >> 23; /* arithmetic: rounds down */
  pz_v f = (pz_v)(pz_vi)((pz_vbits)bits - ((pz_vbits)n << 23)) - 1.0f;
  pz_v power = __builtin_convertvector(n - (tiny & 23), pz_v);
  pz_v s = f / (f + 2.0f);
  pz_v series = pz_v_atanh_series(5, s * s) * 2.0f;
  pz_v small = pz_v_fma(power, pz_v_set1(-2.12194440e-4f), -(s * (f - series)));
  pz_v y = pz_v_fma(power, pz_v_set1(0.693359375f), f + small);
  y = pz_v_select((pz_vi)(x == infinity), infinity, y);
  y = pz_v_select((pz_vi)(x == pz_v_zero()), -infinity, y);
  return pz_v_select((pz_vi)(x >= pz_v_zero()), y, pz_v_set1(__builtin_nanf("")));
}

/* log(1 + x) for 0 <= x <= 1, relative error at most 2e-7: 2*atanh(x/(2 + x)); |s| <= 1/3: eight terms leave 3e-9. */
PZ_INLINE pz_v pz_v_log1p_unit(pz_v x) {
  pz_v s = x / (x + 2.0f), series = pz_v_atanh_series(8, s * s);
  return pz_v_fma(s + s, series, s + s);
}

/* log(1 + exp(x)) = max(0, x) + log(1 + exp(-|x|)), relative error at most 4e-7. */
PZ_INLINE pz_v pz_v_softplus(pz_v x) {
  return pz_v_max(pz_v_zero(), x) + pz_v_log1p_unit(pz_v_exp(-pz_v_abs(x)));
}

/* ---- error function ---- */

/* erf(x), relative error at most 5e-7; 1 and -1 beyond 3.95, where erf differs from them by 2.3e-8. In between
 * x*P(x^2)/Q(x^2), the rational function of degrees 5 and 5 whose greatest relative error there is least (2.1e-8; fitted by
 * reweighted least squares). All coefficients are positive, so that no sum cancels. */
PZ_INLINE pz_v pz_v_erf(pz_v x) {
  const pz_v end = pz_v_set1(3.95f);
  pz_v a = pz_v_abs(x), u = pz_v_min(end, a);
  u = u * u;
  pz_v p = pz_v_set1(2.02589720e-6f), q = pz_v_set1(3.78304188e-5f);
  p = pz_v_fma(p, u, pz_v_set1(2.84663547e-4f)), q = pz_v_fma(q, u, pz_v_set1(1.17054740e-3f));
  p = pz_v_fma(p, u, pz_v_set1(3.80749693e-3f)), q = pz_v_fma(q, u, pz_v_set1(1.50537639e-2f));
  p = pz_v_fma(p, u, pz_v_set1(5.28733596e-2f)), q = pz_v_fma(q, u, pz_v_set1(1.14553582e-1f));
  p = pz_v_fma(p, u, pz_v_set1(1.91536166e-1f)), q = pz_v_fma(q, u, pz_v_set1(5.03077186e-1f));
  p = pz_v_fma(p, u, pz_v_set1(1.12837914f)), q = pz_v_fma(q, u, pz_v_set1(1.0f));
  pz_v one = pz_v_set1(1.0f), inside = pz_v_min(one, pz_v_abs(x * p / q));
  return pz_v_copysign(pz_v_select_gt(a, end, one, inside), x);
}

/* ---- whole numbers, exact ---- */

/* The nearest whole number, ties to even; zeros keep their sign. Adding 2^23 leaves no room for fractions; greater numbers
 * have none. */
PZ_INLINE pz_v pz_v_round(pz_v x) {
  const pz_v limit = pz_v_set1(8388608.0f);
  pz_v shift = pz_v_copysign(limit, x);
  pz_v sum = x + shift;
  return pz_v_select_gt(limit, pz_v_abs(x), pz_v_copysign(sum - shift, x), x);
}
PZ_INLINE pz_v pz_v_floor(pz_v x) {
  pz_v y = pz_v_round(x);
  return pz_v_copysign(pz_v_select_gt(y, x, y - 1.0f, y), x);
}
PZ_INLINE pz_v pz_v_ceil(pz_v x) { return -pz_v_floor(-x); }
/* -1, 0 or 1. */
PZ_INLINE pz_v pz_v_sign(pz_v x) {
  pz_v one = pz_v_set1(1.0f);
  return pz_v_select_gt(x, pz_v_zero(), one, pz_v_select_gt(pz_v_zero(), x, -one, x));
}

#endif
