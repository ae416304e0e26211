/* tuning_section.h: what a network file carries for pznet tune: how it was compiled, and its network without weights and names.
 *
 * JSON in the section .pznet.tuning, which is not loaded: "version"; "options", those of pz_compile_options that planning
 * depends on; "layers", of each that has several candidates its node, what of its error the result was taken to have, and the candidate that it has; "graph", the lines
 * of pz_graph_print_bare after the passes. A file with several variants has all of its first one, and "variants": rows with the options and layers of each.
 * Problems and their keys do not depend on the values of weights, so what is measured by it serves
 * the network with any. */
#ifndef PZ_API_TUNING_SECTION_H
#define PZ_API_TUNING_SECTION_H

#include "api/api.h"
#include "runtime/variant.h"

#define PZ_TUNING_SECTION ".pznet.tuning"

typedef struct pz_tuning_section {
  pz_arena *arena;
  pz_graph *graph;
  pz_compile_options
      options; /* its texts are in the arena; of a hostile file, so that pz_plan_wanted checks them */
  double *error_propagation; /* by node */
  const char **candidates;   /* by node: the label; NULL where there is nothing to choose */
} pz_tuning_section;

/* The text for `plan`, which was made as `options` say, in the plan's arena. *text is NULL where it would be too long. */
pz_status pz_tuning_section_print(const pz_compile_options *options, const pz_plan *plan, const char **text,
                                  pz_error *err);

/* One text of those of `n` variants, in the arena. *text is NULL where one of them is, or it would be too long. */
pz_status pz_tuning_section_join(pz_arena *arena, const char *const *variants, int32_t n, const char **text,
                                 pz_error *err);

/* Reads a network file's, after its checksum; no code of the file runs. All of it is hostile: sizes are bounded, the graph is verified. Of several
 * variants it is that of the one which this machine would run, within the mask. The caller frees *section on success. */
pz_status pz_tuning_section_read(const char *network, const pz_mask *mask, const volatile int *interrupt,
                                 pz_tuning_section *section, pz_error *err);
void pz_tuning_section_free(pz_tuning_section *section);

#endif
