/* HDF5 files that are checked with little memory, and files that are cut while they are opened. */
#include "cutter.h"
#include "files.h"
#include "formats/hdf5_check.h"
#include "formats/hdf5_find.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ a file with all kinds of indices */

enum { MANY = 300, OBJECTS = 4, TEXTS = 40, SIZES = 4 };

static hid_t make_chunked(hid_t at, const char *name, bool two_axes, hsize_t side) {
  const hsize_t dim[] = {side, side, 8}, chunk[] = {2, 2, 4}, most[] = {H5S_UNLIMITED, H5S_UNLIMITED, 8};
  const hid_t space = H5Screate_simple(3, dim, two_axes ? most : NULL), p = H5Pcreate(H5P_DATASET_CREATE);
  uint8_t *data = calloc(side * side, 8);
  for (hsize_t i = 0; i < side * side * 8; i++) data[i] = (uint8_t)(i * i >> 3);
  H5Pset_chunk(p, 3, chunk), H5Pset_deflate(p, 1);
  const hid_t d = H5Dcreate2(at, name, H5T_NATIVE_UINT8, space, H5P_DEFAULT, p, H5P_DEFAULT);
  assert_true(d >= 0 && H5Dwrite(d, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Pclose(p), H5Sclose(space), free(data);
  return d;
}

/* Texts of any length lie in heaps. */
static void put_text(hid_t at, int i) {
  char name[32];
  const char *text = "microscope";
  snprintf(name, sizeof name, "text %d", i);
  const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, H5T_VARIABLE);
  const hid_t a = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(a >= 0 && H5Awrite(a, type, &text) >= 0);
  H5Aclose(a), H5Sclose(space), H5Tclose(type);
}

static void make_file(const char *path, bool latest, hsize_t side) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t data = make_chunked(file, "data", false, side);
  for (int i = 0; i < TEXTS; i++) put_text(data, i);
  H5Dclose(data), H5Dclose(make_chunked(file, "grows", true, side));
  const hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  for (int i = 0; i < MANY; i++) {
    char name[64];
    snprintf(name, sizeof name, "a name of some length, number %d", i);
    H5Lcreate_soft("/data", group, name, H5P_DEFAULT, H5P_DEFAULT);
  }
  H5Gclose(group), H5Pclose(access);
  assert_true(H5Fclose(file) >= 0);
}

