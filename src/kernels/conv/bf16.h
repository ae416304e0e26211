/* bf16.h: two bfloat16 numbers side by side, which is what a place in a tile of factors holds: the product of tiles sums over both. Plain
 * C: the compiler half includes it too. */
#ifndef PZ_KERNELS_CONV_BF16_H
#define PZ_KERNELS_CONV_BF16_H

#include <stdint.h>

typedef struct pz_bf16_pair {
  uint16_t of[2];
} pz_bf16_pair;

#endif
