/* Damaged volumes: cut at every length, with every byte changed, and garbage. A reader answers with an error or with
 * data, never with a crash; under the sanitizers this is the whole claim. Files of the same size with other numbers in
 * their data are fine, so only cuts have to be errors. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {"a.npy", "a.tif", "a.nii", "a.nii.gz"};
enum { NAMES = sizeof names / sizeof *names };

static uint8_t *sample(const fx_folder *f, const char *name, size_t *size) {
  const pz_volume_info info = fx_info(PZ_U16, 1, 3, 5, 6);
  void *data = fx_content(&info, 1);
  fx_save(fx_path(f, name), &info, data);
  free(data);
  return fx_file(fx_path(f, name), size);
}

static void cut(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  for (int n = 0; n < NAMES; n++) {
    size_t size;
    uint8_t *bytes = sample(&f, names[n], &size);
    for (size_t keep = 0; keep < size; keep++) {
      pz_error err = {0};
      fx_write_file(fx_path(&f, names[n]), bytes, keep);
      const pz_status status = fx_read_all(fx_path(&f, names[n]), 2, &err);
      if (status != PZ_ERROR_INPUT)
        fail_msg("%s cut at %zu of %zu: %d %s", names[n], keep, size, status, err.message);
      assert_non_null(strstr(err.message, names[n]));
      assert_null(strchr(err.message, '\n'));
    }
    free(bytes);
  }
  fx_leave(&f);
}

static void changed_bytes(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const uint8_t flips[] = {0x01, 0x80, 0xff};
  for (int n = 0; n < NAMES; n++) {
    size_t size;
    uint8_t *bytes = sample(&f, names[n], &size);
    for (size_t at = 0; at < size; at++)
      for (int i = 0; i < 3; i++) {
        pz_error err = {0};
        bytes[at] ^= flips[i];
        fx_write_file(fx_path(&f, names[n]), bytes, size);
        bytes[at] ^= flips[i];
        const pz_status status = fx_read_all(fx_path(&f, names[n]), 3, &err);
        assert_true(status == PZ_OK || status == PZ_ERROR_INPUT);
        assert_true((status == PZ_OK) == !err.message[0]);
      }
    free(bytes);
  }
  fx_leave(&f);
}

static void garbage(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  uint64_t seed = 1;
  const char *const all[] = {"a.npy", "a.tif", "a.nii", "a.nii.gz", "a.h5"};
  for (int n = 0; n < 5; n++)
    for (int round = 0; round < 50; round++) {
      uint8_t bytes[700];
      pz_error err = {0};
      const size_t size = round == 0 ? 0 : (size_t)fx_between(&seed, 1, sizeof bytes);
      for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)fx_random(&seed);
      fx_write_file(fx_path(&f, all[n]), bytes, size);
      assert_int_equal(fx_read_all(fx_path(&f, all[n]), 1, &err), PZ_ERROR_INPUT);
      assert_non_null(strstr(err.message, all[n]));
    }
  fx_leave(&f);
}

/* HDF5 files, cut. The library's own parser of damaged files is not ours to test byte by byte; see doc/volumes.md. */
static void cut_hdf5(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  size_t size;
  uint8_t *bytes = sample(&f, "a.h5", &size);
  for (size_t keep = 0; keep < size; keep += 7) {
    pz_error err = {0};
    fx_write_file(fx_path(&f, "a.h5"), bytes, keep);
    assert_int_equal(fx_read_all(fx_path(&f, "a.h5:/main"), 2, &err), PZ_ERROR_INPUT);
    assert_non_null(strstr(err.message, "a.h5"));
  }
  free(bytes);
  fx_leave(&f);
}

static void no_files(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *const all[] = {"a.npy", "a.tif", "a.nii", "a.nii.gz", "a.h5"};
  for (int n = 0; n < 5; n++)
    for (int kind = 0; kind < 2; kind++) {
      pz_error err = {0};
      char path[600];
      snprintf(path, sizeof path, "%s", fx_path(&f, all[n]));
      if (kind) assert_int_equal(symlink(f.path, path), 0); /* a folder */
      assert_int_equal(fx_read_all(path, 1, &err), PZ_ERROR_INPUT);
      assert_non_null(strstr(err.message, kind ? "not a regular file" : "No such file"));
    }
  fx_leave(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cut), cmocka_unit_test(changed_bytes),
                                     cmocka_unit_test(garbage), cmocka_unit_test(cut_hdf5),
                                     cmocka_unit_test(no_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
