/* Convolution by products of bfloat16 halves against a plain sum in double precision: random odd sizes, rows longer than a tile
 * and than two, dilation, borders no wider than needed and right in front of a guard page, inputs inside larger storage,
 * planes of it that are not stored, tensors in blocks and tight, poisoned output and scratch, bias, Base (also in place) with and without a scale, activations, one, two or four planes of
 * results at a time, by planes and by rows, of all columns and of some a call, with and without the largest of windows of the result;
 * deconvolutions in phases. 1, 2 and 3 workers, and any strips, give the same bits. What is not finite shows where it is seen, and only there. Shapes are not constant here; tests/plan and tests/networks run the kernel as generated code has it. */
#include "kernels/conv/deconv.h"
#include "kernels/conv/halves.h"
#include "kernels/conv/pack_halves.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Relative L2 error of a layer, somewhat above that of doc/algorithm-halves.md; of a result, in parts of what sums of so many products of values
 * uniform in [-1, 1] reach. */
#define LAYER_TOLERANCE  (l->s.m == 4 ? 1.4e-5 : 8e-6)
#define RESULT_TOLERANCE (l->s.m == 4 ? 3.5e-5 : 2e-5)

typedef struct layer {
  pz_conv_halves_shape s;
  pz_test_tensor in, out, base, pooled;
  float *weights, *bias, *scale, *slope; /* weights: [K, C, taps]; of a deconvolution [C, K, taps] */
  pz_test_memory packed, packed_bias, packed_scale, packed_slope, scratch;
  bool in_place, transposed;
  int32_t column_parts; /* calls */
} layer;

/* ---- layers ---- */

/* Sizes of results, of at most so many multiply-adds: the sum they are compared with takes about 3 ns for each. */
static void random_size(pz_test_random *r, double each, int32_t size[4]) {
  do {
    size[0] = pz_test_int(r, 0, 2) ? 1 : 2;
    size[1] = pz_test_int(r, 1, 7), size[2] = pz_test_int(r, 1, 11);
    size[3] = pz_test_int(r, 1, pz_test_int(r, 0, 1) ? 13 : 45);
  } while (each * size[0] * size[1] * size[2] * size[3] > 1e7);
}

/* Storage that ends with the border that a convolution needs, in front of a guard page, or goes on around it with poison. */
static pz_test_tensor bordered(pz_test_random *r, int32_t c, const int32_t size[4], const int32_t lo[3],
                               const int32_t hi[3]) {
  int32_t before[4] = {0}, behind[4] = {0};
  pz_view v = pz_test_dense(PZ_S, size[0], c, size[1], size[2], size[3]);
  v.tight = pz_test_int(r, 0, 2) == 0;
  for (int i = 0; i < 3; ++i) v.border_lo[i] = lo[i], v.border_hi[i] = hi[i];
  for (int i = 0, larger = pz_test_int(r, 0, 1); i < 4 && larger; ++i)
    before[i] = pz_test_int(r, 0, 2), behind[i] = pz_test_int(r, 0, 2);
  pz_test_tensor t = pz_test_store(v, before, behind, pz_test_int(r, 0, 1));
  pz_test_fill(&t, r, -1, 1);
  return t;
}

static void random_ends(pz_test_random *r, pz_conv_direct_shape *c) {
  static const int32_t acts[5] = {PZ_K_ACT_NONE, PZ_K_ACT_ELU, PZ_K_ACT_SIGMOID, PZ_K_ACT_PRELU,
                                  PZ_K_ACT_HARD_SIGMOID};
  *c = (pz_conv_direct_shape){.groups = 1,
                              .phases = 1,
                              .act = acts[pz_test_int(r, 0, 4)],
                              .alpha = 0.7f,
                              .beta = 0.3f,
                              .has_bias = pz_test_int(r, 0, 1),
                              .stream = pz_test_int(r, 0, 1)};
  for (int i = 0; i < 3; ++i) c->stride[i] = c->dilation[i] = 1;
}

