/* gen_transforms: prints transforms.h: B^T and A^T of points.h as code, one function for each. A pair of points +-p shares
 * its sums over even and over odd positions. */
#include "kernels/winograd/points.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The magnitudes other than 0 and 1 that a function multiplies by; its code names them k[0], k[1], ... */
typedef struct constants {
  pz_rational at[32];
  int32_t n;
} constants;

static bool is(pz_rational x, int64_t num) { return x.num == num && x.den == 1; }
static pz_rational magnitude(pz_rational x) { return (pz_rational){x.num < 0 ? -x.num : x.num, x.den}; }

static int32_t index_of(constants *all, pz_rational x) {
  const pz_rational m = magnitude(x);
  int32_t i = 0;
  while (i < all->n && (all->at[i].num != m.num || all->at[i].den != m.den)) ++i;
  if (i == all->n) all->at[all->n++] = m;
  return i;
}

/* A constant as C; it must be a float without rounding. */
static void print_constant(pz_rational x) {
  const double value = pz_rational_value(x);
  if ((double)(float)value != value) {
    fprintf(stderr, "gen_transforms: %lld/%lld is not a float\n", (long long)x.num, (long long)x.den);
    exit(1);
  }
  printf("%#.9gf", value);
}

static void print_set(pz_rational x) {
  printf("pz_v_set1(");
  print_constant(x);
  printf(")");
}

static void print_constants(const char *function, const constants *all) {
  printf("\nPZ_INLINE void %s_constants(int keep, pz_v *k) {\n%s", function,
         all->n ? "" : "  (void)keep, (void)k;\n");
  for (int32_t i = 0; i < all->n; ++i) {
    printf("  k[%d] = pz_winograd_constant(keep, ", i);
    print_constant(all->at[i]);
    printf(");\n");
  }
  printf("}\n");
}

/* name = name + c * term. */
static void print_add(constants *all, const char *name, pz_rational c, const char *term) {
  const char *sign = c.num < 0 ? "-" : "+";
  if (is(c, 0)) return;
  if (is(magnitude(c), 1)) printf("  %s = %s %s %s;\n", name, name, sign, term);
  else
    printf("  %s = pz_winograd_%s(apart, %s, k[%d], %s);\n", name, c.num < 0 ? "less" : "plus", name,
           index_of(all, c), term);
}

/* name = sum of c[j] d_j over every second j up to the highest, whose c is 1. */
static void print_chain(constants *all, const char *name, const pz_rational *c, int32_t highest) {
  char term[16];
  printf("  %s = d%d;\n", name, highest);
  for (int32_t j = highest - 2; j >= 0; j -= 2) {
    snprintf(term, sizeof term, "d%d", j);
    print_add(all, name, c[j], term);
  }
}

static void print_point(const char *residual, int32_t i) {
  if (i == 0) printf("%s[0]", residual);
  else if (i == 1) printf("%s[step]", residual);
  else printf("%s[%d * step]", residual, i);
}

/* Returns how many constants it has. */
static int32_t print_forward(int32_t a) {
  pz_rational c[PZ_WINOGRAD_MOST_A];
  constants all = {0};
  char name[64];
  snprintf(name, sizeof name, "pz_winograd_forward_%d", a);
  printf("\nPZ_INLINE void %s(int apart, const pz_v *k, pz_v *x, int32_t step) {\n  (void)apart, (void)k;\n  "
         "const pz_v ",
         name);
  for (int32_t i = 0; i < a; ++i) {
    printf("%sd%d = ", i ? ", " : "", i);
    print_point("x", i);
  }
  printf(";\n  pz_v even, odd;\n");
  for (int32_t pair = 0; pair < a / 2 - 1; ++pair) {
    /* M/(x-p) = x (x+p) Q(x^2): even part x^2 Q, odd part p x Q. */
    const pz_rational p = pz_winograd_pair(a, pair);
    pz_rational odd[PZ_WINOGRAD_MOST_A];
    pz_winograd_input_row(a - 2, 3, 2 * pair + 1, c);
    for (int32_t j = 0; j < a; ++j) odd[j] = pz_rational_div(c[j], p);
    print_chain(&all, "even", c, a - 2);
    print_chain(&all, "odd", odd, a - 3);
    if (is(p, 1)) printf("  pz_winograd_pair_of(");
    else printf("  pz_winograd_pair_times(apart, k[%d], ", index_of(&all, p));
    printf("odd, even, &");
    print_point("x", 2 * pair + 1);
    printf(", &");
    print_point("x", 2 * pair + 2);
    printf(");\n");
  }
  pz_winograd_input_row(a - 2, 3, 0, c);
  print_chain(&all, "even", c, a - 2);
  printf("  x[0] = even;\n");
  pz_winograd_input_row(a - 2, 3, a - 1, c);
  print_chain(&all, "odd", c, a - 1);
  printf("  ");
  print_point("x", a - 1);
  printf(" = odd;\n}\n");
  print_constants(name, &all);
  return all.n;
}

