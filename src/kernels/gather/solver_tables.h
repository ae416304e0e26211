/* solver_tables.h: operators whose result has each entry from one place of the input that can be told dimension by
 * dimension: padding, steps, lists of entries, nearest neighbours. */
#ifndef PZ_KERNELS_GATHER_SOLVER_TABLES_H
#define PZ_KERNELS_GATHER_SOLVER_TABLES_H

#include "plan/solver.h"

/* The entry of dimension `axis` of the node's input that entry `o` of its result comes from; PZ_NONE: it is `value`.
 * */
typedef int64_t (*pz_source)(const pz_query *q, int32_t axis, int64_t o);

/* Channels stay as they are, and there are five dimensions at most: the NCHWc layout will do. */
bool pz_gathers_points(const pz_query *q, pz_source source);
pz_status pz_gather_nchwc(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_source source,
                          float value, pz_error *err);
pz_status pz_gather_nchw(const pz_query *q, const pz_placed *placed, pz_builder *b, pz_source source,
                         float value, pz_error *err);

#endif
