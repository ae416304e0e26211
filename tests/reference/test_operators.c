/* test_operators.c: every other operator on cases computed by hand, and identities. */
#include "fixture.h"

/* ---- pool ---- */

static void pool_case(pz_attr_pool a, pz_shape x, const float *data, pz_shape shape, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_POOL);
  fixture_input(&f, 0, x, data);
  for (int i = 0; i < PZ_SPATIAL; i++) {
    if (a.kernel[i] == 0) a.kernel[i] = 1;
    if (a.stride[i] == 0) a.stride[i] = 1;
    if (a.dilation[i] == 0) a.dilation[i] = 1;
  }
  f.node.attr.pool = a;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, shape, expected);
  fixture_end(&f);
}

static void pool_average_divisors(void **state) {
  (void)state;
  pz_attr_pool a = {.kind = PZ_POOL_AVE,
                    .ceil = true,
                    .kernel = {0, 0, 3},
                    .stride = {0, 0, 2},
                    .pad_lo = {0, 0, 1},
                    .pad_hi = {0, 0, 1}};
  const float *ones = FLOATS(1, 1, 1, 1);
  /* windows -1..1, 1..3, 3..5: Caffe's divisor ends at the padding's end, 4 */
  a.divisor = PZ_DIVISOR_CAFFE;
  pool_case(a, SHAPE(1, 1, 4), ones, SHAPE(1, 1, 3), DOUBLES(2. / 3, 1, 1. / 2));
  a.divisor = PZ_DIVISOR_VALID;
  pool_case(a, SHAPE(1, 1, 4), ones, SHAPE(1, 1, 3), DOUBLES(1, 1, 1));
  a.divisor = PZ_DIVISOR_KERNEL;
  pool_case(a, SHAPE(1, 1, 4), ones, SHAPE(1, 1, 3), DOUBLES(2. / 3, 1, 1. / 3));
}

static void pool_rounding(void **state) {
  (void)state;
  pz_attr_pool a = {.kind = PZ_POOL_MAX, .kernel = {0, 0, 2}, .stride = {0, 0, 2}};
  pool_case(a, SHAPE(1, 1, 5), FLOATS(1, 2, 4, 3, 5), SHAPE(1, 1, 2), DOUBLES(2, 4));
  a.ceil = true;
  pool_case(a, SHAPE(1, 1, 5), FLOATS(1, 2, 4, 3, 5), SHAPE(1, 1, 3), DOUBLES(2, 4, 5));
  a.kind = PZ_POOL_AVE;
  pool_case(a, SHAPE(1, 1, 5), FLOATS(1, 2, 4, 3, 5), SHAPE(1, 1, 3), DOUBLES(1.5, 3.5, 5));
}

/* Padding is not a zero that could win. */
static void pool_max_of_negatives(void **state) {
  (void)state;
  pz_attr_pool a = {.kind = PZ_POOL_MAX,
                    .kernel = {0, 2, 2},
                    .stride = {0, 1, 1},
                    .pad_lo = {0, 1, 1},
                    .pad_hi = {0, 1, 1}};
  pool_case(a, SHAPE(1, 1, 2, 2), FLOATS(-1, -2, -3, -4), SHAPE(1, 1, 3, 3),
            DOUBLES(-1, -1, -2, -1, -1, -2, -3, -3, -4));
}

static void pool_3d_maps(void **state) {
  (void)state;
  pz_attr_pool a = {.kind = PZ_POOL_AVE, .kernel = {2, 1, 2}, .stride = {2, 1, 2}};
  pool_case(a, SHAPE(1, 2, 2, 1, 2), FLOATS(1, 2, 3, 4, 10, 20, 30, 40), SHAPE(1, 2, 1, 1, 1),
            DOUBLES(2.5, 25));
}

