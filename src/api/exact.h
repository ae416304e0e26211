/* exact.h: network files for exact tiles (optimise/exact_tile.h; pz_compile_options.tiling, patch, volume). */
#ifndef PZ_API_EXACT_H
#define PZ_API_EXACT_H

#include "api/api.h"
#include "optimise/exact_tile.h"

/* The options that go together. */
pz_status pz_exact_check(const pz_compile_options *options, pz_error *err);
/* The tiles that the options mean for a model with one input. *input: the shape that this is to have; *other: it has another, and is to be imported anew. */
pz_status pz_exact_choose(const pz_compile_options *options, const pz_graph *g, pz_exact_options *tile,
                          pz_shape *input, bool *other, pz_error *err);
/* The imported graph becomes that of its tiles; model->locality and model->exact. */
pz_status pz_exact_apply(pz_model *model, const pz_exact_options *tile, pz_error *err);

#endif
