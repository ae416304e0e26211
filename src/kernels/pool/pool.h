/* pool.h: maximum and average over windows, any kernel, stride and padding; global pooling is a window of the input's
 * size.
 *
 * Layouts: `in` and `out` NCHWc, channels-last or not, any strides, same n and c; they may not overlap. Reads the inside of `in` alone:
 * windows are clipped at its edge, whatever border is stored. Writes the inside of `out`. No window may be empty
 * after clipping. The points of a window are `dilation` apart. Unit of work: a row of `out`, of all blocks where one of them is channels-last.
 *
 *   maximum:  out = max of the window; NaN where the window has a NaN. Exact.
 *   average:  out = (sum of the window) * (1/count), count by `divisor`:
 *             CAFFE   positions of the window inside the padded input (Caffe's pooling_layer.cpp)
 *             VALID   positions inside the input
 *             KERNEL  kernel[0]*kernel[1]*kernel[2]
 *   Points of a row are added up first, from 8 on in four sums, and then the rows; relative error at most
 *   (kernel[2] + kernel[0]*kernel[1]) * 2^-24 of the sum of magnitudes.
 *
 * separable: large windows that overlap along w. The windows' points of all rows are put together first, to one row
 * of `scratch` (pz_pooling_scratch floats, a worker's own, aligned to the vector), and this row's windows then:
 * kd*kh + kw loads instead of kd*kh*kw. The sum then runs over d and h first.
 *
 * Where no window is clipped (as in U-Nets: 2x2x2 or 1x2x2, stride = kernel, no padding) and the shape is constant,
 * the window's loops have constant bounds and unroll. The enumerators' values are those of pz_pool_kind and
 * pz_pool_divisor in graph/graph.h. */
#ifndef PZ_KERNELS_POOL_POOL_H
#define PZ_KERNELS_POOL_POOL_H

#include "kernels/point.h"
#include "kernels/rows.h"

enum { PZ_POOLING_MAX, PZ_POOLING_AVE };
enum { PZ_POOLING_CAFFE, PZ_POOLING_VALID, PZ_POOLING_KERNEL };

#define PZ_POOLING_FIELDS(ONE, MANY)                                                                         \
  ONE(view, in)                                                                                              \
  ONE(view, out)                                                                                             \
  ONE(int, kind)                                                                                             \
  ONE(int, divisor)                                                                                          \
  MANY(int, kernel, 3)                                                                                       \
  MANY(int, stride, 3)                                                                                       \
  MANY(int, dilation, 3)                                                                                     \
  MANY(int, pad_lo, 3)                                                                                       \
  MANY(int, pad_hi, 3)                                                                                       \
  ONE(int, separable)
typedef struct pz_pooling_shape {
  PZ_POOLING_FIELDS(PZ_FIELD, PZ_FIELDS)
} pz_pooling_shape;

static inline int64_t pz_pooling_scratch(const pz_view *in) { return (int64_t)in->w * in->block; }

/* One axis of a window: `count` positions from `begin` on of the input, and those that an average counts. */
typedef struct pz_pooling_span {
  int32_t begin, count, divisor;
} pz_pooling_span;

/* How many of the kernel's positions, `dilation` apart and the first at `from`, lie below `end`. */
PZ_INLINE int32_t pz_pooling_below(const pz_pooling_shape *s, int axis, int32_t from, int32_t end) {
  int32_t count = end <= from ? 0 : (end - from + s->dilation[axis] - 1) / s->dilation[axis];
  return count < s->kernel[axis] ? count : s->kernel[axis];
}

PZ_INLINE pz_pooling_span pz_pooling_clip(const pz_pooling_shape *s, int axis, int32_t size, int32_t at) {
  int32_t from = at * s->stride[axis] - s->pad_lo[axis], first = pz_pooling_below(s, axis, from, 0);
  int32_t inside = pz_pooling_below(s, axis, from, size) - first;
  int32_t divisor = s->divisor == PZ_POOLING_CAFFE   ? pz_pooling_below(s, axis, from, size + s->pad_hi[axis])
                    : s->divisor == PZ_POOLING_VALID ? inside
                                                     : s->kernel[axis];
  return (pz_pooling_span){from + first * s->dilation[axis], inside, divisor};
}

