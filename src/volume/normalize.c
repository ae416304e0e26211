#include "volume/normalize.h"

#include "formats/convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static pz_status name_voxel(const pz_volume *v, int64_t channel, const pz_box *box, int64_t at, float value,
                            pz_error *err) {
  const int64_t *n = box->size, *start = box->start;
  char where[64] = "";
  if (v->info.has_channels) snprintf(where, sizeof where, "channel %lld, ", (long long)channel);
  return pz_fail(err, PZ_ERROR_INPUT,
                 "%s: %s at %sz = %lld, y = %lld, x = %lld; use --nan zero or --nan propagate", v->path,
                 pz_not_finite_name(value), where, (long long)(start[0] + at / (n[1] * n[2])),
                 (long long)(start[1] + at / n[2] % n[1]), (long long)(start[2] + at % n[2]));
}

const char *pz_not_finite_name(float value) {
  return isnan(value) ? "not a number" : value > 0 ? "infinity" : "minus infinity";
}

static float value_at(pz_dtype dtype, const char *data, int64_t at) {
  float value;
  pz_convert(dtype, data + at * pz_dtype_bytes(dtype), 1, 0, 1, &value);
  return value;
}

pz_status pz_box_mend(const pz_volume *v, pz_nan nan, const pz_box *box, void *voxels, int64_t channel_bytes,
                      pz_error *err) {
  if (pz_dtype_kind(v->info.dtype) != 'f' || nan == PZ_NAN_PROPAGATE) return PZ_OK;
  const int64_t count = box->size[0] * box->size[1] * box->size[2];
  for (int64_t c = 0; c < v->info.channels; c++) {
    char *data = (char *)voxels + c * channel_bytes;
    if (nan == PZ_NAN_ZERO) {
      pz_zero_not_finite(v->info.dtype, data, count);
      continue;
    }
    const int64_t at = pz_find_not_finite(v->info.dtype, data, count);
    if (at >= 0) return name_voxel(v, c, box, at, value_at(v->info.dtype, data, at), err);
  }
  return PZ_OK;
}

/* The part of an axis of the box that is in `own`, counted from the box's first voxel. */
static int64_t own_part(const pz_box *box, const pz_box *own, int i, int64_t *end) {
  const int64_t begin = own->start[i] - box->start[i], stop = begin + own->size[i];
  *end = stop < box->size[i] ? stop : box->size[i];
  return begin > 0 ? begin : 0;
}

