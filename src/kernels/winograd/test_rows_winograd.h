/* test_rows_winograd.h: rows of conv/test_layers.c: minimal filtering. */
#ifndef PZ_KERNELS_WINOGRAD_TEST_ROWS_WINOGRAD_H
#define PZ_KERNELS_WINOGRAD_TEST_ROWS_WINOGRAD_H

#include "kernels/conv/deconv.h"
#include "kernels/conv/test_frame.h"
#include "kernels/winograd/nonfused.h"
#include "kernels/winograd/winograd_1d_h.h"
#include "kernels/winograd/pack.h"
#include "kernels/winograd/pack_1d_h.h"
#include "kernels/winograd/pack_inner_pairs.h"
#include "kernels/winograd/pack_1d_w.h"
#include "kernels/winograd/conv_inner_pairs.h"
#include "kernels/winograd/winograd_1d_w.h"

static pz_test_memory zeros(int64_t floats) {
  const pz_test_memory m = pz_test_alloc(floats, false);
  memset(m.data, 0, (size_t)floats * sizeof(float));
  return m;
}

/* The error of doc/algorithm-winograd.md for an axis. */
static double axis_error(int32_t kernel, int32_t m) { return m == 1 ? 1 : kernel == 3 ? 0.7 * m : m * m; }

/* ---- along all axes ---- */

typedef struct winograd_own {
  pz_winograd_shape s;
  bool nonfused, plain; /* plain: a short block comes out as NCHW channels */
} winograd_own;

enum { WINOGRAD_TAKEN, WINOGRAD_PRODUCTS, WINOGRAD_SCALES, WINOGRAD_FRESH };

/* That of each axis, times what the largest of a tensor's errors may exceed it by; sums here are of up to 27*40 products of values in
 * [-1, 1], below 20 in size. */
static double winograd_tolerance(const test_layer *l) {
  const pz_winograd_shape *s = l->shape;
  double factor = 2e-5;
  for (int i = 0; i < 3; ++i) factor *= axis_error(s->conv.kernel[i], s->m[i]);
  return factor;
}

/* All zero but one place of forty, in all channels; and in the first block, which says nothing of the others (inner_pairs.h), `first` times
 * what it was. */
static void thin_out(const pz_test_tensor *t, float first, pz_test_random *r) {
  PZ_TEST_EACH(t->view, 0, 1) {
    const bool kept = pz_test_int(r, 0, 39) == 0;
    for (int32_t k = 0; k < t->view.c; ++k)
      *pz_test_at(t, n, c + k, d, h, w) *= (float)kept * (k < PZ_S ? first : 1);
  }
}

/* Every other number leaves a short block where the vector has 16 lanes. */
static int32_t winograd_maps(pz_test_random *r) {
  return pz_test_int(r, 0, 1) ? pz_test_int(r, 1, 40) : pz_test_int(r, 0, 2) * 16 + pz_test_int(r, 1, 4);
}

static void winograd_choose(test_layer *l, pz_test_random *r) {
  static const int32_t kernels[][3] = {{3, 3, 3}, {3, 3, 3}, {1, 3, 3}, {3, 3, 1},
                                       {3, 1, 3}, {1, 5, 5}, {5, 5, 1}, {3, 5, 3}};
  static const float first[3] = {1, 0, 1e-4f};
  winograd_own *own = l->shape;
  const int32_t *kernel = kernels[pz_test_int(r, 0, 7)], channels_out = winograd_maps(r);
  own->plain = channels_out <= (PZ_S == 4 ? 3 : 4) && pz_test_int(r, 0, 1);
  test_choose(
      l,
      &(test_problem){
          .kernel = {kernel[0], kernel[1], kernel[2]},
          .channels_in = winograd_maps(r),
          .channels_out = channels_out,
          .size = {pz_test_int(r, 1, 2), pz_test_int(r, 5, 11), pz_test_int(r, 5, 11), pz_test_int(r, 5, 15)},
          .layout = TEST_CHANNELS_LAST_IN | (own->plain ? TEST_PLAIN_OUT : TEST_CHANNELS_LAST_OUT)},
      r);
  if (pz_test_int(r, 0, 3) == 0) thin_out(&l->o.in, first[pz_test_int(r, 0, 2)], r);
}

