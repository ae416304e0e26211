/* hdf5_check.h: an HDF5 file held to its structure before the HDF5 library follows its pointers.
 *
 * The library (1.10) crashes on files that were damaged in the right places, and loses memory on others: sizes and addresses
 * are believed. Files in the format that it writes by default (superblock 0 and 1: groups as version 1 B-trees with local
 * heaps, object headers of version 1) have no checksums, so what can be reached from the root is walked here: every block
 * inside the file, every count inside its block, every name ended, no cycles, chunks as large as they must be. Headers of the
 * later format (version 2, and superblocks 2 and 3) carry checksums, which are compared here; of their messages those are
 * looked at that lead to further objects, or to blocks without checksums. Groups of many links (fractal heaps) are not
 * walked: what the library finds in them is shown to pz_hdf5_check_object before it is opened.
 *
 * Neither calls the HDF5 library. After the HDF5 file format specification 3.0. */
#ifndef PZ_BASE_HDF5_CHECK_H
#define PZ_BASE_HDF5_CHECK_H

#include "base/file.h"

/* *plain_attributes: no attribute of any object has a type that takes more than its size to describe; others are not to
 * be opened. May be NULL. */
pz_status pz_hdf5_check(const char *path, bool *plain_attributes, pz_error *err);

/* The object whose header is at `address` in a file that passed pz_hdf5_check, without those that it leads to. */
pz_status pz_hdf5_check_object(const pz_mapping *map, const char *path, uint64_t address, pz_error *err);

#endif
