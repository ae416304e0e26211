#include "plan/shape_text.h"
#include "kernels/cast/shape.h"
#include "kernels/conv/shape.h"
#include "kernels/conv_bf16x2/shape.h"
#include "kernels/conv_bf16x2/shape_narrow.h"
#include "kernels/conv_bf16x3/shape.h"
#include "kernels/conv_inner_pairs/shape.h"
#include "kernels/conv_nchw/shape.h"
#include "kernels/copy/copy.h"
#include "kernels/copy/lanes.h"
#include "kernels/cumsum/cumsum.h"
#include "kernels/detection/detection_output.h"
#include "kernels/detection/non_max_suppression.h"
#include "kernels/fft/shape.h"
#include "kernels/gather/gather.h"
#include "kernels/gather/gather_rows.h"
#include "kernels/gather/points.h"
#include "kernels/history/history.h"
#include "kernels/lrn/lrn.h"
#include "kernels/norm/channel_norm.h"
#include "kernels/norm/shape.h"
#include "kernels/permute/permute.h"
#include "kernels/pointwise/activation_layer.h"
#include "kernels/pointwise/eltwise.h"
#include "kernels/pointwise/nd.h"
#include "kernels/pointwise/power.h"
#include "kernels/pointwise/scale.h"
#include "kernels/pool/pool.h"
#include "kernels/reduction/argmax.h"
#include "kernels/reduction/shape.h"
#include "kernels/resize/resize.h"
#include "kernels/shuffle/depth_to_space.h"
#include "kernels/softmax/softmax.h"
#include "kernels/volume_border/volume_border.h"
#include "kernels/winograd/shape.h"
#include "kernels/winograd_1d/shape_h.h"
#include "kernels/winograd_1d/shape_w.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void pz_text_number(pz_text *text, float value) {
  char digits[40];
  if (isnan(value)) pz_text_append(text, "__builtin_nanf(\"\")");
  else if (isinf(value)) pz_text_append(text, value < 0 ? "-__builtin_inff()" : "__builtin_inff()");
  else {
    snprintf(digits, sizeof digits, "%af", (double)value);
    for (char *c = digits; *c; c++)
      if (!strchr("0123456789abcdefxp+-", *c)) *c = '.'; /* whatever the host's locale has for it */
    pz_text_append(text, digits);
  }
}

/* Between two values, and two fields. */
static void separate(pz_text *t) {
  if (t->size && t->data[t->size - 1] != '{') pz_text_append(t, ", ");
}

/* ---- types: how a value is printed, and whether it is zero ----
 *
 * sized: sizes are to be handed to the kernel; they stand in brackets, by which pz_add_call (calls.c) tells them from constants. */

static bool zero_int(const int32_t *x) { return *x == 0; }
static bool zero_long(const int64_t *x) { return *x == 0; }
static bool zero_float(const float *x) { return *x == 0 && !signbit(*x); }
static bool zero_axes(const pz_nd_axes *x) {
  for (int i = 0; i < PZ_ND_RANK; i++)
    if ((*x)[i]) return false;
  return true;
}
#define zero_size      zero_int
#define zero_sized_int zero_int
#define zero_span      zero_long
/* In all fields: where the channels alone are none, others may count (product.out of winograd/shape.h). */
#define ONE(type, name) any |= !zero_##type(&x->name);
#define MANY(type, name, n)                                                                                  \
  for (int32_t i = 0; i < n; i++) any |= !zero_##type(&x->name[i]);
static bool zero_view(const pz_view *x) {
  bool any = false;
  PZ_VIEW_FIELDS(ONE, MANY)
  return !any;
}
#undef ONE
#undef MANY

