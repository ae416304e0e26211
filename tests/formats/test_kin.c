/* Close kin of the formats: archives of arrays, folders of slices, pairs, and what is refused by name. */
#include "files.h"
#include "make_zip.h"
#include "formats/kin.h"
#include "formats/zip.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

static fx_folder f;
static pz_error error;
static const char *at(const char *name) { return fx_path(&f, name); }

static void refused(const char *path, pz_status status, const char *says) {
  pz_volume *v;
  error = (pz_error){0};
  const pz_status got = pz_volume_open(path, &v, &error);
  if (got == PZ_OK) fail_msg("%s: read; expected: %s", path, says);
  if (got != status || !strstr(error.message, says))
    fail_msg("%d, expected \"%s\": %s", got, says, error.message);
}

/* ------------------------------------------------------------------ archives */

static void finish(zip *z, const char *path) {
  zip_finish(z);
  fx_write_file(path, z->bytes, z->n);
}

/* A .npy of u16 [c, z, y, x] that count up. */
enum { C = 3, Z = 5, Y = 4, X = 7, ALL = C * Z * Y * X };
static size_t array(char *out) {
  uint16_t *numbers = malloc(ALL * 2);
  const int n = snprintf(
      out + 10, 200, "{'descr': '<u2', 'fortran_order': False, 'shape': (%d, %d, %d, %d), }\n", C, Z, Y, X);
  memcpy(out, "\x93NUMPY\x01\0", 8);
  out[8] = (char)n, out[9] = 0;
  for (int i = 0; i < ALL; i++) numbers[i] = (uint16_t)(i * 3);
  memcpy(out + 10 + n, numbers, ALL * 2);
  free(numbers);
  return (size_t)n + 10 + ALL * 2;
}

static void expect_numbers(const char *path, int64_t portion) {
  pz_volume *v;
  uint16_t planes[ALL];
  error = (pz_error){0};
  if (pz_volume_open(path, &v, &error) != PZ_OK) fail_msg("%s", error.message);
  assert_true(v->info.channels == C && v->info.shape[0] == Z && v->info.shape[1] == Y &&
              v->info.shape[2] == X);
  for (int round = 0; round < 2; round++) /* a second pass begins anew */
    for (int64_t z = 0; z < Z; z += portion) {
      const int64_t n = portion < Z - z ? portion : Z - z;
      if (pz_volume_read_planes(v, z, n, planes, portion * Y * X * 2, &error) != PZ_OK)
        fail_msg("%s", error.message);
      for (int64_t c = 0; c < C; c++)
        for (int64_t i = 0; i < n * Y * X; i++)
          assert_int_equal(planes[c * portion * Y * X + i], ((c * Z + z) * Y * X + i) * 3);
    }
  fx_check_boxes(v, 8, (uint64_t)portion);
  pz_volume_close(v);
}

static void archives(void **state) {
  (void)state;
  char npy[4096];
  const size_t size = array(npy);
  for (int method = 0; method <= 8; method += 8)
    for (int zip64 = 0; zip64 < 2; zip64++) {
      zip z = {.zip64 = zip64};
      zip_add(&z, "notes.txt", "text", 4, 0);
      zip_add(&z, "a.npy", npy, size, method);
      finish(&z, at("a.npz"));
      for (int64_t portion = 1; portion <= Z; portion += 2) expect_numbers(at("a.npz"), portion);
      z = (zip){.zip64 = zip64};
      zip_add(&z, "b.npy", npy, 40, method);
      zip_add(&z, "deep/a.npy", npy, size, method);
      finish(&z, at("b.npz"));
      expect_numbers(at("b.npz:/deep/a"), 2);
      refused(at("b.npz"), PZ_ERROR_INPUT, "holds 2 arrays: b, deep/a; name the one to use");
      refused(at("b.npz:/c"), PZ_ERROR_INPUT, "holds no array \"c\", but b, deep/a");
    }
}

static void expect_refused(zip *z, const char *says) {
  fx_write_file(at("bad.npz"), z->bytes, z->n);
  error = (pz_error){0};
  assert_int_equal(fx_read_all(at("bad.npz"), 2, &error), PZ_ERROR_INPUT);
  if (!strstr(error.message, says)) fail_msg("expected \"%s\": %s", says, error.message);
}

