/* npy_header.h: the header of NumPy's .npy, versions 1 to 3, either order of axes and of bytes. */
#ifndef PZ_FORMATS_NPY_HEADER_H
#define PZ_FORMATS_NPY_HEADER_H

#include "base/arena.h"
#include "base/status.h"

enum { PZ_NPY_MAX_RANK = 32, PZ_NPY_HEADER = 256 };

typedef struct pz_npy {
  pz_dtype dtype;
  bool swap;    /* the elements' bytes are in the other order than this machine's */
  bool fortran; /* the first axis is the fastest one */
  int rank;
  int64_t dim[PZ_NPY_MAX_RANK]; /* not negative; nothing else is known of them */
  int64_t offset, size;         /* where the data begins; of the file */
} pz_npy;

/* Reads the header of an open file of `size` bytes; nothing in it is trusted or evaluated. The arena is for scratch. */
pz_status pz_npy_read_header(pz_arena *arena, const char *path, int fd, int64_t size, pz_npy *npy,
                             pz_error *err);
/* The same from the first `count` bytes of a file of `size`, all of it or at least 66 KiB. */
pz_status pz_npy_parse_header(pz_arena *arena, const char *path, const char *bytes, int64_t count,
                              int64_t size, pz_npy *npy, pz_error *err);
/* Whether the file is long enough for the data that the header promises. */
pz_status pz_npy_check_size(const char *path, const pz_npy *npy, pz_error *err);

/* A header of version 1 for an array of rank at most 5, as long as the data behind it needs to be aligned to 64, as
 * NumPy does it. Returns its length. */
int64_t pz_npy_print_header(pz_dtype dtype, int rank, const int64_t *dim, char out[PZ_NPY_HEADER]);

#endif
