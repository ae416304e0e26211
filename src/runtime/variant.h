/* variant.h: a network file may have the network several times, each planned for another target: its variants. Which of them is run is told by the
 * manifest, before any code of the file runs.
 *
 * The manifest of such a file is that of its first variant, which a host that knows of none runs by PZ_ABI_SYMBOL, and has "variants" beside: rows,
 * weakest first, each with "symbol", "isa", "target", what the variant takes, and, but for the first, "manifest": all that it tells otherwise. */
#ifndef PZ_RUNTIME_VARIANT_H
#define PZ_RUNTIME_VARIANT_H

#include "base/arena.h"
#include "base/json.h"
#include "pznet/network_abi.h"
#include "runtime/weights.h"

typedef struct pz_variant {
  int32_t index;
  char symbol[32];     /* of its entry */
  bool reads_all;      /* of the weights */
  bool exact;          /* the network is for exact tiles */
  pz_stretch *weights; /* else: what it reads, ascending; in the arena */
  int32_t n_weights;
} pz_variant;

/* What may be picked. */
typedef struct pz_mask {
  const char *
      name; /* NULL: any. Of isa.inc: variants that need no more than that instruction set has. Else a target: its variant */
  const char *given; /* how the user gave it, for messages: "PZNET_TARGET" */
} pz_mask;
#define PZ_MASK_VARIABLE "PZNET_TARGET"
/* As the environment says. */
pz_mask pz_mask_of_environment(void);

/* The variant that this machine runs: of those that the mask leaves and the machine has the instruction set of, one of the strongest instruction set;
 * of several one that is planned for this very core, else for any core, else the first. `any`: where none can be run here, the first that the mask
 * leaves. `manifest` is of the file at `path`, and hostile. */
pz_status pz_variant_find(pz_arena *arena, const json_t *manifest, const char *path, const pz_mask *mask,
                          bool any, pz_variant *variant, pz_error *err);

/* What a file with this variant alone would say, and of "variants" the rows without their manifests, each with "runs_here"; and "variant", its
 * index. `manifest` has passed pz_variant_find. NULL: memory is short, and j knows. */
json_t *pz_variant_manifest(pz_json *j, const json_t *manifest, int32_t index);

#endif
