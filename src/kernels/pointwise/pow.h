/* pow.h: general power on vectors.
 *
 * pz_v_pow(x, p), p finite and the same in all lanes, and pz_v_pow_by(x, p), p of each lane: as C's pow with |x| as its base, relative error at most 1e-7
 * (tested), computed in double: x = 2^e * m with sqrt(1/2) <= m < sqrt(2); with t = (m-1)/(m+1),
 *   log(m) = 2*atanh(t) = 2*(t + t^3/3 + ... + t^13/13), relative error 0.0295^7/15 = 1.3e-12;
 *   2^y = 2^n * exp(r), n the integer nearest to y, |r| <= ln(2)/2, Taylor's sum to r^9/9!, error 7e-12.
 * As |y| <= 150 wherever the result is neither 0 nor infinite, the error in y*ln 2 is below 2e-10; one rounding to float
 * remains. Special values are those of C's pow: x^0 = 1; a negative finite x is NaN unless p is an integer, whose
 * parity gives the sign; zeros and infinities as there. */
#ifndef PZ_KERNELS_POINTWISE_POW_H
#define PZ_KERNELS_POINTWISE_POW_H

#include "kernels/elementary.h"

typedef uint64_t pz_pow_bits __attribute__((vector_size(4 * PZ_S)));

/* log2 of positive finite numbers. */
PZ_INLINE pz_vd pz_pow_log2(pz_vd x) {
  const uint64_t root = 0x3fe6a09e667f3bcdull, one = 1023ull << 52; /* sqrt(1/2); exponent of 1 */
  pz_pow_bits bits = (pz_pow_bits)x, biased = (bits - root + one) >> 52;
  pz_vd m = (pz_vd)(bits - (biased << 52) + one);
  /* as the low bits of 2^52, an integer becomes a double without a conversion */
  pz_vd e = (pz_vd)(biased | 0x4330000000000000ull) - (0x1p52 + 1023);
  pz_vd t = (m - 1.0) / (m + 1.0), u = t * t;
  pz_vd sum = u * (1.0 / 13) + 1.0 / 11;
  sum = sum * u + 1.0 / 9, sum = sum * u + 1.0 / 7, sum = sum * u + 1.0 / 5, sum = sum * u + 1.0 / 3;
  sum = sum * u + 1.0;
  return e + t * sum * 2.88539008177792681472; /* 2/ln 2 */
}

/* 2^y for |y| <= 1000. */
PZ_INLINE pz_vd pz_pow_exp2(pz_vd y) {
  const pz_vd magic = (pz_vd){0} + 0x1.8p52; /* adding it rounds to an integer, held in the low bits */
  pz_vd shifted = y + magic, r = (y - (shifted - magic)) * 0.69314718055994530942;
  pz_pow_bits n = (pz_pow_bits)shifted - (pz_pow_bits)magic;
  pz_vd p = r * (1.0 / 362880) + 1.0 / 40320;
  p = p * r + 1.0 / 5040, p = p * r + 1.0 / 720, p = p * r + 1.0 / 120, p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6, p = p * r + 0.5, p = p * r + 1.0, p = p * r + 1.0;
  return p * (pz_vd)((n + 1023) << 52);
}

/* a where the mask is set, else b. */
PZ_INLINE pz_vd pz_pow_select(pz_pow_bits mask, double a, pz_vd b) {
  pz_vd all = (pz_vd){0} + a;
  return (pz_vd)((mask & (pz_pow_bits)all) | (~mask & (pz_pow_bits)b));
}

PZ_INLINE pz_vh pz_pow_positive(pz_vh x, pz_vd p) {
  pz_vd y = pz_pow_log2(__builtin_convertvector(x, pz_vd)) * p;
  y = pz_pow_select((pz_pow_bits)(y > 300.0), 300, y);   /* infinity in float */
  y = pz_pow_select((pz_pow_bits)(y < -300.0), -300, y); /* 0 in float */
  return __builtin_convertvector(pz_pow_exp2(y), pz_vh);
}

/* |x|^p of all lanes, wrong for zeros and infinities. */
PZ_INLINE pz_v pz_pow_of_size(pz_v x, pz_v p) {
  union {
    pz_v whole;
    pz_vh half[2];
  } a = {pz_v_abs(x)};
  a.half[0] = pz_pow_positive(a.half[0], pz_v_double(p, 0));
  a.half[1] = pz_pow_positive(a.half[1], pz_v_double(p, 1));
  return a.whole;
}

/* What zero (to 0) or infinity (to 1) become. */
PZ_INLINE pz_v pz_pow_limit(int infinite, float p) {
  return pz_v_set1(infinite == (p > 0) ? __builtin_inff() : 0.0f);
}

PZ_INLINE pz_v pz_v_pow(pz_v x, float p) {
  const int integer = p == __builtin_floorf(p), odd = integer && __builtin_floorf(p * 0.5f) != p * 0.5f;
  const pz_v infinity = pz_v_set1(__builtin_inff()), base = pz_v_abs(x);
  if (p == 0.0f) return pz_v_set1(1.0f);
  pz_v y = pz_pow_of_size(x, pz_v_set1(p));
  y = pz_v_select((pz_vi)(base == pz_v_zero()), pz_pow_limit(0, p), y);
  y = pz_v_select((pz_vi)(base == infinity), pz_pow_limit(1, p), y);
  if (odd) y = pz_v_copysign(y, x);
  pz_vi bad = (pz_vi)(x != x);
  if (!integer) bad |= (pz_vi)(x < pz_v_zero()) & (pz_vi)(base < infinity);
  return pz_v_select(bad, pz_v_set1(__builtin_nanf("")), y);
}

PZ_INLINE pz_v pz_v_pow_by(pz_v x, pz_v p) {
  const pz_v infinity = pz_v_set1(__builtin_inff()), one = pz_v_set1(1.0f), base = pz_v_abs(x);
  const pz_v half = p * 0.5f;
  const pz_vi integer = (pz_vi)(pz_v_floor(p) == p), odd = integer & (pz_vi)(pz_v_floor(half) != half);
  const pz_vi grows = (pz_vi)(p > pz_v_zero());
  pz_v y = pz_pow_of_size(x, p);
  y = pz_v_select((pz_vi)(base == pz_v_zero()), pz_v_select(grows, pz_v_zero(), infinity), y);
  y = pz_v_select((pz_vi)(base == infinity), pz_v_select(grows, infinity, pz_v_zero()), y);
  y = pz_v_select((pz_vi)(base == one), one, y);
  y = pz_v_select(odd, pz_v_copysign(y, x), y);
  pz_vi bad = (pz_vi)(x < pz_v_zero()) & (pz_vi)(base < infinity) & ~integer;
  bad |= (pz_vi)(x != x) | (pz_vi)(p != p);
  y = pz_v_select(bad, pz_v_set1(__builtin_nanf("")), y);
  return pz_v_select((pz_vi)(p == pz_v_zero()) | (pz_vi)(x == one), one, y);
}

#endif
