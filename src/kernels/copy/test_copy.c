/* Copies move bits: all comparisons are exact (tolerance 0). */
#include "kernels/copy/border.h"
#include "kernels/copy/copy.h"
#include "kernels/copy/lanes.h"
#include "kernels/copy/to_nchwc.h"
#include "kernels/copy/to_nchw.h"
#include "kernels/testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { ROUNDS = 150 };

typedef struct sizes {
  int32_t n, c, d, h, w;
} sizes;

static sizes random_sizes(pz_test_random *r) {
  return (sizes){pz_test_int(r, 1, 2), pz_test_int(r, 1, 3 * PZ_S + 1), pz_test_int(r, 1, 3),
                 pz_test_int(r, 1, 4), pz_test_int(r, 1, 3 * PZ_S)};
}
static pz_test_tensor make(pz_test_random *r, int32_t block, sizes z) {
  return pz_test_tensor_random(r, block, z.n, z.c, z.d, z.h, z.w);
}

/* What the channels from `offset` on of a tensor hold, as the expected values of a view of `channels` channels at `to`. */
static void expect(double *want, const pz_view *view, const pz_test_tensor *from, int32_t offset, int32_t to,
                   int32_t channels) {
  PZ_TEST_EACH(*view, 0, view->c) {
    if (c < to || c >= to + channels) continue;
    want[((((int64_t)n * view->c + c) * view->d + d) * view->h + h) * view->w + w] =
        *pz_test_at(from, n, c - to + offset, d, h, w);
  }
}

static void check(pz_test_tensor *out, double *want, bool same) {
  assert_true(same);
  assert_true(pz_test_equal(out, want, 0.0));
  assert_true(pz_test_untouched(out, false));
  free(want);
}

static void test_border(void **state) {
  (void)state;
  pz_test_random r = {11};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    const sizes z = random_sizes(&r);
    pz_test_tensor t = make(&r, pz_test_int(&r, 0, 1) ? PZ_S : 1, z);
    if (pz_test_int(&r, 0, 2) == 0) { /* channels-last: all lanes of a point */
      const int32_t around[4] = {0, pz_test_int(&r, 0, 1), pz_test_int(&r, 0, 1), pz_test_int(&r, 0, 1)};
      pz_view v = t.view;
      v.block = PZ_S, v.channels_last = 1;
      pz_test_tensor_free(&t);
      t = pz_test_store(v, around, around, pz_test_int(&r, 0, 1));
    }
    PZ_TEST_WORKERS(same, t.memory, pz_border_zero(t.view, t.at, worker, workers));
    assert_true(same);
    assert_true(pz_test_untouched(&t, true));
    int32_t lanes = pz_test_lanes(&t.view);
    PZ_TEST_EACH(t.view, 1, lanes) {
      bool inside = d >= 0 && d < t.view.d && h >= 0 && h < t.view.h && w >= 0 && w < t.view.w;
      uint32_t bits;
      memcpy(&bits, pz_test_at(&t, n, c, d, h, w), 4);
      assert_int_equal(bits, inside ? PZ_TEST_POISON : 0);
    }
    pz_test_tensor_free(&t);
  }
}

