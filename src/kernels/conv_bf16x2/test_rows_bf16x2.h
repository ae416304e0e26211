/* test_rows_bf16x2.h: rows of conv/test_layers.c: products of two bfloat16 numbers for each float, on AMX tiles. */
#ifndef PZ_KERNELS_CONV_BF16X2_TEST_ROWS_BF16X2_H
#define PZ_KERNELS_CONV_BF16X2_TEST_ROWS_BF16X2_H

#include "kernels/conv/test_frame.h"
#include "kernels/norm/test_normed.h"
#include "kernels/conv_bf16x2/bf16x2.h"
#include "kernels/conv_bf16x2/bf16x2_narrow.h"
#include "kernels/conv_bf16x2/pack.h"
#include "kernels/conv_bf16x2/pack_narrow.h"
#include "kernels/deconv/deconv.h"

/* Of sums of two-term products: an error of about 4e-6 of their usual size (doc/algorithm-bf16x2.md), which is a third of the root of their
 * number, and of the largest of thousands five times that. */
static double two_terms(double products) { return 5 * 4e-6 / 3 * sqrt(products) + 2e-6; }

/* ---- bf16x2, narrow ---- */

static double narrow_tolerance(const test_layer *l) {
  return two_terms((double)l->whole.in.c * pz_conv_taps(&l->whole));
}
static void narrow_choose(test_layer *l, pz_test_random *r) {
  test_choose_narrow(l, pz_test_int(r, 1, 70), pz_test_int(r, 1, 5), r);
  if (pz_test_int(r, 0, 1)) return;
  const int32_t around[4] = {pz_test_int(r, 0, 1), 0, 0, 0};
  pz_view v = l->o.in.view;
  v.channels_last = 1;
  pz_test_tensor_free(&l->o.in);
  l->o.in = pz_test_store(v, around, around, pz_test_int(r, 0, 1));
  pz_test_fill(&l->o.in, r, -1, 1);
  l->whole.in = l->o.in.view;
}
static void narrow_schedule(test_layer *l, pz_test_random *r) {
  pz_conv_bf16x2_narrow_shape *s = l->shape;
  (void)r;
  pz_bf16x2_narrow_schedule(s);
  l->packed = pz_test_alloc(pz_bf16x2_narrow_weight_pairs(s), false);
  pz_bf16x2_narrow_pack(s, l->o.weights, (pz_bf16_pair *)l->packed.data);
  l->scratch = pz_test_alloc(pz_bf16x2_narrow_scratch(s), false);
}
static void narrow_again(test_layer *l, pz_test_random *r) {
  ((pz_conv_bf16x2_narrow_shape *)l->shape)->rows = pz_test_int(r, 1, l->whole.out.h);
}
static void narrow_run(const test_layer *l, int32_t worker, int32_t workers) {
  pz_test_poison(l->scratch.data, l->scratch.floats);
  pz_conv_bf16x2_narrow(*(const pz_conv_bf16x2_narrow_shape *)l->shape, l->o.in.at,
                        (const uint16_t *)l->packed.data, test_bias(l), test_slope(l), l->o.out.at,
                        l->scratch.data, worker, workers);
}
static const test_row narrow_row = {.name = "bf16x2 narrow",
                                    .shape = sizeof(pz_conv_bf16x2_narrow_shape),
                                    .layers = 150,
                                    .seed = 1126,
                                    .choose = narrow_choose,
                                    .schedule = narrow_schedule,
                                    .run = narrow_run,
                                    .tolerance = narrow_tolerance,
                                    .again = narrow_again};

/* ---- bf16x2 ---- */

enum { BF16X2_RAW, BF16X2_FACTORS }; /* of test_layer.more */

/* With the calls that make a layer: each of a part of the columns. */
typedef struct bf16x2_own {
  pz_conv_bf16x2_shape s;
  int32_t calls;
} bf16x2_own;

/* Products of two values uniform in [-1, 1] are 1/3 in size (root of the mean square); sums of n of them reach three times what
 * that makes, sqrt(n). No activation here is steeper than 1. The layer's relative L2 error is somewhat above that of
 * doc/algorithm-bf16x2.md. */
