/* compiler.h: which C compiler a command is: of what it compiled, and of what was measured with that, only its own is good. */
#ifndef PZ_BASE_COMPILER_H
#define PZ_BASE_COMPILER_H

#include "base/status.h"

/* The first line that `cc --version` prints and the words behind the compiler's name, if any ("gcc -O1"), in ASCII, cut where it is longer than
 * `out`. PZ_ERROR_RUN where it cannot be run or prints nothing; PZ_INTERRUPTED soon after *interrupt (may be NULL) is not 0. Then
 * `out` is empty. */
#define PZ_COMPILER_TEXT 257
pz_status pz_compiler_identity(const char *cc, const volatile int *interrupt, char out[PZ_COMPILER_TEXT],
                               pz_error *err);

/* The same, and what tells one installation from another that prints the same: size and time of the program's file. identity: what
 * pz_compiler_identity has said already, else "". Failures are its own. */
#define PZ_COMPILER_INSTALLED (PZ_COMPILER_TEXT + 64)
pz_status pz_compiler_installed(const char *cc, const char *identity, const volatile int *interrupt,
                                char out[PZ_COMPILER_INSTALLED], pz_error *err);

#endif
