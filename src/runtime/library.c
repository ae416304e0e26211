#include "runtime/library.h"
#include "base/digest.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

/* ---- names ---- */

enum { BITS = 64 };

/* The loader takes a library of the same *name* that is loaded already for the one that is asked for, before it looks
 * at the file: a network compiled again under its old name would give the old one as long as that is open, and names of descriptors
 * are used again and again. So the name handed to the loader depends on the file: bits of its identity are written as "/" (0) or "/."
 * (1) between folder and file, which lead to the same place. */
static void write_identity(const struct stat *st, char dots[2 * BITS + 1]) {
  uint64_t identity[] = {st->st_dev, st->st_ino, (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec,
                         (uint64_t)st->st_mtim.tv_nsec};
  uint8_t bits[PZ_DIGEST_BYTES];
  pz_digest digest;
  pz_digest_begin(&digest);
  pz_digest_add(&digest, identity, sizeof identity);
  pz_digest_end(&digest, bits);
  int n = 0;
  for (int i = 0; i < BITS; i++) {
    dots[n++] = '/';
    if (bits[i / 8] >> i % 8 & 1) dots[n++] = '.';
  }
  dots[n] = 0;
}

static char *name_for_loader(pz_arena *arena, const char *path, const struct stat *st) {
  char dots[2 * BITS + 1];
  write_identity(st, dots);
  const char *slash = strrchr(path, '/');
  int folder = slash ? (int)(slash - path) : 1;
  return pz_arena_printf(arena, "%.*s%s/%s", folder, slash ? path : ".", dots, slash ? slash + 1 : path);
}

/* ---- loading ---- */

static pz_status load(const char *name, pz_library *library, const char **reason) {
  library->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library->handle) return PZ_OK;
  *reason = dlerror();
  if (!*reason) *reason = "unknown reason";
  const size_t n = strlen(name);
  if (!strncmp(*reason, name, n) && !strncmp(*reason + n, ": ", 2)) *reason += n + 2;
  return PZ_ERROR_INPUT;
}

static pz_status describe(pz_library *library, const char *name, const char *path, pz_error *err) {
  pz_abi_entry entry;
  void *symbol = dlsym(library->handle, name);
  if (!symbol) return pz_fail(err, PZ_ERROR_INPUT, "%s: does not export %s: compile it again", path, name);
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no conversion between the two kinds of pointers */
  library->abi = entry();
  return PZ_OK;
}

/* ---- a file of our own ---- */

