/* What is expected of values behind functions, and of errors on their way to the results. Closed forms of normally distributed values; integrals and
 * draws are taken for equal within a few per cent, which is what choosing needs. */
#include "choose/expect.h"
#include "planner/planner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double is, double wanted, double part) {
  if (fabs(is - wanted) > part * fabs(wanted)) fail_msg("%g, and not %g", is, wanted);
}

/* Half of all values go on. */
static void test_relu(void **state) {
  (void)state;
  const pz_activation relu = {.kind = PZ_ACT_RELU};
  double slope;
  const pz_moments y = pz_expect_activation(&relu, 0, (pz_moments){0, 9}, &slope);
  assert_near(y.mean, 3 / sqrt(2 * M_PI), 1e-2);
  assert_near(pz_mean_square(y), 4.5, 1e-2);
  assert_near(slope, 0.5, 1e-2);
}

/* Values far apart: the integral of sigmoid'^2, 1/6, times how likely zero is. */
static void test_sigmoid(void **state) {
  (void)state;
  const pz_activation sigmoid = {.kind = PZ_ACT_SIGMOID};
  static const double deviations[] = {30, 100, 20000};
  for (size_t i = 0; i < sizeof deviations / sizeof *deviations; i++) {
    double slope;
    const pz_moments y =
        pz_expect_activation(&sigmoid, 0, (pz_moments){0, deviations[i] * deviations[i]}, &slope);
    assert_near(slope, 1 / (6 * deviations[i] * sqrt(2 * M_PI)), 3e-2);
    assert_near(y.mean, 0.5, 1e-2);
  }
}

static void test_constant(void **state) {
  (void)state;
  const pz_activation tanh_ = {.kind = PZ_ACT_TANH};
  double slope;
  const pz_moments y = pz_expect_activation(&tanh_, 0, (pz_moments){0.5, 0}, &slope);
  assert_near(y.mean, tanh(0.5), 1e-2);
  assert_near(slope, pow(1 - tanh(0.5) * tanh(0.5), 2), 1e-2);
}

static void test_greatest(void **state) {
  (void)state;
  const pz_moments two = pz_expect_greatest(2, (pz_moments){5, 4});
  assert_near(two.mean, 5 + 2 / sqrt(M_PI), 1e-3);
  assert_near(two.variance, 4 * (1 - 1 / M_PI), 1e-2);
}

/* Of two channels softmax is the sigmoid of their difference; a difference's variance is that of both. */
static void test_softmax(void **state) {
  (void)state;
  const pz_activation sigmoid = {.kind = PZ_ACT_SIGMOID};
  static const double variances[] = {2, 800, 2e6};
  for (size_t i = 0; i < sizeof variances / sizeof *variances; i++) {
    const double v = variances[i], gain_y[] = {1, 0};
    const pz_moments x[] = {{1, v / 2}, {0, v / 2}};
    pz_moments y[2];
    double gain_x[2], slope;
    pz_error err = {0};
    assert_int_equal(pz_expect_softmax(false, 2, x, y, NULL, NULL, &err), PZ_OK);
    assert_int_equal(pz_expect_softmax(false, 2, x, NULL, gain_y, gain_x, &err), PZ_OK);
    const pz_moments z = pz_expect_activation(&sigmoid, 0, (pz_moments){1, v}, &slope);
    assert_near(gain_x[0], slope, 0.15);
    assert_near(gain_x[1], slope, 0.15);
    assert_near(y[0].mean, z.mean, 0.03);
  }
}

/* ---- graphs ---- */

static pz_graph *parsed(const char *text) {
  pz_graph *g = NULL;
  pz_error err = {0};
  if (pz_graph_parse(text, strlen(text), "test", &g, &err) != PZ_OK) fail_msg("%s", err.message);
  return g;
}

/* Of layer `name`; 0: nothing is expected. */
static double of_layer(const char *text, const char *name) {
  pz_graph *g = parsed(text);
  pz_arena *arena = pz_arena_new();
  const double *all;
  pz_error err = {0};
  assert_int_equal(pz_expect_error_propagation(g, arena, &all, &err), PZ_OK);
  const double is = all ? all[pz_graph_find_node(g, name)] : 0;
  pz_arena_free(arena);
  pz_graph_free(g);
  return is;
}

#define NETWORK(type, act)                                                                                   \
  "graph \"net\"\ninput %x 1x16x8x16x16" type "\nconst %w 32x16x3x3x3 = seed 1 scale 0.1\n"                  \
  "const %v 2x32x1x1x1 = seed 2 scale 0.3\n%f = cast \"f\" %x to f32\n"                                      \
  "%a = conv \"a\" %f, %w kernel 3,3,3 pad 1,1,1:1,1,1 act elu 1\n%y = conv \"y\" %a, %v act " act           \
  "\noutput %y\n"

/* Of floats, from -1 to 1, 1.5 times of what is calculated counts: all of an error where values have no mean; less where their mean adds up and
 * errors do not; and of a mean over n positions errors have 1/sqrt(n), values without a mean 1/n. */
