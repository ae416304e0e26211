/* objects.h: the cache of kernels that a compilation takes from and adds to (emit/object_cache.h). */
#ifndef PZ_API_OBJECTS_H
#define PZ_API_OBJECTS_H

#include "api/api.h"
#include "base/compiler.h"
#include "emit/emit.h"

typedef struct pz_objects {
  pz_object_cache *cache; /* NULL: none is used */
  char compiler[PZ_COMPILER_INSTALLED];
  pz_emit_counts counts;
  char note[512]; /* one line: why there is none; "" */
} pz_objects;

/* As options->cache says. `identity` is the compiler's where it is known already, else "". What stops it ends in the note; only an interrupt is a
 * failure. Close it in any case. */
pz_status pz_objects_open(pz_objects *objects, pz_arena *arena, const pz_compile_options *options,
                          const char *identity, pz_error *err);
void pz_objects_close(pz_objects *objects);

/* What compiling is told of it. */
void pz_objects_use(pz_objects *objects, pz_emit_options *emit);

/* "kernels" of a summary. */
json_t *pz_objects_json(pz_json *j, const pz_objects *objects);

#endif
