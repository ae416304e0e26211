/* Elements of every type: their values in float, and the files that other programs write of them. */
#include "files.h"
#include "formats/convert.h"
#include "formats/io.h"
#include "formats/nifti_header.h"

#include <hdf5.h>
#include <math.h>
#include <nifti/nifti1.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

static float one(pz_dtype dtype, const void *v) {
  float out;
  pz_convert(dtype, v, 1, 0, 1, &out);
  return out;
}

/* ------------------------------------------------------------------ values */

/* All 65536 halves, by the definition. */
static void halves(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 65536; i++) {
    const uint16_t h = (uint16_t)i;
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    const float got = one(PZ_F16, &h);
    const bool nan = exponent == 31 && mantissa;
    double want = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    if (exponent == 31) want = INFINITY;
    assert_true(nan ? isnan(got) : got == (float)(h >> 15 ? -want : want));
    assert_true(nan || !signbit(got) == !(h >> 15));
    assert_int_equal(pz_find_not_finite(PZ_F16, &h, 1), exponent == 31 ? 0 : -1);
    assert_int_equal(pz_all_zero(PZ_F16, &h, 1), (h & 0x7fff) == 0);
  }
}

#define EXPECT(dtype, T, value, want)                                                                        \
  do {                                                                                                       \
    const T v_ = (value);                                                                                    \
    if (one(dtype, &v_) != (want)) fail_msg("%s: %a", #value, (double)one(dtype, &v_));                      \
  } while (0)

/* Rounded once, to the nearest, halves to even. By way of double the first two of 64 bits would be rounded twice. */
static void rounding(void **state) {
  (void)state;
  EXPECT(PZ_I64, int64_t, (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1, 0x1p60f + 0x1p37f);
  EXPECT(PZ_U64, uint64_t, (UINT64_C(1) << 60) + (UINT64_C(1) << 36) + 1, 0x1p60f + 0x1p37f);
  EXPECT(PZ_I64, int64_t, (INT64_C(1) << 60) + (INT64_C(1) << 36), 0x1p60f);
  EXPECT(PZ_I64, int64_t, INT64_MIN, -0x1p63f);
  EXPECT(PZ_U64, uint64_t, UINT64_MAX, 0x1p64f);
  EXPECT(PZ_I32, int32_t, 16777217, 16777216.f);
  EXPECT(PZ_I32, int32_t, -16777219, -16777220.f);
  EXPECT(PZ_U32, uint32_t, UINT32_MAX, 0x1p32f);
  EXPECT(PZ_I8, int8_t, -128, -128.f);
  EXPECT(PZ_F64, double, 1 + 0x1p-24 + 0x1p-50, 1 + 0x1p-23f);
  EXPECT(PZ_F64, double, 1 + 0x1p-24, 1.f);
  EXPECT(PZ_F64, double, 1e39, INFINITY);
  EXPECT(PZ_F64, double, -INFINITY, -INFINITY);
  EXPECT(PZ_BOOL, uint8_t, 1, 1.f);
  EXPECT(PZ_BOOL, uint8_t, 200, 1.f);
  EXPECT(PZ_BF16, uint16_t, 0x3fc0, 1.5f);
  EXPECT(PZ_BF16, uint16_t, 0xc2f7, -123.5f);
  EXPECT(PZ_BF16, uint16_t, 0x7f7f, 0x1.fep127f);
  EXPECT(PZ_BF16, uint16_t, 0xff80, -INFINITY);
}

/* Where a type has more digits than float, they are still there when the shift is taken. */
static void shifts(void **state) {
  (void)state;
  const int64_t large[] = {1000000000000001, 1000000000000003};
  const double close[] = {1e9 + 0.25, 1e9 + 0.5};
  float out[2];
  pz_convert(PZ_I64, large, 2, 1e15, 2, out);
  assert_true(out[0] == 0.5f && out[1] == 1.5f);
  pz_convert(PZ_F64, close, 2, 1e9, 0.5, out);
  assert_true(out[0] == 0.5f && out[1] == 1.f);
  pz_moments m = {0};
  pz_moments_add(&m, PZ_I64, large, 2);
  assert_true(m.n == 2 && m.mean == 1000000000000002 && m.m2 == 2);
}

/* The count is that of a plain comparison, for numbers of all sizes. */
static void rounded(void **state) {
  (void)state;
  enum { N = 2000 };
  static int64_t v[N];
  static double f[N];
  uint64_t seed = 3;
  int64_t want = 0, want_f = 0, first_want = -1, first = -1;
  for (int i = 0; i < N; i++) {
    v[i] = (int64_t)(fx_random(&seed) >> fx_between(&seed, 1, 63) << fx_between(&seed, 0, 40));
    if (i % 2) v[i] = v[i] == INT64_MIN ? v[i] : -v[i];
    const bool differs = (__int128)(float)v[i] != v[i];
    if (differs && first_want < 0) first_want = i;
    want += differs;
    f[i] = (double)v[i] / (i % 3 ? 1024 : 3);
    want_f += (double)(float)f[i] != f[i];
  }
  assert_true(want > N / 10 && want < N);
  assert_int_equal(pz_count_rounded(PZ_I64, v, N, &first), want);
  assert_int_equal(first, first_want);
  assert_int_equal(pz_count_rounded(PZ_F64, f, N, &first), want_f);
  const double never[] = {NAN, INFINITY, 0.5, -0x1p100};
  assert_int_equal(pz_count_rounded(PZ_F64, never, 4, &first), 0);
  const uint32_t edge[] = {1 << 24, (1 << 24) + 1, UINT32_MAX, 1u << 31};
  assert_int_equal(pz_count_rounded(PZ_U32, edge, 4, &first), 2);
  assert_int_equal(first, 1);
  char text[80];
  pz_describe_rounded(PZ_U32, &edge[1], text, sizeof text);
  assert_string_equal(text, "16777217 becomes 16777216");
  for (int d = 0; d < PZ_DTYPES; d++)
    assert_int_equal(pz_dtype_rounded((pz_dtype)d),
                     pz_dtype_bytes((pz_dtype)d) == 8 || d == PZ_U32 || d == PZ_I32);
}

static void not_finite(void **state) {
  (void)state;
  double v[] = {1, INFINITY, NAN, 2};
  assert_int_equal(pz_find_not_finite(PZ_F64, v, 4), 1);
  assert_int_equal(pz_find_not_finite(PZ_F64, v + 2, 2), 0);
  pz_zero_not_finite(PZ_F64, v, 4);
  assert_true(v[0] == 1 && v[1] == 0 && v[2] == 0 && v[3] == 2);
  uint16_t h[] = {0x7c00, 0xfe00, 0x3c00};
  assert_int_equal(pz_find_not_finite(PZ_F16, h, 3), 0);
  assert_int_equal(pz_find_not_finite(PZ_F16, h + 1, 2), 0);
  pz_zero_not_finite(PZ_F16, h, 3);
  assert_true(h[0] == 0 && h[1] == 0 && h[2] == 0x3c00);
  uint16_t b[] = {0x7f80, 0xffc0, 0x7f7f};
  assert_int_equal(pz_find_not_finite(PZ_BF16, b, 3), 0);
  assert_int_equal(pz_find_not_finite(PZ_BF16, b + 1, 2), 0);
  pz_zero_not_finite(PZ_BF16, b, 3);
  assert_true(b[0] == 0 && b[1] == 0 && b[2] == 0x7f7f);
  assert_int_equal(pz_find_not_finite(PZ_I64, v, 4), -1);
}

/* ------------------------------------------------------------------ files of others */

static const struct {
  pz_dtype dtype;
  const char *npy;
  int nifti, tiff_bits, tiff_format;
} rows[] = {{PZ_F32, "f4", 16, 32, 3}, {PZ_U8, "u1", 2, 8, 1},      {PZ_U16, "u2", 512, 16, 1},
            {PZ_I16, "i2", 4, 16, 2},  {PZ_I8, "i1", 256, 8, 2},    {PZ_U32, "u4", 768, 32, 1},
            {PZ_I32, "i4", 8, 32, 2},  {PZ_U64, "u8", 1280, 64, 1}, {PZ_I64, "i8", 1024, 64, 2},
            {PZ_F16, "f2", 0, 16, 3},  {PZ_F64, "f8", 64, 64, 3},   {PZ_BOOL, "b1", 0, 1, 1}};
enum { ROWS = sizeof rows / sizeof *rows, Z = 2, Y = 3, X = 5, N = Z * Y * X };

static void same(const char *path, const pz_volume_info *info, const void *data) {
  pz_volume_info got;
  void *back = fx_load(path, &got);
  if (got.dtype != info->dtype) fail_msg("%s: %s", path, pz_dtype_name(got.dtype));
  assert_memory_equal(got.shape, info->shape, sizeof got.shape);
  if (memcmp(back, data, (size_t)pz_volume_bytes(info))) fail_msg("%s: another content", path);
  free(back);
}

static void npy_of(const char *path, const char *code, bool big, const void *data, int64_t bytes) {
  char file[4096] = "\x93NUMPY\x01";
  const int n = snprintf(file + 10, sizeof file - 10,
                         "{'descr': '%c%s', 'fortran_order': False, 'shape': (%d, %d, %d), }",
                         big          ? '>'
                         : bytes == 1 ? '|'
                                      : '<',
                         code, Z, Y, X);
  file[8] = (char)n;
  memcpy(file + 10 + n, data, (size_t)(bytes * N));
  fx_write_file(path, file, (size_t)(10 + n + bytes * N));
}

static void npy(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  for (int i = 0; i < ROWS; i++)
    for (int big = 0; big < 2; big++) {
      const pz_volume_info info = fx_info(rows[i].dtype, 1, Z, Y, X);
      const int64_t bytes = pz_dtype_bytes(info.dtype);
      char *data = fx_content(&info, (uint64_t)i + 1), *stored = fx_content(&info, (uint64_t)i + 1);
      if (big) pz_io_swap(stored, N, bytes);
      npy_of(fx_path(&f, "a.npy"), rows[i].npy, big, stored, bytes);
      same(fx_path(&f, "a.npy"), &info, data);
      free(data), free(stored);
    }
  fx_leave(&f);
}

/* The type of tensors that files do not have: neither read by the name that it has here, nor made. */
static void brain(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_BF16, 1, Z, Y, X);
  const uint16_t data[N] = {0};
  pz_volume *v;
  pz_error err = {0};
  npy_of(fx_path(&f, "a.npy"), "h2", false, data, 2);
  assert_int_equal(pz_volume_open(fx_path(&f, "a.npy"), &v, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "dtype '<h2'; expected bool, integers"));
  err = (pz_error){0};
  assert_int_equal(pz_volume_check_info("a.npy", &info, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "elements of bf16; expected bool, integers"));
  pz_dtype dtype;
  assert_true(pz_dtype_find('f', 2, &dtype) && dtype == PZ_F16);
  fx_leave(&f);
}

/* A header of NIfTI-1, in the order of bytes of `big`. */
static void nifti_of(const char *path, int code, int bits, float slope, float inter, bool big,
                     const void *data, int64_t bytes) {
  nifti_1_header h = {.sizeof_hdr = 348, .dim = {3, X, Y, Z, 1, 1, 1, 1}, .datatype = (short)code};
  h.bitpix = (short)bits, h.vox_offset = 352, h.scl_slope = slope, h.scl_inter = inter;
  memcpy(h.magic, "n+1", 4);
  if (big) {
    pz_io_swap(&h.sizeof_hdr, 1, 4), pz_io_swap(h.dim, 8, 2), pz_io_swap(&h.datatype, 1, 2);
    pz_io_swap(&h.bitpix, 1, 2), pz_io_swap(&h.vox_offset, 1, 4);
    pz_io_swap(&h.scl_slope, 1, 4), pz_io_swap(&h.scl_inter, 1, 4);
  }
  char file[4096] = {0};
  memcpy(file, &h, sizeof h);
  memcpy(file + 352, data, (size_t)bytes);
  fx_write_file(path, file, (size_t)(352 + bytes));
}

static void nifti(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.nii");
  for (int i = 0; i < ROWS; i++)
    for (int big = 0; big < 2 && rows[i].nifti; big++) {
      const pz_volume_info info = fx_info(rows[i].dtype, 1, Z, Y, X);
      const int64_t bytes = pz_dtype_bytes(info.dtype);
      char *data = fx_content(&info, (uint64_t)i + 1), *stored = fx_content(&info, (uint64_t)i + 1);
      if (big) pz_io_swap(stored, N, bytes);
      nifti_of(path, rows[i].nifti, (int)bytes * 8, 1, 0, big, stored, bytes * N);
      same(path, &info, data);
      free(data), free(stored);
    }
  fx_leave(&f);
}

/* In double, then to float: as floats the two numbers would be the same. */
static void nifti_scaled(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.nii");
  int64_t large[N];
  double doubles[N];
  pz_volume_info got;
  for (int i = 0; i < N; i++) large[i] = (INT64_C(1) << 30) + i, doubles[i] = 0x1p30 + i;
  for (int kind = 0; kind < 2; kind++) {
    nifti_of(path, kind ? 64 : 1024, 64, 0.5f, -0x1p29f, false, kind ? (void *)doubles : large, sizeof large);
    float *back = fx_load(path, &got);
    assert_int_equal(got.dtype, PZ_F32);
    for (int i = 0; i < N; i++) assert_true(back[i] == (float)i / 2);
    free(back);
  }
  fx_leave(&f);
}

static void refuse(const char *path, const char *says) {
  pz_error err = {0};
  pz_volume *v;
  assert_int_equal(pz_volume_open(path, &v, &err), PZ_ERROR_INPUT);
  if (!strstr(err.message, says)) fail_msg("%s", err.message);
}

static void nifti_refusals(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.nii");
  static const char zeros[N * 32];
  const struct {
    int code, bits;
    const char *says;
  } cases[] = {{1, 1, "single bits"},
               {32, 64, "complex numbers"},
               {128, 24, "colours"},
               {2304, 32, "colours"},
               {1536, 128, "floats of 128 bits"},
               {3, 8, "datatype 3 (unknown)"},
               {1024, 32, "expected 64 for i64"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    nifti_of(path, cases[i].code, cases[i].bits, 1, 0, false, zeros, sizeof zeros);
    refuse(path, cases[i].says);
  }
  fx_leave(&f);
}

/* ------------------------------------------------------------------ TIFF */

static void fields(TIFF *t, int bits, int format) {
  TIFFSetField(t, TIFFTAG_IMAGEWIDTH, X);
  TIFFSetField(t, TIFFTAG_IMAGELENGTH, Y);
  TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, bits);
  TIFFSetField(t, TIFFTAG_SAMPLEFORMAT, format);
  TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, Y);
}

