/* cpu.h: what this machine and this process have. */
#ifndef PZ_BASE_CPU_H
#define PZ_BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

/* Instruction sets that pznet generates code for, weakest first; rows of isa.inc. */
typedef enum pz_isa { PZ_ISA_SSE4, PZ_ISA_AVX2, PZ_ISA_AVX512, PZ_ISA_AMX, PZ_ISA_COUNT } pz_isa;

typedef struct pz_isa_traits {
  const char *name;   /* "sse4", "avx2", "avx512", "amx": the spelling of --isa and of the manifest */
  const char *title;  /* "SSE4.2", "AVX2", "AVX-512", "AMX": the spelling in messages */
  int vector_width;   /* S, floats in a register */
  int registers;      /* vector registers */
  const char *cflags; /* for gcc and clang */
} pz_isa_traits;

const pz_isa_traits *pz_isa_get(pz_isa isa);
bool pz_isa_parse(const char *name, pz_isa *isa); /* "native" too */
/* By this CPU and its operating system. Where the CPU has AMX, Linux is asked for it: then all signal stacks of this process
 * (sigaltstack) must have room for tiles, 8 KiB more. */
bool pz_isa_supported(pz_isa isa);
pz_isa pz_isa_native(void); /* the strongest that is supported */

/* The CPU's model name, "unknown CPU" where it cannot be told. Constant for the process. */
void pz_cpu_model(char *out, int size);

/* What kernels are fitted to beside instruction sets and caches; a row a kind of core in cpu.c, false for those that nobody has
 * measured (doc/notes/2026-11-28-winograd.md). */
typedef struct pz_core_traits {
  bool adds_apart; /* products and sums have units of their own */
  bool
      halves; /* vectors of 16 take two turns, so that each operation may load an operand, and a store waits for fused ones */
} pz_core_traits;
pz_core_traits pz_cpu_core(void);

/* Cache sizes in bytes, with safe defaults (32 KiB, 512 KiB, 8 MiB) where the system does not say. Level 3: at most 80 MiB for each
 * usable core. Constant for the process. */
typedef struct pz_cache_sizes {
  int64_t l1d, l2, l3;
} pz_cache_sizes;
pz_cache_sizes pz_cpu_caches(void);

/* Cores that this process may really use: its affinity mask and the cgroup quota (v1 and v2), at least 1. */
int pz_cpu_usable(void);

#endif
