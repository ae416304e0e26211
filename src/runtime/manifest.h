/* manifest.h: the fields of a manifest that decide whether its network file can be run here. */
#ifndef PZ_RUNTIME_MANIFEST_H
#define PZ_RUNTIME_MANIFEST_H

#include "base/status.h"
#include "runtime/elf_file.h"

/* The section's text, NUL-terminated in the arena. */
pz_status pz_manifest_extract(pz_arena *arena, const pz_elf *elf, char **json, pz_error *err);

/* JSON, of this ABI version, for instruction sets that this machine has. */
pz_status pz_manifest_check(const char *json, const char *path, pz_error *err);

#endif
