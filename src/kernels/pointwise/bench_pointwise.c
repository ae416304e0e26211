/* GB/s of operators on each value by itself, beside memcpy. */
#include "kernels/pointwise/activation_layer.h"
#include "kernels/pointwise/eltwise.h"
#include "kernels/pointwise/power.h"
#include "kernels/pointwise/scale.h"
#include "kernels/bench.h"

enum { D = 18, H = 160, W = 160, POINTS = D * H * W };

int main(void) {
  if (!pz_test_cpu()) return 77;
  static const pz_view v = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H, W), odd = PZ_BENCH_VIEW(PZ_S, 1, 28, D, H, W);
  float *a = pz_bench_alloc(32 * POINTS), *b = pz_bench_alloc(32 * POINTS), *c = pz_bench_alloc(32 * POINTS);
  const float *two[] = {a, b};
  const double floats = 32.0 * POINTS * 4;
  PZ_BENCH("memcpy 32x18x160x160", 2 * floats, memcpy(b, a, 32 * POINTS * sizeof *a));
  const pz_eltwise_shape sum = {.in = {v, v}, .out = v, .coeff = {1, 1}, .inputs = 2, .kind = PZ_ELTWISE_SUM};
  PZ_BENCH("sum of two", 3 * floats, pz_eltwise(sum, two, c, 0, 1));
  PZ_BENCH("sum of two, in place", 3 * floats, pz_eltwise(sum, two, b, 0, 1));
  const pz_eltwise_shape most = {.in = {odd, odd}, .out = odd, .inputs = 2, .kind = PZ_ELTWISE_MAX};
  static const pz_view channels = PZ_BENCH_VIEW(PZ_S, 1, 32, 1, 1, 1),
                       gate = PZ_BENCH_VIEW(PZ_S, 1, 1, D, H, W);
  const pz_eltwise_shape excite = {.in = {v, channels}, .out = v, .inputs = 2, .kind = PZ_ELTWISE_PROD};
  PZ_BENCH("product with a value for each channel", 2 * floats, pz_eltwise(excite, two, c, 0, 1));
  const pz_eltwise_shape attend = {.in = {v, gate}, .out = v, .inputs = 2, .kind = PZ_ELTWISE_PROD};
  PZ_BENCH("product with a value for each point", 2 * floats + (double)PZ_S * POINTS * 4,
           pz_eltwise(attend, two, c, 0, 1));
  const pz_eltwise_shape to = {.in = {v, v}, .out = v, .inputs = 2, .kind = PZ_ELTWISE_POW};
  PZ_BENCH("power of two", 3 * floats, pz_eltwise(to, two, c, 0, 1));
  PZ_BENCH("max of two, 28 channels", 3.0 * ((28 + PZ_S - 1) / PZ_S * PZ_S) * POINTS * 4,
           pz_eltwise(most, two, c, 0, 1));
  const pz_scale_shape scale = {v, v, 1, 1};
  PZ_BENCH("scale and shift", 2 * floats, pz_scale(scale, a, b, c, c, 0, 1));
#define LAYER(KIND, ALPHA)                                                                                   \
  PZ_BENCH(                                                                                                  \
      #KIND, 2 * floats,                                                                                     \
      pz_activation_layer((pz_activation_layer_shape){v, v, PZ_K_ACT_##KIND, ALPHA, 1}, a, NULL, c, 0, 1))
  const pz_activation_layer_shape relu = {v, v, PZ_K_ACT_RELU, 0, 0};
  PZ_BENCH("relu in place", 2 * floats, pz_activation_layer(relu, c, NULL, c, 0, 1));
  LAYER(ELU, 1);
  LAYER(SIGMOID, 0);
  LAYER(TANH, 0);
  LAYER(HARD_SWISH, 0);
  LAYER(SILU, 0);
  LAYER(MISH, 0);
  LAYER(SOFTPLUS, 0);
  LAYER(GELU, 0);
  LAYER(GELU_TANH, 0);
  LAYER(LOG, 0);
  LAYER(ROUND, 0);
  const pz_power_shape power = {v, v, 1.7f, 0.5f, 2.0f};
  PZ_BENCH("power 1.7", 2 * floats, pz_power(power, a, c, 0, 1));
  free(a), free(b), free(c);
  return 0;
}