static void bad_archives(void **state) {
  (void)state;
  char npy[4096];
  const size_t size = array(npy);
  zip good = {.zip64 = false}, z;
  zip_add(&good, "a.npy", npy, size, 0);
  finish(&good, at("good.npz"));
  const size_t central = good.n - 22 - good.directory;
  z = good, z.n -= 22;
  expect_refused(&z, "its directory is missing");
  z = good, z.bytes[central] = 'x';
  expect_refused(&z, "its directory is damaged");
  z = good, memset(z.bytes + central + 20, 0x7f, 4); /* stored bytes */
  expect_refused(&z, "lies outside of it");
  z = good, memset(z.bytes + central + 42, 0x7f, 4); /* place of the header */
  expect_refused(&z, "lies outside of it");
  z = good, memset(z.bytes + z.n - 22 + 16, 0x7f, 4); /* place of the directory */
  expect_refused(&z, "its directory lies outside");
  z = good, z.bytes[central + 8] = 1;
  expect_refused(&z, "is encrypted");
  z = good, z.bytes[central + 10] = 12;
  expect_refused(&z, "is compressed by method 12");
  z = good, z.bytes[central + 24] ^= 1; /* size of the content */
  expect_refused(&z, "of another size");
  z = (zip){.zip64 = false};
  zip_add(&z, "notes.txt", "text", 4, 0);
  finish(&z, at("bad.npz"));
  expect_refused(&z, "holds no array");
  /* every byte, every length: no crash, and never another result that counts as right */
  for (int method = 0; method <= 8; method += 8) {
    z = (zip){.zip64 = method == 8};
    zip_add(&z, "a.npy", npy, size, method);
    finish(&z, at("bad.npz"));
    for (size_t i = 0; i < z.n; i += method ? 1 : 3) {
      z.bytes[i] ^= 0x41;
      fx_write_file(at("bad.npz"), z.bytes, z.n);
      fx_read_all(at("bad.npz"), 2, NULL);
      z.bytes[i] ^= 0x41;
    }
    for (size_t n = 0; n < z.n; n += 7) {
      fx_write_file(at("bad.npz"), z.bytes, n);
      assert_int_equal(fx_read_all(at("bad.npz"), 2, NULL), PZ_ERROR_INPUT);
    }
  }
}

/* A byte of the content that is another one is found by the checksum. */
static void checksums(void **state) {
  (void)state;
  pz_volume_info info = fx_info(PZ_U16, 1, 6, 5, 4);
  char *data = fx_content(&info, 5), whole[4096];
  fx_save(at("one.npy"), &info, data);
  size_t size;
  char *npy = fx_file(at("one.npy"), &size);
  for (int method = 0; method <= 8; method += 8) {
    zip z = {.zip64 = false};
    memcpy(whole, npy, size);
    zip_add(&z, "a.npy", whole, size, method);
    finish(&z, at("sum.npz"));
    assert_int_equal(fx_read_all(at("sum.npz"), 4, NULL), PZ_OK);
    z.bytes[14] ^= 1, z.bytes[z.n - 22 - z.directory + 16] ^= 1; /* the checksum itself */
    fx_write_file(at("sum.npz"), z.bytes, z.n);
    error = (pz_error){0};
    assert_int_equal(fx_read_all(at("sum.npz"), 4, &error), PZ_ERROR_INPUT);
    assert_non_null(strstr(error.message, "the checksum of its member a.npy is another one"));
  }
  free(npy), free(data);
}

/* ------------------------------------------------------------------ folders */

static void write_slice(const char *name, int value, int wide, int pages) {
  uint8_t row[64];
  TIFF *t = TIFFOpen(at(name), "w");
  assert_non_null(t);
  for (int p = 0; p < pages; p++) {
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, wide);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, 3);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 3);
    for (int y = 0; y < 3; y++) {
      memset(row, value + y, sizeof row);
      TIFFWriteScanline(t, row, (uint32_t)y, 0);
    }
    TIFFWriteDirectory(t);
  }
  TIFFClose(t);
}

