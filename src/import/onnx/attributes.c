/* attributes.c: attributes of the current node. Each is asked for by name; build.c refuses a node that has others. */
#include "import/onnx/onnx.h"
#include <string.h>

const pz_onnx_attribute *pz_onnx_attr(pz_onnx *c, const char *name) {
  pz_onnx_attribute *found = NULL;
  for (int32_t i = 0; i < c->node->n_attributes; i++)
    if (!strcmp(c->node->attributes[i].name, name)) found = &c->node->attributes[i];
  if (found) found->used = true;
  return found;
}

bool pz_onnx_has_attr(pz_onnx *c, const char *name) { return pz_onnx_attr(c, name) != NULL; }

static pz_status find(pz_onnx *c, const char *name, int32_t kind, const char *what,
                      const pz_onnx_attribute **a) {
  *a = pz_onnx_attr(c, name);
  if (!*a || (*a)->kind == kind) return PZ_OK;
  return pz_onnx_fail(c, "its attribute '%s' must be %s", name, what);
}

pz_status pz_onnx_attr_int(pz_onnx *c, const char *name, int64_t preset, int64_t *out) {
  const pz_onnx_attribute *a;
  PZ_TRY(find(c, name, PZ_ONNX_ATTR_INT, "an integer", &a));
  *out = a ? a->i : preset;
  return PZ_OK;
}

pz_status pz_onnx_attr_flag(pz_onnx *c, const char *name, bool preset, bool *out) {
  int64_t value;
  PZ_TRY(pz_onnx_attr_int(c, name, preset, &value));
  *out = value != 0;
  return PZ_OK;
}

pz_status pz_onnx_attr_float(pz_onnx *c, const char *name, double preset, float *out) {
  const pz_onnx_attribute *a;
  PZ_TRY(find(c, name, PZ_ONNX_ATTR_FLOAT, "a float", &a));
  *out = a ? a->f : (float)preset;
  return PZ_OK;
}

pz_status pz_onnx_attr_text(pz_onnx *c, const char *name, const char *preset, const char **out) {
  const pz_onnx_attribute *a;
  PZ_TRY(find(c, name, PZ_ONNX_ATTR_STRING, "a text", &a));
  *out = a ? a->s : preset;
  return PZ_OK;
}

pz_status pz_onnx_attr_ints(pz_onnx *c, const char *name, const int64_t **ints, int32_t *count) {
  const pz_onnx_attribute *a;
  PZ_TRY(find(c, name, PZ_ONNX_ATTR_INTS, "a list of integers", &a));
  *ints = a ? a->ints : NULL;
  *count = a ? a->n_ints : 0;
  return PZ_OK;
}

pz_status pz_onnx_axis(pz_onnx *c, int64_t axis, int32_t rank, int32_t *out) {
  if (axis < -rank || axis >= rank)
    return pz_onnx_fail(c, "axis %lld is not one of the %d dimensions of its input", (long long)axis,
                        (int)rank);
  *out = (int32_t)(axis < 0 ? axis + rank : axis);
  return PZ_OK;
}

pz_status pz_onnx_attr_axis(pz_onnx *c, int64_t preset, int32_t rank, int32_t *out) {
  int64_t axis;
  PZ_TRY(pz_onnx_attr_int(c, "axis", preset, &axis));
  return pz_onnx_axis(c, axis, rank, out);
}

pz_status pz_onnx_list(pz_onnx *c, const char *name, int32_t i, int64_t since, const int64_t **ints,
                       int32_t *count) {
  *ints = NULL;
  *count = -1;
  if (c->model.opset >= since) return pz_onnx_has(c, i) ? pz_onnx_ints_in(c, i, ints, count) : PZ_OK;
  return pz_onnx_has_attr(c, name) ? pz_onnx_attr_ints(c, name, ints, count) : PZ_OK;
}

pz_status pz_onnx_mark_axes(pz_onnx *c, const int64_t *axes, int32_t count, int32_t rank,
                            bool marks[PZ_MAX_RANK]) {
  memset(marks, 0, PZ_MAX_RANK * sizeof *marks);
  for (int32_t i = 0; i < count; i++) {
    int32_t axis = 0;
    PZ_TRY(pz_onnx_axis(c, axes[i], rank, &axis));
    if (marks[axis]) return pz_onnx_fail(c, "axis %d is named twice", (int)axis);
    marks[axis] = true;
  }
  return PZ_OK;
}

pz_status pz_onnx_attr_spatial(pz_onnx *c, const char *name, int32_t spatial, int64_t preset, int64_t least,
                               int32_t out[PZ_SPATIAL]) {
  const int64_t *ints;
  int32_t count;
  PZ_TRY(pz_onnx_attr_ints(c, name, &ints, &count));
  if (ints && count != spatial)
    return pz_onnx_fail(c, "its attribute '%s' has %d entries, expected %d", name, (int)count, (int)spatial);
  for (int32_t i = 0; i < spatial; i++) {
    const int64_t value = ints ? ints[i] : preset;
    if (value < least || value > INT32_MAX)
      return pz_onnx_fail(c, "its attribute '%s' holds %lld, expected at least %lld", name, (long long)value,
                          (long long)least);
    out[PZ_SPATIAL - spatial + i] = (int32_t)value;
  }
  return PZ_OK;
}
