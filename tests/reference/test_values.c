/* Functions of one value, broadcasting, and operators with statistics: group_norm, reduce, argmax, resize, ... */
#include "fixture.h"

/* ---- functions of one value ---- */

enum { N_X = 5 };
static const float at[N_X] = {-4, -0.5f, 0, 0.5f, 3};

static const struct {
  pz_activation act;
  double y[N_X];
} functions[] = {
    {{PZ_ACT_SELU, 2, 3}, {6 * (0.0183156389 - 1), 6 * (0.6065306597 - 1), 0, 1.5, 9}},
    {{PZ_ACT_HARD_SIGMOID, 0.5f, 0.5f}, {0, 0.25, 0.5, 0.75, 1}},
    {{PZ_ACT_HARD_SWISH, 0, 0}, {0, -0.5 * 2.5 / 6, 0, 0.5 * 3.5 / 6, 3}},
    {{PZ_ACT_SILU, 0, 0}, {-4 * 0.0179862100, -0.5 * 0.3775406688, 0, 0.5 * 0.6224593312, 3 * 0.9525741268}},
    {{PZ_ACT_MISH, 0, 0}, {-0.0725917408, -0.2207437747, 0, 0.3752452113, 2.9865350050}},
    {{PZ_ACT_SOFTPLUS, 0, 0}, {0.0181499279, 0.4740769842, 0.6931471806, 0.9740769842, 3.0485873516}},
    {{PZ_ACT_GELU, 0, 0}, {-4 * 3.1671242e-5, -0.5 * 0.3085375387, 0, 0.5 * 0.6914624613, 3 * 0.9986501020}},
    {{PZ_ACT_GELU_TANH, 0, 0}, {-0.000070245948, -0.154285990175, 0, 0.345714009825, 2.996362607918}},
    {{PZ_ACT_CLIP, -1, 2}, {-1, -0.5, 0, 0.5, 2}},
    {{PZ_ACT_CLIP, -INFINITY, 0.25f}, {-4, -0.5, 0, 0.25, 0.25}},
    {{PZ_ACT_ABS, 0, 0}, {4, 0.5, 0, 0.5, 3}},
    {{PZ_ACT_EXP, 0, 0}, {0.0183156389, 0.6065306597, 1, 1.6487212707, 20.0855369232}},
    {{PZ_ACT_LOG, 0, 0}, {NAN, NAN, -INFINITY, -0.6931471806, 1.0986122887}},
    {{PZ_ACT_SQRT, 0, 0}, {NAN, NAN, 0, 0.7071067812, 1.7320508076}},
    {{PZ_ACT_ERF, 0, 0}, {-0.9999999846, -0.5204998778, 0, 0.5204998778, 0.9999779095}},
    {{PZ_ACT_ROUND, 0, 0}, {-4, 0, 0, 0, 3}},
    {{PZ_ACT_FLOOR, 0, 0}, {-4, -1, 0, 0, 3}},
    {{PZ_ACT_CEIL, 0, 0}, {-4, 0, 0, 1, 3}},
    {{PZ_ACT_SIGN, 0, 0}, {-1, -1, 0, 1, 1}},
    {{PZ_ACT_RECIPROCAL, 0, 0}, {-0.25, -2, INFINITY, 2, 1. / 3}},
    {{PZ_ACT_THRESHOLDED_RELU, 0.5f, 0}, {0, 0, 0, 0, 3}},
    {{PZ_ACT_THRESHOLDED_RELU, -0.75f, 0}, {0, -0.5, 0, 0.5, 3}},
    {{PZ_ACT_SOFTSIGN, 0, 0}, {-0.8, -1. / 3, 0, 1. / 3, 0.75}},
};

static bool near(double y, double expected) {
  if (isnan(expected)) return isnan(y);
  return y == expected || fabs(y - expected) <= 2e-9 * (1 + fabs(expected));
}

/* Each row of the table that test_operators.c has not. */
static void functions_of_one_value(void **state) {
  (void)state;
  bool seen[PZ_ACT_COUNT] = {false};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    fixture f;
    fixture_begin(&f, PZ_OP_ACTIVATION);
    fixture_input(&f, 0, SHAPE(N_X), at);
    f.node.attr.activation.act = functions[i].act;
    fixture_run(&f, 1);
    for (int k = 0; k < N_X; k++)
      if (!near(f.outputs[0][k], functions[i].y[k]))
        fail_msg("%s of %g is %.12g, expected %.12g", pz_activation_name(functions[i].act.kind),
                 (double)at[k], f.outputs[0][k], functions[i].y[k]);
    seen[functions[i].act.kind] = true;
    fixture_end(&f);
  }
  for (int32_t kind = PZ_ACT_SELU; kind < PZ_ACT_COUNT; kind++) assert_true(seen[kind]);
}

