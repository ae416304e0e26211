/* shared_weights.h: the packed weights of several plans of one network, in one file. What they pack alike, block by block, lies there once.
 *
 * A block is one packed tensor (plan.h). The first plan's blocks come first, in its order, and behind them of each later plan those that no earlier
 * one has: so the file depends on the plans and their order alone. Blocks begin at multiples of PZ_ALIGN, as in a plan. */
#ifndef PZ_EMIT_SHARED_WEIGHTS_H
#define PZ_EMIT_SHARED_WEIGHTS_H

#include "plan/plan.h"

typedef struct pz_shared_weights pz_shared_weights;

/* Bytes of the file from begin to end. */
typedef struct pz_weights_range {
  int64_t begin, end;
} pz_weights_range;

/* Where a plan's weights lie in the file; in the plan's arena. */
typedef struct pz_weights_map {
  int64_t *from, *to; /* by block, ascending in `from`: where it begins in the plan, and in the file */
  int32_t n;
  pz_weights_range *read; /* all that the plan reads, ascending; gaps of less than a page are filled */
  int32_t n_read;
  int64_t shared; /* of the plan's bytes, those that were there before */
} pz_weights_map;

/* Makes the file at `path`, empty. Free it in any case. */
pz_status pz_shared_weights_new(const char *path, pz_shared_weights **shared, pz_error *err);
void pz_shared_weights_free(pz_shared_weights *shared);

/* Appends what the plan, which is packed, has and the file has not. */
pz_status pz_shared_weights_add(pz_shared_weights *shared, const pz_plan *plan, pz_weights_map *map,
                                pz_error *err);
int64_t pz_shared_weights_bytes(const pz_shared_weights *shared);

/* Where the plan's byte `offset` lies in the file. */
int64_t pz_weights_mapped(const pz_weights_map *map, int64_t offset);

#endif
