/* tiff.c: multi-page TIFF through libtiff: strips and tiles, its compressions, BigTIFF.
 *
 * A page is a plane. Channels are the samples of a page (as in RGB), or, in an ImageJ hyperstack, pages: the
 * description of the first page says how many, and the channel varies fastest (page = z * channels + channel). A
 * description with channels but without slices is what tifffile gives a stack whose axes it was not told: its pages
 * are planes. Written is such a hyperstack, uncompressed, as BigTIFF when the file would pass 4 GB. */
#include "volume/io.h"
#include "volume/ome.h"
#include "volume/tiff_geometry.h"
#include "volume/volume.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

enum { MAX_BLOCK = 1 << 30, MAX_PAGES = 1 << 20, STRIP = 1 << 18 };
#define CLASSIC_LIMIT INT64_C(4000000000)

/* What a page must have in common with the first one. */
typedef struct page {
  uint32_t width, height, block_width, block_height; /* block: a tile, or a strip as wide as the page */
  uint16_t bits, sample_format, samples, planar, photometric, compression;
  bool tiled;
} page;

typedef struct tiff {
  TIFF *file;
  char message[256]; /* libtiff's last complaint */
  page page;
  int64_t pages, at;     /* at: the page that is the current directory */
  uint64_t last_offset;  /* of the last page\'s directory */
  int32_t page_channels; /* channels that are pages of their own */
  pz_ome *ome;           /* of the first page's description; NULL where it is none */
  void *block;
  int64_t block_bytes;
} tiff;

static int keep_message(TIFF *file, void *host, const char *module, const char *format, va_list args) {
  tiff *t = host;
  (void)file, (void)module;
  vsnprintf(t->message, sizeof t->message, format, args);
  for (char *c = t->message; *c; c++)
    if ((unsigned char)*c < 32) *c = ' ';
  return 1;
}

static int drop_message(TIFF *file, void *host, const char *module, const char *format, va_list args) {
  (void)file, (void)host, (void)module, (void)format, (void)args;
  return 1;
}

static TIFF *open_tiff(const char *path, const char *mode, tiff *t) {
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (!options) return NULL;
  TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, t);
  TIFFOpenOptionsSetWarningHandlerExtR(options, drop_message, t);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, MAX_BLOCK);
  t->file = TIFFOpenExt(path, mode, options);
  TIFFOpenOptionsFree(options);
  return t->file;
}

static const char *why(const tiff *t) { return t->message[0] ? t->message : "no reason given"; }

/* ------------------------------------------------------------------ reading */

static page describe_page(TIFF *file) {
  page p = {.samples = 1};
  TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &p.width);
  TIFFGetField(file, TIFFTAG_IMAGELENGTH, &p.height);
  TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, &p.bits);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLEFORMAT, &p.sample_format);
  TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &p.samples);
  TIFFGetFieldDefaulted(file, TIFFTAG_PLANARCONFIG, &p.planar);
  TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &p.compression);
  TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &p.photometric);
  p.tiled = TIFFIsTiled(file);
  if (p.tiled) {
    TIFFGetField(file, TIFFTAG_TILEWIDTH, &p.block_width);
    TIFFGetField(file, TIFFTAG_TILELENGTH, &p.block_height);
  } else {
    TIFFGetFieldDefaulted(file, TIFFTAG_ROWSPERSTRIP, &p.block_height);
    p.block_width = p.width;
    if (p.block_height > p.height) p.block_height = p.height;
  }
  return p;
}

