#include "base/cpu.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

static bool has_sse42(void) { return __builtin_cpu_supports("sse4.2"); }
static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }
static bool has_fma(void) { return __builtin_cpu_supports("fma"); }
static bool has_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}

/* clang 14 has no __builtin_cpu_supports("f16c"). The instructions are VEX-encoded, so the system's support is AVX's. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) && __builtin_cpu_supports("avx");
}

static bool has_avx512_bf16(void) {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 5);
}

#ifdef __linux__
/* XGETBV: the registers whose saving the system has switched on, a bit each. */
static uint32_t saved_registers(void) {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* AMX-BF16 and AMX-TILE. Linux lets only those processes use tiles that have asked, and refuses where a thread's signal stack
 * is too small for them. */
static bool has_amx(void) {
  const unsigned tiles = 1u << 22 | 1u << 24, states = 1u << 17 | 1u << 18;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & tiles) != tiles) return false;
  return (saved_registers() & states) == states &&
         !syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* XFEATURE_XTILEDATA */);
}
#else
static bool has_amx(void) { return false; }
#endif

/* The brand string: leaves 0x80000002..4, 16 bytes each in eax, ebx, ecx, edx. */
static bool brand(char text[49]) {
  if ((unsigned)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u) return false;
  for (unsigned i = 0; i < 3; i++) {
    unsigned r[4];
    __cpuid(0x80000002u + i, r[0], r[1], r[2], r[3]);
    memcpy(text + 16 * i, r, 16);
  }
  text[48] = 0;
  return true;
}

/* The vendor, and the family as its manuals count. */
static bool family(char vendor[13], unsigned *number) {
  unsigned a, b, c, d;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return false;
  memcpy(vendor, &b, 4), memcpy(vendor + 4, &d, 4), memcpy(vendor + 8, &c, 4), vendor[12] = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  *number = (a >> 8 & 15) + ((a >> 8 & 15) == 15 ? a >> 20 & 255 : 0);
  return true;
}
#else
static bool family(char vendor[13], unsigned *number) { return (void)number, vendor[0] = 0, false; }
static bool has_sse42(void) { return false; }
static bool has_avx2(void) { return false; }
static bool has_fma(void) { return false; }
static bool has_avx512(void) { return false; }
static bool has_f16c(void) { return false; }
static bool has_avx512_bf16(void) { return false; }
static bool has_amx(void) { return false; }
static bool brand(char text[49]) { return text[0] = 0, false; }
#endif

static const pz_isa_traits isas[PZ_ISA_COUNT] = {
#define ISA(id, name, title, width, registers, cflags, supported)                                            \
  [PZ_ISA_##id] = {name, title, width, registers, cflags},
#include "base/isa.inc"
#undef ISA
};

const pz_isa_traits *pz_isa_get(pz_isa isa) { return &isas[isa]; }

static bool is_supported(pz_isa isa) {
  switch (isa) {
#define ISA(id, name, title, width, registers, cflags, supported)                                            \
  case PZ_ISA_##id:                                                                                          \
    return supported;
#include "base/isa.inc"
#undef ISA
  default: return false;
  }
}

/* A virtual machine's host answers CPUID, in tens of microseconds, and the planner asks thousands of times. What is not supported is asked for
 * again: a signal stack may have room for tiles then. */
bool pz_isa_supported(pz_isa isa) {
  static atomic_bool known[PZ_ISA_COUNT];
  if ((int)isa < 0 || isa >= PZ_ISA_COUNT) return false;
  if (!atomic_load(&known[isa]) && is_supported(isa)) atomic_store(&known[isa], true);
  return atomic_load(&known[isa]);
}

pz_isa pz_isa_native(void) {
  int isa = PZ_ISA_COUNT - 1;
  while (isa > 0 && !pz_isa_supported((pz_isa)isa)) isa--;
  return (pz_isa)isa;
}

bool pz_isa_parse(const char *name, pz_isa *isa) {
  if (!strcmp(name, "native")) return *isa = pz_isa_native(), true;
  for (int i = 0; i < PZ_ISA_COUNT; i++)
    if (!strcmp(name, isas[i].name)) return *isa = (pz_isa)i, true;
  return false;
}

void pz_cpu_model(char *out, int size) {
  char text[49];
  const char *model = brand(text) ? text : "";
  while (*model == ' ') model++;
  snprintf(out, (size_t)size, "%s", *model ? model : "unknown CPU");
  for (size_t n = strlen(out); n > 0 && out[n - 1] == ' ';) out[--n] = 0;
}

static const struct {
  const char *vendor;
  unsigned family;
  pz_core_traits traits;
} cores[] = {
    {"AuthenticAMD", 0x19, {.adds_apart = true, .halves = true}}, /* Zen 3 and 4; measured on Zen 4 */
    {"AuthenticAMD", 0x1a, {.adds_apart = true}},                 /* Zen 5 */
};

static pz_core_traits core;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void find_core(void) {
  char vendor[13];
  unsigned number;
  if (!family(vendor, &number)) return;
  for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
    if (number == cores[i].family && !strcmp(vendor, cores[i].vendor)) core = cores[i].traits;
}

pz_core_traits pz_cpu_core(void) {
  pthread_once(&once, find_core);
  return core;
}