static void winograd_how(winograd_own *own, pz_test_random *r) {
  static const int32_t outputs[4] = {1, 2, 4, 6};
  pz_winograd_shape *s = &own->s;
  const pz_conv_machine machine = {.registers = PZ_V_REGISTERS, .l1 = 32768, .l2 = 524288};
  for (int i = 0; i < 3; ++i) s->m[i] = s->conv.kernel[i] == 1 ? 1 : outputs[pz_test_int(r, 0, 3)];
  own->nonfused = !own->plain && pz_test_int(r, 0, 2) == 0;
  s->on_use = own->nonfused ? 2 - pz_test_int(r, 0, 3) / 2 : pz_test_int(r, 0, 1);
  s->fours = own->plain || (!own->nonfused && pz_test_int(r, 0, 2));
  s->inner_pairs = pz_test_int(r, 0, 3) > 0, s->held = pz_test_int(r, 0, 1);
  s->sliced = !own->nonfused && !s->on_use && pz_test_int(r, 0, 1);
  pz_winograd_schedule(s, &machine,
                       own->nonfused ? (int32_t)pz_winograd_all_tiles(s) : pz_test_int(r, 1, 24));
  s->far = pz_test_int(r, 0, 1), s->near = pz_test_int(r, 0, 1);
  s->ahead = !own->nonfused && pz_test_int(r, 0, 1);
  s->apart = pz_test_int(r, 0, 1);
}
static void winograd_schedule(test_layer *l, pz_test_random *r) {
  winograd_own *own = l->shape;
  pz_winograd_shape *s = &own->s;
  winograd_how(own, r);
  if (!own->nonfused && !s->fours && !s->conv.out.channels_last && pz_test_int(r, 0, 1))
    s->conv.stats_units = 1, s->conv.stats_units = pz_winograd_batches(s);
  for (int32_t k = 0; k < s->conv.out.c && s->conv.stats_units; ++k)
    l->o.bias[k] += 1e3f; /* means far from zero */
  l->norm_stats = pz_test_alloc(pz_norm_floats(&s->conv.out, s->conv.stats_units), false);
  l->packed = zeros(pz_winograd_weight_floats(s));
  pz_winograd_pack(s, l->o.weights, l->packed.data);
  l->more[WINOGRAD_TAKEN] = zeros(pz_winograd_taken_floats(s));
  pz_winograd_pack_taken(s, l->o.weights, l->more[WINOGRAD_TAKEN].data);
  if (!own->nonfused && !own->plain) test_pool(l, s->m, s->pool_window, &s->pooled, r);
  l->scratch = pz_test_alloc(own->nonfused ? pz_winograd_slots(s) : pz_winograd_scratch(s), false);
  l->more[WINOGRAD_FRESH] = pz_test_alloc(pz_winograd_position_floats(s), false);
  l->more[WINOGRAD_PRODUCTS] = pz_test_alloc(pz_winograd_slots(s), false);
  l->more[WINOGRAD_SCALES] = pz_test_alloc(pz_winograd_scale_floats(s), false);
}

/* Where inputs of pairs wait, and what is fetched, says nothing about bits. */
static void winograd_again(test_layer *l, pz_test_random *r) {
  winograd_own *own = l->shape;
  own->s.held = !own->s.held, own->s.far = pz_test_int(r, 0, 1), own->s.near = pz_test_int(r, 0, 1);
  own->s.ahead = !own->nonfused && pz_test_int(r, 0, 1);
}

static const pz_winograd_shape *banded; /* of the layer that runs */
static void bands(int64_t first, int32_t count, const float *weights, const float *taken,
                  pz_winograd_ahead ahead, float *scratch) {
  pz_winograd_multiply_bands(banded, pz_winograd_sizes_of(banded), first, count, weights, taken, ahead,
                             scratch);
}

/* All tiles at once: all workers, one stage after the other. */
static void winograd_stages(const test_layer *l, int32_t workers) {
  const pz_winograd_shape s = ((const winograd_own *)l->shape)->s;
  const float *taken = l->more[WINOGRAD_TAKEN].data;
  float *slots = l->scratch.data, *fresh = l->more[WINOGRAD_FRESH].data,
        *products = l->more[WINOGRAD_PRODUCTS].data, *scales = l->more[WINOGRAD_SCALES].data;
  for (int32_t i = 0; i < workers && s.inner_pairs; ++i)
    pz_winograd_scales(s, l->o.in.at, taken, scales, i, workers);
  for (int32_t i = 0; i < workers; ++i) pz_winograd_inputs(s, l->o.in.at, scales, slots, i, workers);
  for (int32_t i = workers - 1; i >= 0; --i)
    pz_winograd_positions(s, slots, l->packed.data, taken, products, fresh, i, workers);
  for (int32_t i = 0; i < workers; ++i)
    pz_winograd_outputs(s, products, scales, test_bias(l), test_residual(l), test_scale(l), test_slope(l),
                        l->o.out.at, i, workers);
}
static void winograd_run(const test_layer *l, int32_t worker, int32_t workers) {
  const winograd_own *own = l->shape;
  if (own->nonfused) {
    if (worker == 0) winograd_stages(l, workers);
    return;
  }
  banded = &own->s;
  pz_winograd(own->s, bands, l->o.in.at, l->packed.data, l->more[WINOGRAD_TAKEN].data, test_bias(l),
              test_residual(l), test_scale(l), test_slope(l), l->o.out.at, l->pooled.at,
              own->s.conv.stats_units ? l->norm_stats.data : NULL, l->scratch.data, worker, workers);
}
static const test_row winograd_row = {.name = "winograd",
                                      .shape = sizeof(winograd_own),
                                      .layers = 120,
                                      .seed = 4711,
                                      .choose = winograd_choose,
                                      .schedule = winograd_schedule,
                                      .run = winograd_run,
                                      .tolerance = winograd_tolerance,
                                      .again = winograd_again};

