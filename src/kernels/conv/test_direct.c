/* Random convolutions, specialised as the emitter does, against a loop in double precision. */
#define PZ_CONV_STRIP_POINTS 32 /* several strips even in small tensors */
#include "kernels/conv/direct.h"
#include "kernels/conv/test_conv.h"

#include "instances_direct.h"

static void test_random(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < sizeof instances / sizeof *instances; ++i) {
    conv_case t;
    conv_open(&t, &instances[i], 2 * i + 77, pz_conv_direct_weight_floats, pz_conv_direct_pack);
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