static void pool_keeps_nan(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_POOL);
  fixture_input(&f, 0, SHAPE(1, 1, 3), FLOATS(1, NAN, 2));
  f.node.attr.pool.kernel[2] = 3;
  fixture_run(&f, 1);
  assert_true(isnan(f.outputs[0][0]));
  fixture_end(&f);
}

/* ---- element by element ---- */

static void batch_norm(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_BATCH_NORM);
  fixture_input(&f, 0, SHAPE(2, 2, 1), FLOATS(1, 2, 3, 4));
  fixture_constant(&f, 1, SHAPE(2), FLOATS(1, 10));
  fixture_constant(&f, 2, SHAPE(2), FLOATS(3, 15));
  f.node.attr.batch_norm.eps = 1;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 2, 1), DOUBLES(0, -2, 1, -1.5));
  fixture_end(&f);
}

static void scale_case(int axis, pz_shape factor, const float *gamma, const float *beta,
                       const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_SCALE);
  fixture_input(&f, 0, SHAPE(2, 3, 2), FLOATS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  if (gamma) fixture_constant(&f, 1, factor, gamma);
  if (beta) fixture_input(&f, 2, factor, beta);
  f.node.attr.scale.axis = axis;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 3, 2), expected);
  fixture_end(&f);
}

static void scale_along_axes(void **state) {
  (void)state;
  scale_case(0, SHAPE(2), FLOATS(1, -1), NULL, DOUBLES(1, 2, 3, 4, 5, 6, -7, -8, -9, -10, -11, -12));
  scale_case(1, SHAPE(3), FLOATS(1, 10, 100), FLOATS(1, 2, 3),
             DOUBLES(2, 3, 32, 42, 503, 603, 8, 9, 92, 102, 1103, 1203));
  scale_case(2, SHAPE(2), NULL, FLOATS(0, 100), DOUBLES(1, 102, 3, 104, 5, 106, 7, 108, 9, 110, 11, 112));
  scale_case(1, SHAPE(3, 2), FLOATS(1, 2, 3, 4, 5, 6), NULL,
             DOUBLES(1, 4, 9, 16, 25, 36, 7, 16, 27, 40, 55, 72));
  scale_case(3, (pz_shape){0, {0}}, FLOATS(2), FLOATS(1),
             DOUBLES(3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25));
}

static void activation_case(pz_activation act, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_ACTIVATION);
  fixture_input(&f, 0, SHAPE(1, 2, 2), FLOATS(-2, 0, 1, -1));
  if (act.kind == PZ_ACT_PRELU) fixture_constant(&f, 1, SHAPE(2), FLOATS(0.25f, -3));
  f.node.attr.activation.act = act;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 2, 2), expected);
  fixture_end(&f);
}

static void activations(void **state) {
  (void)state;
  activation_case((pz_activation){PZ_ACT_NONE, 0, 0}, DOUBLES(-2, 0, 1, -1));
  activation_case((pz_activation){PZ_ACT_RELU, 0, 0}, DOUBLES(0, 0, 1, 0));
  activation_case((pz_activation){PZ_ACT_RELU, 0.5f, 0}, DOUBLES(-1, 0, 1, -0.5));
  activation_case((pz_activation){PZ_ACT_PRELU, 0, 0}, DOUBLES(-0.5, 0, 1, 3));
  activation_case((pz_activation){PZ_ACT_ELU, 2, 0},
                  DOUBLES(2 * (0.1353352832 - 1), 0, 1, 2 * (0.3678794412 - 1)));
  activation_case((pz_activation){PZ_ACT_SIGMOID, 0, 0},
                  DOUBLES(0.1192029220, 0.5, 0.7310585786, 0.2689414214));
  activation_case((pz_activation){PZ_ACT_TANH, 0, 0}, DOUBLES(-0.9640275801, 0, 0.7615941560, -0.7615941560));
}