/* From the first to behind the last position. */
PZ_INLINE int32_t pz_pooling_reach(const pz_pooling_shape *s, int axis) {
  return (s->kernel[axis] - 1) * s->dilation[axis] + 1;
}

/* No window along this axis is clipped. */
PZ_INLINE int pz_pooling_whole(const pz_pooling_shape *s, int axis, int32_t in, int32_t out) {
  return s->pad_lo[axis] == 0 && (out - 1) * s->stride[axis] + pz_pooling_reach(s, axis) <= in;
}

/* The input, and its strides from point to point of a window. */
typedef struct pz_pooling_steps {
  const pz_view *in;
  int32_t b; /* the block that is pooled */
  int64_t d, h, w;
} pz_pooling_steps;
PZ_INLINE pz_pooling_steps pz_pooling_steps_of(const pz_pooling_shape *s, int32_t b) {
  return (pz_pooling_steps){&s->in, b, s->dilation[0] * s->in.stride_d, s->dilation[1] * s->in.stride_h,
                            s->dilation[2] * s->in.stride_w};
}

/* The processor's maximum loses a NaN on one side, so NaN are looked for beside it, two points at a time: this loop
 * waits for memory, and the fewer instructions a point has, the more loads are on their way. */
PZ_INLINE pz_v pz_pooling_max(pz_pooling_steps step, const float *p, int32_t kd, int32_t kh, int32_t kw) {
  pz_v most = pz_point_load(step.in, step.b, p);
  pz_vi nan = {0};
  for (int32_t d = 0; d < kd; ++d)
    for (int32_t h = 0; h < kh; ++h) {
      const float *row = p + d * step.d + h * step.h;
      for (int32_t w = 0; w < kw; w += 2) {
        pz_v x = pz_point_load(step.in, step.b, row + w * step.w),
             y = w + 1 < kw ? pz_point_load(step.in, step.b, row + (w + 1) * step.w) : x;
        most = pz_v_max(most, pz_v_max(x, y));
        nan |= pz_v_unordered(x, y);
      }
    }
  return pz_v_from_bits(pz_v_bits(most) | nan); /* all ones is a NaN */
}

