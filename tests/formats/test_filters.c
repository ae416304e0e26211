/* Datasets whose chunks went through filters: of HDF5, of h5py, of plug-ins; and what lies about them. */
#include "files.h"
#include "formats/hdf5_undo.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

enum { Z = 5, Y = 7, X = 9, N = Z * Y * X };

/* What is appended to the list of a dataset's filters. */
typedef struct kind {
  H5Z_filter_t id;
  size_t values;
  unsigned value[8];
} kind;

/* Chunks of 2 x 3 x 5 have parts outside; those of 5 x 7 x 9 are one. */
static hid_t plist_of(const kind *kinds, int n, bool whole) {
  const hsize_t chunk[] = {2, 3, 5}, all[] = {Z, Y, X};
  const hid_t p = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(p, 3, whole ? all : chunk);
  for (int i = 0; i < n; i++)
    assert_true(H5Pset_filter(p, kinds[i].id, H5Z_FLAG_OPTIONAL, kinds[i].values, kinds[i].value) >= 0);
  return p;
}

static hid_t create(const char *path, hid_t type, hid_t plist, hid_t *file) {
  const hsize_t dim[] = {Z, Y, X};
  *file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(3, dim, NULL);
  const hid_t d = H5Dcreate2(*file, "main", type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
  assert_true(d >= 0);
  H5Sclose(space);
  return d;
}

/* What the library itself reads is what is read here. */
static void as_the_library(const char *path, hid_t type, hid_t plist, const void *data, bool same) {
  hid_t file;
  hid_t d = create(path, type, plist, &file);
  assert_true(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(d), H5Fclose(file), H5Pclose(plist);
  pz_volume_info info;
  void *got = fx_load(path, &info), *want = malloc((size_t)pz_volume_bytes(&info));
  assert_true((int64_t)H5Tget_size(type) == pz_dtype_bytes(info.dtype));
  file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), d = H5Dopen2(file, "main", H5P_DEFAULT);
  const hid_t native = H5Tget_native_type(type, H5T_DIR_ASCEND);
  assert_true(H5Dread(d, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, want) >= 0);
  assert_memory_equal(got, want, (size_t)pz_volume_bytes(&info));
  if (same) assert_memory_equal(got, data, (size_t)pz_volume_bytes(&info));
  H5Tclose(native), H5Dclose(d), H5Fclose(file);
  free(got), free(want);
}

static hid_t type_of(int i) {
  const hid_t types[] = {H5T_STD_U8LE,  H5T_STD_I16LE,  H5T_STD_U16LE, H5T_STD_I32LE,  H5T_STD_U32LE,
                         H5T_STD_I64LE, H5T_STD_U64LE,  H5T_STD_I8LE,  H5T_IEEE_F32LE, H5T_IEEE_F64LE,
                         H5T_STD_I16BE, H5T_IEEE_F32BE, H5T_STD_I64BE};
  return i < (int)(sizeof types / sizeof *types) ? types[i] : -1;
}
enum { INTEGERS = 8, FLOATS = 10 };

/* Small steps around a value of the type's size, as images have them. */
static void *image(hid_t type, uint64_t seed) {
  static int64_t data[N];
  const size_t size = H5Tget_size(type);
  for (int i = 0; i < N; i++) {
    const int64_t v = fx_between(&seed, -50, 50) + (size > 1 ? 1000 : 60);
    const float f = (float)v / 8;
    const double d = (double)v / 8;
    char *to = (char *)data + (size_t)i * size;
    if (H5Tget_class(type) == H5T_FLOAT) memcpy(to, size == 4 ? (void *)&f : (void *)&d, size);
    else memcpy(to, &v, size);
  }
  return data;
}

/* ------------------------------------------------------------------ of HDF5 */

static void scale_offset(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.h5");
  const int64_t fill = 7;
  const double fill_float = 1.25;
  for (int t = 0; type_of(t) >= 0; t++)
    for (int how = 0; how < 8; how++) {
      const bool real = H5Tget_class(type_of(t)) == H5T_FLOAT;
      const hid_t p = plist_of(NULL, 0, how & 1);
      if (how & 2)
        H5Pset_fill_value(p, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64,
                          real ? (void *)&fill_float : (void *)&fill);
      /* integers in as many bits as they need, or all of them; floats to two or four digits */
      const int factor = real ? (how & 4 ? 4 : 2) : how & 4 ? (int)(8 * H5Tget_size(type_of(t))) : 0;
      assert_true(H5Pset_scaleoffset(p, real ? H5Z_SO_FLOAT_DSCALE : H5Z_SO_INT, factor) >= 0);
      if (how & 1) H5Pset_deflate(p, 4);
      as_the_library(path, type_of(t), p, image(type_of(t), (uint64_t)t), t < FLOATS && !real);
    }
  fx_leave(&f);
}

/* Values that need all the bits there are, and chunks of one value. */
static void scale_offset_extremes(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  int64_t data[N] = {0};
  for (int kind = 0; kind < 3; kind++) {
    data[3] = kind == 0 ? INT64_MAX : kind == 1 ? INT64_MIN : 0;
    data[N - 1] = kind == 0 ? INT64_MIN : 0;
    const hid_t p = plist_of(NULL, 0, kind & 1);
    H5Pset_scaleoffset(p, H5Z_SO_INT, 0);
    as_the_library(fx_path(&f, "a.h5"), H5T_STD_I64LE, p, data, true);
  }
  fx_leave(&f);
}

static bool szip_is_written(void) {
  unsigned about = 0;
  return H5Zfilter_avail(H5Z_FILTER_SZIP) > 0 && H5Zget_filter_info(H5Z_FILTER_SZIP, &about) >= 0 &&
         about & H5Z_FILTER_CONFIG_ENCODE_ENABLED;
}

static void szip(void **state) {
  (void)state;
  if (!szip_is_written()) skip();
  const fx_folder f = fx_enter();
  for (int t = 0; type_of(t) >= 0; t++)
    for (int how = 0; how < 4; how++) {
      const hid_t p = plist_of(NULL, 0, how & 1);
      assert_true(
          H5Pset_szip(p, how & 2 ? H5_SZIP_NN_OPTION_MASK : H5_SZIP_EC_OPTION_MASK, how & 1 ? 32 : 8) >= 0);
      as_the_library(fx_path(&f, "a.h5"), type_of(t), p, image(type_of(t), (uint64_t)t), t < FLOATS);
    }
  fx_leave(&f);
}

/* What the library stored, with bytes changed and cut off: a size or a refusal, nothing outside of the memory. */
static void szip_hostile(void **state) {
  (void)state;
  if (!szip_is_written()) skip();
  const fx_folder f = fx_enter();
  for (int t = 3; t < 9; t += 5) { /* as bytes that are put together, and as they are */
    const hid_t type = t == 3 ? H5T_STD_I32LE : H5T_STD_U16LE, p = plist_of(NULL, 0, true);
    hid_t file;
    assert_true(H5Pset_szip(p, H5_SZIP_NN_OPTION_MASK, 16) >= 0);
    const hid_t d = create(fx_path(&f, "a.h5"), type, p, &file);
    assert_true(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, image(type, 1)) >= 0);
    H5Fflush(file, H5F_SCOPE_LOCAL);
    const hsize_t first[3] = {0};
    hsize_t size = 0;
    uint32_t skipped;
    char stored[8 * N];
    pz_hdf5_filter filter = {.id = PZ_HDF5_SZIP};
    size_t values = PZ_HDF5_FILTER_VALUES;
    unsigned flags;
    const hid_t made = H5Dget_create_plist(d);
    H5Pget_filter2(made, 0, &flags, &values, filter.value, 0, NULL, NULL);
    filter.values = (int)values;
    assert_true(H5Dget_chunk_storage_size(d, first, &size) >= 0 && size < sizeof stored);
    assert_true(H5Dread_chunk(d, H5P_DEFAULT, first, &skipped, stored) >= 0 && !skipped);
    H5Pclose(made), H5Dclose(d), H5Pclose(p), H5Fclose(file);
    const int64_t bytes = N * (int64_t)H5Tget_size(type);
    assert_null(pz_hdf5_szip_problem(&filter, (int64_t)H5Tget_size(type)));
    uint64_t seed = 7;
    for (int i = 0; i < 3000; i++) {
      const int64_t n = i ? fx_between(&seed, 0, (int64_t)size) : (int64_t)size;
      char *from = malloc((size_t)n + !n), *to = malloc((size_t)bytes);
      memcpy(from, stored, (size_t)n);
      for (int k = 0; k < 3 && i && n; k++) from[fx_between(&seed, 0, n - 1)] = (char)fx_random(&seed);
      const int64_t got = pz_hdf5_undo_szip(&filter, from, n, to, bytes);
      assert_true(got == bytes || (got == -1 && i));
      if (!i) assert_memory_equal(to, image(type, 1), (size_t)bytes);
      free(from), free(to);
    }
  }
  fx_leave(&f);
}

