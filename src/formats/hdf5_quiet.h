/* hdf5_quiet.h: around every use of the HDF5 library: its lock is held, and its printing of errors switched off. */
#ifndef PZ_FORMATS_HDF5_QUIET_H
#define PZ_FORMATS_HDF5_QUIET_H

#include "base/status.h"

#include <hdf5.h>

typedef struct pz_hdf5_quiet {
  H5E_auto2_t print;
  void *data;
} pz_hdf5_quiet;

pz_hdf5_quiet pz_hdf5_hush(void);
void pz_hdf5_unhush(pz_hdf5_quiet quiet);

/* "path:dataset: what: " and the library's reason, where the failure began. Where that is a lock on the file, what to do. dataset
 * may be NULL. */
pz_status pz_hdf5_fail(pz_error *err, pz_status status, const char *path, const char *dataset,
                       const char *what);

/* What to do about a file that is locked. */
#define PZ_HDF5_LOCKED                                                                                       \
  "another process has it open for writing, or its disk has no locks, as some network disks; wait for the "  \
  "process, or set HDF5_USE_FILE_LOCKING=FALSE, which is safe where nobody writes to the file meanwhile"

#endif
