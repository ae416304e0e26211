#include "fixture.h"
#include "volume/grid.h"

#include <string.h>

/* Every voxel is covered, patches are inside, neighbours share the overlap, and covering is what it says. */
static void check_axis(int64_t size, int64_t out, int32_t overlap) {
  const int64_t sizes[3] = {size, 1, 1}, outs[3] = {out, 1, 1};
  const int32_t overlaps[3] = {overlap, 0, 0};
  pz_grid grid;
  assert_int_equal(pz_grid_make(sizes, outs, outs, overlaps, &grid, NULL), PZ_OK);
  const pz_axis *a = &grid.axis[0];
  int64_t most = 0;
  for (int64_t i = 0; i < size; i++) {
    int64_t covering = 0, first = -1, last = -1, got_last;
    for (int64_t k = 0; k < a->count; k++) {
      const int64_t s = pz_axis_start(a, k);
      if (i >= s && i < s + out) covering++, last = k, first = first < 0 ? k : first;
    }
    assert_true(covering >= 1);
    assert_int_equal(last - first + 1, covering);
    assert_int_equal(pz_axis_covering(a, i, &got_last), first);
    assert_int_equal(got_last, last);
    most = covering > most ? covering : most;
  }
  assert_true(most <= pz_axis_coverage(a));
  assert_true(pz_axis_start(a, a->count - 1) + out == size || (size < out && a->count == 1));
  for (int64_t k = 0; k + 2 < a->count; k++)
    assert_int_equal(pz_axis_start(a, k + 1) - pz_axis_start(a, k), out - overlap);
}

static void axes(void **state) {
  (void)state;
  for (int64_t size = 1; size <= 24; size++)
    for (int64_t out = 1; out <= 9; out++)
      for (int32_t overlap = 0; overlap < out; overlap++) check_axis(size, out, overlap);
}

static void mirror(void **state) {
  (void)state;
  const int64_t three[] = {0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}; /* of -4 ... 6, three voxels */
  for (int i = 0; i < 11; i++) assert_int_equal(pz_mirror(i - 4, 3), three[i]);
  for (int i = -5; i < 6; i++) assert_int_equal(pz_mirror(i, 1), 0);
  for (int i = -5; i < 6; i++) assert_int_equal(pz_mirror(i, 2), i & 1);
}

/* The planes that a patch needs hold every plane that it reads. */
static void needs(void **state) {
  (void)state;
  for (int64_t size = 1; size <= 12; size++)
    for (int64_t out = 1; out <= 6; out++)
      for (int64_t margin = 0; margin <= 5; margin++) {
        const int64_t sizes[3] = {size, 1, 1}, outs[3] = {out, 1, 1}, ins[3] = {out + margin, 1, 1};
        const int32_t none[3] = {0, 0, 0};
        pz_grid grid;
        assert_int_equal(pz_grid_make(sizes, ins, outs, none, &grid, NULL), PZ_OK);
        const pz_axis *a = &grid.axis[0];
        for (int64_t k = 0; k < a->count; k++) {
          int64_t last;
          const int64_t first = pz_axis_needs(a, k, true, &last);
          assert_true(first >= 0 && last < size);
          for (int64_t i = 0; i < a->in; i++) {
            const int64_t at = pz_mirror(pz_axis_start(a, k) - a->before + i, size);
            assert_true(at >= first && at <= last);
          }
        }
      }
}

static void refusals(void **state) {
  (void)state;
  const int64_t size[3] = {9, 9, 9}, in[3] = {4, 4, 4}, out[3] = {4, 4, 4}, larger[3] = {4, 4, 5};
  pz_grid grid;
  for (int i = 0; i < 3; i++) {
    int32_t overlap[3] = {0, 0, 0};
    pz_error err = {0};
    overlap[i] = 4;
    assert_int_equal(pz_grid_make(size, in, out, overlap, &grid, &err), PZ_ERROR_USAGE);
    assert_non_null(strstr(err.message, "overlap 4 along"));
    overlap[i] = -1;
    assert_int_equal(pz_grid_make(size, in, out, overlap, &grid, NULL), PZ_ERROR_USAGE);
  }
  const int32_t none[3] = {0, 0, 0};
  assert_int_equal(pz_grid_make(size, in, larger, none, &grid, NULL), PZ_ERROR_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(axes), cmocka_unit_test(mirror),
                                     cmocka_unit_test(needs), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