static const struct {
  int format;
  char kind;
} kinds[] = {{SAMPLEFORMAT_UINT, 'u'}, {SAMPLEFORMAT_INT, 'i'}, {SAMPLEFORMAT_IEEEFP, 'f'}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A page of single bits is one of bools. */
static bool dtype_of(const page *p, pz_dtype *dtype) {
  /* Old writers call unsigned integers untyped. */
  const int format = p->sample_format == SAMPLEFORMAT_VOID ? SAMPLEFORMAT_UINT : p->sample_format;
  if (p->bits == 1 && format == SAMPLEFORMAT_UINT) return pz_dtype_find('b', 1, dtype);
  for (int i = 0; i < KINDS; i++)
    if (kinds[i].format == format && p->bits % 8 == 0)
      return pz_dtype_find(kinds[i].kind, p->bits / 8, dtype);
  return false;
}

/* Of one sample as it is delivered. */
static int64_t sample_bytes(const page *p) { return p->bits == 1 ? 1 : p->bits / 8; }

/* Of a row of a block as it is stored: bits fill up to a byte at its end. */
static int64_t row_bytes(const page *p) {
  const int64_t samples = (int64_t)p->block_width * (p->planar == PLANARCONFIG_CONTIG ? p->samples : 1);
  return (samples * p->bits + 7) / 8;
}

static bool plain_photometric(const page *p) {
  return p->photometric == PHOTOMETRIC_MINISBLACK || p->photometric == PHOTOMETRIC_MINISWHITE ||
         p->photometric == PHOTOMETRIC_RGB;
}

static bool like(const page *a, const page *b) {
  return a->width == b->width && a->height == b->height && a->bits == b->bits && a->samples == b->samples &&
         a->sample_format == b->sample_format;
}

static int64_t block_bytes(const page *p) {
  int64_t bytes;
  return pz_mul_i64(row_bytes(p), p->block_height, &bytes) ? bytes : INT64_MAX;
}

static pz_status check_page(pz_volume *v, const page *p, int64_t index, pz_error *err) {
  tiff *t = v->state;
  pz_dtype dtype;
  const char *path = v->path;
  const long long number = (long long)index;
  if (p->width == 0 || p->height == 0 || p->samples == 0)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld is empty", path, number);
  if (!dtype_of(p, &dtype))
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: page %lld has %d bits of sample format %d; expected " PZ_DTYPES_IN_WORDS, path,
                   number, p->bits, p->sample_format);
  if (!plain_photometric(p))
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: page %lld has photometric interpretation %d; expected grey or RGB", path, number,
                   p->photometric);
  if (index > 0 && !like(p, &t->page))
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: page %lld is %u x %u with %d bits, page 0 is %u x %u with %d bits; all pages must be alike",
        path, number, p->width, p->height, p->bits, t->page.width, t->page.height, t->page.bits);
  const int64_t bytes = block_bytes(p);
  if (bytes < 1 || bytes > MAX_BLOCK)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld has %s of %u x %u; expected at most 1 GiB", path,
                   number, p->tiled ? "tiles" : "strips", p->block_width, p->block_height);
  if (bytes > t->block_bytes) t->block_bytes = bytes;
  return PZ_OK;
}

/* Uncompressed pages must fit into the file; of compressed ones this cannot be told before they are read. */
static pz_status check_promise(const pz_volume *v, int64_t size, pz_error *err) {
  const tiff *t = v->state;
  const int64_t plane = pz_volume_plane_bytes(&v->info) / (t->page.bits == 1 ? 8 : 1);
  if (t->page.compression != COMPRESSION_NONE || plane <= size) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: truncated: a page promises %lld bytes, the file has %lld", v->path,
                 (long long)plane, (long long)size);
}

/* libtiff takes a list of pages that is cut off for one that ends. The directory of a page is a count, entries of 12 (20)
 * bytes, and the place of the next one. */
static pz_status check_last_page(const pz_volume *v, pz_error *err) {
  const tiff *t = v->state;
  const bool big = TIFFIsBigTIFF(t->file);
  const uint64_t at = t->last_offset;
  uint8_t bytes[8] = {0};
  const int width = big ? 8 : 2;
  int fd;
  int64_t size;
  PZ_TRY(pz_io_open(v->path, &fd, &size, err));
  const bool there = at < (uint64_t)size && pz_io_read(fd, v->path, bytes, width, (int64_t)at, NULL) == PZ_OK;
  close(fd);
  uint64_t entries = 0;
  for (int i = 0; i < width; i++)
    entries = entries << 8 | bytes[TIFFIsBigEndian(t->file) ? i : width - 1 - i];
  const uint64_t length = (uint64_t)width + (big ? 20 : 12) * entries + (big ? 8 : 4);
  if (there && entries < 1 << 16 && length <= (uint64_t)size - at) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: truncated: the directory of page %lld is cut off", v->path,
                 (long long)t->pages - 1);
}

static pz_status walk_pages(pz_volume *v, pz_error *err) {
  tiff *t = v->state;
  do {
    const page p = describe_page(t->file);
    if (t->pages == 0) t->page = p;
    PZ_TRY(check_page(v, &p, t->pages, err));
    if (++t->pages > MAX_PAGES)
      return pz_fail(err, PZ_ERROR_INPUT, "%s: more than %d pages", v->path, MAX_PAGES);
    t->message[0] = 0;
    t->last_offset = TIFFCurrentDirOffset(t->file);
  } while (TIFFReadDirectory(t->file));
  if (t->message[0])
    return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld: %s", v->path, (long long)t->pages, t->message);
  t->at = t->pages - 1;
  return check_last_page(v, err);
}

