#include "volume/blend.h"
#include "base/wide.h"

#include <math.h>
#include <string.h>

#define WIDE PZ_WIDE

#define GAUSSIAN_FLOOR 1e-3
#define BUMP_FLOOR     1e-30

/* The nearest number of 11 significant bits, halves to even; below 2^-14 the nearest multiple of 2^-24, which is what adding
 * 0.75 leaves. There is no overflow: where half precision would be infinite the number keeps its size. */
static inline float round_half(float v) {
  union {
    float f;
    uint32_t u;
  } bits = {.f = v}, magnitude;
  const uint32_t sign = bits.u & 0x80000000u;
  magnitude.u = bits.u ^ sign;
  const float small = magnitude.f + 0.75f - 0.75f;
  const bool is_small = magnitude.u < 0x38800000u, is_number = magnitude.u < 0x7f800000u;
  magnitude.u = is_number ? (magnitude.u + 0xfffu + (magnitude.u >> 13 & 1)) & ~0x1fffu : magnitude.u;
  magnitude.f = is_small ? small : magnitude.f;
  bits.u = magnitude.u | sign;
  return bits.f;
}

/* ------------------------------------------------------------------ weights */

typedef struct factors {
  int64_t n[3];
  double *axis[3]; /* a number for each place along z, y, x */
  const double *step;
} factors;

/* Logarithms, so that a product over axes does not underflow before its floor. */
static void log_gaussian(int64_t n, double centre, double *w) {
  const double sigma = (double)n / 8;
  for (int64_t i = 0; i < n; i++) w[i] = -((double)i - centre) * ((double)i - centre) / (2 * sigma * sigma);
}

/* t = (2i + 1 + inset) / (n + inset) - 1 */
static void log_bump(int64_t n, int inset, double *w) {
  for (int64_t i = 0; i < n; i++) {
    const double t = (double)(2 * i + 1 + inset) / (double)(n + inset) - 1;
    w[i] = -1 / (1 - t * t);
  }
}

typedef double (*weight_at)(const factors *f, int64_t z, int64_t y, int64_t x);

static void for_all(const factors *f, weight_at at, float *weights) {
  for (int64_t z = 0; z < f->n[0]; z++)
    for (int64_t y = 0; y < f->n[1]; y++)
      for (int64_t x = 0; x < f->n[2]; x++) *weights++ = (float)at(f, z, y, x);
}

static double product_at(const factors *f, int64_t z, int64_t y, int64_t x) {
  return exp(f->axis[0][z] + f->axis[1][y] + f->axis[2][x]);
}

static double constant_at(const factors *f, int64_t z, int64_t y, int64_t x) {
  (void)f, (void)z, (void)y, (void)x;
  return 1;
}
static void constant(const factors *f, float *weights) { for_all(f, constant_at, weights); }

static double gaussian_at(const factors *f, int64_t z, int64_t y, int64_t x) {
  return fmax(product_at(f, z, y, x), GAUSSIAN_FLOOR);
}
static void gaussian(const factors *f, float *weights) {
  for (int i = 0; i < 3; i++) log_gaussian(f->n[i], (double)(f->n[i] - 1) / 2, f->axis[i]);
  for_all(f, gaussian_at, weights);
}

static double bump_at(const factors *f, int64_t z, int64_t y, int64_t x) {
  return fmax(product_at(f, z, y, x), BUMP_FLOOR);
}
static void bump(const factors *f, float *weights) {
  for (int i = 0; i < 3; i++) {
    log_bump(f->n[i], 0, f->axis[i]);
    const double greatest = f->axis[i][f->n[i] / 2];
    for (int64_t k = 0; k < f->n[i]; k++) f->axis[i][k] -= greatest;
  }
  for_all(f, bump_at, weights);
}

