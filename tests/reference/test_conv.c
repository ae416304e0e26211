/* test_conv.c: convolution and deconvolution: cases by hand, the definition, and that they are adjoint. */
#include "fixture.h"
#include <string.h>

static void conv_by_hand_1d(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_CONV);
  fixture_input(&f, PZ_CONV_X, SHAPE(1, 1, 4), FLOATS(1, 2, 3, 5));
  fixture_constant(&f, PZ_CONV_WEIGHT, SHAPE(1, 1, 3), FLOATS(1, 0, -1));
  f.node.attr.conv.kernel[2] = 3;
  f.node.attr.conv.pad_lo[2] = 1; /* and none at the end */
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 1, 3), DOUBLES(-2, -2, -3));
  fixture_end(&f);
}

static void conv_by_hand_2d(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_CONV);
  fixture_input(&f, PZ_CONV_X, SHAPE(1, 1, 3, 3), FLOATS(1, 2, 3, 4, 5, 6, 7, 8, 9));
  fixture_constant(&f, PZ_CONV_WEIGHT, SHAPE(1, 1, 2, 2), FLOATS(1, 2, 3, 4));
  f.node.attr.conv.kernel[1] = f.node.attr.conv.kernel[2] = 2;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 1, 2, 2), DOUBLES(37, 47, 67, 77));
  fixture_end(&f);
}

/* Ones under ones: the number of positions inside. */
static void conv_counts_3d(void **state) {
  (void)state;
  float ones[27];
  double expected[27];
  for (int i = 0; i < 27; i++) {
    int at[3] = {i / 9, i / 3 % 3, i % 3};
    ones[i] = 1;
    expected[i] = 1;
    for (int k = 0; k < 3; k++) expected[i] *= at[k] == 1 ? 3 : 2;
  }
  fixture f;
  fixture_begin(&f, PZ_OP_CONV);
  fixture_input(&f, PZ_CONV_X, SHAPE(1, 1, 3, 3, 3), ones);
  fixture_constant(&f, PZ_CONV_WEIGHT, SHAPE(1, 1, 3, 3, 3), ones);
  for (int k = 0; k < 3; k++) {
    f.node.attr.conv.kernel[k] = 3;
    f.node.attr.conv.pad_lo[k] = f.node.attr.conv.pad_hi[k] = 1;
  }
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 1, 3, 3, 3), expected);
  fixture_end(&f);
}

static void conv_stride_dilation_bias_base(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_CONV);
  fixture_input(&f, PZ_CONV_X, SHAPE(1, 1, 6), FLOATS(1, 2, 3, 4, 5, 6));
  fixture_constant(&f, PZ_CONV_WEIGHT, SHAPE(1, 1, 2), FLOATS(1, 10));
  fixture_constant(&f, PZ_CONV_BIAS, SHAPE(1), FLOATS(100));
  fixture_input(&f, PZ_CONV_RESIDUAL, SHAPE(1, 1, 2), FLOATS(1, -100));
  fixture_constant(&f, PZ_CONV_RESIDUAL_SCALE, SHAPE(1), FLOATS(3));
  fixture_constant(&f, PZ_CONV_SLOPE, SHAPE(1), FLOATS(0.5f));
  f.node.attr.conv.kernel[2] = f.node.attr.conv.stride[2] = f.node.attr.conv.dilation[2] = 2;
  f.node.attr.conv.act.kind = PZ_ACT_PRELU;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 1, 2), DOUBLES(31 + 100 + 3, 0.5 * (53 + 100 - 300)));
  fixture_end(&f);
}

static void conv_groups(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_CONV);
  fixture_input(&f, PZ_CONV_X, SHAPE(1, 4, 1), FLOATS(1, 2, 3, 4));
  fixture_constant(&f, PZ_CONV_WEIGHT, SHAPE(2, 2, 1), FLOATS(1, 10, 100, 1000));
  f.node.attr.conv.group = 2;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 2, 1), DOUBLES(21, 4300));
  fixture_end(&f);
}

static void deconv_case(int pad, int output_pad, pz_shape shape, const double *expected) {
  fixture f;
  fixture_begin(&f, PZ_OP_DECONV);
  fixture_input(&f, PZ_CONV_X, SHAPE(1, 1, 2), FLOATS(1, 2));
  fixture_constant(&f, PZ_CONV_WEIGHT, SHAPE(1, 1, 3), FLOATS(1, 10, 100));
  f.node.attr.conv.kernel[2] = 3;
  f.node.attr.conv.stride[2] = 2;
  f.node.attr.conv.pad_lo[2] = f.node.attr.conv.pad_hi[2] = pad;
  f.node.attr.conv.output_pad[2] = output_pad;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, shape, expected);
  fixture_end(&f);
}

