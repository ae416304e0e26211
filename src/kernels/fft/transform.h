/* transform.h: Fourier transforms along one axis, of complex vectors whose lanes are channels: X(k) = sum of x(j) exp(-2 pi i j k/n), n
 * of 1, 8, 12, 16, 24, 32, 64, as two rounds of transforms of 3, 4 and 8 that are held in registers (Cooley and Tukey 1965).
 * Exchanging real and imaginary parts before and behind gives n times the inverse. Error: that of about log2(n) roundings. */
#ifndef PZ_KERNELS_FFT_TRANSFORM_H
#define PZ_KERNELS_FFT_TRANSFORM_H

#include "kernels/fft/shape.h"
#include "kernels/vec.h"

/* ---- in registers ---- */

PZ_INLINE void pz_fft_3(pz_v *re, pz_v *im) {
  const pz_v half = pz_v_set1(-0.5f), sine = pz_v_set1(0.86602540378443865f);
  const pz_v sr = re[1] + re[2], si = im[1] + im[2], dr = re[1] - re[2], di = im[1] - im[2];
  const pz_v mr = pz_v_fma(half, sr, re[0]), mi = pz_v_fma(half, si, im[0]);
  re[0] = re[0] + sr, im[0] = im[0] + si;
  re[1] = pz_v_fma(sine, di, mr), im[1] = pz_v_fma(-sine, dr, mi);
  re[2] = pz_v_fma(-sine, di, mr), im[2] = pz_v_fma(sine, dr, mi);
}

PZ_INLINE void pz_fft_4(pz_v *re, pz_v *im) {
  const pz_v ar = re[0] + re[2], ai = im[0] + im[2], br = re[0] - re[2], bi = im[0] - im[2];
  const pz_v cr = re[1] + re[3], ci = im[1] + im[3], dr = re[1] - re[3], di = im[1] - im[3];
  re[0] = ar + cr, im[0] = ai + ci;
  re[1] = br + di, im[1] = bi - dr;
  re[2] = ar - cr, im[2] = ai - ci;
  re[3] = br - di, im[3] = bi + dr;
}

/* The even and the odd ones by four; the odd ones are turned by 0, 1, 2 and 3 eighths. */
PZ_INLINE void pz_fft_8(pz_v *re, pz_v *im) {
  const pz_v root = pz_v_set1(0.70710678118654752f);
  pz_v er[4], ei[4], dr[4], di[4];
  PZ_UNROLL for (int32_t k = 0; k < 4; ++k) {
    er[k] = re[2 * k], ei[k] = im[2 * k];
    dr[k] = re[2 * k + 1], di[k] = im[2 * k + 1];
  }
  pz_fft_4(er, ei);
  pz_fft_4(dr, di);
  const pz_v ar = dr[1] + di[1], ai = di[1] - dr[1], br = di[3] - dr[3], bi = -dr[3] - di[3];
  re[0] = er[0] + dr[0], im[0] = ei[0] + di[0];
  re[4] = er[0] - dr[0], im[4] = ei[0] - di[0];
  re[1] = pz_v_fma(root, ar, er[1]), im[1] = pz_v_fma(root, ai, ei[1]);
  re[5] = pz_v_fma(-root, ar, er[1]), im[5] = pz_v_fma(-root, ai, ei[1]);
  re[2] = er[2] + di[2], im[2] = ei[2] - dr[2];
  re[6] = er[2] - di[2], im[6] = ei[2] + dr[2];
  re[3] = pz_v_fma(root, br, er[3]), im[3] = pz_v_fma(root, bi, ei[3]);
  re[7] = pz_v_fma(-root, br, er[3]), im[7] = pz_v_fma(-root, bi, ei[3]);
}

PZ_INLINE void pz_fft_in_registers(int32_t n, pz_v *re, pz_v *im) {
  if (n == 3) pz_fft_3(re, im);
  if (n == 4) pz_fft_4(re, im);
  if (n == 8) pz_fft_8(re, im);
}

/* ---- along a line ---- */

/* Complex vectors, `step` floats apart, imaginary parts `imaginary` floats behind the real ones. */
typedef struct pz_fft_from {
  const float *at;
  int64_t step, imaginary;
} pz_fft_from;
typedef struct pz_fft_to {
  float *at;
  int64_t step, imaginary;
  int32_t count; /* only the first `count` are written */
} pz_fft_to;