static double nnunet_at(const factors *f, int64_t z, int64_t y, int64_t x) {
  return (double)round_half((float)(10 * product_at(f, z, y, x)));
}
static void nnunet(const factors *f, float *weights) {
  const int64_t n = f->n[0] * f->n[1] * f->n[2];
  float least = 10;
  for (int i = 0; i < 3; i++) log_gaussian(f->n[i], (double)(f->n[i] / 2), f->axis[i]);
  for_all(f, nnunet_at, weights);
  for (int64_t i = 0; i < n; i++) least = weights[i] > 0 && weights[i] < least ? weights[i] : least;
  for (int64_t i = 0; i < n; i++) weights[i] = weights[i] > 0 ? weights[i] : least;
}

/* The bump from 1 to 1e6, or 0 outside the patch. */
static double mapped_bump(const factors *f, int64_t z, int64_t y, int64_t x) {
  const int64_t *n = f->n;
  if (z < 0 || z >= n[0] || y < 0 || y >= n[1] || x < 0 || x >= n[2]) return 0;
  const double least = f->axis[0][0] * f->axis[1][0] * f->axis[2][0];
  const double most = f->axis[0][n[0] / 2] * f->axis[1][n[1] / 2] * f->axis[2][n[2] / 2];
  const double b = f->axis[0][z] * f->axis[1][y] * f->axis[2][x];
  return most > least ? 1 + (b - least) / (most - least) * (1e6 - 1) : 1;
}
static double chunkflow_at(const factors *f, int64_t z, int64_t y, int64_t x) {
  double sum = 0;
  for (int i = 0; i < 27; i++) {
    const int64_t to[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
    sum += mapped_bump(f, z + to[0] * (int64_t)f->step[0], y + to[1] * (int64_t)f->step[1],
                       x + to[2] * (int64_t)f->step[2]);
  }
  return mapped_bump(f, z, y, x) / sum;
}
static void chunkflow(const factors *f, float *weights) {
  for (int i = 0; i < 3; i++) {
    log_bump(f->n[i], 1, f->axis[i]);
    for (int64_t k = 0; k < f->n[i]; k++) f->axis[i][k] = exp(f->axis[i][k]);
  }
  for_all(f, chunkflow_at, weights);
}

void pz_blend_weights(pz_weights kind, const int64_t out[3], const double step[3], double *scratch,
                      float *weights) {
  static void (*const kinds[])(const factors *, float *) = {[PZ_WEIGHTS_CONSTANT] = constant,
                                                            [PZ_WEIGHTS_GAUSSIAN] = gaussian,
                                                            [PZ_WEIGHTS_BUMP] = bump,
                                                            [PZ_WEIGHTS_NNUNET] = nnunet,
                                                            [PZ_WEIGHTS_CHUNKFLOW] = chunkflow};
  const factors f = {{out[0], out[1], out[2]}, {scratch, scratch + out[0], scratch + out[0] + out[1]}, step};
  kinds[kind](&f, weights);
}

/* ------------------------------------------------------------------ sums */

/* The check rides along with what is in the registers. */
WIDE static bool add_float(float *restrict sum, const float *restrict weight, const float *restrict value,
                           int64_t n) {
  int lost = 0;
  for (int64_t i = 0; i < n; i++) sum[i] += weight[i] * value[i], lost |= !PZ_IS_FINITE(value[i]);
  return !lost;
}
WIDE static bool add_double(double *restrict sum, const float *restrict weight, const float *restrict value,
                            int64_t n) {
  int lost = 0;
  for (int64_t i = 0; i < n; i++) {
    sum[i] += (double)weight[i] * (double)value[i];
    lost |= !PZ_IS_FINITE(value[i]);
  }
  return !lost;
}
WIDE static bool add_half(float *restrict sum, const float *restrict weight, const float *restrict value,
                          int64_t n) {
  int lost = 0;
  for (int64_t i = 0; i < n; i++) {
    sum[i] = round_half(sum[i] + weight[i] * value[i]);
    lost |= !PZ_IS_FINITE(value[i]);
  }
  return !lost;
}

bool pz_blend_add(pz_sum kind, void *sum, int64_t at, const float *weight, const float *value, int64_t n) {
  if (kind == PZ_SUM_DOUBLE) return add_double((double *)sum + at, weight, value, n);
  if (kind == PZ_SUM_HALF) return add_half((float *)sum + at, weight, value, n);
  return add_float((float *)sum + at, weight, value, n);
}

WIDE static void add_weights(pz_sum kind, double *restrict sum, const float *restrict weight, int64_t n) {
  if (kind == PZ_SUM_HALF)
    for (int64_t i = 0; i < n; i++) sum[i] = (double)round_half((float)sum[i] + weight[i]);
  else
    for (int64_t i = 0; i < n; i++) sum[i] += (double)weight[i];
}

WIDE static void invert(double *v, int64_t n) {
  for (int64_t i = 0; i < n; i++) v[i] = 1 / v[i];
}

void pz_blend_inverse(pz_sum kind, const pz_grid *grid, const float *weights, int64_t z, int64_t y,
                      double *inverse) {
  const pz_axis *az = &grid->axis[0], *ay = &grid->axis[1], *ax = &grid->axis[2];
  const int64_t n = ax->result;
  int64_t last_z, last_y;
  const int64_t first_z = pz_axis_covering(az, z, &last_z), first_y = pz_axis_covering(ay, y, &last_y);
  memset(inverse, 0, (size_t)n * sizeof *inverse);
  for (int64_t kz = first_z; kz <= last_z; kz++)
    for (int64_t ky = first_y; ky <= last_y; ky++) {
      const float *row =
          weights + ((z - pz_axis_start(az, kz)) * ay->out + y - pz_axis_start(ay, ky)) * ax->out;
      for (int64_t kx = 0; kx < ax->count; kx++) {
        const int64_t begin = pz_axis_begin(ax, kx);
        add_weights(kind, inverse + begin, row + begin - pz_axis_start(ax, kx), pz_axis_end(ax, kx) - begin);
      }
    }
  invert(inverse, n);
}

/* ------------------------------------------------------------------ storing */

/* Probabilities times the greatest integer, rounded; not-a-number gives 0, since the first comparison is then false. */
static inline double to_integer(double v, double greatest) {
  v = v * greatest + 0.5;
  v = v > 0 ? v : 0;
  return v < greatest ? v : greatest;
}
static inline uint8_t to_u8(double v) { return (uint8_t)to_integer(v, 255); }
static inline uint16_t to_u16(double v) { return (uint16_t)to_integer(v, 65535); }

/* The bits of the nearest half, of two the even one; what is finite stays so. */
#define HALF_GREATEST 65504.0f
#define HALF_BEYOND   65520.0f /* from here on the nearest half would be infinite */
static inline uint16_t to_f16(float v) {
  union {
    float f;
    uint32_t u;
  } half, magnitude;
  half.f = round_half(v);
  magnitude.u = half.u & 0x7fffffffu;
  const uint32_t sign = half.u >> 16 & 0x8000u;
  const bool is_number = magnitude.u < 0x7f800000u, is_small = magnitude.u < 0x38800000u;
  const float held = magnitude.f < HALF_GREATEST ? magnitude.f : HALF_GREATEST;
  const uint32_t lost = magnitude.u == 0x7f800000u ? 0x7c00u : 0x7e00u,
                 small = (uint32_t)(int32_t)((is_small ? held : 0) * 0x1p24f);
  magnitude.f = held;
  const uint32_t normal = (magnitude.u - (112u << 23)) >> 13;
  return (uint16_t)(sign | (!is_number ? lost : is_small ? small : normal));
}

/* STORED: what is made of a value, the sum times its inverse weight. */
#define DEFINE_STORE(NAME, KIND, T, OUT, STORED)                                                             \
  WIDE static void store_##NAME##_##KIND(const pz_blend_row *r) {                                            \
    for (int64_t c = 0; c < r->channels; c++) {                                                              \
      T *restrict sum = (T *)r->sum + c * r->stride;                                                         \
      OUT *restrict out = (OUT *)r->out + c * r->out_stride;                                                 \
      const double *restrict inverse = r->inverse;                                                           \
      for (int64_t i = 0; i < r->n; i++) {                                                                   \
        const double value = (double)sum[i] * inverse[i];                                                    \
        out[i] = STORED, sum[i] = 0;                                                                         \
      }                                                                                                      \
    }                                                                                                        \
  }

