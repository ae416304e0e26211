/* init:SEED: each filler has the distribution that Caffe's has, and the values are fixed for good. */
#include "fixture.h"
#include <math.h>

#define NET(filler, more)                                                                                    \
  "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 64 dim: 5 dim: 5 } } }\n"      \
  "layer { name: 'l' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { num_output: 32 "           \
  "kernel_size: 3 "                                                                                          \
  "weight_filler { " filler " } " more " } }"
enum { COUNT = 32 * 64 * 9 };

typedef struct statistics {
  double mean, deviation, least, most;
  int zeros;
} statistics;

static statistics of(const float *v, int count) {
  statistics s = {.least = INFINITY, .most = -INFINITY};
  double squares = 0;
  for (int i = 0; i < count; i++) {
    s.mean += (double)v[i] / count;
    squares += (double)v[i] * v[i] / count;
    s.least = fmin(s.least, v[i]);
    s.most = fmax(s.most, v[i]);
    s.zeros += v[i] == 0;
  }
  s.deviation = sqrt(squares - s.mean * s.mean);
  return s;
}

static statistics fill(const char *text) {
  pz_graph *g = import_text(text, "init:7");
  statistics s = of(constant(g, "l.weight"), COUNT);
  pz_graph_free(g);
  return s;
}

/* 18432 values: the mean is within 4 deviations / sqrt(n), 0.03 of a deviation, the deviation within 3%. */
static void check(const char *text, double mean, double deviation) {
  statistics s = fill(text);
  if (fabs(s.mean - mean) > 0.03 * deviation || fabs(s.deviation / deviation - 1) > 0.03)
    fail_msg("mean %g, expected %g; deviation %g, expected %g for %s", s.mean, mean, s.deviation, deviation,
             text);
}

static void distributions(void **state) {
  (void)state;
  double in = 64 * 9, out = 32 * 9, both = (in + out) / 2;
  check(NET("type: 'uniform' min: -1 max: 3", ""), 1, 4 / sqrt(12));
  check(NET("type: 'uniform'", ""), 0.5, 1 / sqrt(12));
  check(NET("type: 'gaussian' mean: 2 std: 0.5", ""), 2, 0.5);
  check(NET("type: 'xavier'", ""), 0, sqrt(1 / in)); /* uniform to sqrt(3/n) */
  check(NET("type: 'xavier' variance_norm: FAN_OUT", ""), 0, sqrt(1 / out));
  check(NET("type: 'xavier' variance_norm: AVERAGE", ""), 0, sqrt(1 / both));
  check(NET("type: 'msra'", ""), 0, sqrt(2 / in));
  check(NET("type: 'msra' variance_norm: FAN_OUT", ""), 0, sqrt(2 / out));
}

static void bounds(void **state) {
  (void)state;
  statistics s = fill(NET("type: 'xavier'", ""));
  double bound = sqrt(3. / (64 * 9));
  assert_true(s.least >= -bound * (1 + 1e-6) && s.most <= bound * (1 + 1e-6));
  assert_true(s.most > 0.99 * bound && s.least < -0.99 * bound);
  s = fill(NET("", ""));
  assert_true(s.least == 0 && s.most == 0); /* Caffe's default */
  s = fill(NET("value: -2.5", ""));
  assert_true(s.least == -2.5 && s.most == -2.5);
}

/* sparse 8 of 32 outputs: a quarter is kept. 4 deviations of the binomial: 236. */
static void sparse_gaussians(void **state) {
  (void)state;
  statistics s = fill(NET("type: 'gaussian' sparse: 8", ""));
  assert_true(abs(s.zeros - COUNT * 3 / 4) < 240);
}

static void unit_balls(void **state) {
  (void)state;
  pz_graph *g = import_text(NET("type: 'positive_unitball'", ""), "init:7");
  for (int k = 0; k < 32; k++) {
    double sum = 0;
    for (int i = 0; i < 64 * 9; i++) sum += constant(g, "l.weight")[k * 64 * 9 + i];
    assert_true(fabs(sum - 1) < 1e-5); /* 576 roundings of 6e-8 relative to parts of 1 */
  }
  pz_graph_free(g);
}

/* Interpolation by 2 along an axis of 4: 1/4 3/4 3/4 1/4; by 3 along one of 5: 1/3 2/3 1 2/3 1/3. The kernel is the
 * product. */
static void bilinear_kernels(void **state) {
  (void)state;
  static const double y4[4] = {0.25, 0.75, 0.75, 0.25}, x5[5] = {1. / 3, 2. / 3, 1, 2. / 3, 1. / 3};
  pz_graph *g =
      import_text("input: 'x' input_shape { dim: [1, 2, 3, 4, 5] } layer { name: 'l' type: 'Deconvolution' "
                  "bottom: 'x' top: 'y' convolution_param { num_output: 2 group: 2 kernel_size: [1, 4, 5] "
                  "stride: [1, 2, 3] bias_term: false weight_filler { type: 'bilinear' } } }",
                  "init:1");
  const float *v = constant(g, "l.weight");
  for (int c = 0; c < 2; c++)
    for (int y = 0; y < 4; y++)
      for (int x = 0; x < 5; x++) /* computed in doubles, so one rounding to a float: 6e-8 */
        assert_true(fabs(v[(c * 4 + y) * 5 + x] - y4[y] * x5[x]) < 1e-7);
  pz_graph_free(g);
}

static void *weights_of(const char *text, const char *seed, size_t *size) {
  pz_graph *g = import_text(text, seed);
  *size = COUNT * sizeof(float);
  void *copy = malloc(*size);
  memcpy(copy, constant(g, "l.weight"), *size);
  pz_graph_free(g);
  return copy;
}

/* A layer's weights depend on seed, name and index alone, not on what else is in the network. */
static void streams_are_independent(void **state) {
  (void)state;
  const char *text = NET("type: 'gaussian'", "");
  const char *more =
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 64 dim: 5 dim: 5 } } }\n"
      "layer { name: 'first' type: 'PReLU' bottom: 'x' top: 'x' prelu_param { filler { type: 'xavier' } } }"
      "layer { name: 'l' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { num_output: 32 "
      "kernel_size: 3 weight_filler { type: 'gaussian' } bias_filler { type: 'gaussian' } } }";
  size_t size;
  void *a = weights_of(text, "init:7", &size), *b = weights_of(more, "init:7", &size);
  void *c = weights_of(text, "init:8", &size);
  assert_memory_equal(a, b, size);
  assert_memory_not_equal(a, c, size);
  free(a), free(b), free(c);
  pz_graph *g = import_text(more, "init:7");
  assert_memory_not_equal(constant(g, "l.weight"), constant(g, "l.bias"), 32 * sizeof(float));
  pz_graph_free(g);
}

/* These are the numbers that golden inputs and published timings stand on, computed apart from
 * the importer: 24 bits each, exact in floats. */
static void values_are_fixed(void **state) {
  (void)state;
  pz_graph *g = import_text(NET("type: 'uniform' min: 0 max: 16777216", ""), "init:1");
  const float *v = constant(g, "l.weight");
  static const float expected[4] = {12802656, 7250111, 15464463, 491944};
  for (int i = 0; i < 4; i++)
    if (v[i] != expected[i]) fail_msg("value %d is %.9g", i, (double)v[i]);
  pz_graph_free(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(distributions),    cmocka_unit_test(bounds),
      cmocka_unit_test(sparse_gaussians), cmocka_unit_test(unit_balls),
      cmocka_unit_test(bilinear_kernels), cmocka_unit_test(streams_are_independent),
      cmocka_unit_test(values_are_fixed),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