/* What a layer has around its inputs: results, Base, weights. */
static void random_operands(pz_test_random *r, layer *l, pz_conv_direct_shape *c, int32_t maps_out,
                            const int32_t out[4]) {
  l->out = pz_test_tensor_tight(r, PZ_S, out[0], maps_out, out[1], out[2], out[3]);
  c->stream &= !l->out.view.tight;
  c->in = l->in.view, c->out = l->out.view;
  if (pz_test_int(r, 0, 1)) {
    l->in_place = pz_test_int(r, 0, 1);
    l->base = l->in_place ? l->out : pz_test_tensor_tight(r, PZ_S, out[0], maps_out, out[1], out[2], out[3]);
    c->base = l->base.view, c->has_base_scale = pz_test_int(r, 0, 1);
    pz_test_fill(&l->base, r, -1, 1);
  }
  l->weights = pz_test_floats(r, (int64_t)c->in.c * maps_out * pz_conv_taps(c));
  l->bias = pz_test_floats(r, maps_out), l->scale = pz_test_floats(r, maps_out),
  l->slope = pz_test_floats(r, maps_out);
}

/* A third are few in a last block without a partner. */
static int32_t random_maps(pz_test_random *r) {
  return pz_test_int(r, 0, 2) ? pz_test_int(r, 1, 70) : 32 * pz_test_int(r, 0, 2) + pz_test_int(r, 1, 4);
}

/* Windows of one or two points along each axis, of half of those layers that may have some. (By numbers of their own: layers are the same with
 * and without.) */
static void random_windows(uint64_t seed, layer *l) {
  pz_test_random own = {.state = seed}, *r = &own;
  const pz_view *out = &l->s.conv.out;
  const int32_t size[3] = {out->d, out->h, out->w};
  int32_t *k = l->s.window;
  for (int i = 0; i < 3; ++i) {
    const bool whole = size[i] % 2 == 0 && (i || l->s.m % 2 == 0);
    k[i] = whole && pz_test_int(r, 0, 3) ? 2 : 1;
  }
  if (k[0] * k[1] * k[2] == 1 || pz_test_int(r, 0, 1)) return;
  l->pooled = pz_test_tensor_tight(r, PZ_S, out->n, out->c, out->d / k[0], out->h / k[1], out->w / k[2]);
  l->s.pooled = l->pooled.view, l->s.conv.stream = 0;
}

static layer random_conv(pz_test_random *r) {
  static const int32_t kernels[][3] = {{3, 3, 3}, {3, 3, 3}, {1, 3, 3}, {3, 3, 1},
                                       {1, 1, 1}, {1, 5, 5}, {3, 1, 3}, {5, 3, 3}};
  layer l = {0};
  pz_conv_direct_shape *c = &l.s.conv;
  const int32_t *kernel = kernels[pz_test_int(r, 0, 7)], maps_in = random_maps(r), maps_out = random_maps(r);
  int32_t out[4], size[4], lo[3], hi[3];
  random_ends(r, c);
  for (int i = 0; i < 3; ++i) c->kernel[i] = kernel[i], c->dilation[i] = pz_test_int(r, 0, 5) ? 1 : 2;
  random_size(r, (double)maps_in * maps_out * pz_conv_taps(c), out);
  size[0] = out[0];
  for (int i = 0; i < 3; ++i) {
    const int32_t reach = pz_halves_reach(&l.s, i);
    c->pad[i] = lo[i] = pz_test_int(r, 0, reach / 2), hi[i] = pz_test_int(r, 0, reach / 2);
    size[i + 1] = out[i + 1] + reach - lo[i] - hi[i];
  }
  if (pz_test_int(r, 0, 1)) {
    lo[0] -= l.s.absent[0] = pz_test_int(r, 0, lo[0]), hi[0] -= l.s.absent[1] = pz_test_int(r, 0, hi[0]);
  }
  l.in = bordered(r, maps_in, size, lo, hi);
  random_operands(r, &l, c, maps_out, out);
  l.s.m = c->kernel[0] == 3 && c->dilation[0] == 1 ? 1 << pz_test_int(r, 0, 2) : 1;
  if (pz_halves_may_be_few(c) && pz_test_int(r, 0, 3)) {
    l.s.few_in = pz_halves_ends_few(maps_in);
    l.s.few_out = pz_halves_ends_few(maps_out);
  }
  random_windows(r->state, &l);
  return l;
}

