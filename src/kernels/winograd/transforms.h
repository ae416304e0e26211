/* transforms.h: written by gen_transforms.c, not by hand (the test kernel_winograd_transforms compares). Along one
 * axis, in place, of values that lie `step` apart: B^T for a inputs and A^T of F(m, r), with constants k (keep: in registers);
 * apart: products and sums are operations of their own (shape.h). G of F(m, r), but for its first and last row: of weights g
 * whose first is multiplied by the first row's factor already (pack.h, on_use). */
#ifndef PZ_KERNELS_WINOGRAD_TRANSFORMS_H
#define PZ_KERNELS_WINOGRAD_TRANSFORMS_H

#include "kernels/vec.h"
#include "kernels/winograd/ways.h"

PZ_INLINE pz_v pz_winograd_constant(int keep, float x) { return keep ? pz_v_constant(x) : pz_v_set1(x); }
PZ_INLINE pz_v pz_winograd_plus(int apart, pz_v y, pz_v k, pz_v x) {
  return apart ? y + k * x : pz_v_fma(k, x, y);
}
PZ_INLINE pz_v pz_winograd_less(int apart, pz_v y, pz_v k, pz_v x) {
  return apart ? y - k * x : pz_v_fma(-k, x, y);
}
PZ_INLINE void pz_winograd_pair_of(pz_v odd, pz_v even, pz_v *plus, pz_v *less) {
  *plus = even + odd, *less = even - odd;
}
PZ_INLINE void pz_winograd_pair_times(int apart, pz_v k, pz_v odd, pz_v even, pz_v *plus, pz_v *less) {
  if (apart) pz_winograd_pair_of(k * odd, even, plus, less);
  else *plus = pz_v_fma(k, odd, even), *less = pz_v_fma(-k, odd, even);
}

PZ_INLINE void pz_winograd_forward_4(int apart, const pz_v *k, pz_v *x, int32_t step) {
  (void)apart, (void)k;
  const pz_v d0 = x[0], d1 = x[step], d2 = x[2 * step], d3 = x[3 * step];
  pz_v even, odd;
  even = d2;
  odd = d1;
  pz_winograd_pair_of(odd, even, &x[step], &x[2 * step]);
  even = d2;
  even = even - d0;
  x[0] = even;
  odd = d3;
  odd = odd - d1;
  x[3 * step] = odd;
}

PZ_INLINE void pz_winograd_forward_4_constants(int keep, pz_v *k) { (void)keep, (void)k; }

PZ_INLINE void pz_winograd_forward_6(int apart, const pz_v *k, pz_v *x, int32_t step) {
  (void)apart, (void)k;
  const pz_v d0 = x[0], d1 = x[step], d2 = x[2 * step], d3 = x[3 * step], d4 = x[4 * step], d5 = x[5 * step];
  pz_v even, odd;
  even = d4;
  even = pz_winograd_less(apart, even, k[0], d2);
  odd = d3;
  odd = pz_winograd_less(apart, odd, k[0], d1);
  pz_winograd_pair_times(apart, k[1], odd, even, &x[step], &x[2 * step]);
  even = d4;
  even = pz_winograd_less(apart, even, k[2], d2);
  odd = d3;
  odd = pz_winograd_less(apart, odd, k[2], d1);
  pz_winograd_pair_times(apart, k[3], odd, even, &x[3 * step], &x[4 * step]);
  even = d4;
  even = pz_winograd_less(apart, even, k[4], d2);
  even = pz_winograd_plus(apart, even, k[5], d0);
  x[0] = even;
  odd = d5;
  odd = pz_winograd_less(apart, odd, k[4], d3);
  odd = pz_winograd_plus(apart, odd, k[5], d1);
  x[5 * step] = odd;
}

