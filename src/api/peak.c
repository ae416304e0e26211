/* peak.c: the multiply-add peak of this machine, measured: twelve (AVX-512: twenty-four) independent chains of
 * fused multiply-adds on registers, which covers latency 4 times two units of every x86 core so far. */
#include "api/api.h"
#include "base/cpu.h"
#include "base/pool.h"

#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));

/* One round: every accumulator a = a*m + c; the empty asm keeps each a in a register, unpredictable. */
#define CHAINS(name, type, count, isa, fma)                                                                  \
  __attribute__((target(isa))) static float name(int64_t rounds) {                                           \
    type a[count], m = {0}, c = {0};                                                                         \
    m += 0.999f;                                                                                             \
    c += 1e-3f;                                                                                              \
    for (int i = 0; i < count; i++) a[i] = c;                                                                \
    for (int64_t r = 0; r < rounds; r++) _Pragma("GCC unroll 32") for (int i = 0; i < count; i++) {          \
        fma;                                                                                                 \
      }                                                                                                      \
    type sum = a[0];                                                                                         \
    for (int i = 1; i < count; i++) sum += a[i];                                                             \
    return sum[0];                                                                                           \
  }
CHAINS(chains_sse4, v4, 12, "sse4.2",
       __asm__ volatile("mulps %1, %0\n\taddps %2, %0"
                        : "+x"(a[i])
                        : "x"(m), "x"(c)))
CHAINS(chains_avx2, v8, 12, "avx2,fma",
       __asm__ volatile("vfmadd213ps %2, %1, %0"
                        : "+x"(a[i])
                        : "x"(m), "x"(c)))
CHAINS(chains_avx512, v16, 24, "avx512f",
       __asm__ volatile("vfmadd213ps %2, %1, %0"
                        : "+v"(a[i])
                        : "v"(m), "v"(c)))

static const struct {
  float (*run)(int64_t rounds);
  double flops; /* of a round */
} rows[PZ_ISA_COUNT] = {[PZ_ISA_SSE4] = {chains_sse4, 2.0 * 4 * 12},
                        [PZ_ISA_AVX2] = {chains_avx2, 2.0 * 8 * 12},
                        [PZ_ISA_AVX512] = {chains_avx512, 2.0 * 16 * 24}};

typedef struct work {
  pz_isa isa;
  int64_t rounds;
} work;

static void task(void *arg, int32_t worker) {
  const work *w = arg;
  volatile float sink = rows[w->isa].run(w->rounds);
  (void)sink;
  (void)worker;
}

static double best_of(pz_pool *pool, pz_isa isa, double seconds) {
  const work w = {isa, 1 << 18};
  double best = 0;
  for (const double end = now() + seconds; now() < end;) {
    const double start = now();
    pz_pool_run(pool, task, (void *)&w);
    const double rate = rows[isa].flops * (double)w.rounds * pz_pool_threads(pool) / (now() - start);
    if (rate > best) best = rate;
  }
  return best * 1e-9;
}

double pz_measure_peak(int threads, double seconds) {
  pz_pool *pool;
  if (pz_pool_new(threads, true, &pool, NULL) != PZ_OK) return 0;
  double best = 0;
  for (int isa = 0; isa < PZ_ISA_COUNT; isa++) {
    if (!pz_isa_supported((pz_isa)isa)) continue;
    const double rate = best_of(pool, (pz_isa)isa, seconds / PZ_ISA_COUNT);
    if (rate > best) best = rate;
  }
  pz_pool_free(pool);
  return best;
}