/* Strips of whole pairs of planes where two are made together: which are, changes the bits. So do few maps, which are by row. */
static void random_schedule(pz_test_random *r, pz_conv_halves_shape *s) {
  s->rows = pz_test_int(r, 1, s->conv.out.h);
  s->by_row = s->few_in || s->few_out || pz_test_int(r, 0, 1);
  s->step = s->by_row ? pz_test_int(r, 1, 3) : 0;
  s->planes = s->m * (s->by_row ? 1 : pz_test_int(r, 1, (s->conv.out.d + s->m - 1) / s->m));
  pz_halves_whole_windows(&s->rows, s, 1);
  s->parts = pz_test_int(r, 1, (pz_halves_out_blocks(s) + 1) / 2);
  s->flat = !s->by_row && pz_test_int(r, 0, 1);
  s->slots = pz_halves_window(s) + pz_test_int(r, 0, 3);
}
/* Another one where it makes other bits. */
static void chosen_schedule(pz_test_random *r, pz_conv_halves_shape *s) {
  const pz_conv_machine machine = {.registers = PZ_V_REGISTERS,
                                   .l1 = 48 << 10,
                                   .l2 = (int64_t)1 << pz_test_int(r, 15, 21),
                                   .workers = pz_test_int(r, 0, 3)};
  const pz_conv_halves_shape before = *s;
  pz_halves_schedule(s, &machine);
  if (s->few_in == before.few_in && s->few_out == before.few_out) return;
  *s = before;
  random_schedule(r, s);
}
static pz_conv_halves_shape columns_of(const layer *l, int32_t part, int32_t *first) {
  pz_conv_halves_shape s = l->s;
  *first = l->column_parts == 1 ? 0 : pz_halves_take_columns(&s, part, l->column_parts);
  return s;
}
/* Its scratch depends on it. */
static void give_schedule(pz_test_random *r, layer *l, bool chosen) {
  int64_t floats = 0;
  (chosen ? chosen_schedule : random_schedule)(r, &l->s);
  l->column_parts = l->s.by_row ? pz_test_int(r, 1, pz_halves_row_tiles(&l->s)) : 1;
  for (int32_t i = 0, first; i < l->column_parts; ++i) {
    const pz_conv_halves_shape s = columns_of(l, i, &first);
    if (pz_halves_scratch(&s) > floats) floats = pz_halves_scratch(&s);
  }
  l->scratch = pz_test_alloc(floats, pz_test_int(r, 0, 1));
}

static void pack_layer(layer *l) {
  const int32_t maps_out = l->s.conv.out.c;
  l->packed = pz_test_alloc(pz_halves_weight_floats(&l->s), false);
  pz_halves_pack(&l->s, l->weights, l->packed.data);
  l->packed_bias = pz_test_vector(l->bias, maps_out, PZ_S);
  l->packed_scale = pz_test_vector(l->scale, maps_out, PZ_S);
  l->packed_slope = pz_test_vector(l->slope, maps_out, PZ_S);
}

static void free_layer(layer *l) {
  if (l->s.conv.base.c && !l->in_place) pz_test_tensor_free(&l->base);
  pz_test_tensor_free(&l->in), pz_test_tensor_free(&l->out);
  if (l->s.pooled.c) pz_test_tensor_free(&l->pooled);
  pz_test_free(&l->packed), pz_test_free(&l->packed_bias), pz_test_free(&l->packed_scale);
  pz_test_free(&l->packed_slope), pz_test_free(&l->scratch);
  free(l->weights), free(l->bias), free(l->scale), free(l->slope);
}

