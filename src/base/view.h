/* view.h: a file at addresses, without a mapping of it: bytes are read when they are asked for. A file that is cut meanwhile is a
 * failure to read and no signal.
 *
 * The whole file has addresses, data .. data + size, so that what is found in it can be pointed at. Behind them is memory only
 * where bytes were fetched. Few of a large file are wanted: how many there are at a time is bounded by who forgets. */
#ifndef PZ_BASE_VIEW_H
#define PZ_BASE_VIEW_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* No request for more is met, however large the file. */
#define PZ_VIEW_REQUEST ((uint64_t)64 << 20)

typedef struct pz_view_run {
  uint64_t first, count; /* pages */
} pz_view_run;

typedef struct pz_view {
  const uint8_t *data; /* 0 where nothing was fetched, or no access at all */
  uint64_t size;       /* as the file had it when it was opened */
  uint64_t most;       /* bytes that are kept; set by open, for tests to change */
  uint64_t page;       /* bytes */
  int fd;
  int fault;         /* sticky: a code of errno, or PZ_VIEW_CUT */
  uint8_t *there;    /* a bit a page */
  pz_view_run *runs; /* what was fetched */
  size_t n_runs, room;
  uint64_t pages; /* in them */
  bool guarded;   /* access is given page by page, where the system counts all memory that may be written */
} pz_view;
enum { PZ_VIEW_CUT = -1 };

/* PZ_ERROR_INPUT where it cannot be read, PZ_ERROR_MEMORY. On success the caller closes the view. */
pz_status pz_view_open(const char *path, pz_view *view, pz_error *err);
void pz_view_close(pz_view *view); /* also of one that is all zero */

/* Makes bytes at .. at + size readable, until the next pz_view_forget. False: they are not in the file, they are too many, or the
 * file cannot be read: then `fault` says so. */
bool pz_view_fetch(pz_view *view, uint64_t at, uint64_t size);

/* The same bytes to memory of the caller, for what is looked at once: no page is made for them. */
bool pz_view_read(pz_view *view, uint64_t at, uint64_t size, void *to);

/* What was fetched may go, where it is more than is kept. */
void pz_view_forget(pz_view *view);

/* "path: was cut ..."; PZ_ERROR_INPUT. For a view with a fault. */
pz_status pz_view_fail(const pz_view *view, const char *path, pz_error *err);

#endif