/* A line "key=value" of ImageJ's description. */
static const char *line(const char *text, const char *key) {
  const size_t n = strlen(key);
  for (const char *at = text; at; at = strchr(at, '\n')) {
    at += *at == '\n';
    if (strncmp(at, key, n) == 0 && at[n] == '=') return at + n + 1;
  }
  return NULL;
}

static pz_status imagej(pz_volume *v, const char *text, pz_error *err) {
  tiff *t = v->state;
  const char *images = line(text, "images");
  if (t->pages == 1 && images && strtol(images, NULL, 10) > 1)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: one page, but %ld images: ImageJ's own kind of file above 4 GB; save it as BigTIFF or HDF5",
        v->path, strtol(images, NULL, 10));
  const char *slices = line(text, "slices"), *channels = slices ? line(text, "channels") : NULL;
  const long count = channels ? strtol(channels, NULL, 10) : 1;
  if (count > 1 && count <= PZ_VOLUME_MAX_CHANNELS && t->pages % count == 0)
    t->page_channels = (int32_t)count;
  return PZ_OK;
}

static pz_status first_page_metadata(pz_volume *v, pz_error *err) {
  tiff *t = v->state;
  const char *text = NULL;
  t->page_channels = 1;
  if (!TIFFGetField(t->file, TIFFTAG_IMAGEDESCRIPTION, &text) || !text) return PZ_OK;
  if (strncmp(text, "ImageJ=", 7) == 0) return imagej(v, text, err);
  if (!pz_ome_is(text)) return PZ_OK;
  t->ome = PZ_NEW(v->arena, pz_ome, 1);
  if (!t->ome) return pz_fail_memory(err, "OME-XML", sizeof *t->ome);
  return pz_ome_parse(v->arena, v->path, text, t->ome, err);
}

static pz_status go_to(pz_volume *v, int64_t index, pz_error *err) {
  tiff *t = v->state;
  if (t->at == index) return PZ_OK;
  t->message[0] = 0;
  const bool good =
      index == t->at + 1 ? TIFFReadDirectory(t->file) : TIFFSetDirectory(t->file, (tdir_t)index);
  if (!good) return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld: %s", v->path, (long long)index, why(t));
  t->at = index;
  return PZ_OK;
}

static pz_status shape_of(pz_volume *v, pz_error *err) {
  tiff *t = v->state;
  dtype_of(&t->page, &v->info.dtype);
  if (t->page_channels > 1 && t->page.samples > 1)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: channels both as samples and as pages; expected one of the two",
                   v->path);
  v->info.channels = t->page.samples * t->page_channels;
  v->info.has_channels = v->info.channels > 1;
  v->info.shape[0] = t->pages / t->page_channels;
  v->info.shape[1] = t->page.height;
  v->info.shape[2] = t->page.width;
  return pz_volume_check_info(v->path, &v->info, err);
}

static pz_status tiff_open(pz_volume *v, pz_error *err) {
  int fd;
  int64_t size;
  tiff *t = PZ_NEW(v->arena, tiff, 1);
  if (!t) return pz_fail_memory(err, "a TIFF file", sizeof *t);
  v->state = t;
  PZ_TRY(
      pz_io_open(v->path, &fd, &size, err)); /* says what is wrong with the file, better than the library */
  close(fd);
  /* m: no mapping, so that a file that shrinks while it is read is an error and not a signal */
  if (!open_tiff(v->path, "rm", t))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: not a TIFF file: %s", v->path, why(t));
  PZ_TRY(walk_pages(v, err));
  PZ_TRY(go_to(v, 0, err));
  PZ_TRY(first_page_metadata(v, err));
  PZ_TRY(shape_of(v, err));
  pz_tiff_read_geometry(t->file, t->pages, t->ome, v);
  PZ_TRY(check_promise(v, size, err));
  t->block = malloc((size_t)t->block_bytes);
  if (!t->block) return pz_fail_memory(err, "a tile or strip", (unsigned long long)t->block_bytes);
  v->memory = 2 * t->block_bytes; /* libtiff holds the compressed one */
  return PZ_OK;
}

