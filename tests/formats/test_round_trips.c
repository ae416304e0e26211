#include "files.h"
#include "formats/nifti_header.h"

#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <zlib.h>

static const char *const names[] = {"a.npy", "a.h5:/main", "a.h5:/deep/er", "a.hdf5",
                                    "a.tif", "a.TIFF",     "a.nii",         "a.nii.gz"};
enum { NAMES = sizeof names / sizeof *names };

static bool equal_infos(const pz_volume_info *a, const pz_volume_info *b) {
  return a->dtype == b->dtype && a->channels == b->channels &&
         memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

/* NIfTI has neither halves nor bools, and TIFF's bools are bits, which are not written. */
static bool holds(const char *name, pz_dtype dtype) {
  if (strstr(name, ".nii")) return dtype != PZ_F16 && dtype != PZ_BOOL;
  return dtype != PZ_BOOL || !strcasestr(name, ".tif");
}

/* Every format, dtype and number of channels; read whole and in portions. */
static void round_trip(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  uint64_t seed = 1;
  for (int n = 0; n < NAMES; n++)
    for (int dtype = PZ_F32; dtype < PZ_FILE_DTYPES; dtype++)
      for (int channels = holds(names[n], (pz_dtype)dtype) ? 1 : 5; channels <= 3; channels += 2) {
        pz_volume_info got, info = fx_info((pz_dtype)dtype, channels, fx_between(&seed, 1, 6),
                                           fx_between(&seed, 1, 9), fx_between(&seed, 1, 9));
        char *data = fx_content(&info, seed), *back;
        fx_save(fx_path(&f, names[n]), &info, data);
        back = fx_load(fx_path(&f, names[n]), &got);
        assert_true(equal_infos(&info, &got));
        assert_memory_equal(data, back, pz_volume_bytes(&info));
        /* one plane, backwards, into the middle of a larger buffer */
        pz_volume *v;
        const int64_t plane = pz_volume_plane_bytes(&info);
        assert_int_equal(pz_volume_open(fx_path(&f, names[n]), &v, NULL), PZ_OK);
        for (int64_t z = info.shape[0] - 1; z >= 0; z--) {
          memset(back, 7, (size_t)(channels * plane));
          assert_int_equal(pz_volume_read_planes(v, z, 1, back, plane, NULL), PZ_OK);
          for (int c = 0; c < channels; c++)
            assert_memory_equal(back + c * plane, data + (c * info.shape[0] + z) * plane, plane);
        }
        pz_volume_close(v);
        free(data), free(back);
      }
  fx_leave(&f);
}

static void voxel_sizes(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  pz_volume_info got, info = fx_info(PZ_U8, 1, 3, 4, 5);
  void *data = fx_content(&info, 1);
  const double size[3] = {0.5, 0.25, 0.125};
  pz_geometry_set_voxel(&info.geometry, PZ_KNOWN_ALL, size, "um");
  for (int n = 1; n < NAMES; n++) {
    fx_save(fx_path(&f, names[n]), &info, data);
    free(fx_load(fx_path(&f, names[n]), &got));
    assert_memory_equal(got.geometry.voxel, size, sizeof size);
    assert_string_equal(got.geometry.unit, "um");
  }
  free(data);
  fx_leave(&f);
}

/* What a NIfTI file says of its place in the world arrives in the output bit by bit, compressed or not. */
static void orientation(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  pz_volume_info got, info = fx_info(PZ_I16, 1, 3, 4, 5);
  uint64_t seed = 9;
  pz_orientation *o = &info.geometry.nifti;
  *o = (pz_orientation){.known = true, .qform = 1, .sform = 2, .units = 10, .qfac = -1};
  for (int i = 0; i < 3; i++) {
    o->quaternion[i] = fx_unit(&seed) / 2, o->offset[i] = 100 * fx_unit(&seed),
    o->pixdim[i] = 0.1f + fx_unit(&seed);
    for (int j = 0; j < 4; j++) o->affine[i][j] = fx_unit(&seed);
  }
  void *data = fx_content(&info, 1);
  fx_save(fx_path(&f, "a.nii"), &info, data);
  free(fx_load(fx_path(&f, "a.nii"), &got));
  assert_memory_equal(&got.geometry.nifti, o, sizeof *o);
  fx_save(fx_path(&f, "b.nii.gz"), &got, data);
  free(fx_load(fx_path(&f, "b.nii.gz"), &got));
  assert_memory_equal(&got.geometry.nifti, o, sizeof *o);
  assert_string_equal(got.geometry.unit, "mm");
  free(data);
  fx_leave(&f);
}

/* A header in the other byte order, with scaling; and NIfTI-2. The bytes are put down one by one. */
static void put_be(uint8_t *at, uint64_t v, int n) {
  for (int i = 0; i < n; i++) at[i] = (uint8_t)(v >> 8 * (n - 1 - i));
}
static uint32_t bits(float v) {
  uint32_t b;
  memcpy(&b, &v, 4);
  return b;
}

static void big_endian_nifti(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  uint8_t file[352 + 2 * 3 * 4 * 2] = {0};
  const int dim[] = {3, 4, 3, 2, 1, 1, 1, 1};
  put_be(file, 348, 4);
  for (int i = 0; i < 8; i++)
    put_be(file + 40 + 2 * i, (uint64_t)dim[i], 2), put_be(file + 76 + 4 * i, bits((float)i + 1), 4);
  put_be(file + 70, 4, 2), put_be(file + 72, 16, 2); /* int16 */
  put_be(file + 108, bits(352), 4), put_be(file + 112, bits(0.5f), 4), put_be(file + 116, bits(-3), 4);
  memcpy(file + 344, "n+1", 4);
  for (int i = 0; i < 24; i++) put_be(file + 352 + 2 * i, (uint64_t)(uint16_t)(i * 100 - 1000), 2);
  pz_volume_info info;
  for (int gz = 0; gz < 2; gz++) {
    const char *path = fx_path(&f, gz ? "a.nii.gz" : "a.nii");
    gzFile z = gzopen(path, gz ? "wb" : "wbT");
    assert_int_equal(gzwrite(z, file, sizeof file), sizeof file);
    gzclose(z);
    float *data = fx_load(path, &info);
    assert_int_equal(info.dtype, PZ_F32);
    assert_true(info.shape[0] == 2 && info.shape[1] == 3 && info.shape[2] == 4);
    assert_true(info.geometry.voxel[0] == 4 && info.geometry.voxel[1] == 3 && info.geometry.voxel[2] == 2);
    for (int i = 0; i < 24; i++) assert_true(data[i] == 0.5f * (float)(i * 100 - 1000) - 3);
    free(data);
  }
  put_be(file + 112, bits(1), 4), put_be(file + 116, bits(0), 4); /* "value = stored" is no scaling */
  fx_write_file(fx_path(&f, "a.nii"), file, sizeof file);
  int16_t *raw = fx_load(fx_path(&f, "a.nii"), &info);
  assert_int_equal(info.dtype, PZ_I16);
  for (int i = 0; i < 24; i++) assert_int_equal(raw[i], i * 100 - 1000);
  free(raw);
  fx_leave(&f);
}

static void large_nifti(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U8, 1, 1, 2, 40000);
  pz_volume_info got;
  void *data = fx_content(&info, 1), *back;
  size_t size;
  fx_save(fx_path(&f, "a.nii"), &info, data);
  uint8_t *bytes = fx_file(fx_path(&f, "a.nii"), &size);
  assert_true(size == 544 + 80000 && bytes[0] == (540 & 255)); /* NIfTI-1's sizes end at 32767 */
  back = fx_load(fx_path(&f, "a.nii"), &got);
  assert_memory_equal(data, back, 80000);
  free(data), free(back), free(bytes);
  fx_leave(&f);
}

