/* key.c: which CPU a measurement is of. */
#include "tune/tuning.h"

#include <stdio.h>

#ifdef __x86_64__
#include <cpuid.h>

/* Clouds give one brand string to several generations; these three tell them apart. */
static void version(char *out, size_t size) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return;
  unsigned family = a >> 8 & 15, model = a >> 4 & 15;
  if (family == 6 || family == 15) model += (a >> 16 & 15) << 4;
  if (family == 15) family += a >> 20 & 255;
  snprintf(out, size, " (%u.%u.%u)", family, model, a & 15);
}
#else
static void version(char *out, size_t size) { (void)out, (void)size; }
#endif

void pz_tuning_cpu(pz_isa isa, char out[PZ_TUNING_CPU_TEXT]) {
  char model[64], numbers[48] = "";
  pz_cpu_model(model, sizeof model);
  for (char *at = model; *at; at++)
    if (*at < 0x20 || *at > 0x7e) *at = '?';
  version(numbers, sizeof numbers);
  snprintf(out, PZ_TUNING_CPU_TEXT, "%s%s, %s", model, numbers, pz_isa_get(isa)->name);
}
