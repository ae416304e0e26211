#include "volume/normalize.h"

#include "formats/convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

static float value_at(pz_dtype dtype, const char *data, int64_t at) {
  float value;
  pz_convert(dtype, data + at * pz_dtype_bytes(dtype), 1, 0, 1, &value);
  return value;
}

pz_status pz_planes_mend(const pz_volume *v, pz_nan nan, int64_t z, int64_t n, void *planes,
                         int64_t channel_bytes, pz_error *err) {
  if (pz_dtype_kind(v->info.dtype) != 'f' || nan == PZ_NAN_PROPAGATE) return PZ_OK;
  const int64_t count = n * v->info.shape[1] * v->info.shape[2];
  for (int64_t c = 0; c < v->info.channels; c++) {
    char *data = (char *)planes + c * channel_bytes;
    if (nan == PZ_NAN_ZERO) {
      pz_zero_not_finite(v->info.dtype, data, count);
      continue;
    }
    const int64_t at = pz_find_not_finite(v->info.dtype, data, count);
    if (at >= 0) return name_voxel(v, c, z, at, value_at(v->info.dtype, data, at), err);
  }
  return PZ_OK;
}

void pz_planes_count_rounded(const pz_volume *v, int64_t z, int64_t n, const void *planes,
                             int64_t channel_bytes, pz_rounding *r) {
  const pz_dtype dtype = v->info.dtype;
  const int64_t x = v->info.shape[2], plane = v->info.shape[1] * x;
  for (int32_t c = 0; c < v->info.channels; c++) {
    const char *data = (const char *)planes + c * channel_bytes;
    int64_t at;
    const int64_t count = pz_count_rounded(dtype, data, n * plane, &at);
    if (count && !r->values) {
      const int64_t first[4] = {c, z + at / plane, at % plane / x, at % x};
      memcpy(r->first, first, sizeof first);
      pz_describe_rounded(dtype, data + at * pz_dtype_bytes(dtype), r->example, sizeof r->example);
    }
    r->values += count;
  }
}

/* A network that takes no floats takes the volume's elements as they are. */
static pz_status as_it_is(pz_normalize wanted, const pz_volume *v, pz_dtype taken, pz_error *err) {
  if (v->info.dtype != taken)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: is %s, the network takes %s; convert the volume, or compile the network for f32",
                   v->path, pz_dtype_name(v->info.dtype), pz_dtype_name(taken));
  if (wanted == PZ_NORMALIZE_AUTO || wanted == PZ_NORMALIZE_NONE) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "the network takes %s as it is: it goes with --normalize none, or is compiled for f32",
                 pz_dtype_name(taken));
}

pz_status pz_normalize_choose(pz_normalize wanted, bool divided, const pz_volume *v, pz_dtype taken,
                              pz_normalize *chosen, pz_error *err) {
  const pz_dtype dtype = v->info.dtype;
  if (taken != PZ_F32) return *chosen = PZ_NORMALIZE_NONE, as_it_is(wanted, v, taken, err);
  *chosen = wanted;
  if (wanted == PZ_NORMALIZE_AUTO) {
    const bool unit = divided ? pz_dtype_kind(dtype) == 'u' || pz_dtype_kind(dtype) == 'i' : dtype == PZ_U8;
    *chosen = unit ? PZ_NORMALIZE_UNIT : PZ_NORMALIZE_NONE;
    return PZ_OK;
  }
  /* The values of other integers fill no known part of their type, and floats may be in 0..1 already. */
  if (*chosen != PZ_NORMALIZE_UNIT || dtype == PZ_U8 || dtype == PZ_U16 || dtype == PZ_BOOL) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "%s: normalising to 0..1 needs u8, u16 or bool, this is %s; use zscore or none", v->path,
                 pz_dtype_name(dtype));
}

/* What --nan zero replaces is left out of the moments, as what --nan propagate hands on is. */
static pz_nan mending(pz_nan nan) { return nan == PZ_NAN_ERROR ? PZ_NAN_ERROR : PZ_NAN_PROPAGATE; }

static pz_status whole_volume(pz_volume *v, pz_window *s, pz_moments *moments, int64_t portion,
                              pz_normalize_step step, void *host, pz_error *err) {
  const int64_t channel = pz_window_channel_bytes(s), plane = v->info.shape[1] * v->info.shape[2];
  if (portion > s->layout->ring) portion = s->layout->ring;
  for (int64_t z = 0; z < v->info.shape[0]; z += portion) {
    const int64_t n = portion < v->info.shape[0] - z ? portion : v->info.shape[0] - z;
    if (!step(host, z)) return pz_fail(err, PZ_INTERRUPTED, "interrupted while measuring mean and deviation");
    PZ_TRY(pz_volume_read_planes(v, z, n, s->ring, channel, err));
    PZ_TRY(pz_planes_mend(v, mending(s->options->nan), z, n, s->ring, channel, err));
    /* Plane by plane, so that the size of a portion does not change the bits. */
    for (int64_t i = 0; i < n; i++)
      for (int64_t c = 0; c < v->info.channels; c++)
        pz_moments_add(&moments[c], v->info.dtype,
                       s->ring + c * channel + i * plane * pz_dtype_bytes(v->info.dtype), plane);
  }
  return PZ_OK;
}

static pz_status use_moments(const pz_volume *v, const pz_moments *m, double *shift, double *scale,
                             pz_error *err) {
  const double deviation = m->n > 0 ? sqrt(m->m2 / m->n) : 0;
  if (!isfinite(m->mean) || !isfinite(deviation))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: its values are too large for a z-score; use another --normalize",
                   v->path);
  *shift = m->mean;
  *scale = (pz_dtype_rounded(v->info.dtype) ? deviation : (double)(float)deviation) > 0 ? deviation : 1;
  return PZ_OK;
}

pz_status pz_normalize_prepare(pz_normalize normalize, pz_volume *v, pz_window *s, int64_t portion,
                               pz_normalize_step step, void *host, pz_error *err) {
  const int32_t channels = v->info.channels;
  for (int32_t c = 0; c < channels; c++)
    s->scale[c] = normalize == PZ_NORMALIZE_UNIT ? pz_dtype_greatest(v->info.dtype) : 1;
  if (normalize != PZ_NORMALIZE_ZSCORE) return PZ_OK;
  pz_moments *moments = PZ_NEW(s->arena, pz_moments, channels);
  if (!moments) return pz_fail_memory(err, "statistics", (unsigned long long)channels * sizeof *moments);
  PZ_TRY(whole_volume(v, s, moments, portion, step, host, err));
  for (int32_t c = 0; c < channels; c++) PZ_TRY(use_moments(v, &moments[c], &s->shift[c], &s->scale[c], err));
  return PZ_OK;
}
