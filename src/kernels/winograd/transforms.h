/* transforms.h: written by gen_transforms.c, not by hand (the test kernel_winograd_transforms compares). Along one
 * axis, in place, of values that lie `step` apart: B^T for a inputs; A^T of F(m, r). G of F(m, r), but for its first and
 * last row: of weights g whose first is multiplied by the first row's factor already (pack.h, late). */
#ifndef PZ_KERNELS_WINOGRAD_TRANSFORMS_H
#define PZ_KERNELS_WINOGRAD_TRANSFORMS_H

#include "kernels/vec.h"

PZ_INLINE void pz_winograd_forward_4(pz_v *x, int32_t step) {
  const pz_v d0 = x[0], d1 = x[step], d2 = x[2 * step], d3 = x[3 * step];
  pz_v even, odd;
  even = d2;
  odd = d1;
  x[step] = even + odd;
  x[2 * step] = even - odd;
  even = d2;
  even = even - d0;
  x[0] = even;
  odd = d3;
  odd = odd - d1;
  x[3 * step] = odd;
}

PZ_INLINE void pz_winograd_forward_6(pz_v *x, int32_t step) {
  const pz_v d0 = x[0], d1 = x[step], d2 = x[2 * step], d3 = x[3 * step], d4 = x[4 * step], d5 = x[5 * step];
  pz_v even, odd;
  even = d4;
  even = pz_v_fma(pz_v_set1(-2.25000000f), d2, even);
  odd = d3;
  odd = pz_v_fma(pz_v_set1(-2.25000000f), d1, odd);
  x[step] = pz_v_fma(pz_v_set1(0.625000000f), odd, even);
  x[2 * step] = pz_v_fma(pz_v_set1(-0.625000000f), odd, even);
  even = d4;
  even = pz_v_fma(pz_v_set1(-0.390625000f), d2, even);
  odd = d3;
  odd = pz_v_fma(pz_v_set1(-0.390625000f), d1, odd);
  x[3 * step] = pz_v_fma(pz_v_set1(1.50000000f), odd, even);
  x[4 * step] = pz_v_fma(pz_v_set1(-1.50000000f), odd, even);
  even = d4;
  even = pz_v_fma(pz_v_set1(-2.64062500f), d2, even);
  even = pz_v_fma(pz_v_set1(0.878906250f), d0, even);
  x[0] = even;
  odd = d5;
  odd = pz_v_fma(pz_v_set1(-2.64062500f), d3, odd);
  odd = pz_v_fma(pz_v_set1(0.878906250f), d1, odd);
  x[5 * step] = odd;
}

PZ_INLINE void pz_winograd_forward_8(pz_v *x, int32_t step) {
  const pz_v d0 = x[0], d1 = x[step], d2 = x[2 * step], d3 = x[3 * step], d4 = x[4 * step], d5 = x[5 * step],
             d6 = x[6 * step], d7 = x[7 * step];
  pz_v even, odd;
  even = d6;
  even = pz_v_fma(pz_v_set1(-5.00000000f), d4, even);
  even = pz_v_fma(pz_v_set1(4.00000000f), d2, even);
  odd = d5;
  odd = pz_v_fma(pz_v_set1(-5.00000000f), d3, odd);
  odd = pz_v_fma(pz_v_set1(4.00000000f), d1, odd);
  x[step] = pz_v_fma(pz_v_set1(0.500000000f), odd, even);
  x[2 * step] = pz_v_fma(pz_v_set1(-0.500000000f), odd, even);
  even = d6;
  even = pz_v_fma(pz_v_set1(-4.25000000f), d4, even);
  even = even + d2;
  odd = d5;
  odd = pz_v_fma(pz_v_set1(-4.25000000f), d3, odd);
  odd = odd + d1;
  x[3 * step] = even + odd;
  x[4 * step] = even - odd;
  even = d6;
  even = pz_v_fma(pz_v_set1(-1.25000000f), d4, even);
  even = pz_v_fma(pz_v_set1(0.250000000f), d2, even);
  odd = d5;
  odd = pz_v_fma(pz_v_set1(-1.25000000f), d3, odd);
  odd = pz_v_fma(pz_v_set1(0.250000000f), d1, odd);
  x[5 * step] = pz_v_fma(pz_v_set1(2.00000000f), odd, even);
  x[6 * step] = pz_v_fma(pz_v_set1(-2.00000000f), odd, even);
  even = d6;
  even = pz_v_fma(pz_v_set1(-5.25000000f), d4, even);
  even = pz_v_fma(pz_v_set1(5.25000000f), d2, even);
  even = even - d0;
  x[0] = even;
  odd = d7;
  odd = pz_v_fma(pz_v_set1(-5.25000000f), d5, odd);
  odd = pz_v_fma(pz_v_set1(5.25000000f), d3, odd);
  odd = odd - d1;
  x[7 * step] = odd;
}

