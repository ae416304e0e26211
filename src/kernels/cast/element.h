/* element.h: vectors of floats from and to elements of other types.
 *
 * Loads are exact, but for the one rounding of the product with a scale, and of i32 beyond 2^24 to the nearest float. Stores give the
 * nearest element, of two the even one; integers stop at their ends, and not-a-number is the element of zero. What 16-bit floats have
 * no room for is infinite; not-a-number stays that. All by integer arithmetic or on numbers that are not denormal, since workers take
 * denormal floats for zeros: a denormal half is right, a denormal float is zero or itself. */
#ifndef PZ_KERNELS_CAST_ELEMENT_H
#define PZ_KERNELS_CAST_ELEMENT_H

#include "kernels/cast/shape.h"
#include "kernels/elementary.h"

#include <string.h>

typedef uint8_t pz_cast_u8 __attribute__((vector_size(PZ_S)));
typedef int8_t pz_cast_i8 __attribute__((vector_size(PZ_S)));
typedef uint16_t pz_cast_u16 __attribute__((vector_size(2 * PZ_S)));
typedef int16_t pz_cast_i16 __attribute__((vector_size(2 * PZ_S)));

/* Columns of shape.h's rows. */
#define PZ_CAST_BYTES(name, number, bytes, least, greatest)    type == number ? bytes:
#define PZ_CAST_LEAST(name, number, bytes, least, greatest)    type == number ? least:
#define PZ_CAST_GREATEST(name, number, bytes, least, greatest) type == number ? greatest:
PZ_INLINE int32_t pz_cast_bytes(int32_t type) { return PZ_CAST_TYPES(PZ_CAST_BYTES) 0; }
PZ_INLINE int32_t pz_cast_least(int32_t type) { return PZ_CAST_TYPES(PZ_CAST_LEAST) 0; }
PZ_INLINE int32_t pz_cast_greatest(int32_t type) { return PZ_CAST_TYPES(PZ_CAST_GREATEST) 0; }

/* ---- 16-bit floats ---- */

PZ_INLINE pz_v pz_cast_of_bf16(pz_vbits h) { return (pz_v)(h << 16); }
PZ_INLINE pz_vbits pz_cast_to_bf16(pz_v x) {
  const pz_vbits b = (pz_vbits)x, nearest = (b + 0x7fff + ((b >> 16) & 1)) >> 16, nan = b >> 16 | 0x40;
  return (pz_vbits)pz_v_select((pz_vi)(x == x), (pz_v)nearest, (pz_v)nan);
}

/* A denormal half is its mantissa times 2^-24. Else the exponent's bias of 15 becomes 127; that of infinity and not-a-number all ones. */
PZ_INLINE pz_v pz_cast_of_f16(pz_vbits h) {
  const pz_vbits exponent = h & 0x7c00, wide = (h & 0x7fff) << 13;
  const pz_v denormal = __builtin_convertvector((pz_vi)(h & 0x3ff), pz_v) * pz_v_set1(0x1p-24f);
  pz_v x = pz_v_select((pz_vi)(exponent == 0x7c00), (pz_v)(wide | 0x7f800000), (pz_v)(wide + (112u << 23)));
  x = pz_v_select((pz_vi)(exponent == 0), denormal, x);
  return (pz_v)((pz_vbits)x | (h & 0x8000) << 16);
}

/* The sum of 0.5 and a number below 2^-14 has the half's mantissa in its lowest bits, rounded as sums are. */
PZ_INLINE pz_vbits pz_cast_to_f16(pz_v x) {
  const pz_vbits b = (pz_vbits)x, size = b & 0x7fffffff, sign = b >> 16 & 0x8000;
  const pz_vbits normal = (size - (112u << 23) + 0xfff + ((size >> 13) & 1)) >> 13;
  const pz_vbits denormal = (pz_vbits)((pz_v)size + pz_v_set1(0.5f)) - 0x3f000000;
  pz_v h = pz_v_select((pz_vi)(size < 0x38800000), (pz_v)denormal, (pz_v)normal);
  h = pz_v_select((pz_vi)(size >= 0x47800000), (pz_v)((pz_vbits){0} + 0x7c00), h);
  h = pz_v_select((pz_vi)(x == x), h, (pz_v)((pz_vbits){0} + 0x7e00));
  return (pz_vbits)h | sign;
}

/* ---- integers ---- */

PZ_INLINE pz_v pz_cast_scaled(pz_vi element, float scale, int32_t zero) {
  const pz_v x = __builtin_convertvector(element - pz_vi_set1(zero), pz_v);
  return scale == 1.0f ? x : x * pz_v_set1(scale);
}