static void test_copy(void **state) {
  (void)state;
  pz_test_random r = {12};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    int32_t block = pz_test_int(&r, 0, 1) ? PZ_S : 1;
    sizes z = random_sizes(&r);
    pz_test_tensor in = make(&r, block, z), out = make(&r, block, z);
    pz_test_fill(&in, &r, -1, 1);
    pz_copy_shape s = {in.view, out.view};
    double *want = pz_test_doubles(&out.view);
    expect(want, &out.view, &in, 0, 0, z.c);
    PZ_TEST_WORKERS(same, out.memory, pz_copy(s, in.at, out.at, worker, workers));
    check(&out, want, same);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

static void test_to_nchwc(void **state) {
  (void)state;
  pz_test_random r = {13};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    sizes z = random_sizes(&r);
    pz_test_tensor in = make(&r, 1, z), out = make(&r, PZ_S, z);
    pz_test_fill(&in, &r, -1, 1);
    pz_to_nchwc_shape s = {in.view, out.view};
    double *want = pz_test_doubles(&out.view);
    expect(want, &out.view, &in, 0, 0, z.c);
    PZ_TEST_WORKERS(same, out.memory, pz_to_nchwc(s, in.at, out.at, worker, workers));
    check(&out, want, same);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

static void test_to_nchw(void **state) {
  (void)state;
  pz_test_random r = {14};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    sizes z = random_sizes(&r);
    pz_test_tensor in = make(&r, PZ_S, z), out = make(&r, 1, z);
    pz_test_fill(&in, &r, -1, 1);
    pz_to_nchw_shape s = {in.view, out.view};
    double *want = pz_test_doubles(&out.view);
    expect(want, &out.view, &in, 0, 0, z.c);
    PZ_TEST_WORKERS(same, out.memory, pz_to_nchw(s, in.at, out.at, worker, workers));
    check(&out, want, same);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

static void test_concat(void **state) {
  (void)state;
  pz_test_random r = {15};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    sizes z = random_sizes(&r);
    pz_concat_shape s = {.inputs = pz_test_int(&r, 1, PZ_CONCAT_INPUTS)};
    pz_test_tensor in[PZ_CONCAT_INPUTS];
    const float *at[PZ_CONCAT_INPUTS];
    z.c = 0;
    for (int i = 0; i < s.inputs; ++i) {
      sizes part = z;
      part.c = pz_test_int(&r, 1, PZ_S + 3), z.c += part.c;
      in[i] = make(&r, PZ_S, part);
      pz_test_fill(&in[i], &r, -1, 1);
      s.in[i] = in[i].view, at[i] = in[i].at;
    }
    pz_test_tensor out = make(&r, PZ_S, z);
    s.out = out.view;
    double *want = pz_test_doubles(&out.view);
    for (int i = 0, to = 0; i < s.inputs; to += s.in[i].c, ++i)
      expect(want, &out.view, &in[i], 0, to, s.in[i].c);
    PZ_TEST_WORKERS(same, out.memory, pz_concat(s, at, out.at, worker, workers));
    check(&out, want, same);
    for (int i = 0; i < s.inputs; ++i) pz_test_tensor_free(&in[i]);
    pz_test_tensor_free(&out);
  }
}

static void test_slice_maps(void **state) {
  (void)state;
  pz_test_random r = {16};
  for (int round = 0; round < ROUNDS; ++round) {
    bool same;
    sizes z = random_sizes(&r), part = z;
    pz_slice_channels_shape s = {.first = pz_test_int(&r, 0, z.c - 1)};
    part.c = pz_test_int(&r, 1, z.c - s.first);
    pz_test_tensor in = make(&r, PZ_S, z), out = make(&r, PZ_S, part);
    pz_test_fill(&in, &r, -1, 1);
    s.in = in.view, s.out = out.view;
    double *want = pz_test_doubles(&out.view);
    expect(want, &out.view, &in, s.first, 0, part.c);
    PZ_TEST_WORKERS(same, out.memory, pz_slice_channels(s, in.at, out.at, worker, workers));
    check(&out, want, same);
    pz_test_tensor_free(&in), pz_test_tensor_free(&out);
  }
}

/* A view whose last block is shared with other channels of the same storage: those may not leak into the result. */
static void test_concat_of_partial_blocks(void **state) {
  (void)state;
  pz_test_random r = {17};
  bool same;
  pz_test_tensor in = pz_test_tensor_dense(PZ_S, 1, PZ_S + 3, 1, 2, 5);
  pz_test_fill(&in, &r, -1, 1);
  pz_test_tensor out = pz_test_tensor_dense(PZ_S, 1, 5, 1, 2, 5);
  pz_concat_shape s = {.inputs = 2, .in = {in.view, in.view}, .out = out.view};
  s.in[0].c = 2, s.in[1].c = 3;
  const float *at[2] = {in.at, in.at};
  double *want = pz_test_doubles(&out.view);
  expect(want, &out.view, &in, 0, 0, 2), expect(want, &out.view, &in, 0, 2, 3);
  PZ_TEST_WORKERS(same, out.memory, pz_concat(s, at, out.at, worker, workers));
  check(&out, want, same);
  pz_test_tensor_free(&in), pz_test_tensor_free(&out);
}

/* Workers share the rows: what one writes, no other does. */
static void test_share(void **state) {
  (void)state;
  pz_test_tensor in = pz_test_tensor_dense(PZ_S, 2, PZ_S + 1, 1, 3, 2),
                 out = pz_test_tensor_dense(PZ_S, 2, PZ_S + 1, 1, 3, 2);
  pz_test_random r = {18};
  int64_t written = 0;
  pz_test_fill(&in, &r, 1, 2);
  for (int32_t worker = 0; worker < 5; ++worker) {
    pz_slice_channels_shape s = {in.view, out.view, 0};
    pz_test_poison(out.memory.data, out.memory.floats);
    pz_slice_channels(s, in.at, out.at, worker, 5);
    for (int64_t i = 0; i < out.memory.floats; ++i) written += !isnan(out.memory.data[i]);
  }
  assert_int_equal(written, out.memory.floats);
  pz_test_tensor_free(&in), pz_test_tensor_free(&out);
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_border),
      cmocka_unit_test(test_copy),
      cmocka_unit_test(test_to_nchwc),
      cmocka_unit_test(test_to_nchw),
      cmocka_unit_test(test_concat),
      cmocka_unit_test(test_slice_maps),
      cmocka_unit_test(test_concat_of_partial_blocks),
      cmocka_unit_test(test_share),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
