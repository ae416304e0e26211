/* deconv.h: a transposed convolution as ordinary convolutions, one for each phase of its stride. Plain C, run by the
 * compiler half.
 *
 * y[stride*i + dilation*j - pad] += x[i] * weight[j] along each axis. The outputs o = p + stride*m of phase p, 0 <= p <
 * stride, see the taps j with dilation*j = p + pad (mod stride): every (stride/gcd)-th of them, gcd that of stride and
 * dilation. They read i = m + (p + pad - dilation*j)/stride. Turned round, so that i grows with the tap, that is a
 * convolution of stride 1, dilation dilation/gcd and padding (dilation*last - p - pad)/stride, which writes every
 * stride-th point; the padding may be negative. A phase without taps is left with bias, Base and activation.
 *
 * A deconvolution is described by a pz_conv_direct_shape whose kernel, stride, dilation, pad are its own. Where the
 * phases along w are alike (kernel = stride, no padding), they are made one convolution of several outer phases
 * (conv/shape.h), which writes whole rows; where those along all axes are, the whole is one. */
#ifndef PZ_KERNELS_DECONV_DECONV_H
#define PZ_KERNELS_DECONV_DECONV_H

#include "kernels/conv/shape.h"

#include <stdbool.h>

/* The taps of one phase along one axis: first, first + step, ...; `count` of them. */
typedef struct pz_deconv_axis {
  int32_t first, step, count;
  int32_t pad, dilation; /* of the convolution */
  int32_t points;        /* outputs of this phase */
} pz_deconv_axis;

typedef struct pz_deconv_phase {
  pz_conv_direct_shape shape;      /* without schedule */
  pz_deconv_axis axis[3];          /* those of the first of shape.phases */
  int64_t out_offset, base_offset; /* floats from the deconvolution's out and residual */
} pz_deconv_phase;

static inline int32_t pz_deconv_gcd(int32_t a, int32_t b) { return b ? pz_deconv_gcd(b, a % b) : a; }

static inline int32_t pz_deconv_out_size(const pz_conv_direct_shape *s, int32_t i) {
  return i == 0 ? s->out.d : i == 1 ? s->out.h : s->out.w;
}

static inline pz_deconv_axis pz_deconv_axis_of(const pz_conv_direct_shape *s, int32_t i, int32_t phase) {
  int32_t stride = s->stride[i], gcd = pz_deconv_gcd(stride, s->dilation[i]),
          rest = pz_deconv_out_size(s, i) - phase;
  pz_deconv_axis a = {.step = stride / gcd, .dilation = s->dilation[i] / gcd};
  a.points = rest > 0 ? (rest + stride - 1) / stride : 0;
  while (a.first < a.step && (s->dilation[i] * a.first - phase - s->pad[i]) % stride) ++a.first;
  if (a.first == a.step || a.first >= s->kernel[i]) return a; /* no taps */
  a.count = (s->kernel[i] - 1 - a.first) / a.step + 1;
  a.pad = (s->dilation[i] * (a.first + (a.count - 1) * a.step) - phase - s->pad[i]) / stride;
  return a;
}

/* Whether all phases along an axis are convolutions with the same window and the same number of points. */
static inline bool pz_deconv_alike(const pz_conv_direct_shape *s, int32_t i) {
  pz_deconv_axis a = pz_deconv_axis_of(s, i, 0);
  for (int32_t phase = 1; phase < s->stride[i]; ++phase) {
    pz_deconv_axis b = pz_deconv_axis_of(s, i, phase);
    if (a.points != b.points || a.count != b.count || a.pad != b.pad) return false;
  }
  return true;
}

/* Whether points of a row lie beside each other. */
static inline bool pz_deconv_touch(const pz_view *v) { return v->stride_w == v->block || v->channels_last; }

/* Which phases can be one convolution: those along w, if they are alike and write blocks that lie beside each other; all, if
 * those along h and d are alike too. Not for conv_depthwise/depthwise.h and conv_dot/dot.h, which have no outer phases. */
typedef enum pz_deconv_merge { PZ_DECONV_EACH, PZ_DECONV_ROWS, PZ_DECONV_ALL } pz_deconv_merge;

static inline pz_deconv_merge pz_deconv_merges(const pz_conv_direct_shape *s) {
  if (s->out.block == 1 || !pz_deconv_touch(&s->out) || !pz_deconv_alike(s, 2)) return PZ_DECONV_EACH;
  if (s->residual.c && !pz_deconv_touch(&s->residual)) return PZ_DECONV_EACH;
  if (pz_deconv_alike(s, 0) && pz_deconv_alike(s, 1)) return PZ_DECONV_ALL;
  return s->stride[2] == 1 ? PZ_DECONV_EACH : PZ_DECONV_ROWS;
}

/* How many convolutions it is, of which `merge` (at most pz_deconv_merges) says what counts as one. */
static inline int32_t pz_deconv_phases(const pz_conv_direct_shape *s, pz_deconv_merge merge) {
  if (merge == PZ_DECONV_ALL) return 1;
  return s->stride[0] * s->stride[1] * (merge ? 1 : s->stride[2]);
}

