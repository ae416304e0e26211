#include "runtime/weights.h"
#include "pznet/network_abi.h"
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEAST ((uint64_t)64 << 10) /* fewer are not worth it */

pz_status pz_weights_find(const pz_elf *elf, pz_weights_place *place, pz_error *err) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  Elf64_Shdr s;
  *place = (pz_weights_place){0, 0, 0};
  PZ_TRY(pz_elf_find_section(elf, PZ_ABI_WEIGHTS_SECTION, &s, err));
  const uint64_t begin = (s.sh_offset + page - 1) / page * page,
                 end = (s.sh_offset + s.sh_size) / page * page;
  if ((s.sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) == SHF_ALLOC && begin < end &&
      end - begin >= LEAST && (s.sh_addr - s.sh_offset) % page == 0)
    *place = (pz_weights_place){s.sh_addr + (begin - s.sh_offset), begin, end - begin};
  return PZ_OK;
}

bool pz_weights_kept(const pz_kept_weights *kept, uint64_t offset, uint64_t *end) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (!kept->stretches) return true;
  for (int32_t i = 0; i < kept->n; i++) {
    const uint64_t from = (kept->section + kept->stretches[i].begin) / page * page,
                   to = (kept->section + kept->stretches[i].end + page - 1) / page * page;
    if (offset >= to) continue;
    const bool among = offset >= from;
    if ((among ? to : from) < *end) *end = among ? to : from;
    return among;
  }
  return false;
}

/* Piece by piece, and each piece is given back, so that not both take memory. */
static bool copy(char *to, char *from, size_t bytes) {
  if (mmap(to, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return false;
  pz_huge_advise(to, bytes);
  for (size_t at = 0, n; at < bytes; at += n) {
    n = bytes - at < PZ_HUGE_PAGE ? bytes - at : PZ_HUGE_PAGE;
    memcpy(to + at, from + at, n);
    (void)madvise(from + at, n, MADV_DONTNEED);
  }
  (void)munmap(from, bytes);
  return mprotect(to, bytes, PROT_READ) == 0;
}

static bool move(char *to, char *from, size_t bytes) {
  return mprotect(from, bytes, PROT_READ) == 0 &&
         mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

pz_status pz_weights_move(void *library, const pz_weights_place *place, char *from, const char *path,
                          pz_error *err) {
  struct link_map *map = NULL;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) {
    char *to = (char *)map->l_addr + place->address;
    const bool alike = ((uintptr_t)to - (uintptr_t)from) % PZ_HUGE_PAGE == 0;
    if (alike || !pz_weights_are_huge(place) ? move(to, from, place->bytes) : copy(to, from, place->bytes))
      return PZ_OK;
  }
  pz_fail(err, PZ_ERROR_MEMORY, "%s: weights find no place in memory: %m", path);
  (void)munmap(from, place->bytes);
  return PZ_ERROR_MEMORY;
}