static void nan_stays(void **state) {
  (void)state;
  for (int32_t kind = PZ_ACT_NONE; kind < PZ_ACT_COUNT; kind++) {
    fixture f;
    fixture_begin(&f, PZ_OP_ACTIVATION);
    fixture_input(&f, 0, SHAPE(1), FLOATS(NAN));
    if (pz_activation_uses_slope((pz_activation_kind)kind)) fixture_constant(&f, 1, SHAPE(1), FLOATS(2));
    f.node.attr.activation.act.kind = (pz_activation_kind)kind;
    fixture_run(&f, 1);
    assert_true(isnan(f.outputs[0][0]));
    fixture_end(&f);
  }
}

/* ---- eltwise ---- */

static void broadcast_case(pz_eltwise_kind kind, const float *coeff, pz_shape b, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_ELTWISE);
  fixture_input(&f, 0, SHAPE(2, 1, 3), FLOATS(1, 2, 3, 4, 5, 6));
  fixture_constant(&f, 1, b, FLOATS(2, 0, 3, 1, -1, 5));
  f.node.attr.eltwise = (pz_attr_eltwise){kind, coeff};
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 2, 3), expected);
  fixture_end(&f);
}

static void broadcasts(void **state) {
  (void)state;
  broadcast_case(PZ_ELT_SUM, FLOATS(1, -1), SHAPE(1, 2, 1), DOUBLES(-1, 0, 1, 1, 2, 3, 2, 3, 4, 4, 5, 6));
  broadcast_case(PZ_ELT_MIN, NULL, SHAPE(1, 2, 3), DOUBLES(1, 0, 3, 1, -1, 3, 2, 0, 3, 1, -1, 5));
  broadcast_case(PZ_ELT_PROD, NULL, SHAPE(1, 2, 1), DOUBLES(2, 4, 6, 0, 0, 0, 8, 10, 12, 0, 0, 0));
  broadcast_case(PZ_ELT_POW, NULL, SHAPE(1, 2, 1), DOUBLES(1, 4, 9, 1, 1, 1, 16, 25, 36, 1, 1, 1));
}

/* ---- normalisation ---- */

static void group_norm_case(int groups, bool affine, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_GROUP_NORM);
  fixture_input(&f, 0, SHAPE(2, 2, 2), FLOATS(1, 3, 5, 7, 0, 2, 100, 104));
  if (affine) fixture_constant(&f, PZ_GROUP_NORM_GAMMA, SHAPE(2), FLOATS(2, 10));
  if (affine) fixture_constant(&f, PZ_GROUP_NORM_BETA, SHAPE(2), FLOATS(0, 1));
  if (affine) fixture_constant(&f, PZ_GROUP_NORM_SLOPE, SHAPE(2), FLOATS(0.5f, 3));
  f.node.attr.group_norm.groups = groups;
  f.node.attr.group_norm.eps = 3;
  if (affine) f.node.attr.group_norm.act.kind = PZ_ACT_PRELU;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 2, 2), expected);
  fixture_end(&f);
}

static void group_norm(void **state) {
  (void)state; /* variances 1, 1, 1, 4; of the groups of both channels 5 and 2552.75 */
  const double s7 = sqrt(7), s8 = sqrt(8), t = sqrt(2555.75);
  group_norm_case(2, false, DOUBLES(-0.5, 0.5, -0.5, 0.5, -0.5, 0.5, -2 / s7, 2 / s7));
  group_norm_case(2, true, DOUBLES(-0.5, 1, -12, 6, -0.5, 1, 3 * (1 - 20 / s7), 1 + 20 / s7));
  group_norm_case(1, false,
                  DOUBLES(-3 / s8, -1 / s8, 1 / s8, 3 / s8, -51.5 / t, -49.5 / t, 48.5 / t, 52.5 / t));
}