static void shared_slope(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_ACTIVATION);
  fixture_input(&f, 0, SHAPE(1, 3, 1), FLOATS(-2, 4, -6));
  fixture_constant(&f, 1, SHAPE(1), FLOATS(0.5f));
  f.node.attr.activation.act.kind = PZ_ACT_PRELU;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 3, 1), DOUBLES(-1, 4, -3));
  fixture_end(&f);
}

static void power_case(pz_attr_power a, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_POWER);
  fixture_input(&f, 0, SHAPE(3), FLOATS(-2, 0.5f, 3));
  f.node.attr.power = a;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(3), expected);
  fixture_end(&f);
}

static void powers(void **state) {
  (void)state;
  power_case((pz_attr_power){1, 2, 1}, DOUBLES(-3, 2, 7));
  power_case((pz_attr_power){2, 2, 1}, DOUBLES(9, 4, 49));
  power_case((pz_attr_power){0.5f, 1, 6}, DOUBLES(2, 2.5495097568, 3));
  power_case((pz_attr_power){0, 5, 1}, DOUBLES(1, 1, 1));
}

static void eltwise_case(pz_eltwise_kind kind, const float *coeff, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_ELTWISE);
  fixture_input(&f, 0, SHAPE(1, 3), FLOATS(1, 8, -3));
  fixture_input(&f, 1, SHAPE(1, 3), FLOATS(4, 2, -5));
  f.node.attr.eltwise = (pz_attr_eltwise){kind, coeff};
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 3), expected);
  fixture_end(&f);
}

static void eltwise(void **state) {
  (void)state;
  eltwise_case(PZ_ELT_SUM, NULL, DOUBLES(5, 10, -8));
  eltwise_case(PZ_ELT_SUM, FLOATS(2, -1), DOUBLES(-2, 14, -1));
  eltwise_case(PZ_ELT_PROD, NULL, DOUBLES(4, 16, 15));
  eltwise_case(PZ_ELT_MAX, NULL, DOUBLES(4, 8, -3));
  eltwise_case(PZ_ELT_DIV, NULL, DOUBLES(0.25, 4, 0.6));
  eltwise_case(PZ_ELT_LESS, NULL, DOUBLES(1, 0, 0));
  eltwise_case(PZ_ELT_LESS_EQUAL, NULL, DOUBLES(1, 0, 0));
  eltwise_case(PZ_ELT_EQUAL, NULL, DOUBLES(0, 0, 0));
}

static void eltwise_of_three(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_ELTWISE);
  const float *x = FLOATS(1, 10);
  for (int i = 0; i < 3; i++) fixture_input(&f, i, SHAPE(2), x);
  f.node.attr.eltwise = (pz_attr_eltwise){PZ_ELT_SUM, FLOATS(1, 2, 3)};
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2), DOUBLES(6, 60));
  fixture_end(&f);
}

static void eltwise_selects(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_ELTWISE);
  fixture_input(&f, 0, SHAPE(2, 3), FLOATS(1, 0, -2, 0, 0, 0.5f));
  fixture_input(&f, 1, SHAPE(1, 3), FLOATS(4, INFINITY, -5));
  fixture_input(&f, 2, SHAPE(1, 1), FLOATS(7));
  f.node.attr.eltwise.kind = PZ_ELT_SELECT;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 3), DOUBLES(4, 7, -5, 7, 7, -5));
  fixture_end(&f);
}

/* ---- moving ---- */

static void concat_case(int axis, pz_shape a, pz_shape b, pz_shape y, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_CONCAT);
  fixture_input(&f, 0, a, FLOATS(1, 2, 3, 4, 5, 6, 7, 8));
  fixture_input(&f, 1, b, FLOATS(10, 20, 30, 40, 50, 60, 70, 80));
  f.node.attr.concat.axis = axis;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, y, expected);
  fixture_end(&f);
}