/* Not executable as a program, which systems may forbid (vm.memfd_noexec): a library is mapped only. */
int pz_library_memory_file(size_t size) {
  int file = memfd_create("pznet-network", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (file < 0 && errno == EINVAL) file = memfd_create("pznet-network", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file >= 0 && ftruncate(file, (off_t)size) == 0) return file;
  if (file >= 0) close(file);
  return -1;
}

static const char *temporary_folder(void) {
  const char *folder = getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

static bool has_names_of_descriptors(void) { return access("/proc/self/fd", X_OK) == 0; }

/* Where memory cannot be loaded from. Its name is gone at once; without /proc the loader needs it, and it goes later. */
static int temporary_file(pz_arena *arena, size_t size, char **name) {
  *name = pz_arena_printf(arena, "%s/pznet-network-XXXXXX", temporary_folder());
  const int file = *name ? mkostemp(*name, O_CLOEXEC) : -1;
  if (file < 0) return -1;
  if (has_names_of_descriptors()) {
    (void)unlink(*name);
    *name = NULL;
  }
  if (ftruncate(file, (off_t)size) == 0) return file;
  if (*name) (void)unlink(*name);
  close(file);
  return -1;
}

static bool write_range(int file, const uint8_t *data, size_t begin, size_t end) {
  while (begin < end) {
    const ssize_t n = pwrite(file, data + begin, end - begin, (off_t)begin);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    begin += (size_t)n;
  }
  return true;
}

/* All but the weights that are moved; where they were, there is nothing. */
static bool write_copy(int file, const pz_image *image) {
  const pz_weights_place *w = &image->weights;
  return write_range(file, image->data, 0, w->offset) &&
         write_range(file, image->data, w->offset + w->bytes, image->size);
}

enum { REASON = 384 };

/* PZ_ERROR_INPUT: not from this file, `reason` says why. name: of the file; NULL: it is named by its descriptor. */
static pz_status load_from(pz_arena *arena, pz_image *image, int file, const char *name, pz_library *library,
                           char reason[REASON], pz_error *err) {
  struct stat st;
  const char *why = NULL;
  if (file < 0 || !write_copy(file, image) || fstat(file, &st)) {
    snprintf(reason, REASON, "%s", strerror(errno));
    return PZ_ERROR_INPUT;
  }
  (void)fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW); /* where it lies in memory */
  if (!name) name = pz_arena_printf(arena, "/proc/self/fd/%d", file);
  if (name) name = name_for_loader(arena, name, &st);
  if (!name) return pz_fail_memory(err, "the name of the network file", 64);
  pz_image_free_room(image);
  const pz_status status = load(name, library, &why);
  if (status != PZ_OK) snprintf(reason, REASON, "%s", why);
  else library->file = file;
  return status;
}

static pz_status load_from_memory(pz_arena *arena, pz_image *image, pz_library *library, char reason[REASON],
                                  pz_error *err) {
  if (!has_names_of_descriptors()) return snprintf(reason, REASON, "/proc is not there"), PZ_ERROR_INPUT;
  if (image->copy < 0) image->copy = pz_library_memory_file(image->size);
  const pz_status status = load_from(arena, image, image->copy, NULL, library, reason, err);
  if (status == PZ_OK) image->copy = -1;
  return status;
}

static pz_status load_from_folder(pz_arena *arena, pz_image *image, pz_library *library, char reason[REASON],
                                  pz_error *err) {
  char *name;
  const int file = temporary_file(arena, image->size, &name);
  const pz_status status = load_from(arena, image, file, name, library, reason, err);
  if (file >= 0 && name) (void)unlink(name);
  if (file >= 0 && status != PZ_OK) close(file);
  return status;
}

static pz_status load_either_way(pz_arena *arena, pz_image *image, pz_library *library, pz_error *err) {
  char reason[REASON], other[REASON];
  pz_status status = load_from_memory(arena, image, library, reason, err);
  if (status != PZ_ERROR_INPUT) return status;
  status = load_from_folder(arena, image, library, other, err);
  if (status != PZ_ERROR_INPUT) return status;
  if (!strcmp(reason, other))
    return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be loaded: %s", image->path, reason);
  return pz_fail(
      err, PZ_ERROR_INPUT,
      "%s: cannot be loaded from memory: %s; nor from a copy in %s: %s (TMPDIR may name another folder)",
      image->path, reason, temporary_folder(), other);
}

static void unload(pz_library *library) {
  dlclose(library->handle);
  close(library->file);
  *library = (pz_library){.file = -1};
}

pz_status pz_library_load_copy(pz_arena *arena, pz_image *image, const char *symbol, pz_library *library,
                               pz_error *err) {
  *library = (pz_library){.file = -1};
  PZ_TRY(load_either_way(arena, image, library, err));
  pz_status status = PZ_OK;
  if (image->weights.bytes)
    status =
        pz_weights_move(library->handle, &image->weights, pz_image_take_weights(image), image->path, err);
  if (status == PZ_OK) status = describe(library, symbol, image->path, err);
  if (status != PZ_OK) unload(library);
  return status;
}

/* ---- the file itself ---- */

static bool ends_in(const char *text, size_t n, const char *end) {
  const size_t of_end = strlen(end);
  return n >= of_end && !memcmp(text + n - of_end, end, of_end);
}

/* The loader knows files again, whatever their names: one that was written to while it is loaded is not loaded anew. */
static pz_status check_identity(const pz_library *library, const pz_image *image, pz_error *err) {
  char dots[2 * BITS + 1];
  struct link_map *map;
  write_identity(&image->info, dots);
  if (dlinfo(library->handle, RTLD_DI_LINKMAP, &map))
    return pz_fail(err, PZ_ERROR_RUN, "%s: %s", image->path, dlerror());
  const char *slash = strrchr(map->l_name, '/');
  if (slash && ends_in(map->l_name, (size_t)(slash - map->l_name), dots)) return PZ_OK;
  return pz_fail(err, PZ_ERROR_INPUT, "%s: is loaded already, as it was before it changed: close that first",
                 image->path);
}

pz_status pz_library_load_shared(pz_arena *arena, pz_image *image, const char *symbol, pz_library *library,
                                 pz_error *err) {
  const char *reason, *name = name_for_loader(arena, image->path, &image->info);
  struct stat now;
  *library = (pz_library){.file = -1};
  if (!name) return pz_fail_memory(err, "the name of the network file", strlen(image->path));
  if (load(name, library, &reason) != PZ_OK)
    return pz_fail(err, PZ_ERROR_INPUT, "%s: cannot be loaded: %s", image->path, reason);
  library->file = image->file, image->file = -1;
  pz_status status = check_identity(library, image, err);
  if (status == PZ_OK && (stat(image->path, &now) || !pz_image_same_file(&image->info, &now)))
    status = pz_fail(err, PZ_ERROR_INPUT, "%s: changed while it was opened: open it again", image->path);
  if (status == PZ_OK) status = describe(library, symbol, image->path, err);
  if (status != PZ_OK) unload(library);
  return status;
}
