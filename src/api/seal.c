/* seal.c: writes the checksum of a network file into its manifest, after linking. */
#include "api/api.h"
#include "base/file.h"
#include "runtime/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static pz_status compute(const char *network, char digits[PZ_SEAL_DIGITS + 1], off_t *at, pz_error *err) {
  pz_mapping file;
  pz_elf elf;
  const uint8_t *place = NULL;
  PZ_TRY(pz_file_map(network, &file, err));
  pz_status status = pz_elf_open(&file, network, &elf, err);
  if (status == PZ_OK) status = pz_seal_find(&elf, &place, err);
  if (status == PZ_OK && !place) status = pz_elf_damaged(&elf, "no place for a checksum", err);
  if (status == PZ_OK) status = pz_seal_compute(&elf, place, digits, err);
  if (status == PZ_OK) *at = place - elf.data;
  pz_file_unmap(&file);
  return status;
}

pz_status pz_seal_network(pz_arena *arena, const char *network, const char **seal, pz_error *err) {
  char digits[PZ_SEAL_DIGITS + 1] = "";
  off_t at = 0;
  PZ_TRY(compute(network, digits, &at, err));
  *seal = pz_arena_strdup(arena, digits);
  if (!*seal) return pz_fail_memory(err, "a checksum", sizeof digits);
  const int fd = open(network, O_WRONLY | O_CLOEXEC);
  bool written =
      fd >= 0 && lseek(fd, at, SEEK_SET) == at && pz_file_write_all(fd, digits, PZ_SEAL_DIGITS) == 0;
  int reason = errno;
  if (fd >= 0 && close(fd) && written) written = false, reason = errno;
  return written ? PZ_OK
                 : pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be written: %s", network, strerror(reason));
}
