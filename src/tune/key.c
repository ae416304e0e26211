/* key.c: which CPU a measurement is of. */
#include "tune/tuning.h"

#include <stdio.h>

void pz_tuning_cpu(pz_isa isa, const char *target, char out[PZ_TUNING_CPU_TEXT]) {
  char model[64], numbers[48] = "";
  pz_cpu_id id;
  pz_cpu_model(model, sizeof model);
  for (char *at = model; *at; at++)
    if (*at < 0x20 || *at > 0x7e) *at = '?';
  /* Clouds give one brand string to several generations; these three tell them apart. */
  if (pz_cpu_identity(&id))
    snprintf(numbers, sizeof numbers, " (%u.%u.%u)", id.family, id.model, id.stepping);
  snprintf(out, PZ_TUNING_CPU_TEXT, "%s%s, %s%s%s", model, numbers, pz_isa_get(isa)->name,
           target ? " for " : "", target ? target : "");
}
