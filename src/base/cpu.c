#include "base/cpu.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__
#define X86(here) (here)
#define ARM(bit)  false
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

static bool has_sse42(void) { return __builtin_cpu_supports("sse4.2"); }
static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }
static bool has_fma(void) { return __builtin_cpu_supports("fma"); }
static bool has_avx512f(void) { return __builtin_cpu_supports("avx512f"); }
static bool has_avx512vl(void) { return __builtin_cpu_supports("avx512vl"); }
static bool has_avx512bw(void) { return __builtin_cpu_supports("avx512bw"); }
static bool has_avx512dq(void) { return __builtin_cpu_supports("avx512dq"); }

/* clang 14 has no __builtin_cpu_supports("f16c"). The instructions are VEX-encoded, so the system's support is AVX's. */
static bool has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) && __builtin_cpu_supports("avx");
}

/* A bit of CPUID's leaf 7. */
enum { EAX, EBX, ECX, EDX };
static bool leaf_7(unsigned part, int at, int bit) {
  unsigned r[4];
  return __get_cpuid_count(7, part, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) && (r[at] >> bit & 1);
}

#ifdef __linux__
/* XGETBV: the registers whose saving the system has switched on, a bit each. */
static uint32_t saved_registers(void) {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/* The registers of AMX. Linux lets only those processes use tiles that have asked, and refuses where a thread's signal stack
 * is too small for them. */
static bool has_tiles(void) {
  const unsigned states = 1u << 17 | 1u << 18;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !leaf_7(0, EDX, 24)) return false;
  return (saved_registers() & states) == states &&
         !syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* XFEATURE_XTILEDATA */);
}
#else
static bool has_tiles(void) { return false; }
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

bool pz_cpu_identity(pz_cpu_id *id) {
  unsigned a, b, c, d;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return false;
  memcpy(id->vendor, &b, 4), memcpy(id->vendor + 4, &d, 4), memcpy(id->vendor + 8, &c, 4), id->vendor[12] = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  id->family = a >> 8 & 15, id->model = a >> 4 & 15, id->stepping = a & 15;
  if (id->family == 6 || id->family == 15) id->model += (a >> 16 & 15) << 4;
  if (id->family == 15) id->family += a >> 20 & 255;
  return true;
}

#elif defined(__aarch64__) && defined(__linux__)
#define X86(here) false
#define ARM(bit)  (getauxval(AT_HWCAP) & (bit))
#include <asm/hwcap.h>
#include <sys/auxv.h>

/* MIDR_EL1: implementer 31:24, variant 23:20, architecture 19:16, part number 15:4. Linux reads it for a process that may not. */
static bool main_id(uint64_t *id) {
  if (!(getauxval(AT_HWCAP) & HWCAP_CPUID)) return false;
  __asm__("mrs %0, MIDR_EL1" : "=r"(*id));
  return true;
}

/* No processor of ARM's says its brand: its numbers, as /proc/cpuinfo has them. */
static bool brand(char text[49]) {
  uint64_t id;
  if (!main_id(&id)) return false;
  return snprintf(text, 49, "implementer 0x%02x part 0x%03x variant 0x%x", (unsigned)(id >> 24 & 255),
                  (unsigned)(id >> 4 & 4095), (unsigned)(id >> 20 & 15)) < 49;
}

bool pz_cpu_identity(pz_cpu_id *id) {
  uint64_t bits;
  *id = (pz_cpu_id){0};
  if (!main_id(&bits)) return false;
  snprintf(id->vendor, sizeof id->vendor, (bits >> 24 & 255) == 0x41 ? "ARM" : "0x%02x",
           (unsigned)(bits >> 24 & 255));
  id->family = bits >> 16 & 15, id->model = bits >> 4 & 4095, id->stepping = bits >> 20 & 15;
  return true;
}
#else
#define X86(here) false
#define ARM(bit)  false
bool pz_cpu_identity(pz_cpu_id *id) { return *id = (pz_cpu_id){0}, false; }
static bool brand(char text[49]) { return text[0] = 0, false; }
#endif

static bool is_here(pz_feature feature) {
  switch (feature) {
#define FEATURE(id, name, flag, here)                                                                        \
  case PZ_FEATURE_##id:                                                                                      \
    return here;
#include "base/features.inc"
#undef FEATURE
  default: return false;
  }
}

/* ---- features ---- */

static const struct {
  const char *name, *flag;
} features[PZ_FEATURE_COUNT] = {
#define FEATURE(id, name, flag, here) [PZ_FEATURE_##id] = {name, flag},
#include "base/features.inc"
#undef FEATURE
};

const char *pz_feature_name(pz_feature feature) { return features[feature].name; }
const char *pz_feature_flag(pz_feature feature) { return features[feature].flag; }

/* A virtual machine's host answers CPUID, in tens of microseconds, and rooms ask often. What is not there is asked for again: a signal
 * stack may have room for tiles then. */
bool pz_cpu_has(pz_features wanted) {
  static _Atomic pz_features known;
  const pz_features before = atomic_load(&known);
  for (int i = 0; i < PZ_FEATURE_COUNT; i++) {
    const pz_features bit = UINT64_C(1) << i;
    if (!(wanted & bit) || before & bit) continue;
    if (!is_here((pz_feature)i)) return false;
    atomic_fetch_or(&known, bit);
  }
  return !(wanted >> PZ_FEATURE_COUNT);
}

pz_features pz_cpu_features(void) {
  pz_features all = 0;
  for (int i = 0; i < PZ_FEATURE_COUNT; i++)
    if (pz_cpu_has(UINT64_C(1) << i)) all |= UINT64_C(1) << i;
  return all;
}

/* ---- instruction sets ---- */

static const pz_isa_traits isas[PZ_ISA_COUNT] = {
#define ISA(id, name, title, machine, width, registers, needs)                                               \
  [PZ_ISA_##id] = {name, title, PZ_MACHINE_##machine, width, registers, needs},
#include "base/isa.inc"
#undef ISA
};

const pz_isa_traits *pz_isa_get(pz_isa isa) { return &isas[isa]; }

pz_machine pz_machine_here(void) {
#ifdef __aarch64__
  return PZ_MACHINE_AARCH64;
#else
  return PZ_MACHINE_X86_64;
#endif
}

const char *pz_machine_name(pz_machine machine) {
  return machine == PZ_MACHINE_AARCH64 ? "aarch64" : "x86-64";
}

static pz_isa weakest_here(void) {
  int isa = 0;
  while (isas[isa].machine != pz_machine_here()) isa++;
  return (pz_isa)isa;
}

pz_isa pz_isa_of(pz_features all) {
  for (int isa = PZ_ISA_COUNT - 1; isa >= 0; isa--)
    if (pz_features_have(all, isas[isa].needs)) return (pz_isa)isa;
  return weakest_here();
}

bool pz_isa_supported(pz_isa isa) {
  return (int)isa >= 0 && isa < PZ_ISA_COUNT && pz_cpu_has(isas[isa].needs);
}

pz_isa pz_isa_native(void) {
  for (int isa = PZ_ISA_COUNT - 1; isa >= 0; isa--)
    if (pz_isa_supported((pz_isa)isa)) return (pz_isa)isa;
  return weakest_here();
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
