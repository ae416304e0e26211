/* io.h: whole reads and writes at a place in a file, with messages that name the file. */
#ifndef PZ_FORMATS_IO_H
#define PZ_FORMATS_IO_H

#include "base/status.h"

/* Opens a regular file for reading. PZ_ERROR_INPUT when that cannot be done. */
pz_status pz_io_open(const char *path, int *fd, int64_t *size, pz_error *err);
/* Whether two names lead to one file; false where one of them leads to none. */
bool pz_io_same_file(const char *a, const char *b);
/* A short read is PZ_ERROR_INPUT ("ends after ... bytes"), any other failure PZ_ERROR_RUN; of writing PZ_ERROR_OUTPUT. */
pz_status pz_io_read(int fd, const char *path, void *data, int64_t bytes, int64_t offset, pz_error *err);
pz_status pz_io_write(int fd, const char *path, const void *data, int64_t bytes, int64_t offset,
                      pz_error *err);
/* Opens an empty file for writing; -1 with errno. Room that was set aside for an empty one stays. */
int pz_io_create(const char *path);
/* The disk may begin with these bytes, so that a sync has less to wait for. */
void pz_io_begin_sync(int fd, int64_t bytes, int64_t offset);
/* The message for errno `code` while `doing` ("writing", "syncing") a file: says what to do about a full disk. While
 * "reading", "opening" or "looking at" it PZ_ERROR_RUN, otherwise PZ_ERROR_OUTPUT. */
pz_status pz_io_fail(pz_error *err, const char *path, const char *doing, int code);
pz_status pz_io_sync_path(const char *path, pz_error *err);   /* a file */
pz_status pz_io_sync_folder(const char *path, pz_error *err); /* the folder that holds `path` */

/* Reverses the bytes of n elements of 2, 4 or 8 bytes. */
void pz_io_swap(void *data, int64_t n, int64_t bytes);

#endif
