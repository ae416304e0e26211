#include "fixture.h"
#include "volume/blend.h"
#include "formats/convert.h"

#include <math.h>
#include <stdlib.h>

static double *scratch_for(const int64_t out[3]) {
  return malloc((size_t)(out[0] + out[1] + out[2]) * sizeof(double));
}

static float *weights_of(pz_weights kind, const int64_t out[3], const double step[3]) {
  float *w = malloc((size_t)(out[0] * out[1] * out[2]) * sizeof *w);
  double *scratch = scratch_for(out);
  assert_true(w && scratch);
  pz_blend_weights(kind, out, step, scratch, w);
  free(scratch);
  return w;
}

static double gaussian(double i, double n) { return exp(-pow(i - (n - 1) / 2, 2) / (2 * n / 8 * n / 8)); }
static double bump(double i, double n) { return -1 / (1 - pow((2 * i + 1) / n - 1, 2)); }

/* Against the formulas, written down again. 1e-6: a weight is one float, relative to a greatest that is rounded too. */
static void formulas(void **state) {
  (void)state;
  const int64_t n[3] = {5, 12, 31};
  const double step[3] = {5, 12, 31};
  float *g = weights_of(PZ_WEIGHTS_GAUSSIAN, n, step), *b = weights_of(PZ_WEIGHTS_BUMP, n, step),
        *c = weights_of(PZ_WEIGHTS_CONSTANT, n, step);
  const double top_b = bump(2, 5) + bump(6, 12) + bump(15, 31);
  for (int64_t z = 0, i = 0; z < n[0]; z++)
    for (int64_t y = 0; y < n[1]; y++)
      for (int64_t x = 0; x < n[2]; x++, i++) {
        const double want_g = fmax(gaussian(z, 5) * gaussian(y, 12) * gaussian(x, 31), 1e-3);
        const double want_b = fmax(exp(bump(z, 5) + bump(y, 12) + bump(x, 31) - top_b), 1e-30);
        assert_true(fabs(g[i] - want_g) <= 1e-6 * want_g);
        assert_true(fabs(b[i] - want_b) <= 1e-6 * want_b);
        assert_true(c[i] == 1);
      }
  free(g), free(b), free(c);
}

static void extremes(void **state) {
  (void)state;
  const int64_t large[3] = {1, 1, 4000}, one[3] = {1, 1, 1};
  const double step[3] = {1, 1, 1};
  for (int b = 0; b < 3; b++) {
    float *w = weights_of((pz_weights)b, large, step), *v = weights_of((pz_weights)b, one, step);
    for (int i = 0; i < 4000; i++) assert_true(w[i] > 0 && w[i] <= 1 && w[i] == w[3999 - i]);
    assert_true(v[0] == 1);
    free(w), free(v);
  }
}

/* Rounding, clipping, not-a-numbers; the first of equals. */
static void stores(void **state) {
  (void)state;
  const float values[] = {0, 1, 0.5f, -3, 7, NAN, 0.00195f, 0.00197f};
  const uint8_t want[] = {0, 255, 128, 0, 255, 0, 0, 1};
  for (int wide = 0; wide < 2; wide++) {
    float narrow[8];
    double doubles[8], inverse[8];
    uint8_t out[8];
    for (int i = 0; i < 8; i++) narrow[i] = values[i] * 2, doubles[i] = narrow[i], inverse[i] = 0.5;
    pz_blend_row row = {.sum = wide ? (void *)doubles : narrow,
                        .kind = wide ? PZ_SUM_DOUBLE : PZ_SUM_FLOAT,
                        .inverse = inverse,
                        .n = 8,
                        .channels = 1};
    row.out = out;
    pz_blend_store(PZ_STORE_U8, &row);
    assert_memory_equal(out, want, 8);
    for (int i = 0; i < 8; i++) assert_true(wide ? doubles[i] == 0 : narrow[i] == 0);

    float sums[] = {1, 5, NAN, NAN, /**/ 2, 5, 3, NAN, /**/ 2, 4, 3, -1}, best[4];
    const uint8_t index[] = {1, 0, 1, 2};
    row = (pz_blend_row){
        .sum = sums, .inverse = inverse, .n = 4, .channels = 3, .stride = 4, .out = out, .best = best};
    pz_blend_store(PZ_STORE_ARGMAX, &row);
    assert_memory_equal(out, index, 4);
  }
}

static void conversions(void **state) {
  (void)state;
  const uint8_t u8[] = {0, 1, 128, 255};
  const int16_t i16[] = {-32768, -1, 0, 32767};
  const float f32[] = {-1.5f, 0, -0.0f, 3};
  float out[4];
  pz_convert(PZ_U8, u8, 4, 0, 255, out);
  for (int i = 0; i < 4; i++) assert_true(out[i] == (float)u8[i] / 255.0f);
  pz_convert(PZ_I16, i16, 4, 0, 1, out);
  for (int i = 0; i < 4; i++) assert_true(out[i] == (float)i16[i]);
  pz_convert(PZ_F32, f32, 4, 1, 2, out);
  for (int i = 0; i < 4; i++) assert_true(out[i] == (f32[i] - 1) / 2);
  assert_true(pz_all_zero(PZ_F32, f32 + 1, 2) && !pz_all_zero(PZ_F32, f32, 3) && pz_all_zero(PZ_U8, u8, 1));
  const float nan[] = {1, 2, NAN, 4};
  assert_int_equal(pz_find_not_finite(PZ_F32, nan, 4), 2);
  assert_int_equal(pz_find_not_finite(PZ_F32, nan, 2), -1);
  assert_false(pz_all_zero(PZ_F32, nan + 2, 1));
}

/* Moments of parts equal those of the whole; an offset of 1e6 does not cancel. 1e-9: sums of 10^4 doubles. */
static void moments(void **state) {
  (void)state;
  enum { N = 10000 };
  static float v[N];
  uint64_t seed = 5;
  long double sum = 0, squares = 0;
  for (int i = 0; i < N; i++) v[i] = 1e6f + 100 * fx_unit(&seed), sum += v[i];
  for (int i = 0; i < N; i++) squares += (v[i] - sum / N) * (v[i] - sum / N);
  pz_moments m = {0};
  for (int at = 0; at < N;) {
    const int n = (int)fx_between(&seed, 1, 900) < N - at ? (int)fx_between(&seed, 1, 900) : N - at;
    const int use = n < N - at ? n : N - at;
    pz_moments_add(&m, PZ_F32, v + at, use);
    at += use;
  }
  assert_true(m.n == N);
  assert_true(fabs(m.mean - (double)(sum / N)) < 1e-9 * m.mean);
  assert_true(fabs(m.m2 - (double)squares) < 1e-9 * m.m2);
  const float with_nan[] = {1, NAN, 3};
  pz_moments few = {0};
  pz_moments_add(&few, PZ_F32, with_nan, 3);
  assert_true(few.n == 2 && few.mean == 2 && few.m2 == 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(formulas), cmocka_unit_test(extremes),
                                     cmocka_unit_test(stores), cmocka_unit_test(conversions),
                                     cmocka_unit_test(moments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
