/* Convolution of few plain maps by products of bfloat16 terms against a plain sum in double precision: random odd sizes, kernels of 1 to 5 along
 * each axis, inputs that end in front of a guard page, poisoned output and scratch, bias, Base (also in place) with and without a scale,
 * activations; 1, 2 and 3 workers, and any strips, give the same bits. Shapes are not constant here; tests/plan runs the kernel as generated
 * code has it. */
#include "kernels/conv/pack_terms.h"
#include "kernels/conv/terms.h"
#include "kernels/conv/test_expected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Sums of up to 600 products of values in [-1, 1], below 30 in size: as exact as sums in single precision with three terms, with two an error of
 * about 4e-6 of their usual size (doc/algorithm-terms.md), which is a third of the root of their number. */
static double tolerance(const pz_conv_terms_shape *s) {
  return s->terms == 3 ? 4e-6 : 5 * 4e-6 / 3 * sqrt((double)pz_terms_window(s)) + 2e-6;
}

typedef struct layer {
  pz_conv_terms_shape s;
  pz_test_conv o;
  pz_test_memory packed, scratch;
  bool in_place;
} layer;

static layer random_layer(pz_test_random *r) {
  static const int32_t acts[4] = {PZ_K_ACT_NONE, PZ_K_ACT_ELU, PZ_K_ACT_SIGMOID, PZ_K_ACT_PRELU};
  layer l = {.in_place = pz_test_int(r, 0, 1), .s.terms = pz_test_int(r, 2, 3)};
  pz_conv_direct_shape *c = &l.s.conv;
  const int32_t kernel[3] = {pz_test_int(r, 1, 3), pz_test_int(r, 1, 5), pz_test_int(r, 1, 5)},
                maps_in = pz_test_int(r, 1, 4), maps_out = pz_test_int(r, 1, 100);
  const int32_t size[4] = {pz_test_int(r, 1, 2), pz_test_int(r, 5, 8), pz_test_int(r, 5, 12),
                           pz_test_int(r, 5, 70)};
  *c = (pz_conv_direct_shape){.groups = 1,
                              .phases = 1,
                              .act = acts[pz_test_int(r, 0, 3)],
                              .alpha = 0.7f,
                              .has_bias = pz_test_int(r, 0, 1),
                              .stream = pz_test_int(r, 0, 1)};
  int32_t out[4];
  pz_test_conv_window(c, kernel, size, out, r);
  l.o.in = pz_test_bordered(r, 1, maps_in, size, c->pad, false);
  l.o.out = pz_test_tensor_tight(r, PZ_S, out[0], maps_out, out[1], out[2], out[3]);
  c->stream &= !l.o.out.view.tight;
  pz_test_conv_random(&l.o, c, l.in_place, r);
  pz_terms_schedule(&l.s);
  l.packed = pz_test_alloc(pz_terms_weight_floats(&l.s), false);
  pz_terms_pack(&l.s, l.o.weights, l.packed.data);
  pz_test_conv_pack(&l.o);
  l.scratch = pz_test_alloc(pz_terms_scratch(&l.s), false);
  return l;
}

static void run_layer(const layer *l, int32_t worker, int32_t workers) {
  pz_conv_terms(l->s, l->o.in.at, l->packed.data, l->o.packed_bias.data,
                l->s.conv.base.c ? l->o.base.at : NULL, l->o.packed_scale.data, l->o.packed_slope.data,
                l->o.out.at, l->scratch.data, worker, workers);
}

static void test_random_layers(void **state) {
  (void)state;
  pz_test_random r = {.state = 2811};
  for (int i = 0; i < 120; ++i) {
    layer l = random_layer(&r);
    const bool from_base = l.s.conv.base.c > 0;
    if (from_base) pz_test_fill(&l.o.base, &r, -1, 1);
    double *want = pz_test_conv_expected(&l.s.conv, &l.o);
    bool same;
    PZ_TEST_WORKERS(same, l.o.out.memory, run_layer(&l, worker, workers));
    assert_true(same);
    if (!pz_test_equal(&l.o.out, want, tolerance(&l.s)))
      fail_msg("%dx%dx%d, %d maps to %d, %d terms", l.s.conv.kernel[0], l.s.conv.kernel[1],
               l.s.conv.kernel[2], l.s.conv.in.c, l.s.conv.out.c, l.s.terms);
    if (!(from_base && l.in_place)) {
      assert_true(pz_test_untouched(&l.o.out, false));
      const size_t bytes = (size_t)l.o.out.memory.floats * sizeof(float);
      float *whole = malloc(bytes);
      memcpy(whole, l.o.out.memory.data, bytes);
      l.s.rows = pz_test_int(&r, 1, l.s.conv.out.h);
      run_layer(&l, 0, 1);
      assert_memory_equal(whole, l.o.out.memory.data, bytes);
      free(whole);
    }
    free(want);
    pz_test_conv_free(&l.o, from_base && !l.in_place);
    pz_test_free(&l.packed), pz_test_free(&l.scratch);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_layers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