static void channel_norm(void **state) {
  (void)state; /* positions (1, 5), (3, 7), (0, 100), (2, 104): variances 4, 4, 2500, 2601 */
  const double s7 = sqrt(7), a = 50 / sqrt(2503), b = 51 / sqrt(2604);
  fixture f;
  fixture_begin(&f, PZ_OP_CHANNEL_NORM);
  fixture_input(&f, 0, SHAPE(2, 2, 2), FLOATS(1, 3, 5, 7, 0, 2, 100, 104));
  fixture_constant(&f, PZ_GROUP_NORM_GAMMA, SHAPE(2), FLOATS(2, 10));
  fixture_constant(&f, PZ_GROUP_NORM_BETA, SHAPE(2), FLOATS(0, 1));
  fixture_constant(&f, PZ_GROUP_NORM_SLOPE, SHAPE(2), FLOATS(0.5f, 3));
  f.node.attr.channel_norm = (pz_attr_channel_norm){3, {PZ_ACT_PRELU, 0, 0}};
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 2, 2),
                 DOUBLES(-2 / s7, -2 / s7, 1 + 20 / s7, 1 + 20 / s7, -a, -b, 1 + 10 * a, 1 + 10 * b));
  fixture_end(&f);
}

static void log_softmax(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_SOFTMAX);
  fixture_input(&f, 0, SHAPE(2, 2), FLOATS(0, 0, -2000, 0));
  f.node.attr.softmax.log = true;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 2), DOUBLES(-0.6931471806, -0.6931471806, -2000, 0));
  fixture_end(&f);
}

/* ---- reductions ---- */

static void reduce_case(pz_reduce_kind kind, bool middle, pz_shape y, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_REDUCE);
  fixture_input(&f, 0, SHAPE(2, 2, 2), FLOATS(1, 2, 3, -4, 5, 6, 7, 8));
  f.node.attr.reduce.kind = kind;
  f.node.attr.reduce.axis[1] = middle;
  f.node.attr.reduce.axis[0] = f.node.attr.reduce.axis[2] = !middle;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, y, expected);
  fixture_end(&f);
}

static void reductions(void **state) {
  (void)state;
  reduce_case(PZ_REDUCE_MEAN, true, SHAPE(2, 1, 2), DOUBLES(2, -1, 6, 7));
  reduce_case(PZ_REDUCE_SUM, true, SHAPE(2, 1, 2), DOUBLES(4, -2, 12, 14));
  reduce_case(PZ_REDUCE_MAX, false, SHAPE(1, 2, 1), DOUBLES(6, 8));
  reduce_case(PZ_REDUCE_MIN, false, SHAPE(1, 2, 1), DOUBLES(1, -4));
  reduce_case(PZ_REDUCE_MEAN, false, SHAPE(1, 2, 1), DOUBLES(3.5, 3.5));
}

static void argmax_case(bool last, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_ARGMAX);
  fixture_input(&f, 0, SHAPE(2, 3, 2), FLOATS(1, 9, 7, NAN, 7, NAN, -1, -5, -2, -INFINITY, -1, -6));
  f.node.attr.argmax.last = last;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 1, 2), expected);
  fixture_end(&f);
}

static void argmax(void **state) {
  (void)state;
  argmax_case(false, DOUBLES(1, 1, 0, 0));
  argmax_case(true, DOUBLES(2, 2, 2, 0));
}

/* ---- resize ---- */