static bool bf16x2_near_enough(const test_layer *l, const double *want, double norm) {
  const int32_t m = ((const bf16x2_own *)l->shape)->s.m;
  const double reach = sqrt((double)l->whole.in.c * pz_conv_taps(&l->whole));
  double squares = 0, most = 0;
  PZ_TEST_EACH(l->o.out.view, 0, l->o.out.view.c) {
    const double off = (double)*pz_test_at(&l->o.out, n, c, d, h, w) - *want++;
    squares += off * off;
    most = fabs(off) <= most ? most : fabs(off); /* NaN is the most */
  }
  const double relative = sqrt(squares) / norm;
  if (relative <= (m == 4 ? 1.4e-5 : 8e-6) && most <= (m == 4 ? 3.5e-5 : 2e-5) * reach) return true;
  fprintf(stderr, "relative error %.3g, the largest one %.3g of %.3g\n", relative, most / reach, reach);
  return false;
}

/* Storage that ends with the border that a convolution needs, in front of a guard page, or goes on around it with poison. */
static pz_test_tensor bf16x2_input(pz_test_random *r, int32_t c, const int32_t size[4], const int32_t lo[3],
                                   const int32_t hi[3]) {
  int32_t before[4] = {0}, behind[4] = {0};
  pz_view v = pz_test_dense(PZ_S, size[0], c, size[1], size[2], size[3]);
  v.channels_last = pz_test_int(r, 0, 2) == 0;
  for (int i = 0; i < 3; ++i) v.border_lo[i] = lo[i], v.border_hi[i] = hi[i];
  for (int i = 0, larger = pz_test_int(r, 0, 1); i < 4 && larger; ++i)
    before[i] = pz_test_int(r, 0, 2), behind[i] = pz_test_int(r, 0, 2);
  pz_test_tensor t = pz_test_store(v, before, behind, pz_test_int(r, 0, 1));
  pz_test_fill(&t, r, -1, 1);
  return t;
}

/* Sizes of results, of at most so many multiply-adds: the sum they are compared with takes some nanoseconds for each. */
static void bf16x2_size(pz_test_random *r, double each, int32_t size[4]) {
  do {
    size[0] = pz_test_int(r, 0, 2) ? 1 : 2;
    size[1] = pz_test_int(r, 1, 7), size[2] = pz_test_int(r, 1, 11);
    size[3] = pz_test_int(r, 1, pz_test_int(r, 0, 1) ? 13 : 45);
  } while (each * size[0] * size[1] * size[2] * size[3] > 1e7);
}
/* A third are few in a last block without a partner. */
static int32_t bf16x2_channels(pz_test_random *r) {
  return pz_test_int(r, 0, 2) ? pz_test_int(r, 1, 70) : 32 * pz_test_int(r, 0, 2) + pz_test_int(r, 1, 4);
}

static void bf16x2_choose(test_layer *l, pz_test_random *r) {
  static const int32_t kernels[][3] = {{3, 3, 3}, {3, 3, 3}, {1, 3, 3}, {3, 3, 1},
                                       {1, 1, 1}, {1, 5, 5}, {3, 1, 3}, {5, 3, 3}};
  pz_conv_bf16x2_shape *s = l->shape;
  pz_conv_direct_shape *c = &l->whole;
  const int32_t *kernel = kernels[pz_test_int(r, 0, 7)], channels_in = bf16x2_channels(r),
                channels_out = bf16x2_channels(r);
  int32_t out[4], size[4], lo[3], hi[3];
  test_ends(c, r);
  for (int i = 0; i < 3; ++i) c->kernel[i] = kernel[i], c->dilation[i] = pz_test_int(r, 0, 5) ? 1 : 2;
  bf16x2_size(r, (double)channels_in * channels_out * pz_conv_taps(c), out);
  size[0] = out[0];
  for (int i = 0; i < 3; ++i) {
    const int32_t reach = (c->kernel[i] - 1) * c->dilation[i];
    c->pad[i] = lo[i] = pz_test_int(r, 0, reach / 2), hi[i] = pz_test_int(r, 0, reach / 2);
    size[i + 1] = out[i + 1] + reach - lo[i] - hi[i];
  }
  if (pz_test_int(r, 0, 1))
    lo[0] -= s->absent[0] = pz_test_int(r, 0, lo[0]), hi[0] -= s->absent[1] = pz_test_int(r, 0, hi[0]);
  l->o.in = bf16x2_input(r, channels_in, size, lo, hi);
  test_operands(l, channels_out, out, TEST_CHANNELS_LAST_OUT, r);
}

