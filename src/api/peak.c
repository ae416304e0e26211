/* peak.c: the multiply-add peak of this machine, measured: twelve (AVX-512, NEON: twenty-four) independent chains of
 * fused multiply-adds on registers, which covers latency 4 times two units of every x86 core so far. Of floats: the
 * products of AMX, which are of bfloat16, do not count. */
#include "api/api.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/pool.h"

#if defined(__x86_64__)
/* Loops in assembler, so that no compiler can spill an accumulator: registers 0 to 11 (0 to 23) are summed into,
 * the last ones hold the factors, which are zero. */
#define LOW(op)  op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11)
#define HIGH(op) op(12) op(13) op(14) op(15) op(16) op(17) op(18) op(19) op(20) op(21) op(22) op(23)
#define CLOBBERED                                                                                            \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
      "xmm13", "xmm14", "xmm15", "cc"
#define SSE4(i)    "mulps %%xmm12, %%xmm" #i "\n\taddps %%xmm13, %%xmm" #i "\n\t"
#define AVX2(i)    "vfmadd231ps %%ymm14, %%ymm15, %%ymm" #i "\n\t"
#define AVX512(i)  "vfmadd231ps %%zmm30, %%zmm31, %%zmm" #i "\n\t"
#define CLEAR_X(i) "xorps %%xmm" #i ", %%xmm" #i "\n\t"
#define CLEAR_Y(i) "vxorps %%ymm" #i ", %%ymm" #i ", %%ymm" #i "\n\t"
#define CLEAR_Z(i) "vpxord %%zmm" #i ", %%zmm" #i ", %%zmm" #i "\n\t"
#define LOOP(body) "1:\n\t" body "dec %0\n\tjnz 1b\n\t"

static void chains_sse4(int64_t rounds) {
  __asm__ volatile(LOW(CLEAR_X) CLEAR_X(12) CLEAR_X(13) LOOP(LOW(SSE4)) : "+r"(rounds) : : CLOBBERED);
}
static void chains_avx2(int64_t rounds) {
  __asm__ volatile(LOW(CLEAR_Y) CLEAR_Y(14) CLEAR_Y(15) LOOP(LOW(AVX2)) "vzeroupper"
                   : "+r"(rounds)
                   :
                   : CLOBBERED);
}
__attribute__((target("avx512f"))) static void chains_avx512(int64_t rounds) {
  __asm__ volatile(
      LOW(CLEAR_Z) HIGH(CLEAR_Z) CLEAR_Z(30) CLEAR_Z(31) LOOP(LOW(AVX512) HIGH(AVX512)) "vzeroupper"
      : "+r"(rounds)
      :
      : CLOBBERED, "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm30", "xmm31");
}

#elif defined(__aarch64__)
/* The same: sums in registers 0 to 23, factors in 30 and 31. */
#define SUMS(op)                                                                                             \
  op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11) op(12) op(13) op(14) op(15)      \
      op(16) op(17) op(18) op(19) op(20) op(21) op(22) op(23)
#define CLEAR(i) "movi v" #i ".4s, #0\n\t"
#define NEON(i)  "fmla v" #i ".4s, v30.4s, v31.4s\n\t"
static void chains_neon(int64_t rounds) {
  __asm__ volatile(SUMS(CLEAR) CLEAR(30) CLEAR(31) "1:\n\t" SUMS(NEON) "subs %0, %0, #1\n\tb.ne 1b"
                   : "+r"(rounds)
                   :
                   : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
                     "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v30", "v31",
                     "cc");
}
#endif

typedef struct chains {
  pz_isa isa;
  void (*run)(int64_t rounds);
  double flops; /* of a round */
} chains;
static const chains rows[] = {
#if defined(__x86_64__)
    {PZ_ISA_SSE4, chains_sse4, 2.0 * 4 * 12},
    {PZ_ISA_AVX2, chains_avx2, 2.0 * 8 * 12},
    {PZ_ISA_AVX512, chains_avx512, 2.0 * 16 * 24}
#elif defined(__aarch64__)
    {PZ_ISA_NEON, chains_neon, 2.0 * 4 * 24}
#endif
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct work {
  const chains *chains;
  int64_t rounds;
} work;

static void task(void *arg, int32_t worker) {
  const work *w = arg;
  w->chains->run(w->rounds);
  (void)worker;
}

static double best_of(pz_pool *pool, const chains *row, double seconds) {
  const work w = {row, 1 << 18};
  double best = 0;
  for (const double end = pz_now() + seconds; pz_now() < end;) {
    const double start = pz_now();
    pz_pool_run(pool, task, (void *)&w);
    const double rate = row->flops * (double)w.rounds * pz_pool_threads(pool) / (pz_now() - start);
    if (rate > best) best = rate;
  }
  return best * 1e-9;
}

double pz_measure_peak(int threads, double seconds) {
  pz_pool *pool;
  if (pz_pool_new(threads, true, &pool, NULL) != PZ_OK) return 0;
  double best = 0;
  for (int i = 0; i < ROWS; i++) {
    if (!pz_isa_supported(rows[i].isa)) continue;
    const double rate = best_of(pool, &rows[i], seconds / ROWS);
    if (rate > best) best = rate;
  }
  pz_pool_free(pool);
  return best;
}
