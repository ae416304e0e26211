/* The loader (ld.so) believes the program headers. Here they are held against the file's size, against each other and
 * against the section headers, which say the same things a second time. */
#include "runtime/elf_file.h"
#include <string.h>

#define PAGE 4096u

typedef struct machine {
  uint16_t id;
  const char *name;
} machine;

static const machine machines[] = {
    {EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"}, {EM_RISCV, "RISC-V"},
    {EM_PPC64, "POWER"},   {EM_S390, "S/390"},
};

#if defined(__x86_64__)
static const uint16_t here = EM_X86_64;
#elif defined(__aarch64__)
static const uint16_t here = EM_AARCH64;
#else
static const uint16_t here = EM_NONE;
#endif

static const char *machine_name(uint16_t id) {
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
    if (machines[i].id == id) return machines[i].name;
  return "another processor";
}

static Elf64_Phdr segment(const pz_elf *elf, int i) {
  Elf64_Phdr p;
  memcpy(&p, elf->data + elf->header.e_phoff + (size_t)i * sizeof p, sizeof p);
  return p;
}

static bool within(uint64_t begin, uint64_t size, uint64_t outer_begin, uint64_t outer_size) {
  return begin >= outer_begin && size <= outer_size && begin - outer_begin <= outer_size - size;
}

/* The segment that is loaded (PT_LOAD) and has these addresses; false where there is none. */
static bool find_load(const pz_elf *elf, uint64_t address, uint64_t size, Elf64_Phdr *load) {
  for (int i = 0; i < elf->header.e_phnum; i++) {
    *load = segment(elf, i);
    if (load->p_type == PT_LOAD && within(address, size, load->p_vaddr, load->p_memsz)) return true;
  }
  return false;
}

void pz_elf_span(const pz_elf *elf, uint64_t *begin, uint64_t *bytes) {
  uint64_t first = UINT64_MAX, end = 0;
  for (int i = 0; i < elf->header.e_phnum; i++) {
    const Elf64_Phdr p = segment(elf, i);
    if (p.p_type != PT_LOAD) continue;
    if (first == UINT64_MAX) first = p.p_vaddr & ~(uint64_t)(PAGE - 1);
    end = p.p_vaddr + p.p_memsz;
  }
  *begin = first, *bytes = first < end ? end - first : 0;
}

/* `end`: where the one before ended. */
static bool load_is_sound(const pz_elf *elf, const Elf64_Phdr *p, uint64_t *end) {
  uint64_t start = p->p_vaddr & ~(uint64_t)(PAGE - 1);
  bool ok = within(p->p_offset, p->p_filesz, 0, elf->size) && p->p_filesz <= p->p_memsz &&
            p->p_align >= PAGE && p->p_align <= (1u << 24) && !(p->p_align & (p->p_align - 1)) &&
            (p->p_vaddr - p->p_offset) % p->p_align == 0 && start >= *end && p->p_vaddr < (uint64_t)1 << 46 &&
            p->p_memsz < (uint64_t)1 << 46 && (p->p_flags & PF_R);
  *end = p->p_vaddr + p->p_memsz;
  return ok;
}

/* All that is not loaded by itself describes a part of what is. */
static bool part_is_sound(const pz_elf *elf, const Elf64_Phdr *p) {
  Elf64_Phdr load;
  return find_load(elf, p->p_vaddr, p->p_memsz, &load) && p->p_filesz <= p->p_memsz &&
         p->p_offset - load.p_offset == p->p_vaddr - load.p_vaddr;
}

/* Read-only after relocation: the front of a writable segment. It may be rounded up to the end of a page, not further:
 * what comes behind is written to. */
static bool relro_is_sound(const pz_elf *elf, const Elf64_Phdr *p) {
  Elf64_Phdr load;
  return find_load(elf, p->p_vaddr, p->p_filesz, &load) && (load.p_flags & PF_W) &&
         p->p_vaddr == load.p_vaddr && p->p_offset == load.p_offset && p->p_memsz >= p->p_filesz &&
         p->p_memsz - p->p_filesz < PAGE;
}

static bool segment_is_sound(const pz_elf *elf, const Elf64_Phdr *p, uint64_t *end) {
  switch (p->p_type) {
  case PT_NULL: return true;
  case PT_LOAD: return load_is_sound(elf, p, end);
  case PT_DYNAMIC:
  case PT_NOTE:
  case PT_PHDR:
  case PT_GNU_PROPERTY:
  case PT_GNU_EH_FRAME: return part_is_sound(elf, p);
  case PT_GNU_RELRO: return relro_is_sound(elf, p);
  case PT_GNU_STACK: return !(p->p_flags & PF_X);
  default: return false; /* a network has no interpreter and no thread-local data */
  }
}

static int count_segments(const pz_elf *elf, uint32_t type) {
  int n = 0;
  for (int i = 0; i < elf->header.e_phnum; i++) n += segment(elf, i).p_type == type;
  return n;
}

static pz_status check_segments(const pz_elf *elf, pz_error *err) {
  uint64_t end = 0;
  for (int i = 0; i < elf->header.e_phnum; i++) {
    Elf64_Phdr p = segment(elf, i);
    if (!segment_is_sound(elf, &p, &end)) return pz_elf_damaged(elf, "a program header", err);
  }
  if (count_segments(elf, PT_DYNAMIC) != 1 || count_segments(elf, PT_GNU_STACK) != 1)
    return pz_elf_damaged(elf, "number of program headers", err);
  return PZ_OK;
}

static bool is_segment(const pz_elf *elf, uint32_t type, const Elf64_Shdr *s) {
  for (int i = 0; i < elf->header.e_phnum; i++) {
    Elf64_Phdr p = segment(elf, i);
    if (p.p_type == type && p.p_vaddr == s->sh_addr && p.p_offset == s->sh_offset && p.p_memsz == s->sh_size)
      return true;
  }
  return false;
}

/* A section that is there at run time lies in one segment, which gives it its bytes and its rights. */
static bool section_is_loaded(const pz_elf *elf, const Elf64_Shdr *s) {
  Elf64_Phdr load;
  if (!find_load(elf, s->sh_addr, s->sh_size, &load)) return false;
  if ((s->sh_flags & SHF_WRITE) && !(load.p_flags & PF_W)) return false;
  if ((s->sh_flags & SHF_EXECINSTR) && !(load.p_flags & PF_X)) return false;
  if (s->sh_type == SHT_DYNAMIC && !is_segment(elf, PT_DYNAMIC, s)) return false;
  if (s->sh_type == SHT_NOBITS) return true;
  return s->sh_addr - load.p_vaddr == s->sh_offset - load.p_offset &&
         within(s->sh_addr, s->sh_size, load.p_vaddr, load.p_filesz);
}

static pz_status check_sections(const pz_elf *elf, pz_error *err) {
  for (int i = 1; i < elf->header.e_shnum; i++) {
    Elf64_Shdr s;
    PZ_TRY(pz_elf_section(elf, i, &s, err));
    if ((s.sh_flags & SHF_ALLOC) && !section_is_loaded(elf, &s))
      return pz_elf_damaged(elf, "a section outside of the segments", err);
  }
  return PZ_OK;
}

pz_status pz_elf_check_loadable(const pz_elf *elf, pz_error *err) {
  uint16_t id = elf->header.e_machine;
  if (id != here)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: was compiled for %s, this machine is %s: compile it again here",
                   elf->path, machine_name(id), machine_name(here));
  PZ_TRY(check_segments(elf, err));
  return check_sections(elf, err);
}
