/* GB/s of linear interpolation and of nearest neighbours, beside memcpy: images doubled as in a U-Net. */
#include "kernels/bench.h"
#include "kernels/gather/points.h"
#include "kernels/resize/resize.h"

enum { D = 32, H = 96, W = 96, POINTS = D * H * W };

/* Half-pixel coordinates of an axis. */
static float *axis(float *table, int32_t in, int32_t out) {
  for (int32_t i = 0; i < out; ++i) {
    double x = (i + 0.5) * in / out - 0.5;
    x = x < 0 ? 0 : x > in - 1 ? in - 1 : x;
    int32_t lo = (int32_t)x, hi = lo + 1 < in ? lo + 1 : lo;
    memcpy(table + i, &lo, sizeof lo), memcpy(table + out + i, &hi, sizeof hi);
    table[2 * out + i] = (float)(1 - (x - lo)), table[3 * out + i] = (float)(x - lo);
  }
  return table + 4 * out;
}
static float *nearest(float *table, int32_t in, int32_t out) {
  for (int32_t i = 0; i < out; ++i) {
    int32_t at = (int32_t)((int64_t)i * in / out);
    memcpy(table + i, &at, sizeof at);
  }
  return table + out;
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const pz_view out = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H, W),
                half = PZ_BENCH_VIEW(PZ_S, 1, 32, D / 2, H / 2, W / 2),
                flat = PZ_BENCH_VIEW(PZ_S, 1, 32, D, H / 2, W / 2),
                small = PZ_BENCH_VIEW(PZ_S, 1, 32, D / 4, H / 4, W / 4);
  float *a = pz_bench_alloc(32 * POINTS), *b = pz_bench_alloc(32 * POINTS);
  float *tables = pz_bench_alloc(4 * (D + H + W)), *scratch = pz_bench_alloc(W * PZ_S);
  const double all = 32.0 * POINTS * 4;
  PZ_BENCH("memcpy 32x32x96x96", 2.0 * all, memcpy(b, a, 32 * POINTS * sizeof *a));
#define LINEAR(name, from, to, bytes, past, doubles)                                                         \
  do {                                                                                                       \
    const pz_resize_linear_shape s = {from, to, past, doubles};                                              \
    axis(axis(axis(tables, (from).d, (to).d), (from).h, (to).h), (from).w, (to).w);                          \
    PZ_BENCH(name, bytes, pz_resize_linear(s, a, tables, scratch, b, 0, 1));                                 \
  } while (0)
#define NEAREST(name, from, to, bytes, past)                                                                 \
  do {                                                                                                       \
    const pz_gather_points_shape s = {from, to, past, 0, 0.0f};                                              \
    nearest(nearest(nearest(nearest(tables, 1, 1), (from).d, (to).d), (from).h, (to).h), (from).w, (to).w);  \
    PZ_BENCH(name, bytes, pz_gather_points(s, a, tables, b, 0, 1));                                          \
  } while (0)
  LINEAR("linear 2x2x2", half, out, 1.125 * all, 0, 1);
  LINEAR("linear 2x2x2, past the caches", half, out, 1.125 * all, 1, 1);
  LINEAR("linear 2x2x2 by tables, past the caches", half, out, 1.125 * all, 1, 0);
  LINEAR("linear 1x2x2, past the caches", flat, out, 1.25 * all, 1, 1);
  LINEAR("linear 4x4x4, past the caches", small, out, all * 65 / 64, 1, 0);
  LINEAR("linear 2x2x2 to 16x48x48", small, half, all / 8 * 1.125, 0, 1);
  NEAREST("nearest 2x2x2", half, out, 1.125 * all, 0);
  NEAREST("nearest 2x2x2, past the caches", half, out, 1.125 * all, 1);
  NEAREST("nearest 1x2x2, past the caches", flat, out, 1.25 * all, 1);
  NEAREST("nearest 2x2x2 to 16x48x48", small, half, all / 8 * 1.125, 0);
  free(a), free(b), free(tables), free(scratch);
  return 0;
}
