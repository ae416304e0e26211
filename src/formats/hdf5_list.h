/* hdf5_list.h: the datasets of an HDF5 file. */
#ifndef PZ_FORMATS_HDF5_LIST_H
#define PZ_FORMATS_HDF5_LIST_H

#include "formats/hdf5_find.h"

enum { PZ_HDF5_LISTED = 20, PZ_HDF5_NAME = 256 };

typedef struct pz_hdf5_listed {
  char name[PZ_HDF5_NAME]; /* from the root, cut off where it is longer */
  char about[144];         /* "u8, 30 x 512 x 512" */
} pz_hdf5_listed;

typedef struct pz_hdf5_list {
  int datasets;              /* all that were met */
  int volumes;               /* those of a known type and of rank 2 to 5 */
  char volume[PZ_HDF5_NAME]; /* the first of them; "" where its name is longer */
  /* Things that are no datasets: links to elsewhere, attributes of groups, empty groups, committed types, what is not known to
   * be sound, and what was not looked at because there is so much. */
  int others;
  bool complete;    /* every object was looked at and is sound */
  pz_error problem; /* what is wrong with the first that is not */
  int listed;
  pz_hdf5_listed list[PZ_HDF5_LISTED];
} pz_hdf5_list;

/* Looks at everything that hard links lead to from the root; objects that are not sound are counted and not opened. The caller
 * frees *list with free. */
pz_status pz_hdf5_list_datasets(const pz_hdf5_search *search, pz_hdf5_list **list);

/* "/raw (u8, 30 x 512 x 512), /labels (u64, 30 x 512 x 512) and 3 more": names without control characters, as much as there is
 * room for. */
void pz_hdf5_print_list(const pz_hdf5_list *list, char *out, int size);

#endif
