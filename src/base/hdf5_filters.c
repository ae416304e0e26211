#include "base/hdf5_filters.h"

#include "base/hdf5_sum.h"

#include <string.h>
#include <zlib.h>

bool pz_hdf5_filter_known(int id) {
  return id == PZ_HDF5_DEFLATE || id == PZ_HDF5_SHUFFLE || id == PZ_HDF5_FLETCHER32;
}

/* A multiple of 16: one buffer behind another is aligned. */
int64_t pz_hdf5_chunk_room(int64_t bytes) { return (bytes + bytes / 8 + 4096) / 16 * 16; }

/* Behind the data, the low byte first; 0 and 65535 are the same remainder. */
static bool sum_fits(const uint8_t *data, int64_t *size) {
  if (*size < 4) return false;
  *size -= 4;
  const uint32_t sum = pz_hdf5_fletcher32(data, (uint64_t)*size);
  const uint8_t *stored = data + *size;
  const uint32_t low = stored[0] | stored[1] << 8, high = stored[2] | stored[3] << 8;
  return (sum & 0xffff) % 65535 == low % 65535 && (sum >> 16) % 65535 == high % 65535;
}

/* Room is left for the checksum of a filter before this one. */
static bool inflate_to(const char *from, char *to, int64_t bytes, int64_t *size) {
  uLongf got = (uLongf)(bytes + 64);
  if (uncompress((Bytef *)to, &got, (const Bytef *)from, (uLong)*size) != Z_OK) return false;
  *size = (int64_t)got;
  return true;
}

/* Shuffling puts first bytes of all elements together, then the second ones; what is left over stays behind. */
static void unshuffle(const char *from, char *to, int64_t element, int64_t size) {
  const int64_t n = size / element;
  for (int64_t b = 0; b < element; b++)
    for (int64_t i = 0; i < n; i++) to[i * element + b] = from[b * n + i];
  memcpy(to + n * element, from + n * element, (size_t)(size - n * element));
}

const char *pz_hdf5_unfilter(const pz_hdf5_filters *f, uint32_t skipped, int64_t size, char *const work[2],
                             char **out) {
  int now = 0;
  if (size > pz_hdf5_chunk_room(f->bytes)) return "is larger than compression makes it";
  for (int i = f->count - 1; i >= 0; i--) {
    bool good = true;
    if (skipped & 1u << i) continue;
    if (f->id[i] == PZ_HDF5_FLETCHER32) good = sum_fits((const uint8_t *)work[now], &size);
    else if (f->id[i] == PZ_HDF5_DEFLATE) good = inflate_to(work[now], work[!now], f->bytes, &size);
    else unshuffle(work[now], work[!now], f->element, size);
    if (!good) return "is damaged: it cannot be decompressed";
    now ^= f->id[i] != PZ_HDF5_FLETCHER32;
  }
  *out = work[now];
  return size == f->bytes ? NULL : "is damaged: it has the wrong size";
}
