#include "runtime/weights.h"
#include "base/memory.h"
#include "pznet/network_abi.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

pz_status pz_weights_find(const pz_elf *elf, pz_weights_place *place, pz_error *err) {
  Elf64_Shdr section;
  *place = (pz_weights_place){0, 0};
  PZ_TRY(pz_elf_find_section(elf, PZ_ABI_WEIGHTS_SECTION, &section, err));
  if ((section.sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) == SHF_ALLOC)
    *place = (pz_weights_place){section.sh_addr, section.sh_size};
  return PZ_OK;
}

static bool has_huge_pages(void) {
  char text[64] = "";
  const int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t n = read(file, text, sizeof text - 1);
  close(file);
  return n > 0 && !strstr(text, "[never]");
}

/* Piece by piece, and each piece of the file's pages is given back, so that not both take memory. */
static void copy(char *to, char *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += PZ_HUGE_PAGE) {
    memcpy(to + at, from + at, PZ_HUGE_PAGE);
    (void)madvise(from + at, PZ_HUGE_PAGE, MADV_DONTNEED);
  }
}

pz_status pz_weights_to_huge_pages(void *library, const pz_weights_place *place, const char *path,
                                   pz_error *err) {
  struct link_map *map;
  if (place->bytes < 2 * PZ_HUGE_PAGE || dlinfo(library, RTLD_DI_LINKMAP, &map) || !has_huge_pages())
    return PZ_OK;
  char *weights = (char *)map->l_addr + place->address, *begin = pz_huge_align(weights);
  const ptrdiff_t bytes =
      (weights + place->bytes - begin) / (ptrdiff_t)PZ_HUGE_PAGE * (ptrdiff_t)PZ_HUGE_PAGE;
  if (bytes < 2 * (ptrdiff_t)PZ_HUGE_PAGE || !pz_memory_allows((uint64_t)bytes)) return PZ_OK;
  char *memory =
      mmap(NULL, (size_t)bytes + PZ_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return PZ_OK;
  char *to = pz_huge_align(memory), *behind = to + bytes;
  if (to > memory) (void)munmap(memory, (size_t)(to - memory));
  if (to < memory + PZ_HUGE_PAGE) (void)munmap(behind, (size_t)(memory + PZ_HUGE_PAGE - to));
  pz_huge_advise(to, (size_t)bytes);
  copy(to, begin, (size_t)bytes);
  (void)mprotect(to, (size_t)bytes, PROT_READ);
  if (mremap(to, (size_t)bytes, (size_t)bytes, MREMAP_MAYMOVE | MREMAP_FIXED, begin) != MAP_FAILED)
    return PZ_OK;
  pz_fail(err, PZ_ERROR_MEMORY, "%s: weights find no place in huge pages: %m", path);
  (void)munmap(to, (size_t)bytes);
  return PZ_ERROR_MEMORY;
}