/* nbit leaves what uses all its bits as it is. */
static void several(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  for (int t = 0; type_of(t) >= 0; t++)
    for (int how = 0; how < 4; how++) {
      const hid_t p = plist_of(NULL, 0, how & 1);
      if (how & 2) H5Pset_nbit(p);
      H5Pset_shuffle(p), H5Pset_deflate(p, 6), H5Pset_fletcher32(p);
      as_the_library(fx_path(&f, "a.h5"), type_of(t), p, image(type_of(t), (uint64_t)t), t < FLOATS);
    }
  fx_leave(&f);
}

/* ------------------------------------------------------------------ LZF */

/* Runs of at most 32 bytes, and copies of what came a distance before, where at least three bytes are the same. */
static int64_t lzf(const uint8_t *in, int64_t n, uint8_t *out) {
  uint8_t *begin = out, *run = NULL;
  for (int64_t i = 0; i < n;) {
    int64_t best = 0, from = 0;
    for (int64_t k = i > 8192 ? i - 8192 : 0; k < i; k++) {
      int64_t length = 0;
      while (i + length < n && length < 264 && in[k + length] == in[i + length]) length++;
      if (length > best) best = length, from = k;
    }
    if (best >= 3) {
      const int64_t distance = i - from - 1, length = best - 2;
      *out++ = (uint8_t)((length < 7 ? length : 7) << 5 | distance >> 8);
      if (length >= 7) *out++ = (uint8_t)(length - 7);
      *out++ = (uint8_t)distance;
      i += best, run = NULL;
    } else {
      if (!run || *run == 31) run = out, *out++ = 255;
      *run = (uint8_t)(*run + 1);
      *out++ = in[i++];
    }
  }
  return out - begin;
}

