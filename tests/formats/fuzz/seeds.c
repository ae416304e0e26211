/* seeds.c: formats_seeds FOLDER writes small, valid volumes of every kind into FOLDER/<format>/. */
#include "../make_zip.h"
#include "formats/nifti_header.h"
#include "formats/volume.h"

#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>
#include <unistd.h>

static int failures;

static void save(const char *path, const pz_volume_info *info) {
  pz_arena *arena = pz_arena_new();
  pz_volume_path p;
  pz_error err = {0};
  char raw[600];
  int64_t offset = 0;
  snprintf(raw, sizeof raw, "%s.raw", path);
  pz_status status = arena ? pz_volume_parse_path(arena, path, &p, &err) : PZ_ERROR_MEMORY;
  if (status == PZ_OK && p.format->lay_out) {
    status = p.format->lay_out(p.file, p.dataset, info, &offset, &err);
    if (truncate(p.file, offset + pz_volume_bytes(info)) != 0) failures++;
  } else if (status == PZ_OK) {
    const int fd = open(raw, O_RDWR | O_CREAT | O_TRUNC, 0666);
    pz_volume_source source = {.fd = fd, .path = raw, .info = info};
    if (ftruncate(fd, pz_volume_bytes(info)) == 0)
      status = p.format->convert(p.file, p.dataset, &source, &err);
    close(fd);
    unlink(raw);
  }
  if (status != PZ_OK) fprintf(stderr, "%s: %s\n", path, err.message), failures++;
  pz_arena_free(arena);
}

/* The NIfTI fuzzer's inputs have a byte in front that chooses the reader. */
static void prefix(const char *path, char byte) {
  static char data[1 << 16];
  FILE *f = fopen(path, "rb");
  const size_t n = f ? fread(data + 1, 1, sizeof data - 1, f) : 0;
  if (f) fclose(f);
  data[0] = byte;
  f = fopen(path, "wb");
  if (!f || fwrite(data, 1, n + 1, f) != n + 1) failures++;
  if (f) fclose(f);
}

static void compressed_tiff(const char *path, int compression, int tile, int samples) {
  static uint16_t block[32 * 32 * 3];
  TIFF *t = TIFFOpen(path, "w");
  if (!t) {
    failures++;
    return;
  }
  for (int page = 0; page < 2; page++) {
    TIFFSetField(t, TIFFTAG_IMAGEWIDTH, 20);
    TIFFSetField(t, TIFFTAG_IMAGELENGTH, 18);
    TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, 16);
    TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, samples);
    TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(t, TIFFTAG_PHOTOMETRIC, samples == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(t, TIFFTAG_COMPRESSION, compression);
    if (tile) TIFFSetField(t, TIFFTAG_TILEWIDTH, 16), TIFFSetField(t, TIFFTAG_TILELENGTH, 16);
    else TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, 9);
    for (uint32_t i = 0; i < (tile ? 4u : 2u); i++) {
      if (tile) TIFFWriteEncodedTile(t, i, block, 16 * 16 * 2 * samples);
      else TIFFWriteEncodedStrip(t, i, block, 9 * 20 * 2 * samples);
    }
    TIFFWriteDirectory(t);
  }
  TIFFClose(t);
}

/* Groups, attributes, both byte orders, the filters that are known; `later`: the format with checksums. */
static void chunked_hdf5(const char *path, bool later) {
  const hsize_t dim[3] = {4, 6, 8}, chunk[3] = {2, 4, 4}, three = 3;
  static const uint16_t data[4 * 6 * 8] = {1, 2, 3};
  static const double size[3] = {1, 2, 3};
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), p = H5Pcreate(H5P_DATASET_CREATE);
  if (later) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t space = H5Screate_simple(3, dim, NULL), line = H5Screate_simple(1, &three, NULL);
  H5Pset_chunk(p, 3, chunk), H5Pset_shuffle(p), H5Pset_deflate(p, 6), H5Pset_fletcher32(p);
  const hid_t group = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t d = H5Dcreate2(group, "x", H5T_STD_U16BE, space, H5P_DEFAULT, p, H5P_DEFAULT);
  const hid_t a = H5Acreate2(d, "element_size_um", H5T_IEEE_F64LE, line, H5P_DEFAULT, H5P_DEFAULT);
  if (d < 0 || H5Dwrite(d, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) failures++;
  if (a < 0 || H5Awrite(a, H5T_NATIVE_DOUBLE, size) < 0) failures++;
  H5Aclose(a), H5Dclose(d), H5Gclose(group), H5Sclose(line), H5Sclose(space), H5Pclose(p), H5Pclose(access);
  H5Fclose(file);
}

/* A type that differs from one of volumes in its padding alone, whose chunk inflates to less than it should: the library must
 * not be asked for its values. Beside it attributes of types that hold others, a fill value, a compact array. */
