/* shape.h: what a cast is. Plain C: the compiler half includes it too. */
#ifndef PZ_KERNELS_CAST_SHAPE_H
#define PZ_KERNELS_CAST_SHAPE_H

#include "kernels/view.h"

/* Types of elements; the numbers are those of pz_dtype. */
enum {
  PZ_CAST_F32 = 0,
  PZ_CAST_U8 = 1,
  PZ_CAST_U16 = 2,
  PZ_CAST_I16 = 3,
  PZ_CAST_I8 = 4,
  PZ_CAST_F16 = 9,
  PZ_CAST_BF16 = 12
};

/* The number that an element e stands for is scale * (e - zero); 1 and 0 but for integers. Strides count elements. */
#define PZ_CAST_FIELDS(ONE, MANY)                                                                            \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, from)                                                                                             \
  ONE(int, to)                                                                                               \
  ONE(float, in_scale)                                                                                       \
  ONE(float, out_scale)                                                                                      \
  ONE(int, in_zero)                                                                                          \
  ONE(int, out_zero)
typedef struct pz_cast_shape {
  PZ_CAST_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_cast_shape;

#endif
