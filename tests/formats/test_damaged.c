/* Damaged volumes: cut at every length, with every byte changed, and garbage. A reader answers with an error or with
 * data, never with a crash; under the sanitizers this is the whole claim. Files of the same size with other numbers in
 * their data are fine, so only cuts have to be errors. */
#include "formats/hdf5_sum.h"
#include "files.h"

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
        if (status != PZ_OK && status != PZ_ERROR_INPUT)
          fail_msg("%s, byte %zu ^ %02x: %d %s", names[n], at, flips[i], status, err.message);
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
    assert_non_null(strstr(err.message, "the chunk at [0, 0, 0] is damaged"));
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
  assert_true(header[16] == 1 && header[16 + 8 + 8] == 2);              /* the shape comes first */
  header[2] = 1, header[16 + 8 + 8] = header[16 + 8 + 8 + 3 * 8] = 200; /* as large as it may be */
  fx_write_file(fx_path(&f, "a.h5"), bytes, size);
  pz_error err = {0};
  assert_int_equal(fx_read_all(fx_path(&f, "a.h5"), 200, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "shorter than its shape"));
  free(bytes);
  fx_leave(&f);
}

/* A type that differs from one of volumes in its padding alone, whose chunk inflates to nothing: the library, which reads
 * behind that, is not asked for its values. */
static void hdf5_odd_type(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const uint8_t nothing[] = {0x78, 0x9c, 0x03, 0, 0, 0, 0, 1}; /* zlib's stream of no bytes */
  const hsize_t dim[3] = {4, 6, 8}, first[3] = {0};
  const hid_t file = H5Fcreate(fx_path(&f, "a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
              p = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, dim, NULL),
              type = H5Tcopy(H5T_STD_I16BE);
  H5Tset_pad(type, H5T_PAD_ONE, H5T_PAD_ZERO);
  H5Pset_chunk(p, 3, dim), H5Pset_deflate(p, 6);
  const hid_t d = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, p, H5P_DEFAULT),
              e = H5Dcreate2(file, "e", H5T_STD_I16BE, space, H5P_DEFAULT, p, H5P_DEFAULT);
  assert_true(H5Dwrite_chunk(d, H5P_DEFAULT, 0, first, sizeof nothing, nothing) >= 0);
  assert_true(H5Dwrite_chunk(e, H5P_DEFAULT, 0, first, sizeof nothing, nothing) >= 0);
  H5Dclose(d), H5Dclose(e), H5Tclose(type), H5Sclose(space), H5Pclose(p), H5Fclose(file);
  pz_error err = {0};
  assert_int_equal(fx_read_all(fx_path(&f, "a.h5:/d"), 4, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "an integer of 16 bits in an unusual form"));
  err = (pz_error){0};
  assert_int_equal(fx_read_all(fx_path(&f, "a.h5:/e"), 4, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "is damaged: it has the wrong size"));
  fx_leave(&f);
}

/* The later format: every kind of index of chunks, many links, many attributes. */
static void later(const char *path) {
  const hsize_t dim[3] = {4, 6, 8}, chunk[3] = {2, 3, 4}, three = 3;
  const uint16_t data[4 * 6 * 8] = {1, 2, 3};
  const double size[3] = {1, 2, 3};
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), line = H5Screate_simple(1, &three, NULL);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (int i = 0; i < 10; i++) {
    const hsize_t most[3] = {i % 5 < 2 ? 4 : H5S_UNLIMITED, i % 5 < 3 ? 6 : H5S_UNLIMITED, 8};
    const char name[2] = {(char)('0' + i), 0};
    const hid_t p = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, dim, most);
    H5Pset_chunk(p, 3, i % 5 == 0 ? dim : chunk);
    if (i >= 5) H5Pset_deflate(p, 6);
    if (i == 4) H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY);
    const hid_t d = H5Dcreate2(file, name, H5T_STD_U16LE, space, H5P_DEFAULT, p, H5P_DEFAULT);
    assert_true(H5Dwrite(d, H5T_STD_U16LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    for (int k = 0; k < (i == 1 ? 9 : 1); k++) {
      char attribute[] = "element_size_um";
      if (k) attribute[0] = (char)('0' + k);
      const hid_t a = H5Acreate2(d, attribute, H5T_IEEE_F64LE, line, H5P_DEFAULT, H5P_DEFAULT);
      assert_true(H5Awrite(a, H5T_NATIVE_DOUBLE, size) >= 0);
      H5Aclose(a);
    }
    H5Dclose(d), H5Sclose(space), H5Pclose(p);
  }
  H5Sclose(line), H5Pclose(access), H5Fclose(file);
}

