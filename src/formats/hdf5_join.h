/* hdf5_join.h: a result that is put into an HDF5 file beside what is in it.
 *
 * The file itself is never written to: a copy of it gets the dataset, and takes the file's name in one step when it is whole. So a
 * reader of the file, and a crash at any time, see the old file or the new one. From before the copy until then the file is locked
 * as HDF5's own readers lock it, so that a writer is noticed, and held off. */
#ifndef PZ_FORMATS_HDF5_JOIN_H
#define PZ_FORMATS_HDF5_JOIN_H

#include "formats/volume.h"

#include <hdf5.h>

#define PZ_HDF5_DEFAULT "/main"

/* As pz_volume_format has them. */
pz_status pz_hdf5_check_join(const char *path, const char *dataset, bool update, bool *joins, pz_error *err);
uint64_t pz_hdf5_locate(const char *path, const char *dataset);
pz_status pz_hdf5_join(pz_volume_join *join, pz_volume_source *source, pz_error *err);

/* In hdf5.c: a dataset for the result; groups of its name are made. `at`: a file or group. Without a level its data is the raw array at *place in
 * the file; with one *place is its header's, for pz_hdf5_fill_packed. False: the library failed. */
bool pz_hdf5_make_dataset(hid_t at, const char *name, const pz_volume_info *info, int level, int64_t *place);

#endif
