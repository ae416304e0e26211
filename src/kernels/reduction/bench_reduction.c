/* GB/s of reductions: the input read once. */
#include "kernels/reduction/argmax.h"
#include "kernels/reduction/reduction.h"
#include "kernels/bench.h"

enum { D = 18, H = 160, W = 160, POINTS = D * H * W };

int main(void) {
  if (!pz_test_cpu()) return 77;
  static const pz_view v = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H, W),
                       channels = PZ_BENCH_VIEW(PZ_S, 1, 32, 1, 1, 1),
                       points = PZ_BENCH_VIEW(PZ_S, 1, 1, D, H, W),
                       planes = PZ_BENCH_VIEW(PZ_S, 1, 32, 1, H, W),
                       classes = PZ_BENCH_VIEW(PZ_S, 1, 4, D, H, W);
  float *a = pz_bench_alloc(32 * POINTS), *b = pz_bench_alloc(32 * POINTS), *c = pz_bench_alloc(1 << 20);
  const double floats = 32.0 * POINTS * 4, some = (double)PZ_S * POINTS * 4;
  PZ_BENCH("memcpy 32x18x160x160", 2 * floats, memcpy(b, a, 32 * POINTS * sizeof *a));
  const pz_reduction_shape all = {v, channels, PZ_REDUCTION_MEAN, {0, 0, 1, 1, 1}},
                           most = {v, channels, PZ_REDUCTION_MAX, {0, 0, 1, 1, 1}},
                           lanes = {v, points, PZ_REDUCTION_MEAN, {0, 1, 0, 0, 0}},
                           depth = {v, planes, PZ_REDUCTION_SUM, {0, 0, 1, 0, 0}};
  PZ_BENCH("mean over positions", floats, pz_reduction(all, a, c, b, 0, 1);
           pz_reduction_join(all, c, b, 0, 1));
  PZ_BENCH("maximum over positions", floats, pz_reduction(most, a, c, b, 0, 1);
           pz_reduction_join(most, c, b, 0, 1));
  PZ_BENCH("mean over channels", floats + some, pz_reduction(lanes, a, c, b, 0, 1));
  PZ_BENCH("sum over depth", floats, pz_reduction(depth, a, c, b, 0, 1));
  const pz_argmax_shape first = {v, points, 1, 0}, class = {classes, points, 1, 0};
  PZ_BENCH("argmax over 32 channels", floats + some, pz_argmax(first, a, b, 0, 1));
  PZ_BENCH("argmax over 4 channels", some + some, pz_argmax(class, a, b, 0, 1));
  free(a), free(b), free(c);
  return 0;
}
