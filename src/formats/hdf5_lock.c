#include "formats/hdf5_lock.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void pz_hdf5_lock(void) { pthread_mutex_lock(&mutex); }
void pz_hdf5_unlock(void) { pthread_mutex_unlock(&mutex); }