void pz_box_count_rounded(const pz_volume *v, const pz_box *box, const pz_box *own, const void *voxels,
                          int64_t channel_bytes, pz_rounding *r) {
  const pz_dtype dtype = v->info.dtype;
  int64_t begin[3], end[3];
  for (int i = 0; i < 3; i++) begin[i] = own_part(box, own, i, &end[i]);
  for (int32_t c = 0; c < v->info.channels; c++)
    for (int64_t z = begin[0]; z < end[0]; z++)
      for (int64_t y = begin[1]; y < end[1] && begin[2] < end[2]; y++) {
        const int64_t first = (z * box->size[1] + y) * box->size[2] + begin[2];
        const char *row = (const char *)voxels + c * channel_bytes + first * pz_dtype_bytes(dtype);
        int64_t at;
        const int64_t count = pz_count_rounded(dtype, row, end[2] - begin[2], &at);
        if (count && !r->values) {
          const int64_t voxel[4] = {c, box->start[0] + z, box->start[1] + y, box->start[2] + begin[2] + at};
          memcpy(r->first, voxel, sizeof voxel);
          pz_describe_rounded(dtype, row + at * pz_dtype_bytes(dtype), r->example, sizeof r->example);
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

/* Boxes of whole rows that the window's memory holds: whole steps of the volume where they fit, so that chunks are decoded once. */
static void choose_portion(const pz_volume *v, const pz_window *s, int64_t portion[2]) {
  const pz_box *view = &s->layout->view;
  const int64_t row = view->size[2] * v->info.channels * pz_dtype_bytes(v->info.dtype);
  int64_t room = s->layout->bytes.input / row;
  const int64_t copied = (s->layout->bytes.reader - v->memory) / row; /* that a callback may have */
  if (v->calls && room > copied) room = copied > 0 ? copied : 1;
  int64_t z = v->step[0] < view->size[0] ? v->step[0] : view->size[0];
  if (z > room) z = room;
  int64_t y = room / z;
  if (y > v->step[1]) y = y / v->step[1] * v->step[1];
  portion[0] = z > 0 ? z : 1, portion[1] = y < 1 ? 1 : y < view->size[1] ? y : view->size[1];
  if (portion[1] < view->size[1]) return;
  z = room / view->size[1]; /* several steps of whole planes, about as much as a run reads at once */
  const int64_t most = PZ_PORTION / (row * view->size[1]);
  if (z > most) z = most;
  if (z > portion[0]) portion[0] = z / v->step[0] * v->step[0] > 0 ? z / v->step[0] * v->step[0] : portion[0];
}

/* A row to the moments of its plane. `planes`: [channels][planes of a portion]. */
static void add_rows(const pz_volume *v, const pz_window *s, const pz_box *box, int64_t channel_bytes,
                     int64_t portion, pz_moments *planes) {
  const int64_t n = box->size[2], bytes = pz_dtype_bytes(v->info.dtype);
  for (int64_t c = 0; c < v->info.channels; c++)
    for (int64_t z = 0; z < box->size[0]; z++)
      for (int64_t y = 0; y < box->size[1]; y++)
        pz_moments_add(&planes[c * portion + z], v->info.dtype,
                       s->ring + c * channel_bytes + (z * box->size[1] + y) * n * bytes, n);
}

static pz_status read_for_statistics(pz_volume *v, pz_window *s, const pz_box *box, int64_t channel_bytes,
                                     pz_error *err) {
  const int64_t row = box->size[2] * pz_dtype_bytes(v->info.dtype);
  const int64_t stride[3] = {channel_bytes, box->size[1] * row, row};
  PZ_TRY(pz_volume_read(v, box, s->ring, stride, err));
  return pz_box_mend(v, mending(s->options->nan), box, s->ring, channel_bytes, err);
}

static pz_status whole_view(pz_volume *v, pz_window *s, pz_moments *moments, pz_normalize_step step,
                            void *host, pz_error *err) {
  const pz_box *view = &s->layout->view;
  const int64_t end[2] = {view->start[0] + view->size[0], view->start[1] + view->size[1]};
  int64_t portion[2];
  choose_portion(v, s, portion);
  const size_t n = (size_t)(v->info.channels * portion[0]);
  pz_moments *planes = PZ_NEW(s->arena, pz_moments, n);
  if (!planes) return pz_fail_memory(err, "statistics", (unsigned long long)n * sizeof *planes);
  pz_box box = *view;
  for (int64_t z = view->start[0]; z < end[0]; z += box.size[0]) {
    const int64_t left = portion[0] - z % portion[0]; /* steps begin at multiples in the volume */
    box.start[0] = z, box.size[0] = left < end[0] - z ? left : end[0] - z;
    memset(planes, 0, n * sizeof *planes);
    for (int64_t y = view->start[1]; y < end[1]; y += box.size[1]) {
      if (!step(host, z - view->start[0]))
        return pz_fail(err, PZ_INTERRUPTED, "interrupted while measuring mean and deviation");
      box.start[1] = y, box.size[1] = portion[1] < end[1] - y ? portion[1] : end[1] - y;
      const int64_t channel = box.size[0] * box.size[1] * box.size[2] * pz_dtype_bytes(v->info.dtype);
      PZ_TRY(read_for_statistics(v, s, &box, channel, err));
      add_rows(v, s, &box, channel, portion[0], planes);
    }
    for (int64_t c = 0; c < v->info.channels; c++)
      for (int64_t i = 0; i < box.size[0]; i++) pz_moments_merge(&moments[c], &planes[c * portion[0] + i]);
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

pz_status pz_normalize_prepare(pz_normalize normalize, pz_volume *v, pz_window *s, pz_normalize_step step,
                               void *host, pz_error *err) {
  const int32_t channels = v->info.channels;
  for (int32_t c = 0; c < channels; c++)
    s->scale[c] = normalize == PZ_NORMALIZE_UNIT ? pz_dtype_greatest(v->info.dtype) : 1;
  if (normalize != PZ_NORMALIZE_ZSCORE) return PZ_OK;
  pz_moments *moments = PZ_NEW(s->arena, pz_moments, channels);
  if (!moments) return pz_fail_memory(err, "statistics", (unsigned long long)channels * sizeof *moments);
  PZ_TRY(whole_view(v, s, moments, step, host, err));
  for (int32_t c = 0; c < channels; c++) PZ_TRY(use_moments(v, &moments[c], &s->shift[c], &s->scale[c], err));
  return PZ_OK;
}
