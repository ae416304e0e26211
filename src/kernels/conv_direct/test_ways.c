/* A shape that takes a way which its file has not (kernels/ways.h) stops the process: nothing is computed without it. */
#define PZ_CONV_WAYS (1u << 8 /* PZ_CONV_WAY_EACH_GROUP */)
#include "kernels/conv_direct/direct.h"
#include "kernels/testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(PZ_CONV_WAYS == 1u << PZ_CONV_WAY_EACH_GROUP, "the mask above");

static const pz_view row = {1,   PZ_S,     1,        1,        2,        PZ_S, {0},
                            {0}, 2 * PZ_S, 2 * PZ_S, 2 * PZ_S, 2 * PZ_S, PZ_S, 0};

static void sum(const float *in, const float *weights, float *out) {
  const pz_conv_direct_shape shape = {.in = row,
                                      .out = row,
                                      .kernel = {1, 1, 1},
                                      .stride = {1, 1, 1},
                                      .dilation = {1, 1, 1},
                                      .groups = 1,
                                      .phases = 1,
                                      .kb = 1,
                                      .rw = 2,
                                      .rh = 1,
                                      .c_chunk = 1};
  pz_conv_direct(shape, in, weights, NULL, NULL, NULL, NULL, out, NULL, 0, 1);
}

static void a_way_that_is_not_there_stops_the_process(void **state) {
  (void)state;
  static float numbers[3][PZ_S * PZ_S + 2 * PZ_S] __attribute__((aligned(64)));
  int status = 0;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    signal(SIGILL, SIG_DFL);
    sum(numbers[0], numbers[1], numbers[2]);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
}

int main(void) {
  if (!pz_test_cpu()) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_way_that_is_not_there_stops_the_process)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
