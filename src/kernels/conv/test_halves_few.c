/* Convolution to few plain maps by products of bfloat16 halves against a plain sum in double precision: random odd sizes, kernels of 1 to 5 along
 * the height and as many taps along the width as columns of a tile allow, inputs that end in front of a guard page, poisoned output and
 * scratch, bias, activations; 1, 2 and 3 workers, and any strips, give the same bits. Shapes are not constant here; tests/plan runs the kernel
 * as generated code has it. */
#include "kernels/conv/halves_few.h"
#include "kernels/conv/pack_halves_few.h"
#include "kernels/conv/test_expected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Sums of up to 70*35 products of values in [-1, 1], whose errors are of about 4e-6 of their usual size (doc/algorithm-halves.md), which is
 * a third of the root of their number. */
static double tolerance(const pz_conv_direct_shape *c) {
  return 5 * 4e-6 / 3 * sqrt((double)c->in.c * c->kernel[1] * c->kernel[2]) + 2e-6;
}

typedef struct layer {
  pz_conv_halves_few_shape s;
  pz_test_conv o;
  pz_test_memory packed, scratch;
} layer;

static void tighten(layer *l, pz_test_random *r) {
  const int32_t around[4] = {pz_test_int(r, 0, 1), 0, 0, 0};
  pz_view v = l->o.in.view;
  v.tight = 1;
  pz_test_tensor_free(&l->o.in);
  l->o.in = pz_test_store(v, around, around, pz_test_int(r, 0, 1));
  pz_test_fill(&l->o.in, r, -1, 1);
  l->s.conv.in = l->o.in.view;
}

static layer random_layer(pz_test_random *r) {
  layer l = {0};
  const int32_t maps_in = pz_test_int(r, 1, 70), kernel_h = pz_test_int(r, 1, 5);
  pz_test_few_random(&l.o, &l.s.conv, maps_in, kernel_h, r);
  if (pz_test_int(r, 0, 1)) tighten(&l, r);
  pz_halves_few_schedule(&l.s);
  l.packed = pz_test_alloc(pz_halves_few_weight_floats(&l.s), false);
  pz_halves_few_pack(&l.s, l.o.weights, l.packed.data);
  l.scratch = pz_test_alloc(pz_halves_few_scratch(&l.s), false);
  return l;
}

static void run_layer(const layer *l, int32_t worker, int32_t workers) {
  pz_conv_halves_few(l->s, l->o.in.at, l->packed.data, l->o.packed_bias.data, l->o.packed_slope.data,
                     l->o.out.at, l->scratch.data, worker, workers);
}

static void test_random_layers(void **state) {
  (void)state;
  pz_test_random r = {.state = 1126};
  for (int i = 0; i < 150; ++i) {
    layer l = random_layer(&r);
    double *want = pz_test_conv_expected(&l.s.conv, &l.o);
    bool same;
    PZ_TEST_WORKERS(same, l.o.out.memory, run_layer(&l, worker, workers));
    assert_true(same);
    if (!pz_test_equal(&l.o.out, want, tolerance(&l.s.conv)))
      fail_msg("1x%dx%d, %d maps to %d", l.s.conv.kernel[1], l.s.conv.kernel[2], l.s.conv.in.c,
               l.s.conv.out.c);
    assert_true(pz_test_untouched(&l.o.out, false));
    const size_t bytes = (size_t)l.o.out.memory.floats * sizeof(float);
    float *whole = malloc(bytes);
    memcpy(whole, l.o.out.memory.data, bytes);
    l.s.rows = pz_test_int(&r, 1, l.s.conv.out.h);
    run_layer(&l, 0, 1);
    assert_memory_equal(whole, l.o.out.memory.data, bytes);
    free(whole), free(want);
    pz_test_conv_free(&l.o, false);
    pz_test_free(&l.packed), pz_test_free(&l.scratch);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_layers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