static void put_chunk(const char *path, hid_t type, const kind *kinds, int n, uint32_t skipped,
                      const void *bytes, size_t size) {
  const hsize_t first[3] = {0};
  hid_t file;
  const hid_t p = plist_of(kinds, n, true), d = create(path, type, p, &file);
  assert_true(H5Dwrite_chunk(d, H5P_DEFAULT, skipped, first, size, bytes) >= 0);
  H5Dclose(d), H5Pclose(p), H5Fclose(file);
}

static void lzf_of_h5py(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.h5");
  const kind kinds[] = {{PZ_HDF5_LZF, 3, {4, 0x0105, 2 * N}}};
  uint8_t stored[3 * N];
  const uint8_t *data = image(H5T_STD_I16LE, 1);
  pz_volume_info info;
  const int64_t size = lzf(data, 2 * N, stored);
  assert_true(size < 2 * N);
  put_chunk(path, H5T_STD_I16LE, kinds, 1, 0, stored, (size_t)size);
  void *got = fx_load(path, &info);
  assert_memory_equal(got, data, 2 * N);
  free(got);
  /* a chunk that would not shrink is stored as it is */
  put_chunk(path, H5T_STD_I16LE, kinds, 1, 1, data, 2 * N);
  got = fx_load(path, &info);
  assert_memory_equal(got, data, 2 * N);
  free(got);
  fx_leave(&f);
}

/* Of memory as large as it is said to be, so that a sanitizer sees what is read or written outside. */
static int64_t undo_lzf(const uint8_t *in, int64_t size, int64_t room) {
  char *from = malloc((size_t)size + !size), *to = malloc((size_t)room + !room);
  memcpy(from, in, (size_t)size);
  const int64_t got = pz_hdf5_undo_lzf(from, size, to, room);
  free(from), free(to);
  return got;
}

