#include "volume/blend.h"

#include <math.h>
#include <string.h>

#define GAUSSIAN_FLOOR 1e-3
#define BUMP_FLOOR     1e-30

/* Logarithms, so that a product over axes does not underflow before its floor. */
static void log_constant(int64_t n, double *w) { memset(w, 0, (size_t)n * sizeof *w); }

static void log_gaussian(int64_t n, double *w) {
  const double sigma = (double)n / 8, centre = (double)(n - 1) / 2;
  for (int64_t i = 0; i < n; i++) w[i] = -((double)i - centre) * ((double)i - centre) / (2 * sigma * sigma);
}

static void log_bump(int64_t n, double *w) {
  for (int64_t i = 0; i < n; i++) {
    const double t = (double)(2 * i + 1) / (double)n - 1;
    w[i] = -1 / (1 - t * t);
  }
}

static const struct {
  void (*log_weight)(int64_t n, double *w);
  double floor;
} blends[] = {[PZ_BLEND_CONSTANT] = {log_constant, 1},
              [PZ_BLEND_GAUSSIAN] = {log_gaussian, GAUSSIAN_FLOOR},
              [PZ_BLEND_BUMP] = {log_bump, BUMP_FLOOR}};

/* Relative to its greatest, which is in the middle. */
static void axis_weights(pz_blend blend, int64_t n, double *w) {
  blends[blend].log_weight(n, w);
  const double greatest = w[n / 2];
  for (int64_t i = 0; i < n; i++) w[i] -= greatest;
}

void pz_blend_weights(pz_blend blend, const int64_t out[3], double *scratch, float *weights) {
  double *wz = scratch, *wy = wz + out[0], *wx = wy + out[1];
  const double floor = blends[blend].floor;
  axis_weights(blend, out[0], wz);
  axis_weights(blend, out[1], wy);
  axis_weights(blend, out[2], wx);
  for (int64_t z = 0; z < out[0]; z++)
    for (int64_t y = 0; y < out[1]; y++)
      for (int64_t x = 0; x < out[2]; x++) {
        const double w = exp(wz[z] + wy[y] + wx[x]);
        *weights++ = (float)(w > floor ? w : floor);
      }
}

void pz_blend_add_f32(float *restrict sum, const float *restrict weight, const float *restrict value,
                      int64_t n) {
  for (int64_t i = 0; i < n; i++) sum[i] += weight[i] * value[i];
}

void pz_blend_add_f64(double *restrict sum, const float *restrict weight, const float *restrict value,
                      int64_t n) {
  for (int64_t i = 0; i < n; i++) sum[i] += (double)weight[i] * (double)value[i];
}

static void add_weights(double *restrict sum, const float *restrict weight, int64_t n) {
  for (int64_t i = 0; i < n; i++) sum[i] += (double)weight[i];
}

void pz_blend_inverse(const pz_grid *grid, const float *weights, int64_t z, int64_t y, double *inverse) {
  const pz_axis *az = &grid->axis[0], *ay = &grid->axis[1], *ax = &grid->axis[2];
  const int64_t n = ax->size, wide = pz_axis_inside(ax);
  int64_t last_z, last_y;
  const int64_t first_z = pz_axis_covering(az, z, &last_z), first_y = pz_axis_covering(ay, y, &last_y);
  memset(inverse, 0, (size_t)n * sizeof *inverse);
  for (int64_t kz = first_z; kz <= last_z; kz++)
    for (int64_t ky = first_y; ky <= last_y; ky++) {
      const float *row =
          weights + ((z - pz_axis_start(az, kz)) * ay->out + y - pz_axis_start(ay, ky)) * ax->out;
      for (int64_t kx = 0; kx < ax->count; kx++) add_weights(inverse + pz_axis_start(ax, kx), row, wide);
    }
  for (int64_t i = 0; i < n; i++) inverse[i] = 1 / inverse[i];
}

/* ------------------------------------------------------------------ storing */

/* Probabilities times 255, rounded; not-a-number gives 0, since both comparisons are then false. */
static inline uint8_t to_u8(double v) {
  v = v * 255 + 0.5;
  v = v > 0 ? v : 0;
  return (uint8_t)(v < 255 ? v : 255);
}

/* The same loops for sums in float and in double. */
#define DEFINE_STORES(T)                                                                                          \
  static void store_f32_##T(const pz_blend_row *r) {                                                              \
    for (int64_t c = 0; c < r->channels; c++) {                                                                   \
      T *restrict sum = (T *)r->sum + c * r->stride;                                                              \
      float *restrict out = (float *)r->out + c * r->out_stride;                                                  \
      const double *restrict inverse = r->inverse;                                                                \
      for (int64_t i = 0; i < r->n; i++) out[i] = (float)((double)sum[i] * inverse[i]), sum[i] = 0;               \
    }                                                                                                             \
  }                                                                                                               \
  static void store_u8_##T(const pz_blend_row *r) {                                                               \
    for (int64_t c = 0; c < r->channels; c++) {                                                                   \
      T *restrict sum = (T *)r->sum + c * r->stride;                                                              \
      uint8_t *restrict out = (uint8_t *)r->out + c * r->out_stride;                                              \
      const double *restrict inverse = r->inverse;                                                                \
      for (int64_t i = 0; i < r->n; i++) out[i] = to_u8((double)sum[i] * inverse[i]), sum[i] = 0;                 \
    }                                                                                                             \
  }                                                                                                               \
  /* The index of the greatest channel, the first of equals.                                                    \
   */ \
  static void store_argmax_##T(const pz_blend_row *r) {                                                           \
    uint8_t *restrict out = r->out;                                                                               \
    float *restrict best = r->best;                                                                               \
    for (int64_t i = 0; i < r->n; i++) best[i] = -INFINITY;                                                       \
    memset(out, 0, (size_t)r->n);                                                                                 \
    for (int64_t c = 0; c < r->channels; c++) {                                                                   \
      T *restrict sum = (T *)r->sum + c * r->stride;                                                              \
      for (int64_t i = 0; i < r->n; i++) {                                                                        \
        const float v = (float)((double)sum[i] * r->inverse[i]);                                                  \
        out[i] = v > best[i] ? (uint8_t)c : out[i];                                                               \
        best[i] = v > best[i] ? v : best[i];                                                                      \
        sum[i] = 0;                                                                                               \
      }                                                                                                           \
    }                                                                                                             \
  }

DEFINE_STORES(float)
DEFINE_STORES(double)

void pz_blend_store(pz_store store, const pz_blend_row *row) {
  static void (*const stores[][2])(const pz_blend_row *) = {
      [PZ_STORE_F32] = {store_f32_float, store_f32_double},
      [PZ_STORE_U8] = {store_u8_float, store_u8_double},
      [PZ_STORE_ARGMAX] = {store_argmax_float, store_argmax_double}};
  stores[store][row->wide](row);
}
