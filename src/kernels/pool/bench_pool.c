/* GB/s of pooling, beside memcpy. */
#include "kernels/pool/pool.h"
#include "kernels/bench.h"

enum { D = 18, H = 160, W = 160, POINTS = D * H * W };

int main(void) {
  if (!pz_test_cpu()) return 77;
  static const pz_view in = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H, W),
                       cube = PZ_BENCH_VIEW(PZ_S, 1, 32, D / 2, H / 2, W / 2);
  static const pz_view square = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H / 2, W / 2);
  float *a = pz_bench_alloc(32 * POINTS), *b = pz_bench_alloc(32 * POINTS);
  PZ_BENCH("memcpy 32x18x160x160", 2.0 * 32 * POINTS * 4, memcpy(b, a, 32 * POINTS * sizeof *a));
  const pz_pooling_shape most = {in, cube, PZ_POOLING_MAX, PZ_POOLING_CAFFE, {2, 2, 2}, {2, 2, 2}, {0}, {0}};
  PZ_BENCH("max 2x2x2", 1.125 * 32 * POINTS * 4, pz_pooling(most, a, b, 0, 1));
  const pz_pooling_shape flat = {in,  square, PZ_POOLING_MAX, PZ_POOLING_CAFFE, {1, 2, 2}, {1, 2, 2},
                                 {0}, {0}};
  PZ_BENCH("max 1x2x2", 1.25 * 32 * POINTS * 4, pz_pooling(flat, a, b, 0, 1));
  const pz_pooling_shape mean = {in, cube, PZ_POOLING_AVE, PZ_POOLING_CAFFE, {2, 2, 2}, {2, 2, 2}, {0}, {0}};
  PZ_BENCH("average 2x2x2", 1.125 * 32 * POINTS * 4, pz_pooling(mean, a, b, 0, 1));
  const pz_pooling_shape same = {in,        in,        PZ_POOLING_MAX, PZ_POOLING_CAFFE,
                                 {1, 3, 3}, {1, 1, 1}, {0, 1, 1},      {0, 1, 1}};
  PZ_BENCH("max 1x3x3, stride 1, pad 1", 2.0 * 32 * POINTS * 4, pz_pooling(same, a, b, 0, 1));
  free(a), free(b);
  return 0;
}
