/* resize.c: nearest and linear interpolation, as ONNX's Resize of version 19 defines them. */
#include "reference/ops.h"

/* The two neighbours along an axis and the weight of the upper one. */
typedef struct neighbours {
  int64_t lower, upper;
  double weight;
} neighbours;

static neighbours neighbours_at(const pz_attr_resize *a, int axis, int64_t in, int64_t o) {
  if (a->kind == PZ_RESIZE_NEAREST) {
    int64_t at = pz_resize_nearest(a, axis, in, o);
    return (neighbours){at, at, 0};
  }
  double position = pz_resize_position(a, axis, in, o);
  int64_t lower = (int64_t)position;
  return (neighbours){lower, lower + 1 < in ? lower + 1 : lower, position - (double)lower};
}

static double mix(double lower, double upper, double weight) {
  return weight == 0 ? lower : lower * (1 - weight) + upper * weight;
}

static double value_at(const double *x, const pz_shape5 *size, const neighbours at[PZ_SPATIAL]) {
  double planes[2];
  for (int d = 0; d < 2; d++) {
    double rows[2];
    for (int h = 0; h < 2; h++) {
      int64_t z = d ? at[0].upper : at[0].lower, y = h ? at[1].upper : at[1].lower;
      const double *row = x + (z * size->s[1] + y) * size->s[2];
      rows[h] = mix(row[at[2].lower], row[at[2].upper], at[2].weight);
    }
    planes[d] = mix(rows[0], rows[1], at[1].weight);
  }
  return mix(planes[0], planes[1], at[0].weight);
}

void pz_reference_RESIZE(const pz_reference_call *call) {
  const pz_attr_resize *a = &call->node->attr.resize;
  pz_shape5 x = pz_shape_as5(reference_in_shape(call, 0)), y = pz_shape_as5(reference_out_shape(call, 0));
  double *out = call->out[0];
  for (int64_t channel = 0; channel < y.n * y.c; channel++)
    for (int64_t d = 0; d < y.s[0]; d++)
      for (int64_t h = 0; h < y.s[1]; h++)
        for (int64_t w = 0; w < y.s[2]; w++) {
          neighbours at[PZ_SPATIAL] = {neighbours_at(a, 0, x.s[0], d), neighbours_at(a, 1, x.s[1], h),
                                       neighbours_at(a, 2, x.s[2], w)};
          *out++ = value_at(call->in[0] + channel * x.s[0] * x.s[1] * x.s[2], &x, at);
        }
}
