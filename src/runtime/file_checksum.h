/* file_checksum.h: a network file carries the checksum of all its bytes, in its manifest, as sixteen hexadecimal digits; only these
 * do not count. "0000000000000000" or no such entry: there is none yet, as between linking and the end of compiling. */
#ifndef PZ_RUNTIME_FILE_CHECKSUM_H
#define PZ_RUNTIME_FILE_CHECKSUM_H

#include "base/digest.h"
#include "base/status.h"
#include "runtime/image.h"

#define PZ_FILE_CHECKSUM_DIGITS 16

/* Where the digits stand in the file; *digits is NULL where there are none. */
pz_status pz_file_checksum_find(const pz_elf *elf, const uint8_t **digits, pz_error *err);

/* What the digits should be, with a NUL behind. */
void pz_file_checksum_compute(const pz_elf *elf, const uint8_t *digits,
                              char out[PZ_FILE_CHECKSUM_DIGITS + 1]);

/* Reads what is left of the image (its weights), and fails where the file is not what its checksum is of. `unfinished`: one that has none is
 * fine, as this process made it. digest: NULL, or receives the SHA-256 of all the bytes that were read. */
pz_status pz_file_checksum_check(pz_image *image, bool unfinished, char *digest, pz_error *err);

#endif