static void find_objects(const char *path, uint64_t at[OBJECTS]) {
  static const char *const names[OBJECTS] = {"/", "/data", "/grows", "/group"};
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  for (int i = 0; i < OBJECTS; i++) {
    H5O_info_t info;
    assert_true(H5Oget_info_by_name2(file, names[i], &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0);
    at[i] = info.addr;
  }
  H5Fclose(file);
}

/* ------------------------------------------------------------------ little memory */

typedef struct verdict {
  char words[OBJECTS + 1][1024], text[64];
} verdict;

static verdict judge(const char *path, const uint64_t at[OBJECTS], uint64_t most) {
  verdict v = {0};
  pz_view view;
  uint64_t root;
  assert_int_equal(pz_view_open(path, &view, NULL), PZ_OK);
  view.most = most;
  for (int i = 0; i <= OBJECTS; i++) {
    pz_error err = {0};
    pz_hdf5_about about = {0};
    const pz_status status = i < OBJECTS ? pz_hdf5_check_object(&view, "file", at[i], &about, &err)
                                         : pz_hdf5_check(&view, "file", &root, &err);
    snprintf(v.words[i], sizeof v.words[i], "%d %d %d %.900s", status, about.kind, about.plain_attributes,
             err.message);
  }
  pz_hdf5_find_text(&view, at[1], "text 3", v.text, sizeof v.text);
  assert_int_equal(view.fault, 0);
  pz_view_close(&view);
  return v;
}

/* What is kept does not change what is said, of sound files and of damaged ones. */
static void little_memory(void **state) {
  (void)state;
  for (int latest = 0; latest < 2; latest++) {
    const fx_folder f = fx_enter();
    uint64_t at[OBJECTS];
    size_t size;
    char path[600];
    snprintf(path, sizeof path, "%s", fx_path(&f, "a.h5"));
    make_file(path, latest, 40);
    find_objects(path, at);
    uint8_t *bytes = fx_file(path, &size);
    verdict all = judge(path, at, UINT64_MAX), none = judge(path, at, 1);
    for (int i = 0; i <= OBJECTS; i++)
      if (all.words[i][0] != '0' || none.words[i][0] != '0') fail_msg("%s, %s", all.words[i], none.words[i]);
    if (!latest) assert_string_equal(none.text, "microscope");
    int damaged = 0;
    for (size_t n = 0, i = 40; n < 200; n++, i = (i * 5 + 1237) % size) {
      const uint8_t old = bytes[i];
      bytes[i] ^= (uint8_t)(1u << n % 8);
      fx_write_file(path, bytes, size);
      bytes[i] = old;
      all = judge(path, at, UINT64_MAX), none = judge(path, at, 1);
      for (int k = 0; k <= OBJECTS; k++) {
        if (strcmp(all.words[k], none.words[k]) != 0) fail_msg("%s, but %s", all.words[k], none.words[k]);
        damaged += all.words[k][0] != '0';
      }
      assert_string_equal(all.text, none.text);
    }
    assert_true(damaged > 3);
    free(bytes);
    fx_leave(&f);
  }
}

/* ------------------------------------------------------------------ cut */

/* A line and no signal, at whichever read it comes. */
static void cut_while_read(const char *path, const void *bytes, size_t size) {
  int tries = 0, refused = 0;
  char dataset[700];
  snprintf(dataset, sizeof dataset, "%s:/data", path);
  for (bool cut = true; cut; tries++) {
    pz_error err = {0};
    fx_write_file(path, bytes, size);
    cutter_begin(path, tries / SIZES, (off_t)(tries % SIZES * (size / SIZES)));
    const pz_status status = fx_read_all(dataset, 2, &err);
    cut = cutter_end();
    refused += status != PZ_OK;
    if (status != PZ_OK && (status != PZ_ERROR_INPUT || !err.message[0] || strchr(err.message, '\n')))
      fail_msg("%d %s", status, err.message);
    assert_true(cut || status == PZ_OK);
  }
  assert_true(tries > SIZES && refused > 0);
}

static void cut_while_opened(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  size_t size;
  for (int latest = 0; latest < 2; latest++) {
    make_file(fx_path(&f, "all.h5"), latest, 120);
    void *bytes = fx_file(fx_path(&f, "all.h5"), &size);
    char path[600];
    snprintf(path, sizeof path, "%s", fx_path(&f, "a.h5"));
    cut_while_read(path, bytes, size);
    free(bytes);
  }
  fx_leave(&f);
}

/* The library opens by name, after the check. */
static void replaced(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  pz_error err = {0};
  pz_view view;
  make_file(fx_path(&f, "a.h5"), false, 8);
  make_file(fx_path(&f, "b.h5"), false, 8);
  assert_int_equal(pz_view_open(fx_path(&f, "a.h5"), &view, &err), PZ_OK);
  const char *const names[] = {"a.h5", "b.h5"};
  for (int i = 0; i < 2; i++) {
    const hid_t file = H5Fopen(fx_path(&f, names[i]), H5F_ACC_RDONLY, H5P_DEFAULT);
    const pz_hdf5_search search = {.file = file, .view = &view, .path = "a.h5", .err = &err};
    assert_int_equal(pz_hdf5_same_file(&search), i ? PZ_ERROR_INPUT : PZ_OK);
    H5Fclose(file);
  }
  assert_string_equal(err.message, "a.h5: was replaced while it was opened; run again");
  pz_view_close(&view);
  fx_leave(&f);
}

int main(void) {
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  const struct CMUnitTest tests[] = {cmocka_unit_test(little_memory), cmocka_unit_test(cut_while_opened),
                                     cmocka_unit_test(replaced)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
