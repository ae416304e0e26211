/* element.c: see element.h. What networks do is kernels/cast, which tests hold beside this. */
#include "base/element.h"

#include <math.h>
#include <string.h>

bool pz_element_sound(pz_element e) {
  if ((unsigned)e.type >= PZ_DTYPES) return false;
  if (!pz_dtype_is_integer(e.type)) return e.scale == 1 && e.zero_point == 0;
  const bool zero = e.zero_point >= pz_dtype_least(e.type) && e.zero_point <= pz_dtype_greatest(e.type);
  return isfinite(e.scale) && e.scale > 0 && (pz_dtype_bytes(e.type) <= 2 ? zero : e.zero_point == 0);
}

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}
static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

static uint16_t to_bf16(float x) {
  const uint32_t b = bits_of(x);
  return (uint16_t)(x == x ? (b + 0x7fff + (b >> 16 & 1)) >> 16 : b >> 16 | 0x40);
}

/* Denormal numbers by way of a sum with 0.5, which has a half's last place in its own. */
static uint16_t to_f16(float x) {
  const uint32_t b = bits_of(x), size = b & 0x7fffffff, sign = b >> 16 & 0x8000;
  if (x != x) return (uint16_t)(sign | 0x7e00);
  if (size >= 0x47800000) return (uint16_t)(sign | 0x7c00);
  if (size < 0x38800000) return (uint16_t)(sign | (bits_of(float_of(size) + 0.5f) - 0x3f000000));
  return (uint16_t)(sign | (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13);
}

static float of_f16(uint16_t h) {
  const uint32_t exponent = h >> 10 & 31, mantissa = h & 1023, sign = (uint32_t)(h & 0x8000) << 16;
  if (!exponent) return float_of(sign | bits_of((float)mantissa * 0x1p-24f));
  return float_of(sign | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13);
}

static int32_t to_integer(pz_element e, float x) {
  const double element = (double)rintf(x / e.scale) + e.zero_point;
  if (x != x) return e.zero_point;
  return (int32_t)fmin(fmax(element, pz_dtype_least(e.type)), pz_dtype_greatest(e.type));
}

/* An integer's low bytes are those of the narrower type. */
static void put(pz_element e, float x, char *to) {
  const uint16_t half = e.type == PZ_F16 ? to_f16(x) : e.type == PZ_BF16 ? to_bf16(x) : 0;
  if (e.type == PZ_F32) memcpy(to, &x, 4);
  else if (e.type == PZ_F16 || e.type == PZ_BF16) memcpy(to, &half, 2);
  else {
    const uint32_t whole = (uint32_t)to_integer(e, x);
    const uint8_t bytes[4] = {(uint8_t)whole, (uint8_t)(whole >> 8), (uint8_t)(whole >> 16),
                              (uint8_t)(whole >> 24)};
    memcpy(to, bytes, (size_t)pz_dtype_bytes(e.type));
  }
}

static float get(pz_element e, const char *from) {
  union {
    float f32;
    int32_t i32;
    uint16_t u16;
    int16_t i16;
    uint8_t u8;
    int8_t i8;
  } v;
  int32_t whole;
  memcpy(&v, from, (size_t)pz_dtype_bytes(e.type));
  switch (e.type) {
  case PZ_F16: return of_f16(v.u16);
  case PZ_BF16: return float_of((uint32_t)v.u16 << 16);
  case PZ_U8: whole = v.u8; break;
  case PZ_I8: whole = v.i8; break;
  case PZ_U16: whole = v.u16; break;
  case PZ_I16: whole = v.i16; break;
  case PZ_I32: whole = v.i32; break;
  default: return v.f32;
  }
  return (float)(whole - e.zero_point) * e.scale;
}

void pz_elements_from(pz_element element, const float *values, int64_t n, void *out) {
  const int64_t bytes = pz_dtype_bytes(element.type);
  for (int64_t i = 0; i < n; i++) put(element, values[i], (char *)out + i * bytes);
}

void pz_elements_to(pz_element element, const void *in, int64_t n, float *values) {
  const int64_t bytes = pz_dtype_bytes(element.type);
  for (int64_t i = 0; i < n; i++) values[i] = get(element, (const char *)in + i * bytes);
}