static void concat(void **state) {
  (void)state;
  concat_case(0, SHAPE(1, 2), SHAPE(2, 2), SHAPE(3, 2), DOUBLES(1, 2, 10, 20, 30, 40));
  concat_case(1, SHAPE(2, 1, 2), SHAPE(2, 2, 2), SHAPE(2, 3, 2),
              DOUBLES(1, 2, 10, 20, 30, 40, 3, 4, 50, 60, 70, 80));
  concat_case(2, SHAPE(1, 2, 2), SHAPE(1, 2, 1), SHAPE(1, 2, 3), DOUBLES(1, 2, 10, 3, 4, 20));
}

static void slice(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_SLICE);
  fixture_input(&f, 0, SHAPE(2, 3, 2), FLOATS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  f.node.attr.slice = (pz_attr_slice){1, (const int64_t[]){0, 1, 3}};
  fixture_run(&f, 2);
  fixture_expect(&f, 0, SHAPE(2, 1, 2), DOUBLES(1, 2, 7, 8));
  fixture_expect(&f, 1, SHAPE(2, 2, 2), DOUBLES(3, 4, 5, 6, 9, 10, 11, 12));
  fixture_end(&f);
}

static void crop(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_CROP);
  fixture_input(&f, 0, SHAPE(2, 2, 3), FLOATS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  f.node.attr.crop = (pz_attr_crop){.offset = {1, 0, 1}, .size = {1, 2, 2}, .step = {1, 1, 1, 1, 1, 1, 1, 1}};
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 2, 2), DOUBLES(8, 9, 11, 12));
  fixture_end(&f);
}

static void permute(void **state) {
  (void)state;
  float x[24];
  double expected[24];
  for (int i = 0; i < 24; i++) x[i] = (float)i;
  /* y[c][a][b] = x[a][b][c] */
  for (int i = 0; i < 24; i++) expected[i] = x[(i / 3 % 2 * 3 + i % 3) * 4 + i / 6];
  fixture f;
  fixture_begin(&f, PZ_OP_PERMUTE);
  fixture_input(&f, 0, SHAPE(2, 3, 4), x);
  f.node.attr.permute = (pz_attr_permute){{2, 0, 1}};
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(4, 2, 3), expected);
  fixture_end(&f);
}

static void copies(void **state) {
  (void)state;
  const pz_op ops[] = {PZ_OP_RESHAPE, PZ_OP_IDENTITY, PZ_OP_BORDER_COPY};
  for (int i = 0; i < 3; i++) {
    fixture f;
    fixture_begin(&f, ops[i]);
    fixture_input(&f, 0, SHAPE(1, 2, 3), FLOATS(1, 2, 3, 4, 5, 6));
    if (ops[i] == PZ_OP_RESHAPE) f.node.attr.reshape.shape = SHAPE(3, 2);
    fixture_run(&f, 1);
    fixture_expect(&f, 0, ops[i] == PZ_OP_RESHAPE ? SHAPE(3, 2) : SHAPE(1, 2, 3), DOUBLES(1, 2, 3, 4, 5, 6));
    fixture_end(&f);
  }
}

/* ---- casts ---- */

static void expect_exactly(const fixture *f, int64_t n, const double *values) {
  for (int64_t i = 0; i < n; i++) {
    const double y = f->outputs[0][i];
    if (!(isnan(values[i]) ? isnan(y) : y == values[i]))
      fail_msg("value %d is %.9g, expected %.9g", (int)i, y, values[i]);
  }
}

static void cast_case(pz_dtype to, float scale, int32_t zero_point, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_CAST);
  fixture_input(&f, 0, SHAPE(8), FLOATS(0, 0.5f, 1.5f, -2.5f, 300, -300, 1.00390625f, NAN));
  f.node.attr.cast = (pz_attr_cast){to, scale, zero_point};
  fixture_run(&f, 1);
  expect_exactly(&f, 8, expected);
  fixture_end(&f);
}

