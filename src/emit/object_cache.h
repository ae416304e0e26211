/* object_cache.h: objects of kernels that compilations have left for later ones.
 *
 * A folder of the user alone, which any number of processes share, without locks:
 *
 *   KEY        64 hexadecimal digits, the SHA-256 of all that the kernel's code depends on (pz_emit_kernel_key). The file names the object that has
 *              the kernel, and ends with a digest of its own.
 *   DIGEST.o   an object, named by the SHA-256 of its bytes. It has all kernels that were compiled together.
 *
 * Files appear whole or not at all, and what is taken is digested while it is copied: what is damaged is removed and counts as not there. What
 * lies there longest unused is removed where all is more than a limit ($PZNET_CACHE_SIZE, 1G by default).
 */
#ifndef PZ_EMIT_OBJECT_CACHE_H
#define PZ_EMIT_OBJECT_CACHE_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/status.h"

#include <stdbool.h>

typedef struct pz_object_cache pz_object_cache;

/* folder NULL: `objects` in the user's cache folder (base/cache_folder.h). The cache is in the arena, and the caller's to close. On failure *cache is
 * NULL: no place, a folder of another user, one that can be neither made nor read, PZNET_CACHE_SIZE that is no size. */
pz_status pz_object_cache_open(pz_arena *arena, const char *folder, pz_object_cache **cache, pz_error *err);

/* Removes what is too much, where something was kept. NULL is fine, as in all that follows: an empty cache that keeps nothing. */
void pz_object_cache_close(pz_object_cache *cache);

/* Whether it has the kernel, as far as its entry says. */
bool pz_object_cache_has(pz_object_cache *cache, const char *key);

/* The kernel's object, copied into the folder `to`, if it is not there yet; `object` gets its name there. False: it is not in the cache, or was damaged,
 * or cannot be copied. */
#define PZ_OBJECT_NAME (PZ_DIGEST_TEXT + 2)
bool pz_object_cache_take(pz_object_cache *cache, const char *key, const char *to,
                          char object[PZ_OBJECT_NAME]);

/* Keeps a copy of the object at `path`, which has the kernels of these n keys. What fails is passed over: the next compilation compiles again. */
void pz_object_cache_keep(pz_object_cache *cache, const char *path, const char *const *keys, int n);

/* What there is in the folder (NULL: as for pz_object_cache_open), damaged or not. */
typedef struct pz_object_cache_contents {
  const char *folder; /* in the arena */
  int64_t kernels /* lists of steps among them */, objects, bytes, limit;
} pz_object_cache_contents;
pz_status pz_object_cache_look(pz_arena *arena, const char *folder, pz_object_cache_contents *contents,
                               pz_error *err);

/* Removes all that is the cache's. */
pz_status pz_object_cache_clear(pz_arena *arena, const char *folder, pz_object_cache_contents *removed,
                                pz_error *err);

#endif
