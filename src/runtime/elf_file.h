/* elf_file.h: what the runtime reads from an ELF file (System V ABI, "Object Files") without loading it. Every offset
 * and size in the file is checked against the mapping before it is used. */
#ifndef PZ_RUNTIME_ELF_FILE_H
#define PZ_RUNTIME_ELF_FILE_H

#include "base/file.h"
#include <elf.h>

typedef struct pz_elf {
  const char *path; /* for messages */
  const uint8_t *data;
  size_t size;
  Elf64_Ehdr header;
  Elf64_Shdr names; /* the section of the sections' names */
} pz_elf;

/* A 64-bit little-endian shared object with a section table. `mapping` and `path` outlive `elf`. */
pz_status pz_elf_open(const pz_mapping *mapping, const char *path, pz_elf *elf, pz_error *err);

/* Section i of elf->header.e_shnum, with its bytes inside the file. */
pz_status pz_elf_section(const pz_elf *elf, int i, Elf64_Shdr *section, pz_error *err);

/* The section of this name, of bytes that the file has; its type is SHT_NULL, and all of it 0, where there is none. */
pz_status pz_elf_find_section(const pz_elf *elf, const char *name, Elf64_Shdr *section, pz_error *err);

/* The bytes of the section of this name; *data is NULL where there is none. */
pz_status pz_elf_find(const pz_elf *elf, const char *name, const uint8_t **data, size_t *size, pz_error *err);

/* The addresses that the loader takes for the file, of `bytes` bytes; 0 where the segments tell none. Unchecked. */
void pz_elf_span(const pz_elf *elf, uint64_t *begin, uint64_t *bytes);

/* Compiled for this machine's processor, and its segments are such that the system's loader, which trusts them, maps
 * what the sections describe: a damaged file is refused here and does not crash the loader. (The contents of the
 * segments are trusted here, as code must be; file_checksum.h finds damage in them.) */
pz_status pz_elf_check_loadable(const pz_elf *elf, pz_error *err);

/* The failure of a file that ends too early or is damaged; `what` says where. */
pz_status pz_elf_damaged(const pz_elf *elf, const char *what, pz_error *err);

#endif
