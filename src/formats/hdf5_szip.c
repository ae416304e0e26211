/* hdf5_szip.c: the filter szip, by libaec. A chunk is four bytes of its size, then the stream. Elements of 32 and 64 bits are
 * stored as bytes: the first bytes of all, then the second ones. Lines of pixels are filled up to whole blocks. */
#include "formats/hdf5_undo.h"

#include <stdlib.h>
#include <string.h>

/* Places of the filter's parameters, and bits of the first one. */
enum { OPTIONS, BLOCK, BITS, LINE, PARAMETERS, HIGH_FIRST = 16, NEAREST = 32 };
enum { MOST_BLOCK = 32, MOST_LINE = 4096 };

#ifdef PZ_HAS_AEC
#include <libaec.h>

const char *pz_hdf5_szip_problem(const pz_hdf5_filter *f, int64_t element) {
  const unsigned *v = f->value;
  const bool good = f->values >= PARAMETERS && v[BLOCK] >= 2 && v[BLOCK] <= MOST_BLOCK && v[BLOCK] % 2 == 0 &&
                    v[BITS] == 8 * (uint64_t)element && v[LINE] >= v[BLOCK] && v[LINE] <= MOST_LINE;
  return good ? NULL : "have wrong parameters for szip";
}

static bool decode(const pz_hdf5_filter *f, int bits, const char *in, int64_t size, char *out,
                   int64_t bytes) {
  const unsigned *v = f->value;
  struct aec_stream s = {.next_in = (const unsigned char *)in,
                         .avail_in = (size_t)size,
                         .next_out = (unsigned char *)out,
                         .avail_out = (size_t)bytes,
                         .bits_per_sample = (unsigned)bits,
                         .block_size = v[BLOCK],
                         .rsi = (v[LINE] + v[BLOCK] - 1) / v[BLOCK]};
  s.flags = (v[OPTIONS] & HIGH_FIRST ? AEC_DATA_MSB : 0) | (v[OPTIONS] & NEAREST ? AEC_DATA_PREPROCESS : 0);
  return aec_buffer_decode(&s) == AEC_OK && s.total_out == (size_t)bytes;
}

/* The bytes of `n` elements, each byte's place together, to where they belong. */
static void join(const char *from, char *to, int64_t element, int64_t n) {
  for (int64_t b = 0; b < element; b++)
    for (int64_t i = 0; i < n; i++) to[i * element + b] = from[b * n + i];
}

int64_t pz_hdf5_undo_szip(const pz_hdf5_filter *f, const char *in, int64_t size, char *out, int64_t bytes) {
  const unsigned *v = f->value;
  const int64_t element = v[BITS] / 8, sample = element > 2 ? 1 : element;
  const int64_t line = v[LINE] * sample, filled = (v[LINE] + v[BLOCK] - 1) / v[BLOCK] * v[BLOCK] * sample;
  const int64_t lines = (bytes + line - 1) / line;
  if (size < 4) return -1;
  char *all = malloc((size_t)(lines * filled)), *packed = element > 2 ? malloc((size_t)bytes) : out;
  const bool room = all && packed;
  const bool good = room && decode(f, (int)(8 * sample), in + 4, size - 4, all, lines * filled);
  for (int64_t i = 0; good && i < lines; i++)
    memcpy(packed + i * line, all + i * filled, (size_t)(i + 1 < lines ? line : bytes - i * line));
  if (good && element > 2) join(packed, out, element, bytes / element);
  free(all);
  if (packed != out) free(packed);
  return good ? bytes : room ? -1 : PZ_HDF5_NO_MEMORY;
}
#else
const char *pz_hdf5_szip_problem(const pz_hdf5_filter *f, int64_t element) {
  (void)f, (void)element;
  return "are stored by szip, and this pznet is built without libaec, which reads it";
}

int64_t pz_hdf5_undo_szip(const pz_hdf5_filter *f, const char *in, int64_t size, char *out, int64_t bytes) {
  (void)f, (void)in, (void)size, (void)out, (void)bytes;
  return -1;
}
#endif
