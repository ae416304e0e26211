/* seeds.c: volume_seeds FOLDER writes small, valid volumes of every kind into FOLDER/<format>/. */
#include "volume/nifti_header.h"
#include "volume/volume.h"

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

int main(int argc, char **argv) {
  static const char *const folders[] = {"npy", "hdf5", "tiff", "nifti"};
  static const char *const files[] = {"npy/%d.npy", "hdf5/%d.h5", "tiff/%d.tif", "nifti/%d.nii",
                                      "nifti/%d.nii.gz"};
  char path[512], name[64];
  if (argc != 2) return fprintf(stderr, "usage: volume_seeds FOLDER\n"), 2;
  mkdir(argv[1], 0777);
  for (int i = 0; i < 4; i++) snprintf(path, sizeof path, "%s/%s", argv[1], folders[i]), mkdir(path, 0777);
  for (int f = 0; f < 5; f++)
    for (int i = 0; i < 5; i++) {
      pz_volume_info info = {
          .dtype = (pz_dtype)(i % 4), .channels = i < 3 ? 1 : 2, .has_channels = i >= 3, .shape = {3, 4, 5}};
      if (i == 2) strcpy(info.unit, "um"), info.voxel[0] = info.voxel[1] = info.voxel[2] = 0.5;
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
  for (int later = 0; later < 2; later++) {
    snprintf(path, sizeof path, "%s/hdf5/chunked%d.h5", argv[1], later);
    chunked_hdf5(path, later);
  }
  return failures != 0;
}