static void lzf_hostile(void **state) {
  (void)state;
  const uint8_t *data = image(H5T_STD_I16LE, 1);
  uint8_t stored[3 * N], copy[3 * N];
  const int64_t size = lzf(data, 2 * N, stored);
  uint64_t seed = 4;
  assert_int_equal(undo_lzf(stored, size, 2 * N), 2 * N);
  assert_int_equal(undo_lzf(stored, size, 2 * N - 1), -1);
  assert_int_equal(undo_lzf(stored, 0, 10), 0);
  assert_int_equal(undo_lzf((const uint8_t *)"\x20\0", 2, 10), -1);          /* a copy of what is not there */
  assert_int_equal(undo_lzf((const uint8_t *)"\0a\x20\1", 4, 10), -1);       /* from before the beginning */
  assert_int_equal(undo_lzf((const uint8_t *)"\0a\xe0\xff\0", 5, 265), 265); /* 264 times the same byte */
  assert_int_equal(undo_lzf((const uint8_t *)"\0a\xe0\xff\0", 5, 264), -1);
  assert_int_equal(undo_lzf((const uint8_t *)"\0a\xe0\xff", 4, 265), -1);
  for (int64_t n = 0; n < size; n++) assert_true(undo_lzf(stored, n, 2 * N) < 2 * N);
  for (int i = 0; i < 20000; i++) {
    memcpy(copy, stored, (size_t)size);
    for (int k = 0; k < 3; k++) copy[fx_between(&seed, 0, size - 1)] = (uint8_t)fx_random(&seed);
    assert_true(undo_lzf(copy, size, 2 * N) <= 2 * N);
  }
}

/* ------------------------------------------------------------------ parameters and chunks that lie */

static void refuse(const char *path, const char *says) {
  pz_error err = {0};
  assert_int_equal(fx_read_all(path, 3, &err), PZ_ERROR_INPUT);
  if (!strstr(err.message, says)) fail_msg("%s", err.message);
}

/* The parameters and the chunk as the library wrote them, with any of them changed. */
static void scale_offset_hostile(void **state) {
  (void)state;
  pz_hdf5_filter f = {.id = PZ_HDF5_SCALEOFFSET, .values = 20, .value = {2, 0, N, 0, 2, 1, 0, 0}};
  assert_null(pz_hdf5_scaleoffset_problem(&f, 2));
  uint8_t stored[21 + 2 * N] = {9, 0, 0, 0, 8};
  const int64_t size = 21 + (9 * N + 7) / 8;
  uint64_t seed = 6;
  char *out = malloc(2 * N);
  assert_int_equal(pz_hdf5_undo_scaleoffset(&f, 2, (char *)stored, size, out, 2 * N), 2 * N);
  assert_int_equal(pz_hdf5_undo_scaleoffset(&f, 2, (char *)stored, size - 1, out, 2 * N), -1);
  assert_int_equal(pz_hdf5_undo_scaleoffset(&f, 2, (char *)stored, size, out, 2 * N - 1), -1);
  assert_int_equal(pz_hdf5_undo_scaleoffset(&f, 2, (char *)stored, 20, out, 2 * N), -1);
  stored[0] = 17; /* more bits than an element has */
  assert_int_equal(pz_hdf5_undo_scaleoffset(&f, 2, (char *)stored, sizeof stored, out, 2 * N), -1);
  for (int i = 0; i < 20000; i++) {
    pz_hdf5_filter g = f;
    uint8_t *copy = malloc((size_t)size);
    for (int64_t k = 0; k < size; k++) copy[k] = (uint8_t)fx_random(&seed);
    copy[0] %= 20, copy[1] = copy[2] = copy[3] = 0;
    g.value[fx_between(&seed, 0, 9)] = (unsigned)fx_random(&seed) >> fx_between(&seed, 0, 31);
    if (!pz_hdf5_scaleoffset_problem(&g, 2)) pz_hdf5_undo_scaleoffset(&g, 2, (char *)copy, size, out, 2 * N);
    free(copy);
  }
  free(out);
  f.values = 9;
  assert_non_null(pz_hdf5_scaleoffset_problem(&f, 2));
}

