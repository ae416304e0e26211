/* shape_text.h: kernels' shapes as C. pz_text_name prints what stands between the braces of a pz_NAME_shape's initialiser: all fields,
 * by name, from the list that the struct is made of. Left out, so that C makes them zero: views of zeros alone, and zeros at the end
 * of arrays of more than PZ_TEXT_AXES elements, whose other fields say how many count. */
#ifndef PZ_PLAN_SHAPE_TEXT_H
#define PZ_PLAN_SHAPE_TEXT_H

#include "base/arena.h"
#include "kernels/view.h"

enum { PZ_TEXT_AXES = 5 };

#define SHAPE(name, upper)                                                                                   \
  struct pz_##name##_shape;                                                                                  \
  void pz_text_##name(pz_text *text, const struct pz_##name##_shape *shape);
#include "plan/shapes.inc"
#undef SHAPE

/* A view's fields, in their order, without names. */
void pz_text_view(pz_text *text, const pz_view *view);
/* A float so that C reads the same bits back, but for those of a NaN. */
void pz_text_number(pz_text *text, float value);

#endif
