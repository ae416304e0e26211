/* seal_network FILE...: puts the checksum into network files that were written by hand, where their manifests have a place for it. */
#include "base/file.h"
#include "runtime/file_checksum.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static pz_status compute(const char *path, char seal[PZ_FILE_CHECKSUM_DIGITS + 1], off_t *at, pz_error *err) {
  pz_mapping file;
  pz_elf elf;
  const uint8_t *digits = NULL;
  PZ_TRY(pz_file_map(path, &file, err));
  pz_status status = pz_elf_open(&file, path, &elf, err);
  if (status == PZ_OK) status = pz_file_checksum_find(&elf, &digits, err);
  if (digits) pz_file_checksum_compute(&elf, digits, seal);
  *at = digits ? digits - elf.data : -1;
  pz_file_unmap(&file);
  return status;
}

static bool seal(const char *path) {
  char digits[PZ_FILE_CHECKSUM_DIGITS + 1];
  off_t at;
  pz_error err = {0};
  if (compute(path, digits, &at, &err) != PZ_OK) return fprintf(stderr, "%s\n", err.message), false;
  if (at < 0) return true;
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  const bool good = file >= 0 && pwrite(file, digits, PZ_FILE_CHECKSUM_DIGITS, at) == PZ_FILE_CHECKSUM_DIGITS;
  if (file >= 0) close(file);
  if (!good) perror(path);
  return good;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (!seal(argv[i])) return 1;
  return 0;
}