static void deconv_by_hand(void **state) {
  (void)state;
  deconv_case(0, 0, SHAPE(1, 1, 5), DOUBLES(1, 10, 102, 20, 200));
  deconv_case(1, 0, SHAPE(1, 1, 3), DOUBLES(10, 102, 20));
  deconv_case(0, 1, SHAPE(1, 1, 6), DOUBLES(1, 10, 102, 20, 200, 0));
  deconv_case(1, 1, SHAPE(1, 1, 4), DOUBLES(10, 102, 20, 200));
}

/* Two channels in, groups of one channel in and two out: weight [C, K/group]. */
static void deconv_groups_and_epilogue(void **state) {
  (void)state;
  fixture f;
  fixture_begin(&f, PZ_OP_DECONV);
  fixture_input(&f, PZ_CONV_X, SHAPE(1, 2, 1), FLOATS(1, 2));
  fixture_constant(&f, PZ_CONV_WEIGHT, SHAPE(2, 2, 1), FLOATS(1, 10, 100, 1000));
  fixture_constant(&f, PZ_CONV_BIAS, SHAPE(4), FLOATS(1, 2, 3, -5000));
  fixture_input(&f, PZ_CONV_RESIDUAL, SHAPE(1, 4, 1), FLOATS(1, 1, 1, 1));
  f.node.attr.conv.group = 2;
  f.node.attr.conv.act.kind = PZ_ACT_RELU;
  fixture_run(&f, 1);
  fixture_expect(&f, 0, SHAPE(1, 4, 1), DOUBLES(3, 13, 204, 0));
  fixture_end(&f);
}

/* Kernel = stride: blocks that do not overlap, y[s*i + j] = x[i]*w[j]. */
static void deconv_blocks(void **state) {
  (void)state;
  random_state r = {7};
  float *x = random_floats(&r, 3 * 4), *w = random_floats(&r, 2 * 3);
  fixture f;
  fixture_begin(&f, PZ_OP_DECONV);
  fixture_input(&f, PZ_CONV_X, SHAPE(1, 1, 3, 4), x);
  fixture_constant(&f, PZ_CONV_WEIGHT, SHAPE(1, 1, 2, 3), w);
  f.node.attr.conv.kernel[1] = f.node.attr.conv.stride[1] = 2;
  f.node.attr.conv.kernel[2] = f.node.attr.conv.stride[2] = 3;
  fixture_run(&f, 1);
  double expected[6 * 12];
  for (int h = 0; h < 6; h++)
    for (int i = 0; i < 12; i++) expected[h * 12 + i] = (double)x[h / 2 * 4 + i / 3] * w[h % 2 * 3 + i % 3];
  fixture_expect(&f, 0, SHAPE(1, 1, 6, 12), expected);
  fixture_end(&f);
  free(x);
  free(w);
}

/* ---- random problems ---- */

typedef struct problem {
  pz_shape x, w;
  pz_attr_conv a;
} problem;

static problem random_problem(random_state *r) {
  int spatial = (int)random_range(r, 1, 3);
  pz_node node = pz_node_new(PZ_OP_CONV);
  problem p = {.a = node.attr.conv};
  p.a.group = (int32_t)random_range(r, 1, 3);
  p.x = (pz_shape){spatial + 2, {random_range(r, 1, 2), p.a.group * random_range(r, 1, 3)}};
  p.w = (pz_shape){spatial + 2, {p.a.group * random_range(r, 1, 3), p.x.dim[1] / p.a.group}};
  for (int i = 0; i < spatial; i++) {
    int k = PZ_SPATIAL - spatial + i;
    p.a.kernel[k] = (int32_t)random_range(r, 1, 4);
    p.a.stride[k] = (int32_t)random_range(r, 1, 3);
    p.a.dilation[k] = (int32_t)random_range(r, 1, 3);
    p.a.pad_lo[k] = (int32_t)random_range(r, 0, 4);
    p.a.pad_hi[k] = (int32_t)random_range(r, 0, 4);
    int64_t extent = p.a.dilation[k] * (p.a.kernel[k] - 1) + 1;
    int64_t least = extent - p.a.pad_lo[k] - p.a.pad_hi[k];
    p.w.dim[i + 2] = p.a.kernel[k];
    p.x.dim[i + 2] = random_range(r, least > 1 ? least : 1, (least > 1 ? least : 1) + 6);
  }
  return p;
}

static double at(const float *x, const pz_shape5 *s, int64_t n, int64_t c, const int64_t p[3]) {
  for (int i = 0; i < 3; i++)
    if (p[i] < 0 || p[i] >= s->s[i]) return 0;
  return x[(((n * s->c + c) * s->s[0] + p[0]) * s->s[1] + p[1]) * s->s[2] + p[2]];
}

