/* tiff.c: multi-page TIFF through libtiff: strips and tiles, its compressions, BigTIFF.
 *
 * A page is a plane; what the planes are, tiff_axes.h finds out. Channels are pages, or the samples of a page (as in RGB). Written is an
 * ImageJ hyperstack, in which the channel varies fastest (page = z * channels + channel), uncompressed or by deflate, as BigTIFF when the file would pass 4 GB
 * uncompressed. */
#include "base/memory.h"
#include "formats/deflate_out.h"
#include "formats/io.h"
#include "formats/raw.h"
#include "formats/tiff_axes.h"
#include "formats/tiff_geometry.h"
#include "formats/tiff_io.h"
#include "formats/volume.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

enum { MAX_BLOCK = 1 << 30, MAX_PAGES = 1 << 20 };
#define CLASSIC_LIMIT INT64_C(4000000000)

/* What a page must have in common with the first one. */
typedef struct page {
  uint32_t width, height, block_width, block_height; /* block: a tile, or a strip as wide as the page */
  uint16_t bits, sample_format, samples, planar, photometric, compression;
  bool tiled;
} page;

typedef struct tiff {
  TIFF *file;
  pz_tiff_io io;
  char message[256]; /* libtiff's last complaint */
  char starved[256]; /* its first words about memory: something that it may leave out with a warning */
  page page;
  int64_t at;           /* the current directory */
  uint64_t last_offset; /* of the last directory */
  int32_t *kept;        /* the directories that are pages; NULL: all of them */
  int64_t room;         /* in `kept` */
  pz_tiff_pages pages;
  void *block;
  int64_t block_bytes;
  char *bits; /* a row of a block of bits, a byte for each */
  /* planes without pages of their own */
  pz_raw_file raw_file;
  pz_raw raw;
} tiff;

static void notice_memory(tiff *t, const char *format, va_list args) {
  if (t->starved[0] || (!strcasestr(format, "memory") && !strcasestr(format, "allocat"))) return;
  va_list again;
  va_copy(again, args);
  vsnprintf(t->starved, sizeof t->starved, format, again);
  va_end(again);
}

static int keep_message(TIFF *file, void *host, const char *module, const char *format, va_list args) {
  tiff *t = host;
  (void)file, (void)module;
  notice_memory(t, format, args);
  vsnprintf(t->message, sizeof t->message, format, args);
  for (char *c = t->message; *c; c++)
    if ((unsigned char)*c < 32) *c = ' ';
  return 1;
}

static int drop_warning(TIFF *file, void *host, const char *module, const char *format, va_list args) {
  (void)file, (void)module;
  notice_memory(host, format, args);
  return 1;
}

static TIFF *open_tiff(const char *path, const char *mode, tiff *t) {
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (!options) return NULL;
  TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, t);
  TIFFOpenOptionsSetWarningHandlerExtR(options, drop_warning, t);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, MAX_BLOCK);
  t->file = pz_tiff_open(&t->io, path, mode, options);
  TIFFOpenOptionsFree(options);
  return t->file;
}

/* A tag that could not be read, for whatever reason, is one that the file has not, to libtiff: then the pages would be taken for others. */
static pz_status check_tags(const tiff *t, const char *path, pz_error *err) {
  if (t->io.reason) return pz_io_fail(err, path, "reading", t->io.reason);
  if (!t->starved[0]) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: %s; the file is damaged, or memory is short", path, t->starved);
}

/* The system's reason is the better one. */
static const char *why(const tiff *t) {
  return t->io.reason ? strerrordesc_np(t->io.reason) : t->message[0] ? t->message : "no reason given";
}

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
         a->sample_format == b->sample_format && (a->samples == 1 || a->planar == b->planar);
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
  const page *p = &t->page;
  const double plane = (double)p->width * p->height * p->samples * p->bits / 8;
  if (p->compression != COMPRESSION_NONE || plane <= (double)size) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: truncated: a page promises %.0f bytes, the file has %lld", v->path,
                 plane, (long long)size);
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
                 (long long)t->pages.directories - 1);
}

