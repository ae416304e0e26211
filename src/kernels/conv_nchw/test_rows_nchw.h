/* test_rows_nchw.h: rows of conv/test_layers.c: the direct convolution in NCHW. */
#ifndef PZ_KERNELS_CONV_NCHW_TEST_ROWS_NCHW_H
#define PZ_KERNELS_CONV_NCHW_TEST_ROWS_NCHW_H

#include "kernels/conv_nchw/nchw.h"
#include "kernels/conv_nchw/pack.h"
#include "kernels/winograd/test_rows_winograd.h"

/* Sums of up to 9*45 products of values in [-1, 1], in single precision. */
static double nchw_tolerance(const test_layer *l) {
  (void)l;
  return 1e-5;
}
/* Strides, dilations and padding of any size; inputs have no border. */
static void nchw_choose(test_layer *l, pz_test_random *r) {
  static const int32_t none[3] = {0, 0, 0};
  pz_conv_direct_shape *s = &l->whole;
  const int32_t size[4] = {pz_test_int(r, 1, 2), pz_test_int(r, 1, 3), pz_test_int(r, 1, 7),
                           pz_test_int(r, 1, 70)};
  int32_t out[4] = {size[0]};
  test_ends(s, r);
  s->stream = 0;
  for (int i = 0; i < 3; ++i) {
    s->kernel[i] = pz_test_int(r, 1, i ? 5 : 3), s->dilation[i] = pz_test_int(r, 1, 3);
    s->stride[i] = pz_test_int(r, 1, 3);
    const int32_t reach = (s->kernel[i] - 1) * s->dilation[i];
    s->pad[i] = pz_test_int(r, 0, reach + 1);
    const int32_t free = size[i + 1] + s->pad[i] + pz_test_int(r, 0, reach + 1) - reach - 1;
    out[i + 1] = free < 0 ? 1 : free / s->stride[i] + 1;
  }
  l->o.in = pz_test_bordered(r, 1, pz_test_int(r, 1, 9), size, none, false);
  test_operands(l, pz_test_int(r, 1, 20), out, TEST_PLAIN_OUT, r);
  if (pz_test_int(r, 0, 1)) return;
  l->o.residual =
      l->in_place ? l->o.out : pz_test_tensor_random(r, 1, out[0], s->out.c, out[1], out[2], out[3]);
  s->residual = l->o.residual.view, s->has_residual_scale = pz_test_int(r, 0, 1);
  pz_test_fill(&l->o.residual, r, -1, 1);
}
static void nchw_schedule(test_layer *l, pz_test_random *r) {
  static const int32_t level2[] = {1 << 10, 1 << 20};
  const pz_conv_machine machine = {
      .registers = PZ_V_REGISTERS, .l1 = 32 << 10, .l2 = level2[pz_test_int(r, 0, 1)]};
  pz_conv_nchw_shape *s = l->shape;
  s->lanes = PZ_S;
  pz_conv_nchw_schedule(s, &machine);
  l->packed = zeros(pz_conv_nchw_weight_floats(s));
  pz_conv_nchw_pack(s, l->o.weights, l->packed.data);
  l->scratch = pz_test_alloc(pz_conv_nchw_scratch(s), false);
}
static void nchw_run(const test_layer *l, int32_t worker, int32_t workers) {
  pz_conv_nchw(*(const pz_conv_nchw_shape *)l->shape, l->o.in.at, l->packed.data, test_bias(l),
               test_residual(l), test_scale(l), test_slope(l), l->o.out.at, l->scratch.data, worker, workers);
}
static const test_row nchw_row = {.name = "direct in NCHW",
                                  .shape = sizeof(pz_conv_nchw_shape),
                                  .layers = 200,
                                  .seed = 4207,
                                  .choose = nchw_choose,
                                  .schedule = nchw_schedule,
                                  .run = nchw_run,
                                  .tolerance = nchw_tolerance};

#define TEST_NCHW_ROWS &nchw_row

#endif