/* One output of a convolution as its definition says. */
static double defined(const problem *p, const float *x, const float *w, int64_t n, int64_t k,
                      const int64_t o[3]) {
  pz_shape5 xs = pz_shape_as5(&p->x), ws = pz_shape_as5(&p->w);
  double sum = 0;
  for (int64_t c = 0; c < ws.c; c++)
    for (int64_t i = 0; i < ws.s[0] * ws.s[1] * ws.s[2]; i++) {
      int64_t tap[3] = {i / (ws.s[1] * ws.s[2]), i / ws.s[2] % ws.s[1], i % ws.s[2]}, from[3];
      for (int d = 0; d < 3; d++)
        from[d] = o[d] * p->a.stride[d] + tap[d] * p->a.dilation[d] - p->a.pad_lo[d];
      sum += at(w, &ws, k, c, tap) * at(x, &xs, n, k / (ws.n / p->a.group) * ws.c + c, from);
    }
  return sum;
}

static void conv_is_its_definition(void **state) {
  (void)state;
  random_state r = {1};
  for (int trial = 0; trial < 100; trial++) {
    problem p = random_problem(&r);
    float *x = random_floats(&r, pz_shape_elements(&p.x)), *w = random_floats(&r, pz_shape_elements(&p.w));
    fixture f;
    fixture_begin(&f, PZ_OP_CONV);
    fixture_input(&f, PZ_CONV_X, p.x, x);
    fixture_constant(&f, PZ_CONV_WEIGHT, p.w, w);
    f.node.attr.conv = p.a;
    fixture_run(&f, 1);
    pz_shape5 y = pz_shape_as5(fixture_shape(&f, 0));
    int64_t channel = y.s[0] * y.s[1] * y.s[2];
    for (int64_t i = 0; i < fixture_elements(&f, 0); i++) {
      int64_t o[3] = {i % channel / (y.s[1] * y.s[2]), i / y.s[2] % y.s[1], i % y.s[2]};
      /* both are sums in double of at most 600 products below 1 */
      assert_true(fabs(f.outputs[0][i] - defined(&p, x, w, i / channel / y.c, i / channel % y.c, o)) < 1e-12);
    }
    fixture_end(&f);
    free(x);
    free(w);
  }
}

static double dot(const double *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* The deconv that leads from conv's output shape back to its input shape. */
static pz_attr_conv adjoint(const problem *p) {
  pz_attr_conv a = p->a;
  for (int i = 0; i < p->x.rank - 2; i++) {
    int k = PZ_SPATIAL - (p->x.rank - 2) + i;
    int64_t extent = a.dilation[k] * (a.kernel[k] - 1) + 1;
    a.output_pad[k] = (int32_t)((p->x.dim[i + 2] + a.pad_lo[k] + a.pad_hi[k] - extent) % a.stride[k]);
  }
  return a;
}

/* <conv(x), y> == <x, deconv(y)> with the same weights: [K, C/group] read as [C', K'/group]. */
static void deconv_is_the_adjoint(void **state) {
  (void)state;
  random_state r = {2};
  for (int trial = 0; trial < 100; trial++) {
    problem p = random_problem(&r);
    float *x = random_floats(&r, pz_shape_elements(&p.x)), *w = random_floats(&r, pz_shape_elements(&p.w));
    fixture conv, deconv;
    fixture_begin(&conv, PZ_OP_CONV);
    fixture_input(&conv, PZ_CONV_X, p.x, x);
    fixture_constant(&conv, PZ_CONV_WEIGHT, p.w, w);
    conv.node.attr.conv = p.a;
    fixture_run(&conv, 1);
    float *y = random_floats(&r, fixture_elements(&conv, 0));
    fixture_begin(&deconv, PZ_OP_DECONV);
    fixture_input(&deconv, PZ_CONV_X, *fixture_shape(&conv, 0), y);
    fixture_constant(&deconv, PZ_CONV_WEIGHT, p.w, w);
    deconv.node.attr.conv = adjoint(&p);
    fixture_run(&deconv, 1);
    assert_true(pz_shape_equal(fixture_shape(&deconv, 0), &p.x));
    double left = dot(conv.outputs[0], y, fixture_elements(&conv, 0));
    double right = dot(deconv.outputs[0], x, fixture_elements(&deconv, 0));
    assert_true(fabs(left - right) < 1e-9); /* sums in double of at most 1e6 products below 1 */
    fixture_end(&conv);
    fixture_end(&deconv);
    free(x);
    free(w);
    free(y);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conv_by_hand_1d),
      cmocka_unit_test(conv_by_hand_2d),
      cmocka_unit_test(conv_counts_3d),
      cmocka_unit_test(conv_stride_dilation_bias_base),
      cmocka_unit_test(conv_groups),
      cmocka_unit_test(deconv_by_hand),
      cmocka_unit_test(deconv_groups_and_epilogue),
      cmocka_unit_test(deconv_blocks),
      cmocka_unit_test(conv_is_its_definition),
      cmocka_unit_test(deconv_is_the_adjoint),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
