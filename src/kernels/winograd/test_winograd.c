/* Convolution by minimal filtering against a plain sum in double precision: random odd sizes, kernels of 1, 3 and 5 an axis,
 * tiles of 1, 2, 4 and 6 outputs an axis, borders no wider than needed and right in front of a guard page, poisoned output,
 * bias, Base (also in place) with and without a scale, activations, partial tiles and batches, slots and slices, windows of the result; 1, 2 and 3 workers give the
 * same bits, sharing tiles or positions. Shapes are not constant here; tests/plan and tests/networks run the kernel as generated code has it. */
#include "kernels/conv/test_expected.h"
#include "kernels/norm/test_gathered.h"
#include "kernels/winograd/by_position.h"
#include "kernels/winograd/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The error of doc/algorithm-winograd.md for each axis, times what the largest of a tensor's errors may exceed it by; sums here
 * are of up to 27*40 products of values in [-1, 1], below 20 in size. */
static double tolerance(const pz_winograd_shape *s) {
  double factor = 2e-5;
  for (int i = 0; i < 3; ++i)
    factor *= s->m[i] == 1 ? 1 : s->conv.kernel[i] == 3 ? 0.7 * s->m[i] : s->m[i] * s->m[i];
  return factor;
}

typedef struct layer {
  pz_winograd_shape s;
  pz_test_conv o;
  pz_test_tensor pooled;
  pz_test_memory packed, taken, scratch, products, statistics, fresh, scales;
  bool in_place, by_position, plain; /* plain: a short block comes out as plain maps */
} layer;

/* All zero but one place of forty, in all maps; and in the first block, which says nothing of the others (pairs.h), `first` times
 * what it was. */
static void thin_out(pz_test_tensor *t, float first, pz_test_random *r) {
  PZ_TEST_EACH(t->view, 0, 1) {
    const bool kept = pz_test_int(r, 0, 39) == 0;
    for (int32_t k = 0; k < t->view.c; ++k)
      *pz_test_at(t, n, c + k, d, h, w) *= (float)kept * (k < PZ_S ? first : 1);
  }
}

/* Every other number leaves a short block where the vector has 16 lanes. */
static int32_t random_maps(pz_test_random *r) {
  return pz_test_int(r, 0, 1) ? pz_test_int(r, 1, 40) : pz_test_int(r, 0, 2) * 16 + pz_test_int(r, 1, 4);
}

static layer random_layer(pz_test_random *r) {
  static const int32_t kernels[][3] = {{3, 3, 3}, {3, 3, 3}, {1, 3, 3}, {3, 3, 1},
                                       {3, 1, 3}, {1, 5, 5}, {5, 5, 1}, {3, 5, 3}};
  static const int32_t outputs[4] = {1, 2, 4, 6};
  static const int32_t acts[5] = {PZ_K_ACT_NONE, PZ_K_ACT_ELU, PZ_K_ACT_SIGMOID, PZ_K_ACT_PRELU,
                                  PZ_K_ACT_HARD_SIGMOID};
  layer l = {.in_place = pz_test_int(r, 0, 1), .by_position = pz_test_int(r, 0, 2) == 0};
  pz_conv_direct_shape *c = &l.s.conv;
  const int32_t *kernel = kernels[pz_test_int(r, 0, 7)], maps_in = random_maps(r), maps_out = random_maps(r);
  const int32_t size[4] = {pz_test_int(r, 1, 2), pz_test_int(r, 5, 11), pz_test_int(r, 5, 11),
                           pz_test_int(r, 5, 15)};
  *c = (pz_conv_direct_shape){.groups = 1,
                              .phases = 1,
                              .act = acts[pz_test_int(r, 0, 4)],
                              .alpha = 0.7f,
                              .beta = 0.3f,
                              .has_bias = pz_test_int(r, 0, 1),
                              .stream = pz_test_int(r, 0, 1)};
  int32_t out[4] = {size[0]};
  for (int i = 0; i < 3; ++i) {
    c->kernel[i] = kernel[i], c->stride[i] = c->dilation[i] = 1;
    c->pad[i] = pz_test_int(r, 0, kernel[i] / 2);
    l.s.m[i] = kernel[i] == 1 ? 1 : outputs[pz_test_int(r, 0, 3)];
    out[i + 1] = size[i + 1] + 2 * c->pad[i] - kernel[i] + 1;
  }
  l.o.in = pz_test_bordered(r, PZ_S, maps_in, size, c->pad, pz_test_int(r, 0, 2) == 0);
  static const float first[3] = {1, 0, 1e-4f};
  if (pz_test_int(r, 0, 3) == 0) thin_out(&l.o.in, first[pz_test_int(r, 0, 2)], r);
  l.plain = maps_out <= (PZ_S == 4 ? 3 : 4) && pz_test_int(r, 0, 1);
  l.o.out = l.plain ? pz_test_tensor_random(r, 1, out[0], maps_out, out[1], out[2], out[3])
                    : pz_test_tensor_tight(r, PZ_S, out[0], maps_out, out[1], out[2], out[3]);
  c->in = l.o.in.view, c->out = l.o.out.view;
  c->stream &= !c->out.tight;
  if (!l.plain && pz_test_int(r, 0, 1)) {
    l.o.base = l.in_place ? l.o.out : pz_test_tensor_tight(r, PZ_S, out[0], maps_out, out[1], out[2], out[3]);
    c->base = l.o.base.view, c->has_base_scale = pz_test_int(r, 0, 1);
  }
  l.o.weights = pz_test_floats(r, (int64_t)maps_in * maps_out * 45);
  l.o.bias = pz_test_floats(r, maps_out), l.o.scale = pz_test_floats(r, maps_out),
  l.o.slope = pz_test_floats(r, maps_out);
  return l;
}