PZ_INLINE void pz_winograd_forward_6_constants(int keep, pz_v *k) {
  k[0] = pz_winograd_constant(keep, 2.25000000f);
  k[1] = pz_winograd_constant(keep, 0.625000000f);
  k[2] = pz_winograd_constant(keep, 0.390625000f);
  k[3] = pz_winograd_constant(keep, 1.50000000f);
  k[4] = pz_winograd_constant(keep, 2.64062500f);
  k[5] = pz_winograd_constant(keep, 0.878906250f);
}

PZ_INLINE void pz_winograd_forward_8(int apart, const pz_v *k, pz_v *x, int32_t step) {
  (void)apart, (void)k;
  const pz_v d0 = x[0], d1 = x[step], d2 = x[2 * step], d3 = x[3 * step], d4 = x[4 * step], d5 = x[5 * step],
             d6 = x[6 * step], d7 = x[7 * step];
  pz_v even, odd;
  even = d6;
  even = pz_winograd_less(apart, even, k[0], d4);
  even = pz_winograd_plus(apart, even, k[1], d2);
  odd = d5;
  odd = pz_winograd_less(apart, odd, k[0], d3);
  odd = pz_winograd_plus(apart, odd, k[1], d1);
  pz_winograd_pair_times(apart, k[2], odd, even, &x[step], &x[2 * step]);
  even = d6;
  even = pz_winograd_less(apart, even, k[3], d4);
  even = even + d2;
  odd = d5;
  odd = pz_winograd_less(apart, odd, k[3], d3);
  odd = odd + d1;
  pz_winograd_pair_of(odd, even, &x[3 * step], &x[4 * step]);
  even = d6;
  even = pz_winograd_less(apart, even, k[4], d4);
  even = pz_winograd_plus(apart, even, k[5], d2);
  odd = d5;
  odd = pz_winograd_less(apart, odd, k[4], d3);
  odd = pz_winograd_plus(apart, odd, k[5], d1);
  pz_winograd_pair_times(apart, k[6], odd, even, &x[5 * step], &x[6 * step]);
  even = d6;
  even = pz_winograd_less(apart, even, k[7], d4);
  even = pz_winograd_plus(apart, even, k[7], d2);
  even = even - d0;
  x[0] = even;
  odd = d7;
  odd = pz_winograd_less(apart, odd, k[7], d5);
  odd = pz_winograd_plus(apart, odd, k[7], d3);
  odd = odd - d1;
  x[7 * step] = odd;
}

PZ_INLINE void pz_winograd_forward_8_constants(int keep, pz_v *k) {
  k[0] = pz_winograd_constant(keep, 5.00000000f);
  k[1] = pz_winograd_constant(keep, 4.00000000f);
  k[2] = pz_winograd_constant(keep, 0.500000000f);
  k[3] = pz_winograd_constant(keep, 4.25000000f);
  k[4] = pz_winograd_constant(keep, 1.25000000f);
  k[5] = pz_winograd_constant(keep, 0.250000000f);
  k[6] = pz_winograd_constant(keep, 2.00000000f);
  k[7] = pz_winograd_constant(keep, 5.25000000f);
}