/* Strips of whole pairs of planes where two are made together: which are, changes the bits. So do few channels, which are by row. */
static void bf16x2_strips(pz_test_random *r, pz_conv_bf16x2_shape *s) {
  s->rows = pz_test_int(r, 1, s->conv.out.h);
  s->by_row = s->narrow_in || s->narrow_out || pz_test_int(r, 0, 1);
  s->step = s->by_row ? pz_test_int(r, 1, 3) : 0;
  s->planes = s->m * (s->by_row ? 1 : pz_test_int(r, 1, (s->conv.out.d + s->m - 1) / s->m));
  pz_bf16x2_whole_windows(&s->rows, s, 1);
  s->chunks = pz_test_int(r, 1, (pz_bf16x2_out_blocks(s) + 1) / 2);
  s->flat = !s->by_row && pz_test_int(r, 0, 1);
  s->slots = pz_bf16x2_window(s) + pz_test_int(r, 0, 3);
}
/* As the planner chooses; others where that makes other bits. */
static void bf16x2_chosen_strips(pz_test_random *r, pz_conv_bf16x2_shape *s) {
  const pz_conv_machine machine = {.registers = PZ_V_REGISTERS,
                                   .l1 = 48 << 10,
                                   .l2 = (int64_t)1 << pz_test_int(r, 15, 21),
                                   .workers = pz_test_int(r, 0, 3)};
  const pz_conv_bf16x2_shape before = *s;
  pz_bf16x2_schedule(s, &machine);
  if (s->narrow_in == before.narrow_in && s->narrow_out == before.narrow_out) return;
  *s = before;
  bf16x2_strips(r, s);
}
static pz_conv_bf16x2_shape bf16x2_columns(const bf16x2_own *own, int32_t call, int32_t *first) {
  pz_conv_bf16x2_shape s = own->s;
  *first = own->calls == 1 ? 0 : pz_bf16x2_take_columns(&s, call, own->calls);
  return s;
}
/* Scratch depends on strips. */
static void bf16x2_again(test_layer *l, pz_test_random *r) {
  bf16x2_own *own = l->shape;
  int64_t floats = 0;
  (pz_test_int(r, 0, 1) ? bf16x2_chosen_strips : bf16x2_strips)(r, &own->s);
  own->calls = own->s.by_row ? pz_test_int(r, 1, pz_bf16x2_row_tiles(&own->s)) : 1;
  for (int32_t i = 0, first; i < own->calls; ++i) {
    const pz_conv_bf16x2_shape s = bf16x2_columns(own, i, &first);
    if (pz_bf16x2_scratch(&s) > floats) floats = pz_bf16x2_scratch(&s);
  }
  if (l->scratch.map) pz_test_free(&l->scratch);
  l->scratch = pz_test_alloc(floats, pz_test_int(r, 0, 1));
}
static void bf16x2_pack(test_layer *l, const float *weights) {
  const pz_conv_bf16x2_shape *s = l->shape;
  l->packed = pz_test_alloc(pz_bf16x2_weight_pairs(s), false);
  pz_bf16x2_pack(s, weights, (pz_bf16_pair *)l->packed.data);
}
/* As winograd_norm: the kernel normalises as it reads. */
static void bf16x2_norm(test_layer *l, pz_test_random *r) {
  pz_conv_bf16x2_shape *s = l->shape;
  s->normed = 1, s->absent[0] = s->absent[1] = 0;
  const test_normed to = {&s->norm_act, &s->norm_alpha, &l->more[BF16X2_RAW], &l->more[BF16X2_FACTORS]};
  test_norm_input(l, &to, r);
}
static void bf16x2_schedule(test_layer *l, pz_test_random *r) {
  pz_conv_bf16x2_shape *s = l->shape;
  const pz_conv_direct_shape *c = &s->conv;
  s->m = c->kernel[0] == 3 && c->dilation[0] == 1 ? 1 << pz_test_int(r, 0, 2) : 1;
  if (pz_bf16x2_may_be_narrow(c) && pz_test_int(r, 0, 3)) {
    s->narrow_in = pz_bf16x2_narrow_at_end(c->in.c);
    s->narrow_out = pz_bf16x2_narrow_at_end(c->out.c);
  }
  if (!l->o.in.view.channels_last && !pz_bf16x2_narrow_at_end(c->in.c) && pz_test_int(r, 0, 1))
    bf16x2_norm(l, r);
  test_pool(l, (const int32_t[3]){s->m, 2, 2}, s->pool_window, &s->pooled, r);
  bf16x2_pack(l, l->o.weights);
  bf16x2_again(l, r);
}

