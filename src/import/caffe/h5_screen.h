/* h5_screen.h: a look at the headers of HDF5 objects before the library reads them.
 *
 * Up to 1.10 at least, HDF5 loses memory when the header of an object, or a chunk of it, claims to reach beyond the end of
 * the file, and then complains on stderr when the process ends. Such files are recognised here. */
#ifndef PZ_IMPORT_CAFFE_H5_SCREEN_H
#define PZ_IMPORT_CAFFE_H5_SCREEN_H

#include "base/file.h"

/* The end of the file's data as its superblock says (not beyond the real one), and where the root group's header is.
 * False for superblocks that are damaged or of an unknown kind. */
bool pz_h5_screen_file(const pz_mapping *map, uint64_t *end, uint64_t *root);
/* Whether the object header at `address`, with all its chunks and messages and a group's heap, lies in front of `end`, and
 * its checksums are right where it has any. */
bool pz_h5_screen_object(const pz_mapping *map, uint64_t end, uint64_t address);

#endif