/* By hand: halves go to the even number, integers stop at their ends, bfloat16 has 8 bits. */
static void casts(void **state) {
  (void)state;
  cast_case(PZ_F32, 1, 0, DOUBLES(0, 0.5, 1.5, -2.5, 300, -300, 1.00390625, NAN));
  cast_case(PZ_U8, 1, 0, DOUBLES(0, 0, 2, 0, 255, 0, 1, 0));
  cast_case(PZ_I8, 1, 0, DOUBLES(0, 0, 2, -2, 127, -128, 1, 0));
  cast_case(PZ_I32, 1, 0, DOUBLES(0, 0, 2, -2, 300, -300, 1, 0));
  cast_case(PZ_I32, 0x1p-23f, 0,
            DOUBLES(0, 0.5, 1.5, -2.5, 255.99999988079071044921875, -256, 1.00390625, 0));
  cast_case(PZ_U8, 0.5f, 100, DOUBLES(0, 0.5, 1.5, -2.5, 77.5, -50, 1, 0));
  cast_case(PZ_BF16, 1, 0, DOUBLES(0, 0.5, 1.5, -2.5, 300, -300, 1, NAN));
  cast_case(PZ_F16, 1, 0, DOUBLES(0, 0.5, 1.5, -2.5, 300, -300, 1.00390625, NAN));
}

static void casts_of_ends(void **state) {
  (void)state;
  const float least = 0x1p-24f; /* the least half above 0 */
  for (int bf16 = 0; bf16 < 2; bf16++) {
    fixture f;
    fixture_begin(&f, PZ_OP_CAST);
    fixture_input(&f, 0, SHAPE(7),
                  FLOATS(65519, 65520, -70000, least / 2, least * 1.5f, 0x1.ffp127f, INFINITY));
    f.node.attr.cast = (pz_attr_cast){bf16 ? PZ_BF16 : PZ_F16, 1, 0};
    fixture_run(&f, 1);
    expect_exactly(&f, 7,
                   bf16 ? DOUBLES(65536, 65536, -70144, 0x1p-25, 0x1.8p-24, INFINITY, INFINITY)
                        : DOUBLES(65504, INFINITY, -INFINITY, 0, 0x1p-23, INFINITY, INFINITY));
    fixture_end(&f);
  }
}

/* ---- the others ---- */

static void softmax_case(int axis, const float *x, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_SOFTMAX);
  fixture_input(&f, 0, SHAPE(2, 3), x);
  f.node.attr.softmax.axis = axis;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 3), expected);
  fixture_end(&f);
}

static void softmax(void **state) {
  (void)state;
  const float log2 = 0.69314718f, log3 = 1.09861229f, log5 = 1.60943791f;
  softmax_case(1, FLOATS(0, log2, log5, 1000, 1000, 1000),
               DOUBLES(0.125, 0.25, 0.625, 1. / 3, 1. / 3, 1. / 3));
  softmax_case(0, FLOATS(0, log3, -1000, log3, log3, 1000), DOUBLES(0.25, 0.5, 0, 0.75, 0.5, 1));
}

static void cumsum_case(pz_attr_cumsum a, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_CUMSUM);
  fixture_input(&f, 0, SHAPE(2, 3, 2), FLOATS(1, 2, 3, 4, 5, 6, -1, 10, -2, 20, -4, 40));
  f.node.attr.cumsum = a;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 3, 2), expected);
  fixture_end(&f);
}

static void cumsum(void **state) {
  (void)state;
  cumsum_case((pz_attr_cumsum){1, false, false}, DOUBLES(1, 2, 4, 6, 9, 12, -1, 10, -3, 30, -7, 70));
  cumsum_case((pz_attr_cumsum){1, true, false}, DOUBLES(0, 0, 1, 2, 4, 6, 0, 0, -1, 10, -3, 30));
  cumsum_case((pz_attr_cumsum){1, false, true}, DOUBLES(9, 12, 8, 10, 5, 6, -7, 70, -6, 60, -4, 40));
  cumsum_case((pz_attr_cumsum){1, true, true}, DOUBLES(8, 10, 5, 6, 0, 0, -6, 60, -4, 40, 0, 0));
  cumsum_case((pz_attr_cumsum){2, false, false}, DOUBLES(1, 3, 3, 7, 5, 11, -1, 9, -2, 18, -4, 36));
  cumsum_case((pz_attr_cumsum){0, false, true}, DOUBLES(0, 12, 1, 24, 1, 46, -1, 10, -2, 20, -4, 40));
}