PZ_INLINE void pz_winograd_forward_10(int apart, const pz_v *k, pz_v *x, int32_t step) {
  (void)apart, (void)k;
  const pz_v d0 = x[0], d1 = x[step], d2 = x[2 * step], d3 = x[3 * step], d4 = x[4 * step], d5 = x[5 * step],
             d6 = x[6 * step], d7 = x[7 * step], d8 = x[8 * step], d9 = x[9 * step];
  pz_v even, odd;
  even = d8;
  even = pz_winograd_less(apart, even, k[0], d6);
  even = pz_winograd_plus(apart, even, k[1], d4);
  even = pz_winograd_less(apart, even, k[2], d2);
  odd = d7;
  odd = pz_winograd_less(apart, odd, k[0], d5);
  odd = pz_winograd_plus(apart, odd, k[1], d3);
  odd = pz_winograd_less(apart, odd, k[2], d1);
  pz_winograd_pair_times(apart, k[3], odd, even, &x[step], &x[2 * step]);
  even = d8;
  even = pz_winograd_less(apart, even, k[4], d6);
  even = pz_winograd_plus(apart, even, k[5], d4);
  even = pz_winograd_less(apart, even, k[6], d2);
  odd = d7;
  odd = pz_winograd_less(apart, odd, k[4], d5);
  odd = pz_winograd_plus(apart, odd, k[5], d3);
  odd = pz_winograd_less(apart, odd, k[6], d1);
  pz_winograd_pair_times(apart, k[7], odd, even, &x[3 * step], &x[4 * step]);
  even = d8;
  even = pz_winograd_less(apart, even, k[8], d6);
  even = pz_winograd_plus(apart, even, k[9], d4);
  even = pz_winograd_less(apart, even, k[10], d2);
  odd = d7;
  odd = pz_winograd_less(apart, odd, k[8], d5);
  odd = pz_winograd_plus(apart, odd, k[9], d3);
  odd = pz_winograd_less(apart, odd, k[10], d1);
  pz_winograd_pair_times(apart, k[11], odd, even, &x[5 * step], &x[6 * step]);
  even = d8;
  even = pz_winograd_less(apart, even, k[12], d6);
  even = pz_winograd_plus(apart, even, k[13], d4);
  even = pz_winograd_less(apart, even, k[14], d2);
  odd = d7;
  odd = pz_winograd_less(apart, odd, k[12], d5);
  odd = pz_winograd_plus(apart, odd, k[13], d3);
  odd = pz_winograd_less(apart, odd, k[14], d1);
  pz_winograd_pair_times(apart, k[15], odd, even, &x[7 * step], &x[8 * step]);
  even = d8;
  even = pz_winograd_less(apart, even, k[16], d6);
  even = pz_winograd_plus(apart, even, k[17], d4);
  even = pz_winograd_less(apart, even, k[18], d2);
  even = pz_winograd_plus(apart, even, k[19], d0);
  x[0] = even;
  odd = d9;
  odd = pz_winograd_less(apart, odd, k[16], d7);
  odd = pz_winograd_plus(apart, odd, k[17], d5);
  odd = pz_winograd_less(apart, odd, k[18], d3);
  odd = pz_winograd_plus(apart, odd, k[19], d1);
  x[9 * step] = odd;
}

PZ_INLINE void pz_winograd_forward_10_constants(int keep, pz_v *k) {
  k[0] = pz_winograd_constant(keep, 6.12500000f);
  k[1] = pz_winograd_constant(keep, 9.37890625f);
  k[2] = pz_winograd_constant(keep, 3.51562500f);
  k[3] = pz_winograd_constant(keep, 0.500000000f);
  k[4] = pz_winograd_constant(keep, 5.81250000f);
  k[5] = pz_winograd_constant(keep, 7.64062500f);
  k[6] = pz_winograd_constant(keep, 1.56250000f);
  k[7] = pz_winograd_constant(keep, 0.750000000f);
  k[8] = pz_winograd_constant(keep, 4.81250000f);
  k[9] = pz_winograd_constant(keep, 3.39062500f);
  k[10] = pz_winograd_constant(keep, 0.562500000f);
  k[11] = pz_winograd_constant(keep, 1.25000000f);
  k[12] = pz_winograd_constant(keep, 2.37500000f);
  k[13] = pz_winograd_constant(keep, 1.41015625f);
  k[14] = pz_winograd_constant(keep, 0.219726562f);
  k[15] = pz_winograd_constant(keep, 2.00000000f);
  k[16] = pz_winograd_constant(keep, 6.37500000f);
  k[17] = pz_winograd_constant(keep, 10.9101562f);
  k[18] = pz_winograd_constant(keep, 5.86035156f);
  k[19] = pz_winograd_constant(keep, 0.878906250f);
}

/* Constants of B^T along an axis, at most. */
#define PZ_WINOGRAD_CONSTANTS 20

