/* status.h: how every function of the library fails. Standard: a pz_status is returned, and the pz_error
 * that the caller handed in holds one line that names the place and what to do. The library never exits,
 * aborts or prints. */
#ifndef PZ_BASE_STATUS_H
#define PZ_BASE_STATUS_H

#include "pznet/pznet.h" /* pz_status: one list for the public API and the inside */

/* The first failure wins: pz_fail on an error that is already set keeps the earlier message. */
typedef struct pz_error {
  pz_status status;
  char message[4096]; /* room for a list of all that a model has and pznet has not */
} pz_error;

/* Sets err (unless err is NULL or already set) and returns status, so that `return pz_fail(...)` works. */
pz_status pz_fail(pz_error *err, pz_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The message for a failed allocation of `bytes` for `what`, with what is there where it is large; returns PZ_ERROR_MEMORY. */
pz_status pz_fail_memory(pz_error *err, const char *what, unsigned long long bytes);

pz_status pz_fail_interrupted(pz_error *err);

#define PZ_TRY(expression)                                                                                   \
  do {                                                                                                       \
    pz_status pz_try_status_ = (expression);                                                                 \
    if (pz_try_status_ != PZ_OK) return pz_try_status_;                                                      \
  } while (0)

#endif