/* With pairs or without: inputs that are 2^20 times larger or smaller give results that are, to the bit. */
static void test_any_size(void **state) {
  (void)state;
  pz_test_random r = {.state = 815};
  for (int i = 0; i < 24; ++i) {
    test_layer l;
    test_open(&l, &winograd_row, &r);
    test_bare(&l);
    test_schedule(&l, &winograd_row, &r);
    float *first = NULL;
    for (int k = 0; k < 3; ++k) {
      const float factor = k == 0   ? 1
                           : k == 1 ? 0x1p20f
                                    : 0x1p-40f,
                  undo = k == 0   ? 1
                         : k == 1 ? 0x1p-20f
                                  : 0x1p20f;
      int32_t different = 0;
      for (int64_t j = 0; j < l.o.in.memory.floats; ++j)
        if (isfinite(l.o.in.memory.data[j])) l.o.in.memory.data[j] *= factor;
      winograd_run(&l, 0, 1);
      if (!first) first = pz_test_snapshot(&l.o.out.memory);
      PZ_TEST_EACH(l.o.out.view, 0, l.o.out.view.c) {
        const float *at = pz_test_at(&l.o.out, n, c, d, h, w);
        different += *at * undo != first[at - l.o.out.memory.data];
      }
      assert_int_equal(different, 0);
    }
    free(first);
    test_close(&l);
  }
}

/* ---- along the width ---- */

/* Sums of up to 8*75 products of values in [-1, 1], below 20 in size, times the error of an axis. */
static double along_w_tolerance(const test_layer *l) {
  return 1e-5 * axis_error(l->whole.kernel[2], ((const pz_winograd_1d_w_shape *)l->shape)->m);
}
static void along_w_choose(test_layer *l, pz_test_random *r) {
  static const int32_t kernels[][3] = {{3, 3, 3}, {3, 3, 3}, {1, 3, 3}, {1, 5, 5}, {1, 1, 3}, {5, 3, 5}};
  const int32_t *kernel = kernels[pz_test_int(r, 0, 5)];
  test_choose(l,
              &(test_problem){.kernel = {kernel[0], kernel[1], kernel[2]},
                              .channels_in = pz_test_int(r, 1, 8),
                              .channels_out = pz_test_int(r, 1, 70),
                              .size = {pz_test_int(r, 1, 2), pz_test_int(r, 5, 8), pz_test_int(r, 5, 12),
                                       pz_test_int(r, 10, 60)},
                              .layout = TEST_PLAIN_IN | TEST_CHANNELS_LAST_OUT},
              r);
}
static void along_w_schedule(test_layer *l, pz_test_random *r) {
  pz_winograd_1d_w_shape *s = l->shape;
  s->m = 2 * pz_test_int(r, 1, 3);
  pz_winograd_1d_w_schedule(s, PZ_V_REGISTERS);
  l->packed = zeros(pz_winograd_1d_w_weight_floats(s));
  pz_winograd_1d_w_pack(s, l->o.weights, l->packed.data);
  l->scratch = pz_test_alloc(pz_winograd_1d_w_scratch(s), false);
}
static void rows_run(const test_layer *l, int32_t worker, int32_t workers) {
  pz_winograd_1d_w(*(const pz_winograd_1d_w_shape *)l->shape, l->o.in.at, l->packed.data, test_bias(l),
                   test_residual(l), test_scale(l), test_slope(l), l->o.out.at, l->scratch.data, worker,
                   workers);
}
static const test_row along_w_row = {.name = "winograd along w",
                                     .shape = sizeof(pz_winograd_1d_w_shape),
                                     .layers = 60,
                                     .seed = 2411,
                                     .choose = along_w_choose,
                                     .schedule = along_w_schedule,
                                     .run = rows_run,
                                     .tolerance = along_w_tolerance};