static pz_conv_halves_shape shape;
PZ_CONV_HALVES_PARTS(shape)

static void run_layer(const layer *l, int32_t worker, int32_t workers) {
  const pz_conv_direct_shape *c = &l->s.conv;
  pz_test_poison(l->scratch.data, l->scratch.floats);
  for (int32_t i = 0, first; i < l->column_parts; ++i) {
    shape = columns_of(l, i, &first);
    pz_conv_halves(
        shape, shape_parts, l->in.at + first * c->in.stride_w, l->packed.data,
        c->has_bias ? l->packed_bias.data : NULL, c->base.c ? l->base.at + first * c->base.stride_w : NULL,
        c->has_base_scale ? l->packed_scale.data : NULL,
        c->act == PZ_K_ACT_PRELU ? l->packed_slope.data : NULL, l->out.at + first * c->out.stride_w,
        shape.pooled.c ? l->pooled.at + first / shape.window[2] * shape.pooled.stride_w : NULL,
        l->scratch.data, worker, workers);
  }
}

static const char *name_of(const layer *l) {
  static char text[240];
  const pz_conv_halves_shape *s = &l->s;
  const pz_conv_direct_shape *c = &s->conv;
  snprintf(text, sizeof text,
           "%dx%dx%d dilation %d,%d,%d, %d to %d maps, %dx%dx%dx%d, m %d, rows %d, planes %d, steps of %d, "
           "slots %d, parts %d, flat %d, parts of columns %d",
           c->kernel[0], c->kernel[1], c->kernel[2], c->dilation[0], c->dilation[1], c->dilation[2], c->in.c,
           c->out.c, c->out.n, c->out.d, c->out.h, c->out.w, s->m, s->rows, s->planes, s->step, s->slots,
           s->parts, s->flat, l->column_parts);
  return text;
}

/* ---- what is expected ---- */

static double conv_sum(const layer *l, int32_t n, int32_t c, int32_t d, int32_t h, int32_t w) {
  const pz_conv_direct_shape *s = &l->s.conv;
  const int64_t across = s->dilation[2] * s->in.stride_w;
  const float *weight = l->weights + (int64_t)c * s->in.c * pz_conv_taps(s);
  double sum = 0;
  for (int32_t m = 0; m < s->in.c; ++m)
    for (int32_t i = 0; i < s->kernel[0]; ++i)
      for (int32_t j = 0; j < s->kernel[1]; ++j) {
        const int32_t z = d - s->pad[0] + i * s->dilation[0];
        if (z < -s->in.border_lo[0] || z >= s->in.d + s->in.border_hi[0]) { /* absent */
          weight += s->kernel[2];
          continue;
        }
        const float *x = pz_test_at(&l->in, n, m, z, h - s->pad[1] + j * s->dilation[1], w - s->pad[2]);
        for (int32_t k = 0; k < s->kernel[2]; ++k, x += across) sum += (double)*weight++ * (double)*x;
      }
  return sum;
}

/* Where tap `tap` of a deconvolution's output `at` reads, along axis i; -1: nowhere. */
static int32_t source_of(const pz_conv_direct_shape *s, int i, int32_t at, int32_t tap, int32_t size) {
  const int32_t from = at + s->pad[i] - tap;
  return from < 0 || from % s->stride[i] || from / s->stride[i] >= size ? -1 : from / s->stride[i];
}

static double transposed_sum(const layer *l, int32_t n, int32_t c, int32_t d, int32_t h, int32_t w) {
  const pz_conv_direct_shape *s = &l->s.conv;
  const int32_t taps = pz_conv_taps(s);
  double sum = 0;
  for (int32_t tap = 0; tap < taps; ++tap) {
    const int32_t x = source_of(s, 2, w, tap % s->kernel[2], s->in.w),
                  y = source_of(s, 1, h, tap / s->kernel[2] % s->kernel[1], s->in.h),
                  z = source_of(s, 0, d, tap / s->kernel[2] / s->kernel[1], s->in.d);
    for (int32_t m = 0; m < s->in.c && x >= 0 && y >= 0 && z >= 0; ++m)
      sum += (double)l->weights[((int64_t)m * s->out.c + c) * taps + tap] *
             (double)*pz_test_at(&l->in, n, m, z, y, x);
  }
  return sum;
}

