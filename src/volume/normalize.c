#include "volume/normalize.h"

#include "volume/convert.h"

#include <math.h>
#include <stdio.h>

static pz_status name_voxel(const pz_volume *v, int64_t channel, int64_t z, int64_t at, float value,
                            pz_error *err) {
  const int64_t *shape = v->info.shape, y = at / shape[2] % shape[1];
  char where[64] = "";
  if (v->info.has_channels) snprintf(where, sizeof where, "channel %lld, ", (long long)channel);
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: %s at %sz = %lld, y = %lld, x = %lld; use --nan zero or --nan propagate", v->path,
                 pz_not_finite_name(value), where, (long long)(z + at / (shape[1] * shape[2])), (long long)y,
                 (long long)(at % shape[2]));
}

const char *pz_not_finite_name(float value) {
  return isnan(value) ? "not a number" : value > 0 ? "infinity" : "minus infinity";
}

pz_status pz_planes_mend(const pz_volume *v, pz_nan nan, int64_t z, int64_t n, void *planes,
                         int64_t channel_bytes, pz_error *err) {
  if (v->info.dtype != PZ_F32 || nan == PZ_NAN_PROPAGATE) return PZ_OK;
  const int64_t count = n * v->info.shape[1] * v->info.shape[2];
  for (int64_t c = 0; c < v->info.channels; c++) {
    float *data = (float *)((char *)planes + c * channel_bytes);
    if (nan == PZ_NAN_ZERO) {
      pz_zero_not_finite(data, count);
      continue;
    }
    const int64_t at = pz_find_not_finite(data, count);
    if (at >= 0) return name_voxel(v, c, z, at, data[at], err);
  }
  return PZ_OK;
}

pz_status pz_normalize_choose(pz_normalize wanted, bool divided, const pz_volume *v, pz_normalize *chosen,
                              pz_error *err) {
  const pz_dtype dtype = v->info.dtype;
  *chosen = wanted;
  if (wanted == PZ_NORMALIZE_AUTO) {
    const bool unit = divided ? dtype != PZ_F32 : dtype == PZ_U8;
    *chosen = unit ? PZ_NORMALIZE_UNIT : PZ_NORMALIZE_NONE;
    return PZ_OK;
  }
  if (*chosen != PZ_NORMALIZE_UNIT || dtype == PZ_U8 || dtype == PZ_U16) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "%s: normalising to 0..1 needs u8 or u16, this is %s; use zscore or none", v->path,
                 pz_dtype_name(dtype));
}

/* What --nan zero replaces is left out of the moments, as what --nan propagate hands on is. */
static pz_nan mending(pz_nan nan) { return nan == PZ_NAN_ERROR ? PZ_NAN_ERROR : PZ_NAN_PROPAGATE; }

static pz_status whole_volume(pz_volume *v, pz_slab *s, pz_moments *moments, int64_t portion,
                              pz_normalize_step step, void *host, pz_error *err) {
  const int64_t channel = pz_slab_channel_bytes(s), plane = v->info.shape[1] * v->info.shape[2];
  if (portion > s->plan->ring) portion = s->plan->ring;
  for (int64_t z = 0; z < v->info.shape[0]; z += portion) {
    const int64_t n = portion < v->info.shape[0] - z ? portion : v->info.shape[0] - z;
    if (!step(host, z)) return pz_fail(err, PZ_INTERRUPTED, "interrupted while measuring mean and deviation");
    PZ_TRY(pz_volume_read(v, z, n, s->ring, channel, err));
    PZ_TRY(pz_planes_mend(v, mending(s->options->nan), z, n, s->ring, channel, err));
    /* Plane by plane, so that the size of a portion does not change the bits. */
    for (int64_t i = 0; i < n; i++)
      for (int64_t c = 0; c < v->info.channels; c++)
        pz_moments_add(&moments[c], v->info.dtype,
                       s->ring + c * channel + i * plane * pz_dtype_bytes(v->info.dtype), plane);
  }
  return PZ_OK;
}

/* Of finite floats mean and deviation are below the greatest float, and their squares below the greatest double. */
static void use_moments(const pz_moments *m, float *shift, float *scale) {
  const double deviation = m->n > 0 ? sqrt(m->m2 / m->n) : 0;
  *shift = (float)m->mean;
  *scale = (float)deviation > 0 ? (float)deviation : 1;
}

pz_status pz_normalize_prepare(pz_normalize normalize, pz_volume *v, pz_slab *s, int64_t portion,
                               pz_normalize_step step, void *host, pz_error *err) {
  static const float greatest[] = {[PZ_F32] = 1, [PZ_U8] = 255, [PZ_U16] = 65535, [PZ_I16] = 32767};
  const int32_t channels = v->info.channels;
  for (int32_t c = 0; c < channels; c++)
    s->scale[c] = normalize == PZ_NORMALIZE_UNIT ? greatest[v->info.dtype] : 1;
  if (normalize != PZ_NORMALIZE_ZSCORE) return PZ_OK;
  pz_moments *moments = PZ_NEW(s->arena, pz_moments, channels);
  if (!moments) return pz_fail_memory(err, "statistics", (unsigned long long)channels * sizeof *moments);
  PZ_TRY(whole_volume(v, s, moments, portion, step, host, err));
  for (int32_t c = 0; c < channels; c++) use_moments(&moments[c], &s->shift[c], &s->scale[c]);
  return PZ_OK;
}
