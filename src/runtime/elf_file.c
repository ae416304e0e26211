#include "runtime/elf_file.h"
#include <string.h>

pz_status pz_elf_damaged(const pz_elf *elf, const char *what, pz_error *err) {
  return pz_fail(err, PZ_ERROR_INPUT, "%s: is damaged or truncated (%s): copy it or compile it again",
                 elf->path, what);
}

static bool inside(const pz_elf *elf, uint64_t offset, uint64_t size) {
  return offset <= elf->size && size <= elf->size - offset;
}

static pz_status check_identity(const pz_elf *elf, pz_error *err) {
  const unsigned char *id = elf->header.e_ident;
  if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB)
    return pz_fail(err, PZ_ERROR_INPUT,
                   "%s: is not a pznet network file: expected a 64-bit little-endian ELF file", elf->path);
  if (id[EI_VERSION] != EV_CURRENT || elf->header.e_version != EV_CURRENT)
    return pz_elf_damaged(elf, "ELF version", err);
  if (elf->header.e_type != ET_DYN)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: is not a pznet network file: expected an ELF shared object",
                   elf->path);
  return PZ_OK;
}

static pz_status check_tables(const pz_elf *elf, pz_error *err) {
  const Elf64_Ehdr *h = &elf->header;
  if (h->e_ehsize != sizeof *h) return pz_elf_damaged(elf, "size of the ELF header", err);
  if (h->e_phentsize != sizeof(Elf64_Phdr) ||
      !inside(elf, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr)))
    return pz_elf_damaged(elf, "program header table", err);
  if (h->e_shnum == 0 || h->e_shentsize != sizeof(Elf64_Shdr) ||
      !inside(elf, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
    return pz_elf_damaged(elf, "section header table", err);
  if (h->e_shstrndx >= h->e_shnum) return pz_elf_damaged(elf, "index of the section names", err);
  return PZ_OK;
}

pz_status pz_elf_open(const pz_mapping *mapping, const char *path, pz_elf *elf, pz_error *err) {
  *elf = (pz_elf){.path = path, .data = mapping->data, .size = mapping->size};
  if (elf->size < SELFMAG || memcmp(elf->data, ELFMAG, SELFMAG))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: is not a pznet network file: expected an ELF shared object",
                   path);
  if (elf->size < sizeof elf->header) return pz_elf_damaged(elf, "ELF header", err);
  memcpy(&elf->header, elf->data, sizeof elf->header);
  PZ_TRY(check_identity(elf, err));
  PZ_TRY(check_tables(elf, err));
  PZ_TRY(pz_elf_section(elf, elf->header.e_shstrndx, &elf->names, err));
  if (elf->names.sh_type != SHT_STRTAB || elf->names.sh_size == 0 ||
      elf->data[elf->names.sh_offset + elf->names.sh_size - 1])
    return pz_elf_damaged(elf, "section names", err);
  return PZ_OK;
}

pz_status pz_elf_section(const pz_elf *elf, int i, Elf64_Shdr *section, pz_error *err) {
  memcpy(section, elf->data + elf->header.e_shoff + (size_t)i * sizeof *section, sizeof *section);
  if (section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL &&
      !inside(elf, section->sh_offset, section->sh_size))
    return pz_elf_damaged(elf, "bounds of a section", err);
  return PZ_OK;
}

/* The names end with a NUL, so a string that begins inside them ends there. */
static bool has_name(const pz_elf *elf, const Elf64_Shdr *section, const char *name) {
  const char *names = (const char *)elf->data + elf->names.sh_offset;
  return section->sh_name < elf->names.sh_size && !strcmp(names + section->sh_name, name);
}

pz_status pz_elf_find_section(const pz_elf *elf, const char *name, Elf64_Shdr *section, pz_error *err) {
  for (int i = 1; i < elf->header.e_shnum; i++) {
    PZ_TRY(pz_elf_section(elf, i, section, err));
    if (!has_name(elf, section, name)) continue;
    if (section->sh_type != SHT_PROGBITS || (section->sh_flags & SHF_COMPRESSED))
      return pz_elf_damaged(elf, "kind of a section", err);
    return PZ_OK;
  }
  memset(section, 0, sizeof *section);
  return PZ_OK;
}

pz_status pz_elf_find(const pz_elf *elf, const char *name, const uint8_t **data, size_t *size,
                      pz_error *err) {
  Elf64_Shdr section;
  *data = NULL;
  PZ_TRY(pz_elf_find_section(elf, name, &section, err));
  if (section.sh_type == SHT_NULL) return PZ_OK;
  *data = elf->data + section.sh_offset;
  *size = section.sh_size;
  return PZ_OK;
}