static pz_conv_bf16x2_shape shape; /* of the call that runs */
static pz_conv_bf16x2_shape shape_of(const int64_t *sizes) { return (void)sizes, shape; }
PZ_CONV_BF16X2_FUNCTIONS(shape_of)

static void bf16x2_run(const test_layer *l, int32_t worker, int32_t workers) {
  const bf16x2_own *own = l->shape;
  const pz_conv_direct_shape *c = &own->s.conv;
  pz_test_poison(l->scratch.data, l->scratch.floats);
  for (int32_t i = 0, first; i < own->calls; ++i) {
    const bool normed = own->s.normed;
    const float *in = normed ? l->more[BF16X2_RAW].data + (l->o.in.at - l->o.in.memory.data) : l->o.in.at;
    shape = bf16x2_columns(own, i, &first);
    for (int k = 0; k < 3; ++k) shape.origin[k] = (k == 2 ? first : 0) - c->pad[k];
    pz_conv_bf16x2(shape, shape_of_functions, NULL, in + first * c->in.stride_w,
                   normed ? l->more[BF16X2_FACTORS].data : NULL, (const uint16_t *)l->packed.data,
                   test_bias(l), test_residual(l) ? test_residual(l) + first * c->residual.stride_w : NULL,
                   test_scale(l), test_slope(l), l->o.out.at + first * c->out.stride_w,
                   shape.pooled.c ? l->pooled.at + first / shape.pool_window[2] * shape.pooled.stride_w
                                  : NULL,
                   l->scratch.data, worker, workers);
  }
}
static const test_row bf16x2_row = {.name = "bf16x2",
                                    .shape = sizeof(bf16x2_own),
                                    .layers = 400,
                                    .seed = 4711,
                                    .choose = bf16x2_choose,
                                    .schedule = bf16x2_schedule,
                                    .run = bf16x2_run,
                                    .near_enough = bf16x2_near_enough,
                                    .again = bf16x2_again};

/* ---- bf16x2, deconvolutions in phases ---- */

