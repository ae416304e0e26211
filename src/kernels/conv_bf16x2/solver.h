/* solver.h: what the solvers by products of bf16x2 (kernels/conv_bf16x2/bf16x2.h) know of them. */
#ifndef PZ_KERNELS_CONV_BF16X2_SOLVER_H
#define PZ_KERNELS_CONV_BF16X2_SOLVER_H

#include <stdint.h>

#define PZ_BF16X2_ERROR                                                                                      \
  4.4e-6 /* relative L2, of a layer of random values, m = 1: somewhat above what doc/algorithm-bf16x2.md measured */
#define PZ_BF16X3_ERROR     1.3e-7 /* of three terms of each factor */
#define PZ_BF16X2_FEWEST_IN 12     /* fewer channels leave most of a line empty */
/* In vector multiply-adds at peak: a product of tiles takes the time of 40, of 32 where factors are zeros, which are 512 of single
 * precision at both peaks. */
#define PZ_BF16X2_PRODUCT       40.0
#define PZ_BF16X2_MULTIPLY_ADDS 512

/* Products of tiles for 16 positions and a row of taps: three of each pair of blocks in, two of a block that is left. */
static inline double pz_bf16x2_products_of(int32_t pairs, int32_t singles) {
  return 3.0 * pairs + 2.0 * singles;
}

#endif
