/* bench.h: what the benchmarks of kernels that are bound by memory share: bytes read and written once each, over the
 * fastest of 15 runs on one thread (other load only adds), beside memcpy in the same process. Kernels are called as generated code does:
 * with constant shapes. */
#ifndef PZ_KERNELS_BENCH_H
#define PZ_KERNELS_BENCH_H

#include "kernels/testing.h"
#include "kernels/vec.h"

enum { PZ_BENCH_RUNS = 15 };

/* Dense views of constant sizes, without border. */
#define PZ_BENCH_VIEW(S, N, C, D, H, W)                                                                      \
  {                                                                                                          \
    N, C, D, H, W, S, {0}, {0}, (int64_t)(((C) + (S)-1) / (S)) * (D) * (H) * (W) * (S),                      \
        (int64_t)(D) * (H) * (W) * (S), (int64_t)(H) * (W) * (S), (int64_t)(W) * (S), S, 0                   \
  }

static inline float *pz_bench_alloc(int64_t floats) {
  float *p = aligned_alloc(64, ((size_t)floats * sizeof *p + 63) / 64 * 64);
  if (!p) exit(1);
  for (int64_t i = 0; i < floats; ++i) p[i] = (float)(i % 1000) * 1e-3f - 0.5f;
  return p;
}

static inline void pz_bench_print(const char *name, double seconds, double bytes) {
  printf("S=%-2d %-44s %8.3f ms %7.2f GB/s\n", PZ_S, name, seconds * 1e3, bytes / seconds * 1e-9);
}

/* Seconds that the statement takes: the fastest of so many runs, after one that is not timed. */
#define PZ_BENCH_FASTEST(runs, ...)                                                                          \
  ({                                                                                                         \
    double fastest_ = 1e30;                                                                                  \
    for (int run_ = -1; run_ < (runs); ++run_) {                                                             \
      double start_ = pz_test_seconds();                                                                     \
      __VA_ARGS__;                                                                                           \
      __asm__ volatile("" ::: "memory");                                                                     \
      double seconds_ = pz_test_seconds() - start_;                                                          \
      if (run_ >= 0 && seconds_ < fastest_) fastest_ = seconds_;                                             \
    }                                                                                                        \
    fastest_;                                                                                                \
  })

#define PZ_BENCH(name, bytes, ...)                                                                           \
  pz_bench_print(name, PZ_BENCH_FASTEST(PZ_BENCH_RUNS, __VA_ARGS__), (double)(bytes))

#endif
