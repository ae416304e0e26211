/* conv.c: activation(conv(x) + bias + residual*residual_scale), as the sum over channels and kernel positions. */
#include "base/wide.h"
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

/* pz_reference_span of a stride of 1, which divides nothing. */
static inline __attribute__((always_inline)) pz_span span_of(int64_t n_out, int64_t offset, int64_t n_in) {
  pz_span span = {offset < 0 ? -offset : 0, n_in - offset < n_out ? n_in - offset : n_out};
  if (span.end < span.begin) span.end = span.begin;
  return span;
}

/* y[o] += weight * x[stride*o + offset] wherever x has that position. */
static inline __attribute__((always_inline)) void add_row(double *restrict y, int64_t n_y,
                                                          const double *restrict x, int64_t n_x,
                                                          int64_t stride, int64_t offset, double weight) {
  const pz_span span = stride == 1 ? span_of(n_y, offset, n_x) : pz_reference_span(n_y, stride, offset, n_x);
  const double *from = x + offset;
  if (stride == 1)
    for (int64_t o = span.begin; o < span.end; o++) y[o] += weight * from[o];
  else
    for (int64_t o = span.begin; o < span.end; o++) y[o] += weight * from[stride * o];
}

/* Three taps of a stride of 1, `apart` from each other: where x has all of them, each sum is read and written once. Taps are added in their
 * order, so that the bits are the same. */
static inline __attribute__((always_inline)) void add_three(double *restrict y, int64_t n_y,
                                                            const double *restrict x, int64_t n_x,
                                                            int64_t offset, int64_t apart, const double *w) {
  const pz_span first = span_of(n_y, offset, n_x);
  const pz_span last = span_of(n_y, offset + 2 * apart, n_x);
  if (first.begin >= last.end) {
    for (int t = 0; t < 3; t++) add_row(y, n_y, x, n_x, 1, offset + t * apart, w[t]);
    return;
  }
  for (int t = 0; t < 3; t++) {
    const pz_span span = span_of(n_y, offset + t * apart, n_x);
    for (int64_t o = span.begin; o < first.begin; o++) y[o] += w[t] * x[o + offset + t * apart];
    for (int64_t o = last.end; o < span.end; o++) y[o] += w[t] * x[o + offset + t * apart];
  }
  const double *a = x + offset, *b = a + apart, *c = b + apart;
  for (int64_t o = first.begin; o < last.end; o++) y[o] = y[o] + w[0] * a[o] + w[1] * b[o] + w[2] * c[o];
}

typedef struct problem {
  const pz_attr_conv *a;
  pz_shape5 x, y, w;
} problem;

/* One channel of the input to one row (od, oh) of the output. */
static inline __attribute__((always_inline)) void
add_channel(const problem *p, const double *x, const double *weight, int64_t od, int64_t oh, double *y) {
  const pz_attr_conv *a = p->a;
  for (int64_t i = 0; i < p->w.s[0]; i++) {
    int64_t d = od * a->stride[0] + i * a->dilation[0] - a->pad_lo[0];
    if (d < 0 || d >= p->x.s[0]) continue;
    for (int64_t j = 0; j < p->w.s[1]; j++) {
      int64_t h = oh * a->stride[1] + j * a->dilation[1] - a->pad_lo[1];
      if (h < 0 || h >= p->x.s[1]) continue;
      const double *row = x + (d * p->x.s[1] + h) * p->x.s[2], *w = weight + (i * p->w.s[1] + j) * p->w.s[2];
      int64_t k = 0;
      for (; k + 3 <= p->w.s[2] && a->stride[2] == 1; k += 3)
        add_three(y, p->y.s[2], row, p->x.s[2], k * a->dilation[2] - a->pad_lo[2], a->dilation[2], w + k);
      for (; k < p->w.s[2]; k++)
        add_row(y, p->y.s[2], row, p->x.s[2], a->stride[2], k * a->dilation[2] - a->pad_lo[2], w[k]);
    }
  }
}

/* Channels of the result that read a channel's rows of x one after another, while these are in the first level of cache. */
enum { SHARE = 8 };

/* Row (od, oh) of every output channel: the rows of x that it reads stay in cache from channel to channel. Whole networks take most of their time
 * here. */
PZ_WIDE static void add_rows(const problem *p, const double *x, const double *weight, int64_t od, int64_t oh,
                             double *y) {
  int64_t size_x = p->x.s[0] * p->x.s[1] * p->x.s[2], size_y = p->y.s[0] * p->y.s[1] * p->y.s[2];
  int64_t size_w = p->w.s[0] * p->w.s[1] * p->w.s[2], channels = p->y.c / p->a->group;
  for (int64_t first = 0, n; first < p->y.c; first += n) {
    n = channels - first % channels < SHARE ? channels - first % channels : SHARE;
    for (int64_t c = 0; c < p->w.c; c++)
      for (int64_t k = first; k < first + n; k++)
        add_channel(p, x + (k / channels * p->w.c + c) * size_x, weight + (k * p->w.c + c) * size_w, od, oh,
                    y + k * size_y + (od * p->y.s[1] + oh) * p->y.s[2]);
  }
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
