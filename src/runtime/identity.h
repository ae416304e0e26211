/* identity.h: which file a network is, by its SHA-256. */
#ifndef PZ_RUNTIME_IDENTITY_H
#define PZ_RUNTIME_IDENTITY_H

#include "base/digest.h"
#include "base/status.h"

/* A digest as a user gives it: 64 hexadecimal digits, of either case; out: in lower case. */
pz_status pz_identity_parse(const char *given, char out[PZ_DIGEST_TEXT], pz_error *err);

/* Fails where the file at `path`, which has the digest `has`, is not the one that was asked for. Both in lower case. */
pz_status pz_identity_compare(const char *has, const char *wanted, const char *path, pz_error *err);

#endif
