/* manifest.h: the fields of a manifest that decide whether its network file can be run here. */
#ifndef PZ_RUNTIME_MANIFEST_H
#define PZ_RUNTIME_MANIFEST_H

#include "base/status.h"
#include "runtime/elf_file.h"
#include "runtime/variant.h"

/* The section's text, NUL-terminated in the arena. */
pz_status pz_manifest_extract(pz_arena *arena, const pz_elf *elf, char **json, pz_error *err);

/* JSON, of this ABI version, with a variant that this machine can run and the mask leaves. *manifest: `json` as it is where the file has one variant,
 * else what the picked one says (pz_variant_manifest), printed; in the arena. */
pz_status pz_manifest_check(pz_arena *arena, const char *json, const char *path, const pz_mask *mask,
                            pz_variant *variant, const char **manifest, pz_error *err);

#endif
