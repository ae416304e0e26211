/* hdf5_filters.h: what HDF5's filters did to a chunk, undone.
 *
 * The HDF5 library hands out the stored bytes of a chunk; inflating, unshuffling and the checksum are done here,
 * because the library (1.10) does not compare what a filter gave with the size of a chunk, and reads behind it when the file
 * lies. */
#ifndef PZ_BASE_HDF5_FILTERS_H
#define PZ_BASE_HDF5_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

/* As numbered in files (and by H5Z_filter_t). */
enum { PZ_HDF5_DEFLATE = 1, PZ_HDF5_SHUFFLE = 2, PZ_HDF5_FLETCHER32 = 3 };
#define PZ_HDF5_FILTERS 8

typedef struct pz_hdf5_filters {
  int count, id[PZ_HDF5_FILTERS]; /* in the order in which they were applied */
  int64_t element, bytes;         /* of an element, of a chunk */
} pz_hdf5_filters;

bool pz_hdf5_filter_known(int id);
/* No chunk may be stored in more bytes; as many are needed to undo filters, twice. */
int64_t pz_hdf5_chunk_room(int64_t bytes);

/* Undoes the filters of the `stored` bytes at work[0], but for those that a bit of `skipped` stands for. Both of `work` have
 * pz_hdf5_chunk_room(bytes). *out, one of them, then has `bytes` bytes. NULL, or what is wrong. */
const char *pz_hdf5_unfilter(const pz_hdf5_filters *filters, uint32_t skipped, int64_t stored,
                             char *const work[2], char **out);

#endif
