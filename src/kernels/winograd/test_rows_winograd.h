/* test_rows_winograd.h: rows of conv/test_layers.c: minimal filtering along all axes. */
#ifndef PZ_KERNELS_WINOGRAD_TEST_ROWS_WINOGRAD_H
#define PZ_KERNELS_WINOGRAD_TEST_ROWS_WINOGRAD_H

#include "kernels/conv/test_frame.h"
#include "kernels/norm/test_normed.h"
#include "kernels/test_activation.h"
#include "kernels/winograd/nonfused.h"
#include "kernels/winograd/pack.h"

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

enum { WINOGRAD_TAKEN, WINOGRAD_PRODUCTS, WINOGRAD_SCALES, WINOGRAD_FRESH, WINOGRAD_RAW, WINOGRAD_FACTORS };

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
  static const int32_t kernels[][3] = {{3, 3, 3}, {3, 3, 3}, {1, 3, 3}, {3, 3, 1}, {3, 1, 3}, {1, 5, 5},
                                       {5, 5, 1}, {3, 5, 3}, {3, 1, 1}, {1, 3, 1}, {1, 1, 3}, {5, 1, 1}};
  static const float first[3] = {1, 0, 1e-4f};
  winograd_own *own = l->shape;
  const int32_t *kernel = kernels[pz_test_int(r, 0, 11)], channels_out = winograd_maps(r);
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
  const pz_conv_machine machine = {
      .registers = PZ_V_REGISTERS, .lanes = PZ_V_HAS_LANES, .l1 = 32768, .l2 = 524288};
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
static void winograd_norm(test_layer *l, pz_test_random *r) {
  pz_winograd_shape *s = l->shape;
  const test_normed to = {&s->norm_act, &s->norm_alpha, &l->more[WINOGRAD_RAW], &l->more[WINOGRAD_FACTORS]};
  s->normed = 1;
  test_norm_input(l, &to, r);
}
static const float *winograd_in(const test_layer *l) {
  const winograd_own *own = l->shape;
  return own->s.normed ? l->more[WINOGRAD_RAW].data + (l->o.in.at - l->o.in.memory.data) : l->o.in.at;
}

static void winograd_schedule(test_layer *l, pz_test_random *r) {
  winograd_own *own = l->shape;
  pz_winograd_shape *s = &own->s;
  winograd_how(own, r);
  if (!s->fours && !s->conv.out.channels_last && pz_test_int(r, 0, 1))
    s->conv.stats_units = 1,
    s->conv.stats_units = own->nonfused ? pz_winograd_units(s) : pz_winograd_batches(s);
  test_stats(l);
  if (!own->nonfused && !l->o.in.view.channels_last && !pz_winograd_short(s, s->conv.in.c) &&
      pz_test_int(r, 0, 1))
    winograd_norm(l, r);
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
                        l->o.out.at, l->norm_stats.data, i, workers);
}
static void winograd_run(const test_layer *l, int32_t worker, int32_t workers) {
  const winograd_own *own = l->shape;
  if (own->nonfused) {
    if (worker == 0) winograd_stages(l, workers);
    return;
  }
  banded = &own->s;
  pz_winograd(own->s, bands, winograd_in(l), own->s.normed ? l->more[WINOGRAD_FACTORS].data : NULL,
              l->packed.data, l->more[WINOGRAD_TAKEN].data, test_bias(l), test_residual(l), test_scale(l),
              test_slope(l), l->o.out.at, l->pooled.at, own->s.conv.stats_units ? l->norm_stats.data : NULL,
              l->scratch.data, worker, workers);
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
    if (((winograd_own *)l.shape)->s.normed) {
      test_close(&l);
      continue;
    }
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

#define TEST_WINOGRAD_ROWS   &winograd_row
#define TEST_WINOGRAD_OTHERS cmocka_unit_test(test_any_size)

#endif
