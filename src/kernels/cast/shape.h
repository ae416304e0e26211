/* shape.h: what a cast is. Plain C: the compiler half includes it too. */
#ifndef PZ_KERNELS_CAST_SHAPE_H
#define PZ_KERNELS_CAST_SHAPE_H

#include "kernels/view.h"

/* Types of elements: name, the number that pz_dtype gives it, bytes, the least and the greatest of integers. */
#define PZ_CAST_TYPES(ROW)                                                                                   \
  ROW(F32, 0, 4, 0, 0)                                                                                       \
  ROW(U8, 1, 1, 0, 255)                                                                                      \
  ROW(U16, 2, 2, 0, 65535)                                                                                   \
  ROW(I16, 3, 2, -32768, 32767)                                                                              \
  ROW(I8, 4, 1, -128, 127)                                                                                   \
  ROW(I32, 6, 4, INT32_MIN, INT32_MAX)                                                                       \
  ROW(F16, 9, 2, 0, 0)                                                                                       \
  ROW(BF16, 12, 2, 0, 0)
#define PZ_CAST_ROW(name, number, bytes, least, greatest) PZ_CAST_##name = number,
enum { PZ_CAST_TYPES(PZ_CAST_ROW) };
#undef PZ_CAST_ROW

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
