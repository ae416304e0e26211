/* Interpolation with random positions and weights, against the sum of eight products in double. Three roundings of
 * products of weights and sums along d and h, two along w; values and weights are at most 1: 1e-6 of (1 + |want|) is
 * enough. */
#include "kernels/resize/resize.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 200 };

typedef struct taps {
  int32_t at[2];
  float weight[2];
} taps;

/* Of an axis: random taps, written to the table too; where `plain`, none is between two positions. */
static taps *random_axis(pz_test_random *r, int32_t in, int32_t out, bool plain, float **table) {
  taps *t = calloc((size_t)out, sizeof *t);
  if (!t) exit(1);
  for (int32_t i = 0; i < out; ++i) {
    for (int k = 0; k < 2; ++k) t[i].at[k] = pz_test_int(r, 0, in - 1);
    t[i].weight[1] = plain || pz_test_int(r, 0, 3) == 0 ? 0.0f : pz_test_float(r, 0.0f, 1.0f);
    t[i].weight[0] = 1.0f - t[i].weight[1];
    for (int k = 0; k < 2; ++k) {
      memcpy(*table + k * out + i, &t[i].at[k], 4);
      (*table)[(2 + k) * out + i] = t[i].weight[k];
    }
  }
  *table += 4 * out;
  return t;
}

static double sum(const pz_test_tensor *in, int32_t n, int32_t c, const taps *d, const taps *h,
                  const taps *w) {
  double x = 0;
  for (int i = 0; i < 8; ++i) {
    const double weight = (double)d->weight[i >> 2] * h->weight[i >> 1 & 1] * w->weight[i & 1];
    if (weight != 0) x += weight * *pz_test_at(in, n, c, d->at[i >> 2], h->at[i >> 1 & 1], w->at[i & 1]);
  }
  return x;
}

/* The table of a doubled w is not looked at; the taps are those of half-pixel centres. */
static taps *doubled_axis(int32_t in, int32_t out, float **table) {
  taps *t = calloc((size_t)out, sizeof *t);
  if (!t) exit(1);
  for (int32_t i = 0; i < out; ++i) {
    const int32_t lo = (i + 1) / 2 - 1;
    t[i] = (taps){{lo < 0 ? 0 : lo, lo + 1 < in ? lo + 1 : in - 1},
                  {i % 2 ? 0.75f : 0.25f, i % 2 ? 0.25f : 0.75f}};
  }
  *table += 4 * out;
  return t;
}

static void one(pz_test_random *r, const int32_t size[3], const int32_t o[3], bool doubles) {
  const int32_t n = pz_test_int(r, 1, 2), c = pz_test_int(r, 1, 2 * PZ_S + 1);
  bool same;
  pz_test_tensor in = pz_test_tensor_random(r, PZ_S, n, c, size[0], size[1], size[2]);
  pz_test_tensor out = pz_test_tensor_random(r, PZ_S, n, c, o[0], o[1], o[2]);
  pz_test_fill(&in, r, -1, 1);
  if (pz_test_int(r, 0, 3) == 0) *pz_test_at(&in, 0, 0, 0, 0, 0) = INFINITY;
  pz_test_memory tables = pz_test_alloc(4 * (o[0] + o[1] + o[2]), false);
  const pz_resize_linear_shape s = {in.view, out.view, pz_test_int(r, 0, 1), doubles};
  pz_test_memory scratch = pz_test_alloc(pz_resize_scratch(&in.view), false);
  float *table = tables.data;
  taps *along_d = random_axis(r, size[0], o[0], pz_test_int(r, 0, 1), &table);
  taps *along_h = random_axis(r, size[1], o[1], pz_test_int(r, 0, 1), &table);
  taps *along_w = doubles ? doubled_axis(size[2], o[2], &table)
                          : random_axis(r, size[2], o[2], pz_test_int(r, 0, 3) == 0, &table);
  double *want = pz_test_doubles(&out.view), *next = want;
  PZ_TEST_EACH(out.view, 0, out.view.c) { *next++ = sum(&in, n, c, &along_d[d], &along_h[h], &along_w[w]); }
  PZ_TEST_WORKERS(same, out.memory,
                  pz_resize_linear(s, in.at, tables.data, scratch.data, out.at, worker, workers));
  assert_true(same);
  assert_true(pz_test_equal(&out, want, 1e-6));
  assert_true(pz_test_untouched(&out, false));
  free(along_d), free(along_h), free(along_w), free(want);
  pz_test_free(&tables), pz_test_free(&scratch);
  pz_test_tensor_free(&in), pz_test_tensor_free(&out);
}

static void test_random(void **state) {
  (void)state;
  pz_test_random r = {71};
  for (int round = 0; round < ROUNDS; ++round) {
    int32_t size[3], o[3];
    for (int i = 0; i < 3; ++i) size[i] = pz_test_int(&r, 1, 4 + 3 * i), o[i] = pz_test_int(&r, 1, 6 + 5 * i);
    const bool doubles = pz_test_int(&r, 0, 1);
    if (doubles) o[2] = 2 * size[2];
    one(&r, size, o, doubles);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