/* The bits of a row, the first one highest: libtiff turns those of files with another FillOrder. */
static void spread_bits(const char *from, int samples, int s, char *to, int64_t wide) {
  for (int64_t x = 0; x < wide; x++) {
    const int64_t bit = x * samples + s;
    to[x] = (char)((unsigned char)from[bit / 8] >> (7 - bit % 8) & 1);
  }
}

/* One block into the planes of its channels: rows of `wide` pixels, `samples` interleaved in the block. */
static void spread(const tiff *t, char *plane, int64_t channel_bytes, int samples, int64_t y0, int64_t x0,
                   int64_t high, int64_t wide) {
  const int64_t size = sample_bytes(&t->page), row = row_bytes(&t->page);
  for (int64_t y = 0; y < high; y++) {
    const char *from = (const char *)t->block + y * row;
    for (int s = 0; s < samples; s++) {
      char *to = plane + s * channel_bytes + ((y0 + y) * t->page.width + x0) * size;
      if (t->page.bits == 1) spread_bits(from, samples, s, to, wide);
      else if (samples == 1) memcpy(to, from, (size_t)(wide * size));
      else
        for (int64_t x = 0; x < wide; x++)
          memcpy(to + x * size, from + (x * samples + s) * size, (size_t)size);
    }
  }
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static bool read_block(const tiff *t, int64_t y, int64_t x, uint16_t sample, int64_t high) {
  const page *p = &t->page;
  const int64_t want = (p->tiled ? p->block_height : high) * row_bytes(p);
  const int64_t got =
      p->tiled
          ? TIFFReadEncodedTile(t->file, TIFFComputeTile(t->file, (uint32_t)x, (uint32_t)y, 0, sample),
                                t->block, want)
          : TIFFReadEncodedStrip(t->file, TIFFComputeStrip(t->file, (uint32_t)y, sample), t->block, want);
  return got == want;
}

static pz_status read_samples(pz_volume *v, char *plane, int64_t channel_bytes, uint16_t sample, int samples,
                              pz_error *err) {
  tiff *t = v->state;
  const page *p = &t->page;
  for (int64_t y = 0; y < p->height; y += p->block_height)
    for (int64_t x = 0; x < p->width; x += p->block_width) {
      const int64_t high = least(p->block_height, p->height - y), wide = least(p->block_width, p->width - x);
      t->message[0] = 0;
      if (!read_block(t, y, x, sample, high))
        return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld, row %lld: %s", v->path, (long long)t->at,
                       (long long)y, t->message[0] ? t->message : "truncated");
      spread(t, plane, channel_bytes, samples, y, x, high, wide);
    }
  return PZ_OK;
}

/* The geometry of the blocks may differ from page to page. */
static pz_status read_page(pz_volume *v, int64_t index, char *plane, int64_t channel_bytes, pz_error *err) {
  tiff *t = v->state;
  PZ_TRY(go_to(v, index, err));
  const page p = describe_page(t->file);
  if (!like(&p, &t->page) || block_bytes(&p) > t->block_bytes)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld changed while it was read", v->path, (long long)index);
  t->page = p;
  if (p.planar == PLANARCONFIG_CONTIG) return read_samples(v, plane, channel_bytes, 0, p.samples, err);
  for (uint16_t s = 0; s < p.samples; s++)
    PZ_TRY(read_samples(v, plane + s * channel_bytes, channel_bytes, s, 1, err));
  return PZ_OK;
}

static pz_status tiff_read(pz_volume *v, int64_t z, int64_t n, void *planes, int64_t channel_bytes,
                           pz_error *err) {
  const tiff *t = v->state;
  const int64_t plane = pz_volume_plane_bytes(&v->info);
  for (int64_t i = 0; i < n; i++)
    for (int32_t c = 0; c < t->page_channels; c++)
      PZ_TRY(read_page(v, (z + i) * t->page_channels + c, (char *)planes + c * channel_bytes + i * plane,
                       channel_bytes, err));
  return PZ_OK;
}

static void tiff_close(pz_volume *v) {
  tiff *t = v->state;
  if (!t) return;
  if (t->file) TIFFClose(t->file);
  free(t->block);
}

/* ------------------------------------------------------------------ writing */

