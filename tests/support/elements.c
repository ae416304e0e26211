#include "support/elements.h"

#include <math.h>
#include <string.h>

typedef union bits {
  float f;
  uint32_t u;
} bits;

static int mantissa_of(pz_dtype type) { return type == PZ_F16 ? 10 : 7; }
static int bias_of(pz_dtype type) { return type == PZ_F16 ? 15 : 127; }

static double of_half(uint16_t h, pz_dtype type) {
  const int m = mantissa_of(type), mantissa = h & ((1 << m) - 1), exponent = (h & 0x7fff) >> m;
  const double sign = h >> 15 ? -1 : 1;
  if (exponent == 2 * bias_of(type) + 1) return mantissa ? (double)NAN : sign * INFINITY;
  if (!exponent) return sign * ldexp(mantissa, 1 - bias_of(type) - m);
  return sign * ldexp(mantissa + (1 << m), exponent - bias_of(type) - m);
}

/* The value is one of the type, and neither infinite nor not-a-number nor too small for a whole mantissa. */
static uint16_t to_half(double x, pz_dtype type) {
  const int m = mantissa_of(type);
  if (x == 0) return 0;
  const int exponent = ilogb(x);
  const int mantissa = (int)ldexp(fabs(x), m - exponent) - (1 << m);
  return (uint16_t)((x < 0) << 15 | (exponent + bias_of(type)) << m | mantissa);
}

static bool is_float(pz_dtype type) { return type == PZ_F16 || type == PZ_BF16; }

void pz_test_encode(pz_element e, const float *values, int64_t n, void *out) {
  const int64_t bytes = pz_dtype_bytes(e.type);
  for (int64_t i = 0; i < n; i++) {
    const uint16_t half = is_float(e.type) ? to_half((double)values[i], e.type) : 0;
    const int32_t whole = is_float(e.type) || e.type == PZ_F32
                              ? 0
                              : (int32_t)lrint((double)values[i] / (double)e.scale) + e.zero_point;
    const void *from = e.type == PZ_F32   ? (const void *)&values[i]
                       : is_float(e.type) ? (const void *)&half
                                          : &whole;
    memcpy((char *)out + i * bytes, from, (size_t)bytes);
  }
}

void pz_test_decode(pz_element e, const void *in, int64_t n, float *values) {
  for (int64_t i = 0; i < n; i++) {
    int32_t element = 0;
    switch (e.type) {
    case PZ_F32: values[i] = ((const float *)in)[i]; continue;
    case PZ_F16:
    case PZ_BF16: values[i] = (float)of_half(((const uint16_t *)in)[i], e.type); continue;
    case PZ_U8: element = ((const uint8_t *)in)[i]; break;
    case PZ_I8: element = ((const int8_t *)in)[i]; break;
    case PZ_U16: element = ((const uint16_t *)in)[i]; break;
    case PZ_I32: element = ((const int32_t *)in)[i]; break;
    default: element = ((const int16_t *)in)[i]; break;
    }
    values[i] = e.scale * (float)(element - e.zero_point);
  }
}

void pz_test_settle(pz_element e, int64_t n, float *values) {
  for (int64_t i = 0; i < n && e.type != PZ_F32; i++) {
    const bool sign = pz_dtype_kind(e.type) == 'i';
    const double most = pz_dtype_greatest(e.type), x = (double)values[i];
    if (is_float(e.type)) {
      bits b = {values[i]};
      b.u &= ~((1u << (23 - mantissa_of(e.type))) - 1);
      values[i] = fabsf(b.f) < 0x1p-14f ? 0 : b.f;
    } else values[i] = e.scale * (float)(floor(sign ? x * most : (x + 1) / 2 * most) - e.zero_point);
  }
}
