/* GB/s of permutations, beside memcpy. */
#include "kernels/bench.h"
#include "kernels/permute/permute.h"

enum { C = 64, P = 96 * 96 * 4, COUNT = C * P };

int main(void) {
  if (!pz_test_cpu()) return 77;
  float *a = pz_bench_alloc(COUNT), *b = pz_bench_alloc(COUNT);
  const double all = 2.0 * COUNT * 4;
  PZ_BENCH("memcpy 9 MiB", all, memcpy(b, a, COUNT * sizeof *a));
#define PERMUTE(name, ...)                                                                                   \
  do {                                                                                                       \
    static const pz_permute_shape s = __VA_ARGS__;                                                           \
    PZ_BENCH(name, all, pz_permute(s, a, b, 0, 1));                                                          \
  } while (0)
  PERMUTE("64 channels to last", {2, 0, {P, C}, {1, P}, {C, 1}});
  PERMUTE("64 channels from last", {2, 0, {C, P}, {1, C}, {P, 1}});
  PERMUTE("3 channels to last", {2, 0, {COUNT / 3, 3}, {1, COUNT / 3}, {3, 1}});
  PERMUTE("3 channels from last", {2, 0, {3, COUNT / 3}, {1, 3}, {COUNT / 3, 1}});
  PERMUTE("pixel shuffle 2x2", /* [C, i, j, h, w] to [C, h, i, w, j], h and w of 96 */
          {5, 3, {C, 96, 2, 96, 2}, {P, 96, 96 * 96 * 2, 1, 96 * 96}, {P, 2 * 192, 192, 2, 1}});
  PERMUTE("heads of attention", {3, 2, {8, P, C / 8}, {C / 8, C, 1}, {P * C / 8, C / 8, 1}});
  free(a), free(b);
  return 0;
}
