/* compare.h: two graphs compute the same: their outputs, and every tensor that has the same name in both. */
#ifndef TESTS_OPTIMISE_COMPARE_H
#define TESTS_OPTIMISE_COMPARE_H

#include "graph/graph.h"

/* Evaluates both with the reference on the same seeded inputs. The greatest relative L2 error, infinity where the
 * graphs do not fit together; *worst (may be NULL) is the name of its tensor, in the arena of `after`. */
double compare_graphs(const pz_graph *before, const pz_graph *after, uint64_t seed, const char **worst);

#endif
