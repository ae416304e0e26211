/* hdf5_check.h: an HDF5 file held to its structure before the HDF5 library follows its pointers.
 *
 * The library (1.10) was made for files that it wrote itself: it believes counts, sizes and addresses. So no object is
 * opened by it that was not checked here before, with all that the library reads for it: header, messages, types, the names
 * of a group, the links and attributes that lie in heaps, the index of chunks. Every block is inside the file, every count
 * inside its block, every name ended; sizes fit each other, version and type. What is not known to be sound is refused. Of
 * what a link leads to nothing is known until that is checked itself.
 *
 * Left to the library are the blocks of one index of chunks in the later format, that of datasets with one unlimited axis
 * (an "extensible array"); they carry checksums, their sizes follow from the header, which is checked. Attributes that are
 * not sound are no reason to refuse their object, since nothing else leads the library to them.
 *
 * Only what is looked at is read, by a view of the file, of which some megabytes are in memory at a time, however large the file and
 * its indices are.
 *
 * Calls nothing of the HDF5 library. After the HDF5 file format specification 3.0. */
#ifndef PZ_FORMATS_HDF5_CHECK_H
#define PZ_FORMATS_HDF5_CHECK_H

#include "base/view.h"

typedef enum pz_hdf5_kind {
  PZ_HDF5_OTHER, /* not to be opened: a committed type, ... */
  PZ_HDF5_GROUP,
  PZ_HDF5_DATASET
} pz_hdf5_kind;

typedef struct pz_hdf5_about {
  pz_hdf5_kind kind;
  bool plain_attributes; /* false: some are not known to be sound, none is to be opened */
} pz_hdf5_about;

/* What opening the file leads the library to: the superblock, its extension, the root (*root is its address), which is a
 * group. `label` stands in front of messages. */
pz_status pz_hdf5_check(pz_view *view, const char *label, uint64_t *root, pz_error *err);

/* The object whose header is at `address` in a file that passed pz_hdf5_check. */
pz_status pz_hdf5_check_object(pz_view *view, const char *label, uint64_t address, pz_hdf5_about *about,
                               pz_error *err);

/* The texts of an attribute in the header of an object that was checked, one in a line: of fixed length, or of any length, which the
 * library would fetch from a heap that nobody checked. False: there is none of this name, or it is not sound. */
bool pz_hdf5_find_text(pz_view *view, uint64_t address, const char *name, char *out, size_t size);

#endif
