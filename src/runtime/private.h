/* private.h: what the files of the runtime share of an open network. */
#ifndef PZ_RUNTIME_PRIVATE_H
#define PZ_RUNTIME_PRIVATE_H

#include "base/digest.h"
#include "runtime/runtime.h"
#include "runtime/weights.h"
#include <pthread.h>
#include <sys/stat.h>

struct pz_net_private {
  const char *path; /* for messages */
  pthread_mutex_t one_run;
  bool shared; /* the file's pages are mapped */
  bool exact;  /* for exact tiles, as the manifest says */
  int file; /* what runs: the file itself, or a copy without the weights, which are at their place in memory */
  struct stat info;            /* of the file at `path`, when it was read */
  pz_weights_place weights;    /* what the copy is without */
  pz_kept_weights kept;        /* of these, what is in memory; the rest is in `source` alone */
  int source;                  /* the file itself, where not all of it is kept; else -1 */
  char digest[PZ_DIGEST_TEXT]; /* SHA-256 of the file; "": not computed yet */
  pz_abi_executor executor;    /* the pool, with a defined floating-point state in each worker */
};

/* Fails where the file's own pages run and its bytes are no longer those that were checked, as far as the system tells. */
pz_status pz_runtime_check_file(const struct pz_net *net, pz_error *err);

void pz_runtime_executor(pz_pool *pool, pz_abi_executor *executor);

#endif
