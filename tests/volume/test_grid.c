#include "fixture.h"
#include "volume/grid.h"

#include <string.h>

/* Every voxel is covered, patches are inside, neighbours share the overlap, and covering is what it says. */
static void check_axis(int64_t size, int64_t out, int32_t overlap) {
  const int64_t sizes[3] = {size, 1, 1}, outs[3] = {out, 1, 1};
  const pz_grid_rule rule = {.step = {(double)(out - overlap), 1, 1}};
  pz_grid grid;
  assert_int_equal(pz_grid_make(sizes, outs, outs, &rule, &grid, NULL), PZ_OK);
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
        const pz_grid_rule none = {.step = {(double)out, 1, 1}};
        pz_grid grid;
        assert_int_equal(pz_grid_make(sizes, ins, outs, &none, &grid, NULL), PZ_OK);
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

/* Every voxel of the result is covered, first and last patch cover some of it, and covering is what it says. */
static void check_result(const pz_axis *a) {
  int64_t most = 0;
  for (int64_t i = 0; i < a->result; i++) {
    int64_t got_last, got_first = pz_axis_covering(a, i, &got_last);
    assert_true(got_first <= got_last && got_first >= 0 && got_last < a->count);
    for (int64_t k = 0; k < a->count; k++) {
      const int64_t s = pz_axis_start(a, k);
      assert_int_equal(i >= s && i < s + a->out, k >= got_first && k <= got_last);
    }
    most = got_last - got_first + 1 > most ? got_last - got_first + 1 : most;
  }
  assert_true(most <= pz_axis_coverage(a));
  for (int64_t k = 0; k < a->count; k++) assert_true(pz_axis_begin(a, k) < pz_axis_end(a, k));
}

/* nnU-Net's compute_steps_for_sliding_window for an image of 110, tiles of 64, as its source says; of 10, tiles of 5 by 2.5. */
static void even(void **state) {
  (void)state;
  const int64_t size[3] = {110, 10, 7}, tile[3] = {64, 5, 9}, want[3][3] = {{0, 23, 46}, {0, 2, 5}, {-1}};
  const pz_grid_rule rule = {.step = {32, 2.5, 4.5}, .even = true, .centred = true};
  pz_grid grid;
  assert_int_equal(pz_grid_make(size, tile, tile, &rule, &grid, NULL), PZ_OK);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(grid.axis[i].count, i < 2 ? 3 : 1);
    for (int k = 0; k < grid.axis[i].count; k++)
      assert_int_equal(pz_axis_start(&grid.axis[i], k), want[i][k]);
    check_result(&grid.axis[i]);
  }
}

/* All rules, sizes, margins and crops that are accepted. */
static void rules(void **state) {
  (void)state;
  int64_t made = 0;
  for (int kind = 0; kind < 4; kind++)
    for (int64_t size = 1; size <= 17; size++)
      for (int64_t out = 1; out <= 6; out++)
        for (int64_t margin = 0; margin <= 3; margin++)
          for (int64_t crop = 0; crop <= 5; crop++)
            for (int64_t step = 1; step <= out; step++) {
              const int64_t sizes[3] = {size, 1, 1}, ins[3] = {out + margin, 1, 1}, outs[3] = {out, 1, 1};
              const pz_grid_rule rule = {.step = {(double)step, 1, 1},
                                         .crop = {crop, 0, 0},
                                         .even = kind == 1,
                                         .centred = kind <= 1,
                                         .whole_inputs = kind == 2};
              pz_grid grid;
              if (pz_grid_make(sizes, ins, outs, &rule, &grid, NULL) != PZ_OK) continue;
              const pz_axis *a = &grid.axis[0];
              assert_int_equal(a->result, size - 2 * crop);
              check_result(a);
              for (int64_t k = 0; k < a->count && kind == 2; k++)
                assert_true(pz_axis_input(a, k) >= 0 && pz_axis_input(a, k) + a->in <= size);
              made++;
            }
  assert_true(made > 10000);
}

static void refusals(void **state) {
  (void)state;
  const int64_t size[3] = {9, 9, 9}, in[3] = {4, 4, 6}, out[3] = {4, 4, 4}, larger[3] = {4, 4, 7};
  const struct {
    pz_grid_rule rule;
    const char *says;
  } cases[] = {{{.step = {1, 1, 1}, .crop = {0, 5, 0}}, "crop 5 along y leaves nothing"},
               {{.step = {1, 1, 1}, .crop = {0, 0, -1}}, "crop -1 along x"},
               {{.step = {1, 1, 1}, .whole_inputs = true}, "expected at least 1"}};
  pz_grid grid;
  for (size_t i = 0; i < 3; i++) {
    pz_error err = {0};
    assert_int_equal(pz_grid_make(size, in, out, &cases[i].rule, &grid, &err), PZ_ERROR_USAGE);
    assert_non_null(strstr(err.message, cases[i].says));
  }
  const pz_grid_rule plain = {.step = {1, 1, 1}}, whole = {.step = {1, 1, 1}, .whole_inputs = true};
  const int64_t small[3] = {3, 9, 9};
  pz_error err = {0};
  assert_int_equal(pz_grid_make(size, in, larger, &plain, &grid, NULL), PZ_ERROR_INPUT);
  assert_int_equal(pz_grid_make(small, in, out, &whole, &grid, &err), PZ_ERROR_USAGE);
  assert_non_null(strstr(err.message, "3 voxels along z"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(axes),  cmocka_unit_test(mirror),
                                     cmocka_unit_test(needs), cmocka_unit_test(even),
                                     cmocka_unit_test(rules), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
