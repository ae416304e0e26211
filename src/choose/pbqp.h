/* pbqp.h: which of its few values each of many variables takes, so that costs of single variables and of small groups of them add up to the least: the
 * global search of NeoCPU 3.3.2. Of groups of one and two it is a partitioned boolean quadratic problem.
 *
 * A variable is eliminated by a table that says, for each assignment of its neighbours, the least cost that it can have. That is exact, and is
 * dynamic programming over the graph (Bertele and Brioschi, Nonserial dynamic programming, 1972). Where the table would be too large the variable
 * with the most neighbours is given the value that looks best by itself, and the rest falls apart: the reduction RN of PBQP (Hames and
 * Scholz, Nearly optimal register allocation with PBQP, 2006). With tables over two neighbours alone it is their method: R0, RI, RII, RN. */
#ifndef PZ_CHOOSE_PBQP_H
#define PZ_CHOOSE_PBQP_H

#include "base/arena.h"
#include "base/status.h"

typedef struct pz_pbqp pz_pbqp;

/* values: by variable, how many it has, at least 1. In the arena, with all that is added. */
pz_status pz_pbqp_new(pz_arena *arena, int32_t variables, const int32_t *values, pz_pbqp **problem,
                      pz_error *err);
/* The cost of n different variables together, for each of their assignments, the last one's values fastest; copied. INFINITY: never. */
pz_status pz_pbqp_add(pz_pbqp *problem, int32_t n, const int32_t *variables, const double *cost,
                      pz_error *err);

typedef struct pz_pbqp_limits {
  int32_t neighbours; /* of a variable that is eliminated */
  int64_t entries;    /* of a table */
} pz_pbqp_limits;
static const pz_pbqp_limits pz_dynamic_programming = {64, INT64_C(1) << 20},
                            pz_pbqp_reductions = {2, 1 << 20};

/* value: by variable, of equal costs the lower ones. *heuristic (may be NULL): how many variables were not eliminated; 0: the result is the best. The same
 * problem gives the same result. */
pz_status pz_pbqp_solve(const pz_pbqp *problem, const pz_pbqp_limits *limits, int32_t *value,
                        int32_t *heuristic, pz_error *err);
double pz_pbqp_cost(const pz_pbqp *problem, const int32_t *value);

#endif