/* Smaller copies, and masks, which some programs put between the pages. A file whose first page is one has nothing else. */
static bool is_copy(TIFF *file) {
  uint32_t kind = 0;
  uint16_t old = 0;
  if (TIFFGetField(file, TIFFTAG_SUBFILETYPE, &kind) == 1 && kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK))
    return true;
  return TIFFGetField(file, TIFFTAG_OSUBFILETYPE, &old) == 1 && old == OFILETYPE_REDUCEDIMAGE;
}

/* Begins the list when the first directory is left out. */
static pz_status keep(tiff *t, bool is_page, pz_error *err) {
  pz_tiff_pages *p = &t->pages;
  if (is_page && !t->kept) return p->pages++, PZ_OK;
  if (p->pages + 1 >= t->room) {
    const int64_t room = t->room ? 2 * t->room : 2 * p->pages + 64;
    int32_t *more = realloc(t->kept, (size_t)room * sizeof *more);
    if (!more) return pz_fail_memory(err, "a list of pages", (unsigned long long)room * sizeof *more);
    for (int64_t i = 0; i < p->pages && !t->kept; i++) more[i] = (int32_t)i;
    t->kept = more, t->room = room;
  }
  if (is_page) t->kept[p->pages++] = (int32_t)p->directories;
  return PZ_OK;
}

static pz_status walk_pages(pz_volume *v, pz_error *err) {
  tiff *t = v->state;
  pz_tiff_pages *all = &t->pages;
  const bool copies = is_copy(t->file);
  do {
    const page p = describe_page(t->file);
    const bool is_page = copies || !is_copy(t->file);
    if (all->directories == 0) t->page = p;
    if (is_page) PZ_TRY(check_page(v, &p, all->directories, err));
    PZ_TRY(keep(t, is_page, err));
    if (++all->directories > MAX_PAGES)
      return pz_fail(err, PZ_ERROR_INPUT, "%s: more than %d pages", v->path, MAX_PAGES);
    t->message[0] = 0;
    t->last_offset = TIFFCurrentDirOffset(t->file);
  } while (TIFFReadDirectory(t->file));
  PZ_TRY(check_tags(t, v->path, err));
  if (t->message[0])
    return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld: %s", v->path, (long long)all->directories,
                   t->message);
  t->at = all->directories - 1;
  return check_last_page(v, err);
}

static pz_status go_to(pz_volume *v, int64_t index, pz_error *err) {
  tiff *t = v->state;
  if (t->at == index) return PZ_OK;
  t->message[0] = 0;
  const bool good =
      index == t->at + 1 ? TIFFReadDirectory(t->file) : TIFFSetDirectory(t->file, (tdir_t)index);
  PZ_TRY(check_tags(t, v->path, err));
  if (!good) return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld: %s", v->path, (long long)index, why(t));
  t->at = index;
  return PZ_OK;
}

static pz_status tiff_open(pz_volume *v, pz_error *err) {
  int fd;
  int64_t size;
  tiff *t = PZ_NEW(v->arena, tiff, 1);
  if (!t) return pz_fail_memory(err, "a TIFF file", sizeof *t);
  t->raw_file = (pz_raw_file){-1, v->path};
  v->state = t;
  PZ_TRY(
      pz_io_open(v->path, &fd, &size, err)); /* says what is wrong with the file, better than the library */
  close(fd);
  PZ_TRY(pz_memory_room("libtiff", err));
  const bool opened = open_tiff(v->path, "rm", t);
  PZ_TRY(check_tags(t, v->path, err));
  if (!opened) return pz_fail(err, PZ_ERROR_INPUT, "%s: not a TIFF file: %s", v->path, why(t));
  PZ_TRY(walk_pages(v, err));
  PZ_TRY(go_to(v, 0, err));
  dtype_of(&t->page, &v->info.dtype);
  t->pages.file = t->file;
  t->pages.height = t->page.height, t->pages.width = t->page.width, t->pages.samples = t->page.samples;
  t->pages.planar = t->page.planar == PLANARCONFIG_SEPARATE;
  return pz_tiff_find_axes(v, &t->pages, err);
}