static void odd_hdf5(const char *path, bool later) {
  static const uint8_t nothing[] = {0x78, 0x9c, 0x03, 0, 0, 0, 0, 1}; /* zlib's stream of no bytes */
  const hsize_t dim[3] = {2, 3, 4}, most[3] = {H5S_UNLIMITED, H5S_UNLIMITED, 4}, first[3] = {0}, two = 2;
  const uint16_t fill = 7;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), p = H5Pcreate(H5P_DATASET_CREATE),
              compact = H5Pcreate(H5P_DATASET_CREATE);
  if (later) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t space = H5Screate_simple(3, dim, most), line = H5Screate_simple(1, &two, NULL),
              type = H5Tcopy(H5T_STD_I16BE), list = H5Tcopy(H5T_C_S1),
              array = H5Tarray_create2(list, 1, &two), both = H5Tcreate(H5T_COMPOUND, 48),
              choice = H5Tenum_create(H5T_STD_I8LE);
  H5Tset_pad(type, H5T_PAD_ONE, H5T_PAD_ZERO), H5Tset_size(list, H5T_VARIABLE);
  H5Tinsert(both, "name", 0, list), H5Tinsert(both, "number", 16, H5T_IEEE_F64BE);
  H5Tinsert(both, "bits", 24, H5T_STD_B16LE), H5Tinsert(both, "what", 32, H5T_STD_REF_OBJ);
  H5Tenum_insert(choice, "no", &(int8_t){0}), H5Tenum_insert(choice, "yes", &(int8_t){1});
  H5Pset_chunk(p, 3, dim), H5Pset_deflate(p, 6), H5Pset_layout(compact, H5D_COMPACT);
  H5Pset_fill_value(p, H5T_NATIVE_UINT16, &fill), H5Pset_fill_value(compact, H5T_NATIVE_UINT16, &fill);
  const hid_t d = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, p, H5P_DEFAULT);
  if (d < 0 || H5Dwrite_chunk(d, H5P_DEFAULT, 0, first, sizeof nothing, nothing) < 0) failures++;
  const hid_t types[] = {list, array, both, choice, H5T_NATIVE_LDOUBLE};
  static const char *const names[] = {"list", "array", "both", "choice", "long double"};
  for (int i = 0; i < 5; i++) H5Aclose(H5Acreate2(d, names[i], types[i], line, H5P_DEFAULT, H5P_DEFAULT));
  const hid_t plain = H5Screate_simple(3, dim, NULL);
  H5Dclose(H5Dcreate2(file, "c", H5T_STD_U16LE, plain, H5P_DEFAULT, compact, H5P_DEFAULT));
  H5Ldelete(file, later ? "d" : "c", H5P_DEFAULT); /* without a name, there is to be one dataset */
  H5Lcreate_soft("/d", file, "link", H5P_DEFAULT, H5P_DEFAULT);
  H5Tclose(type), H5Tclose(array), H5Tclose(both), H5Tclose(choice), H5Tclose(list);
  H5Sclose(space), H5Sclose(plain), H5Sclose(line), H5Pclose(p), H5Pclose(compact), H5Pclose(access),
      H5Dclose(d);
  H5Fclose(file);
}

/* Geometries that leave different words in the files. */
static void place(pz_geometry *g, int i) {
  static const double size[3] = {2, 0.5, 0.5}, origin[3] = {1, -2, 3},
                      turned[3][4] = {{0, 0.5, 0, 3}, {-0.5, 0, 0, -2}, {0, 0, 2, 1}};
  static const char *const unit[] = {"um", "um", "inch", "", "parsec"};
  if (i == 0) return;
  pz_geometry_set_voxel(g, i == 1 ? PZ_KNOWN_PLANE : PZ_KNOWN_ALL, size, unit[i]);
  if (i > 1) pz_geometry_set_origin(g, origin);
  if (i == 3) g->has_origin = false, pz_geometry_set_affine(g, turned, 2);
}

