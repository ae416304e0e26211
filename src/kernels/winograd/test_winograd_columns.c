/* Minimal filtering of columns against a plain sum in double precision: random odd sizes, kernels of 3 and 5 along the height and as many along
 * the width as lanes allow, tiles of 2, 4 and 6 rows, which the last ones may lack, inputs that end in front of a guard page, poisoned
 * output, bias, activations; 1, 2 and 3 workers give the same bits. Shapes are not constant here; tests/plan runs the kernel as
 * generated code has it. */
#include "kernels/conv/test_expected.h"
#include "kernels/winograd/columns.h"
#include "kernels/winograd/pack_columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Sums of up to 40*25 products of values in [-1, 1], below 20 in size, times the error of an axis (doc/algorithm-winograd-1d.md). */
static double tolerance(const pz_winograd_columns_shape *s) {
  return 1e-5 * (s->conv.kernel[1] == 3 ? 0.7 * s->m : s->m * s->m);
}

typedef struct layer {
  pz_winograd_columns_shape s;
  pz_test_conv o;
  pz_test_memory packed, scratch;
} layer;

static layer random_layer(pz_test_random *r) {
  layer l = {.s.m = 2 * pz_test_int(r, 1, 3)};
  const int32_t maps_in = pz_test_int(r, 1, 40), kernel_h = 3 + 2 * pz_test_int(r, 0, 1);
  pz_test_few_random(&l.o, &l.s.conv, maps_in, kernel_h, r);
  pz_winograd_columns_schedule(&l.s);
  l.packed = pz_test_alloc(pz_winograd_columns_weight_floats(&l.s), false);
  memset(l.packed.data, 0, (size_t)l.packed.floats * sizeof(float));
  pz_winograd_columns_pack(&l.s, l.o.weights, l.packed.data);
  l.scratch = pz_test_alloc(pz_winograd_columns_scratch(&l.s), false);
  return l;
}

static void run_layer(const layer *l, int32_t worker, int32_t workers) {
  pz_winograd_columns(l->s, l->o.in.at, l->packed.data, l->o.packed_bias.data, l->o.packed_slope.data,
                      l->o.out.at, l->scratch.data, worker, workers);
}

static void test_random_layers(void **state) {
  (void)state;
  pz_test_random r = {.state = 1125};
  for (int i = 0; i < 120; ++i) {
    layer l = random_layer(&r);
    double *want = pz_test_conv_expected(&l.s.conv, &l.o);
    bool same;
    PZ_TEST_WORKERS(same, l.o.out.memory, run_layer(&l, worker, workers));
    assert_true(same);
    if (!pz_test_equal(&l.o.out, want, tolerance(&l.s)))
      fail_msg("F(%d) of 1x%dx%d, %d maps to %d, %d at a time", l.s.m, l.s.conv.kernel[1], l.s.conv.kernel[2],
               l.s.conv.in.c, l.s.conv.out.c, l.s.rw);
    assert_true(pz_test_untouched(&l.o.out, false));
    free(want);
    pz_test_conv_free(&l.o, false);
    pz_test_free(&l.packed), pz_test_free(&l.scratch);
  }
}

/* Strips of one size, no more of them than it takes, whose sums leave registers for weights and what is broadcast. */
static void test_schedule(void **state) {
  (void)state;
  for (int32_t w = 1; w < 200; ++w) {
    pz_winograd_columns_shape s = {.m = 6};
    s.conv.out.w = w, s.conv.kernel[2] = 5;
    pz_winograd_columns_schedule(&s);
    const int32_t strips = pz_winograd_columns_strips(&s);
    assert_true(s.rw >= 1 && s.rw <= 16 - 3 && s.rw * strips - (w + 4) < strips);
  }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_layers), cmocka_unit_test(test_schedule)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
