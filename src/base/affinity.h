/* affinity.h: the cores that the scheduler may run this process on. */
#ifndef PZ_BASE_AFFINITY_H
#define PZ_BASE_AFFINITY_H

#include <pthread.h>
#include <stdbool.h>

/* The cores of the calling thread's affinity mask in ascending order: at most `size` are stored, the number of all is
 * returned; 0 where the system does not say. */
int pz_affinity_cores(int *cores, int size);

/* Binds a thread to one core; false where the system refuses. */
bool pz_affinity_bind(pthread_t thread, int core);

/* Moves the calling thread to a core of its mask. The mask stays as it is, so the thread is not bound there. */
void pz_affinity_move(int core);

#endif