static void tiff(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.tif");
  for (int i = 0; i < ROWS; i++)
    for (int big = 0; big < 4 && rows[i].tiff_bits > 1; big++) {
      const pz_volume_info info = fx_info(rows[i].dtype, 1, Z, Y, X);
      const int64_t plane = pz_volume_plane_bytes(&info);
      char *data = fx_content(&info, (uint64_t)i + 1), copy[256];
      TIFF *t = TIFFOpen(path, big & 1 ? "wb" : "wl");
      for (int z = 0; z < Z; z++) {
        fields(t, rows[i].tiff_bits, rows[i].tiff_format);
        TIFFSetField(t, TIFFTAG_COMPRESSION, big & 2 ? COMPRESSION_ADOBE_DEFLATE : COMPRESSION_NONE);
        memcpy(copy, data + z * plane, (size_t)plane);
        assert_true(TIFFWriteEncodedStrip(t, 0, copy, plane) == plane);
        TIFFWriteDirectory(t);
      }
      TIFFClose(t);
      same(path, &info, data);
      free(data);
    }
  fx_leave(&f);
}

/* Pages of bits: 13 in a row, so that rows end within a byte; both orders of bits, strips and tiles; what is white is not
 * asked. */
static void tiff_bits(void **state) {
  (void)state;
  enum { W = 13, H = 5, TILE = 16 };
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.tif");
  uint8_t want[H * W], row[2 * TILE];
  uint64_t seed = 8;
  for (int i = 0; i < H * W; i++) want[i] = fx_random(&seed) & 1;
  for (int kind = 0; kind < 16; kind++) {
    const int tiled = kind & 1, order = kind & 2 ? FILLORDER_LSB2MSB : FILLORDER_MSB2LSB;
    TIFF *t = TIFFOpen(path, "w");
    fields(t, 1, SAMPLEFORMAT_UINT);
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, W), TIFFSetField(t, TIFFTAG_IMAGELENGTH, H);
    TIFFSetField(t, TIFFTAG_FILLORDER, order);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, kind & 4 ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t, TIFFTAG_COMPRESSION, kind & 8 ? COMPRESSION_PACKBITS : COMPRESSION_NONE);
    if (tiled) TIFFSetField(t, TIFFTAG_TILEWIDTH, TILE), TIFFSetField(t, TIFFTAG_TILELENGTH, TILE);
    memset(row, 0, sizeof row);
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) row[2 * y + x / 8] |= (uint8_t)(want[y * W + x] << (7 - x % 8));
    /* libtiff turns the bits while it writes */
    if (tiled) assert_true(TIFFWriteEncodedTile(t, 0, row, sizeof row) > 0);
    else {
      TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, H);
      assert_true(TIFFWriteEncodedStrip(t, 0, row, 2 * H) > 0);
    }
    TIFFClose(t);
    pz_volume_info got;
    uint8_t *back = fx_load(path, &got);
    assert_int_equal(got.dtype, PZ_BOOL);
    if (memcmp(back, want, sizeof want)) fail_msg("kind %d", kind);
    free(back);
  }
  fx_leave(&f);
}