PZ_INLINE pz_v pz_pooling_sum_row(pz_pooling_steps step, const float *p, int32_t kw) {
  pz_v sum[4] = {pz_v_zero(), pz_v_zero(), pz_v_zero(), pz_v_zero()};
  int32_t w = 0;
  for (; kw >= 8 && w + 4 <= kw; w += 4) {
    PZ_UNROLL
    for (int i = 0; i < 4; ++i) sum[i] += pz_point_load(step.in, step.b, p + (w + i) * step.w);
  }
  for (; w < kw; ++w) sum[0] += pz_point_load(step.in, step.b, p + w * step.w);
  return kw < 8 ? sum[0] : (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

PZ_INLINE pz_v pz_pooling_sum(pz_pooling_steps step, const float *p, int32_t kd, int32_t kh, int32_t kw) {
  pz_v sum = pz_v_zero();
  for (int32_t d = 0; d < kd; ++d)
    for (int32_t h = 0; h < kh; ++h) sum += pz_pooling_sum_row(step, p + d * step.d + h * step.h, kw);
  return sum;
}

/* Points from..to of a row whose windows have kd x kh x kw points; `in` is the window's corner at w = 0. */
PZ_INLINE void pz_pooling_points(const pz_pooling_shape *s, int32_t b, const float *in, float *out,
                                 int32_t from, int32_t to, int32_t kd, int32_t kh, int32_t kw,
                                 int32_t divisor) {
  const pz_pooling_steps step = pz_pooling_steps_of(s, b);
  float scale = 1.0f / (float)divisor;
  for (int32_t w = from; w < to; ++w) {
    const float *p = in + ((int64_t)w * s->stride[2] - s->pad_lo[2]) * s->in.stride_w;
    pz_v x = s->kind == PZ_POOLING_MAX ? pz_pooling_max(step, p, kd, kh, kw)
                                       : pz_pooling_sum(step, p, kd, kh, kw) * pz_v_set1(scale);
    pz_point_store(&s->out, b, out + w * s->out.stride_w, x);
  }
}

/* Points from..to, each with its own clipped window along w. */
PZ_INLINE void pz_pooling_edge(const pz_pooling_shape *s, int32_t b, const float *in, float *out,
                               int32_t from, int32_t to, int32_t kd, int32_t kh, int32_t divisor) {
  for (int32_t w = from; w < to; ++w) {
    pz_pooling_span span = pz_pooling_clip(s, 2, s->in.w, w);
    const float *p = in + (span.begin - ((int64_t)w * s->stride[2] - s->pad_lo[2])) * s->in.stride_w;
    pz_pooling_points(s, b, p, out, w, w + 1, kd, kh, span.count, divisor * span.divisor);
  }
}

/* A row with clipped windows along w: both edges, and the points between them with the whole kernel. */
PZ_INLINE void pz_pooling_row(const pz_pooling_shape *s, int32_t b, const float *in, float *out, int32_t kd,
                              int32_t kh, int32_t divisor) {
  int32_t first = (s->pad_lo[2] + s->stride[2] - 1) / s->stride[2];
  int32_t room = s->in.w + s->pad_lo[2] - pz_pooling_reach(s, 2),
          last = room < 0 ? 0 : room / s->stride[2] + 1;
  if (last > s->out.w) last = s->out.w;
  if (first > last) first = last;
  pz_pooling_edge(s, b, in, out, 0, first, kd, kh, divisor);
  pz_pooling_points(s, b, in, out, first, last, kd, kh, s->kernel[2], divisor * s->kernel[2]);
  pz_pooling_edge(s, b, in, out, last, s->out.w, kd, kh, divisor);
}

/* kd, kh points of each column of the window at `in` to one row. */
PZ_INLINE void pz_pooling_columns(const pz_pooling_shape *s, int32_t b, const float *in, float *row,
                                  int32_t kd, int32_t kh) {
  const pz_pooling_steps step = pz_pooling_steps_of(s, b);
  for (int32_t w = 0; w < s->in.w; ++w) {
    const float *p = in + w * s->in.stride_w;
    pz_v_store(row + (int64_t)w * PZ_S, s->kind == PZ_POOLING_MAX ? pz_pooling_max(step, p, kd, kh, 1)
                                                                  : pz_pooling_sum(step, p, kd, kh, 1));
  }
}

/* A row of windows of kd x kh points in each column; `in` is their corner at w = 0. */
PZ_INLINE void pz_pooling_line(const pz_pooling_shape *s, int32_t b, const float *in, float *scratch,
                               float *out, int32_t kd, int32_t kh, int32_t divisor) {
  if (s->separable) {
    pz_pooling_shape row = *s;
    row.in.stride_w = PZ_S, row.in.channels_last = 0;
    pz_pooling_columns(s, b, in, scratch, kd, kh);
    pz_pooling_row(&row, b, scratch, out, 1, 1, divisor);
  } else if (pz_pooling_whole(s, 2, s->in.w, s->out.w)) {
    pz_pooling_points(s, b, in, out, 0, s->out.w, kd, kh, s->kernel[2], divisor * s->kernel[2]);
  } else pz_pooling_row(s, b, in, out, kd, kh, divisor);
}

PZ_INLINE void pz_pooling_block(const pz_pooling_shape *s, pz_row row, const float *in, float *scratch,
                                float *out) {
  float *to = out + pz_row_offset(&s->out, row);
  const float *from = in + row.n * s->in.stride_n + row.b * s->in.stride_c;
  pz_pooling_span d = pz_pooling_clip(s, 0, s->in.d, row.d), h = pz_pooling_clip(s, 1, s->in.h, row.h);
  from += d.begin * s->in.stride_d + h.begin * s->in.stride_h;
  const int32_t divisor = d.divisor * h.divisor;
  if (d.count == s->kernel[0] && h.count == s->kernel[1]) /* bounds that are constants */
    pz_pooling_line(s, row.b, from, scratch, to, s->kernel[0], s->kernel[1], divisor);
  else pz_pooling_line(s, row.b, from, scratch, to, d.count, h.count, divisor);
}

PZ_INLINE void pz_pooling(const pz_pooling_shape s, const float *in, float *scratch, float *out,
                          int32_t worker, int32_t workers) {
  const int together = s.in.channels_last || s.out.channels_last; /* all blocks of a row */
  pz_view walked = s.out;
  if (together) walked.c = walked.block;
  PZ_EACH_ROW(&walked, row, worker, workers) {
    pz_row one = row;
    do pz_pooling_block(&s, one, in, scratch, out);
    while (together && ++one.b < pz_blocks(&s.out));
  }
}

#endif