static void pack_layer(layer *l, pz_test_random *r) {
  const pz_conv_machine machine = {.registers = PZ_V_REGISTERS, .l1 = 32768, .l2 = 524288};
  const int32_t maps_out = l->s.conv.out.c;
  l->by_position = l->by_position && !l->plain;
  l->s.late = l->by_position ? 2 - pz_test_int(r, 0, 3) / 2 : pz_test_int(r, 0, 1);
  l->s.fours = l->plain || (!l->by_position && pz_test_int(r, 0, 2));
  l->s.pairs = pz_test_int(r, 0, 3) > 0, l->s.held = pz_test_int(r, 0, 1);
  l->s.sliced = !l->by_position && !l->s.late && pz_test_int(r, 0, 1);
  pz_winograd_schedule(&l->s, &machine,
                       l->by_position ? (int32_t)pz_winograd_all_tiles(&l->s) : pz_test_int(r, 1, 24));
  l->s.far = pz_test_int(r, 0, 1);
  l->s.near = pz_test_int(r, 0, 1);
  l->s.ahead = !l->by_position && pz_test_int(r, 0, 1);
  l->s.apart = pz_test_int(r, 0, 1);
  if (!l->by_position && !l->s.fours && !l->s.conv.out.tight && pz_test_int(r, 0, 1))
    l->s.conv.gathers = 1, l->s.conv.gathers = pz_winograd_batches(&l->s);
  for (int32_t k = 0; k < maps_out && l->s.conv.gathers; ++k) l->o.bias[k] += 1e3f; /* means far from zero */
  l->statistics = pz_test_alloc(pz_norm_floats(&l->s.conv.out, l->s.conv.gathers), false);
  l->packed = pz_test_alloc(pz_winograd_weight_floats(&l->s), false);
  memset(l->packed.data, 0, (size_t)pz_winograd_weight_floats(&l->s) * sizeof(float));
  pz_winograd_pack(&l->s, l->o.weights, l->packed.data);
  l->taken = pz_test_alloc(pz_winograd_taken_floats(&l->s), false);
  memset(l->taken.data, 0, (size_t)pz_winograd_taken_floats(&l->s) * sizeof(float));
  pz_winograd_pack_taken(&l->s, l->o.weights, l->taken.data);
  pz_test_conv_pack(&l->o);
  l->scratch = pz_test_alloc(l->by_position ? pz_winograd_slots(&l->s) : pz_winograd_scratch(&l->s), false);
  l->products = pz_test_alloc(pz_winograd_slots(&l->s), false);
  l->fresh = pz_test_alloc(pz_winograd_position_floats(&l->s), false);
  l->scales = pz_test_alloc(pz_winograd_scale_floats(&l->s), false);
}

/* Windows of the result, along the axes that they leave nothing over of. */
static void pool_layer(layer *l, pz_test_random *r) {
  const pz_view *out = &l->s.conv.out;
  const int32_t size[3] = {out->d, out->h, out->w};
  int32_t pooled[3];
  if (l->by_position || l->plain || pz_test_int(r, 0, 2) == 0) return;
  for (int i = 0; i < 3; ++i) {
    l->s.window[i] = l->s.m[i] % 2 || size[i] % 2 ? 1 : pz_test_int(r, 1, 2);
    pooled[i] = size[i] / l->s.window[i];
  }
  l->s.conv.stream = 0;
  l->pooled = pz_test_tensor_tight(r, PZ_S, out->n, out->c, pooled[0], pooled[1], pooled[2]);
  l->s.pooled = l->pooled.view;
}

