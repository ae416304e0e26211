/* hdf5_undo.h: the filters of hdf5_filters.h one by one. Each takes `size` bytes at `in` and writes at most `room` bytes to
 * `out`; it returns how many, -1 where the bytes are damaged, or
 * PZ_HDF5_NO_MEMORY. No pointer of one is inside the other's memory. */
#ifndef PZ_FORMATS_HDF5_UNDO_H
#define PZ_FORMATS_HDF5_UNDO_H

#include "formats/hdf5_filters.h"

/* LZF (Marc Lehmann's format, as h5py has it). */
int64_t pz_hdf5_undo_lzf(const char *in, int64_t size, char *out, int64_t room);

/* Scale-offset, whose parameters pz_hdf5_scaleoffset_problem has found sound. */
int64_t pz_hdf5_undo_scaleoffset(const pz_hdf5_filter *filter, int64_t element, const char *in, int64_t size,
                                 char *out, int64_t room);
const char *pz_hdf5_scaleoffset_problem(const pz_hdf5_filter *filter, int64_t element);

/* Szip, likewise. bytes: of the chunk. Not there where pznet is built without libaec, which is a problem of its parameters. */
int64_t pz_hdf5_undo_szip(const pz_hdf5_filter *filter, const char *in, int64_t size, char *out,
                          int64_t bytes);
const char *pz_hdf5_szip_problem(const pz_hdf5_filter *filter, int64_t element);

#endif