static void test_floats(void **state) {
  (void)state;
#define FLOATS(act, then)                                                                                    \
  "graph \"g\"\ninput %x 1x1x99x99\nconst %w 1x1x1x1 = [1]\nconst %k 1x1x2x2 = [1 1 1 1]\n"                  \
  "%a = conv \"a\" %x, %w" act "\n%y = " then "\noutput %y\n"
  const double square = 1 / 6.0, mean = sqrt(1 / 3.0) / sqrt(2 * M_PI); /* behind relu */
  const double sum = 16 * mean * mean + 4 * (square - mean * mean);
  assert_near(of_layer(FLOATS("", "conv \"y\" %a, %k kernel 1,2,2"), "a"), 1.5, 1e-3);
  assert_near(of_layer(FLOATS(" act relu", "conv \"y\" %a, %k kernel 1,2,2"), "a"),
              1.5 * sqrt(4 / sum * 0.5 / 3), 1e-3);
  assert_near(of_layer(FLOATS("", "pool \"y\" %a kind ave kernel 1,9,9 stride 1,9,9"), "a"), 1.5 * 3, 1e-3);
}

/* Large values, whose sigmoid is 0 or 1 nearly everywhere: the few between have all of the error. Not so without a sigmoid. */
static void test_saturated(void **state) {
  (void)state;
  const double large = of_layer(NETWORK(" u8", "sigmoid"), "a"),
               small = of_layer(NETWORK(" u8 scale 0.001 zero_point 0", "sigmoid"), "a"),
               linear = of_layer(NETWORK(" u8", "relu"), "a");
  assert_true(large > 2 * small && large > 2 * linear);
}

/* Inputs with a large mean, which the layer's weights, +1 and -1, or a bias, or a norm take out again: the products are
 * larger than what is left of them. MARGIN is 2.5. */
static void test_cancelled_mean(void **state) {
  (void)state;
  static const char weights[] = "graph \"g\"\ninput %x 1x1x9x9 u8\nconst %w 1x1x1x2 = [1 -1]\n"
                                "%f = cast \"f\" %x to f32\n%a = conv \"a\" %f, %w kernel 1,1,2\noutput %a\n";
  static const char bias[] = "graph \"g\"\ninput %x 1x1x9x9 u8\nconst %w 1x1x1x1 = [1]\n"
                             "const %b 1 = [-127.5]\n%f = cast \"f\" %x to f32\n"
                             "%a = conv \"a\" %f, %w, %b\noutput %a\n";
  static const char norm[] = "graph \"g\"\ninput %x 1x1x9x9 u8\nconst %w 1x1x1x1 = [1]\n"
                             "%f = cast \"f\" %x to f32\n%a = conv \"a\" %f, %w\n"
                             "%y = group_norm \"y\" %a groups 1\noutput %y\n";
  const double one_sign = sqrt(127.5 * 127.5 + 255 * 255 / 12.0) / (255 / sqrt(12));
  assert_near(of_layer(weights, "a"), 2.5 * one_sign, 1e-3);
  assert_near(of_layer(bias, "a"), 2.5 * one_sign, 1e-3);
  assert_near(of_layer(norm, "a"), 2.5 * one_sign, 1e-3);
}

/* A mean that stays is larger than the noise: but the result is taken to have all of an error at least. */
static void test_attenuated(void **state) {
  (void)state;
  static const char mean[] = "graph \"g\"\ninput %x 1x1x99x99 u8\nconst %w 1x1x1x1 = [1]\n"
                             "const %k 1x1x3x3 = [1 1 1 1 1 1 1 1 1]\n"
                             "%f = cast \"f\" %x to f32\n%a = conv \"a\" %f, %w\n"
                             "%y = conv \"y\" %a, %k kernel 1,3,3\noutput %y\n";
  assert_true(of_layer(mean, "a") == 1);
}

/* ---- plans ---- */

static int bf16_layers(const char *text) {
  pz_graph *g = parsed(text);
  pz_plan *plan = NULL;
  pz_error err = {0};
  int n = 0;
  const pz_plan_options options = {.target = pz_target_as(PZ_ISA_AMX), .sized = true};
  if (pz_plan_new(g, &options, &plan, &err) != PZ_OK) fail_msg("%s", err.message);
  double squares = 0;
  for (pz_node_id i = 0; i < g->n_nodes; i++) {
    n += strstr(pz_plan_candidate(plan, i)->label, "bf16x2") != NULL;
    squares += pow(pz_plan_candidate(plan, i)->added, 2);
  }
  assert_true(squares <= 1e-10);
  pz_plan_free(plan);
  pz_graph_free(g);
  return n;
}

/* The layer has products of bf16 numbers where the result has as much of its error, and not where it has more. */
static void test_choice(void **state) {
  (void)state;
  assert_int_equal(bf16_layers(NETWORK("", "sigmoid")), 1);
  assert_int_equal(bf16_layers(NETWORK(" u8", "sigmoid")), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_relu),       cmocka_unit_test(test_sigmoid),
      cmocka_unit_test(test_constant),   cmocka_unit_test(test_greatest),
      cmocka_unit_test(test_softmax),    cmocka_unit_test(test_floats),
      cmocka_unit_test(test_saturated),  cmocka_unit_test(test_cancelled_mean),
      cmocka_unit_test(test_attenuated), cmocka_unit_test(test_choice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
