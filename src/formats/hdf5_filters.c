#include "formats/hdf5_filters.h"

#include "formats/hdf5_sum.h"
#include "formats/hdf5_undo.h"

#include <string.h>
#include <zlib.h>

static const struct {
  int id;
  const char *name;
} names[] = {{PZ_HDF5_DEFLATE, "deflate"},
             {PZ_HDF5_SHUFFLE, "shuffle"},
             {PZ_HDF5_FLETCHER32, "fletcher32"},
             {PZ_HDF5_SZIP, "szip"},
             {PZ_HDF5_NBIT, "nbit"},
             {PZ_HDF5_SCALEOFFSET, "scale-offset"},
             {PZ_HDF5_LZF, "lzf"},
             /* of plug-ins, as registered with the HDF Group */
             {305, "lzo"},
             {307, "bzip2"},
             {32001, "blosc"},
             {32004, "lz4"},
             {32008, "bitshuffle"},
             {32013, "zfp"},
             {32015, "zstd"},
             {32017, "sz"},
             {32018, "fcidecomp"},
             {32019, "jpeg"},
             {32024, "sz3"},
             {32026, "blosc2"},
             {32028, "sperr"}};
enum { NAMES = sizeof names / sizeof *names, KNOWN = 7 };

bool pz_hdf5_filter_known(int id) {
  for (int i = 0; i < KNOWN; i++)
    if (names[i].id == id) return true;
  return false;
}

const char *pz_hdf5_filter_name(int id) {
  for (int i = 0; i < NAMES; i++)
    if (names[i].id == id) return names[i].name;
  return NULL;
}

/* nbit leaves elements alone that use all their bits; of others there are none here. */
enum { NBIT_NOTHING_TO_DO = 1 };
static const char *nbit_problem(const pz_hdf5_filter *f) {
  return f->values > NBIT_NOTHING_TO_DO && f->value[NBIT_NOTHING_TO_DO] ? NULL
                                                                        : "have wrong parameters for nbit";
}

const char *pz_hdf5_filters_problem(const pz_hdf5_filters *f) {
  for (int i = 0; i < f->count; i++) {
    const pz_hdf5_filter *filter = &f->filter[i];
    const char *problem = filter->id == PZ_HDF5_SZIP ? pz_hdf5_szip_problem(filter, f->element)
                          : filter->id == PZ_HDF5_SCALEOFFSET
                              ? pz_hdf5_scaleoffset_problem(filter, f->element)
                          : filter->id == PZ_HDF5_NBIT ? nbit_problem(filter)
                                                       : NULL;
    if (problem) return problem;
  }
  return NULL;
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

/* Szip's lines, which may be filled up to twice their length, and its bytes; what a plug-in holds beside. */
int64_t pz_hdf5_filters_memory(const pz_hdf5_filters *f) {
  int64_t bytes = 0;
  for (int i = 0; i < f->count; i++)
    if (f->filter[i].id == PZ_HDF5_SZIP || f->filter[i].foreign) bytes = 3 * f->bytes;
  return bytes;
}

static int64_t inflate_to(const char *from, int64_t size, char *to, int64_t room) {
  uLongf got = (uLongf)room;
  return uncompress((Bytef *)to, &got, (const Bytef *)from, (uLong)size) == Z_OK ? (int64_t)got : -1;
}

/* Shuffling puts first bytes of all elements together, then the second ones; what is left over stays behind. */
static int64_t unshuffle(const char *from, int64_t size, char *to, int64_t element) {
  const int64_t n = size / element;
  for (int64_t b = 0; b < element; b++)
    for (int64_t i = 0; i < n; i++) to[i * element + b] = from[b * n + i];
  memcpy(to + n * element, from + n * element, (size_t)(size - n * element));
  return size;
}

/* From one buffer to the other. */
static int64_t undo(const pz_hdf5_filters *f, const pz_hdf5_filter *filter, const char *in, int64_t size,
                    char *out) {
  const int64_t room = pz_hdf5_chunk_room(f->bytes);
  if (filter->foreign) return filter->foreign(filter, in, size, out, room);
  switch (filter->id) {
  case PZ_HDF5_DEFLATE: return inflate_to(in, size, out, room);
  case PZ_HDF5_SHUFFLE: return unshuffle(in, size, out, f->element);
  case PZ_HDF5_LZF: return pz_hdf5_undo_lzf(in, size, out, room);
  case PZ_HDF5_SCALEOFFSET: return pz_hdf5_undo_scaleoffset(filter, f->element, in, size, out, room);
  case PZ_HDF5_SZIP: return pz_hdf5_undo_szip(filter, in, size, out, f->bytes);
  default: return -1;
  }
}

const char *pz_hdf5_unfilter(const pz_hdf5_filters *f, uint32_t skipped, int64_t size, char *const work[2],
                             char **out) {
  int now = 0;
  if (size > pz_hdf5_chunk_room(f->bytes)) return "is larger than compression makes it";
  for (int i = f->count - 1; i >= 0; i--) {
    const pz_hdf5_filter *filter = &f->filter[i];
    if (skipped & 1u << i || filter->id == PZ_HDF5_NBIT) continue;
    if (filter->id == PZ_HDF5_FLETCHER32) {
      if (!sum_fits((const uint8_t *)work[now], &size)) return "is damaged: its checksum is wrong";
      continue;
    }
    size = undo(f, filter, work[now], size, work[!now]);
    if (size == PZ_HDF5_NO_MEMORY) return "cannot be decompressed: there is not enough memory";
    if (size < 0) return "is damaged: it cannot be decompressed";
    now = !now;
  }
  *out = work[now];
  return size == f->bytes ? NULL : "is damaged: it has the wrong size";
}
