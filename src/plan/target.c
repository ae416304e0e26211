/* target.c: this machine as a target. */
#include "plan/target.h"

pz_target pz_target_of_host(pz_isa isa, int32_t block, int32_t workers) {
  return (pz_target){.isa = isa,
                     .block = block,
                     .registers = pz_isa_get(isa)->registers,
                     .caches = pz_cpu_caches(),
                     .core = pz_isa_supported(isa) ? pz_cpu_core() : (pz_core_traits){0},
                     .workers = workers};
}
