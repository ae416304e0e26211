/* solver_halves.h: what the solvers by products of bfloat16 halves (kernels/conv/halves.h) know of them. */
#ifndef PZ_KERNELS_CONV_SOLVER_HALVES_H
#define PZ_KERNELS_CONV_SOLVER_HALVES_H

#include <stdint.h>

#define PZ_HALVES_ERROR                                                                                      \
  4.4e-6 /* relative L2, of a layer of random values, m = 1: somewhat above what doc/algorithm-halves.md measured */
#define PZ_TERMS_ERROR      1.3e-7 /* of three terms of each factor */
#define PZ_HALVES_FEWEST_IN 12     /* fewer maps leave most of a line empty */
/* In vector multiply-adds at peak: a product of tiles takes the time of 40, of 32 where factors are zeros, which are 512 of single
 * precision at both peaks. */
#define PZ_HALVES_PRODUCT       40.0
#define PZ_HALVES_MULTIPLY_ADDS 512

/* Products of tiles for 16 positions and a row of taps: three of each pair of blocks in, two of a block that is left. */
static inline double pz_halves_products_of(int32_t pairs, int32_t singles) {
  return 3.0 * pairs + 2.0 * singles;
}

#endif
