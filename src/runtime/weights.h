/* weights.h: the packed weights of a network file in pages of their own, huge ones where the system has them: with pages of 4 KB,
 * layers whose weights come from beyond level 2 wait for address translation (doc/memory.md#weights-in-huge-pages). */
#ifndef PZ_RUNTIME_WEIGHTS_H
#define PZ_RUNTIME_WEIGHTS_H

#include "base/huge.h"
#include "base/status.h"
#include "runtime/elf_file.h"

/* The whole pages among a file's weights: where they lie in the file, and in memory from the library's first byte;
 * bytes 0: too few to be worth it. */
typedef struct pz_weights_place {
  uint64_t address, offset, bytes;
} pz_weights_place;

/* Bytes of the weights' section, counted from its start. */
typedef struct pz_stretch {
  uint64_t begin, end;
} pz_stretch;

/* Of the weights, what a network reads: whole pages of these stretches, ascending. stretches NULL: all. */
typedef struct pz_kept_weights {
  const pz_stretch *stretches;
  int32_t n;
  uint64_t section; /* where it begins in the file */
} pz_kept_weights;
/* Whether the byte at `offset` in the file, of the weights, is among them, and where that changes: *end, or before. */
bool pz_weights_kept(const pz_kept_weights *kept, uint64_t offset, uint64_t *end);

/* Enough of them for huge pages. */
static inline bool pz_weights_are_huge(const pz_weights_place *place) {
  return place->bytes >= 2 * PZ_HUGE_PAGE;
}

/* Inside of the file, whatever it says. */
pz_status pz_weights_find(const pz_elf *elf, pz_weights_place *place, pz_error *err);

/* Moves the pages of `from`, the caller's own memory, to where `library`, from dlopen, has its weights, and makes them read-only. By huge
 * pages where both lie alike in them, else they are copied piece by piece. `from` is gone then, also on failure, after
 * which the library must not be used. */
pz_status pz_weights_move(void *library, const pz_weights_place *place, char *from, const char *path,
                          pz_error *err);

#endif