/* The same loops for the three kinds of sums. FINISH: the value that is stored. */
#define DEFINE_STORES(KIND, T, FINISH)                                                                       \
  DEFINE_STORE(f32, KIND, T, float, FINISH((float)value))                                                    \
  DEFINE_STORE(u8, KIND, T, uint8_t, to_u8(FINISH(value)))                                                   \
  DEFINE_STORE(u16, KIND, T, uint16_t, to_u16(FINISH(value)))                                                \
  DEFINE_STORE(f16, KIND, T, uint16_t, to_f16(FINISH((float)value)))                                         \
  /* The index of the greatest channel, the first of equals. */                                              \
  WIDE static void store_argmax_##KIND(const pz_blend_row *r) {                                              \
    uint8_t *restrict out = r->out;                                                                          \
    float *restrict best = r->best;                                                                          \
    for (int64_t i = 0; i < r->n; i++) best[i] = -INFINITY;                                                  \
    memset(out, 0, (size_t)r->n);                                                                            \
    for (int64_t c = 0; c < r->channels; c++) {                                                              \
      T *restrict sum = (T *)r->sum + c * r->stride;                                                         \
      for (int64_t i = 0; i < r->n; i++) {                                                                   \
        const float v = FINISH((float)((double)sum[i] * r->inverse[i]));                                     \
        out[i] = v > best[i] ? (uint8_t)c : out[i];                                                          \
        best[i] = v > best[i] ? v : best[i];                                                                 \
        sum[i] = 0;                                                                                          \
      }                                                                                                      \
    }                                                                                                        \
  }                                                                                                          \
  /* Not-a-number is not above. */                                                                           \
  WIDE static void store_threshold_##KIND(const pz_blend_row *r) {                                           \
    const float threshold = r->threshold;                                                                    \
    for (int64_t c = 0; c < r->channels; c++) {                                                              \
      T *restrict sum = (T *)r->sum + c * r->stride;                                                         \
      uint8_t *restrict out = (uint8_t *)r->out + c * r->out_stride;                                         \
      const double *restrict inverse = r->inverse;                                                           \
      for (int64_t i = 0; i < r->n; i++)                                                                     \
        out[i] = FINISH((float)((double)sum[i] * inverse[i])) > threshold, sum[i] = 0;                       \
    }                                                                                                        \
  }                                                                                                          \
  WIDE static bool finite_##KIND(const T *restrict sum, const double *restrict inverse, int64_t n) {         \
    int lost = 0;                                                                                            \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const float v = FINISH((float)((double)sum[i] * inverse[i]));                                          \
      lost |= !PZ_IS_FINITE(v);                                                                              \
    }                                                                                                        \
    return !lost;                                                                                            \
  }                                                                                                          \
  static void tally_finite_##KIND(const pz_blend_row *r, pz_blend_tally *t) {                                \
    for (int64_t c = 0; c < r->channels; c++) {                                                              \
      const T *sum = (const T *)r->sum + c * r->stride;                                                      \
      if (finite_##KIND(sum, r->inverse, r->n)) continue;                                                    \
      for (int64_t i = 0; i < r->n; i++) {                                                                   \
        const float v = FINISH((float)((double)sum[i] * r->inverse[i]));                                     \
        if (PZ_IS_FINITE(v)) continue;                                                                       \
        if (t->first < 0) t->first = c * r->n + i;                                                           \
        t->not_finite++;                                                                                     \
      }                                                                                                      \
    }                                                                                                        \
  }                                                                                                          \
  /* Not-a-numbers and infinities are counted above. */                                                      \
  WIDE static int64_t clipped_##KIND(const T *restrict sum, const double *restrict inverse, int64_t n,       \
                                     double greatest) {                                                      \
    int64_t clipped = 0;                                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const double v = FINISH((double)sum[i] * inverse[i]) * greatest + 0.5;                                 \
      clipped += ((v < 0) | (v >= greatest + 1)) & PZ_IS_FINITE(v);                                          \
    }                                                                                                        \
    return clipped;                                                                                          \
  }                                                                                                          \
  /* Whether all values surely are stored unclipped: those nearer to 0.5 than `near`. */                     \
  WIDE static bool inside_##KIND(const T *restrict sum, const double *restrict inverse, int64_t n,           \
                                 float near) {                                                               \
    int outside = 0;                                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const float v = FINISH((float)((double)sum[i] * inverse[i]));                                          \
      outside |= !(fabsf(v - 0.5f) < near);                                                                  \
    }                                                                                                        \
    return !outside;                                                                                         \
  }                                                                                                          \
  WIDE static int64_t beyond_##KIND(const T *restrict sum, const double *restrict inverse, int64_t n) {      \
    int64_t beyond = 0;                                                                                      \
    for (int64_t i = 0; i < n; i++) {                                                                        \
      const float v = FINISH((float)((double)sum[i] * inverse[i]));                                          \
      beyond += (fabsf(v) >= HALF_BEYOND) & PZ_IS_FINITE(v);                                                 \
    }                                                                                                        \
    return beyond;                                                                                           \
  }                                                                                                          \
  static void tally_clipped_##KIND(pz_store store, const pz_blend_row *r, pz_blend_tally *t) {               \
    const double greatest = store == PZ_STORE_U8 ? 255 : 65535;                                              \
    const float near = store == PZ_STORE_U8 ? 0.50196f : 0.500007f; /* below 0.5 + 0.5 / greatest */         \
    for (int64_t c = 0; c < r->channels; c++) {                                                              \
      const T *sum = (const T *)r->sum + c * r->stride;                                                      \
      if (store == PZ_STORE_F16) t->clipped += beyond_##KIND(sum, r->inverse, r->n);                         \
      else if (!inside_##KIND(sum, r->inverse, r->n, near))                                                  \
        t->clipped += clipped_##KIND(sum, r->inverse, r->n, greatest);                                       \
    }                                                                                                        \
  }

