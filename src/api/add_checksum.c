/* add_checksum.c: writes the checksum of a network file into its manifest, after linking. */
#include "api/api.h"
#include "base/file.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static pz_status open_compiled(const char *network, const pz_net_options *options, pz_net **net,
                               pz_error *err) {
  pz_error why = {0};
  const pz_status status = pz_runtime_open_unfinished(network, options, net, &why);
  if (status == PZ_OK) return PZ_OK;
  return pz_fail(err, status == PZ_ERROR_MEMORY ? status : PZ_ERROR_RUN,
                 "the network that was just compiled does not open: %.900s", why.message);
}

pz_status pz_open_compiled(const char *network, int32_t threads, pz_net **net, pz_error *err) {
  return open_compiled(network, &(pz_net_options){.threads = threads}, net, err);
}

pz_status pz_open_compiled_variant(const char *network, const char *target, pz_net **net, pz_error *err) {
  return open_compiled(network, &(pz_net_options){.target = target}, net, err);
}

static pz_status compute(const pz_elf *elf, char *checksum, char *digest, off_t *at, pz_error *err) {
  const uint8_t *place;
  pz_digest whole;
  PZ_TRY(pz_file_checksum_find(elf, &place, err));
  if (!place) return pz_elf_damaged(elf, "no place for a checksum", err);
  pz_file_checksum_compute(elf, place, checksum);
  pz_digest_begin(&whole);
  pz_digest_add(&whole, elf->data, (size_t)(place - elf->data));
  pz_digest_add(&whole, checksum, PZ_FILE_CHECKSUM_DIGITS);
  pz_digest_add(&whole, place + PZ_FILE_CHECKSUM_DIGITS,
                elf->size - (size_t)(place + PZ_FILE_CHECKSUM_DIGITS - elf->data));
  pz_digest_end_text(&whole, digest);
  *at = place - elf->data;
  return PZ_OK;
}

pz_status pz_add_file_checksum(const char *network, char checksum[PZ_FILE_CHECKSUM_DIGITS + 1],
                               char digest[PZ_DIGEST_TEXT], pz_error *err) {
  pz_mapping file;
  pz_elf elf;
  off_t at = 0;
  PZ_TRY(pz_file_map(network, &file, err));
  pz_status status = pz_elf_open(&file, network, &elf, err);
  if (status == PZ_OK) status = compute(&elf, checksum, digest, &at, err);
  pz_file_unmap(&file);
  if (status != PZ_OK) return status;
  const int fd = open(network, O_WRONLY | O_CLOEXEC);
  bool written = fd >= 0 && lseek(fd, at, SEEK_SET) == at &&
                 pz_file_write_all(fd, checksum, PZ_FILE_CHECKSUM_DIGITS) == 0;
  int reason = errno;
  if (fd >= 0 && close(fd) && written) written = false, reason = errno;
  return written ? PZ_OK
                 : pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be written: %s", network, strerror(reason));
}
