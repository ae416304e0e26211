/* hdf5_find.h: objects of an HDF5 file, found link by link: each is checked before the library opens it, and nothing that lies
 * in other files is followed. The library's lock is held by the caller. */
#ifndef PZ_VOLUME_HDF5_FIND_H
#define PZ_VOLUME_HDF5_FIND_H

#include "base/file.h"

#include <hdf5.h>

typedef struct pz_hdf5_search {
  hid_t file;
  const pz_mapping *map; /* of the same file, which passed pz_hdf5_check */
  uint64_t root;
  const char *path; /* of the file, for messages */
  pz_error *err;
} pz_hdf5_search;

/* Opens the dataset at this path of hard and symbolic links; the caller closes it. *plain_attributes: they can be opened. */
pz_status pz_hdf5_open_dataset(const pz_hdf5_search *search, const char *name, hid_t *data,
                               bool *plain_attributes);

/* Opens the group that the first `length` bytes of a path name (none: the root), for its attributes; the caller closes it. -1 where
 * that is not possible. */
hid_t pz_hdf5_open_group(const pz_hdf5_search *search, const char *name, size_t length);

/* How many datasets there are (2: or more, or one with a name that is longer), and the name of the first. */
pz_status pz_hdf5_count_datasets(const pz_hdf5_search *search, int *count, char name[256]);

#endif
