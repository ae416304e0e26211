/* Moves bits: exact. Random indices, some negative. */
#include "kernels/gather/gather.h"
#include "kernels/gather/points.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 200 };

/* `count` indices below `in`, of which some are negative where `fills`; written to the table too. */
static int32_t *random_axis(pz_test_random *r, int32_t in, int32_t count, bool fills, float **table) {
  int32_t *at = calloc((size_t)count, sizeof *at);
  if (!at) exit(1);
  for (int32_t i = 0; i < count; ++i)
    at[i] = fills && pz_test_int(r, 0, 3) == 0 ? -1 : pz_test_int(r, 0, in - 1);
  memcpy(*table, at, (size_t)count * 4);
  *table += count;
  return at;
}

static void test_points(void **state) {
  (void)state;
  pz_test_random r = {81};
  for (int round = 0; round < ROUNDS; ++round) {
    const int32_t c = pz_test_int(&r, 1, 2 * PZ_S + 1);
    const bool fills = pz_test_int(&r, 0, 1);
    bool same;
    int32_t size[4], o[4], *at[4];
    for (int i = 0; i < 4; ++i) size[i] = pz_test_int(&r, 1, 3 + 2 * i), o[i] = pz_test_int(&r, 1, 3 + 3 * i);
    pz_test_tensor in = pz_test_tensor_random(&r, PZ_S, size[0], c, size[1], size[2], size[3]);
    pz_test_tensor out = pz_test_tensor_random(&r, PZ_S, o[0], c, o[1], o[2], o[3]);
    pz_test_fill(&in, &r, -1, 1);
    pz_test_memory tables = pz_test_alloc(o[0] + o[1] + o[2] + o[3], false);
    float *table = tables.data;
    for (int i = 0; i < 4; ++i) at[i] = random_axis(&r, size[i], o[i], fills, &table);
    const pz_gather_points_shape s = {in.view, out.view, pz_test_int(&r, 0, 1), fills, 0.5f};
    double *want = pz_test_doubles(&out.view), *next = want;
    PZ_TEST_EACH(out.view, 0, out.view.c) {
      const bool none = at[0][n] < 0 || at[1][d] < 0 || at[2][h] < 0 || at[3][w] < 0;
      *next++ = none ? 0.5 : *pz_test_at(&in, at[0][n], c, at[1][d], at[2][h], at[3][w]);
    }
    PZ_TEST_WORKERS(same, out.memory, pz_gather_points(s, in.at, tables.data, out.at, worker, workers));
    assert_true(same);
    assert_true(pz_test_equal(&out, want, 0.0));
    assert_true(pz_test_untouched(&out, false));
    for (int i = 0; i < 4; ++i) free(at[i]);
    free(want), pz_test_free(&tables);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

/* Runs of a row of `count` elements, from an axis of `in`: {elements, first position or -1, step}. */
static int32_t random_runs(pz_test_random *r, int32_t in, int32_t count, float *table, int32_t *at) {
  int32_t runs = 0;
  for (int32_t o = 0; o < count; ++runs) {
    int32_t run[3] = {pz_test_int(r, 1, count - o), pz_test_int(r, -1, in - 1), pz_test_int(r, -2, 2)};
    for (int32_t i = 0; i < run[0]; ++i) {
      const int32_t from = run[1] < 0 ? -1 : run[1] + i * run[2];
      if (run[1] >= 0 && (from < 0 || from >= in)) run[0] = i; /* no further */
      else at[o + i] = from;
    }
    memcpy(table + 3 * runs, run, sizeof run);
    o += run[0];
  }
  return runs;
}

static void test_axes(void **state) {
  (void)state;
  pz_test_random r = {82};
  for (int round = 0; round < ROUNDS; ++round) {
    pz_gather_shape s = {.axes = pz_test_int(&r, 1, 8), .value = 0.5f};
    int32_t size[8], *at[8], last = s.axes - 1;
    int64_t inputs = 1, outputs = 1, tables = 0;
    bool same;
    for (int32_t i = last; i >= 0; --i) { /* strides of dense storage, sometimes with room between */
      const int32_t most = i == last ? 3 * PZ_S : s.axes > 5 ? 2 : 4;
      size[i] = pz_test_int(&r, 1, most), s.size[i] = pz_test_int(&r, 1, most);
      s.in[i] = inputs, s.out[i] = outputs;
      inputs *= size[i] + pz_test_int(&r, 0, 1), outputs *= s.size[i] + pz_test_int(&r, 0, 1);
      tables += i == last ? 3 * s.size[i] : s.size[i];
    }
    pz_test_memory in = pz_test_alloc(inputs, false), out = pz_test_alloc(outputs, pz_test_int(&r, 0, 1));
    pz_test_memory table = pz_test_alloc(tables, true);
    for (int64_t i = 0; i < inputs; ++i) in.data[i] = pz_test_float(&r, -1, 1);
    float *next = table.data;
    for (int32_t i = 0; i < last; ++i)
      at[i] = random_axis(&r, size[i], s.size[i], pz_test_int(&r, 0, 1), &next);
    at[last] = calloc((size_t)s.size[last], sizeof **at);
    assert_non_null(at[last]);
    s.runs = random_runs(&r, size[last], s.size[last], next, at[last]);
    float *want = pz_test_snapshot(&out);
    int64_t elements = 1;
    for (int32_t i = 0; i < s.axes; ++i) elements *= s.size[i];
    for (int64_t e = 0; e < elements; ++e) {
      int64_t rest = e, from = 0, to = 0;
      bool none = false;
      for (int32_t i = last; i >= 0; rest /= s.size[i], --i) {
        const int32_t o = (int32_t)(rest % s.size[i]);
        none = none || at[i][o] < 0, from += at[i][o] * s.in[i], to += o * s.out[i];
      }
      want[to] = none ? 0.5f : in.data[from];
    }
    PZ_TEST_WORKERS(same, out, pz_gather(s, in.data, table.data, out.data, worker, workers));
    assert_true(same);
    assert_memory_equal(want, out.data, (size_t)outputs * 4);
    for (int32_t i = 0; i < s.axes; ++i) free(at[i]);
    free(want);
    pz_test_free(&in), pz_test_free(&out), pz_test_free(&table);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_points), cmocka_unit_test(test_axes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