/* Where the first page's data begins, if it lies together; 0: it does not. */
static uint64_t data_of_page(const tiff *t) {
  const uint64_t *offset = NULL, *bytes = NULL;
  const page *p = &t->page;
  if (p->tiled || p->compression != COMPRESSION_NONE || p->bits % 8 || (p->samples > 1 && t->pages.planar) ||
      TIFFGetField(t->file, TIFFTAG_STRIPOFFSETS, &offset) != 1 ||
      TIFFGetField(t->file, TIFFTAG_STRIPBYTECOUNTS, &bytes) != 1 || !offset || !bytes)
    return 0;
  for (uint32_t i = 0; i + 1 < TIFFNumberOfStrips(t->file); i++)
    if (offset[i + 1] != offset[i] + bytes[i]) return 0;
  return offset[0];
}

/* ImageJ's files above 4 GB. */
static pz_status raw_ready(pz_volume *v, pz_error *err) {
  tiff *t = v->state;
  const uint64_t offset = data_of_page(t);
  int64_t size, bytes = sample_bytes(&t->page);
  PZ_TRY(pz_io_open(v->path, &t->raw_file.fd, &size, err));
  for (int i = 0; i < v->array.rank; i++) bytes *= v->array.size[i];
  if (!offset)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: one page, but %lld images, which do not lie behind it uncompressed; save it anew",
                   v->path, (long long)t->pages.raw_planes);
  if (offset > (uint64_t)size || bytes > size - (int64_t)offset)
    return pz_fail(
        err, PZ_ERROR_INPUT,
        "%s: truncated: ImageJ's description promises %lld images of %lld bytes together, the file has %lld",
        v->path, (long long)t->pages.raw_planes, (long long)bytes,
        (long long)(offset < (uint64_t)size ? size - (int64_t)offset : 0));
  t->raw = (pz_raw){.array = &v->array,
                    .offset = (int64_t)offset,
                    .element = sample_bytes(&t->page),
                    .delivered = sample_bytes(&t->page),
                    .swap = TIFFIsByteSwapped(t->file) && t->page.bits > 8,
                    .channel = -1,
                    .fetch = pz_raw_fetch_file,
                    .host = &t->raw_file};
  v->memory += pz_raw_memory(&t->raw, &v->axes);
  pz_raw_step(&t->raw, &v->axes, PZ_VOLUME_STEP_BYTES, v->step);
  return PZ_OK;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* A tile or a strip of one page, as the first page has them. Of volumes whose y or x goes over pages, many planes are best read at once. */
static void find_step(pz_volume *v) {
  const tiff *t = v->state;
  const int64_t plane = v->info.channels * pz_volume_plane_bytes(&v->info);
  const int64_t block[2] = {t->page.block_height, t->page.block_width};
  bool over_pages = false;
  for (int i = 0; i < 3; i++) {
    const int at = v->axes.of[1 + i] - t->pages.page_axes;
    v->step[i] = at < 0 || at > 1 ? 1 : least(block[at], v->info.shape[i]);
    over_pages = over_pages || (i > 0 && at < 0 && v->axes.of[1 + i] >= 0);
  }
  if (over_pages) v->step[0] = least(most(PZ_VOLUME_STEP_BYTES / plane, 1), v->info.shape[0]);
}

static pz_status tiff_ready(pz_volume *v, pz_error *err) {
  int fd;
  int64_t size;
  tiff *t = v->state;
  pz_tiff_read_geometry(t->file, v->info.shape[0], t->pages.ome, v);
  PZ_TRY(pz_io_open(v->path, &fd, &size, err));
  close(fd);
  PZ_TRY(check_promise(v, size, err));
  v->memory = 2 * t->block_bytes + t->room * (int64_t)sizeof *t->kept; /* libtiff holds the compressed one */
  if (t->pages.raw_planes) return raw_ready(v, err);
  find_step(v);
  t->block = malloc((size_t)t->block_bytes);
  if (!t->block) return pz_fail_memory(err, "a tile or strip", (unsigned long long)t->block_bytes);
  if (t->page.bits > 1) return PZ_OK;
  v->memory += t->block_bytes * 8;
  t->bits = malloc((size_t)t->block_bytes * 8);
  return t->bits ? PZ_OK : pz_fail_memory(err, "a tile or strip", (unsigned long long)t->block_bytes * 8);
}

