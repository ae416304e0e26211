/* target_list.h: the targets that a network file is compiled for, where its options name several: "zen4,sapphire-rapids", or --isa all. */
#ifndef PZ_API_TARGET_LIST_H
#define PZ_API_TARGET_LIST_H

#include "api/api.h"
#include "pznet/network_abi.h"

/* Names for pz_compile_options.target, those of weaker instruction sets first, else as they were given; in the arena. n 0: the options name one, as pz_plan_wanted
 * reads them. */
typedef struct pz_target_list {
  const char *names[PZ_ABI_MAX_VARIANTS];
  int32_t n;
} pz_target_list;

/* Refused: a name that is none, the same one twice, more than there is room for, and cores of different machines, for an ELF file is of one. */
pz_status pz_target_list_wanted(pz_arena *arena, const pz_compile_options *options, pz_target_list *targets,
                                pz_error *err);

#endif
