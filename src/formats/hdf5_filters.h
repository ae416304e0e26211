/* hdf5_filters.h: what HDF5's filters did to a chunk, undone.
 *
 * The HDF5 library hands out the stored bytes of a chunk; what its filters did is undone here, because the library (1.10) does
 * not compare what a filter gave with the size of a chunk, and reads behind it when the file lies. Every filter here writes into
 * a buffer of a known size and nothing behind it, whatever the stored bytes are.
 *
 * Calls nothing of the HDF5 library. */
#ifndef PZ_FORMATS_HDF5_FILTERS_H
#define PZ_FORMATS_HDF5_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

/* As numbered in files (and by H5Z_filter_t). LZF is h5py's. */
enum {
  PZ_HDF5_DEFLATE = 1,
  PZ_HDF5_SHUFFLE = 2,
  PZ_HDF5_FLETCHER32 = 3,
  PZ_HDF5_SZIP = 4,
  PZ_HDF5_NBIT = 5,
  PZ_HDF5_SCALEOFFSET = 6,
  PZ_HDF5_LZF = 32000
};
enum { PZ_HDF5_FILTERS = 8, PZ_HDF5_FILTER_VALUES = 64, PZ_HDF5_NO_MEMORY = -2 };

typedef struct pz_hdf5_filter pz_hdf5_filter;
struct pz_hdf5_filter {
  int id, values;
  unsigned value[PZ_HDF5_FILTER_VALUES]; /* its parameters, as the file has them */
  /* Undoes a filter that is not known here: `size` bytes at `in` to at most `room` bytes at `out`. How many; -1: it is
   * damaged; PZ_HDF5_NO_MEMORY. NULL for those that are known. */
  int64_t (*foreign)(const pz_hdf5_filter *filter, const char *in, int64_t size, char *out, int64_t room);
  const void *host; /* of `foreign` */
};

typedef struct pz_hdf5_filters {
  int count;
  pz_hdf5_filter filter[PZ_HDF5_FILTERS]; /* in the order in which they were applied */
  int64_t element, bytes;                 /* of an element, of a chunk */
} pz_hdf5_filters;

/* Whether a filter of this number is undone here. */
bool pz_hdf5_filter_known(int id);
/* What people call the filter, those of plug-ins too; NULL: unknown. */
const char *pz_hdf5_filter_name(int id);
/* What is wrong with the parameters of those that are known ("have wrong ..."), for elements of this size; NULL: nothing. */
const char *pz_hdf5_filters_problem(const pz_hdf5_filters *filters);
/* No chunk may be stored in more bytes; as many are needed to undo filters, twice. */
int64_t pz_hdf5_chunk_room(int64_t bytes);
/* What undoing takes beside that. */
int64_t pz_hdf5_filters_memory(const pz_hdf5_filters *filters);

/* Undoes the filters of the `stored` bytes at work[0], but for those that a bit of `skipped` stands for. Both of `work` have
 * pz_hdf5_chunk_room(bytes). *out, one of them, then has `bytes` bytes. NULL, or what is wrong. */
const char *pz_hdf5_unfilter(const pz_hdf5_filters *filters, uint32_t skipped, int64_t stored,
                             char *const work[2], char **out);

#endif