PZ_INLINE void pz_winograd_back_2_3(pz_v *x, int32_t step) {
  const pz_v even0 = x[step] + x[2 * step];
  const pz_v odd0 = x[step] - x[2 * step];
  const pz_v last = x[3 * step];
  x[0] = even0 + (x[0]);
  x[step] = odd0 + (last);
}

PZ_INLINE void pz_winograd_back_4_3(pz_v *x, int32_t step) {
  const pz_v even0 = x[step] + x[2 * step];
  const pz_v odd0 = x[step] - x[2 * step];
  const pz_v even1 = x[3 * step] + x[4 * step];
  const pz_v odd1 = x[3 * step] - x[4 * step];
  const pz_v last = x[5 * step];
  x[0] = even0 + (even1 + (x[0]));
  x[step] = pz_v_fma(pz_v_set1(0.625000000f), odd0, pz_v_set1(1.50000000f) * odd1);
  x[2 * step] = pz_v_fma(pz_v_set1(0.390625000f), even0, pz_v_set1(2.25000000f) * even1);
  x[3 * step] = pz_v_fma(pz_v_set1(0.244140625f), odd0, pz_v_fma(pz_v_set1(3.37500000f), odd1, last));
}

PZ_INLINE void pz_winograd_back_6_3(pz_v *x, int32_t step) {
  const pz_v even0 = x[step] + x[2 * step];
  const pz_v odd0 = x[step] - x[2 * step];
  const pz_v even1 = x[3 * step] + x[4 * step];
  const pz_v odd1 = x[3 * step] - x[4 * step];
  const pz_v even2 = x[5 * step] + x[6 * step];
  const pz_v odd2 = x[5 * step] - x[6 * step];
  const pz_v last = x[7 * step];
  x[0] = even0 + (even1 + (pz_v_fma(pz_v_set1(0.125000000f), even2, x[0])));
  x[step] = pz_v_fma(pz_v_set1(0.500000000f), odd0, odd1 + (pz_v_set1(0.250000000f) * odd2));
  x[2 * step] = pz_v_fma(pz_v_set1(0.250000000f), even0, even1 + (pz_v_set1(0.500000000f) * even2));
  x[3 * step] = pz_v_fma(pz_v_set1(0.125000000f), odd0, odd1 + (odd2));
  x[4 * step] = pz_v_fma(pz_v_set1(0.0625000000f), even0, even1 + (pz_v_set1(2.00000000f) * even2));
  x[5 * step] =
      pz_v_fma(pz_v_set1(0.0312500000f), odd0, odd1 + (pz_v_fma(pz_v_set1(4.00000000f), odd2, last)));
}

PZ_INLINE void pz_winograd_back_2_5(pz_v *x, int32_t step) {
  const pz_v even0 = x[step] + x[2 * step];
  const pz_v odd0 = x[step] - x[2 * step];
  const pz_v even1 = x[3 * step] + x[4 * step];
  const pz_v odd1 = x[3 * step] - x[4 * step];
  const pz_v last = x[5 * step];
  x[0] = even0 + (even1 + (x[0]));
  x[step] = pz_v_fma(pz_v_set1(0.625000000f), odd0, pz_v_fma(pz_v_set1(1.50000000f), odd1, last));
}

PZ_INLINE void pz_winograd_back_4_5(pz_v *x, int32_t step) {
  const pz_v even0 = x[step] + x[2 * step];
  const pz_v odd0 = x[step] - x[2 * step];
  const pz_v even1 = x[3 * step] + x[4 * step];
  const pz_v odd1 = x[3 * step] - x[4 * step];
  const pz_v even2 = x[5 * step] + x[6 * step];
  const pz_v odd2 = x[5 * step] - x[6 * step];
  const pz_v last = x[7 * step];
  x[0] = even0 + (even1 + (pz_v_fma(pz_v_set1(0.125000000f), even2, x[0])));
  x[step] = pz_v_fma(pz_v_set1(0.500000000f), odd0, odd1 + (pz_v_set1(0.250000000f) * odd2));
  x[2 * step] = pz_v_fma(pz_v_set1(0.250000000f), even0, even1 + (pz_v_set1(0.500000000f) * even2));
  x[3 * step] = pz_v_fma(pz_v_set1(0.125000000f), odd0, odd1 + (odd2 + (last)));
}

