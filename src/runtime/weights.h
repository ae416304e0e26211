/* weights.h: the packed weights of a loaded network file in huge pages. The loader maps them from the file in pages of 4 KB, and
 * layers whose weights come from beyond level 2 then wait for address translation (doc/memory.md, "Weights"). */
#ifndef PZ_RUNTIME_WEIGHTS_H
#define PZ_RUNTIME_WEIGHTS_H

#include "base/huge.h"
#include "base/status.h"
#include "runtime/elf_file.h"

/* Where a file's weights will lie, from its first byte in memory; bytes 0: it has none. */
typedef struct pz_weights_place {
  uint64_t address, bytes;
} pz_weights_place;

/* `elf` has passed pz_elf_check_loadable. */
pz_status pz_weights_find(const pz_elf *elf, pz_weights_place *place, pz_error *err);

/* Puts a copy of the whole huge pages among the weights of `library`, from dlopen, in the place of the file's pages, where they are two or more
 * and the system has huge pages. Where there is no memory for a copy all stays as it is. Other threads may read the weights meanwhile.
 * PZ_ERROR_MEMORY: the library must not be used any more. */
pz_status pz_weights_to_huge_pages(void *library, const pz_weights_place *place, const char *path,
                                   pz_error *err);

#endif
