/* exact.h: network files for exact tiles (optimise/exact_tile.h; pz_compile_options.tiling, patch, volume). */
#ifndef PZ_API_EXACT_H
#define PZ_API_EXACT_H

#include "api/api.h"
#include "optimise/exact_tile.h"

/* The same model with an input of another shape. *g is the caller's. */
typedef struct pz_exact_importer {
  pz_status (*import)(void *host, const pz_shape *input, pz_graph **g, pz_error *err);
  void *host;
} pz_exact_importer;

typedef struct pz_exact_choice {
  pz_exact_options tile;
  pz_shape input;             /* that the model is to have */
  bool other;                 /* it has another, and is to be imported anew */
  bool sized;                 /* the size of the volumes is known */
  int64_t volume[PZ_SPATIAL]; /* then; 1 along axes that the network has not */
} pz_exact_choice;

/* The options that go together. */
pz_status pz_exact_check(const pz_compile_options *options, pz_error *err);
/* The tiles that the options mean for a model with one input. */
pz_status pz_exact_choose(const pz_compile_options *options, const pz_graph *g,
                          const pz_exact_importer *importer, pz_exact_choice *choice, pz_error *err);
/* The imported graph becomes that of its tiles; model->locality and model->exact. */
pz_status pz_exact_apply(pz_model *model, const pz_exact_choice *choice, pz_error *err);

#endif
