/* zip.h: the members of a ZIP archive, stored or deflated, as .npz files have them.
 *
 * The directory at the end is read, with the sizes of ZIP64; all of it is held to the file. What is encrypted, split over several
 * files or compressed in another way is refused when it is opened. */
#ifndef PZ_FORMATS_ZIP_H
#define PZ_FORMATS_ZIP_H

#include "base/arena.h"
#include "base/status.h"

enum { PZ_ZIP_MEMORY = 1 << 17 }; /* of an open stream, about */

typedef struct pz_zip_member {
  const char *name;
  int64_t header;       /* where its own header is */
  int64_t stored, size; /* bytes in the archive, and of the content */
  uint32_t crc;
  int method, flags;
} pz_zip_member;

typedef struct pz_zip {
  const char *path;
  int fd;
  int64_t size;
  pz_zip_member *member;
  int n;
} pz_zip;

/* Names and members live in the arena; fd and path stay the caller's. */
pz_status pz_zip_read(pz_arena *arena, const char *path, int fd, int64_t size, pz_zip *zip, pz_error *err);

/* The content of a member, from any place; one that is deflated is read forward, and from its beginning where that is behind. */
typedef struct pz_zip_stream pz_zip_stream;
pz_status pz_zip_open(const pz_zip *zip, const pz_zip_member *member, pz_zip_stream **stream, pz_error *err);
pz_status pz_zip_fetch(pz_zip_stream *stream, void *to, int64_t bytes, int64_t offset, pz_error *err);
void pz_zip_close(pz_zip_stream *stream); /* NULL is fine */

#endif
