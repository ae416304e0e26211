/* mutate.h: models made from models. A mutant is well-formed where chance does not ask for the opposite, so that it comes far: through the
 * importer, the passes and the planner to C. The same seed gives the same mutant on every machine. */
#ifndef PZ_TESTS_EMIT_MUTATE_H
#define PZ_TESTS_EMIT_MUTATE_H

#include "base/arena.h"

/* splitmix64 */
uint64_t mutate_next(uint64_t *state);
int64_t mutate_pick(uint64_t *state, int64_t n); /* 0 .. n-1; 0 where n < 1 */
int64_t mutate_number(uint64_t *state);          /* sizes, strides, axes: mostly small, some of them edges */
float mutate_float(uint64_t *state);             /* edges among them */
const char *mutate_name(uint64_t *state);        /* does something where a name is taken for more than one */

/* Each appends a mutant of `data` to out: dimensions, strides, groups, names, edges, cycles, types, nodes. */
void mutate_onnx(uint64_t seed, const uint8_t *data, size_t size, pz_text *out);
void mutate_prototxt(uint64_t seed, const uint8_t *data, size_t size, pz_text *out);

#endif
