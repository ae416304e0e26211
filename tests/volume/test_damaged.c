/* Damaged volumes: cut at every length, with every byte changed, and garbage. A reader answers with an error or with
 * data, never with a crash; under the sanitizers this is the whole claim. Files of the same size with other numbers in
 * their data are fine, so only cuts have to be errors. */
#include "fixture.h"

#include <hdf5.h>
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

/* ------------------------------------------------------------------ HDF5 */

/* Chunks with every known filter, in a group, with an attribute. */
static void chunked(const char *path) {
  const hsize_t dim[3] = {4, 6, 8}, chunk[3] = {2, 4, 4}, three = 3;
  const uint16_t data[4 * 6 * 8] = {1, 2, 3};
  const double size[3] = {1, 2, 3};
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
              p = H5Pcreate(H5P_DATASET_CREATE);
  const hid_t space = H5Screate_simple(3, dim, NULL), line = H5Screate_simple(1, &three, NULL);
  H5Pset_chunk(p, 3, chunk), H5Pset_shuffle(p), H5Pset_deflate(p, 6), H5Pset_fletcher32(p);
  const hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t d = H5Dcreate2(group, "x", H5T_STD_U16BE, space, H5P_DEFAULT, p, H5P_DEFAULT);
  const hid_t a = H5Acreate2(d, "element_size_um", H5T_IEEE_F64LE, line, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Dwrite(d, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  assert_true(H5Awrite(a, H5T_NATIVE_DOUBLE, size) >= 0);
  H5Aclose(a), H5Dclose(d), H5Gclose(group), H5Sclose(line), H5Sclose(space), H5Pclose(p), H5Fclose(file);
}

static void hdf5(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const uint8_t flips[] = {0x01, 0x80, 0xff};
  for (int kind = 0; kind < 2; kind++) {
    size_t size;
    uint8_t *bytes = sample(&f, "a.h5", &size);
    if (kind) chunked(fx_path(&f, "a.h5")), free(bytes), bytes = fx_file(fx_path(&f, "a.h5"), &size);
    pz_error none = {0};
    assert_int_equal(fx_read_all(fx_path(&f, "a.h5"), 2, &none), PZ_OK);
    for (size_t keep = 0; keep < size; keep += 7) {
      pz_error err = {0};
      fx_write_file(fx_path(&f, "a.h5"), bytes, keep);
      assert_int_equal(fx_read_all(fx_path(&f, "a.h5"), 2, &err), PZ_ERROR_INPUT);
      assert_non_null(strstr(err.message, "a.h5"));
    }
    for (size_t at = 0; at < size; at++) {
      pz_error err = {0};
      bytes[at] ^= flips[at % 3];
      fx_write_file(fx_path(&f, "a.h5"), bytes, size);
      bytes[at] ^= flips[at % 3];
      const pz_status status = fx_read_all(fx_path(&f, "a.h5"), 3, &err);
      assert_true(status == PZ_OK || status == PZ_ERROR_INPUT);
      assert_true((status == PZ_OK) == !err.message[0]);
    }
    free(bytes);
  }
  fx_leave(&f);
}

/* A checksum that does not fit is found, wherever in the stored chunk. */
static void hdf5_checksum(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  size_t size;
  chunked(fx_path(&f, "a.h5"));
  uint8_t *bytes = fx_file(fx_path(&f, "a.h5"), &size);
  const hid_t file = H5Fopen(fx_path(&f, "a.h5"), H5F_ACC_RDONLY, H5P_DEFAULT),
              d = H5Dopen2(file, "g/x", H5P_DEFAULT);
  const hsize_t origin[3] = {0, 0, 0};
  unsigned mask;
  haddr_t place;
  hsize_t stored;
  assert_true(H5Dget_chunk_info_by_coord(d, origin, &mask, &place, &stored) >= 0);
  H5Dclose(d), H5Fclose(file);
  for (hsize_t i = 0; i < stored; i++) {
    pz_error err = {0};
    bytes[place + i] ^= 0x10;
    fx_write_file(fx_path(&f, "a.h5"), bytes, size);
    bytes[place + i] ^= 0x10;
    assert_int_equal(fx_read_all(fx_path(&f, "a.h5"), 3, &err), PZ_ERROR_INPUT);
    assert_non_null(strstr(err.message, "the chunk at z = 0, y = 0, x = 0 is damaged"));
  }
  free(bytes);
  fx_leave(&f);
}

/* The library reads messages behind the last one that a header counts: here the layout, shorter than the shape. */
static void hdf5_uncounted(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const hsize_t dim[3] = {2, 2, 2};
  const hid_t file = H5Fcreate(fx_path(&f, "a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
              p = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, dim, NULL);
  H5Pset_layout(p, H5D_COMPACT);
  H5Dclose(H5Dcreate2(file, "x", H5T_STD_U16LE, space, H5P_DEFAULT, p, H5P_DEFAULT));
  H5O_info_t info;
  assert_true(H5Oget_info_by_name(file, "x", &info, H5P_DEFAULT) >= 0);
  H5Sclose(space), H5Pclose(p), H5Fclose(file);
  size_t size;
  uint8_t *bytes = fx_file(fx_path(&f, "a.h5"), &size), *header = bytes + info.addr;
  assert_true(header[16] == 1 && header[16 + 8 + 8] == 2); /* the shape comes first */
  header[2] = 1, header[16 + 8 + 8] = 200;
  fx_write_file(fx_path(&f, "a.h5"), bytes, size);
  pz_error err = {0};
  assert_int_equal(fx_read_all(fx_path(&f, "a.h5"), 200, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "shorter than its shape"));
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(cut),           cmocka_unit_test(changed_bytes),
                                     cmocka_unit_test(garbage),       cmocka_unit_test(hdf5),
                                     cmocka_unit_test(hdf5_checksum), cmocka_unit_test(hdf5_uncounted),
                                     cmocka_unit_test(no_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