/* ------------------------------------------------------------------ npy */

static void write_npy(const char *path, int version, const char *dictionary, const void *data, size_t size) {
  const size_t n = strlen(dictionary);
  uint8_t *file = calloc(1, 12 + n + size);
  memcpy(file, "\x93NUMPY", 6);
  file[6] = (uint8_t)version;
  file[8] = (uint8_t)n, file[9] = (uint8_t)(n >> 8);
  const size_t head = version == 1 ? 10 : 12;
  memcpy(file + head, dictionary, n);
  memcpy(file + head + n, data, size);
  fx_write_file(path, file, head + n + size);
  free(file);
}

static void npy_headers(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const uint16_t data[] = {0x0102, 0x0304, 0x0506, 0x0708, 0x090a, 0x0b0c};
  const struct {
    int version;
    const char *text;
    pz_status status;
    int z, y, x;
  } cases[] = {
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2, 3), }", PZ_OK, 1, 2, 3},
      {2, "{'shape': (2, 3), 'descr': '<u2', 'fortran_order': False}  \n", PZ_OK, 1, 2, 3},
      {3, "{\"descr\":\"<i2\",\"fortran_order\":False,\"shape\":(3,2,1)}", PZ_OK, 3, 2, 1},
      {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 3L, 2L,)}", PZ_OK, 2, 3, 2},
      {4, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2, 3), }", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': True, 'shape': (1, 2, 3), }", PZ_OK, 1, 2, 3},
      {1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1, 1), }", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (1, 2, 3), }", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2, 4), }", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (0, 2, 4), }", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (-1, 2, 4), }", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (6,), }", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 1, 1, 2, 3), }", PZ_OK, 1, 2, 3},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }",
       PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999, 1, 1), }", PZ_ERROR_INPUT,
       0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2, 3)", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False}", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'descr': '<u2', 'fortran_order': False, 'shape': (1, 2, 3)}", PZ_ERROR_INPUT, 0,
       0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2, 3)} x", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2, 3), 'more': 1}", PZ_ERROR_INPUT, 0, 0, 0},
      {1, "", PZ_ERROR_INPUT, 0, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pz_error err = {0};
    pz_volume *v;
    write_npy(fx_path(&f, "a.npy"), cases[i].version, cases[i].text, data, sizeof data);
    const pz_status status = pz_volume_open(fx_path(&f, "a.npy"), &v, &err);
    if (status != cases[i].status) fail_msg("%s: %d %s", cases[i].text, status, err.message);
    if (status == PZ_OK) {
      assert_true(v->info.shape[0] == cases[i].z && v->info.shape[1] == cases[i].y &&
                  v->info.shape[2] == cases[i].x);
      pz_volume_close(v);
    } else assert_non_null(strstr(err.message, "a.npy"));
  }
  write_npy(fx_path(&f, "a.npy"), 1, "{'descr': '>u2', 'fortran_order': False, 'shape': (1, 2, 3), }", data,
            sizeof data);
  pz_volume_info info;
  uint16_t *swapped = fx_load(fx_path(&f, "a.npy"), &info);
  for (int i = 0; i < 6; i++) assert_int_equal(swapped[i], __builtin_bswap16(data[i]));
  free(swapped);
  fx_leave(&f);
}

