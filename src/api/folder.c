/* folder.c: folders that networks are compiled in, and what leaves them.
 *
 * A folder holds a file that its process has locked as long as it lives. One that nobody has locked was left by a process that was
 * ended: the next that makes a folder there removes it, if it is the same user's. */
#include "api/api.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "pznet-work-" /* before mkdtemp's six letters */
#define LOCK   ".lock"
enum { LETTERS = 6, DEEPEST = 16, YOUNG = 60 /* seconds: a folder may be there without its lock */ };

const char *pz_temporary_parent(void) {
  const char *given = getenv("TMPDIR");
  return given && *given ? given : "/tmp";
}

/* ---- removing: nothing outside is reached, whatever stands in the place of what was there ---- */

static void remove_inside(int folder, int depth);

/* Closes `folder`. */
static void remove_listed(int folder, DIR *dir, int depth) {
  for (struct dirent *e; (e = readdir(dir));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !unlinkat(folder, e->d_name, 0)) continue;
    const int child = openat(folder, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (child < 0) continue;
    if (depth < DEEPEST) remove_inside(child, depth + 1);
    close(child);
    unlinkat(folder, e->d_name, AT_REMOVEDIR);
  }
  closedir(dir);
}

static void remove_inside(int folder, int depth) {
  const int own = fcntl(folder, F_DUPFD_CLOEXEC, 0);
  DIR *dir = own >= 0 ? fdopendir(own) : NULL;
  if (!dir && own >= 0) close(own);
  if (!dir) return;
  rewinddir(dir);
  remove_listed(folder, dir, depth);
}

/* `folder` is the one of this name in `parent`. */
static void remove_at(int parent, const char *name, int folder) {
  /* A compiler that was killed may have made one more file: look again. */
  for (int attempt = 0; attempt < 8; attempt++) {
    remove_inside(folder, 0);
    if (!unlinkat(parent, name, AT_REMOVEDIR) || (errno != ENOTEMPTY && errno != EEXIST)) return;
  }
}

/* ---- what others left ---- */

static bool is_named_so(const char *name) {
  return !strncmp(name, PREFIX, sizeof PREFIX - 1) && strlen(name) == sizeof PREFIX - 1 + LETTERS;
}

/* Locks it, so that of two that look at it one removes it. False: it lives, or is young. */
static bool is_left(int folder, const struct stat *info, int *lock) {
  *lock = openat(folder, LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (*lock < 0) return errno == ENOENT && time(NULL) - info->st_mtime > YOUNG;
  return flock(*lock, LOCK_EX | LOCK_NB) == 0;
}

static void sweep_one(int parent, const char *name) {
  struct stat info;
  int lock = -1;
  const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  if (!fstat(folder, &info) && info.st_uid == geteuid() && is_left(folder, &info, &lock))
    remove_at(parent, name, folder);
  if (lock >= 0) close(lock);
  close(folder);
}

static void sweep(const char *parent) {
  DIR *dir = opendir(parent);
  for (struct dirent *e; dir && (e = readdir(dir));)
    if (is_named_so(e->d_name)) sweep_one(dirfd(dir), e->d_name);
  if (dir) closedir(dir);
}

/* ---- a folder ---- */

/* Where the system knows no locks there the folder has none, and nobody removes it. False: a sweep was faster; try again. */
static bool lock_folder(pz_folder *f) {
  char path[4096];
  struct stat here, there;
  if (snprintf(path, sizeof path, "%s/" LOCK, f->path) >= (int)sizeof path) return true;
  f->lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (f->lock < 0) return errno != ENOENT;
  if (flock(f->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) return false;
  return !fstat(f->lock, &here) && !stat(path, &there) && here.st_ino == there.st_ino;
}

static pz_status make(pz_arena *arena, const char *parent, pz_folder *f, pz_error *err) {
  char *path = pz_arena_printf(arena, "%s/" PREFIX "XXXXXX", parent);
  if (!path) return pz_fail_memory(err, "a path", 64);
  if (!mkdtemp(path))
    return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot make a temporary folder: %s", path, strerror(errno));
  char *whole = realpath(path, NULL); /* compilers run in other folders */
  f->path = whole ? pz_arena_strdup(arena, whole) : path;
  free(whole);
  if (f->path) return PZ_OK;
  rmdir(path);
  return pz_fail_memory(err, "a path", 64);
}

pz_status pz_folder_new(pz_arena *arena, pz_folder *f, pz_error *err) {
  const char *parent = pz_temporary_parent();
  sweep(parent);
  for (int attempt = 0; attempt < 8; attempt++) {
    *f = (pz_folder){NULL, -1};
    PZ_TRY(make(arena, parent, f, err));
    if (lock_folder(f)) return PZ_OK;
    pz_folder_remove(f);
  }
  return pz_fail(err, PZ_ERROR_OUTPUT, "%s: temporary folders vanish as they are made", parent);
}

void pz_folder_remove(pz_folder *f) {
  if (!f->path) return;
  int folder = -1; /* nothing would tell of what is left, so one failure is not taken for an answer */
  for (int attempt = 0; attempt < 2 && folder < 0; attempt++)
    folder = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0) remove_at(AT_FDCWD, f->path, folder), close(folder);
  if (f->lock >= 0) close(f->lock);
  *f = (pz_folder){NULL, -1};
}

pz_status pz_copy_file(const char *from, const char *to, pz_error *err) {
  pz_mapping whole;
  PZ_TRY(pz_file_map(from, &whole, err));
  const pz_status status = pz_file_write(to, whole.data, whole.size, err);
  pz_file_unmap(&whole);
  return status;
}
