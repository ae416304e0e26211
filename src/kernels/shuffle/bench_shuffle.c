/* GB/s of depth to space, beside memcpy. */
#include "kernels/bench.h"
#include "kernels/shuffle/depth_to_space.h"

enum { D = 16, H = 48, W = 48, CHANNELS = 256, COUNT = CHANNELS * D * H * W };

int main(void) {
  if (!pz_test_cpu()) return 77;
  const pz_view deep = PZ_BENCH_VIEW(PZ_S, 1, CHANNELS, D, H, W),
                wide = PZ_BENCH_VIEW(PZ_S, 1, CHANNELS / 8, 2 * D, 2 * H, 2 * W),
                flat = PZ_BENCH_VIEW(PZ_S, 1, CHANNELS / 4, D, 2 * H, 2 * W);
  float *a = pz_bench_alloc(COUNT), *b = pz_bench_alloc(COUNT);
  const double all = 2.0 * COUNT * 4;
  PZ_BENCH("memcpy 256x16x48x48", all, memcpy(b, a, COUNT * sizeof *a));
  const pz_depth_to_space_shape cube = {deep, wide, {2, 2, 2}, 1, 0}, square = {deep, flat, {1, 2, 2}, 1, 0},
                                back = {wide, deep, {2, 2, 2}, 1, 1}, rows = {deep, wide, {2, 2, 2}, 0, 0};
  PZ_BENCH("pixel shuffle 2x2x2", all, pz_depth_to_space(cube, a, b, 0, 1));
  PZ_BENCH("pixel shuffle 1x2x2", all, pz_depth_to_space(square, a, b, 0, 1));
  PZ_BENCH("pixel unshuffle 2x2x2", all, pz_depth_to_space(back, a, b, 0, 1));
  PZ_BENCH("depth to space 2x2x2", all, pz_depth_to_space(rows, a, b, 0, 1));
  free(a), free(b);
  return 0;
}
