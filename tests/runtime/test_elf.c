/* The ELF reader on bytes that lie alone in a heap block, so that AddressSanitizer sees a read outside of them. */
#include "folder.h"
#include "base/digest.h"
#include "runtime/elf_file.h"
#include "runtime/manifest.h"
#include "runtime/runtime.h"
#include <string.h>

static pz_status read_bytes(const uint8_t *data, size_t size, pz_error *err) {
  uint8_t *alone = malloc(size ? size : 1);
  memcpy(alone, data, size);
  pz_mapping mapping = {alone, size};
  pz_elf elf;
  pz_arena *arena = pz_arena_new();
  char *json = NULL;
  const char *manifest;
  const pz_mask any = {NULL, NULL};
  pz_variant variant;
  pz_status status = pz_elf_open(&mapping, "net.so", &elf, err);
  if (status == PZ_OK) status = pz_manifest_extract(arena, &elf, &json, err);
  if (status == PZ_OK) status = pz_elf_check_loadable(&elf, err);
  if (status == PZ_OK) status = pz_manifest_check(arena, json, "net.so", &any, &variant, &manifest, err);
  pz_arena_free(arena);
  free(alone);
  return status;
}

static void whole_file_is_accepted(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = bytes_of(NET("good"), &size);
  pz_error err = {0};
  assert_int_equal(read_bytes(data, size, &err), PZ_OK);
  free(data);
}

static void every_shorter_file_is_refused(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = bytes_of(NET("good"), &size);
  for (size_t n = 0; n < size; n += n < 1024 ? 1 : 37) {
    pz_error err = {0};
    assert_int_equal(read_bytes(data, n, &err), PZ_ERROR_INPUT);
    assert_non_null(strstr(err.message, n < 4 ? "is not a pznet network file" : "is damaged or truncated"));
  }
  free(data);
}

/* Seeded: bytes anywhere, and 8-byte fields of the tables set to values at the edges of arithmetic. */
static void random_damage_is_survived(void **state) {
  (void)state;
  static const uint64_t edges[] = {0,         1,          UINT64_MAX, UINT64_MAX - 63,
                                   INT64_MAX, UINT32_MAX, 1ull << 46, 4096};
  size_t size, refused = 0;
  uint8_t *data = bytes_of(NET("good"), &size), *copy = malloc(size);
  Elf64_Ehdr header;
  memcpy(&header, data, sizeof header);
  srand(3);
  for (int round = 0; round < 20000; round++) {
    memcpy(copy, data, size);
    if (round % 2) {
      for (int k = 0; k < 1 + round % 5; k++) copy[(size_t)rand() % size] = (uint8_t)rand();
    } else {
      size_t table = rand() % 2 ? header.e_shoff : 0, length = table ? size - table : 1024;
      size_t at = table + (size_t)rand() % (length / 8 - 1) * 8;
      memcpy(copy + at, &edges[rand() % 8], 8);
    }
    pz_error err = {0};
    pz_status status = read_bytes(copy, size, &err);
    assert_true(status == PZ_OK || status == PZ_ERROR_INPUT);
    assert_int_equal(status == PZ_OK, err.message[0] == 0);
    refused += status != PZ_OK;
  }
  assert_true(refused > 1000);
  free(copy);
  free(data);
}

typedef struct patch {
  size_t at;
  uint8_t value;
  const char *words;
} patch;

static void messages_name_the_reason(void **state) {
  (void)state;
  static const patch patches[] = {
      {0, 'X', "net.so: is not a pznet network file: expected an ELF shared object"},
      {EI_CLASS, ELFCLASS32, "expected a 64-bit little-endian ELF file"},
      {EI_DATA, ELFDATA2MSB, "expected a 64-bit little-endian ELF file"},
      {EI_VERSION, 9, "damaged or truncated (ELF version)"},
      {offsetof(Elf64_Ehdr, e_type), ET_REL, "expected an ELF shared object"},
      {offsetof(Elf64_Ehdr, e_machine), EM_AARCH64, "was compiled for aarch64, this machine is x86-64"},
      {offsetof(Elf64_Ehdr, e_machine), EM_68K, "was compiled for another processor, this machine is x86-64"},
      {offsetof(Elf64_Ehdr, e_shoff) + 7, 0x80, "damaged or truncated (section header table)"},
      {offsetof(Elf64_Ehdr, e_phnum) + 1, 0xff, "damaged or truncated (program header table)"},
      {offsetof(Elf64_Ehdr, e_shstrndx) + 1, 0xff, "damaged or truncated (index of the section names)"},
  };
#ifndef __x86_64__
  skip();
#endif
  size_t size;
  uint8_t *data = bytes_of(NET("good"), &size);
  for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
    pz_error err = {0};
    uint8_t before = data[patches[i].at];
    data[patches[i].at] = patches[i].value;
    assert_int_equal(read_bytes(data, size, &err), PZ_ERROR_INPUT);
    if (!strstr(err.message, patches[i].words))
      fail_msg("'%s', expected '%s'", err.message, patches[i].words);
    data[patches[i].at] = before;
  }
  free(data);
}

static void manifest_is_read_as_it_is(void **state) {
  (void)state;
  pz_arena *arena = pz_arena_new();
  pz_error err = {0};
  char *json = NULL, *digest = NULL;
  assert_int_equal(pz_manifest_read(arena, NET("good"), &json, &digest, &err), PZ_OK);
  assert_non_null(strstr(json, "\", \"pznet_version\": \"0.0.9\", \"abi_version\": 2, \"isa\": \"sse4\"}"));
  size_t size;
  uint8_t *data = bytes_of(NET("good"), &size);
  char expected[PZ_DIGEST_TEXT];
  pz_digest_text(data, size, expected);
  free(data);
  assert_string_equal(digest, expected);
  assert_int_equal(pz_manifest_read(arena, NET("no_manifest"), &json, &digest, &err), PZ_ERROR_INPUT);
  assert_non_null(strstr(err.message, "is not a pznet network file: it has no section .pznet.manifest"));
  pz_arena_free(arena);
}

/* A network for another processor can be inspected, though not run. */
static void manifest_of_another_machine(void **state) {
  (void)state;
  size_t size;
  uint8_t *data = bytes_of(NET("good"), &size);
  data[offsetof(Elf64_Ehdr, e_machine)] = EM_AARCH64;
  seal(data, size);
  put_file(data, size);
  free(data);
  pz_arena *arena = pz_arena_new();
  char *json = NULL, *digest = NULL;
  assert_int_equal(pz_manifest_read(arena, file_path, &json, &digest, NULL), PZ_OK);
  pz_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_file_is_accepted),    cmocka_unit_test(every_shorter_file_is_refused),
      cmocka_unit_test(random_damage_is_survived), cmocka_unit_test(messages_name_the_reason),
      cmocka_unit_test(manifest_is_read_as_it_is), cmocka_unit_test(manifest_of_another_machine),
  };
  return cmocka_run_group_tests(tests, folder_begin, folder_end);
}