/* Boxes as they are, of which the second overlaps the first by 3/4; a better class comes behind a lower one. */
static void detection_case(pz_attr_detection_output a, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_DETECTION_OUTPUT);
  fixture_input(&f, 0, SHAPE(1, 12), FLOATS(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  fixture_input(&f, 1, SHAPE(1, 9), FLOATS(1, 0.5, 0.1, 1, 0.625, 0.9375, 1, 0.375, 0.875));
  fixture_input(&f, 2, SHAPE(1, 1, 12), FLOATS(0, 0, 4, 4, 0, 0, 4, 3, 10, 10, 12, 12));
  a.classes = 3, a.coded = a.corners = true, a.confidence = 0.25f;
  f.node.attr.detection_output = a;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 1, a.keep, 7), expected);
  fixture_end(&f);
}

static void detection_output(void **state) {
  (void)state;
  detection_case((pz_attr_detection_output){.top_k = -1, .keep = 5, .overlap = 0.5f},
                 DOUBLES(0, 1, 0.625, 0, 0, 4, 3, 0, 1, 0.375, 10, 10, 12, 12, 0, 2, 0.9375, 0, 0, 4, 3, 0, 2,
                         0.875, 10, 10, 12, 12, -1, 0, 0, 0, 0, 0, 0));
  /* of all classes two */
  detection_case((pz_attr_detection_output){.top_k = -1, .keep = 2, .overlap = 0.5f},
                 DOUBLES(0, 2, 0.9375, 0, 0, 4, 3, 0, 2, 0.875, 10, 10, 12, 12));
  /* of each class one */
  detection_case((pz_attr_detection_output){.top_k = 1, .keep = 2, .overlap = 1},
                 DOUBLES(0, 1, 0.625, 0, 0, 4, 3, 0, 2, 0.9375, 0, 0, 4, 3));
}

/* From a centre, by variances. */
static void detection_output_decodes(void **state) {
  (void)state;
  const float log2 = 0.69314718f;
  fixture f;
  fixture_begin(&f, PZ_OP_DETECTION_OUTPUT);
  fixture_input(&f, 0, SHAPE(1, 4), FLOATS(1, -2, 2 * log2, 0));
  fixture_input(&f, 1, SHAPE(1, 1), FLOATS(0.5));
  fixture_input(&f, 2, SHAPE(1, 2, 4), FLOATS(2, 2, 6, 4, 0.25, 0.5, 0.5, 1));
  f.node.attr.detection_output =
      (pz_attr_detection_output){.classes = 1, .background = -1, .top_k = 1, .keep = 1};
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 1, 1, 7), DOUBLES(0, 0, 0.5, 1, 0, 9, 2));
  fixture_end(&f);
}

/* Box 1 overlaps box 0 by 3/4 and box 3, turned round, box 2 by all of it; box 4 has no area. */
static void suppression_case(pz_attr_non_max_suppression a, int64_t rows, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_NON_MAX_SUPPRESSION);
  fixture_input(&f, 0, SHAPE(1, 5, 4),
                FLOATS(0, 0, 4, 4, 0, 0, 4, 3, 10, 10, 12, 12, 12, 10, 10, 12, 1, 1, 1, 2));
  fixture_input(&f, 1, SHAPE(1, 2, 5), FLOATS(0.5, 0.5, 0.25, 0.75, 1, 0.125, 0.25, 0.5, 0.5, (double)NAN));
  f.node.attr.non_max_suppression = a;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(rows, 3), expected);
  fixture_end(&f);
}

