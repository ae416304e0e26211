/* test_frame.h: the test that all algorithms of convolution pass whose shapes are not constant there: a row for each of them in
 * test_layers.c.
 *
 * Layers are random, of odd sizes. Their tensors end at guard pages, results and scratch are poisoned before. A result is compared
 * with a plain sum in double precision; 1, 2 and 3 workers give the same bits, and so do other schedules that the row has;
 * padding lanes are zero, and nothing is written beside the result. So it is with what is pooled of the result, and with moments that are
 * collected of it, where a row has them. */
#ifndef PZ_KERNELS_CONV_TEST_FRAME_H
#define PZ_KERNELS_CONV_TEST_FRAME_H

#include "kernels/conv/test_expected.h"
#include "kernels/norm/shape.h"
#include "kernels/norm/test_norm_stats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct test_layer {
  void *shape; /* the algorithm's, or a struct of the row's own that begins with it: zeros at first */
  pz_conv_direct_shape *conv; /* the field that every such shape begins with */
  pz_conv_direct_shape whole; /* the problem; a deconvolution where `transposed` */
  bool transposed, in_place;  /* in_place: Base, if there is one, is in the storage of the result */
  pz_test_conv o;
  pz_test_memory packed, scratch, more[6], norm_stats; /* where a row has them */
  pz_test_tensor pooled;
  const int32_t *pool_window; /* of what is pooled */
} test_layer;

typedef struct test_row {
  const char *name;
  size_t shape; /* bytes */
  int32_t layers;
  uint64_t seed;
  void (*choose)(test_layer *l, pz_test_random *r); /* whole and its operands */
  void (*schedule)(
      test_layer *l,
      pz_test_random *r); /* the rest of the shape, of which conv is `whole`; packed weights, scratch */
  void (*run)(const test_layer *l, int32_t worker, int32_t workers);
  double (*tolerance)(const test_layer *l);
  bool (*near_enough)(const test_layer *l, const double *want,
                      double norm);                /* in place of it; norm: of sums before activation */
  void (*again)(test_layer *l, pz_test_random *r); /* another schedule that gives the same bits; or NULL */
} test_row;

/* ---- layers ---- */

enum { TEST_PLAIN_IN = 1, TEST_CHANNELS_LAST_IN = 2, TEST_PLAIN_OUT = 4, TEST_CHANNELS_LAST_OUT = 8 };

/* A convolution of stride 1 and its operands. size: n, d, h, w of the input; layout: TEST_..: channels-last ones are so in a part of layers. */
typedef struct test_problem {
  int32_t kernel[3], channels_in, channels_out, size[4], layout;
} test_problem;

PZ_TEST_INLINE void test_ends(pz_conv_direct_shape *s, pz_test_random *r) {
  static const int32_t acts[5] = {PZ_K_ACT_NONE, PZ_K_ACT_ELU, PZ_K_ACT_SIGMOID, PZ_K_ACT_PRELU,
                                  PZ_K_ACT_HARD_SIGMOID};
  *s = (pz_conv_direct_shape){.stride = {1, 1, 1},
                              .dilation = {1, 1, 1},
                              .groups = 1,
                              .phases = 1,
                              .phases_h = 1,
                              .phases_d = 1,
                              .act = acts[pz_test_int(r, 0, 4)],
                              .alpha = 0.7f,
                              .beta = 0.3f,
                              .has_bias = pz_test_int(r, 0, 1),
                              .stream = pz_test_int(r, 0, 1)};
}

