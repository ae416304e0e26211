/* Files that appear under their name whole or not at all. */
#include "base/file.h"
#include "base/owned.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the bytes go first: in the folder of the file that will be replaced, which is what a link points to. */
typedef struct pending {
  char target[PATH_MAX], folder[PATH_MAX], temporary[PATH_MAX + 32];
  int fd;
} pending;

static pz_status resolve(const char *path, pending *p, pz_error *err) {
  struct stat st;
  PZ_TRY(pz_owned_link(path, err));
  if (!realpath(path, p->target)) {
    if (errno != ENOENT) return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be written: %m", path);
    if (strlen(path) >= sizeof p->target)
      return pz_fail(err, PZ_ERROR_OUTPUT, "%s: the path is too long", path);
    strcpy(p->target, path);
  } else if (stat(p->target, &st) == 0 && !S_ISREG(st.st_mode)) {
    return pz_fail(err, PZ_ERROR_OUTPUT, "%s: is %s, expected a file to replace", path,
                   S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
  }
  const char *slash = strrchr(p->target, '/');
  if (!*path || (slash && !slash[1]))
    return pz_fail(err, PZ_ERROR_OUTPUT, "'%s': expected the name of a file", path);
  size_t n = slash ? (size_t)(slash - p->target) + 1 : 2;
  memcpy(p->folder, slash ? p->target : "./", n);
  p->folder[n] = 0;
  return PZ_OK;
}

/* Not mkstemp: its files are for the owner alone, and the mask that others' rights follow from cannot be read without
 * changing it for all threads. */
static int create_temporary(pending *p) {
  for (int attempt = 0; attempt < 16; attempt++) {
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) return -1;
    snprintf(p->temporary, sizeof p->temporary, "%s.pznet-%016llx", p->folder, (unsigned long long)number);
    int fd = open(p->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

/* Immutable or append-only: what would be found by the renaming only. */
static bool is_fixed(const char *path) {
  const uint64_t fixed = STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND;
  struct statx st;
  return statx(AT_FDCWD, path, 0, 0, &st) == 0 && (st.stx_attributes & fixed);
}

static pz_status check_place(const char *path, pending *p, pz_error *err) {
  PZ_TRY(resolve(path, p, err));
  if (is_fixed(p->target) || is_fixed(p->folder))
    return pz_fail(err, PZ_ERROR_OUTPUT,
                   "%s: cannot be written: the file or its folder is immutable (chattr)", path);
  return PZ_OK;
}

static pz_status cannot_create(const char *path, pz_error *err) {
  return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be created: %m", path);
}

static pz_status begin(const char *path, pending *p, pz_error *err) {
  PZ_TRY(check_place(path, p, err));
  p->fd = create_temporary(p);
  return p->fd < 0 ? cannot_create(path, err) : PZ_OK;
}

int pz_file_write_all(int fd, const char *data, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n ? -1 : (errno = ENOSPC, -1);
    data += n;
    size -= (size_t)n;
  }
  return 0;
}

/* Makes the new name durable; a file system that cannot is no reason to fail, the file is complete. */
static void sync_folder(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!fsync(fd);
  close(fd);
}

static pz_status write_file(const char *path, const void *data, size_t size, bool durable, pz_error *err) {
  pending p;
  PZ_TRY(begin(path, &p, err));
  bool written = pz_file_write_all(p.fd, data, size) == 0 && (!durable || fsync(p.fd) == 0);
  int reason = errno;
  if (close(p.fd) && written) written = false, reason = errno;
  if (written && rename(p.temporary, p.target)) written = false, reason = errno;
  if (written && durable) sync_folder(p.folder);
  if (written) return PZ_OK;
  unlink(p.temporary);
  errno = reason;
  return pz_fail(err, PZ_ERROR_OUTPUT, "%s: cannot be written: %m", path);
}

pz_status pz_file_write(const char *path, const void *data, size_t size, pz_error *err) {
  return write_file(path, data, size, true, err);
}

pz_status pz_file_write_quick(const char *path, const void *data, size_t size, pz_error *err) {
  return write_file(path, data, size, false, err);
}

/* By a file without a name, which nobody has to remove, where the file system has such files. */
pz_status pz_file_check_writable(const char *path, pz_error *err) {
  pending p;
  PZ_TRY(check_place(path, &p, err));
  p.fd = open(p.folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  const bool nameless = p.fd >= 0;
  if (!nameless && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOSYS))
    p.fd = create_temporary(&p);
  if (p.fd < 0) return cannot_create(path, err);
  close(p.fd);
  if (!nameless) unlink(p.temporary);
  return PZ_OK;
}
