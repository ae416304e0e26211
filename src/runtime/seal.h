/* seal.h: a network file carries the checksum of all its bytes, in its manifest, as sixteen hexadecimal digits; only these
 * do not count. "0000000000000000" or no such entry: not sealed, as is a file between linking and sealing. */
#ifndef PZ_RUNTIME_SEAL_H
#define PZ_RUNTIME_SEAL_H

#include "base/status.h"
#include "runtime/elf_file.h"

#define PZ_SEAL_DIGITS 16

/* Where the digits stand in the file; *digits is NULL where there are none. */
pz_status pz_seal_find(const pz_elf *elf, const uint8_t **digits, pz_error *err);

/* What the digits should be, with a NUL behind. */
void pz_seal_compute(const pz_elf *elf, const uint8_t *digits, char out[PZ_SEAL_DIGITS + 1]);

/* Reads the whole file. Fails where a sealed file is not as it was sealed. */
pz_status pz_seal_check(const pz_elf *elf, pz_error *err);

#endif
