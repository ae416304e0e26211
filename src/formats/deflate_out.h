/* deflate_out.h: blocks of a file, each compressed for itself (zlib, RFC 1950), side by side on a pool, and handed over in their order. What
 * is handed over does not depend on the number of threads. */
#ifndef PZ_FORMATS_DEFLATE_OUT_H
#define PZ_FORMATS_DEFLATE_OUT_H

#include "base/pool.h"
#include "base/status.h"

/* A block as it was filled, and compressed; `packed` may be the longer one. */
typedef struct pz_deflated {
  int64_t index;
  const char *plain, *packed;
  int64_t plain_bytes, packed_bytes;
} pz_deflated;

typedef struct pz_deflate {
  pz_pool *pool;         /* NULL: the calling thread alone */
  int level;             /* 1 to 9 */
  int64_t blocks, bytes; /* how many; of the largest one, below 2^30 */
  /* By several threads at a time: puts a block into `to`, and says how many bytes it has. `work` has room for as much. */
  pz_status (*fill)(const void *host, int64_t index, char *work, char *to, int64_t *bytes, pz_error *err);
  /* By the caller's thread, in the order of the blocks. */
  pz_status (*put)(void *host, const pz_deflated *block, pz_error *err);
  /* The same, now and then: false ends with PZ_INTERRUPTED; may be NULL. */
  bool (*go_on)(void *host, int64_t done);
  void *host;
} pz_deflate;

pz_status pz_deflate_blocks(const pz_deflate *deflate, pz_error *err);

/* Bytes that it takes with so many threads. */
int64_t pz_deflate_memory(int threads, int64_t bytes);

#endif
