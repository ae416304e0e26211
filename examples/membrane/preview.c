/* preview: a picture of one slice beside what the network made of it.
 *
 *   preview stack.tif result.tif preview.png [--slice N]
 *
 * Three panels: the slice, the result (a probability), and the result in colour over the slice. The stacks are grey
 * multi-page TIFFs of one size, u8, u16 or f32 (f32 is 0..1). The middle slice is shown unless another is asked for. */
#include <png.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

enum { OK = 0, FAILED = 1, USAGE = 2, BAD_INPUT = 3, GAP = 6, MOST_PIXELS = 1 << 28 };

/* A slice, 0..1. */
typedef struct image {
  uint32_t width, height;
  float *pixels;
} image;

static int complain(int status, const char *path, const char *what) {
  fprintf(stderr, "preview: %s: %s\n", path, what);
  return status;
}

/* ------------------------------------------------------------------ reading */

static float from_u8(const void *row, uint32_t x) { return (float)((const uint8_t *)row)[x] / 255; }
static float from_u16(const void *row, uint32_t x) { return (float)((const uint16_t *)row)[x] / 65535; }
static float from_f32(const void *row, uint32_t x) {
  float v = ((const float *)row)[x];
  return v > 0 ? v < 1 ? v : 1 : 0; /* NaN is 0 */
}

static const struct sample {
  uint16_t bits, format;
  float (*read)(const void *row, uint32_t x);
} SAMPLES[] = {
    {8, SAMPLEFORMAT_UINT, from_u8}, {16, SAMPLEFORMAT_UINT, from_u16}, {32, SAMPLEFORMAT_IEEEFP, from_f32}};

static const struct sample *find_sample(TIFF *tif) {
  uint16_t bits = 1, format = SAMPLEFORMAT_UINT, samples = 1;
  TIFFGetFieldDefaulted(tif, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLEFORMAT, &format);
  TIFFGetFieldDefaulted(tif, TIFFTAG_SAMPLESPERPIXEL, &samples);
  for (size_t i = 0; samples == 1 && i < sizeof SAMPLES / sizeof *SAMPLES; i++)
    if (SAMPLES[i].bits == bits && SAMPLES[i].format == format) return &SAMPLES[i];
  return NULL;
}

static int read_rows(TIFF *tif, const char *path, const struct sample *sample, image *out) {
  size_t n = (size_t)out->width * out->height;
  void *row = malloc((size_t)TIFFScanlineSize(tif) + 1);
  out->pixels = malloc(n * sizeof *out->pixels);
  int status = row && out->pixels ? OK : complain(FAILED, path, "out of memory");
  for (uint32_t y = 0; status == OK && y < out->height; y++) {
    if (TIFFReadScanline(tif, row, y, 0) < 0) status = complain(BAD_INPUT, path, "the slice is damaged");
    for (uint32_t x = 0; status == OK && x < out->width; x++)
      out->pixels[(size_t)y * out->width + x] = sample->read(row, x);
  }
  free(row);
  return status;
}

static int read_page(TIFF *tif, const char *path, image *out) {
  const struct sample *sample = find_sample(tif);
  TIFFGetField(tif, TIFFTAG_IMAGEWIDTH, &out->width);
  TIFFGetField(tif, TIFFTAG_IMAGELENGTH, &out->height);
  if (!sample || TIFFIsTiled(tif)) return complain(BAD_INPUT, path, "expected grey u8, u16 or f32 in strips");
  if (!out->width || !out->height || (uint64_t)out->width * out->height > MOST_PIXELS)
    return complain(BAD_INPUT, path, "a slice of this size cannot be shown");
  return read_rows(tif, path, sample, out);
}

static int read_slice(const char *path, int32_t slice, image *out) {
  TIFF *tif = TIFFOpen(path, "r");
  if (!tif) return complain(BAD_INPUT, path, "cannot be read as a TIFF");
  int32_t pages = (int32_t)TIFFNumberOfDirectories(tif);
  slice = slice < 0 ? pages / 2 : slice;
  bool there = slice < pages && TIFFSetDirectory(tif, (tdir_t)slice);
  int status = there ? read_page(tif, path, out) : complain(BAD_INPUT, path, "has no such slice");
  TIFFClose(tif);
  return status;
}

/* ------------------------------------------------------------------ drawing */

static uint8_t to_byte(float v) { return (uint8_t)(v * 255 + 0.5f); }

static void grey(uint8_t *rgb, float v) { rgb[0] = rgb[1] = rgb[2] = to_byte(v); }

/* Orange over the grey slice, as opaque as the result is sure. */
static void overlay(uint8_t *rgb, float slice, float result) {
  static const float colour[3] = {1, 0.45f, 0};
  float cover = 0.8f * result;
  for (int c = 0; c < 3; c++) rgb[c] = to_byte(slice * (1 - cover) + colour[c] * cover);
}

static uint8_t *draw(const image *slice, const image *result, uint32_t width) {
  uint8_t *rgb = malloc((size_t)width * slice->height * 3);
  if (!rgb) return NULL;
  memset(rgb, 255, (size_t)width * slice->height * 3);
  for (uint32_t y = 0; y < slice->height; y++)
    for (uint32_t x = 0; x < slice->width; x++) {
      size_t i = (size_t)y * slice->width + x, step = 3 * ((size_t)slice->width + GAP);
      uint8_t *at = rgb + 3 * ((size_t)y * width + x);
      grey(at, slice->pixels[i]);
      grey(at + step, result->pixels[i]);
      overlay(at + 2 * step, slice->pixels[i], result->pixels[i]);
    }
  return rgb;
}

static int write_preview(const char *path, const image *slice, const image *result) {
  uint32_t width = 3 * slice->width + 2 * GAP;
  uint8_t *rgb = draw(slice, result, width);
  png_image png = {
      .version = PNG_IMAGE_VERSION, .width = width, .height = slice->height, .format = PNG_FORMAT_RGB};
  int status = rgb ? OK : complain(FAILED, path, "out of memory");
  if (status == OK && !png_image_write_to_file(&png, path, 0, rgb, 0, NULL))
    status = complain(FAILED, path, png.message);
  free(rgb);
  return status;
}

/* ------------------------------------------------------------------ arguments */

int main(int argc, char **argv) {
  int32_t chosen = -1;
  bool right = argc == 4 || (argc == 6 && !strcmp(argv[4], "--slice") && sscanf(argv[5], "%d", &chosen) == 1);
  if (!right || (argc == 6 && chosen < 0)) {
    fprintf(stderr, "usage: preview stack.tif result.tif preview.png [--slice N]\n");
    return USAGE;
  }
  TIFFSetErrorHandler(NULL); /* one line a failure, and it is ours */
  TIFFSetWarningHandler(NULL);
  image slice = {0}, result = {0};
  int status = read_slice(argv[1], chosen, &slice);
  if (status == OK) status = read_slice(argv[2], chosen, &result);
  if (status == OK && (slice.width != result.width || slice.height != result.height))
    status = complain(BAD_INPUT, argv[2], "is not of the stack's size");
  if (status == OK) status = write_preview(argv[3], &slice, &result);
  free(slice.pixels);
  free(result.pixels);
  return status;
}
