/* cache_folder.h: where caches lie that belong to the user: measured times, compiled kernels. */
#ifndef PZ_BASE_CACHE_FOLDER_H
#define PZ_BASE_CACHE_FOLDER_H

#include "base/arena.h"
#include "base/status.h"

/* `name` in $PZNET_CACHE_DIR, else $XDG_CACHE_HOME/pznet, else ~/.cache/pznet; in the arena. PZ_ERROR_RUN where none of them is set. */
pz_status pz_cache_path(pz_arena *arena, const char *name, const char **path, pz_error *err);

/* Makes the folder that the file is in, and those above it, mode 0700. PZ_ERROR_RUN where it is not there then. */
pz_status pz_cache_make_folder(const char *file, pz_error *err);

#endif