/* ------------------------------------------------------------------ TIFF */

typedef struct tiff_case {
  int tile, rows, compression, predictor, planar, samples;
  const char *mode;
} tiff_case;

static void write_tiff(const char *path, const pz_volume_info *info, const tiff_case *t,
                       const uint16_t *data) {
  TIFF *file = TIFFOpen(path, t->mode);
  const int w = (int)info->shape[2], h = (int)info->shape[1], samples = t->samples;
  assert_non_null(file);
  for (int z = 0; z < info->shape[0]; z++) {
    TIFFSetField(file, TIFFTAG_IMAGEWIDTH, w);
    TIFFSetField(file, TIFFTAG_IMAGELENGTH, h);
    TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, 16);
    TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, samples);
    TIFFSetField(file, TIFFTAG_PLANARCONFIG, t->planar);
    TIFFSetField(file, TIFFTAG_PHOTOMETRIC, samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(file, TIFFTAG_COMPRESSION, t->compression);
    if (t->predictor) TIFFSetField(file, TIFFTAG_PREDICTOR, t->predictor);
    if (t->tile)
      TIFFSetField(file, TIFFTAG_TILEWIDTH, t->tile), TIFFSetField(file, TIFFTAG_TILELENGTH, t->tile);
    if (t->rows) TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, t->rows);
    const int together = t->planar == PLANARCONFIG_CONTIG ? samples : 1, bw = t->tile ? t->tile : w;
    const int bh = t->tile ? t->tile : t->rows;
    uint16_t *block = calloc((size_t)(bw * bh * together), 2);
    for (int s = 0; s < samples; s += together)
      for (int y0 = 0; y0 < h; y0 += bh)
        for (int x0 = 0; x0 < w; x0 += bw) {
          for (int y = y0; y < y0 + bh && y < h; y++)
            for (int x = x0; x < x0 + bw && x < w; x++)
              for (int k = 0; k < together; k++)
                block[((y - y0) * bw + x - x0) * together + k] =
                    data[(((s + k) * info->shape[0] + z) * h + y) * w + x];
          if (t->tile)
            assert_true(
                TIFFWriteEncodedTile(file, TIFFComputeTile(file, (uint32_t)x0, (uint32_t)y0, 0, (uint16_t)s),
                                     block, bw * bh * together * 2) > 0);
          else
            assert_true(TIFFWriteEncodedStrip(file, TIFFComputeStrip(file, (uint32_t)y0, (uint16_t)s), block,
                                              (y0 + bh > h ? h - y0 : bh) * bw * together * 2) > 0);
        }
    free(block);
    TIFFWriteDirectory(file);
  }
  TIFFClose(file);
}