static void print_back(int32_t m, int32_t r) {
  const int32_t a = m + r - 1, pairs = a / 2 - 1;
  printf("\nPZ_INLINE void pz_winograd_back_%d_%d(pz_v *x, int32_t step) {\n", m, r);
  for (int32_t k = 0; k < pairs; ++k)
    for (int32_t sign = 0; sign < 2; ++sign) {
      printf("  const pz_v %s%d = ", sign ? "odd" : "even", k);
      print_point("x", 2 * k + 1);
      printf(" %c ", sign ? '-' : '+');
      print_point("x", 2 * k + 2);
      printf(";\n");
    }
  printf("  const pz_v last = ");
  print_point("x", a - 1);
  printf(";\n");
  for (int32_t o = 0; o < m; ++o) {
    pz_rational c[PZ_WINOGRAD_MOST_A];
    const char *part = o % 2 ? "odd" : "even";
    pz_winograd_output_row(m, r, o, c);
    /* innermost: a term with factor 1, or what is added without one */
    const char *start = o == 0 ? "x[0]" : o == m - 1 ? "last" : NULL;
    printf("  ");
    print_point("x", o);
    printf(" = ");
    int32_t open = 0;
    for (int32_t k = 0; k < pairs; ++k) {
      const bool final = !start && k == pairs - 1;
      const pz_rational f = c[2 * k + 1];
      if (is(f, 1)) printf(final ? "%s%d" : "%s%d + (", part, k), open += !final;
      else if (final) {
        print_set(f);
        printf(" * %s%d", part, k);
      } else {
        printf("pz_v_fma(");
        print_set(f);
        printf(", %s%d, ", part, k), ++open;
      }
    }
    if (start) printf("%s", start);
    while (open--) printf(")");
    printf(";\n");
  }
  printf("}\n");
}

/* A coefficient of weights: rounded, they are sums of products in floats anyway. */
static void print_rounded(pz_rational x) { printf("pz_v_set1(%#.9gf)", pz_rational_value(x)); }

/* The sum over every second k from `first` on of row[k] g[k], the highest innermost. */
static void print_weights_sum(const char *name, const pz_rational *row, int32_t r, int32_t first) {
  const int32_t highest = r - 1 - (r - 1 - first) % 2;
  printf("  %s = ", name);
  for (int32_t k = first; k < highest; k += 2) {
    printf("pz_v_fma(");
    print_rounded(row[k]);
    printf(", g[%d], ", k);
  }
  print_rounded(row[highest]);
  printf(" * g[%d]", highest);
  for (int32_t k = first; k < highest; k += 2) printf(")");
  printf(";\n");
}

static void print_spread(int32_t m, int32_t r) {
  const int32_t a = m + r - 1;
  pz_rational zero[PZ_WINOGRAD_MOST_R], row[PZ_WINOGRAD_MOST_R];
  pz_winograd_weight_row(m, r, 0, zero);
  printf("\nPZ_INLINE void pz_winograd_spread_%d_%d(const pz_v *g, pz_v *x) {\n  pz_v even, odd;\n", m, r);
  for (int32_t k = 0; k < a / 2 - 1; ++k) {
    pz_winograd_weight_row(m, r, 2 * k + 1, row);
    row[0] = pz_rational_div(row[0], zero[0]);
    print_weights_sum("even", row, r, 0);
    print_weights_sum("odd", row, r, 1);
    printf("  x[%d] = even + odd;\n  x[%d] = even - odd;\n", 2 * k + 1, 2 * k + 2);
  }
  printf("}\n");
}

/* The call of a function of m and r, where a file has that way (kernels/ways.h). */
static void print_case(const char *name, const char *args, int32_t m, int32_t r) {
  printf("  case %d:\n    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF(%d, %d))) pz_winograd_%s_%d_%d(%s);\n    "
         "return;\n",
         10 * m + r, m, r, name, m, r, args);
}

