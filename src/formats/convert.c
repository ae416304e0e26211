#include "formats/convert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ an element's value */

/* Half precision by integer arithmetic, since workers take denormal numbers for zeros. */
static inline float half_value(uint16_t h) {
  const uint32_t exponent = h >> 10 & 31, mantissa = h & 1023, sign = (uint32_t)(h & 0x8000) << 16;
  const float denormal = (float)mantissa * 0x1p-24f;
  uint32_t bits;
  float value;
  memcpy(&bits, &denormal, 4);
  if (exponent) bits = (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13;
  bits |= sign;
  memcpy(&value, &bits, 4);
  return value;
}

/* The upper half of a float's bits. */
static inline float brain_value(uint16_t h) {
  const uint32_t bits = (uint32_t)h << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

#define AS_IS(v) (v)
#define HALF(v)  half_value(v)
#define BRAIN(v) brain_value(v)
#define TRUTH(v) ((v) != 0)

/* Neither infinite nor not-a-number, whose difference from themselves is not-a-number; a test that vectorises. */
#define IS_FINITE(v) ((v) - (v) == 0)

/* Functions for each dtype; their loops are what the compiler vectorises. */
#define DEFINE_KIND(name, T, VALUE)                                                                          \
  static bool all_zero_##name(const void *in, int64_t n) {                                                   \
    const T *v = in;                                                                                         \
    int other = 0;                                                                                           \
    for (int64_t i = 0; i < n; i++) other |= VALUE(v[i]) != 0;                                               \
    return !other;                                                                                           \
  }                                                                                                          \
  static double sum_##name(const void *in, int64_t n, double *count) {                                       \
    const T *v = in;                                                                                         \
    double sum = 0, used = 0;                                                                                \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const bool number = IS_FINITE(VALUE(v[i]));                                                            \
      sum += number ? (double)VALUE(v[i]) : 0, used += number;                                               \
    }                                                                                                        \
    *count = used;                                                                                           \
    return sum;                                                                                              \
  }                                                                                                          \
  static double squares_##name(const void *in, int64_t n, double mean) {                                     \
    const T *v = in;                                                                                         \
    double sum = 0;                                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const double d = IS_FINITE(VALUE(v[i])) ? (double)VALUE(v[i]) - mean : 0;                              \
      sum += d * d;                                                                                          \
    }                                                                                                        \
    return sum;                                                                                              \
  }

/* Types all of whose values are floats. */
#define DEFINE_NARROW(name, T, VALUE)                                                                        \
  static void convert_##name(const void *in, int64_t n, double shift, double scale, float *restrict out) {   \
    const T *restrict v = in;                                                                                \
    const float s = (float)shift, d = (float)scale;                                                          \
    for (int64_t i = 0; i < n; i++) out[i] = ((float)VALUE(v[i]) - s) / d;                                   \
  }                                                                                                          \
  DEFINE_KIND(name, T, VALUE)

/* The others. A value that is left as it is goes from T to float at once: by way of double it would be rounded twice.
 * DIFFERS(v): whether the float nearest to v is another number. */
#define DEFINE_WIDE(name, T, FORMAT, DIFFERS)                                                                \
  static void convert_##name(const void *in, int64_t n, double shift, double scale, float *restrict out) {   \
    const T *restrict v = in;                                                                                \
    if (shift == 0 && scale == 1)                                                                            \
      for (int64_t i = 0; i < n; i++) out[i] = (float)v[i];                                                  \
    else                                                                                                     \
      for (int64_t i = 0; i < n; i++) out[i] = (float)(((double)v[i] - shift) / scale);                      \
  }                                                                                                          \
  static int64_t rounded_##name(const void *in, int64_t n) {                                                 \
    const T *v = in;                                                                                         \
    int64_t count = 0;                                                                                       \
    for (int64_t i = 0; i < n; i++) count += DIFFERS(v[i]);                                                  \
    return count;                                                                                            \
  }                                                                                                          \
  static void describe_##name(const void *element, char *out, int size) {                                    \
    T v;                                                                                                     \
    memcpy(&v, element, sizeof v);                                                                           \
    snprintf(out, (size_t)size, FORMAT " becomes %.9g", v, (double)(float)v);                                \
  }                                                                                                          \
  DEFINE_KIND(name, T, AS_IS)