/* What is pooled is the largest of each window of what came out, and nothing else is written. */
static bool is_pooled(const layer *l) {
  const int32_t *k = l->s.window;
  int32_t different = 0;
  PZ_TEST_EACH(l->pooled.view, 0, l->pooled.view.c) {
    float most = -INFINITY;
    for (int32_t i = 0; i < k[0] * k[1] * k[2]; ++i)
      most = fmaxf(most, *pz_test_at(&l->o.out, n, c, d * k[0] + i / (k[1] * k[2]),
                                     h * k[1] + i / k[2] % k[1], w * k[2] + i % k[2]));
    different += *pz_test_at(&l->pooled, n, c, d, h, w) != most;
  }
  return different == 0 && pz_test_untouched(&l->pooled, false);
}

static void free_layer(layer *l) {
  if (l->s.pooled.c) pz_test_tensor_free(&l->pooled);
  pz_test_conv_free(&l->o, l->s.conv.base.c && !l->in_place);
  pz_test_free(&l->packed), pz_test_free(&l->taken), pz_test_free(&l->scratch), pz_test_free(&l->products);
  pz_test_free(&l->statistics), pz_test_free(&l->fresh), pz_test_free(&l->scales);
}

static const pz_winograd_shape *banded; /* of the layer that runs */
static void bands(int64_t first, int32_t count, const float *weights, const float *taken,
                  pz_winograd_ahead ahead, float *scratch) {
  pz_winograd_multiply_bands(banded, pz_winograd_sizes_of(banded), first, count, weights, taken, ahead,
                             scratch);
}

/* Worker `worker` of pz_winograd; or, with the last worker, all of them one stage after the other. */
static void run_layer(const layer *l, int32_t worker, int32_t workers) {
  const float *base = l->s.conv.base.c ? l->o.base.at : NULL;
  if (!l->by_position) {
    banded = &l->s;
    pz_winograd(l->s, bands, l->o.in.at, l->packed.data, l->taken.data, l->o.packed_bias.data, base,
                l->o.packed_scale.data, l->o.packed_slope.data, l->o.out.at, l->pooled.at,
                l->s.conv.gathers ? l->statistics.data : NULL, l->scratch.data, worker, workers);
    return;
  }
  if (worker + 1 < workers) return;
  for (int32_t i = 0; i < workers && l->s.pairs; ++i)
    pz_winograd_scales(l->s, l->o.in.at, l->taken.data, l->scales.data, i, workers);
  for (int32_t i = 0; i < workers; ++i)
    pz_winograd_inputs(l->s, l->o.in.at, l->scales.data, l->scratch.data, i, workers);
  for (int32_t i = workers - 1; i >= 0; --i)
    pz_winograd_positions(l->s, l->scratch.data, l->packed.data, l->taken.data, l->products.data,
                          l->fresh.data, i, workers);
  for (int32_t i = 0; i < workers; ++i)
    pz_winograd_outputs(l->s, l->products.data, l->scales.data, l->o.packed_bias.data, base,
                        l->o.packed_scale.data, l->o.packed_slope.data, l->o.out.at, i, workers);
}

static void test_random_layers(void **state) {
  (void)state;
  pz_test_random r = {.state = 4711};
  for (int i = 0; i < 120; ++i) {
    layer l = random_layer(&r);
    const bool from_base = l.s.conv.base.c > 0;
    pack_layer(&l, &r);
    pool_layer(&l, &r);
    if (from_base) pz_test_fill(&l.o.base, &r, -1, 1);
    double *want = pz_test_conv_expected(&l.s.conv, &l.o);
    bool same;
    PZ_TEST_WORKERS(same, l.o.out.memory, run_layer(&l, worker, workers));
    assert_true(same);
    if (!pz_test_equal(&l.o.out, want, tolerance(&l.s)))
      fail_msg("F(%d,%d,%d) of %dx%dx%d", l.s.m[0], l.s.m[1], l.s.m[2], l.s.conv.kernel[0],
               l.s.conv.kernel[1], l.s.conv.kernel[2]);
    if (l.s.conv.gathers && !(from_base && l.in_place)) {
      PZ_TEST_WORKERS(same, l.statistics, run_layer(&l, worker, workers));
      assert_true(same);
      assert_true(pz_test_gathered(&l.o.out, l.statistics.data, l.s.conv.gathers, 1));
    }
    if (!(from_base && l.in_place)) assert_true(pz_test_untouched(&l.o.out, false));
    if (l.s.pooled.c) {
      if (!(from_base && l.in_place)) {
        PZ_TEST_WORKERS(same, l.pooled.memory, run_layer(&l, worker, workers));
        assert_true(same);
      }
      assert_true(is_pooled(&l));
    }
    free(want);
    free_layer(&l);
  }
}