static void non_max_suppression(void **state) {
  (void)state;
  suppression_case((pz_attr_non_max_suppression){.most = 9, .overlap = 0.5f, .score = -INFINITY}, 10,
                   DOUBLES(0, 0, 4, 0, 0, 3, 0, 0, 0, 0, 1, 2, 0, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                           -1, -1, -1, -1, -1, -1));
  /* an overlap that is met exactly, and a score */
  suppression_case((pz_attr_non_max_suppression){.most = 3, .overlap = 0.75f, .score = 0.125f}, 6,
                   DOUBLES(0, 0, 4, 0, 0, 3, 0, 0, 0, 0, 1, 2, 0, 1, 1, -1, -1, -1));
  suppression_case((pz_attr_non_max_suppression){.most = 1, .overlap = 1, .score = 0.5f}, 2,
                   DOUBLES(0, 0, 4, -1, -1, -1));
}

/* 2 x 4 around (1, 2) and around (2, 2): a third. The latter is better. */
static void non_max_suppression_of_centres(void **state) {
  (void)state;
  for (int32_t closer = 0; closer < 2; closer++) {
    fixture f;
    fixture_begin(&f, PZ_OP_NON_MAX_SUPPRESSION);
    fixture_input(&f, 0, SHAPE(1, 2, 4), FLOATS(1, 2, 2, 4, 2, 2, 2, 4));
    fixture_input(&f, 1, SHAPE(1, 1, 2), FLOATS(0.25, 0.5));
    f.node.attr.non_max_suppression = (pz_attr_non_max_suppression){
        .most = 2, .centre = true, .overlap = closer ? 0.3125f : 0.34375f, .score = -INFINITY};
    fixture_run(&f, 1);
    fixture_expect(&f, 0, SHAPE(2, 3), closer ? DOUBLES(0, 0, 1, -1, -1, -1) : DOUBLES(0, 0, 1, 0, 0, 0));
    fixture_end(&f);
  }
}

static void gather_rows(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_GATHER_ROWS);
  fixture_input(&f, 0, SHAPE(3, 2), FLOATS(1, 2, 3, 4, 5, 6));
  fixture_input(&f, 1, SHAPE(2, 2), FLOATS(2, -1, 3, 0));
  f.node.attr.gather_rows.fill = 7;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(2, 2, 2), DOUBLES(5, 6, 7, 7, 7, 7, 1, 2));
  fixture_end(&f);
}

/* The sum of y * cumsum(x) is that of x * (cumsum from the other end)(y). */
static double product_with_sums(const float *x, const float *y, pz_attr_cumsum a) {
  fixture f;
  double sum = 0;
  fixture_begin(&f, PZ_OP_CUMSUM);
  fixture_input(&f, 0, SHAPE(3, 5, 4), x);
  f.node.attr.cumsum = a;
  fixture_run(&f, 1);
  for (int i = 0; i < 3 * 5 * 4; i++) sum += (double)y[i] * f.outputs[0][i];
  fixture_end(&f);
  return sum;
}

static void cumsum_from_the_other_end_is_the_adjoint(void **state) {
  (void)state;
  random_state r = {5};
  float *x = random_floats(&r, 60), *y = random_floats(&r, 60);
  for (int32_t i = 0; i < 12; i++) {
    const pz_attr_cumsum a = {i % 3, i / 3 % 2, i / 6}, back = {a.axis, a.exclusive, !a.reverse};
    assert_true(fabs(product_with_sums(x, y, a) - product_with_sums(y, x, back)) < 1e-9);
  }
  free(x), free(y);
}