/* Bits to bytes, the first one highest: libtiff turns those of files with another FillOrder. Returns the bytes of a row. */
static int64_t unpack_bits(const tiff *t, int64_t high) {
  const int64_t row = row_bytes(&t->page);
  for (int64_t i = 0; i < high * row; i++)
    for (int bit = 0; bit < 8; bit++)
      t->bits[8 * i + bit] = (char)(((const unsigned char *)t->block)[i] >> (7 - bit) & 1);
  return 8 * row;
}

/* The part of a block at (y0, x0) that is inside of the box, to where it belongs. The block's samples are `first` .. `first` +
 * `samples` - 1, interleaved. */
static void spread(const tiff *t, const pz_array_box *box, char *to, int64_t y0, int64_t x0, int64_t high,
                   int first, int samples) {
  const int y = t->pages.page_axes, n = box->rank - y;
  const int64_t size = sample_bytes(&t->page);
  const int64_t row = t->page.bits == 1 ? unpack_bits(t, high) : row_bytes(&t->page);
  const int64_t begin[3] = {y0, x0, first}, length[3] = {high, t->page.block_width, samples};
  const int64_t stride[3] = {row, samples * size, size};
  const char *from = t->page.bits == 1 ? t->bits : t->block;
  int64_t count[3] = {1, 1, 1};
  for (int i = 0; i < n; i++) {
    const int64_t low = most(begin[i], box->start[y + i]);
    count[i] = least(begin[i] + length[i], box->start[y + i] + box->count[y + i]) - low;
    if (count[i] <= 0) return;
    from += (low - begin[i]) * stride[i];
    to += (low - box->start[y + i]) * box->to[y + i];
  }
  pz_copy_strided(from, stride, to, box->to + y, count, n, size);
}

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

/* The blocks that the box has rows and columns of. */
static pz_status read_samples(pz_volume *v, const pz_array_box *box, char *to, int first, int samples,
                              pz_error *err) {
  tiff *t = v->state;
  const page *p = &t->page;
  const int a = t->pages.page_axes;
  const int64_t bottom = box->start[a] + box->count[a], right = box->start[a + 1] + box->count[a + 1];
  for (int64_t y = box->start[a] / p->block_height * p->block_height; y < bottom; y += p->block_height)
    for (int64_t x = box->start[a + 1] / p->block_width * p->block_width; x < right; x += p->block_width) {
      const int64_t high = least(p->block_height, p->height - y);
      t->message[0] = 0;
      if (!read_block(t, y, x, (uint16_t)first, high))
        return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld, row %lld: %s", v->path, (long long)t->at,
                       (long long)y, t->io.reason || t->message[0] ? why(t) : "truncated");
      spread(t, box, to, y, x, high, first, samples);
    }
  return PZ_OK;
}

/* The geometry of the blocks may differ from page to page. */
static pz_status read_page(pz_volume *v, int64_t plane, const pz_array_box *box, char *to, pz_error *err) {
  tiff *t = v->state;
  const int64_t index = t->pages.directory ? t->pages.directory[plane] : t->kept ? t->kept[plane] : plane;
  PZ_TRY(go_to(v, index, err));
  const page p = describe_page(t->file);
  if (!like(&p, &t->page) || block_bytes(&p) > t->block_bytes)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: page %lld changed while it was read", v->path, (long long)index);
  t->page = p;
  if (p.planar == PLANARCONFIG_CONTIG || p.samples == 1) return read_samples(v, box, to, 0, p.samples, err);
  const int s = t->pages.page_axes + 2;
  for (int64_t i = box->start[s]; i < box->start[s] + box->count[s]; i++)
    PZ_TRY(read_samples(v, box, to, (int)i, 1, err));
  return PZ_OK;
}

