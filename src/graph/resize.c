/* resize.c: which position of the input a position of a resized axis looks at. */
#include "graph/graph.h"
#include <math.h>

/* o/s - or (o*in)/size, where one division rounds less than two. */
static double divided(const pz_attr_resize *a, int32_t axis, int64_t in, double o) {
  double scale = (double)a->scale[axis];
  return scale > 0 ? o / scale : o * (double)in / a->size[axis];
}

static double raw_position(const pz_attr_resize *a, int32_t axis, int64_t in, int64_t o) {
  int32_t size = a->size[axis];
  switch (a->coordinate) {
  case PZ_COORDINATE_PYTORCH_HALF_PIXEL:
    if (size == 1) return 0;
    /* fall through */
  case PZ_COORDINATE_HALF_PIXEL: return divided(a, axis, in, (double)o + 0.5) - 0.5;
  case PZ_COORDINATE_ALIGN_CORNERS: return size == 1 ? 0 : (double)o * (double)(in - 1) / (size - 1);
  case PZ_COORDINATE_ASYMMETRIC: return divided(a, axis, in, (double)o);
  }
  return 0;
}

double pz_resize_position(const pz_attr_resize *a, int32_t axis, int64_t in, int64_t o) {
  double position = raw_position(a, axis, in, o);
  return position < 0 ? 0 : position > (double)(in - 1) ? (double)(in - 1) : position;
}

int64_t pz_resize_nearest(const pz_attr_resize *a, int32_t axis, int64_t in, int64_t o) {
  double position = pz_resize_position(a, axis, in, o);
  switch (a->rounding) {
  case PZ_ROUND_PREFER_FLOOR: return (int64_t)ceil(position - 0.5);
  case PZ_ROUND_PREFER_CEIL: return (int64_t)floor(position + 0.5);
  case PZ_ROUND_FLOOR: return (int64_t)floor(position);
  case PZ_ROUND_CEIL: return (int64_t)ceil(position);
  }
  return 0;
}