PZ_INLINE void pz_winograd_back_6_5(pz_v *x, int32_t step) {
  const pz_v even0 = x[step] + x[2 * step];
  const pz_v odd0 = x[step] - x[2 * step];
  const pz_v even1 = x[3 * step] + x[4 * step];
  const pz_v odd1 = x[3 * step] - x[4 * step];
  const pz_v even2 = x[5 * step] + x[6 * step];
  const pz_v odd2 = x[5 * step] - x[6 * step];
  const pz_v even3 = x[7 * step] + x[8 * step];
  const pz_v odd3 = x[7 * step] - x[8 * step];
  const pz_v last = x[9 * step];
  x[0] = even0 + (even1 + (even2 + (even3 + (x[0]))));
  x[step] = pz_v_fma(pz_v_set1(0.500000000f), odd0,
                     pz_v_fma(pz_v_set1(0.750000000f), odd1,
                              pz_v_fma(pz_v_set1(1.25000000f), odd2, pz_v_set1(2.00000000f) * odd3)));
  x[2 * step] = pz_v_fma(pz_v_set1(0.250000000f), even0,
                         pz_v_fma(pz_v_set1(0.562500000f), even1,
                                  pz_v_fma(pz_v_set1(1.56250000f), even2, pz_v_set1(4.00000000f) * even3)));
  x[3 * step] = pz_v_fma(pz_v_set1(0.125000000f), odd0,
                         pz_v_fma(pz_v_set1(0.421875000f), odd1,
                                  pz_v_fma(pz_v_set1(1.95312500f), odd2, pz_v_set1(8.00000000f) * odd3)));
  x[4 * step] = pz_v_fma(pz_v_set1(0.0625000000f), even0,
                         pz_v_fma(pz_v_set1(0.316406250f), even1,
                                  pz_v_fma(pz_v_set1(2.44140625f), even2, pz_v_set1(16.0000000f) * even3)));
  x[5 * step] = pz_v_fma(
      pz_v_set1(0.0312500000f), odd0,
      pz_v_fma(pz_v_set1(0.237304688f), odd1,
               pz_v_fma(pz_v_set1(3.05175781f), odd2, pz_v_fma(pz_v_set1(32.0000000f), odd3, last))));
}

PZ_INLINE void pz_winograd_spread_2_3(const pz_v *g, pz_v *x) {
  pz_v even, odd;
  even = pz_v_fma(pz_v_set1(-0.500000000f), g[0], pz_v_set1(0.500000000f) * g[2]);
  odd = pz_v_set1(0.500000000f) * g[1];
  x[1] = even + odd;
  x[2] = even - odd;
}

PZ_INLINE void pz_winograd_spread_4_3(const pz_v *g, pz_v *x) {
  pz_v even, odd;
  even = pz_v_fma(pz_v_set1(-0.605042017f), g[0], pz_v_set1(-0.268907563f) * g[2]);
  odd = pz_v_set1(-0.430252101f) * g[1];
  x[1] = even + odd;
  x[2] = even - odd;
  even = pz_v_fma(pz_v_set1(0.105042017f), g[0], pz_v_set1(0.268907563f) * g[2]);
  odd = pz_v_set1(0.179271709f) * g[1];
  x[3] = even + odd;
  x[4] = even - odd;
}

