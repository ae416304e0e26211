/* make_zip.h: archives as Python's zipfile and NumPy's savez write them, for tests and the fuzzer's seeds. At most 64 KiB. */
#ifndef PZ_TESTS_FORMATS_MAKE_ZIP_H
#define PZ_TESTS_FORMATS_MAKE_ZIP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct zip {
  uint8_t bytes[1 << 16];
  size_t n, directory, entries;
  uint8_t central[4096];
  bool zip64;
} zip;

static inline void zip_put(zip *z, uint64_t v, int n) {
  for (int i = 0; i < n; i++) z->bytes[z->n++] = (uint8_t)(v >> 8 * i);
}
static inline void zip_put_central(zip *z, uint64_t v, int n) {
  for (int i = 0; i < n; i++) z->central[z->directory++] = (uint8_t)(v >> 8 * i);
}

/* As Python writes it: sizes are 0xffffffff in the local header, with an extra field, where ZIP64 is forced. */
static inline void zip_add(zip *z, const char *name, const void *data, size_t size, int method) {
  const size_t header = z->n, length = strlen(name);
  const uint32_t crc = (uint32_t)crc32(0, data, (uInt)size);
  uint8_t packed[1 << 16];
  size_t stored = size;
  memcpy(packed, data, size);
  if (method == 8) {
    z_stream s = {.next_in = (Bytef *)(uintptr_t)data,
                  .avail_in = (uInt)size,
                  .next_out = packed,
                  .avail_out = sizeof packed};
    deflateInit2(&s, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    if (deflate(&s, Z_FINISH) != Z_STREAM_END) abort();
    stored = s.total_out;
    deflateEnd(&s);
  }
  zip_put(z, 0x04034b50, 4), zip_put(z, 45, 2), zip_put(z, 0, 2), zip_put(z, (uint64_t)method, 2),
      zip_put(z, 0, 4), zip_put(z, crc, 4);
  zip_put(z, z->zip64 ? UINT32_MAX : stored, 4), zip_put(z, z->zip64 ? UINT32_MAX : size, 4),
      zip_put(z, length, 2), zip_put(z, z->zip64 ? 20 : 0, 2);
  memcpy(z->bytes + z->n, name, length), z->n += length;
  if (z->zip64) zip_put(z, 1, 2), zip_put(z, 16, 2), zip_put(z, size, 8), zip_put(z, stored, 8);
  memcpy(z->bytes + z->n, packed, stored), z->n += stored;
  zip_put_central(z, 0x02014b50, 4), zip_put_central(z, 45, 2), zip_put_central(z, 45, 2),
      zip_put_central(z, 0, 2), zip_put_central(z, (uint64_t)method, 2);
  zip_put_central(z, 0, 4), zip_put_central(z, crc, 4), zip_put_central(z, z->zip64 ? UINT32_MAX : stored, 4),
      zip_put_central(z, z->zip64 ? UINT32_MAX : size, 4);
  zip_put_central(z, length, 2), zip_put_central(z, z->zip64 ? 28 : 0, 2), zip_put_central(z, 0, 2),
      zip_put_central(z, 0, 2), zip_put_central(z, 0, 2), zip_put_central(z, 0, 4);
  zip_put_central(z, z->zip64 ? UINT32_MAX : header, 4);
  memcpy(z->central + z->directory, name, length), z->directory += length;
  if (z->zip64)
    zip_put_central(z, 1, 2), zip_put_central(z, 24, 2), zip_put_central(z, size, 8),
        zip_put_central(z, stored, 8), zip_put_central(z, header, 8);
  z->entries++;
}

/* The directory behind the entries: the archive is bytes[0..n-1]. */
static inline void zip_finish(zip *z) {
  const size_t begin = z->n;
  memcpy(z->bytes + z->n, z->central, z->directory), z->n += z->directory;
  const size_t end64 = z->n;
  if (z->zip64) {
    zip_put(z, 0x06064b50, 4), zip_put(z, 44, 8), zip_put(z, 45, 2), zip_put(z, 45, 2), zip_put(z, 0, 4),
        zip_put(z, 0, 4), zip_put(z, z->entries, 8), zip_put(z, z->entries, 8);
    zip_put(z, z->directory, 8), zip_put(z, begin, 8);
    zip_put(z, 0x07064b50, 4), zip_put(z, 0, 4), zip_put(z, end64, 8), zip_put(z, 1, 4);
  }
  zip_put(z, 0x06054b50, 4), zip_put(z, 0, 4), zip_put(z, z->zip64 ? 65535 : z->entries, 2),
      zip_put(z, z->zip64 ? 65535 : z->entries, 2);
  zip_put(z, z->zip64 ? UINT32_MAX : z->directory, 4), zip_put(z, z->zip64 ? UINT32_MAX : begin, 4),
      zip_put(z, 0, 2);
}

#endif