static void tiff_kinds(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const tiff_case cases[] = {
      {0, 5, COMPRESSION_NONE, 0, PLANARCONFIG_CONTIG, 1, "w"},
      {0, 100, COMPRESSION_LZW, PREDICTOR_HORIZONTAL, PLANARCONFIG_CONTIG, 1, "w"},
      {16, 0, COMPRESSION_ADOBE_DEFLATE, PREDICTOR_HORIZONTAL, PLANARCONFIG_CONTIG, 1, "w"},
      {32, 0, COMPRESSION_PACKBITS, 0, PLANARCONFIG_CONTIG, 1, "wb"},
      {0, 7, COMPRESSION_LZW, 0, PLANARCONFIG_CONTIG, 3, "w"},
      {16, 0, COMPRESSION_NONE, 0, PLANARCONFIG_CONTIG, 3, "w"},
      {0, 7, COMPRESSION_NONE, 0, PLANARCONFIG_SEPARATE, 3, "w"},
      {16, 0, COMPRESSION_DEFLATE, 0, PLANARCONFIG_SEPARATE, 3, "w"},
      {0, 5, COMPRESSION_NONE, 0, PLANARCONFIG_CONTIG, 1, "w8"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const pz_volume_info info = fx_info(PZ_U16, cases[i].samples, 3, 27, 41);
    pz_volume_info got;
    uint16_t *data = fx_content(&info, i);
    write_tiff(fx_path(&f, "a.tif"), &info, &cases[i], data);
    uint16_t *back = fx_load(fx_path(&f, "a.tif"), &got);
    assert_true(equal_infos(&info, &got));
    assert_memory_equal(data, back, pz_volume_bytes(&info));
    free(data), free(back);
  }
  fx_leave(&f);
}

static void page(TIFF *t, int w, int h, int bits) {
  uint8_t row[64] = {0};
  TIFFSetField(t, TIFFTAG_IMAGEWIDTH, w);
  TIFFSetField(t, TIFFTAG_IMAGELENGTH, h);
  TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, bits);
  TIFFSetField(t, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, h);
  for (int y = 0; y < h; y++) TIFFWriteScanline(t, row, (uint32_t)y, 0);
  TIFFWriteDirectory(t);
}

