/* hdf5_lock.h: one user of the HDF5 library at a time.
 *
 * The library is often built without locks of its own. Whoever calls it here holds this lock from the first call of a
 * piece of work (opening, reading, closing) to the last, the switching off of its messages included. The mutex behind it is
 * the only static state of this library that changes: HDF5's own state is the process's, and so must be its lock. It
 * cannot hold back a host that calls HDF5 from other threads at the same time, which needs a thread-safe HDF5. Not
 * recursive. */
#ifndef PZ_FORMATS_HDF5_LOCK_H
#define PZ_FORMATS_HDF5_LOCK_H

void pz_hdf5_lock(void);
void pz_hdf5_unlock(void);

#endif
