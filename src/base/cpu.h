/* cpu.h: what this machine and this process have. */
#ifndef PZ_BASE_CPU_H
#define PZ_BASE_CPU_H

#include "base/features.h"

#include <stdbool.h>
#include <stdint.h>

/* Machines that pznet generates code for: compilers make code of one of them. */
typedef enum pz_machine { PZ_MACHINE_X86_64, PZ_MACHINE_AARCH64 } pz_machine;

/* Instruction sets that pznet generates code for, those of a machine weakest first; rows of isa.inc. Each stands for a set of features. */
typedef enum pz_isa {
#define ISA(id, name, title, machine, width, registers, needs) PZ_ISA_##id,
#include "base/isa.inc"
#undef ISA
  PZ_ISA_COUNT
} pz_isa;

typedef struct pz_isa_traits {
  const char *name;  /* "sse4", "avx2", "avx512", "amx", "neon": the spelling of --isa and of the manifest */
  const char *title; /* "SSE4.2", "AVX2", "AVX-512", "AMX", "NEON": the spelling in messages */
  pz_machine machine;
  int vector_width; /* S, floats in a register */
  int registers;    /* vector registers */
  pz_features needs;
} pz_isa_traits;

const pz_isa_traits *pz_isa_get(pz_isa isa);
bool pz_isa_parse(const char *name, pz_isa *isa); /* "native" too */
/* The last row whose needs are among these; the weakest of this machine where none's are. */
pz_isa pz_isa_of(pz_features features);
bool pz_isa_supported(pz_isa isa); /* pz_cpu_has its needs */
pz_isa pz_isa_native(void);        /* the strongest that is supported */

/* Whether this CPU and its operating system have all of these. Tiles are asked of Linux where they are among them and the CPU has them: then all
 * signal stacks of this process (sigaltstack) must have room for tiles, 8 KiB more. */
bool pz_cpu_has(pz_features features);
pz_features pz_cpu_features(void); /* all that there are, tiles too */

/* The CPU's model name, "unknown CPU" where it cannot be told. Constant for the process. */
void pz_cpu_model(char *out, int size);

/* What CPUID calls it, numbers as its maker's manuals count them; of ARM's the main ID register, MIDR_EL1. False where that cannot be told. */
typedef struct pz_cpu_id {
  char vendor[13]; /* "GenuineIntel", "AuthenticAMD", "ARM" */
  unsigned family, model,
      stepping; /* of ARM's: the architecture as the register counts it, the part number, the variant */
} pz_cpu_id;
bool pz_cpu_identity(pz_cpu_id *id);

const char *pz_machine_name(pz_machine machine); /* "x86-64", "aarch64" */
pz_machine pz_machine_here(void);

/* Cache sizes in bytes, with safe defaults (32 KiB, 512 KiB, 8 MiB) where the system does not say. Level 3: at most 80 MiB for each
 * usable core. Constant for the process. */
typedef struct pz_cache_sizes {
  int64_t l1d, l2, l3;
} pz_cache_sizes;
pz_cache_sizes pz_cpu_caches(void);

/* Cores that this process may really use: its affinity mask and the cgroup quota (v1 and v2), at least 1. */
int pz_cpu_usable(void);

#endif
