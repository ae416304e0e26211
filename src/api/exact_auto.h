/* exact_auto.h: tiles by memory (`--patch auto`). */
#ifndef PZ_API_EXACT_AUTO_H
#define PZ_API_EXACT_AUTO_H

#include "api/exact.h"
#include "graph/locality.h"

/* What tiles are chosen for: a network, and the size of the volumes where that is known, else NULL. */
typedef struct pz_exact_question {
  const pz_compile_options *options;
  const pz_graph *g;
  const pz_locality *l;
  const int64_t *volume;
  int32_t first; /* the network's first axis of z, y and x */
  const pz_exact_importer *importer;
} pz_exact_question;

/* The least multiple of the stride that is no less. */
int64_t pz_in_strides(int64_t voxels, int64_t stride);

/* Along y and x a run makes all of the volume where the tile is no smaller: the way, and what the network's input is to be. */
void pz_exact_choose_whole(const pz_exact_question *q, pz_exact_choice *choice);

/* Bytes that pz_infer takes with such tiles: the network's weights, memory and state, patches on their way in and out. g: as the tile wants it. */
pz_status pz_exact_bytes(const pz_compile_options *options, const pz_graph *g, const pz_exact_options *tile,
                         double *bytes, pz_error *err);

/* choice->tile: the longest sides whose run fits into the memory, for the fewer voxels are computed twice. */
pz_status pz_exact_longest(const pz_exact_question *q, pz_exact_choice *choice, pz_error *err);
/* For a volume whose size is known: of the tiles whose run fits those whose runs for all of it take the least arithmetic, what hangs over and what a stream's end
 * takes included; of equal ones the fewest runs. Runs have four planes at least. */
pz_status pz_exact_cheapest(const pz_exact_question *q, pz_exact_choice *choice, pz_error *err);

#endif
