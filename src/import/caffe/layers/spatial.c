#include "import/caffe/layers/spatial.h"

pz_status pz_caffe_count_spatial(pz_caffe *c, int32_t i, int32_t *n_spatial) {
  const pz_shape *x = pz_caffe_in_shape(c, i);
  char text[PZ_SHAPE_TEXT];
  if (x->rank < 3)
    return pz_caffe_fail(c, "its bottom '%.200s' is %s, expected N x C and one to three spatial dimensions",
                         c->p->bottom[i], pz_shape_text(x, text));
  *n_spatial = x->rank - 2;
  return PZ_OK;
}

static pz_status read_2d(pz_caffe *c, const pz_caffe_spatial *s, int32_t n_spatial, int64_t values[2]) {
  if (n_spatial != 2)
    return pz_caffe_fail(c,
                         "%s_h and %s_w are for two spatial dimensions, here are %d: give %s once for each",
                         s->field, s->field, (int)n_spatial, s->field);
  if (s->count)
    return pz_caffe_fail(c, "%s and %s_h or %s_w: give one of them", s->field, s->field, s->field);
  if (s->least > 0 && !(s->has_h && s->has_w))
    return pz_caffe_fail(c, "%s_h and %s_w must both be given", s->field, s->field);
  values[0] = s->h;
  values[1] = s->w;
  return PZ_OK;
}

static pz_status read_nd(pz_caffe *c, const pz_caffe_spatial *s, int32_t n_spatial, int64_t *values) {
  if (s->count > 1 && s->count != (size_t)n_spatial)
    return pz_caffe_fail(c, "%s has %zu values, expected one for all or %d, one for each spatial dimension",
                         s->field, s->count, (int)n_spatial);
  if (!s->count && s->fallback < s->least) return pz_caffe_fail(c, "%s is missing", s->field);
  for (int32_t i = 0; i < n_spatial; i++)
    values[i] = !s->count ? (int64_t)s->fallback : s->values[s->count == 1 ? 0 : i];
  return PZ_OK;
}

pz_status pz_caffe_read_spatial(pz_caffe *c, const pz_caffe_spatial *s, int32_t n_spatial,
                                int32_t out[PZ_SPATIAL]) {
  int64_t values[PZ_SPATIAL] = {0};
  PZ_TRY(s->has_h || s->has_w ? read_2d(c, s, n_spatial, values) : read_nd(c, s, n_spatial, values));
  int32_t first = PZ_SPATIAL - n_spatial;
  for (int32_t i = 0; i < first; i++) out[i] = s->unused;
  for (int32_t i = 0; i < n_spatial; i++)
    PZ_TRY(pz_caffe_int32(c, s->field, values[i], s->least, &out[first + i]));
  return PZ_OK;
}