/* The result's tensor, a Base or none, weights and vectors. out: n, d, h, w. */
PZ_TEST_INLINE void test_operands(test_layer *l, int32_t channels_out, const int32_t out[4], int32_t layout,
                                  pz_test_random *r) {
  const int32_t block = layout & TEST_PLAIN_OUT ? 1 : PZ_S;
  pz_test_tensor (*const make)(pz_test_random *, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t) =
      layout & TEST_CHANNELS_LAST_OUT ? pz_test_tensor_channels_last : pz_test_tensor_random;
  l->o.out = make(r, block, out[0], channels_out, out[1], out[2], out[3]);
  l->in_place = pz_test_int(r, 0, 1);
  l->whole.in = l->o.in.view, l->whole.out = l->o.out.view;
  l->whole.stream &= !l->whole.out.channels_last;
  if (!(layout & TEST_PLAIN_OUT) && pz_test_int(r, 0, 1)) {
    l->o.residual = l->in_place ? l->o.out : make(r, block, out[0], channels_out, out[1], out[2], out[3]);
    l->whole.residual = l->o.residual.view, l->whole.has_residual_scale = pz_test_int(r, 0, 1);
    pz_test_fill(&l->o.residual, r, -1, 1);
  }
  l->o.weights = pz_test_floats(r, (int64_t)l->whole.in.c * channels_out * pz_conv_taps(&l->whole));
  l->o.bias = pz_test_floats(r, channels_out), l->o.scale = pz_test_floats(r, channels_out);
  l->o.slope = pz_test_floats(r, channels_out);
}

PZ_TEST_INLINE void test_choose(test_layer *l, const test_problem *p, pz_test_random *r) {
  const int32_t block = p->layout & TEST_PLAIN_IN ? 1 : PZ_S;
  int32_t out[4];
  test_ends(&l->whole, r);
  pz_test_conv_window(&l->whole, p->kernel, p->size, out, r);
  l->o.in = pz_test_bordered(r, block, p->channels_in, p->size, l->whole.pad,
                             p->layout & TEST_CHANNELS_LAST_IN && pz_test_int(r, 0, 2) == 0);
  test_operands(l, p->channels_out, out, p->layout, r);
}

/* To one to four NCHW channels, whose taps along the width fit into lanes beside each other (narrow.h). */
PZ_TEST_INLINE void test_choose_narrow(test_layer *l, int32_t channels_in, int32_t kernel_h,
                                       pz_test_random *r) {
  const int32_t most = PZ_S / 2 < PZ_CONV_NARROW ? PZ_S / 2 : PZ_CONV_NARROW,
                channels_out = pz_test_int(r, 1, most),
                widest = PZ_S / channels_out < 7 ? PZ_S / channels_out : 7;
  test_choose(l,
              &(test_problem){.kernel = {1, kernel_h, pz_test_int(r, 2, widest)},
                              .channels_in = channels_in,
                              .channels_out = channels_out,
                              .size = {pz_test_int(r, 1, 2), pz_test_int(r, 1, 3), pz_test_int(r, 5, 15),
                                       pz_test_int(r, 7, pz_test_int(r, 0, 1) ? 20 : 90)},
                              .layout = TEST_PLAIN_OUT},
              r);
}

PZ_TEST_INLINE bool test_from_out(const test_layer *l) { return l->whole.residual.c && l->in_place; }

/* Neither Base, bias nor activation. */
PZ_TEST_INLINE void test_bare(test_layer *l) {
  if (l->whole.residual.c && !l->in_place) pz_test_tensor_free(&l->o.residual);
  l->whole.act = PZ_K_ACT_NONE, l->whole.residual.c = 0;
  l->whole.has_bias = l->whole.has_residual_scale = 0;
}

PZ_TEST_INLINE void test_open(test_layer *l, const test_row *row, pz_test_random *r) {
  *l = (test_layer){.shape = calloc(1, row->shape)};
  assert_non_null(l->shape);
  l->conv = l->shape;
  row->choose(l, r);
}
PZ_TEST_INLINE void test_schedule(test_layer *l, const test_row *row, pz_test_random *r) {
  *l->conv = l->whole;
  row->schedule(l, r);
  pz_test_conv_pack(&l->o);
}
PZ_TEST_INLINE void test_close(test_layer *l) {
  pz_test_memory *const all[] = {&l->packed,  &l->scratch, &l->more[0], &l->more[1],    &l->more[2],
                                 &l->more[3], &l->more[4], &l->more[5], &l->norm_stats, &l->pooled.memory};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (all[i]->map) pz_test_free(all[i]);
  pz_test_conv_free(&l->o, l->whole.residual.c && !l->in_place);
  free(l->shape);
}