static void deconv_choose(test_layer *l, pz_test_random *r) {
  pz_conv_direct_shape *c = &l->whole;
  const bool together = pz_test_int(r, 0, 2); /* the kernel is the stride: one convolution of all phases */
  const int32_t channels_in = pz_test_int(r, 1, 70), channels_out = pz_test_int(r, 1, 40),
                border[3] = {3, 3, 3}; /* no phase reads further */
  int32_t size[4], out[4];
  l->transposed = true;
  test_ends(c, r);
  do {
    size[0] = out[0] = pz_test_int(r, 1, 2);
    for (int i = 0; i < 3; ++i) {
      c->stride[i] = pz_test_int(r, 1, 3);
      c->kernel[i] = c->stride[i] + (together ? 0 : pz_test_int(r, 0, 2));
      c->pad[i] = together ? 0 : pz_test_int(r, 0, c->kernel[i] - 1);
      size[i + 1] = pz_test_int(r, 1, i < 2 ? 5 : 20);
      out[i + 1] = (size[i + 1] - 1) * c->stride[i] + c->kernel[i] - 2 * c->pad[i];
    }
  } while (out[1] < 1 || out[2] < 1 || out[3] < 1 ||
           (double)channels_in * channels_out * pz_conv_taps(c) * size[1] * size[2] * size[3] > 3e6);
  l->o.in = bf16x2_input(r, channels_in, size, border, border);
  test_operands(l, channels_out, out, TEST_CHANNELS_LAST_OUT, r);
}
/* Each phase has a schedule of its own, from these numbers on, and is packed as it runs. */
typedef struct deconv_own {
  bf16x2_own bf16x2;
  pz_test_random schedules;
} deconv_own;
static void deconv_schedule(test_layer *l, pz_test_random *r) {
  deconv_own *own = l->shape;
  own->bf16x2.s.m = 1; /* as near_enough has it */
  own->schedules.state = pz_test_next(r) | 1;
}
static void deconv_run_phase(const test_layer *whole, const pz_deconv_phase *phase, pz_test_random *r,
                             int32_t worker, int32_t workers) {
  bf16x2_own own = {.s = {.conv = phase->shape, .m = 1}};
  test_layer l = *whole;
  float *weights = malloc((size_t)pz_deconv_weight_floats(phase) * sizeof *weights);
  assert_non_null(weights);
  l.shape = &own, l.conv = &own.s.conv, l.scratch = (pz_test_memory){0};
  l.o.out.at += phase->out_offset, l.o.residual.at += phase->base_offset;
  pz_deconv_weights(&whole->whole, phase, whole->o.weights, weights);
  bf16x2_again(&l, r);
  bf16x2_pack(&l, weights);
  bf16x2_run(&l, worker, workers);
  pz_test_free(&l.packed), pz_test_free(&l.scratch);
  free(weights);
}
static void deconv_run(const test_layer *l, int32_t worker, int32_t workers) {
  const pz_deconv_merge merge = pz_deconv_merges(&l->whole);
  pz_test_random r = ((const deconv_own *)l->shape)->schedules; /* all workers have the same */
  for (int32_t i = 0; i < pz_deconv_phases(&l->whole, merge); ++i) {
    pz_deconv_phase phase;
    if (pz_deconv_phase_of(&l->whole, merge, i, &phase)) deconv_run_phase(l, &phase, &r, worker, workers);
  }
}
static const test_row deconv_row = {.name = "bf16x2, deconvolutions",
                                    .shape = sizeof(deconv_own),
                                    .layers = 100,
                                    .seed = 815,
                                    .choose = deconv_choose,
                                    .schedule = deconv_schedule,
                                    .run = deconv_run,
                                    .near_enough = bf16x2_near_enough,
                                    .again = deconv_schedule};

/* ---- what is not finite ---- */

/* Whether the result at `at` reads position `from`, along one axis. */
static bool sees(const pz_conv_direct_shape *s, int i, int32_t at, int32_t from) {
  const int32_t tap = from - at + s->pad[i];
  return tap >= 0 && tap % s->dilation[i] == 0 && tap / s->dilation[i] < s->kernel[i];
}
/* Whether one of the planes of results that are made together with `at` does. (F(2, 3) reads for a result what the sum reads.) */
static bool reaches(const pz_conv_bf16x2_shape *s, int32_t at, int32_t from) {
  const int32_t together = s->m == 4 ? 4 : 1, first = at / together * together;
  bool any = false;
  for (int32_t d = first; d < first + together && d < s->conv.out.d; ++d) any |= sees(&s->conv, 0, d, from);
  return any;
}
/* Whether it, or, with few channels in and out, one of the two results behind it does, along the width: their inputs are factors of zeros. */
static bool reaches_across(const pz_conv_bf16x2_shape *s, int32_t at, int32_t from) {
  bool any = false;
  for (int32_t i = 0; i <= (s->narrow_in && s->narrow_out ? 2 : 0); ++i)
    any |= sees(&s->conv, 2, at + i, from);
  return any;
}