/* An integer has at most 24 bits from its highest to its lowest. */
static inline int beyond_24_bits(uint64_t v) {
  return v >> 24 && v & (v - 1) && (v >> __builtin_ctzll(v)) >> 24;
}
static inline uint64_t size_of(int64_t v) { return v < 0 ? -(uint64_t)v : (uint64_t)v; }
#define UNSIGNED_DIFFERS(v) beyond_24_bits(v)
#define SIGNED_DIFFERS(v)   beyond_24_bits(size_of(v))
#define DOUBLE_DIFFERS(v)   ((v) == (v) && (double)(float)(v) != (v))

DEFINE_NARROW(f32, float, AS_IS)
DEFINE_NARROW(u8, uint8_t, AS_IS)
DEFINE_NARROW(u16, uint16_t, AS_IS)
DEFINE_NARROW(i16, int16_t, AS_IS)
DEFINE_NARROW(i8, int8_t, AS_IS)
DEFINE_NARROW(f16, uint16_t, HALF)
DEFINE_NARROW(bf16, uint16_t, BRAIN)
DEFINE_NARROW(truth, uint8_t, TRUTH)
DEFINE_WIDE(u32, uint32_t, "%" PRIu32, UNSIGNED_DIFFERS)
DEFINE_WIDE(i32, int32_t, "%" PRId32, SIGNED_DIFFERS)
DEFINE_WIDE(u64, uint64_t, "%" PRIu64, UNSIGNED_DIFFERS)
DEFINE_WIDE(i64, int64_t, "%" PRId64, SIGNED_DIFFERS)
DEFINE_WIDE(f64, double, "%.17g", DOUBLE_DIFFERS)

