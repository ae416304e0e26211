/* library.h: a network file as a loaded library. */
#ifndef PZ_RUNTIME_LIBRARY_H
#define PZ_RUNTIME_LIBRARY_H

#include "base/arena.h"
#include "base/status.h"
#include "pznet/network_abi.h"
#include <sys/stat.h>

/* Loads the file that `st` was taken of, and fails where another one has taken its place since. Its code and weights
 * are mapped, not read. *library is for dlclose; *first: the process did not have it loaded before. */
pz_status pz_library_load(pz_arena *arena, const char *path, const struct stat *st, void **library,
                          bool *first, const pz_abi_network **network, pz_error *err);

#endif
