/* compare.h: two graphs compute the same: their outputs, and every tensor that has the same name in both. */
#ifndef TESTS_OPTIMISE_COMPARE_H
#define TESTS_OPTIMISE_COMPARE_H

#include "graph/graph.h"

typedef struct comparison {
  double error; /* greatest relative L2 error of a tensor; infinity where the graphs do not fit together */
  double
      error_terms; /* the same, relative to the terms of the sum where they are greater than the sum, see below */
  const char *worst; /* the tensor of `error`, in the arena of `after`; "" where there is none */
} comparison;

/* Evaluates both with the reference on the same seeded inputs.
 *
 * A convolution or inner product whose terms cancel has a result that is small beside them, and a perturbation of each
 * term by one rounding is large beside the result: the problem is ill-conditioned, whatever the pass does. Therefore
 * error_terms divides by the norm of the same layer on absolute values (sum of |w|*|x|), when that is greater. */
comparison compare_graphs(const pz_graph *before, const pz_graph *after, uint64_t seed);

#endif