static void describe(const pz_volume_info *info, const pz_geometry *g, char *text, size_t size) {
  int n = snprintf(text, size, "ImageJ=1.54f\nimages=%lld\n", (long long)(info->channels * info->shape[0]));
  if (info->channels > 1) n += snprintf(text + n, size - n, "channels=%d\n", (int)info->channels);
  n += snprintf(text + n, size - n, "slices=%lld\n", (long long)info->shape[0]);
  if (info->channels > 1) n += snprintf(text + n, size - n, "hyperstack=true\nmode=grayscale\n");
  pz_tiff_print_geometry(g, info, text + n, size - n);
  n = (int)strlen(text);
  snprintf(text + n, size - n, "loop=false\n");
}

static void set_fields(TIFF *file, const pz_volume_info *info, const pz_geometry *g, bool first,
                       uint32_t rows) {
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, (int)(8 * pz_dtype_bytes(info->dtype)));
  for (int i = 0; i < KINDS; i++)
    if (kinds[i].kind == pz_dtype_kind(info->dtype))
      TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, kinds[i].format);
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, (uint32_t)info->shape[2]);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, (uint32_t)info->shape[1]);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(file, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, rows);
  pz_tiff_set_resolution(file, g, info);
  if (!first) return;
  char text[768];
  describe(info, g, text, sizeof text);
  TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, text);
}

static bool write_page(TIFF *file, char *plane, int64_t row_bytes, int64_t height, int64_t rows) {
  for (int64_t y = 0; y < height; y += rows) {
    const int64_t bytes = least(rows, height - y) * row_bytes;
    if (TIFFWriteEncodedStrip(file, (uint32_t)(y / rows), plane + y * row_bytes, bytes) != bytes)
      return false;
  }
  return TIFFWriteDirectory(file);
}

static pz_status write_pages(const char *path, tiff *t, pz_volume_source *source, char *plane,
                             pz_error *err) {
  const pz_volume_info *info = source->info;
  const int64_t row_bytes = info->shape[2] * pz_dtype_bytes(info->dtype), height = info->shape[1];
  const int64_t rows = row_bytes < STRIP ? least(STRIP / row_bytes, height) : 1;
  pz_geometry g = info->geometry;
  pz_tiff_hold(&g, info, NULL);
  for (int64_t i = 0; i < info->channels * info->shape[0]; i++) {
    PZ_TRY(pz_volume_source_plane(source, i % info->channels, i / info->channels, plane, err));
    set_fields(t->file, info, &g, i == 0, (uint32_t)rows);
    if (!write_page(t->file, plane, row_bytes, height, rows))
      return pz_fail(err, PZ_ERROR_OUTPUT, "%s: writing page %lld: %s", path, (long long)i, why(t));
  }
  return PZ_OK;
}

static pz_status tiff_check_output(const char *path, const char *dataset, const pz_volume_info *info,
                                   pz_error *err) {
  (void)dataset;
  const int64_t pages = info->channels * info->shape[0];
  if (pages <= MAX_PAGES && info->shape[1] <= INT32_MAX && info->shape[2] <= INT32_MAX / 4) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "%s: %lld pages of %lld x %lld are too much for TIFF; write HDF5 or .npy", path,
                 (long long)pages, (long long)info->shape[1], (long long)info->shape[2]);
}

static pz_status tiff_convert(const char *path, const char *dataset, pz_volume_source *source,
                              pz_error *err) {
  (void)dataset;
  tiff t = {0};
  const int64_t plane_bytes = pz_volume_plane_bytes(source->info);
  char *plane = malloc((size_t)plane_bytes);
  if (!plane) return pz_fail_memory(err, "a plane", (unsigned long long)plane_bytes);
  pz_status status;
  if (open_tiff(path, pz_volume_bytes(source->info) > CLASSIC_LIMIT ? "w8" : "w", &t)) {
    status = write_pages(path, &t, source, plane, err);
    t.message[0] = 0;
    TIFFClose(t.file);
    if (status == PZ_OK && t.message[0])
      status = pz_fail(err, PZ_ERROR_OUTPUT, "%s: writing: %s", path, t.message);
  } else status = pz_fail(err, PZ_ERROR_OUTPUT, "%s: creating: %s", path, why(&t));
  free(plane);
  return status;
}

const pz_volume_format pz_volume_tiff = {
    .name = "tiff",
    .suffixes = {".tif", ".tiff"},
    .open = tiff_open,
    .read = tiff_read,
    .close = tiff_close,
    .hold = pz_tiff_hold,
    .check_output = tiff_check_output,
    .convert = tiff_convert,
};