/* A row of 4 values to `size`; the expected ones by the formulas of graph.h. */
static const struct {
  pz_attr_resize a;
  int32_t size;
  double y[8];
} resizes[] = {
    {{.kind = PZ_RESIZE_LINEAR},
     8,
     {1, 1.5, 2.5, 3.5, 4.5, 7.5, 12.5, 15}}, /* 0.25 and 0.75 between, clamped */
    {{.kind = PZ_RESIZE_LINEAR}, 2, {2, 10}},
    {{.kind = PZ_RESIZE_LINEAR, .coordinate = PZ_COORDINATE_ALIGN_CORNERS}, 7, {1, 2, 3, 4, 5, 10, 15}},
    {{.kind = PZ_RESIZE_LINEAR, .coordinate = PZ_COORDINATE_ALIGN_CORNERS}, 1, {1}},
    {{.kind = PZ_RESIZE_LINEAR, .coordinate = PZ_COORDINATE_ASYMMETRIC}, 8, {1, 2, 3, 4, 5, 10, 15, 15}},
    {{.kind = PZ_RESIZE_LINEAR, .coordinate = PZ_COORDINATE_HALF_PIXEL}, 1, {4}},
    {{.kind = PZ_RESIZE_LINEAR, .coordinate = PZ_COORDINATE_PYTORCH_HALF_PIXEL}, 1, {1}},
    {{.kind = PZ_RESIZE_LINEAR, .coordinate = PZ_COORDINATE_ASYMMETRIC, .scale = {0, 0, 0.8f}},
     3,
     {1, 3.5, 10}}, /* at 0, 1.25, 2.5 */
    {{.kind = PZ_RESIZE_NEAREST, .coordinate = PZ_COORDINATE_ASYMMETRIC, .rounding = PZ_ROUND_FLOOR},
     8,
     {1, 1, 3, 3, 5, 5, 15, 15}},
    {{.kind = PZ_RESIZE_NEAREST, .coordinate = PZ_COORDINATE_ASYMMETRIC, .rounding = PZ_ROUND_CEIL},
     8,
     {1, 3, 3, 5, 5, 15, 15, 15}},
    {{.kind = PZ_RESIZE_NEAREST, .rounding = PZ_ROUND_PREFER_FLOOR}, 2, {1, 5}},
    {{.kind = PZ_RESIZE_NEAREST, .rounding = PZ_ROUND_PREFER_CEIL}, 2, {3, 15}},
    {{.kind = PZ_RESIZE_NEAREST, .rounding = PZ_ROUND_PREFER_CEIL}, 8, {1, 1, 3, 3, 5, 5, 15, 15}},
};

static void resize_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof resizes / sizeof *resizes; i++) {
    fixture f;
    fixture_begin(&f, PZ_OP_RESIZE);
    fixture_input(&f, 0, SHAPE(1, 1, 4), FLOATS(1, 3, 5, 15));
    f.node.attr.resize = resizes[i].a;
    for (int k = 0; k < PZ_SPATIAL; k++) f.node.attr.resize.size[k] = k == 2 ? resizes[i].size : 1;
    fixture_run(&f, 1);
    fixture_expect(&f, 0, SHAPE(1, 1, resizes[i].size), resizes[i].y);
    fixture_end(&f);
  }
}

static void resize_of_planes(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_RESIZE);
  fixture_input(&f, 0, SHAPE(1, 2, 2, 1, 2), FLOATS(0, 2, 4, 6, 0, 20, 40, 60));
  f.node.attr.resize = (pz_attr_resize){
      .kind = PZ_RESIZE_LINEAR, .coordinate = PZ_COORDINATE_ALIGN_CORNERS, .size = {3, 2, 3}};
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 2, 3, 2, 3),
                 DOUBLES(0, 1, 2, 0, 1, 2, 2, 3, 4, 2, 3, 4, 4, 5, 6, 4, 5, 6, /* second channel: */
                         0, 10, 20, 0, 10, 20, 20, 30, 40, 20, 30, 40, 40, 50, 60, 40, 50, 60));
  fixture_end(&f);
}

/* ---- pool ---- */

/* Positions -2, 0, 2 and 0, 2, 4 of four values; 4 is outside of the input, and of the padding where that is 0. */
static void pool_case(pz_pool_divisor divisor, int32_t pad_hi, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_POOL);
  fixture_input(&f, 0, SHAPE(1, 1, 4), FLOATS(3, 100, 6, 100));
  pz_attr_pool *a = &f.node.attr.pool;
  a->kind = PZ_POOL_AVE, a->divisor = divisor, a->ceil = true;
  a->kernel[2] = 3, a->dilation[2] = 2, a->stride[2] = 2, a->pad_lo[2] = 2, a->pad_hi[2] = pad_hi;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 1, 2), expected);
  fixture_end(&f);
}

static void pool_dilation(void **state) {
  (void)state;
  pool_case(PZ_DIVISOR_CAFFE, 0, DOUBLES(3, 4.5));
  pool_case(PZ_DIVISOR_CAFFE, 1, DOUBLES(3, 3));
  pool_case(PZ_DIVISOR_VALID, 1, DOUBLES(4.5, 4.5));
  pool_case(PZ_DIVISOR_KERNEL, 0, DOUBLES(3, 3));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_of_one_value),
      cmocka_unit_test(nan_stays),
      cmocka_unit_test(broadcasts),
      cmocka_unit_test(group_norm),
      cmocka_unit_test(channel_norm),
      cmocka_unit_test(log_softmax),
      cmocka_unit_test(reductions),
      cmocka_unit_test(argmax),
      cmocka_unit_test(resize_rows),
      cmocka_unit_test(resize_of_planes),
      cmocka_unit_test(pool_dilation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