/* A view of every stride-th point of `v`, as many as the axes say. */
static inline pz_view pz_deconv_view(const pz_conv_direct_shape *s, pz_view v, const pz_deconv_axis axis[3]) {
  if (v.c == 0) return v;
  v.d = axis[0].points, v.h = axis[1].points, v.w = axis[2].points;
  v.stride_d *= s->stride[0], v.stride_h *= s->stride[1], v.stride_w *= s->stride[2];
  for (int i = 0; i < 3; ++i) v.border_lo[i] = v.border_hi[i] = 0;
  return v;
}

static inline int64_t pz_deconv_offset(const pz_view *v, const int32_t at[3]) {
  return v->c ? at[0] * v->stride_d + at[1] * v->stride_h + at[2] * v->stride_w : 0;
}

/* Convolution `index` of pz_deconv_phases(s, merge). False: it has no output (the stride exceeds what is left). */
static inline bool pz_deconv_phase_of(const pz_conv_direct_shape *s, pz_deconv_merge merge, int32_t index,
                                      pz_deconv_phase *p) {
  const int32_t across = merge ? 1 : s->stride[2];
  const int32_t at[3] = {index / across / s->stride[1], index / across % s->stride[1], index % across};
  bool any = true, taps = true;
  *p = (pz_deconv_phase){.shape = *s,
                         .out_offset = pz_deconv_offset(&s->out, at),
                         .base_offset = pz_deconv_offset(&s->residual, at)};
  for (int32_t i = 0; i < 3; ++i) {
    p->axis[i] = pz_deconv_axis_of(s, i, at[i]);
    any = any && p->axis[i].points > 0, taps = taps && p->axis[i].count > 0;
  }
  for (int32_t i = 0; i < 3; ++i) {
    p->shape.kernel[i] = taps ? p->axis[i].count : 0, p->shape.pad[i] = taps ? p->axis[i].pad : 0;
    p->shape.stride[i] = 1, p->shape.dilation[i] = taps ? p->axis[i].dilation : 1;
  }
  p->shape.out = pz_deconv_view(s, s->out, p->axis),
  p->shape.residual = pz_deconv_view(s, s->residual, p->axis);
  p->shape.phases_d = merge == PZ_DECONV_ALL ? s->stride[0] : 1;
  p->shape.phases_h = merge == PZ_DECONV_ALL ? s->stride[1] : 1;
  p->shape.phases = p->shape.phases_d * p->shape.phases_h * (merge ? s->stride[2] : 1);
  return any;
}

/* Tap (i, j, k) of outer phase `phase` of the convolution, in the deconvolution's kernel. */
static inline int32_t pz_deconv_tap(const pz_conv_direct_shape *s, const pz_deconv_axis axis[3],
                                    const int32_t tap[3]) {
  int32_t at[3];
  for (int32_t i = 0; i < 3; ++i) at[i] = axis[i].first + (axis[i].count - 1 - tap[i]) * axis[i].step;
  return (at[0] * s->kernel[1] + at[1]) * s->kernel[2] + at[2];
}

/* Floats of the plain weights of the phase: [phases, K, C/groups, its taps]. */
static inline int64_t pz_deconv_weight_floats(const pz_deconv_phase *p) {
  const pz_conv_direct_shape *s = &p->shape;
  return (int64_t)s->phases * s->out.c * (s->in.c / s->groups) * pz_conv_taps(s);
}

/* weights [C, K/groups, kd, kh, kw] of the deconvolution `s` -> those of its phase, which conv_direct/pack.h (or
 * conv_depthwise/pack.h, conv_dot/pack.h) packs. */
static inline void pz_deconv_weights(const pz_conv_direct_shape *s, const pz_deconv_phase *p,
                                     const float *weights, float *to) {
  const int32_t channels_in = s->in.c / s->groups, channels_out = s->out.c / s->groups,
                *kernel = p->shape.kernel;
  for (int32_t phase = 0; phase < p->shape.phases; ++phase) {
    const int32_t across = pz_conv_phases_w(&p->shape), down = pz_conv_phases_h(&p->shape);
    const int32_t at[3] = {phase / across / down, phase / across % down, phase % across};
    const bool merged[3] = {pz_conv_phases_d(&p->shape) > 1, down > 1, across > 1};
    pz_deconv_axis axis[3];
    for (int32_t i = 0; i < 3; ++i) axis[i] = merged[i] ? pz_deconv_axis_of(s, i, at[i]) : p->axis[i];
    for (int32_t k = 0; k < s->out.c; ++k)
      for (int32_t c = k / channels_out * channels_in; c < (k / channels_out + 1) * channels_in; ++c) {
        const float *channel = weights + ((int64_t)c * channels_out + k % channels_out) * pz_conv_taps(s);
        for (int32_t i = 0; i < kernel[0]; ++i)
          for (int32_t j = 0; j < kernel[1]; ++j)
            for (int32_t l = 0; l < kernel[2]; ++l)
              *to++ = channel[pz_deconv_tap(s, axis, (const int32_t[3]){i, j, l})];
      }
  }
}

#endif
