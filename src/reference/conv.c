/* conv.c: activation(conv(x) + bias + residual*residual_scale), as the sum over channels and kernel positions. */
#include "reference/ops.h"

void pz_reference_conv_begin(const pz_reference_call *call) {
  pz_axis_view y = reference_axis(reference_out_shape(call, 0), 1);
  const double *bias = reference_in(call, PZ_CONV_BIAS), *residual = reference_in(call, PZ_CONV_RESIDUAL);
  const double *scale = reference_in(call, PZ_CONV_RESIDUAL_SCALE);
  for (int64_t row = 0; row < y.outer * y.size; row++) {
    double b = bias ? bias[row % y.size] : 0, s = scale ? scale[row % y.size] : 1;
    for (int64_t i = row * y.inner; i < (row + 1) * y.inner; i++)
      call->out[0][i] = b + (residual ? s * residual[i] : 0);
  }
}

void pz_reference_conv_end(const pz_reference_call *call) {
  pz_axis_view y = reference_axis(reference_out_shape(call, 0), 1);
  pz_reference_activate(&call->node->attr.conv.act, reference_in(call, PZ_CONV_SLOPE), y.size, y,
                        call->out[0]);
}

static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

pz_span pz_reference_span(int64_t n_out, int64_t stride, int64_t offset, int64_t n_in) {
  int64_t begin = -floor_div(offset, stride), end = floor_div(n_in - 1 - offset, stride) + 1;
  pz_span span = {begin > 0 ? begin : 0, end < n_out ? end : n_out};
  if (span.end < span.begin) span.end = span.begin;
  return span;
}

/* y[o] += weight * x[stride*o + offset] wherever x has that position. */
static void add_row(double *restrict y, int64_t n_y, const double *restrict x, int64_t n_x, int64_t stride,
                    int64_t offset, double weight) {
  pz_span span = pz_reference_span(n_y, stride, offset, n_x);
  const double *from = x + offset;
  if (stride == 1)
    for (int64_t o = span.begin; o < span.end; o++) y[o] += weight * from[o];
  else
    for (int64_t o = span.begin; o < span.end; o++) y[o] += weight * from[stride * o];
}

typedef struct problem {
  const pz_attr_conv *a;
  pz_shape5 x, y, w;
} problem;

/* One channel of the input to one row (od, oh) of the output. */
static void add_channel(const problem *p, const double *x, const double *weight, int64_t od, int64_t oh,
                        double *y) {
  const pz_attr_conv *a = p->a;
  for (int64_t i = 0; i < p->w.s[0]; i++) {
    int64_t d = od * a->stride[0] + i * a->dilation[0] - a->pad_lo[0];
    if (d < 0 || d >= p->x.s[0]) continue;
    for (int64_t j = 0; j < p->w.s[1]; j++) {
      int64_t h = oh * a->stride[1] + j * a->dilation[1] - a->pad_lo[1];
      if (h < 0 || h >= p->x.s[1]) continue;
      for (int64_t k = 0; k < p->w.s[2]; k++)
        add_row(y, p->y.s[2], x + (d * p->x.s[1] + h) * p->x.s[2], p->x.s[2], a->stride[2],
                k * a->dilation[2] - a->pad_lo[2], weight[(i * p->w.s[1] + j) * p->w.s[2] + k]);
    }
  }
}

/* Row (od, oh) of every output channel: the rows of x that it reads stay in cache from channel to channel. */
static void add_rows(const problem *p, const double *x, const double *weight, int64_t od, int64_t oh,
                     double *y) {
  int64_t size_x = p->x.s[0] * p->x.s[1] * p->x.s[2], size_y = p->y.s[0] * p->y.s[1] * p->y.s[2];
  int64_t size_w = p->w.s[0] * p->w.s[1] * p->w.s[2], channels = p->y.c / p->a->group;
  for (int64_t k = 0; k < p->y.c; k++)
    for (int64_t c = 0; c < p->w.c; c++)
      add_channel(p, x + (k / channels * p->w.c + c) * size_x, weight + (k * p->w.c + c) * size_w, od, oh,
                  y + k * size_y + (od * p->y.s[1] + oh) * p->y.s[2]);
}

void pz_reference_CONV(const pz_reference_call *call) {
  problem p = {.a = &call->node->attr.conv,
               .x = pz_shape_as5(reference_in_shape(call, PZ_CONV_X)),
               .y = pz_shape_as5(reference_out_shape(call, 0)),
               .w = pz_shape_as5(reference_in_shape(call, PZ_CONV_WEIGHT))};
  pz_reference_conv_begin(call);
  for (int64_t n = 0; n < p.y.n; n++)
    for (int64_t od = 0; od < p.y.s[0]; od++)
      for (int64_t oh = 0; oh < p.y.s[1] && !pz_reference_stops(call); oh++)
        add_rows(&p, call->in[PZ_CONV_X] + n * p.x.c * p.x.s[0] * p.x.s[1] * p.x.s[2],
                 call->in[PZ_CONV_WEIGHT], od, oh, call->out[0] + n * p.y.c * p.y.s[0] * p.y.s[1] * p.y.s[2]);
  pz_reference_conv_end(call);
}
