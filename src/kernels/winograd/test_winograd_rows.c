/* Minimal filtering of rows against a plain sum in double precision: random odd sizes, kernels of 3 and 5 along the width and of 1, 3, 5
 * along the other axes, tiles of 2, 4 and 6 results, inputs that end in front of a guard page, poisoned output, bias, Base (also in
 * place) with and without a scale, activations; 1, 2 and 3 workers give the same bits. Shapes are not constant here; tests/plan runs the
 * kernel as generated code has it. */
#include "kernels/conv/test_expected.h"
#include "kernels/winograd/pack_rows.h"
#include "kernels/winograd/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Sums of up to 8*75 products of values in [-1, 1], below 20 in size, times the error of an axis (doc/algorithm-winograd-1d.md). */
static double tolerance(const pz_winograd_rows_shape *s) {
  return 1e-5 * (s->conv.kernel[2] == 3 ? 0.7 * s->m : s->m * s->m);
}

typedef struct layer {
  pz_winograd_rows_shape s;
  pz_test_conv o;
  pz_test_memory packed, scratch;
  bool in_place;
} layer;

static layer random_layer(pz_test_random *r) {
  static const int32_t kernels[][3] = {{3, 3, 3}, {3, 3, 3}, {1, 3, 3}, {1, 5, 5}, {1, 1, 3}, {5, 3, 5}};
  static const int32_t acts[4] = {PZ_K_ACT_NONE, PZ_K_ACT_ELU, PZ_K_ACT_SIGMOID, PZ_K_ACT_PRELU};
  layer l = {.in_place = pz_test_int(r, 0, 1), .s.m = 2 * pz_test_int(r, 1, 3)};
  pz_conv_direct_shape *c = &l.s.conv;
  const int32_t *kernel = kernels[pz_test_int(r, 0, 5)], maps_in = pz_test_int(r, 1, 8),
                maps_out = pz_test_int(r, 1, 70);
  const int32_t size[4] = {pz_test_int(r, 1, 2), pz_test_int(r, 5, 8), pz_test_int(r, 5, 12),
                           pz_test_int(r, 10, 60)};
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
  pz_winograd_rows_schedule(&l.s, PZ_V_REGISTERS);
  l.packed = pz_test_alloc(pz_winograd_rows_weight_floats(&l.s), false);
  memset(l.packed.data, 0, (size_t)l.packed.floats * sizeof(float));
  pz_winograd_rows_pack(&l.s, l.o.weights, l.packed.data);
  pz_test_conv_pack(&l.o);
  l.scratch = pz_test_alloc(pz_winograd_rows_scratch(&l.s), false);
  return l;
}

static void free_layer(layer *l) {
  pz_test_conv_free(&l->o, l->s.conv.base.c && !l->in_place);
  pz_test_free(&l->packed), pz_test_free(&l->scratch);
}

static void run_layer(const layer *l, int32_t worker, int32_t workers) {
  pz_winograd_rows(l->s, l->o.in.at, l->packed.data, l->o.packed_bias.data,
                   l->s.conv.base.c ? l->o.base.at : NULL, l->o.packed_scale.data, l->o.packed_slope.data,
                   l->o.out.at, l->scratch.data, worker, workers);
}

static void test_random_layers(void **state) {
  (void)state;
  pz_test_random r = {.state = 2411};
  for (int i = 0; i < 60; ++i) {
    layer l = random_layer(&r);
    const bool from_base = l.s.conv.base.c > 0;
    if (from_base) pz_test_fill(&l.o.base, &r, -1, 1);
    double *want = pz_test_conv_expected(&l.s.conv, &l.o);
    bool same;
    PZ_TEST_WORKERS(same, l.o.out.memory, run_layer(&l, worker, workers));
    assert_true(same);
    if (!pz_test_equal(&l.o.out, want, tolerance(&l.s)))
      fail_msg("F(%d) of %dx%dx%d, %d blocks x %d tiles", l.s.m, l.s.conv.kernel[0], l.s.conv.kernel[1],
               l.s.conv.kernel[2], l.s.kb, l.s.rw);
    if (!(from_base && l.in_place)) assert_true(pz_test_untouched(&l.o.out, false));
    free(want);
    free_layer(&l);
  }
}

/* As many sums as registers hold, and blocks in equal groups. */
static void test_schedule(void **state) {
  (void)state;
  for (int32_t m = 2; m <= 6; m += 2)
    for (int32_t maps = 1; maps <= 80; maps += 13)
      for (int32_t registers = 16; registers <= 32; registers += 16) {
        pz_winograd_rows_shape s = {.m = m};
        s.conv.out = (pz_view){.n = 1, .c = maps, .d = 1, .h = 1, .w = 31, .block = PZ_S};
        s.conv.kernel[2] = 5, s.conv.phases = 1;
        pz_winograd_rows_schedule(&s, registers);
        assert_true(s.kb >= 1 && s.rw >= 1 && pz_test_blocks(&s.conv.out) % s.kb == 0);
        assert_true(s.kb * s.rw * pz_winograd_rows_a(&s) < registers);
      }
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_layers), cmocka_unit_test(test_schedule)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