static void value_int(pz_text *t, const int32_t *x, bool sized) { (void)sized, pz_text_printf(t, "%d", *x); }
static void value_long(pz_text *t, const int64_t *x, bool sized) {
  (void)sized, pz_text_printf(t, "%lld", (long long)*x);
}
static void value_float(pz_text *t, const float *x, bool sized) { (void)sized, pz_text_number(t, *x); }
static void value_span(pz_text *t, const int64_t *x, bool sized) {
  pz_text_printf(t, sized ? "<%lld>" : "%lld", (long long)*x);
}
static void value_size(pz_text *t, const int32_t *x, bool sized) {
  value_span(t, &(const int64_t){*x}, sized);
}
static void value_sized_int(pz_text *t, const int32_t *x, bool sized) { (void)sized, value_size(t, x, true); }

/* values_TYPE: an array of n of them. */
#define VALUES(type)                                                                                         \
  static void values_##type(pz_text *t, const PZ_FIELD_##type *x, int32_t whole, bool sized) {               \
    int32_t n = whole;                                                                                       \
    while (whole > PZ_TEXT_AXES && n > 1 && zero_##type(x + n - 1)) n--;                                     \
    pz_text_append(t, "{");                                                                                  \
    for (int32_t i = 0; i < n; i++) {                                                                        \
      separate(t);                                                                                           \
      value_##type(t, x + i, sized);                                                                         \
    }                                                                                                        \
    pz_text_append(t, "}");                                                                                  \
  }
VALUES(int)
VALUES(size)
VALUES(sized_int)
VALUES(long)
VALUES(float)

#define ONE(type, name)                                                                                      \
  separate(t);                                                                                               \
  value_##type(t, &s->name, sized);
#define MANY(type, name, n)                                                                                  \
  separate(t);                                                                                               \
  values_##type(t, s->name, n, sized);
static void view_fields(pz_text *t, const pz_view *s, bool sized) { PZ_VIEW_FIELDS(ONE, MANY) }
#undef ONE
#undef MANY
void pz_text_view(pz_text *t, const pz_view *s) { view_fields(t, s, false); }
static void value_view(pz_text *t, const pz_view *x, bool sized) {
  pz_text_append(t, "{");
  view_fields(t, x, sized);
  pz_text_append(t, "}");
}
static void value_sized_view(pz_text *t, const pz_view *x, bool sized) {
  (void)sized, value_view(t, x, true);
}
VALUES(view)
static void value_axes(pz_text *t, const pz_nd_axes *x, bool sized) { values_long(t, *x, PZ_ND_RANK, sized); }
VALUES(axes)

/* ---- shapes ---- */

static void name_field(pz_text *t, const char *name) {
  separate(t);
  pz_text_printf(t, ".%s = ", name);
}

#define absent_int(x)        false
#define absent_long(x)       false
#define absent_float(x)      false
#define absent_axes(x)       false
#define absent_conv(x)       false
#define absent_view(x)       zero_view(x)
#define absent_sized_int(x)  false
#define absent_sized_conv(x) false
#define absent_sized_view(x) zero_view(x)

#define ONE(type, name)                                                                                      \
  if (!absent_##type(&s->name)) {                                                                            \
    name_field(t, #name);                                                                                    \
    value_##type(t, &s->name, sized);                                                                        \
  }
#define MANY(type, name, n)                                                                                  \
  name_field(t, #name);                                                                                      \
  values_##type(t, s->name, n, sized);

static void conv_fields(pz_text *t, const pz_conv_direct_shape *s, bool sized) {
  PZ_CONV_DIRECT_FIELDS(ONE, MANY)
}
static void value_conv(pz_text *t, const pz_conv_direct_shape *x, bool sized) {
  pz_text_append(t, "{");
  conv_fields(t, x, sized);
  pz_text_append(t, "}");
}
static void value_sized_conv(pz_text *t, const pz_conv_direct_shape *x, bool sized) {
  (void)sized, value_conv(t, x, true);
}

#define SHAPE(name, upper)                                                                                   \
  void pz_text_##name(pz_text *t, const struct pz_##name##_shape *s) {                                       \
    const bool sized = false;                                                                                \
    PZ_##upper##_FIELDS(ONE, MANY)                                                                           \
  }
#include "plan/shapes.inc"
#undef SHAPE
