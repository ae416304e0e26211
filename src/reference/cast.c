/* cast.c: values in another type of elements. */
#include "reference/ops.h"
#include <math.h>

/* Of a float with so many bits of mantissa, the hidden one among them. */
static double nearest_float(double x, int bits, int least_exponent, double greatest) {
  if (!isfinite(x) || x == 0) return x;
  const int exponent = ilogb(x) < least_exponent ? least_exponent : ilogb(x), unit = exponent - bits + 1;
  const double y = ldexp(nearbyint(ldexp(x, -unit)), unit);
  return fabs(y) > greatest ? copysign(INFINITY, x) : y;
}

static double nearest_integer(double x, pz_element e) {
  const double element = isnan(x) ? e.zero_point : nearbyint(x / (double)e.scale) + e.zero_point;
  return (double)e.scale *
         (fmin(fmax(element, pz_dtype_least(e.type)), pz_dtype_greatest(e.type)) - e.zero_point);
}

static double nearest(double x, pz_element e) {
  switch (e.type) {
  case PZ_F16: return nearest_float(x, 11, -14, 65504);
  case PZ_BF16: return nearest_float(x, 8, -126, 0x1.fep127);
  case PZ_F32: return x;
  default: return nearest_integer(x, e);
  }
}

void pz_reference_CAST(const pz_reference_call *call) {
  const pz_attr_cast *a = &call->node->attr.cast;
  const pz_element e = {a->to, a->scale, a->zero_point};
  const int64_t n = pz_shape_elements(reference_out_shape(call, 0));
  for (int64_t i = 0; i < n; i++) call->out[0][i] = nearest(call->in[0][i], e);
}