/* norm: that of what activations are given. */
static double *expected(const layer *l, double *norm) {
  const pz_conv_direct_shape *s = &l->s.conv;
  double *want = pz_test_doubles(&l->out.view), *to = want, squares = 0;
  PZ_TEST_EACH(l->out.view, 0, l->out.view.c) {
    double sum = (l->transposed ? transposed_sum : conv_sum)(l, n, c, d, h, w);
    if (s->has_bias) sum += (double)l->bias[c];
    if (s->base.c)
      sum += (double)*pz_test_at(&l->base, n, c, d, h, w) * (s->has_base_scale ? (double)l->scale[c] : 1.0);
    squares += sum * sum;
    *to++ = pz_test_activate(s->act, (double)s->alpha, (double)s->beta, (double)l->slope[c], sum);
  }
  *norm = sqrt(squares);
  return want;
}

/* Products of two values uniform in [-1, 1] are 1/3 in size (root of the mean square); sums of n of them reach three times what
 * that makes, sqrt(n). No activation here is steeper than 1. */
static bool near_enough(const layer *l, const double *want, double norm) {
  const double reach = sqrt((double)l->s.conv.in.c * pz_conv_taps(&l->s.conv));
  double squares = 0, most = 0;
  PZ_TEST_EACH(l->out.view, 0, l->out.view.c) {
    const double off = (double)*pz_test_at(&l->out, n, c, d, h, w) - *want++;
    squares += off * off;
    most = fabs(off) <= most ? most : fabs(off); /* NaN is the most */
  }
  const double relative = sqrt(squares) / norm;
  if (relative <= LAYER_TOLERANCE && most <= RESULT_TOLERANCE * reach) return true;
  fprintf(stderr, "relative error %.3g, the largest one %.3g of %.3g\n", relative, most / reach, reach);
  return false;
}

/* ---- tests ---- */

static float largest(const layer *l, int32_t n, int32_t c, int32_t d, int32_t h, int32_t w) {
  const int32_t *k = l->s.window;
  float most = -INFINITY;
  for (int32_t i = 0; i < k[0] * k[1] * k[2]; ++i)
    most = fmaxf(most, *pz_test_at(&l->out, n, c, d * k[0] + i / (k[1] * k[2]), h * k[1] + i / k[2] % k[1],
                                   w * k[2] + i % k[2]));
  return most;
}
/* Of the results as they are, exactly. */
static bool pooled_right(const layer *l) {
  if (!l->s.pooled.c) return true;
  PZ_TEST_EACH(l->pooled.view, 0, l->pooled.view.c) {
    if (*pz_test_at(&l->pooled, n, c, d, h, w) == largest(l, n, c, d, h, w)) continue;
    fprintf(stderr, "window %d,%d,%d,%d,%d: not its largest\n", n, c, d, h, w);
    return false;
  }
  return pz_test_padding_zero(&l->pooled) && pz_test_untouched(&l->pooled, false);
}
static void forget_pooled(const layer *l) {
  if (l->s.pooled.c) pz_test_poison(l->pooled.memory.data, l->pooled.memory.floats);
}

static bool same_bits(const layer *l, const float *bits, const char *what) {
  const bool same = !memcmp(l->out.memory.data, bits, (size_t)l->out.memory.floats * sizeof *bits);
  if (!same) fprintf(stderr, "%s: other bits\n", what);
  return same;
}

