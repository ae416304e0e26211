/* hdf5_packed.h: a result's dataset in chunks, by shuffle and deflate.
 *
 * Chunks are at most 16 planes of one channel, of about 128 rows of as many voxels, and of equal size as nearly as the shape allows. Each is
 * compressed here, by all threads, and written once. */
#ifndef PZ_FORMATS_HDF5_PACKED_H
#define PZ_FORMATS_HDF5_PACKED_H

#include "formats/volume.h"

#include <hdf5.h>

/* Makes the properties say so. False: the library failed. */
bool pz_hdf5_pack(hid_t create, const pz_volume_info *info, int level);

/* Bytes that the chunks may take in the file, and not many more. */
int64_t pz_hdf5_packed_most(const pz_volume_info *info);

/* Writes the chunks of the dataset, made so, whose header is at `address` in the file. The library's lock is not held by the caller, and not while
 * chunks are compressed. */
pz_status pz_hdf5_fill_packed(const char *path, const char *dataset, uint64_t address,
                              pz_volume_source *source, pz_error *err);

#endif
