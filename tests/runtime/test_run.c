#include "folder.h"
#include "fail_alloc.h"
#include "pznet/pznet.h"
#include "runtime/runtime.h"
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#define N 35

static pz_net *open_net(const char *path, int threads) {
  pz_net *net;
  if (pz_net_open(path, &(pz_net_options){.threads = threads}, &net) != PZ_OK)
    fail_msg("%s", pz_last_message());
  return net;
}

static pz_status run_once(pz_net *net, const float *in, float *out) {
  return pz_net_run(net, (const void *const[]){in}, (void *const[]){out});
}

/* 2*x*x + 1 is exact in float for these inputs. */
static void assert_result(const float *in, const float *out) {
  for (int i = 0; i < N; i++)
    if (out[i] != 2 * in[i] * in[i] + 1) fail_msg("element %d: %g of %g", i, out[i], in[i]);
}

static void any_number_of_threads(void **state) {
  (void)state;
  for (int threads = 1; threads <= 6; threads++) {
    pz_net *net = open_net(NET("good"), threads);
    for (int k = 0; k < 10; k++) {
      float in[N], out[N];
      for (int i = 0; i < N; i++) in[i] = (float)(i - k), out[i] = NAN;
      assert_int_equal(run_once(net, in, out), PZ_OK);
      assert_result(in, out);
    }
    pz_net_close(net);
  }
}

static void *run_often(void *arg) {
  pz_net *net = arg;
  uintptr_t failures = 0;
  for (int k = 0; k < 200; k++) {
    float in[N], out[N] = {0};
    for (int i = 0; i < N; i++) in[i] = (float)(k % 7 + i);
    failures += run_once(net, in, out) != PZ_OK;
    for (int i = 0; i < N; i++) failures += out[i] != 2 * in[i] * in[i] + 1;
  }
  return (void *)failures;
}

static void callers_wait_for_each_other(void **state) {
  (void)state;
  pz_net *net = open_net(NET("good"), 2);
  pthread_t callers[3];
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&callers[i], NULL, run_often, net), 0);
  for (int i = 0; i < 3; i++) {
    void *failures;
    pthread_join(callers[i], &failures);
    assert_null(failures);
  }
  pz_net_close(net);
}

static void running_allocates_nothing(void **state) {
  (void)state;
  pz_net *net = open_net(NET("good"), 2);
  float in[N] = {0}, out[N];
  pz_fail_alloc_at(1);
  pz_status status = run_once(net, in, out);
  long count = pz_fail_alloc_count();
  pz_fail_alloc_end();
  assert_int_equal(status, PZ_OK);
  assert_int_equal(count, 0);
  pz_net_close(net);
}

/* Rounding upwards would make 2*x*x of 0.1 another float; a denormal square would not be zero. */
static void floating_point_state_is_the_networks_own(void **state) {
  (void)state;
  pz_net *net = open_net(NET("good"), 2);
  float in[N], usual[N], upward[N];
  for (int i = 0; i < N; i++) in[i] = 0.1f * (float)(i + 1);
  assert_int_equal(run_once(net, in, usual), PZ_OK);
  fesetround(FE_UPWARD);
  pz_status status = run_once(net, in, upward);
  int after = fegetround();
  fesetround(FE_TONEAREST);
  assert_int_equal(status, PZ_OK);
  assert_int_equal(after, FE_UPWARD);
  assert_memory_equal(usual, upward, sizeof usual);
  pz_net_close(net);
}

/* The state is zero when a network is opened, kept from run to run, each net's own, and zero again when it is reset. */
static void state_is_kept(void **state) {
  (void)state;
  pz_net *net = open_net(NET("state"), 2), *other = open_net(NET("state"), 3),
         *none = open_net(NET("good"), 2);
  float in[N], out[N];
  assert_int_equal(pz_net_memory(net) - pz_net_memory(none), N * sizeof(float));
  for (int k = 0; k < 6; k++) {
    if (k == 4) pz_net_reset(net);
    for (int i = 0; i < N; i++) in[i] = (float)(i + 10 * k);
    assert_int_equal(run_once(net, in, out), PZ_OK);
    for (int i = 0; i < N; i++)
      assert_true(out[i] == 2 * in[i] * in[i] + 1 + (k == 0 || k == 4 ? 0 : in[i] - 10));
  }
  assert_int_equal(run_once(other, in, out), PZ_OK);
  assert_result(in, out);
  pz_net_reset(none); /* there is none: nothing to do */
  pz_net_close(net), pz_net_close(other), pz_net_close(none);
}

static void keep_square(void *host, int32_t step) {
  const float *arena = ((struct pz_net *)((void **)host)[0])->memory;
  if (step == 0) memcpy(((void **)host)[1], arena, N * sizeof(float));
}