/* With pairs or without: inputs that are 2^20 times larger or smaller give results that are, to the bit. */
static void test_any_size(void **state) {
  (void)state;
  pz_test_random r = {.state = 815};
  for (int i = 0; i < 24; ++i) {
    layer l = random_layer(&r);
    pz_conv_direct_shape *c = &l.s.conv;
    if (c->base.c && !l.in_place) pz_test_tensor_free(&l.o.base);
    c->act = PZ_K_ACT_NONE, c->has_bias = c->has_base_scale = 0, c->base.c = 0;
    pack_layer(&l, &r);
    float *first = NULL;
    for (int k = 0; k < 3; ++k) {
      const float factor = k == 0 ? 1 : k == 1 ? 0x1p20f : 0x1p-40f;
      for (int64_t j = 0; j < l.o.in.memory.floats; ++j)
        if (isfinite(l.o.in.memory.data[j])) l.o.in.memory.data[j] *= factor;
      run_layer(&l, 0, 1);
      if (!first) first = pz_test_snapshot(&l.o.out.memory);
      int32_t different = 0;
      const float undo = k == 0 ? 1 : k == 1 ? 0x1p-20f : 0x1p20f;
      PZ_TEST_EACH(l.o.out.view, 0, l.o.out.view.c) {
        const float *at = pz_test_at(&l.o.out, n, c, d, h, w);
        different += *at * undo != first[at - l.o.out.memory.data];
      }
      assert_int_equal(different, 0);
    }
    free(first);
    free_layer(&l);
  }
}

/* Where inputs of pairs wait says nothing about bits. */
static void test_held(void **state) {
  (void)state;
  pz_test_random r = {.state = 26};
  for (int i = 0; i < 24; ++i) {
    layer l = random_layer(&r);
    if (l.s.conv.base.c && !l.in_place) pz_test_tensor_free(&l.o.base);
    l.s.conv.base.c = 0;
    pack_layer(&l, &r);
    run_layer(&l, 0, 1);
    float *first = pz_test_snapshot(&l.o.out.memory);
    l.s.held = !l.s.held;
    run_layer(&l, 0, 1);
    assert_memory_equal(l.o.out.memory.data, first, (size_t)l.o.out.memory.floats * sizeof *first);
    free(first);
    free_layer(&l);
  }
}

/* A^T, G and B^T multiply out to the convolution, exactly: sum over i of A^T[o][i] G[i][k] B^T[i][j] is 1 where j = o + k. */
static void test_factors(void **state) {
  (void)state;
  for (int32_t m = 1; m <= 6; m += m == 1 ? 1 : 2)
    for (int32_t r = 1; r <= 5; r += 2) {
      if (m == 6 && r == 1) continue;
      for (int32_t o = 0; o < m; ++o)
        for (int32_t k = 0; k < r; ++k)
          for (int32_t j = 0; j < m + r - 1; ++j) {
            pz_rational sum = {0, 1}, a[PZ_WINOGRAD_MOST_A], g[PZ_WINOGRAD_MOST_R], b[PZ_WINOGRAD_MOST_A];
            pz_winograd_output_row(m, r, o, a);
            for (int32_t i = 0; i < m + r - 1; ++i) {
              pz_winograd_weight_row(m, r, i, g);
              pz_winograd_input_row(m, r, i, b);
              sum = pz_rational_add(sum, pz_rational_mul(a[i], pz_rational_mul(g[k], b[j])));
            }
            assert_true(sum.num == (j == o + k) && sum.den == 1);
          }
    }
}

/* B^T of one axis does what its matrix says: column j, by values that lie two vectors apart. */
static void check_forward(int32_t m, int32_t r, int32_t j, int keep, int apart) {
  const int32_t a = m + r - 1;
  pz_v x[2 * PZ_WINOGRAD_MOST_A], k[PZ_WINOGRAD_CONSTANTS];
  pz_rational row[PZ_WINOGRAD_MOST_A];
  pz_winograd_forward_constants(keep, m, r, k);
  for (int32_t i = 0; i < a; ++i) x[2 * i] = pz_v_set1(i == j);
  pz_winograd_forward(apart, m, r, k, x, 2);
  for (int32_t i = 0; i < a; ++i) {
    pz_winograd_input_row(m, r, i, row);
    assert_true((double)x[2 * i][0] == pz_rational_value(row[j]));
  }
}

