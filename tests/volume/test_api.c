/* pz_infer through the public header, with the network file that tests/runtime writes by hand: a 2D network of 5 x 7 that
 * gives 2 * input * input + 1. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void infer(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U8, 1, 4, 13, 17);
  uint8_t *data = fx_content(&info, 1);
  char in[600], out[600], *report = NULL, *json = NULL;
  snprintf(in, sizeof in, "%s", fx_path(&f, "in.tif"));
  fx_save(in, &info, data);
  size_t size[3];
  char *bytes[3];
  for (int threads = 1; threads <= 3; threads++) {
    const pz_infer_options o = {.overlap = {0, 2, 3}, .blend = PZ_BLEND_BUMP, .threads = threads};
    snprintf(out, sizeof out, "%s", fx_path(&f, "out.npy"));
    if (pz_infer(NETWORK, in, out, &o, &report) != PZ_OK) fail_msg("%s", pz_last_message());
    assert_non_null(strstr(report, "\"patches_run\": 64")); /* 4 x 4 x 4 */
    pz_free(report);
    bytes[threads - 1] = fx_file(out, &size[threads - 1]);
  }
  pz_volume_info got;
  float *result = fx_load(out, &got);
  for (int64_t i = 0; i < 4 * 13 * 17; i++) {
    const double v = data[i] / 255.0;
    assert_true(fabs(result[i] - (2 * v * v + 1)) <= 3e-6); /* floats up to 3, and a blend */
  }
  for (int i = 1; i < 3; i++) {
    assert_int_equal(size[0], size[i]);
    assert_memory_equal(bytes[0], bytes[i], size[0]);
  }
  assert_int_equal(pz_volume_describe(out, &json), PZ_OK);
  assert_non_null(strstr(json, "\"format\": \"npy\""));
  pz_free(json);
  for (int i = 0; i < 3; i++) free(bytes[i]);
  free(result), free(data);
  fx_leave(&f);
}

static void refusals(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U8, 2, 4, 13, 17);
  void *data = fx_content(&info, 1);
  fx_save(fx_path(&f, "in.tif"), &info, data);
  const struct {
    pz_infer_options o;
    const char *network, *in;
    pz_status status;
    const char *says;
  } cases[] = {
      {{.memory = 0}, NETWORK, "in.tif", PZ_ERROR_INPUT, "2 channels, the network takes 1"},
      {{.memory = 0}, NETWORK, "missing.tif", PZ_ERROR_INPUT, "missing.tif"},
      {{.memory = 0}, "/nowhere/net.so", "in.tif", PZ_ERROR_INPUT, "/nowhere/net.so"},
      {{.memory = -1}, NETWORK, "in.tif", PZ_ERROR_USAGE, "negative"},
      {{.blend = (pz_blend)9}, NETWORK, "in.tif", PZ_ERROR_USAGE, "enumeration"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *report = NULL;
    const pz_status status =
        pz_infer(cases[i].network, fx_path(&f, cases[i].in), fx_path(&f, "out.npy"), &cases[i].o, &report);
    if (status != cases[i].status || !strstr(pz_last_message(), cases[i].says))
      fail_msg("case %zu: %d %s", i, status, pz_last_message());
    assert_null(report);
    assert_false(fx_exists(fx_path(&f, "out.npy")));
  }
  char *json = NULL;
  assert_int_equal(pz_volume_describe(fx_path(&f, "missing.nii"), &json), PZ_ERROR_INPUT);
  assert_null(json);
  assert_int_equal(pz_infer(NULL, "a", "b", NULL, NULL), PZ_ERROR_USAGE);
  free(data);
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(infer), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
