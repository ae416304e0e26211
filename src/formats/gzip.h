/* gzip.h: a gzip file as bytes in their order, by zlib's inflate and deflate and by pread and pwrite. zlib's own files (gzopen) take an
 * interrupted call for an error, and each opens the path anew: streams here share one descriptor, and so one file. */
#ifndef PZ_FORMATS_GZIP_H
#define PZ_FORMATS_GZIP_H

#include "base/pool.h"

typedef struct pz_gzip pz_gzip;

enum {
  PZ_GZIP_MEMORY = (1 << 17) + (1 << 16) + (64 << 10)
}; /* of one stream: its buffers and zlib's state */

/* Reads from a file that stays the caller's, as does the path's text. A file that is not compressed is read as it is. Members that follow each other are
 * one stream; what follows the last one and is none is left alone, as gunzip does. */
pz_status pz_gzip_open(const char *path, int fd, pz_gzip **gzip, pz_error *err);

/* Bytes offset..offset+bytes-1 of what was compressed. Forward by reading on, back by beginning again. PZ_ERROR_INPUT where the file is
 * damaged or ends before; with `got` an end is no failure, and *got says how many there were. */
pz_status pz_gzip_read(pz_gzip *gzip, void *to, int64_t bytes, int64_t offset, int64_t *got, pz_error *err);

void pz_gzip_close(pz_gzip *gzip); /* NULL is fine */

typedef struct pz_gzip_out pz_gzip_out;

/* No more bytes are written for so many. */
int64_t pz_gzip_most(int64_t bytes);

/* Creates or replaces a file. Portions are compressed by themselves, as many at once as the pool has threads (NULL: one), into one member: equal bytes in
 * give equal bytes out, for any number of threads. Matches are sought for runs of one byte alone (zlib's Z_RLE): of probabilities no others are
 * found, and labels have them; it takes a third of the time of level 1. */
pz_status pz_gzip_create(const char *path, pz_pool *pool, pz_gzip_out **gzip, pz_error *err);
pz_status pz_gzip_write(pz_gzip_out *gzip, const void *data, int64_t bytes, pz_error *err);
/* Writes what is left. The caller frees in any case. */
pz_status pz_gzip_finish(pz_gzip_out *gzip, pz_error *err);
void pz_gzip_free(pz_gzip_out *gzip); /* NULL is fine */

#endif
