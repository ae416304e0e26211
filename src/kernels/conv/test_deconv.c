/* Random deconvolutions, made of phases and specialised as the emitter does, against a loop in double precision. */
#define PZ_CONV_STRIP_POINTS 32 /* as gen_conv */
#include "kernels/conv/deconv.h"
#include "kernels/conv/direct.h"
#include "kernels/conv/schedule.h"
#include "kernels/conv/test_conv.h"

#include "instances_deconv.h"

#if PZ_S == 16 || defined(__AVX512VL__)
#define REGISTERS 32
#else
#define REGISTERS 16
#endif

/* All phases, each scheduled as the generator did, packed one behind the other; packed may be NULL. */
static int64_t pack_phases(const pz_conv_direct_shape *s, const float *weights, float *packed) {
  const pz_conv_machine machine = {.registers = REGISTERS, .l1 = 32 << 10, .l2 = 1 << 20};
  const pz_deconv_merge merge = pz_deconv_merges(s);
  int64_t floats = 0;
  for (int32_t i = 0; i < pz_deconv_phases(s, merge); ++i) {
    pz_deconv_phase p;
    if (!pz_deconv_phase_of(s, merge, i, &p)) continue;
    pz_conv_direct_schedule(&p.shape, &machine);
    if (packed) {
      float *plain = malloc((size_t)pz_deconv_weight_floats(&p) * sizeof *plain + 1);
      assert_non_null(plain);
      pz_deconv_weights(s, &p, weights, plain);
      pz_conv_direct_pack(&p.shape, plain, packed + floats);
      free(plain);
    }
    floats += (pz_conv_direct_weight_floats(&p.shape) + 15) / 16 * 16;
  }
  return floats;
}

static int64_t floats_of(const pz_conv_direct_shape *s) { return pack_phases(s, NULL, NULL); }
static void pack(const pz_conv_direct_shape *s, const float *weights, float *packed) {
  pack_phases(s, weights, packed);
}

static void test_random(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < sizeof instances / sizeof *instances; ++i) {
    conv_case t;
    conv_open(&t, &instances[i], 2 * i + 78, floats_of, pack);
    t.transposed = true;
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