/* Of half of the layers that can have them moments are collected by reading results again. Says so; stats_units is 1 then. */
PZ_TEST_INLINE bool test_wants_stats(test_layer *l, pz_test_random *r) {
  const bool wanted = !l->conv->out.channels_last && pz_test_int(r, 0, 1);
  if (wanted) l->conv->stats_units = 1, l->conv->stream = l->whole.stream = 0;
  return wanted;
}
/* Room for them; means are far from zero. */
PZ_TEST_INLINE void test_stats(test_layer *l) {
  for (int32_t k = 0; k < l->conv->out.c && l->conv->stats_units; ++k) l->o.bias[k] += 1e3f;
  l->norm_stats = pz_test_alloc(pz_norm_floats(&l->conv->out, l->conv->stats_units), false);
}

/* What a kernel is given; NULL where it is not to be read. */
PZ_TEST_INLINE const float *test_bias(const test_layer *l) {
  return l->whole.has_bias ? l->o.packed_bias.data : NULL;
}
PZ_TEST_INLINE const float *test_residual(const test_layer *l) {
  return l->whole.residual.c ? l->o.residual.at : NULL;
}
PZ_TEST_INLINE const float *test_scale(const test_layer *l) {
  return l->whole.has_residual_scale ? l->o.packed_scale.data : NULL;
}
PZ_TEST_INLINE const float *test_slope(const test_layer *l) {
  return l->whole.act == PZ_K_ACT_PRELU ? l->o.packed_slope.data : NULL;
}

/* Windows of one or two points along each axis, of half of the layers that may have some; sizes of the result and along[i] are multiples. */
PZ_TEST_INLINE void test_pool(test_layer *l, const int32_t along[3], int32_t window[3], pz_view *view,
                              pz_test_random *r) {
  const pz_view *out = &l->whole.out;
  const int32_t size[3] = {out->d, out->h, out->w};
  for (int i = 0; i < 3; ++i)
    window[i] = size[i] % 2 == 0 && along[i] % 2 == 0 && pz_test_int(r, 0, 3) ? 2 : 1;
  if (window[0] * window[1] * window[2] == 1 || pz_test_int(r, 0, 1)) return;
  l->pooled = pz_test_tensor_channels_last(r, PZ_S, out->n, out->c, out->d / window[0], out->h / window[1],
                                           out->w / window[2]);
  *view = l->pooled.view, l->pool_window = window;
  l->whole.stream = l->conv->stream = 0;
}

/* ---- checks ---- */

PZ_TEST_INLINE float test_largest(const test_layer *l, int32_t n, int32_t c, int32_t d, int32_t h,
                                  int32_t w) {
  const int32_t *k = l->pool_window;
  float most = -INFINITY;
  for (int32_t i = 0; i < k[0] * k[1] * k[2]; ++i)
    most = fmaxf(most, *pz_test_at(&l->o.out, n, c, d * k[0] + i / (k[1] * k[2]), h * k[1] + i / k[2] % k[1],
                                   w * k[2] + i % k[2]));
  return most;
}
/* Of the results as they are, exactly. */
PZ_TEST_INLINE bool test_pooled_right(const test_layer *l) {
  if (!l->pool_window) return true;
  PZ_TEST_EACH(l->pooled.view, 0, l->pooled.view.c) {
    if (*pz_test_at(&l->pooled, n, c, d, h, w) == test_largest(l, n, c, d, h, w)) continue;
    fprintf(stderr, "window %d,%d,%d,%d,%d: not its largest\n", n, c, d, h, w);
    return false;
  }
  return pz_test_padding_zero(&l->pooled) && pz_test_untouched(&l->pooled, false);
}