static void wrong_parameters(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.h5");
  const kind cases[] = {{PZ_HDF5_SZIP, 4, {0, 3, 16, 30}},
                        {PZ_HDF5_SZIP, 4, {0, 8, 24, 30}},
                        {PZ_HDF5_SZIP, 4, {0, 8, 16, 4}},
                        {PZ_HDF5_SZIP, 4, {0, 8, 16, 1u << 31}},
                        {PZ_HDF5_SZIP, 2, {0, 8}},
                        {PZ_HDF5_SCALEOFFSET, 2, {2, 0}},
                        {PZ_HDF5_SCALEOFFSET, 8, {2, 0, N, 0, 4}},
                        {PZ_HDF5_NBIT, 2, {2, 0}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    /* the library checks parameters where a dataset is made, and puts its own in their place: another filter's number is
     * given and changed in the file */
    kind stand_in = cases[i];
    stand_in.id = 0x100 + cases[i].id;
    put_chunk(path, H5T_STD_I16LE, &stand_in, 1, 0, "0123456789", 10);
    size_t size;
    uint8_t *file = fx_file(path, &size);
    /* version 1, one filter, six bytes of nothing, the number */
    uint8_t *at = memmem(file, size, (uint8_t[]){1, 1, 0, 0, 0, 0, 0, 0, (uint8_t)cases[i].id, 1}, 10);
    assert_non_null(at);
    at[9] = 0;
    fx_write_file(path, file, size);
    free(file);
    refuse(path, "have wrong parameters for");
  }
  fx_leave(&f);
}

/* ------------------------------------------------------------------ plug-ins */

/* What test_plugin.c does with a chunk; 1: what a filter is for. */
enum { HONEST = 1, SHORT, LONG, LYING, FAILING, GROWING };

static void plugins(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.h5");
  uint8_t stored[2 * N];
  const uint8_t *data = image(H5T_STD_I16LE, 1);
  for (int i = 0; i < 2 * N; i++) stored[i] = data[i] ^ 0x5a;
  for (unsigned what = HONEST; what <= GROWING; what++) {
    const kind kinds[] = {{PLUGIN_ID, 1, {what}}};
    put_chunk(path, H5T_STD_I16LE, kinds, 1, 1, data, 2 * N); /* not applied while writing */
    put_chunk(path, H5T_STD_I16LE, kinds, 1, 0, stored, 2 * N);
    pz_volume_info info;
    if (what != HONEST && what != GROWING) {
      refuse(path, "is damaged");
      continue;
    }
    void *got = fx_load(path, &info);
    assert_memory_equal(got, data, 2 * N);
    free(got);
  }
  const kind absent[] = {{32015, 1, {1}}};
  put_chunk(path, H5T_STD_I16LE, absent, 1, 0, stored, 2 * N);
  refuse(path, "filter 32015 (zstd), whose plug-in is not installed");
  const kind unknown[] = {{300, 0, {0}}};
  put_chunk(path, H5T_STD_I16LE, unknown, 1, 0, stored, 2 * N);
  refuse(path, "filter 300 (unknown)");
  /* plug-ins that the user switched off are not loaded */
  const kind honest[] = {{PLUGIN_ID, 1, {HONEST}}};
  put_chunk(path, H5T_STD_I16LE, honest, 1, 0, stored, 2 * N);
  H5PLset_loading_state(0);
  refuse(path, "is not installed");
  H5PLset_loading_state(H5PL_ALL_PLUGIN);
  fx_leave(&f);
}

int main(void) {
  setenv("HDF5_PLUGIN_PATH", PLUGINS, 1);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scale_offset),
      cmocka_unit_test(scale_offset_extremes),
      cmocka_unit_test(szip),
      cmocka_unit_test(szip_hostile),
      cmocka_unit_test(several),
      cmocka_unit_test(lzf_of_h5py),
      cmocka_unit_test(lzf_hostile),
      cmocka_unit_test(scale_offset_hostile),
      cmocka_unit_test(wrong_parameters),
      cmocka_unit_test(plugins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
