/* seal.h: a network file carries the checksum of all its bytes, in its manifest, as sixteen hexadecimal digits; only these
 * do not count, nor do weights of more than PZ_SEAL_MOST_WEIGHTS: summing them would make opening slow. They hold no code, and
 * the golden run of `pznet verify` uses them. "0000000000000000" or no such entry: not sealed, as is a file between linking and sealing. */
#ifndef PZ_RUNTIME_SEAL_H
#define PZ_RUNTIME_SEAL_H

#include "base/status.h"
#include "runtime/elf_file.h"

#define PZ_SEAL_DIGITS       16
#define PZ_SEAL_MOST_WEIGHTS (32 << 20)

/* Where the digits stand in the file; *digits is NULL where there are none. */
pz_status pz_seal_find(const pz_elf *elf, const uint8_t **digits, pz_error *err);

/* What the digits should be, with a NUL behind. */
pz_status pz_seal_compute(const pz_elf *elf, const uint8_t *digits, char out[PZ_SEAL_DIGITS + 1],
                          pz_error *err);

/* Fails where a sealed file is not as it was sealed. */
pz_status pz_seal_check(const pz_elf *elf, pz_error *err);

#endif
