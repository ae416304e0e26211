/* GB/s of casts as inputs enter and outputs leave, beside those of the same layouts that copy floats; a tensor of a U-Net's top level. */
#include "kernels/cast/cast.h"
#include "kernels/copy/to_nchwc.h"
#include "kernels/bench.h"

enum { D = 18, H = 160, W = 160, POINTS = D * H * W };

int main(void) {
  if (!pz_test_cpu()) return 77;
  static const pz_view one = PZ_BENCH_VIEW(1, 1, 1, D, H, W),
                       one_blocked = PZ_BENCH_VIEW(PZ_S, 1, 1, D, H, W);
  static const pz_view few = PZ_BENCH_VIEW(1, 1, 3, D, H, W),
                       few_blocked = PZ_BENCH_VIEW(PZ_S, 1, 3, D, H, W);
  float *a = pz_bench_alloc(PZ_S * POINTS), *b = pz_bench_alloc(PZ_S * POINTS);
  const double of_floats = (1.0 + PZ_S) * POINTS * 4, of_bytes = (0.25 + PZ_S) * POINTS * 4;
  const pz_to_nchwc_shape copy = {one, one_blocked};
  const pz_cast_shape enter = {
      .in = one, .out = one_blocked, .from = PZ_CAST_U8, .to = PZ_CAST_F32, .in_scale = 1, .out_scale = 1};
  const pz_cast_shape nchw = {
      .in = one, .out = one, .from = PZ_CAST_U8, .to = PZ_CAST_F32, .in_scale = 1, .out_scale = 1};
  const pz_cast_shape leave = {
      .in = few_blocked, .out = few, .from = PZ_CAST_F32, .to = PZ_CAST_BF16, .in_scale = 1, .out_scale = 1};
  const pz_cast_shape bytes = {
      .in = few_blocked, .out = few, .from = PZ_CAST_F32, .to = PZ_CAST_U8, .in_scale = 1, .out_scale = 1};
  PZ_BENCH("to_nchwc 1 channel of f32", of_floats, pz_to_nchwc(copy, a, b, 0, 1));
  PZ_BENCH("u8 to blocks, 1 channel", of_bytes, pz_cast(enter, a, b, 0, 1));
  PZ_BENCH("u8 to NCHW, 1 channel", 5.0 * POINTS, pz_cast(nchw, a, b, 0, 1));
  PZ_BENCH("blocks to bf16, 3 channels", (4.0 * PZ_S + 6) * POINTS, pz_cast(leave, a, b, 0, 1));
  PZ_BENCH("blocks to u8, 3 channels", (4.0 * PZ_S + 3) * POINTS, pz_cast(bytes, a, b, 0, 1));
  free(a), free(b);
  return 0;
}
