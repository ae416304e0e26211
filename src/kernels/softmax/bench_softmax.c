/* GB/s of softmax, beside memcpy. */
#include "kernels/softmax/softmax.h"
#include "kernels/bench.h"

enum { D = 18, H = 160, W = 160, POINTS = D * H * W };

int main(void) {
  if (!pz_test_cpu()) return 77;
  static const pz_view two = PZ_BENCH_VIEW(PZ_S, 1, 2, D, H, W), many = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H, W);
  float *a = pz_bench_alloc(32 * POINTS), *b = pz_bench_alloc(32 * POINTS);
  PZ_BENCH("memcpy 32x18x160x160", 2.0 * 32 * POINTS * 4, memcpy(b, a, 32 * POINTS * sizeof *a));
  const pz_softmax_shape few = {two, two, 0}, more = {many, many, 0};
  PZ_BENCH("softmax over 2 channels, blocked", 2.0 * PZ_S * POINTS * 4, pz_softmax(few, a, b, 0, 1));
  PZ_BENCH("softmax over 32 channels, blocked", 2.0 * 32 * POINTS * 4, pz_softmax(more, a, b, 0, 1));
  const pz_softmax_nd_shape plain = {1, 32, POINTS, 0}, line = {POINTS, 32, 1, 0};
  PZ_BENCH("softmax over 32 channels, plain", 2.0 * 32 * POINTS * 4, pz_softmax_nd(plain, a, b, 0, 1));
  PZ_BENCH("softmax over a last axis of 32, plain", 2.0 * 32 * POINTS * 4, pz_softmax_nd(line, a, b, 0, 1));
  free(a), free(b);
  return 0;
}