PZ_TEST_INLINE void test_restore(const test_layer *l, const float *before) {
  memcpy(l->o.out.memory.data, before, (size_t)l->o.out.memory.floats * sizeof *before);
}
/* Worker `worker`, which is the last one at first: then from what the result's storage held before. */
PZ_TEST_INLINE void test_run_from(const test_row *row, const test_layer *l, const float *before,
                                  int32_t worker, int32_t workers) {
  if (worker == workers - 1) test_restore(l, before);
  row->run(l, worker, workers);
}

/* What is made beside the result is the same for any number of workers, and right. */
PZ_TEST_INLINE bool test_beside_right(const test_row *row, const test_layer *l, const float *before) {
  bool good = true;
  if (l->conv->stats_units) {
    PZ_TEST_WORKERS(good, l->norm_stats, test_run_from(row, l, before, worker, workers));
    good = good && pz_test_norm_stats(&l->o.out, l->norm_stats.data, l->conv->stats_units, 1);
  }
  if (l->pool_window && good) {
    PZ_TEST_WORKERS(good, l->pooled.memory, test_run_from(row, l, before, worker, workers));
    good = good && test_pooled_right(l);
  }
  return good;
}

/* Other schedules, with any number of workers. */
PZ_TEST_INLINE bool test_schedules(const test_row *row, test_layer *l, const float *before,
                                   pz_test_random *r) {
  float *first = pz_test_snapshot(&l->o.out.memory);
  bool good = true;
  for (int i = 0; i < 4 && row->again && good; ++i) {
    const int32_t workers = pz_test_int(r, 1, 3);
    row->again(l, r);
    test_restore(l, before);
    if (l->pool_window) pz_test_poison(l->pooled.memory.data, l->pooled.memory.floats);
    for (int32_t worker = 0; worker < workers; ++worker) row->run(l, worker, workers);
    good = !memcmp(l->o.out.memory.data, first, (size_t)l->o.out.memory.floats * sizeof *first);
    if (!good) fprintf(stderr, "another schedule: other bits\n");
    good = good && test_pooled_right(l);
  }
  free(first);
  return good;
}

PZ_TEST_INLINE bool test_right(const test_row *row, test_layer *l, pz_test_random *r) {
  double norm, *want = pz_test_conv_expected(&l->whole, l->transposed, &l->o, &norm);
  float *before = pz_test_snapshot(&l->o.out.memory);
  bool good;
  PZ_TEST_WORKERS(good, l->o.out.memory, row->run(l, worker, workers));
  good = good &&
         (row->near_enough ? row->near_enough(l, want, norm)
                           : pz_test_equal(&l->o.out, want, row->tolerance(l))) &&
         pz_test_padding_zero(&l->o.out) && (test_from_out(l) || pz_test_untouched(&l->o.out, false)) &&
         test_beside_right(row, l, before) && test_schedules(row, l, before, r);
  free(before), free(want);
  return good;
}

/* The state is a row. */
PZ_TEST_INLINE void test_layers_of(void **state) {
  const test_row *row = *state;
  pz_test_random r = {.state = row->seed};
  const char *factor = getenv("PZ_TEST_LAYERS");
  const int64_t layers = factor ? row->layers * strtoll(factor, NULL, 10) : row->layers / 2;
  for (int64_t i = 0; i < layers; ++i) {
    test_layer l;
    test_open(&l, row, &r);
    test_schedule(&l, row, &r);
    const pz_conv_direct_shape *s = &l.whole;
    if (!test_right(row, &l, &r))
      fail_msg("%s, layer %lld: %dx%dx%d, stride %d,%d,%d, dilation %d,%d,%d, %d to %d channels, %dx%dx%dx%d",
               row->name, (long long)i, s->kernel[0], s->kernel[1], s->kernel[2], s->stride[0], s->stride[1],
               s->stride[2], s->dilation[0], s->dilation[1], s->dilation[2], s->in.c, s->out.c, s->out.n,
               s->out.d, s->out.h, s->out.w);
    test_close(&l);
  }
}

#endif