PZ_INLINE void pz_winograd_spread_6_3(const pz_v *g, pz_v *x) {
  pz_v even, odd;
  even = pz_v_fma(pz_v_set1(-0.711111111f), g[0], pz_v_set1(0.177777778f) * g[2]);
  odd = pz_v_set1(0.355555556f) * g[1];
  x[1] = even + odd;
  x[2] = even - odd;
  even = pz_v_fma(pz_v_set1(0.222222222f), g[0], pz_v_set1(-0.222222222f) * g[2]);
  odd = pz_v_set1(-0.222222222f) * g[1];
  x[3] = even + odd;
  x[4] = even - odd;
  even = pz_v_fma(pz_v_set1(-0.0888888889f), g[0], pz_v_set1(0.355555556f) * g[2]);
  odd = pz_v_set1(0.177777778f) * g[1];
  x[5] = even + odd;
  x[6] = even - odd;
}

PZ_INLINE void pz_winograd_spread_2_5(const pz_v *g, pz_v *x) {
  pz_v even, odd;
  even = pz_v_fma(pz_v_set1(-0.605042017f), g[0],
                  pz_v_fma(pz_v_set1(-0.268907563f), g[2], pz_v_set1(-0.105042017f) * g[4]));
  odd = pz_v_fma(pz_v_set1(-0.430252101f), g[1], pz_v_set1(-0.168067227f) * g[3]);
  x[1] = even + odd;
  x[2] = even - odd;
  even = pz_v_fma(pz_v_set1(0.105042017f), g[0],
                  pz_v_fma(pz_v_set1(0.268907563f), g[2], pz_v_set1(0.605042017f) * g[4]));
  odd = pz_v_fma(pz_v_set1(0.179271709f), g[1], pz_v_set1(0.403361345f) * g[3]);
  x[3] = even + odd;
  x[4] = even - odd;
}

PZ_INLINE void pz_winograd_spread_4_5(const pz_v *g, pz_v *x) {
  pz_v even, odd;
  even = pz_v_fma(pz_v_set1(-0.711111111f), g[0],
                  pz_v_fma(pz_v_set1(0.177777778f), g[2], pz_v_set1(0.0444444444f) * g[4]));
  odd = pz_v_fma(pz_v_set1(0.355555556f), g[1], pz_v_set1(0.0888888889f) * g[3]);
  x[1] = even + odd;
  x[2] = even - odd;
  even = pz_v_fma(pz_v_set1(0.222222222f), g[0],
                  pz_v_fma(pz_v_set1(-0.222222222f), g[2], pz_v_set1(-0.222222222f) * g[4]));
  odd = pz_v_fma(pz_v_set1(-0.222222222f), g[1], pz_v_set1(-0.222222222f) * g[3]);
  x[3] = even + odd;
  x[4] = even - odd;
  even = pz_v_fma(pz_v_set1(-0.0888888889f), g[0],
                  pz_v_fma(pz_v_set1(0.355555556f), g[2], pz_v_set1(1.42222222f) * g[4]));
  odd = pz_v_fma(pz_v_set1(0.177777778f), g[1], pz_v_set1(0.711111111f) * g[3]);
  x[5] = even + odd;
  x[6] = even - odd;
}

