/* hdf5_find.h: objects of an HDF5 file, found link by link: each is checked before the library opens it, and nothing that lies
 * in other files is followed. The library's lock is held by the caller. */
#ifndef PZ_FORMATS_HDF5_FIND_H
#define PZ_FORMATS_HDF5_FIND_H

#include "base/view.h"

#include <hdf5.h>

typedef struct pz_hdf5_search {
  hid_t file;
  pz_view *view; /* of the same file, which passed pz_hdf5_check */
  uint64_t root;
  const char *path; /* of the file, for messages */
  pz_error *err;
  bool *missing; /* is set where a dataset is not there, or is a group; may be NULL */
} pz_hdf5_search;

/* Whether the library has opened the file that was checked, and not another one that got its name meanwhile. */
pz_status pz_hdf5_same_file(const pz_hdf5_search *search);

/* Opens the dataset at this path of hard and symbolic links; the caller closes it. *plain_attributes: they can be opened. */
pz_status pz_hdf5_open_dataset(const pz_hdf5_search *search, const char *name, hid_t *data,
                               bool *plain_attributes);

/* Where in the file the header of the dataset at this path is: what it is known by, whatever its names. */
pz_status pz_hdf5_locate_dataset(const pz_hdf5_search *search, const char *name, uint64_t *address);

/* Opens the group that the first `length` bytes of a path name (none: the root), for its attributes; the caller closes it. -1 where
 * that is not possible. */
hid_t pz_hdf5_open_group(const pz_hdf5_search *search, const char *name, size_t length);

enum { PZ_HDF5_PATH = 4096 };

/* Where a dataset is to be made: as `name`, which may lead through groups that are not there yet, in the group. */
typedef struct pz_hdf5_place {
  hid_t group; /* the caller closes it */
  char name[PZ_HDF5_PATH];
  bool exists; /* a dataset has this name, which is one link then */
} pz_hdf5_place;
/* Follows what there is of the path; PZ_ERROR_OUTPUT where something else stands in the way. */
pz_status pz_hdf5_find_place(const pz_hdf5_search *search, const char *name, pz_hdf5_place *place);

#endif