static pz_status read_pages(pz_volume *v, const pz_array_box *box, int axis, int64_t plane, char *to,
                            pz_error *err) {
  const tiff *t = v->state;
  if (axis == t->pages.page_axes) return read_page(v, plane, box, to, err);
  for (int64_t i = 0; i < box->count[axis]; i++)
    PZ_TRY(read_pages(v, box, axis + 1, plane * v->array.size[axis] + box->start[axis] + i,
                      to + i * box->to[axis], err));
  return PZ_OK;
}

static pz_status tiff_read(pz_volume *v, const pz_array_box *box, void *to, pz_error *err) {
  tiff *t = v->state;
  return t->pages.raw_planes ? pz_raw_read(&t->raw, box, to, err) : read_pages(v, box, 0, 0, to, err);
}

/* Where memory is short, libtiff's lists may not be sound and TIFFClose may go where nothing is: then they are left behind. A damaged file
 * has the same words for sizes that nobody has; that one is closed. */
static void close_tiff(tiff *t) {
  if (!t->file) return;
  if (t->starved[0] && pz_memory_room("libtiff", NULL) != PZ_OK) close(t->io.fd);
  else TIFFClose(t->file);
  t->file = NULL;
}

static void tiff_close(pz_volume *v) {
  tiff *t = v->state;
  if (!t) return;
  close_tiff(t);
  if (t->raw_file.fd >= 0) close(t->raw_file.fd);
  pz_raw_free(&t->raw);
  free(t->kept);
  free(t->bits);
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

/* Integers are stored as differences from their left neighbours. */
static bool predicts(const pz_volume_info *info) { return pz_dtype_is_integer(info->dtype); }

static void set_fields(TIFF *file, const pz_volume_info *info, const pz_geometry *g, bool first, int level) {
  const uint32_t rows = (uint32_t)pz_volume_strip_rows(info);
  TIFFSetField(file, TIFFTAG_BITSPERSAMPLE, (int)(8 * pz_dtype_bytes(info->dtype)));
  for (int i = 0; i < KINDS; i++)
    if (kinds[i].kind == pz_dtype_kind(info->dtype))
      TIFFSetField(file, TIFFTAG_SAMPLEFORMAT, kinds[i].format);
  TIFFSetField(file, TIFFTAG_IMAGEWIDTH, (uint32_t)info->shape[2]);
  TIFFSetField(file, TIFFTAG_IMAGELENGTH, (uint32_t)info->shape[1]);
  TIFFSetField(file, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(file, TIFFTAG_COMPRESSION, level > 0 ? COMPRESSION_ADOBE_DEFLATE : COMPRESSION_NONE);
  if (level > 0 && predicts(info)) TIFFSetField(file, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
  TIFFSetField(file, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  TIFFSetField(file, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(file, TIFFTAG_ROWSPERSTRIP, rows);
  pz_tiff_set_resolution(file, g, info);
  if (!first) return;
  char text[768];
  describe(info, g, text, sizeof text);
  TIFFSetField(file, TIFFTAG_IMAGEDESCRIPTION, text);
}

/* The result's strips are the boxes that it is asked for. */
static pz_status write_strips(const char *path, tiff *t, pz_volume_source *source, int64_t index, char *strip,
                              pz_error *err) {
  const pz_volume_info *info = source->info;
  const int64_t rows = pz_volume_strip_rows(info), row_bytes = info->shape[2] * pz_dtype_bytes(info->dtype);
  pz_box box = {.start = {index / info->channels, 0, 0}, .size = {1, rows, info->shape[2]}};
  for (int64_t y = 0; y < info->shape[1]; y += rows) {
    box.start[1] = y, box.size[1] = least(rows, info->shape[1] - y);
    const int64_t bytes = box.size[1] * row_bytes;
    PZ_TRY(pz_volume_source_read(source, index % info->channels, &box, strip, err));
    if (TIFFWriteEncodedStrip(t->file, (uint32_t)(y / rows), strip, bytes) != bytes)
      return pz_fail(err, PZ_ERROR_OUTPUT, "%s: writing page %lld: %s", path, (long long)index, why(t));
  }
  return PZ_OK;
}

static pz_status write_pages(const char *path, tiff *t, pz_volume_source *source, char *strip,
                             pz_error *err) {
  const pz_volume_info *info = source->info;
  pz_geometry g = info->geometry;
  pz_tiff_hold(&g, info, NULL);
  for (int64_t i = 0; i < info->channels * info->shape[0]; i++) {
    set_fields(t->file, info, &g, i == 0, 0);
    if (t->starved[0]) return pz_fail_memory(err, "a page of a TIFF file", 1 << 16);
    PZ_TRY(write_strips(path, t, source, i, strip, err));
    if (!TIFFWriteDirectory(t->file))
      return pz_fail(err, PZ_ERROR_OUTPUT, "%s: writing page %lld: %s", path, (long long)i, why(t));
  }
  return PZ_OK;
}

/* ------------------------------------------------------------------ writing by deflate */

/* Strips are numbered through all pages. */
typedef struct packed {
  pz_volume_source *source;
  const char *path;
  tiff *t;
  pz_geometry geometry;
  int64_t rows, strips; /* of a strip; of a page */
} packed;

#define DEFINE_DIFFERENCES(T)                                                                                \
  static void differences_##T(void *row, int64_t n) {                                                        \
    T *v = row;                                                                                              \
    for (int64_t i = n - 1; i > 0; i--) v[i] = (T)(v[i] - v[i - 1]);                                         \
  }
DEFINE_DIFFERENCES(uint8_t)
DEFINE_DIFFERENCES(uint16_t)
DEFINE_DIFFERENCES(uint32_t)
DEFINE_DIFFERENCES(uint64_t)

static void predict(const pz_volume_info *info, char *rows, int64_t n) {
  static void (*const kinds[9])(void *, int64_t) = {[1] = differences_uint8_t,
                                                    [2] = differences_uint16_t,
                                                    [4] = differences_uint32_t,
                                                    [8] = differences_uint64_t};
  const int64_t element = pz_dtype_bytes(info->dtype), row = info->shape[2] * element;
  for (int64_t i = 0; i < n; i++) kinds[element](rows + i * row, info->shape[2]);
}

static pz_status fill_strip(const void *host, int64_t index, char *work, char *to, int64_t *bytes,
                            pz_error *err) {
  (void)work;
  const packed *p = host;
  const pz_volume_info *info = p->source->info;
  const int64_t page = index / p->strips, y = index % p->strips * p->rows;
  const pz_box box = {.start = {page / info->channels, y, 0},
                      .size = {1, least(p->rows, info->shape[1] - y), info->shape[2]}};
  *bytes = box.size[1] * info->shape[2] * pz_dtype_bytes(info->dtype);
  PZ_TRY(pz_volume_source_box(p->source, page % info->channels, &box, to, err));
  if (predicts(info)) predict(info, to, box.size[1]);
  return PZ_OK;
}

static pz_status put_strip(void *host, const pz_deflated *b, pz_error *err) {
  packed *p = host;
  tiff *t = p->t;
  const int64_t page = b->index / p->strips, strip = b->index % p->strips;
  if (strip == 0) set_fields(t->file, p->source->info, &p->geometry, page == 0, p->source->level);
  if (t->starved[0]) return pz_fail_memory(err, "a page of a TIFF file", 1 << 16);
  const bool good =
      TIFFWriteRawStrip(t->file, (uint32_t)strip, (void *)b->packed, b->packed_bytes) == b->packed_bytes;
  if (good && (strip + 1 < p->strips || TIFFWriteDirectory(t->file))) return PZ_OK;
  return pz_fail(err, PZ_ERROR_OUTPUT, "%s: writing page %lld: %s", p->path, (long long)page, why(t));
}

static bool go_on_packing(void *host, int64_t done) {
  const packed *p = host;
  return !p->source->go_on || p->source->go_on(p->source->host, done / p->strips);
}

static pz_status pack_pages(const char *path, tiff *t, pz_volume_source *source, pz_error *err) {
  const pz_volume_info *info = source->info;
  packed p = {.source = source, .path = path, .t = t, .geometry = info->geometry};
  pz_tiff_hold(&p.geometry, info, NULL);
  p.rows = pz_volume_strip_rows(info), p.strips = (info->shape[1] + p.rows - 1) / p.rows;
  const pz_deflate d = {.pool = source->pool,
                        .level = source->level,
                        .blocks = info->channels * info->shape[0] * p.strips,
                        .bytes = pz_volume_strip_bytes(info),
                        .fill = fill_strip,
                        .put = put_strip,
                        .go_on = go_on_packing,
                        .host = &p};
  return pz_deflate_blocks(&d, err);
}

/* ------------------------------------------------------------------ a whole file */

static pz_status tiff_check_output(const char *path, const char *dataset, const pz_volume_info *info,
                                   pz_error *err) {
  (void)dataset;
  const int64_t pages = info->channels * info->shape[0];
  if (pages <= MAX_PAGES && info->shape[1] <= INT32_MAX && info->shape[2] <= INT32_MAX / 4) return PZ_OK;
  return pz_fail(err, PZ_ERROR_USAGE,
                 "%s: %lld pages of %lld x %lld are too much for TIFF; write HDF5 or .npy", path,
                 (long long)pages, (long long)info->shape[1], (long long)info->shape[2]);
}

/* Of a page: its tags with their values, a place and a size for each strip, and what deflate adds to one that it does not make smaller. */
static int64_t tiff_most(const pz_volume_info *info) {
  enum { TAGS = 1024, STRIP = 16 + 16, TEXT = 1 << 16 };
  const int64_t pages = info->channels * info->shape[0], bytes = pz_volume_bytes(info);
  return bytes + bytes / 2048 + pages * (TAGS + STRIP * info->shape[1]) + TEXT;
}

static pz_status write_all(const char *path, tiff *t, pz_volume_source *source, pz_error *err) {
  if (source->level > 0) return pack_pages(path, t, source, err);
  const int64_t bytes = pz_volume_strip_bytes(source->info);
  char *strip = malloc((size_t)bytes);
  if (!strip) return pz_fail_memory(err, "a strip", (unsigned long long)bytes);
  const pz_status status = write_pages(path, t, source, strip, err);
  free(strip);
  return status;
}

static pz_status tiff_convert(const char *path, const char *dataset, pz_volume_source *source,
                              pz_error *err) {
  (void)dataset;
  tiff t = {0};
  PZ_TRY(pz_memory_room("libtiff", err));
  pz_status status;
  if (open_tiff(path, pz_volume_bytes(source->info) > CLASSIC_LIMIT ? "w8" : "w", &t)) {
    status = write_all(path, &t, source, err);
    t.message[0] = 0;
    close_tiff(&t);
    if (status == PZ_OK && t.starved[0]) status = pz_fail_memory(err, "a page of a TIFF file", 1 << 16);
    if (status == PZ_OK && (t.message[0] || t.io.reason))
      status = pz_fail(err, PZ_ERROR_OUTPUT, "%s: writing: %s", path, why(&t));
  } else status = pz_fail(err, PZ_ERROR_OUTPUT, "%s: creating: %s", path, why(&t));
  return status;
}

const pz_volume_format pz_volume_tiff = {
    .name = "tiff",
    .suffixes = {".tif", ".tiff"},
    .open = tiff_open,
    .ready = tiff_ready,
    .read = tiff_read,
    .close = tiff_close,
    .hold = pz_tiff_hold,
    .check_output = tiff_check_output,
    .most = tiff_most,
    .convert = tiff_convert,
    .convert_rate = 5e8,
    .packs = true,
};