PZ_INLINE void pz_winograd_forward_10(pz_v *x, int32_t step) {
  const pz_v d0 = x[0], d1 = x[step], d2 = x[2 * step], d3 = x[3 * step], d4 = x[4 * step], d5 = x[5 * step],
             d6 = x[6 * step], d7 = x[7 * step], d8 = x[8 * step], d9 = x[9 * step];
  pz_v even, odd;
  even = d8;
  even = pz_v_fma(pz_v_set1(-6.12500000f), d6, even);
  even = pz_v_fma(pz_v_set1(9.37890625f), d4, even);
  even = pz_v_fma(pz_v_set1(-3.51562500f), d2, even);
  odd = d7;
  odd = pz_v_fma(pz_v_set1(-6.12500000f), d5, odd);
  odd = pz_v_fma(pz_v_set1(9.37890625f), d3, odd);
  odd = pz_v_fma(pz_v_set1(-3.51562500f), d1, odd);
  x[step] = pz_v_fma(pz_v_set1(0.500000000f), odd, even);
  x[2 * step] = pz_v_fma(pz_v_set1(-0.500000000f), odd, even);
  even = d8;
  even = pz_v_fma(pz_v_set1(-5.81250000f), d6, even);
  even = pz_v_fma(pz_v_set1(7.64062500f), d4, even);
  even = pz_v_fma(pz_v_set1(-1.56250000f), d2, even);
  odd = d7;
  odd = pz_v_fma(pz_v_set1(-5.81250000f), d5, odd);
  odd = pz_v_fma(pz_v_set1(7.64062500f), d3, odd);
  odd = pz_v_fma(pz_v_set1(-1.56250000f), d1, odd);
  x[3 * step] = pz_v_fma(pz_v_set1(0.750000000f), odd, even);
  x[4 * step] = pz_v_fma(pz_v_set1(-0.750000000f), odd, even);
  even = d8;
  even = pz_v_fma(pz_v_set1(-4.81250000f), d6, even);
  even = pz_v_fma(pz_v_set1(3.39062500f), d4, even);
  even = pz_v_fma(pz_v_set1(-0.562500000f), d2, even);
  odd = d7;
  odd = pz_v_fma(pz_v_set1(-4.81250000f), d5, odd);
  odd = pz_v_fma(pz_v_set1(3.39062500f), d3, odd);
  odd = pz_v_fma(pz_v_set1(-0.562500000f), d1, odd);
  x[5 * step] = pz_v_fma(pz_v_set1(1.25000000f), odd, even);
  x[6 * step] = pz_v_fma(pz_v_set1(-1.25000000f), odd, even);
  even = d8;
  even = pz_v_fma(pz_v_set1(-2.37500000f), d6, even);
  even = pz_v_fma(pz_v_set1(1.41015625f), d4, even);
  even = pz_v_fma(pz_v_set1(-0.219726562f), d2, even);
  odd = d7;
  odd = pz_v_fma(pz_v_set1(-2.37500000f), d5, odd);
  odd = pz_v_fma(pz_v_set1(1.41015625f), d3, odd);
  odd = pz_v_fma(pz_v_set1(-0.219726562f), d1, odd);
  x[7 * step] = pz_v_fma(pz_v_set1(2.00000000f), odd, even);
  x[8 * step] = pz_v_fma(pz_v_set1(-2.00000000f), odd, even);
  even = d8;
  even = pz_v_fma(pz_v_set1(-6.37500000f), d6, even);
  even = pz_v_fma(pz_v_set1(10.9101562f), d4, even);
  even = pz_v_fma(pz_v_set1(-5.86035156f), d2, even);
  even = pz_v_fma(pz_v_set1(0.878906250f), d0, even);
  x[0] = even;
  odd = d9;
  odd = pz_v_fma(pz_v_set1(-6.37500000f), d7, odd);
  odd = pz_v_fma(pz_v_set1(10.9101562f), d5, odd);
  odd = pz_v_fma(pz_v_set1(-5.86035156f), d3, odd);
  odd = pz_v_fma(pz_v_set1(0.878906250f), d1, odd);
  x[9 * step] = odd;
}

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
  x[0] = even0 + (even1 + (even2 + (x[0])));
  x[step] = pz_v_fma(pz_v_set1(0.500000000f), odd0, odd1 + (pz_v_set1(2.00000000f) * odd2));
  x[2 * step] = pz_v_fma(pz_v_set1(0.250000000f), even0, even1 + (pz_v_set1(4.00000000f) * even2));
  x[3 * step] = pz_v_fma(pz_v_set1(0.125000000f), odd0, odd1 + (pz_v_set1(8.00000000f) * odd2));
  x[4 * step] = pz_v_fma(pz_v_set1(0.0625000000f), even0, even1 + (pz_v_set1(16.0000000f) * even2));
  x[5 * step] =
      pz_v_fma(pz_v_set1(0.0312500000f), odd0, odd1 + (pz_v_fma(pz_v_set1(32.0000000f), odd2, last)));
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
  x[0] = even0 + (even1 + (even2 + (x[0])));
  x[step] = pz_v_fma(pz_v_set1(0.500000000f), odd0, odd1 + (pz_v_set1(2.00000000f) * odd2));
  x[2 * step] = pz_v_fma(pz_v_set1(0.250000000f), even0, even1 + (pz_v_set1(4.00000000f) * even2));
  x[3 * step] =
      pz_v_fma(pz_v_set1(0.125000000f), odd0, odd1 + (pz_v_fma(pz_v_set1(8.00000000f), odd2, last)));
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
  even = pz_v_fma(pz_v_set1(-0.0111111111f), g[0], pz_v_set1(0.0444444444f) * g[2]);
  odd = pz_v_set1(0.0222222222f) * g[1];
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
  even = pz_v_fma(pz_v_set1(-0.0111111111f), g[0],
                  pz_v_fma(pz_v_set1(0.0444444444f), g[2], pz_v_set1(0.177777778f) * g[4]));
  odd = pz_v_fma(pz_v_set1(0.0222222222f), g[1], pz_v_set1(0.0888888889f) * g[3]);
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
PZ_INLINE void pz_winograd_forward(int32_t m, int32_t r, pz_v *x, int32_t step) {
  if (m == 1 || r == 1) return;
  switch (m + r - 1) {
  case 4: pz_winograd_forward_4(x, step); return;
  case 6: pz_winograd_forward_6(x, step); return;
  case 8: pz_winograd_forward_8(x, step); return;
  case 10: pz_winograd_forward_10(x, step); return;
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
  case 23: pz_winograd_back_2_3(x, step); return;
  case 43: pz_winograd_back_4_3(x, step); return;
  case 63: pz_winograd_back_6_3(x, step); return;
  case 25: pz_winograd_back_2_5(x, step); return;
  case 45: pz_winograd_back_4_5(x, step); return;
  case 65: pz_winograd_back_6_5(x, step); return;
  default: __builtin_unreachable();
  }
}

PZ_INLINE void pz_winograd_spread(int32_t m, int32_t r, const pz_v *g, pz_v *x) {
  switch (10 * m + r) {
  case 23: pz_winograd_spread_2_3(g, x); return;
  case 43: pz_winograd_spread_4_3(g, x); return;
  case 63: pz_winograd_spread_6_3(g, x); return;
  case 25: pz_winograd_spread_2_5(g, x); return;
  case 45: pz_winograd_spread_4_5(g, x); return;
  case 65: pz_winograd_spread_6_5(g, x); return;
  default: __builtin_unreachable();
  }
}

#endif