/* ------------------------------------------------------------------ HDF5 */

static hid_t half_type(hid_t base) {
  const hid_t t = H5Tcopy(base);
  H5Tset_fields(t, 15, 10, 5, 0, 10), H5Tset_precision(t, 16), H5Tset_size(t, 2), H5Tset_ebias(t, 15);
  return t;
}

static hid_t bool_type(void) {
  const hid_t t = H5Tenum_create(H5T_STD_I8LE);
  const int8_t v[] = {0, 1};
  H5Tenum_insert(t, "FALSE", &v[0]), H5Tenum_insert(t, "TRUE", &v[1]);
  return t;
}

static void put(hid_t file, const char *name, hid_t type, bool chunked, const void *data) {
  const hsize_t dim[] = {Z, Y, X}, chunk[] = {1, 2, 3};
  const hid_t space = H5Screate_simple(3, dim, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
  if (chunked) H5Pset_chunk(p, 3, chunk), H5Pset_shuffle(p), H5Pset_deflate(p, 1);
  const hid_t d = H5Dcreate2(file, name, type, space, H5P_DEFAULT, p, H5P_DEFAULT);
  assert_true(d >= 0 && H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(d), H5Pclose(p), H5Sclose(space);
}

static void hdf5(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const hid_t types[ROWS][2] = {
      {H5T_IEEE_F32LE, H5T_IEEE_F32BE}, {H5T_STD_U8LE, H5T_STD_U8BE},
      {H5T_STD_U16LE, H5T_STD_U16BE},   {H5T_STD_I16LE, H5T_STD_I16BE},
      {H5T_STD_I8LE, H5T_STD_I8BE},     {H5T_STD_U32LE, H5T_STD_U32BE},
      {H5T_STD_I32LE, H5T_STD_I32BE},   {H5T_STD_U64LE, H5T_STD_U64BE},
      {H5T_STD_I64LE, H5T_STD_I64BE},   {half_type(H5T_IEEE_F32LE), half_type(H5T_IEEE_F32BE)},
      {H5T_IEEE_F64LE, H5T_IEEE_F64BE}, {bool_type(), bool_type()}};
  const char *path = fx_path(&f, "a.h5");
  for (int i = 0; i < ROWS; i++)
    for (int kind = 0; kind < 4; kind++) {
      const pz_volume_info info = fx_info(rows[i].dtype, 1, Z, Y, X);
      char *data = fx_content(&info, (uint64_t)i + 1), *stored = fx_content(&info, (uint64_t)i + 1);
      if (kind & 1) pz_io_swap(stored, N, pz_dtype_bytes(info.dtype));
      const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
      put(file, "a", types[i][kind & 1], kind & 2, stored);
      H5Fclose(file);
      same(path, &info, data);
      free(data), free(stored);
    }
  for (int big = 0; big < 2; big++) H5Tclose(types[9][big]), H5Tclose(types[11][big]);
  fx_leave(&f);
}

/* Of a chunk that was never written; the value has the file's order of bytes. */
static void hdf5_fill(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.h5");
  const hsize_t dim[] = {Z, Y, X}, chunk[] = {1, 2, 3};
  const double value = 0.1;
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(3, dim, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(p, 3, chunk), H5Pset_fill_value(p, H5T_NATIVE_DOUBLE, &value);
  H5Dclose(H5Dcreate2(file, "a", H5T_IEEE_F64BE, space, H5P_DEFAULT, p, H5P_DEFAULT));
  H5Pclose(p), H5Sclose(space), H5Fclose(file);
  pz_volume_info got;
  double *back = fx_load(path, &got);
  for (int i = 0; i < N; i++) assert_true(back[i] == 0.1);
  free(back);
  fx_leave(&f);
}

/* What is no number of a size that is known, to the last bit. */
static void hdf5_refusals(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const char *path = fx_path(&f, "a.h5");
  static const char zeros[N * 16];
  const hid_t odd = H5Tcopy(H5T_STD_U16LE), labels = H5Tenum_create(H5T_STD_I8LE);
  const int8_t values[] = {0, 1};
  H5Tset_precision(odd, 12);
  H5Tenum_insert(labels, "NO", &values[0]), H5Tenum_insert(labels, "YES", &values[1]);
  const struct {
    hid_t type;
    const char *says;
  } cases[] = {{odd, "an integer of 12 of 16 bits"},
               {labels, "an enumeration of 8 bits"},
               {H5T_STD_B8LE, "a bit field of 8 bits"},
               {H5T_NATIVE_LDOUBLE, "a float of"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put(file, "a", cases[i].type, false, zeros);
    H5Fclose(file);
    refuse(path, cases[i].says);
  }
  H5Tclose(odd), H5Tclose(labels);
  fx_leave(&f);
}

int main(void) {
  TIFFSetWarningHandler(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(halves),         cmocka_unit_test(rounding),   cmocka_unit_test(shifts),
      cmocka_unit_test(rounded),        cmocka_unit_test(not_finite), cmocka_unit_test(npy),
      cmocka_unit_test(brain),          cmocka_unit_test(nifti),      cmocka_unit_test(nifti_scaled),
      cmocka_unit_test(nifti_refusals), cmocka_unit_test(tiff),       cmocka_unit_test(tiff_bits),
      cmocka_unit_test(hdf5),           cmocka_unit_test(hdf5_fill),  cmocka_unit_test(hdf5_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