/* With other strips, on what out held before. */
static bool check_schedules(pz_test_random *r, layer *l, const float *before) {
  float *first = pz_test_snapshot(&l->out.memory);
  bool same = true;
  for (int i = 0; i < 4 && same; ++i) {
    const int32_t workers = pz_test_int(r, 1, 3);
    pz_test_free(&l->scratch);
    give_schedule(r, l, i == 0);
    memcpy(l->out.memory.data, before, (size_t)l->out.memory.floats * sizeof *before);
    forget_pooled(l);
    for (int32_t worker = 0; worker < workers; ++worker) run_layer(l, worker, workers);
    same = same_bits(l, first, name_of(l)) && pooled_right(l);
  }
  free(first);
  return same;
}

static bool check_layer(pz_test_random *r, layer *l) {
  double norm, *want = expected(l, &norm);
  float *before = pz_test_snapshot(&l->out.memory);
  bool good;
  PZ_TEST_WORKERS(good, l->out.memory, run_layer(l, worker, workers));
  good = good && near_enough(l, want, norm) && pooled_right(l) && pz_test_padding_zero(&l->out) &&
         ((l->s.conv.base.c && l->in_place) || pz_test_untouched(&l->out, false)) &&
         check_schedules(r, l, before);
  free(before), free(want);
  return good;
}

static void test_convolutions(void **state) {
  (void)state;
  pz_test_random r = {.state = 4711};
  for (int i = 0; i < 400; ++i) {
    layer l = random_conv(&r);
    pack_layer(&l);
    give_schedule(&r, &l, pz_test_int(&r, 0, 1));
    if (!check_layer(&r, &l)) fail_msg("layer %d: %s", i, name_of(&l));
    free_layer(&l);
  }
}

/* ---- deconvolutions ---- */

static layer random_deconv(pz_test_random *r) {
  layer l = {.transposed = true, .s = {.m = 1}};
  pz_conv_direct_shape *c = &l.s.conv;
  const bool whole = pz_test_int(r, 0, 2); /* the kernel is the stride: one convolution of all phases */
  const int32_t maps_in = pz_test_int(r, 1, 70), maps_out = pz_test_int(r, 1, 40),
                border[3] = {3, 3, 3}; /* no phase reads further */
  int32_t size[4], out[4];
  random_ends(r, c);
  do {
    size[0] = out[0] = pz_test_int(r, 1, 2);
    for (int i = 0; i < 3; ++i) {
      c->stride[i] = pz_test_int(r, 1, 3), c->kernel[i] = c->stride[i] + (whole ? 0 : pz_test_int(r, 0, 2));
      c->pad[i] = whole ? 0 : pz_test_int(r, 0, c->kernel[i] - 1);
      size[i + 1] = pz_test_int(r, 1, i < 2 ? 5 : 20);
      out[i + 1] = (size[i + 1] - 1) * c->stride[i] + c->kernel[i] - 2 * c->pad[i];
    }
  } while (out[1] < 1 || out[2] < 1 || out[3] < 1 ||
           (double)maps_in * maps_out * pz_conv_taps(c) * size[1] * size[2] * size[3] > 3e6);
  l.in = bordered(r, maps_in, size, border, border);
  random_operands(r, &l, c, maps_out, out);
  l.packed_bias = pz_test_vector(l.bias, maps_out, PZ_S);
  l.packed_scale = pz_test_vector(l.scale, maps_out, PZ_S);
  l.packed_slope = pz_test_vector(l.slope, maps_out, PZ_S);
  return l;
}

static void run_phase(pz_test_random *r, const layer *deconv, const pz_deconv_phase *phase, int32_t workers) {
  layer l = *deconv;
  float *weights = malloc((size_t)pz_deconv_weight_floats(phase) * sizeof *weights);
  assert_non_null(weights);
  l.s.conv = phase->shape;
  l.out.at += phase->out_offset, l.base.at += phase->base_offset;
  pz_deconv_weights(&deconv->s.conv, phase, deconv->weights, weights);
  give_schedule(r, &l, pz_test_int(r, 0, 1));
  l.packed = pz_test_alloc(pz_halves_weight_floats(&l.s), false);
  pz_halves_pack(&l.s, weights, l.packed.data);
  for (int32_t worker = 0; worker < workers; ++worker) run_layer(&l, worker, workers);
  pz_test_free(&l.packed), pz_test_free(&l.scratch);
  free(weights);
}

