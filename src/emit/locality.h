/* locality.h: what a manifest says of what a result depends on (graph/locality.h). */
#ifndef PZ_EMIT_LOCALITY_H
#define PZ_EMIT_LOCALITY_H

#include "base/json.h"
#include "graph/graph.h"

/* Along z, y and x: "stride", "reach_before" and "reach_behind", the result's scale "coarser" and "finer", "any_size"; "multiply_adds" for a voxel of the
 * result, and what a run would take with "larger" patches; "global_layer" and "global_why", null where there is none. *o is the caller's. */
pz_status pz_locality_json(pz_json *j, const pz_graph *graph, json_t **o, pz_error *err);

#endif