/* The first round: x(b*j1 + j2), j1 < a, for one j2; to re, im at [k1]. */
PZ_INLINE void pz_fft_first(int32_t a, int32_t b, int32_t j2, const float *twiddles, pz_fft_from from,
                            pz_v *re, pz_v *im) {
  PZ_UNROLL for (int32_t j1 = 0; j1 < a; ++j1) {
    const float *at = from.at + (b * j1 + j2) * from.step;
    re[j1] = pz_v_load(at), im[j1] = pz_v_load(at + from.imaginary);
  }
  pz_fft_in_registers(a, re, im);
  PZ_UNROLL for (int32_t k1 = 1; k1 < a; ++k1) {
    const pz_v c = pz_v_broadcast(twiddles + 2 * (j2 * a + k1)),
               s = pz_v_broadcast(twiddles + 2 * (j2 * a + k1) + 1);
    const pz_v x = re[k1], y = im[k1];
    re[k1] = pz_v_fma(x, c, -(y * s));
    im[k1] = pz_v_fma(x, s, y * c);
  }
}

/* n constant. `to` may be `from`: all is read before anything is written. */
PZ_INLINE void pz_fft_line(int32_t n, const float *twiddles, pz_fft_from from, pz_fft_to to) {
  const int32_t a = pz_fft_factor(n), b = n / a;
  pz_v between[2 * PZ_FFT_MOST], re[8], im[8];
  if (a > 1) {
    PZ_ROLL for (int32_t j2 = 0; j2 < b; ++j2) {
      pz_fft_first(a, b, j2, twiddles, from, re, im);
      PZ_UNROLL for (int32_t k1 = 0; k1 < a; ++k1) {
        between[2 * (k1 * b + j2)] = re[k1];
        between[2 * (k1 * b + j2) + 1] = im[k1];
      }
    }
    from = (pz_fft_from){(const float *)between, 2 * PZ_S, PZ_S};
  }
  PZ_ROLL for (int32_t k1 = 0; k1 < a; ++k1) {
    PZ_UNROLL for (int32_t j2 = 0; j2 < b; ++j2) {
      const float *at = from.at + (k1 * b + j2) * from.step;
      re[j2] = pz_v_load(at), im[j2] = pz_v_load(at + from.imaginary);
    }
    pz_fft_in_registers(b, re, im);
    PZ_UNROLL for (int32_t k2 = 0; k2 < b; ++k2) {
      if (k1 + a * k2 >= to.count) break;
      float *at = to.at + (k1 + a * k2) * to.step;
      pz_v_store(at, re[k2]), pz_v_store(at + to.imaginary, im[k2]);
    }
  }
}

/* ---- two rows of real values ----
 * z = x + i*y has the transform X + i*Y, which symmetry takes apart: 2 X(k) = Z(k) + conj Z(-k), 2 Y(k) = (Z(k) - conj Z(-k)) / i. */

/* from: x, with y as its imaginary part. To n/2 + 1 frequencies, 2X at `to`, 2Y at `to + row`, (re, im) behind each other. The rows
 * may begin where x and y do. */
PZ_INLINE void pz_fft_two_rows(int32_t n, const float *twiddles, pz_fft_from from, float *to, int64_t row) {
  pz_v z[2 * PZ_FFT_MOST];
  pz_fft_line(n, twiddles, from, (pz_fft_to){(float *)z, 2 * PZ_S, PZ_S, n});
  PZ_ROLL for (int32_t k = 0; k <= n / 2; ++k, to += 2 * PZ_S) {
    const pz_v *p = z + 2 * k, *q = z + 2 * ((n - k) % n);
    pz_v_store(to, p[0] + q[0]), pz_v_store(to + PZ_S, p[1] - q[1]);
    pz_v_store(to + row, p[1] + q[1]), pz_v_store(to + row + PZ_S, q[0] - p[0]);
  }
}

/* Back: n values of x and y times n, at [..][x, y]. */
PZ_INLINE void pz_fft_two_rows_back(int32_t n, const float *twiddles, const float *from, int64_t row,
                                    pz_v *to) {
  pz_v z[2 * PZ_FFT_MOST];
  PZ_ROLL for (int32_t k = 0; k <= n / 2; ++k, from += 2 * PZ_S) {
    const pz_v xr = pz_v_load(from), xi = pz_v_load(from + PZ_S), yr = pz_v_load(from + row),
               yi = pz_v_load(from + row + PZ_S);
    pz_v *p = z + 2 * k, *q = z + 2 * ((n - k) % n);
    p[0] = xr - yi, p[1] = xi + yr;
    q[0] = xr + yi, q[1] = yr - xi; /* where p is q, xi and yi are rounding errors */
  }
  pz_fft_line(n, twiddles, (pz_fft_from){(const float *)z + PZ_S, 2 * PZ_S, -PZ_S},
              (pz_fft_to){(float *)to + PZ_S, 2 * PZ_S, -PZ_S, n});
}

#endif
