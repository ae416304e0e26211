/* Random depthwise convolutions, specialised as the emitter does, against a loop in double precision. */
#include "kernels/conv/depthwise.h"
#include "kernels/conv/test_conv.h"

#include "instances_depthwise.h"

static void test_random(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < sizeof instances / sizeof *instances; ++i) {
    conv_case t;
    conv_open(&t, &instances[i], 2 * i + 77, pz_conv_depthwise_weight_floats, pz_conv_depthwise_pack);
    bad += !conv_run(&t);
    conv_close(&t);
  }
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  if (!pz_test_cpu()) return 77;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
