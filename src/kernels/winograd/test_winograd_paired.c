/* Products of maps in pairs against a plain sum in double precision: convolutions of 1x1x1 and deconvolutions whose kernel is their stride,
 * random odd sizes and maps, poisoned output, inputs and Base as crops and slices, bias, Base (also in place) with and without a scale,
 * activations; points that are all zero, and some much larger than others; 1, 2 and 3 workers give the same bits. Shapes are not
 * constant here; tests/plan runs the kernel as generated code has it. */
#include "kernels/conv/deconv.h"
#include "kernels/conv/test_expected.h"
#include "kernels/test_activation.h"
#include "kernels/testing.h"
#include "kernels/winograd/pack_paired.h"
#include "kernels/winograd/paired.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Sums of up to 70 products of values in [-1, 1], with the error of pairs (pairs.h). */
#define TOLERANCE 4e-6

typedef struct layer {
  pz_conv_direct_shape whole; /* the deconvolution, or the convolution */
  pz_winograd_paired_shape s;
  pz_test_conv o; /* weights [C, K, stride] */
  pz_test_memory packed, taken, scratch;
  bool in_place;
} layer;

/* weights of the deconvolution -> [phases, K, C], packed. */
static void pack_layer(layer *l) {
  pz_deconv_phase phase;
  assert_int_equal(pz_deconv_merges(&l->whole), PZ_DECONV_ALL);
  assert_true(pz_deconv_phase_of(&l->whole, PZ_DECONV_ALL, 0, &phase));
  l->s.conv = phase.shape;
  pz_winograd_paired_schedule(&l->s, PZ_V_REGISTERS);
  float *plain = calloc((size_t)pz_deconv_weight_floats(&phase), sizeof *plain);
  pz_deconv_weights(&l->whole, &phase, l->o.weights, plain);
  l->packed = pz_test_alloc(pz_conv_direct_weight_floats(&l->s.conv), false);
  l->taken = pz_test_alloc(pz_winograd_paired_taken_floats(&l->s), false);
  pz_winograd_paired_pack(&l->s, plain, l->packed.data, l->taken.data);
  free(plain);
}

static layer random_layer(pz_test_random *r) {
  static const int32_t strides[][3] = {{1, 1, 1}, {2, 2, 2}, {1, 2, 2}, {2, 1, 3}, {1, 1, 2}};
  static const int32_t acts[4] = {PZ_K_ACT_NONE, PZ_K_ACT_ELU, PZ_K_ACT_SIGMOID, PZ_K_ACT_PRELU};
  layer l = {.in_place = pz_test_int(r, 0, 1), .s.held = pz_test_int(r, 0, 1)};
  const int32_t *stride = strides[pz_test_int(r, 0, 4)], in = pz_test_int(r, 1, 70),
                out = pz_test_int(r, 1, 40);
  const int32_t size[4] = {pz_test_int(r, 1, 2), pz_test_int(r, 1, 5), pz_test_int(r, 1, 7),
                           pz_test_int(r, 1, 13)};
  pz_conv_direct_shape *c = &l.whole;
  *c = (pz_conv_direct_shape){.groups = 1,
                              .phases = 1,
                              .act = acts[pz_test_int(r, 0, 3)],
                              .alpha = 0.7f,
                              .has_bias = pz_test_int(r, 0, 1),
                              .stream = pz_test_int(r, 0, 1)};
  for (int i = 0; i < 3; ++i) c->kernel[i] = c->stride[i] = stride[i], c->dilation[i] = 1;
  l.o.in = pz_test_tensor_random(r, PZ_S, size[0], in, size[1], size[2], size[3]);
  pz_test_fill(&l.o.in, r, -1, 1);
  PZ_TEST_EACH(l.o.in.view, 0, 1) {
    const int kind = pz_test_int(r, 0, 9); /* of all maps at a point */
    for (int32_t k = 0; k < in; ++k)
      *pz_test_at(&l.o.in, n, c + k, d, h, w) *= kind == 0 ? 0.0f : kind == 1 ? 1e-3f : 1.0f;
  }
  const int32_t to[3] = {size[1] * stride[0], size[2] * stride[1], size[3] * stride[2]};
  l.o.out = pz_test_tensor_random(r, PZ_S, size[0], out, to[0], to[1], to[2]);
  c->in = l.o.in.view, c->out = l.o.out.view;
  if (pz_test_int(r, 0, 1)) {
    l.o.base = l.in_place ? l.o.out : pz_test_tensor_random(r, PZ_S, size[0], out, to[0], to[1], to[2]);
    c->base = l.o.base.view, c->has_base_scale = pz_test_int(r, 0, 1);
  }
  l.o.weights = pz_test_floats(r, (int64_t)in * out * stride[0] * stride[1] * stride[2]);
  l.o.bias = pz_test_floats(r, out), l.o.scale = pz_test_floats(r, out), l.o.slope = pz_test_floats(r, out);
  pack_layer(&l);
  pz_test_conv_pack(&l.o);
  l.scratch = pz_test_alloc(pz_winograd_paired_scratch(&l.s), false);
  return l;
}