static void run_phases(pz_test_random *r, const layer *l, int32_t workers) {
  const pz_deconv_merge merge = pz_deconv_merges(&l->s.conv);
  for (int32_t i = 0; i < pz_deconv_phases(&l->s.conv, merge); ++i) {
    pz_deconv_phase phase;
    if (pz_deconv_phase_of(&l->s.conv, merge, i, &phase)) run_phase(r, l, &phase, workers);
  }
}

static void test_deconvolutions(void **state) {
  (void)state;
  pz_test_random r = {.state = 815};
  for (int i = 0; i < 100; ++i) {
    layer l = random_deconv(&r);
    double norm, *want = expected(&l, &norm);
    float *before = pz_test_snapshot(&l.out.memory);
    run_phases(&r, &l, 1);
    float *first = pz_test_snapshot(&l.out.memory);
    bool good = near_enough(&l, want, norm) && pz_test_padding_zero(&l.out);
    for (int32_t workers = 1; workers <= 3 && good; ++workers) {
      memcpy(l.out.memory.data, before, (size_t)l.out.memory.floats * sizeof *before);
      run_phases(&r, &l, workers);
      good = same_bits(&l, first, name_of(&l));
    }
    good = good && ((l.s.conv.base.c && l.in_place) || pz_test_untouched(&l.out, false));
    if (!good)
      fail_msg("deconvolution %d: %s, stride %d,%d,%d", i, name_of(&l), l.s.conv.stride[0],
               l.s.conv.stride[1], l.s.conv.stride[2]);
    free(before), free(first), free(want);
    free_layer(&l);
  }
}

/* Whether the result at `at` reads position `from`, along one axis. */
static bool sees(const pz_conv_direct_shape *s, int i, int32_t at, int32_t from) {
  const int32_t tap = from - at + s->pad[i];
  return tap >= 0 && tap % s->dilation[i] == 0 && tap / s->dilation[i] < s->kernel[i];
}

/* Whether one of the planes of results that are made together with `at` does. (F(2, 3) reads for a result what the sum reads.) */
static bool reaches(const pz_conv_halves_shape *s, int32_t at, int32_t from) {
  const int32_t together = s->m == 4 ? 4 : 1, first = at / together * together;
  bool any = false;
  for (int32_t d = first; d < first + together && d < s->conv.out.d; ++d) any |= sees(&s->conv, 0, d, from);
  return any;
}

/* Whether it, or, with few maps in and out, one of the two results behind it does, along the width: their inputs are factors of zeros. */
static bool reaches_across(const pz_conv_halves_shape *s, int32_t at, int32_t from) {
  bool any = false;
  for (int32_t i = 0; i <= (s->few_in && s->few_out ? 2 : 0); ++i) any |= sees(&s->conv, 2, at + i, from);
  return any;
}

/* One input that is not finite: all maps of the results that see it are NaN or infinite; all but those that are made together with
 * them keep their bits. */
