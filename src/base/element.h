/* element.h: numbers from and to elements of the types that tensors have (graph/graph.h), as the operator cast does: an element e stands for
 * scale * (e - zero_point); elements are the nearest, of two the even one; integers stop at their ends, and not-a-number
 * is zero_point; 16-bit floats become infinite where they are too great. Numbers are floats: those of i32 beyond 2^24 are rounded to
 * the nearest one, of two the even one. */
#ifndef PZ_BASE_ELEMENT_H
#define PZ_BASE_ELEMENT_H

#include "base/dtype.h"

/* What elements are. Scale and zero point are 1 and 0 but for integers; the zero point of integers of more than 16 bits is 0, as that
 * of ONNX is, so that no difference overflows. */
typedef struct pz_element {
  pz_dtype type;
  float scale; /* above 0 */
  int32_t zero_point;
} pz_element;
#define PZ_FLOATS ((pz_element){PZ_F32, 1, 0})

/* Whether the type, any of pz_dtype, is one that may have this scale and zero point; false for what is no pz_dtype. */
bool pz_element_sound(pz_element element);

/* Of a type of tensors. `out` and `in` may lie at any address. */
void pz_elements_from(pz_element element, const float *values, int64_t n, void *out);
void pz_elements_to(pz_element element, const void *in, int64_t n, float *values);

#endif