PZ_INLINE void pz_winograd_spread_6_5(const pz_v *g, pz_v *x) {
  pz_v even, odd;
  even = pz_v_fma(pz_v_set1(-1.14285714f), g[0],
                  pz_v_fma(pz_v_set1(-0.325079365f), g[2], pz_v_set1(-0.0812698413f) * g[4]));
  odd = pz_v_fma(pz_v_set1(-0.650158730f), g[1], pz_v_set1(-0.162539683f) * g[3]);
  x[1] = even + odd;
  x[2] = even - odd;
  even = pz_v_fma(pz_v_set1(0.727272727f), g[0],
                  pz_v_fma(pz_v_set1(0.465454545f), g[2], pz_v_set1(0.261818182f) * g[4]));
  odd = pz_v_fma(pz_v_set1(0.620606061f), g[1], pz_v_set1(0.349090909f) * g[3]);
  x[3] = even + odd;
  x[4] = even - odd;
  even = pz_v_fma(pz_v_set1(-0.0879120879f), g[0],
                  pz_v_fma(pz_v_set1(-0.156288156f), g[2], pz_v_set1(-0.244200244f) * g[4]));
  odd = pz_v_fma(pz_v_set1(-0.125030525f), g[1], pz_v_set1(-0.195360195f) * g[3]);
  x[5] = even + odd;
  x[6] = even - odd;
  even = pz_v_fma(pz_v_set1(0.00349650350f), g[0],
                  pz_v_fma(pz_v_set1(0.0159129759f), g[2], pz_v_set1(0.0636519037f) * g[4]));
  odd = pz_v_fma(pz_v_set1(0.00795648796f), g[1], pz_v_set1(0.0318259518f) * g[3]);
  x[7] = even + odd;
  x[8] = even - odd;
}

/* a = m + r - 1; m = 1: the values themselves, and their sum. */
PZ_INLINE void pz_winograd_forward(int apart, int32_t m, int32_t r, const pz_v *k, pz_v *x, int32_t step) {
  if (m == 1 || r == 1) return;
  switch (m + r - 1) {
  case 4:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(4))) pz_winograd_forward_4(apart, k, x, step);
    return;
  case 6:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(6))) pz_winograd_forward_6(apart, k, x, step);
    return;
  case 8:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(8))) pz_winograd_forward_8(apart, k, x, step);
    return;
  case 10:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(10))) pz_winograd_forward_10(apart, k, x, step);
    return;
  default: __builtin_unreachable();
  }
}
PZ_INLINE void pz_winograd_forward_constants(int keep, int32_t m, int32_t r, pz_v *k) {
  if (m == 1 || r == 1) return;
  switch (m + r - 1) {
  case 4:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(4))) pz_winograd_forward_4_constants(keep, k);
    return;
  case 6:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(6))) pz_winograd_forward_6_constants(keep, k);
    return;
  case 8:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(8))) pz_winograd_forward_8_constants(keep, k);
    return;
  case 10:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(10))) pz_winograd_forward_10_constants(keep, k);
    return;
  default: __builtin_unreachable();
  }
}

PZ_INLINE void pz_winograd_back(int32_t m, int32_t r, pz_v *x, int32_t step) {
  if (r == 1) return;
  if (m == 1) {
    PZ_UNROLL for (int32_t i = 1; i < r; ++i) x[0] = x[0] + x[i * step];
    return;
  }
  switch (10 * m + r) {
  case 23:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(2, 3))) pz_winograd_back_2_3(x, step);
    return;
  case 43:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(4, 3))) pz_winograd_back_4_3(x, step);
    return;
  case 63:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(6, 3))) pz_winograd_back_6_3(x, step);
    return;
  case 25:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(2, 5))) pz_winograd_back_2_5(x, step);
    return;
  case 45:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(4, 5))) pz_winograd_back_4_5(x, step);
    return;
  case 65:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(6, 5))) pz_winograd_back_6_5(x, step);
    return;
  default: __builtin_unreachable();
  }
}

PZ_INLINE void pz_winograd_spread(int32_t m, int32_t r, const pz_v *g, pz_v *x) {
  switch (10 * m + r) {
  case 23:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(2, 3))) pz_winograd_spread_2_3(g, x);
    return;
  case 43:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(4, 3))) pz_winograd_spread_4_3(g, x);
    return;
  case 63:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(6, 3))) pz_winograd_spread_6_3(g, x);
    return;
  case 25:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(2, 5))) pz_winograd_spread_2_5(g, x);
    return;
  case 45:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(4, 5))) pz_winograd_spread_4_5(g, x);
    return;
  case 65:
    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(6, 5))) pz_winograd_spread_6_5(g, x);
    return;
  default: __builtin_unreachable();
  }
}

#endif