static void test_not_finite(void **state) {
  (void)state;
  static const float values[3] = {NAN, INFINITY, -INFINITY};
  pz_test_random r = {.state = 99};
  for (int i = 0; i < 60; ++i) {
    layer l = random_conv(&r);
    pz_conv_direct_shape *s = &l.s.conv;
    const pz_view *v = &l.in.view;
    if (s->base.c && !l.in_place) pz_test_tensor_free(&l.base);
    s->act = PZ_K_ACT_NONE, s->base.c = 0;
    pack_layer(&l);
    give_schedule(&r, &l, pz_test_int(&r, 0, 1));
    run_layer(&l, 0, 1);
    float *first = pz_test_snapshot(&l.out.memory);
    const int32_t at[5] = {pz_test_int(&r, 0, v->n - 1), pz_test_int(&r, 0, v->c - 1),
                           pz_test_int(&r, 0, v->d - 1), pz_test_int(&r, 0, v->h - 1),
                           pz_test_int(&r, 0, v->w - 1)};
    *pz_test_at(&l.in, at[0], at[1], at[2], at[3], at[4]) = values[i % 3];
    run_layer(&l, 0, 1);
    PZ_TEST_EACH(l.out.view, 0, l.out.view.c) {
      const float *got = pz_test_at(&l.out, n, c, d, h, w), *was = first + (got - l.out.memory.data);
      const bool near = n == at[0] && sees(s, 1, h, at[3]),
                 seen = near && sees(s, 2, w, at[4]) && sees(s, 0, d, at[2]),
                 kept = !(near && reaches_across(&l.s, w, at[4]) && reaches(&l.s, d, at[2]));
      if (seen ? isfinite(*got) : kept && memcmp(got, was, 4) != 0)
        fail_msg("%g at (%d,%d,%d,%d,%d) of the input, %g at (%d,%d,%d,%d,%d): %s", (double)values[i % 3],
                 at[0], at[1], at[2], at[3], at[4], (double)*got, n, c, d, h, w, name_of(&l));
    }
    free(first);
    free_layer(&l);
  }
}

/* ---- halves ---- */

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}

static void test_nearest(void **state) {
  (void)state;
  static const uint32_t rows[][2] = {
      {0x3f800000, 0x3f800000}, {0x3f807fff, 0x3f800000}, {0x3f808000, 0x3f800000}, {0x3f808001, 0x3f810000},
      {0x3f817fff, 0x3f810000}, {0x3f818000, 0x3f820000}, {0x3fffffff, 0x40000000}, {0x3f7f8000, 0x3f800000},
      {0x00000000, 0x00000000}, {0x00008000, 0x00000000}, {0x00018000, 0x00020000}, {0x00000001, 0x00000000},
      {0x007fffff, 0x00800000}, {0x7f7f7fff, 0x7f7f0000}, {0x7f7f8000, 0x7f800000}, {0x7f800000, 0x7f800000}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    for (uint32_t negative = 0; negative < 2; ++negative)
      assert_int_equal(bits_of(pz_halves_nearest(from_bits(rows[i][0] | negative << 31))),
                       rows[i][1] | negative << 31);
  assert_true(isnan(pz_halves_nearest(NAN)));
}

static float half_of(float x, int32_t second) { return from_bits((uint32_t)pz_halves_of(x, second) << 16); }

/* Each half's error is at most 2^-8 of what it is the nearest of; a denormal's, half of what the lowest bit is worth. */
static void test_halves(void **state) {
  (void)state;
  pz_test_random r = {.state = 12};
  for (int i = 0; i < 200000; ++i) {
    const float x = from_bits(pz_test_next(&r) & (i % 8 ? 0xffffffff : 0x80ffffff));
    if (!(fabsf(x) < 0x1.fep127f)) continue;
    const double sum = (double)half_of(x, 0) + (double)half_of(x, 1), bound = fabs((double)x) * 0x1p-16;
    assert_true(half_of(x, 0) == pz_halves_nearest(x));
    if (!(fabs(sum - (double)x) <= (bound < 0x1p-134 ? 0x1p-134 : bound)))
      fail_msg("%a: %a + %a", (double)x, (double)half_of(x, 0), (double)half_of(x, 1));
  }
  static const uint32_t others[6] = {0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff, 0x7f800000, 0xff800000};
  for (int i = 0; i < 6; ++i) { /* of infinity, infinity and NaN: sums that it goes into are NaN */
    const float x = from_bits(others[i]);
    assert_true(isnan(half_of(x, 0) + half_of(x, 1)));
  }
  assert_true(half_of(INFINITY, 0) == INFINITY && half_of(-INFINITY, 0) == -INFINITY);
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nearest), cmocka_unit_test(test_halves), cmocka_unit_test(test_convolutions),
      cmocka_unit_test(test_deconvolutions), cmocka_unit_test(test_not_finite)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