/* As many sums as registers hold, and blocks in equal groups. */
static void test_1d_w_schedule(void **state) {
  (void)state;
  for (int32_t m = 2; m <= 6; m += 2)
    for (int32_t channels = 1; channels <= 80; channels += 13)
      for (int32_t registers = 16; registers <= 32; registers += 16) {
        pz_winograd_1d_w_shape s = {.m = m};
        s.conv.out = (pz_view){.n = 1, .c = channels, .d = 1, .h = 1, .w = 31, .block = PZ_S};
        s.conv.kernel[2] = 5, s.conv.phases = 1;
        pz_winograd_1d_w_schedule(&s, registers);
        assert_true(s.kb >= 1 && s.rw >= 1 && pz_test_blocks(&s.conv.out) % s.kb == 0);
        assert_true(s.kb * s.rw * pz_winograd_1d_w_a(&s) < registers);
      }
}

/* ---- along the height, to few channels ---- */

/* Sums of up to 40*25 products of values in [-1, 1], below 20 in size, times the error of an axis. */
static double along_h_tolerance(const test_layer *l) {
  return 1e-5 * axis_error(l->whole.kernel[1], ((const pz_winograd_1d_h_shape *)l->shape)->m);
}
static void along_h_choose(test_layer *l, pz_test_random *r) {
  test_choose_narrow(l, pz_test_int(r, 1, 40), 3 + 2 * pz_test_int(r, 0, 1), r);
}
static void along_h_schedule(test_layer *l, pz_test_random *r) {
  pz_winograd_1d_h_shape *s = l->shape;
  s->m = 2 * pz_test_int(r, 1, 3);
  pz_winograd_1d_h_schedule(s);
  l->packed = zeros(pz_winograd_1d_h_weight_floats(s));
  pz_winograd_1d_h_pack(s, l->o.weights, l->packed.data);
  l->scratch = pz_test_alloc(pz_winograd_1d_h_scratch(s), false);
}
static void along_h_run(const test_layer *l, int32_t worker, int32_t workers) {
  pz_winograd_1d_h(*(const pz_winograd_1d_h_shape *)l->shape, l->o.in.at, l->packed.data, test_bias(l),
                   test_slope(l), l->o.out.at, l->scratch.data, worker, workers);
}
static const test_row along_h_row = {.name = "winograd along h",
                                     .shape = sizeof(pz_winograd_1d_h_shape),
                                     .layers = 120,
                                     .seed = 1125,
                                     .choose = along_h_choose,
                                     .schedule = along_h_schedule,
                                     .run = along_h_run,
                                     .tolerance = along_h_tolerance};

/* Strips of one size, no more of them than it takes, whose sums leave registers for weights and what is broadcast. */
static void test_1d_h_schedule(void **state) {
  (void)state;
  for (int32_t w = 1; w < 200; ++w) {
    pz_winograd_1d_h_shape s = {.m = 6};
    s.conv.out.w = w, s.conv.kernel[2] = 5;
    pz_winograd_1d_h_schedule(&s);
    const int32_t strips = pz_winograd_1d_h_strips(&s);
    assert_true(s.rw >= 1 && s.rw <= 16 - 3 && s.rw * strips - (w + 4) < strips);
  }
}

/* ---- products of channels in inner pairs ---- */

