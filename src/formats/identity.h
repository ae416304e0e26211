/* identity.h: which file a volume is read from, and whether it still is as it was.
 *
 * Size and times of change are noted before the first byte is read. Times have a grain, of some milliseconds or more: what
 * changes within the grain of the last change has the same time. So who relies on it settles first, that is waits until that
 * grain is over, which a file that is not new has behind it. A change through a memory mapping is seen when the system writes
 * it to the disk. */
#ifndef PZ_FORMATS_IDENTITY_H
#define PZ_FORMATS_IDENTITY_H

#include "base/status.h"

#include <sys/stat.h>

typedef struct pz_identity {
  bool known;
  int fd; /* open for reading while it is known */
  struct stat noted;
} pz_identity;

/* Opens a regular file and notes what it is, settled or at once. PZ_ERROR_INPUT when that cannot be done. On success the caller
 * calls pz_identity_end; on failure, and of one that is all zero, it may. */
pz_status pz_identity_begin(const char *path, bool settled, pz_identity *identity, pz_error *err);
void pz_identity_end(pz_identity *identity);

/* Whether `path` leads to this file, which somebody else has opened by its name. */
pz_status pz_identity_leads_here(const pz_identity *identity, const char *path, pz_error *err);

/* Size and time of change; cheap, for each read. PZ_ERROR_INPUT when they differ. One that is not known is as it was. */
pz_status pz_identity_check(const pz_identity *identity, const char *path, pz_error *err);

/* The last look. PZ_ERROR_INPUT also when another file has taken the place at `path`; PZ_ERROR_RUN when the content may be the
 * same: the file was moved, linked or given other rights, or its time was put back. A file that is at `path` no more is as it
 * was if its bytes are those of `digest`. */
pz_status pz_identity_confirm(const pz_identity *identity, const char *path, const char *digest,
                              pz_error *err);

/* The digest of 64 blocks of 64 KiB that are spread over the file (all of it when it is no larger), as text. `block`: room for
 * PZ_IDENTITY_BLOCK bytes. */
enum { PZ_IDENTITY_BLOCK = 64 << 10 };
pz_status pz_identity_digest(const pz_identity *identity, const char *path, char *block, char *text,
                             pz_error *err);

/* Waits until what is changed from now on has another time than the last change of the file has; milliseconds, two seconds at most.
 * *info: the file as it is then. False: it cannot be looked at. */
bool pz_identity_settle(int fd, struct stat *info);

#endif