#define AS_IT_IS(v) (v)
#define TO_HALF(v)  round_half((float)(v))
DEFINE_STORES(float, float, AS_IT_IS)
DEFINE_STORES(double, double, AS_IT_IS)
DEFINE_STORES(half, float, TO_HALF)

/* Apart, since gcc makes what chooses among the clones of a function as visible as can be. */
WIDE static void round_halves(float *restrict sum, const double *restrict inverse, int64_t n) {
  for (int64_t i = 0; i < n; i++) sum[i] = round_half((float)((double)sum[i] * inverse[i]));
}
void pz_blend_round_half(float *restrict sum, const double *restrict inverse, int64_t n) {
  round_halves(sum, inverse, n);
}

void pz_blend_store(pz_store store, const pz_blend_row *row) {
  static void (*const stores[][3])(const pz_blend_row *) = {
      [PZ_STORE_F32] = {store_f32_float, store_f32_double, store_f32_half},
      [PZ_STORE_U8] = {store_u8_float, store_u8_double, store_u8_half},
      [PZ_STORE_ARGMAX] = {store_argmax_float, store_argmax_double, store_argmax_half},
      [PZ_STORE_THRESHOLD] = {store_threshold_float, store_threshold_double, store_threshold_half},
      [PZ_STORE_U16] = {store_u16_float, store_u16_double, store_u16_half},
      [PZ_STORE_F16] = {store_f16_float, store_f16_double, store_f16_half}};
  stores[store][row->kind](row);
}

void pz_blend_count_not_finite(const pz_blend_row *row, pz_blend_tally *tally) {
  static void (*const tallies[])(const pz_blend_row *, pz_blend_tally *) = {
      tally_finite_float, tally_finite_double, tally_finite_half};
  tallies[row->kind](row, tally);
}

void pz_blend_count_clipped(pz_store store, const pz_blend_row *row, pz_blend_tally *tally) {
  static void (*const tallies[])(pz_store, const pz_blend_row *, pz_blend_tally *) = {
      tally_clipped_float, tally_clipped_double, tally_clipped_half};
  if (store == PZ_STORE_U8 || store == PZ_STORE_U16 || store == PZ_STORE_F16)
    tallies[row->kind](store, row, tally);
}
