/* solver.h: what the solvers by minimal filtering share. */
#ifndef PZ_KERNELS_WINOGRAD_SOLVER_H
#define PZ_KERNELS_WINOGRAD_SOLVER_H

#include <stdint.h>

/* What minimal filtering F(m, r) along an axis multiplies the error by, r 3 or 5 (doc/algorithm-winograd.md). */
static inline double pz_winograd_growth_of_error(int32_t r, int32_t m) {
  const bool three = r == 3;
  return m == 2 ? (three ? 1.3 : 2.3) : m == 4 ? (three ? 2.2 : 4.2) : m == 6 ? (three ? 4.5 : 12) : 1;
}

#endif
