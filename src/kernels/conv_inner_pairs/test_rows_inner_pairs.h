/* test_rows_inner_pairs.h: rows of conv/test_layers.c: products of channels in inner pairs. */
#ifndef PZ_KERNELS_CONV_INNER_PAIRS_TEST_ROWS_INNER_PAIRS_H
#define PZ_KERNELS_CONV_INNER_PAIRS_TEST_ROWS_INNER_PAIRS_H

#include "kernels/conv/test_frame.h"
#include "kernels/conv_inner_pairs/conv_inner_pairs.h"
#include "kernels/conv_inner_pairs/pack.h"
#include "kernels/deconv/deconv.h"

/* ---- products of channels in inner pairs ---- */

/* Sums of up to 70 products of values in [-1, 1], with the error of pairs (winograd/inner_pairs.h). */
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

#define TEST_INNER_PAIRS_ROWS   &inner_pairs_row
#define TEST_INNER_PAIRS_OTHERS cmocka_unit_test(test_inner_pairs_any_size)

#endif
