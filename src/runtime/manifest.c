#include "runtime/manifest.h"
#include "base/json.h"
#include "pznet/network_abi.h"
#include "runtime/runtime.h"
#include "runtime/file_checksum.h"
#include <stdlib.h>
#include <string.h>

#define LIMIT ((size_t)64 << 20)

static pz_status check_text(const pz_elf *elf, const uint8_t *data, size_t size, pz_error *err) {
  if (!data)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: is not a pznet network file: it has no section %s", elf->path,
                   PZ_ABI_MANIFEST_SECTION);
  if (size > LIMIT)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: the manifest has %zu bytes, at most %zu are accepted", elf->path,
                   size, LIMIT);
  if (memchr(data, 0, size)) return pz_elf_damaged(elf, "text of the manifest", err);
  return PZ_OK;
}

pz_status pz_manifest_extract(pz_arena *arena, const pz_elf *elf, char **json, pz_error *err) {
  const uint8_t *data;
  size_t size = 0;
  PZ_TRY(pz_elf_find(elf, PZ_ABI_MANIFEST_SECTION, &data, &size, err));
  while (data && size > 0 && data[size - 1] == 0) size--; /* the assembler's, of .asciz or for alignment */
  PZ_TRY(check_text(elf, data, size, err));
  *json = pz_arena_strndup(arena, (const char *)data, size);
  return *json ? PZ_OK : pz_fail_memory(err, "the manifest", size);
}

static pz_status read_image(pz_arena *arena, pz_image *image, char **json, char **digest, pz_error *err) {
  char text[PZ_DIGEST_TEXT];
  PZ_TRY(pz_manifest_extract(arena, &image->elf, json, err));
  PZ_TRY(pz_file_checksum_check(image, false, text, err));
  *digest = pz_arena_strdup(arena, text);
  return *digest ? PZ_OK : pz_fail_memory(err, "a digest", sizeof text);
}

pz_status pz_manifest_read(pz_arena *arena, const char *path, char **json, char **digest, pz_error *err) {
  pz_image image;
  PZ_TRY(pz_image_open(path, true, &image, err));
  const pz_status status = read_image(arena, &image, json, digest, err);
  pz_image_close(&image);
  return status;
}

static pz_status check_abi(const json_t *manifest, const char *path, pz_error *err) {
  const json_t *version = json_object_get(manifest, "abi_version");
  if (!json_is_integer(version))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: manifest: abi_version: expected an integer", path);
  if (json_integer_value(version) == PZ_ABI_VERSION) return PZ_OK;
  const char *by = json_string_value(json_object_get(manifest, "pznet_version"));
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: has network ABI %lld (made by pznet %.40s), this pznet reads ABI %d: %scompile it again", path,
      (long long)json_integer_value(version), by ? by : "of unknown version", PZ_ABI_VERSION,
      json_integer_value(version) > PZ_ABI_VERSION ? "open it with that pznet, or " : "");
}

static pz_status print(pz_arena *arena, const json_t *file, int32_t variant, const char **manifest,
                       pz_error *err) {
  pz_json j = {0};
  json_t *all = pz_variant_manifest(&j, file, variant);
  char *text = pz_json_print(&j, all, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
  json_decref(all);
  *manifest = text ? pz_arena_strdup(arena, text) : NULL;
  free(text);
  return *manifest ? PZ_OK : pz_fail_memory(err, "the manifest", 4096);
}

pz_status pz_manifest_check(pz_arena *arena, const char *json, const char *path, const pz_mask *mask,
                            pz_variant *variant, const char **manifest, pz_error *err) {
  json_error_t error;
  pz_json j = {0};
  *manifest = json;
  json_t *file = pz_json_read(&j, json, strlen(json), JSON_REJECT_DUPLICATES, &error);
  PZ_TRY(pz_json_end(&j, "the manifest", err));
  if (!file)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: manifest: line %d, column %d: %s", path, error.line,
                   error.column, error.text);
  pz_status status = check_abi(file, path, err);
  if (status == PZ_OK) status = pz_variant_find(arena, file, path, mask, false, variant, err);
  variant->exact = status == PZ_OK && json_object_get(file, "exact");
  if (status == PZ_OK && !variant->reads_all) status = print(arena, file, variant->index, manifest, err);
  json_decref(file);
  return status;
}