static const struct {
  void (*convert)(const void *in, int64_t n, double shift, double scale, float *out);
  bool (*all_zero)(const void *in, int64_t n);
  double (*sum)(const void *in, int64_t n, double *count);
  double (*squares)(const void *in, int64_t n, double mean);
  int64_t (*rounded)(const void *in, int64_t n); /* NULL: none ever is */
  void (*describe)(const void *element, char *out, int size);
} kinds[PZ_DTYPES] = {
#define NARROW(name)                                                                                         \
  { convert_##name, all_zero_##name, sum_##name, squares_##name, NULL, NULL }
#define WIDE(name)                                                                                           \
  { convert_##name, all_zero_##name, sum_##name, squares_##name, rounded_##name, describe_##name }
    [PZ_F32] = NARROW(f32),   [PZ_U8] = NARROW(u8),   [PZ_U16] = NARROW(u16), [PZ_I16] = NARROW(i16),
    [PZ_I8] = NARROW(i8),     [PZ_U32] = WIDE(u32),   [PZ_I32] = WIDE(i32),   [PZ_U64] = WIDE(u64),
    [PZ_I64] = WIDE(i64),     [PZ_F16] = NARROW(f16), [PZ_F64] = WIDE(f64),   [PZ_BOOL] = NARROW(truth),
    [PZ_BF16] = NARROW(bf16),
};

void pz_convert(pz_dtype dtype, const void *in, int64_t n, double shift, double scale, float *out) {
  kinds[dtype].convert(in, n, shift, scale, out);
}

bool pz_all_zero(pz_dtype dtype, const void *in, int64_t n) { return kinds[dtype].all_zero(in, n); }

/* ------------------------------------------------------------------ what float does not hold */

bool pz_dtype_rounded(pz_dtype dtype) { return kinds[dtype].rounded != NULL; }

/* Found by halves, since it is there. */
static int64_t first_rounded(pz_dtype dtype, const char *in, int64_t n) {
  const int64_t half = n / 2;
  if (n == 1) return 0;
  if (kinds[dtype].rounded(in, half)) return first_rounded(dtype, in, half);
  return half + first_rounded(dtype, in + half * pz_dtype_bytes(dtype), n - half);
}

int64_t pz_count_rounded(pz_dtype dtype, const void *in, int64_t n, int64_t *first) {
  const int64_t count = kinds[dtype].rounded ? kinds[dtype].rounded(in, n) : 0;
  if (count) *first = first_rounded(dtype, in, n);
  return count;
}

void pz_describe_rounded(pz_dtype dtype, const void *element, char *out, int size) {
  *out = 0;
  if (kinds[dtype].describe) kinds[dtype].describe(element, out, size);
}

/* ------------------------------------------------------------------ not finite */

#define NOT_FINITE(v)       (!IS_FINITE(v))
#define NOT_FINITE_HALF(v)  (((v)&0x7c00) == 0x7c00)
#define NOT_FINITE_BRAIN(v) (((v)&0x7f80) == 0x7f80)

#define DEFINE_LOST(name, T, LOST)                                                                           \
  static int64_t find_lost_##name(const void *data, int64_t n) {                                             \
    enum { BLOCK = 4096 };                                                                                   \
    const T *in = data;                                                                                      \
    for (int64_t at = 0; at < n; at += BLOCK) {                                                              \
      const int64_t end = at + BLOCK < n ? at + BLOCK : n;                                                   \
      int found = 0;                                                                                         \
      for (int64_t i = at; i < end; i++) found |= LOST(in[i]);                                               \
      for (int64_t i = at; found && i < end; i++)                                                            \
        if (LOST(in[i])) return i;                                                                           \
    }                                                                                                        \
    return -1;                                                                                               \
  }                                                                                                          \
  static void zero_lost_##name(void *data, int64_t n) {                                                      \
    T *v = data;                                                                                             \
    for (int64_t i = 0; i < n; i++) v[i] = LOST(v[i]) ? 0 : v[i];                                            \
  }

DEFINE_LOST(f32, float, NOT_FINITE)
DEFINE_LOST(f16, uint16_t, NOT_FINITE_HALF)
DEFINE_LOST(bf16, uint16_t, NOT_FINITE_BRAIN)
DEFINE_LOST(f64, double, NOT_FINITE)

static const struct {
  int64_t (*find)(const void *in, int64_t n);
  void (*zero)(void *data, int64_t n);
} lost[PZ_DTYPES] = {[PZ_F32] = {find_lost_f32, zero_lost_f32},
                     [PZ_F16] = {find_lost_f16, zero_lost_f16},
                     [PZ_BF16] = {find_lost_bf16, zero_lost_bf16},
                     [PZ_F64] = {find_lost_f64, zero_lost_f64}};

int64_t pz_find_not_finite(pz_dtype dtype, const void *in, int64_t n) {
  return lost[dtype].find ? lost[dtype].find(in, n) : -1;
}

void pz_zero_not_finite(pz_dtype dtype, void *data, int64_t n) {
  if (lost[dtype].zero) lost[dtype].zero(data, n);
}

/* ------------------------------------------------------------------ moments */

void pz_moments_add(pz_moments *m, pz_dtype dtype, const void *in, int64_t n) {
  double count;
  const double sum = kinds[dtype].sum(in, n, &count);
  if (count == 0) return;
  const double mean = sum / count;
  pz_moments_merge(m, &(pz_moments){count, mean, kinds[dtype].squares(in, n, mean)});
}

void pz_moments_merge(pz_moments *m, const pz_moments *more) {
  if (more->n == 0) return;
  const double total = m->n + more->n, delta = more->mean - m->mean;
  m->m2 += more->m2 + delta * delta * (m->n / total) * more->n;
  m->mean += delta * (more->n / total);
  m->n = total;
}
