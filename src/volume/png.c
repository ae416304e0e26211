/* png.c: the few parts of PNG (RFC 2083) that a picture of 8 bits a colour needs, over zlib, which is there anyway: libpng would be one more library to
 * run networks with. */
#include "volume/png.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SIGNATURE = 8, FRAME = 12, HEADER = 13 }; /* FRAME: length, name and sum around the data of a part */

static void put_u32(uint8_t *to, uint32_t v) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> 8 * (3 - i));
}

/* Around data that lies behind the first 8 bytes; gives the bytes of all. */
static size_t frame(uint8_t *at, const char name[5], size_t bytes) {
  put_u32(at, (uint32_t)bytes);
  memcpy(at + 4, name, 4);
  put_u32(at + 8 + bytes, (uint32_t)crc32(crc32(0, NULL, 0), at + 4, (unsigned)(4 + bytes)));
  return FRAME + bytes;
}

/* Each row is what it differs by from the one above: PNG's filter "up". */
static void filter(int64_t width, int64_t height, const uint8_t *rgb, uint8_t *to) {
  const int64_t row = 3 * width;
  for (int64_t y = 0; y < height; y++, to += row) {
    const uint8_t *at = rgb + y * row;
    *to++ = y ? 2 : 0;
    for (int64_t i = 0; i < row; i++) to[i] = (uint8_t)(at[i] - (y ? at[i - row] : 0));
  }
}

static size_t header(uint8_t *at, int64_t width, int64_t height) {
  static const uint8_t kind[5] = {8, 2, 0, 0, 0}; /* 8 bits, RGB, deflate, filters, not interlaced */
  put_u32(at + 8, (uint32_t)width), put_u32(at + 12, (uint32_t)height);
  memcpy(at + 16, kind, sizeof kind);
  return frame(at, "IHDR", HEADER);
}

/* `file` has room for all. */
static bool print(int64_t width, int64_t height, const uint8_t *rows, uint8_t *file, size_t *size) {
  static const uint8_t signature[SIGNATURE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  const uLong bytes = (uLong)(height * (3 * width + 1));
  uLongf packed = compressBound(bytes);
  memcpy(file, signature, SIGNATURE);
  *size = SIGNATURE + header(file + SIGNATURE, width, height);
  if (compress2(file + *size + 8, &packed, rows, bytes, 6) != Z_OK) return false;
  *size += frame(file + *size, "IDAT", packed);
  *size += frame(file + *size, "IEND", 0);
  return true;
}

pz_status pz_png_write(const char *path, int64_t width, int64_t height, const uint8_t *rgb, pz_error *err) {
  const size_t rows = (size_t)(height * (3 * width + 1)),
               room = SIGNATURE + 3 * FRAME + HEADER + compressBound(rows);
  uint8_t *work = malloc(rows + room);
  size_t size;
  if (!work) return pz_fail_memory(err, "a picture", rows + room);
  filter(width, height, rgb, work);
  const pz_status status = print(width, height, work, work + rows, &size)
                               ? pz_file_write(path, work + rows, size, err)
                               : pz_fail_memory(err, "a picture", rows);
  free(work);
  return status == PZ_OK || status == PZ_ERROR_MEMORY ? status : PZ_ERROR_OUTPUT;
}
