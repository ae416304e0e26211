#include "volume/convert.h"

#include <math.h>

/* Neither infinite nor not-a-number, whose difference from themselves is not-a-number; a test that vectorises. */
#define IS_FINITE(v) ((v) - (v) == 0)

/* One row for each dtype; the loops are what the compiler vectorises. */
#define DEFINE_KIND(name, T)                                                                                 \
  static void convert_##name(const void *in, int64_t n, float shift, float scale, float *restrict out) {     \
    const T *restrict v = in;                                                                                \
    for (int64_t i = 0; i < n; i++) out[i] = ((float)v[i] - shift) / scale;                                  \
  }                                                                                                          \
  static bool all_zero_##name(const void *in, int64_t n) {                                                   \
    const T *v = in;                                                                                         \
    int other = 0;                                                                                           \
    for (int64_t i = 0; i < n; i++) other |= v[i] != 0;                                                      \
    return !other;                                                                                           \
  }                                                                                                          \
  static double sum_##name(const void *in, int64_t n, double *count) {                                       \
    const T *v = in;                                                                                         \
    double sum = 0, used = 0;                                                                                \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const bool number = IS_FINITE(v[i]);                                                                   \
      sum += number ? (double)v[i] : 0, used += number;                                                      \
    }                                                                                                        \
    *count = used;                                                                                           \
    return sum;                                                                                              \
  }                                                                                                          \
  static double squares_##name(const void *in, int64_t n, double mean) {                                     \
    const T *v = in;                                                                                         \
    double sum = 0;                                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const double d = IS_FINITE(v[i]) ? (double)v[i] - mean : 0;                                            \
      sum += d * d;                                                                                          \
    }                                                                                                        \
    return sum;                                                                                              \
  }

DEFINE_KIND(f32, float)
DEFINE_KIND(u8, uint8_t)
DEFINE_KIND(u16, uint16_t)
DEFINE_KIND(i16, int16_t)

static const struct {
  void (*convert)(const void *in, int64_t n, float shift, float scale, float *out);
  bool (*all_zero)(const void *in, int64_t n);
  double (*sum)(const void *in, int64_t n, double *count);
  double (*squares)(const void *in, int64_t n, double mean);
} kinds[] = {
    [PZ_F32] = {convert_f32, all_zero_f32, sum_f32, squares_f32},
    [PZ_U8] = {convert_u8, all_zero_u8, sum_u8, squares_u8},
    [PZ_U16] = {convert_u16, all_zero_u16, sum_u16, squares_u16},
    [PZ_I16] = {convert_i16, all_zero_i16, sum_i16, squares_i16},
};

void pz_convert(pz_dtype dtype, const void *in, int64_t n, float shift, float scale, float *out) {
  kinds[dtype].convert(in, n, shift, scale, out);
}

bool pz_all_zero(pz_dtype dtype, const void *in, int64_t n) { return kinds[dtype].all_zero(in, n); }

int64_t pz_find_not_finite(const float *in, int64_t n) {
  enum { BLOCK = 4096 };
  for (int64_t at = 0; at < n; at += BLOCK) {
    const int64_t end = at + BLOCK < n ? at + BLOCK : n;
    int found = 0;
    for (int64_t i = at; i < end; i++) found |= !IS_FINITE(in[i]);
    for (int64_t i = at; found && i < end; i++)
      if (!IS_FINITE(in[i])) return i;
  }
  return -1;
}

void pz_zero_not_finite(float *data, int64_t n) {
  for (int64_t i = 0; i < n; i++) data[i] = IS_FINITE(data[i]) ? data[i] : 0;
}

void pz_moments_add(pz_moments *m, pz_dtype dtype, const void *in, int64_t n) {
  double count;
  const double sum = kinds[dtype].sum(in, n, &count);
  if (count == 0) return;
  const double mean = sum / count, m2 = kinds[dtype].squares(in, n, mean);
  const double total = m->n + count, delta = mean - m->mean;
  m->m2 += m2 + delta * delta * (m->n / total) * count;
  m->mean += delta * (count / total);
  m->n = total;
}
