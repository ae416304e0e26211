/* folder.h: a temporary folder for a group of tests, and the network files that the build made. */
#ifndef PZ_TESTS_RUNTIME_FOLDER_H
#define PZ_TESTS_RUNTIME_FOLDER_H

#include "unit.h"
#include "base/file.h"
#include "runtime/file_checksum.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NET(name) (NETWORKS name ".so")

/* One file is written again and again, and removed at the end. */
static char folder[] = "/tmp/pznet-test-XXXXXX", file_path[64];

static inline int folder_begin(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(file_path, sizeof file_path, "%s/net.so", folder);
  return 0;
}
static inline int folder_end(void **state) {
  (void)state;
  unlink(file_path);
  return rmdir(folder);
}

/* A copy that the caller frees. */
static inline uint8_t *bytes_of(const char *path, size_t *size) {
  pz_mapping m;
  pz_error err = {0};
  if (pz_file_map(path, &m, &err) != PZ_OK) fail_msg("%s", err.message);
  uint8_t *copy = malloc(m.size);
  assert_non_null(copy);
  for (size_t i = 0; i < m.size; i++) copy[i] = m.data[i];
  *size = m.size;
  pz_file_unmap(&m);
  return copy;
}

/* Gives the bytes of a network file the checksum that they should have. */
static inline void seal(uint8_t *data, size_t size) {
  const pz_mapping mapping = {data, size};
  const uint8_t *digits = NULL;
  char right[PZ_FILE_CHECKSUM_DIGITS + 1];
  pz_elf elf;
  assert_int_equal(pz_elf_open(&mapping, "net.so", &elf, NULL), PZ_OK);
  assert_int_equal(pz_file_checksum_find(&elf, &digits, NULL), PZ_OK);
  assert_non_null(digits);
  pz_file_checksum_compute(&elf, digits, right);
  for (int i = 0; i < PZ_FILE_CHECKSUM_DIGITS; i++) data[digits - data + i] = (uint8_t)right[i];
}

/* A new file each time (another inode): the one before may still be mapped. Without pz_file_write's syncs. */
static inline void put_file(const void *data, size_t size) {
  unlink(file_path);
  FILE *file = fopen(file_path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

#endif