/* One input that is not finite: all channels of the results that see it are NaN or infinite; all but those that are made together with
 * them keep their bits. */
static void test_not_finite(void **state) {
  (void)state;
  static const float values[3] = {NAN, INFINITY, -INFINITY};
  pz_test_random r = {.state = 99};
  for (int i = 0; i < 90; ++i) {
    test_layer l;
    test_open(&l, &bf16x2_row, &r);
    const bool biased = l.whole.has_bias;
    test_bare(&l);
    l.whole.has_bias = biased;
    test_schedule(&l, &bf16x2_row, &r);
    const pz_conv_bf16x2_shape *s = l.shape;
    const pz_view *v = &l.o.in.view;
    if (s->normed) { /* a ReLU makes a number of what is infinite */
      test_close(&l);
      continue;
    }
    bf16x2_run(&l, 0, 1);
    float *first = pz_test_snapshot(&l.o.out.memory);
    const int32_t at[5] = {pz_test_int(&r, 0, v->n - 1), pz_test_int(&r, 0, v->c - 1),
                           pz_test_int(&r, 0, v->d - 1), pz_test_int(&r, 0, v->h - 1),
                           pz_test_int(&r, 0, v->w - 1)};
    *pz_test_at(&l.o.in, at[0], at[1], at[2], at[3], at[4]) = values[i % 3];
    bf16x2_run(&l, 0, 1);
    PZ_TEST_EACH(l.o.out.view, 0, l.o.out.view.c) {
      const float *got = pz_test_at(&l.o.out, n, c, d, h, w), *was = first + (got - l.o.out.memory.data);
      const bool near = n == at[0] && sees(&s->conv, 1, h, at[3]),
                 seen = near && sees(&s->conv, 2, w, at[4]) && sees(&s->conv, 0, d, at[2]),
                 kept = !(near && reaches_across(s, w, at[4]) && reaches(s, d, at[2]));
      if (seen ? isfinite(*got) : kept && memcmp(got, was, 4) != 0)
        fail_msg("%g at (%d,%d,%d,%d,%d) of the input, %g at (%d,%d,%d,%d,%d), m %d", (double)values[i % 3],
                 at[0], at[1], at[2], at[3], at[4], (double)*got, n, c, d, h, w, s->m);
    }
    free(first);
    test_close(&l);
  }
}

/* ---- halves of weights ---- */

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
      assert_int_equal(bits_of(pz_bf16x2_nearest(from_bits(rows[i][0] | negative << 31))),
                       rows[i][1] | negative << 31);
  assert_true(isnan(pz_bf16x2_nearest(NAN)));
}

static float half_of(float x, int32_t second) { return from_bits((uint32_t)pz_bf16x2_of(x, second) << 16); }

/* Each half's error is at most 2^-8 of what it is the nearest of; a denormal's, half of what the lowest bit is worth. */
static void test_bf16x2(void **state) {
  (void)state;
  pz_test_random r = {.state = 12};
  for (int i = 0; i < 200000; ++i) {
    const float x = from_bits(pz_test_next(&r) & (i % 8 ? 0xffffffff : 0x80ffffff));
    if (!(fabsf(x) < 0x1.fep127f)) continue;
    const double sum = (double)half_of(x, 0) + (double)half_of(x, 1), bound = fabs((double)x) * 0x1p-16;
    assert_true(half_of(x, 0) == pz_bf16x2_nearest(x));
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

#define TEST_BF16X2_ROWS &narrow_row, &bf16x2_row, &deconv_row
#define TEST_BF16X2_OTHERS                                                                                   \
  cmocka_unit_test(test_not_finite), cmocka_unit_test(test_nearest), cmocka_unit_test(test_bf16x2)

#endif
