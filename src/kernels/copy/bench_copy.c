/* GB/s of the layout conversions and of joining odd numbers of channels, beside memcpy; a tensor of a U-Net's top level. */
#include "kernels/copy/lanes.h"
#include "kernels/copy/to_nchwc.h"
#include "kernels/copy/to_nchw.h"
#include "kernels/bench.h"

enum { D = 18, H = 160, W = 160, POINTS = D * H * W };

int main(void) {
  if (!pz_test_cpu()) return 77;
  static const pz_view plain = PZ_BENCH_VIEW(1, 1, 32, D, H, W),
                       blocked = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H, W);
  static const pz_view one = PZ_BENCH_VIEW(1, 1, 1, D, H, W),
                       one_blocked = PZ_BENCH_VIEW(PZ_S, 1, 1, D, H, W);
  static const pz_view few = PZ_BENCH_VIEW(1, 1, 3, D, H, W),
                       few_blocked = PZ_BENCH_VIEW(PZ_S, 1, 3, D, H, W);
  static const pz_view odd = PZ_BENCH_VIEW(PZ_S, 1, 14, D, H, W), both = PZ_BENCH_VIEW(PZ_S, 1, 28, D, H, W);
  float *a = pz_bench_alloc(32 * POINTS), *b = pz_bench_alloc(32 * POINTS), *c = pz_bench_alloc(32 * POINTS);
  const double all = 2.0 * 32 * POINTS * 4;
  PZ_BENCH("memcpy 32x18x160x160", all, memcpy(b, a, 32 * POINTS * sizeof *a));
  const pz_to_nchwc_shape in = {plain, blocked}, in_one = {one, one_blocked};
  PZ_BENCH("to_nchwc 32 channels", all, pz_to_nchwc(in, a, b, 0, 1));
  PZ_BENCH("to_nchwc 1 channel", (1.0 + PZ_S) * POINTS * 4, pz_to_nchwc(in_one, a, b, 0, 1));
  const pz_to_nchw_shape out = {blocked, plain}, out_few = {few_blocked, few};
  PZ_BENCH("to_nchw 32 channels", all, pz_to_nchw(out, a, b, 0, 1));
  PZ_BENCH("to_nchw 3 channels", (3.0 + PZ_S) * POINTS * 4, pz_to_nchw(out_few, a, b, 0, 1));
  const pz_concat_shape join = {.in = {odd, odd}, .out = both, .inputs = 2};
  const float *inputs[] = {a, c};
  const double stored = 2.0 * ((14 + PZ_S - 1) / PZ_S) + (28 + PZ_S - 1) / PZ_S;
  PZ_BENCH("concat 14 + 14 channels", stored * PZ_S * POINTS * 4, pz_concat(join, inputs, b, 0, 1));
  free(a), free(b), free(c);
  return 0;
}
