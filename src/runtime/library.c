#include "runtime/library.h"
#include "base/digest.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The loader takes a library of the same *name* that is loaded already for the one that is asked for, before it looks
 * at the file: a network compiled again under its old name would give the old one as long as that is open. So the name
 * handed to the loader depends on the file: 32 bits of its identity are written as "/" (0) or "/." (1) between folder
 * and file, which lead to the same place. */
static char *name_for_loader(pz_arena *arena, const char *path, const struct stat *st) {
  uint64_t identity[] = {st->st_dev, st->st_ino, (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
                         (uint64_t)st->st_mtim.tv_nsec};
  uint8_t bits[PZ_DIGEST_BYTES];
  pz_digest digest;
  pz_digest_begin(&digest);
  pz_digest_add(&digest, identity, sizeof identity);
  pz_digest_end(&digest, bits);

  char dots[2 * 32 + 1] = "";
  for (int i = 0, n = 0; i < 32; i++) {
    dots[n++] = '/';
    if (bits[i / 8] >> i % 8 & 1) dots[n++] = '.';
  }
  const char *slash = strrchr(path, '/');
  int folder = slash ? (int)(slash - path) : 1;
  return pz_arena_printf(arena, "%.*s%s/%s", folder, slash ? path : ".", dots, slash ? slash + 1 : path);
}

static pz_status check_same_file(const char *path, const struct stat *before, pz_error *err) {
  struct stat now;
  if (stat(path, &now) == 0 && now.st_dev == before->st_dev && now.st_ino == before->st_ino &&
      now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == before->st_mtim.tv_nsec)
    return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: changed while it was opened: open it again", path);
}

static pz_status describe(void *library, const char *path, const pz_abi_network **network, pz_error *err) {
  pz_abi_entry entry;
  void *symbol = dlsym(library, PZ_ABI_SYMBOL);
  if (!symbol)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: does not export %s: compile it again", path, PZ_ABI_SYMBOL);
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no conversion between the two kinds of pointers */
  *network = entry();
  return PZ_OK;
}

pz_status pz_library_load(pz_arena *arena, const char *path, const struct stat *st, void **library,
                          bool *first, const pz_abi_network **network, pz_error *err) {
  const char *name = name_for_loader(arena, path, st);
  if (!name) return pz_fail_memory(err, "the name of the network file", strlen(path));
  void *before = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void *loaded = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (before) dlclose(before);
  if (!loaded) {
    const char *reason = dlerror();
    return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be loaded: %s", path, reason ? reason : "unknown reason");
  }
  pz_status status = check_same_file(path, st, err);
  if (status == PZ_OK) status = describe(loaded, path, network, err);
  if (status != PZ_OK) return dlclose(loaded), status;
  *library = loaded, *first = !before;
  return PZ_OK;
}
