/* target.h: the machine that a network is planned for, as a value: a row of the table of cores (cores.inc) or the host. Planning asks nothing else
 * about machines, so that planning for another one is the same code as planning for this one. */
#ifndef PZ_TARGET_TARGET_H
#define PZ_TARGET_TARGET_H

#include "base/cpu.h"
#include "base/features.h"
#include "target/cost_model.h"

#include <string.h>

/* Of minimal filtering (kernels/winograd/solver.c, doc/notes/2026-11-28-winograd.md), in vector multiply-adds at peak. */
typedef struct pz_winograd_costs {
  double input, output;  /* of a vector on its way into and out of a transform */
  double room;           /* points of a tile that lie near the core */
  double crowded;        /* what each of more points adds to a transform, as a part */
  double outside_level2; /* factor of transforms whose batch is larger than half of level 2 */
  double product;        /* a multiply-add of inner pairs */
} pz_winograd_costs;

/* A value: copies are free, texts and costs are static. */
typedef struct pz_target {
  const char *name;      /* as --target spells it, "native", or the spelling of --isa */
  const char *core;      /* the row that costs are of: equal to `name` where that is a row */
  pz_features features;  /* that code may use; the strongest of isa.inc that these have is what is emitted */
  int32_t vector_width;  /* floats in a register */
  int32_t registers;     /* vector registers */
  int32_t block;         /* S of the blocked layout, where a plan has chosen it; else 0 */
  pz_cache_sizes caches; /* bytes; level 3 as much as one network can count on */
  int32_t workers;       /* that share a layer: the cores of a socket, or of the host; 0: any number */
  /* The core's way with vectors. adds_apart: products and sums have units of their own. double_pumped: vectors of 16 take two operations of 8, so that
   * each operation may load an operand, and a store waits for fused ones. False for those that nobody has measured. */
  bool adds_apart, double_pumped;
  double
      inner_pairs; /* cost of a product in pairs beside a direct one's (kernels/conv_inner_pairs/solver.c) */
  const pz_winograd_costs *wide, *narrow; /* with blocks of 16 channels, with smaller ones */
  const pz_cost_model *
      fitted; /* factors of costs that a fit has found, for blocks of one size; NULL: nobody has fitted them */
} pz_target;

/* What the target can run. */
static inline bool pz_target_has(const pz_target *target, pz_features needed) {
  return pz_features_have(target->features, needed);
}
static inline const pz_winograd_costs *pz_target_winograd(const pz_target *target) {
  return target->block == 16 ? target->wide : target->narrow;
}
static inline const pz_cost_model *pz_target_cost_model(const pz_target *target) {
  return target->fitted && target->fitted->block == target->block ? target->fitted : pz_cost_model_default();
}
/* The relative error of costs of the family's candidates: the standard deviation of ln(measured / expected) beside other candidates of a problem.
 * What is to be measured first is where it is large and costs are near each other. */
static inline double pz_cost_uncertainty(const pz_target *target, pz_cost_family family) {
  return pz_target_cost_model(target)->error[family];
}
/* The strongest instruction set of isa.inc whose needs the target has: what is emitted for it. */
pz_isa pz_target_isa(const pz_target *target);
/* What gcc and clang need to know to emit that, and no more: a file runs wherever its manifest's instruction set is. Not -march, which lets them use
 * other extensions of the core, nor -mtune, which older ones do not know of newer cores: what was measured was compiled without. */
#define PZ_TARGET_FLAGS 256
void pz_target_flags(const pz_target *target, char out[PZ_TARGET_FLAGS]);
/* The target less some features, with vectors as the others have them. */
pz_target pz_target_without(const pz_target *target, pz_features features);

/* This machine: its features and caches, the cores that this process may use, costs of the row that its CPUID numbers name, or else of the generic
 * row with its features. */
pz_target pz_target_host(void);
/* --isa: this machine, taken to have that instruction set and no more. Where it has it not, a core that nobody has measured. */
pz_target pz_target_as(pz_isa isa);
/* A row of cores.inc, or "native". False: there is none of that name. */
bool pz_target_parse(const char *name, pz_target *target);
/* Row i from 0 on, in the table's order; NULL behind the last. */
const pz_target *pz_target_row(int32_t i);
/* The row that has the processor; NULL: none has. */
const pz_target *pz_target_of_cpu(const pz_cpu_id *id);
/* Processors that are a core (cpu.h). */
typedef struct pz_cpu_range {
  const char *vendor;
  unsigned family, first, last, first_stepping, last_stepping; /* models from first to last */
} pz_cpu_range;
/* Range i from 0 on of the row's processors, by its name; NULL behind the last, of a generic row and of a name that is none. */
const pz_cpu_range *pz_target_cpus(const char *core, int32_t i);
/* "native, x86-64-v2, ..." */
const char *pz_target_names(void);
/* It is a row, not the host. */
static inline bool pz_target_is_row(const pz_target *target) { return !strcmp(target->name, target->core); }

/* This CPU and its system have all that the target's code needs. */
bool pz_target_runs_here(const pz_target *target);
/* And its times are the target's: it is the host itself, a generic row, or the row of the host's core. */
bool pz_target_times_here(const pz_target *target);

#endif