/* Sums of up to 70 products of values in [-1, 1], with the error of pairs (inner_pairs.h). */
static double inner_pairs_tolerance(const test_layer *l) {
  (void)l;
  return 4e-6;
}
/* 1x1x1, or a deconvolution whose kernel is its stride; at some points inputs are all zero, or much smaller than at others. */
static void inner_pairs_choose(test_layer *l, pz_test_random *r) {
  static const int32_t strides[][3] = {{1, 1, 1}, {2, 2, 2}, {1, 2, 2}, {2, 1, 3}, {1, 1, 2}};
  pz_conv_direct_shape *c = &l->whole;
  const int32_t *stride = strides[pz_test_int(r, 0, 4)], in = pz_test_int(r, 1, 70),
                out = pz_test_int(r, 1, 40);
  const int32_t size[4] = {pz_test_int(r, 1, 2), pz_test_int(r, 1, 5), pz_test_int(r, 1, 7),
                           pz_test_int(r, 1, 13)};
  l->transposed = true;
  test_ends(c, r);
  for (int i = 0; i < 3; ++i) c->kernel[i] = c->stride[i] = stride[i];
  l->o.in = pz_test_tensor_random(r, PZ_S, size[0], in, size[1], size[2], size[3]);
  pz_test_fill(&l->o.in, r, -1, 1);
  PZ_TEST_EACH(l->o.in.view, 0, 1) {
    const int kind = pz_test_int(r, 0, 9);
    for (int32_t k = 0; k < in; ++k)
      *pz_test_at(&l->o.in, n, c + k, d, h, w) *= kind == 0 ? 0.0f : kind == 1 ? 1e-3f : 1.0f;
  }
  test_operands(l, out,
                (const int32_t[4]){size[0], size[1] * stride[0], size[2] * stride[1], size[3] * stride[2]}, 0,
                r);
}
/* weights [C, K, stride] -> [phases, K, C], packed. */
static void inner_pairs_schedule(test_layer *l, pz_test_random *r) {
  pz_conv_inner_pairs_shape *s = l->shape;
  pz_deconv_phase phase;
  s->held = pz_test_int(r, 0, 1);
  assert_int_equal(pz_deconv_merges(&l->whole), PZ_DECONV_ALL);
  assert_true(pz_deconv_phase_of(&l->whole, PZ_DECONV_ALL, 0, &phase));
  s->conv = phase.shape;
  pz_conv_inner_pairs_schedule(s, PZ_V_REGISTERS);
  float *plain = calloc((size_t)pz_deconv_weight_floats(&phase), sizeof *plain);
  pz_deconv_weights(&l->whole, &phase, l->o.weights, plain);
  l->packed = pz_test_alloc(pz_conv_direct_weight_floats(&s->conv), false);
  l->more[0] = pz_test_alloc(pz_conv_inner_pairs_taken_floats(s), false);
  pz_conv_inner_pairs_pack(s, plain, l->packed.data, l->more[0].data);
  free(plain);
  l->scratch = pz_test_alloc(pz_conv_inner_pairs_scratch(s), false);
}
static void inner_pairs_again(test_layer *l, pz_test_random *r) {
  pz_conv_inner_pairs_shape *s = l->shape;
  (void)r;
  s->held = !s->held;
}
static void inner_pairs_run(const test_layer *l, int32_t worker, int32_t workers) {
  pz_conv_inner_pairs(*(const pz_conv_inner_pairs_shape *)l->shape, l->o.in.at, l->packed.data,
                      l->more[0].data, test_bias(l), test_residual(l), test_scale(l), test_slope(l),
                      l->o.out.at, l->scratch.data, worker, workers);
}
static const test_row inner_pairs_row = {.name = "products by inner pairs",
                                         .shape = sizeof(pz_conv_inner_pairs_shape),
                                         .layers = 80,
                                         .seed = 1968,
                                         .choose = inner_pairs_choose,
                                         .schedule = inner_pairs_schedule,
                                         .run = inner_pairs_run,
                                         .tolerance = inner_pairs_tolerance,
                                         .again = inner_pairs_again};

/* Inputs that are 2^20 times larger or smaller give results that are, to the bit; and so does each point for itself. */
static void test_inner_pairs_any_size(void **state) {
  (void)state;
  pz_test_random r = {.state = 77};
  for (int i = 0; i < 20; ++i) {
    test_layer l;
    test_open(&l, &inner_pairs_row, &r);
    test_bare(&l);
    test_schedule(&l, &inner_pairs_row, &r);
    inner_pairs_run(&l, 0, 1);
    float *first = pz_test_snapshot(&l.o.out.memory);
    PZ_TEST_EACH(l.o.in.view, 0, l.o.in.view.c)
    *pz_test_at(&l.o.in, n, c, d, h, w) *= w % 2 ? 0x1p20f : 0x1p-20f;
    inner_pairs_run(&l, 0, 1);
    int32_t different = 0;
    PZ_TEST_EACH(l.o.out.view, 0, l.o.out.view.c) {
      const float *at = pz_test_at(&l.o.out, n, c, d, h, w),
                  undo = w / l.whole.stride[2] % 2 ? 0x1p-20f : 0x1p20f;
      different += *at * undo != first[at - l.o.out.memory.data];
    }
    assert_int_equal(different, 0);
    free(first);
    test_close(&l);
  }
}

#define TEST_WINOGRAD_ROWS &winograd_row, &along_w_row, &along_h_row, &inner_pairs_row
#define TEST_WINOGRAD_OTHERS                                                                                 \
  cmocka_unit_test(test_any_size), cmocka_unit_test(test_1d_w_schedule),                                     \
      cmocka_unit_test(test_1d_h_schedule), cmocka_unit_test(test_inner_pairs_any_size)

#endif
