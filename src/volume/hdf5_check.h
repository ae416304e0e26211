/* hdf5_check.h: an HDF5 file held to its structure before the HDF5 library follows its pointers.
 *
 * The library (1.10) crashes on files that were damaged in the right places: sizes and addresses are believed. Files in
 * the format that it writes by default (superblock 0 and 1: groups as version 1 B-trees with local heaps, object headers
 * of version 1) have no checksums, so what can be reached from the root is walked here: every block inside the
 * file, every count inside its block, every name ended, no cycles, chunks as large as they must be. Files in the later format
 * (superblock 2 and 3) carry checksums on every block, which the library verifies. */
#ifndef PZ_VOLUME_HDF5_CHECK_H
#define PZ_VOLUME_HDF5_CHECK_H

#include "base/status.h"

/* *plain_attributes: no attribute of any object has a type that takes more than its size to describe; others are not to
 * be opened. */
pz_status pz_hdf5_check(const char *path, bool *plain_attributes, pz_error *err);

#endif
