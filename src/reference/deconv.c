/* deconv.c: the adjoint of conv: x[i]*weight[j] is added to y[stride*i + dilation*j - pad_lo]. */
#include "reference/ops.h"

/* y[stride*i + offset] += weight * x[i] wherever y has that position. */
static void add_row(double *restrict y, int64_t n_y, const double *restrict x, int64_t n_x, int64_t stride,
                    int64_t offset, double weight) {
  pz_span span = pz_reference_span(n_x, stride, offset, n_y);
  double *to = y + offset;
  if (stride == 1)
    for (int64_t i = span.begin; i < span.end; i++) to[i] += weight * x[i];
  else
    for (int64_t i = span.begin; i < span.end; i++) to[stride * i] += weight * x[i];
}

typedef struct problem {
  const pz_attr_conv *a;
  pz_shape5 x, y, w;
} problem;

/* Row (d, h) of one channel of the input to one output channel. */
static void add_map(const problem *p, const double *x, const double *weight, int64_t d, int64_t h,
                    double *y) {
  const pz_attr_conv *a = p->a;
  for (int64_t i = 0; i < p->w.s[0]; i++) {
    int64_t od = d * a->stride[0] + i * a->dilation[0] - a->pad_lo[0];
    if (od < 0 || od >= p->y.s[0]) continue;
    for (int64_t j = 0; j < p->w.s[1]; j++) {
      int64_t oh = h * a->stride[1] + j * a->dilation[1] - a->pad_lo[1];
      if (oh < 0 || oh >= p->y.s[1]) continue;
      for (int64_t k = 0; k < p->w.s[2]; k++)
        add_row(y + (od * p->y.s[1] + oh) * p->y.s[2], p->y.s[2], x, p->x.s[2], a->stride[2],
                k * a->dilation[2] - a->pad_lo[2], weight[(i * p->w.s[1] + j) * p->w.s[2] + k]);
    }
  }
}

/* Weight is [C, K/group, ...]: channel c of group c / (C/group) reaches the K/group channels of that group. */
static void add_rows(const problem *p, const double *x, const double *weight, int64_t d, int64_t h,
                     double *y) {
  int64_t size_x = p->x.s[0] * p->x.s[1] * p->x.s[2], size_y = p->y.s[0] * p->y.s[1] * p->y.s[2];
  int64_t size_w = p->w.s[0] * p->w.s[1] * p->w.s[2], channels = p->x.c / p->a->group;
  for (int64_t c = 0; c < p->x.c; c++)
    for (int64_t k = 0; k < p->w.c; k++)
      add_map(p, x + c * size_x + (d * p->x.s[1] + h) * p->x.s[2], weight + (c * p->w.c + k) * size_w, d, h,
              y + (c / channels * p->w.c + k) * size_y);
}

void pz_reference_DECONV(const pz_reference_call *call) {
  problem p = {.a = &call->node->attr.conv,
               .x = pz_shape_as5(reference_in_shape(call, PZ_CONV_X)),
               .y = pz_shape_as5(reference_out_shape(call, 0)),
               .w = pz_shape_as5(reference_in_shape(call, PZ_CONV_WEIGHT))};
  pz_reference_conv_begin(call);
  for (int64_t n = 0; n < p.x.n; n++)
    for (int64_t d = 0; d < p.x.s[0]; d++)
      for (int64_t h = 0; h < p.x.s[1] && !pz_reference_stops(call); h++)
        add_rows(&p, call->in[PZ_CONV_X] + n * p.x.c * p.x.s[0] * p.x.s[1] * p.x.s[2],
                 call->in[PZ_CONV_WEIGHT], d, h, call->out[0] + n * p.y.c * p.y.s[0] * p.y.s[1] * p.y.s[2]);
  pz_reference_conv_end(call);
}