static void lrn_across(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_LRN);
  fixture_input(&f, 0, SHAPE(1, 3, 1, 1), FLOATS(1, 2, 3));
  f.node.attr.lrn = (pz_attr_lrn){.size = 3, .alpha = 6, .beta = 1, .k = 2};
  fixture_run(&f, 1); /* 2 + 6/3 * (5, 14, 13) */
  fixture_expect(&f, 0, SHAPE(1, 3, 1, 1), DOUBLES(1. / 12, 2. / 30, 3. / 28));
  fixture_end(&f);
}

static void lrn_within(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_LRN);
  fixture_input(&f, 0, SHAPE(1, 1, 3, 3), FLOATS(1, 1, 1, 1, 1, 1, 1, 1, 1));
  f.node.attr.lrn = (pz_attr_lrn){.size = 3, .alpha = 9, .beta = 0.5f, .k = 1, .within_channel = true};
  fixture_run(&f, 1); /* 1 + (4, 6 or 9 squares) */
  double corner = 1 / sqrt(5), edge = 1 / sqrt(7), middle = 1 / sqrt(10);
  fixture_expect(&f, 0, SHAPE(1, 1, 3, 3),
                 DOUBLES(corner, edge, corner, edge, middle, edge, corner, edge, corner));
  fixture_end(&f);
}

static void inner_product_case(int axis, bool transpose, const float *weight, pz_shape y,
                               const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_INNER_PRODUCT);
  fixture_input(&f, 0, SHAPE(1, 2, 2), FLOATS(1, 2, 3, 4));
  int64_t inner = axis == 1 ? 4 : 2;
  fixture_constant(&f, 1, transpose ? SHAPE(inner, 2) : SHAPE(2, inner), weight);
  fixture_constant(&f, 2, SHAPE(2), FLOATS(0.5f, -100));
  fixture_constant(&f, 3, SHAPE(2), FLOATS(9, 0.5f));
  f.node.attr.inner_product.axis = axis;
  f.node.attr.inner_product.transpose = transpose;
  f.node.attr.inner_product.act.kind = PZ_ACT_PRELU;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, y, expected);
  fixture_end(&f);
}

static void inner_product(void **state) {
  (void)state;
  inner_product_case(1, false, FLOATS(1, 1, 1, 1, 1, 0, 0, 10), SHAPE(1, 2), DOUBLES(10.5, -29.5));
  inner_product_case(1, true, FLOATS(1, 1, 1, 0, 1, 0, 1, 10), SHAPE(1, 2), DOUBLES(10.5, -29.5));
  inner_product_case(2, false, FLOATS(1, 1, 10, 0), SHAPE(1, 2, 2), DOUBLES(3.5, -45, 7.5, -35));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pool_average_divisors),
      cmocka_unit_test(pool_rounding),
      cmocka_unit_test(pool_max_of_negatives),
      cmocka_unit_test(pool_3d_maps),
      cmocka_unit_test(pool_keeps_nan),
      cmocka_unit_test(batch_norm),
      cmocka_unit_test(scale_along_axes),
      cmocka_unit_test(activations),
      cmocka_unit_test(shared_slope),
      cmocka_unit_test(powers),
      cmocka_unit_test(eltwise),
      cmocka_unit_test(eltwise_of_three),
      cmocka_unit_test(eltwise_selects),
      cmocka_unit_test(concat),
      cmocka_unit_test(slice),
      cmocka_unit_test(crop),
      cmocka_unit_test(permute),
      cmocka_unit_test(casts),
      cmocka_unit_test(casts_of_ends),
      cmocka_unit_test(copies),
      cmocka_unit_test(softmax),
      cmocka_unit_test(cumsum),
      cmocka_unit_test(detection_output),
      cmocka_unit_test(detection_output_decodes),
      cmocka_unit_test(non_max_suppression),
      cmocka_unit_test(non_max_suppression_of_centres),
      cmocka_unit_test(gather_rows),
      cmocka_unit_test(cumsum_from_the_other_end_is_the_adjoint),
      cmocka_unit_test(lrn_across),
      cmocka_unit_test(lrn_within),
      cmocka_unit_test(inner_product),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