static void slices(void **state) {
  (void)state;
  char name[64];
  mkdir(at("seq"), 0777);
  for (int i = 8; i < 13; i++) { /* 9 before 10, whatever the names' order */
    snprintf(name, sizeof name, "seq/cut2_%d.tif", i);
    write_slice(name, 10 * i, 5, 1);
  }
  fx_write_file(at("seq/notes.txt"), "a", 1);
  fx_write_file(at("seq/.hidden.png"), "a", 1);
  pz_volume_info info;
  uint8_t *data = fx_load(at("seq"), &info);
  assert_true(info.shape[0] == 5 && info.shape[1] == 3 && info.shape[2] == 5 && info.channels == 1);
  for (int z = 0; z < 5; z++)
    for (int i = 0; i < 15; i++) assert_int_equal(data[z * 15 + i], 10 * (z + 8) + i / 5);
  free(data);
  data = fx_load(at("seq/"), &info);
  assert_int_equal(info.shape[0], 5);
  free(data);
  pz_volume *v;
  pz_axes_choice choice;
  assert_int_equal(pz_axes_choose("tyx", "t=3", &choice, NULL), PZ_OK);
  assert_int_equal(pz_volume_open_as(at("seq"), &choice, &v, NULL), PZ_OK);
  uint8_t plane[15];
  assert_true(v->info.shape[0] == 1 && pz_volume_read_planes(v, 0, 1, plane, 15, NULL) == PZ_OK &&
              plane[0] == 110);
  pz_volume_close(v);
  /* changed, or gone, while it is read */
  assert_int_equal(pz_volume_open(at("seq"), &v, NULL), PZ_OK);
  assert_int_equal(pz_volume_confirm(v, NULL, NULL), PZ_OK);
  write_slice("seq/cut2_9.tif", 1, 5, 1);
  error = (pz_error){0};
  assert_int_equal(pz_volume_confirm(v, NULL, &error), PZ_ERROR_INPUT);
  unlink(at("seq/cut2_9.tif"));
  assert_int_not_equal(pz_volume_read_planes(v, 1, 1, plane, 15, NULL), PZ_OK);
  pz_volume_close(v);
  refused(at("seq"), PZ_ERROR_INPUT, "slice 9 is missing, between cut2_8.tif and cut2_10.tif");
  write_slice("seq/cut2_9.tif", 1, 6, 1);
  refused(at("seq"), PZ_ERROR_INPUT, "cut2_9.tif: 6 x 3, 1 channels of u8, cut2_8.tif is 5 x 3");
  write_slice("seq/cut2_9.tif", 1, 5, 2);
  refused(at("seq"), PZ_ERROR_INPUT, "cut2_9.tif: has 2 planes");
  write_slice("seq/cut2_9.tif", 1, 5, 1);
  write_slice("seq/cut2_09.tif", 1, 5, 1);
  refused(at("seq"), PZ_ERROR_INPUT, "cut2_09.tif and cut2_9.tif have the same number");
  unlink(at("seq/cut2_09.tif"));
  write_slice("seq/cut3_9.tif", 1, 5, 1);
  refused(at("seq"), PZ_ERROR_INPUT, "differ in more than one number");
  unlink(at("seq/cut3_9.tif"));
  write_slice("seq/mask.tif", 1, 5, 1);
  refused(at("seq"), PZ_ERROR_INPUT, "differ in more than one number");
  unlink(at("seq/mask.tif"));
  fx_write_file(at("seq/cut2_13.png"), "a", 1);
  refused(at("seq"), PZ_ERROR_INPUT, "holds 5 .tif files, and cut2_13.png");
  mkdir(at("none"), 0777);
  refused(at("none"), PZ_ERROR_INPUT, "a folder without .tif files");
  fx_write_file(at("none/1.dcm"), "a", 1);
  refused(at("none"), PZ_ERROR_INPUT, "but with 1.dcm");
  mkdir(at("a.zarr"), 0777);
  refused(at("a.zarr"), PZ_ERROR_USAGE, "a Zarr folder, which is not read; use pznet infer");
}

/* ------------------------------------------------------------------ pairs, names, contents */

