#include "runtime/seal.h"
#include "base/checksum.h"
#include "pznet/network_abi.h"
#include <stdio.h>
#include <string.h>

/* A text inside JSON cannot look like this: its quotes have backslashes before them. */
static const char key[] = "\"" PZ_ABI_CHECKSUM "\": \"";
static const char not_sealed[] = "0000000000000000";

pz_status pz_seal_find(const pz_elf *elf, const uint8_t **digits, pz_error *err) {
  const uint8_t *manifest;
  size_t size = 0;
  *digits = NULL;
  PZ_TRY(pz_elf_find(elf, PZ_ABI_MANIFEST_SECTION, &manifest, &size, err));
  const uint8_t *found = manifest ? memmem(manifest, size, key, sizeof key - 1) : NULL;
  if (!found) return PZ_OK;
  found += sizeof key - 1;
  if ((size_t)(manifest + size - found) <= PZ_SEAL_DIGITS || found[PZ_SEAL_DIGITS] != '"')
    return pz_elf_damaged(elf, "checksum", err);
  *digits = found;
  return PZ_OK;
}

/* Bytes that do not count. */
typedef struct gap {
  const uint8_t *begin, *end;
} gap;

pz_status pz_seal_compute(const pz_elf *elf, const uint8_t *digits, char out[PZ_SEAL_DIGITS + 1],
                          pz_error *err) {
  const uint8_t *weights = NULL, *at = elf->data;
  size_t size = 0;
  uint64_t sum = 0;
  PZ_TRY(pz_elf_find(elf, PZ_ABI_WEIGHTS_SECTION, &weights, &size, err));
  if (!weights || size <= PZ_SEAL_MOST_WEIGHTS) weights = elf->data + elf->size, size = 0;
  const gap own = {digits, digits + PZ_SEAL_DIGITS}, large = {weights, weights + size};
  const gap gaps[2] = {own.begin < large.begin ? own : large, own.begin < large.begin ? large : own};
  for (int i = 0; i < 2; i++) {
    if (gaps[i].begin > at) sum = pz_checksum(at, (size_t)(gaps[i].begin - at), sum);
    if (gaps[i].end > at) at = gaps[i].end;
  }
  if (at < elf->data + elf->size) sum = pz_checksum(at, (size_t)(elf->data + elf->size - at), sum);
  snprintf(out, PZ_SEAL_DIGITS + 1, "%016llx", (unsigned long long)sum);
  return PZ_OK;
}

pz_status pz_seal_check(const pz_elf *elf, pz_error *err) {
  const uint8_t *digits;
  char expected[PZ_SEAL_DIGITS + 1];
  PZ_TRY(pz_seal_find(elf, &digits, err));
  if (!digits || !memcmp(digits, not_sealed, PZ_SEAL_DIGITS)) return PZ_OK;
  PZ_TRY(pz_seal_compute(elf, digits, expected, err));
  return memcmp(digits, expected, PZ_SEAL_DIGITS)
             ? pz_elf_damaged(elf, "its bytes do not have its checksum", err)
             : PZ_OK;
}