/* The code of transforms.h does what the matrices say. */
static void test_transforms(void **state) {
  (void)state;
  for (int32_t m = 1; m <= 6; m += m == 1 ? 1 : 2)
    for (int32_t r = 3; r <= 5; r += 2) {
      const int32_t a = m + r - 1;
      for (int32_t j = 0; j < a; ++j) {
        pz_v x[2 * PZ_WINOGRAD_MOST_A];
        pz_rational row[PZ_WINOGRAD_MOST_A];
        for (int how = 0; how < 4; ++how) check_forward(m, r, j, how & 1, how >> 1);
        for (int32_t i = 0; i < a; ++i) x[2 * i] = pz_v_set1(i == j);
        pz_winograd_back(m, r, x, 2);
        for (int32_t o = 0; o < m; ++o) {
          pz_winograd_output_row(m, r, o, row);
          assert_true((double)x[2 * o][0] == pz_rational_value(row[j]));
        }
      }
    }
}

/* And G's rows but the first and the last, in floats, of weights whose first has the first row's factor already. */
static void test_spread(void **state) {
  (void)state;
  for (int32_t m = 2; m <= 6; m += 2)
    for (int32_t r = 3; r <= 5; r += 2)
      for (int32_t k = 0; k < r; ++k) {
        pz_v g[PZ_WINOGRAD_MOST_R], x[PZ_WINOGRAD_MOST_A];
        pz_rational row[PZ_WINOGRAD_MOST_R];
        pz_winograd_weight_row(m, r, 0, row);
        for (int32_t i = 0; i < r; ++i)
          g[i] = pz_v_set1(i != k ? 0 : k ? 1 : (float)pz_rational_value(row[0]));
        pz_winograd_spread(m, r, g, x);
        for (int32_t i = 1; i < m + r - 2; ++i) {
          pz_winograd_weight_row(m, r, i, row);
          const double want = pz_rational_value(row[k]);
          assert_true(fabs((double)x[i][0] - want) <= 1.3e-7 * fabs(want));
        }
      }
}

/* Of F(m,m,m) with `maps` maps on 64^3, in batches of `tiles`. */
static pz_winograd_shape scheduled(int32_t m, int32_t maps, int32_t tiles, int64_t l2) {
  pz_winograd_shape s = {.m = {m, m, m}};
  s.conv.in = (pz_view){.n = 1, .c = maps, .d = 66, .h = 66, .w = 66, .block = PZ_S};
  s.conv.out = (pz_view){.n = 1, .c = maps, .d = 64, .h = 64, .w = 64, .block = PZ_S};
  for (int i = 0; i < 3; ++i) s.conv.kernel[i] = 3;
  pz_winograd_schedule(&s, &(pz_conv_machine){.registers = PZ_V_REGISTERS, .l1 = 48 << 10, .l2 = l2}, tiles);
  return s;
}

static int32_t far_of(int32_t m, int32_t maps, int32_t tiles, int64_t l2) {
  return scheduled(m, maps, tiles, l2).far;
}

/* Weights of 864 KiB beside slots of 350 KB; few weights; all tiles at once. */
static void test_far(void **state) {
  (void)state;
  assert_int_equal(far_of(4, 32, 12, 2 << 20), 0);
  assert_int_equal(far_of(4, 32, 12, 1 << 20), 1);
  assert_int_equal(far_of(4, 32, 48, 2 << 20), 1);
  assert_int_equal(far_of(2, 16, 12, 64 << 10), 0);
  assert_int_equal(far_of(4, 32, 4096, (int64_t)1 << 40), 1);
}

/* Slots of 350 KB and of 700; slices and rows of 43,008 bytes, of level 1's 49,152. */
static void test_near(void **state) {
  (void)state;
  assert_int_equal(scheduled(4, 32, 12, 512 << 10).near, 1);
  assert_int_equal(scheduled(4, 32, 24, 512 << 10).near, 0);
  pz_winograd_shape s = scheduled(4, 32, 12, 512 << 10);
  s.m[0] = 6;
  pz_winograd_schedule(&s, &(pz_conv_machine){.registers = PZ_V_REGISTERS, .l1 = 48 << 10, .l2 = 1 << 20},
                       12);
  assert_int_equal(s.near, PZ_S < 16);
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_factors),  cmocka_unit_test(test_transforms),
                                     cmocka_unit_test(test_spread),   cmocka_unit_test(test_far),
                                     cmocka_unit_test(test_near),     cmocka_unit_test(test_random_layers),
                                     cmocka_unit_test(test_any_size), cmocka_unit_test(test_held)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