/* Scale-offset of integers and of floats, szip where it is written, h5py's lzf: a run of bytes and a copy of it. */
static void filtered_hdf5(const char *path, int kind) {
  static const uint8_t lzf[] = {3, 1, 0, 2, 0, 0xe0, 255, 3, 0xe0, 107, 3}; /* 4 + 264 + 116 bytes */
  static const float floats[4 * 6 * 8] = {1, 2, 3};
  static const int32_t integers[4 * 6 * 8] = {1, -2, 3};
  const hsize_t dim[3] = {4, 6, 8}, first[3] = {0};
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
              p = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, dim, NULL),
              type = kind == 3   ? H5T_STD_U16LE
                     : kind == 1 ? H5T_IEEE_F32LE
                                 : H5T_STD_I32LE;
  const unsigned values[3] = {4, 0x0105, 4 * 6 * 8 * 2};
  H5Pset_chunk(p, 3, dim);
  if (kind < 2) H5Pset_scaleoffset(p, kind ? H5Z_SO_FLOAT_DSCALE : H5Z_SO_INT, kind ? 2 : 0);
  if (kind == 2) H5Pset_szip(p, H5_SZIP_NN_OPTION_MASK, 8);
  if (kind == 3) H5Pset_filter(p, 32000, H5Z_FLAG_OPTIONAL, 3, values);
  const hid_t d = H5Dcreate2(file, "d", type, space, H5P_DEFAULT, p, H5P_DEFAULT);
  const herr_t good = kind == 3 ? H5Dwrite_chunk(d, H5P_DEFAULT, 0, first, sizeof lzf, lzf)
                                : H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                           kind == 1 ? (const void *)floats : integers);
  if (good < 0 && kind != 2) failures++;
  H5Dclose(d), H5Sclose(space), H5Pclose(p), H5Fclose(file);
}

/* An archive with the array in a file: stored, deflated, as ZIP64, beside another entry. */
static void archive(const char *npy, const char *path, int kind) {
  static zip z;
  char data[4096];
  FILE *f = fopen(npy, "rb");
  const size_t n = f ? fread(data, 1, sizeof data, f) : 0;
  if (f) fclose(f);
  z = (zip){.zip64 = kind == 2};
  if (kind == 3) zip_add(&z, "names.txt", "a b c", 5, 0);
  zip_add(&z, "volume.npy", data, n, kind ? 8 : 0);
  zip_finish(&z);
  f = fopen(path, "wb");
  if (!n || !f || fwrite(z.bytes, 1, z.n, f) != z.n) failures++;
  if (f && fclose(f)) failures++;
}

int main(int argc, char **argv) {
  static const char *const folders[] = {"npy", "hdf5", "tiff", "nifti", "npz"};
  static const char *const files[] = {"npy/%d.npy", "hdf5/%d.h5", "tiff/%d.tif", "nifti/%d.nii",
                                      "nifti/%d.nii.gz"};
  char path[512], name[64];
  if (argc != 2) return fprintf(stderr, "usage: formats_seeds FOLDER\n"), 2;
  mkdir(argv[1], 0777);
  for (int i = 0; i < 5; i++) snprintf(path, sizeof path, "%s/%s", argv[1], folders[i]), mkdir(path, 0777);
  for (int f = 0; f < 5; f++)
    for (int i = 0; i < PZ_FILE_DTYPES; i++) {
      const bool none = f >= 3 && (i == PZ_F16 || i == PZ_BOOL); /* NIfTI has no such types */
      pz_volume_info info = {.dtype = none ? PZ_U8 : (pz_dtype)i,
                             .channels = i < 3 ? 1 : 2,
                             .has_channels = i >= 3,
                             .shape = {3, 4, 5}};
      place(&info.geometry, i % 5);
      if (f == 3 && i == 4) info.shape[2] = 33000; /* NIfTI-2 */
      if (f == 3 && i == 4)
        info.shape[0] = info.shape[1] = info.channels = 1, info.has_channels = false, info.dtype = PZ_U8;
      snprintf(name, sizeof name, files[f], i);
      snprintf(path, sizeof path, "%s/%s", argv[1], name);
      save(path, &info);
      if (f >= 3) prefix(path, f == 4);
    }
  static const int compressions[] = {COMPRESSION_LZW, COMPRESSION_PACKBITS, COMPRESSION_ADOBE_DEFLATE};
  for (int i = 0; i < 12; i++) {
    snprintf(path, sizeof path, "%s/tiff/c%d.tif", argv[1], i);
    compressed_tiff(path, compressions[i % 3], i / 3 % 2, i / 6 ? 3 : 1);
  }
  for (int kind = 0; kind < 4; kind++) {
    snprintf(path, sizeof path, "%s/hdf5/filtered%d.h5", argv[1], kind);
    filtered_hdf5(path, kind);
  }
  for (int later = 0; later < 2; later++) {
    snprintf(path, sizeof path, "%s/hdf5/chunked%d.h5", argv[1], later);
    chunked_hdf5(path, later);
    snprintf(path, sizeof path, "%s/hdf5/odd%d.h5", argv[1], later);
    odd_hdf5(path, later);
  }
  for (int kind = 0; kind < 4; kind++) {
    char to[512];
    snprintf(path, sizeof path, "%s/npy/%d.npy", argv[1], kind);
    snprintf(to, sizeof to, "%s/npz/%d.npz", argv[1], kind);
    archive(path, to, kind);
  }
  return failures != 0;
}
