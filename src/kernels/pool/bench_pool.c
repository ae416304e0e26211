/* GB/s of pooling, beside memcpy. */
#include "kernels/pool/pool.h"
#include "kernels/bench.h"

enum { D = 18, H = 160, W = 160, POINTS = D * H * W };
#define ONES                                                                                                 \
  { 1, 1, 1 }

int main(void) {
  if (!pz_test_cpu()) return 77;
  static const pz_view in = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H, W),
                       cube = PZ_BENCH_VIEW(PZ_S, 1, 32, D / 2, H / 2, W / 2);
  static const pz_view square = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H / 2, W / 2);
  float *a = pz_bench_alloc(32 * POINTS), *b = pz_bench_alloc(32 * POINTS),
        *scratch = pz_bench_alloc(W * PZ_S);
  PZ_BENCH("memcpy 32x18x160x160", 2.0 * 32 * POINTS * 4, memcpy(b, a, 32 * POINTS * sizeof *a));
  const pz_pooling_shape most = {in,  cube, PZ_POOLING_MAX, PZ_POOLING_CAFFE, {2, 2, 2}, {2, 2, 2}, ONES, {0},
                                 {0}, 0};
  PZ_BENCH("max 2x2x2", 1.125 * 32 * POINTS * 4, pz_pooling(most, a, NULL, b, 0, 1));
  const pz_pooling_shape flat = {
      in, square, PZ_POOLING_MAX, PZ_POOLING_CAFFE, {1, 2, 2}, {1, 2, 2}, ONES, {0}, {0}, 0};
  PZ_BENCH("max 1x2x2", 1.25 * 32 * POINTS * 4, pz_pooling(flat, a, NULL, b, 0, 1));
  const pz_pooling_shape mean = {in,  cube, PZ_POOLING_AVE, PZ_POOLING_CAFFE, {2, 2, 2}, {2, 2, 2}, ONES, {0},
                                 {0}, 0};
  PZ_BENCH("average 2x2x2", 1.125 * 32 * POINTS * 4, pz_pooling(mean, a, NULL, b, 0, 1));
  const pz_pooling_shape same = {in,        in,   PZ_POOLING_MAX, PZ_POOLING_CAFFE, {1, 3, 3},
                                 {1, 1, 1}, ONES, {0, 1, 1},      {0, 1, 1},        0};
  PZ_BENCH("max 1x3x3, stride 1, pad 1", 2.0 * 32 * POINTS * 4, pz_pooling(same, a, NULL, b, 0, 1));
  const pz_pooling_shape large = {in,        in,   PZ_POOLING_MAX, PZ_POOLING_CAFFE, {1, 9, 9},
                                  {1, 1, 1}, ONES, {0, 4, 4},      {0, 4, 4},        0};
  PZ_BENCH("max 1x9x9, stride 1, pad 4", 2.0 * 32 * POINTS * 4, pz_pooling(large, a, NULL, b, 0, 1));
  const pz_pooling_shape apart = {in,        in,   PZ_POOLING_MAX, PZ_POOLING_CAFFE, {1, 9, 9},
                                  {1, 1, 1}, ONES, {0, 4, 4},      {0, 4, 4},        1};
  PZ_BENCH("max 1x9x9, stride 1, pad 4, separable", 2.0 * 32 * POINTS * 4,
           pz_pooling(apart, a, scratch, b, 0, 1));
  static const pz_view one = PZ_BENCH_VIEW(PZ_S, 1, 32, 1, 1, 1);
  const pz_pooling_shape all = {in,  one, PZ_POOLING_AVE, PZ_POOLING_VALID, {D, H, W}, {1, 1, 1}, ONES, {0},
                                {0}, 0};
  PZ_BENCH("average of all", 32.0 * POINTS * 4, pz_pooling(all, a, NULL, b, 0, 1));
  free(scratch), free(a), free(b);
  return 0;
}
