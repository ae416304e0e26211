/* library.h: a network file as a loaded library. */
#ifndef PZ_RUNTIME_LIBRARY_H
#define PZ_RUNTIME_LIBRARY_H

#include "base/arena.h"
#include "base/status.h"
#include "pznet/network_abi.h"
#include "runtime/image.h"

/* An empty file of `size` bytes that lies in memory and has no name, or -1 where the system gives none. */
int pz_library_memory_file(size_t size);

typedef struct pz_library {
  void *handle; /* for dlclose */
  int file;     /* its bytes, without image.weights where it is a copy; the caller closes it */
  const pz_abi_network *abi;
} pz_library;

/* Loads a copy of the image that is this process's own, with its weights, and asks `symbol` for the network. The image's memory is used up. */
pz_status pz_library_load_copy(pz_arena *arena, pz_image *image, const char *symbol, pz_library *library,
                               pz_error *err);

/* Loads the file itself: its pages are mapped, and shared with all processes that map them too. Fails where the file at the image's path
 * is not the one that was read. */
pz_status pz_library_load_shared(pz_arena *arena, pz_image *image, const char *symbol, pz_library *library,
                                 pz_error *err);

#endif
