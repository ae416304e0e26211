#include "base/hdf5_lock.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void pz_hdf5_lock(void) { pthread_mutex_lock(&mutex); }
void pz_hdf5_unlock(void) { pthread_mutex_unlock(&mutex); }

/* A file that is open takes about 2 MB: the cache of metadata, buffers, lists of properties. */
enum { ROOM = 4 << 20 };

pz_status pz_hdf5_room(pz_error *err) {
  void *room = malloc(ROOM);
  if (!room) return pz_fail_memory(err, "HDF5", ROOM);
  free(room);
  return PZ_OK;
}