static void refuse(const char *path, const char *says) {
  pz_error err = {0};
  pz_volume *v;
  assert_int_equal(pz_volume_open(path, &v, &err), PZ_ERROR_INPUT);
  if (!strstr(err.message, says)) fail_msg("%s", err.message);
}

static void tiff_refusals(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const struct {
    int w, h, bits;
    const char *says;
  } second[] = {{9, 4, 8, "all pages must be alike"},
                {8, 5, 8, "all pages must be alike"},
                {8, 4, 16, "all pages must be alike"},
                {8, 4, 1, "all pages must be alike"}};
  for (int i = 0; i < 4; i++) {
    TIFF *t = TIFFOpen(fx_path(&f, "a.tif"), "w");
    page(t, 8, 4, 8);
    page(t, second[i].w, second[i].h, second[i].bits);
    TIFFClose(t);
    refuse(fx_path(&f, "a.tif"), second[i].says);
  }
  fx_leave(&f);
}

/* The first volume that people bring: 30 pages of 512 x 512. */
static void real_stack(void **state) {
  (void)state;
  const char *path = PZ_SOURCE_DIR "/../shared/data/isbi2012/train-volume.tif";
  if (!fx_exists(path)) skip();
  pz_volume_info info;
  uint8_t *data = fx_load(path, &info);
  uint64_t sum = 0;
  assert_true(info.dtype == PZ_U8 && info.shape[0] == 30 && info.shape[1] == 512 && info.shape[2] == 512);
  for (int64_t i = 0; i < pz_volume_bytes(&info); i++) sum += data[i];
  assert_true(sum / (30 * 512 * 512) > 100 &&
              sum / (30 * 512 * 512) < 150); /* grey, as electron micrographs are */
  free(data);
}

/* ------------------------------------------------------------------ HDF5 */

