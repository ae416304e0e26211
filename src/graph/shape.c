/* shape.c: shapes: how many elements, within which limits, how they read. */
#include "graph/graph.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t pz_shape_elements(const pz_shape *s) {
  int64_t product = 1;
  for (int32_t i = 0; i < s->rank; i++)
    if (!pz_mul_i64(product, s->dim[i], &product)) return INT64_MAX;
  return product;
}

bool pz_shape_valid(const pz_shape *s, int64_t *elements) {
  if (s->rank < 0 || s->rank > PZ_MAX_RANK) return false;
  int64_t product = 1;
  for (int32_t i = 0; i < s->rank; i++) {
    if (s->dim[i] < 1 || s->dim[i] > PZ_MAX_DIM) return false;
    if (!pz_mul_i64(product, s->dim[i], &product) || product > PZ_MAX_ELEMENTS) return false;
  }
  if (elements) *elements = product;
  return true;
}

bool pz_shape_equal(const pz_shape *a, const pz_shape *b) {
  if (a->rank != b->rank) return false;
  for (int32_t i = 0; i < a->rank; i++)
    if (a->dim[i] != b->dim[i]) return false;
  return true;
}

pz_shape5 pz_shape_as5(const pz_shape *s) {
  pz_shape5 five = {1, 1, {1, 1, 1}};
  if (s->rank > 2 + PZ_SPATIAL) {
    five.s[PZ_SPATIAL - 1] = pz_shape_elements(s);
    return five;
  }
  if (s->rank > 0) five.n = s->dim[0];
  if (s->rank > 1) five.c = s->dim[1];
  for (int32_t i = 2; i < s->rank; i++) five.s[PZ_SPATIAL - s->rank + i] = s->dim[i];
  return five;
}

const char *pz_shape_text(const pz_shape *s, char *out) {
  size_t at = 0;
  snprintf(out, PZ_SHAPE_TEXT, "scalar");
  for (int32_t i = 0; i < s->rank && i < PZ_MAX_RANK; i++)
    at += (size_t)snprintf(out + at, PZ_SHAPE_TEXT - at, "%s%" PRId64, i ? "x" : "", s->dim[i]);
  return out;
}