static void observer_sees_tensors(void **state) {
  (void)state;
  pz_net *net = open_net(NET("good"), 2);
  float in[N], out[N], square[N] = {0};
  for (int i = 0; i < N; i++) in[i] = (float)i;
  void *host[] = {net, square};
  pz_abi_call call = {.inputs = (const void *const[]){in},
                      .outputs = (void *const[]){out},
                      .observe = keep_square,
                      .observe_host = host};
  assert_int_equal(pz_runtime_run(net, &call, NULL), PZ_OK);
  for (int i = 0; i < N; i++) assert_true(square[i] == in[i] * in[i]);
  pz_net_close(net);
}

static void wrong_buffers(void **state) {
  (void)state;
  pz_net *net = open_net(NET("good"), 1);
  float in[N] = {0}, out[N];
  assert_int_equal(run_once(net, NULL, out), PZ_ERROR_USAGE);
  assert_int_equal(run_once(net, in, NULL), PZ_ERROR_USAGE);
  assert_int_equal(pz_net_run(net, NULL, NULL), PZ_ERROR_USAGE);
  assert_int_equal(pz_net_profile(net, NULL, NULL, 1, NULL), PZ_ERROR_USAGE);
  pz_net_close(net);
}

static void failure_of_the_network(void **state) {
  (void)state;
  pz_net *net = open_net(NET("fails"), 1);
  float in[N] = {0}, out[N];
  pz_step_profile steps[2];
  assert_int_equal(run_once(net, in, out), PZ_ERROR_RUN);
  assert_non_null(strstr(pz_last_message(), "the network failed with 5"));
  assert_int_equal(pz_net_profile(net, (const void *const[]){in}, (void *const[]){out}, 3, steps),
                   PZ_ERROR_RUN);
  pz_net_close(net);
}

static void tiles_are_refused(void **state) {
  (void)state;
  pz_net *net = open_net(NET("no_tiles"), 1);
  float in[N] = {0}, out[N];
  assert_int_equal(run_once(net, in, out), PZ_ERROR_RUN);
  assert_non_null(
      strstr(pz_last_message(), "does not let this process use AMX: compile it again with --isa avx512"));
  pz_net_close(net);
}

static void forked_process_is_told(void **state) {
  (void)state;
  pz_net *net = open_net(NET("good"), 2);
  pid_t child = fork();
  if (child == 0) {
    float in[N] = {0}, out[N];
    alarm(60);
    pz_status status = run_once(net, in, out);
    pz_net_close(net);
    _exit(status == PZ_ERROR_RUN && strstr(pz_last_message(), "open it here") ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  pz_net_close(net);
}

/* The network reports 3000 ns and 5000 ns + its first input; see network.c. */
static void profile_gives_medians(void **state) {
  (void)state;
  pz_net *net = open_net(NET("good"), 2);
  float in[N] = {500}, out[N];
  pz_step_profile steps[2];
  const void *const inputs[] = {in};
  void *const outputs[] = {out};
  for (int runs = 1; runs <= 4; runs++) {
    memset(steps, 0, sizeof steps);
    assert_int_equal(pz_net_profile(net, inputs, outputs, runs, steps), PZ_OK);
    assert_string_equal(steps[0].name, "square");
    assert_string_equal(steps[1].op, "power");
    assert_string_equal(steps[1].algorithm, "by hand");
    assert_true(steps[0].multiply_adds == N && steps[0].bytes == 8 * N);
    assert_true(fabs(steps[0].seconds - 3.0e-6) < 1e-15);
    assert_true(fabs(steps[1].seconds - 5.5e-6) < 1e-15);
  }
  assert_int_equal(pz_net_profile(net, inputs, outputs, 0, steps), PZ_ERROR_USAGE);
  assert_int_equal(pz_net_profile(net, inputs, outputs, 1000001, steps), PZ_ERROR_USAGE);
  PZ_FAIL_EACH_ALLOC() {
    pz_status status = pz_net_profile(net, inputs, outputs, 2, steps);
    assert_int_equal(status, pz_fail_alloc_end() ? PZ_ERROR_MEMORY : PZ_OK);
  }
  pz_net_close(net);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_number_of_threads),
      cmocka_unit_test(callers_wait_for_each_other),
      cmocka_unit_test(running_allocates_nothing),
      cmocka_unit_test(floating_point_state_is_the_networks_own),
      cmocka_unit_test(state_is_kept),
      cmocka_unit_test(observer_sees_tensors),
      cmocka_unit_test(wrong_buffers),
      cmocka_unit_test(failure_of_the_network),
      cmocka_unit_test(forked_process_is_told),
      cmocka_unit_test(tiles_are_refused),
      cmocka_unit_test(profile_gives_medians),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
