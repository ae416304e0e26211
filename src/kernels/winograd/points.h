/* points.h: minimal filtering F(m, r) from its interpolation points, in exact rational arithmetic (Toom and Cook;
 * Winograd 1980; the points after Barabasz et al. 2020, chosen by measured error: doc/notes/2026-11-28-winograd.md). Plain C: the
 * compiler half packs weights with it, gen_transforms.c prints transforms.h from it.
 *
 * m outputs of a filter with r weights come from a = m + r - 1 inputs with a products:
 *   y = A^T [(G g) * (B^T d)],   y_o = sum over k of g_k d_{o+k}.
 * Points are 0, pairs +-p, and infinity; M(x) is the product of (x - p) over the finite ones. Row i of B^T holds the
 * coefficients of M(x)/(x - p_i), row i of G the powers of p_i over the product of p_i's distances from the others,
 * column i of A^T the powers of p_i. The row of infinity is M(x), (0 .. 0 1), (0 .. 0 1).
 * m = 1: a = r, the filter itself: B and G are unit matrices, A^T is a row of ones.
 *
 * Rows of G may be as many times larger as columns of A^T are smaller: so that, from point to point, inputs and weights differ in size
 * by about the same, which products of pairs need (inner_pairs.h). */
#ifndef PZ_KERNELS_WINOGRAD_POINTS_H
#define PZ_KERNELS_WINOGRAD_POINTS_H

#include <stdint.h>

#define PZ_WINOGRAD_MOST_M 6
#define PZ_WINOGRAD_MOST_R 5
#define PZ_WINOGRAD_MOST_A 10

/* In lowest terms, den > 0. */
typedef struct pz_rational {
  int64_t num, den;
} pz_rational;

static inline pz_rational pz_rational_of(int64_t num, int64_t den) {
  int64_t a = num < 0 ? -num : num, b = den < 0 ? -den : den;
  while (b) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  if (den < 0) a = -a;
  return (pz_rational){num / a, den / a};
}
static inline pz_rational pz_rational_mul(pz_rational x, pz_rational y) {
  return pz_rational_of(x.num * y.num, x.den * y.den);
}
static inline pz_rational pz_rational_div(pz_rational x, pz_rational y) {
  return pz_rational_of(x.num * y.den, x.den * y.num);
}
static inline pz_rational pz_rational_add(pz_rational x, pz_rational y) {
  return pz_rational_of(x.num * y.den + y.num * x.den, x.den * y.den);
}
static inline pz_rational pz_rational_sub(pz_rational x, pz_rational y) {
  return pz_rational_add(x, (pz_rational){-y.num, y.den});
}
static inline double pz_rational_value(pz_rational x) { return (double)x.num / (double)x.den; }

/* The p of the k-th pair (from 0) among a points. */
static inline pz_rational pz_winograd_pair(int32_t a, int32_t k) {
  static const pz_rational pairs[PZ_WINOGRAD_MOST_A / 2 + 1][4] = {
      [2] = {{1, 1}},
      [3] = {{5, 8}, {3, 2}},
      [4] = {{1, 2}, {1, 1}, {2, 1}},
      [5] = {{1, 2}, {3, 4}, {5, 4}, {2, 1}},
  };
  return pairs[a / 2][k];
}

/* The i-th finite point (from 0) among a: 0, +p, -p, +q, -q, ... */
static inline pz_rational pz_winograd_finite(int32_t a, int32_t i) {
  if (i == 0) return (pz_rational){0, 1};
  const pz_rational p = pz_winograd_pair(a, (i - 1) / 2);
  return i % 2 ? p : (pz_rational){-p.num, p.den};
}

/* What row i of G is multiplied by, column i of A^T divided: a power of two, so that nothing is rounded for it. */
static inline int64_t pz_winograd_weight_factor(int32_t a, int32_t i) {
  return a == 8 && (i == 5 || i == 6) ? 8 : 1;
}

/* Coefficients, from that of x^0, of the product of (x - p) over the finite points but `leave_out` (-1: none). */
static inline void pz_winograd_polynomial(int32_t a, int32_t leave_out, pz_rational c[PZ_WINOGRAD_MOST_A]) {
  for (int32_t j = 0; j < a; ++j) c[j] = (pz_rational){j == 0, 1};
  for (int32_t i = 0; i < a - 1; ++i) {
    if (i == leave_out) continue;
    const pz_rational p = pz_winograd_finite(a, i);
    for (int32_t j = a - 1; j >= 0; --j)
      c[j] = pz_rational_sub(j ? c[j - 1] : (pz_rational){0, 1}, pz_rational_mul(p, c[j]));
  }
}

/* B^T[i][.], a values. */
static inline void pz_winograd_input_row(int32_t m, int32_t r, int32_t i,
                                         pz_rational row[PZ_WINOGRAD_MOST_A]) {
  const int32_t a = m + r - 1;
  if (m == 1 || r == 1)
    for (int32_t j = 0; j < a; ++j) row[j] = (pz_rational){i == j, 1};
  else pz_winograd_polynomial(a, i < a - 1 ? i : -1, row);
}

/* G[i][.], r values. */
static inline void pz_winograd_weight_row(int32_t m, int32_t r, int32_t i,
                                          pz_rational row[PZ_WINOGRAD_MOST_R]) {
  const int32_t a = m + r - 1;
  for (int32_t k = 0; k < r; ++k) row[k] = (pz_rational){m == 1 ? i == k : k == r - 1, 1};
  if (m == 1 || r == 1 || i == a - 1) return;
  const pz_rational p = pz_winograd_finite(a, i);
  row[0] = (pz_rational){pz_winograd_weight_factor(a, i), 1};
  for (int32_t j = 0; j < a - 1; ++j)
    if (j != i) row[0] = pz_rational_div(row[0], pz_rational_sub(p, pz_winograd_finite(a, j)));
  for (int32_t k = 1; k < r; ++k) row[k] = pz_rational_mul(row[k - 1], p);
}

/* A^T[o][.], a values. */
static inline void pz_winograd_output_row(int32_t m, int32_t r, int32_t o,
                                          pz_rational row[PZ_WINOGRAD_MOST_A]) {
  const int32_t a = m + r - 1;
  for (int32_t i = 0; i < a; ++i) {
    row[i] = (pz_rational){m == 1 || (r == 1 ? i == o : o == (i < a - 1 ? 0 : m - 1)), 1};
    if (m == 1 || r == 1 || i == a - 1) continue;
    for (int32_t j = 0; j < o; ++j)
      row[i] = j ? pz_rational_mul(row[i], pz_winograd_finite(a, i)) : pz_winograd_finite(a, i);
    row[i] = pz_rational_div(row[i], (pz_rational){pz_winograd_weight_factor(a, i), 1});
  }
}

#endif
