/* private.h: what the files of the runtime share of an open network. */
#ifndef PZ_RUNTIME_PRIVATE_H
#define PZ_RUNTIME_PRIVATE_H

#include "runtime/runtime.h"
#include <pthread.h>

struct pz_net_private {
  const char *path; /* for messages */
  pthread_mutex_t one_run;
  pz_abi_executor executor; /* the pool, with a defined floating-point state in each worker */
};

void pz_runtime_executor(pz_pool *pool, pz_abi_executor *executor);

#endif