int main(void) {
  static const int32_t filters[][2] = {{2, 3}, {4, 3}, {6, 3}, {2, 5}, {4, 5}, {6, 5}};
  printf("/* transforms.h: written by gen_transforms.c, not by hand (the test kernel_winograd_transforms "
         "compares). Along one\n"
         " * axis, in place, of values that lie `step` apart: B^T for a inputs and A^T of F(m, r), with "
         "constants k (keep: in "
         "registers);\n"
         " * apart: products and sums are operations of their own (shape.h). G of F(m, r), but for its first "
         "and last row: of "
         "weights g\n"
         " * whose first is multiplied by the first row's factor already (pack.h, on_use). */\n"
         "#ifndef PZ_KERNELS_WINOGRAD_TRANSFORMS_H\n#define PZ_KERNELS_WINOGRAD_TRANSFORMS_H\n\n"
         "#include \"kernels/vec.h\"\n#include \"kernels/winograd/ways.h\"\n\n"
         "PZ_INLINE pz_v pz_winograd_constant(int keep, float x) { return keep ? pz_v_constant(x) : "
         "pz_v_set1(x); }\n"
         "PZ_INLINE pz_v pz_winograd_plus(int apart, pz_v y, pz_v k, pz_v x) {\n"
         "  return apart ? y + k * x : pz_v_fma(k, x, y);\n}\n"
         "PZ_INLINE pz_v pz_winograd_less(int apart, pz_v y, pz_v k, pz_v x) {\n"
         "  return apart ? y - k * x : pz_v_fma(-k, x, y);\n}\n"
         "PZ_INLINE void pz_winograd_pair_of(pz_v odd, pz_v even, pz_v *plus, pz_v *less) {\n"
         "  *plus = even + odd, *less = even - odd;\n}\n"
         "PZ_INLINE void pz_winograd_pair_times(int apart, pz_v k, pz_v odd, pz_v even, pz_v *plus, pz_v "
         "*less) {\n"
         "  if (apart) pz_winograd_pair_of(k * odd, even, plus, less);\n"
         "  else *plus = pz_v_fma(k, odd, even), *less = pz_v_fma(-k, odd, even);\n}\n");
  int32_t most = 0;
  for (int32_t a = 4; a <= PZ_WINOGRAD_MOST_A; a += 2) {
    const int32_t n = print_forward(a);
    if (n > most) most = n;
  }
  printf("\n/* Constants of B^T along an axis, at most. */\n#define PZ_WINOGRAD_CONSTANTS %d\n", most);
  for (size_t i = 0; i < sizeof filters / sizeof *filters; ++i) print_back(filters[i][0], filters[i][1]);
  for (size_t i = 0; i < sizeof filters / sizeof *filters; ++i) print_spread(filters[i][0], filters[i][1]);
  printf("\n/* a = m + r - 1; m = 1: the values themselves, and their sum. */\n"
         "PZ_INLINE void pz_winograd_forward(int apart, int32_t m, int32_t r, const pz_v *k, pz_v *x, "
         "int32_t step) {\n"
         "  if (m == 1 || r == 1) return;\n"
         "  switch (m + r - 1) {\n");
  for (int32_t a = 4; a <= PZ_WINOGRAD_MOST_A; a += 2)
    printf("  case %d:\n    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(%d))) "
           "pz_winograd_forward_%d(apart, "
           "k, x, step);\n    return;\n",
           a, a, a);
  printf("  default: __builtin_unreachable();\n  }\n}\n"
         "PZ_INLINE void pz_winograd_forward_constants(int keep, int32_t m, int32_t r, pz_v *k) {\n"
         "  if (m == 1 || r == 1) return;\n"
         "  switch (m + r - 1) {\n");
  for (int32_t a = 4; a <= PZ_WINOGRAD_MOST_A; a += 2)
    printf("  case %d:\n    if (PZ_MAY_BIT(TRANSFORM, PZ_TRANSFORM_OF_INPUTS(%d))) "
           "pz_winograd_forward_%d_constants(keep, k);\n    return;\n",
           a, a, a);
  printf("  default: __builtin_unreachable();\n  }\n}\n\n"
         "PZ_INLINE void pz_winograd_back(int32_t m, int32_t r, pz_v *x, int32_t step) {\n"
         "  if (r == 1) return;\n"
         "  if (m == 1) {\n"
         "    PZ_UNROLL for (int32_t i = 1; i < r; ++i) x[0] = x[0] + x[i * step];\n"
         "    return;\n"
         "  }\n"
         "  switch (10 * m + r) {\n");
  for (size_t i = 0; i < sizeof filters / sizeof *filters; ++i)
    print_case("back", "x, step", filters[i][0], filters[i][1]);
  printf("  default: __builtin_unreachable();\n  }\n}\n\n"
         "PZ_INLINE void pz_winograd_spread(int32_t m, int32_t r, const pz_v *g, pz_v *x) {\n"
         "  switch (10 * m + r) {\n");
  for (size_t i = 0; i < sizeof filters / sizeof *filters; ++i)
    print_case("spread", "g, x", filters[i][0], filters[i][1]);
  printf("  default: __builtin_unreachable();\n  }\n}\n\n#endif\n");
  return 0;
}