/* Of 32 bits, whose zero point is 0. Floats have no greatest element, 2^31 - 1: what is not below 2^31 becomes it behind the
 * conversion, which is of numbers in its range alone. */
PZ_INLINE pz_vi pz_cast_element_32(pz_v x, float scale) {
  const pz_v end = pz_v_set1(0x1p31f);
  if (scale != 1.0f) x = x / pz_v_set1(scale);
  x = pz_v_round(pz_v_select((pz_vi)(x == x), x, pz_v_zero()));
  const pz_vi beyond = (pz_vi)(x >= end);
  const pz_v inside = pz_v_select(beyond, pz_v_zero(), pz_v_max(-end, x));
  return (beyond & INT32_MAX) | __builtin_convertvector(inside, pz_vi);
}

/* Of 16 bits or fewer. The sum with 1.5 * 2^23 of a number of at most 2^22 is rounded to a whole one, which is in its lowest bits. The
 * ends are taken before, as floats: they are whole. */
PZ_INLINE pz_vi pz_cast_element(pz_v x, int32_t type, float scale, int32_t zero) {
  if (scale != 1.0f) x = x / pz_v_set1(scale);
  x = pz_v_select((pz_vi)(x == x), x, pz_v_zero());
  x = pz_v_max(pz_v_set1((float)(pz_cast_least(type) - zero)), x);
  x = pz_v_min(pz_v_set1((float)(pz_cast_greatest(type) - zero)), x);
  return pz_v_bits(x + pz_v_set1(0x1.8p23f)) - 0x4b400000 + pz_vi_set1(zero);
}

/* ---- from and to memory: the first `count` of S elements, all where `whole`; the other lanes are of zero bytes ---- */

#define PZ_CAST_READ(T)                                                                                      \
  T e = {0};                                                                                                 \
  memcpy(&e, p, whole ? sizeof e : (size_t)count * sizeof e[0]);                                             \
  bits = __builtin_convertvector(e, pz_vi);

PZ_INLINE pz_v pz_cast_load(const char *p, int32_t type, float scale, int32_t zero, int32_t count,
                            int whole) {
  pz_vi bits = {0};
  switch (type) {
  case PZ_CAST_F32: memcpy(&bits, p, whole ? sizeof bits : (size_t)count * 4); return (pz_v)bits;
  case PZ_CAST_F16: {
    PZ_CAST_READ(pz_cast_u16)
    return pz_cast_of_f16((pz_vbits)bits);
  }
  case PZ_CAST_BF16: {
    PZ_CAST_READ(pz_cast_u16)
    return pz_cast_of_bf16((pz_vbits)bits);
  }
  case PZ_CAST_U8: {
    PZ_CAST_READ(pz_cast_u8)
    break;
  }
  case PZ_CAST_I8: {
    PZ_CAST_READ(pz_cast_i8)
    break;
  }
  case PZ_CAST_U16: {
    PZ_CAST_READ(pz_cast_u16)
    break;
  }
  case PZ_CAST_I16: {
    PZ_CAST_READ(pz_cast_i16)
    break;
  }
  case PZ_CAST_I32: memcpy(&bits, p, whole ? sizeof bits : (size_t)count * 4); break;
  }
  return pz_cast_scaled(bits, scale, zero);
}

#define PZ_CAST_WRITE(T)                                                                                     \
  const T e = __builtin_convertvector(bits, T);                                                              \
  memcpy(p, &e, whole ? sizeof e : (size_t)count * sizeof e[0]);

PZ_INLINE void pz_cast_store(char *p, pz_v x, int32_t type, float scale, int32_t zero, int32_t count,
                             int whole) {
  pz_vi bits;
  switch (type) {
  case PZ_CAST_F32: memcpy(p, &x, whole ? sizeof x : (size_t)count * 4); return;
  case PZ_CAST_F16: bits = (pz_vi)pz_cast_to_f16(x); break;
  case PZ_CAST_BF16: bits = (pz_vi)pz_cast_to_bf16(x); break;
  case PZ_CAST_I32: bits = pz_cast_element_32(x, scale); break;
  default: bits = pz_cast_element(x, type, scale, zero); break;
  }
  switch (pz_cast_bytes(type)) {
  case 1: {
    PZ_CAST_WRITE(pz_cast_u8)
    break;
  }
  case 2: {
    PZ_CAST_WRITE(pz_cast_u16)
    break;
  }
  default: memcpy(p, &bits, whole ? sizeof bits : (size_t)count * 4);
  }
}

#endif