/* A block: its bytes, the place of its checksum, which counts as 0 where it is inside. */
typedef struct summed {
  size_t at, size, sum;
} summed;

static void sum_up(uint8_t *bytes, const summed *b) {
  if (b->sum < b->at + b->size) memset(bytes + b->sum, 0, 4);
  const uint32_t sum = pz_hdf5_lookup3(bytes + b->at, b->size);
  for (int i = 0; i < 4; i++) bytes[b->sum + (size_t)i] = (uint8_t)(sum >> 8 * i);
}

/* Blocks are found by their names, their sizes by their checksums. */
static bool find_sum(uint8_t *bytes, size_t size, size_t at, summed *b) {
  uint8_t stored[4];
  if (memcmp(bytes + at, "FHDB", 4) == 0) {
    *b = (summed){at, 512, at + 17};
    return true;
  }
  for (size_t n = 8; n < 3000 && at + n + 4 <= size; n++) {
    const uint32_t sum = pz_hdf5_lookup3(bytes + at, n);
    for (int i = 0; i < 4; i++) stored[i] = (uint8_t)(sum >> 8 * i);
    *b = (summed){at, n, at + n};
    if (memcmp(stored, bytes + at + n, 4) == 0) return true;
  }
  return false;
}

/* Files whose checksums fit are not sound for that: one byte of a block is changed, and its checksum with it. */
static void hdf5_summed(void **state) {
  (void)state;
  static const char names[][5] = {"OHDR", "OCHK", "FAHD", "FADB", "EAHD", "EAIB", "BTHD",
                                  "BTLF", "FRHP", "FHDB", "FHIB", "BTIN", "EADB", "EASB"};
  const uint8_t flips[] = {0x01, 0x80, 0xff, 0x04};
  const fx_folder f = fx_enter();
  size_t size;
  unsigned found = 0;
  later(fx_path(&f, "a.h5"));
  uint8_t *bytes = fx_file(fx_path(&f, "a.h5"), &size), *copy = malloc(size);
  for (int i = 0; i < 10; i++) {
    char name[] = "a.h5:/0";
    pz_error err = {0};
    name[6] = (char)('0' + i);
    if (fx_read_all(fx_path(&f, name), 4, &err) != PZ_OK) fail_msg("%s: %s", name, err.message);
  }
  for (size_t at = 0; at + 4 < size; at++)
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
      summed b;
      if (memcmp(bytes + at, names[n], 4) != 0 || !find_sum(bytes, size, at, &b)) continue;
      found |= 1u << n;
      for (size_t i = 4; i < b.size; i++) {
        char name[] = "a.h5:/0";
        pz_error err = {0};
        memcpy(copy, bytes, size);
        copy[at + i] ^= flips[(at + i) % 4];
        sum_up(copy, &b);
        fx_write_file(fx_path(&f, "a.h5"), copy, size);
        for (int k = 0; k < 10; k++) {
          name[6] = (char)('0' + k);
          err = (pz_error){0};
          const pz_status status = fx_read_all(fx_path(&f, name), 4, &err);
          assert_true(status == PZ_OK || status == PZ_ERROR_INPUT);
          assert_true((status == PZ_OK) == !err.message[0]);
          assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0); /* all is closed */
        }
      }
    }
  assert_true((found & 0x3fd) == 0x3fd); /* all up to FHDB, but for OCHK */
  free(bytes), free(copy);
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
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cut),           cmocka_unit_test(changed_bytes), cmocka_unit_test(garbage),
      cmocka_unit_test(hdf5),          cmocka_unit_test(hdf5_checksum), cmocka_unit_test(hdf5_uncounted),
      cmocka_unit_test(hdf5_odd_type), cmocka_unit_test(hdf5_summed),   cmocka_unit_test(no_files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