static void pairs(void **state) {
  (void)state;
  const pz_volume_info info = fx_info(PZ_I16, 2, 3, 4, 5);
  char *data = fx_content(&info, 7);
  pz_volume_info got;
  size_t size;
  fx_save(at("p.nii"), &info, data);
  char *bytes = fx_file(at("p.nii"), &size);
  refused(at("p.img"), PZ_ERROR_INPUT, "p.hdr: No such file");
  memcpy(bytes + 344, "ni1", 4);
  const float none = 0;
  memcpy(bytes + 108, &none, 4); /* vox_offset */
  fx_write_file(at("p.hdr"), bytes, 348);
  fx_write_file(at("p.img"), bytes + 352, size - 352);
  const char *const names[] = {"p.hdr", "p.img"};
  for (int i = 0; i < 2; i++) {
    char *back = fx_load(at(names[i]), &got);
    assert_true(got.channels == 2 && got.shape[0] == 3);
    assert_memory_equal(back, data, pz_volume_bytes(&info));
    free(back);
  }
  fx_write_file(at("p.img"), bytes + 352, size - 353);
  refused(at("p.hdr"), PZ_ERROR_INPUT, "p.img: truncated");
  fx_write_file(at("q.nii"), bytes, size);
  refused(at("q.nii"), PZ_ERROR_INPUT, "whatever its name says; give it a name that ends with .hdr");
  memset(bytes + 344, 0, 4);
  fx_write_file(at("p.hdr"), bytes, 348);
  refused(at("p.hdr"), PZ_ERROR_INPUT, "ANALYZE 7.5");
  free(bytes), free(data);
}

static void names(void **state) {
  (void)state;
  static const char *const list[][2] = {
      {"a.czi", "bfconvert in.czi out.ome.tif"},
      {"a.LIF", "a file of Leica"},
      {"a.mgz", "mri_convert in.mgz out.nii"},
      {"a.nrrd", "pip install 'pznet[medical]'"},
      {"a.mrc", "mrcfile.read(\"in.mrc\")"},
      {"a.dcm", "dcm2niix FOLDER"},
      {"a.ims", "which is HDF5"},
      {"a.mat", "scipy.io.loadmat"},
      {"a.png", "give a folder of .tif"},
      {"a.tif.gz", "gunzip"},
      {"a.zarr", "pip install 'pznet[zarr]'"},
      {"a.xyz", "unknown kind of volume; expected a name that ends with .h5:/dataset, .npz, .npy"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) refused(at(list[i][0]), PZ_ERROR_USAGE, list[i][1]);
  fx_write_file(at("x.h5"), "a", 1);
  char path[600]; /* is the dataset "raw", as ilastik names it */
  snprintf(path, sizeof path, "%s/raw", at("x.h5"));
  refused(path, PZ_ERROR_INPUT, "not an HDF5 file");
}

static void contents(void **state) {
  (void)state;
  static const struct {
    const char *name, *bytes;
    int n;
    const char *says;
  } list[] = {
      {"c.npy", "II*\0\10\0\0\0", 8,
       "its content is a TIFF file, whatever its name says; give it a name that ends with .tif"},
      {"c.tif", "\x93NUMPY\1\0", 8, "its content is a NumPy array"},
      {"c.tif", "\x89HDF\r\n\x1a\n", 8, "its content is an HDF5 file"},
      {"c.tif", "\x89PNG\r\n\x1a\n", 8, "its content is a PNG picture"},
      {"c.h5", "CDF\1....", 8, "its content is a file of NetCDF"},
      {"c.nii", "\x1f\x8b\10\0\0\0", 6, "its content is a compressed file (gzip)"},
      {"c.h5", "<!DOCTYPE html>", 15, "its content is a page of HTML"},
      {"c.tif", "version https://git-lfs.github.com/spec/v1", 42, "git lfs pull"},
      {"c.tif", "xyz", 3, "not a TIFF file"},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    fx_write_file(at(list[i].name), list[i].bytes, (size_t)list[i].n);
    refused(at(list[i].name), PZ_ERROR_INPUT, list[i].says);
  }
}

static int enter(void **state) { return (void)state, f = fx_enter(), TIFFSetWarningHandler(NULL), 0; }
static int leave(void **state) { return (void)state, fx_leave(&f), 0; }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(archives), cmocka_unit_test(bad_archives), cmocka_unit_test(checksums),
      cmocka_unit_test(slices),   cmocka_unit_test(pairs),        cmocka_unit_test(names),
      cmocka_unit_test(contents),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