static double *expected(const layer *l) {
  const pz_conv_direct_shape *s = &l->whole;
  const int32_t *k = s->stride;
  double *want = pz_test_doubles(&l->o.out.view), *to = want;
  PZ_TEST_EACH(l->o.out.view, 0, l->o.out.view.c) {
    double sum = s->has_bias ? l->o.bias[c] : 0;
    for (int32_t m = 0; m < s->in.c; ++m)
      sum += (double)l->o.weights[((((int64_t)m * s->out.c + c) * k[0] + d % k[0]) * k[1] + h % k[1]) * k[2] +
                                  w % k[2]] *
             *pz_test_at(&l->o.in, n, m, d / k[0], h / k[1], w / k[2]);
    if (s->base.c)
      sum += *pz_test_at(&l->o.base, n, c, d, h, w) * (s->has_base_scale ? (double)l->o.scale[c] : 1.0);
    *to++ = pz_test_activate(s->act, (double)s->alpha, (double)s->beta, (double)l->o.slope[c], sum);
  }
  return want;
}

static void free_layer(layer *l) {
  pz_test_conv_free(&l->o, l->whole.base.c && !l->in_place);
  pz_test_free(&l->packed), pz_test_free(&l->taken), pz_test_free(&l->scratch);
}

static void run_layer(const layer *l, int32_t worker, int32_t workers) {
  pz_winograd_paired(l->s, l->o.in.at, l->packed.data, l->taken.data, l->o.packed_bias.data,
                     l->whole.base.c ? l->o.base.at : NULL, l->o.packed_scale.data, l->o.packed_slope.data,
                     l->o.out.at, l->scratch.data, worker, workers);
}

static void test_random_layers(void **state) {
  (void)state;
  pz_test_random r = {.state = 1968};
  for (int i = 0; i < 80; ++i) {
    layer l = random_layer(&r);
    const bool from_base = l.whole.base.c > 0;
    if (from_base) pz_test_fill(&l.o.base, &r, -1, 1);
    double *want = expected(&l);
    bool same;
    PZ_TEST_WORKERS(same, l.o.out.memory, run_layer(&l, worker, workers));
    assert_true(same);
    if (!pz_test_equal(&l.o.out, want, TOLERANCE))
      fail_msg("%d maps, %dx%dx%d, %d blocks x %d points", l.whole.in.c, l.whole.stride[0], l.whole.stride[1],
               l.whole.stride[2], l.s.conv.kb, l.s.conv.rw);
    if (!(from_base && l.in_place)) assert_true(pz_test_untouched(&l.o.out, false));
    free(want);
    free_layer(&l);
  }
}

/* Inputs that are 2^20 times larger or smaller give results that are, to the bit; and so does each point for itself. */
static void test_any_size(void **state) {
  (void)state;
  pz_test_random r = {.state = 77};
  for (int i = 0; i < 20; ++i) {
    layer l = random_layer(&r);
    if (l.whole.base.c && !l.in_place) pz_test_tensor_free(&l.o.base);
    l.whole.act = PZ_K_ACT_NONE, l.whole.has_bias = l.whole.has_base_scale = 0, l.whole.base.c = 0;
    pz_test_free(&l.packed), pz_test_free(&l.taken);
    pack_layer(&l);
    run_layer(&l, 0, 1);
    float *first = pz_test_snapshot(&l.o.out.memory);
    PZ_TEST_EACH(l.o.in.view, 0, l.o.in.view.c) * pz_test_at(&l.o.in, n, c, d, h, w) *=
        w % 2 ? 0x1p20f : 0x1p-20f;
    run_layer(&l, 0, 1);
    int32_t different = 0;
    PZ_TEST_EACH(l.o.out.view, 0, l.o.out.view.c) {
      const float *at = pz_test_at(&l.o.out, n, c, d, h, w),
                  undo = w / l.whole.stride[2] % 2 ? 0x1p-20f : 0x1p20f;
      different += *at * undo != first[at - l.o.out.memory.data];
    }
    assert_int_equal(different, 0);
    free(first);
    free_layer(&l);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_layers), cmocka_unit_test(test_any_size)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
