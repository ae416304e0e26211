/* target.h: the machine that a plan is for, as far as the planner knows it. */
#ifndef PZ_PLAN_TARGET_H
#define PZ_PLAN_TARGET_H

#include "base/cpu.h"

typedef struct pz_target {
  pz_isa isa;
  int32_t block;     /* S of the blocked layout */
  int32_t registers; /* vector registers */
  pz_cache_sizes caches;
  pz_core_traits core; /* nothing is known of cores that lack the instruction set */
  int32_t workers;     /* that layers are cut for; 0: many */
} pz_target;

/* The machine that compiles stands for those that the network will run on. */
pz_target pz_target_of_host(pz_isa isa, int32_t block, int32_t workers);

#endif