static hid_t put(hid_t file, const char *name, hid_t type, int rank, const hsize_t *dim, const hsize_t *chunk,
                 const void *data) {
  const hid_t space = H5Screate_simple(rank, dim, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
  if (chunk) H5Pset_chunk(p, rank, chunk), H5Pset_shuffle(p), H5Pset_deflate(p, 1);
  const hid_t d = H5Dcreate2(file, name, type, space, H5P_DEFAULT, p, H5P_DEFAULT);
  if (data) H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  H5Dclose(d), H5Pclose(p), H5Sclose(space);
  return file;
}

static void hdf5_kinds(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U16, 2, 5, 6, 7);
  const hsize_t dim[] = {2, 5, 6, 7}, chunk[] = {1, 2, 4, 3};
  uint16_t *data = fx_content(&info, 1);
  hid_t file = H5Fcreate(fx_path(&f, "a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  put(file, "chunked", H5T_STD_U16BE, 4, dim, chunk, NULL);
  const hid_t d = H5Dopen2(file, "chunked", H5P_DEFAULT);
  H5Dwrite(d, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  H5Dclose(d);
  put(file, "text", H5T_C_S1, 3, dim + 1, NULL, NULL);
  put(file, "\"l\xc3\xa4\033", H5T_NATIVE_UINT16, 1, dim, NULL, NULL);
  put(file, "line", H5T_NATIVE_UINT16, 1, dim + 1, NULL, NULL);
  put(file, "plane", H5T_NATIVE_UINT16, 2, dim + 2, NULL, data);
  const hid_t none = H5Screate(H5S_NULL);
  H5Dclose(H5Dcreate2(file, "empty", H5T_NATIVE_UINT16, none, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(none);
  H5Fclose(file);
  pz_volume_info got;
  pz_error err = {0};
  pz_volume *v;
  for (int cached = 0; cached < 2; cached++) {
    uint16_t back[2 * 5 * 6 * 7];
    assert_int_equal(pz_volume_open(fx_path(&f, "a.h5:chunked"), &v, &err), PZ_OK);
    /* 2 channels, 2 planes of 6 x 7 */
    assert_true(v->cache_memory == 2 * 2 * 6 * 7 * 2 && v->step[0] == 2 && v->step[1] == 4 &&
                v->step[2] == 3);
    const int64_t memory = v->memory;
    if (!cached) assert_int_equal(pz_volume_uncached(v, &err), PZ_OK);
    assert_true(cached || v->memory < memory);
    assert_int_equal(pz_volume_read_planes(v, 0, 5, back, sizeof back / 2, &err), PZ_OK);
    assert_memory_equal(back, data, sizeof back);
    pz_volume_close(v);
  }
  free(fx_load(fx_path(&f, "a.h5:/plane"), &got));
  assert_true(got.shape[0] == 1 && got.shape[1] == 6 && got.shape[2] == 7);
  refuse(fx_path(&f, "a.h5:/text"), "its elements are a string of 8 bits each");
  refuse(fx_path(&f, "a.h5:/line"), "1 dimension;");
  refuse(fx_path(&f, "a.h5:/empty"), "0 dimensions");
  refuse(fx_path(&f, "a.h5:/missing"),
         "cannot open the dataset: there is none of this name; the file holds /\"l\\xc3\\xa4\\x1b (u16, 2), "
         "/chunked (u16, 2 x 5 x 6 x 7), /empty (u16, no array), /line (u16, 5), /plane (u16, 6 x 7), /text "
         "(a string of 8 bits, 5 x 6 x 7)");
  refuse(fx_path(&f, "a.h5"), "more than one dataset; name one, as in");
  refuse(fx_path(&f, "a.h5"), "it holds /\"l");
  free(data);
  fx_leave(&f);
}

/* Without a name: the one that can be a volume, whatever else there is. */
static void hdf5_only_volume(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U16, 1, 5, 6, 7);
  const hsize_t dim[] = {5, 6, 7};
  uint16_t *data = fx_content(&info, 1);
  pz_volume_info got;
  hid_t file = H5Fcreate(fx_path(&f, "a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  put(file, "names", H5T_C_S1, 3, dim, NULL, NULL);
  put(file, "ids", H5T_NATIVE_UINT16, 1, dim, NULL, NULL);
  H5Fclose(file);
  refuse(fx_path(&f, "a.h5"), "holds no dataset that can be a volume; it holds /ids (u16, 5), /names (");
  file = H5Fopen(fx_path(&f, "a.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, "t0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  put(file, "t0/raw", H5T_NATIVE_UINT16, 3, dim, NULL, data);
  H5Fclose(file);
  void *back = fx_load(fx_path(&f, "a.h5"), &got);
  assert_memory_equal(back, data, 5 * 6 * 7 * 2);
  free(back);
  /* more than are listed */
  file = H5Fopen(fx_path(&f, "a.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
  char name[16];
  for (int i = 0; i < 30; i++)
    snprintf(name, sizeof name, "u%02d", i), put(file, name, H5T_NATIVE_UINT8, 3, dim, NULL, NULL);
  H5Fclose(file);
  refuse(fx_path(&f, "a.h5"), "/u16 (u8, 5 x 6 x 7) and 13 more");
  file = H5Fcreate(fx_path(&f, "b.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  refuse(fx_path(&f, "b.h5"), "holds no dataset");
  refuse(fx_path(&f, "b.h5:/main"), "there is none of this name; the file holds no dataset");
  free(data);
  fx_leave(&f);
}

/* Symbolic links stay in the file and are followed; what lies in other files is refused, in both formats. */
static void hdf5_links(void **state) {
  (void)state;
  const fx_folder f = fx_enter();
  const pz_volume_info info = fx_info(PZ_U16, 1, 5, 6, 7);
  const hsize_t dim[] = {5, 6, 7};
  uint16_t *data = fx_content(&info, 1);
  pz_volume_info got;
  fx_save(fx_path(&f, "other.h5:/main"), &info, data);
  for (int latest = 0; latest < 2; latest++) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), p = H5Pcreate(H5P_DATASET_CREATE),
                space = H5Screate_simple(3, dim, NULL);
    if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const hid_t file = H5Fcreate(fx_path(&f, "a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    put(file, "real", H5T_NATIVE_UINT16, 3, dim, NULL, data);
    H5Lcreate_soft("/real", file, "soft", H5P_DEFAULT, H5P_DEFAULT);
    void *soft = NULL;
    if (!latest) { /* the kind that lies in a table of symbols, before another link changes the group's */
      H5Fflush(file, H5F_SCOPE_GLOBAL);
      soft = fx_load(fx_path(&f, "a.h5:/soft"), &got);
      assert_memory_equal(soft, data, 5 * 6 * 7 * 2);
      free(soft);
    }
    H5Lcreate_external("other.h5", "/main", file, "external", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    soft = fx_load(fx_path(&f, "a.h5:/soft"), &got);
    assert_memory_equal(soft, data, 5 * 6 * 7 * 2);
    free(soft);
    refuse(fx_path(&f, "a.h5:/external"), "cannot open the dataset");
    const hid_t again = H5Fopen(fx_path(&f, "a.h5"), H5F_ACC_RDWR, access);
    H5Pset_external(p, fx_path(&f, "raw"), 0, 5 * 6 * 7 * 2);
    H5Dclose(H5Dcreate2(again, "outside", H5T_NATIVE_UINT16, space, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Sclose(space), H5Pclose(p), H5Pclose(access), H5Fclose(again);
    refuse(fx_path(&f, "a.h5:/outside"), "has its values in another file");
  }
  free(data);
  fx_leave(&f);
}

static void paths(void **state) {
  (void)state;
  const struct {
    const char *path, *file, *dataset, *format;
  } good[] = {{"a.npy", "a.npy", NULL, "npy"},
              {"a:b/c.h5", "a:b/c.h5", NULL, "hdf5"},
              {"a.h5:/x/y", "a.h5", "/x/y", "hdf5"},
              {"a.H5:x", "a.H5", "/x", "hdf5"},
              {"a.h5://x", "a.h5", "/x", "hdf5"},
              {"a.h5/x", "a.h5", "/x", "hdf5"},
              {"d/a.HDF5/volumes/raw", "d/a.HDF5", "/volumes/raw", "hdf5"},
              {"a.h5/b.h5/c", "a.h5", "/b.h5/c", "hdf5"},
              {"a.h5/b.h5", "a.h5/b.h5", NULL, "hdf5"},
              {"a.he5//x", "a.he5", "/x", "hdf5"},
              {"x.h5:d/y.hdf5:/z", "x.h5:d/y.hdf5", "/z", "hdf5"},
              {"a.nii.gz", "a.nii.gz", NULL, "nifti-gz"},
              {"a.Tiff", "a.Tiff", NULL, "tiff"}};
  const char *const bad[] = {"",         "a",   "a.npy:/x", "a.png",   "a.h5:", "a.h5:/",
                             "a.h5:/x/", "npy", "a.h5/",    "a.h5/x/", ".npy/x"};
  pz_arena *arena = pz_arena_new();
  pz_volume_path p;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_int_equal(pz_volume_parse_path(arena, good[i].path, &p, NULL), PZ_OK);
    assert_string_equal(p.file, good[i].file);
    assert_string_equal(p.format->name, good[i].format);
    if (good[i].dataset) assert_string_equal(p.dataset, good[i].dataset);
    assert_int_equal(!p.dataset, !good[i].dataset);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(pz_volume_parse_path(arena, bad[i], &p, NULL), PZ_ERROR_USAGE);
  pz_arena_free(arena);
}

int main(void) {
  TIFFSetWarningHandler(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trip),
      cmocka_unit_test(voxel_sizes),
      cmocka_unit_test(orientation),
      cmocka_unit_test(big_endian_nifti),
      cmocka_unit_test(large_nifti),
      cmocka_unit_test(npy_headers),
      cmocka_unit_test(tiff_kinds),
      cmocka_unit_test(tiff_refusals),
      cmocka_unit_test(real_stack),
      cmocka_unit_test(hdf5_kinds),
      cmocka_unit_test(hdf5_only_volume),
      cmocka_unit_test(hdf5_links),
      cmocka_unit_test(paths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
