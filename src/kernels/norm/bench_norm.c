/* GB/s of group normalisation: the input read twice and the output written once, beside memcpy. */
#include "kernels/norm/group_norm.h"
#include "kernels/bench.h"

enum { D = 18, H = 160, W = 160, POINTS = D * H * W };

int main(void) {
  if (!pz_test_cpu()) return 77;
  static const pz_view v = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H, W),
                       small = PZ_BENCH_VIEW(PZ_S, 1, 256, 8, 16, 16),
                       tokens = PZ_BENCH_VIEW(PZ_S, 4096, 768, 1, 1, 1);
  float *a = pz_bench_alloc(32 * POINTS), *b = pz_bench_alloc(32 * POINTS), *c = pz_bench_alloc(1 << 20);
  const double floats = 32.0 * POINTS * 4, few = 256.0 * 8 * 16 * 16 * 4, many = 4096.0 * 768 * 4;
  PZ_BENCH("memcpy 32x18x160x160", 2 * floats, memcpy(b, a, 32 * POINTS * sizeof *a));
  const int32_t units = (int32_t)pz_norm_units(&v);
  const pz_group_norm_shape instance = {v, v, units, 32, 1, 1, 1e-5f, PZ_K_ACT_NONE, 0, 0},
                            relu = {v, v, units, 32, 1, 1, 1e-5f, PZ_K_ACT_RELU, 0.01f, 0},
                            group = {v, v, units, 8, 1, 1, 1e-5f, PZ_K_ACT_NONE, 0, 0};
  const pz_norm_stats_of_units_shape norm_stats = {v};
  PZ_BENCH("norm_stats", floats, pz_norm_stats_of_units(norm_stats, a, c, 0, 1));
  PZ_BENCH("instance norm, from statistics", 2 * floats, pz_group_norm(instance, a, c, a, a, NULL, b, 0, 1));
  PZ_BENCH("both", 3 * floats, pz_norm_stats_of_units(norm_stats, a, c, 0, 1);
           pz_group_norm(instance, a, c, a, a, NULL, b, 0, 1));
  PZ_BENCH("both, in place, leaky ReLU", 3 * floats, pz_norm_stats_of_units(norm_stats, a, c, 0, 1);
           pz_group_norm(relu, a, c, b, b, NULL, a, 0, 1));
  PZ_BENCH("both, 8 groups", 3 * floats, pz_norm_stats_of_units(norm_stats, a, c, 0, 1);
           pz_group_norm(group, a, c, a, a, NULL, b, 0, 1));
  const pz_group_norm_shape low = {small, small, 0, 256, 1, 1, 1e-5f, PZ_K_ACT_NONE, 0, 0},
                            layer = {tokens, tokens, 0, 1, 1, 1, 1e-5f, PZ_K_ACT_NONE, 0, 0};
  PZ_BENCH("instance norm of 256x8x16x16, whole", 3 * few, pz_group_norm_whole(low, a, a, a, NULL, b, 0, 1));
  PZ_BENCH("layer norm of 4096 x 768, whole", 3 * many, pz_group_norm_whole(layer, a, a, a, NULL, b, 0, 1));
  free(a), free(b), free(c);
  return 0;
}
